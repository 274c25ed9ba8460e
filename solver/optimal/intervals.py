"""Plans of searches that know no JOB_ACCEPT_INTERVAL, made to keep it (TBR-16).

It only delays, so the bounds of such a search hold. A plan that keeps it anyway is as proved as
the search made it; else its jobs are placed anew, one after the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...model.objective import Objective
from ...model.plan import Plan, PlannedJob, Unplaced
from ..availability.calendar import Calendar
from ..availability.demand import Demand, released
from ..availability.profile import FOREVER
from ..pending_reasons import reason_unplaced, what_it_waits_for
from ..placement.earliest import Start, earliest_start, hold_start, still_free
from ..problem import PlanningProblem
from .costs import in_terms_of
from .lexicographic import warm_starts
from .order_search import times_of

#: Said of a plan whose jobs had to be placed anew.
PLACED_ANEW = (
    "JOB_ACCEPT_INTERVAL: jobs are placed one after another, with bounds that hold without"
)
_Starts = dict[str, Start]


def heeds_intervals(problem: PlanningProblem) -> bool:
    """Whether a start may keep another job off its hosts for a while."""
    return any(demand.interval is not None for demand in problem.demands)


def without_intervals(problem: PlanningProblem) -> PlanningProblem:
    """The same without JOB_ACCEPT_INTERVAL between pending jobs; what runs still closes hosts."""
    return replace(
        problem, demands=tuple(_beside_running(problem, demand) for demand in problem.demands)
    )


def _beside_running(problem: PlanningProblem, demand: Demand) -> Demand:
    accepted, now = problem.base.accepted, problem.instance.now
    plain = replace(demand, interval=None)
    if not demand.interval or accepted is None:
        return plain
    calendar, start = demand.calendar or Calendar(), now
    closed = []
    for opening in sorted(time for time in accepted.openings(demand.interval) if time > now):
        mask = accepted.closed(demand.interval, start)
        if mask is not None:
            closed.append((mask, opening))
        start = opening
    if not closed:
        return plain
    return replace(
        plain, calendar=replace(calendar, closed_until=(*calendar.closed_until, *closed))
    )


def keeping_intervals(
    problem: PlanningProblem, found: Plan, first: Plan, objective: Objective
) -> Plan:
    """The plan of a search without the rule, or one near it that keeps the rule.

    first: the first-fit plan, which keeps it.
    """
    starts = warm_starts(problem, found)
    if _kept(problem, starts):
        return found
    ways = (_placed_anew(problem, starts, objective), warm_starts(problem, first))
    plans = [_as_plan(problem, found, way, objective) for way in ways]
    return min(plans, key=lambda plan: _rank(problem, plan, objective))


def _kept(problem: PlanningProblem, starts: _Starts) -> bool:
    """Whether no start comes too soon after another; of one second, those without a rule last."""
    profile = problem.base.copy()
    demands = [demand for demand in problem.demands if demand.job.id in starts]
    for demand in sorted(demands, key=lambda d: (starts[d.job.id].time, not d.interval)):
        start = starts[demand.job.id]
        closed = profile.just_accepted(demand, start.time)
        if closed is not None and closed[list(start.allocation)].any():
            return False
        profile.accept(demand, start.time, start.allocation)
    return True


def _placed_anew(problem: PlanningProblem, starts: _Starts, objective: Objective) -> _Starts:
    """Each job where it was if that keeps the rule, else at the earliest instant after that."""
    profile = problem.base.copy()
    placed: _Starts = {}
    demands: Sequence[Demand] = problem.demands
    if not objective.in_order:
        never = Start(FOREVER, ())
        demands = sorted(demands, key=lambda demand: starts.get(demand.job.id, never).time)
    for demand in demands:
        demand = released(demand, times_of(placed))
        before = starts.get(demand.job.id)
        place = before
        if before is None or not (
            before.time >= demand.earliest
            and not demand.impossible
            and profile.open_for(demand, before.time)
            and still_free(profile, demand, before)
        ):
            since = None if before is None else before.time
            place = earliest_start(profile, demand, not_before=since)
        if place is not None:
            placed[demand.job.id] = place
            hold_start(profile, demand, place)
    return placed


def _as_plan(problem: PlanningProblem, found: Plan, starts: _Starts, objective: Objective) -> Plan:
    profile = problem.base.copy()
    entries: list[PlannedJob] = []
    unplaced: list[Unplaced] = []
    same = True
    for demand in problem.demands:
        demand = released(demand, times_of(starts))
        before, start = found.get(demand.job.id), starts.get(demand.job.id)
        bound = _bound(problem, demand, before, objective, same=same)
        same = same and start is not None and before is not None and before.start == start.time
        if start is None:
            unplaced.append(Unplaced(demand.job.id, reason_unplaced(problem, demand)))
            continue
        why = what_it_waits_for(problem, demand, start, profile, entries)
        hold_start(profile, demand, start)
        bound = None if bound is None else min(bound, start.time)
        entries.append(problem.planned(demand, start, found.method, bound=bound, waits_for=why))
    proved = all(item.proved for item in entries) and not unplaced
    plan = replace(
        found,
        objective="lexicographic",
        status="optimal" if proved and objective.in_order else "feasible",
        reservations=tuple(entries),
        unplaced=tuple(unplaced),
        notes=(*found.notes, PLACED_ANEW),
    )
    if objective.in_order:
        now = problem.instance.now
        value = float(sum(item.start - now for item in entries if item.start is not None))
        return replace(plan, value=value, bound=value if proved else None)
    plan = in_terms_of(objective, plan, problem.demands)
    if plan.value is None or found.bound is None or unplaced or found.unplaced:
        return plan
    met = plan.value <= found.bound and found.status == "optimal"
    return replace(
        plan, bound=min(found.bound, plan.value), status="optimal" if met else "feasible"
    )


def _bound(
    problem: PlanningProblem,
    demand: Demand,
    before: PlannedJob | None,
    objective: Objective,
    *,
    same: bool,
) -> int | None:
    """A start that no plan is before; in order of priority with the starts of the jobs before.

    same: whether these are where the search had them.
    """
    if before is not None and before.bound is not None and (same or not objective.in_order):
        return before.bound
    alone = earliest_start(problem.base, demand)
    return None if alone is None else alone.time


def _rank(problem: PlanningProblem, plan: Plan, objective: Objective) -> tuple[float, ...]:
    """Fewer jobs without a start, then the better value; in order, then the earlier starts."""
    if objective.in_order:
        starts = {item.job: item.start for item in plan}
        return tuple(
            float(FOREVER if (s := starts.get(d.job.id)) is None else s) for d in problem.demands
        )
    return (len(plan.unplaced), float("inf") if plan.value is None else plan.value)
