"""Use by running jobs, now and later, updated as jobs start and end.

Rows of all jobs are in growing arrays; the rows of a finished job are switched off and removed when
half of all rows are off. A cycle takes a :meth:`RunningProfile.copy`, which costs only a few array
views, and plans in it.
"""

from __future__ import annotations

import bisect
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...model.reservation import Reservation
from .demand import NEVER_ACCEPTED, Demand, HeldPart, TermCapacity, TermDemand, parts_of
from .profile import FEW_HOSTS, Profile, find_capacity
from .resources import (
    SLOTS,
    Allocation,
    Alternative,
    Amounts,
    BoolArray,
    FloatArray,
    IntArray,
    ResourceTable,
)
from .usage import FOREVER, OFF, RunningUsage, Usage

#: Number of starts after which the known candidates with free slots are examined again.
_STARTS_BETWEEN = 32
#: Maximum number of candidate arrays that are known.
_MAX_ORDERS = 256
#: Number of parts from which they are released in one pass.
_MANY_PARTS = 8


class FreeNow:
    """Free amounts now: of every host resource [H], of every pool; negative if overcommitted."""

    def __init__(self, table: ResourceTable) -> None:
        self.table = table
        #: All hosts, in their order.
        self.every = np.arange(table.hosts)
        #: Candidates that may have a free slot, by identity of the candidate array: the array, the
        #: candidates, and the number of starts until they are examined again.
        self._open: dict[int, tuple[IntArray, IntArray, int]] = {}
        #: Number of times that slots were taken.
        self._taken = 0
        #: Use before any job by the hosts' reports, by index of the amount, [H].
        self.away = table.reported_used()
        self._hosts: list[FloatArray] = []
        self._pools: list[float] = []

    def host(self, index: int) -> FloatArray:
        """Return the free amount of a host resource, [H]; callers must not change it."""
        while len(self._hosts) <= index:
            new = len(self._hosts)
            self._hosts.append(self.reported(new).copy())
        return self._hosts[index]

    def reported(self, index: int) -> FloatArray:
        """Return the amount that hosts report as free of jobs, [H]; not to be changed."""
        capacity = self.table.host_resources[index].capacity
        return capacity - self.away[index] if index in self.away else capacity

    def with_slots(self, candidates: IntArray) -> IntArray:
        """Return the candidates in their order, without most of those that have no free slot.

        The array must not change. Free slots shrink until a job ends, so the answer is a superset
        of the candidates with a free slot that is examined again from time to time.
        """
        known = self._open.get(id(candidates))
        if known is None or self._taken >= known[2]:
            some = candidates if known is None else known[1]
            some = some[self.host(SLOTS).take(some) > 0]
            if len(self._open) >= _MAX_ORDERS:
                self._open.clear()
            known = self._open[id(candidates)] = candidates, some, self._taken + _STARTS_BETWEEN
        return known[1]

    def add(self, index: int, hosts: IntArray, amounts: FloatArray) -> None:
        """Release amounts of a host resource; a host may occur several times."""
        np.add.at(self.host(index), hosts, amounts)
        self._open.clear()

    def pool(self, index: int) -> float:
        """Return the free amount of a pool."""
        while len(self._pools) <= index:
            self._pools.append(float(self.table.pools[len(self._pools)].capacity))
        return self._pools[index]

    def copy(self) -> FreeNow:
        """Return an independent copy."""
        twin = FreeNow(self.table)
        twin.away = {index: amounts.copy() for index, amounts in self.away.items()}
        twin._hosts = [amounts.copy() for amounts in self._hosts]
        twin._pools = list(self._pools)
        return twin

    def take(self, parts: Iterable[HeldPart], elapsed: int = 0) -> None:
        """Set the use of a job `elapsed` seconds after its start; release the difference."""
        for part in parts:
            self.change(part, part.reservation.at(elapsed))

    def take_from_pool(self, index: int, amount: float) -> None:
        """Take an amount of a pool that is never released."""
        self.pool(index)
        self._pools[index] -= amount

    def give(self, parts: Sequence[HeldPart]) -> None:
        """Release the amounts of these parts."""
        if len(parts) < _MANY_PARTS:
            for part in parts:
                self.change(part, 0.0)
            return
        of_hosts: dict[int, list[HeldPart]] = {}
        for part in parts:
            if part.pool:
                self.change(part, 0.0)
            elif part.amount:
                of_hosts.setdefault(part.index, []).append(part)
        for index, given in of_hosts.items():
            hosts = np.concatenate([part.hosts for part in given])
            amounts = np.concatenate([part.times * part.amount for part in given])
            np.add.at(self.host(index), hosts, amounts)  # One by one, in the order of the parts.
            for part in given:
                part.amount = 0.0
            if index == SLOTS:
                self._taken += len(given)
                self._open.clear()

    def change(self, part: HeldPart, amount: float) -> None:
        """Set the amount that a part uses from now on."""
        more = amount - part.amount
        if not more:
            return
        part.amount = amount
        if part.pool:
            self.pool(part.index)
            self._pools[part.index] -= more * float(part.times[0])
            return
        self.host(part.index)[part.hosts] -= more * part.times
        if part.index == SLOTS:
            self._taken += 1
            if more < 0:
                self._open.clear()

    def free_slots(self, host: int, slots: int, indices: Iterable[int] = (SLOTS,)) -> None:
        """Add free slots to a host without checks, for trials on a copy.

        indices: of the host resources of which they were taken.
        """
        for index in indices:
            self.host(index)[host] += slots
        self._open.clear()

    def report(self, index: int, host: int, amount: float) -> None:
        """Set the amount that a host reports as free of jobs."""
        free = self.host(index)
        away = self.away.setdefault(index, np.zeros_like(free))
        gone = float(self.table.host_resources[index].capacity[host]) - amount
        free[host] += away[host] - gone
        away[host] = gone
        self._open.clear()

    def state(self) -> dict[str, Any]:
        """Return the exact state as plain data."""
        return {
            "hosts": [a.tolist() for a in self._hosts],
            "pools": list(self._pools),
            "away": [[index, amounts.tolist()] for index, amounts in self.away.items()],
        }

    def load(self, state: Mapping[str, Any]) -> None:
        """Take over what :meth:`state` gave."""
        self.away = {index: np.array(amounts, dtype=float) for index, amounts in state["away"]}
        self._hosts = [np.array(amounts, dtype=float) for amounts in state["hosts"]]
        self._open.clear()
        self._pools = [float(amount) for amount in state["pools"]]


