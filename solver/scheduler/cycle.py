"""One dispatch cycle, phase by phase (LOP-01); docs/loop.md describes the order.

1. Suspended jobs go on where they may.
2. Allocation: the pending jobs in order; each starts, or pends with a reservation or without.
3. Backfill: jobs of BACKFILL queues on slots that others hold.
4. Preemption. 5. Growth of resizable jobs, where it had no turn among the pending jobs.

Positions of jobs that a time-based plan cannot consider yet: before their begin time, or -w. LSF
examines such a job from the second on at which it is eligible, at its own position in the order;
before, it reserves nothing. So earlier starts ignore it, and from then on the jobs after it that
have not started are placed again, each after those before it.

Cycles that affect newly submitted jobs only: the results of the last cycle stay valid for all
others. If the last cycle started no job, and only submissions followed, the next cycle would have
equal results: free resources are equal, running jobs end at the same instants, and a job that did
not fit has even less time. So all reservations stay, and only new jobs at the end of the order are
examined.

An instance may have reservation timers and backfilled slots of the last cycle before it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...model.instance import BorrowedSlots, HeldHosts, Instance
from ...model.job import Job
from ..availability.resources import SLOTS, Amounts, BoolArray, IntArray
from ..availability.running_profile import Residual
from ..budget import Budget
from ..fairshare.priority_order import FEW_PENDING, FirstCome
from ..fairshare.stages import Offer
from ..fairshare.waiting_jobs import has_slot_pools
from ..placement.earliest import Start
from ..rules.eligibility import Eligibility, preempting_pairs
from ..rules.omitted import has_loans
from .backfill import backfill
from .cycle_reservations import JobReservation
from .cycle_state import CycleRecord, CycleState
from .events import GREEDY, NONE, OPTIMAL, Settings
from .job_state import RUNNING, JobState, ReservationTimer
from .loans import give_loans
from .methods import METHODS
from .preemption import preempt, resume, waited_for
from .reserving import may_reserve, runs_out, too_late
from .resizing import grow, grow_resizable_jobs, growth_requests
from .world import World

#: A dispatch attempt: the job and the offer of hosts.
Attempt = tuple[JobState, Offer]
#: Maximum number of starts that are entered or searched for again, over all later instants.
MAX_WORK = 8_000


class LaterAttempts:
    """Dispatch attempts of one cycle of a plan, including those of jobs that become
    eligible later.
    """

    def __init__(self, cycle: Cycle) -> None:
        self._cycle = cycle
        #: The attempts in dispatch order; with host partitions, a job may have several attempts.
        self._attempts: list[Attempt] = []
        self._rank: dict[int, int] = {}
        #: Dispatch attempts of jobs that are not yet eligible.
        self.waiting: list[Attempt] = []
        #: Current reservations by job number; a later start changes none of them.
        self._now: dict[int, JobReservation] = {}
        self._work = 0
        #: Numbers of jobs without an allocation of their own rank, because the search would have
        #: taken too long.
        self.placed_behind: set[int] = set()

    def note(self, state: JobState, offer: Offer, *, waits: bool) -> None:
        """Record a dispatch attempt; waits: the job cannot be considered now."""
        self._rank.setdefault(state.number, len(self._attempts))
        self._attempts.append((state, offer))
        if waits:
            self.waiting.append((state, offer))

    def take(self) -> None:
        """Find allocations for deferred jobs, in the order in which their conditions come true."""
        cycle = self._cycle
        left = {state.number: state for state, _ in self.waiting}
        self._now = {reservation.state.number: reservation for reservation in cycle.reservations}
        while left and not cycle.budget.late():
            coming = [(when, n) for n, state in left.items() if (when := self._when(state))]
            if not coming:
                break
            time, after_starts = first = min(when for when, _ in coming)
            released = {number for when, number in coming if when == first}
            for number in released:
                del left[number]
            if time > cycle.world.now:  # otherwise the next cycle examines the job
                self._stage(time, after_starts, released)
        cycle.progress.examined.update(left)
        cycle.planned.since = cycle.world.now

    def _when(self, state: JobState) -> tuple[int, bool] | None:
        """Return the second at which a job becomes eligible, and whether it is examined after the
        starts of this second.
        """
        cycle, job = self._cycle, state.job
        release, behind = cycle.eligible_from(job), cycle.eligible_from(job, starts_later=1)
        if release is None:
            return None
        time = max(release, job.begin or release, cycle.world.now)
        if state.reserved is not None:
            time = state.reserved.next_start(time) or time
        return time, behind is None or behind > time

    def _stage(self, time: int, after_starts: bool, released: Collection[int]) -> None:
        """Examine the jobs of one second: newly eligible jobs, and jobs behind them that still
        wait.
        """
        cycle = self._cycle
        cycle.planned.since = time
        cycle.progress.short.clear()
        cycle.progress.examined.update(released)
        again = self._still_waiting(time + after_starts, min(self._rank[n] for n in released))
        if again:
            self._work += len(cycle.reservations) + len(again)
            if self._work > MAX_WORK:
                self.placed_behind.update(released)
                again = set()
        if again:
            cycle.progress.without_future_allocation -= again
            cycle.set_reservations(
                [
                    reservation
                    for reservation in cycle.reservations
                    if reservation.state.number not in again
                ]
            )
        for state, offer in self._attempts:
            if state.number in again or state.number in released:
                self._place(state, offer, time)

    def _still_waiting(self, time: int, rank: int) -> set[int]:
        """Return jobs behind a rank whose start is missing, or at a given second or later."""
        cycle = self._cycle
        placed = {
            reservation.state.number
            for reservation in cycle.reservations
            if reservation.start is not None and reservation.start.time >= time
        }
        return {
            n
            for n in placed | cycle.progress.without_future_allocation
            if self._rank.get(n, -1) > rank
        }

    def _place(self, state: JobState, offer: Offer, time: int) -> None:
        cycle, first = self._cycle, self._now.get(state.number)
        reservation = cycle.hold(state, offer)
        if reservation is None and cycle.has_reservation(state):
            return  # The job could get an allocation in another partition.
        if reservation is None:
            # Regardless of free slots, the job starts no earlier than its dependency permits.
            reservation = JobReservation(state, GREEDY, time)
        if first is None:
            reservation = replace(reservation, slots={}, memory={}, backfilled={}, alternative=None)
            reservation.protected = None if reservation.protected is None else {}
        else:
            reservation = replace(
                reservation,
                slots=first.slots,
                memory=first.memory,
                backfilled=first.backfilled,
                alternative=first.alternative,
                protected=first.protected,
            )
        cycle.add_reservation(reservation)


def can_any_start(cycle: CycleState, among: Iterable[JobState], unstartable: set[int]) -> bool:
    """Return whether one of the pending jobs fits now, given the running jobs alone.

    unstartable: numbers of the shapes examined that do not fit; they are added.
    """
    world = cycle.world
    residual = Residual(world.free_now, world.now, Amounts())
    free = np.maximum(residual.free(SLOTS, world.now), 0)
    most = int(free.sum())
    shapes = {cycle.world.shape(state).number: cycle.world.shape(state) for state in among}
    for shape in shapes.values():
        if shape.infeasibility:
            continue
        if shape.dynamic or len(shape.demand.terms) > 1:
            return True
        term = shape.demand.terms[0]
        if term.slots <= most:
            there = free[term.candidates]
            if term.ptile is not None:
                there = np.minimum(there, term.ptile[term.candidates])
            if there.sum() >= term.slots and cycle.try_start(shape, residual) is not None:
                return True
        unstartable.add(shape.number)
    return False


def is_event_driven(cycle: CycleState) -> bool:
    """Return whether no rule of the simulation changes the state of waiting jobs by time alone.

    The rules are: changing orders, windows, loads, intervals, and preemption.
    """
    settings = cycle.settings
    return (
        isinstance(cycle.world.order, FirstCome)
        and settings.reservation != OPTIMAL
        and settings.skip_idle
        and not settings.planning
        and not has_loans(cycle.instance)
        and not cycle.instance.advance_reservations
        and not cycle.eligibility.moved_by_time
        and not preempting_pairs(cycle.instance)
    )


def is_last_cycle_valid(cycle: CycleState) -> bool:
    """Return whether the results of the previous cycle remain valid if only jobs were submitted
    since.

    They do not if some use falls or grows, if a reservation expires, or if an instant used in the
    computation has passed.
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


