"""Refutation by counts at two instants: who runs at the first is in the way at the second.

Jobs that run at both hold the same slots of the same hosts at both. Where they take all that is
free at the first but for a few slots, blocks that start in between fit only on hosts where enough
has become free since, or where those few are left over. No relaxation of one instant says so, nor
does a linear one of both, which takes a part of a block from every host.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..availability.arrays import BoolArray, FloatArray
from ..availability.demand import Availability
from ..availability.resources import SLOTS
from ..availability.room import SLACK
from .counting import Asked, Blocks


def crowded_out(base: Availability, asked: Sequence[Asked], points: Sequence[int]) -> bool:
    """Whether blocks find too few hosts at one of these instants, for who runs since before.

    asked: all jobs with their starts; what is asked of `points` is judged against every start.
    """
    blocks = [block for _, _, several in asked for block in several if block.size > 1]
    if not blocks or not points:
        return False
    before = sorted({time for _, time, _ in asked} | set(base.later_starts))
    free = {point: base.free(SLOTS, point).clip(0) for point in {*before, *points}}
    spare = _spare(asked, free, before, points)
    for size in sorted({block.size for block in blocks}):
        needed = _pieces_between(blocks, size, before, points)
        # Where there is room for all of them in what is spare nothing is refuted.
        for i, j in np.argwhere(spare < size * needed).tolist():
            between = [
                block
                for block in blocks
                if block.size >= size and before[i] < block.start and block.covers(points[j])
            ]
            first, second = free[before[i]], free[points[j]]
            if _too_few_hosts(first, second, size, between, float(spare[i, j])):
                return True
    return False


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


def _too_few_hosts(
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
