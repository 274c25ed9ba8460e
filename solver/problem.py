"""An instance made ready for the planning methods: demands in priority order and a base profile.

Bulk loading of running jobs for a plan of one instant: arrays instead of parts of single jobs. Only
jobs with constant use in one term are taken; the caller handles their ends, so none may be open
that ends by now. The result equals that of :meth:`.world.world.World.add_running` for single jobs,
except for releases.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

import numpy as np

from ..model.duration import expected_finish
from ..model.instance import Instance
from ..model.job import Job, RunningJob
from ..model.modules import with_loaded_modules
from ..model.objective import ObjectiveName
from ..model.plan import NOT_EXAMINED, Method, Plan, PlannedJob
from ..model.reserved_periods import recurring
from ..model.resreq.syntax import Compound
from .availability.demand import (
    Demand,
    TermPlacer,
    accepted_of,
    known_kills,
    parts_of,
    with_eligible_time,
)
from .availability.profile import Profile, block_advance_reservations
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
from .availability.usage import FOREVER, constant_amount
from .budget import Budget
from .fairshare.priority_order import Admission, admissions, priority_order
from .placement.earliest import Start
from .precedence import NEVER_SATISFIED, Known, Precedence, from_starts
from .resolve import Resolver
from .rules.omitted import estimator_view
from .rules.rule_book import OmittedRule, RuleBook, in_one_partition

#: Share of a grace period for resolving jobs once the limit has come; the rest is for placing them.
RESOLVING = 0.5


@dataclass(slots=True)
class Finishes:
    """Running jobs by their expected finish, None if unknown; built on demand."""

    _at: dict[int | None, list[RunningJob]] | None = None

    def at(self, time: int | None, instance: Instance) -> list[RunningJob]:
        """Return the jobs that are expected to end exactly at `time`."""
        if self._at is None:
            self._at = _finishes(instance)
        return self._at.get(time, [])


@dataclass(slots=True)
class Falls:
    """Running jobs by the instants at which they hold less of something than before."""

    _at: dict[int, list[RunningJob]] | None = None

    def at(self, time: int, instance: Instance, resolver: Resolver) -> list[RunningJob]:
        """Return the jobs that use less from `time` on without ending then."""
        if self._at is None:
            self._at = _falls(instance, resolver)
        return self._at.get(time, [])


@dataclass(frozen=True, slots=True)
class PlanningProblem:
    """The planning problem of one instant."""

    instance: Instance
    resolver: Resolver
    #: Demands of the pending jobs in priority order.
    demands: tuple[Demand, ...]
    #: Profile of running jobs; use a copy.
    base: Profile
    #: Rules that the demands do not include.
    omitted_rules: tuple[OmittedRule, ...] = ()
    #: Whether windows and unused advance reservations are omitted, and reserved slots are protected
    #: against queues without BACKFILL.
    as_lsf: bool = False
    #: Pending jobs of the lowest priority that were not reached in time; neither `instance` nor
    #: `demands` has them.
    unseen: tuple[Job, ...] = ()
    _finishes: Finishes = field(default_factory=Finishes, compare=False, repr=False)
    _running_falls: Falls = field(default_factory=Falls, compare=False, repr=False)
    _admissions: dict[str, Admission] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def of(
        cls,
        instance: Instance,
        *,
        as_lsf: bool = True,
        budget: Budget | None = None,
        margin: int = 0,
        partly: bool = False,
        due_dates: bool = False,
        loans: bool = False,
        first: int | None = None,
    ) -> PlanningProblem:
        """Resolve the jobs of an instance to demands.

        as_lsf: omit the rules that LSF's own estimate ignores: dispatch and run windows and advance
        reservations (TBR-19). margin: seconds to keep free after every pending job. Running jobs
        are added under any budget. partly: jobs for which half of its grace period is too short are
        `unseen`, and the problem lacks them; else OutOfTime is raised. due_dates: -t may be missed,
        as the tardiness objective weighs it. loans: of guaranteed pools count if every pending job
        may have one. first: only this many jobs of the order have demands; what is decided by all
        pending jobs is decided before.
        """
        budget = budget or Budget()
        instance = with_loaded_modules(instance)
        if as_lsf:
            instance = replace(estimator_view(instance), future=instance.future)
        resolver = Resolver.of(
            instance,
            reserving=False,
            honour_windows=not as_lsf,
            margin=margin,
            due_dates=due_dates,
            loans=loans,
        )
        base = profile_of_running(resolver)
        base.accepted = accepted_of(instance)
        if partly:
            budget.renew_grace()
        block_advance_reservations(instance, base)
        precedence = Precedence.of(instance, budget.check)
        rules = RuleBook(instance, resolver, precedence)
        order = priority_order(instance, precedence)

        def resolved() -> Iterator[Demand]:
            for job in order:
                if partly and budget.late(RESOLVING):
                    return
                if not partly:
                    budget.check()
                yield resolver.demand(job)

        demands = rules.apply(resolved())
        unseen = order[len(demands) : first]
        if unseen:
            gone = {job.id for job in unseen}
            pending = tuple(job for job in instance.pending if job.id not in gone)
            instance = replace(instance, pending=pending)
        demands = _after_others(precedence, demands)[:first]
        return cls(instance, resolver, demands, base, rules.omitted_rules(), as_lsf, unseen)

    @classmethod
    def without_demands(cls, instance: Instance, resolver: Resolver) -> PlanningProblem:
        """Return the problem without any pending job, for pending reasons."""
        return cls(instance, resolver, (), Profile(resolver.table, instance.now))

    @property
    def honours_windows(self) -> bool:
        """Return whether windows and advance reservations are obeyed (TBR-19)."""
        return self.resolver.honour_windows

    @property
    def margin(self) -> int:
        """Return the seconds that are kept free after the end of every pending job."""
        return self.resolver.margin

    @property
    def empty(self) -> Profile:
        """Return the profile of the cluster without running jobs; windows and recurring advance
        reservations stay.
        """
        found = Profile(self.resolver.table, self.instance.now)
        if self.honours_windows:
            recurs = recurring(self.instance)
            block_advance_reservations(replace(self.instance, advance_reservations=recurs), found)
        return found

    def placing_terms(self, together: TermPlacer) -> PlanningProblem:
        """Return the problem with the terms of compound requirements placed jointly."""
        demands = (
            replace(demand, joint_placer=together) if len(demand.terms) > 1 else demand
            for demand in self.demands
        )
        return replace(self, demands=tuple(demands))

    def running_until(self, time: int) -> list[RunningJob]:
        """Return the running jobs that are expected to end exactly at `time`."""
        return self._finishes.at(time, self.instance)

    def holding_less_from(self, time: int) -> list[RunningJob]:
        """Return the running jobs whose reservation falls at `time`, by a phase or a decay."""
        return self._running_falls.at(time, self.instance, self.resolver)

    def endless(self) -> list[RunningJob]:
        """Return the running jobs with an unknown end."""
        return self._finishes.at(None, self.instance)

    def names(self, hosts: Iterable[int]) -> list[str]:
        """Return the names of hosts, each once, in order."""
        every = self.instance.cluster.hosts
        return [every[host].name for host in dict.fromkeys(hosts)]

    def named(self, allocation: Allocation) -> dict[str, int]:
        """Return an allocation with host names."""
        hosts = self.instance.cluster.hosts
        return {hosts[index].name: slots for index, slots in allocation.items()}

    def start_of(self, item: PlannedJob) -> Start | None:
        """Return the start in a plan's entry, by host index and term; None for an estimate."""
        start = start_on(item, self.resolver.host_index())
        if start is None or len(start.terms) == 1:
            return start
        return replace(start, alternative=self._set_of(item.job, start.terms))

    def _set_of(self, job: str, terms: Sequence[Allocation]) -> int:
        """Return the host partition of an allocation, which the plan does not record."""
        demand = next((demand for demand in self.demands if demand.job.id == job), None)
        sets = () if demand is None else demand.terms[0].alternatives
        hosts = [host for term in terms for host in term]
        return next(
            (
                at
                for at, item in enumerate(sets)
                if item.hosts is not None and item.hosts[hosts].all()
            ),
            0,
        )

    def demand_of(self, job: Job) -> Demand:
        """Return the demand of a job, pending here or not, on the hosts of one of its
        partitions.
        """
        plain = self.resolver.demand(job)
        if not self.instance.partitions or plain.impossible:
            return plain
        if not self._admissions:
            self._admissions.update(admissions(self.instance))
        admission = self._admissions.get(job.id)
        known = next((other for other in self.instance.pending if other.id == job.id), None)
        if admission is None or known != job:
            others = (other for other in self.instance.pending if other is not known)
            admission = admissions(replace(self.instance, pending=(*others, job)))[job.id]
        return in_one_partition(plain, admission, [h.name for h in self.instance.cluster.hosts])

    def planned(
        self,
        demand: Demand,
        start: Start,
        method: str,
        *,
        bound: int | None = None,
        waits_for: str = "",
        decided_by: str = "",
    ) -> PlannedJob:
        """Return the plan's entry of a job that has a start."""
        return PlannedJob(
            job=demand.job.id,
            start=start.time,
            finish=demand.end_of_run(start.time),
            allocation=self.named(start.allocation),
            method=method,
            bound=bound,
            proved=bound is not None and bound >= start.time,
            waits_for=waits_for,
            alternative=start.alternative if len(start.terms) == 1 else 0,
            terms=tuple(map(self.named, start.terms)) if len(start.terms) > 1 else (),
            decided_by=decided_by,
        )


