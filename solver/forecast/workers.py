"""Samples drawn by this process or by several, each with a world of its own.

A sample depends on its task alone, so it makes no difference which process draws it.
"""

from __future__ import annotations

import multiprocessing
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from itertools import islice
from multiprocessing.synchronize import Event
from typing import Self

from ...model.workload import Ints
from ..budget import OutOfTime
from .arrivals import ComingJobs
from .forward import ForwardWorld

#: Run times of all jobs, and who comes.
Task = tuple[Ints, ComingJobs]
#: Tasks that are handed out for each process at a time.
IN_HAND = 2
#: Seconds between two looks at whether to stop.
LOOK = 0.1


def samples_of(
    world: ForwardWorld, tasks: Iterable[Task], workers: int, stop: Callable[[], bool]
) -> Iterator[Ints]:
    """What :meth:`ForwardWorld.starts` says of each task, in order; until stop says yes.

    workers: processes. Raises OutOfTime where it has to stop before the first.
    """
    given = iter(tasks)
    done = 0
    if workers > 1:
        with _Processes(world, workers) as processes:
            for found in processes.samples(given, stop):
                done += 1
                yield found
        if stop():
            if not done:
                raise OutOfTime
            return
        given = processes.left(given)
    try:
        for run_times, coming in given:
            yield world.starts(run_times, coming, stop)
            done += 1
            if stop():
                return
    except OutOfTime:
        if not done:
            raise


class _Processes:
    """Processes that have the world, and what is in their hands."""

    def __init__(self, world: ForwardWorld, count: int) -> None:
        methods = multiprocessing.get_all_start_methods()
        # Not by a fork of this process, in which there may be threads.
        context = multiprocessing.get_context("forkserver" if "forkserver" in methods else "spawn")
        self._ending = context.Event()
        self._count = count
        self._pool = ProcessPoolExecutor(count, context, _enter, (world, self._ending))
        self._in_hand: deque[tuple[Task, Future[Ints]]] = deque()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._ending.set()
        self._pool.shutdown(cancel_futures=True)

    def samples(self, tasks: Iterator[Task], stop: Callable[[], bool]) -> Iterator[Ints]:
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

    def left(self, tasks: Iterator[Task]) -> Iterator[Task]:
        """The tasks that no process has done."""
        yield from (task for task, _ in self._in_hand)
        yield from tasks

    def _hand_out(self, tasks: Iterator[Task], count: int) -> None:
        for task in islice(tasks, count):
            self._in_hand.append((task, Future()))  # kept, should a process have died by now
            self._in_hand[-1] = (task, self._pool.submit(_sample, *task))

    def _first(self, stop: Callable[[], bool]) -> Ints | None:
        """What the first task in hand comes to, None where it is to stop before."""
        future = self._in_hand[0][1]
        while not stop():
            try:
                return future.result(LOOK)
            except TimeoutError:
                continue
        return None


@dataclass(slots=True)
class _Own:
    """What a process has: its world, and whether it is to end."""

    world: ForwardWorld
    ending: Event


_OWN: list[_Own] = []


def _enter(world: ForwardWorld, ending: Event) -> None:
    """A process begins; Ctrl-C is the business of the one that started it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _OWN.append(_Own(world, ending))


def _sample(run_times: Ints, coming: ComingJobs) -> Ints:
    own = _OWN[0]
    return own.world.starts(run_times, coming, own.ending.is_set)
