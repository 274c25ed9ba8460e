"""What a plan says of itself: entries, bounds, proofs, value and status."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping

from ...model.job import Job
from ...model.plan import PlannedJob
from .facts import SLACK, Facts
from .violation import Violation, shown

STATUSES = ("optimal", "feasible", "heuristic", "infeasible")


def entries(facts: Facts) -> Iterator[Violation]:
    """Every pending job stands in the plan once, and nothing else does."""
    plan = facts.plan
    if plan.now != facts.instance.now:
        text = f"the plan is made for {plan.now} s, the instance's now is {facts.instance.now} s"
        yield Violation("entry", text, time=plan.now)
    running = {item.job.id for item in facts.instance.running}
    seen = Counter([item.job for item in plan.reservations] + [item.job for item in plan.unplaced])
    for job, times in seen.items():
        if job in facts.pending and times > 1:
            yield Violation("entry", f"job {job}: it stands in the plan {times} times", job)
        elif job not in facts.pending:
            why = "it runs already" if job in running else "there is no such pending job"
            yield Violation("entry", f"job {job}: {why}", job)
    for job in facts.pending:
        if job not in seen:
            text = f"job {job}: it is lost, neither among reservations nor unplaced"
            yield Violation("entry", text, job)


def allocations(facts: Facts) -> Iterator[Violation]:
    """A started job holds at least one slot on each host it names; an estimate holds none."""
    for entry, job in facts.entries():
        if entry.start is not None and not entry.allocation:
            yield Violation("allocation", f"job {job.id}: it starts without hosts", job.id)
        if entry.start is None and entry.allocation:
            yield Violation("allocation", f"job {job.id}: it holds hosts without a start", job.id)
        for host, slots in (*entry.allocation.items(), *entry.reserved.items()):
            if host not in facts.hosts:
                yield Violation(
                    "allocation", f"job {job.id}: there is no host {host}", job.id, host
                )
            elif slots < 1:
                text = f"job {job.id}: it holds {slots} slots on host {host}"
                yield Violation("allocation", text, job.id, host, entry.start)


def bounds(facts: Facts) -> Iterator[Violation]:
    """A bound is not above the start, a proved start equals it, an estimate is not in the past."""
    for entry, job in facts.entries():
        if entry.start is not None and entry.bound is not None and entry.bound > entry.start:
            text = f"job {job.id}: bound {entry.bound} s is above its start {entry.start} s"
            yield Violation("bound", text, job.id, "", entry.start)
        if entry.proved and (entry.start is None or entry.bound != entry.start):
            bound, start = _at(entry.bound), _at(entry.start)
            text = f"job {job.id}: start {start} is called proved, its bound is {bound}"
            yield Violation("bound", text, job.id, "", entry.start)
        if entry.estimate is not None and entry.estimate < facts.instance.now:
            text = f"job {job.id}: estimate {entry.estimate} s is before now"
            yield Violation("bound", text, job.id, "", entry.estimate)


def _at(time: int | None) -> str:
    return "unknown" if time is None else f"{time} s"


def reserved(facts: Facts) -> Iterator[Violation]:
    """What pending jobs hold now is within the slots that the running jobs leave free."""
    now = facts.instance.now
    held: dict[str, list[tuple[str, int]]] = {}
    for entry, job in facts.entries():
        for host, slots in entry.reserved.items():
            if host in facts.hosts:
                held.setdefault(host, []).append((job.id, slots))
    for host, reserving in held.items():
        here = (item for item in facts.by_host.get(host, ()) if not item.planned)
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


# --- the plan as a whole ----------------------------------------------------------------------


def value(facts: Facts) -> Iterator[Violation]:
    """The value is that of the objective where every job has a start; the bound is below it."""
    plan = facts.plan
    known = [(entry, job) for entry, job in facts.entries()]
    compute = _OBJECTIVES.get(plan.objective)
    if plan.value is not None and compute and all(entry.start is not None for entry, _ in known):
        right = compute(known, plan.now)
        if right is not None and abs(right - plan.value) > SLACK * max(1.0, abs(right)):
            text = f"value {shown(plan.value)} is claimed, {plan.objective} gives {shown(right)}"
            yield Violation("value", text)
    if plan.value is not None and plan.bound is not None:
        slack = SLACK * max(1.0, abs(plan.value))
        if plan.bound > plan.value + slack:
            text = f"bound {shown(plan.bound)} is above the value {shown(plan.value)}"
            yield Violation("value", text)
        elif plan.status == "optimal" and plan.bound < plan.value - slack:
            text = f"status optimal, but bound {shown(plan.bound)} is below the value"
            yield Violation("value", f"{text} {shown(plan.value)}")


_Known = list[tuple[PlannedJob, Job]]


def _total_start(known: _Known, now: int) -> float | None:
    return float(sum(entry.start - now for entry, _ in known if entry.start is not None))


def _weighted(known: _Known, now: int) -> float | None:
    return sum(job.weight * (entry.start - now) for entry, job in known if entry.start is not None)


def _makespan(known: _Known, now: int) -> float | None:
    finishes = [entry.finish for entry, _ in known]
    if any(finish is None for finish in finishes):
        return None
    return float(max((finish - now for finish in finishes if finish is not None), default=0))


_OBJECTIVES: Mapping[str, Callable[[_Known, int], float | None]] = {
    "total-start": _total_start,
    "lexicographic": _total_start,
    "weighted": _weighted,
    "makespan": _makespan,
}


def status(facts: Facts) -> Iterator[Violation]:
    """The status is a known one and fits what the plan holds."""
    plan = facts.plan
    if plan.status not in STATUSES:
        yield Violation("status", f"status {plan.status} is none of {', '.join(STATUSES)}")
    if plan.status == "infeasible" and not plan.unplaced:
        yield Violation("status", "status infeasible, but no job is unplaced")
    if plan.status == "optimal" and plan.unplaced:
        names = ", ".join(item.job for item in plan.unplaced)
        yield Violation("status", f"status optimal, but unplaced: {names}")
    if plan.status == "optimal" and plan.objective == "lexicographic":
        for entry in plan.reservations:
            if not entry.proved:
                text = f"status optimal, but the start of job {entry.job} is not proved"
                yield Violation("status", text, entry.job, "", entry.start)