class FallingUse:
    """Uses of running jobs that fall while they run, by job: amounts and reserved load."""

    __slots__ = ("_loads", "_parts")

    def __init__(self) -> None:
        self._parts: dict[int, tuple[int, list[HeldPart]]] = {}
        self._loads: dict[int, tuple[int, list[Reservation]]] = {}

    def watch(
        self,
        job: int,
        start: int,
        now: int,
        parts: Iterable[HeldPart],
        loads: Iterable[Reservation],
    ) -> None:
        """Add a job that runs from `start` with these parts and loads; constant ones are ignored.

        Times in seconds.
        """
        elapsed = now - start
        falling = [part for part in parts if part.falls]
        if not all(_settled(part.reservation, elapsed) for part in falling):
            self._parts[job] = start, falling
        dropping = [load for load in loads if load.drops()]
        if not all(_settled(load, elapsed) for load in dropping):
            self._loads[job] = start, dropping

    def remove(self, job: int) -> None:
        """Release all resources of a job."""
        self._parts.pop(job, None)
        self._loads.pop(job, None)

    @property
    def has_any(self) -> bool:
        """Return whether any use falls before its job ends."""
        return bool(self._parts or self._loads)

    @property
    def amounts(self) -> bool:
        """Return whether any amount falls, not only a load."""
        return bool(self._parts)

    def bring_to(self, now: int, free_now: FreeNow) -> None:
        """Update decaying amounts to their values at `now` (RSV-02)."""
        for job, (start, parts) in list(self._parts.items()):
            for part in parts:
                free_now.change(part, part.reservation.at(now - start))
            if all(_settled(part.reservation, now - start) for part in parts):
                del self._parts[job]
        for job, (start, loads) in list(self._loads.items()):
            if all(_settled(load, now - start) for load in loads):
                del self._loads[job]

    def next_after(self, now: int) -> int | None:
        """Return the next instant at which an amount falls; now for a continuous fall."""
        falling = [
            *((start, part.reservation) for start, parts in self._parts.values() for part in parts),
            *((start, load) for start, loads in self._loads.values() for load in loads),
        ]
        return min(
            (
                now if phase.decay and now - start >= phase.start else start + phase.end
                for start, reservation in falling
                for phase in reservation.phases
                if phase.end is not None and now - start < phase.end
            ),
            default=None,
        )


