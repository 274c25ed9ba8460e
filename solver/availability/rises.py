"""Where the use of something may rise, so that the most that is used over a window is found fast.

Rows only fall after they have begun. So over a window a host has the most in use at the first
instant or where some row begins on it: these are few, however many instants there are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from .arrays import FloatArray, IntArray
from .rows import Block

#: Places and instants at which rows begin.
Beginnings = tuple[IntArray, IntArray]


class Rises:
    """Beginnings of rows in the order of time, and what is in use on their hosts then.

    Nothing is changed in place, so copies may share one.
    """

    __slots__ = ("_begin", "_used", "_where")

    def __init__(self) -> None:
        self._begin: IntArray = np.zeros(0, dtype=np.int64)
        self._where: IntArray = np.zeros(0, dtype=np.int64)
        self._used: FloatArray = np.zeros(0)

    def counting(self, block: Block, size: int) -> Rises:
        """With rows that were not there before. size: number of hosts."""
        twin = Rises()
        twin._begin, twin._where, twin._used = self._begin, self._where, self._used.copy()
        steady = np.ones(len(block.where), dtype=bool)
        steady[block.decaying[0]] = False
        begin, end = block.begin[steady], block.end[steady]
        for first, last in {*zip(begin.tolist(), end.tolist(), strict=True)}:
            low, high = np.searchsorted(self._begin, (first, last))
            if low < high:
                rows = np.flatnonzero(steady)[(begin == first) & (end == last)]
                more = np.bincount(block.where[rows], block.amount[rows], minlength=size)
                twin._used[low:high] += more[self._where[low:high]]
        for row in block.decaying[0].tolist():
            one = block.only(np.arange(len(block.where)) == row)
            low, high = np.searchsorted(self._begin, (one.begin[0], one.end[0]))
            for place in low + np.flatnonzero(self._where[low:high] == one.where[0]):
                twin._used[place] += one.at(int(self._begin[place]), size)[one.where[0]]
        return twin

    def with_beginnings(
        self, fresh: Sequence[Beginnings], since: int, at: Callable[[int], FloatArray]
    ) -> Rises:
        """With more beginnings, those after `since`; at: what is in use at an instant, [H]."""
        where = np.concatenate([part[0] for part in fresh])
        begin = np.concatenate([part[1] for part in fresh])
        later = begin > since
        if not later.any():
            return self
        where, begin = where[later], begin[later]
        order = np.argsort(begin, kind="stable")
        where, begin = where[order], begin[order]
        instants, firsts = np.unique(begin, return_index=True)
        used = np.empty(len(begin))
        for instant, low, high in zip(
            instants.tolist(), firsts, [*firsts[1:], len(begin)], strict=True
        ):
            used[low:high] = at(instant)[where[low:high]]
        places = np.searchsorted(self._begin, begin)
        twin = Rises()
        twin._begin = np.insert(self._begin, places, begin)
        twin._where = np.insert(self._where, places, where)
        twin._used = np.insert(self._used, places, used)
        return twin

    def raise_to(self, most: FloatArray, after: int, last: int) -> None:
        """Raise amounts, [H], to what is in use where rows begin after `after`, up to `last`."""
        low, high = np.searchsorted(self._begin, (after, last), side="right")
        np.maximum.at(most, self._where[low:high], self._used[low:high])
