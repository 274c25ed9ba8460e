"""Rules of the current situation as parts of demands, for plans, and the rules that are omitted.

The simulation calls :mod:`.eligibility` in every cycle. A plan looks ahead, so each rule becomes
part of the demand: excluded hosts, hosts that are closed for a while, host sets of which one is
used. A rule that no demand can express is reported, and nothing that it touches is called proved.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain, islice

import numpy as np

from ...model.bsub_options import UNHEEDED, WITHOUT_DATE
from ...model.cluster import BUILTIN_AMOUNTS
from ...model.configuration import Queue
from ...model.errors import InputError
from ...model.gpu_request import GpuRequest
from ...model.instance import Instance
from ...model.job import Job, classes
from ...model.omissions import GPUS, Omission
from ...model.resreq.extsched import topology
from ...model.resreq.syntax import simples
from ...model.share_rules import UNKNOWN_MEMBERS, shares_of_nobody
from .. import alike
from ..availability.demand import Calendar, Demand, Floor, TermDemand, candidates_of, without_hosts
from ..availability.resources import BoolArray, IntArray
from ..fairshare.priority_order import Admission, admissions, priority_order
from ..placement.supply import suits
from ..precedence import Precedence
from ..resolve import Resolver, any_with_alternatives
from .eligibility import Eligibility, InitialSituation, preempting_now, thresholds_of
from .omitted import (
    AFTER_OPEN,
    SUSPENDED,
    UNDESCRIBED,
    Scopes,
    left_to_the_loop,
    remarks,
    suspending,
    touched,
    unmodelled,
)


def changing_selections(instance: Instance, resolver: Resolver) -> frozenset[str]:
    """Return the ids of pending jobs whose selection may change with time.

    A selection by memory, swap or scratch space does not change if no job reserves any and no host
    reports it.
    """
    selected: dict[str, frozenset[str]] = {}
    for job in instance.pending:
        with suppress(InputError):
            if names := resolver.selects_by_load(job):
                selected[job.id] = names
    if not selected:
        return frozenset()
    moved = {name for host in instance.cluster.hosts for name in host.load}
    for job in instance.present_jobs:
        with suppress(InputError):
            moved |= resolver.reserves(job)
    steady = frozenset(BUILTIN_AMOUNTS) - moved
    return frozenset(job for job, names in selected.items() if names - steady)


SHARED_GPUS = Omission("sharing of GPUs by jobs without j_exclusive=yes", mark="sharing")


class GpuSharing:
    """The jobs that sharing of GPUs may move, as one job after the other is seen."""

    def __init__(self, resolver: Resolver) -> None:
        """Initialise it with the running jobs; resolver: source of requirements."""
        self.resolver = resolver
        #: Whether some host has enough GPUs of the requested kind, by request and number.
        self.fitting: dict[tuple[GpuRequest, int], bool] = {}
        #: Ids of the jobs seen that need GPUs, and of those that may share them.
        self.asked, self.sharing = set[str](), set[str]()
        for run in resolver.instance.running:
            self.moves(run.job)

    def moves(self, job: Job) -> bool:
        """Add a job, and return whether it needs GPUs of which two of the jobs seen share some."""
        shares = self.resolver.instance.params.scheduler.shares_gpus
        if not shares or (request := self.needed(job)) is None:
            return False
        self.asked.add(job.id)
        self.sharing |= {job.id} if request.shares else set()
        return len(self.sharing) > 1

    def needed(self, job: Job) -> GpuRequest | None:
        """Return the GPUs of a job; None also if no host has them or the request is unreadable."""
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
    """Return the jobs `moved` and all that may meet them, directly or not, on a host or pool.

    No other job changes its start if one of these does.
    """
    if not moved:
        return frozenset()
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
    """Return the indices of the hosts that a term of a job may use."""
    return set(np.concatenate([term.candidates for term in demand.terms]).tolist())


def pools_used(demand: Demand) -> set[int]:
    """Return the indices of the pools that a job uses."""
    return {
        use.index
        for term in demand.terms
        for alternative in term.alternatives
        for use in alternative.pool_uses
    }


#: Omission for jobs without a known submission host if hosts have several types (REQ-04).
SUBMISSION_HOST = Omission("submission host for type==local (from_host)")
#: Omission for jobs with -g if the job groups are unknown.
JOB_GROUPS = Omission("the limit of the job group, if it has one (job_groups; -g, bgadd -L)")
#: Omission for jobs with several alternatives in braces.
LATER_ALTERNATIVES = Omission(
    "the alternatives of -R after the first ({…} || {…}@delay)", mark="alternative"
)
#: Omission for all jobs if the alternative of a running job is unknown.
HELD_BY_ALTERNATIVE = "the alternative of -R under which running jobs started ({})"
#: Omission for jobs with affinity[] if a host does not say its cores, threads and the like.
UNITS_UNKNOWN = Omission("affinity[] on hosts without a known number of processor units")
#: Maximum number of jobs of a simulation that are examined.
MAX_JOBS = 100_000


def unsupported_rules(
    instance: Instance,
    resolver: Resolver,
    jobs: Iterable[Job] | None = None,
    conditions: Mapping[str, Sequence[str]] | None = None,
) -> tuple[Omission, ...]:
    """Return rules that touch pending jobs and that no method obeys, with these jobs.

    jobs: the jobs of interest; the pending ones if None. conditions: omissions of start conditions,
    if they are known.
    """
    scopes = Scopes(instance, resolver)
    touched: dict[Omission, list[str]] = {}
    inactive = {queue.name for queue in instance.queues if not queue.active}
    strangers = shares_of_nobody(instance)
    # The jobs of a long log are not kept unless an omission needs them.
    kept = bool(instance.omissions)
    asked: dict[str, Job | None] = {}
    sharing, with_gpus = GpuSharing(resolver), dict[str, Job]()
    of_class: tuple[Omission, ...] = ()
    of_kind: dict[Hashable, tuple[Omission, ...]] = {}
    for job, first in classes(instance.pending if jobs is None else jobs):
        if job is first:
            of_class = _of_kind(job, resolver, of_kind)
        if first.id in with_gpus or (job is first and sharing.needed(job) is not None):
            with_gpus[job.id] = job
        if job.queue in inactive:
            what = Omission(f"activation of queue {job.queue}, which is inactive")
            touched.setdefault(what, []).append(job.id)
        asked[job.id] = job if kept else None
        for what in of_class:
            touched.setdefault(what, []).append(job.id)
        for group, queues in strangers.items():
            if queues is None or job.queue in queues:
                what = Omission(UNKNOWN_MEMBERS.format(group))
                touched.setdefault(what, []).append(job.id)
    if conditions is None:
        conditions = Precedence.of(instance).omitted_rules()
    for text, names in conditions.items():
        if ids := [name for name in names if name in asked]:
            touched[Omission(text, mark="condition")] = ids
    if with_gpus:
        order = chain(priority_order(instance), with_gpus.values())
        moved_by_sharing = [j.id for j in order if sharing.moves(j) and j.id in with_gpus]
        touched[SHARED_GPUS] = list(dict.fromkeys(moved_by_sharing))
    if asked and (unsure := _held_by_alternative(instance, resolver)):
        touched[Omission(HELD_BY_ALTERNATIVE.format(", ".join(unsure)))] = list(asked)
    of_jobs = (
        replace(what, jobs=tuple(ids), count=len(ids)) for what, ids in touched.items() if ids
    )
    those = tuple(job for job in asked.values() if job is not None)
    moved = ((item, scopes.moved(item, those)) for item in instance.omissions)
    of_instance = (replace(item, jobs=ids) for item, ids in moved if ids is None or ids)
    return (*of_jobs, *of_instance)


def _held_by_alternative(instance: Instance, resolver: Resolver) -> tuple[str, ...]:
    """Return the running jobs of which the alternative, and so what they reserve, is unknown."""
    if not any_with_alternatives(instance, (run.job for run in instance.running)):
        return ()
    unsure = set()
    for key, run in {alike.merged(run.job): run for run in instance.running}.items():
        with suppress(InputError):
            if resolver.holds_by_alternative(run.job):
                unsure.add(key)
    if not unsure:
        return ()
    return tuple(run.job.id for run in instance.running if alike.merged(run.job) in unsure)


def unheeded_by_the_loop(
    instance: Instance,
    resolver: Resolver,
    jobs: Iterable[Job] | None = None,
) -> tuple[Omission, ...]:
    """Return rules that the simulated scheduler does not obey, with the jobs that they touch.

    It lets jobs fail, evaluates conditions at each cycle, and tries all alternatives in braces.
    """
    found = unsupported_rules(instance, resolver, jobs, conditions={})
    return tuple(item for item in found if item.mark != "alternative")


def unheeded_in_a_run(instance: Instance, resolver: Resolver) -> tuple[Omission, ...]:
    """Return omissions for all jobs of a simulation, and those for information only.

    For a log of more than MAX_JOBS jobs the first are examined, and any start may be touched.
    """
    jobs = instance.present_jobs
    met = islice(chain(jobs, instance.future), MAX_JOBS)
    found = unheeded_by_the_loop(instance, resolver, met)
    if len(jobs) + len(instance.future) > MAX_JOBS:
        found = tuple(replace(item, jobs=None) for item in found)
    return (*found, *remarks(instance))


def _of_kind(
    job: Job, resolver: Resolver, known: dict[Hashable, tuple[Omission, ...]]
) -> tuple[Omission, ...]:
    """Return omissions of one job; known: those of jobs that ask for the same, extended.

    Service classes decide by more than what a job asks for.
    """
    if job.service_class or resolver.instance.service_classes:
        return tuple(_of(job, resolver))
    try:
        key = job.unheeded, job.assumed, resolver.asked(job)
        if key not in known:
            known[key] = tuple(_of(job, resolver))
        return known[key]
    # A field is a list instead of a tuple: the job is not compared with others.
    except TypeError:
        return tuple(_of(job, resolver))


def _of(job: Job, resolver: Resolver) -> Iterator[Omission]:
    """Yield omissions of one job; none if its requirement cannot be read."""
    for text in job.unheeded:
        option = text.partition(" ")[0]
        yield Omission(UNHEEDED.get(option) or WITHOUT_DATE.get(option, text))
    for text in job.assumed:
        yield Omission(text, changes="amounts", mark="fit")
    if job.job_group and not resolver.instance.job_groups:
        yield JOB_GROUPS
    if job.reservation and resolver.instance.advance_reservation(job.reservation) is None:
        yield Omission(UNDESCRIBED)
    if job.service_class or resolver.instance.service_classes:
        yield from map(Omission, unmodelled(job, resolver))
    with suppress(InputError):
        if resolver.unsure_of_home(job):
            yield SUBMISSION_HOST
        if resolver.binds_units(job):
            yield UNITS_UNKNOWN if resolver.unsure_of_units(job) else Omission("affinity[]")
        gpus = resolver.gpus(job)
        for option in () if gpus is None else gpus.unheeded:
            yield Omission(f"{option} of GPUs (-gpu)")
        if gpus is not None and len(simples(resolver.requirement(job))) > 1 and job.gpu:
            what = "-gpu together with a compound requirement"
            yield Omission(what, resources=(GPUS,), changes="amounts")
        if resolver.unsure_of_gpus(job):
            yield Omission("model and memory of GPUs on hosts that do not report them")
        if resolver.spreads_tasks(job):
            yield Omission("stripe and gtile of span[]")
        if resolver.has_alternatives(job):
            yield LATER_ALTERNATIVES
        if job.extsched and topology(job.extsched).unheeded:
            yield Omission("options of external schedulers (-ext)")


@dataclass(frozen=True, slots=True)
class OmittedRule:
    """A rule that a plan does not consider, and the jobs whose starts may differ for it."""

    #: Sentence that names the rule.
    rule: str
    #: Ids of the jobs that the rule may affect.
    jobs: frozenset[str]
    #: Whether a start at now is the earliest all the same: the rule can only make a job start
    #: earlier, or applies later.
    can_only_advance: bool = False
    #: Jobs of which one has to wait for the rule to apply; empty if it applies in any case.
    unless_now: frozenset[str] = frozenset()
    #: Whether the simulation obeys it, so that starts in the next cycle are right with the rule.
    applied_by_loop: bool = True
    #: Jobs that ask for what the jobs of the rule may hold otherwise than planned.
    asking: frozenset[str] = frozenset()
    #: Whether these may also hold more of it than planned.
    is_more: bool = False
    #: Whether it changes only the hosts of its jobs, not their starts.
    places_only: bool = False
    #: Whether it changes only the start times of its jobs, not their hosts; other jobs that start
    #: now are not affected.
    times_only: bool = False
    #: Whether it is for objectives in priority order alone (no job behind counts), or for the
    #: others alone; None: for all.
    in_order: bool | None = None


class StartedNow(frozenset[str]):
    """The pending jobs that a cycle starts."""

    #: Whether it suspends running jobs.
    suspends = False


#: Omission in queues with IGNORE_DEADLINE: a plan keeps a run inside one window.
BEYOND_WINDOWS = "continuation of jobs in the next RUN_WINDOW (IGNORE_DEADLINE)"
#: Reason for a job that fits in none of its partitions alone.
NOT_IN_A_PARTITION = "does not fit on the hosts of its partitions"


class RuleBook:
    """The rules of an instance at its now, for the demands of its pending jobs."""

    def __init__(self, instance: Instance, resolver: Resolver, precedence: Precedence) -> None:
        self.instance = instance
        self.precedence = precedence
        self.resolver = resolver
        self.situation = InitialSituation(instance, resolver)
        self.eligibility = Eligibility(
            self.situation, [host.status for host in instance.cluster.hosts]
        )
        self.admissions = admissions(instance)
        self._changing = changing_selections(instance, resolver)
        self._left_out: dict[tuple[str, bool], set[str]] = {}
        self._whole: tuple[OmittedRule, ...] = ()
        #: Ids of the pending jobs that reserve a load index, by index.
        self._raised_by: dict[str, set[str]] = {}
        #: Load indices for which hosts set a loadSched.
        self._limited = frozenset(
            name for host in instance.cluster.hosts for name in host.thresholds.sched
        )
        self._values = self.eligibility.values() if self._loads_matter() else None

    def _loads_matter(self) -> bool:
        limits = thresholds_of(self.instance)
        reported = any(host.load for host in self.instance.cluster.hosts)
        return reported or any(item.sched or item.stop for item in limits)

    def apply(self, demands: Iterable[Demand]) -> tuple[Demand, ...]:
        """Return the demands with all rules applied, one after the other."""
        demands = list(demands)
        for demand in demands:
            for name in () if demand.impossible else self.resolver.loads_reserved(demand.job):
                self._raised_by.setdefault(name, set()).add(demand.job.id)
        found = [self._apply_rules(demand) for demand in demands]
        self._whole = tuple(rule for rule in self._always_left_out(found) if rule.jobs)
        return tuple(found)

    def omitted_rules(self) -> tuple[OmittedRule, ...]:
        """Return the omitted rules, after :meth:`apply`."""
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
        """Return the demand limited by shares and host partitions: one of several host sets, or
        none.
        """
        if admission.refused:
            return replace(demand, impossible=admission.refused)
        if admission.pooled:
            self._leave_out("the slots that slot pools grant a queue", [demand.job.id])
        return in_one_partition(demand, admission, self.situation.names)

    def _loaded(self, demand: Demand) -> Demand:
        """Apply loadSched: hosts are closed while the load is as reported; amounts are checked
        at the start.
        """
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
        if any(closed[term.candidates].any() for term in demand.terms):
            self._leave_out("falling loads", [demand.job.id], may_help=True)
        return _or_impossible(
            without_hosts(demand, closed),
            f"{self.eligibility.why_load(demand.queue.name)}: no start from load is known",
        )

    def _opening(
        self, queue: Queue, name: str, beyond: BoolArray
    ) -> Iterator[tuple[BoolArray, int]]:
        """Yield hosts beyond loadSched that open when running jobs reserve less, and
        the instants.
        """
        for time in self.situation.load_falls(name) if beyond.any() else ():
            reserved = self.situation.reserved_load_at(name, time)
            opened = beyond & ~self.eligibility.beyond_one(queue.thresholds, name, reserved)
            if opened.any():
                beyond = beyond & ~opened
                yield opened, time

    def _floor(self, queue: Queue, name: str) -> Floor | None:
        """Return loadSched of an amount as a minimum that must be free at a start; None for a
        load index.
        """
        if name not in BUILTIN_AMOUNTS:
            return None
        for index, resource in enumerate(self.situation.table.host_resources):
            if resource.name == name:
                of_queue = queue.thresholds.sched.get(name, -np.inf)
                hosts = self.instance.cluster.hosts
                least = np.array(
                    [max(host.thresholds.sched.get(name, -np.inf), of_queue) for host in hosts]
                )
                # A host without a report is within its threshold, and no amount falls below 0
                # unless running jobs exceed the capacity.
                free = self.situation.free_now.host(index)
                never = (resource.capacity < 0) | ((least <= 0) & (free >= 0))
                return Floor(index, np.where(never, -np.inf, least))
        return None

    def _selected_now(self, demand: Demand) -> Demand:
        """Apply a selection by free resources: it is evaluated now and may change later."""
        if demand.job.id not in self._changing:
            return demand
        if self._values is None:
            self._values = self.eligibility.values()
        now = self.resolver.with_values(self._values).demand(demand.job)
        reported = self.eligibility.values(as_reported=True)
        said = self.resolver.with_values(reported).demand(demand.job)
        self._leave_out(
            "selections by free resources, after now", [demand.job.id], may_help=not said.impossible
        )
        hosts = len(self.situation.names)
        closed = ~candidates_of(now, hosts) & candidates_of(demand, hosts)
        gone = ~candidates_of(said, hosts)
        if gone.any():
            demand = _or_impossible(
                without_hosts(demand, gone), said.impossible or "no host meets its requirement"
            )
        return _closed_until(demand, [(closed, self.situation.now + 1)])

    def _of_reservations(self, demands: Sequence[Demand]) -> Iterator[OmittedRule]:
        """Yield effects of advance reservations that no plan of starts can express."""
        if waiting := suspending(self.instance):
            every = frozenset(demand.job.id for demand in demands)
            rule = SUSPENDED
            yield OmittedRule(rule, every, can_only_advance=True, unless_now=waiting)
        for rule, moved in touched(self.instance, demands):
            later = rule == AFTER_OPEN
            jobs = all_near(demands, moved)
            yield OmittedRule(rule, jobs, can_only_advance=later, applied_by_loop=False)

    def _always_left_out(self, demands: Sequence[Demand]) -> Iterator[OmittedRule]:
        """Yield rules that change running jobs or that no method obeys; no plan can express
        them.
        """
        everybody = frozenset(demand.job.id for demand in demands)
        pairs = preempting_now(self.instance)
        if pairs:
            # A suspended job ends later, which moves all jobs that wait for its slots.
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
        possible = [demand for demand in demands if not demand.impossible]
        for what, names in left_to_the_loop(self.resolver, (d.job for d in possible)):
            yield OmittedRule(what, all_near(possible, names), can_only_advance=True)
        stopped = any(
            self.eligibility.beyond_stop(run.job.queue, self.situation.names.index(host))
            for run in self.instance.running
            for host in run.allocation
            if self.eligibility.watches_load
        )
        if stopped:
            yield OmittedRule("loadStop, which would suspend running jobs", everybody)
        conditions = self.precedence.omitted_rules()
        scopes = Scopes(self.instance, self.resolver)
        jobs_asked = [demand.job for demand in demands]
        for item in unsupported_rules(self.instance, self.resolver, jobs_asked, conditions):
            jobs = everybody if item.jobs is None else frozenset(item.jobs) & everybody
            if item.mark != "sharing":
                yield OmittedRule(
                    *(item.name, jobs),
                    applied_by_loop=False,
                    asking=frozenset(scopes.asking(item, jobs_asked)),
                    is_more=item.changes == "amounts",
                    times_only=item.mark == "condition",
                )
        yield from self._of_shared_gpus(possible)

    def _of_shared_gpus(self, possible: Sequence[Demand]) -> Iterator[OmittedRule]:
        """Yield the rule for objectives with and without an order of the jobs.

        In order it touches a job by those that run or come before it alone.
        """
        seen = GpuSharing(self.resolver)
        near = set[str]()
        hosts, pools = set[int](), set[int]()
        for demand in possible:
            moves = seen.moves(demand.job)
            own = (candidate_hosts(demand), pools_used(demand)) if moves or near else (set(), set())
            if moves or own[0] & hosts or own[1] & pools:
                near.add(demand.job.id)
                hosts |= own[0]
                pools |= own[1]
        asking = {demand.job.id for demand in possible} & seen.asked
        moved = frozenset(asking if len(seen.sharing) > 1 else ())
        for jobs, in_order in ((frozenset(near), True), (all_near(possible, moved), False)):
            yield OmittedRule(
                *(SHARED_GPUS.what, jobs),
                unless_now=moved,
                applied_by_loop=False,
                in_order=in_order,
            )


def in_one_partition(demand: Demand, admission: Admission, names: Sequence[str]) -> Demand:
    """Return the demand on the hosts of one of its host partitions, or of none (FSH-08).

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
    """Return a demand with all terms on hosts of one set, with an alternative for each set."""
    terms = []
    for term in demand.terms:
        (alternative,) = term.alternatives
        open_to = sets if alternative.hosts is None else [part & alternative.hosts for part in sets]
        inside = np.logical_or.reduce(open_to)[term.candidates]
        alternatives = tuple(replace(alternative, hosts=part) for part in open_to)
        terms.append(replace(term, candidates=term.candidates[inside], alternatives=alternatives))
    return replace(demand, terms=tuple(terms))


def _in_one_set(term: TermDemand, label: IntArray) -> TermDemand:
    """Return the term restricted to hosts of one label, in addition to same[]."""
    inside = label[term.candidates] >= 0
    term = replace(term, candidates=term.candidates[inside])
    if len(np.unique(label[term.candidates])) <= 1:
        return term
    ways = term.same or (np.zeros(len(label), dtype=np.int64),)
    width = int(label.max()) + 1
    both = tuple(np.where((way >= 0) & (label >= 0), way * width + label, -1) for way in ways)
    return replace(term, same=both)


def _or_impossible(demand: Demand, reason: str) -> Demand:
    if all(term.candidates.size for term in demand.terms):
        return demand
    return replace(demand, impossible=reason)


def _closed_until(demand: Demand, closed: Sequence[tuple[BoolArray, int]]) -> Demand:
    closed = [(mask, until) for mask, until in closed if mask.any()]
    if not closed:
        return demand
    calendar = demand.calendar or Calendar()
    return replace(
        demand, calendar=replace(calendar, closed_until=(*calendar.closed_until, *closed))
    )
