"""Greedy slot reservation, LSF's default (GRD-01 … GRD-05, TBR-18)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from ...model.duration import granted_run_limit
from ...model.instance import Instance
from ...model.job import Job
from .occupancy import FOREVER, Countable, Kind, Occupancy, Occupant
from .placement import Slots, leading


@dataclass(frozen=True)
class Reserved:
    """What a reservation method says of a pending job."""

    #: The instant before which the job does not start; None: unknown.
    estimate: int | None
    #: Slots that it takes at its start, or holds until its estimate.
    slots: Slots = field(default_factory=dict)
    #: Start, None if only the estimate is known.
    start: int | None = None


def greedy(instance: Instance) -> dict[str, Reserved]:
    """Return what greedy reservation says of each pending job."""
    started: dict[str, Slots] = {}
    found: dict[str, Reserved] = {}
    while True:
        found = walk(instance, started, found)
        new = {name: item.slots for name, item in found.items() if item.start is not None}
        new |= backfill(instance, started | new, found)
        if not new:
            now = instance.now
            return found | {job: Reserved(now, slots, now) for job, slots in started.items()}
        started |= new


def walk(
    instance: Instance, started: Mapping[str, Slots], before: Mapping[str, Reserved]
) -> dict[str, Reserved]:
    """Dispatch each pending job in order: it starts, or reserves free slots."""
    occupancy, found = Occupancy(instance, started), dict[str, Reserved]()
    running, now = list(occupancy.uses), instance.now
    for job in occupancy.order(started):
        slots = occupancy.place(job, now, FOREVER)
        if slots is not None:
            found[job.id] = Reserved(now, slots, now)
            running.append(Occupant(job, slots, now, occupancy.end_of(job, now)))
            occupancy.uses.append(running[-1])
        else:
            held = before.get(job.id, Reserved(None)).slots
            found[job.id] = hold(occupancy, running, job, held)
            occupancy.uses.append(Occupant(job, found[job.id].slots, now, FOREVER, "reserved"))
    return found


def hold(occupancy: Occupancy, running: list[Occupant], job: Job, before: Slots) -> Reserved:
    """Reserve free slots up to the minimum, and add up slots of running jobs as they end.

    before: slots that it had reserved until other jobs started; it stays on these hosts.
    """
    idle = Occupancy(replace(occupancy.instance, running=()), {})
    if idle.place(job, occupancy.now, FOREVER) is None or short_of_more(occupancy, job):
        return Reserved(None)
    asked, free = occupancy.asks(job), occupancy.free(job, occupancy.now, FOREVER, waits=True)
    if asked.tile is not None and not job.exclusive:
        free = {host: min(count, asked.tile) for host, count in free.items()}
    groups = sorted(asked.groups, key=lambda group: before.keys().isdisjoint(group))
    most = {host: max(count, before.get(host, 0)) for host, count in free.items()}
    group = max(groups, key=lambda group: sum(most[host] for host in group), default=())
    held: dict[str, int] = {}
    for host in leading(asked, sorted(group, key=lambda host: host not in before), free):
        count = min(free[host], job.slots - sum(held.values()))
        while count and not occupancy.fits(
            job, {**held, host: count}, occupancy.now, FOREVER, waits=True
        ):
            count -= 1
        if count:
            held[host] = count
    if job.exclusive:
        held = {host: free[host] for host in held}
    if not held and not before:
        return Reserved(None)
    still, estimate = job.slots - sum(held.values()), occupancy.now
    for use in sorted(running, key=lambda use: use.end):
        if still > 0:
            taken = occupancy.takes(use.job, use.slots)
            still -= sum(int(taken.get(Countable("slots", host), 0)) for host in group)
            estimate = use.end
    return Reserved(None if still > 0 or estimate == FOREVER else estimate, held)


def short_of_more(occupancy: Occupancy, job: Job) -> bool:
    """Return whether more than slots is short for a job, so that it reserves nothing (MEM-08)."""
    asked, memory_too = occupancy.asks(job), occupancy.instance.queue(job.queue).holds_memory
    for name, amount in asked.amounts.items():
        hosts = [""] if name in occupancy.shared else asked.hosts
        left = [occupancy.left(Countable(name, h), occupancy.now, FOREVER) for h in hosts]
        if not (name == "mem" and memory_too) and all(n < amount for n in left):
            return True
    return False


def backfill(
    instance: Instance, started: Mapping[str, Slots], found: Mapping[str, Reserved]
) -> dict[str, Slots]:
    """Start the first job that ends by the estimates of all jobs whose reserved slots it uses."""
    order = Occupancy(instance, started).order(started)
    for job in order:
        limit = granted_run_limit(instance, job)
        if limit is None or not instance.queue(job.queue).backfill:
            continue
        occupancy = Occupancy(instance, started)
        for other in order:
            item, end = found[other.id], instance.now + limit
            if other is not job:
                in_time = item.estimate is not None and item.estimate >= end
                kind: Kind = "backfilled" if in_time else "reserved"
                occupancy.uses.append(Occupant(other, item.slots, instance.now, FOREVER, kind))
        slots = occupancy.place(job, instance.now, FOREVER)
        if slots is not None:
            return {job.id: slots}
    return {}
