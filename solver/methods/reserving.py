"""Who may reserve in a cycle, what, and for how long (GRD-06, MEM-04, TBR-01, TBR-12)."""

from __future__ import annotations

from dataclasses import replace

from ..availability.arrays import BoolArray
from ..availability.demand import Demand
from ..world.cycle_state import CycleState
from ..world.held import Held
from ..world.job_state import JobState
from ..world.requests import without_hosts


def may_reserve(cycle: CycleState, state: JobState) -> bool:
    """Whether the job may hold anything in this cycle (GRD-06, MEM-04, MEM-06)."""
    if cycle.settings.planning:
        return True
    cycles = cycle.queues[state.job.queue].reserve_cycles
    if cycles is None:
        return cycle.settings.every_queue
    if not (cycle.reserve_plugin if state.job.slots == 1 else cycle.parallel_plugin):
        return False
    now = cycle.world.now
    if state.rest_until is not None:
        if now < state.rest_until:
            return False
        state.rest_until = state.held_since = None
    length = cycles * cycle.instance.params.mbd_sleep_time
    if state.held_since is not None and now >= state.held_since + length:
        # The time is over: one session without anything, then again (MEM-04).
        state.rest_until = now + max(1, cycle.settings.cycle)
        state.held_since, state.held = None, ()
        return False
    return True


def runs_out(cycle: CycleState, state: JobState) -> bool:
    """Whether :func:`may_reserve` would end or renew the time that the job may hold something."""
    cycles = cycle.queues[state.job.queue].reserve_cycles
    if cycles is None:
        return False
    now = cycle.world.now
    if state.rest_until is not None:
        return now >= state.rest_until
    length = cycles * cycle.instance.params.mbd_sleep_time
    return state.held_since is not None and now >= state.held_since + length


def open_part(cycle: CycleState, state: JobState, closed: BoolArray | None) -> Demand:
    """What a reservation asks for, on the hosts that are open in this cycle (TBR-16)."""
    demand = cycle.world.requests.reserving(cycle.shape(state), state.job, cycle.world.now)
    return without_hosts(replace(demand, earliest=cycle.not_before(state)), closed)


def earlier_of_its_own(cycle: CycleState, state: JobState, time: int | None) -> Held | None:
    """A reservation made earlier in this cycle, for another partition, that is as early."""
    held = cycle.reservation_of(state)
    if held is not None and (time is None or (held.estimate or time + 1) <= time):
        return held
    return None


def expiries(cycle: CycleState) -> list[int]:
    """When reservations of pending jobs run out or may be made again."""
    sleep = cycle.instance.params.mbd_sleep_time
    found: list[int] = []
    for number, state in list(cycle.timed.items()):
        cycles = cycle.queues[state.job.queue].reserve_cycles
        if number not in cycle.world.pending:
            del cycle.timed[number]
        elif cycles is None:
            continue  # it holds what it holds as long as it waits
        elif state.rest_until is not None:
            found.append(state.rest_until)
        elif state.held_since is not None:
            found.append(state.held_since + cycles * sleep)
    return [time for time in found if time > cycle.world.now]


def too_late(cycle: CycleState) -> list[int]:
    """From when on a run of a job that holds something would last too long for it to start.

    It would meet an advance reservation, or the end of its queue's run window: what is held is
    another's from then on (TBR-19).
    """
    ends = {queue: cycle.eligibility.run_window_end(queue) for queue in cycle.queues}
    booked = [item.start for item in cycle.instance.advance_reservations]
    if not booked and not any(ends.values()):
        return []
    kinds = {(held.state.job.queue, held.state.duration) for held in cycle.reservations}
    found = {
        until - duration + 1
        for queue, duration in kinds
        if duration is not None
        for until in (*booked, ends[queue])
        if until is not None
    }
    return sorted(time for time in found if time > cycle.world.now)
