"""Rules for the order in which jobs are tried: queues, priorities, APS (APS-01).

If the order depends on shares, only jobs that are equal for all shares are compared.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from fractions import Fraction
from operator import attrgetter
from typing import Any

from ...model.absolute_priority import AbsolutePriority
from ...model.configuration import Queue
from ...model.instance import Instance
from ...model.job import Job
from ...model.resreq.syntax import Compound, Simple
from .facts import Facts, Violation, counts_of, method
from .schedule import Record, Schedule, facts_of, stretches
from .slurm import FairshareOverTime

#: Sort key of a job, comparable within one class.
Place = tuple[Any, ...]
#: Parts of each factor.
_WITHIN = {"RSRC": ("PROC", "MEM", "SWAP"), "WORK": ("JPRIORITY", "QPRIORITY", "APP", "USER", "UG")}
_LARGEST = 1e6
#: Difference of two priorities whose fairshare parts are truncated.
_ROUNDED = 2
#: Tolerance for equal values.
_LEVEL = 1e-9


@dataclass(frozen=True, slots=True)
class Standing:
    """Position of a job among those of its class."""

    #: Class of the job; only jobs of one class can be compared.
    group: tuple[object, ...]
    #: Sort key within the class.
    place: Place


class Standings:
    """Positions of the jobs of an instance at one time."""

    def __init__(self, facts: Facts, shares: FairshareOverTime | None = None) -> None:
        self._facts = facts
        #: Fairshare of Slurm by which jobs of several users are compared.
        self._shares = shares
        self._instance = facts.instance
        self._shared = bool(self._instance.partitions) or any(
            queue.user_shares or queue.slot_pool for queue in facts.queues.values()
        )
        self._parents = _parents(self._instance)

    def of(self, job: Job, now: int) -> Standing | None:
        """Return the position of a job at `now`; None if it cannot be determined."""
        own = grown(self._instance, job, now)
        parent = self._parents.get(job.queue)
        if parent is None or parent.aps_priority is None:
            moved = 0.0 if self._shares is None else self._shares.moved(job, now)
            place = (-self._facts.queues[job.queue].priority, -own - moved, job.queue_position)
            return Standing(("queue", *(_seen_by_shares(job) if self._shared else ())), place)
        formula = parent.aps_priority
        by_shares = bool(parent.user_shares) and "FS" in formula.weights
        if by_shares and "FS" in formula.delays:
            return None
        group = ("absolute", parent.name, *(_seen_by_shares(job) if by_shares else ()))
        if job.aps is not None and job.aps.kind == "system":
            return Standing(group, (0, -job.aps.value, job.submit))
        worth = round(self._value(formula, job, now, own) / _LEVEL) * _LEVEL
        return Standing(group, (1, -worth, job.submit))

    def is_near(self, one: Standing, other: Standing) -> bool:
        """Return whether only a rounded part of fairshare keeps two jobs of one queue apart."""
        known = self._shares is not None and one.place[0] == other.place[0]
        return known and 0 < abs(one.place[1] - other.place[1]) <= _ROUNDED

    def _value(self, formula: AbsolutePriority, job: Job, now: int, own: int) -> float:
        """Return the sum of APS_PRIORITY without FS, which is equal for all compared jobs."""
        pended = max(0, now - job.submit)
        weights, limits = formula.weights, formula.limits

        def counts(name: str) -> bool:
            return pended >= formula.delays.get(name, 0)

        def within(value: float, name: str) -> float:
            bound = abs(limits[name]) if name in limits else float("inf")
            return min(bound, max(-bound, value))

        total = 0.0
        for factor, parts in _WITHIN.items():
            if not counts(factor):
                continue
            inside = sum(
                within(weights[part] * self._metric(part, job, own), part)
                for part in parts
                if part in weights and counts(part)
            )
            total += within(weights.get(factor, 1.0) * inside, factor)
        if job.aps is not None and job.aps.kind == "admin":
            total += job.aps.value
        return min(total, _LARGEST)

    def _metric(self, name: str, job: Job, own: int) -> float:
        instance = self._instance
        match name:
            case "PROC":
                return job.slots if job.max_slots is None else job.max_slots
            case "MEM" | "SWAP":
                return self._asked(job, "mem" if name == "MEM" else "swp")
            case "JPRIORITY":
                return own
            case "QPRIORITY":
                return self._facts.queues[job.queue].priority
            case "APP":
                return sum(p.priority for p in instance.applications if p.name == job.application)
            case "USER":
                return sum(user.priority for user in instance.users if user.name == job.user)
            case _:
                return sum(group.priority for group in instance.groups if group.name == job.group)

    def _asked(self, job: Job, resource: str) -> float:
        """Return the requested MB in total, by the first alternative; a host amount on the
        fewest hosts.
        """
        asked = self._facts.requirement(job)
        if isinstance(asked, str):
            return 0.0
        parts: list[tuple[Simple, int]] = []
        if isinstance(asked, Compound):
            parts += zip(
                (term.requirement for term in asked.terms), counts_of(job, asked), strict=True
            )
        else:
            parts.append((asked, job.slots if job.max_slots is None else job.max_slots))
        total = 0.0
        for part, slots in parts:
            tile = part.span.ptile if part.span is not None else None
            for item in part.rusage.reservations() if part.rusage and slots else ():
                if item.resource != resource:
                    continue
                times = {"PER_SLOT": slots, "PER_JOB": 1}
                hosts = -(-slots // tile) if tile else 1
                total += item.initial * times.get(method(self._facts, item, "PER_HOST"), hosts)
        return total


def grown(instance: Instance, job: Job, now: int) -> int:
    """The job priority at `now`, by JOB_PRIORITY_OVER_TIME, or by age as Slurm has it."""
    if instance.params.family == "Slurm":
        return job.priority + (0 if job.has_fixed_priority else _aged(instance, job, now))
    growth, most = instance.params.job_priority_over_time, instance.params.max_user_priority
    if growth is None or most == 0 or now <= job.submit:
        return job.priority
    by, seconds = growth[0], 60 * growth[1]
    if instance.params.family == "LSF":
        return job.priority + by * int((now - job.submit) / seconds)
    return job.priority + int(by * (now - job.submit) / seconds)


def _aged(instance: Instance, job: Job, now: int) -> int:
    """The age part of a priority at the last computation, less that of second 0."""
    pairs = (
        word.split("=") for word in instance.params.select_parameters.split(",") if "=" in word
    )
    words = {pair[0]: pair[1] for pair in pairs}
    weight = int(words.get("PriorityWeightAge", "0"))
    longest = Fraction(words.get("PriorityMaxAge", "604800"))
    every = int(words.get("PriorityCalcPeriod", "300"))
    first = max(job.submit, job.begin or job.submit)
    if "ACCRUE_ALWAYS" in words.get("PriorityFlags", ""):
        first = job.submit
    parts = []
    for time in (now - now % every, 0):
        share = max(Fraction(0), min(Fraction(1), (time - first) / longest))
        parts.append(int(weight * share))
    return parts[0] - parts[1]


def _parents(instance: Instance) -> dict[str, Queue]:
    """Return for each queue the queue whose formula orders its jobs."""
    absolute = [queue for queue in instance.queues if queue.aps_priority is not None]
    found: dict[str, Queue] = {}
    for queue in absolute:
        for name in queue.queue_group:
            found[name] = queue
    for queue in absolute:
        found.setdefault(queue.name, queue)
    return found


def _seen_by_shares(job: Job) -> tuple[object, ...]:
    return job.queue, job.user, job.group, job.project, job.slots, job.res_req, job.hosts


def ahead(facts: Facts, behind: list[str]) -> Iterator[Violation]:
    """Yield jobs omitted as last in the order that come before another job; `behind`: their ids."""
    standings = Standings(facts)
    now = facts.instance.now
    last: dict[tuple[object, ...], tuple[Place, str]] = {}
    waiting = set(behind)
    for name, job in facts.pending.items():
        if name not in waiting and (at := standings.of(job, now)) is not None:
            last[at.group] = max(last.get(at.group, (at.place, name)), (at.place, name))
    for name in behind:
        at = standings.of(facts.pending[name], now)
        later = None if at is None else last.get(at.group)
        if at is not None and later is not None and at.place < later[0]:
            text = f"job {name}: it is omitted as behind the others, and comes before {later[1]}"
            yield Violation("entry", text, name)


#: Fields in which jobs may differ and still be compared; -b is checked apart.
_OWN = frozenset(
    {"id", "submit", "begin", "priority", "queued_as", "aps", "weight", "name", "orphan_term"}
    | {"run_time", "cpu_time"}
)
_ASKED = attrgetter(*(field.name for field in fields(Job) if field.name not in _OWN))
#: Fields of a request without the association, if the shares of all are known.
_ASKED_BY_ANY = attrgetter(
    *(field.name for field in fields(Job) if field.name not in _OWN | {"user", "project"})
)


def out_of_order(instance: Instance, schedule: Schedule) -> Iterator[Violation]:
    """Yield waiting jobs behind which a job with an equal request starts.

    Checked if positions change with time or follow absolute priority. A job that had reserved slots
    before its start keeps them, and starts before those that have overtaken it.
    """
    growing = (
        instance.params.job_priority_over_time is not None
        or "PriorityWeightAge=" in instance.params.select_parameters
        or "PriorityWeightFairshare=" in instance.params.select_parameters
    )
    if not growing and not any(queue.aps_priority for queue in instance.queues):
        return
    jobs = {job.id: job for job in (*instance.pending, *instance.future)}
    shares = FairshareOverTime.across_users(instance, stretches(instance, schedule), schedule.time)
    asked = _ASKED if shares is None else _ASKED_BY_ANY
    alike: dict[tuple[object, ...], list[Record]] = {}
    for record in schedule.jobs:
        job = jobs.get(record.job)
        if job is not None and not job.dependency and job.array_limit is None:
            alike.setdefault((asked(job),), []).append(record)
    if schedule.settings.reservation != "none" and not schedule.log:
        return
    held: dict[str, list[int]] = {}
    for entry in schedule.log:
        for item in entry["reservations"]:
            held.setdefault(item["job"], []).append(entry["time"])
    standings = Standings(facts_of(instance, (), ()), shares)
    for records in alike.values():
        if len(records) > 1:
            free = [it for it in records if it.start is not None and not held.get(it.job)]
            yield from _overtaken(standings, jobs, free, records)


def _overtaken(
    standings: Standings, jobs: dict[str, Job], started: list[Record], records: list[Record]
) -> Iterator[Violation]:
    for record in started:
        time = record.start
        assert time is not None
        own = standings.of(jobs[record.job], time)
        for other in records:
            job = jobs[other.job]
            waits = other.start is None or other.start > time
            if not waits or max(job.submit, job.begin or 0) >= time:
                continue
            at = standings.of(job, time)
            if own is None or at is None or at.group != own.group:
                continue
            if at.place < own.place and not standings.is_near(own, at):
                text = f"job {record.job}: it starts at {time} s before job {job.id}, which asks "
                text += "for the same and comes before it then"
                yield Violation("order", text, record.job, time=time)
                break
