"""The one place where processes are made: none outlives the process that made it.

A worker of a pool watches a pipe that only its parent holds open, whatever ends the parent; so do
the optimiser's helper and the supervisor of a program of somebody else (their standard input).
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
from typing import Any, Literal, ParamSpec, Self, TypeVar

from .environment import without_current_folder

P = ParamSpec("P")
R = TypeVar("R")

#: How a worker comes to be: "server" forks it from a process without threads, where there is such.
Way = Literal["spawn", "server"]
#: prctl: the signal that a process gets when its parent ends.
_PR_SET_PDEATHSIG = 1
#: Bytes that are read from a program at a time, and that are kept of its messages.
_PART, _ERRORS = 2**16, 2**16


class WorkerPool:
    """Processes that do calls, until it is over. Use as a context manager.

    enter: called in each process at first, with `ending` (set once what is left may be dropped) and
    with `given`. Ctrl-C is the business of the process that has the pool.
    """

    def __init__(
        self, count: int, enter: Callable[..., None], *given: Any, way: Way = "spawn"
    ) -> None:
        there = multiprocessing.get_all_start_methods()
        server = way == "server" and "forkserver" in there
        context = multiprocessing.get_context("forkserver" if server else "spawn")
        # A first semaphore begins a process too, which keeps a list of them.
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
        """As of an executor; raises BrokenProcessPool where a process has died."""
        with _gate():
            return self._pool.submit(call, *args, **kwargs)


def _begin(enter: Callable[..., None], *given: Any) -> None:
    """A worker begins."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    enter(*given)


def _end_with_parent() -> None:
    """The pipe of a parent that has gone is at its end, also when it went before this began."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


def begin_process(words: Sequence[str]) -> subprocess.Popen[bytes]:
    """A command that is spoken to over its standard streams.

    It has to end when its input does, and calls :func:`die_with` where that could take long.
    """
    with _gate():
        return subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )


def path_of(program: str) -> str | None:
    """Where a program is, an absolute path; None where PATH does not lead to it.

    The current folder is not looked at, also where PATH has an empty or a relative entry.
    """
    path = without_current_folder(dict(os.environ)).get("PATH")
    return None if path is None else shutil.which(program, path=path)


@dataclass(frozen=True, slots=True)
class ProgramOutput:
    """What a program has printed, and its exit code."""

    code: int
    output: bytes
    errors: bytes


def run_program(
    path: str, words: Sequence[str], *, timeout: float, environment: dict[str, str], most: int
) -> ProgramOutput:
    """What a program of somebody else prints; at its end all that it has begun is ended too.

    path: absolute (:func:`path_of`). most: bytes of output; of errors the first :data:`_ERRORS` are
    kept. Raises :class:`subprocess.TimeoutExpired` and :class:`TooMuchOutput`.
    """
    deadline = time.monotonic() + timeout
    supervisor = str(Path(__file__).with_name("supervisor.py"))
    with subprocess.Popen(
        # -I, -S: the supervisor is Python's own library and nothing else.
        [sys.executable, "-I", "-S", supervisor, path, *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=without_current_folder(environment),
        process_group=0,  # Ctrl-C is the business of this process
    ) as process:
        try:
            output, errors = _collected(process, deadline, most)
            code = process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            raise subprocess.TimeoutExpired(words, timeout) from None
        finally:
            # At the end of its input the supervisor ends the program, then itself.
            assert process.stdin is not None
            process.stdin.close()
            process.wait()
    return ProgramOutput(code, output, errors)


class TooMuchOutput(Exception):
    """A program printed more than is read."""


def _collected(process: subprocess.Popen[bytes], deadline: float, most: int) -> tuple[bytes, bytes]:
    """Output and errors until both are at their ends."""
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
    """This process is killed when its parent's thread that made it ends (Linux; else nothing)."""
    if sys.platform != "linux":
        return
    import ctypes

    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it was gone before
        os._exit(1)


@contextmanager
def _gate() -> Iterator[None]:
    """All that begins a process, or may: Ctrl-C waits, and no code of the current folder is taken.

    A worker ignores Ctrl-C, but at its very begin it would die of it with a traceback. What
    multiprocessing begins gets the environment of this process, so that is changed meanwhile; in a
    command it was from the start (docs/dev/robustness.md).
    """
    with _ENVIRONMENT, _interrupts_put_off():
        yield


class _Environment:
    """This process's environment without the current folder, as long as any thread is within."""

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
