"""Checks of a plan's claims: entries, bounds, proofs, value and status."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from numbers import Integral
from typing import get_args

import numpy as np

from ...model.job import Job
from ...model.objective import objectives
from ...model.plan import Plan, PlannedJob, Status, Unplaced
from ...model.resreq.syntax import simples
from . import capacity, order, reservations
from .facts import Facts, Holding, Violation
from .hosts import may_begin_on

STATUSES: tuple[str, ...] = get_args(Status)


def entries(facts: Facts) -> Iterator[Violation]:
    """Yield pending jobs that are missing or repeated in the plan, and entries of unknown jobs."""
    plan = facts.plan
    if plan.now != facts.instance.now:
        text = f"the plan is made for {plan.now} s, the instance's now is {facts.instance.now} s"
        yield Violation("entry", text, time=plan.now)
    running = {item.job.id for item in facts.instance.running}
    seen = Counter([item.job for item in plan.reservations] + [item.job for item in plan.unplaced])
    for job, times in seen.items():
        if job in facts.pending and times > 1:
            yield Violation("entry", f"job {job}: it is in the plan {times} times", job)
        elif job not in facts.pending:
            why = "it is already running" if job in running else "there is no such pending job"
            yield Violation("entry", f"job {job}: {why}", job)
    lost = [job for job in facts.pending if job not in seen]
    if plan.behind and len(lost) != plan.behind:
        text = f"{plan.behind} jobs are claimed to be behind those of the plan, but {len(lost)} are"
        yield Violation("entry", text)
    if len(lost) != plan.behind:
        for job in lost:
            text = f"job {job}: it is missing: neither among the reservations nor unplaced"
            yield Violation("entry", text, job)
        return
    yield from order.ahead(facts, lost)


def whole_times(plan: Plan) -> Iterator[Violation]:
    """Yield times that are no whole number of seconds."""
    for entry in plan.reservations:
        for name in ("start", "finish", "bound", "estimate"):
            time = getattr(entry, name)
            if time is not None and (isinstance(time, bool) or not isinstance(time, Integral)):
                text = f"job {entry.job}: its {name} {time} is not a whole number of seconds"
                yield Violation("entry", text, entry.job)
    for name in ("now", "margin", "behind"):
        number = getattr(plan, name)
        if isinstance(number, bool) or not isinstance(number, Integral):
            yield Violation("entry", f"{name} {number} is not a whole number")


def allocations(facts: Facts) -> Iterator[Violation]:
    """Yield starts with a host without slots, and estimates with an allocation."""
    for entry, job in facts.entries():
        if entry.start is not None and not entry.allocation:
            yield Violation("allocation", f"job {job.id}: it starts without hosts", job.id)
        if entry.start is None and entry.allocation:
            yield Violation("allocation", f"job {job.id}: it has hosts without a start", job.id)
        for host, slots in (*entry.allocation.items(), *entry.reserved.items()):
            if host not in facts.hosts:
                yield Violation(
                    "allocation", f"job {job.id}: there is no host {host}", job.id, host
                )
            elif slots < 1:
                text = f"job {job.id}: it holds {slots} slots on host {host}"
                yield Violation("allocation", text, job.id, host, entry.start)


def bounds(facts: Facts) -> Iterator[Violation]:
    """Yield bounds above the start, proved starts that differ from the bound, and past estimates.

    A proof has conditions or none; they must be other jobs with a start.
    """
    started = {item.job for item in facts.plan.reservations if item.start is not None}
    for entry, job in facts.entries():
        if entry.start is not None and entry.bound is not None and entry.bound > entry.start:
            text = f"job {job.id}: bound {entry.bound} s is above its start {entry.start} s"
            yield Violation("bound", text, job.id, "", entry.start)
        if entry.proved and (entry.start is None or entry.bound != entry.start):
            bound, start = _at(entry.bound), _at(entry.start)
            text = f"job {job.id}: start {start} is called proved, its bound is {bound}"
            yield Violation("bound", text, job.id, "", entry.start)
        if entry.proved_if and (entry.proved or entry.job in entry.proved_if):
            yield Violation("bound", f"job {job.id}: its proof has conditions", job.id)
        for other in entry.proved_if:
            if other not in started:
                text = f"job {job.id}: its proof depends on job {other}, which has no start"
                yield Violation("bound", text, job.id)
        if entry.estimate is not None and entry.estimate < facts.instance.now:
            text = f"job {job.id}: estimate {entry.estimate} s is before now"
            yield Violation("bound", text, job.id, "", entry.estimate)


def _at(time: int | None) -> str:
    return "unknown" if time is None else f"{time} s"


def reserved(facts: Facts) -> Iterator[Violation]:
    """Yield jobs that reserve more slots now than running jobs leave free.

    Without a future allocation a job reserves nothing unless it has a first execution host.
    Reserved slots used by backfill are not in a plan.
    """
    now = facts.instance.now
    held: dict[str, list[tuple[str, int]]] = {}
    for entry, job in facts.entries():
        lent = bool(facts.instance.borrowed) or any(
            item.start == now and may_begin_on(facts, job, item.allocation)
            for item in (facts.planned if entry.reserved and entry.start is None else ())
        )
        sure = entry.start is None and not lent
        if entry.reserved and sure and not may_begin_on(facts, job, entry.reserved):
            text = f"job {job.id}: slots reserved, and none on a first execution host (-m)"
            yield Violation("reserved", text, job.id, next(iter(entry.reserved)), now)
        for host, slots in entry.reserved.items():
            if host in facts.hosts:
                held.setdefault(host, []).append((job.id, slots))
    for host, reserving in held.items():
        here = (item for item in facts.holdings_on(host) if not item.planned)
        used = sum(item.allocation[host] for item in here if item.active(now))
        free = max(0, facts.hosts[host].slots - used)
        total = sum(slots for _, slots in reserving)
        if total > free:
            names = ", ".join(job for job, _ in reserving)
            word = "job" if len(reserving) == 1 else "jobs"
            text = (
                f"{word} {names}: {total} slots reserved on host {host} at {now} s, {free} are free"
            )
            yield Violation("reserved", text, reserving[-1][0], host, now)


#: Relative tolerance for claims: sums of floats and bounds by weights of nine digits differ by
#: less.
SAME = 1e-9

_Known = list[tuple[PlannedJob, Job]]


def value(facts: Facts) -> Iterator[Violation]:
    """Yield an unknown objective, and values and bounds that it cannot have.

    The value is recomputed if every job has a start and an end that the objective needs. A bound
    may not exceed it; "optimal" requires that they are equal.
    """
    plan = facts.plan
    if plan.objective not in objectives() or plan.objective not in FORMULAS:
        known = ", ".join(name for name in objectives() if name in FORMULAS)
        yield Violation("value", f"objective {plan.objective} is not one of {known}")
        return
    entries = list(facts.entries())
    if plan.value is None:
        if plan.bound is not None:
            yield Violation("value", f"bound {_number(plan.bound)} is claimed without a value")
        return
    if not math.isfinite(plan.value):
        yield Violation("value", f"value {plan.value} is not a number")
        return
    if all(entry.start is not None for entry, _ in entries):
        right = FORMULAS[plan.objective](facts, entries)
        if not _same(right, plan.value):
            text = (
                f"value {_number(plan.value)} is claimed, {plan.objective} gives {_number(right)}"
            )
            yield Violation("value", text)
    yield from _bound(facts, plan.value)


def _bound(facts: Facts, value: float) -> Iterator[Violation]:
    plan = facts.plan
    proved = plan.status in ("optimal", "infeasible")
    if plan.bound is None:
        if proved and plan.objective != "lexicographic":
            yield Violation("value", f"status {plan.status}, but no bound is claimed")
        return
    if not math.isfinite(plan.bound):
        yield Violation("value", f"bound {plan.bound} is not a number")
    elif plan.bound > value and not _same(plan.bound, value):
        text = f"bound {_number(plan.bound)} is above the value {_number(value)}"
        yield Violation("value", text)
    elif proved and not _same(plan.bound, value):
        text = f"status {plan.status}, but bound {_number(plan.bound)} is below the value"
        yield Violation("value", f"{text} {_number(value)}")


def _number(amount: float) -> str:
    return f"{amount:.15g}"


def _same(one: float, other: float) -> bool:
    return abs(one - other) <= SAME * max(abs(one), abs(other))


def _waits(known: _Known, now: int) -> list[tuple[Job, int]]:
    return [(job, entry.start - now) for entry, job in known if entry.start is not None]


def _end(facts: Facts, job: Job, start: int) -> int:
    """Return the end of a job for an objective; a job without a known end counts by its start.

    -t does not shorten a job here.
    """
    finish = facts.undisturbed_finish(job, start)
    return start if finish is None else finish


def _total_start(facts: Facts, known: _Known) -> float:
    return math.fsum(wait for _, wait in _waits(known, facts.plan.now))


def _weighted(facts: Facts, known: _Known) -> float:
    return math.fsum(job.weight * wait for job, wait in _waits(known, facts.plan.now))


def _makespan(facts: Facts, known: _Known) -> float:
    now = facts.plan.now
    ends = [_end(facts, job, now + wait) - now for job, wait in _waits(known, now)]
    return float(max(ends, default=0))


def _slowdown(facts: Facts, known: _Known) -> float:
    """Return the mean of (wait + run) / run since submission; run times at least 10 s, ratio at
    least 1.
    """
    now = facts.plan.now
    each = []
    for job, wait in _waits(known, now):
        end = _end(facts, job, now + wait)
        run = end - (now + wait)
        each.append(max(1.0, (end - job.submit) / max(run, 10)))
    return math.fsum(each) / len(each) if each else 0.0


def _tardiness(facts: Facts, known: _Known) -> float:
    now = facts.plan.now
    return math.fsum(
        job.weight * max(0, _end(facts, job, now + wait) - job.deadline)
        for job, wait in _waits(known, now)
        if job.deadline is not None
    )


#: Formula of each objective, written independently of its class.
FORMULAS: Mapping[str, Callable[[Facts, _Known], float]] = {
    "total-start": _total_start,
    "lexicographic": _total_start,
    "weighted": _weighted,
    "makespan": _makespan,
    "slowdown": _slowdown,
    "tardiness": _tardiness,
}


#: Objectives that improve whenever one job starts earlier and no other job moves.
BETTER_EARLIER = frozenset({"total-start"})


def status(facts: Facts) -> Iterator[Violation]:
    """Yield an unknown status, or one that does not fit the plan."""
    plan = facts.plan
    if plan.status not in STATUSES:
        yield Violation("status", f"status {plan.status} is not one of {', '.join(STATUSES)}")
    if plan.status == "infeasible" and not plan.unplaced:
        yield Violation("status", "status infeasible, but no job is unplaced")
    if plan.status == "optimal" and plan.unplaced:
        names = ", ".join(item.job for item in plan.unplaced)
        yield Violation("status", f"status optimal, but unplaced: {names}")
    if plan.status == "optimal" and plan.objective != "lexicographic":
        for entry in plan.reservations:
            if entry.start is None:
                text = f"status optimal, but job {entry.job} has no start"
                yield Violation("status", text, entry.job)
    if plan.status == "optimal" and plan.objective == "lexicographic":
        for entry in plan.reservations:
            if not entry.proved:
                text = f"status optimal, but the start of job {entry.job} is not proved"
                yield Violation("status", text, entry.job, "", entry.start)


#: Maximum number of moves in all, and for one job: each is a check of the whole plan.
MAX_MOVES, MAX_OF_A_JOB = 40, 3
#: Maximum number of entries in all these checks.
MAX_LOOKS = 50_000


def false_bounds(facts: Facts, allowed: Callable[[Plan, str], bool]) -> Iterator[Violation]:
    """Yield jobs that could start before their bound, on their own hosts, with all other jobs
    fixed.

    A bound of a plan in priority order means: no earlier start, given those of the jobs before; it
    is checked if these are proved. "optimal" by the sum of starts means that no job could start
    earlier. allowed: whether a plan keeps the rules, and the hosts of the moved job are surely
    open. The first `MAX_MOVES` are tried, fewer in plans of thousands of jobs.
    """
    most = min(MAX_MOVES, max(1, MAX_LOOKS // max(1, len(facts.plan.reservations))))
    moves = 0
    for entry, bound in _claims(facts):
        for time in _instants(facts, entry, bound)[:MAX_OF_A_JOB]:
            if not _is_free(facts, entry, time):
                continue
            if moves == most:
                return
            moves += 1
            if allowed(_moved(facts, entry, time), entry.job):
                text = f"job {entry.job}: it may start at {time} s on the same hosts, beside all "
                yield Violation("bound", f"{text}others; {bound} s is claimed", entry.job, "", time)
                break


def _claims(facts: Facts) -> Iterator[tuple[PlannedJob, int]]:
    """Yield entries with the second before which they cannot start, as the plan claims."""
    plan = facts.plan
    if plan.objective == "lexicographic":
        for entry, _ in facts.entries():
            if entry.start is not None and entry.bound is not None:
                yield entry, entry.bound
            if not entry.proved:
                return
    elif plan.objective in BETTER_EARLIER and plan.status == "optimal":
        for entry, _ in facts.entries():
            if entry.start is not None:
                yield entry, entry.start


def _instants(facts: Facts, entry: PlannedJob, bound: int) -> list[int]:
    """Return the first instant at which the job may start, and ends of jobs on its hosts."""
    job = facts.pending[entry.job]
    first = max(facts.instance.now, job.begin or facts.instance.now)
    here = {id(item): item for host in entry.allocation for item in facts.holdings_on(host)}
    ends = {item.finish for item in here.values() if item.finish is not None}
    return sorted(time for time in {first, *ends} if first <= time < bound)


def _is_free(facts: Facts, entry: PlannedJob, time: int) -> bool:
    """Return whether other jobs leave its slots free from then on, by numbers of slots."""
    end = facts.finish_of(facts.pending[entry.job], time)
    for host, slots in entry.allocation.items():
        others = [h for h in facts.holdings_on(host) if h.job.id != entry.job]
        if _most_used(others, host, time, end) + slots > facts.hosts[host].slots:
            return False
    return True


def _most_used(holdings: list[Holding], host: str, begin: int, end: int | None) -> int:
    """Return the maximum number of slots of a host in use over [begin, end)."""
    steps: list[tuple[int, int]] = []
    for item in holdings:
        if (end is None or item.start < end) and (item.finish is None or item.finish > begin):
            steps.append((max(item.start, begin), item.allocation[host]))
            if item.finish is not None:
                steps.append((item.finish, -item.allocation[host]))
    if not steps:
        return 0
    ordered = np.array([more for _, more in sorted(steps)], dtype=np.int64)
    return max(0, int(np.cumsum(ordered).max()))


def _moved(facts: Facts, entry: PlannedJob, time: int) -> Plan:
    """Return the plan with one job at another time and without claims."""
    job = facts.pending[entry.job]
    moved = replace(entry.unproved(), start=time, finish=facts.finish_of(job, time))
    entries = tuple(moved if item is entry else item for item in facts.plan.reservations)
    return replace(facts.plan, reservations=entries, value=None, bound=None, status="heuristic")


def hanging_proofs(facts: Facts, allowed: Callable[[Plan, str], bool]) -> Iterator[Violation]:
    """Yield unconditionally proved starts on slots that a partly modelled job may get instead.

    Tried with all slots of that job on one host of the proved job, at its own time, with running
    jobs and, in a plan in priority order, the jobs before the proved one. allowed: as of
    :func:`false_bounds`, with which it shares the number of moves.
    """
    plan = facts.plan
    strange = [
        entry
        for entry, job in facts.entries()
        if entry.start is not None and not entry.terms and _partly_modelled(facts, job)
    ]
    moves = MAX_MOVES if strange else 0
    before: list[PlannedJob] = []
    for entry in plan.reservations:
        in_order = plan.objective == "lexicographic"
        others = [
            item for item in strange if item is not entry and (item in before or not in_order)
        ]
        for other in others if entry.proved else ():
            for host in entry.allocation:
                if moves and _crowded_out(facts, entry, other, host, before if in_order else []):
                    moves -= 1
                    if allowed(
                        _with_place(facts, other, host, before if in_order else []), other.job
                    ):
                        text = f"job {entry.job}: it is proved, and job {other.job}, which is not "
                        text += f"fully modelled, may be on {host} instead"
                        yield Violation("bound", text, entry.job, host, entry.start)
        before.append(entry)


#: An affinity section that requests only a number of units for each slot.
_PLAIN_UNITS = re.compile(r"(\w+)(\(\d+\))?(\*\d+)?(:distribute=any)?")


def _is_counted(facts: Facts, job: Job, affinity: str) -> bool:
    """Return whether a section requests a number of units that its hosts have and that all jobs
    there count.
    """
    found = _PLAIN_UNITS.fullmatch(affinity.replace(" ", ""))
    kind = None if found is None else capacity.UNITS.get(found[1])
    if kind is None:
        return False
    every = list(facts.holdings())
    hosts = {name for item in every if item.job.id == job.id for name in item.allocation}
    shared = [item for item in every if hosts & set(item.allocation)]
    parts = (part.requirement.affinity for item in shared for part in item.parts)
    named = {re.split(r"\W", text.strip())[0] for text in parts if text}
    alone = all(capacity.UNITS.get(name) == kind for name in named)
    return alone and all(getattr(facts.hosts[name], kind) is not None for name in hosts)


def _partly_modelled(facts: Facts, job: Job) -> bool:
    """Return whether no method obeys some part of a job's request."""
    asked = facts.requirement(job)
    parts = () if isinstance(asked, str) else simples(asked)
    unlisted = bool(job.job_group) and not facts.instance.job_groups
    unlisted |= bool(job.reservation) and not reservations.windows_of(facts, job)
    bound = any(not _is_counted(facts, job, part.affinity) for part in parts if part.affinity)
    undecided = job.id not in facts.pending and job.requirement_alternative is None
    unlisted |= not isinstance(asked, str) and bool(asked.later) and undecided
    unlisted |= bool(job.service_class) and not facts.instance.service_classes
    return (
        bool(job.unheeded or job.assumed) or unlisted or bound or any(part.tiling for part in parts)
    )


