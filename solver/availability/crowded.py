"""Windows over which hosts leave so few slots free that no larger job fits, whoever asks.

Within a cycle places are only added, so what was too crowded for a job is so for every later job
of as many slots whose window reaches over the same instants.
"""

from __future__ import annotations

import bisect

import numpy as np

from .arrays import BoolArray, IntArray

#: Windows that are kept; when there are more, it is begun anew.
MOST_WINDOWS = 4096
#: Later than every instant.
NEVER = np.iinfo(np.int64).max


class _Windows:
    """Windows in the order of their beginnings, as columns.

    Each has its first and last instant (seconds), the slots that are free on all hosts all the
    while, and until when the reservations last that were heeded (seconds).
    """

    __slots__ = ("_arrays", "_columns")

    def __init__(self) -> None:
        self._columns: tuple[list[int], ...] = ([], [], [], [])
        self._arrays: tuple[IntArray, ...] | None = None

    def add(self, *window: int) -> None:
        if len(self._columns[0]) >= MOST_WINDOWS:
            self.clear()
        place = bisect.bisect_left(self._columns[0], window[0])
        for column, value in zip(self._columns, window, strict=True):
            column.insert(place, value)
        self._arrays = None

    def clear(self) -> None:
        for column in self._columns:
            column.clear()
        self._arrays = None

    def soonest_end(self, at: IntArray, slots: int, until: int) -> IntArray:
        """By instant the first at which a window that begins no earlier has been reached over.

        Only windows that leave less than `slots`, and heed no more than is held until `until`.
        """
        if self._arrays is None:
            self._arrays = tuple(np.array(column, dtype=np.int64) for column in self._columns)
        begin, last, free, heeded = self._arrays
        kept = (free < slots) & (heeded <= until)
        if not kept.any():
            return np.full(len(at), NEVER)
        soonest = np.append(np.minimum.accumulate(last[kept][::-1])[::-1], NEVER)
        return np.asarray(soonest[np.searchsorted(begin[kept], at)])


class Crowded:
    """What is known of a profile to which places and reservations are added, and none given back.

    To be asked for those who heed only what is held until a certain instant, or all of it: who
    heeds more finds no more.
    """

    __slots__ = ("_below", "_until", "_windows")

    def __init__(self) -> None:
        self._windows, self._until = _Windows(), 0
        self._below: Crowded | None = None

    def with_more(self) -> Crowded:
        """For a profile in which reservations are held too, and otherwise the same."""
        twin = Crowded()
        twin._until, twin._below = NEVER, self
        return twin

    def heeding(self, until: int) -> Crowded:
        """For those who heed reservations that end by `until`; shares what is known."""
        twin = Crowded()
        twin._windows, twin._until, twin._below = self._windows, until, self._below
        return twin

    def note(self, begin: int, last: int, slots: int) -> None:
        """Over all of [begin, last] only so many slots are free on all hosts."""
        self._windows.add(begin, last, slots, self._until)

    def forget(self) -> None:
        """Less is held than was, though no less is planned."""
        self._windows.clear()

    def refuses(self, at: IntArray, duration: int | None, slots: int) -> BoolArray:
        """At which instants a job of so many slots reaches over a crowded window."""
        soonest = self._windows.soonest_end(at, slots, self._until)
        found = soonest < (NEVER if duration is None else at + duration)
        return np.asarray(
            found if self._below is None else found | self._below.refuses(at, duration, slots)
        )
