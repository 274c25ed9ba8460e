"""What is free to a job that may use nothing that reservations hold until their starts.

A reservation holds of its place what does not come free by its start. Whoever uses no more than
what is free at all times from its start on uses nothing of that, however long it runs: so such a
job finds on each host what it would find if it never gave its slots back.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from .arrays import Allocation, FloatArray
from .profile import Profile
from .resources import SLOTS
from .rows import RowList
from .uses import Alternative


class Guarded(Profile):
    """A profile whose free slots are those that stay free from an instant on.

    plain: what runs and is planned. firm: the same without places of which less may be held than
    has to be kept. shown: `plain` with all that is held besides. What is taken of this is taken of
    all three: take it of a copy.
    """

    def __init__(self, shown: Profile, plain: Profile, firm: Profile) -> None:
        super().__init__(plain.table, plain.now)
        self._parts = shown, plain, firm
        self._starts, self._ends, self._finishes = shown.times()
        self.crowded, self.accepted = shown.crowded, plain.accepted

    def copy(self) -> Guarded:
        """An independent copy that shares the table."""
        shown, plain, firm = self._parts
        twin = plain.copy()
        return Guarded(shown.copy(), twin, twin if firm is plain else firm.copy())

    def _each(self) -> list[Profile]:
        shown, plain, firm = self._parts
        return [shown, plain] if firm is plain else [shown, plain, firm]

    def hold(
        self,
        alternative: Alternative,
        allocation: Allocation,
        start: int,
        finish: int | None,
        *,
        whole_hosts: Iterable[int] = (),
    ) -> None:
        """Take what a job uses on `allocation` over [start, finish) (None: for ever)."""
        for part in self._each():
            part.hold(alternative, allocation, start, finish, whole_hosts=whole_hosts)
        self._starts, self._ends, self._finishes = self._parts[0].times()

    def hold_rows(self, index: int, rows: RowList, *, pool: bool) -> None:
        """Take amounts of a host resource or a pool."""
        for part in self._each():
            part.hold_rows(index, rows, pool=pool)
        self._starts, self._ends, self._finishes = self._parts[0].times()

    def least_free(self, index: int, points: Sequence[int]) -> FloatArray:
        """The least of what is free over a window, of slots also at all times behind it, [H]."""
        shown, plain, firm = self._parts
        found = shown.least_free(index, points)
        if index != SLOTS:
            return found
        begin = points[0]
        held = plain.free(SLOTS, begin) - shown.free(SLOTS, begin)
        return np.minimum(found, firm.least_free(SLOTS, firm.checkpoints(begin, None)) - held)

    def least_free_in_pool(self, index: int, points: Sequence[int]) -> float:
        """:meth:`least_free` of a pool, as it is shown."""
        return self._parts[0].least_free_in_pool(index, points)
