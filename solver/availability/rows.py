"""Rows and columns of what is used over time: an amount over [begin, end), in seconds."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from ...model.reservation import DECAY_STEP
from .arrays import BoolArray, FloatArray, IntArray


class Row(NamedTuple):
    """One phase of one use over [begin, end); where is the host index, 0 for a pool."""

    where: int
    begin: int
    end: int
    amount: float
    floor: float
    decay: bool


class Block:
    """Rows as columns, for arithmetic over all of them at once.

    decaying: positions of the rows that fall over time, and by how much in all.
    """

    __slots__ = ("amount", "begin", "decaying", "end", "where")

    def __init__(self, rows: Sequence[Row]) -> None:
        self.where: IntArray = np.array([row.where for row in rows], dtype=np.int64)
        self.begin: IntArray = np.array([row.begin for row in rows], dtype=np.int64)
        self.end: IntArray = np.array([row.end for row in rows], dtype=np.int64)
        self.amount: FloatArray = np.array([row.amount for row in rows], dtype=float)
        fall = [(i, row.amount - row.floor) for i, row in enumerate(rows) if row.decay]
        self.decaying = (
            np.array([i for i, _ in fall], dtype=np.int64),
            np.array([drop for _, drop in fall], dtype=float),
        )

    @classmethod
    def of_columns(
        cls,
        where: IntArray,
        begin: IntArray,
        end: IntArray,
        amount: FloatArray,
        decaying: tuple[IntArray, FloatArray],
    ) -> Block:
        """A block over arrays that are there already."""
        block = cls.__new__(cls)
        block.where, block.begin, block.end = where, begin, end
        block.amount, block.decaying = amount, decaying
        return block

    @classmethod
    def constant(cls, hosts: IntArray, start: int, finish: int, amounts: FloatArray) -> Block:
        """One row a host for something held from start to finish."""
        count = len(hosts)
        return cls.of_columns(
            hosts,
            np.full(count, start, dtype=np.int64),
            np.full(count, finish, dtype=np.int64),
            amounts,
            _NONE_DECAYING,
        )

    @classmethod
    def joined(cls, blocks: Sequence[Block]) -> Block:
        """The rows of all of them; one at least."""
        if len(blocks) == 1:
            return blocks[0]
        offsets = np.cumsum([0, *(len(block.where) for block in blocks[:-1])]).tolist()
        falling = zip(blocks, offsets, strict=True)
        return cls.of_columns(
            np.concatenate([block.where for block in blocks]),
            np.concatenate([block.begin for block in blocks]),
            np.concatenate([block.end for block in blocks]),
            np.concatenate([block.amount for block in blocks]),
            (
                np.concatenate([block.decaying[0] + offset for block, offset in falling]),
                np.concatenate([block.decaying[1] for block in blocks]),
            ),
        )

    def only(self, kept: BoolArray) -> Block:
        """The rows of a mask."""
        rows, drops = self.decaying
        place = np.cumsum(kept) - 1
        return Block.of_columns(
            self.where[kept],
            self.begin[kept],
            self.end[kept],
            self.amount[kept],
            (place[rows[kept[rows]]], drops[kept[rows]]),
        )

    def at(self, time: int, size: int) -> FloatArray:
        """Amount in use at `time`, [size]."""
        amount = self.amount
        rows, drops = self.decaying
        if rows.size:
            begin, end = self.begin[rows], self.end[rows]
            steps = np.maximum(time - begin, 0) // DECAY_STEP * DECAY_STEP
            amount = amount.copy()
            amount[rows] -= drops * steps / (end - begin)
        active = (self.begin <= time) & (time < self.end)
        counted = np.bincount(self.where[active], weights=amount[active], minlength=size)
        return counted.astype(float, copy=False)


_NONE_DECAYING = (np.zeros(0, dtype=np.int64), np.zeros(0))


class RowList:
    """Constant rows that are gathered one by one and entered together."""

    __slots__ = ("amount", "begin", "end", "where")

    def __init__(self) -> None:
        self.where: list[int] = []
        self.begin: list[int] = []
        self.end: list[int] = []
        self.amount: list[float] = []

    def extend(
        self, where: Collection[int], begin: int, end: int, amounts: Iterable[float]
    ) -> None:
        """One row for each place."""
        self.where.extend(where)
        self.begin.extend([begin] * len(where))
        self.end.extend([end] * len(where))
        self.amount.extend(amounts)

    def block(self) -> Block:
        """The rows as columns."""
        return Block.of_columns(
            np.array(self.where, dtype=np.int64),
            np.array(self.begin, dtype=np.int64),
            np.array(self.end, dtype=np.int64),
            np.array(self.amount, dtype=float),
            _NONE_DECAYING,
        )