class IneffectiveJobs:
    """Jobs whose dispatch attempts change nothing, so that the walk passes over them together.

    Such a job needs more slots than are free on all hosts together, can reserve nothing, has its
    pending reason and no reservation that may expire, and no rule of its own (begin time,
    dependency) decides about it. Within a cycle, free slots only shrink until a reservation is
    cancelled; any start or reservation makes the free slots be counted again.
    """

    @classmethod
    def of(cls, cycle: Cycle) -> IneffectiveJobs | None:
        """Return the jobs of a cycle, None if few jobs wait or a rule reads attempts."""
        world, order = cycle.world, cycle.world.order
        applies = (
            len(world.pending) > FEW_PENDING
            and cycle.method.name != OPTIMAL
            and not (cycle.settings.planning or cycle.whole_walks)
            and not (cycle.preempts or cycle.has_loans)
            and not (world.requests.has_alternatives or world.subsets.growing)
            and not (cycle.instance.advance_reservations or cycle.instance.partitions)
            and not cycle.eligibility.any_windows
        )
        return cls(cycle, order) if applies and isinstance(order, FirstCome) else None

    def __init__(self, cycle: Cycle, order: FirstCome) -> None:
        self._cycle, self._order = cycle, order
        #: Numbers of starts and reservations so far, for which the free slots were counted.
        self._counted: tuple[int, int] | None = None
        self._most = 0.0
        self._any_free = True
        self._least = cycle.world.requests.least_slots()
        new = (job.number for job in cycle.world.arrivals.new)
        #: Numbers of jobs whose attempts always count.
        self._must_try = np.array(
            [*cycle.world.arrivals.own_rules, *cycle.reservation_timers, *new], dtype=int
        )

    def pass_over(self) -> bool:
        """Move to the next job that is not ineffective; return whether any was passed over."""
        return self._order.passes_over(self._mask)

    def _mask(self, kinds: IntArray, numbers: IntArray) -> BoolArray:
        """Return a mask of the jobs to pass over, by the numbers of their shapes and their own."""
        cycle, method = self._cycle, self._cycle.method
        counted = len(cycle.record.started), len(cycle.reservations)
        if counted != self._counted:
            view = cycle.residual(None)
            self._counted, self._most = counted, view.most_slots()
            self._any_free = bool((view.free(SLOTS, view.now) > 0).any())
        reserves = method.name != NONE and (
            self._any_free
            or (method.looks_ahead and (cycle.budget.stopped() or cycle.may_reserve_more()))
        )
        ineffective = np.asarray(self._least[kinds] > self._most) & (not reserves)
        return ineffective & ~np.isin(numbers, self._must_try) if ineffective.any() else ineffective


