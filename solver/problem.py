"""An instance made ready for the planning methods: demands in priority order and a base profile."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from ..model.duration import expected_finish
from ..model.instance import Instance
from ..model.job import Job, RunningJob
from ..model.modules import with_loaded_modules
from ..model.objective import ObjectiveName
from ..model.plan import NOT_EXAMINED, Method, Plan, PlannedJob
from .availability.calendar import accepted_of
from .availability.demand import Demand, TermPlacer, with_eligible_time
from .availability.profile import Profile, block_advance_reservations
from .availability.resources import Allocation
from .budget import Budget
from .fairshare.priority_order import Admission, admissions, priority_order
from .placement.earliest import Start
from .precedence import NEVER_SATISFIED, Known, Precedence, from_starts
from .resolve import Resolver, profile_of_running
from .rules.rule_book import OmittedRule, RuleBook, in_one_partition

#: Share of a grace that jobs may be resolved in once the limit has come; the rest is to place them.
RESOLVING = 0.5


@dataclass(slots=True)
class Finishes:
    """Running jobs by their expected finish, None where that is unknown; looked at when asked."""

    _at: dict[int | None, list[RunningJob]] | None = None

    def at(self, time: int | None, instance: Instance) -> list[RunningJob]:
        """Those that are expected to end exactly at `time`."""
        if self._at is None:
            self._at = _finishes(instance)
        return self._at.get(time, [])


@dataclass(slots=True)
class Falls:
    """Running jobs by the instants at which they hold less of something than before."""

    _at: dict[int, list[RunningJob]] | None = None

    def at(self, time: int, instance: Instance, resolver: Resolver) -> list[RunningJob]:
        """Those that hold less from `time` on, though they do not end then."""
        if self._at is None:
            self._at = _falls(instance, resolver)
        return self._at.get(time, [])


@dataclass(frozen=True, slots=True)
class PlanningProblem:
    """The planning problem of one moment."""

    instance: Instance
    resolver: Resolver
    #: Pending jobs in priority order.
    demands: tuple[Demand, ...]
    #: The profile of running jobs; copy it.
    base: Profile
    #: Rules that the demands do not heed.
    omitted_rules: tuple[OmittedRule, ...] = ()
    #: Windows and advance reservations are left out, and what is held is out of reach for queues
    #: without BACKFILL.
    as_lsf: bool = False
    #: Pending jobs that there was no time for, of the lowest priority; neither `instance` nor
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
    ) -> PlanningProblem:
        """Resolve an instance.

        as_lsf: leave out what LSF's own estimate ignores: dispatch and run windows and advance
        reservations (TBR-19). margin: seconds to keep free behind every pending job. What runs is
        entered whatever the budget is. partly: jobs that half of its grace does not last for are
        `unseen`, which the problem is then without; else OutOfTime is raised where it is over.
        due_dates: jobs may be late, as the tardiness objective weighs it, where -t would end them.
        loans: of guaranteed pools count if every pending job may have one; no other job is asked.
        """
        budget = budget or Budget()
        instance = with_loaded_modules(instance)
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
        if not as_lsf:
            block_advance_reservations(instance, base)
        rules = RuleBook(instance, resolver)
        order = priority_order(instance)

        def resolved() -> Iterator[Demand]:
            for job in order:
                if partly and budget.late(RESOLVING):
                    return
                if not partly:
                    budget.check()
                yield resolver.demand(job)

        demands = rules.apply(resolved())
        unseen = order[len(demands) :]
        if unseen:
            gone = {job.id for job in unseen}
            pending = tuple(job for job in instance.pending if job.id not in gone)
            instance = replace(instance, pending=pending)
        demands = _after_others(Precedence.of(instance), demands)
        left_out = rules.omitted_rules()
        return cls(instance, resolver, demands, base, left_out, as_lsf, unseen)

    @classmethod
    def without_demands(cls, instance: Instance, resolver: Resolver) -> PlanningProblem:
        """What is known before any pending job is looked at: to give reasons."""
        base = Profile(resolver.table, instance.now)
        return cls(instance, resolver, (), base)

    @property
    def honours_windows(self) -> bool:
        """Whether windows and advance reservations are kept to (TBR-19)."""
        return self.resolver.honour_windows

    @property
    def margin(self) -> int:
        """Seconds that are kept free behind the end of every pending job."""
        return self.resolver.margin

    @property
    def empty(self) -> Profile:
        """The profile of the cluster with nothing running."""
        return Profile(self.resolver.table, self.instance.now)

    def placing_terms(self, together: TermPlacer) -> PlanningProblem:
        """The same problem with the terms of compound requirements placed jointly."""
        demands = (
            replace(demand, joint_placer=together) if len(demand.terms) > 1 else demand
            for demand in self.demands
        )
        return replace(self, demands=tuple(demands))

    def running_until(self, time: int) -> list[RunningJob]:
        """Running jobs that are expected to end exactly at `time`."""
        return self._finishes.at(time, self.instance)

    def holding_less_from(self, time: int) -> list[RunningJob]:
        """Running jobs one of whose reservations falls at `time`: a phase or a decay."""
        return self._running_falls.at(time, self.instance, self.resolver)

    def endless(self) -> list[RunningJob]:
        """Running jobs whose end is unknown."""
        return self._finishes.at(None, self.instance)

    def named(self, allocation: Allocation) -> dict[str, int]:
        """An allocation by host names."""
        hosts = self.instance.cluster.hosts
        return {hosts[index].name: slots for index, slots in allocation.items()}

    def start_of(self, item: PlannedJob) -> Start | None:
        """The start that a plan's entry records, by host index and term; None for an estimate."""
        if item.start is None:
            return None
        index = self.resolver.host_index()
        parts = item.terms or (item.allocation,)
        terms = tuple({index[name]: n for name, n in part.items()} for part in parts)
        if len(terms) == 1:
            return Start(item.start, terms, item.alternative)
        return Start(item.start, terms, self._set_of(item.job, terms))

    def _set_of(self, job: str, terms: Sequence[Allocation]) -> int:
        """Which of its host partitions has the terms of a job; a plan does not say."""
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
        """What a job asks for, pending here or not, on the hosts of one of its partitions."""
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
    ) -> PlannedJob:
        """The plan's entry of a job that has a start."""
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
        )


