"""Independent tasks done by this process or by several, each with a context of its own.

What a task comes to depends on the context and itself alone, so it makes no difference which
process does it.
"""

from __future__ import annotations

import multiprocessing
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from itertools import islice
from multiprocessing.synchronize import Event
from typing import Any, Generic, Self, TypeVar

from ..budget import OutOfTime

#: What all tasks have in common, a task, what it comes to.
C = TypeVar("C")
T = TypeVar("T")
R = TypeVar("R")
#: Whether it is time to stop.
Stop = Callable[[], bool]
#: Does a task; raises OutOfTime where it has to stop before it is done.
Work = Callable[[C, T, Stop], R]
#: Tasks that are handed out for each process at a time.
IN_HAND = 2
#: Seconds between two looks at whether to stop.
LOOK = 0.1


def results_of(
    work: Work[C, T, R], context: C, tasks: Iterable[T], workers: int, stop: Stop
) -> Iterator[R]:
    """What the tasks come to, in order; until stop says yes.

    work: a function of a module, which another process finds by its name. workers: processes.
    Raises OutOfTime where it has to stop before the first.
    """
    given = iter(tasks)
    done = 0
    if workers > 1:
        with _Processes(work, context, workers) as processes:
            for found in processes.results(given, stop):
                done += 1
                yield found
        if stop():
            if not done:
                raise OutOfTime
            return
        given = processes.left(given)
    try:
        for task in given:
            yield work(context, task, stop)
            done += 1
            if stop():
                return
    except OutOfTime:
        if not done:
            raise


class _Processes(Generic[C, T, R]):
    """Processes that have the context, and what is in their hands."""

    def __init__(self, work: Work[C, T, R], context: C, count: int) -> None:
        methods = multiprocessing.get_all_start_methods()
        # Not by a fork of this process, in which there may be threads.
        way = multiprocessing.get_context("forkserver" if "forkserver" in methods else "spawn")
        self._ending = way.Event()
        self._count = count
        self._pool = ProcessPoolExecutor(count, way, _enter, (work, context, self._ending))
        self._in_hand: deque[tuple[T, Future[R]]] = deque()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._ending.set()
        self._pool.shutdown(cancel_futures=True)

    def results(self, tasks: Iterator[T], stop: Stop) -> Iterator[R]:
        """What the tasks come to, in order, until it is to stop or a process has died."""
        try:
            self._hand_out(tasks, self._count * IN_HAND)
            while self._in_hand:
                found = self._first(stop)
                if found is None:
                    return
                self._in_hand.popleft()
                yield found
                self._hand_out(tasks, 1)
        except BrokenProcessPool:
            return

    def left(self, tasks: Iterator[T]) -> Iterator[T]:
        """The tasks that no process has done."""
        yield from (task for task, _ in self._in_hand)
        yield from tasks

    def _hand_out(self, tasks: Iterator[T], count: int) -> None:
        for task in islice(tasks, count):
            self._in_hand.append((task, Future()))  # kept, should a process have died by now
            with _interrupts_put_off():
                self._in_hand[-1] = (task, self._pool.submit(_do, task))

    def _first(self, stop: Stop) -> R | None:
        """What the first task in hand comes to, None where it is to stop before."""
        future = self._in_hand[0][1]
        while not stop():
            try:
                return future.result(LOOK)
            except TimeoutError:
                continue
        return None


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


#: What a process has: how tasks are done, their context, and whether it is to end.
_OWN: list[tuple[Work[Any, Any, Any], Any, Event]] = []


def _enter(work: Work[Any, Any, Any], context: object, ending: Event) -> None:
    """A process begins; Ctrl-C is the business of the one that started it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _OWN.append((work, context, ending))


def _do(task: object) -> Any:
    work, context, ending = _OWN[0]
    return work(context, task, ending.is_set)
