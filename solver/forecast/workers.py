"""Independent tasks run by this process or by several, with a common read-only context.

The result of a task depends on the context and the task only, not on the process that runs it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from itertools import islice
from multiprocessing.synchronize import Event
from typing import Any, Generic, Self, TypeVar

from ..budget import OutOfTime
from ..processes import WorkerPool

#: Types of the context of all tasks, of a task, and of its result.
C = TypeVar("C")
T = TypeVar("T")
R = TypeVar("R")
#: Function that returns whether the work has to stop.
Stop = Callable[[], bool]
#: Function that runs a task; it raises OutOfTime if it has to stop before the end.
Work = Callable[[C, T, Stop], R]
#: Number of tasks that are submitted in advance for each process.
IN_HAND = 2
#: Seconds between two checks whether to stop.
LOOK = 0.1


def results_of(
    work: Work[C, T, R], context: C, tasks: Iterable[T], workers: int, stop: Stop
) -> Iterator[R]:
    """Yield the results of the tasks in order, until `stop` returns True.

    work: a module-level function, which other processes import by name. workers: number of
    processes. Raises OutOfTime if stopped before the first result.
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
    """Worker processes that share a context, with the tasks submitted to them."""

    def __init__(self, work: Work[C, T, R], context: C, count: int) -> None:
        self._count = count
        # Processes are not forked from this one, because it may have threads.
        self._pool = WorkerPool(count, _enter, work, context, way="server")
        self._in_hand: deque[tuple[T, Future[R]]] = deque()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.__exit__()

    def results(self, tasks: Iterator[T], stop: Stop) -> Iterator[R]:
        """Yield the results of the tasks in order, until stopped or a process has died."""
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
        """Yield the tasks that no process has finished."""
        yield from (task for task, _ in self._in_hand)
        yield from tasks

    def _hand_out(self, tasks: Iterator[T], count: int) -> None:
        for task in islice(tasks, count):
            self._in_hand.append((task, Future()))  # kept in case a process has died
            self._in_hand[-1] = (task, self._pool.submit(_do, task))

    def _first(self, stop: Stop) -> R | None:
        """Return the result of the first open task, None if stopped before."""
        future = self._in_hand[0][1]
        while not stop():
            try:
                return future.result(LOOK)
            except TimeoutError:
                continue
        return None


#: State of a worker process: task function, context, and stop flag.
_OWN: list[tuple[Work[Any, Any, Any], Any, Event]] = []


def _enter(ending: Event, work: Work[Any, Any, Any], context: object) -> None:
    """Store the context of a new worker process."""
    _OWN.append((work, context, ending))


def _do(task: object) -> Any:
    work, context, ending = _OWN[0]
    return work(context, task, ending.is_set)
