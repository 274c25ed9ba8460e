"""Literal references: every placement of every job tried, judged by validate() alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from slotwise import Instance, Job, Plan, PlannedJob
from slotwise.model.duration import expected_duration, expected_finish
from slotwise.solver.validate import validate

Placed = tuple[PlannedJob, ...]


def is_valid(instance: Instance, placed: Placed) -> bool:
    """Whether the placed jobs keep every rule beside what runs; the others are left out."""
    done = {item.job for item in placed}
    pending = tuple(job for job in instance.pending if job.id in done)
    plan = Plan("test", "lexicographic", "heuristic", instance.now, placed)
    said = validate(replace(instance, pending=pending), plan)
    # Whether a job needs as many units as it has depends on the jobs that are still to come.
    return all(fault.check == "cu-fewest" for fault in said)


def allocations(instance: Instance, slots: int) -> Iterator[dict[str, int]]:
    """Every way to take `slots` slots of the hosts."""

    def extend(position: int, left: int) -> Iterator[dict[str, int]]:
        if position == len(instance.cluster.hosts):
            if left == 0:
                yield {}
            return
        host = instance.cluster.hosts[position]
        for taken in range(min(left, host.slots) + 1):
            for rest in extend(position + 1, left - taken):
                yield {host.name: taken, **rest} if taken else rest

    yield from extend(0, slots)


def entries(instance: Instance, job: Job, time: int) -> Iterator[PlannedJob]:
    """Every entry of one job at one start, all rusage alternatives included."""
    duration = expected_duration(instance, job)
    finish = None if duration is None else time + duration
    alternatives = 2 if any("||" in text for text in job.res_req) else 1
    for alternative in range(alternatives):
        for allocation in allocations(instance, job.slots):
            for ordered in _orders(instance, job, allocation):
                yield PlannedJob(
                    job.id, time, finish, ordered, method="test", alternative=alternative
                )


def _orders(instance: Instance, job: Job, allocation: dict[str, int]) -> Iterator[dict[str, int]]:
    """The allocation with each of its hosts as the first, where that matters at all.

    It does for -m host!, for the first term of a compound requirement, and for what a job takes
    on its first host alone.
    """
    marked = any(request.first for request in job.hosts)
    compound = any("{" in text for text in job.res_req)
    once = any(usage.method == "PER_JOB" for usage in instance.reservation_usage)
    for first in allocation if marked or compound or once else list(allocation)[:1]:
        yield {first: allocation[first], **allocation}


def shapes(instance: Instance, job: Job) -> list[PlannedJob]:
    """Entries at now that are valid on the empty cluster: the shapes that the job may take."""
    empty = replace(instance, running=())
    return [item for item in entries(empty, job, instance.now) if is_valid(empty, (item,))]


def lexicographic_starts(instance: Instance) -> dict[str, int | None]:
    """The lexicographically earliest starts over all joint placements; None: no start at all.

    Keeps, for the starts fixed so far, every joint placement that is valid.
    """
    ends = {expected_finish(instance, run) for run in instance.running} - {None}
    times = {instance.now, *(end for end in ends if end is not None)}
    prefixes: list[Placed] = [()]
    starts: dict[str, int | None] = {}
    for job in instance.pending:
        forms = shapes(instance, job)
        starts[job.id] = None
        for time in sorted(times):
            grown = [
                (*prefix, moved)
                for prefix in prefixes
                for form in forms
                if is_valid(instance, (*prefix, moved := _at(instance, form, time)))
            ]
            if grown:
                prefixes = grown
                starts[job.id] = time
                duration = expected_duration(instance, job)
                assert duration is not None
                times |= {time + duration, *(time + drop for drop in _drops(job, duration))}
                break
    return starts


def unplaced(plan: Plan) -> set[str]:
    """Jobs that a plan leaves without a start."""
    return {item.job for item in plan.unplaced} | {
        item.job for item in plan.reservations if item.start is None
    }


def _at(instance: Instance, form: PlannedJob, time: int) -> PlannedJob:
    assert form.start is not None
    assert form.finish is not None
    return replace(form, start=time, finish=form.finish + time - form.start)


def _drops(job: Job, duration: int) -> list[int]:
    """Ends of memory phases of the two-phase requirement of the random instances."""
    if any("duration=(2 3)" in text for text in job.res_req):
        return [drop for drop in (120, 300) if drop < duration]
    return []
