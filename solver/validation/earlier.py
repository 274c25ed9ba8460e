"""Bounds and proofs against what the judge sees itself: a job that could start before its bound."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from ...model.plan import Plan, PlannedJob
from .claims import BETTER_EARLIER
from .facts import Facts, Holding
from .violation import Violation

#: Moves that are judged in all, and for one job: each is a whole look at the plan.
MOST_MOVES, MOST_OF_A_JOB = 40, 3
#: Entries that are looked at in all these looks.
MOST_LOOKS = 50_000


def false_bounds(facts: Facts, allowed: Callable[[Plan, str], bool]) -> Iterator[Violation]:
    """Jobs that may start before their bound, on their own hosts and beside all other jobs.

    A bound of a plan in priority order says that no start is earlier, given those of the jobs
    before; it is looked at where these are proved. "optimal" by the sum of starts says that no job
    could start earlier. allowed: whether a plan keeps the rules, and the hosts of the job that was
    moved are surely open. The first `MOST_MOVES` are tried, fewer in plans of thousands of jobs.
    """
    most = min(MOST_MOVES, max(1, MOST_LOOKS // max(1, len(facts.plan.reservations))))
    moves = 0
    for entry, bound in _claims(facts):
        for time in _instants(facts, entry, bound)[:MOST_OF_A_JOB]:
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
    """Entries and the second before which they cannot start, as the plan has it."""
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
    """The first at which the job may start at all, and when something ends on its hosts."""
    job = facts.pending[entry.job]
    first = max(facts.instance.now, job.begin or facts.instance.now)
    here = {id(item): item for host in entry.allocation for item in facts.by_host.get(host, ())}
    ends = {item.finish for item in here.values() if item.finish is not None}
    return sorted(time for time in {first, *ends} if first <= time < bound)


def _is_free(facts: Facts, entry: PlannedJob, time: int) -> bool:
    """Whether the other jobs leave its slots free from then on, as far as slots go."""
    end = facts.finish_of(facts.pending[entry.job], time)
    for host, slots in entry.allocation.items():
        others = [h for h in facts.by_host.get(host, ()) if h.job.id != entry.job]
        if _most_used(others, host, time, end) + slots > facts.hosts[host].slots:
            return False
    return True


def _most_used(holdings: list[Holding], host: str, begin: int, end: int | None) -> int:
    """Slots of a host in use at most over [begin, end)."""
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
    """The plan with one job at another time, and nothing claimed."""
    job = facts.pending[entry.job]
    moved = replace(entry, start=time, finish=facts.finish_of(job, time), bound=None, proved=False)
    entries = tuple(moved if item is entry else item for item in facts.plan.reservations)
    return replace(facts.plan, reservations=entries, value=None, bound=None, status="heuristic")
