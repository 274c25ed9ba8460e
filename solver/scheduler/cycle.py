"""One dispatch cycle, phase by phase (LOP-01); docs/loop.md describes the order.

1. Suspended jobs go on where they may.
2. Allocation: the pending jobs in order; each starts, or pends with a reservation or without.
3. Backfill: jobs of BACKFILL queues on slots that others hold.
4. Preemption. 5. Growth of resizable jobs, where it had no turn among the pending jobs.
"""

from __future__ import annotations

import bisect
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ...model.job import Job
from ...model.shares import hosts_beside
from ..availability.demand import TermDemand
from ..availability.free_now import Residual
from ..availability.resources import SLOTS, Amounts, BoolArray, IntArray
from ..budget import Budget
from ..fairshare.dispatch_policy import FirstCome
from ..fairshare.queue_order import queue_key
from ..fairshare.stages import Offer
from ..placement.earliest import Start
from ..placement.holding import full_allocation
from ..placement.single import place_most
from ..rules.eligibility import Eligibility, may_preempt, preempting_pairs
from .advance_reservations import has_waiting_reservation, suspend_for_reservations
from .cycle_reservations import JobReservation
from .cycle_state import CycleRecord, CycleState
from .events import Settings
from .job_state import PREEMPTED, RUNNING, SUSPENDED, JobState
from .later_attempts import LaterAttempts
from .loans import give_loans, has_loans
from .methods import METHODS
from .reserving import Greedy, may_reserve, runs_out, too_late
from .world import World


def can_any_start(cycle: CycleState, among: Iterable[JobState]) -> bool:
    """Whether one of some pending jobs fits now beside nothing but what runs."""
    world = cycle.world
    residual = Residual(world.free_now, world.now, Amounts())
    free = np.maximum(residual.free(SLOTS, world.now), 0)
    most = int(free.sum())
    shapes = {cycle.shape(state).number: cycle.shape(state) for state in among}
    for shape in shapes.values():
        if shape.infeasibility:
            continue
        if shape.dynamic or len(shape.demand.terms) > 1:
            return True
        term = shape.demand.terms[0]
        if term.slots > most:
            continue
        there = free[term.candidates]
        if term.ptile is not None:
            there = np.minimum(there, term.ptile[term.candidates])
        if there.sum() >= term.slots and cycle.try_start(shape, residual) is not None:
            return True
    return False


# Cycles that only newcomers matter to: what the last cycle said of all other jobs stands.
#
# Where the last cycle started nobody, and nothing has happened since but that jobs were submitted,
# the next would do the same again: as much is free, the same runs until the same instants, and
# what did not fit fits still less into less time. So everybody keeps what he holds, and only
# newcomers behind all others have their turns.


def is_event_driven(cycle: CycleState) -> bool:
    """Whether, in all of a simulation, time changes nothing by itself for jobs that wait.

    No order that moves, no windows, loads or intervals, nobody who is preempted.
    """
    settings = cycle.settings
    return (
        isinstance(cycle.world.order, FirstCome)
        and settings.reservation != "optimal"
        and settings.skip_idle
        and not settings.planning
        and not has_loans(cycle)
        and not cycle.instance.advance_reservations
        and not cycle.eligibility.moved_by_time
        and not preempting_pairs(cycle.instance)
    )


def is_last_cycle_valid(cycle: CycleState) -> bool:
    """Whether what the cycle before this one said of its jobs stands, if these only had company.

    It does not where something falls or grows, where the time to hold something is over, and where
    an instant that was computed with has come.
    """
    world = cycle.world
    now = world.now
    if (
        world.running_profile.falls.amounts
        or world.subsets.suspended
        or world.subsets.growing
        or world.requests.any_dynamic
    ):
        return False
    if not all(
        _not_yet_submitted(reservation, cycle.record.time, now)
        for reservation in cycle.reservations
    ):
        return False
    backfilled = (state.expected_end(now) for state in world.subsets.backfilled.values())
    if any(end is not None and end <= now + 1 for end in backfilled):
        return False
    return not any(runs_out(cycle, state) for state in cycle.reservation_timers.values())


