"""The rule book for plans: what a demand has to heed of a moment's rules, and what is left out.

The loop asks :mod:`.eligibility` in every cycle. A plan looks ahead, so each rule becomes part of
the demand: hosts that are no candidates, hosts that are closed for a while, host sets of which one
is used. What no demand can say is named instead, and nothing that it touches is called proved.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...model.cluster import BUILTIN_AMOUNTS
from ...model.instance import Instance
from ...model.queue import Queue
from ..availability.arrays import BoolArray, IntArray
from ..availability.calendar import Calendar
from ..availability.demand import Demand, Floor, TermDemand
from ..fairshare.admission import Admission, admissions
from ..resolve import Resolver
from .eligibility import Eligibility
from .heeded_nowhere import heeded_nowhere
from .preempting import preempting_now
from .selections import changing_selections
from .shared_gpus import SHARED_GPUS, GpuSharing, all_near
from .situation import StandingCluster


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A rule that a plan does not consider, and the jobs that it touches.

    may_help: a start at now is the earliest all the same: the rule can only let a job start
    sooner, or acts only later. unless_now: it acts only where one of these jobs has to wait; empty
    where it acts in any case. heeded: whether the loop heeds it, so that what starts in the next
    cycle does so whatever the rule is.
    """

    rule: str
    jobs: frozenset[str]
    may_help: bool = False
    unless_now: frozenset[str] = frozenset()
    heeded: bool = True


#: Said of a job whose partitions, each alone, have no place for it.
NOT_IN_A_PARTITION = "does not fit on the hosts of its partitions"


class RuleBook:
    """The rules of an instance at its now, for the demands of its pending jobs."""

    def __init__(self, instance: Instance, resolver: Resolver) -> None:
        self.instance = instance
        self.resolver = resolver
        self.situation = StandingCluster(instance, resolver)
        self.eligibility = Eligibility(
            self.situation, [host.status for host in instance.cluster.hosts]
        )
        self.admissions = admissions(instance)
        self._changing = changing_selections(instance, resolver)
        self._left_out: dict[tuple[str, bool], set[str]] = {}
        self._whole: tuple[LeftOut, ...] = ()
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
        found = [self._heed(demand) for demand in demands]
        self._whole = tuple(rule for rule in self._always_left_out(found) if rule.jobs)
        return tuple(found)

    def left_out(self) -> tuple[LeftOut, ...]:
        """What was left out, after :meth:`apply`."""
        of_jobs = (
            LeftOut(rule, frozenset(jobs), may_help)
            for (rule, may_help), jobs in self._left_out.items()
            if jobs
        )
        return (*of_jobs, *self._whole)

    def _leave_out(self, rule: str, jobs: Iterable[str], *, may_help: bool = False) -> None:
        self._left_out.setdefault((rule, may_help), set()).update(jobs)

    # --- one job --------------------------------------------------------------------------------

    def _heed(self, demand: Demand) -> Demand:
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
                if not np.isneginf(floor.least).all():
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

    # --- the whole instance ---------------------------------------------------------------------

    def _always_left_out(self, demands: Sequence[Demand]) -> Iterator[LeftOut]:
        """Rules that change what runs, which no plan of starts can say, and what nobody heeds."""
        everybody = frozenset(demand.job.id for demand in demands)
        pairs = preempting_now(self.instance)
        if pairs:
            # Whom it suspends ends later, so that it moves whatever waits for that.
            queues = {queue for queue, _ in pairs}
            asking = frozenset(d.job.id for d in demands if d.queue.name in queues)
            if any(run.suspended for run in self.instance.running):
                asking = frozenset()
            yield LeftOut("preemption", everybody, may_help=True, unless_now=asking)
        stopped = any(
            self.eligibility.beyond_stop(run.job.queue, self.situation.names.index(host))
            for run in self.instance.running
            for host in run.allocation
            if self.eligibility.watches_load
        )
        if stopped:
            yield LeftOut("loadStop, which would suspend running jobs", everybody)
        for item in heeded_nowhere(self.instance, self.resolver, (d.job for d in demands)):
            jobs = everybody if item.jobs is None else frozenset(item.jobs) & everybody
            if item.what != SHARED_GPUS:
                yield LeftOut(item.name, jobs, heeded=False)
        possible = (demand.job for demand in demands if not demand.impossible)
        running = (run.job for run in self.instance.running)
        moved = frozenset(GpuSharing(self.resolver).see(possible).moved(running))
        near = all_near(demands, moved)
        yield LeftOut(SHARED_GPUS, near, unless_now=moved, heeded=False)


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
