"""Time-based reservation: job by job over the end times of what runs (TBR-01 … TBR-19).

The first N jobs of the order get a future allocation at the earliest finish at which all of it is
free, and hold what of it is free until then and does not come free by then. A job sees the places
of the jobs before it, and what they hold: only in a queue with BACKFILL, and only if it ends by
their starts, may it use that. Any other job finds what it would if it never ended.
"""

from __future__ import annotations

import bisect
from dataclasses import replace

from ...model.plan import PlannedJob
from ..availability.arrays import BoolArray
from ..availability.demand import Demand
from ..availability.profile import FOREVER
from ..pending_reasons import hosts_concerned, reason_and_shortage
from ..placement.earliest import Start, earliest_start, still_free
from ..placement.holding import spare_slots
from ..world.cycle_state import CycleState
from ..world.held import Held, hold_future
from ..world.job_state import JobState
from .greedy import Greedy
from .reserving import earlier_of_its_own, open_part


class TimeBased:
    """Future allocations for the first N jobs, greedy reservation for the others."""

    name = "time-based"
    summary = "the first N jobs get the earliest finish at which all they ask for is free"
    looks_ahead = True

    def before(self, cycle: CycleState) -> None:
        """Nothing is planned before the jobs have their turns."""

    def reserve(self, cycle: CycleState, state: JobState, closed: BoolArray | None) -> Held | None:
        """A future allocation, else a greedy reservation, marked with the reason (TBR-04)."""
        fallback = ""
        if cycle.budget.stopped():
            cycle.curtailed = True
            held = place_that_stood(cycle, state, closed)
            if held is not None:
                return held
            cycle.shortened.add(state.number)
        elif cycle.room_at_the_top(state):
            held = future_allocation(cycle, state, closed)
            if held is not None:
                return held
            cycle.placeless.add(state.number)
            fallback = "no place for it in the future was found"
        held = Greedy().reserve(cycle, state, closed)
        if held is not None and held.method == Greedy.name:
            held.fallback = fallback
        return held


def future_allocation(cycle: CycleState, state: JobState, closed: BoolArray | None) -> Held | None:
    """A place at the earliest finish at which everything holds (TBR-02), None if there is none."""
    now = cycle.world.now
    demand = open_part(cycle, state, closed)
    if not all(term.candidates.size for term in demand.terms):
        return None
    start = cycle.repetition.found_before(len(cycle.reservations), state)
    if start is None:
        not_before = _equal_right_before(cycle, state, demand)
        start = earliest_beside(cycle, state, demand, not_before=not_before, hint=state.expected)
    if start is not None and start.time <= now:
        if (there := place_to_backfill(cycle, state, closed)) is not None:
            return hold_now(cycle, state, demand, there, closed, method=TimeBased.name)
        # It does not start for what no plan sees ahead: look again when something ends.
        ends = cycle.future(state).candidate_times(demand.earliest, finishes_only=True)[1:2]
        start = earliest_beside(cycle, state, demand, not_before=ends[0]) if ends else None
    if start is None:
        return None
    if (found := earlier_of_its_own(cycle, state, start.time)) is not None:
        return found
    held = hold_now(cycle, state, demand, start, closed, method=TimeBased.name)
    if cycle.settings.planning and not cycle.record.started:
        # After a start the cycle is run again, and what it says then is what counts.
        held.waits_for = _reason(cycle, state, demand, start)
    return held


def _equal_right_before(cycle: CycleState, state: JobState, demand: Demand) -> int | None:
    """The start of an equal job that got its place right before, than which none is earlier now.

    Only more has been taken since, and no instant to start at has come in between. Jobs of another
    run limit may use other slots that are held (TBR-18).
    """
    last = cycle.reservations[-1] if cycle.reservations else None
    if last is None or last.start is None or last.demand is None or cycle.instance.partitions:
        return None
    equal = last.demand.kind == demand.kind and last.state.limit == state.limit
    alone = len(demand.terms) == 1 and demand.interval is None
    return last.start.time if equal and alone else None


