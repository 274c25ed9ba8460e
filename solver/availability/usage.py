"""What jobs use over time, as rows and as columns: the sums behind the availability profile.

A use holds an amount over [begin, end), integer seconds, and never rises after its start.
"""

from __future__ import annotations

import numpy as np

from .arrays import FloatArray, IntArray
from .rises import Beginnings, Rises
from .rows import Block, Row, RowList
from .sums import Sums
from .uses import Use

#: Amounts of what runs (hosts times instants) that are kept for asking again.
MOST_KNOWN = 2_000_000
#: From so many rows on they are sorted by their ends, once the instants asked for are that many.
#: Those of running jobs come sorted, so that it is soon worth it.
MANY_ROWS, MANY_TIMES = 256, 3
#: Rows for each sum that is kept, at least.
STEP = 1024


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
        self._step = max(STEP, size // 4)
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


class Usage:
    """All uses of one host resource ([size] = hosts) or of one pool (size 1) over time.

    Rows added before :meth:`freeze` (running jobs) are shared by copies; later ones (planned jobs)
    are few. What the shared rows come to is kept by instant, also for copies. recent: rows that
    are in no column yet.
    """

    __slots__ = (
        "_added",
        "_asked",
        "_base",
        "_ending",
        "_fresh",
        "_known",
        "_rises",
        "_sums",
        "_uncounted",
        "recent",
        "size",
    )

    def __init__(self, size: int) -> None:
        self.size = size
        self.recent: list[Row] = []
        self._base: Block | None = None
        self._added: list[Block] = []
        self._known: dict[int, FloatArray] = {}
        self._asked: list[int] = []
        self._ending: list[Ending] = []
        #: The beginnings and rows that the rises do not have yet; these are made once asked for.
        self._fresh: list[Beginnings] = []
        self._uncounted: list[Block] = []
        self._rises: Rises | None = None
        self._sums: Sums | None = None

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
        if self._sums is not None:
            self._sums.add(block)
        self._fresh.append((block.where, block.begin))
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
        self._added = []
        self._known, self._asked, self._ending = {}, [], []

    def at(self, time: int) -> FloatArray:
        """Amount in use at `time`, [size]; good until more is added."""
        if not self._later():
            return self._shared(time)
        if self._sums is None:
            self._sums = Sums(self.size)
        total = self._sums.at(time)
        if total is None:
            total = self._shared(time)
            for block in self._later():
                total = total + block.at(time, self.size)
            self._sums.keep(time, total)
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

    def bring_up(self, since: int) -> None:
        """Reckon what copies would each have to reckon for themselves; since: as of `most`."""
        if self._fresh or self._uncounted or self.recent:
            self._risen(since)

    def _risen(self, since: int) -> Rises:
        """The rises of all rows but the shared ones, which have begun."""
        self._later()
        rises = self._rises or Rises()
        for block in self._uncounted:
            rises = rises.counting(block, self.size)
        if self._fresh:
            rises = rises.with_beginnings(self._fresh, since, self.at)
        self._rises, self._uncounted, self._fresh = rises, [], []
        return rises

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
        twin._rises, twin._fresh = self._rises, list(self._fresh)
        twin._uncounted = list(self._uncounted)
        twin._known, twin._asked, twin._ending = self._known, self._asked, self._ending
        return twin