def _crowded_out(
    facts: Facts, entry: PlannedJob, other: PlannedJob, host: str, before: list[PlannedJob]
) -> bool:
    """Return whether the hosts of a job lack slots for it, of a range of slots the fewest, with all
    slots of another job on one of them and the earlier jobs.
    """
    job = facts.pending[entry.job]
    start, end = entry.start, facts.finish_of(job, entry.start or 0)
    rival_end = facts.finish_of(facts.pending[other.job], other.start or 0)
    if start is None or other.start is None or host not in facts.hosts:
        return False
    if (end is not None and other.start >= end) or (rival_end is not None and rival_end <= start):
        return False
    kept = {item.job for item in before} - {other.job}

    def left(name: str) -> int:
        beside = [h for h in facts.holdings_on(name) if not h.planned or h.job.id in kept]
        taken = sum(other.allocation.values()) if name == host else 0
        return facts.hosts[name].slots - _most_used(beside, name, start or 0, end) - taken

    if job.most_slots > job.slots:
        return sum(max(0, left(name)) for name in entry.allocation) < job.slots
    return left(host) < entry.allocation[host]


def _with_place(facts: Facts, other: PlannedJob, host: str, before: list[PlannedJob]) -> Plan:
    """Return a plan with a job on one host and the jobs of `before` unchanged, without claims."""
    place = {host: sum(other.allocation.values())}
    kept = [item for item in before if item.job != other.job]
    entries = (*kept, replace(other.unproved(), allocation=place))
    names = {item.job for item in entries}
    rest = tuple(Unplaced(job, "") for job in facts.pending if job not in names)
    plain = replace(facts.plan, value=None, bound=None, status="heuristic", behind=0)
    return replace(plain, reservations=entries, unplaced=rest)
