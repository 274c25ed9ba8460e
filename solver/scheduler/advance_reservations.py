"""Running jobs that make room for the jobs of an advance reservation (ARV-01).

Jobs that run as a reservation begins go on until one of its own jobs waits; then, on every host of
the reservation, as many are suspended as its slots need, however few its jobs are. LSF does not say
which: the latest started, as in preemption.
"""

from __future__ import annotations

from collections import Counter

from ...model.instance import AdvanceReservation
from .cycle_state import CycleState
from .job_state import PREEMPTED, RUNNING, JobState


def has_waiting_reservation(cycle: CycleState) -> bool:
    """Whether jobs may have to make room for those of a reservation that is active."""
    return bool(cycle.instance.advance_reservations) and any(_waited_for(cycle))


def make_room(cycle: CycleState) -> None:
    """Suspend what runs on the slots of reservations that are active and have jobs that wait."""
    if not cycle.instance.advance_reservations:
        return
    wanted: Counter[str] = Counter()
    for item in _waited_for(cycle):
        wanted.update(item.slots)
    hosts, world = cycle.instance.cluster.hosts, cycle.world
    for name, slots in wanted.items():
        host = world.index[name]
        free = float(world.free_now.host(world.table.unreserved)[host])
        for victim in _latest_first(cycle, host):
            if free >= min(slots, hosts[host].slots):
                break
            free += world.running_profile.slots_of(victim.number).get(host, 0)
            world.preempt(victim, f"an advance reservation of {name}", world.now)
            cycle.record.preempted.append(victim.job.id)


def _waited_for(cycle: CycleState) -> list[AdvanceReservation]:
    """The reservations that are active, suspend what runs, and have a job that waits."""
    now, world = cycle.world.now, cycle.world
    names = {
        state.job.reservation
        for state in world.pending.values()
        if _may_start(state, now) and not cycle.shape(state).infeasibility
    }
    names |= {s.job.reservation for s in world.subsets.suspended.values() if s.status == PREEMPTED}
    return [
        item
        for item in cycle.instance.advance_reservations
        if item.suspends and item.name in names and item.start <= now < item.end
    ]


def _may_start(state: JobState, now: int) -> bool:
    return state.reserved is not None and (state.job.begin is None or state.job.begin <= now)


def _latest_first(cycle: CycleState, host: int) -> list[JobState]:
    """The jobs in no reservation that run on a host, the latest started first."""
    found = [
        state
        for state in cycle.world.running.values()
        if state.status == RUNNING and state.reserved is None and host in state.allocation
    ]
    return sorted(found, key=lambda state: (-(state.start or 0), -state.number))
