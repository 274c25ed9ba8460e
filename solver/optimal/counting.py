"""Refutation by counts, before any model: more blocks are asked for than hosts have.

A job that takes blocks of b slots on a host counts b // t pieces of t slots, and a host with f
slots free has f // t of them, for any t: what pieces jobs need on hosts of a set is no more than
the hosts of the set have. The sets are those that the blocks of one of the jobs fit on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from ..availability.arrays import BoolArray, IntArray
from ..availability.demand import Availability, Demand, TermDemand
from ..availability.resources import SLOTS
from ..availability.uses import Per


@dataclass(frozen=True, slots=True)
class Blocks:
    """`count` blocks of `size` slots of a job over [start, end); hosts: where one fits, [H]."""

    size: int
    count: int
    hosts: BoolArray
    start: int
    end: float

    def covers(self, point: int) -> bool:
        """Whether the job runs at an instant."""
        return self.start <= point < self.end


#: A job at a start (seconds), with the blocks that it takes for certain.
Asked: TypeAlias = tuple[Demand, int, Sequence[Blocks]]


def blocks_of(base: Availability, demand: Demand, time: int) -> tuple[Blocks, ...]:
    """The blocks that a job takes for certain when it starts at `time`; () where it has a choice.

    hosts: where one fits beside the base. The blocks of a job that has its hosts whole are these.
    """
    if len(demand.terms) != 1 or len(demand.terms[0].alternatives) != 1:
        return ()
    term = demand.terms[0]
    (alternative,) = term.alternatives
    slots = [use for use in alternative.host_uses if use.index == SLOTS]
    if len(slots) != 1 or slots[0].reservation.drops():
        return ()
    caps = base.room(demand, term, alternative, time).caps
    able = term.candidates[caps[term.candidates] > 0]
    end = np.inf if demand.duration is None else time + demand.duration
    if slots[0].per is Per.WHOLE:
        capacity = np.unique(base.table.host_resources[SLOTS].capacity[able])
        if len(capacity) != 1:
            return ()
        whole = int(capacity[0])
        count = sum(number for _, number in _sizes(term, able, whole))
        return (Blocks(whole, count, caps > 0, time, end),) if count else ()
    if slots[0].per is not Per.SLOT or slots[0].reservation.planned_at(0) != 1.0:
        return ()
    sizes = _sizes(term, able, term.block)
    return tuple(Blocks(size, count, caps >= size, time, end) for size, count in sizes)


def _sizes(term: TermDemand, able: IntArray, block: int) -> list[tuple[int, int]]:
    """Slots of a block and how many of these a term has for certain; block: where span says none.

    able: the hosts that it may use.
    """
    known = term.largest == term.slots
    if term.one_host:
        return [(term.slots, 1)]
    if term.ptile is None:
        return _tiles(term.slots, block, known=known)
    tiles = np.unique(term.ptile[able])
    return _tiles(term.slots, int(tiles[0]), known=known) if len(tiles) == 1 else []


def _tiles(slots: int, tile: int, *, known: bool) -> list[tuple[int, int]]:
    """Whole tiles and the rest; known: no more slots than these may be taken."""
    sizes = [(tile, slots // tile)]
    if known and slots % tile:
        sizes.append((slots % tile, 1))
    return [(size, count) for size, count in sizes if count]


def too_many(base: Availability, blocks: Sequence[Blocks], points: Sequence[int]) -> bool:
    """Whether at one of these instants the blocks need more than there is."""
    if not blocks or not points:
        return False
    masks = np.array([block.hosts for block in blocks])
    used = np.flatnonzero(masks.any(axis=0))
    fits = masks[:, used].astype(np.float32)
    free = np.array([base.free(SLOTS, point)[used] for point in points]).clip(0)
    active = np.array([[block.covers(point) for point in points] for block in blocks])
    sizes = np.array([block.size for block in blocks])
    counts = np.array([block.count for block in blocks])
    # [i, j]: j fits nowhere but where i does.
    inside = (fits @ fits.T > fits.sum(axis=1) - 0.5).astype(np.float32)
    for piece in np.unique([1, *sizes]):
        pieces = (counts * (sizes // piece))[:, np.newaxis] * active
        needed = inside @ pieces.astype(np.float32)
        there = fits @ np.floor(free / piece).T.astype(np.float32)
        if (needed > there + 0.5).any():
            return True
    return False
