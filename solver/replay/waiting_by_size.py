"""The waiting jobs of a pool by size, so that those that cannot fit are not looked at."""

from __future__ import annotations

from bisect import bisect_left, insort


class WaitingBySize:
    """Jobs by number, in the order of their arrival; those of one size by their requests.

    size: processors of each job. request: its planned run time (seconds).
    """

    def __init__(self, size: list[int], request: list[int]) -> None:
        self._size, self._request = size, request
        self._sizes: list[int] = []  # ascending; of those that wait
        self._of_size: dict[int, list[tuple[int, int]]] = {}  # (request, job), sorted

    def add(self, job: int) -> None:
        """A job waits."""
        size = self._size[job]
        jobs = self._of_size.get(size)
        if jobs is None:
            insort(self._sizes, size)
            jobs = self._of_size[size] = []
        insort(jobs, (self._request[job], job))

    def remove(self, job: int) -> None:
        """A job that waits does so no longer."""
        size = self._size[job]
        jobs = self._of_size[size]
        if len(jobs) == 1:
            del self._of_size[size]
            del self._sizes[bisect_left(self._sizes, size)]
        else:
            del jobs[bisect_left(jobs, (self._request[job], job))]

    def fitting(self, room: int, extra: int, window: int) -> list[int]:
        """Jobs of at most `room` processors that ask for at most `window` seconds, or for `extra`.

        In the order of their arrival.
        """
        found: list[int] = []
        for size in self._sizes:
            if size > room:
                break
            jobs = self._of_size[size]
            if size > extra and jobs[0][0] > window:
                continue  # the shortest is too long
            last = len(jobs) if size <= extra else bisect_left(jobs, (window + 1,))
            found += [job for _, job in jobs[:last]]
        found.sort()
        return found
