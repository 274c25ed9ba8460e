"""The one module that starts processes: none outlives the process that started it.

A worker of a pool watches a pipe that only its parent holds open, so it sees any end of the parent;
the optimiser's helper and the supervisor of a foreign program watch their standard input.
"""

from __future__ import annotations

import multiprocessing
import os
import selectors
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from multiprocessing.connection import wait
from multiprocessing.synchronize import Event
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, Literal, ParamSpec, Self, TypeVar

from .environment import without_current_folder

P = ParamSpec("P")
R = TypeVar("R")

#: Start method of a worker: "server" forks it from a process without threads, if available.
Way = Literal["spawn", "server"]
#: Option of prctl: signal that a process gets when its parent ends.
_PR_SET_PDEATHSIG = 1
#: Bytes read from a program in one call, and maximum bytes kept of its messages.
_PART, _ERRORS = 2**16, 2**16


class WorkerPool:
    """A pool of processes for calls, used as a context manager.

    enter: called first in each process, with `ending` (set once the rest may be dropped) and with
    `given`. Only the process that has the pool handles Ctrl-C.
    """

    def __init__(
        self, count: int, enter: Callable[..., None], *given: Any, way: Way = "spawn"
    ) -> None:
        there = multiprocessing.get_all_start_methods()
        server = way == "server" and "forkserver" in there
        context = multiprocessing.get_context("forkserver" if server else "spawn")
        # The first semaphore starts a process, which keeps a list of semaphores.
        with _gate():
            self.ending: Event = context.Event()
            self._pool = ProcessPoolExecutor(count, context, _begin, (enter, self.ending, *given))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with _gate():
            self.ending.set()
            self._pool.shutdown(cancel_futures=True)

    def submit(self, call: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> Future[R]:
        """Submit a call, as to an executor; raises BrokenProcessPool if a process has died."""
        with _gate():
            return self._pool.submit(call, *args, **kwargs)


def _begin(enter: Callable[..., None], *given: Any) -> None:
    """Initialise a worker process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    enter(*given)


def _end_with_parent() -> None:
    """Exit when the pipe to the parent process is closed, even if it was closed before."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


def begin_process(words: Sequence[str]) -> subprocess.Popen[bytes]:
    """Start a command that communicates over its standard streams.

    The command must exit when its input ends, and must call :func:`die_with` if that can take long.
    """
    with _gate():
        return subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )


def path_of(program: str) -> str | None:
    """Return the absolute path of a program; None if PATH does not contain it.

    The current folder is not searched, even if PATH has an empty or a relative entry.
    """
    path = without_current_folder(dict(os.environ)).get("PATH")
    return None if path is None else shutil.which(program, path=path)


@dataclass(frozen=True, slots=True)
class ProgramOutput:
    """Output and exit code of a program."""

    #: Exit code.
    code: int
    #: Standard output.
    output: bytes
    #: Standard error.
    errors: bytes


def run_program(
    path: str,
    words: Sequence[str],
    *,
    timeout: float,
    environment: dict[str, str],
    most: int,
    given: bytes = b"",
) -> ProgramOutput:
    """Run a foreign program and return its output; its children are killed at its end.

    path: absolute (:func:`path_of`). most: maximum bytes of output; of errors the first
    :data:`_ERRORS` are kept. given: its standard input. Raises
    :class:`subprocess.TimeoutExpired` and :class:`TooMuchOutput`.
    """
    deadline = time.monotonic() + timeout
    supervisor = str(Path(__file__).with_name("supervisor.py"))
    with (
        TemporaryFile() as standard_input,
        subprocess.Popen(
            # With -I and -S the supervisor loads only Python's own library.
            [sys.executable, "-I", "-S", supervisor, _written(standard_input, given), path, *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=without_current_folder(environment),
            process_group=0,  # Only this process handles Ctrl-C.
            pass_fds=(standard_input.fileno(),),
        ) as process,
    ):
        try:
            output, errors = _collected(process, deadline, most)
            code = process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            raise subprocess.TimeoutExpired(words, timeout) from None
        finally:
            # At the end of its input the supervisor kills the program, then ends.
            assert process.stdin is not None
            process.stdin.close()
            process.wait()
    return ProgramOutput(code, output, errors)


def _written(file: IO[bytes], content: bytes) -> str:
    """Write a file without a name and return a path by which a child that has it reads it."""
    file.write(content)
    file.flush()
    return f"/dev/fd/{file.fileno()}" if content else os.devnull


class TooMuchOutput(Exception):
    """A program printed more than is read."""


def _collected(process: subprocess.Popen[bytes], deadline: float, most: int) -> tuple[bytes, bytes]:
    """Return output and errors of a process, read until both streams end."""
    assert process.stdout is not None
    assert process.stderr is not None
    output, errors = BytesIO(), BytesIO()
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ, output)
        selector.register(process.stderr, selectors.EVENT_READ, errors)
        while selector.get_map():
            ready = selector.select(max(0.0, deadline - time.monotonic()))
            if not ready:
                raise subprocess.TimeoutExpired(process.args, 0)
            for key, _ in ready:
                part = os.read(key.fd, _PART)
                if not part:
                    selector.unregister(key.fileobj)
                elif key.data is output:
                    output.write(part)
                    if output.tell() > most:
                        raise TooMuchOutput
                else:
                    errors.write(part[: _ERRORS - errors.tell()])
    return output.getvalue(), errors.getvalue()


def die_with(parent: int) -> None:
    """Have this process killed when the thread that started it ends (Linux; elsewhere no
    effect).
    """
    if sys.platform != "linux":
        return
    import ctypes

    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # The parent ended before.
        os._exit(1)


@contextmanager
def _gate() -> Iterator[None]:
    """Postpone Ctrl-C and ignore code of the current folder while a process is started.

    A worker ignores Ctrl-C, but not at its very begin, when it would print a traceback. A
    process of multiprocessing inherits the environment of this process, which is changed meanwhile;
    in a command it was changed at the start (docs/dev/test-cost.md).
    """
    with _ENVIRONMENT, _interrupts_put_off():
        yield


class _Environment:
    """Removal of the current folder from this process's environment while any thread is within."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._within = 0
        self._before: dict[str, str] = {}

    def __enter__(self) -> None:
        with self._lock:
            if not self._within:
                self._before = dict(os.environ)
                _put(without_current_folder(self._before))
            self._within += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._within -= 1
            if not self._within:
                _put(self._before)


#: A process has one environment, so there is one of these.
_ENVIRONMENT = _Environment()


def _put(environment: dict[str, str]) -> None:
    """Change what differs."""
    for name in os.environ.keys() - environment.keys():
        del os.environ[name]
    for name, value in environment.items():
        if os.environ.get(name) != value:
            os.environ[name] = value


@contextmanager
def _interrupts_put_off() -> Iterator[None]:
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
