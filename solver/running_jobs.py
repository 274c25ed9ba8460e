"""Running jobs entered all at once, for a plan of one moment: columns instead of one job's parts.

Only jobs that hold the same as long as they run, in one term, are taken; how they end is the
caller's business, so that none may be open that ends by now. What they come to is what
:meth:`.world.world.World.add_running` makes of them one by one, but for what a job gives back.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from ..model.duration import expected_finish
from ..model.job import RunningJob
from ..model.resreq.syntax import Compound
from .availability.profile import FOREVER, Profile, constant_amount
from .availability.resources import (
    Allocation,
    Alternative,
    BoolArray,
    FloatArray,
    IntArray,
    Per,
    ResourceTable,
    Use,
)
from .availability.running_profile import RunningProfile
from .resolve import Resolver

#: In place of a kind: nobody has looked at it yet.
_UNKNOWN = -2
#: In place of a kind of use: the job is entered by itself.
_BY_ITSELF = -1
#: Owner, host, begin, end and amount of rows.
_Rows = tuple[IntArray, IntArray, IntArray, IntArray, FloatArray]


@dataclass(frozen=True, slots=True)
class Running:
    """Jobs that run, [n] each: themselves, their numbers, ascending, and when they should end."""

    jobs: Sequence[RunningJob]
    numbers: IntArray
    #: FOREVER for unknown.
    finishes: IntArray
    #: Those that run on beyond now, which may be entered.
    open: BoolArray


@dataclass(slots=True)
class _LoaderColumns:
    """Jobs that are entered, [n], in the order of what they use, and their hosts, [rows]."""

    numbers: IntArray
    starts: IntArray
    finishes: IntArray
    job: IntArray
    hosts: IntArray
    slots: FloatArray


class RunningJobLoader:
    """What enters running jobs into the books of a plan."""

    def __init__(self, resolver: Resolver) -> None:
        self.resolver = resolver
        self._index = resolver.host_index()
        self._uses: list[Alternative] = []
        self._place: dict[int, int] = {}

    def enter(
        self,
        running: Running,
        profile: RunningProfile,
        *,
        other: Callable[[int], None],
    ) -> IntArray:
        """Enter what can be entered at once.

        other: called, in order, with the place of each job that is not. Numbers of those that are.
        """
        use_of = self._kinds(running, other)
        taken = np.flatnonzero(use_of >= 0)
        if taken.size:
            self._write(running, taken, use_of[taken], profile)
        return running.numbers[taken]

    def _kinds(self, running: Running, other: Callable[[int], None]) -> IntArray:
        """Which use is that of each job, [n]; requirements are resolved in the jobs' order."""
        places: dict[Hashable, int] = {}
        asked = self.resolver.asked
        kinds = [
            places.setdefault((asked(item.job), item.alternative), len(places))
            for item in running.jobs
        ]
        known = [_UNKNOWN] * len(places)
        found = np.full(len(kinds), _BY_ITSELF, dtype=np.int64)
        for at, (kind, is_open) in enumerate(zip(kinds, running.open.tolist(), strict=True)):
            if is_open:
                use = known[kind]
                if use == _UNKNOWN:
                    use = known[kind] = self._kind(running.jobs[at])
                if use >= 0:
                    found[at] = use
                    continue
            other(at)
        return found

    def _kind(self, running: RunningJob) -> int:
        allocation = {self._index[name]: slots for name, slots in running.allocation.items()}
        asked = self.resolver.requirement(running.job)
        if isinstance(asked, Compound) or (asked.cu is not None and asked.cu.excl):
            return _BY_ITSELF
        loads = self.resolver.load_reservations(running.job, running.alternative)
        if any(load.drops() for load in loads):
            return _BY_ITSELF
        terms = self.resolver.running_uses(running, allocation)
        if len(terms) != 1 or terms[0][1] is not allocation:
            return _BY_ITSELF
        uses = terms[0][0]
        if any(use.per is Per.JOB for use in uses.host_uses) or any(
            constant_amount(use) is None for use in (*uses.host_uses, *uses.pool_uses)
        ):
            return _BY_ITSELF
        if id(uses) not in self._place:
            self._place[id(uses)] = len(self._uses)
            self._uses.append(uses)
        return self._place[id(uses)]

    def _write(
        self,
        running: Running,
        taken: IntArray,
        use_of: IntArray,
        profile: RunningProfile,
    ) -> None:
        order = np.argsort(use_of, kind="stable")
        members = self._members(running, taken[order])
        np.maximum.at(profile.last_accepted, members.hosts, members.starts[members.job])
        first = np.searchsorted(use_of[order], np.arange(len(self._uses) + 1))
        of_hosts: dict[int, list[_Rows]] = {}
        of_pools: dict[int, list[_Rows]] = {}
        for uses, low, high in zip(self._uses, first, first[1:], strict=False):
            if low < high:
                self._rows(uses, _part(members, int(low), int(high)), of_hosts, of_pools)
        finishes = running.finishes[taken].tolist()
        profile.finish.update(zip(running.numbers[taken].tolist(), finishes, strict=True))
        for index, found in _by_owner(of_hosts).items():
            profile.enter_rows(index, *found, pool=False)
        for index, found in _by_owner(of_pools).items():
            profile.enter_rows(index, *found, pool=True)

    def _members(self, running: Running, at: IntArray) -> _LoaderColumns:
        """The jobs at these places, with their hosts."""
        jobs = [running.jobs[place] for place in at.tolist()]
        allocations = [item.allocation for item in jobs]
        counts = np.fromiter(map(len, allocations), np.int64, len(jobs))
        rows = int(counts.sum())
        names = chain.from_iterable(allocations)
        slots = chain.from_iterable(map(_values, allocations))
        return _LoaderColumns(
            running.numbers[at],
            np.fromiter((item.start for item in jobs), np.int64, len(jobs)),
            running.finishes[at],
            np.repeat(np.arange(len(jobs)), counts),
            np.fromiter(map(self._index.__getitem__, names), np.int64, rows),
            np.fromiter(slots, float, rows),
        )

    def _rows(
        self,
        uses: Alternative,
        part: _LoaderColumns,
        of_hosts: dict[int, list[_Rows]],
        of_pools: dict[int, list[_Rows]],
    ) -> None:
        """The rows of jobs that use the same, by host resource and by pool."""
        table, job, hosts, slots = self.resolver.table, part.job, part.hosts, part.slots
        numbers, starts, finishes = part.numbers, part.starts, part.finishes
        for use in uses.host_uses:
            amounts = _of_hosts(table, use, hosts, slots)
            rows = (numbers[job], hosts, starts[job], finishes[job], amounts)
            of_hosts.setdefault(use.index, []).append(rows)
        for use in uses.pool_uses:
            amounts = _of_pool(table, use, job, hosts, slots, len(numbers))
            some = np.flatnonzero(amounts)
            where = np.zeros(len(some), dtype=np.int64)
            rows = (numbers[some], where, starts[some], finishes[some], amounts[some])
            of_pools.setdefault(use.index, []).append(rows)


