"""Use by jobs over time, as rows and as arrays: the sums behind the availability profile.

A use has an amount over [begin, end), integer seconds, and never rises after its start.

Instants at which the use of a resource may rise, to find a maximum fast. Rows only fall after they
have begun. So over a window a host has its maximum use at the first instant or when some row begins
on it: these are few, even with many instants.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...model.reservation import DECAY_STEP, Reservation
from .demand import HeldPart
from .resources import BoolArray, FloatArray, IntArray

#: The finish of a job whose end is unknown: later than any instant.
FOREVER = 1 << 60


def constant_amount(reservation: Reservation) -> float | None:
    """Return the reserved amount if it is constant during the run, None if it changes."""
    phases = reservation.phases
    constant = len(phases) == 1 and phases[0].end is None and not phases[0].start
    return phases[0].amount if constant else None


class Row(NamedTuple):
    """One phase of one use over [begin, end); where is the host index, 0 for a pool."""

    where: int
    begin: int
    end: int
    amount: float
    floor: float
    decay: bool


class Block:
    """Rows as columns, for array arithmetic."""

    __slots__ = ("amount", "ascending", "begin", "decaying", "end", "where")

    def __init__(self, rows: Sequence[Row]) -> None:
        self.where: IntArray = np.array([row.where for row in rows], dtype=np.int64)
        self.begin: IntArray = np.array([row.begin for row in rows], dtype=np.int64)
        self.end: IntArray = np.array([row.end for row in rows], dtype=np.int64)
        self.amount: FloatArray = np.array([row.amount for row in rows], dtype=float)
        fall = [(i, row.amount - row.floor) for i, row in enumerate(rows) if row.decay]
        #: Positions of the rows that fall over time, and the total by which they fall.
        self.decaying = (
            np.array([i for i, _ in fall], dtype=np.int64),
            np.array([drop for _, drop in fall], dtype=float),
        )
        #: Whether the rows are known to be in the order of their ends.
        self.ascending = False

    @classmethod
    def of_columns(
        cls,
        where: IntArray,
        begin: IntArray,
        end: IntArray,
        amount: FloatArray,
        decaying: tuple[IntArray, FloatArray],
        *,
        ascending: bool = False,
    ) -> Block:
        """Return a block over existing arrays."""
        block = cls.__new__(cls)
        block.where, block.begin, block.end = where, begin, end
        block.amount, block.decaying, block.ascending = amount, decaying, ascending
        return block

    @classmethod
    def constant(cls, hosts: IntArray, start: int, finish: int, amounts: FloatArray) -> Block:
        """Return one row for each host, for an amount in use from start to finish."""
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
        """Return one block with the rows of one or more blocks."""
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
        """Return the rows that a mask selects."""
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
        """Return the amount in use at `time`, [size]."""
        rows, drops = self.decaying
        if self.ascending and not rows.size:
            last = int(self.end.searchsorted(time, side="right"))  # No row before it counts.
            where, amount = self.where[last:], self.amount[last:]
            begun = self.begin[last:] <= time
            if not begun.all():
                where, amount = where[begun], amount[begun]
            return np.bincount(where, amount, minlength=size).astype(float, copy=False)
        amount = self.amount
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
        """Add one row for each position."""
        self.where.extend(where)
        self.begin.extend([begin] * len(where))
        self.end.extend([end] * len(where))
        self.amount.extend(amounts)

    def block(self) -> Block:
        """Return the rows as columns."""
        return Block.of_columns(
            np.array(self.where, dtype=np.int64),
            np.array(self.begin, dtype=np.int64),
            np.array(self.end, dtype=np.int64),
            np.array(self.amount, dtype=float),
            _NONE_DECAYING,
        )


#: Positions and instants at which rows begin.
Beginnings = tuple[IntArray, IntArray]


class Rises:
    """Beginnings of rows in order of time, with the use on their hosts then.

    It is immutable, so copies may share one.
    """

    __slots__ = ("_begin", "_used", "_where")

    def __init__(self) -> None:
        self._begin: IntArray = np.zeros(0, dtype=np.int64)
        self._where: IntArray = np.zeros(0, dtype=np.int64)
        self._used: FloatArray = np.zeros(0)

    def counting(self, block: Block, size: int) -> Rises:
        """Return the rises with rows that were not there before. size: number of hosts."""
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
        """Return the rises with further beginnings after `since`; at: use at an instant, [H]."""
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
        """Raise amounts, [H], to the use when rows begin after `after`, up to `last`."""
        low, high = np.searchsorted(self._begin, (after, last), side="right")
        np.maximum.at(most, self._where[low:high], self._used[low:high])


#: Number of instants up to which the use at each is compared, instead of what rises at each.
FEW_POINTS = 4
#: Maximum size of cached amounts of running jobs (hosts times instants).
MAX_KNOWN = 2_000_000


class Usage:
    """All uses of one host resource ([size] = hosts) or of one pool (size 1) over time.

    Rows added before :meth:`freeze` (running jobs) are shared by copies; later ones (planned jobs)
    are few. What the shared rows come to is kept by instant, also for copies.
    """

    __slots__ = (
        "_added",
        "_at_points",
        "_base",
        "_known",
        "_new_blocks",
        "_rises",
        "_uncounted",
        "recent",
        "size",
    )

    #: Number of hosts from which a use is stored in arrays, not row by row.
    many_hosts = 8

    def __init__(self, size: int) -> None:
        self.size = size
        #: Rows that are not in the arrays yet.
        self.recent: list[Row] = []
        self._base: Block | None = None
        self._added: list[Block] = []
        self._known: dict[int, FloatArray] = {}
        #: Totals at instants that many windows contain.
        self._at_points: dict[int, FloatArray] = {}
        #: Beginnings and rows that the rises lack; the rises are completed on demand.
        self._new_blocks: list[Beginnings] = []
        self._uncounted: list[Block] = []
        self._rises: Rises | None = None

    def add_part(self, part: HeldPart, start: int, finish: int) -> None:
        """Add what one job uses from start to finish."""
        amount = constant_amount(part.reservation)
        if amount is not None and len(part.hosts) >= self.many_hosts and start < finish:
            self.add_constant(part.hosts, start, finish, part.times * amount)
            return
        for where, times in zip(part.hosts.tolist(), part.times.tolist(), strict=True):
            self.add(where, start, finish, part.reservation, times)

    def add(
        self, where: int, start: int, finish: int, reservation: Reservation, times: float
    ) -> None:
        """Add the phases of one use that starts at `start`, cut at `finish`."""
        for phase in reservation.phases:
            begin = start + phase.start
            full_end = finish if phase.end is None else start + phase.end
            end = min(finish, full_end)
            if begin >= end:
                continue
            amount, floor = phase.amount * times, phase.floor * times
            decay = phase.decay and phase.end is not None
            if decay and end < full_end:
                # A truncated row keeps its slope: it ends at the amount that it has then.
                floor = amount - (amount - floor) * (end - begin) / (full_end - begin)
            self.recent.append(Row(where, begin, end, amount, floor, decay))

    def add_constant(self, hosts: IntArray, start: int, finish: int, amounts: FloatArray) -> None:
        """Add one row per host for something held from start to finish."""
        self._append_block(Block.constant(hosts, start, finish, amounts))

    def add_rows(self, rows: RowList) -> None:
        """Add rows that were gathered before."""
        self._append_block(rows.block())

    def _append_block(self, block: Block) -> None:
        self._added.append(block)
        self._at_points = {}
        self._new_blocks.append((block.where, block.begin))
        if self._rises is not None:
            self._uncounted.append(block)

    def _later(self) -> list[Block]:
        """Return all rows added since the freeze as one block, None without such rows."""
        if self.recent:
            rows, self.recent = self.recent, []
            self._append_block(Block(rows))
        if len(self._added) > 1:
            self._added = [Block.joined(self._added)]
        return self._added

    def freeze(self) -> None:
        """Make all rows so far the shared base."""
        self._base = Block.joined([self._base or Block(()), *self._later()])
        self._added, self._known, self._at_points = [], {}, {}

    def at(self, time: int) -> FloatArray:
        """Return the amount in use at `time`, [size]; callers must not change it."""
        total = self._shared(time)
        for block in self._later():
            total = total + block.at(time, self.size)
        return total

    def most(self, points: Sequence[int], since: int) -> FloatArray:
        """Return the maximum use at the first point or at a beginning after it, up to the last
        point, [size].

        points: rising; every instant in between at which rows begin is one. since: no earlier
        instant is ever queried.
        """
        found = self.at(points[0])
        if len(points) > FEW_POINTS:
            found = found.copy()
            self._risen(since).raise_to(found, points[0], points[-1])
        else:
            for point in points[1:]:
                found = np.maximum(found, self._at_point(point))
        return found

    def _at_point(self, time: int) -> FloatArray:
        """Return the amount in use at an instant of many windows; cached."""
        self._later()
        found = self._at_points.get(time)
        if found is None:
            if len(self._at_points) * self.size > MAX_KNOWN:
                self._at_points.clear()
            found = self._at_points[time] = self.at(time)
        return found

    def precompute(self, since: int) -> None:
        """Compute the rises in advance, so that copies share the result; since: as of `most`."""
        if self._new_blocks or self._uncounted or self.recent:
            self._risen(since)

    def _risen(self, since: int) -> Rises:
        """Return the rises of all rows with the rows added since the last call."""
        self._later()
        rises = self._rises or Rises()
        for block in self._uncounted:
            rises = rises.counting(block, self.size)
        if self._new_blocks:
            rises = rises.with_beginnings(self._new_blocks, since, self.at)
        self._rises, self._uncounted, self._new_blocks = rises, [], []
        return rises

    def _shared(self, time: int) -> FloatArray:
        """Return the total of the shared rows at `time`, [size]; cached."""
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
        """Return a usage that starts from the rows of `base`."""
        usage = cls(size)
        usage._base = base
        return usage

    def copy(self) -> Usage:
        """Return an independent copy that shares the frozen base."""
        if self._base is None:
            self.freeze()
        twin = Usage(self.size)
        twin._base, twin._added = self._base, list(self._later())
        twin._rises, twin._new_blocks = self._rises, list(self._new_blocks)
        twin._uncounted = list(self._uncounted)
        twin._known = self._known
        return twin


_FIRST = 64
#: End of a row that is switched off.
OFF = -(1 << 62)


class _OrderedRows:
    """The rows of a running usage in the order of their ends, brought up to date step by step."""

    __slots__ = ("any_off", "ends", "rows", "seen")

    def __init__(self) -> None:
        #: Number of rows examined.
        self.seen = 0
        #: Positions of the rows that were not off then, ascending by end.
        self.rows: IntArray = np.zeros(0, np.int64)
        #: The ends of these rows, which would else be gathered for each new row.
        self.ends: IntArray = np.zeros(0, np.int64)
        #: Whether rows were switched off since.
        self.any_off = False

    def bring_to(self, end: IntArray, count: int) -> None:
        """Drop the rows that are off by now, and insert those behind the last one examined.

        end: the ends of all rows.
        """
        if self.any_off:
            kept = end[self.rows] != OFF
            self.rows, self.ends = self.rows[kept], self.ends[kept]
            self.any_off = False
        later = self.seen + np.flatnonzero(end[self.seen : count] != OFF)
        self.seen = count
        if later.size:
            later = later[np.argsort(end[later], kind="stable")]
            places = np.searchsorted(self.ends, end[later], side="right")
            self.rows = np.insert(self.rows, places, later)
            self.ends = np.insert(self.ends, places, end[later])


class RunningUsage(Usage):
    """Usage whose rows belong to jobs (by number) and can be taken out again."""

    __slots__ = (
        "_ascending",
        "_columns",
        "_count",
        "_edges",
        "_entered",
        "_falling",
        "_odd",
        "_off",
        "_ordered",
        "_rows_of",
        "owner",
    )
    many_hosts = 1

    def __init__(self, size: int) -> None:
        super().__init__(size)
        self.owner = -1
        self._count = 0
        self._off = 0
        self._columns = _columns(_FIRST)
        self._rows_of: dict[int, list[int]] = {}
        #: First positions of owners that are not in `_rows_of`: their rows lie between two
        #: neighbours of `_edges`.
        self._entered: dict[int, int] = {}
        self._edges: IntArray = np.zeros(1, np.int64)
        self._falling: dict[int, float] = {}
        #: Owners with a row that ends before they do.
        self._odd: set[int] = set()
        #: The rows examined, ascending by end, some of which may be off by now.
        self._ordered = _OrderedRows()
        #: The active rows as arrays, None after a change.
        self._ascending: Block | None = None

    def add(
        self, where: int, start: int, finish: int, reservation: Reservation, times: float
    ) -> None:
        """Add the phases of one use for the current owner."""
        super().add(where, start, finish, reservation, times)
        for row in self.recent:
            self._append(row)
            if row.end != finish:
                self._odd.add(self.owner)
        self.recent = []
        self._ascending = None

    def add_constant(self, hosts: IntArray, start: int, finish: int, amounts: FloatArray) -> None:
        """Add one row for each host, for an amount in use from start to finish."""
        first, after = self._count, self._count + len(hosts)
        self._grow(after)
        for column, values in zip(self._columns, (hosts, start, finish, amounts), strict=True):
            column[first:after] = values
        self._count = after
        self._listed(self.owner).extend(range(first, after))
        self._ascending = None

    def enter(
        self,
        owners: IntArray,
        where: IntArray,
        begin: IntArray,
        end: IntArray,
        amounts: FloatArray,
    ) -> None:
        """Add rows of many owners, by rising owner."""
        held = (amounts > 0) & (begin < end)
        columns = (where[held], begin[held], end[held], amounts[held])
        first, after = self._count, self._count + int(held.sum())
        self._grow(after)
        for column, values in zip(self._columns, columns, strict=True):
            column[first:after] = values
        self._count = after
        self._ascending = None
        names, starts = np.unique(owners[held], return_index=True)
        if not first:
            self._entered = dict(zip(names.tolist(), range(len(names)), strict=True))
            self._edges = np.append(starts, after)
            return
        rows_of = self._known_rows()
        edges = [*(starts + first).tolist(), after]
        for owner, low, high in zip(names.tolist(), edges, edges[1:], strict=False):
            rows_of.setdefault(owner, []).extend(range(low, high))
        self._by_owner()

    def _known_rows(self) -> dict[int, list[int]]:
        """Return the rows of each owner, including those entered in bulk."""
        edges = self._edges.tolist() if self._entered else []
        for owner, place in self._entered.items():
            self._rows_of[owner] = [*range(edges[place], edges[place + 1])]
        self._entered = {}
        return self._rows_of

    def _of(self, owner: int) -> Sequence[int]:
        """Return the rows of one owner."""
        place = self._entered.get(owner)
        if place is None:
            return self._rows_of.get(owner, ())
        return range(int(self._edges[place]), int(self._edges[place + 1]))

    def _listed(self, owner: int) -> list[int]:
        """Return the list of rows of one owner, to which rows can be added."""
        if owner not in self._rows_of:
            self._rows_of[owner] = list(self._of(owner))
            self._entered.pop(owner, None)
        return self._rows_of[owner]

    def _by_owner(self) -> None:
        """Bring the rows into the order of their owners, each with its rows as they were."""
        owner_of = np.full(self._count, OFF, dtype=np.int64)
        for owner, rows in self._known_rows().items():
            owner_of[rows] = owner
        order = np.argsort(owner_of, kind="stable")
        place = np.empty_like(order)
        place[order] = np.arange(self._count)
        self._columns = [column[: self._count][order] for column in self._columns]
        self._order_anew()
        self._rows_of = {
            owner: sorted(place[rows].tolist()) for owner, rows in self._known_rows().items()
        }
        self._falling = {int(place[row]): drop for row, drop in self._falling.items()}

    def _grow(self, count: int) -> None:
        size = len(self._columns[0])
        if count > size:
            more = max(size, count + _FIRST - size)  # Many rows at a time: no doubling.
            for index, column in enumerate(self._columns):
                self._columns[index] = np.concatenate([column, np.zeros(more, column.dtype)])

    def _append(self, row: Row) -> None:
        at = self._count
        self._grow(at + 1)
        for column, value in zip(
            self._columns, (row.where, row.begin, row.end, row.amount), strict=True
        ):
            column[at] = value
        self._count += 1
        self._listed(self.owner).append(at)
        if row.decay:
            self._falling[at] = row.amount - row.floor

    def remove(self, *owners: int) -> None:
        """Deactivate the rows of jobs; jobs without rows here are ignored."""
        rows: list[int] = []
        for owner in owners:
            rows += self._of(owner)
            if self._entered.pop(owner, None) is None:
                self._rows_of.pop(owner, None)
        if not rows:
            return
        if self._odd:
            self._odd.difference_update(owners)
        self._columns[2][rows] = OFF
        self._ordered.any_off = True
        self._ascending = None
        if self._falling:
            for row in rows:
                self._falling.pop(row, None)
        self._off += len(rows)
        if self._off > max(_FIRST, self._count // 2):
            self._sweep()

    def _sweep(self) -> None:
        keep = self._columns[2][: self._count] != OFF
        place = np.cumsum(keep) - 1
        self._columns = [column[: self._count][keep] for column in self._columns]
        self._order_anew()
        if not self._columns[0].size:
            self._columns = _columns(_FIRST)
        self._rows_of = {
            owner: [int(place[row]) for row in rows] for owner, rows in self._rows_of.items()
        }
        if self._entered:
            self._edges = np.append(0, place + 1)[self._edges]
        self._falling = {int(place[row]): drop for row, drop in self._falling.items()}
        self._count, self._off = int(keep.sum()), 0

    def _order_anew(self) -> None:
        """Invalidate the cached order of the rows."""
        self._ordered, self._ascending = _OrderedRows(), None

    def by_end(self) -> Block:
        """Return the rows by rising end, equal ends in order of entry; callers must not change
        them.
        """
        if self._ascending is None:
            rows = self._in_order()
            decaying = _NONE_DECAYING
            if self._falling:
                place = np.zeros(self._count, dtype=np.int64)
                place[rows] = np.arange(len(rows))
                falling = sorted((int(place[row]), drop) for row, drop in self._falling.items())
                decaying = (
                    np.array([at for at, _ in falling], dtype=np.int64),
                    np.array([drop for _, drop in falling], dtype=float),
                )
            where, begin, end, amount = (column[rows] for column in self._columns)
            self._ascending = Block.of_columns(where, begin, end, amount, decaying, ascending=True)
        return self._ascending

    def _in_order(self) -> IntArray:
        """Return the positions of the rows by rising end, equal ends in order of entry."""
        self._ordered.bring_to(self._columns[2], self._count)
        return self._ordered.rows

    def by_finish(self) -> tuple[IntArray, IntArray, FloatArray]:
        """Return ends, positions and amounts of the rows with a known end, by rising end."""
        rows = self._in_order()
        known = int(np.searchsorted(self._ordered.ends, FOREVER))
        end, rows = self._ordered.ends[:known], rows[:known]
        return end, self._columns[0][rows], self._columns[3][rows]

    def block(self, without: Collection[int] = ()) -> Block:
        """Return the current rows as columns; without: owners whose rows are ignored."""
        where, begin, end, amount = (column[: self._count] for column in self._columns)
        gone = {row for owner in without for row in self._of(owner)}
        falling = sorted(self._falling.keys() - gone)
        if gone:
            end = end.copy()
            end[sorted(gone)] = OFF
        return Block.of_columns(
            where,
            begin,
            end,
            amount,
            (
                np.array(falling, dtype=np.int64),
                np.array([self._falling[row] for row in falling], dtype=float),
            ),
        )

    def twin(self) -> RunningUsage:
        """Return an independent copy with the owners of the rows."""
        twin = RunningUsage(self.size)
        twin._count, twin._off = self._count, self._off
        twin._columns = [column[: max(self._count, 1)].copy() for column in self._columns]
        twin._rows_of = dict(self._known_rows())
        twin._falling = dict(self._falling)
        twin._odd = set(self._odd)
        return twin

    def renumber(self, owner: int, number: int) -> None:
        """Assign the rows of one owner to another owner without rows."""
        rows = self._known_rows().pop(owner, None)
        if rows is not None:
            self._rows_of[number] = rows
        if owner in self._odd:
            self._odd.remove(owner)
            self._odd.add(number)

    def partial_ends(self, without: Collection[int] = ()) -> set[int]:
        """Return the ends of the rows of all owners with a row that ends before they do.

        without: owners that are ignored. The other rows end with their owners.
        """
        rows = [row for owner in self._odd if owner not in without for row in self._of(owner)]
        return set(self._columns[2][rows].tolist())

    def rows_of(self, owner: int) -> tuple[IntArray, FloatArray]:
        """Return the positions and amounts of the rows of an owner."""
        rows = list(self._of(owner))
        return self._columns[0][rows], self._columns[3][rows]

    def _shared(self, time: int) -> FloatArray:
        """Return the total of all rows at `time`, [size]."""
        return self.by_end().at(time, self.size)

    def _at_point(self, time: int) -> FloatArray:
        """Return the amount in use at an instant; not cached, because rows come and go."""
        return self.at(time)

    def copy(self, without: Collection[int] = ()) -> Usage:
        """Return a usage that starts from the current rows."""
        return Usage.over(self.size, self.block(without) if without else self.by_end())


def _columns(size: int) -> list[Any]:
    """Return empty columns: where, begin, end, amount."""
    return [np.zeros(size, np.int64) for _ in range(3)] + [np.zeros(size, float)]
