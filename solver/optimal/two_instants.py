"""Refutation by counts at two instants: who runs at the first is in the way at the second.

Jobs that run at both hold the same slots of the same hosts at both. Where they take all that is
free at the first but for a few slots, blocks that start in between fit only on hosts where enough
has become free since, or where those few are left over; so it is with the slots that a job needs of
few compute units. No relaxation of one instant says so, nor does a linear one of both, which takes
a part of a block from every host.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..availability.arrays import BoolArray, FloatArray, IntArray
from ..availability.demand import Availability, UnitDemand
from ..availability.resources import SLOTS
from ..availability.room import SLACK
from .counting import Asked, Blocks


def crowded_out(base: Availability, asked: Sequence[Asked], points: Sequence[int]) -> bool:
    """Whether jobs find too little room at one of these instants, for who runs since before.

    asked: all jobs with their starts; what is asked of `points` is judged against every start.
    """
    if not points:
        return False
    before = sorted({time for _, time, _ in asked} | set(base.later_starts))
    free = {point: base.free(SLOTS, point).clip(0) for point in {*before, *points}}
    view = _View(base, asked, before, list(points), free, _spare(asked, free, before, points))
    return view.too_few_hosts() or view.too_full_units()


@dataclass(frozen=True, slots=True)
class _View:
    """Jobs at their starts, seen from instants before upon later ones.

    free: slots free beside the base, by instant, [H]. spare: those free at the first that no job
    holds that runs at both, [before, points]; infinite where the first is not before the second.
    """

    base: Availability
    asked: Sequence[Asked]
    before: list[int]
    points: list[int]
    free: dict[int, FloatArray]
    spare: FloatArray

    def too_few_hosts(self) -> bool:
        """Whether blocks that start in between need more hosts than they can have."""
        blocks = [block for _, _, several in self.asked for block in several if block.size > 1]
        for size in sorted({block.size for block in blocks}):
            needed = _pieces_between(blocks, size, self.before, self.points)
            # Where there is room for all of them in what is spare nothing is refuted.
            for i, j in np.argwhere(self.spare < size * needed).tolist():
                first, second = self.before[i], self.points[j]
                between = [
                    block
                    for block in blocks
                    if block.size >= size and first < block.start and block.covers(second)
                ]
                if _too_few(
                    self.free[first], self.free[second], size, between, float(self.spare[i, j])
                ):
                    return True
        return False

    def too_full_units(self) -> bool:
        """Whether a job that starts in few units (cu[maxcus]) finds none with enough slots."""
        for demand, time, _ in self.asked:
            if time not in self.points or len(demand.terms) != 1:
                continue
            (term,) = demand.terms
            if term.unit is None or term.unit.maxcus is None or len(term.alternatives) != 1:
                continue
            spare = self.spare[:, self.points.index(time)]
            tight = np.flatnonzero(spare < term.slots).tolist()
            if not tight:
                continue
            caps = self.base.room(demand, term, term.alternatives[0], time).caps
            for i in tight:
                first, second = self.free[self.before[i]], self.free[time]
                most = most_in_units(term.unit, caps, first, second, float(spare[i]))
                if most < term.slots:
                    return True
        return False


def most_in_units(
    unit: UnitDemand, caps: IntArray, first: FloatArray, second: FloatArray, spare: float
) -> float:
    """No less than what a job finds in the best `maxcus` units at the second instant.

    caps: what it may take of each host, [H]. first, second, spare: as for :func:`most_pieces`, but
    that of `spare` some may be free at the first instant alone.
    """
    room = np.minimum(caps, second)
    grown = np.minimum(room, second - np.minimum(first, second))
    spare -= float((first - np.minimum(first, second)).sum())
    _, number = np.unique(unit.unit_of, return_inverse=True)
    whole, since = (np.bincount(number.reshape(-1), amounts) for amounts in (room, grown))
    best = np.sort(np.minimum(whole, since + max(0.0, spare + SLACK)))[::-1][: unit.maxcus]
    few = np.sort(since)[::-1][: unit.maxcus]
    return min(float(best.sum()), float(few.sum()) + max(0.0, spare + SLACK))


def most_pieces(first: FloatArray, second: FloatArray, size: int, spare: float) -> int:
    """The most pieces of `size` slots at the second instant.

    first, second: slots free on each host, [H]. spare: slots that may be left over at the first;
    all others are in use at both.
    """
    stay = np.minimum(first, second)
    grown = second - stay
    without = np.floor(grown / size)
    further = np.floor(second / size) - without
    cost = np.sort((size * (without + 1) - grown)[further > 0])
    enough = int(np.searchsorted(np.cumsum(cost), spare + SLACK, side="right"))
    found = int(without.sum()) + enough
    if enough == len(cost):  # every further one takes `size`, which is no less than any before
        left = (spare + SLACK - float(cost.sum())) // size
        found += int(min(left, float(further.sum()) - enough))
    return found


def _spare(
    asked: Sequence[Asked],
    free: dict[int, FloatArray],
    before: Sequence[int],
    points: Sequence[int],
) -> FloatArray:
    """Slots free at the first instant that no job needs that runs at both, [before, points]."""
    slots = np.array([demand.slots for demand, _, _ in asked], dtype=float)
    starts = np.array([time for _, time, _ in asked])[:, np.newaxis]
    ends = np.array(
        [np.inf if demand.duration is None else time + demand.duration for demand, time, _ in asked]
    )[:, np.newaxis]
    first, second = (
        (starts <= np.array(instants)) & (np.array(instants) < ends)
        for instants in (before, points)
    )
    held = (slots[:, np.newaxis] * first).T @ second.astype(float)
    total = np.array([float(free[point].sum()) for point in before])
    earlier = np.array(before)[:, np.newaxis] < np.array(points)
    return np.where(earlier, total[:, np.newaxis] - held, np.inf)


def _pieces_between(
    blocks: Sequence[Blocks], size: int, before: Sequence[int], points: Sequence[int]
) -> FloatArray:
    """Pieces of jobs that run at the second instant but not yet at the first, [before, points]."""
    pieces = np.array([block.count * (block.size // size) for block in blocks], dtype=float)
    later = np.array([[block.start > point for point in before] for block in blocks])
    active = np.array([[block.covers(point) for point in points] for block in blocks])
    between: FloatArray = (pieces[:, np.newaxis] * later).T @ active.astype(float)
    return between


def _too_few(
    first: FloatArray, second: FloatArray, size: int, blocks: Sequence[Blocks], spare: float
) -> bool:
    """Whether blocks that start in between need more hosts than there are, for one set of hosts.

    The sets are those that a job's blocks fit on, and all of these, with the blocks that fit
    nowhere else. spare: as for :func:`most_pieces`, with what is free at the first instant alone.
    """
    spare -= float((first - np.minimum(first, second)).sum())
    if spare < -SLACK:
        return True
    for allowed in _sets(blocks):
        inside = [block for block in blocks if not (block.hosts & ~allowed).any()]
        needed = sum(block.count * (block.size // size) for block in inside)
        if needed > most_pieces(first[allowed], second[allowed], size, spare):
            return True
    return False


def _sets(blocks: Sequence[Blocks]) -> list[BoolArray]:
    """Different sets of hosts that blocks fit on, and all of them together."""
    together = np.logical_or.reduce([block.hosts for block in blocks])
    different = {block.hosts.tobytes(): block.hosts for block in blocks}
    different.setdefault(together.tobytes(), together)
    return list(different.values())