def _not_yet_submitted(reservation: JobReservation, last: int, now: int) -> bool:
    """Whether a reservation's start is as far ahead now as in the cycle at `last`.

    A greedy one whose slots were all there then waits for what no instant is known of.
    """
    if reservation.estimate is None or reservation.estimate > now:
        return True
    return reservation.start is None and reservation.estimate == last


# Preemption (LOP-06) and suspension by load or run window (RSV-11): who is suspended, who goes
# on.
#
# A job of a preemptive queue that finds no slots suspends running jobs of lower queues: those of
# the lowest queue first, among them the latest started, as few as it needs. A suspended job keeps
# its memory and its other resources; only its slots go. Jobs of a BACKFILL queue are not
# preempted.


def resume(cycle: CycleState) -> None:
    """Suspend by load and windows, then let go on what may, highest queue first."""
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
            beyond = eligibility.beyond(cycle.queues[queue].thresholds, world.now)
            if not beyond[list(state.allocation)].any():
                world.resume(state, world.now)
                cycle.record.resumed.append(state.job.id)


def preempt(cycle: CycleState) -> None:
    """Try the pending jobs of preemptive queues, in order.

    What a job holds itself, and what those behind it hold, is free for it: a reservation keeps
    slots from jobs of lower rank alone.
    """
    world = cycle.world
    order = world.order
    order.begin_cycle(world.now)
    ahead: set[int] = set()
    while (offer := order.next()) is not None:
        state = world.states.get(offer.job.id)
        if (
            not _may_preempt(cycle, state.job.queue)
            or cycle.ineligibility(state, offer)
            or not _preempt(cycle, state, offer, ahead)
        ):
            ahead.add(state.number)
            order.skipped(offer.job)


def _may_preempt(cycle: CycleState, queue: str) -> bool:
    """Whether there is a queue that this one may preempt."""
    own = cycle.queues[queue]
    return any(may_preempt(own, other) for other in cycle.queues.values())


