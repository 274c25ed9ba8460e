"""Rows of whole numbers in as few bytes as they need, so that a million jobs fit into memory."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Rows that are packed together.
BLOCK = 1024
#: Kinds of columns, and the most that each takes.
_KINDS = tuple((kind, 256 ** array(kind).itemsize - 1) for kind in "BHIQ")

Row = tuple[int | None, ...]
#: What each number of a packed column is above, and by how much; 0: there is no number.
_Packed = tuple[int, Sequence[int]]


class IntTable:
    """Rows of equal length; a row that was appended is never changed.

    Rows are packed in blocks: of each column the least number is kept, and how far each is from it,
    in one, two, four or eight bytes as the block needs (of numbers still farther apart, objects).
    """

    __slots__ = ("_blocks", "_open")

    def __init__(self) -> None:
        self._blocks: list[tuple[_Packed, ...]] = []
        self._open: list[Row] = []

    def append(self, *row: int | None) -> None:
        """Add a row; None: no number."""
        self._open.append(row)
        if len(self._open) == BLOCK:
            self._blocks.append(tuple(map(_packed, zip(*self._open, strict=True))))
            self._open.clear()

    def __len__(self) -> int:
        return len(self._blocks) * BLOCK + len(self._open)

    def __getitem__(self, place: int) -> Row:
        block, at = divmod(place, BLOCK)
        if block == len(self._blocks):
            return self._open[at]
        return tuple(
            [base + codes[at] if codes[at] else None for base, codes in self._blocks[block]]
        )

    def blocks(self) -> Iterator[list[Row]]:
        """All rows in order, some at a time."""
        for block in self._blocks:
            yield list(zip(*map(_unpacked, block), strict=True))
        if self._open:
            yield list(self._open)

    def __iter__(self) -> Iterator[Row]:
        return (row for rows in self.blocks() for row in rows)

    def column(self, number: int, none: int = 0) -> NDArray[np.int64]:
        """One column; none: what stands where there is no number."""

        def values() -> Iterator[int]:
            for block in self._blocks:
                base, codes = block[number]
                yield from (base + code if code else none for code in codes)
            for row in self._open:
                value = row[number]
                yield none if value is None else value

        return np.fromiter(values(), np.int64, len(self))


def _packed(values: Sequence[int | None]) -> _Packed:
    base = min((value for value in values if value is not None), default=0) - 1
    codes = [0 if value is None else value - base for value in values]
    most = max(codes)
    kind = next((kind for kind, limit in _KINDS if most <= limit), None)
    return base, tuple(codes) if kind is None else array(kind, codes)


def _unpacked(column: _Packed) -> Iterator[int | None]:
    base, codes = column
    return (base + code if code else None for code in codes)


def narrow(column: NDArray[np.int64]) -> NDArray[Any]:
    """The same numbers in half the bytes, where they fit."""
    half = column.astype(np.int32)
    return half if np.array_equal(half, column) else column
