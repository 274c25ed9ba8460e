"""Check of a simulation for waiting jobs that could have started.

For a cycle in which a job waits, the validator looks for hosts where a start breaks no rule, given
all running jobs and all present and future reservations. It proposes few, simple allocations: it
may miss a job that could start, but each job that it reports could.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ...model.dependency import DependencyError, parse_dependency, status_tests
from ...model.duration import expected_duration, granted_run_limit
from ...model.instance import Instance
from ...model.job import Job, RunningJob
from ...model.plan import Plan, PlannedJob
from ...model.resreq.syntax import Simple
from ...model.service_class import GuaranteedPool
from . import reservations, times
from .facts import Facts, Violation
from .hosts import may_be_closed
from .schedule import (
    FOREVER,
    HeldStretch,
    Record,
    Schedule,
    facts_of,
    is_later_part,
    lives,
    stretches,
    whole_name,
)
from .shape import ptile_of, split

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
