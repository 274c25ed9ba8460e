"""The state of one dispatch cycle that its phases and the reservation methods share.

Running jobs and free resources are in :class:`World`, the rules for starts in :class:`RuleBook`;
this module has what pending jobs hold during the cycle.

A cycle that is run once more at the same instant, and makes the reservations it made before. Jobs
that start late in a cycle may move what was reserved before them, so a plan runs the cycle again.
Behind the last start the first one knew all that ran: as soon as the second has the same
reservations up to there, each search behind it would find what the first found.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from ...model.duration import aborted, last_start
from ...model.job import Job
from ...model.pending import Moment, Reason, sentence
from ..availability.demand import Demand, TermDemand, candidates_of, without_hosts
from ..availability.profile import FEW_HOSTS, UNBOUND, max_advance_reserved
from ..availability.resources import (
    SLOTS,
    Allocation,
    Amounts,
    BoolArray,
    FloatArray,
    IntArray,
)
from ..availability.running_profile import Residual
from ..availability.usage import FOREVER
from ..budget import Budget
from ..fairshare.priority_order import FirstCome
from ..fairshare.stages import Offer
from ..pending_reasons import (
    BEGIN_TIME,
    NOTHING_SHORT,
    find_shortage,
    free_but,
    free_until,
    listed,
    not_active,
    not_yet,
)
from ..placement.earliest import Start, can_start, start_at
from ..placement.single import first_part, place_most, place_on_first
from ..precedence import After, Event, Precedence, earliest
from ..problem import PlanningProblem
from ..rules.eligibility import Eligibility
from ..rules.omitted import on_loans
from ..rules.rule_book import NOT_IN_A_PARTITION
from .cycle_reservations import (
    BackfilledSlots,
    BackfillRows,
    CycleReservations,
    JobReservation,
    backfill_from,
    sum_reservations,
)
from .events import GREEDY, Settings
from .job_state import JobState, Shape
from .reserved_profile import PlannedProfiles
from .world import World

#: Number of jobs with a future allocation up to which it costs more to record windows without
#: enough free slots than it saves.
FEW_PLANNED = 8


class RepeatedCycle:
    """Comparison of two cycles at one instant; `is_identical` while both make equal reservations.

    made: reservations of the first cycle, in order. since: number of reservations made before the
    last start of the first cycle.
    """

    __slots__ = ("_made", "_since", "is_identical")

    def __init__(self, made: Sequence[JobReservation] = (), since: int = 0) -> None:
        self._made, self._since = list(made), since
        self.is_identical = bool(self._made)

    def compare_next(self, place: int, reservation: JobReservation) -> None:
        """Compare a new reservation with the previous cycle; place: the number of reservations made
        before it.
        """
        self.is_identical = (
            self.is_identical and place < len(self._made) and _same(self._made[place], reservation)
        )

    def previous_start(self, place: int, state: JobState) -> Start | None:
        """Return the start that a new search would find, or None if the search has to be run."""
        if not (self.is_identical and self._since <= place < len(self._made)):
            return None
        before = self._made[place]
        if before.place is not None and before.place[0].interval is not None:
            return None  # JOB_ACCEPT_INTERVAL may close the hosts of the last start
        return before.start if before.state is state else None


def _same(one: JobReservation, other: JobReservation) -> bool:
    return (
        one.state is other.state
        and one.method == other.method
        and one.start == other.start
        and one.estimate == other.estimate
        and one.slots == other.slots
        and one.memory == other.memory
    )


@dataclass(slots=True)
class CycleRecord:
    """Facts about one finished cycle; times in seconds, hosts by name."""

    #: Instant of the cycle in seconds.
    time: int
    #: Ids of the jobs that started.
    started: list[str] = field(default_factory=list)
    #: Ids of the jobs that started by backfill.
    backfilled: list[str] = field(default_factory=list)
    #: Ids of the jobs that were preempted.
    preempted: list[str] = field(default_factory=list)
    #: Ids of the suspended jobs that resumed.
    resumed: list[str] = field(default_factory=list)
    #: Ids of the resizable jobs that grew.
    resized: list[str] = field(default_factory=list)
    #: Reservations and estimates of pending jobs, in order.
    reservations: list[JobReservation] = field(default_factory=list)
    #: For each started job, the reason for its position in the dispatch order, if fairshare or slot
    #: pools are used.
    why: dict[str, str] = field(default_factory=dict)
    #: Number of pending jobs after the cycle.
    pending: int = 0
    #: Whether the amounts that pending jobs reserve, and that count for their accounts, changed.
    usage_changed: bool = False


@dataclass(slots=True)
class CycleProgress:
    """Progress of a running cycle and its intermediate results."""

    #: Starts found by the previous cycle at this instant, by job number; used when the budget ends.
    previous_starts: dict[int, Start] = field(default_factory=dict)
    #: Comparison with the previous cycle at this instant.
    repetition: RepeatedCycle = field(default_factory=RepeatedCycle)
    #: Numbers of the jobs that started on reserved slots and end at the exact start of the
    #: reservation.
    exact_backfills: set[int] = field(default_factory=set)
    #: Numbers of the jobs that were examined.
    examined: set[int] = field(default_factory=set)
    #: Whether no slot is free, so that the remaining jobs are not examined.
    queue_exhausted: bool = False
    #: Whether the budget prevented the search for a future allocation of some job.
    search_cut: bool = False
    #: Jobs among `without_future_allocation` whose search the budget stopped.
    unsearched: set[int] = field(default_factory=set)
    #: Numbers of the jobs without a future allocation.
    without_future_allocation: set[int] = field(default_factory=set)
    #: Why offered jobs were not started, by job number.
    ineligible: dict[int, str] = field(default_factory=dict)
    #: Starts that failed in this cycle. The number of a shape alone: it does not fit at all now,
    #: given the running jobs alone.
    failed_starts: set[tuple[object, ...]] = field(default_factory=set)
    #: Kinds of jobs without a further greedy reservation, because reserved amounts only grow in a
    #: cycle.
    unreservable_kinds: set[tuple[int, int | None]] = field(default_factory=set)
    #: Number of reservations made before the last start.
    before_last_start: int = 0
    #: Whether the free slots must be counted again before the cycle stops early.
    must_recount: bool = True
    #: Whether the next cycle would make other reservations although no event happens.
    is_unstable: bool = False
    #: Whether the next cycle may make other reservations, because the reserved hosts changed.
    hosts_changed: bool = False
    #: Resources that are short until a start, by the kind of the job and that start.
    short: dict[tuple[Hashable, int], str] = field(default_factory=dict)
    #: Reasons why jobs of a kind do not start, valid while free resources only shrink.
    why: dict[tuple[object, ...], str] = field(default_factory=dict)


class CycleState:
    """Reservations, profiles and reasons of the cycle at the current simulated time."""

    def __init__(
        self, world: World, eligibility: Eligibility, settings: Settings, budget: Budget
    ) -> None:
        self.world = world
        #: The instance of the simulation, and its queues by name.
        self.instance = world.instance
        self.queues = {queue.name: queue for queue in world.instance.queues}
        self.eligibility = eligibility
        self.settings = settings
        self.budget = budget
        self.problem = PlanningProblem.without_demands(world.instance, world.requests.resolver)
        #: Progress of the cycle.
        self.progress = CycleProgress()
        #: Reservations of pending jobs in the cycle.
        self.reservation_table = CycleReservations(world.table)
        #: The profile of future amounts with the planned allocations.
        self.planned = PlannedProfiles(
            *(world, eligibility, self.reservation_table), records_full=settings.top > FEW_PLANNED
        )
        self.record = CycleRecord(self.instance.now)
        #: Jobs with reservations that may expire.
        self.reservation_timers: dict[int, JobState] = {}
        self.backfilled_slots = BackfilledSlots()
        self._nowhere: dict[tuple[int, frozenset[str]], str] = {}
        self._slots_held: dict[str, Allocation] = {}

    @property
    def reservations(self) -> list[JobReservation]:
        """Return the reservations of pending jobs in order of creation; not to be modified."""
        return self.reservation_table.items

    def begin(self) -> None:
        """Begin a new cycle without reservations (GRD-06)."""
        world, last = self.world, self.progress
        again = self.record.time == world.now and self.settings.planning
        before = self.reservations if again else []
        places = {
            reservation.state.number: reservation.start
            for reservation in before
            if reservation.start is not None
        }
        repetition = RepeatedCycle(before, last.before_last_start)
        self.record = CycleRecord(world.now)
        self.eligibility.begin_cycle()
        world.requests.begin_cycle(self.eligibility.values)
        self.reservation_table.clear()
        self.progress = CycleProgress(places, repetition, last.exact_backfills)
        self.planned.invalidate()
        self.backfilled_slots = BackfilledSlots(world.subsets.backfilled.values(), world.now)

    def begin_unchanged(self) -> None:
        """Begin a new cycle in which the results of the last one remain valid.

        An estimate for the present instant that did not come true moves to this instant.
        """
        world, last, now = self.world, self.record.time, self.world.now
        if any(reservation.estimate == last for reservation in self.reservations):
            self._replace_reservations(
                [replace(h, estimate=now) if h.estimate == last else h for h in self.reservations]
            )
        self.record = CycleRecord(now)
        self.eligibility.begin_cycle()
        world.requests.begin_cycle(self.eligibility.values)
        self.progress.why.clear()
        self.progress.short.clear()
        self.planned.invalidate()
        self.progress.hosts_changed = False

    def ineligibility(self, state: JobState, offer: Offer) -> str:
        """Return why a job may not start in this cycle at all, or "" if it may."""
        return self.planning_exclusion(state, offer) or self.deferral_reason(state)

    def planning_exclusion(self, state: JobState, offer: Offer) -> str:
        """Return why the cycle makes no plan for a job, or "" if it makes one."""
        shape = self.world.shape(state)
        never = offer.ineligibility or shape.infeasibility
        if not never and not self.world.requests.alternatives(state.job):
            never = self._never_on(shape, offer.hosts)
        if never or self.world.may_start_by_deadline(state):
            return never
        return aborted(self.instance, state.job)

    def deferral_reason(self, state: JobState) -> str:
        """Return why a job may not start before some later instant, or "" if it may."""
        job = state.job
        if job.begin is not None and job.begin > self.world.now:
            return sentence(BEGIN_TIME)
        if self.settings.planning and job.dependency:
            release = self.eligible_from(job)
            if release is None or release > self.world.now or self._let_go_just_now(job):
                return sentence(not_yet(job))
        if state.reserved is not None and not state.reserved.is_active(self.world.now):
            return sentence(not_active(job.reservation))
        return self.eligibility.queue_open(job, self.duration_now(state))

    def duration_now(self, state: JobState) -> int | None:
        """Return the expected duration in seconds of a job that starts now, including the
        margin.
        """
        return state.duration_from(self.world.now, self.settings.margin)

    @cached_property
    def precedence(self) -> Precedence:
        """Return the precedence conditions of the pending jobs."""
        return Precedence.of(self.instance)

    def eligible_from(self, job: Job, *, starts_later: int = 0) -> int | None:
        """Return when a job's condition can hold by the starts planned in this cycle; None if
        never.

        starts_later: every job is taken to start and end this many seconds later than planned.
        """
        found = self.event_of(job)
        if found is None:
            return self.world.now
        return earliest(found, lambda other: self._when(other, starts_later))

    def waits_for_estimates(self, job: Job) -> bool:
        """Return whether a job's condition becomes true by estimates of other jobs, not by
        starts.
        """
        found = self.event_of(job)
        if found is None:
            return False
        return earliest(found, lambda other: self._when(other, 0, by_estimates=False)) is None

    def _let_go_just_now(self, job: Job) -> bool:
        """Whether a start of this cycle satisfies a dependency, so that the next cycle examines the
        job.
        """
        event, begun = self.event_of(job), self.record.started
        if event is None or not begun:
            return False
        release = earliest(
            event, lambda o: None if o.start and o.job in begun else self._when(o, 0)
        )
        return release is None or release > self.world.now

    def event_of(self, job: Job) -> Event | None:
        """Return the event that a job waits for, whether the job is pending or hypothetical; None
        if there is none.
        """
        if not job.dependency:
            return None
        release = self.precedence.releases.get(job.id)
        if release is None:
            others = (other for other in self.instance.pending if other.id != job.id)
            asked = Precedence.of(replace(self.instance, pending=(*others, job)))
            release = asked.releases[job.id]
        return release.event

    def _when(self, other: After, starts_later: int, *, by_estimates: bool = True) -> int | None:
        """Return when another job starts or ends in this cycle; by_estimates: accept estimates
        without a start.
        """
        state = self.world.states.find(other.job)
        if state is None:
            return None
        start = state.start
        if start is None:
            reservation = self.reservation_table.get(state)
            if reservation is None:
                return None
            # If other jobs have future allocations, an estimate without one is no start.
            counts = by_estimates and self.settings.reservation == GREEDY
            estimate = reservation.estimate if counts else None
            start = estimate if reservation.start is None else reservation.start.time
            last = last_start(self.instance, state.job)
            if start is not None and last is not None and start > last:
                return None  # The job is aborted before this instant (-t).
        if start is None or other.start:
            return None if start is None else start + starts_later
        duration = state.duration_from(start, self.settings.margin)
        return None if duration is None else start + duration

    def earliest_eligible(self, state: JobState) -> int:
        """Return the first second at which a job may start, for a future allocation."""
        now, job = max(self.world.now, self.planned.since), state.job
        release = self.eligible_from(job) if self.settings.planning else now
        found = max(now, job.begin or now, now if release is None else release)
        return found if state.reserved is None else state.reserved.next_start(found) or found

    def _never_on(self, shape: Shape, hosts: frozenset[str] | None) -> str:
        """Return why a job can never start on the hosts of one partition, in which it then
        reserves nothing.
        """
        if hosts is None or shape.dynamic:
            return ""
        key = (shape.number, hosts)
        if key not in self._nowhere:
            whole = replace(
                shape.demand, calendar=None
            )  # The hosts belong to the job whenever its advance reservation is active.
            whole = on_loans(self.world.requests.resolver, whole)
            demand = without_hosts(whole, ~self.eligibility.membership(hosts))
            fits = can_start(self.world.requests.empty(), demand, self.instance.now)
            self._nowhere[key] = "" if fits else NOT_IN_A_PARTITION
        return self._nowhere[key]

    def open_slots(self) -> dict[str, int] | None:
        """Return the slots of the hosts that are up, if some hosts are not."""
        if self.eligibility.all_up:
            return None
        hosts = self.instance.cluster.hosts
        pairs = zip(hosts, self.eligibility.status, strict=True)
        return {host.name: host.slots for host, status in pairs if status == "ok"}

    def residual(
        self, closed: BoolArray | None, state: JobState | None = None, *, preempting: bool = False
    ) -> Residual:
        """Return the current free resources less all reservations and amounts set aside.

        state: job whose run must end before an advance reservation of the slots begins; None: a run
        of one second, which only active reservations prevent. preempting: running jobs may be
        suspended, so their ends release nothing.
        """
        view = Residual(self.world.free_now, self.world.now, self.reservation_table.held)
        view.closed = closed
        table = self.world.table
        blind = state is not None and self.queues[state.job.queue].ignores_guarantees
        if blind and table.guarantees is not None:
            every = range(len(table.guarantees.pools))
            limits = (index for number in every for index in table.guarantee_limits(number))
            view.loans = dict.fromkeys(limits, float(UNBOUND))
        if self.instance.advance_reservations and (state is None or state.reserved is None):
            duration = self.duration_now(state) if state is not None else 1
            view.blocked = self.set_aside(duration, preempting=preempting)
        return view

    def set_aside(self, duration: int | None, *, preempting: bool = False) -> FloatArray:
        """Return the free slots that advance reservations need during a run of this length, [H]."""
        freed = (
            None
            if preempting
            else self.world.running_profile.by_finish(self.world.table.unreserved)
        )
        return max_advance_reserved(self.instance, self.world.now, duration, freed)

    def relevant_duration(self, state: JobState) -> int | None:
        """Return the duration if it affects whether a job may start now."""
        return self.duration_now(state) if self.instance.advance_reservations else None

    def residual_for(
        self, closed: BoolArray | None, state: JobState, *, reserved: bool = False
    ) -> Residual:
        """Return the residual now, given the reservations of other pending jobs.

        reserved: without any slot that they have reserved, protected or not.
        """
        view = self.residual(closed, state)
        if self.has_reservation(state):
            others = self.other_reservations(state)
            view.held = sum_reservations(others, self.world.table, reserved=reserved)
        elif reserved:
            view.held = self.reservation_table.reserved
        return view

    def residual_given(
        self, jobs: Collection[int], closed: BoolArray | None, state: JobState
    ) -> Residual:
        """Return the current free resources less the reservations of these jobs (by number), for a
        preempting job.

        Their future allocations count completely, because a job that is suspended and resumed later
        does not end by their starts.
        """
        view = self.residual(closed, state, preempting=True)
        ahead = [
            reservation for reservation in self.reservations if reservation.state.number in jobs
        ]
        view.held = sum_reservations(ahead, self.world.table)
        places = Amounts()
        for reservation in ahead:
            places.add_hosts(SLOTS, self._place(reservation), view.hosts)
        if SLOTS in places.hosts:
            now = view.held.hosts.get(SLOTS, 0.0)
            view.held.hosts[SLOTS] = np.maximum(now, places.hosts[SLOTS])
        return view

    def _place(self, reservation: JobReservation) -> Allocation:
        """Return the slots of a future allocation, with all slots of an exclusive host."""
        own = self.world.requests.resolver.blocked_units(
            reservation.state.job, reservation.allocation
        )
        hosts = self.instance.cluster.hosts
        return reservation.allocation | {host: hosts[host].slots for host in own}

    def backfill_rows(self) -> BackfillRows:
        """Return the amounts protected from backfill jobs, valid until a reservation changes."""
        any_place = any(item.is_partly_protected for item in self.reservations)
        limited = self.planned.limited_by_more() if any_place else frozenset()
        places = {
            item.state.number
            for item in self.reservations
            if item.is_partly_protected and item.state.number not in limited
        }
        return BackfillRows(self.reservations, self.world.table, places)

    def backfill_residual(
        self,
        closed: BoolArray | None,
        state: JobState | None,
        until: int,
        rows: BackfillRows | None = None,
    ) -> Residual:
        """Return the current free resources less the reserved slots that a job may not backfill
        until `until`.

        Their totals count in any case. Of the slots of places just what is needed of them before
        `until` is not lent: who holds them now says nothing of that, since one reservation may hold
        what another needs earlier. Where limits decide what a reservation may hold, that is it.
        state: None if it is any job without a reservation. rows: of :meth:`backfill_rows`, where
        many jobs are tried.
        """
        view = self.residual(closed, state)
        held = (rows or self.backfill_rows()).held(state, until)
        others = self.reservations if state is None else self.other_reservations(state)
        if any(item.is_partly_protected for item in others):
            needed = self.planned.slots_needed_before(until, state)
            held.hosts[SLOTS] = held.hosts.get(SLOTS, 0.0) + needed
        view.held = held
        return view

    def start_of(
        self, state: JobState, residual: Residual, most: int | None = None
    ) -> Start | None:
        """Return a start of a job now by the first of its open alternatives that fits, which it
        then has.
        """
        requests = self.world.requests
        choices = requests.alternatives(state.job)
        if not choices:
            return self.try_start(self.world.shape(state), residual, most)
        for opens, job in choices:
            shape = requests.shape(job)
            if opens > self.world.now or shape.infeasibility:
                continue
            start = self.try_start(shape, residual, most)
            if start is not None:
                self.world.choose(state, job)
                return start
        return None

    def try_start(self, shape: Shape, residual: Residual, most: int | None = None) -> Start | None:
        """Return a start of such a job now, with as many slots of its range as possible."""
        demand = self.world.requests.now(shape)
        if demand.impossible:
            return None
        if len(demand.terms) > 1:
            few = residual.most_slots() < shape.min_free_slots
            return None if few else start_at(residual, demand, residual.now)
        term = demand.terms[0]
        if most is not None and most < term.max_slots:
            term = replace(term, max_slots=max(most, term.slots))
        if len(term.candidates) > FEW_HOSTS:
            term = replace(term, candidates=residual.free_now.with_slots(term.candidates))
        # On few hosts it would cost as much as examining all of them.
        first = _start_on_first(demand, term, residual) if residual.hosts > FEW_HOSTS else None
        if first is not None:
            return first
        if residual.most_slots() < shape.min_free_slots:
            return None
        for number, alternative in enumerate(term.alternatives):
            if not alternative.missing:
                capacity = residual.capacity(demand, term, alternative, residual.now)
                allocation = place_most(term, capacity)
                if allocation is not None:
                    return Start(residual.now, (allocation,), number)
        return None

    def start(
        self,
        state: JobState,
        start: Start,
        *,
        backfilled: bool = False,
        offer: Offer | None = None,
        why: str = "",
    ) -> None:
        """Start a job; offer: the dispatch attempt of the job; why: an additional reason."""
        self.progress.why.clear()
        self.world.start(state, self.world.shape(state).demand, start.terms, start.alternative)
        self.eligibility.accepted()
        state.backfilled = backfilled
        self.record.started.append(state.job.id)
        if backfilled:
            self.record.backfilled.append(state.job.id)
        if not isinstance(self.world.order, FirstCome):
            order_reason = offer.why if offer is not None else ""
            self.record.why[state.job.id] = ": ".join(part for part in (why, order_reason) if part)
        progress = self.progress
        progress.must_recount, progress.repetition.is_identical = True, False
        progress.before_last_start = len(self.reservations)
        if self.planned.is_built:
            demand = replace(self.world.shape(state).demand, duration=self.duration_now(state))
            self.planned.add(demand, start)

    def may_reserve_more(self, state: JobState | None = None) -> bool:
        """Whether fewer than N other jobs have a reservation so far (TBR-01, TBR-12)."""
        own = state is not None and self.has_reservation(state)
        return len(self.reservations) - own < self.settings.top

    def has_reservation(self, state: JobState) -> bool:
        """Whether a job has a reservation in this cycle."""
        return self.reservation_table.get(state) is not None

    def other_reservations(self, state: JobState) -> list[JobReservation]:
        """Return the reservations of other jobs; not to be modified."""
        return self.reservation_table.others(state)

    def add_reservation(self, reservation: JobReservation) -> None:
        """Add a reservation; of several reservations of one job the earliest is kept (TBR-12)."""
        before = self.reservation_table.get(reservation.state)
        if before is reservation:
            return
        if before is not None:
            self.cancel_reservation(reservation.state)
        if reservation.slots or reservation.memory:
            self.progress.why.clear()
        self.backfilled_slots.charge_to(reservation, self.world.table)
        self.progress.repetition.compare_next(len(self.reservations), reservation)
        self.reservation_table.add(reservation)
        self.progress.must_recount = True
        if reservation.place is not None:
            self.planned.add(*reservation.place)
        self.planned.add_reservation(reservation)
        state, reserved = reservation.state, reservation.reserved
        self._hosts_held(state, tuple(reserved), by_hosts=reservation.start is None)
        if state.holding.since is None and reserved:
            state.holding.since = self.world.now
            self.reservation_timers[state.number] = state
        self._notify_order(state, reserved)

    def _hosts_held(self, state: JobState, hosts: tuple[int, ...], *, by_hosts: bool) -> None:
        """Record that a job reserves slots on these hosts; by_hosts: later amounts depend on the
        reserved ones.
        """
        if hosts != state.holding.hosts:
            self.progress.hosts_changed |= by_hosts or self.backfilled_slots.has_any
            state.holding.hosts = hosts

    def cancel_reservation(self, state: JobState) -> None:
        """Cancel the reservation that a job made in this cycle."""
        self.set_reservations(self.other_reservations(state))

    def clear_holding(self, state: JobState) -> None:
        """Remove, between two cycles, the reservation of a job that no longer waits or waits for
        another reason.
        """
        self._notify_order(state, {})
        state.holding.clear()

    def remove_reservation(self, state: JobState) -> None:
        """Remove the reservation of a job that started outside the dispatch order."""
        own = self.reservation_table.get(state)
        self._replace_reservations(self.other_reservations(state))
        self.planned.invalidate_reserved()
        if own is None:
            return
        self.reservation_table.recompute_totals()
        if own.start is not None:
            self.planned.invalidate()

    def _replace_reservations(self, reservations: list[JobReservation]) -> None:
        """Replace the reservations of the cycle."""
        self.reservation_table.replace(reservations)
        progress = self.progress
        progress.repetition.is_identical = progress.repetition.is_identical and not reservations
        progress.before_last_start = FOREVER
        progress.unreservable_kinds.clear()

    def set_reservations(self, reservations: list[JobReservation]) -> None:
        """Set the reservations to those of this cycle or of an identical earlier one; all others
        are dropped.
        """
        self._replace_reservations(reservations)
        self.reservation_table.recompute_totals()
        self.planned.invalidate()

    def set_reason(self, state: JobState, reason: str) -> None:
        """Set the reason why a job does not start."""
        state.current_reason = reason
        if not state.reason:
            state.reason = reason

    def pending_reason(self, state: JobState, shape: Shape, closed: BoolArray | None) -> str:
        """Return the constraint that prevents such a job from starting; equal jobs share the
        result.
        """
        key = (
            shape.number,
            self.relevant_duration(state),
            None if closed is None else closed.tobytes(),
        )
        if key not in self.progress.why:
            self.progress.why[key] = self._shortage(state, shape, closed)
        return self.progress.why[key]

    def _shortage(self, state: JobState, shape: Shape, closed: BoolArray | None) -> str:
        demand = without_hosts(self.world.requests.now(shape), closed)
        parts = [self.eligibility.why_load(state.job.queue)]
        if closed is not None and not any(term.candidates.size for term in demand.terms):
            parts.append("all its hosts are closed to it now")
        else:
            # A log is read later, so its numbers must not depend on the current time.
            moment: Moment = "now" if self.settings.planning else "has"
            parts.append(sentence(self._short_of(state, demand), moment))
        return "; ".join(part for part in parts if part)

    def _short_of(self, state: JobState, demand: Demand) -> Reason:
        """Return what a job lacks now; if all is free but set aside, for whom."""
        view, now = self.residual(None, state), self.world.now
        short = found = find_shortage(self.problem, demand, view, now)
        soon: dict[int, list[str]] = {}
        for item in self.instance.advance_reservations if view.blocked is not None else ():
            if item.start > now:
                soon.setdefault(item.start, []).append(f"advance reservation {item.name}")
        for time, names in sorted(soon.items()):
            view.blocked = self.set_aside(time - now)
            if find_shortage(self.problem, demand, view, now) is not NOTHING_SHORT:
                break
            found = free_until(demand, short, time - now, names)
        if found is short and short.counts and (kept := self.kept_for(state, demand)):
            return free_but(demand, short, f"reserved for {listed(kept)}")
        return found

    def kept_for(self, state: JobState, demand: Demand) -> list[str]:
        """Return the jobs that have reserved what another one lacks now, [] if it lacks more."""
        view = self.residual(None, state)
        view.held = Amounts()
        others = [item for item in self.other_reservations(state) if item.slots]
        if not others or demand.earliest > view.now:
            return []
        if find_shortage(self.problem, demand, view, view.now) is not NOTHING_SHORT:
            return []
        usable = candidates_of(demand, view.hosts)
        return [item.state.job.id for item in others if usable[list(item.slots)].any()]

    def _cut_down(self) -> None:
        """Reduce reservations to the slots that backfill left."""
        left = self._free_slots()
        # If no job took reserved slots, no reservation has lost any.
        reserved = self.reservation_table.reserved.hosts
        if not (SLOTS in reserved and bool((reserved[SLOTS] <= left).all())):
            for reservation in self.reservations:
                reservation.record_backfilled(left)
            for reservation in self.reservations:
                reservation.drop_taken_slots(left)

    def _free_slots(self) -> IntArray:
        """Return the slots of each host that no running job uses, [H]."""
        return np.maximum(self.world.free_now.host(SLOTS), 0).astype(np.int64)

    def record_backfill(self, backfill_job: JobState) -> None:
        """Remove the slots that a starting job backfilled from the reservations, in order."""
        end, left = backfill_job.expected_end(self.world.now), dict(backfill_job.backfilled_slots)
        if end is None or not left:
            return
        now = self.world.now
        since = backfill_from(self.instance, now, end - now)
        for reservation in self.reservations:
            if reservation.estimate is not None and since <= reservation.estimate:
                reservation.move_to_backfilled(left)
        self.reservation_table.recompute_totals()

    def leave_what_is_taken(self, ahead: Collection[int]) -> None:
        """Reduce the reservations of jobs after a start that took some of their slots.

        These slots count as taken, not as backfilled. ahead: numbers of the jobs before it, whose
        slots stay reserved.
        """
        left = self._free_slots()
        for reservation in sorted(self.reservations, key=lambda r: r.state.number not in ahead):
            backfilled = dict(reservation.backfilled)
            reservation.record_backfilled(left)
            reservation.backfilled = backfilled
        self.reservation_table.recompute_totals()

    def close(self) -> None:
        """Reduce reservations to the slots that backfill left, and record the reserved amounts."""
        world = self.world
        self._cut_down()
        slots: dict[str, Allocation] = {}
        for reservation in self.reservations:
            state = reservation.state
            slots[state.job.id] = reservation.reserved
            state.last_estimate = reservation.estimate
            if reservation.estimate is not None and state.estimate is None:
                state.estimate, state.estimated_at = reservation.estimate, world.now
                state.estimate_by = reservation.method
        for name in list(self._slots_held):
            state = world.states.get(name)
            if state.start is not None:
                del self._slots_held[name]
                continue
            self._notify_order(state, slots.get(name, {}))
            if name not in slots:
                self._hosts_held(state, (), by_hosts=True)
        self.record.reservations = self.reservations
        self.record.pending = len(world.pending)

    def reserved_so_far(self, job: Job) -> dict[str, int]:
        """Return the reserved slots of pending jobs by host name, as last reported to the dispatch
        order.
        """
        return self.world.named(self._slots_held.get(job.id, {}))

    def _notify_order(self, state: JobState, slots: Allocation) -> None:
        """Report a changed reservation of a pending job to the dispatch order (FSH-04)."""
        if slots == self._slots_held.get(state.job.id, {}):
            return
        if not isinstance(self.world.order, FirstCome):
            self.world.order.reserved(state.job, self.world.named(slots), self.world.now)
            self.record.usage_changed = True
        self._slots_held[state.job.id] = slots
        if not slots:
            del self._slots_held[state.job.id]

    def signature(self) -> tuple[object, ...]:
        """Return the reserved amounts in a form that can be compared with the last cycle's."""
        return tuple(
            (
                reservation.state.number,
                reservation.estimate,
                *(tuple(x.items()) for x in (reservation.slots, reservation.memory)),
            )
            for reservation in self.reservations
        )

    def to_state(self) -> dict[str, Any]:
        """Return the state that the next cycle needs, as plain data."""
        return {
            "slots_held": {name: self.world.named(on) for name, on in self._slots_held.items()},
            "timed": list(self.reservation_timers),
            "started": self.record.started,
        }

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Restore the state that :meth:`to_state` returned."""
        index = self.world.index
        self._slots_held = {
            name: {index[host]: slots for host, slots in on.items()}
            for name, on in state["slots_held"].items()
        }
        self.reservation_timers = {
            number: self.world.states.activate(number) for number in state["timed"]
        }
        self.record.started = list(state["started"])


def _start_on_first(demand: Demand, term: TermDemand, residual: Residual) -> Start | None:
    """Return a start now on the first candidates if no other host could change it, else None."""
    first = first_part(term)
    if first is None or len(term.alternatives) > 1 or term.alternatives[0].missing:
        return None
    capacity = residual.capacity(demand, first, term.alternatives[0], residual.now)
    allocation = place_on_first(first, capacity)
    return None if allocation is None else Start(residual.now, (allocation,), 0)
