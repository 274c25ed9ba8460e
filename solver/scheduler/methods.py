"""The reservation methods by name, and the settings of a simulation that follow from one.

The optimal method in the loop: the first jobs of the order are planned together in each cycle. The
plan is the lexicographic optimum over the top N, within a deterministic effort; jobs that it does
not reach are reserved greedily. Jobs that the plan starts now start on its hosts. The others
reserve, of their future allocations, the amounts that the plan needs to stay feasible with any
other starts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from ...model.errors import InputError, UnknownNameError
from ...model.instance import Instance
from ...model.job import Job
from ...model.plan import Plan
from ..availability.demand import Calendar, Demand, without_hosts
from ..availability.profile import Profile, block_advance_reservations
from ..availability.resources import BoolArray
from ..fairshare.stages import Offer
from ..optimal.alternatives import as_chosen, plan_alternatives
from ..optimal.first_fit import fill_ranges, plan_first_fit
from ..placement.earliest import Start, earliest_start, still_free
from ..problem import PlanningProblem
from .cycle_reservations import JobReservation
from .cycle_state import CycleState
from .events import EFFORT, GREEDY, NONE, OPTIMAL, TIME_BASED, TOP, Settings
from .job_state import JobState, Shape
from .reserving import (
    future_allocation,
    greedy_reservation,
    hold_now,
    may_reserve,
    time_based_reservation,
)


@dataclass(frozen=True, slots=True)
class _Top:
    """One of the jobs that are planned together."""

    state: JobState
    shape: Shape
    closed: BoolArray | None
    demand: Demand
    #: The dispatch attempt that added the job.
    offer: Offer
    #: Its demands under its alternatives in braces, () if it has none.
    under: tuple[Demand, ...] = ()

    @property
    def demands(self) -> tuple[Demand, ...]:
        """Return all demands of the job, one of which it needs."""
        return self.under or (self.demand,)

    def chosen(self, job: Job) -> Demand:
        """Return the demand of the job with the alternative that it has chosen."""
        return self.under[job.requirement_alternative or 0] if self.under else self.demand


#: A planned start of a job, and before it the demand under the alternative by which it starts.
_Place = tuple[Demand, Start]


def plan_top(cycle: CycleState) -> None:
    """Take the first jobs from the order, plan them, start and reserve accordingly."""
    chosen = _choose(cycle)
    if not chosen:
        return
    now = cycle.world.now
    places = _plan(cycle, chosen)
    # The plan has capacity for all jobs that it starts now, also before a job of higher priority.
    waiting = [
        item
        for item in chosen
        if (place := places.get(item.state.job.id)) is None
        or place[1].time > now
        or not _start_as_planned(cycle, item, place)
    ]
    for item in waiting:
        place = places.get(item.state.job.id)
        now_planned = place is not None and place[1].time <= now
        if now_planned and _start(cycle, item):
            continue
        if not item.state.reason:
            cycle.set_reason(item.state, cycle.pending_reason(item.state, item.shape, item.closed))
        if not may_reserve(cycle, item.state):
            continue
        reservation: JobReservation | None
        if place is not None and not now_planned:
            if item.under:
                cycle.world.wait_by(item.state, place[0].job)
            reservation = hold_now(cycle, item.state, *place, item.closed, method=OPTIMAL)
        else:
            reservation = _fallback(cycle, item, now_planned=now_planned)
        if reservation is not None:
            cycle.add_reservation(reservation)


def _fallback(cycle: CycleState, item: _Top, *, now_planned: bool) -> JobReservation | None:
    """Return a time-based, else a greedy reservation for a job without a useful start in the
    plan.
    """
    why = "the plan has no start for it"
    if now_planned:
        # While a job is overdue, the starts planned after its end move with every cycle.
        cycle.progress.is_unstable = True
        why = "its planned slots are reserved for a job before it"
    reservation = future_allocation(cycle, item.state, item.closed)
    if reservation is None:
        reservation = greedy_reservation(cycle, item.state, item.closed)
    if reservation is not None:
        reservation.fallback = why
    return reservation


def _choose(cycle: CycleState) -> list[_Top]:
    """Choose the first N jobs that can start at all; set a reason for each examined before."""
    chosen: list[_Top] = []
    order, now = cycle.world.order, cycle.world.now
    booked: list[Job] = []
    while len(chosen) < cycle.settings.top and (offer := order.next()) is not None:
        state = cycle.world.states.get(offer.job.id)
        if state.start is not None:
            # A running job with a growth request is examined at the end of the cycle.
            order.skipped(offer.job)
            continue
        choices = cycle.world.requests.alternatives(state.job)
        if choices:
            cycle.world.wait_by(state, None)
        shape = cycle.world.shape(state)
        if reason := cycle.planning_exclusion(state, offer):
            cycle.set_reason(state, reason)
        else:
            closed = cycle.eligibility.closed(state.job.queue, offer.hosts)
            demand = _demand(cycle, offer, shape, state.job)
            under = tuple(_demand_from(cycle, offer, opens, job) for opens, job in choices)
            item = _Top(state, shape, closed, demand, offer, under)
            if any(all(term.candidates.size for term in each.terms) for each in item.demands):
                _enter(cycle, chosen, item)
                # The job is charged to its account, so that users alternate as if the job had
                # started.
                where = min(offer.hosts) if offer.hosts else cycle.world.names[0]
                order.reserved(offer.job, {where: offer.job.slots}, now)
                booked.append(offer.job)
        order.skipped(offer.job)
    for job in booked:
        order.reserved(job, cycle.reserved_so_far(job), now)
    return chosen


def _demand(cycle: CycleState, offer: Offer, shape: Shape, job: Job) -> Demand:
    """Return the demand as the plan sees it: on open hosts, within their windows (TBR-19)."""
    demand = cycle.world.requests.reserving(shape, job, cycle.world.now)
    closed = cycle.eligibility.closed(job.queue, offer.hosts, windows=False, intervals=False)
    calendar = Calendar.of(cycle.instance, cycle.queues[job.queue])
    calendar = cycle.world.requests.resolver.in_reservation(job, calendar)
    return replace(without_hosts(demand, closed), calendar=calendar)


def _demand_from(cycle: CycleState, offer: Offer, opens: int, job: Job) -> Demand:
    """Return the demand under an alternative in braces, from the instant at which it opens."""
    demand = _demand(cycle, offer, cycle.world.requests.shape(job), job)
    return replace(demand, earliest=max(demand.earliest, opens))


def _running(cycle: CycleState) -> Profile:
    """Return the commitments of running jobs and of advance reservations."""
    profile = cycle.world.running_profile.copy()
    profile.accepted = cycle.eligibility.acceptances()
    block_advance_reservations(cycle.instance, profile)
    return profile


def _enter(cycle: CycleState, chosen: list[_Top], item: _Top) -> None:
    """Add a job; of a job offered several times for different hosts, the earliest start counts
    (TBR-12).
    """
    place = next((i for i, other in enumerate(chosen) if other.state is item.state), None)
    if place is None:
        chosen.append(item)
        return
    before = _alone(_running(cycle), chosen[place])
    now = _alone(_running(cycle), item)
    if now is not None and (before is None or now.time < before.time):
        chosen[place] = item


def _plan(cycle: CycleState, chosen: list[_Top]) -> dict[str, _Place]:
    """Return the planned places of the jobs, by id."""
    now = cycle.world.now
    profile = _running(cycle)
    items = {item.state.job.id: item for item in chosen}
    instance = replace(
        cycle.instance, now=now, running=(), pending=tuple(item.state.job for item in chosen)
    )

    def problem_of(part: Instance) -> PlanningProblem:
        demands = tuple(items[job.id].chosen(job) for job in part.pending)
        return PlanningProblem(part, cycle.world.requests.resolver, demands, profile)

    def solve(part: Instance) -> Plan:
        problem = problem_of(part)
        found = warm = plan_first_fit(problem)
        if len(chosen) > 1 and any((item.start or now) > now for item in warm.reservations):
            from ..budget import Budget
            from ..optimal.lexicographic import plan_lexicographic

            found = plan_lexicographic(problem, warm, Budget(effort=cycle.settings.effort))
        return fill_ranges(problem, found)

    found = plan_alternatives(
        instance, solve, by="order", stopped=lambda: False, order=tuple(items)
    )
    problem = problem_of(as_chosen(instance, found))
    demands = {demand.job.id: demand for demand in problem.demands}
    return {
        item.job: (demands[item.job], start)
        for item in found
        if (start := problem.start_of(item)) is not None
    }


def _alone(profile: Profile, item: _Top) -> Start | None:
    """Return the earliest start of a job, given the running jobs alone."""
    found = (earliest_start(profile, demand, finishes_only=True) for demand in item.demands)
    starts = (start for start in found if start is not None)
    return min(starts, key=lambda start: start.time, default=None)


def _closed_now(cycle: CycleState, item: _Top) -> BoolArray | None:
    """Return the hosts closed to a job by starts of this cycle (TBR-16)."""
    return cycle.eligibility.closed(item.state.job.queue, item.offer.hosts)


def _start_as_planned(cycle: CycleState, item: _Top, place: _Place) -> bool:
    """Start a job as planned if no rule prevents it."""
    residual = cycle.residual(_closed_now(cycle, item), item.state)
    if not still_free(residual, *place):
        return False
    if item.under:
        cycle.world.choose(item.state, place[0].job)
    cycle.start(item.state, place[1], offer=item.offer, why="planned for now")
    return True


def _start(cycle: CycleState, item: _Top) -> bool:
    """Start a job on the planned hosts, or wherever it fits."""
    start = cycle.start_of(item.state, cycle.residual(_closed_now(cycle, item), item.state))
    if start is None:
        return False
    cycle.start(item.state, start, offer=item.offer, why="planned for now")
    return True


Reservation = Literal["configured", "none", "greedy", "time-based", "optimal"]


@dataclass(frozen=True, slots=True)
class ReservationMethod:
    """A reservation method, which reserves for jobs that cannot start now."""

    #: Name of the method as users write it.
    name: str
    #: Returns the reservation of a job that cannot start now; its last argument is the mask of
    #: excluded hosts, [H].
    reserve: Callable[[CycleState, JobState, BoolArray | None], JobReservation | None]
    #: Whether the method gives future allocations, to at most N jobs and not together with job
    #: chunking (TBR-01, TBR-15).
    looks_ahead: bool = False
    #: Plans, starts and reserves before the cycle examines the jobs one by one.
    before: Callable[[CycleState], None] = lambda _: None


METHODS = {
    method.name: method
    for method in (
        ReservationMethod(NONE, lambda *_: None),
        ReservationMethod(GREEDY, greedy_reservation),
        ReservationMethod(TIME_BASED, time_based_reservation, looks_ahead=True),
        # A job behind the first N has a greedy reservation.
        ReservationMethod(OPTIMAL, greedy_reservation, looks_ahead=True, before=plan_top),
    )
}
#: Accepted names of reservation methods; "configured" is the method of the instance.
RESERVATIONS = ("configured", *METHODS)


def settings_for(
    instance: Instance,
    *,
    reservation: str = "configured",
    top: int | None = None,
    cycle: int | None = None,
    effort: float = EFFORT,
    skip_idle: bool = True,
) -> Settings:
    """Return the settings for an instance.

    "configured" is time-based where LSB_TIME_RESERVE_NUMJOBS is set, else greedy, in the queues
    with SLOT_RESERVE or RESOURCE_RESERVE. A method that is named holds for those queues too, or for
    all where the instance has none of them.
    Raises InputError for an unknown method and for chunk jobs with future allocations (TBR-15).
    """
    if reservation not in RESERVATIONS:
        raise UnknownNameError.among("reservation", reservation, RESERVATIONS)
    numjobs = instance.params.time_reserve_numjobs
    named = reservation not in ("configured", NONE)
    if reservation == "configured":
        reservation = TIME_BASED if numjobs else GREEDY
    if METHODS[reservation].looks_ahead:
        for queue in instance.queues:
            if queue.chunk_job_size is not None and queue.chunk_job_size > 1:
                raise InputError(
                    f"queue {queue.name} has CHUNK_JOB_SIZE: {reservation} reservation cannot be "
                    f"combined with job chunking: remove CHUNK_JOB_SIZE or use greedy reservation"
                )
    if top is None:
        top = looking_ahead(instance)
    if top < 1:
        raise InputError(f"top must be 1 job or more, not {top}")
    if cycle is None:
        cycle = instance.params.mbd_sleep_time
    if cycle < 0:
        raise InputError(f"cycle must be 0 seconds or more, not {cycle}")
    return Settings(
        reservation, top, cycle, named and instance.reserve_cycles is None, effort, skip_idle
    )


def looking_ahead(instance: Instance) -> int:
    """Return how many jobs get a future allocation in a cycle: LSB_TIME_RESERVE_NUMJOBS, or 4 by
    default.
    """
    return instance.params.time_reserve_numjobs or TOP
