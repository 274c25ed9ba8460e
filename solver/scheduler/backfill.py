"""Backfill, the second pass of a cycle: starts on slots and memory that pending jobs reserve
(TBR-18).

A job of a BACKFILL queue with a run limit may use what is held for another if it ends, by that
limit, no later than the other's estimated start (of LSF's open family: :func:`.backfill_from`).
On a reservation without an estimate - it waits for a job without a run limit - no job may.
Backfilled slots still count for both jobs in the limits that count over hosts (queue and user
totals), but on the hosts only once.
"""

from __future__ import annotations

import bisect
from collections.abc import Collection

import numpy as np

from ...model.job import Job
from ..availability.resources import SLOTS, BoolArray, IntArray
from ..fairshare.priority_order import FEW_PENDING, FirstCome
from ..fairshare.stages import Offer
from ..placement.earliest import Start
from ..placement.holding import full_allocation
from ..rules.eligibility import preempting_pairs
from ..rules.omitted import has_loans
from .cycle_reservations import BackfillRows, backfill_from, backfill_from_each
from .cycle_state import CycleState
from .job_state import JobState


def backfill(cycle: CycleState, newcomers: Collection[int] = ()) -> None:
    """Try to backfill every pending job, in order, while slots are free.

    newcomers: numbers of newly submitted jobs at the end of the order; if there are any, only these
    are tried.
    """
    world = cycle.world
    estimates = _backfillable_estimates(cycle)
    if not estimates or not _free(cycle):
        return
    tried = _FailedBackfills(cycle, estimates)
    state_of, order = world.states.get, world.order
    if newcomers and isinstance(order, FirstCome):
        order.begin_with_new_arrivals(newcomers)
    else:
        order.begin_cycle(world.now)
    tried.free = _free(cycle)
    while (offer := order.next_except(tried)) is not None and not cycle.budget.late():
        state = state_of(offer.job.id)
        if not cycle.ineligibility(state, offer):
            holders = _count_backfillable(cycle, state, estimates)
            until = estimates[-holders]
            start = None
            if not tried.has_too_few(state, until):
                start = _try(cycle, state, offer, until, tried.rows)
            if start is not None:
                if cycle.has_reservation(state):
                    tried.record_passed()
                state.backfilled_slots = _backfilled_slots(cycle, state, start)
                if is_exact_backfill(cycle, state):
                    cycle.progress.exact_backfills.add(state.number)
                cycle.start(state, start, backfilled=True, offer=offer, why="backfilled")
                cycle.remove_reservation(state)
                cycle.record_backfill(state)
                tried.free = _free(cycle)
                if not tried.free:
                    return
                tried.forget_amounts()
                continue
            tried.record_failure(state, holders)
        order.skipped(offer.job)


class _FailedBackfills:
    """Jobs that cannot backfill, because an equal job failed on at least as many reservations.

    What fails with so many lenders fails with fewer.
    """

    def __init__(self, cycle: CycleState, estimates: list[int]) -> None:
        """Initialise the list.

        estimates: instants until which reservations can be backfilled, rising.
        """
        self._cycle = cycle
        self._estimates = estimates
        self._ends = np.array(estimates, dtype=np.int64)
        #: Number of backfillable reservations at the last failed attempt, by the number of the
        #: job's shape.
        self._failed = np.zeros(cycle.world.requests.kinds, dtype=np.int64)
        for number, *rest in cycle.progress.failed_starts:
            if not rest and isinstance(number, int):  # a shape that fits nowhere now
                self._failed[number] = len(estimates)
        self._least = cycle.world.requests.least_slots()
        #: Number of free slots on all hosts together; a job that needs more of them fails, too.
        self.free = 0.0
        self._rows: BackfillRows | None = None
        #: Free slots that may be backfilled until an instant, on all hosts together; an upper bound
        #: for every job without a reservation of its own. They only shrink until such a job starts.
        self._max_slots: dict[int, float] = {}
        instance = cycle.world.instance
        #: Whether these bounds hold for jobs of any duration.
        self._has_bounds = (
            len(cycle.world.pending) > FEW_PENDING and not instance.advance_reservations
        )
        if not self._has_bounds:
            return
        #: Whether jobs that are not examined in this pass may be examined again in the cycle.
        self._must_walk = (
            bool(preempting_pairs(instance)) or has_loans(instance) or bool(instance.partitions)
        )
        #: Shapes of the jobs with a reservation: what one of them may use, an equal job may not.
        self._holding = np.zeros(cycle.world.requests.kinds, dtype=bool)
        self._holding[[cycle.world.shape(item.state).number for item in cycle.reservations]] = True

    def record_failure(self, state: JobState, holders: int) -> None:
        """Record that a job does not fit on this many reservations; equal jobs fail for any run
        time.
        """
        world = self._cycle.world
        has_choice = world.requests.alternatives(state.job)
        if not world.instance.advance_reservations and not has_choice:
            self._failed[self._cycle.world.shape(state).number] = holders

    @property
    def rows(self) -> BackfillRows:
        """Return the amounts protected from backfill jobs now."""
        self._rows = self._rows or self._cycle.backfill_rows()
        return self._rows

    def forget_amounts(self) -> None:
        """Compute all amounts again, because a job has started."""
        self._rows = None
        self._max_slots.clear()

    def has_too_few(self, state: JobState, until: int) -> bool:
        """Whether a job needs more slots than are free, or may be backfilled until `until`."""
        if not self._has_bounds or self._cycle.has_reservation(state):
            return False
        return self._cycle.world.shape(state).min_free_slots > self._bound(until)

    def _bound(self, until: int) -> float:
        """Return the slots that a job without a reservation may use until `until`, in total."""
        if until not in self._max_slots:
            view = self._cycle.backfill_residual(None, None, until, self.rows)
            self._max_slots[until] = view.most_slots()
        return self._max_slots[until]

    def record_passed(self) -> None:
        """Record the failures of the jobs that :meth:`skip_mask` passed over.

        When a job with a reservation starts, slots are released that those jobs could not use; an
        equal job behind them is not tried again.
        """
        cycle, order = self._cycle, self._cycle.world.order
        if not isinstance(order, FirstCome) or not self._has_bounds:
            return
        for offer in order.passed():
            state = cycle.world.states.get(offer.job.id)
            holders = _count_backfillable(cycle, state, self._estimates)
            more = holders > self._failed[cycle.world.shape(state).number]
            if more and not cycle.ineligibility(state, offer):
                self.record_failure(state, holders)

    def must_skip(self, job: Job) -> bool:
        """Whether a job cannot backfill because an equal job has failed."""
        state = self._cycle.world.states.get(job.id)
        shape = self._cycle.world.shape(state)
        holders = _count_backfillable(self._cycle, state, self._estimates)
        return shape.min_free_slots > self.free or holders <= int(self._failed[shape.number])

    def skip_mask(self, numbers: IntArray, limits: IntArray) -> BoolArray:
        """Return a mask of the jobs that cannot start, by their kinds (:meth:`ShapeTable.kind`)."""
        world = self._cycle.world
        until = backfill_from_each(world.instance, world.now, limits)
        holders = len(self._ends) - np.searchsorted(self._ends, until)
        least = self._least[numbers]
        mask = np.asarray((holders <= self._failed[numbers]) | (least > self.free))
        if not self._has_bounds or mask.all():
            return mask
        if self._must_walk and not isinstance(world.order, FirstCome):
            return mask
        # Only levels of jobs that are not excluded yet; what a level leaves free is computed once.
        bounds = np.zeros(len(self._ends) + 1)
        for level in np.unique(holders[~mask]).tolist():
            bounds[level] = self._bound(self._estimates[-level])
        return mask | ((least > bounds[holders]) & ~self._holding[numbers])