def place_to_backfill(cycle: CycleState, state: JobState, closed: BoolArray | None) -> Start | None:
    """Where a job will start on what others lend it, once every job has had its turn (TBR-18)."""
    if not cycle.queues[state.job.queue].backfill or state.limit is None:
        return None
    until = cycle.world.now + cycle.world.requests.lent_for(state.job, state.limit)
    # A plan's own `closed` leaves JOB_ACCEPT_INTERVAL out, which backfill does not.
    resting = cycle.eligibility.closed(state.job.queue, None)
    if resting is not None:
        closed = resting if closed is None else closed | resting
    return cycle.try_start(cycle.shape(state), cycle.beside_lent(closed, state, until))


def place_that_stood(cycle: CycleState, state: JobState, closed: BoolArray | None) -> Held | None:
    """The place that the cycle before this one gave, if it is still free: a search costs more."""
    start = cycle.stood.get(state.number)
    if start is None or start.time <= cycle.world.now:
        return None
    demand = open_part(cycle, state, closed)
    if not still_free(cycle.future(state), demand, start):
        return None
    return hold_now(cycle, state, demand, start, closed, method=TimeBased.name)


def hold_now(
    cycle: CycleState,
    state: JobState,
    demand: Demand,
    start: Start,
    closed: BoolArray | None,
    *,
    method: str,
) -> Held:
    """What has to be kept of a future allocation, if nothing but slots and memory is short."""
    return hold_future(
        state,
        demand,
        start,
        cycle.beside(closed, state),
        cycle.world.now,
        unreserved=cycle.unreserved(closed, state),
        spare=spare_slots(cycle.future(state), demand, start, cycle.always_free(state)),
        method=method,
        memory=cycle.queues[state.job.queue].holds_memory,
    )


def earliest_beside(
    cycle: CycleState,
    state: JobState,
    demand: Demand,
    *,
    not_before: int | None = None,
    hint: int | None = None,
) -> Start | None:
    """The earliest start beside the places of the jobs before it and what they hold until then.

    A job of a BACKFILL queue with a run limit may use what is held for jobs that start no earlier
    than it ends (TBR-18); any other job may use nothing that is held.
    """
    start = earliest_start(
        cycle.future(state), demand, finishes_only=True, not_before=not_before, hint=hint
    )
    limit = state.limit if cycle.queues[state.job.queue].backfill else None
    heeded = 0  # the reservations that start before it
    while start is not None:
        until = FOREVER + 1 if limit is None else start.time + limit
        if not cycle.reserved_between(state, max(start.time + 1, heeded), until):
            return start
        heeded = until
        start = cycle.guard(state).earliest(demand, since=start.time, until=until, hint=hint)
    return None


def _reason(cycle: CycleState, state: JobState, demand: Demand, start: Start) -> str:
    """What the start waits for, with the jobs that end then."""
    others = cycle.others(state)
    profile = cycle.future(state)
    key = demand.kind, start.time
    short = cycle.short.get(key)
    if not short and others and start.time > demand.earliest:
        # The instant before the start is all that is asked about.
        times = profile.candidate_times(demand.earliest, finishes_only=True)
        last = times[bisect.bisect_left(times, start.time) - 1]
        end = FOREVER if demand.duration is None else last + max(1, demand.duration)
        profile = cycle.guard(state).beside(demand, since=last, before=end)
    planned: list[PlannedJob] = []
    demands: list[Demand] = []
    for job, asked, place in cycle.freeing(state, start.time, hosts_concerned(demand, start)):
        demands.append(asked)
        planned.append(
            PlannedJob(
                job,
                place.time,
                None if asked.runs is None else place.time + asked.runs,
                cycle.world.named(place.allocation),
                alternative=place.alternative,
            )
        )
    problem = replace(cycle.problem, demands=tuple(demands))
    reason, cycle.short[key] = reason_and_shortage(
        problem, demand, start, profile, planned, finishes_only=True, short=short
    )
    return reason