def _preempt(cycle: CycleState, state: JobState, offer: Offer, ahead: Collection[int]) -> bool:
    """Start one job in the place of others; whether that was possible.

    ahead: numbers of the pending jobs before it in the order.
    """
    world = cycle.world
    shape = cycle.shape(state)
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
        start = cycle.try_start(shape, residual)
        if start is not None:
            break
    if start is None:
        return False
    for victim in chosen[:-1]:
        # Give back what was not needed after all.
        place = world.running_profile.slots_of(victim.number)
        taken = world.table.slots_taken(victim.job)
        for host, slots in place.items():
            trial.free_slots(host, -slots, taken)
        without = cycle.try_start(shape, residual)
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
    """Running jobs that the job may preempt: lowest queue first, then the latest started.

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


# Resizable jobs (PLC-14, TBR-14): a running -ar job below its maximum takes what is free.
#
# A wish to grow has its turn like a pending job. Where fairshare, partitions or pools are at work
# it stands in their order, beside the jobs that wait, and each slot it gets counts before the next
# turn (FSH-15). First come, first served, growth comes last in a cycle, in queue order; so do the
# wishes that an order had no turn for. It never touches what pending jobs hold. New slots obey the
# job's span: more slots on any candidate host, blocks on new hosts under ptile (the last one may
# be smaller where the maximum asks for it), blocks on any host under block, the same host under
# hosts=1; same[] keeps to the class of the job's hosts.


def growth_requests(cycle: CycleState) -> list[Job]:
    """Of each running job that may grow the slots it still wants, as a range from 1."""
    return [
        replace(state.job, slots=1, max_slots=state.job.most_slots - state.slots)
        for state in cycle.world.subsets.growing.values()
        if state.status == RUNNING and state.slots < state.job.most_slots
    ]


def grow_resizable_jobs(cycle: CycleState) -> None:
    """The turns at the end of a cycle."""
    jobs = growth_requests(cycle)
    if not jobs:
        return
    world = cycle.world
    order = world.order
    if isinstance(order, FirstCome):
        priority = {queue.name: queue.priority for queue in cycle.instance.queues}
        for job in sorted(jobs, key=lambda job: queue_key(job, priority[job.queue])):
            number = world.states.get(job.id).number
            grow(cycle, Offer(job, (number,)))
        return
    order.begin(world.now, jobs)
    while (offer := order.next()) is not None:
        grow(cycle, offer)
        order.skipped(offer.job)


def grow(cycle: CycleState, offer: Offer) -> None:
    """Let one job grow, now that it is its turn, within what the offer allows."""
    state = cycle.world.states.get(offer.job.id)
    demand = cycle.world.requests.now(cycle.shape(state))
    if offer.ineligibility or demand.impossible or len(demand.terms) > 1:
        return
    if demand.terms[0].unit is not None:  # cu[] of its queue: the job is not resizable there (004)
        return
    most = state.job.most_slots - state.slots
    if offer.max_slots is not None:
        most = min(most, offer.max_slots)
    term = _missing(demand.terms[0], state, most)
    if term is None:
        return
    if cycle.instance.partitions:
        names = cycle.world.names
        near = hosts_beside(cycle.instance, (names[host] for host in state.allocation))
        inside = np.array([names[host] in near for host in term.candidates], dtype=bool)
        if not inside.any():
            return
        term = replace(term, candidates=term.candidates[inside])
    residual = cycle.residual(cycle.eligibility.closed(state.job.queue, offer.hosts), state)
    capacity = residual.capacity(demand, term, term.alternatives[state.alternative], residual.now)
    more = place_most(term, capacity)
    if more is None:
        return
    allocation = dict(state.allocation)
    for host, slots in more.items():
        allocation[host] = allocation.get(host, 0) + slots
    cycle.world.resize(state, allocation)
    cycle.planned.invalidate()
    if state.job.id not in cycle.record.resized:
        cycle.record.resized.append(state.job.id)


def _missing(term: TermDemand, state: JobState, most: int) -> TermDemand | None:
    """The part of the term that is still to come, `most` slots of it; None if it cannot grow."""
    own = np.array(list(state.allocation), dtype=np.int64)
    candidates = term.candidates
    block = 1
    for labels in term.same[:1]:
        candidates = candidates[labels[candidates] == labels[own[0]]]
    if term.one_host:
        candidates = own
    elif term.ptile is not None:
        candidates = candidates[~np.isin(candidates, own)]
        if not candidates.size:
            return None
        block = min(most, int(term.ptile[candidates].min()))
        if any(state.allocation[int(h)] < int(term.ptile[h]) for h in own):
            # The last host holds a remainder: no further block may follow it.
            return None
    elif term.block > 1:
        block = min(most, term.block)
        if any(slots % term.block for slots in state.allocation.values()):
            return None
    if most < block or not candidates.size:
        return None
    return replace(term, slots=block, max_slots=most, candidates=candidates, first_hosts=None)


# Backfill: the second pass, on slots and memory that pending jobs hold (TBR-18).
#
# A job of a BACKFILL queue with a run limit may use what is held for another if it ends, by that
# limit, no later than the other's estimated start. A reservation without an estimate - it waits
# for a job without a run limit - lends nothing. What is borrowed still counts for both jobs in the
# limits that count over hosts (queue and user totals), but on the hosts only once.


def backfill(cycle: CycleState, newcomers: Collection[int] = ()) -> None:
    """Try every job that still pends, in order, while slots are free.

    newcomers: by number, behind all others; where there are any, only these are tried.
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
            start = _try(cycle, state, offer, estimates[-holders])
            if start is not None:
                state.backfilled_slots = _backfilled_slots(cycle, state, start)
                if is_exact_backfill(cycle, state):
                    cycle.progress.exact_backfills.add(state.number)
                cycle.start(state, start, backfilled=True, offer=offer, why="backfilled")
                cycle.remove_reservation(state)
                cycle.record_backfill(state)
                tried.free = _free(cycle)
                if not tried.free:
                    return
                continue
            tried.record_failure(state, holders)
        order.skipped(offer.job)