class Cycle(CycleState):
    """The cycles of one simulation; each call of `run` is one cycle."""

    def __init__(
        self, world: World, eligibility: Eligibility, settings: Settings, budget: Budget
    ) -> None:
        super().__init__(world, eligibility, settings, budget)
        self.method = METHODS[settings.reservation]
        self.backfills = world.instance.backfills
        self.preempts = bool(preempting_pairs(world.instance)) and not settings.planning
        self.has_loans = has_loans(world.instance)
        #: Whether every job is examined in every cycle, so that each has a pending reason.
        self.whole_walks = False
        #: The only requested job: once it starts, no further job is examined.
        self.wanted: str | None = None
        self.answered = False
        self._last: tuple[object, ...] = ()
        #: The jobs that become eligible later, if a plan continues after the cycle.
        self.later = LaterAttempts(self)
        self._holders: set[int] = set()
        self._events_alone = is_event_driven(self)
        #: Whether the next cycle would repeat the last one if nothing happens.
        self._quiescent = False
        #: When the last cycle dropped a reservation because the job could not end in time.
        self.too_late: list[int] = []
        #: Number of new submissions that the last skipped cycle examined, or None if the cycle was
        #: run in full.
        self._passed: int | None = None

    @property
    def is_skipped(self) -> bool:
        """Whether the last cycle was skipped because no job could start in any order."""
        return self._passed is not None

    def run(
        self, *, only_submissions: bool = False, unstartable: Collection[int] = ()
    ) -> CycleRecord:
        """Run one cycle at the current simulated time.

        only_submissions: job submissions are the only events since the last cycle. unstartable:
        numbers of shapes that do not fit now, given the running jobs alone.
        """
        self._passed = None
        newcomers = {job.number for job in self.world.arrivals.new}
        stands = only_submissions and self._can_process_only(newcomers)
        if stands:
            self.begin_unchanged()
            if not newcomers:
                self.close()
                return self.record
            if not self.progress.queue_exhausted:
                self._process_queue()
            self._set_initial_reasons()
        else:
            self.begin()
            self.progress.failed_starts |= {(number,) for number in unstartable}
            if self._may_suspend():
                resume(self)
            self._allocate()
        if self.answered:
            return self.record
        if self.backfills and self.reservations:
            backfill(self, newcomers if stands else ())
        if self.method.looks_ahead:
            self.later.take()
        else:
            self._foresee_all()
        if self.preempts:
            preempt(self)
        if self.has_loans:
            give_loans(self)
        if self.world.subsets.growing and not self.settings.planning:
            grow_resizable_jobs(self)
        self.close()
        return self.record

    def _may_suspend(self) -> bool:
        """Whether a job is suspended, or load, a run window or a reservation may suspend a running
        job.
        """
        eligibility = self.eligibility
        return bool(
            eligibility.any_windows
            or eligibility.watches_load
            or self.world.subsets.suspended
            or (self.world.instance.advance_reservations and not self.settings.planning)
        )

    def _can_process_only(self, newcomers: Collection[int]) -> bool:
        """Whether this cycle may examine only these jobs, given by number, because they are next in
        the order.
        """
        order = self.world.order
        return (
            self._quiescent
            and not self.world.requests.has_alternatives
            and isinstance(order, FirstCome)
            and is_last_cycle_valid(self)
            and (not newcomers or order.begin_with_new_arrivals(newcomers))
        )

    def skip_if_idle(self, unstartable: set[int], *, only_submissions: bool = False) -> bool:
        """Skip a cycle in which no job could start even without any reservation; return whether it
        was skipped.

        Reservations are not renewed then. only_submissions: nothing else happened since the last
        cycle; if that cycle was skipped, earlier jobs still cannot start, and only new ones are
        examined. unstartable: set to which the shapes are added that :meth:`run` need not try.
        """
        world = self.world
        known = self._passed if only_submissions else None
        among = world.pending.values() if known is None else world.arrivals.new[known:]
        self._passed = None
        if (
            self.preempts
            or (self.instance.advance_reservations and waited_for(self))
            or self.has_loans
            or world.requests.has_alternatives
            or world.subsets.suspended
            or world.subsets.growing
            or can_any_start(self, among, unstartable)
        ):
            return False
        self._passed = len(world.arrivals.new)
        self.record = CycleRecord(world.now, pending=len(world.pending))
        world.changed = self._quiescent = False
        return True

    def _allocate(self) -> None:
        order = self.world.order
        wishes: list[Job] = []
        if not isinstance(order, FirstCome) and not self.settings.planning:
            wishes = growth_requests(self) if self.world.subsets.growing else []
        order.begin_cycle(self.world.now, wishes, self.open_slots())
        self.later = LaterAttempts(self)
        # Reserved slots that backfill jobs use still belong to these reservations, though no slot
        # is free.
        self._holders = (
            {n for n in self.reservation_timers if self.reservation_timers[n].holding.hosts}
            if self.backfilled_slots.has_any
            else set()
        )
        self.method.before(self)
        if isinstance(order, FirstCome) or not self._is_queue_exhausted():
            self._process_queue()
        if not self.answered:
            self._set_initial_reasons()

    def _process_queue(self) -> None:
        """Examine every job from the current one on, as long as an attempt may change anything."""
        order = self.world.order
        state_of = self.world.states.get
        ineffective = IneffectiveJobs.of(self)
        while not self.budget.late():
            passed = ineffective is not None and ineffective.pass_over()
            offer = None if passed and self._stops() else order.next()
            if offer is None:
                break
            job = state_of(offer.job.id)
            self._holders.discard(job.number)
            if job.status == RUNNING:
                grow(self, offer)
                order.skipped(offer.job)
            elif not self._consider(job, offer):
                order.skipped(offer.job)
                if self._stops():
                    break
            elif offer.job.id == self.wanted:
                self.answered = True
                return

    def _stops(self) -> bool:
        """Whether the cycle ends, since no further attempt can change anything; it is recorded."""
        progress = self.progress
        if not self._is_queue_exhausted():
            return False
        progress.queue_exhausted = True
        progress.search_cut |= self.method.looks_ahead and self.budget.stopped()
        return True

    def _is_queue_exhausted(self) -> bool:
        """Whether the remaining jobs can neither start nor reserve because no slot is free."""
        if not self.progress.must_recount:
            return False
        if self.method.looks_ahead and not self.budget.stopped():
            # A job with an allocation in one partition may get an earlier one on hosts of another
            # (TBR-12).
            again = bool(self.instance.partitions) and bool(self.reservations)
            if again or self.may_reserve_more():
                return False
        self.progress.must_recount = False
        view = self.residual(None)
        if (view.free(SLOTS, view.now) > 0).any() or self._holders:
            return False
        return self._can_skip_rest()

    def _can_skip_rest(self) -> bool:
        """Return whether dispatch attempts without a free slot cannot change anything.

        An expired reservation ends at the attempt of its job (GRD-06, MEM-04), and pools and
        partitions give the reasons of new jobs only at their attempts.
        """
        world = self.world
        if self.settings.planning and (self.precedence or self.instance.advance_reservations):
            return False  # Jobs with a dependency or a later begin time still get an estimate.
        told = isinstance(world.order, FirstCome)
        if not told and (self.settings.planning or self.whole_walks):
            return False
        waiting, seen = world.pending, self.progress.examined
        shared = bool(self.instance.partitions) or has_slot_pools(self.instance)
        if shared and any(
            job.number in waiting and job.number not in seen for job in world.arrivals.new
        ):
            return False
        return not any(
            number in waiting and number not in seen and runs_out(self, job)
            for number, job in self.reservation_timers.items()
        )

    def _set_initial_reasons(self) -> None:
        """Set a reason for every job in its first cycle, also for jobs that the cycle did not
        reach.
        """
        for job in self.world.arrivals.new:
            if self.budget.late():
                break
            if job.start is None and not job.reason:
                shape = self.world.shape(job)
                closed = self.eligibility.closed(job.job.queue, None)
                known = self.world.order.infeasibility(job.job) or shape.infeasibility
                asked = job.reserved is not None or not isinstance(self.world.order, FirstCome)
                if not known and asked:
                    known = self.deferral_reason(job)
                self.set_reason(job, known or self.pending_reason(job, shape, closed))
        self.world.arrivals.new.clear()

    def _consider(self, job: JobState, offer: Offer) -> bool:
        """Start one job or reserve for it; return whether it started."""
        if offer.ineligibility:
            self.progress.ineligible[job.number] = offer.ineligibility
        if self.settings.planning:
            waits = self._waits_for_time_only(job, offer)
            self.later.note(job, offer, waits=waits)
            if waits:  # a later start does not count for jobs that are examined before its instant
                return False
        self.progress.examined.add(job.number)
        found = self.decide(job, offer)
        if isinstance(found, Start):
            held = self.has_reservation(job)
            self.start(job, found, offer=offer)
            if held:
                self.cancel_reservation(job)
            return True
        if found is not None:
            self.add_reservation(found)
        return False

    def decide(
        self, job: JobState, offer: Offer, *, may_hold: bool = True
    ) -> Start | JobReservation | None:
        """Decide one dispatch attempt: return a start, a reservation, or None.

        The pending reason is recorded; nothing else changes. may_hold: a job that cannot start may
        reserve.
        """
        shape, requests = self.world.shape(job), self.world.requests
        if reason := self.ineligibility(job, offer):
            self.set_reason(job, reason)
            if self.settings.planning and self._waits_for_time_only(job, offer):
                return self._estimate_deferred(job, offer)
            return None
        closed = self.eligibility.closed(job.job.queue, offer.hosts)
        # Only partitions bring a job up again in a cycle; the job may have reserved slots by then.
        holds = bool(self.instance.partitions) and self.has_reservation(job)
        opened = sum(time <= self.world.now for time, _ in requests.alternatives(job.job))
        key = (
            *(shape.number, offer.hosts, offer.max_slots, self.relevant_duration(job), holds),
            opened,
        )
        failed = self.progress.failed_starts
        if (shape.number,) not in failed and key not in failed:
            start = self.start_of(job, self.residual_for(closed, job), offer.max_slots)
            if start is not None:
                return start
            failed.add(key)
        if not job.reason:
            self.set_reason(job, self.pending_reason(job, shape, closed))
        if not may_hold or not may_reserve(self, job):
            return None
        return self.hold(job, offer)

    def hold(self, job: JobState, offer: Offer) -> JobReservation | None:
        """Return the reservation of a job that does not start now, or None."""
        return self.method.reserve(self, job, self._closed_for_estimates(job, offer))

    def _waits_for_time_only(self, job: JobState, offer: Offer) -> bool:
        """Whether only a begin time or a window prevents the job from being considered."""
        return bool(self.deferral_reason(job)) and not self.planning_exclusion(job, offer)

    def _foresee_all(self) -> None:
        """Compute estimates for deferred and dependent jobs, each after the jobs that it depends
        on.
        """
        waiting = self.later.waiting
        names = dict.fromkeys(job.job.id for job, _ in waiting)
        rank = {name: at for at, name in enumerate(self.precedence.ordered(list(names)))}
        for job, offer in sorted(waiting, key=lambda item: rank[item[0].job.id]):
            if self.budget.late():
                break
            self.progress.examined.add(job.number)
            found = self.decide(job, offer)
            if isinstance(
                found, JobReservation
            ):  # Otherwise the job that satisfied the dependency started in this cycle.
                self.add_reservation(found)

    def _closed_for_estimates(self, job: JobState, offer: Offer) -> BoolArray | None:
        """Return the hosts closed to a reservation; estimates ignore dispatch windows (TBR-19).

        A plan knows when hosts that have just taken a job take the next; the loop's estimates
        leave them out (TBR-16).
        """
        return self.eligibility.closed(
            job.job.queue, offer.hosts, windows=False, intervals=not self.settings.planning
        )

    def _estimate_deferred(self, job: JobState, offer: Offer) -> JobReservation | None:
        """Return an estimate for a deferred or dependent job, which reserves nothing until it is
        eligible.
        """
        release = self.eligible_from(job.job)
        if release is None:
            return None
        reservation = self.hold(job, offer)
        if reservation is None:
            # Regardless of free slots, the job starts no earlier than its dependency permits.
            return JobReservation(job, GREEDY, release) if job.job.dependency else None
        return replace(reservation, slots={}, memory={}, backfilled={}, alternative=None)

    def close(self) -> None:
        """Record the reserved amounts, and whether the next cycle may have other results."""
        super().close()
        record, signature = self.record, self.signature()
        done = record.started or record.preempted or record.resumed or record.resized
        self.world.changed = bool(done or self.progress.is_unstable or signature != self._last)
        self._last = signature
        self.too_late = [] if self.settings.planning else too_late(self)
        self._quiescent = self._events_alone and not (
            done or self.progress.is_unstable or self.progress.hosts_changed
        )

    @property
    def stall_timeout(self) -> int:
        """Return the seconds after which reservations can have no further effect."""
        instance = self.instance
        return 2 * ((instance.reserve_cycles or 0) + 2) * instance.params.mbd_sleep_time

    def to_state(self) -> dict[str, Any]:
        """Return the state that the next cycle needs, as plain data."""
        own = {"last": self._last, "booked": self.record.usage_changed, "too_late": self.too_late}
        return {**super().to_state(), **own}

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Restore the state that :meth:`to_state` returned."""
        super().load_state(state)
        self._last = _tuples(state["last"])
        self.record.usage_changed = state["booked"]
        self.too_late = list(state["too_late"])


def _tuples(nested: Any) -> Any:
    """Return the tuples for JSON lists."""
    return tuple(map(_tuples, nested)) if isinstance(nested, list) else nested


def held_hosts(states: Iterable[JobState], names: Sequence[str]) -> tuple[HeldHosts, ...]:
    """Return reservation timers of jobs that have, had or must pause a reservation; names: hosts by
    number.
    """
    return tuple(
        HeldHosts(
            state.job.id,
            tuple(names[host] for host in state.holding.hosts),
            state.holding.since,
            state.holding.blocked_until,
        )
        for state in states
        if state.holding
    )


def backfilled_slots_by_job(world: World) -> tuple[BorrowedSlots, ...]:
    """Return the backfilled slots of the running jobs that have any."""
    return tuple(
        BorrowedSlots(state.job.id, world.named(state.backfilled_slots))
        for state in world.subsets.backfilled.values()
    )


def take_over(cycle: CycleState, instance: Instance) -> None:
    """Take over the reservation timers and backfilled slots of the instance before the first cycle;
    unknown jobs are ignored.
    """
    world = cycle.world
    hosts = instance.cluster.host_index() if instance.held or instance.borrowed else {}
    waiting = {job.id for job in instance.pending} if instance.held else set()
    for item in instance.held:
        if item.job in waiting:
            state = world.states.get(item.job)
            there = tuple(hosts[host] for host in item.hosts)
            state.holding = ReservationTimer(there, item.since, item.rest_until)
            if state.holding:
                cycle.reservation_timers[state.number] = state
    backfill_jobs = {item.job.id: item for item in world.running.values()} if hosts else {}
    for loan in instance.borrowed:
        if loan.job in backfill_jobs:
            state = backfill_jobs[loan.job]
            state.backfilled_slots = {hosts[host]: n for host, n in loan.slots.items()}
            world.subsets.backfilled[state.number] = state
