"""Literal references: every placement of every job tried, judged by validate() alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

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


def least_total_start(instance: Instance) -> int | None:
    """The least sum of starts over all joint plans of one or two jobs; None if one has no place.

    Some optimum cannot be shifted left, so a start is now, an end or phase end of what runs, or one
    of the other job.
    """
    ends = {expected_finish(instance, run) for run in instance.running} - {None}
    roots = {instance.now, *(end for end in ends if end is not None)}
    spans = {
        job.id: {0, expected_duration(instance, job) or 0, *_drops(job, 10**9)}
        for job in instance.pending
    }
    forms = {job.id: shapes(instance, job) for job in instance.pending}

    def times(job: Job) -> list[int]:
        others = [spans[other.id] for other in instance.pending if other.id != job.id] or [{0}]
        return sorted({root + span for root in roots for span in others[0]})

    if len(instance.pending) == 1:
        (job,) = instance.pending
        return next(
            (
                time
                for time in times(job)
                for form in forms[job.id]
                if is_valid(instance, (_at(instance, form, time),))
            ),
            None,
        )
    first, second = instance.pending
    pairs = sorted(product(times(first), times(second)), key=sum)
    for one, two in pairs:
        for form in forms[first.id]:
            begun = _at(instance, form, one)
            if is_valid(instance, (begun,)) and any(
                is_valid(instance, (begun, _at(instance, other, two))) for other in forms[second.id]
            ):
                return one + two
    return None


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


def starts_by_the_minute(instance: Instance) -> dict[str, int | None]:
    """The lexicographically earliest starts where every time is a whole minute: all are tried.

    Knows nothing of events: a job's start is the first minute at which it fits into some joint
    placement of the jobs before it at their starts. None: no start before everything is over.
    """
    horizon = _horizon(instance)
    prefixes: list[Placed] = [()]
    starts: dict[str, int | None] = {}
    for job in instance.pending:
        last = job is instance.pending[-1]
        starts[job.id] = None
        for time in range(instance.now, horizon, 60):
            alone = [item for item in entries(instance, job, time) if is_valid(instance, (item,))]
            grown: list[Placed] = []
            for placed in ((*prefix, item) for item in alone for prefix in prefixes):
                if is_valid(instance, placed):
                    grown.append(placed)
                    if last:
                        break
            if grown:
                prefixes, starts[job.id] = grown, time
                break
    return starts


def _horizon(instance: Instance) -> int:
    """By now everything that ends has ended: with the last jobs one after another."""
    ends = [expected_finish(instance, run) or 0 for run in instance.running]
    ends += [item.end for item in instance.advance_reservations]
    ends += [job.begin or 0 for job in instance.pending]
    rest = sum(expected_duration(instance, job) or 0 for job in instance.pending)
    return max([instance.now, *ends]) + rest + 10 * 60
