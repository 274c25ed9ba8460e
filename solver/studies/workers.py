"""Tasks on local processes: results as they come, whatever becomes of a process."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from ..processes import WorkerPool
from .run import Stop

T = TypeVar("T")
R = TypeVar("R")
#: What is done with a task; it gives None where it was stopped.
Work = Callable[[T, Stop | None], R | None]

#: Seconds between two looks at whether to stop.
GLANCE = 0.1
#: A task whose process dies so often is given up.
STRIKES = 3

_stop: Any = None


@dataclass(frozen=True, slots=True)
class Lost:
    """In place of a result: the process that worked on the task died again and again."""

    reason: str = f"the process that ran it was killed {STRIKES} times (out of memory?)"


def in_turn(work: Work[T, R], tasks: Sequence[T], stop: Stop) -> Iterator[tuple[int, R | Lost]]:
    """In this very process, one after the other."""
    for number, task in enumerate(tasks):
        if stop.is_set():
            return
        result = work(task, stop)
        if result is not None:
            yield number, result


def on_processes(
    work: Work[T, R], tasks: Sequence[T], count: int, stop: Stop
) -> Iterator[tuple[int, R | Lost]]:
    """The results with the numbers of their tasks, in the order in which they come.

    A process that dies takes nothing with it: its task, and what waited, is done again; what may
    have killed it is tried on a process of its own, and after STRIKES times given up (Lost).
    """
    strikes = dict.fromkeys(range(len(tasks)), 0)
    while strikes and not stop.is_set():
        suspects = [number for number, struck in strikes.items() if struck]
        todo, processes = (suspects[:1], 1) if suspects else (list(strikes), count)
        finished: set[int] = set()
        for number, result in _round(work, tasks, todo, processes, stop):
            finished.add(number)
            del strikes[number]
            yield number, result
        left = [number for number in todo if number not in finished]
        for number in left[:processes]:  # those were at work
            strikes[number] += 1
            if strikes[number] >= STRIKES and not stop.is_set():
                del strikes[number]
                yield number, Lost()


def _round(
    work: Work[T, R], tasks: Sequence[T], todo: Sequence[int], count: int, stop: Stop
) -> Iterator[tuple[int, R]]:
    """Results until all are done, a process dies, or it is to stop."""
    with WorkerPool(min(count, len(todo)), _begin) as pool:
        futures: dict[Future[R | None], int] = {
            pool.submit(_Job(work, tasks[number])): number for number in todo
        }
        yield from _as_they_come(futures, stop, pool.ending.set)


def _as_they_come(
    futures: dict[Future[R | None], int], stop: Stop, tell: Callable[[], None]
) -> Iterator[tuple[int, R]]:
    waiting = set(futures)
    while waiting:
        done, waiting = wait(waiting, timeout=GLANCE, return_when=FIRST_COMPLETED)
        broken = False
        for future in sorted(done, key=futures.__getitem__):
            try:
                result = future.result()
            except BrokenProcessPool:
                broken = True
                continue
            if result is not None:
                yield futures[future], result
        if broken:
            return
        if stop.is_set():
            tell()
            waiting = {future for future in waiting if not future.cancel()}


def _begin(stop: Any) -> None:
    """In each process."""
    global _stop
    _stop = stop


@dataclass(frozen=True, slots=True)
class _Job(Generic[T, R]):
    """One call, as it travels to a process."""

    work: Work[T, R]
    task: T

    def __call__(self) -> R | None:
        return self.work(self.task, _stop)