def _after_others(precedence: Precedence, demands: tuple[Demand, ...]) -> tuple[Demand, ...]:
    """The jobs with what they wait for (-w), and no earlier than it can hold whatever the plan is.

    demands: in an order in which every job is behind those it waits for.
    """
    if not precedence:
        return demands
    durations = {demand.job.id: demand.duration for demand in demands}
    killed = {d.job.id: d.killed + d.margin for d in demands if d.killed is not None}
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


def not_looked_at(job: Job, method: str) -> PlannedJob:
    """A plan's entry of a job that the limit kept from being looked at: nothing is known of it."""
    return PlannedJob(
        job.id, start=None, method=method, waits_for=NOT_EXAMINED, fallback=NOT_EXAMINED
    )


def nothing_looked_at(instance: Instance, method: Method, objective: ObjectiveName) -> Plan:
    """The plan of a limit that came before the first job: every job is named, nothing is said."""
    return Plan(
        method=method,
        objective=objective,
        status="heuristic" if method in ("greedy", "time-based") else "feasible",
        now=instance.now,
        reservations=tuple(not_looked_at(job, method) for job in instance.pending),
        notes=("cut short by the limit before the first job was looked at",),
        cut=True,
    )


def _finishes(instance: Instance) -> dict[int | None, list[RunningJob]]:
    """Running jobs by their expected finish, None where that is unknown."""
    finishes: dict[int | None, list[RunningJob]] = defaultdict(list)
    for run in instance.running:
        finishes[expected_finish(instance, run)].append(run)
    return dict(finishes)


def _falls(instance: Instance, resolver: Resolver) -> dict[int, list[RunningJob]]:
    """Running jobs by the instants at which they hold less."""
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
