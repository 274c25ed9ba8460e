"""Omitted rules of an estimate, by name: rules by which simulated starts may differ from it.

A plan by greedy or time-based reservation is the estimate of the next cycle. Later cycles give
equal estimates unless a rule of this list applies (docs/dev/semantics.md).

Pending jobs that the omissions of an instance may move. An omission that changes starts concerns
the jobs in its scope; dependent starts are found when a plan is examined. If jobs may end later, it
also concerns all jobs that may meet them on a host, in a pool or by a dependency condition. If they
may only end earlier, it moves no job.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np

from ...model.cluster import BUILTIN_AMOUNTS, Thresholds
from ...model.configuration import Queue
from ...model.duration import expected_finish, granted_run_limit
from ...model.errors import InputError
from ...model.instance import AdvanceReservation, Instance
from ...model.job import Job, classes
from ...model.omissions import AFFINITY, GPUS, PTILE, Omission
from ...model.reserved_periods import of_jobs, with_periods
from ...model.resreq.evaluate import named
from ...model.resreq.syntax import Compound, Requirement, Simple, simples
from ...model.service_class import GuaranteedPool
from ...model.shares import Groups
from ...model.windows import has_windows, without_windows
from .. import alike
from ..availability.demand import Demand
from ..availability.guarantees import (
    GuaranteeRows,
    MeasuredPool,
    packages_taken,
    slots_by_host,
)
from ..availability.resources import Alternative, BoolArray, IntArray, Per
from ..availability.usage import constant_amount
from ..fairshare.waiting_jobs import has_policy
from ..precedence import Precedence
from ..resolve import Resolver
from .eligibility import preempting_now, thresholds_of

#: Omission for jobs with -sla in an instance without service classes.
UNLISTED = "the guarantees of the service class, if it has any (service_classes; -sla)"
#: Omission for jobs whose class depends on data that no instance has.
LICENCE_PROJECTS = "attachment to a service class by licence project"


def has_loans(instance: Instance) -> bool:
    """Return whether any guaranteed pool has a loan policy."""
    return any(pool.loans is not None for pool in instance.guaranteed_pools)


def unmodelled(job: Job, resolver: Resolver) -> Iterator[str]:
    """Yield the omissions that may change the start of one job."""
    instance, rows = resolver.instance, resolver.table.guarantees
    if job.service_class and not instance.service_classes:
        yield UNLISTED
    if rows is None:
        # The time-based goals of the class that the job names.
        for item in instance.service_classes:
            if item.name == job.service_class and not item.guarantees:
                yield f"the goals of service class {item.name} ({' '.join(item.goals)})"
        return
    own = rows.members.by_name.get(rows.members.of(job))
    if own is not None and not own.guarantees:
        yield f"the goals of service class {own.name} ({' '.join(own.goals)})"
    if rows.members.unsure(job):
        yield LICENCE_PROJECTS
    for number, pool in enumerate(rows.pools):
        if reaches(job, pool, resolver):
            if number not in rows.omitted:
                rows.omitted[number] = tuple(_of_pool(resolver, rows, number))
            yield from rows.omitted[number]


def left_to_the_loop(
    resolver: Resolver, jobs: Iterable[Job]
) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield loans, and queues without guarantees, that a plan omits, with the jobs they move.

    jobs: those that have a start anywhere.
    """
    rows = resolver.table.guarantees
    if rows is None:
        return
    waiting = list(jobs)
    blind = {queue.name for queue in resolver.instance.queues if queue.ignores_guarantees}
    for number, pool in enumerate(rows.pools):
        near = [job for job in waiting if rows.may_reach(number, job)]
        open_now = pool.pool.loans is not None and number not in rows.settled
        if open_now and any(rows.loan_of(number, job) for job in near):
            name = f"loans of guaranteed pool {pool.pool.name}"
            yield name, frozenset(job.id for job in near)
        if any(job.queue in blind for job in near):
            name = f"queues with SLA_GUARANTEES_IGNORE, which ignore pool {pool.pool.name}"
            yield name, frozenset(job.id for job in near)


