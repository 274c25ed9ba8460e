"""Omitted rules of guaranteed resource pools and service classes, by job (GUA-01)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from ...model.errors import InputError
from ...model.instance import Instance
from ...model.job import Job
from ...model.resreq.syntax import Simple
from ...model.service_class import GuaranteedPool
from ..availability.demand import Demand
from ..availability.guarantees import (
    GuaranteeRows,
    MeasuredPool,
    packages_taken,
    slots_by_host,
)
from ..availability.profile import constant_amount
from ..availability.resources import Alternative, Per, Use
from ..resolve import Resolver
from .eligibility import preempting_now

#: Omission for jobs with -sla in an instance without service classes.
UNLISTED = "the guarantees of the service class, if it has any (service_classes; -sla)"
#: Omission for jobs whose class depends on data that no instance has.
LICENCE_PROJECTS = "licence projects, by which a service class may attach the job"


def has_loans(instance: Instance) -> bool:
    """Return whether any guaranteed pool has a loan policy."""
    return any(pool.loans is not None for pool in instance.guaranteed_pools)


def unmodelled(job: Job, resolver: Resolver) -> Iterator[str]:
    """Yield the omissions that may change the start of one job."""
    instance, rows = resolver.instance, resolver.table.guarantees
    if job.service_class and not instance.service_classes:
        yield UNLISTED
    if rows is None:
        yield from _goals(job, instance)
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
            name = f"that queues with SLA_GUARANTEES_IGNORE see no pool {pool.pool.name}"
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


def _goals(job: Job, instance: Instance) -> Iterator[str]:
    """Yield the time-based goals of the class that a job names."""
    for item in instance.service_classes:
        if item.name == job.service_class and not item.guarantees:
            yield f"the goals of service class {item.name} ({' '.join(item.goals)})"


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
        if constant_amount(Use(0, Per.HOST, item)) is None:
            return False
    return packages_taken(pool, slots_by_host(job, asked.span), *memory).exact


def _of_pool(resolver: Resolver, rows: GuaranteeRows, number: int) -> Iterator[str]:
    """Yield the omitted rules of one pool."""
    instance, pool = resolver.instance, rows.pools[number]
    name, kind = pool.pool.name, pool.pool.kind
    jobs = instance.present_jobs
    if kind != "resource" and preempting_now(instance):
        yield f"that preempted jobs leave slots of guaranteed pool {name}"
    if kind == "slots" and any(job.exclusive for job in jobs):
        yield f"slots that exclusive jobs leave idle in guaranteed pool {name}"
    if kind == "hosts" and not all(job.exclusive for job in jobs):
        yield f"hosts of guaranteed pool {name} that several jobs share"
    if kind != "resource":
        inside = {h.name for h, x in zip(instance.cluster.hosts, pool.mask, strict=True) if x}
        for item in instance.advance_reservations:
            if item.end > instance.now and inside & set(item.slots):
                yield f"that advance reservation {item.name} takes hosts out of pool {name}"
    if kind == "package" and not all(_takes_packages(job, pool.pool, resolver) for job in jobs):
        yield f"that jobs leave parts of their packages free in guaranteed pool {name}"
    if instance.params.simplified_guarantee and kind in ("slots", "package"):
        yield f"which hosts of guaranteed pool {name} are its owners' (SIMPLIFIED_GUARANTEE)"
    if rows.has_too_many(number):
        yield f"some guarantees of pool {name}, which has many classes"
