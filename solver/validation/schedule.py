"""The judge on a simulation: whether what happened keeps every rule at every second.

The records are read as a plan in which each job lasts as long as it really ran. A job that was
preempted or resized holds several stretches, each of which is judged as a job of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Protocol

from ...model.duration import granted_run_limit
from ...model.instance import Instance
from ...model.job import Job, RunningJob
from ...model.plan import Plan, PlannedJob
from ...model.windows import open_periods
from . import capacity, hosts, shape, times, units
from .facts import Facts, Violation
from .guarantees import kept_for_owners

#: Duration in seconds of a job that has not ended.
FOREVER = 1 << 40

#: Separator of the job id and the number of its stretch.
_DOT = " part "

Rule = Callable[[Facts], Iterator[Violation]]


def guarantees(facts: Facts) -> Iterator[Violation]:
    """Yield starts that take resources which guaranteed pools keep for their owners."""
    if facts.instance.guaranteed_pools:
        yield from kept_for_owners(facts)


#: Checks of each stretch and each planned job: distribution of slots.
OF_SHAPE: tuple[Rule, ...] = (
    shape.split_terms,
    shape.slot_count,
    shape.span_one_host,
    shape.span_ptile,
    shape.span_block,
    shape.same,
    shape.cu_membership,
    shape.cu_maxcus,
    shape.cu_usable_slots,
    shape.cu_balance,
    units.cu_fewest,
    shape.cu_exclusive_allowed,
    shape.host_exclusive_allowed,
)
#: Checks of each stretch.
_OF_STRETCHES: tuple[Rule, ...] = (
    *OF_SHAPE,
    hosts.candidates,
    hosts.first_execution_host,
    hosts.one_partition,
    capacity.running,
    capacity.slots,
    capacity.alone,
    capacity.kinds,
)
#: Checks of stretches that begin with a start; a resumed job counts but is not checked.
_OF_STARTS: tuple[Rule, ...] = (capacity.limits, guarantees)
#: Checks of a preempted job: everything except its slots.
_OF_AMOUNTS: tuple[Rule, ...] = (capacity.amounts, capacity.shared, capacity.enough)
#: Checks of each job from its first start to its end.
_OF_LIVES: tuple[Rule, ...] = (
    times.starts,
    times.dependencies,
    times.dispatch_windows,
    times.reserved_times,
    capacity.accept_interval,
)


class Record(Protocol):
    """Record of one job in a simulation."""

    @property
    def job(self) -> str:
        """Return the id of the job."""

    @property
    def start(self) -> int | None:
        """Return the first start of the job, None if it never started."""

    @property
    def end(self) -> int | None:
        """Return the end of the job, None if it has not finished."""

    @property
    def status(self) -> str:
        """Return the status of the job: ``done``, ``killed``, ``pending`` …"""

    @property
    def alternative(self) -> int:
        """Return the index of its rusage alternative."""

    @property
    def requirement_alternative(self) -> int:
        """Return the index of the alternative in braces of its requirement."""

    @property
    def held(self) -> tuple[tuple[int, int | None, dict[str, int]], ...]:
        """Return the slots that the job reserved, with start and end (None: still reserved)."""


class Schedule(Protocol):
    """A simulation."""

    @property
    def jobs(self) -> Sequence[Record]:
        """Return one record for each job."""

    @property
    def time(self) -> int:
        """Return the instant at which the simulation stopped."""

    @property
    def log(self) -> Sequence[Mapping[str, Any]]:
        """Return the cycles of the simulation, if they were recorded."""

    @property
    def settings(self) -> Any:
        """Return the reservation method and the cycle interval in seconds."""


@dataclass(frozen=True, slots=True)
class HeldStretch:
    """A job on hosts over [start, end), None: it has not ended; runs: it ran before now."""

    #: Job that reserves the resources.
    job: Job
    #: Start of the stretch, in seconds from the origin.
    start: int
    #: End of the stretch in seconds from the origin, None if unknown.
    end: int | None
    #: Slots by host.
    allocation: Mapping[str, int]
    #: Index of the rusage alternative.
    alternative: int = 0
    #: Whether the job runs in the stretch.
    runs: bool = False

    @property
    def lasting(self) -> Job:
        """Return the job with its real duration as its run time."""
        seconds = FOREVER if self.end is None else max(1, self.end - self.start)
        return replace(
            self.job,
            run_limit=seconds,
            estimated_run_time=seconds,
            cpu_limit=None,
            run_time=None,
            deadline=None,
        )


def stretches(instance: Instance, schedule: Schedule) -> list[HeldStretch]:
    """Return all allocations over time, job by job; repeated job names get unique names."""
    jobs = _jobs(instance)
    before = {item.job.id for item in instance.running}
    return [
        HeldStretch(
            replace(_under(jobs, record), id=_part(record.job, number)),
            start,
            end,
            allocation,
            record.alternative,
            runs=record.job in before and not number,
        )
        for record in schedule.jobs
        if record.job in jobs
        for number, (start, end, allocation) in enumerate(record.held)
        if end is None or end > start or _is_suspended_immediately(record, number)
    ]


def _is_suspended_immediately(record: Record, number: int) -> bool:
    """Return whether a job is suspended in the second of this start; it counts until resumed."""
    _, end, _ = record.held[number]
    if number + 1 < len(record.held):
        return end is not None and end < record.held[number + 1][0]
    return record.status == "preempted"


def lives(instance: Instance, schedule: Schedule) -> list[HeldStretch]:
    """Return each job that started, on its first hosts, from its first start to its end."""
    jobs = _jobs(instance)
    before = {item.job.id for item in instance.running}
    return [
        HeldStretch(
            *(_under(jobs, it), it.start, it.end, it.held[0][2], it.alternative, it.job in before)
        )
        for it in schedule.jobs
        if it.job in jobs and it.start is not None and it.held
    ]


def _under(jobs: Mapping[str, Job], record: Record) -> Job:
    """Return a job with the alternative in braces by which it started."""
    job, chosen = jobs[record.job], record.requirement_alternative
    return replace(job, requirement_alternative=chosen) if chosen else job


def _suspensions(parts: Sequence[HeldStretch]) -> list[HeldStretch]:
    """Return the intervals in which a job had no slots: between two of its stretches."""
    found = []
    for one, other in pairwise(parts):
        same = is_later_part(other.job.id, one.job.id)
        if same and one.end is not None and one.end < other.start:
            job = replace(one.job, id=f"{one.job.id} off")
            found.append(HeldStretch(job, one.end, other.start, one.allocation, one.alternative))
    return found


def _jobs(instance: Instance) -> dict[str, Job]:
    known = (*(item.job for item in instance.running), *instance.pending, *instance.future)
    return {job.id: job for job in known}


def _part(name: str, number: int) -> str:
    """Return the name of a later stretch; for an element a name within its array."""
    if not number:
        return name
    return f"{name[:-1]}{_DOT}{number}]" if name.endswith("]") else f"{name}{_DOT}{number}"


def is_later_part(name: str, other: str) -> bool:
    """Return whether the first is a later stretch of the other's job."""
    (whole, number), (first, before) = (_numbered(each) for each in (name, other))
    return whole == first and number == before + 1