def on_loans(resolver: Resolver, demand: Demand) -> Demand:
    """Return the demand without limits of guaranteed pools that do not apply, by loans or its
    queue.
    """
    rows, table = resolver.table.guarantees, resolver.table
    if rows is None:
        return demand
    blind = demand.queue.ignores_guarantees
    lifted = {
        index
        for number in range(len(rows.pools))
        if number not in rows.settled and (blind or rows.loan_of(number, demand.job))
        for index in table.guarantee_limits(number)
    }
    if not lifted:
        return demand
    terms = tuple(
        replace(term, alternatives=tuple(_without(item, lifted) for item in term.alternatives))
        for term in demand.terms
    )
    return replace(demand, terms=terms)


def _without(alternative: Alternative, pools: set[int]) -> Alternative:
    uses = tuple(use for use in alternative.pool_uses if use.index not in pools)
    return replace(alternative, pool_uses=uses)


def reaches(job: Job, pool: MeasuredPool, resolver: Resolver) -> bool:
    """Return whether a pending job may use resources of a pool."""
    if pool.pool.kind == "resource":
        return pool.pool.arguments["name"] in resolver.reserves(job)
    demand = resolver.demand(job)
    return any(pool.mask[term.candidates].any() for term in demand.terms)


def _takes_packages(job: Job, pool: GuaranteedPool, resolver: Resolver) -> bool:
    """Return whether a job takes whole packages with all their resources while it runs."""
    try:
        asked = resolver.requirement(job)
    except InputError:
        return True
    if not isinstance(asked, Simple) or job.exclusive:
        return False
    rusage = asked.rusage
    if rusage is not None and len(rusage.alternatives) > 1:
        return False
    held = [] if rusage is None else [i for i in rusage.reservations(0) if i.resource == "mem"]
    memory = [0.0, 0.0]
    for item in held:
        slot = item.per == "task" or (not item.per and resolver.table.method("mem") is Per.SLOT)
        memory[slot] += item.initial
        if constant_amount(item) is None:
            return False
    return packages_taken(pool, slots_by_host(job, asked.span), *memory).exact


def _of_pool(resolver: Resolver, rows: GuaranteeRows, number: int) -> Iterator[str]:
    """Yield the omitted rules of one pool."""
    instance, pool = resolver.instance, rows.pools[number]
    name, kind = pool.pool.name, pool.pool.kind
    jobs = instance.present_jobs
    if kind != "resource" and preempting_now(instance):
        yield f"slots that preempted jobs release in guaranteed pool {name}"
    if kind == "slots" and any(job.exclusive for job in jobs):
        yield f"slots that exclusive jobs leave idle in guaranteed pool {name}"
    if kind == "hosts" and not all(job.exclusive for job in jobs):
        yield f"hosts of guaranteed pool {name} that several jobs share"
    if kind != "resource":
        inside = {h.name for h, x in zip(instance.cluster.hosts, pool.mask, strict=True) if x}
        for item in instance.advance_reservations:
            if item.end > instance.now and inside & set(item.slots):
                yield f"hosts that advance reservation {item.name} takes from pool {name}"
    if kind == "package" and not all(_takes_packages(job, pool.pool, resolver) for job in jobs):
        yield f"unused parts of packages in guaranteed pool {name}"
    if instance.params.simplified_guarantee and kind in ("slots", "package"):
        yield f"the hosts of the owners in guaranteed pool {name} (SIMPLIFIED_GUARANTEE)"
    if rows.has_too_many(number):
        yield f"some guarantees of pool {name}, which has many classes"


