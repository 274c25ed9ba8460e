"""Backfill: the second pass, on slots and memory that pending jobs hold (TBR-18).

A job of a BACKFILL queue with a run limit may use what is held for another if it ends, by that
limit, no later than the other's estimated start. A reservation without an estimate - it waits for a
job without a run limit - lends nothing. What is borrowed still counts for both jobs in the limits
that count over hosts (queue and user totals), but on the hosts only once.
"""

from __future__ import annotations

import bisect
from collections.abc import Collection

import numpy as np

from ...model.job import Job
from ..availability.arrays import BoolArray, IntArray
from ..availability.resources import SLOTS
from ..fairshare.dispatch_policy import FirstCome
from ..fairshare.stages import Offer
from ..placement.earliest import Start
from ..world.cycle_state import CycleState
from ..world.job_state import JobState


def run(cycle: CycleState, newcomers: Collection[int] = ()) -> None:
    """Try every job that still pends, in order, while slots are free.

    newcomers: by number, behind all others; where there are any, only these are tried.
    """
    world = cycle.world
    estimates = _lending_until(cycle)
    if not estimates or not _free(cycle):
        return
    tried = _Tried(cycle, estimates)
    state_of, order = world.states.of, world.order
    if newcomers and isinstance(order, FirstCome):
        order.begin_with_newcomers(newcomers)
    else:
        order.begin_with_those_told(world.now)
    tried.free = _free(cycle)
    while (offer := order.next_but(tried)) is not None and not cycle.budget.late():
        state = state_of(offer.job.id)
        if not cycle.barred(state, offer):
            lenders = _lenders(cycle, state, estimates)
            start = _try(cycle, state, offer, estimates[-lenders])
            if start is not None:
                state.borrowed = _borrowed(cycle, start)
                if fills(cycle, state):
                    cycle.filling.add(state.number)
                cycle.start(state, start, backfilled=True, offer=offer, why="backfilled")
                cycle.forget(state)
                tried.free = _free(cycle)
                if not tried.free:
                    return
                continue
            tried.failed(state, lenders)
        order.skipped(offer.job)


class _Tried:
    """Jobs that cannot backfill: nobody lends to them, or as many did to an equal one in vain.

    What fails with so many lenders fails with fewer. free: slots that are free on all hosts
    together; who needs more of them fails too.
    """

    def __init__(self, cycle: CycleState, estimates: list[int]) -> None:
        """estimates: until when reservations lend, ascending."""
        self._cycle, self._now = cycle, cycle.world.now
        self._estimates = estimates
        self._ends = np.array(estimates, dtype=np.int64)
        #: With how many lenders such a job has failed, by the number of its shape.
        self._failed = np.zeros(cycle.world.requests.kinds, dtype=np.int64)
        self._least = cycle.world.requests.least_slots()
        self.free = 0.0

    def failed(self, state: JobState, lenders: int) -> None:
        """A job does not fit on what so many lend: nor do its equals, however long they run."""
        if not self._cycle.instance.advance_reservations:
            self._failed[self._cycle.shape(state).number] = lenders

    def fails(self, job: Job) -> bool:
        """Whether a job cannot backfill."""
        state = self._cycle.world.states.of(job.id)
        shape = self._cycle.shape(state)
        lenders = _lenders(self._cycle, state, self._estimates)
        return shape.least > self.free or lenders <= int(self._failed[shape.number])

    def among(self, numbers: IntArray, limits: IntArray) -> BoolArray:
        """Which jobs cannot, by their kinds (:meth:`Requests.kind`)."""
        lenders = len(self._ends) - np.searchsorted(self._ends, limits + self._now)
        return np.asarray((lenders <= self._failed[numbers]) | (self._least[numbers] > self.free))


def start_of(cycle: CycleState, state: JobState, offer: Offer) -> Start | None:
    """Where one job could start now on what others hold, None if nowhere."""
    estimates = _lending_until(cycle)
    lenders = _lenders(cycle, state, estimates)
    if not lenders or cycle.barred(state, offer):
        return None
    return _try(cycle, state, offer, estimates[-lenders])


def fills(cycle: CycleState, state: JobState) -> bool:
    """Whether a job that starts now on what others hold ends in the second of their start."""
    lent = _lending_until(cycle)
    lenders = _lenders(cycle, state, lent)
    return bool(lenders) and lent[-lenders] == cycle.world.now + (state.limit or 0)


def _lending_until(cycle: CycleState) -> list[int]:
    """Until when reservations lend what they hold, ascending.

    Who holds nothing now, since enough comes free by its start, needs its place from then on.
    """
    lending = [held for held in cycle.reservations if held.slots or held.start is not None]
    if not any(held.slots if held.kept is None else held.kept for held in lending):
        return []
    return sorted(held.estimate for held in lending if held.estimate is not None)


def _lenders(cycle: CycleState, state: JobState, estimates: list[int]) -> int:
    """How many reservations lend to a job: those that start no earlier than it ends."""
    until = cycle.world.now + cycle.world.requests.lent_for(state.job, state.limit)
    return len(estimates) - bisect.bisect_left(estimates, until)


def _free(cycle: CycleState) -> float:
    """Slots that are free on all hosts together, whoever holds them."""
    return float(np.maximum(cycle.world.free_now.host(SLOTS), 0).sum())


def _try(cycle: CycleState, state: JobState, offer: Offer, until: int) -> Start | None:
    closed = cycle.eligibility.closed(state.job.queue, offer.hosts)
    beside = cycle.beside_lent(closed, state, until)
    return cycle.try_start(cycle.shape(state), beside, offer.max_slots)


def _borrowed(cycle: CycleState, start: Start) -> dict[int, int]:
    """Slots of a start that pending jobs hold, by host."""
    free = cycle.world.free_now.host(SLOTS)
    held = cycle.held.hosts.get(SLOTS)
    if held is None:
        return {}
    found: dict[int, int] = {}
    for host, slots in start.allocation.items():
        part = slots - max(0, int(free[host] - held[host]))
        if part > 0:
            found[host] = part
    return found
