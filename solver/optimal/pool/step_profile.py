"""Free processors over time, in steps, and where a job finds room in them."""

from __future__ import annotations

from bisect import bisect_right


class StepProfile:
    """Free processors over time as two parallel lists; the last value holds for ever."""

    __slots__ = ("free", "times")

    def __init__(self, times: list[int], free: list[int]) -> None:
        self.times = times
        self.free = free

    def equals(self, other: StepProfile) -> bool:
        """Are the same processors free in the same steps?"""
        return self.times == other.times and self.free == other.free

    def copy(self) -> StepProfile:
        return StepProfile(self.times.copy(), self.free.copy())

    def earliest(self, size: int, duration: int, first: int = 0) -> int:
        """The earliest start >= first at which ``size`` processors stay free for ``duration``
        seconds."""
        return self._find(size, duration, first)[0]

    def _find(self, size: int, duration: int, first: int) -> tuple[int, int, int]:
        """(start, index of its step, index of the first step at or after its end)."""
        times, free = self.times, self.free
        count = len(times)
        begin = bisect_right(times, first) - 1 if first else 0
        while True:
            while free[begin] < size:
                begin += 1
            start = times[begin]
            if start < first:
                start = first
            end = start + duration
            after = begin + 1
            while after < count and times[after] < end:
                if free[after] < size:
                    break
                after += 1
            else:
                return start, begin, after
            begin = after + 1

    def place(self, size: int, duration: int, first: int = 0) -> int:
        """Reserve at the earliest start, which is returned."""
        start, begin, after = self._find(size, duration, first)
        times, free = self.times, self.free
        end = start + duration
        if after == len(times) or times[after] != end:
            times.insert(after, end)
            free.insert(after, free[after - 1])
        if times[begin] != start:
            begin += 1
            after += 1
            times.insert(begin, start)
            free.insert(begin, free[begin - 1])
        for step in range(begin, after):
            free[step] -= size
        return start

    def take(self, start: int, size: int, duration: int) -> None:
        """Reserve at a given start, without asking whether there is room."""
        begin = self._split(start)
        for step in range(begin, self._split(start + duration)):
            self.free[step] -= size

    def steps(self) -> tuple[list[int], list[int]]:
        """Times and free processors, equal neighbours merged."""
        kept = [
            step
            for step in range(len(self.times))
            if step == 0 or self.free[step] != self.free[step - 1]
        ]
        return [self.times[step] for step in kept], [self.free[step] for step in kept]

    def _split(self, instant: int) -> int:
        """The index of the step that begins at ``instant``, made if need be."""
        step = bisect_right(self.times, instant) - 1
        if self.times[step] == instant:
            return step
        self.times.insert(step + 1, instant)
        self.free.insert(step + 1, self.free[step])
        return step + 1
