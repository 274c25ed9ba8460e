"""The event queue that every simulation of the package shares."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from operator import itemgetter

import numpy as np

from ...model.compact import narrow
from ..availability.resources import IntArray

Event = tuple[int, int, int, int]
"""(time in seconds, kind, sequence number, job index): the order is that of the tuple."""


class EventKind(IntEnum):
    """The kind of an event; of events at one instant, the lower kind is processed first."""

    SUBMIT = 0
    END = 1
    START = 2


class EventQueue:
    """A queue of events in the order (time, kind, order of pushing), which leaves no tie open."""

    __slots__ = ("_announced", "_heap", "_sequence")

    def __init__(self, events: Iterable[Event] = (), sequence: int = 0) -> None:
        self._heap: list[Event] = list(events)
        heapq.heapify(self._heap)
        self._sequence = sequence
        self._announced = Announced()

    def __bool__(self) -> bool:
        return bool(self._heap or self._announced.left)

    def __len__(self) -> int:
        return len(self._heap) + len(self._announced)

    def announce(self, times: IntArray, kind: int, first: int) -> None:
        """Push an event for each job from number `first` on; permitted once per queue."""
        self._announced = Announced(times, kind, self._sequence, first)
        self._sequence += len(times)

    def push(self, time: int, kind: int, job: int) -> None:
        """Add an event; among equal times and kinds, the event pushed first comes first."""
        heapq.heappush(self._heap, (time, kind, self._sequence, job))
        self._sequence += 1

    def push_by_job(self, events: Iterable[tuple[int, int, int]]) -> None:
        """Add events (time, kind, job), and order all of equal time and kind by job number instead
        of the order of pushing.
        """
        new = [
            (time, kind, place, job)
            for place, (time, kind, job) in enumerate(events, start=self._sequence)
        ]
        ordered = sorted([*self._heap, *new], key=itemgetter(3, 2))
        first = self._sequence + len(new)
        self._heap = [
            (time, kind, place, job)
            for place, (time, kind, _, job) in enumerate(ordered, start=first)
        ]
        heapq.heapify(self._heap)
        self._sequence = first + len(ordered)

    def pop(self) -> Event:
        """Remove and return the first event of a non-empty queue."""
        first = self.take()
        assert first is not None, "asked only where something is left"
        return first

    def take(self) -> Event | None:
        """Remove and return the first event, or None if the queue is empty."""
        announced, heap = self._announced, self._heap
        if announced.left and not (heap and heap[0] < announced.head):
            return announced.pop()
        return heapq.heappop(heap) if heap else None

    def peek(self) -> Event:
        """Return the first event without removing it."""
        announced, heap = self._announced, self._heap
        if announced.left and not (heap and heap[0] < announced.head):
            return announced.head
        return heap[0]

    def state(self) -> tuple[list[Event], int, int]:
        """Return the events in order, the next sequence number, and the number of announced events
        that were popped; those that were not are omitted.
        """
        return sorted(self._heap), self._sequence, self._announced.popped

    def restore(self, events: Iterable[Event], sequence: int, gone: int) -> None:
        """Restore :meth:`state`; the same events must have been announced before."""
        self._heap = list(events)
        heapq.heapify(self._heap)
        self._sequence = sequence
        self._announced.go_to(gone)


class Announced:
    """Events known in advance, in columns of 4 bytes each if they are given in the order of time.

    They come in the order of time, then of number. popped: how many are gone. left: how many are
    not, which is asked at every event.
    """

    __slots__ = ("_first", "_kind", "_order", "_sequence", "_times", "head", "left", "popped")

    def __init__(
        self, times: IntArray | None = None, kind: int = 0, sequence: int = 0, first: int = 0
    ) -> None:
        given = np.zeros(0, dtype=np.int64) if times is None else times
        self._order: Sequence[int] | IntArray = range(len(given))
        if np.any(given[1:] < given[:-1]):
            self._order = narrow(np.argsort(given, kind="stable"))
            given = given[self._order]
        self._times = narrow(given)
        self._kind, self._sequence, self._first = kind, sequence, first
        #: Position of the first remaining event.
        self.head: Event = (0, 0, 0, 0)
        self.go_to(0)

    def __len__(self) -> int:
        return self.left

    def go_to(self, popped: int) -> None:
        """Set the number of popped events."""
        self.popped = popped
        self.left = len(self._order) - popped
        if self.left:
            job = int(self._order[popped])
            time = int(self._times[popped])
            self.head = (time, self._kind, self._sequence + job, self._first + job)

    def pop(self) -> Event:
        """Remove and return the first event."""
        head = self.head
        self.go_to(self.popped + 1)
        return head


#: Names of the reservation methods.
NONE, GREEDY, TIME_BASED, OPTIMAL = "none", "greedy", "time-based", "optimal"
#: Number of jobs with a future allocation if neither the instance nor the caller gives one.
TOP = 4
#: Deterministic solver units that the optimal method may spend in a cycle.
EFFORT = 2.0


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of one simulation."""

    #: Name of a reservation method (:mod:`solver.scheduler`).
    reservation: str
    #: Number of jobs of highest priority with a future allocation (TBR-01).
    top: int
    #: Seconds between two cycles; 0 for a cycle at every event.
    cycle: int
    #: Whether every queue reserves without a time limit, as in an instance without reservation
    #: settings.
    every_queue: bool = False
    #: Deterministic solver units per cycle for "optimal".
    effort: float = EFFORT
    #: Whether to skip cycles that cannot change anything.
    skip_idle: bool = True
    #: The one cycle that a plan is read from: jobs are considered before their begin time, nothing
    #: is preempted or grows, and reasons are given.
    planning: bool = False
    #: Seconds that a plan for frequent cycles keeps free after the end of every pending job.
    margin: int = 0
