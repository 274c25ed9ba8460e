"""Who reserves in a cycle, by which method, and for how long (GRD-06, MEM-04, TBR-01, TBR-12)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ..availability.arrays import BoolArray
from ..availability.demand import Demand
from ..availability.resources import SLOTS
from ..placement.earliest import Start, earliest_start
from ..world.job_state import JobState
from .reservation import Held, hold_future, only_slots_and_memory_short, reserve_greedily

if TYPE_CHECKING:
    from ..loop.cycle import Cycle


def may_reserve(cycle: Cycle, state: JobState) -> bool:
    """Whether the job may hold anything in this cycle (GRD-06, MEM-04, MEM-06)."""
    if cycle.settings.reservation == "none":
        return False
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


def holds_memory(cycle: Cycle, state: JobState) -> bool:
    """Whether the job's queue reserves memory with the slots (MEM-01, MEM-05)."""
    queue = cycle.queues[state.job.queue]
    return queue.resource_reserve is not None or queue.slot_reserve is None


def reserve(cycle: Cycle, state: JobState, closed: BoolArray | None) -> None:
    """Reserve for a job that does not start: time-based for the first N, greedily for the rest."""
    held: Held | None = None
    fallback = ""
    if cycle.settings.reservation == "time-based" and cycle.room_at_the_top:
        held = time_based(cycle, state, closed)
        fallback = "" if held else "no place for it in the future was found"
    if held is None:
        held = greedy(cycle, state, closed)
        if held is not None:
            held.fallback = fallback
    if held is not None:
        cycle.keep(held)


def open_part(cycle: Cycle, state: JobState, closed: BoolArray | None) -> Demand:
    """What a reservation asks for, on the hosts that are open in this cycle (TBR-16)."""
    demand = cycle.world.requests.reserving(cycle.shape(state), state.job, cycle.world.now)
    return without(demand, closed)


def time_based(cycle: Cycle, state: JobState, closed: BoolArray | None) -> Held | None:
    """A future allocation at the earliest finish at which everything holds (TBR-02)."""
    demand = open_part(cycle, state, closed)
    if not all(term.candidates.size for term in demand.terms):
        return None
    future = cycle.future()
    start = earliest_start(future, demand, finishes_only=True, hint=state.expected)
    if start is not None and start.time <= cycle.world.now:
        # Only what others hold keeps it from starting: look again when something ends.
        ends = future.candidate_times(demand.earliest, finishes_only=True)[1:2]
        if not ends:
            return None
        start = earliest_start(future, demand, finishes_only=True, not_before=ends[0])
    if start is None:
        return None
    if (found := _better(cycle, state, start.time)) is not None:
        return found
    return hold(cycle, state, demand, start, closed, method="time-based")


def hold(
    cycle: Cycle,
    state: JobState,
    demand: Demand,
    start: Start,
    closed: BoolArray | None,
    *,
    method: str,
) -> Held:
    """What is free now of a future allocation, if nothing but slots and memory is short."""
    beside, now = cycle.beside(closed), cycle.world.now
    memory = holds_memory(cycle, state)
    if only_slots_and_memory_short(demand, beside, now, memory_may=memory):
        return hold_future(state, demand, start, beside, now, method=method, memory=memory)
    return Held(state, method, start.time, start=start, demand=demand)


def greedy(cycle: Cycle, state: JobState, closed: BoolArray | None) -> Held | None:
    """A greedy reservation (GRD-01)."""
    beside, now = cycle.beside(closed), cycle.world.now
    if not (beside.free(SLOTS, now) > 0).any():
        return None
    memory = holds_memory(cycle, state)
    demand = cycle.shape(state).reserving
    if not only_slots_and_memory_short(demand, beside, now, memory_may=memory):
        return None
    held = reserve_greedily(
        state,
        demand,
        beside,
        cycle.world.running_profile,
        now,
        memory=memory,
        by_start_time=cycle.instance.params.reserve_by_starttime,
    )
    return None if held is None else _better(cycle, state, held.estimate) or held


def _better(cycle: Cycle, state: JobState, time: int | None) -> Held | None:
    """A reservation made earlier in this cycle, for another partition, that is as early."""
    for held in cycle.reservations:
        if held.state is state and (time is None or (held.estimate or time + 1) <= time):
            return held
    return None


def expiries(cycle: Cycle) -> list[int]:
    """When reservations of pending jobs run out, or may be made again."""
    sleep = cycle.instance.params.mbd_sleep_time
    found: list[int] = []
    for number, state in list(cycle.timed.items()):
        cycles = cycle.queues[state.job.queue].reserve_cycles
        if number not in cycle.world.pending or cycles is None:
            del cycle.timed[number]
        elif state.rest_until is not None:
            found.append(state.rest_until)
        elif state.held_since is not None:
            found.append(state.held_since + cycles * sleep)
    return [time for time in found if time > cycle.world.now]


def without(demand: Demand, closed: BoolArray | None) -> Demand:
    """The demand without hosts that are closed for the whole cycle."""
    if closed is None:
        return demand
    terms = tuple(
        replace(term, candidates=term.candidates[~closed[term.candidates]]) for term in demand.terms
    )
    return replace(demand, terms=terms)