def _after_others(precedence: Precedence, demands: tuple[Demand, ...]) -> tuple[Demand, ...]:
    """Return the jobs with their dependencies (-w), each no earlier than its condition can hold.

    demands: in an order in which every job is after those it depends on.
    """
    if not precedence:
        return demands
    durations = {demand.job.id: demand.duration for demand in demands}
    killed = {d.job.id: end + d.margin for d in demands if (end := _killed_once(d)) is not None}
    least = {demand.job.id: demand.earliest for demand in demands if not demand.impossible}
    found: list[Demand] = []
    for demand in demands:
        release = precedence.releases.get(demand.job.id)
        if release is not None and not demand.impossible:
            event = from_starts(release.event, durations, killed)
            soonest = with_eligible_time(replace(demand, after=event), least)
            known = isinstance(event, Known)
            if isinstance(event, Known) and event.time is None:
                soonest = replace(soonest, impossible=event.why or NEVER_SATISFIED)
            demand = replace(soonest, after=None if known or soonest.impossible else event)
            least[demand.job.id] = demand.earliest
        if demand.impossible:
            least.pop(demand.job.id, None)
        found.append(demand)
    return tuple(found)


def _killed_once(demand: Demand) -> int | None:
    """Return when the clock kills a job with any start; None if never or unknown.

    With several periods of its reservation, only -t is known.
    """
    reserved = None if demand.calendar is None else demand.calendar.reserved
    if reserved is not None and len(reserved.ends_after(demand.earliest)) > 1:
        return demand.killed
    return min(known_kills(demand), default=None)


