"""What running jobs use, now and later, kept up to date as jobs start and end.

Rows of all jobs lie in growing columns; the rows of a job that ends are switched off and swept out
when half of all rows are off. A cycle takes a :meth:`RunningProfile.copy`, which costs no more than
a few array views, and plans in it.
"""

from __future__ import annotations

import bisect
from collections.abc import Collection, Iterable, Sequence
from typing import Any

import numpy as np

from ...model.reservation import Reservation
from .calendar import NEVER_ACCEPTED
from .free_now import FallingUse, FreeNow, HeldPart, parts_of
from .profile import FOREVER, Profile
from .resources import SLOTS, Allocation, Alternative, FloatArray, IntArray, ResourceTable, Use
from .usage import Block, Row, Usage

#: Whole and partial terms of one job: what it uses, where, and hosts it owns (cu[excl]).
Hold = tuple[Alternative, Allocation, Iterable[int]]

_FIRST = 64
#: The end of a row that is switched off.
OFF = -(1 << 62)
#: The owner of what hosts report to be gone.
REPORTED = -2


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

    def __init__(self, size: int) -> None:
        super().__init__(size)
        self.owner = -1
        self._count = 0
        self._off = 0
        self._columns = _columns(_FIRST)
        self._rows_of: dict[int, list[int]] = {}
        #: Owners that are not in `_rows_of`: their rows lie between two neighbours of `_edges`,
        #: the first of which is here.
        self._entered: dict[int, int] = {}
        self._edges: IntArray = np.zeros(1, np.int64)
        self._falling: dict[int, float] = {}
        #: Owners of which some row ends before they do.
        self._odd: set[int] = set()
        #: So many of the rows are looked at, and these of them are on, ascending by their ends.
        self._ordered: tuple[int, IntArray] = (0, np.zeros(0, np.int64))
        #: The same as columns, None where they have changed.
        self._ascending: Block | None = None

    def add(self, where: int, start: int, finish: int, use: Use, times: float) -> None:
        """Add the phases of one use for the owner of the moment."""
        super().add(where, start, finish, use, times)
        for row in self.recent:
            self._append(row)
            if row.end != finish:
                self._odd.add(self.owner)
        self.recent = []
        self._ascending = None

    def add_constant(self, hosts: IntArray, start: int, finish: int, amounts: FloatArray) -> None:
        """One row a host for something held from start to finish."""
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
        """Rows of many owners, ascending by owner."""
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
        """The rows of each owner, also of those that were entered at once."""
        edges = self._edges.tolist() if self._entered else []
        for owner, place in self._entered.items():
            self._rows_of[owner] = [*range(edges[place], edges[place + 1])]
        self._entered = {}
        return self._rows_of

    def _of(self, owner: int) -> Sequence[int]:
        """The rows of one owner."""
        place = self._entered.get(owner)
        if place is None:
            return self._rows_of.get(owner, ())
        return range(int(self._edges[place]), int(self._edges[place + 1]))

    def _listed(self, owner: int) -> list[int]:
        """The rows of one owner, to add others."""
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
        while count > len(self._columns[0]):
            for index, column in enumerate(self._columns):
                self._columns[index] = np.concatenate([column, np.zeros_like(column)])

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

    def holds_for(self, owner: int) -> bool:
        """Whether a job has rows here."""
        return owner in self._rows_of or owner in self._entered

    def remove(self, owner: int) -> None:
        """Switch the rows of one job off."""
        rows = list(self._of(owner))
        if not rows:
            return
        if self._entered.pop(owner, None) is None:
            del self._rows_of[owner]
        self._odd.discard(owner)
        self._columns[2][rows] = OFF
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
        """The rows have other places."""
        self._ordered, self._ascending = (0, np.zeros(0, np.int64)), None

    def by_end(self) -> Block:
        """The rows in the order of their ends; of equal ones as they came. Not to be changed."""
        if self._ascending is None:
            end = self._columns[2]
            seen, rows = self._ordered
            rows = rows[end[rows] != OFF]
            later = seen + np.flatnonzero(end[seen : self._count] != OFF)
            later = later[np.argsort(end[later], kind="stable")]
            rows = np.insert(rows, np.searchsorted(end[rows], end[later], side="right"), later)
            self._ordered = self._count, rows
            where, begin, end, amount = (column[rows] for column in self._columns)
            place = {row: at for at, row in enumerate(rows.tolist())} if self._falling else {}
            falling = sorted((place[row], drop) for row, drop in self._falling.items())
            decaying = (
                np.array([at for at, _ in falling], dtype=np.int64),
                np.array([drop for _, drop in falling], dtype=float),
            )
            self._ascending = Block.of_columns(where, begin, end, amount, decaying)
        return self._ascending

    def by_finish(self) -> tuple[IntArray, IntArray, FloatArray]:
        """Ends, places and amounts of rows with a known end, ascending; equal ones as they came."""
        block = self.by_end()
        known = int(np.searchsorted(block.end, FOREVER))
        return block.end[:known], block.where[:known], block.amount[:known]

    def block(self, without: Collection[int] = ()) -> Block:
        """The rows as they are now; without: owners whose rows are left out."""
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
        """An independent copy with the owners of the rows."""
        twin = RunningUsage(self.size)
        twin._count, twin._off = self._count, self._off
        twin._columns = [column[: max(self._count, 1)].copy() for column in self._columns]
        twin._rows_of = dict(self._known_rows())
        twin._falling = dict(self._falling)
        twin._odd = set(self._odd)
        return twin

    def renumber(self, owner: int, number: int) -> None:
        """The rows of one owner are another's, which has none."""
        rows = self._known_rows().pop(owner, None)
        if rows is not None:
            self._rows_of[number] = rows
        if owner in self._odd:
            self._odd.remove(owner)
            self._odd.add(number)

    @property
    def ends_with_jobs(self) -> bool:
        """Whether every row ends when its owner does."""
        return not self._odd

    def rows_of(self, owner: int) -> tuple[IntArray, FloatArray]:
        """Places and amounts of an owner's rows."""
        rows = list(self._of(owner))
        return self._columns[0][rows], self._columns[3][rows]

    def ends(self) -> IntArray:
        """Ends of all rows."""
        ends: IntArray = self._columns[2][: self._count]
        return ends

    def _shared(self, time: int) -> FloatArray:
        """What all rows come to at `time`, [size]."""
        return self.by_end().at(time, self.size)

    def copy(self, without: Collection[int] = ()) -> Usage:
        """A usage that starts from the rows as they are now."""
        return Usage.over(self.size, self.block(without) if without else self.by_end())


