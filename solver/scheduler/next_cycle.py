"""Plans by greedy or time-based reservation: the results of the next dispatch cycle for each job.

One cycle is run at the instance's now. Jobs that it starts are planned for now, on the slots that
it gives them; of the others the plan has what the cycle holds for them and expects. Every pending
job counts, also before its begin time, and every queue reserves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property, partial

from ...model.compact import no_collection
from ...model.duration import aborted, crowded_past_deadline, last_start
from ...model.instance import Instance
from ...model.job import Job
from ...model.omissions import Omission
from ...model.plan import Method, Plan, PlannedJob, Unplaced
from ..availability.demand import Demand, accepted_of, without_hosts
from ..availability.profile import Profile
from ..availability.resources import BoolArray
from ..availability.usage import FOREVER
from ..budget import Budget, OutOfTime
from ..fairshare.priority_order import Admission, admissions, priority_order
from ..fairshare.stages import Offer
from ..fairshare.waiting_jobs import has_policy
from ..pending_reasons import ON_A_LOAN, closed_now, counted, reason_unplaced
from ..placement.earliest import Start, allocate_start, earliest_start, start_at
from ..placement.holding import NOT_ALL_KNOWN, Commitment, ReservationRows, exact_fits, with_fit
from ..precedence import NOT_YET, After, earliest, from_starts, jobs_of, unknown_in
from ..problem import PlanningProblem, not_looked_at
from ..rules.omitted import (
    FEW_LOOK_AHEAD,
    RUN_OUT,
    estimator_view,
    note_of,
    omissions_of,
    omitted_rule_names,
    on_loans,
)
from ..rules.rule_book import unsupported_rules
from . import backfill
from .cycle_reservations import (
    JobReservation,
    has_spanning_lower_priority_job,
    takes_only_slots,
)
from .events import GREEDY
from .job_state import JobState, ShapeTable
from .loaded_jobs import LoadedRunningJobs
from .methods import METHODS, looking_ahead, settings_for
from .reservation_sequence import (
    ReservationSequence,
    subtract_reservations,
)
from .reserving import open_part
from .simulation import Session

#: Effects that later jobs may have on the start of a job without BACKFILL.
OUTLASTED = "use by a later job of slots that a job without BACKFILL also needs"
#: Note on a plan with too many later jobs to place each at its own rank.
PLACED_BEHIND = "that jobs which wait (-w, -b) keep their place in the order"
#: Note on a job with a greedy reservation because the budget did not suffice for a better one.
SHORTENED = "no future allocation was searched for it: the limit was reached first"


def plan_next_cycle(
    instance: Instance,
    method: Method,
    *,
    budget: Budget | None = None,
    margin: int = 0,
) -> Plan:
    """Return the plan by "greedy" or "time-based" reservation.

    budget: at its end, the remaining jobs are reserved greedily; at the end of its grace
    period, they are not examined. margin: seconds to keep free after every pending job. Running
    jobs are entered with any budget; its grace period does not end before the dispatch attempts.
    Raises InputError if the instance does not allow the method (TBR-15).
    """
    with no_collection():
        cycle = NextCycle(instance, method, budget=budget, margin=margin)
    return plan_of(cycle)


def plan_of(cycle: NextCycle) -> Plan:
    """Return the starts and reservations of all jobs of a cycle, as a plan."""
    instance, method = cycle.instance, cycle.method
    found = list(cycle.results())
    planned = tuple(item for item in found if isinstance(item, PlannedJob))
    starts = [item.start for item in planned if item.start is not None]
    looks_ahead = METHODS[method].looks_ahead
    omissions = cycle.omissions()
    return Plan(
        method=method,
        objective="lexicographic",
        status="heuristic",
        now=instance.now,
        reservations=planned,
        unplaced=tuple(item for item in found if isinstance(item, Unplaced)),
        value=float(sum(start - instance.now for start in starts)) if looks_ahead else None,
        notes=(*note_of([item.name for item in omissions]), *cycle.cut_reason()),
        omissions=omissions,
        cut=cycle.cut,
    )


def _last_end(state: JobState) -> int | None:
    """Return the latest end of a job by its time limits for any start, None if there is none."""
    reserved, deadline = state.reserved, state.job.deadline
    if deadline is not None or reserved is None or reserved.open:
        return deadline
    return reserved.periods[-1][1]


def _hold_reserved(reservation: JobReservation, begin: int, end: int, profile: Profile) -> None:
    """Subtract the current amounts of a reservation from a profile, over [begin, end)."""
    rows = ReservationRows(profile.table)
    rows.add(reservation.alternative, reservation.reserved, reservation.memory, begin, end)
    rows.subtract_from(profile)


def _expect(session: Session, likely: Mapping[str, int]) -> None:
    """Set the expected starts of pending jobs."""
    for number, job in enumerate(session.instance.pending, len(session.instance.running)):
        if job.id in likely:
            session.world.states.activate(number).last_estimate = likely[job.id]


class NextCycle:
    """The next cycle of an instance, run at creation, and its results for pending jobs."""

    def __init__(
        self,
        instance: Instance,
        method: Method,
        *,
        jobs: int | None = None,
        budget: Budget | None = None,
        margin: int = 0,
        kept: LoadedRunningJobs | None = None,
        likely: Mapping[str, int] | None = None,
        wanted: str | None = None,
    ) -> None:
        """Initialise the plan.

        jobs: number of future allocations, all if None. Raises as plan_next_cycle.
        """
        self.budget = budget or Budget()
        self.margin = margin
        #: The instance with all its rules.
        self.asked = instance
        #: The instance as estimates see it, without dispatch windows.
        self.instance = estimator_view(instance)
        self.method = method
        self.jobs = jobs
        # Capacity for one additional job, which a caller may submit.
        top = len(self.instance.pending) + 1 if jobs is None else max(1, jobs)
        settings = settings_for(self.instance, reservation=method, top=top)
        if jobs == 0:
            settings = replace(settings, reservation=GREEDY)
        settings = replace(settings, planning=True, every_queue=True, margin=margin)
        session = Session(self.instance, settings, budget=self.budget, kept=kept)
        session.begin()
        session.cycle.wanted = wanted
        if likely:
            _expect(session, likely)
        session.run_until_stable()
        self._settled = session.progress.settled
        self.world = session.world
        self.cycle = session.cycle
        #: Reservations by job id.
        self.held = {
            reservation.state.job.id: reservation for reservation in self.cycle.reservations
        }
        self._unseen = self._unexamined(session.progress.unentered)
        state = self.cycle
        #: Whether the budget kept the method from finding a start of some job.
        missing = self._unseen or state.progress.search_cut or state.record.started
        self.cut = (
            self.budget.stopped()
            and not self.cycle.answered
            and bool(missing or self.budget.late())
        )
        self._fits_left_out = False
        looks_ahead = METHODS[method].looks_ahead
        self._shortened = set(state.progress.unsearched)
        if self.cut and looks_ahead:
            self._shortened |= set(self.world.pending) - state.progress.examined - self._unseen
            if state.record.started:
                self._place_again()

    @property
    def requests(self) -> ShapeTable:
        """Requests of the jobs, already resolved."""
        return self.world.requests

    def _place_again(self) -> None:
        """Recompute future allocations given the last starts of the cycle.

        The next cycle would do so, but the budget leaves none. Each allocation stays at its time if
        the job still fits then; it is dropped if the job does not fit, or if the budget ends.
        """
        profile = self.world.running_profile.copy()
        for reservation in self.cycle.reservations:
            if reservation.place is None:
                continue
            demand, start = reservation.place
            again = None if self.budget.late() else start_at(profile, demand, start.time)
            if again is None:
                reservation.place = reservation.estimate = None
                self._shortened.add(reservation.state.number)
            else:
                reservation.place = demand, again
                allocate_start(profile, demand, again)

    def _unexamined(self, unentered: set[int]) -> set[int]:
        """Return the jobs that the budget left unexamined, including jobs that were never
        entered.
        """
        state = self.cycle
        if state.progress.queue_exhausted or not self.budget.late():
            return unentered
        return (set(self.world.pending) | unentered) - state.progress.examined

    @cached_property
    def _unseen_jobs(self) -> set[str]:
        return {self.world.states.job(number).id for number in self._unseen}

    def cut_reason(self) -> tuple[str, ...]:
        """Return how far the cycle got if the budget stopped it, else ""."""
        unknown = (NOT_ALL_KNOWN,) if self._fits_left_out else ()
        if not self.cut:
            return unknown
        said: list[str] = []
        if self._shortened:
            said.append(counted(len(self._shortened), "job", "reserved for greedily"))
        if self._unseen:
            said.append(counted(len(self._unseen), "job", "not examined"))
        said = said or ["the last starts may move the reservations of other jobs"]
        return (f"truncated by the limit: {', '.join(said)}", *unknown)

    @cached_property
    def problem(self) -> PlanningProblem:
        """Return the resolved problem of the instance, for reasons and for callers."""
        return PlanningProblem.of(self.instance, budget=self.budget, margin=self.margin)

    def result_for(self, job: str) -> PlannedJob | Unplaced:
        """Return the result of the cycle for one of its pending jobs."""
        if self.cycle.answered or self._standing(job) is None:  # the limit has no effect
            return self._answer(job)
        own = next(item for item in self.commitments if item.name == job)
        fits = exact_fits(self.profile_before_starts, self.commitments, only=own)
        return with_fit(self._answer(job), fits)

    def results(self) -> Iterator[PlannedJob | Unplaced]:
        """Yield the results of the cycle for its pending jobs, in priority order."""
        fits = exact_fits(
            self.profile_before_starts, self.commitments, should_stop=self._fits_too_late
        )
        for job in self._order:
            if job.id in self._unseen_jobs:
                yield not_looked_at(job, GREEDY)
            else:
                yield with_fit(self._answer(job.id), fits)

    def _fits_too_late(self) -> bool:
        """Whether the budget leaves no time to search exact fits; the result is recorded for a
        note.
        """
        self._fits_left_out = self._fits_left_out or self.budget.late()
        return self._fits_left_out

    def _answer(self, job: str) -> PlannedJob | Unplaced:
        state, reservation = self.world.states.get(job), self.held.get(job)
        start = self.planned_start(job)
        if start is None:
            return self._without_a_place(state, reservation)
        return self._planned(state, start, reservation if state.start is None else None)

    def omissions(self, jobs: Iterable[Job] | None = None) -> tuple[Omission, ...]:
        """Return the rules that the cycle omits, or that no method obeys, for these jobs.

        The default is all pending jobs. A rule may affect any job.
        """
        resolver = self.world.requests.resolver
        names = omitted_rule_names(self.asked, resolver, self.unforeseen())
        return omissions_of(names, unsupported_rules(self.asked, resolver, jobs))

    def unforeseen(self) -> list[str]:
        """Return names of the rules that may move starts of this cycle in later cycles."""
        found: list[str] = []
        if self.cycle.progress.without_future_allocation:
            found.append("reservation of released slots by jobs without a future allocation")
        several = len(self.instance.pending) > 1
        if several and any(
            self._expires_first(reservation) for reservation in self.cycle.reservations
        ):
            found.append(RUN_OUT)
        later = [
            reservation for reservation in self.cycle.reservations if reservation.start is not None
        ]
        places = [item.place for item in later if item.place is not None]
        if not all(takes_only_slots(*place) for place in places):
            found.append("limits, licences and memory that restrict a reservation")
        if has_spanning_lower_priority_job(later):
            found.append(OUTLASTED)
        if self.cycle.later.placed_behind:
            found.append(PLACED_BEHIND)
        if self.jobs is None and len(later) > looking_ahead(self.instance):
            found.append(FEW_LOOK_AHEAD)
        return found

    def _expires_first(self, reservation: JobReservation) -> bool:
        """Whether a reservation expires under its queue's MAX_RESERVE_TIME before its start."""
        cycles = self.cycle.queues[reservation.state.job.queue].reserve_cycles
        if cycles is None or reservation.estimate is None:
            return cycles is not None
        length = cycles * self.instance.params.mbd_sleep_time
        return reservation.estimate - self.instance.now > length

    def hypothetical_result(self, job: Job) -> PlannedJob | Unplaced:
        """Return the result of the cycle for one more job behind all others; no state changes.

        Only for instances in which the queues alone decide the order of jobs.
        """
        state, offer = self._added(job)
        found = self.cycle.decide(state, offer)
        at_once = isinstance(found, Start)
        if not isinstance(found, Start):
            found = backfill.backfill_start(self.cycle, state, offer) or found
        if isinstance(found, Start):
            said = self._planned(state, found)
            exact = not at_once and backfill.is_exact_backfill(self.cycle, state)
            fit = self._fit_of_another(state, found) if exact else ""
        elif found is not None and found.start is not None:
            said = self._planned(state, found.start, found)
            fit = self._fit_of_another(state, found.start)
        else:
            return self._without_a_place(state, found)
        return replace(said, exact_fit=fit)

    def _added(self, job: Job) -> tuple[JobState, Offer]:
        """Return the state of one more job, and its dispatch attempt."""
        state = JobState(job, len(self.world.states))
        state.shape = self.world.requests.shape(job)
        self.world.set_durations(state, margin=self.margin)
        return state, Offer(job, (state.number,))

    def result_for_added_job(self, job: Job) -> PlannedJob | Unplaced | None:
        """Return the result for one more job in the cycle, or None if a new cycle has to be run for
        it.

        No new cycle is needed if the job comes behind all others, no running job backfilled, and
        every job that starts does so in the first cycle. The other jobs then do not change, and the
        added job is examined after them, once in each cycle.
        """
        pending = (*self.instance.pending, job)
        last = priority_order(replace(self.instance, pending=pending))[-1]
        first, *others = self._settled
        quiet = not any(record.backfilled for record in self._settled)
        if last is not job or not quiet or any(record.started for record in others):
            return None
        if has_policy(self.instance) or self.cut or self.cycle.later.waiting:
            return None
        cycle = self.cycle
        if others:
            cycle.progress.failed_starts.clear()
            cycle.set_reservations(first.reservations)
            found = self._start_of_added_job(job)
            cycle.progress.failed_starts.clear()
            cycle.set_reservations(others[-1].reservations)
            if found is not None:
                return found
        answer = self.hypothetical_result(job)
        at_once = isinstance(answer, PlannedJob) and answer.start == self.instance.now
        return None if at_once else answer

    def earliest_known(self, job: Job) -> int | None:
        """Return the earliest start given running jobs and planned starts, or None if never.

        Used for a job that a time limit left without a dispatch attempt.
        """
        cycle, shape = self.cycle, self.world.requests.shape(job)
        if shape.infeasibility:
            return None
        closed = self._closed(job)
        demand = self.world.requests.reserving(shape, job, self.world.now)
        found = earliest_start(
            cycle.planned.profile(), without_hosts(demand, closed), finishes_only=True
        )
        return None if found is None else found.time

    def _start_of_added_job(self, job: Job) -> PlannedJob | None:
        """Return the start of one more job in the finished cycle, or None if it does not start."""
        state, offer = self._added(job)
        found = self.cycle.decide(state, offer, may_hold=False)
        return self._planned(state, found) if isinstance(found, Start) else None

    def _fit_of_another(self, state: JobState, start: Start) -> str:
        """Return the exact fit on which the start of one more job depends, "" if there is none."""
        demand = self.world.requests.reserving(self.cycle.world.shape(state), state.job, 0)
        another = self._by_limit(state, Commitment.of(state.job.id, demand, start))
        found = exact_fits(self.profile_before_starts, [*self.commitments, another], only=another)
        return found.get(state.job.id, "")

    @cached_property
    def commitments(self) -> list[Commitment]:
        """Return the commitments of all jobs, in the order of planning."""
        order = [job.id for job in self._order if job.id not in self._unseen_jobs]
        if self.cycle.later.waiting:  # earlier starts are planned first
            planned = [reservation.state.job.id for reservation in self.cycle.reservations]
            place = {job: at for at, job in enumerate(planned)}
            order = sorted(order, key=lambda job: place.get(job, -1))
        return [item for job in order if (item := self._standing(job)) is not None]

    @cached_property
    def _order(self) -> tuple[Job, ...]:
        """Return the pending jobs in the order of planning."""
        return priority_order(self.instance, self.cycle.precedence)

    def demand_of(self, job: str) -> Demand:
        """Return the demand of a pending job on the hosts that are open to it."""
        cycle, state = self.cycle, self.world.states.get(job)
        return open_part(cycle, state, self._closed(state.job))

    def subtract_open_reservations(self, profile: Profile) -> None:
        """Subtract the reservations of jobs without a future allocation, for as long as the plan
        reaches.
        """
        for reservation in self.cycle.reservations:
            if reservation.start is None:
                _hold_reserved(reservation, self.world.now, FOREVER, profile)

    def _standing(self, job: str) -> Commitment | None:
        """Return the commitment of one job of the cycle, or None if it takes nothing."""
        state, reservation = self.world.states.get(job), self.held.get(job)
        start = self.planned_start(job)
        if start is not None:
            place = None if reservation is None or state.start is not None else reservation.place
            demand = None if place is None else place[0]
            if demand is None:
                shape = self.cycle.world.shape(state)
                duration = state.duration_from(start.time, self.margin)
                demand = replace(shape.demand, job=state.job, duration=duration)
            # A start given all reservations does not depend on the limit.
            hangs = state.start is None or state.number in self.cycle.progress.exact_backfills
            promise = None if state.start is not None else self._promise(job)
            item = Commitment.of(job, demand, start, promise=promise, hangs=hangs)
            return self._by_limit(state, item)
        if reservation is None or reservation.estimate is None or not reservation.reserved:
            return None
        rows = partial(_hold_reserved, reservation, reservation.estimate, FOREVER)
        return Commitment(job, reservation.estimate, reservation.reserved, rows, self._promise(job))

    def _by_limit(self, state: JobState, item: Commitment) -> Commitment:
        """Return the commitment with the run limit as its length, if the limit decides which gaps
        fit.
        """
        backfills = self.cycle.queues[state.job.queue].backfill
        if item.place is None or state.limit is None or not backfills:
            return item
        demand, start = item.place
        return replace(item, place=(replace(demand, duration=state.limit), start))

    def _promise(self, job: str) -> Callable[[Profile], None]:
        """Return the commitment of a reservation until its start."""
        reservation, now = self.held[job], self.world.now

        def keep(profile: Profile) -> None:
            assert reservation.estimate is not None
            if reservation.place is None:
                _hold_reserved(reservation, now, reservation.estimate, profile)
            elif not takes_only_slots(*reservation.place):
                # A job that ends by the start needs none of the reserved slots; a longer one
                # conflicts.
                subtract_reservations(
                    *(profile, [reservation], profile.copy(), now),
                    sequence=ReservationSequence([reservation]),
                )

        return keep

    def profile_before_starts(self) -> Profile:
        """Return the profile of the jobs that ran before the cycle started any."""
        first = len(self.instance.running)
        begun = {number for number in self.world.running if number >= first}
        profile = self.world.running_profile.copy(begun)
        profile.accepted = accepted_of(self.instance)
        return profile

    def _closed(self, job: Job) -> BoolArray | None:
        """Return the hosts that are closed to a job in every plan, by load or host state."""
        return self.cycle.eligibility.closed(job.queue, None, windows=False, intervals=False)

    def planned_start(self, job: str) -> Start | None:
        """Return the planned start of a pending job, or None if the cycle has none for it."""
        state = self.world.states.get(job)
        if state.start is not None:
            return Start(state.start, state.terms, state.alternative)
        reservation = self.held.get(job)
        return None if reservation is None else reservation.start

    def _without_a_place(
        self, state: JobState, reservation: JobReservation | None
    ) -> PlannedJob | Unplaced:
        job, cycle = state.job, self.cycle
        if state.number in self._unseen:
            return not_looked_at(job, GREEDY)
        if why := self._stuck.get(job.id) or self._missed.get(job.id):
            return Unplaced(job.id, why)
        withheld = cycle.progress.ineligible.get(state.number, "")
        if withheld and self._refused(job):
            return Unplaced(job.id, withheld)
        never = state.shape is not None and bool(state.shape.infeasibility)
        has_no_allocation = state.number in cycle.progress.without_future_allocation
        never = never or (reservation is None and self._in_no_partition(job))
        closed = self._closed_now(job) if has_no_allocation and not never else ""
        no_estimate = has_no_allocation and (reservation is None or reservation.estimate is None)
        if not withheld and (never or (no_estimate and not closed)):
            return Unplaced(job.id, self._why_never(job))
        reserved = {} if reservation is None else self.world.named(reservation.slots)
        waits_for = state.current_reason or state.reason
        if reserved and sum(reserved.values()) < job.slots:
            needs = counted(job.slots, "free slot")
            waits_for = f"needs {needs}, has reserved {sum(reserved.values())}"
        return PlannedJob(
            job=job.id,
            start=None,
            method=GREEDY,
            estimate=None if reservation is None else reservation.estimate,
            reserved=reserved,
            waits_for=waits_for,
            fallback=(closed or self._why_never(job))
            if has_no_allocation
            else SHORTENED
            if state.number in self._shortened
            else "",
        )

    @cached_property
    def _stuck(self) -> Mapping[str, str]:
        """Return the jobs whose dependency condition is never satisfied in this plan, with the
        reason.
        """
        cycle, found = self.cycle, dict[str, str]()

        def when(other: After) -> int | None:
            state = self.world.states.get(other.job)
            closed = state.reserved is not None and not state.reserved.open
            endless = state.duration_from(self.world.now) is None and not (closed or other.start)
            return None if endless or self._has_no_start(state, found) else 0

        for job in self._order if cycle.precedence else ():
            event = cycle.event_of(job)
            if event is None or earliest(event, when) is not None:
                continue
            ends = {other.id: self.world.states.get(other.id).duration for other in self._order}
            missing = [other for other in jobs_of(event) if when(After(other, True)) is None]
            states = (self.world.states.get(other.id) for other in self._order)
            killed = {s.job.id: end for s in states if (end := _last_end(s)) is not None}
            none = (
                f"{NOT_YET}: {job.dependency} depends on jobs without a start: {', '.join(missing)}"
            )
            in_vain = unknown_in(from_starts(event, ends, killed))
            found[job.id] = unknown_in(event) or in_vain or none
        return found

    @cached_property
    def _missed(self) -> Mapping[str, str]:
        """Return the jobs without a start before their termination time (-t), with the reason."""
        found: dict[str, str] = {}
        for job in self._order:
            last, reservation = last_start(self.instance, job), self.held.get(job.id)
            state = self.world.states.get(job.id)
            if last is None or state.start is not None or state.number in self._unseen:
                continue
            if not self.world.may_start_by_deadline(state):
                found[job.id] = aborted(self.instance, job)
            elif (
                reservation is not None
                and reservation.start is None
                and (reservation.estimate or last) > last
            ):
                found[job.id] = crowded_past_deadline(self.instance, job)
        return found

    def _has_no_start(self, state: JobState, stuck: Mapping[str, str]) -> bool:
        """Return whether a plan has no start for a job at any time."""
        if state.job.id in self._missed:
            return True
        if state.start is not None:
            return False
        reservation = self.held.get(state.job.id)
        if reservation is not None and (
            reservation.start is not None or self.cycle.method.name == GREEDY
        ):
            return False
        if state.job.id in stuck or (state.shape is not None and state.shape.infeasibility):
            return True
        return (
            state.number in self.cycle.progress.without_future_allocation
            and not self._closed_now(state.job)
        )

    def _refused(self, job: Job) -> bool:
        """Whether the policies never let the job start because it has no share."""
        found = self._admissions.get(job.id)
        return found is not None and bool(found.refused)

    @cached_property
    def _admissions(self) -> dict[str, Admission]:
        return admissions(self.instance)

    def _closed_now(self, job: Job) -> str:
        closed = self._closed(job)
        demand = self.problem.demand_of(job)
        return closed_now(self.problem, demand, without_hosts(demand, closed), closed)

    def _in_no_partition(self, job: Job) -> bool:
        """Whether no host partition can run a job even on idle hosts."""
        if not self.instance.partitions:
            return False
        return earliest_start(self.problem.empty, self.problem.demand_of(job)) is None

    def _why_never(self, job: Job) -> str:
        by_itself = self.world.requests.resolver.demand(job)
        lifted = on_loans(self.world.requests.resolver, by_itself)
        empty = self.world.requests.empty()
        if lifted is not by_itself and earliest_start(empty, by_itself) is None:
            return ON_A_LOAN
        try:
            return reason_unplaced(self.problem, self.problem.demand_of(job))
        except OutOfTime:
            shape = self.world.states.get(job.id).shape
            return (shape.infeasibility if shape else "") or "no start was found for it"

    def _planned(
        self, state: JobState, start: Start, reservation: JobReservation | None = None
    ) -> PlannedJob:
        """Return the planned start of a job; reservation: by which it has it, None if it starts
        now.
        """
        return PlannedJob(
            job=state.job.id,
            start=start.time,
            finish=self._finish(state, start.time),
            allocation=self.world.named(start.allocation),
            method=self.method if reservation is None else reservation.method,
            reserved={} if reservation is None else self.world.named(reservation.slots),
            waits_for="" if reservation is None else reservation.waits_for,
            alternative=start.alternative,
            terms=tuple(map(self.world.named, start.terms)) if len(start.terms) > 1 else (),
        )

    def _finish(self, state: JobState, start: int) -> int | None:
        """Return the expected end of the job."""
        duration = state.duration_from(start, self.margin)
        return None if duration is None else start + duration - self.margin