def _settled(reservation: Reservation, elapsed: int) -> bool:
    """Return whether a reservation never changes again."""
    last = reservation.phases[-1]
    return elapsed >= (last.start if last.end is None else last.end)


class Residual:
    """The present as one job sees it: an availability that knows one instant, now."""

    def __init__(self, free_now: FreeNow, now: int, held: Amounts) -> None:
        self.free_now = free_now
        self.now = now
        #: Reservations of other jobs.
        self.held = held
        self.table = free_now.table
        self.hosts = self.table.hosts
        self.later_starts: tuple[int, ...] = ()
        #: Hosts closed to this job now, [H], None if all are open.
        self.closed: BoolArray | None = None
        #: Minimum availability of pools, by index, when loans of guaranteed pools are used.
        self.loans: Mapping[int, float] = {}
        #: Slots that an advance reservation keeps on each host during the job, [H], or None.
        self.blocked: FloatArray | None = None

    def _at(self, time: int) -> None:
        """Raise an error for any instant other than now."""
        if time != self.now:
            raise ValueError(f"the residual applies to second {self.now}, not to second {time}")

    def free(self, index: int, time: int) -> FloatArray:
        """Return the free amount of a host resource less reservations, [H].

        Any instant other than now raises a ValueError, as for all methods here.
        """
        self._at(time)
        amounts = self.free_now.host(index)
        held = self.held.hosts.get(index)
        if held is not None:
            amounts = amounts - held
        if self.blocked is not None and index == self.table.unreserved:
            amounts = amounts - self.blocked
        return amounts

    def most_slots(self) -> float:
        """Return the slots that are free on all hosts together, an upper bound for any job."""
        every = self.free_now.every
        some = self.free_now.with_slots(every) if len(every) > FEW_HOSTS else every
        free = self.min_free_on(SLOTS, [self.now], some)
        # Half a slot covers any rounding error.
        return float(np.maximum(free, 0).sum()) + 0.5

    def free_in_pool(self, index: int, time: int) -> float:
        """Return the free amount of a pool less reservations."""
        self._at(time)
        left = self.table.pools[index].left(self.free_of_capacity(index), self.free_of_capacity)
        return max(left, self.loans[index]) if index in self.loans else left

    def free_of_capacity(self, index: int) -> float:
        """Return the available part of the capacity of a pool."""
        return self.free_now.pool(index) - self.held.pools.get(index, 0.0)

    def min_free(self, index: int, points: Sequence[int]) -> FloatArray:
        """Return the free amount of a host resource at `points`, which must be now."""
        for point in points:
            self._at(point)
        return self.free(index, self.now)

    def min_free_on(self, index: int, points: Sequence[int], some: IntArray) -> FloatArray:
        """Return :meth:`min_free` of some hosts, in their order."""
        for point in points:
            self._at(point)
        if index == self.table.unreserved and self.blocked is not None:
            return self.min_free(index, points)[some]
        amounts = self.free_now.host(index).take(some)
        held = self.held.hosts.get(index)
        return amounts if held is None else amounts - held.take(some)

    def min_free_in_pool(self, index: int, points: Sequence[int]) -> float:
        """Return the free amount of a pool at `points`, which must be now."""
        for point in points:
            self._at(point)
        return self.free_in_pool(index, self.now)

    def open_for(self, demand: Demand, time: int) -> bool:
        """Return True at now: the simulation checks windows itself."""
        self._at(time)
        return True

    def just_accepted(self, demand: Demand, time: int) -> None:
        """Return None, no closed host, at now: the loop itself checks JOB_ACCEPT_INTERVAL."""
        self._at(time)

    def capacity(
        self, demand: Demand, term: TermDemand, alternative: Alternative, start: int
    ) -> TermCapacity:
        """Return the free slots for the job now; free_now, for pref[], has all slots without a
        job.
        """
        capacity = find_capacity(self, demand, term, alternative, [start])
        if self.closed is not None:
            capacity.caps[self.closed] = 0
        if term.unit is not None and term.unit.pref != "config":
            free = np.maximum(self.free_now.host(SLOTS), 0).astype(np.int64)
            capacity = replace(capacity, free_now=free)
        return capacity

    def copy(self) -> Residual:
        """Return a copy to which terms of one job can be added."""
        twin = Residual(self.free_now.copy(), self.now, self.held)
        twin.closed, twin.blocked, twin.loans = self.closed, self.blocked, self.loans
        return twin

    def allocate(self, parts: Iterable[HeldPart], start: int, finish: int | None) -> None:
        """Take what a term uses now; only a start now is possible."""
        self._at(start)
        self.free_now.take(parts)


