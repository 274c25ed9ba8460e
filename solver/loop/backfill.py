"""Backfill: the second pass, on slots and memory that pending jobs hold (TBR-18).

A job of a BACKFILL queue with a run limit may use what is held for another if it ends, by that
limit, no later than the other's estimated start. A reservation without an estimate - it waits for a
job without a run limit - lends nothing. What is borrowed still counts for both jobs in the limits
that count over hosts (queue and user totals), but on the hosts only once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .present import HeldBack

if TYPE_CHECKING:
    from .cycle import Cycle


def run(cycle: Cycle) -> None:
    """Try every job that still pends, in order."""
    world = cycle.world
    estimates = sorted({h.estimate for h in cycle.reservations if h.estimate is not None})
    if not estimates:
        return
    failed: set[tuple[int, int]] = set()
    order = world.order
    order.begin(world.now, [state.job for state in world.pending.values()])
    while (offer := order.next()) is not None:
        state = world.by_id[offer.job.id]
        shape = cycle.shape(state)
        limit = world.requests.run_limit(state.job)
        lenders = 0
        if limit is not None and cycle.queues[state.job.queue].backfill:
            lenders = sum(world.now + limit <= at for at in estimates)
        key = (shape.number, lenders)
        blocked = offer.withheld or shape.never or cycle.gates.queue_open(state)
        if lenders and not blocked and key not in failed:
            beside = cycle.beside(cycle.gates.closed(state.job.queue, offer.hosts), state)
            beside.held = _not_lent(cycle, estimates[-lenders], state.number)
            start = cycle.try_start(shape, beside, offer.max_slots)
            if start is not None:
                cycle.start(state, start, backfilled=True)
                _drop_own(cycle, state.number)
                continue
            failed.add(key)
        order.skipped(offer.job)


def _not_lent(cycle: Cycle, until: int, own: int) -> HeldBack:
    """What stays held: all reservations that start before `until`; their totals in any case."""
    held = HeldBack()
    view = cycle.beside(None)
    for item in cycle.reservations:
        if item.state.number != own:
            lent = item.estimate is not None and item.estimate >= until
            item.enter(held, view, totals_only=lent)
    return held


def _drop_own(cycle: Cycle, number: int) -> None:
    """A job that has started holds nothing any more."""
    cycle.reservations = [item for item in cycle.reservations if item.state.number != number]
