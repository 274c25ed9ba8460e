"""Loans of guaranteed pools: the last pass of a cycle over resources that owners leave idle
(GUA-01).

A job that satisfies the loan policy may use guaranteed resources that no owner has taken in the
cycle. A loan lasts until the job ends.
"""

from __future__ import annotations

from ..availability.guarantees import GuaranteedUse
from ..availability.running_profile import Residual
from ..fairshare.stages import Offer
from .cycle_state import CycleState
from .job_state import JobState


def give_loans(cycle: CycleState) -> None:
    """Start pending jobs in dispatch order on loans of guaranteed pools."""
    rows = cycle.world.table.guarantees
    if rows is None:
        return
    pools = [n for n, pool in enumerate(rows.pools) if pool.pool.loans is not None]
    demanded = {number: _demanded(cycle, number) for number in pools}
    order, state_of = cycle.world.order, cycle.world.states.get
    order.begin_cycle(cycle.world.now)
    while (offer := order.next()) is not None and not cycle.budget.late():
        state = state_of(offer.job.id)
        open_to = [number for number in pools if rows.loan_of(number, offer.job)]
        if not open_to or not _start(cycle, state, offer, open_to, demanded):
            order.skipped(offer.job)


def _start(
    cycle: CycleState,
    state: JobState,
    offer: Offer,
    open_to: list[int],
    demanded: dict[int, bool],
) -> bool:
    """Start one job on loans of these pools; return whether it started."""
    if cycle.ineligibility(state, offer):
        return False
    residual = cycle.residual_for(cycle.eligibility.closed(state.job.queue, offer.hosts), state)
    table = cycle.world.table
    for number in open_to:
        amount = pool_use(residual, number).loan(state.job.queue, demanded=demanded[number])
        residual.loans = {
            **residual.loans,
            **dict.fromkeys(table.guarantee_limits(number), amount),
        }
    start = cycle.start_of(state, residual, offer.max_slots)
    if start is None:
        return False
    cycle.start(state, start, offer=offer, why="on a loan of a guaranteed pool")
    cycle.remove_reservation(state)
    return True


def pool_use(residual: Residual, number: int) -> GuaranteedUse:
    """Return the use of a guaranteed pool, including reservations of pending jobs."""
    return residual.table.pool_use(number, residual.free_of_capacity)


def _demanded(cycle: CycleState, number: int) -> bool:
    """Whether a class with unused guarantees has pending jobs, apart from deferred ones."""
    rows = cycle.world.table.guarantees
    assert rows is not None
    unused = pool_use(cycle.residual(None), number).unused
    return any(
        unused.get(rows.members.of(state.job), 0.0) > 0 and not cycle.deferral_reason(state)
        for state in cycle.world.pending.values()
    )