class RunningProfile(Profile):
    """Running jobs by number: what is free at present, and the finish expected of each."""

    def __init__(self, table: ResourceTable, now: int) -> None:
        super().__init__(table, now)
        #: The present, exact to the second; `now` is its instant.
        self.free_now = FreeNow(table)
        #: What each job holds of it, but for jobs whose rows were entered all at once.
        self.parts: dict[int, list[HeldPart]] = {}
        #: What of that falls over time.
        self.falls = FallingUse()
        #: Of the jobs whose use is known to end, or not to.
        self.finish: dict[int, int] = {}
        #: When each host took its last job, [H]. The profile of :meth:`copy` begins with the
        #: present, and is good until the next job ends. A suspended job keeps its amounts, and its
        #: finish is unknown; one that is preempted keeps all but its slots, and no profile counts
        #: with it.
        self.last_accepted = np.full(self.hosts, NEVER_ACCEPTED, dtype=np.int64)
        self._owner = -1
        self.enter_reported()

    def started(
        self,
        job: int,
        holds: Sequence[Hold],
        start: int,
        finish: int | None,
        loads: Iterable[Reservation] = (),
    ) -> None:
        """A job runs from `start` and is expected to end at `finish` (None: unknown).

        loads: what it reserves of load indices.
        """
        parts: list[HeldPart] = []
        for alternative, allocation, whole_hosts in holds:
            parts += self.free_now.take(
                alternative, allocation, elapsed=self.now - start, whole_hosts=whole_hosts
            )
        self.parts[job] = parts
        self.falls.watch(job, start, self.now, parts, loads)
        self._enter(job, holds, start, finish)

    def list_parts(self, job: int, holds: Sequence[Hold]) -> None:
        """List what a job holds whose rows were entered all at once: the same until it ends."""
        parts = [part for hold in holds for part in parts_of(self.table, *hold)]
        for part in parts:
            part.amount = part.reservation.at(0)
        self.parts[job] = parts

    def restore(
        self,
        job: int,
        holds: Sequence[Hold],
        start: int,
        finish: int | None,
        amounts: Sequence[float],
        loads: Iterable[Reservation],
    ) -> None:
        """A job runs, as a checkpoint has it; the present counts its amounts already.

        finish: FOREVER if unknown, None where no profile counts with the job.
        """
        parts: list[HeldPart] = []
        for alternative, allocation, whole_hosts in holds:
            parts += parts_of(self.table, alternative, allocation, whole_hosts)
        for part, amount in zip(parts, amounts, strict=True):
            part.amount = amount
        self.parts[job] = parts
        self.falls.watch(job, start, self.now, parts, loads)
        if finish is not None:
            self._enter(job, holds, start, None if finish >= FOREVER else finish)

    def moved(self, job: int, holds: Sequence[Hold], start: int, finish: int | None) -> None:
        """The end of a job is expected at another instant (None: unknown)."""
        self._leave(job)
        self._enter(job, holds, start, finish)

    def preempted(self, job: int) -> None:
        """A job gives its slots to another, and keeps the rest."""
        self._set_slots(job, 0.0)
        self._leave(job)

    def takes_slots(self, job: int) -> None:
        """A job that was preempted has its slots again."""
        self._set_slots(job, 1.0)

    def ended(self, job: int) -> None:
        """A job is gone; of one entered at once its rows say what is free now."""
        parts = self.parts.pop(job, None)
        if parts is None:
            self._give_rows_back(job)
        else:
            self.free_now.give(parts)
            self.falls.remove(job)
        self._leave(job)

    def advance(self, now: int) -> None:
        """Bring what falls over time to its amount at `now` (RSV-02)."""
        self.now = now
        self.falls.bring_to(now, self.free_now)

    def slots_of(self, job: int) -> Allocation:
        """Slots that a job keeps from others while it runs, by host: all of its own hosts (-x)."""
        found: Allocation = {}
        for part in self.parts.get(job, ()):
            if not part.pool and part.index == SLOTS:
                for host, times in zip(part.hosts.tolist(), part.times.tolist(), strict=True):
                    found[host] = found.get(host, 0) + int(times)
        return found

    def _set_slots(self, job: int, amount: float) -> None:
        for part in self.parts.get(job, ()):
            if not part.pool and self.table.is_slots(part.index):
                self.free_now.change(part, amount)

    def _give_rows_back(self, job: int) -> None:
        for index, usage in self._host_usage.items():
            where, amounts = _running(usage).rows_of(job)
            np.add.at(self.free_now.host(index), where, amounts)
        for index, usage in self._pool_usage.items():
            self.free_now.take_from_pool(index, -float(_running(usage).rows_of(job)[1].sum()))

    def _enter(self, job: int, holds: Sequence[Hold], start: int, finish: int | None) -> None:
        self._owner = job
        for alternative, allocation, whole_hosts in holds:
            self.allocate(alternative, allocation, start, finish, whole_hosts=whole_hosts)
        self.finish[job] = FOREVER if finish is None else finish

    def enter_rows(
        self,
        index: int,
        owners: IntArray,
        where: IntArray,
        begin: IntArray,
        end: IntArray,
        amounts: FloatArray,
        *,
        pool: bool,
    ) -> None:
        """What many jobs, ascending by number, hold of a host resource or of a pool."""
        usage = self._pool(index) if pool else self._usage(index)
        assert isinstance(usage, RunningUsage)
        if pool:
            self.free_now.take_from_pool(index, float(amounts.sum()))
        else:
            np.subtract.at(self.free_now.host(index), where, amounts)
        usage.enter(owners, where, begin, end, amounts)

    def _leave(self, job: int) -> None:
        # Of many pools a job is in few: most of them are passed by without a call.
        for usage in map(_running, (*self._host_usage.values(), *self._pool_usage.values())):
            if usage.holds_for(job):
                usage.remove(job)
        self.finish.pop(job, None)

    def copy(self, without: Collection[int] = ()) -> Profile:
        """A profile of what runs now, to plan in; without: jobs that are taken to be gone."""
        hosts, pools = (
            {index: _running(usage).copy(without) for index, usage in of.items()}
            for of in (self._host_usage, self._pool_usage)
        )
        finishes = self._after_now(
            np.array([f for job, f in self.finish.items() if job not in without], dtype=np.int64)
            if without
            else np.fromiter(self.finish.values(), np.int64, len(self.finish))
        )
        usages = [*map(_running, (*self._host_usage.values(), *self._pool_usage.values()))]
        ends = list(finishes)
        if not all(usage.ends_with_jobs for usage in usages):
            rows = [usage.block(without).end if without else usage.ends() for usage in usages]
            ends = self._after_now(np.concatenate(rows))
        twin = Profile(self.table, self.now)
        twin.take_over(hosts, pools, ends=ends, finishes=finishes)
        return twin

    def _after_now(self, times: IntArray) -> list[int]:
        """Known instants after now, ascending, each once."""
        later = np.sort(times[(times > self.now) & (times < FOREVER)])
        first = np.ones(len(later), dtype=bool)  # a table of hashes takes four times as long
        np.not_equal(later[1:], later[:-1], out=first[1:])
        found: list[int] = later[first].tolist()
        return found

    def twin(self, now: int) -> RunningProfile:
        """An independent copy that jobs may join and leave, at another instant.

        For jobs that were entered all at once and hold the same all along.
        """
        twin = RunningProfile(self.table, now)
        twin.free_now = self.free_now.copy()
        twin.finish = dict(self.finish)
        twin._host_usage = {i: _running(u).twin() for i, u in self._host_usage.items()}
        twin._pool_usage = {i: _running(u).twin() for i, u in self._pool_usage.items()}
        twin._last_begins()
        return twin

    def renumber(self, job: int, number: int) -> None:
        """A job goes by another number, which no job has."""
        for usage in (*self._host_usage.values(), *self._pool_usage.values()):
            _running(usage).renumber(job, number)
        if job in self.finish:
            self.finish[number] = self.finish.pop(job)

    def _last_begins(self) -> None:
        """Bring when each host took its last job up to the rows of slots."""
        usage = self._host_usage.get(SLOTS)
        if usage is not None:
            block = _running(usage).block()
            held = block.end != OFF
            np.maximum.at(self.last_accepted, block.where[held], block.begin[held])

    def enter_reported(self) -> None:
        """Bring the profile up to date with what hosts report of their amounts."""
        for index, away in self.free_now.away.items():
            self.hold_reported(index, away)

    def hold_reported(self, index: int, away: FloatArray) -> None:
        """What hosts report to be gone of an amount from now on, [H]; in place of the last word."""
        usage = self._usage(index)
        assert isinstance(usage, RunningUsage)
        usage.remove(REPORTED)
        usage.owner = REPORTED
        hosts = np.flatnonzero(away)
        if hosts.size:
            usage.add_constant(hosts, self.now, FOREVER, away[hosts])

    def slots_by_finish(self) -> tuple[IntArray, IntArray, FloatArray]:
        """(finish, host, slots) of the running jobs with a known end, ascending by finish."""
        return self._ascending(SLOTS)

    def unreserved_by_finish(self) -> tuple[IntArray, IntArray, FloatArray]:
        """As slots_by_finish, without jobs in advance reservations."""
        return self._ascending(self.table.unreserved)

    def when_freed(self, index: int, host: int, amount: float, now: int) -> int | None:
        """The first instant by which so much of a host resource has come free since now.

        At the ends of jobs and phases, and at every step of a decay. None for never.
        """
        usage = self._host_usage.get(index)
        if usage is None:
            return None
        rows = _running(usage).by_end()
        rows = rows.only((rows.where == host) & (rows.end > now))
        last = int(rows.end[rows.end < FOREVER].max(initial=now))
        before = float(rows.at(now, host + 1)[host])

        def freed(time: int) -> float:
            return before - float(rows.at(time, host + 1)[host])

        times = range(now + 1, last + 1)
        at = bisect.bisect_left(times, amount, key=freed)
        return times[at] if at < len(times) else None

    def _ascending(self, index: int) -> tuple[IntArray, IntArray, FloatArray]:
        usage = self._host_usage.get(index)
        if usage is None:
            return (np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))
        return _running(usage).by_finish()

    def _usage(self, index: int) -> Usage:
        usage = self._host_usage.get(index)
        if usage is None:
            usage = self._host_usage[index] = RunningUsage(self.hosts)
        assert isinstance(usage, RunningUsage)
        usage.owner = self._owner
        return usage

    def _pool(self, index: int) -> Usage:
        usage = self._pool_usage.get(index)
        if usage is None:
            usage = self._pool_usage[index] = RunningUsage(1)
        assert isinstance(usage, RunningUsage)
        usage.owner = self._owner
        return usage

    def _note_times(self, alternative: Alternative, start: int, end: int) -> None:
        """The times are read off the rows when a copy is taken."""


def _running(usage: Usage) -> RunningUsage:
    assert isinstance(usage, RunningUsage)
    return usage


def _columns(size: int) -> list[Any]:
    """Empty columns: where, begin, end, amount."""
    return [np.zeros(size, np.int64) for _ in range(3)] + [np.zeros(size, float)]
