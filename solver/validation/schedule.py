"""The judge on a simulation: whether what happened keeps every rule at every second.

The records are read as a plan in which each job lasts as long as it really ran. A job that was
preempted or resized holds several stretches, each of which is judged as a job of its own.

Check of a simulation for waiting jobs that could have started.

For a cycle in which a job waits, the validator looks for hosts where a start breaks no rule, given
all running jobs and all present and future reservations. It proposes few, simple allocations: it
may miss a job that could start, but each job that it reports could.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Protocol

from ...model.dependency import DependencyError, parse_dependency, status_tests
from ...model.duration import expected_duration, granted_run_limit
from ...model.instance import Instance
from ...model.job import Job, RunningJob
from ...model.plan import Plan, PlannedJob
from ...model.resreq.syntax import Simple
from ...model.service_class import GuaranteedPool
from . import capacity, shape, times, units
from . import facts as reservations
from . import shape as hosts
from .facts import Facts, Violation
from .guarantees import kept_for_owners
from .shape import may_be_closed, ptile_of, split

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

    def active(self, time: int) -> bool:
        """Return whether the allocation is in use at a second."""
        return self.start <= time and (self.end is None or time < self.end)

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
    seen = replace(instance, running=running, pending=pending, future=())
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
        yield from _too_soon(facts, part)
        yield from _too_long(instance, part, schedule)


def _too_soon(facts: Facts, part: HeldStretch) -> Iterator[Violation]:
    """Yield jobs that start before their submission, or outside the run window of their queue."""
    job = part.job
    if part.runs:
        return
    if part.start < job.submit:
        text = f"job {job.id}: it starts at {part.start} s and is submitted at {job.submit} s"
        yield Violation("submit", text, job.id, "", part.start)
    if not times.may_run(facts, job, part.start, part.start + 1):
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


#: Predicate whether a plan breaks no rule.
Allowed = Callable[[Facts], bool]
Allocation = dict[str, int]


def left_waiting(instance: Instance, schedule: Schedule, allowed: Allowed) -> Iterator[Violation]:
    """Yield each job that could start in a cycle and does not, once."""
    if any(queue.slot_pool or not queue.active for queue in instance.queues):
        return
    holds = schedule.settings.reservation != "none"
    # A job is tried for each partition, and a log does not show failed reservations in one.
    if holds and (not schedule.log or instance.partitions):
        return
    seen = _Observed.of(instance, schedule, allowed)
    told: set[str] = set()
    for time in seen.times():
        for job in seen.waiting(time):
            place = None if job.id in told else seen.place(job, time)
            if place is not None:
                told.add(job.id)
                where = ", ".join(f"{slots} of {host}" for host, slots in place.items())
                text = f"job {job.id}: it waits at {time} s and could start on {where}"
                yield Violation("idle", text, job.id, next(iter(place)), time)


@dataclass(slots=True)
class _Observed:
    """Inputs of the check: a simulation and its derived data."""

    #: The instance of the simulation.
    instance: Instance
    #: Schedule whose cycles are examined.
    schedule: Schedule
    #: Predicate whether a plan breaks no rule.
    allowed: Allowed
    #: All stretches in which jobs use allocations.
    parts: Sequence[HeldStretch]
    #: Record of each job by id.
    records: Mapping[str, Record]
    #: Times at which conditions on jobs become true.
    conditions: times.Times

    @classmethod
    def of(cls, instance: Instance, schedule: Schedule, allowed: Allowed) -> _Observed:
        """Read off a simulation of an instance."""
        whole = lives(instance, schedule)
        started = {part.job.id for part in whole}
        jobs = (*instance.pending, *instance.future)
        rest = [job for job in jobs if job.id not in started]
        return cls(
            instance,
            schedule,
            allowed,
            stretches(instance, schedule),
            {record.job: record for record in schedule.jobs},
            times.Times(facts_of(instance, whole, rest)),
        )

    def times(self) -> list[int]:
        """Return the cycles in which resources may be released or a job may become eligible."""
        jobs = (*self.instance.pending, *self.instance.future)
        found = {self.instance.now, *(part.end for part in self.parts if part.end is not None)}
        found |= {job.submit for job in jobs} | {job.begin for job in jobs if job.begin}
        found |= {entry["time"] for entry in self.schedule.log}
        windows = self.instance.advance_reservations
        found |= {time for item in windows for time in (item.start, item.end)}
        first, step = self.instance.now, self.schedule.settings.cycle
        if step:
            found = {first + -(-max(0, time - first) // step) * step for time in found}
        # The next cycle sees the slots that a preempting job leaves.
        for record in self.schedule.jobs:
            off = record.held if record.status == "preempted" else record.held[:-1]
            found -= {end for _, end, _ in off if end is not None}
        return sorted(time for time in found if first <= time <= self.schedule.time)

    def waiting(self, time: int) -> list[Job]:
        """Return the jobs that remain pending after a cycle although they may be feasible."""
        return [
            job
            for job in (*self.instance.pending, *self.instance.future)
            if self._waits(self.records[job.id], time)
            and max(job.submit, job.begin or 0) <= time
            and self._has_a_share(job)
            and self._condition_holds(job, time)
        ]

    @staticmethod
    def _waits(record: Record, time: int) -> bool:
        if record.start is None:
            return record.status == "pending"
        return record.start > time

    def _has_a_share(self, job: Job) -> bool:
        queue = self.instance.queue(job.queue)
        trees = [part.user_shares for part in self.instance.partitions]
        trees += [] if queue.user_shares is None else [queue.user_shares]
        return all(any(name == job.user for name, _ in tree) for tree in trees)

    def _condition_holds(self, job: Job, time: int) -> bool:
        """Return whether the condition of a job is certainly true."""
        if not job.dependency:
            return True
        if "!" in job.dependency:
            return False
        try:
            condition = parse_dependency(job.dependency)
        except DependencyError:
            return False
        for test in status_tests(condition):
            names = self.conditions.meant(test.job, job)
            known = [self.records[name] for name in names]
            done = all(it.status in ("done", "running") for it in known)
            # A cycle knows the jobs that started in earlier cycles only.
            begun = all(it.start is not None and it.start < time for it in known)
            if not (names and done and begun and test.word in ("done", "ended", "started")):
                return False
        return self.conditions.holds(condition, job, time - job.think_time)

    def place(self, job: Job, time: int) -> Allocation | None:
        """Return hosts on which the job could start then, None if none are found."""
        duration = expected_duration(self.instance, job)
        finish = None if duration is None else time + duration
        if any(pool.kind in ("hosts", "package") for pool in self.instance.guaranteed_pools):
            return None  # If jobs share GPUs, a scheduler reserves more of them than necessary.
        running = (*self._running(time), *self._reserved(job, time))
        if self.instance.guaranteed_pools and self._reserved_hosts_change(time):
            return None  # A scheduler uses the pools as they were at the beginning.
        there = replace(
            self.instance, now=time, running=tuple(running), pending=(job,), future=(), held=()
        )
        bare = replace(job, dependency="")
        # Waiting owners close loans on demand; a single job does not show whether owners wait.
        holds = self.schedule.settings.reservation != "none"
        pools = _without_unsure_loans(there, holds=holds)
        there = replace(there, pending=(bare,), guaranteed_pools=pools)
        facts = _facts(there, PlannedJob(job.id, time, finish, {}))
        found = facts.requirement(bare)
        if isinstance(found, str):
            return None
        waited, minutes = time - job.submit, 0
        for chosen, item in enumerate((found, *(later.requirement for later in found.later))):
            minutes = max(minutes, found.later[chosen - 1].delay or 0) if chosen else 0
            if not isinstance(item, Simple) or waited < 60 * minutes:
                continue
            count = len(item.rusage.alternatives) if item.rusage else 1
            for allocation in _proposed(facts, bare, item, time):
                for alternative in range(count):
                    entry = PlannedJob(job.id, time, finish, allocation, alternative=alternative)
                    entry = replace(entry, requirement_alternative=chosen)
                    if self._may_take(_facts(there, entry), job, time):
                        return allocation
        return None

    def _may_take(self, trial: Facts, job: Job, time: int) -> bool:
        """Return whether the only job of a plan can start then as planned."""
        (holding,) = trial.planned
        closed = any(
            may_be_closed(trial, holding, host) or self._has_just_accepted(job, host, time)
            for host in holding.allocation
        )
        return not closed and self.allowed(trial)

    def _reserved_hosts_change(self, time: int) -> bool:
        """Return whether an advance reservation is active at the beginning or then, but not
        both.
        """
        return any(
            (item.start <= self.instance.now < item.end) != (item.start <= time < item.end)
            for item in self.instance.advance_reservations
        )

    def _has_just_accepted(self, job: Job, host: str, time: int) -> bool:
        """Return whether JOB_ACCEPT_INTERVAL closes a host, counted from its last start, also of
        a finished job.
        """
        params = self.instance.params
        cycles = self.instance.queue(job.queue).job_accept_interval
        cycles = params.job_accept_interval if cycles is None else cycles
        since = time - cycles * params.mbd_sleep_time
        return any(since < part.start <= time and host in part.allocation for part in self.parts)

    def _running(self, time: int) -> Iterator[RunningJob]:
        """Yield all jobs with an allocation then; suspended jobs count with their slots."""
        for number, part in enumerate(self.parts):
            following = self.parts[number + 1] if number + 1 < len(self.parts) else None
            end = part.end
            if following is not None and is_later_part(following.job.id, part.job.id):
                end = following.start
            elif self.records[whole_name(part.job.id)].status == "preempted":
                end = None
            if part.start <= time and (end is None or time < end):
                finish = FOREVER if end is None else end
                lasting = replace(part, end=finish).lasting
                yield RunningJob(lasting, part.start, part.allocation, finish, part.alternative)

    def _reserved(self, job: Job, time: int) -> Iterator[RunningJob]:
        """Yield reservations of other jobs after the last cycle and before the job ends."""
        past = [entry for entry in self.schedule.log if entry["time"] <= time]
        limit = granted_run_limit(self.instance, job)
        limited = _limited(self.instance)
        jobs = {other.id: other for other in (*self.instance.pending, *self.instance.future)}
        for item in past[-1]["reservations"] if past else ():
            other = jobs.get(item["job"])
            if other is not None and other.id != job.id:
                slots = dict(item["reserved"])
                until = item["estimate"]
                lasts = limit is None or until is None or time + limit > until
                # For a limit, a future allocation counts from the time of its reservation.
                if lasts or limited:
                    for host, count in item.get("allocation", {}).items():
                        slots[host] = max(count, slots.get(host, 0))
                whole = replace(other, id=f"{other.id}.held") if "[" not in other.id else other
                yield RunningJob(whole, time, slots, FOREVER)


def _without_unsure_loans(instance: Instance, *, holds: bool) -> tuple[GuaranteedPool, ...]:
    """Return the guaranteed pools without loans that depend on demand or on reservations of others.

    holds: whether jobs reserve anything; a log does not show the resulting use.
    """
    return tuple(
        replace(pool, loans=None)
        if pool.loans is not None and (holds or pool.loans.close_on_demand)
        else pool
        for pool in instance.guaranteed_pools
    )


def _limited(instance: Instance) -> bool:
    """Return whether limits of users, queues, hosts or lsb.resources apply to some job."""
    of_queues = (
        (queue.queue_slots, queue.user_slots, queue.host_slots, queue.processor_slots)
        for queue in instance.queues
    )
    of_hosts = (host.user_slots for host in instance.cluster.hosts)
    given = any(most is not None for most in (*of_hosts, *(m for each in of_queues for m in each)))
    return bool(given or instance.limits or instance.users)


def _facts(instance: Instance, entry: PlannedJob) -> Facts:
    entries: tuple[PlannedJob, ...] = (entry,)
    plan = Plan("greedy", "lexicographic", "heuristic", instance.now, entries)
    return Facts.of(instance, plan, as_lsf=False, split=split)


def _proposed(facts: Facts, job: Job, asked: Simple, time: int) -> Iterator[Allocation]:
    """Yield simple allocations: over all hosts, over equal hosts, over each unit, on each host."""
    there = {name: [it for it in facts.running if name in it.allocation] for name in facts.hosts}
    free = {
        name: reservations.free_slots(facts, job, name, time, others)
        for name, others in there.items()
    }
    groups = [list(facts.hosts), *([name] for name in facts.hosts)]
    kinds = dict.fromkeys(host.type for host in facts.hosts.values())
    groups += [[h.name for h in facts.hosts.values() if h.type == kind] for kind in kinds]
    groups += [list(unit.hosts) for unit in facts.instance.cluster.units]
    seen = set()
    for group in groups:
        for first in range(len(group)):
            found = _filled(facts, job, asked, free, [*group[first:], *group[:first]])
            key = tuple(found.items())
            if found and key not in seen:
                seen.add(key)
                yield found


def _filled(
    facts: Facts, job: Job, asked: Simple, free: Mapping[str, int], names: Sequence[str]
) -> Allocation:
    """Return slots of the job on successive hosts, empty if there are too few."""
    found: Allocation = {}
    rest = job.slots
    for name in names:
        most = ptile_of(facts, facts.hosts[name], asked.span)
        take = min(rest, free[name] if most is None else most)
        if 0 < take <= free[name]:
            found[name] = take
            rest -= take
    return {} if rest else found
