"""Advance reservations: whose slots are whose, where and when (ARV-01, TBR-19)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...model.instance import AdvanceReservation
from ...model.job import Job
from .facts import Facts, Holding


def minded(facts: Facts) -> Iterator[AdvanceReservation]:
    """Yield the advance reservations that apply: all, for LSF's estimate those with jobs."""
    named = {item.job.reservation for item in facts.instance.running}
    named |= {job.reservation for job in facts.instance.pending}
    for window in facts.instance.advance_reservations:
        if not facts.as_lsf or window.name in named:
            yield window


def windows_of(facts: Facts, job: Job) -> list[AdvanceReservation]:
    """Return the reservations of a job, one for each active period."""
    every = facts.instance.advance_reservations if job.reservation else ()
    return [window for window in every if window.name == job.reservation]


def set_aside(facts: Facts, host: str, time: int) -> int:
    """Return the slots of a host that reservations keep at `time` for their own jobs."""
    active = (window for window in minded(facts) if window.start <= time < window.end)
    return sum(window.slots.get(host, 0) for window in active)


def free_slots(facts: Facts, job: Job, host: str, time: int, others: Iterable[Holding]) -> int:
    """Return the slots of a host that a job may have, given other jobs at `time`."""
    others = list(others)
    free = facts.hosts[host].slots - sum(other.allocation[host] for other in others)
    own = windows_of(facts, job)
    if own:
        used = sum(o.allocation[host] for o in others if o.job.reservation == job.reservation)
        return min(free, own[0].slots.get(host, 0) - used)
    outside = sum(o.allocation[host] for o in others if not windows_of(facts, o.job))
    return min(free, facts.hosts[host].slots - outside - set_aside(facts, host, time))
