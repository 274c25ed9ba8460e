"""Backfill: the second pass, on slots and memory that pending jobs hold (TBR-18).

A job of a BACKFILL queue with a run limit may use what is held for another if it ends, by that
limit, no later than the other's estimated start. A reservation without an estimate - it waits for a
job without a run limit - lends nothing. What is borrowed still counts for both jobs in the limits
that count over hosts (queue and user totals), but on the hosts only once.
"""

from __future__ import annotations

import bisect
from typing import TYPE_CHECKING

from ..availability.free_now import HeldBack
from ..availability.resources import SLOTS
from ..fairshare.stages import Offer
from ..placement.earliest import Start
from ..world.job_state import JobState

if TYPE_CHECKING:
    from .cycle import Cycle


def run(cycle: Cycle) -> None:
    """Try every job that still pends, in order, while slots are free."""
    world = cycle.world
    lending = [held for held in cycle.reservations if held.slots]
    estimates = sorted(held.estimate for held in lending if held.estimate is not None)
    if not estimates or not _any_free(cycle):
        return
    # What fails with so many lenders fails with fewer.
    failed: dict[int, int] = {}
    order = world.order
    order.begin(world.now, world.waiting())
    while (offer := order.next()) is not None:
        state = world.by_id[offer.job.id]
        shape = cycle.shape(state)
        lenders = 0
        if state.limit is not None and cycle.queues[state.job.queue].backfill:
            lenders = len(estimates) - bisect.bisect_left(estimates, world.now + state.limit)
        if lenders > failed.get(shape.number, 0) and not cycle.barred(state, offer):
            start = _try(cycle, state, offer, estimates[-lenders])
            if start is not None:
                cycle.start(state, start, backfilled=True, offer=offer, why="backfilled")
                cycle.forget(state)
                if not _any_free(cycle):
                    return
                continue
            failed[shape.number] = lenders
        order.skipped(offer.job)


def _any_free(cycle: Cycle) -> bool:
    return bool((cycle.world.free_now.host(SLOTS) > 0).any())


def _try(cycle: Cycle, state: JobState, offer: Offer, until: int) -> Start | None:
    beside = cycle.beside(cycle.eligibility.closed(state.job.queue, offer.hosts), state)
    beside.held = _not_lent(cycle, until, state.number)
    return cycle.try_start(cycle.shape(state), beside, offer.max_slots)


def _not_lent(cycle: Cycle, until: int, own: int) -> HeldBack:
    """What stays held: all reservations that start before `until`; their totals in any case."""
    held = HeldBack()
    view = cycle.beside(None)
    for item in cycle.reservations:
        if item.state.number != own:
            lent = item.estimate is not None and item.estimate >= until
            item.enter(held, view, totals_only=lent)
    return held
