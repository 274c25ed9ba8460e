"""The rule book for plans: what a demand has to heed of a moment's rules, and what is left out.

The loop asks :mod:`.eligibility` in every cycle. A plan looks ahead, so each rule becomes part of
the demand: hosts that are no candidates, hosts that are closed for a while, host sets of which one
is used. What no demand can say is named instead, and nothing that it touches is called proved.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import chain, islice

import numpy as np

from ...model.bsub_options import UNHEEDED, WITHOUT_DATE
from ...model.cluster import BUILTIN_AMOUNTS
from ...model.configuration import Queue
from ...model.errors import InputError
from ...model.gpu_request import GpuRequest
from ...model.instance import Instance
from ...model.job import Job, classes
from ...model.omissions import Omission
from ...model.resreq.extsched import topology
from ...model.resreq.syntax import simples
from ...model.share_rules import UNKNOWN_MEMBERS, shares_of_nobody
from ..availability.demand import Calendar, Demand, Floor, TermDemand
from ..availability.resources import BoolArray, IntArray
from ..fairshare.priority_order import Admission, admissions
from ..placement.supply import suits
from ..precedence import COUNT, EXIT, NOT, Precedence
from ..resolve import Resolver
from . import reservations
from .eligibility import Eligibility, InitialSituation, preempting_now
from .guarantees import left_to_the_loop, unmodelled
from .omitted import Scopes, remarks


def changing_selections(instance: Instance, resolver: Resolver) -> frozenset[str]:
    """Pending jobs (ids) whose selection may change with time.

    One by memory, swap or scratch space does not where no job reserves any and no host reports it.
    """
    selected: dict[str, frozenset[str]] = {}
    for job in instance.pending:
        with suppress(InputError):
            if names := resolver.selects_by_load(job):
                selected[job.id] = names
    if not selected:
        return frozenset()
    moved = {name for host in instance.cluster.hosts for name in host.load}
    for job in (*(run.job for run in instance.running), *instance.pending):
        with suppress(InputError):
            moved |= resolver.reserves(job)
    steady = frozenset(BUILTIN_AMOUNTS) - moved
    return frozenset(job for job, names in selected.items() if names - steady)


# GPUs that jobs share: plans count whole GPUs, so that sharing jobs may start sooner (GPU-03).


SHARED_GPUS = "that jobs without j_exclusive=yes may share GPUs"


@dataclass(slots=True)
class GpuSharing:
    """The jobs that sharing of GPUs may move, as one job after the other is seen."""

    resolver: Resolver
    #: The jobs seen that need GPUs, in their order.
    asked: dict[str, None] = field(default_factory=dict)
    #: Those that may share theirs, and others beside them.
    sharing: set[str] = field(default_factory=set)
    #: Whether some host has such GPUs, and as many.
    fitting: dict[tuple[GpuRequest, int], bool] = field(default_factory=dict)

    def see(self, jobs: Iterable[Job]) -> GpuSharing:
        """More jobs that are asked about."""
        for job in jobs:
            if (found := self._needed(job)) is not None:
                self.asked[job.id] = None
                if found.shares:
                    self.sharing.add(job.id)
        return self

    def moved(self, *beside: Iterable[Job]) -> tuple[str, ...]:
        """The jobs seen that need GPUs, where some jobs could share theirs; () where none can.

        A job shares with another one, so that it takes two: of those seen and those `beside` them.
        """
        if not self.asked:
            return ()
        for job in chain(*beside):
            if (found := self._needed(job)) is not None and found.shares:
                self.sharing.add(job.id)
        return tuple(self.asked) if len(self.sharing) > 1 else ()

    def _needed(self, job: Job) -> GpuRequest | None:
        """The GPUs of a job; None too where no host has such, or nobody can read what it asks."""
        try:
            request = self.resolver.gpus(job)
        except InputError:
            return None
        if request is None:
            return None
        least = 1 if any("ngpus" in text for text in job.res_req) else request.num
        if (request, least) not in self.fitting:
            self.fitting[request, least] = any(
                (host.gpu_count or 0) >= least and suits(request, host) is not False
                for host in self.resolver.instance.cluster.hosts
            )
        return request if self.fitting[request, least] else None


def all_near(demands: Sequence[Demand], moved: frozenset[str]) -> frozenset[str]:
    """The jobs `moved` and those that may meet them, or others that do, on some host or in a pool.

    None of the others has another start if one of these has.
    """
    hosts: set[int] = set()
    pools: set[int] = set()
    found: set[str] = set()
    waiting = {d.job.id: (candidate_hosts(d), pools_used(d)) for d in demands if not d.impossible}
    near = [job for job in waiting if job in moved]
    while near:
        for job in near:
            found.add(job)
            own_hosts, own_pools = waiting.pop(job)
            hosts |= own_hosts
            pools |= own_pools
        near = [j for j, (own, rows) in waiting.items() if own & hosts or rows & pools]
    return frozenset(found)


def candidate_hosts(demand: Demand) -> set[int]:
    """Hosts, by index, that some term of a job may use."""
    return set(np.concatenate([term.candidates for term in demand.terms]).tolist())


def pools_used(demand: Demand) -> set[int]:
    """Pools, by index, of which a job takes something."""
    return {
        use.index
        for term in demand.terms
        for alternative in term.alternatives
        for use in alternative.pool_uses
    }


#: What jobs without a known submission host hang on where hosts are of several types (REQ-04).
SUBMISSION_HOST = "submission host for type==local (from_host)"
#: What jobs with -g hang on where nobody said which groups there are.
JOB_GROUPS = "the limit of the job group, if it has one (job_groups; -g, bgadd -L)"
#: What jobs with affinity[] hang on where a host has not said its cores, threads and the like.
UNITS_UNKNOWN = "affinity[] where hosts do not tell how many processor units they have"
#: Jobs of a run that are looked at.
MAX_JOBS = 100_000
#: Of start conditions what only a plan leaves out.
KNOWN_IN_A_RUN = (COUNT, EXIT, NOT)


def unsupported_rules(
    instance: Instance, resolver: Resolver, jobs: Iterable[Job] | None = None
) -> tuple[Omission, ...]:
    """What touches pending jobs and is not obeyed anywhere, each with the jobs that it touches.

    jobs: those that are asked about; the pending ones where None.
    """
    scopes = Scopes(instance, resolver)
    touched: dict[str, list[str]] = {}
    inactive = {queue.name for queue in instance.queues if not queue.active}
    strangers = shares_of_nobody(instance)
    # Of a long log the jobs are not kept where no omission asks for them.
    kept = bool(instance.omissions)
    asked: dict[str, Job | None] = {}
    sharing = GpuSharing(resolver)
    of_class: tuple[str, ...] = ()
    for job, first in classes(instance.pending if jobs is None else jobs):
        if job is first:
            of_class = tuple(_of(job, resolver))
        if job is first or first.id in sharing.asked:
            sharing.see((job,))
        if job.queue in inactive:
            what = f"that queue {job.queue}, which is inactive, may be activated"
            touched.setdefault(what, []).append(job.id)
        asked[job.id] = job if kept else None
        for what in of_class:
            touched.setdefault(what, []).append(job.id)
        for group, queues in strangers.items():
            if queues is None or job.queue in queues:
                touched.setdefault(UNKNOWN_MEMBERS.format(group), []).append(job.id)
    for what, names in Precedence.of(instance).omitted_rules().items():
        if ids := [name for name in names if name in asked]:
            touched.setdefault(what, []).extend(ids)
    if sharers := sharing.moved((run.job for run in instance.running), instance.pending):
        touched[SHARED_GPUS] = list(sharers)
    of_jobs = (Omission(what, jobs=tuple(ids), count=len(ids)) for what, ids in touched.items())
    those = tuple(job for job in asked.values() if job is not None)
    moved = ((item, scopes.moved(item, those)) for item in instance.omissions)
    of_instance = (replace(item, jobs=ids) for item, ids in moved if ids is None or ids)
    return (*of_jobs, *of_instance)


def unheeded_by_the_loop(
    instance: Instance, resolver: Resolver, jobs: Iterable[Job] | None = None
) -> tuple[Omission, ...]:
    """The same but for what the scheduler loop decides as it goes.

    In it jobs do fail, and conditions are looked at as they stand.
    """
    found = unsupported_rules(instance, resolver, jobs)
    return tuple(item for item in found if item.what not in KNOWN_IN_A_RUN)


def unheeded_in_a_run(instance: Instance, resolver: Resolver) -> tuple[Omission, ...]:
    """The same of all jobs that a run begins with or meets, and what is only worth knowing.

    Of a log of more than MAX_JOBS jobs the first are looked at, and any start may be touched.
    """
    jobs = (*(run.job for run in instance.running), *instance.pending)
    met = islice(chain(jobs, instance.future), MAX_JOBS)
    found = unheeded_by_the_loop(instance, resolver, met)
    if len(jobs) + len(instance.future) > MAX_JOBS:
        found = tuple(replace(item, jobs=None) for item in found)
    return (*found, *remarks(instance))


def _of(job: Job, resolver: Resolver) -> Iterator[str]:
    """What of one job nobody obeys; nothing of one whose requirement cannot be read."""
    for text in job.unheeded:
        option = text.partition(" ")[0]
        yield UNHEEDED.get(option) or WITHOUT_DATE.get(option, text)
    if job.job_group and not resolver.instance.job_groups:
        yield JOB_GROUPS
    if job.reservation and resolver.instance.advance_reservation(job.reservation) is None:
        yield reservations.UNDESCRIBED
    if job.service_class or resolver.instance.service_classes:
        yield from unmodelled(job, resolver)
    with suppress(InputError):
        if resolver.unsure_of_home(job):
            yield SUBMISSION_HOST
        if resolver.binds_units(job):
            unsure = resolver.unsure_of_units(job)
            yield UNITS_UNKNOWN if unsure else "affinity[]"
        gpus = resolver.gpus(job)
        for option in () if gpus is None else gpus.unheeded:
            yield f"{option} of GPUs (-gpu)"
        if gpus is not None and len(simples(resolver.requirement(job))) > 1 and job.gpu:
            yield "-gpu beside a compound requirement"
        if resolver.unsure_of_gpus(job):
            yield "model and memory of GPUs where hosts do not tell them"
        if resolver.spreads_tasks(job):
            yield "stripe and gtile of span[]"
        if job.extsched and topology(job.extsched).unheeded:
            yield "options of external schedulers (-ext)"


@dataclass(frozen=True, slots=True)
class OmittedRule:
    """A rule that a plan does not consider, and the jobs that it touches."""

    rule: str
    jobs: frozenset[str]
    #: A start at now is the earliest all the same: the rule can only let a job start sooner, or
    #: acts only later.
    can_only_advance: bool = False
    #: It acts only where one of these jobs has to wait; empty where it acts in any case.
    unless_now: frozenset[str] = frozenset()
    #: Whether the loop heeds it, so that what starts in the next cycle does so whatever the rule
    #: is.
    applied_by_loop: bool = True
    #: It changes the places of its jobs and not their starts.
    places_only: bool = False
    #: It changes when its jobs may start and not where: what starts now beside them does so anyway.
    times_only: bool = False


#: Of queues with IGNORE_DEADLINE: a plan keeps a run inside one window all the same.
BEYOND_WINDOWS = "that jobs may run on in the next RUN_WINDOW (IGNORE_DEADLINE)"
#: A plan keeps a run inside one window, so that a job without a known end would have no place.
STOPPED_BY_WINDOWS = "that jobs without a run limit start, and are stopped as RUN_WINDOW closes"
#: Said of a job whose partitions, each alone, have no place for it.
NOT_IN_A_PARTITION = "does not fit on the hosts of its partitions"


class RuleBook:
    """The rules of an instance at its now, for the demands of its pending jobs."""

    def __init__(self, instance: Instance, resolver: Resolver) -> None:
        self.instance = instance
        self.resolver = resolver
        self.situation = InitialSituation(instance, resolver)
        self.eligibility = Eligibility(
            self.situation, [host.status for host in instance.cluster.hosts]
        )
        self.admissions = admissions(instance)
        self._changing = changing_selections(instance, resolver)
        self._left_out: dict[tuple[str, bool], set[str]] = {}
        self._whole: tuple[OmittedRule, ...] = ()
        #: The pending jobs that reserve some of a load index.
        self._raised_by: dict[str, set[str]] = {}
        #: What hosts set a loadSched for.
        self._limited = frozenset(
            name for host in instance.cluster.hosts for name in host.thresholds.sched
        )
        self._values = self.eligibility.values() if self._loads_matter() else None

    def _loads_matter(self) -> bool:
        hosts = self.instance.cluster.hosts
        limits = [
            *(queue.thresholds for queue in self.instance.queues),
            *(host.thresholds for host in hosts),
        ]
        return any(host.load for host in hosts) or any(item.sched or item.stop for item in limits)

    def apply(self, demands: Iterable[Demand]) -> tuple[Demand, ...]:
        """The demands with everything that they have to heed, one after the other."""
        demands = list(demands)
        for demand in demands:
            for name in () if demand.impossible else self.resolver.loads_reserved(demand.job):
                self._raised_by.setdefault(name, set()).add(demand.job.id)
        found = [self._apply_rules(demand) for demand in demands]
        self._whole = tuple(rule for rule in self._always_left_out(found) if rule.jobs)
        return tuple(found)

    def omitted_rules(self) -> tuple[OmittedRule, ...]:
        """What was left out, after :meth:`apply`."""
        of_jobs = (
            OmittedRule(rule, frozenset(jobs), may_help)
            for (rule, may_help), jobs in self._left_out.items()
            if jobs
        )
        return (*of_jobs, *self._whole)

    def _leave_out(self, rule: str, jobs: Iterable[str], *, may_help: bool = False) -> None:
        self._left_out.setdefault((rule, may_help), set()).update(jobs)

    def _apply_rules(self, demand: Demand) -> Demand:
        if demand.impossible:
            return demand
        demand = self._admitted(demand, self.admissions.get(demand.job.id, Admission()))
        demand = self._loaded(demand)
        return self._selected_now(demand)

    def _admitted(self, demand: Demand, admission: Admission) -> Demand:
        """Shares and host partitions: one of several sets of hosts, or none at all."""
        if admission.refused:
            return replace(demand, impossible=admission.refused)
        if admission.pooled:
            self._leave_out("what slot pools let a queue have", [demand.job.id])
        return in_one_partition(demand, admission, self.situation.names)

    def _loaded(self, demand: Demand) -> Demand:
        """loadSched: closed while the load is as reported; amounts are looked at when it starts."""
        names = self._limited.union(demand.queue.thresholds.sched)
        closed = np.zeros(len(self.situation.names), dtype=bool)
        floors: list[Floor] = []
        later: list[tuple[BoolArray, int]] = []
        for name in sorted(names):
            floor = self._floor(demand.queue, name)
            if floor is not None:
                if not np.isneginf(floor.min_free).all():
                    floors.append(floor)
                continue
            beyond = self.eligibility.beyond_one(demand.queue.thresholds, name)
            for opened, time in self._opening(demand.queue, name, beyond):
                beyond &= ~opened
                later.append((opened, time))
            closed |= beyond
            if self._raised_by.get(name, set()) - {demand.job.id}:
                self._leave_out(f"{name} that planned jobs reserve", [demand.job.id])
        demand = _closed_until(demand, later)
        if floors:
            demand = replace(demand, floors=tuple(floors))
        if not closed.any():
            return demand
        touched = any(closed[term.candidates].any() for term in demand.terms)
        if touched:
            self._leave_out("that loads may fall", [demand.job.id], may_help=True)
        terms = tuple(_without(term, closed) for term in demand.terms)
        return _or_impossible(
            replace(demand, terms=terms),
            f"{self.eligibility.why_load(demand.queue.name)}: no start from load is known",
        )

    def _opening(
        self, queue: Queue, name: str, beyond: BoolArray
    ) -> Iterator[tuple[BoolArray, int]]:
        """Hosts beyond loadSched that running jobs open as they reserve less, and when."""
        for time in self.situation.load_falls(name) if beyond.any() else ():
            reserved = self.situation.reserved_load_at(name, time)
            opened = beyond & ~self.eligibility.beyond_one(queue.thresholds, name, reserved)
            if opened.any():
                beyond = beyond & ~opened
                yield opened, time

    def _floor(self, queue: Queue, name: str) -> Floor | None:
        """loadSched of an amount as the least that is free at a start, None for a load index."""
        if name not in BUILTIN_AMOUNTS:
            return None
        for index, resource in enumerate(self.situation.table.host_resources):
            if resource.name == name:
                of_queue = queue.thresholds.sched.get(name, -np.inf)
                hosts = self.instance.cluster.hosts
                least = np.array(
                    [max(host.thresholds.sched.get(name, -np.inf), of_queue) for host in hosts]
                )
                # A host that says nothing of it is not past its threshold, and none goes below 0
                # where what runs has not taken more than there is.
                free = self.situation.free_now.host(index)
                never = (resource.capacity < 0) | ((least <= 0) & (free >= 0))
                return Floor(index, np.where(never, -np.inf, least))
        return None

    def _selected_now(self, demand: Demand) -> Demand:
        """A selection by what is free: what it says now holds now; later it may say otherwise."""
        if demand.job.id not in self._changing:
            return demand
        if self._values is None:
            self._values = self.eligibility.values()
        now = self.resolver.with_values(self._values).demand(demand.job)
        said = self.resolver.with_values(self._reported()).demand(demand.job)
        self._leave_out(
            "selections by what is free, after now", [demand.job.id], may_help=not said.impossible
        )
        hosts = len(self.situation.names)
        closed = ~_candidates(now, hosts) & _candidates(demand, hosts)
        gone = ~_candidates(said, hosts)
        if gone.any():
            terms = tuple(_without(term, gone) for term in demand.terms)
            demand = _or_impossible(
                replace(demand, terms=terms), said.impossible or "no host meets its requirement"
            )
        return _closed_until(demand, [(closed, self.situation.now + 1)])

    def _reported(self) -> dict[str, np.ndarray]:
        """What hosts would have available without any job, as they report it."""
        found = dict(self._values or {})
        for index, resource in enumerate(self.situation.table.host_resources):
            if resource.name in (*BUILTIN_AMOUNTS, "slots"):
                amounts = self.situation.free_now.reported(index)
                found[resource.name] = np.where(resource.capacity < 0, np.nan, amounts)
        return found

    def _of_reservations(self, demands: Sequence[Demand]) -> Iterator[OmittedRule]:
        """What advance reservations do to jobs that no plan of starts can say."""
        if waiting := reservations.suspending(self.instance):
            every = frozenset(demand.job.id for demand in demands)
            rule = reservations.SUSPENDED
            yield OmittedRule(rule, every, can_only_advance=True, unless_now=waiting)
        for rule, moved in reservations.touched(self.instance, demands):
            later = rule == reservations.AFTER_OPEN
            jobs = all_near(demands, moved)
            yield OmittedRule(rule, jobs, can_only_advance=later, applied_by_loop=False)

    def _always_left_out(self, demands: Sequence[Demand]) -> Iterator[OmittedRule]:
        """Rules that change what runs, which no plan of starts can say, and what nobody heeds."""
        everybody = frozenset(demand.job.id for demand in demands)
        pairs = preempting_now(self.instance)
        if pairs:
            # Whom it suspends ends later, so that it moves whatever waits for that.
            queues = {queue for queue, _ in pairs}
            asking = frozenset(d.job.id for d in demands if d.queue.name in queues)
            if any(run.suspended for run in self.instance.running):
                asking = frozenset()
            yield OmittedRule("preemption", everybody, can_only_advance=True, unless_now=asking)
        if self.instance.advance_reservations:
            yield from self._of_reservations(demands)
        beyond = frozenset(
            demand.job.id
            for demand in demands
            if demand.calendar is not None
            and demand.calendar.run is not None
            and demand.queue.ignore_deadline
        )
        if beyond:
            yield OmittedRule(BEYOND_WINDOWS, beyond)
        endless = frozenset(
            demand.job.id
            for demand in demands
            if demand.calendar is not None
            and demand.calendar.run is not None
            and demand.duration is None
            and not demand.may_be_killed
        )
        if endless - beyond:
            yield OmittedRule(STOPPED_BY_WINDOWS, endless - beyond)
        possible = [demand for demand in demands if not demand.impossible]
        for what, names in left_to_the_loop(self.resolver, (d.job for d in possible)):
            near = all_near(possible, names)
            yield OmittedRule(what, near, can_only_advance=True)
        stopped = any(
            self.eligibility.beyond_stop(run.job.queue, self.situation.names.index(host))
            for run in self.instance.running
            for host in run.allocation
            if self.eligibility.watches_load
        )
        if stopped:
            yield OmittedRule("loadStop, which would suspend running jobs", everybody)
        conditions = Precedence.of(self.instance).omitted_rules()
        for item in unsupported_rules(self.instance, self.resolver, (d.job for d in demands)):
            jobs = everybody if item.jobs is None else frozenset(item.jobs) & everybody
            if item.what != SHARED_GPUS:
                when = item.what in conditions
                yield OmittedRule(item.name, jobs, applied_by_loop=False, times_only=when)
        those = (demand.job for demand in possible)
        running = (run.job for run in self.instance.running)
        moved = frozenset(GpuSharing(self.resolver).see(those).moved(running))
        near = all_near(demands, moved)
        yield OmittedRule(SHARED_GPUS, near, unless_now=moved, applied_by_loop=False)


def in_one_partition(demand: Demand, admission: Admission, names: Sequence[str]) -> Demand:
    """The demand on the hosts of one of its host partitions, or of none (FSH-08).

    names: of the hosts, in order.
    """
    if admission.hosts is None:
        return demand
    sets = [np.array([name in hosts for name in names]) for hosts in admission.hosts]
    if len(sets) > 1 and len(demand.terms) > 1:
        return _or_impossible(_all_in_one_set(demand, sets), NOT_IN_A_PARTITION)
    label = np.full(len(names), -1, dtype=np.int64)
    for number, inside in enumerate(sets):
        label[inside] = number
    terms = tuple(_in_one_set(term, label) for term in demand.terms)
    return _or_impossible(replace(demand, terms=terms), NOT_IN_A_PARTITION)


def _all_in_one_set(demand: Demand, sets: Sequence[BoolArray]) -> Demand:
    """A demand whose terms are all on hosts of one set: an alternative for each of the sets."""
    terms = []
    for term in demand.terms:
        (alternative,) = term.alternatives
        open_to = sets if alternative.hosts is None else [part & alternative.hosts for part in sets]
        inside = np.logical_or.reduce(open_to)[term.candidates]
        alternatives = tuple(replace(alternative, hosts=part) for part in open_to)
        terms.append(replace(term, candidates=term.candidates[inside], alternatives=alternatives))
    return replace(demand, terms=tuple(terms))


def _in_one_set(term: TermDemand, label: IntArray) -> TermDemand:
    """The term on hosts of one label, beside what same[] asks."""
    inside = label[term.candidates] >= 0
    term = replace(term, candidates=term.candidates[inside])
    if len(np.unique(label[term.candidates])) <= 1:
        return term
    ways = term.same or (np.zeros(len(label), dtype=np.int64),)
    width = int(label.max()) + 1
    both = tuple(np.where((way >= 0) & (label >= 0), way * width + label, -1) for way in ways)
    return replace(term, same=both)


def _without(term: TermDemand, closed: BoolArray) -> TermDemand:
    return replace(term, candidates=term.candidates[~closed[term.candidates]])


def _or_impossible(demand: Demand, reason: str) -> Demand:
    if all(term.candidates.size for term in demand.terms):
        return demand
    return replace(demand, impossible=reason)


def _candidates(demand: Demand, hosts: int) -> BoolArray:
    mask = np.zeros(hosts, dtype=bool)
    for term in demand.terms:
        mask[term.candidates] = True
    return mask


def _closed_until(demand: Demand, closed: Sequence[tuple[BoolArray, int]]) -> Demand:
    closed = [(mask, until) for mask, until in closed if mask.any()]
    if not closed:
        return demand
    calendar = demand.calendar or Calendar()
    return replace(
        demand, calendar=replace(calendar, closed_until=(*calendar.closed_until, *closed))
    )