def _values(allocation: Mapping[str, int]) -> Iterable[int]:
    return allocation.values()


def _part(members: _LoaderColumns, low: int, high: int) -> _LoaderColumns:
    """The jobs from one place to another."""
    first, after = np.searchsorted(members.job, (low, high))
    return _LoaderColumns(
        members.numbers[low:high],
        members.starts[low:high],
        members.finishes[low:high],
        members.job[first:after] - low,
        members.hosts[first:after],
        members.slots[first:after],
    )


def profile_of_running(resolver: Resolver) -> Profile:
    """The profile of the running jobs of an instance; one that is overdue ends now."""
    instance, table = resolver.instance, resolver.table
    index = resolver.host_index()
    found = RunningProfile(table, instance.now)
    jobs = instance.running
    ends = (expected_finish(instance, running) for running in jobs)
    finishes = np.array([FOREVER if end is None else end for end in ends], dtype=np.int64)
    others: list[tuple[Alternative, Allocation, int, int, Collection[int]]] = []

    def by_itself(at: int) -> None:
        item = jobs[at]
        allocation = {index[name]: slots for name, slots in item.allocation.items()}
        blocked = resolver.blocked_units(item.job, allocation)
        uses = resolver.running_uses(item, allocation)
        others.extend((use, part, item.start, int(finishes[at]), blocked) for use, part in uses)

    running = Running(jobs, np.arange(len(jobs)), finishes, np.ones(len(jobs), dtype=bool))
    RunningJobLoader(resolver).enter(running, found, other=by_itself)
    profile = found.copy()
    for use, part, start, finish, blocked in others:
        known = None if finish == FOREVER else finish
        profile.allocate(use, part, start, known, whole_hosts=blocked)
    profile.freeze()
    return profile


def _of_hosts(table: ResourceTable, use: Use, hosts: IntArray, slots: FloatArray) -> FloatArray:
    """What jobs hold of a host resource, row by row."""
    amount = constant_amount(use)
    assert amount is not None
    if use.per is Per.SLOT:
        return slots * amount
    if use.per is Per.WHOLE:
        return table.host_resources[use.index].capacity[hosts] * amount
    return np.full(len(hosts), amount)


def _of_pool(
    table: ResourceTable, use: Use, job: IntArray, hosts: IntArray, slots: FloatArray, count: int
) -> FloatArray:
    """What jobs hold of a pool, job by job; 0 for those outside it."""
    amount = constant_amount(use)
    assert amount is not None
    inside = table.pools[use.index].mask[hosts]
    if use.per is Per.SLOT:
        times = np.bincount(job[inside], weights=slots[inside], minlength=count)
    else:
        times = np.bincount(job[inside], minlength=count).astype(float)
        if use.per is not Per.HOST:
            times = np.minimum(times, 1.0)
    return np.asarray(times * amount, dtype=np.float64)


def _by_owner(rows: Mapping[int, list[_Rows]]) -> dict[int, _Rows]:
    """The rows of each resource in the order of the jobs, as if they had come one by one."""
    found: dict[int, _Rows] = {}
    for index, parts in rows.items():
        owner, where, begin, end, amount = (
            np.concatenate([part[at] for part in parts]) for at in range(5)
        )
        order = np.argsort(owner, kind="stable")
        found[index] = owner[order], where[order], begin[order], end[order], amount[order]
    return found
