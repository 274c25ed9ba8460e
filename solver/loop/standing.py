"""Cycles that only newcomers matter to: what the last cycle said of all other jobs stands.

Where the last cycle started nobody, and nothing has happened since but that jobs were submitted,
the next would do the same again: as much is free, the same runs until the same instants, and what
did not fit fits still less into less time. So everybody keeps what he holds, and only newcomers
behind all others have their turns.
"""

from __future__ import annotations

from ..fairshare.dispatch_policy import FirstCome
from ..methods.reserving import runs_out
from ..rules.preempting import preempting_pairs
from ..world.cycle_state import CycleState
from ..world.held import Held


def events_alone_count(cycle: CycleState) -> bool:
    """Whether, in all of a simulation, time changes nothing by itself for jobs that wait.

    No order that moves, no windows, loads or intervals, nobody who is preempted.
    """
    settings = cycle.settings
    return (
        isinstance(cycle.world.order, FirstCome)
        and settings.reservation != "optimal"
        and settings.skip_idle
        and not settings.planning
        and not cycle.instance.advance_reservations
        and not cycle.eligibility.moved_by_time
        and not preempting_pairs(cycle.instance)
    )


def stands(cycle: CycleState) -> bool:
    """Whether what the cycle before this one said of its jobs stands, if these only had company.

    It does not where something falls or grows, where the time to hold something is over, and where
    an instant that was reckoned with has come.
    """
    world = cycle.world
    now = world.now
    if world.falling or world.suspended or world.growing or world.requests.any_dynamic:
        return False
    if not all(_still_to_come(held, cycle.record.time, now) for held in cycle.reservations):
        return False
    lent = (state.expected_end(now) for state in world.borrowing.values())
    if any(end is not None and end <= now + 1 for end in lent):
        return False
    return not any(runs_out(cycle, state) for state in cycle.timed.values())


def _still_to_come(held: Held, last: int, now: int) -> bool:
    """Whether a reservation's start is as far ahead now as in the cycle at `last`.

    A greedy one whose slots were all there then waits for what no instant is known of.
    """
    if held.estimate is None or held.estimate > now:
        return True
    return held.start is None and held.estimate == last
