"""Suspension of running jobs in favour of jobs in an advance reservation (ARV-01).

Jobs that run as a reservation begins continue until one of its own jobs waits; then, on every host
of the reservation, as many are suspended as its slots need, however few its jobs are. LSF does not
say which: the latest started, as in preemption.
"""

from __future__ import annotations

from collections import Counter

from ...model.instance import AdvanceReservation
from .cycle_state import CycleState
from .job_state import PREEMPTED, RUNNING, JobState


def has_waiting_reservation(cycle: CycleState) -> bool:
    """Whether jobs of an active reservation wait, so that the scheduler may suspend other jobs."""
    return bool(_waited_for(cycle))


def suspend_for_reservations(cycle: CycleState) -> None:
    """Suspend jobs on the slots of active reservations whose own jobs wait."""
    wanted: Counter[str] = Counter()
    for item in _waited_for(cycle):
        wanted.update(item.slots)
    hosts, cluster = cycle.instance.cluster.hosts, cycle.world
    for name, slots in wanted.items():
        host = cluster.index[name]
        free = float(cluster.free_now.host(cluster.table.unreserved)[host])
        for victim in _latest_first(cycle, host):
            if free >= min(slots, hosts[host].slots):
                break
            free += cluster.running_profile.slots_of(victim.number).get(host, 0)
            cluster.preempt(victim, f"an advance reservation of {name}", cluster.now)
            cycle.record.preempted.append(victim.job.id)


def _waited_for(cycle: CycleState) -> list[AdvanceReservation]:
    """Return the active reservations that may suspend running jobs and have a waiting job."""
    now, cluster = cycle.world.now, cycle.world
    names = {
        state.job.reservation
        for state in cluster.pending.values()
        if _is_eligible(state, now) and not cycle.shape(state).infeasibility
    }
    names |= {
        s.job.reservation for s in cluster.subsets.suspended.values() if s.status == PREEMPTED
    }
    return [
        item
        for item in cycle.instance.advance_reservations
        if item.suspends and item.name in names and item.start <= now < item.end
    ]


def _is_eligible(state: JobState, now: int) -> bool:
    return state.reserved is not None and (state.job.begin is None or state.job.begin <= now)


def _latest_first(cycle: CycleState, host: int) -> list[JobState]:
    """Return the jobs outside reservations that use slots of a host, the latest started first."""
    found = [
        state
        for state in cycle.world.running.values()
        if state.status == RUNNING and state.reserved is None and host in state.allocation
    ]
    return sorted(found, key=lambda state: (-(state.start or 0), -state.number))