#: Omission for jobs with -U if the reservation is not described.
UNDESCRIBED = "the advance reservation of the job, which is not described (advance_reservations)"
#: Omission if running jobs have slots that a reservation needs at its start.
SUSPENDED = "suspension of running jobs for an advance reservation"
#: Omission for jobs without a run limit: they can start before a reservation and run into it.
BY_RUN_LIMIT = "run limits, instead of estimates, before an advance reservation"
WITHOUT_LIMIT = "suspension of jobs without a run limit for an advance reservation"
#: Omission for jobs that end after their reservation.
AFTER_OPEN = "suspension of jobs at the end of an open advance reservation"
AGAIN = "jobs of a recurring open advance reservation that still run when it begins again"
EXCLUSIVE = "exclusive jobs in an advance reservation of a part of a host"
END_OF_PERIOD = "the period of a recurring advance reservation in which an awaited job ends"


def touched(instance: Instance, demands: Sequence[Demand]) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield each active advance reservation with the pending jobs that it may affect.

    instance: with the periods of its reservations one by one.
    """
    others = [d for d in demands if not d.impossible and _reserved_in(d) is None]
    near = [d for d in others if _may_meet(instance, d)]
    yield BY_RUN_LIMIT, _ids(d for d in near if _has_shorter_estimate(instance, d))
    yield WITHOUT_LIMIT, _ids(d for d in near if d.duration is None and not d.may_be_killed)
    own = [d for d in demands if not d.impossible and _reserved_in(d) is not None]
    open_ones = [d for d in own if not d.may_be_killed]
    if not instance.params.open_reservations_continue:
        yield AFTER_OPEN, _ids(open_ones)
    yield AGAIN, _ids(d for d in open_ones if _recurs(d))
    yield EXCLUSIVE, _ids(d for d in own if d.exclusive and _in_part(instance, d))
    recurring = {d.job.id for d in own if d.may_be_killed and _recurs(d)}
    awaited = Precedence.of(instance).waits_for() if recurring else {}
    yield END_OF_PERIOD, frozenset(job for job, jobs in awaited.items() if recurring & {*jobs})


def suspending(instance: Instance) -> frozenset[str]:
    """Return the pending jobs for which running jobs may be suspended when their reservation
    starts.
    """
    found = set[str]()
    for item in instance.advance_reservations:
        waiting = [job.id for job in instance.pending if job.reservation == item.name]
        if waiting and item.suspends and item.end > instance.now and _is_overrun(instance, item):
            found.update(waiting)
    return frozenset(found)


def _is_overrun(instance: Instance, item: AdvanceReservation) -> bool:
    """Return whether other jobs are expected to have slots that a reservation needs."""
    begin = max(item.start, instance.now)
    held: dict[str, int] = {}
    for run in instance.running:
        end = expected_finish(instance, run)
        if run.job.reservation != item.name and (end is None or end > begin):
            for host, slots in run.allocation.items():
                held[host] = held.get(host, 0) + slots
    have = {host.name: host.slots for host in instance.cluster.hosts}
    return any(held.get(host, 0) + slots > have[host] for host, slots in item.slots.items())


def _ids(demands: Iterable[Demand]) -> frozenset[str]:
    return frozenset(demand.job.id for demand in demands)


def _reserved_in(demand: Demand) -> str | None:
    """Return the described reservation of a job."""
    reserved = None if demand.calendar is None else demand.calendar.reserved
    return None if reserved is None else reserved.name


def _recurs(demand: Demand) -> bool:
    reserved = None if demand.calendar is None else demand.calendar.reserved
    return reserved is not None and len(reserved.ends_after(demand.earliest)) > 1


def _may_meet(instance: Instance, demand: Demand) -> bool:
    """Return whether a host of a job has slots of a reservation that has not expired."""
    index = instance.cluster.host_index()
    reserved = {
        index[host]
        for item in instance.advance_reservations
        if item.end > instance.now
        for host in item.slots
    }
    return any(host in reserved for term in demand.terms for host in term.candidates.tolist())


def _has_shorter_estimate(instance: Instance, demand: Demand) -> bool:
    limit = granted_run_limit(instance, demand.job)
    return demand.runs is not None and limit is not None and demand.runs < limit


def _in_part(instance: Instance, demand: Demand) -> bool:
    """Return whether the reservation of a job leaves slots of one of its hosts to other jobs."""
    have = {host.name: host.slots for host in instance.cluster.hosts}
    return any(
        0 < slots < have[host]
        for item in instance.advance_reservations
        if item.name == demand.job.reservation
        for host, slots in item.slots.items()
    )


@dataclass(frozen=True, slots=True)
class EstimateRule:
    """A rule that the next cycle cannot foresee."""

    #: Name in notes.
    name: str
    #: Whether the rule applies in an instance.
    holds: Callable[[Instance], bool]
    #: Function that removes the rule from an instance, so that a simulation shows its effect; None
    #: if it cannot be removed.
    without: Callable[[Instance], Instance] | None = None


def omitted_rule_names(
    instance: Instance, resolver: Resolver, also: Iterable[str] = ()
) -> tuple[str, ...]:
    """Return the names of the rules of an instance that its next cycle cannot foresee.

    also: further rules that the cycle has applied.
    """
    readable = list(_readable(instance, resolver))
    asked = [resolver.requirement(job) for job in readable]
    found = [rule.name for rule in OF_THE_INSTANCE if rule.holds(instance)]
    found += [name for name, holds in _OF_REQUIREMENTS if any(map(holds, asked))]
    limited = frozenset(name for limits in thresholds_of(instance) for name in limits.sched)
    running = (run.job for run in instance.running)
    if limited and any(resolver.loads_reserved(job) & limited for job in (*running, *readable)):
        found.append(RESERVED_LOADS)
    if any(map(resolver.selects_by_load, readable)):
        found.append("selections by free resources")
    return (*found, *also)


def omissions_of(names: Sequence[str], nowhere: Sequence[Omission]) -> tuple[Omission, ...]:
    """Return the omissions for rules that may touch any job, and for those that no method obeys."""
    return (*map(Omission, names), *nowhere)


def note_of(names: Sequence[str]) -> tuple[str, ...]:
    """Return one sentence with the omitted rules, none if there are none."""
    return (f"not modelled: {'; '.join(names)}",) if names else ()


def estimator_view(instance: Instance) -> Instance:
    """Return the instance without windows and advance reservations, as LSF estimates (TBR-19).

    Advance reservations with jobs stay, because these can start nowhere else (ARV-01).
    """
    kept = of_jobs(instance) if instance.advance_reservations else ()
    return replace(without_windows(instance), advance_reservations=kept, future=())


def _readable(instance: Instance, resolver: Resolver) -> Iterator[Job]:
    """Yield one job of each class of pending jobs with a readable requirement."""
    for job, first in classes(instance.pending):
        if job is not first:
            continue
        with suppress(InputError):
            resolver.requirement(job)
            yield job


def _reserves_in_part(instance: Instance) -> bool:
    return len({queue.reserve_cycles is None for queue in instance.queues}) > 1


def _loads(instance: Instance) -> bool:
    reported = any(name in host.load for host in instance.cluster.hosts for name in BUILTIN_AMOUNTS)
    return reported or any(item.sched or item.stop for item in thresholds_of(instance))


def _each_queue(**changes: Any) -> Callable[[Instance], Instance]:
    def without(instance: Instance) -> Instance:
        return replace(instance, queues=tuple(replace(q, **changes) for q in instance.queues))

    return without


def _each_pending(change: Callable[[Job], Job]) -> Callable[[Instance], Instance]:
    return lambda instance: replace(instance, pending=tuple(map(change, instance.pending)))


def _all_reserve(instance: Instance) -> Instance:
    """Return the instance in which every queue reserves, as long as the longest does."""
    cycles = instance.reserve_cycles or 0
    queues = (
        queue if queue.reserve_cycles is not None else replace(queue, slot_reserve=cycles)
        for queue in instance.queues
    )
    return replace(instance, queues=tuple(queues))


def _without_end(instance: Instance) -> Instance:
    """Return the instance with reservations that do not expire while their jobs wait."""
    queues = (
        replace(
            queue,
            slot_reserve=None if queue.slot_reserve is None else LONG,
            resource_reserve=None if queue.resource_reserve is None else LONG,
        )
        for queue in instance.queues
    )
    return replace(instance, queues=tuple(queues))


def _without_intervals(instance: Instance) -> Instance:
    plain = replace(instance, params=replace(instance.params, job_accept_interval=0))
    return _each_queue(job_accept_interval=None)(plain)


def _nobody_grows(instance: Instance) -> Instance:
    running = (replace(r, job=replace(r.job, resizable=False)) for r in instance.running)
    plain = _each_pending(lambda job: replace(job, resizable=False))(instance)
    return replace(plain, running=tuple(running))


def _no_suspension(instance: Instance) -> Instance:
    """Return the instance in which advance reservations suspend no running job."""
    kept = (replace(item, suspends=False) for item in instance.advance_reservations)
    return replace(instance, advance_reservations=tuple(kept))


#: Reported loads change in unknown ways: only starts of jobs that load excludes depend on it.
LOADS = "changes of reported loads"
#: Loads rise and fall with reservations of jobs; a cycle uses the reservations of its instant.
RESERVED_LOADS = "changes of loads by the reservations of jobs"
OF_THE_INSTANCE: tuple[EstimateRule, ...] = (
    EstimateRule("dispatch and run windows", has_windows, without_windows),
    EstimateRule(
        "advance reservations",
        lambda instance: bool(
            instance.advance_reservations
            and len(of_jobs(instance)) < len(instance.advance_reservations)
        ),
        lambda instance: replace(instance, advance_reservations=of_jobs(instance)),
    ),
    EstimateRule(
        SUSPENDED,
        lambda instance: bool(instance.advance_reservations and suspending(with_periods(instance))),
        _no_suspension,
    ),
    EstimateRule(
        "preemption",
        lambda instance: bool(preempting_now(instance)),
        _each_queue(preemptive=None, preemptable=None),
    ),
    EstimateRule(
        "changes of priorities and of the slots left in pools when jobs start and end", has_policy
    ),
    EstimateRule(
        "reservations only in queues with SLOT_RESERVE or RESOURCE_RESERVE",
        _reserves_in_part,
        _all_reserve,
    ),
    EstimateRule(
        "loans of guaranteed pools after this cycle",
        has_loans,
        lambda instance: replace(
            instance,
            guaranteed_pools=tuple(replace(p, loans=None) for p in instance.guaranteed_pools),
        ),
    ),
    EstimateRule(
        "JOB_ACCEPT_INTERVAL", lambda instance: instance.has_accept_interval, _without_intervals
    ),
    EstimateRule(LOADS, _loads),
    EstimateRule(
        "jobs before their begin time (-b)",
        lambda instance: any((job.begin or 0) > instance.now for job in instance.pending),
        _each_pending(lambda job: replace(job, begin=None)),
    ),
    EstimateRule(
        "the growth of resizable jobs",
        lambda instance: any(run.job.resizable for run in instance.running),
        _nobody_grows,
    ),
    EstimateRule(
        "reservations and backfilled slots of the previous cycle",
        lambda instance: bool(instance.held or instance.borrowed),
        lambda instance: replace(instance, held=(), borrowed=()),
    ),
    EstimateRule(
        "more slots of its range for a job that starts later",
        lambda instance: any(job.most_slots > job.slots for job in instance.pending),
        _each_pending(lambda job: replace(job, max_slots=None)),
    ),
)


#: Observed in a cycle: MAX_RESERVE_TIME ends reservations.
RUN_OUT = "expiry of reservations after MAX_RESERVE_TIME"
#: A plan has future allocations for more jobs than a cycle of the cluster (TBR-01).
FEW_LOOK_AHEAD = "future allocations only for the first LSB_TIME_RESERVE_NUMJOBS jobs"
#: More cycles than any reservation lasts.
LONG = 1 << 40
#: Functions that remove a rule, by the name of the rule.
WITHOUT: Mapping[str, Callable[[Instance], Instance]] = {
    RUN_OUT: _without_end,
    **{rule.name: rule.without for rule in OF_THE_INSTANCE if rule.without is not None},
}


def _falls(requirement: Requirement) -> bool:
    return any(
        item.drops()
        for simple in simples(requirement)
        if simple.rusage is not None
        for number in range(len(simple.rusage.alternatives))
        for item in simple.rusage.reservations(number)
    )


_OF_REQUIREMENTS: tuple[tuple[str, Callable[[Requirement], bool]], ...] = (
    ("decreasing memory reservations of running jobs", _falls),
    ("the order of terms of compound requirements", lambda asked: isinstance(asked, Compound)),
    (
        "cu[pref], which applies only at dispatch",
        lambda asked: any(
            simple.cu is not None and simple.cu.pref != "config" for simple in simples(asked)
        ),
    ),
)


#: MB that no job asks for: an unknown amount is no reason against a host.
ANY_AMOUNT = 1e12
#: Slots that no job asks for.
ANY_SLOTS = 10**6
#: Maximum number of queues that are named with their settings.
MAX_QUEUES = 2


def setting_of(rule: str, instance: Instance, jobs: Iterable[str]) -> str:
    """Return the setting by which a rule applies to jobs, such as ``MAX_RESERVE_TIME[5] in queue
    normal``.

    rule: name as in notes. jobs: ids of pending jobs. "" if unknown.
    """
    if rule == FEW_LOOK_AHEAD:
        number = instance.params.time_reserve_numjobs
        return f"LSB_TIME_RESERVE_NUMJOBS {f'= {number}' if number else 'is not set'}"
    ids = set(jobs)
    used = dict.fromkeys(job.queue for job in instance.pending if job.id in ids)
    queues = [instance.queue(name) for name in used]
    named = _NAMED.get(rule)
    if named is None or len(queues) > MAX_QUEUES:
        return ""
    texts = (f"{text} in queue {queue.name}" for queue in queues for text in named(instance, queue))
    return ", ".join(texts)


def _run_out(_: Instance, queue: Queue) -> Iterator[str]:
    slots, amounts = queue.slot_reserve, queue.resource_reserve
    key, cycles = ("SLOT_RESERVE", slots) if amounts is None else ("RESOURCE_RESERVE", amounts)
    if cycles is not None:
        yield f"{key} = MAX_RESERVE_TIME[{cycles}]"


def _window_settings(_: Instance, queue: Queue) -> Iterator[str]:
    if queue.dispatch_window:
        yield f"DISPATCH_WINDOW = {queue.dispatch_window}"
    if queue.run_window:
        yield f"RUN_WINDOW = {queue.run_window}"


def _intervals(instance: Instance, queue: Queue) -> Iterator[str]:
    own = queue.job_accept_interval
    interval = instance.params.job_accept_interval if own is None else own
    if interval:
        yield f"JOB_ACCEPT_INTERVAL = {interval}"


def _none_reserved(_: Instance, queue: Queue) -> Iterator[str]:
    if queue.reserve_cycles is None:
        yield "no SLOT_RESERVE"


_NAMED: Mapping[str, Callable[[Instance, Queue], Iterable[str]]] = {
    RUN_OUT: _run_out,
    "dispatch and run windows": _window_settings,
    "JOB_ACCEPT_INTERVAL": _intervals,
    "reservations only in queues with SLOT_RESERVE or RESOURCE_RESERVE": _none_reserved,
}


@dataclass
class Scopes:
    """The scopes of the omissions of one instance."""

    instance: Instance
    resolver: Resolver
    _named: dict[Hashable, frozenset[str] | None] = field(default_factory=dict)
    _taken: dict[Hashable, tuple[IntArray, frozenset[int]]] = field(default_factory=dict)

    def moved(self, item: Omission, jobs: Sequence[Job]) -> tuple[str, ...] | None:
        """Return the pending jobs whose starts an omission may change; None: all."""
        if item.changes == "sooner ends":
            return ()
        ids = None if item.jobs is None else frozenset(item.jobs)
        if item.changes in ("starts", "shares", "amounts"):
            if ids is None and not item.narrowed:
                return None
            return tuple(job.id for job in jobs if self._is_of(item, ids, job))
        return self._delayed(item, ids, jobs) if ids is not None or item.narrowed else None

    def asking(self, item: Omission, jobs: Iterable[Job]) -> Iterator[str]:
        """Yield the jobs that ask for what those of an omission may hold otherwise than planned."""
        if item.changes in ("shares", "amounts"):
            for job in jobs:
                if not item.resources or self._names_one(item.resources, job):
                    yield job.id

    def _delayed(
        self, item: Omission, ids: frozenset[str] | None, jobs: Sequence[Job]
    ) -> tuple[str, ...]:
        """Return the jobs in a scope, and those that may wait for the end of one of them."""
        longer = [run.job for run in self.instance.running if self._is_of(item, None, run.job)]
        longer += [job for job in self.instance.pending if self._is_of(item, ids, job)]
        if not longer:
            return ()
        hosts = np.zeros(len(self.instance.cluster.hosts), dtype=bool)
        pools: set[int] = set()
        for job in longer:
            taken, shared = self._takes(job)
            hosts[taken] = True
            pools |= shared
            hosts[self._held_by(job)] = True
        return tuple(
            job.id
            for job in jobs
            if job.dependency or self._is_of(item, ids, job) or self._meets(job, hosts, pools)
        )

    def _meets(self, job: Job, hosts: BoolArray, pools: set[int]) -> bool:
        taken, shared = self._takes(job)
        return bool(hosts[taken].any()) or not pools.isdisjoint(shared)

    def _takes(self, job: Job) -> tuple[IntArray, frozenset[int]]:
        """Return the hosts and pools, by index, of which a job may take a part."""
        key = self._open.asked(job)
        if key not in self._taken:
            demand = self._open.demand(job)
            hosts = [term.candidates for term in demand.terms]
            pools = frozenset(
                use.index
                for term in demand.terms
                for alternative in term.alternatives
                for use in alternative.pool_uses
            )
            none = np.empty(0, dtype=np.int64)
            self._taken[key] = (np.unique(np.concatenate(hosts)) if hosts else none), pools
        return self._taken[key]

    def _held_by(self, job: Job) -> list[int]:
        """Return the indices of the hosts on which a job runs."""
        index = self.resolver.host_index()
        return [index[name] for name in self._running_on.get(job.id, ())]

    def _is_of(self, item: Omission, ids: frozenset[str] | None, job: Job) -> bool:
        """Return whether a job is in the scope of an omission; True if unknown."""
        return (
            (ids is None or job.id in ids)
            and (not item.queues or job.queue in item.queues)
            and (not item.applications or job.application in item.applications)
            and (not item.users or self._has_user(item.users, job.user))
            and (not item.resources or self._names_one(item.resources, job))
            and (not item.hosts or self._may_use(item.hosts, job))
        )

    def _has_user(self, names: Iterable[str], user: str) -> bool:
        """Return whether a name matches a user; an undefined name may be a group of an external
        program.
        """
        return any(name not in self._users or self._groups.includes(name, user) for name in names)

    def _may_use(self, names: Iterable[str], job: Job) -> bool:
        found = [self.instance.cluster.expand(name) for name in names]
        if None in found:
            return True  # Such a row applies to hosts that are not listed, for example "default".
        index = self.resolver.host_index()
        wanted = [index[host] for part in found for host in part or ()]
        own = [*self._takes(job)[0].tolist(), *self._held_by(job)]
        return not set(wanted).isdisjoint(own)

    def _names_one(self, names: Iterable[str], job: Job) -> bool:
        key = alike.merged(job)
        if key not in self._named:
            self._named[key] = self._resources_of(job)
        found = self._named[key]
        return found is None or not found.isdisjoint(names)

    def _resources_of(self, job: Job) -> frozenset[str] | None:
        """Return the resources in a job's requirement or thresholds; None: unknown."""
        try:
            parts = simples(self.resolver.requirement(job))
            found = set(self.resolver.reserves(job)) | self.resolver.loads_reserved(job)
            asks_for_gpus = self.resolver.gpus(job) is not None
        except InputError:
            return None
        for simple in parts:
            found.update(named(simple.select, self.resolver.hosts))
            found.update(key.resource for key in simple.order or ())
            found.update(simple.same)
        spans = [simple.span for simple in parts if simple.span is not None]
        if any(span.ptile is not None or span.ptile_max or span.ptile_by for span in spans):
            found.add(PTILE)
        if any(simple.affinity for simple in parts):
            found.add(AFFINITY)
        if asks_for_gpus or any("gpu" in name for name in found):
            found.add(GPUS)
        of_queue = _watched(self.instance.queue(job.queue).thresholds)
        return frozenset(found | self._watched | of_queue)

    @cached_property
    def _watched(self) -> set[str]:
        """Return the load indices and amounts for which some host has a threshold."""
        return {name for host in self.instance.cluster.hosts for name in _watched(host.thresholds)}

    @cached_property
    def _groups(self) -> Groups:
        return Groups(self.instance.groups)

    @cached_property
    def _users(self) -> frozenset[str]:
        """Return the users that the instance defines, and the groups with known members."""
        groups, users = self._groups.by_name, self.instance.users
        named = {*groups, *(item.name for item in users)}
        named -= {name for name, group in groups.items() if not group.members}
        return frozenset(named.union(job.user for job in self.instance.present_jobs))

    @cached_property
    def _running_on(self) -> dict[str, Iterable[str]]:
        return {run.job.id: run.allocation for run in self.instance.running}

    @cached_property
    def _open(self) -> Resolver:
        """Return the instance with all hosts open, because a closed host may be opened.

        A host has any amount, or any number of slots, that an omission says is unknown there.
        """
        cluster = self.instance.cluster
        lacking = self._unknown_amounts()
        if not lacking and all(host.takes_jobs for host in cluster.hosts):
            return self.resolver
        hosts = tuple(
            replace(
                host,
                status=host.status if host.takes_jobs else "ok",
                slots=ANY_SLOTS if "slots" in lacking.get(host.name, ()) else host.slots,
                amounts={**dict.fromkeys(lacking.get(host.name, ()), ANY_AMOUNT), **host.amounts},
            )
            for host in cluster.hosts
        )
        return Resolver.of(replace(self.instance, cluster=replace(cluster, hosts=hosts)))

    def _unknown_amounts(self) -> dict[str, set[str]]:
        """Return the amounts in the scopes of omissions that hosts of these scopes do not have;
        slots if any number may be there.
        """
        found: dict[str, set[str]] = {}
        given = {host.name: host.amounts for host in self.instance.cluster.hosts}
        for item in self.instance.omissions:
            names = set(BUILTIN_AMOUNTS) & set(item.resources)
            names |= {"slots"} if item.lifts and not item.resources else set()
            for host in chain.from_iterable(
                self.instance.cluster.expand(name) or () for name in item.hosts if names
            ):
                if lacks := names - given.get(host, {}).keys():
                    found.setdefault(host, set()).update(lacks)
        return found


def _watched(limits: Thresholds) -> set[str]:
    return {*limits.sched, *limits.stop}


def remarks(instance: Instance) -> tuple[Omission, ...]:
    """Return omissions for information only: of jobs that were read and are not planned, and those
    by which no proof with run limits is wrong.

    A queue or application without jobs has none.
    """
    queues: set[str] = set()
    applications: set[str] = set()
    running = (run.job for run in instance.running)
    for job in chain(running, instance.pending, instance.future):
        queues.add(job.queue)
        applications.add(job.application)
    return tuple(
        replace(item, jobs=())
        for item in instance.omissions
        if ((item.unplanned and item.jobs == ()) or item.changes == "sooner ends")
        and (not item.queues or not queues.isdisjoint(item.queues))
        and (not item.applications or not applications.isdisjoint(item.applications))
    )
