"""Bars of a Gantt chart: which slots of a host a job is drawn on, from when to when."""

from __future__ import annotations

import bisect
import heapq
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

Kind = Literal["running", "planned", "reserved"]


@dataclass(frozen=True, slots=True)
class Stretch:
    """Slots that a job has or that are kept for it; seconds, finish None for "end unknown".

    kind: "running", "planned", or "reserved": held now for a start later on.
    """

    job: str
    kind: Kind
    start: int
    finish: int | None
    allocation: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Bar:
    """A rectangle: lanes first to first + count of a host (by index), a lane for each slot."""

    job: str
    kind: Kind
    host: int
    first: int
    count: int
    start: int
    finish: int | None


@dataclass(slots=True)
class _Lanes:
    """The lanes of one host: free runs [begin, end), and those in use by when they come free."""

    free: list[tuple[int, int]]
    busy: list[tuple[int, int, int]]
    top: int

    def release(self, now: int) -> None:
        """Give back what is free again by `now`."""
        while self.busy and self.busy[0][0] <= now:
            _, first, end = heapq.heappop(self.busy)
            place = bisect.bisect(self.free, (first, end))
            if place < len(self.free) and self.free[place][0] == end:
                end = self.free.pop(place)[1]
            if place and self.free[place - 1][1] == first:
                place -= 1
                first = self.free.pop(place)[0]
            self.free.insert(place, (first, end))

    def take(self, count: int, until: int | None) -> list[tuple[int, int]]:
        """(first, count) of the runs that are taken: one if it can be, the lowest lanes if not.

        Where more is in use than the host has, lanes are added on top.
        """
        whole = next((run for run in self.free if run[1] - run[0] >= count), None)
        taken: list[tuple[int, int]] = []
        if whole is not None:
            taken.append((whole[0], count))
        else:
            for first, end in self.free:
                taken.append((first, min(end - first, count)))
                count -= taken[-1][1]
                if not count:
                    break
            if count:
                taken.append((self.top, count))
                self.top += count
        for first, size in taken:
            self._occupy(first, first + size, until)
        return taken

    def _occupy(self, first: int, end: int, until: int | None) -> None:
        place = next((n for n, run in enumerate(self.free) if run[0] == first), None)
        if place is not None:
            rest = (end, self.free[place][1])
            self.free[place : place + 1] = [rest] if rest[0] < rest[1] else []
        if until is not None:
            heapq.heappush(self.busy, (until, first, end))


def bars(stretches: Iterable[Stretch], hosts: Mapping[str, int], slots: Sequence[int]) -> list[Bar]:
    """Bars of all stretches, host by host; jobs share no lane, as far as the host has enough.

    hosts: index by name. slots: of each host. What is reserved is drawn last, on lanes that are
    free when it begins, and may lie over jobs that borrow it.
    """
    on_host: dict[int, list[tuple[Stretch, int]]] = {}
    for stretch in stretches:
        if stretch.finish is None or stretch.start < stretch.finish:
            for name, count in stretch.allocation.items():
                if count > 0:
                    on_host.setdefault(hosts[name], []).append((stretch, count))
    return [
        bar for host in sorted(on_host) for bar in _bars_of_host(host, slots[host], on_host[host])
    ]


def _bars_of_host(host: int, slots: int, held: list[tuple[Stretch, int]]) -> list[Bar]:
    lanes = _Lanes([(0, slots)] if slots else [], [], slots)
    found: list[Bar] = []
    jobs = [item for item in held if item[0].kind != "reserved"]
    for stretch, count in sorted(jobs, key=lambda item: item[0].start):
        lanes.release(stretch.start)
        found += _drawn(stretch, host, lanes.take(count, stretch.finish))
    kept = [item for item in held if item[0].kind == "reserved"]
    taken: list[tuple[int, int]] = []
    for stretch, count in kept:
        busy = [
            (bar.first, bar.first + bar.count)
            for bar in found
            if bar.kind != "reserved"
            and bar.start <= stretch.start
            and (bar.finish is None or bar.finish > stretch.start)
        ]
        runs = _gaps(sorted([*busy, *taken]), slots, count)
        taken += [(first, first + size) for first, size in runs]
        found += _drawn(stretch, host, runs)
    return found


def _drawn(stretch: Stretch, host: int, runs: Iterable[tuple[int, int]]) -> list[Bar]:
    return [
        Bar(stretch.job, stretch.kind, host, first, count, stretch.start, stretch.finish)
        for first, count in runs
    ]


def _gaps(busy: list[tuple[int, int]], slots: int, count: int) -> list[tuple[int, int]]:
    """(first, count) of the lowest lanes that are not busy, `count` in all; on top for the rest."""
    found: list[tuple[int, int]] = []
    place = 0
    for first, end in [*busy, (max(slots, place), slots)]:
        if first > place and count:
            size = min(first - place, count)
            found.append((place, size))
            count -= size
        place = max(place, end)
    if count:
        found.append((place, count))
    return found
