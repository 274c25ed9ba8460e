"""The event queue that every simulation of the package shares."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from enum import IntEnum

Event = tuple[int, int, int, int]
"""(time in seconds, kind, sequence number, job index): the order is that of the tuple."""


class EventKind(IntEnum):
    """What happens; at one time stamp the lower kind happens first."""

    SUBMIT = 0
    END = 1
    START = 2


class EventQueue:
    """Events in the order (time, kind, order of pushing): deterministic, no ties left open."""

    __slots__ = ("_heap", "_sequence")

    def __init__(self, events: Iterable[Event] = (), sequence: int = 0) -> None:
        self._heap: list[Event] = list(events)
        heapq.heapify(self._heap)
        self._sequence = sequence

    def __bool__(self) -> bool:
        return bool(self._heap)

    def __len__(self) -> int:
        return len(self._heap)

    def push(self, time: int, kind: int, job: int) -> None:
        """Add an event; among equal times and kinds the one pushed first comes first."""
        heapq.heappush(self._heap, (time, kind, self._sequence, job))
        self._sequence += 1

    def pop(self) -> Event:
        """Remove and return the first event."""
        return heapq.heappop(self._heap)

    def peek(self) -> Event:
        """The first event, left in place."""
        return self._heap[0]

    def state(self) -> tuple[list[Event], int]:
        """Events in order and the next sequence number: the arguments that rebuild the queue."""
        return sorted(self._heap), self._sequence