def whole_name(name: str) -> str:
    """Return the name of the job of a stretch."""
    return _numbered(name)[0] + "]" * name.endswith("]")


def _numbered(name: str) -> tuple[str, int]:
    head, dot, tail = name.removesuffix("]").rpartition(_DOT)
    return (head, int(tail)) if dot else (name.removesuffix("]"), 0)


def facts_of(
    instance: Instance, parts: Sequence[HeldStretch], waiting: Sequence[Job] = ()
) -> Facts:
    """Return the stretches as a plan, with jobs that wait."""
    parts = [part for part in parts if part.end is None or part.end > max(part.start, instance.now)]
    planned = [part for part in parts if not part.runs]
    running = tuple(
        RunningJob(
            part.lasting,
            part.start,
            part.allocation,
            FOREVER if part.end is None else part.end,
            part.alternative,
        )
        for part in parts
        if part.runs
    )
    pending = (*(part.lasting for part in planned), *waiting)
    # The ends are those of the schedule, which no run window postpones.
    queues = tuple(replace(queue, run_window="") for queue in instance.queues)
    seen = replace(instance, queues=queues, running=running, pending=pending, future=())
    plan = Plan("greedy", "lexicographic", "heuristic", instance.now, tuple(map(_entry, planned)))
    return Facts.of(seen, plan, as_lsf=False, split=shape.split)


def _entry(part: HeldStretch) -> PlannedJob:
    return PlannedJob(
        part.job.id,
        part.start,
        part.start + (part.lasting.run_limit or 0),
        part.allocation,
        method="greedy",
        alternative=part.alternative,
        requirement_alternative=part.job.requirement_alternative or 0,
    )


def broken(instance: Instance, schedule: Schedule) -> Iterator[Violation]:
    """Yield every rule that the simulated schedule violates."""
    parts = stretches(instance, schedule)
    facts = facts_of(instance, parts)
    for rule in _OF_STRETCHES:
        yield from rule(facts)
    begun = {part.job.id for part in lives(instance, schedule)}
    facts = facts_of(instance, [replace(p, runs=p.job.id not in begun or p.runs) for p in parts])
    for rule in _OF_STARTS:
        yield from rule(facts)
    facts = facts_of(instance, [*parts, *_suspensions(parts)])
    for rule in _OF_AMOUNTS:
        yield from rule(facts)
    whole = lives(instance, schedule)
    started = {part.job.id for part in whole}
    waiting = [job for job in _jobs(instance).values() if job.id not in started]
    facts = facts_of(instance, whole, waiting)
    for rule in _OF_LIVES:
        yield from rule(facts)
    for part in whole:
        yield from _too_soon(instance, part)
        yield from _too_long(instance, part, schedule)


def _too_soon(instance: Instance, part: HeldStretch) -> Iterator[Violation]:
    """Yield jobs that start before their submission, or outside the run window of their queue."""
    job = part.job
    if part.runs:
        return
    if part.start < job.submit:
        text = f"job {job.id}: it starts at {part.start} s and is submitted at {job.submit} s"
        yield Violation("submit", text, job.id, "", part.start)
    window = instance.queue(job.queue).run_window
    if not open_periods(window, instance.origin, part.start, part.start + 1):
        text = f"job {job.id}: it starts at {part.start} s, outside the RUN_WINDOW of its queue"
        yield Violation("run-window", text, job.id, "", part.start)


def _too_long(instance: Instance, part: HeldStretch, schedule: Schedule) -> Iterator[Violation]:
    """Yield jobs that run longer than their limit without any suspension."""
    limit = granted_run_limit(instance, part.job)
    suspended = any(it.job == part.job.id and len(it.held) > 1 for it in schedule.jobs)
    if limit is None or suspended or part.runs or _stops(instance, part.job):
        return
    end = schedule.time if part.end is None else part.end
    if end - part.start > limit:
        text = f"job {part.job.id}: it runs from {part.start} to {end} s, its limit is {limit} s"
        yield Violation("run-limit", text, part.job.id, "", end)


def _stops(instance: Instance, job: Job) -> bool:
    """Return whether a window or load may suspend a job on its slots."""
    queue = instance.queue(job.queue)
    loads = [queue.thresholds, *(host.thresholds for host in instance.cluster.hosts)]
    return bool(queue.run_window) or any(item.stop for item in loads)
