"""The optimal method in the loop: the first jobs of the order are planned together each cycle.

The lexicographic optimum over the top N, within a deterministic effort; what it does not reach is
greedy. Jobs that the plan starts now start where it says; the others hold what is free of their
future places.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ..demand import BoolArray, Demand
from ..earliest import Start
from ..problem import PlanningProblem
from ..profile import Profile
from ..timebased import plan_time_based
from . import reserving
from .requests import Shape
from .reservations import Held
from .stages import Offer
from .state import JobState

if TYPE_CHECKING:
    from .cycle import Cycle


@dataclass(frozen=True, slots=True)
class _Top:
    """One of the jobs that are planned together. offer: the turn that brought it in."""

    state: JobState
    shape: Shape
    closed: BoolArray | None
    demand: Demand
    offer: Offer


def plan_top(cycle: Cycle) -> None:
    """Take the first jobs from the order, plan them, start and reserve accordingly."""
    chosen = _choose(cycle)
    if not chosen:
        return
    starts = _plan(cycle, chosen)
    for item in chosen:
        start = starts.get(item.state.job.id)
        now_planned = start is not None and start.time <= cycle.world.now
        if now_planned and start is not None and _start(cycle, item, start):
            continue
        if not item.state.reason:
            cycle.note(item.state, cycle.why(item.state, item.shape, item.closed))
        if not reserving.may_reserve(cycle, item.state):
            continue
        if start is not None and not now_planned:
            held: Held | None = reserving.hold(
                cycle, item.state, item.demand, start, item.closed, method="optimal"
            )
        else:
            held = _fallback(cycle, item, now_planned=now_planned)
        if held is not None:
            cycle.keep(held)


def _fallback(cycle: Cycle, item: _Top, *, now_planned: bool) -> Held | None:
    """Time-based, else greedy, for a job that the plan does not help."""
    why = "the plan has no place for it"
    if now_planned:
        # As long as this lasts, what was planned behind the job moves with every cycle.
        cycle.moving = True
        why = "its planned place is held for a job before it"
    held = reserving.time_based(cycle, item.state, item.closed)
    if held is None:
        held = reserving.greedy(cycle, item.state, item.closed)
    if held is not None:
        held.fallback = why
    return held


def _choose(cycle: Cycle) -> list[_Top]:
    """The first N jobs that may start at all; the others have had their turn, with a reason."""
    chosen: list[_Top] = []
    order = cycle.world.order
    while len(chosen) < cycle.settings.top and (offer := order.next()) is not None:
        state = cycle.world.by_id[offer.job.id]
        shape = cycle.shape(state)
        if reason := cycle.barred(state, offer):
            cycle.note(state, reason)
        else:
            closed = cycle.gates.closed(state.job.queue, offer.hosts)
            demand = reserving.open_part(cycle, state, closed)
            if all(term.candidates.size for term in demand.terms):
                _enter(cycle, chosen, _Top(state, shape, closed, demand, offer))
        order.skipped(offer.job)
    return chosen


def _enter(cycle: Cycle, chosen: list[_Top], item: _Top) -> None:
    """Add a job; one that comes again, for other hosts, counts where it starts first (TBR-12)."""
    place = next((i for i, other in enumerate(chosen) if other.state is item.state), None)
    if place is None:
        chosen.append(item)
        return
    before = _alone(cycle.world.live, chosen[place])
    now = _alone(cycle.world.live, item)
    if now is not None and (before is None or now.time < before.time):
        chosen[place] = item


def _plan(cycle: Cycle, chosen: list[_Top]) -> dict[str, Start]:
    """Starts of the jobs, by id."""
    now = cycle.world.now
    profile = cycle.world.live.copy()
    demands = tuple(item.demand for item in chosen)
    instance = replace(
        cycle.instance, now=now, running=(), pending=tuple(item.state.job for item in chosen)
    )
    problem = PlanningProblem(instance, cycle.world.requests.resolver, demands, profile)
    warm = plan_time_based(problem)
    plan = warm
    if len(chosen) > 1 and any((item.start or now) > now for item in warm.reservations):
        from ..optimal.budget import Budget
        from ..optimal.lexicographic import plan_lexicographic

        plan = plan_lexicographic(problem, warm, Budget(effort=cycle.settings.effort))
    index = cycle.world.index
    by_id = {item.state.job.id: item for item in chosen}
    starts: dict[str, Start] = {}
    for planned in plan.reservations:
        if planned.start is not None and len(by_id[planned.job].demand.terms) == 1:
            allocation = {index[name]: slots for name, slots in planned.allocation.items()}
            starts[planned.job] = Start(planned.start, (allocation,), planned.alternative)
    for item in chosen:
        if len(item.demand.terms) > 1:  # The plan does not say which term has which slots.
            found = _alone(profile, item)
            if found is not None:
                starts[item.state.job.id] = found
    return starts


def _alone(profile: Profile, item: _Top) -> Start | None:
    """The earliest start of a job beside what runs, whatever the others get."""
    from ..earliest import earliest_start

    return earliest_start(profile, item.demand, finishes_only=True)


def _start(cycle: Cycle, item: _Top, planned: Start) -> bool:
    """Start a job where the plan has it, or where it fits if a range of slots makes it larger."""
    beside = cycle.beside(item.closed, item.state)
    demand = cycle.world.requests.now(item.shape)
    term = demand.terms[0]
    start: Start | None = planned
    if len(demand.terms) > 1 or term.most > term.slots or not _still_free(cycle, item, planned):
        start = cycle.try_start(item.shape, beside)
    if start is None:
        return False
    cycle.start(item.state, start, offer=item.offer, why="planned for now")
    return True


def _still_free(cycle: Cycle, item: _Top, planned: Start) -> bool:
    """Whether the planned slots are free now beside everything, by the rules of dispatch."""
    term = item.demand.terms[0]
    beside = cycle.beside(item.closed, item.state)
    alternative = term.alternatives[planned.alternative]
    room = beside.room(item.demand, term, alternative, beside.now)
    slots = planned.terms[0]
    inside = all(room.caps[host] >= count for host, count in slots.items())
    totals = all(
        group.slots is None or sum(n for h, n in slots.items() if group.mask[h]) <= group.slots
        for group in room.groups
    )
    return inside and totals