class _FailedBackfills:
    """Jobs that cannot backfill: nobody lends to them, or as many did to an equal one in vain.

    What fails with so many lenders fails with fewer.
    """

    def __init__(self, cycle: CycleState, estimates: list[int]) -> None:
        """estimates: until when reservations lend, ascending."""
        self._cycle, self._now = cycle, cycle.world.now
        self._estimates = estimates
        self._ends = np.array(estimates, dtype=np.int64)
        #: With how many lenders such a job has failed, by the number of its shape.
        self._failed = np.zeros(cycle.world.requests.kinds, dtype=np.int64)
        self._least = cycle.world.requests.least_slots()
        #: Slots that are free on all hosts together; who needs more of them fails too.
        self.free = 0.0

    def record_failure(self, state: JobState, holders: int) -> None:
        """A job does not fit on what so many lend: nor do its equals, however long they run."""
        if not self._cycle.instance.advance_reservations:
            self._failed[self._cycle.shape(state).number] = holders

    def must_skip(self, job: Job) -> bool:
        """Whether a job cannot backfill."""
        state = self._cycle.world.states.get(job.id)
        shape = self._cycle.shape(state)
        holders = _count_backfillable(self._cycle, state, self._estimates)
        return shape.min_free_slots > self.free or holders <= int(self._failed[shape.number])

    def skip_mask(self, numbers: IntArray, limits: IntArray) -> BoolArray:
        """Which jobs cannot, by their kinds (:meth:`ShapeTable.kind`)."""
        holders = len(self._ends) - np.searchsorted(self._ends, limits + self._now)
        return np.asarray((holders <= self._failed[numbers]) | (self._least[numbers] > self.free))


def backfill_start(cycle: CycleState, state: JobState, offer: Offer) -> Start | None:
    """Where one job could start now on what others hold, None if nowhere."""
    estimates = _backfillable_estimates(cycle)
    holders = _count_backfillable(cycle, state, estimates)
    if not holders or cycle.ineligibility(state, offer):
        return None
    return _try(cycle, state, offer, estimates[-holders])


def is_exact_backfill(cycle: CycleState, state: JobState) -> bool:
    """Whether a job that starts now on what others hold ends in the second of their start."""
    backfilled = _backfillable_estimates(cycle)
    holders = _count_backfillable(cycle, state, backfilled)
    return bool(holders) and backfilled[-holders] == cycle.world.now + (state.limit or 0)


