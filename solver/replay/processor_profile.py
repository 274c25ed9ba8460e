"""Free processors of one pool over time, as a step function."""

from __future__ import annotations

from bisect import bisect_left, bisect_right


class ProcessorProfile:
    """`free[i]` processors are free over [times[i], times[i+1]), the last value for ever.

    Neighbouring steps differ, so the lists are as short as they can be.
    """

    __slots__ = ("free", "times")

    def __init__(self, times: list[int], free: list[int]) -> None:
        self.times = times
        self.free = free

    def forget_before(self, now: int) -> None:
        """Drop the steps that ended at or before `now`."""
        past = bisect_right(self.times, now) - 1
        if past > 0:
            del self.times[:past]
            del self.free[:past]

    def take(self, start: int, end: int, procs: int) -> None:
        """Occupy `procs` processors over [start, end); a negative number gives them back."""
        times, free = self.times, self.free
        first = bisect_left(times, start)
        if first == len(times) or times[first] != start:
            times.insert(first, start)
            free.insert(first, free[first - 1])
        last = bisect_left(times, end, first)
        if last == len(times) or times[last] != end:
            times.insert(last, end)
            free.insert(last, free[last - 1])
        for i in range(first, last):
            free[i] -= procs
        # Only at the two borders can neighbours have become equal.
        if free[last] == free[last - 1]:
            del times[last], free[last]
        if first > 0 and free[first] == free[first - 1]:
            del times[first], free[first]

    def earliest(self, procs: int, duration: int, after: int) -> int:
        """First t >= `after` with `procs` processors free over [t, t + duration).

        `procs` must not exceed the machine, which is all free in the end.
        """
        times, free = self.times, self.free
        count = len(times)
        i = bisect_right(times, after) - 1
        start = after
        while True:
            if free[i] < procs:
                i += 1
                while free[i] < procs:
                    i += 1
                start = times[i]
            end = start + duration
            i += 1
            while i < count and times[i] < end:
                if free[i] < procs:
                    break
                i += 1
            else:
                return start

    def earlier(self, procs: int, duration: int, now: int, reserved: int) -> int:
        """The same search for a job that itself holds `procs` over [reserved, reserved + duration).

        Returns a start in [now, reserved]. From `reserved` on the job's own processors count as
        free, so only the steps before that have to be looked at.
        """
        times, free = self.times, self.free
        count = bisect_left(times, reserved)
        i = bisect_right(times, now) - 1
        start = now
        while True:
            if free[i] < procs:
                i += 1
                while i < count and free[i] < procs:
                    i += 1
                if i == count:
                    return reserved
                start = times[i]
            end = start + duration
            i += 1
            while i < count and times[i] < end:
                if free[i] < procs:
                    break
                i += 1
            else:
                return start