def start_on(item: PlannedJob, index: Mapping[str, int]) -> Start | None:
    """Return the start in a plan's entry, None if it has none; index: of each host by name."""
    if item.start is None:
        return None
    parts = item.terms or (item.allocation,)
    terms = tuple({index[name]: n for name, n in part.items()} for part in parts)
    return Start(item.start, terms, item.alternative)


def not_looked_at(job: Job, method: str) -> PlannedJob:
    """Return a plan's entry for a job that was not examined because of the limit."""
    return PlannedJob(
        job.id, start=None, method=method, waits_for=NOT_EXAMINED, fallback=NOT_EXAMINED
    )


def nothing_looked_at(instance: Instance, method: Method, objective: ObjectiveName) -> Plan:
    """Return the plan of a limit that came before the first job: every job is not examined."""
    return Plan(
        method=method,
        objective=objective,
        status="heuristic" if method in ("greedy", "time-based") else "feasible",
        now=instance.now,
        reservations=tuple(not_looked_at(job, method) for job in instance.pending),
        notes=("truncated by the limit before the first job was examined",),
        cut=True,
    )


def _finishes(instance: Instance) -> dict[int | None, list[RunningJob]]:
    """Return the running jobs by expected finish, None if unknown."""
    finishes: dict[int | None, list[RunningJob]] = defaultdict(list)
    for run in instance.running:
        finishes[expected_finish(instance, run)].append(run)
    return dict(finishes)


