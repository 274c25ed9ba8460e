"""What steady reservations really hold of pools, reckoned for all of them at once.

Such a reservation holds at every instant what of its place is free: no limit and no other resource
lets it hold less. So an instant needs one look at the free slots, however many reservations there
are.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from ..availability.arrays import BoolArray, FloatArray
from ..availability.profile import Profile
from ..availability.resources import SLOTS
from ..availability.rows import RowList
from .holding_back import edges_of

#: Slots of a place by host, and when the reservation ends (seconds).
Place = tuple[Mapping[int, int], int]


def held_of_pool(
    places: Sequence[Place],
    mask: BoolArray,
    plain: Profile,
    now: int,
    *,
    since: int,
    before: int,
) -> RowList:
    """Rows that count in a pool what is held over [since, before) in place of the whole places.

    mask: the hosts of the pool, [H]. plain: what runs and is planned.
    """
    times = plain.candidate_times(now)
    edges = [edges_of(times, until, since=since, before=before) for _, until in places]
    rows = RowList()
    inside = _Inside([slots for slots, _ in places], mask)
    at = {
        time: inside.free_at(plain, time)
        for time in {time for steps in edges for time in steps[:-1]}
    }
    for number, ((_, until), steps) in enumerate(zip(places, edges, strict=True)):
        rows.extend((0,), now, until, (-inside.whole[number],))
        if len(steps) < 2:
            continue
        begin, held = steps[0], at[steps[0]][number]
        for edge in steps[1:-1]:
            if at[edge][number] != held:
                rows.extend((0,), begin, edge, (held,))
                begin, held = edge, at[edge][number]
        rows.extend((0,), begin, steps[-1], (held,))
    return rows


class _Inside:
    """Slots of places that lie on the hosts of a pool. whole: those of each place."""

    def __init__(self, places: Iterable[Mapping[int, int]], mask: BoolArray) -> None:
        each = [[(h, count) for h, count in slots.items() if mask[h]] for slots in places]
        pairs = list(itertools.chain.from_iterable(each))
        self._host = np.array([host for host, _ in pairs], dtype=np.int64)
        self._count = np.array([count for _, count in pairs], dtype=float)
        self._owner = np.repeat(np.arange(len(each)), [len(part) for part in each])
        self._size = len(each)
        self.whole: list[float] = self._sums(self._count)

    def free_at(self, plain: Profile, time: int) -> list[float]:
        """Of each place what is free at an instant."""
        free = np.floor(np.maximum(plain.free(SLOTS, time)[self._host], 0.0))
        return self._sums(np.minimum(self._count, free))

    def _sums(self, amounts: FloatArray) -> list[float]:
        sums = np.bincount(self._owner, amounts, self._size)
        return [float(amount) for amount in sums.tolist()]