def _backfillable_estimates(cycle: CycleState) -> list[int]:
    """Until when reservations lend what they hold, ascending.

    Who holds nothing now, since enough becomes free by its start, needs its place from then on.
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
    """How many reservations lend to a job: those that start no earlier than it ends."""
    until = cycle.world.now + cycle.world.requests.backfill_limit(state.job, state.limit)
    return len(estimates) - bisect.bisect_left(estimates, until)


def _free(cycle: CycleState) -> float:
    """Slots that are free on all hosts together, whoever holds them."""
    return float(np.maximum(cycle.world.free_now.host(SLOTS), 0).sum())


def _try(cycle: CycleState, state: JobState, offer: Offer, until: int) -> Start | None:
    closed = cycle.eligibility.closed(state.job.queue, offer.hosts)
    residual = cycle.backfill_residual(closed, state, until)
    return cycle.try_start(cycle.shape(state), residual, offer.max_slots)


def _backfilled_slots(cycle: CycleState, state: JobState, start: Start) -> dict[int, int]:
    """Slots of a start that other pending jobs hold, by host."""
    free = cycle.world.free_now.host(SLOTS)
    held = cycle.residual_for(None, state).held.hosts.get(SLOTS)
    if held is None:
        return {}
    found: dict[int, int] = {}
    place = full_allocation(cycle.shape(state).demand, start, cycle.world.table)
    for host, slots in place.items():
        part = slots - max(0, int(free[host] - held[host]))
        if part > 0:
            found[host] = part
    return found


class Cycle:
    """The cycles of one simulation. `run` is one of them."""

    def __init__(
        self, world: World, eligibility: Eligibility, settings: Settings, budget: Budget
    ) -> None:
        self.state = CycleState(world, eligibility, settings, budget)
        self.method = METHODS[settings.reservation]
        queues = world.instance.queues
        self.backfills = any(queue.backfill for queue in queues)
        self.preempts = bool(preempting_pairs(world.instance)) and not settings.planning
        self.has_loans = has_loans(self.state)
        #: Whether every job has its turn in every cycle, for those who ask why each one waits.
        self.whole_walks = False
        #: The one job that is asked about: once it starts in its turn, nothing else is decided.
        self.wanted: str | None = None
        self.answered = False
        self._last: tuple[object, ...] = ()
        #: Whose turn comes later, where a plan goes on behind the cycle.
        self.later = LaterAttempts(self.state, self._hold)
        self._holders: set[int] = set()
        self._events_alone = is_event_driven(self.state)
        #: Whether the next cycle would do what the last did, if nothing happens.
        self._quiescent = False
        #: When what the last cycle held for a job is held no more: it could not end in time.
        self.too_late: list[int] = []
        #: How many newcomers the last cycle looked at if it was left out, None if it was run.
        self._passed: int | None = None

    @property
    def world(self) -> World:
        """The cluster and its jobs."""
        return self.state.world

    @property
    def settings(self) -> Settings:
        """How cycles are run."""
        return self.state.settings

    @property
    def is_skipped(self) -> bool:
        """Whether the last cycle was left out: whatever the order, nobody could start."""
        return self._passed is not None

    @property
    def record(self) -> CycleRecord:
        """What the last cycle did."""
        return self.state.record

    @property
    def reservations(self) -> list[JobReservation]:
        """What pending jobs have reserved in the last cycle."""
        return self.state.reservations

    def run(self, *, only_submissions: bool = False) -> CycleRecord:
        """One cycle at the world's time; only_submissions: nothing else happened since the last."""
        state = self.state
        self._passed = None
        newcomers = {job.number for job in self.world.arrivals.new}
        stands = only_submissions and self._can_process_only(newcomers)
        if stands:
            state.begin_unchanged()
            if not newcomers:
                self._close()
                return state.record
            if not state.progress.queue_exhausted:
                self._process_queue()
            self._set_initial_reasons()
        else:
            state.begin()
            resume(state)
            self._allocate()
        if self.answered:
            return state.record
        if self.backfills and state.reservations:
            backfill(state, newcomers if stands else ())
        if self.method.looks_ahead:
            self.later.take()
        else:
            self._foresee_all()
        if self.preempts:
            preempt(state)
        if self.has_loans:
            give_loans(state)
        if not self.settings.planning:
            grow_resizable_jobs(state)
        self._close()
        return state.record

    def _can_process_only(self, newcomers: Collection[int]) -> bool:
        """Whether this cycle need look at none but these, by number; they are next in the order."""
        order = self.world.order
        return (
            self._quiescent
            and isinstance(order, FirstCome)
            and is_last_cycle_valid(self.state)
            and (not newcomers or order.begin_with_new_arrivals(newcomers))
        )

    def skip_if_idle(self, *, only_submissions: bool = False) -> bool:
        """Leave a cycle out in which no job could start even if nothing was held for any other.

        Reservations are not renewed then. only_submissions: nothing else happened since the last
        cycle: if that was left out, those who waited then still cannot start, and only newcomers
        are looked at. Whether it was left out.
        """
        world, state = self.world, self.state
        known = self._passed if only_submissions else None
        among = world.pending.values() if known is None else world.arrivals.new[known:]
        self._passed = None
        if (
            self.preempts
            or (state.instance.advance_reservations and has_waiting_reservation(state))
            or self.has_loans
            or world.subsets.suspended
            or world.subsets.growing
            or can_any_start(state, among)
        ):
            return False
        self._passed = len(world.arrivals.new)
        state.record = CycleRecord(world.now, pending=len(world.pending))
        world.changed = self._quiescent = False
        return True

    def _allocate(self) -> None:
        order, state = self.world.order, self.state
        wishes: list[Job] = []
        if not isinstance(order, FirstCome) and not self.settings.planning:
            wishes = growth_requests(state)
        order.begin_cycle(self.world.now, wishes, state.open_slots())
        self.later = LaterAttempts(state, self._hold)
        # Slots that these jobs lent to backfill are theirs still, though none is free.
        self._holders = (
            {n for n in state.reservation_timers if state.reservation_timers[n].holding.hosts}
            if state.backfilled_slots.has_any
            else set()
        )
        self.method.before(state)
        if isinstance(order, FirstCome) or not self._is_queue_exhausted():
            self._process_queue()
        if not self.answered:
            self._set_initial_reasons()

    def _process_queue(self) -> None:
        """Every job from the one at hand on has its turn, as long as a turn may change anything."""
        order, state = self.world.order, self.state
        state_of = self.world.states.get
        while (offer := order.next()) is not None and not self.state.budget.late():
            job = state_of(offer.job.id)
            self._holders.discard(job.number)
            if job.status == RUNNING:
                grow(state, offer)
                order.skipped(offer.job)
            elif not self._consider(job, offer):
                order.skipped(offer.job)
                if self._is_queue_exhausted():
                    state.progress.queue_exhausted = True
                    state.progress.search_cut |= (
                        self.method.looks_ahead and self.state.budget.stopped()
                    )
                    break
            elif offer.job.id == self.wanted:
                self.answered = True
                return

    def _is_queue_exhausted(self) -> bool:
        """Whether the rest of the queue can neither start nor reserve: no slot is free."""
        state = self.state
        if not state.progress.must_recount:
            return False
        if self.method.looks_ahead and not self.state.budget.stopped():
            # On another partition's hosts a job that has a place may have an earlier one (TBR-12).
            again = bool(state.instance.partitions) and bool(state.reservations)
            if again or state.may_reserve_more():
                return False
        state.progress.must_recount = False
        view = state.residual(None)
        if (view.free(SLOTS, view.now) > 0).any() or self._holders:
            return False
        return self._can_skip_rest()

    def _can_skip_rest(self) -> bool:
        """Whether turns without a free slot say nothing that is not known without them.

        A reservation whose time is over ends in its turn (GRD-06, MEM-04). Pools and partitions
        say why they hold a newcomer back only when its turn comes.
        """
        state, world = self.state, self.world
        if self.settings.planning and (state.precedence or state.instance.advance_reservations):
            return False  # those that wait for others, or for the clock, get an estimate
        told = isinstance(world.order, FirstCome)
        if not told and (self.settings.planning or self.whole_walks):
            return False
        waiting, seen = world.pending, state.progress.examined
        shared = bool(state.instance.partitions) or any(q.slot_pool for q in state.instance.queues)
        if shared and any(
            job.number in waiting and job.number not in seen for job in world.arrivals.new
        ):
            return False
        return not any(
            number in waiting and number not in seen and runs_out(state, job)
            for number, job in state.reservation_timers.items()
        )

    def _set_initial_reasons(self) -> None:
        """Every job has a reason from its first cycle on, also behind the end of the walk."""
        for job in self.world.arrivals.new:
            if self.state.budget.late():
                break
            if job.start is None and not job.reason:
                shape = self.state.shape(job)
                closed = self.state.eligibility.closed(job.job.queue, None)
                known = self.world.order.infeasibility(job.job) or shape.infeasibility
                asked = job.reserved is not None or not isinstance(self.world.order, FirstCome)
                if not known and asked:
                    known = self.state.deferral_reason(job)
                self.state.set_reason(job, known or self.state.pending_reason(job, shape, closed))
        self.world.arrivals.new.clear()

    def _consider(self, job: JobState, offer: Offer) -> bool:
        """Start one job, or else reserve for it; whether it started."""
        state = self.state
        if offer.ineligibility:
            state.progress.ineligible[job.number] = offer.ineligibility
        if self.settings.planning:
            waits = self._waits_for_time_only(job, offer)
            self.later.note(job, offer, waits=waits)
            if waits:  # it does not count for the others before its time has come
                return False
        state.progress.examined.add(job.number)
        found = self.decide(job, offer)
        if isinstance(found, Start):
            held = state.has_reservation(job)
            state.start(job, found, offer=offer)
            if held:
                state.cancel_reservation(job)
            return True
        if found is not None:
            state.add_reservation(found)
        return False

    def decide(
        self, job: JobState, offer: Offer, *, may_hold: bool = True
    ) -> Start | JobReservation | None:
        """What a job gets in its turn: a start now, or what it holds until later, or nothing.

        Its reason is noted; nothing else changes. may_hold: whether it is asked what it would hold.
        """
        state = self.state
        shape = state.shape(job)
        if reason := state.ineligibility(job, offer):
            state.set_reason(job, reason)
            if self.settings.planning and self._waits_for_time_only(job, offer):
                return self._estimate_deferred(job, offer)
            return None
        closed = state.eligibility.closed(job.job.queue, offer.hosts)
        # Only partitions bring a job up again in a cycle, which may hold slots by then.
        holds = bool(state.instance.partitions) and state.has_reservation(job)
        key = (shape.number, offer.hosts, offer.max_slots, state.relevant_duration(job), holds)
        if key not in state.progress.failed_starts:
            start = state.try_start(shape, state.residual_for(closed, job), offer.max_slots)
            if start is not None:
                return start
            state.progress.failed_starts.add(key)
        if not job.reason:
            state.set_reason(job, state.pending_reason(job, shape, closed))
        if not may_hold or not may_reserve(state, job):
            return None
        return self._hold(job, offer)

    def _hold(self, job: JobState, offer: Offer) -> JobReservation | None:
        """What a job holds until later."""
        return self.method.reserve(self.state, job, self._closed_for_estimates(job, offer))

    def _waits_for_time_only(self, job: JobState, offer: Offer) -> bool:
        """Whether nothing but its begin time or a window keeps a job from being considered."""
        state = self.state
        return bool(state.deferral_reason(job)) and not state.planning_exclusion(job, offer)

    def _foresee_all(self) -> None:
        """Estimates for those that wait for the clock or others, each behind those it waits for."""
        state, waiting = self.state, self.later.waiting
        names = dict.fromkeys(job.job.id for job, _ in waiting)
        rank = {name: at for at, name in enumerate(state.precedence.ordered(list(names)))}
        for job, offer in sorted(waiting, key=lambda item: rank[item[0].job.id]):
            if state.budget.late():
                break
            state.progress.examined.add(job.number)
            found = self.decide(job, offer)
            if isinstance(
                found, JobReservation
            ):  # else who let it go has started in this very cycle
                state.add_reservation(found)

    def _closed_for_estimates(self, job: JobState, offer: Offer) -> BoolArray | None:
        """Hosts that a reservation leaves out: estimates know no dispatch windows (TBR-19).

        A plan knows when hosts that have just taken a job take the next; the loop's estimates
        leave them out (TBR-16).
        """
        return self.state.eligibility.closed(
            job.job.queue, offer.hosts, windows=False, intervals=not self.settings.planning
        )

    def _estimate_deferred(self, job: JobState, offer: Offer) -> JobReservation | None:
        """An estimate for a job that waits for the clock or others: it holds nothing until then."""
        release = self.state.eligible_from(job.job)
        if release is None:
            return None
        reservation = self._hold(job, offer)
        if reservation is None:
            # Whatever is free then: it starts no sooner than others let it.
            return JobReservation(job, Greedy.name, release) if job.job.dependency else None
        return replace(reservation, slots={}, memory={}, backfilled={}, alternative=None)

    def _close(self) -> None:
        self.state.close()
        record, signature = self.state.record, self.state.signature()
        done = record.started or record.preempted or record.resumed or record.resized
        self.world.changed = bool(
            done or self.state.progress.is_unstable or signature != self._last
        )
        self._last = signature
        self.too_late = [] if self.settings.planning else too_late(self.state)
        self._quiescent = self._events_alone and not (
            done or self.state.progress.is_unstable or self.state.progress.hosts_changed
        )

    @property
    def stall_timeout(self) -> int:
        """Seconds after which reservations have shown everything that they can do."""
        instance = self.world.instance
        cycles = [queue.reserve_cycles or 0 for queue in instance.queues]
        return 2 * (max(cycles, default=0) + 2) * instance.params.mbd_sleep_time

    def to_state(self) -> dict[str, Any]:
        """What the next cycle needs to know of this one, as plain data."""
        own = {"last": self._last, "booked": self.record.usage_changed, "too_late": self.too_late}
        return {**self.state.to_state(), **own}

    def load_state(self, saved: Mapping[str, Any]) -> None:
        """Take over what :meth:`to_state` gave."""
        self.state.load_state(saved)
        self._last = _tuples(saved["last"])
        self.record.usage_changed = saved["booked"]
        self.too_late = list(saved["too_late"])


def _tuples(nested: Any) -> Any:
    """Lists as JSON has them, as tuples again."""
    return tuple(map(_tuples, nested)) if isinstance(nested, list) else nested