def _falls(instance: Instance, resolver: Resolver) -> dict[int, list[RunningJob]]:
    """Return the running jobs by the instants at which their use falls."""
    index = resolver.host_index()
    drops_of: dict[Hashable, frozenset[int]] = {}
    found: dict[int, list[RunningJob]] = defaultdict(list)
    for running in instance.running:
        key = (resolver.asked(running.job), running.alternative)
        if key not in drops_of:
            allocation = {index[name]: slots for name, slots in running.allocation.items()}
            drops_of[key] = frozenset(
                drop
                for alternative, _ in resolver.running_uses(running, allocation)
                for use in (*alternative.host_uses, *alternative.pool_uses)
                for drop in use.reservation.drops()
            )
        for drop in drops_of[key]:
            found[running.start + drop].append(running)
    return dict(found)


#: Marker in place of a kind: not examined yet.
_UNKNOWN = -2
#: Marker in place of a kind of use: the job is added singly.
_BY_ITSELF = -1
#: Owner, host, begin, end and amount of rows.
_Rows = tuple[IntArray, IntArray, IntArray, IntArray, FloatArray]


@dataclass(frozen=True, slots=True)
class Running:
    """Jobs that run, [n] each: themselves, their numbers, ascending, and when they should end."""

    jobs: Sequence[RunningJob]
    numbers: IntArray
    #: Finish of each job, FOREVER if unknown.
    finishes: IntArray
    #: Jobs that end after now, which may be added.
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


@dataclass(frozen=True, slots=True)
class _JobColumns:
    """Running jobs, [n], and their hosts, [rows], as columns in the order of the jobs."""

    jobs: tuple[RunningJob, ...]
    #: Number of the distinct request of each job, by first occurrence.
    requests: list[int]
    starts: IntArray
    #: Number of hosts of each job.
    counts: IntArray
    hosts: IntArray
    slots: FloatArray


