"""The one place where processes are made: none outlives the process that made it.

A worker of a pool watches a pipe that only its parent holds open, whatever ends the parent; so does
the optimiser's helper (its standard input). On Linux the kernel ends a command too.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from functools import partial
from multiprocessing.connection import wait
from multiprocessing.synchronize import Event
from typing import Any, Literal, ParamSpec, Self, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

#: How a worker comes to be: "server" forks it from a process without threads, where there is such.
Way = Literal["spawn", "server"]
#: prctl: the signal that a process gets when its parent ends.
_PR_SET_PDEATHSIG = 1


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
        self.ending: Event = context.Event()
        self._pool = ProcessPoolExecutor(count, context, _begin, (enter, self.ending, *given))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.ending.set()
        self._pool.shutdown(cancel_futures=True)

    def submit(self, call: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> Future[R]:
        """As of an executor; raises BrokenProcessPool where a process has died."""
        with _interrupts_put_off(), _own_code_only():
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
    return subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )


def run_command(
    words: Sequence[str], timeout: float, environment: dict[str, str]
) -> subprocess.CompletedProcess[bytes]:
    """What a command of somebody else prints; raises as :func:`subprocess.run` does.

    For programs without threads.
    """
    before = partial(die_with, os.getpid()) if sys.platform == "linux" else None
    return subprocess.run(
        words,
        capture_output=True,
        timeout=timeout,
        check=False,
        env=environment,
        preexec_fn=before,
    )


def die_with(parent: int) -> None:
    """This process is killed when its parent's thread that made it ends (Linux; else nothing)."""
    if sys.platform != "linux":
        return
    import ctypes

    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it was gone before
        os._exit(1)


@contextmanager
def _interrupts_put_off() -> Iterator[None]:
    """Ctrl-C comes when this is over, and never to a process that begins meanwhile.

    A process ignores it, but at its very begin it would die of it with a traceback.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _own_code_only() -> Iterator[None]:
    """New processes take no code from the current folder (docs/dev/robustness.md)."""
    name = "PYTHONSAFEPATH"
    before = os.environ.get(name)
    os.environ[name] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before
