"""What jobs use over time, as rows and as columns: the sums behind the availability profile.

A use holds an amount over [begin, end), integer seconds, and never rises after its start.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from ...model.reservation import DECAY_STEP
from .resources import BoolArray, FloatArray, IntArray, Use


class Row(NamedTuple):
    """One phase of one use over [begin, end); where is the host index, 0 for a pool."""

    where: int
    begin: int
    end: int
    amount: float
    floor: float
    decay: bool


class Block:
    """Rows as columns, for arithmetic over all of them at once."""

    __slots__ = ("amount", "begin", "decaying", "end", "where")

    def __init__(self, rows: Sequence[Row]) -> None:
        self.where: IntArray = np.array([row.where for row in rows], dtype=np.int64)
        self.begin: IntArray = np.array([row.begin for row in rows], dtype=np.int64)
        self.end: IntArray = np.array([row.end for row in rows], dtype=np.int64)
        self.amount: FloatArray = np.array([row.amount for row in rows], dtype=float)
        fall = [(i, row.amount - row.floor) for i, row in enumerate(rows) if row.decay]
        #: Positions of the rows that fall over time, and by how much in all.
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


# Where the use of something may rise, so that the most that is used over a window is found fast.
#
# Rows only fall after they have begun. So over a window a host has the most in use at the first
# instant or where some row begins on it: these are few, however many instants there are.


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


#: Amounts of what runs (hosts times instants) that are kept for asking again.
MAX_KNOWN = 2_000_000


class Usage:
    """All uses of one host resource ([size] = hosts) or of one pool (size 1) over time.

    Rows added before :meth:`freeze` (running jobs) are shared by copies; later ones (planned jobs)
    are few. What the shared rows come to is kept by instant, also for copies.
    """

    __slots__ = (
        "_added",
        "_base",
        "_known",
        "_new_blocks",
        "_rises",
        "_uncounted",
        "recent",
        "size",
    )

    def __init__(self, size: int) -> None:
        self.size = size
        #: Rows that are in no column yet.
        self.recent: list[Row] = []
        self._base: Block | None = None
        self._added: list[Block] = []
        self._known: dict[int, FloatArray] = {}
        #: The beginnings and rows that the rises do not have yet; these are made once asked for.
        self._new_blocks: list[Beginnings] = []
        self._uncounted: list[Block] = []
        self._rises: Rises | None = None

    def add(self, where: int, start: int, finish: int, use: Use, times: float) -> None:
        """Add the phases of one use that starts at `start`, cut at `finish`."""
        for phase in use.reservation.phases:
            begin = start + phase.start
            full_end = finish if phase.end is None else start + phase.end
            end = min(finish, full_end)
            if begin >= end:
                continue
            amount, floor = phase.amount * times, phase.floor * times
            decay = phase.decay and phase.end is not None
            if decay and end < full_end:
                # Cut short: keep the slope by ending at the amount that the line reaches there.
                floor = amount - (amount - floor) * (end - begin) / (full_end - begin)
            self.recent.append(Row(where, begin, end, amount, floor, decay))

    def add_constant(self, hosts: IntArray, start: int, finish: int, amounts: FloatArray) -> None:
        """Add one row a host for something held from start to finish."""
        self._append_block(Block.constant(hosts, start, finish, amounts))

    def add_rows(self, rows: RowList) -> None:
        """Add rows that were gathered before."""
        self._append_block(rows.block())

    def _append_block(self, block: Block) -> None:
        self._added.append(block)
        self._new_blocks.append((block.where, block.begin))
        if self._rises is not None:
            self._uncounted.append(block)

    def _later(self) -> list[Block]:
        """Everything added since the freeze, as one block or none."""
        if self.recent:
            rows, self.recent = self.recent, []
            self._append_block(Block(rows))
        if len(self._added) > 1:
            self._added = [Block.joined(self._added)]
        return self._added

    def freeze(self) -> None:
        """Make all rows so far the shared base."""
        self._base = Block.joined([self._base or Block(()), *self._later()])
        self._added, self._known = [], {}

    def at(self, time: int) -> FloatArray:
        """Amount in use at `time`, [size]; not to be changed."""
        total = self._shared(time)
        for block in self._later():
            total = total + block.at(time, self.size)
        return total

    def most(self, time: int, last: int, since: int) -> FloatArray:
        """The most in use at `time` or at a beginning after it, up to `last`, [size].

        since: no earlier instant is ever asked about.
        """
        found = self.at(time)
        if last > time:
            found = found.copy()
            self._risen(since).raise_to(found, time, last)
        return found

    def precompute(self, since: int) -> None:
        """Reckon what copies would each have to reckon for themselves; since: as of `most`."""
        if self._new_blocks or self._uncounted or self.recent:
            self._risen(since)

    def _risen(self, since: int) -> Rises:
        """The rises of all rows but the shared ones, which have begun."""
        self._later()
        rises = self._rises or Rises()
        for block in self._uncounted:
            rises = rises.counting(block, self.size)
        if self._new_blocks:
            rises = rises.with_beginnings(self._new_blocks, since, self.at)
        self._rises, self._uncounted, self._new_blocks = rises, [], []
        return rises

    def _shared(self, time: int) -> FloatArray:
        """What the shared rows come to at `time`, [size]; kept."""
        if self._base is None:
            self.freeze()
        assert self._base is not None
        total = self._known.get(time)
        if total is None:
            total = self._base.at(time, self.size)
            if len(self._known) * self.size > MAX_KNOWN:
                self._known.clear()
            self._known[time] = total
        return total

    @classmethod
    def over(cls, size: int, base: Block) -> Usage:
        """A usage that starts from the rows of `base`."""
        usage = cls(size)
        usage._base = base
        return usage

    def copy(self) -> Usage:
        """An independent copy that shares the frozen base."""
        if self._base is None:
            self.freeze()
        twin = Usage(self.size)
        twin._base, twin._added = self._base, list(self._later())
        twin._rises, twin._new_blocks = self._rises, list(self._new_blocks)
        twin._uncounted = list(self._uncounted)
        twin._known = self._known
        return twin
