"""Preemption (LOP-06) and suspension by load, run window (RSV-11) or advance reservation (ARV-01):
choice of jobs to suspend and resume.

A job of a preemptive queue that finds no slots suspends running jobs of lower queues: those of the
lowest queue first, among them the latest started, as few as it needs. A suspended job keeps its
memory and its other resources; only its slots go. Jobs of a BACKFILL queue are not preempted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

import numpy as np

from ...model.instance import AdvanceReservation
from ..fairshare.stages import Offer
from ..rules.eligibility import may_preempt
from .cycle_state import CycleState
from .job_state import PREEMPTED, RUNNING, SUSPENDED, JobState


def suspend_for_reservations(cycle: CycleState) -> None:
    """Suspend jobs on the slots of active reservations whose own jobs wait."""
    wanted: Counter[str] = Counter()
    for item in waited_for(cycle):
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


def waited_for(cycle: CycleState) -> list[AdvanceReservation]:
    """Return the active reservations that may suspend running jobs and have a waiting job."""
    now, cluster = cycle.world.now, cycle.world
    names = {
        state.job.reservation
        for state in cluster.pending.values()
        if _is_eligible(state, now) and not cycle.world.shape(state).infeasibility
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


def resume(cycle: CycleState) -> None:
    """Suspend jobs by load and windows, then resume jobs that may run, highest queue first."""
    world, eligibility = cycle.world, cycle.eligibility
    if eligibility.any_windows or eligibility.watches_load:
        _by_load_and_window(cycle)
    if cycle.instance.advance_reservations and not cycle.settings.planning:
        suspend_for_reservations(cycle)
    stopped = [state for state in world.subsets.suspended.values() if state.status == PREEMPTED]
    for state in sorted(stopped, key=lambda s: (-cycle.queues[s.job.queue].priority, s.number)):
        table = world.table
        capacities = {index: world.free_now.host(index) for index in table.slots_taken(state.job)}
        if cycle.instance.advance_reservations and state.reserved is None:
            rest = None if state.duration is None else max(1, state.duration - state.elapsed)
            capacities[table.unreserved] = capacities[table.unreserved] - cycle.set_aside(rest)
        free = np.minimum.reduce(list(capacities.values()))
        place = world.running_profile.slots_of(state.number)
        if all(free[host] >= slots for host, slots in place.items()):
            world.resume(state, world.now)
            cycle.record.resumed.append(state.job.id)


def _by_load_and_window(cycle: CycleState) -> None:
    world, eligibility = cycle.world, cycle.eligibility
    for state in list(world.running.values()):
        queue = state.job.queue
        shut = not eligibility.run_window_open(queue, world.now)
        if state.status == RUNNING:
            over = next(
                (why for h in state.allocation if (why := eligibility.beyond_stop(queue, h))), ""
            )
            if shut or over:
                world.suspend(state, "run window" if shut else f"loadStop {over}", world.now)
                cycle.record.preempted.append(state.job.id)
        elif state.status == SUSPENDED and state.suspended_by != "before" and not shut:
            beyond = eligibility.beyond(cycle.queues[queue].thresholds)
            if not beyond[list(state.allocation)].any():
                world.resume(state, world.now)
                cycle.record.resumed.append(state.job.id)


def preempt(cycle: CycleState) -> None:
    """Try to start the pending jobs of preemptive queues by preemption, in order.

    What a job holds itself, and what those behind it hold, is free for it: a reservation keeps
    slots from jobs of lower rank alone.
    """
    world = cycle.world
    order = world.order
    order.begin_cycle(world.now)
    examined: dict[int, list[frozenset[str] | None]] = {}
    while (offer := order.next()) is not None:
        state = world.states.get(offer.job.id)
        if (
            not _may_preempt(cycle, state.job.queue)
            or cycle.ineligibility(state, offer)
            or not _preempt(cycle, state, offer, _ahead(cycle, examined, state))
        ):
            examined.setdefault(state.number, []).append(offer.hosts)
            order.skipped(offer.job)


def _ahead(
    cycle: CycleState, examined: Mapping[int, Sequence[frozenset[str] | None]], state: JobState
) -> set[int]:
    """Return the numbers of the other jobs whose reservations come before a job.

    examined: by number, the hosts for which a job was examined before it; None: all hosts. Each
    host partition has its own order, and what a job reserves in another one does not come before.
    """
    hosts = cycle.instance.cluster.hosts
    found = set()
    for reservation in cycle.reservations:
        number = reservation.state.number
        if reservation.state is state or number not in examined:
            continue
        names = {hosts[host].name for host in (*reservation.slots, *reservation.allocation)}
        if any(where is None or names & where for where in examined[number]):
            found.add(number)
    return found


def _may_preempt(cycle: CycleState, queue: str) -> bool:
    """Whether a queue may preempt jobs of some other queue."""
    own = cycle.queues[queue]
    return any(may_preempt(own, other) for other in cycle.queues.values())


def _preempt(cycle: CycleState, state: JobState, offer: Offer, ahead: Collection[int]) -> bool:
    """Start one job by preempting others; return whether that was possible.

    ahead: numbers of the other pending jobs whose reservations come before it.
    """
    world = cycle.world
    closed = cycle.eligibility.closed(state.job.queue, offer.hosts)
    trial = world.free_now.copy()
    chosen: list[JobState] = []
    residual = cycle.residual_given(ahead, closed, state)
    residual.free_now = trial
    start = None
    for victim in _victims(cycle, state):
        for host, slots in world.running_profile.slots_of(victim.number).items():
            trial.free_slots(host, slots, world.table.slots_taken(victim.job))
        chosen.append(victim)
        start = cycle.start_of(state, residual)
        if start is not None:
            break
    if start is None:
        return False
    for victim in chosen[:-1]:
        # Resume preempted jobs whose slots were not needed.
        place = world.running_profile.slots_of(victim.number)
        taken = world.table.slots_taken(victim.job)
        for host, slots in place.items():
            trial.free_slots(host, -slots, taken)
        without = cycle.start_of(state, residual)
        if without is None:
            for host, slots in place.items():
                trial.free_slots(host, slots, taken)
        else:
            start = without
            chosen = [other for other in chosen if other is not victim]
    for victim in chosen:
        world.preempt(victim, state.job.id, world.now)
        cycle.record.preempted.append(victim.job.id)
    cycle.planned.invalidate()
    names = " ".join(victim.job.id for victim in chosen)
    cycle.start(state, start, offer=offer, why=f"preempts {names}")
    cycle.remove_reservation(state)
    cycle.leave_what_is_taken(ahead)
    return True


def _victims(cycle: CycleState, state: JobState) -> list[JobState]:
    """Return the running jobs that the job may preempt: lowest queue first, then the latest
    started.

    Jobs of service classes are preempted by queues alone that see no guarantees (GUA-01).
    """
    own = cycle.queues[state.job.queue]
    rows = cycle.world.table.guarantees
    spares = rows is not None and not own.ignores_guarantees
    found = [
        other
        for other in cycle.world.running.values()
        if other.status == RUNNING
        and other.job.reservation == state.job.reservation
        and may_preempt(own, cycle.queues[other.job.queue])
        and not (spares and rows is not None and rows.members.of(other.job))
    ]
    return sorted(
        found,
        key=lambda s: (cycle.queues[s.job.queue].priority, -(s.start or 0), -s.number),
    )
