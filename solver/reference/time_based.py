"""Time-based slot reservation, LSB_TIME_RESERVE_NUMJOBS (TBR-01 … TBR-05, TBR-10, TBR-18)."""

from __future__ import annotations

from collections.abc import Mapping

from ...model.duration import granted_run_limit
from ...model.instance import Instance
from ...model.job import Job
from .greedy import Reserved, hold
from .occupancy import FOREVER, Occupancy, Occupant
from .placement import Slots


def time_based(instance: Instance) -> dict[str, Reserved]:
    """Return what time-based reservation says of each pending job."""
    started: dict[str, Slots] = {}
    while True:
        found = walk(instance, started)
        new = {name: item.slots for name, item in found.items() if item.start == instance.now}
        if not new:
            now = instance.now
            return found | {job: Reserved(now, slots, now) for job, slots in started.items()}
        started |= new


def walk(instance: Instance, started: Mapping[str, Slots]) -> dict[str, Reserved]:
    """Plan each pending job in order, given the allocations of the jobs before it.

    A job without a future allocation reserves greedily, and the jobs behind it are planned.
    """
    occupancy, found = Occupancy(instance, started), dict[str, Reserved]()
    running = list(occupancy.uses)
    for job in occupancy.order(started):
        item = first_fit(occupancy, job)
        if item is not None and item.start is not None:
            use = Occupant(job, item.slots, item.start, occupancy.end_of(job, item.start))
        else:
            item = hold(occupancy, running, job, {})
            end = FOREVER if item.estimate is None else item.estimate
            use = Occupant(job, item.slots, instance.now, end, "reserved")
        found[job.id] = item
        occupancy.uses.append(use)
    return found


def first_fit(occupancy: Occupancy, job: Job) -> Reserved | None:
    """Return the first instant at which a job fits: now, or at the end of a job.

    Unless it may backfill, it uses no slots that a future allocation needs, even if it ends before.
    """
    limit = granted_run_limit(occupancy.instance, job)
    backfills = occupancy.instance.queue(job.queue).backfill and limit is not None
    ends = (use.end for use in occupancy.uses if use.kind == "runs")
    for start in sorted({occupancy.now, *ends} - {FOREVER}):
        slots = occupancy.place(job, start, FOREVER)
        if slots is None and backfills:
            slots = occupancy.place(job, start, start + (limit or 0))
        if slots is not None:
            return Reserved(start, slots, start)
    return None
