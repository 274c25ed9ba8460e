"""Reasons why a pending job does not start now, in LSF's words and host by host (LOP-01, VEW-01,
RSV-12).

What keeps the job, its queue or its user from starting anywhere is said alone. Else every host has
one reason, the first that holds in the order in which LSF looks: not usable, closed, beyond a
threshold, short of slots, at a limit, short of a resource. Where each host alone would do, it is
said what they lack together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from ...model.errors import InputError
from ...model.gpu_request import GPU_NAMES, PHYSICAL
from ...model.job import OTHERS
from ...model.pending import Pending, Reason
from ...model.resreq import HostTable, Options, combine, requirement_options, select_mask
from ...model.resreq.syntax import Compound, Requirement, Simple
from ...model.shares import queue_hosts, queue_sets
from ..availability.demand import Demand, TermDemand, Windows
from ..availability.profile import SLACK
from ..availability.resources import (
    SLOTS,
    Alternative,
    BoolArray,
    FloatArray,
    HostResource,
    Per,
    Pool,
    Use,
)
from ..availability.running_profile import Residual
from ..fairshare.dispatch_order import DispatchOrder
from ..placement import fits
from ..placement.supply import busy_units
from .cycle_state import CycleState
from .dependents import ConditionState
from .job_state import FUTURE, PREEMPTED, JobState

#: Host states that no administrator has set.
_NO_LOAD = ("unavail", "down", "unlicensed", "closed_lim")
_LOCKED = ("locku", "lockw", "closed_lock")
#: Message for a job of which a part still fits under a limit of the queue or user.
PARALLEL = {
    Pending.QUEUE_SLOTS: Pending.QUEUE_SLOTS_PARALLEL,
    Pending.QUEUE_USER_SLOTS: Pending.QUEUE_USER_SLOTS_PARALLEL,
    Pending.USER_SLOTS: Pending.USER_SLOTS_PARALLEL,
    Pending.GROUP_SLOTS: Pending.GROUP_SLOTS_PARALLEL,
}
#: Reasons about a shared amount, printed for the hosts that share the amount.
_OF_HOSTS = (Pending.RUSAGE, Pending.LIMIT_HOST, Pending.JOBS_HOST)


class PendingReasons:
    """The reasons of pending jobs at the end of a cycle, computed once for equal jobs."""

    def __init__(self, state: CycleState, *, considered: bool = True) -> None:
        """Initialise the reasons. considered: whether a cycle has examined the jobs."""
        self._state = state
        self._considered = considered
        self._known: dict[tuple[object, ...], tuple[Reason, ...]] = {}

    def of(self, job: JobState) -> tuple[Reason, ...]:
        """Return all reasons of one pending job, at least one."""
        state, begin = self._state, job.job.begin
        if begin is not None and begin > state.world.now:
            return (Reason(Pending.START_TIME),)
        if (waits := _waits_for_others(state, job)) is not None:
            return (Reason(waits),)
        if not self._considered or job.status == FUTURE:
            return (Reason(Pending.NEW),)
        alone = tuple(_of_queue_and_policy(state, job))
        if alone or state.has_reservation(job):
            return alone or self._on_hosts(job)
        kind = state.world.shape(job).number
        key = (kind, job.job.user, job.job.group, state.relevant_duration(job))
        if key not in self._known:
            self._known[key] = self._on_hosts(job)
        return self._known[key]

    def _on_hosts(self, job: JobState) -> tuple[Reason, ...]:
        demand = self._state.world.requests.now(self._state.world.shape(job))
        found = tuple(_Hosts(self._state, job, demand).reasons()) if demand.terms else ()
        never = demand.impossible or not demand.terms
        return found or (Reason(Pending.REFUSED if never else Pending.POSTPONED),)


def _waits_for_others(state: CycleState, job: JobState) -> Pending | None:
    """Return the reason of a job whose dependency condition (-w) is not satisfied, else None."""
    dependents = state.world.dependents
    if job.status != FUTURE or dependents is None or not job.job.dependency:
        return None
    holds = dependents.holds(job.job)
    if job.number not in dependents.waiting and holds is ConditionState.YES:
        return None
    return Pending.DEPENDENCY_NEVER if holds is ConditionState.NEVER else Pending.DEPENDENCY


def _of_queue_and_policy(state: CycleState, job: JobState) -> Iterator[Reason]:
    """Yield reasons from the windows and PROCLIMIT of the queue, from shares and from slot
    pools.
    """
    queue = state.queues[job.job.queue]
    rules = state.eligibility
    if not queue.active:
        yield Reason(Pending.QUEUE_INACTIVE)
    if job.reserved is not None and not job.reserved.is_active(state.world.now):
        yield Reason(Pending.RESERVATION_INACTIVE)
    if rules.queue_open(job.job, None):
        yield Reason(Pending.QUEUE_WINDOW)
    elif rules.queue_open(job.job, job.duration_from(state.world.now)):
        yield Reason(Pending.QUEUE_WINDOW_CLOSES)
    if queue.slots is not None:
        least, _, most = queue.slots
        if job.job.most_slots < least or (most is not None and job.job.slots > most):
            yield Reason(Pending.QUEUE_PROCLIMIT)
    if job.number not in state.progress.ineligible:
        return
    order = state.world.order
    assert isinstance(order, DispatchOrder)
    masters = [item.master for item in queue_sets(state.instance) if queue.name in item.queues]
    if any(not order.trees[name].accounts(job.job.user, job.job.group) for name in masters):
        yield Reason(Pending.NO_SHARE)
    elif queue.slot_pool:
        some = 0 < order.pools[queue.slot_pool].free < job.job.slots
        yield Reason(Pending.QUEUE_SLOTS_PARALLEL if some else Pending.QUEUE_SLOTS)


class _Hosts:
    """The hosts of one job, each with its first reason."""

    def __init__(self, state: CycleState, job: JobState, demand: Demand) -> None:
        self.state = state
        self.world = state.world
        self.instance = state.instance
        self.job = job
        self.demand = demand
        self.queue = state.queues[job.job.queue]
        self.view: Residual = state.residual_for(None, job)
        self.names = state.world.names
        self.free = np.ones(len(self.names), dtype=bool)
        self.found: dict[tuple[Pending, str], BoolArray] = {}

    def reasons(self) -> list[Reason]:
        """Return the reasons of the queue or user, else the reasons of hosts, else the reasons of
        the shape.
        """
        limits = list(dict.fromkeys(self._cluster_wide()))
        if limits:
            return limits
        requirement = self._requirement()
        for position, term in enumerate(self.demand.terms):
            self._not_usable(term, _simple(requirement, position))
        usable = int(self.free.sum())
        self._closed()
        self._beyond_load()
        for term in self.demand.terms:
            self._occupied(term)
            self._few_slots(term)
            self._short_of(term)
        each_would_do = 0 < usable == int(self.free.sum())
        shape = list(self._together()) if each_would_do else []
        hosts = [
            Reason(kind, self._named(mask), resource)
            for (kind, resource), mask in self.found.items()
        ]
        first = self.demand.terms[0].first_hosts
        if first is not None and not (first & self.free).any():
            hosts.insert(0, Reason(Pending.FIRST_HOST))
        return [*hosts, *shape]

    def _mark(self, kind: Pending, mask: BoolArray, resource: str = "") -> None:
        """Set this reason on the hosts of `mask` without a reason."""
        new = mask & self.free
        if new.any():
            key = (kind, resource)
            self.found[key] = self.found[key] | new if key in self.found else new
            self.free &= ~new

    def _inside(self, names: Iterable[str]) -> BoolArray:
        members = frozenset(names)
        return np.array([name in members for name in self.names], dtype=bool)

    def _requirement(self) -> Requirement | None:
        try:
            return self.world.requests.resolver.requirement(self.job.job)
        except InputError:
            return None

    def _options(self) -> Options:
        vocabulary = self.world.requests.resolver.hosts.vocabulary
        return requirement_options(self.instance.params, vocabulary)

    def _cluster_wide(self) -> Iterator[Reason]:
        """Yield the limits of the queue, the user and Limit sections that leave too little on all
        hosts.
        """
        slots: Counter[int] = Counter()
        for term in self.demand.terms:
            uses = term.alternatives[0].pool_uses
            slots.update({use.index: term.slots for use in uses if use.per is Per.SLOT})
        for term in self.demand.terms:
            short = [list(self._short_pools(item, term, slots)) for item in term.alternatives]
            if all(short):
                yield from short[0]

    def _short_pools(
        self, alternative: Alternative, term: TermDemand, slots: Counter[int]
    ) -> Iterator[Reason]:
        """Yield the pools with too few slots.

        slots: number of slots that all terms take from each pool.
        """
        for use in alternative.pool_uses:
            pool = self.view.table.pools[use.index]
            if pool.short in _OF_HOSTS or not pool.mask[term.candidates].all():
                continue
            left, wanted = self._left(use, term)
            if left < max(wanted, slots[use.index]):
                started = left >= 1 and use.per is Per.SLOT
                kind = PARALLEL.get(pool.short, pool.short) if started else pool.short
                yield Reason(kind, resource=pool.subject)

    def _left(self, use: Use, term: TermDemand) -> tuple[int, int]:
        """Return how often a pool can supply one count, and how often the term takes it."""
        left = (self.view.free_in_pool(use.index, self.world.now) + SLACK) // max(
            use.reservation.initial, SLACK
        )
        return max(0, int(left)), term.slots if use.per is Per.SLOT else 1

    def _not_usable(self, term: TermDemand, simple: Simple | None) -> None:
        """Mark the hosts on which no job of the shape starts, regardless of running jobs."""
        cluster, job = self.instance.cluster, self.job.job
        self._mark(Pending.NOT_OF_QUEUE, ~self._inside(queue_hosts(cluster, self.queue)))
        if job.hosts and not any(item.name == OTHERS for item in job.hosts):
            asked = {host for item in job.hosts for host in cluster.expand(item.name) or ()}
            self._mark(Pending.NOT_ASKED_FOR, ~self._inside(asked))
        reserved = self.instance.advance_reservation(job.reservation) if job.reservation else None
        if reserved is not None:
            own = (name for name, slots in reserved.slots.items() if slots)
            self._mark(Pending.NOT_ASKED_FOR, ~self._inside(own))
        self._outside_partitions()
        if simple is not None:
            self._not_selected(simple)
        having = [item.hosts for item in term.alternatives if item.hosts is not None]
        if len(having) == len(term.alternatives):
            first = term.alternatives[0]
            lacking = ~np.logical_or.reduce(having)
            for use in first.host_uses[1:]:
                item = self.view.table.host_resources[use.index]
                self._mark(self._kind(item), lacking & (item.capacity < 0), item.subject)
            for use in first.pool_uses:
                pool = self.view.table.pools[use.index]
                reached = self._sharing(pool.name)
                self._mark(self._kind(pool), lacking & ~reached, pool.subject)
        if term.unit is not None:
            self._mark(Pending.NO_UNIT, term.unit.unit_of < 0)

    def _sharing(self, name: str) -> BoolArray:
        """Return the hosts that share an instance of a resource."""
        found = np.zeros(len(self.names), dtype=bool)
        for pool in self.view.table.pools:
            if pool.name == name:
                found |= pool.mask
        return found

    def _outside_partitions(self) -> None:
        """Mark the hosts of partitions in which the user has no share (FSH-08)."""
        order = self.world.order
        if not isinstance(order, DispatchOrder):
            return
        for name, hosts in order.partitions.items():
            if not order.trees[name].accounts(self.job.job.user, self.job.job.group):
                self._mark(Pending.PARTITION, self._inside(hosts))

    def _not_selected(self, simple: Simple) -> None:
        """Mark the hosts that the selection string of the queue or of the job excludes."""
        resolver = self.world.requests.resolver
        table = resolver.hosts
        if resolver.selects_by_load(self.job.job):
            by_slot = self.instance.params.parallel_sched_by_slot
            values = self.state.eligibility.values()
            table = HostTable(self.instance.cluster, by_slot=by_slot, values=values)
        home = resolver.home(self.job.job)
        like_home = partial(
            select_mask,
            table=table,
            local_type=home.type,
            local_model=home.model,
            default_type=home.default,
        )
        missed = ~like_home(simple.select)
        if self.queue.res_req:
            own = combine((self.queue.res_req,), self._options()).requirement
            if isinstance(own, Simple) and own.select is not None:
                meets = like_home(own.select)
                self._mark(Pending.QUEUE_REQUIREMENT, missed & ~meets)
        if simple.select is None:
            self._mark(Pending.OTHER_TYPE, missed & select_mask(None, table))
        self._mark(Pending.REQUIREMENT, missed)

    def _closed(self) -> None:
        """Mark the hosts that accept no job now because of their state, their window or
        JOB_ACCEPT_INTERVAL.
        """
        rules, now = self.state.eligibility, self.world.now
        states = np.array([status.lower() for status in rules.status])
        self._mark(Pending.NO_LOAD, np.isin(states, _NO_LOAD))
        self._mark(Pending.UNREACHABLE, states == "unreach")
        self._mark(Pending.LOCKED, np.isin(states, _LOCKED))
        self._mark(Pending.HOST_WINDOW, states == "closed_wind")
        self._mark(Pending.LOAD, np.isin(states, ("busy", "closed_busy")))
        self._mark(Pending.CLOSED, states != "ok")
        origin = self.instance.origin
        shut = [
            bool(host.windows) and not Windows(host.windows, origin).is_open(now)
            for host in self.instance.cluster.hosts
        ]
        self._mark(Pending.HOST_WINDOW, np.array(shut, dtype=bool))
        interval = rules.situation.instance.accept_interval(self.queue)
        if interval:
            self._mark(Pending.JUST_ACCEPTED, now < self.world.last_accepted + interval)

    def _beyond_load(self) -> None:
        """Mark the hosts beyond loadSched; the index is omitted if only RES_REQ sets the threshold
        (RSV-12).
        """
        rules, limits = self.state.eligibility, self.queue.thresholds
        hosts = self.instance.cluster.hosts
        told = bool(limits.sched) or not self.queue.res_req
        names = {*limits.sched, *(name for host in hosts for name in host.thresholds.sched)}
        for name in sorted(names):
            self._mark(Pending.LOAD, rules.beyond_one(limits, name), name if told else "")

    def _occupied(self, term: TermDemand) -> None:
        """Mark the hosts that exclusive jobs use, and the hosts in use if this job is exclusive."""
        running = [s for s in self.world.running.values() if s.status != PREEMPTED]
        alone = np.zeros(len(self.names), dtype=bool)
        owned = np.zeros(len(self.names), dtype=bool)
        for item in running:
            if item.job.exclusive:
                alone[list(item.allocation)] = True
            for _, _, whole in self.world.holds(item):
                owned[list(whole)] = True
        self._mark(Pending.EXCLUSIVE, alone)
        self._mark(Pending.UNIT_EXCLUSIVE, owned)
        capacity = self.view.table.host_resources[SLOTS].capacity
        taken = self.view.table.slots_taken(self.job.job)
        idle = np.logical_and.reduce(
            [
                self.view.free(index, self.world.now) >= capacity
                for index in self.view.table.slot_indices
                if index in taken
            ]
        )
        if self.demand.exclusive:
            self._mark(Pending.NOT_ALONE, ~idle)
        if term.unit is not None and term.unit.excl:
            busy = busy_units(term.unit, idle)
            units = term.unit.unit_of
            self._mark(Pending.UNIT_OCCUPIED, (units >= 0) & busy[units])

    def _wanted(self, term: TermDemand) -> FloatArray:
        """Return the slots that the job takes on each idle host; of a block, the whole block."""
        capacity = self.view.table.host_resources[SLOTS].capacity
        if term.one_host:
            return np.full(len(capacity), float(term.slots))
        if term.ptile is not None:
            return np.minimum(term.ptile, term.slots).astype(float)
        return np.minimum(capacity, term.slots)

    def _few_slots(self, term: TermDemand) -> None:
        """Mark the hosts without a free slot, and the hosts with fewer free slots than the job
        takes there.
        """
        if self.demand.exclusive:
            return
        now, wanted = self.world.now, self._wanted(term)
        self._mark(Pending.HOST_FULL, self.world.free_now.host(SLOTS) < 1)
        table = self.view.table
        mine = [self.view.free(index, now) for index in table.slots_taken(self.job.job)]
        free = np.minimum.reduce(mine)
        if self.view.blocked is not None and not self.job.job.reservation:
            without = mine[-1] + self.view.blocked
            self._mark(Pending.RESERVED, (free < wanted) & (without >= wanted))
        self._mark(Pending.FEW_SLOTS, free < wanted)

    def _short_of(self, term: TermDemand) -> None:
        """Mark the hosts at a limit, or short of an amount, under every alternative of the rusage
        string.
        """
        wanted = self._wanted(term)
        short = [self._shortages(item, term, wanted) for item in term.alternatives]
        none = np.zeros(len(self.names), dtype=bool)
        each = [np.logical_or.reduce([none, *(mask for _, mask in masks)]) for masks in short]
        everywhere = np.logical_and.reduce(each)
        for item, mask in short[0]:
            self._mark(self._kind(item), mask & everywhere, item.subject)

    def _shortages(
        self, alternative: Alternative, term: TermDemand, wanted: FloatArray
    ) -> list[tuple[HostResource | Pool, BoolArray]]:
        """Return the resources other than slots that an alternative takes, and the hosts that
        lack them.
        """
        now, table = self.world.now, self.view.table
        found: list[tuple[HostResource | Pool, BoolArray]] = []
        for use in alternative.host_uses[1:]:
            if table.is_slots(use.index):
                continue
            amount = use.reservation.initial
            free = self.view.free(use.index, now) + SLACK
            times = np.floor(free / amount) if amount > 0 else np.full(len(free), np.inf)
            lacking = times < (wanted if use.per is Per.SLOT else 1)
            if use.per is Per.JOB and not lacking[term.candidates].all():
                continue  # One host with enough of the amount suffices.
            found.append((table.host_resources[use.index], lacking))
        for use in alternative.pool_uses:
            pool = table.pools[use.index]
            left, asked = self._left(use, term)
            everyone = use.per is not Per.SLOT or bool(pool.mask[term.candidates].all())
            most = np.full(len(wanted), float(asked)) if everyone else np.minimum(wanted, asked)
            found.append((pool, pool.mask & (left < most)))
        return found

    def _kind(self, item: HostResource | Pool) -> Pending:
        """Return the kind of reason for a shortage; a resource that only the queue requests has its
        own.
        """
        if item.short is Pending.RUSAGE and item.subject not in self._asked_by_job():
            return Pending.QUEUE_RUSAGE
        return item.short

    def _asked_by_job(self) -> frozenset[str]:
        """Return the resources that the job's own -R and -gpu reserve."""
        gpus = frozenset({PHYSICAL} if self.job.job.gpu else ())
        if not self.job.job.res_req:
            return gpus
        own = combine(self.job.job.res_req, self._options()).requirement
        simples = [own] if isinstance(own, Simple) else [term.requirement for term in own.terms]
        return gpus | frozenset(
            PHYSICAL if amount.resource in GPU_NAMES else amount.resource
            for simple in simples
            if simple.rusage is not None
            for usages in simple.rusage.alternatives
            for usage in usages
            for amount in usage.amounts
        )

    def _together(self) -> Iterator[Reason]:
        """Yield the resources that hosts which suffice one by one lack together."""
        now = self.world.now
        for term in self.demand.terms:
            left = replace(term, candidates=term.candidates[self.free[term.candidates]])
            rooms = [self.view.capacity(self.demand, left, a, now) for a in term.alternatives]
            if any(fits(left, capacity) for capacity in rooms):
                continue
            caps = np.where(self.free, rooms[0].caps, 0)
            unit = term.unit
            if int(caps[left.candidates].sum()) < term.slots:
                yield Reason(Pending.FEW_SLOTS, self._named(self.free))
            elif unit is not None and unit.maxcus is not None:
                yield Reason(Pending.UNITS_MAXCUS)
            elif unit is not None and unit.balance:
                yield Reason(Pending.UNITS_BALANCE)
            elif unit is not None and unit.usablecuslots is not None:
                owned = (unit.unit_of >= 0) & self.free
                totals = np.bincount(unit.unit_of[owned], weights=caps[owned])
                few = owned & (totals[np.maximum(unit.unit_of, 0)] < unit.usablecuslots)
                yield Reason(Pending.UNIT_USABLE, self._named(few))
            else:
                yield Reason(self._span())
            return
        if len(self.demand.terms) > 1:
            yield Reason(self._span())
        elif isinstance(self.world.order, DispatchOrder) and self.world.order.partitions:
            yield Reason(Pending.PARTITION_PRIORITY, self._named(self.free))

    def _span(self) -> Pending:
        """Return the unsatisfied locality: that of the queue if the job's own -R has none."""
        job = self.job.job
        own = combine(job.res_req, self._options()).requirement if job.res_req else None
        if own is not None and (isinstance(own, Compound) or own.span or own.same or own.cu):
            return Pending.SPAN
        return Pending.QUEUE_SPAN if self.queue.res_req else Pending.SPAN

    def _named(self, mask: BoolArray) -> tuple[str, ...]:
        return tuple(np.array(self.names)[mask].tolist())


def _simple(requirement: Requirement | None, position: int) -> Simple | None:
    """Return the simple requirement of a term."""
    if requirement is None or isinstance(requirement, Simple):
        return requirement
    return requirement.terms[position].requirement