def backfill_start(cycle: CycleState, state: JobState, offer: Offer) -> Start | None:
    """Return the earliest backfill of one job onto reserved slots now, or None if it fits
    nowhere.
    """
    estimates = _backfillable_estimates(cycle)
    holders = _count_backfillable(cycle, state, estimates)
    if not holders or cycle.ineligibility(state, offer):
        return None
    return _try(cycle, state, offer, estimates[-holders])


def is_exact_backfill(cycle: CycleState, state: JobState) -> bool:
    """Return whether a job that starts now by backfill ends in the very second of the reserved
    start.
    """
    backfilled = _backfillable_estimates(cycle)
    holders = _count_backfillable(cycle, state, backfilled)
    return bool(holders) and backfilled[-holders] == cycle.world.now + (state.limit or 0)


def _backfillable_estimates(cycle: CycleState) -> list[int]:
    """Return the instants until which reservations can be backfilled, ascending.

    A reservation without slots now needs its future allocation from its start on.
    """
    backfillable = [
        reservation
        for reservation in cycle.reservations
        if reservation.slots or reservation.start is not None
    ]
    if not any(
        reservation.slots if reservation.protected is None else reservation.protected
        for reservation in backfillable
    ):
        return []
    return sorted(
        reservation.estimate for reservation in backfillable if reservation.estimate is not None
    )


def _count_backfillable(cycle: CycleState, state: JobState, estimates: list[int]) -> int:
    """Return the number of reservations that a job may backfill: those with a start at its end or
    later.
    """
    world = cycle.world
    limit = world.requests.backfill_limit(state.job, state.limit)
    until = backfill_from(world.instance, world.now, limit)
    return len(estimates) - bisect.bisect_left(estimates, until)


def _free(cycle: CycleState) -> float:
    """Return the number of slots that are free on all hosts together, reserved or not."""
    return float(np.maximum(cycle.world.free_now.host(SLOTS), 0).sum())


def _try(
    cycle: CycleState,
    state: JobState,
    offer: Offer,
    until: int,
    rows: BackfillRows | None = None,
) -> Start | None:
    closed = cycle.eligibility.closed(state.job.queue, offer.hosts)
    residual = cycle.backfill_residual(closed, state, until, rows)
    return cycle.start_of(state, residual, offer.max_slots)


def _backfilled_slots(cycle: CycleState, state: JobState, start: Start) -> dict[int, int]:
    """Return the slots of a start that other pending jobs reserve, by host."""
    free = cycle.world.free_now.host(SLOTS)
    held = cycle.residual_for(None, state).held.hosts.get(SLOTS)
    if held is None:
        return {}
    found: dict[int, int] = {}
    demand = cycle.world.shape(state).demand
    for host, slots in full_allocation(demand, start, cycle.world.table).items():
        part = slots - max(0, int(free[host] - held[host]))
        if part > 0:
            found[host] = part
    return found
