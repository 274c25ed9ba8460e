"""What jobs use over time, as rows and as columns: the sums behind the availability profile.

A use holds an amount over [begin, end), integer seconds, and never rises after its start.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from ...model.reservation import DECAY_STEP
from .arrays import BoolArray, FloatArray, IntArray
from .uses import Use

#: Amounts of what runs (hosts times instants) that are kept for asking again.
MOST_KNOWN = 2_000_000
#: From so many rows on they are sorted by their ends, once the instants asked for are that many.
MANY_ROWS, MANY_TIMES = 4096, 16


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
        block = cls(())
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

    def totals(self, times: Sequence[int]) -> FloatArray:
        """Amount in use at several instants, of a pool (where all rows have one place)."""
        if self.decaying[0].size:
            return np.array([self.at(time, 1)[0] for time in times])
        at = np.array(times, dtype=np.int64)[:, None]
        return np.asarray(((self.begin <= at) & (at < self.end)) @ self.amount, dtype=np.float64)


_NONE_DECAYING = (np.zeros(0, dtype=np.int64), np.zeros(0))


class Ending:
    """The rows of a block that have begun and hold a constant amount, in the order of their ends.

    What they come to at an instant is put together from a sum kept for every so many rows and
    the rows before it, so that it costs little however many there are. rest: the other rows.
    """

    __slots__ = ("_amount", "_end", "_step", "_sums", "_where", "rest", "since", "size")

    def __init__(self, block: Block, since: int, size: int) -> None:
        """since: the instants from then on may be asked for (seconds)."""
        self.since, self.size = since, size
        plain = block.begin <= since
        plain[block.decaying[0]] = False
        self.rest = block.only(~plain)
        order = np.argsort(block.end[plain], kind="stable")
        self._end = block.end[plain][order]
        self._where = block.where[plain][order]
        self._amount = block.amount[plain][order]
        self._step = max(MANY_ROWS // 4, size // 4)
        sums = [np.zeros(size)]
        for first in range((len(order) - 1) // self._step * self._step, 0, -self._step):
            sums.append(sums[-1] + self._between(first, first + self._step))
        #: What the rows from every so manieth on come to, [size]; the last is of no rows.
        self._sums = sums[::-1]

    def _between(self, first: int, last: int) -> FloatArray:
        rows = slice(first, last)
        counted = np.bincount(self._where[rows], self._amount[rows], minlength=self.size)
        return counted.astype(float, copy=False)

    def at(self, time: int) -> FloatArray:
        """Amount in use at `time`, [size]."""
        first = int(np.searchsorted(self._end, time, side="right"))
        at = first // self._step
        found = self._between(first, (at + 1) * self._step)
        if at + 1 < len(self._sums):
            found += self._sums[at]
        return found + self.rest.at(time, self.size) if len(self.rest.where) else found


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


class Usage:
    """All uses of one host resource ([size] = hosts) or of one pool (size 1) over time.

    Rows added before :meth:`freeze` (running jobs) are shared by copies; later ones (planned jobs)
    are few. What the shared rows come to is kept by instant, also for copies. recent: rows that
    are in no column yet.
    """

    __slots__ = ("_added", "_asked", "_base", "_ending", "_known", "recent", "size")

    def __init__(self, size: int) -> None:
        self.size = size
        self.recent: list[Row] = []
        self._base: Block | None = None
        self._added: list[Block] = []
        self._known: dict[int, FloatArray] = {}
        self._asked: list[int] = []
        self._ending: list[Ending] = []

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
        self._added.append(Block.constant(hosts, start, finish, amounts))

    def add_rows(self, rows: RowList) -> None:
        """Add rows that were gathered before."""
        self._added.append(rows.block())

    def _later(self) -> list[Block]:
        """Everything added since the freeze, as one block or none."""
        if self.recent:
            self._added.append(Block(self.recent))
            self.recent = []
        if len(self._added) > 1:
            self._added = [Block.joined(self._added)]
        return self._added

    def freeze(self) -> None:
        """Make all rows so far the shared base."""
        self._base = Block.joined([self._base or Block(()), *self._later()])
        self._added = []
        self._known, self._asked, self._ending = {}, [], []

    def at(self, time: int) -> FloatArray:
        """Amount in use at `time`, [size]."""
        total = self._shared(time)
        for block in self._later():
            total = total + block.at(time, self.size)
        return total

    def totals(self, times: Sequence[int]) -> FloatArray:
        """Amount of a pool in use at several instants, [len(times)]."""
        found = np.array([self._shared(time)[0] for time in times])
        for block in self._later():
            found += block.totals(times)
        return found

    def _shared(self, time: int) -> FloatArray:
        """What the shared rows come to at `time`, [size]; kept."""
        if self._base is None:
            self.freeze()
        assert self._base is not None
        total = self._known.get(time)
        if total is None:
            total = self._of_base(self._base, time)
            if len(self._known) * self.size > MOST_KNOWN:
                self._known.clear()
            self._known[time] = total
        return total

    def _of_base(self, base: Block, time: int) -> FloatArray:
        """Amount that the shared rows come to at `time`, [size]."""
        if self._ending and time >= self._ending[0].since:
            return self._ending[0].at(time)
        if len(base.where) >= MANY_ROWS:
            self._asked.append(time)
            if len(self._asked) >= MANY_TIMES:
                self._ending[:] = [Ending(base, min(self._asked), self.size)]
                self._asked.clear()
        return base.at(time, self.size)

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
        twin._known, twin._asked, twin._ending = self._known, self._asked, self._ending
        return twin
