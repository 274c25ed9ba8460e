"""What is in use at instants that were asked about, kept right as rows are added."""

from __future__ import annotations

import numpy as np

from .arrays import FloatArray, IntArray
from .rows import Block

#: Amounts (hosts times instants) that are kept.
MOST_KEPT = 2_000_000
_FIRST = 16


class Sums:
    """Amounts in use by instant, one row of [size] each; forgotten when there are too many."""

    __slots__ = ("_amounts", "_instants", "_row_of", "size")

    def __init__(self, size: int) -> None:
        self.size = size
        self._row_of: dict[int, int] = {}
        self._instants: IntArray = np.zeros(_FIRST, dtype=np.int64)
        self._amounts: FloatArray = np.zeros((_FIRST, size))

    def at(self, time: int) -> FloatArray | None:
        """What is in use at an instant, [size], if that is known; it changes with the rows."""
        row = self._row_of.get(time)
        return None if row is None else self._amounts[row]

    def keep(self, time: int, amounts: FloatArray) -> None:
        """Remember what is in use at an instant."""
        row = len(self._row_of)
        if (row + 1) * self.size > MOST_KEPT:
            self._row_of.clear()
            row = 0
        if row == len(self._instants):
            self._instants = np.concatenate([self._instants, np.zeros_like(self._instants)])
            self._amounts = np.concatenate([self._amounts, np.empty_like(self._amounts)])
        self._row_of[time] = row
        self._instants[row], self._amounts[row] = time, amounts

    def add(self, block: Block) -> None:
        """More rows are there."""
        if block.decaying[0].size:
            self._row_of.clear()
        if not self._row_of:
            return
        instants = self._instants[: len(self._row_of)]
        for begin, end in {*zip(block.begin.tolist(), block.end.tolist(), strict=True)}:
            known = np.flatnonzero((begin <= instants) & (instants < end))
            if known.size:
                rows = (block.begin == begin) & (block.end == end)
                more = np.bincount(block.where[rows], block.amount[rows], self.size)
                places = more.nonzero()[0]
                self._amounts[known[:, None], places] += more[places]
