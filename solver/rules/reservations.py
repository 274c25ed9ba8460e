"""Omitted rules of advance reservations, and the jobs that they touch (ARV-01)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ...model.duration import expected_finish, granted_run_limit
from ...model.instance import AdvanceReservation, Instance
from ..availability.demand import Demand
from ..precedence import Precedence

#: Omission for jobs with -U if the reservation is not described.
UNDESCRIBED = "the advance reservation of the job, which is not described (advance_reservations)"
#: Omission if running jobs have slots that a reservation needs at its start.
SUSPENDED = "that running jobs are suspended for the jobs of an advance reservation"
#: Omission for jobs without a run limit: they can start before a reservation and run into it.
BY_RUN_LIMIT = "that before an advance reservation a run limit has to fit, not an estimate"
WITHOUT_LIMIT = (
    "that jobs without a run limit start before an advance reservation, and are suspended for it"
)
#: Omission for jobs that end after their reservation.
AFTER_OPEN = "that jobs of an open advance reservation are suspended at its end"
AGAIN = "that a recurring open advance reservation begins again while its jobs still run"
EXCLUSIVE = "exclusive jobs in an advance reservation of a part of a host"
END_OF_PERIOD = "in which period of a recurring advance reservation an awaited job ends"


def touched(instance: Instance, demands: Sequence[Demand]) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield each active advance reservation with the pending jobs that it may affect.

    instance: with the periods of its reservations one by one.
    """
    others = [d for d in demands if not d.impossible and _reserved_in(d) is None]
    near = [d for d in others if _may_meet(instance, d)]
    yield BY_RUN_LIMIT, _ids(d for d in near if _has_shorter_estimate(instance, d))
    yield WITHOUT_LIMIT, _ids(d for d in near if d.duration is None and not d.may_be_killed)
    own = [d for d in demands if not d.impossible and _reserved_in(d) is not None]
    open_ones = [d for d in own if not d.may_be_killed]
    if not instance.params.open_reservations_continue:
        yield AFTER_OPEN, _ids(open_ones)
    yield AGAIN, _ids(d for d in open_ones if _recurs(d))
    yield EXCLUSIVE, _ids(d for d in own if d.exclusive and _in_part(instance, d))
    recurring = {d.job.id for d in own if d.may_be_killed and _recurs(d)}
    awaited = Precedence.of(instance).waits_for() if recurring else {}
    yield END_OF_PERIOD, frozenset(job for job, jobs in awaited.items() if recurring & {*jobs})


def suspending(instance: Instance) -> frozenset[str]:
    """Return the pending jobs for which running jobs may be suspended when their reservation
    starts.
    """
    found = set[str]()
    for item in instance.advance_reservations:
        waiting = [job.id for job in instance.pending if job.reservation == item.name]
        if waiting and item.suspends and item.end > instance.now and _is_overrun(instance, item):
            found.update(waiting)
    return frozenset(found)


def _is_overrun(instance: Instance, item: AdvanceReservation) -> bool:
    """Return whether other jobs are expected to have slots that a reservation needs."""
    begin = max(item.start, instance.now)
    held: dict[str, int] = {}
    for run in instance.running:
        end = expected_finish(instance, run)
        if run.job.reservation != item.name and (end is None or end > begin):
            for host, slots in run.allocation.items():
                held[host] = held.get(host, 0) + slots
    have = {host.name: host.slots for host in instance.cluster.hosts}
    return any(held.get(host, 0) + slots > have[host] for host, slots in item.slots.items())


def _ids(demands: Iterable[Demand]) -> frozenset[str]:
    return frozenset(demand.job.id for demand in demands)


def _reserved_in(demand: Demand) -> str | None:
    """Return the described reservation of a job."""
    reserved = None if demand.calendar is None else demand.calendar.reserved
    return None if reserved is None else reserved.name


def _recurs(demand: Demand) -> bool:
    reserved = None if demand.calendar is None else demand.calendar.reserved
    return reserved is not None and len(reserved.ends_after(demand.earliest)) > 1


def _may_meet(instance: Instance, demand: Demand) -> bool:
    """Return whether a host of a job has slots of a reservation that has not expired."""
    index = instance.cluster.host_index()
    reserved = {
        index[host]
        for item in instance.advance_reservations
        if item.end > instance.now
        for host in item.slots
    }
    return any(host in reserved for term in demand.terms for host in term.candidates.tolist())


def _has_shorter_estimate(instance: Instance, demand: Demand) -> bool:
    limit = granted_run_limit(instance, demand.job)
    return demand.runs is not None and limit is not None and demand.runs < limit


def _in_part(instance: Instance, demand: Demand) -> bool:
    """Return whether the reservation of a job leaves slots of one of its hosts to other jobs."""
    have = {host.name: host.slots for host in instance.cluster.hosts}
    return any(
        0 < slots < have[host]
        for item in instance.advance_reservations
        if item.name == demand.job.reservation
        for host, slots in item.slots.items()
    )