#: Whole and partial terms of one job: uses, allocation, and hosts it has to itself (cu[excl]).
Hold = tuple[Alternative, Allocation, Iterable[int]]

#: Owner number of the use that hosts report before any job.
REPORTED = -2


class RunningProfile(Profile):
    """Running jobs by number: current use, and the expected finish of each."""

    def __init__(self, table: ResourceTable, now: int) -> None:
        super().__init__(table, now)
        #: Free resources now, exact to the second; `now` is its instant.
        self.free_now = FreeNow(table)
        #: Parts of each job in that use, except for jobs whose rows were entered in bulk.
        self.parts: dict[int, list[HeldPart]] = {}
        #: Parts of that use that fall over time.
        self.falls = FallingUse()
        #: The expected finish of each job by number, FOREVER if never.
        self.finish: dict[int, int] = {}
        #: Time at which each host took its last job, [H]. The profile of :meth:`copy` begins now,
        #: and is valid until the next job ends. A suspended job keeps its amounts, and its finish
        #: is unknown; a preempted job keeps all but its slots, and no profile counts it.
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
        """Add a job that runs from `start` and is expected to end at `finish` (None: unknown).

        loads: its reservations of load indices.
        """
        parts = self.parts[job] = [part for hold in holds for part in parts_of(self.table, *hold)]
        self.free_now.take(parts, self.now - start)
        self.falls.watch(job, start, self.now, parts, loads)
        self._enter(job, start, finish)

    def list_parts(self, job: int, holds: Sequence[Hold]) -> None:
        """Store the parts of a job whose rows were entered in bulk; they are constant until its
        end.
        """
        self.parts[job] = [part for hold in holds for part in parts_of(self.table, *hold)]
        for part in self.parts[job]:
            part.amount = part.reservation.at(0)

    def restore(
        self,
        job: int,
        holds: Sequence[Hold],
        start: int,
        finish: int | None,
        amounts: Sequence[float],
        loads: Iterable[Reservation],
    ) -> None:
        """Restore a running job from a checkpoint; current use includes its amounts already.

        finish: FOREVER if unknown, None if no profile counts the job.
        """
        parts = self.parts[job] = [part for hold in holds for part in parts_of(self.table, *hold)]
        for part, amount in zip(parts, amounts, strict=True):
            part.amount = amount
        self.falls.watch(job, start, self.now, parts, loads)
        if finish is not None:
            self._enter(job, start, finish)

    def moved(self, job: int, start: int, finish: int | None) -> None:
        """Set another expected end of a job (None: unknown)."""
        self._leave(job)
        self._enter(job, start, finish)

    def preempted(self, job: int) -> None:
        """Release the slots of a preempted job; other resources stay in use."""
        self.set_slots(job, 0.0)
        self._leave(job)

    def ended(self, *jobs: int) -> None:
        """Remove finished jobs; the rows of a job entered in bulk determine its current use."""
        given: list[HeldPart] = []
        leaving: dict[tuple[bool, int], list[int]] = {}
        for job in jobs:
            parts = self.parts.pop(job, None)
            if parts is None:
                self.free_now.give(given)
                given = []
                self._give_rows_back(job)
                self._leave(job)
                continue
            given += parts
            for part in parts:  # A job is in few of many pools.
                leaving.setdefault((part.pool, part.index), []).append(job)
            self.falls.remove(job)
            self.finish.pop(job, None)
        self.free_now.give(given)
        for (pool, index), owners in leaving.items():
            usage = (self._pool_usage if pool else self._host_usage).get(index)
            if usage is not None:
                _running(usage).remove(*owners)

    def advance(self, now: int) -> None:
        """Update decaying amounts to their values at `now` (RSV-02)."""
        self.now = now
        self.falls.bring_to(now, self.free_now)

    def slots_of(self, job: int) -> Allocation:
        """Return the slots that a running job makes unavailable, by host: all of its hosts with
        -x.
        """
        found: Allocation = {}
        for part in self.parts.get(job, ()):
            if not part.pool and part.index == SLOTS:
                for host, times in zip(part.hosts.tolist(), part.times.tolist(), strict=True):
                    found[host] = found.get(host, 0) + int(times)
        return found

    def set_slots(self, job: int, amount: float) -> None:
        """Set the slots that a job uses of each of its own: 1, or 0 while it is preempted."""
        for part in self.parts.get(job, ()):
            if not part.pool and self.table.is_slots(part.index):
                self.free_now.change(part, amount)

    def _give_rows_back(self, job: int) -> None:
        for index, usage in self._host_usage.items():
            where, amounts = _running(usage).rows_of(job)
            self.free_now.add(index, where, amounts)
        for index, usage in self._pool_usage.items():
            self.free_now.take_from_pool(index, -float(_running(usage).rows_of(job)[1].sum()))

    def _enter(self, job: int, start: int, finish: int | None) -> None:
        self._owner = job
        end = FOREVER if finish is None else finish
        for part in self.parts[job]:
            self.hold(part, start, end)
        self.finish[job] = end

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
        """Add rows of many jobs, ascending by number, in a host resource or a pool."""
        usage = self._pool(index) if pool else self._usage(index)
        assert isinstance(usage, RunningUsage)
        if pool:
            self.free_now.take_from_pool(index, float(amounts.sum()))
        else:
            self.free_now.add(index, where, -amounts)
        usage.enter(owners, where, begin, end, amounts)

    def _leave(self, job: int) -> None:
        """Remove the rows of a job."""
        for usage in (*self._host_usage.values(), *self._pool_usage.values()):
            _running(usage).remove(job)
        self.finish.pop(job, None)

    def copy(self, without: Collection[int] = ()) -> Profile:
        """Return a profile of the running jobs for planning; without: jobs to be ignored."""
        hosts, pools = (
            {index: _running(usage).copy(without) for index, usage in of.items()}
            for of in (self._host_usage, self._pool_usage)
        )
        kept = (end for job, end in self.finish.items() if job not in without)
        all_ends = np.array([*(kept if without else self.finish.values())], dtype=np.int64)
        finishes = np.unique(all_ends[(all_ends > self.now) & (all_ends < FOREVER)]).tolist()
        usages = [*map(_running, (*self._host_usage.values(), *self._pool_usage.values()))]
        before = set().union(*(usage.partial_ends(without) for usage in usages))
        before = {end for end in before if self.now < end < FOREVER}.difference(finishes)
        # Two rising runs, which are merged in one pass.
        ends = sorted([*finishes, *sorted(before)])
        twin = Profile(self.table, self.now)
        twin.take_over(hosts, pools, ends=ends, finishes=finishes)
        return twin

    def twin(self, now: int) -> RunningProfile:
        """Return an independent copy at another instant, which jobs may join and leave.

        Jobs entered in bulk must have constant use.
        """
        twin = RunningProfile(self.table, now)
        twin.free_now = self.free_now.copy()
        twin.finish = dict(self.finish)
        twin._host_usage = {i: _running(u).twin() for i, u in self._host_usage.items()}
        twin._pool_usage = {i: _running(u).twin() for i, u in self._pool_usage.items()}
        twin._last_begins()
        return twin

    def renumber(self, job: int, number: int) -> None:
        """Change the number of a job to an unused one."""
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
        """Set the use before any job by the hosts' reports from now on, [H]."""
        usage = self._usage(index)
        assert isinstance(usage, RunningUsage)
        usage.remove(REPORTED)
        usage.owner = REPORTED
        hosts = np.flatnonzero(away)
        if hosts.size:
            usage.add_constant(hosts, self.now, FOREVER, away[hosts])

    def by_finish(self, index: int = SLOTS) -> tuple[IntArray, IntArray, FloatArray]:
        """Return (finish, host, amount) of the running jobs with a known end, by rising finish.

        index: of a host resource.
        """
        usage = self._host_usage.get(index)
        if usage is None:
            return (np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))
        return _running(usage).by_finish()

    def when_freed(self, index: int, host: int, amount: float, now: int) -> int | None:
        """Return the first instant by which an amount of a host resource was released since now.

        The instants are the ends of jobs and phases, and every step of a decay. None if never.
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


def _running(usage: Usage) -> RunningUsage:
    assert isinstance(usage, RunningUsage)
    return usage