class RunningJobLoader:
    """Bulk loader of running jobs into the profile of a plan."""

    def __init__(self, resolver: Resolver) -> None:
        self.resolver = resolver
        self._index = resolver.host_index()
        self._uses: list[Alternative] = []
        self._place: dict[int, int] = {}
        #: Columns of jobs that may be entered again.
        self._last: _JobColumns | None = None

    def enter(
        self,
        running: Running,
        profile: RunningProfile,
        *,
        other: Callable[[int], None],
        keep: bool = False,
    ) -> IntArray:
        """Add all jobs that can be added in bulk; return their numbers.

        other: called, in order, with the position of each remaining job. keep: whether the same
        jobs may be entered again, into another profile.
        """
        columns = self._columns(running.jobs)
        if keep:
            self._last = columns
        use_of = self._kinds(running, columns.requests, other)
        taken = np.flatnonzero(use_of >= 0)
        if taken.size:
            ends = running.finishes[taken].tolist()
            profile.finish.update(zip(running.numbers[taken].tolist(), ends, strict=True))
            order = np.argsort(use_of[taken], kind="stable")
            members = _members(running, columns, taken[order])
            self._write(members, use_of[taken][order], profile)
        return running.numbers[taken]

    def _kinds(
        self, running: Running, kinds: Sequence[int], other: Callable[[int], None]
    ) -> IntArray:
        """Return the number of the distinct use of each job, [n]; requirements are resolved in
        order.

        kinds: number of the request of each job.
        """
        known = [_UNKNOWN] * (max(kinds, default=-1) + 1)
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

    def _columns(self, jobs: Sequence[RunningJob]) -> _JobColumns:
        """Return the columns of jobs: those that were kept, if they are of these jobs."""
        if self._last is not None and self._last.jobs == jobs:
            return self._last
        places: dict[Hashable, int] = {}
        asked = self.resolver.asked
        allocations = [item.allocation for item in jobs]
        counts = np.fromiter(map(len, allocations), np.int64, len(jobs))
        rows = int(counts.sum())
        names = chain.from_iterable(allocations)
        slots = chain.from_iterable(map(_values, allocations))
        return _JobColumns(
            tuple(jobs),
            [places.setdefault((asked(item.job), item.alternative), len(places)) for item in jobs],
            np.fromiter((item.start for item in jobs), np.int64, len(jobs)),
            counts,
            np.fromiter(map(self._index.__getitem__, names), np.int64, rows),
            np.fromiter(slots, float, rows),
        )

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
            constant_amount(use.reservation) is None for use in (*uses.host_uses, *uses.pool_uses)
        ):
            return _BY_ITSELF
        if id(uses) not in self._place:
            self._place[id(uses)] = len(self._uses)
            self._uses.append(uses)
        return self._place[id(uses)]

    def _write(self, members: _LoaderColumns, use_of: IntArray, profile: RunningProfile) -> None:
        """Add jobs to a profile; use_of: the number of the use of each, ascending."""
        np.maximum.at(profile.last_accepted, members.hosts, members.starts[members.job])
        first = np.searchsorted(use_of, np.arange(len(self._uses) + 1))
        of_hosts: dict[int, list[_Rows]] = {}
        of_pools: dict[int, list[_Rows]] = {}
        for uses, low, high in zip(self._uses, first, first[1:], strict=False):
            if low < high:
                self._rows(uses, _part(members, int(low), int(high)), of_hosts, of_pools)
        for index, found in _by_owner(of_hosts).items():
            profile.enter_rows(index, *found, pool=False)
        for index, found in _by_owner(of_pools).items():
            profile.enter_rows(index, *found, pool=True)

    def _rows(
        self,
        uses: Alternative,
        part: _LoaderColumns,
        of_hosts: dict[int, list[_Rows]],
        of_pools: dict[int, list[_Rows]],
    ) -> None:
        """Add the rows of jobs with equal use to `of_hosts` and `of_pools`, by index."""
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


def _members(running: Running, columns: _JobColumns, at: IntArray) -> _LoaderColumns:
    """Return the jobs at these positions, with their hosts."""
    counts = columns.counts[at]
    job = np.repeat(np.arange(len(at)), counts)
    # The place of each row in its job, then in the column of all jobs.
    rows = np.arange(len(job)) - (np.cumsum(counts) - counts)[job]
    rows += (np.cumsum(columns.counts) - columns.counts)[at][job]
    return _LoaderColumns(
        running.numbers[at],
        columns.starts[at],
        running.finishes[at],
        job,
        columns.hosts[rows],
        columns.slots[rows],
    )


def _part(members: _LoaderColumns, low: int, high: int) -> _LoaderColumns:
    """Return the jobs from one index to another."""
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
    """Return the profile of the running jobs of an instance; an overdue job ends now."""
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
        profile.allocate(parts_of(table, use, part, blocked), start, known)
    profile.freeze()
    return profile


def _of_hosts(table: ResourceTable, use: Use, hosts: IntArray, slots: FloatArray) -> FloatArray:
    """Return the use of a host resource by jobs, row by row."""
    amount = constant_amount(use.reservation)
    assert amount is not None
    if use.per is Per.SLOT:
        return slots * amount
    if use.per is Per.WHOLE:
        return table.host_resources[use.index].capacity[hosts] * amount
    return np.full(len(hosts), amount)


def _of_pool(
    table: ResourceTable, use: Use, job: IntArray, hosts: IntArray, slots: FloatArray, count: int
) -> FloatArray:
    """Return the use of a pool by jobs, job by job; 0 outside the pool."""
    amount = constant_amount(use.reservation)
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
    """Return the rows of each resource in the order of the jobs."""
    found: dict[int, _Rows] = {}
    for index, parts in rows.items():
        owner, where, begin, end, amount = (
            np.concatenate([part[at] for part in parts]) for at in range(5)
        )
        order = np.argsort(owner, kind="stable")
        found[index] = owner[order], where[order], begin[order], end[order], amount[order]
    return found
