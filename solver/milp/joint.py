"""Objectives that trade jobs against each other: one integer program over all candidate starts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from ...model.plan import Plan, PlannedJob, Unplaced
from ..availability.demand import Demand
from ..optimal.budget import Budget
from ..optimal.first_fit import plan_first_fit
from ..optimal.lexicographic import Progress
from ..optimal.objectives import Objective
from ..pending_reasons import reason_unplaced, what_it_waits_for
from ..placement.earliest import Start, earliest_start, hold_start
from ..problem import PlanningProblem
from .model import PlacementModel, alternatives
from .starts import TooMany, closure

#: Above this many placements (option and host) the program is not built.
MOST_PLACEMENTS = 30_000

#: Objectives under which a job may start late at no cost: equal optima are told apart by starts.
IDLE = ("makespan", "tardiness")

Costs = Mapping[str, Mapping[int, float]]


def plan_joint(
    problem: PlanningProblem,
    budget: Budget,
    name: str,
    *,
    on_progress: Callable[[Any], None] | None = None,
) -> Plan:
    """The optimum of a joint objective; where that is too large, the time-based plan and a note."""
    warm = plan_first_fit(problem)
    objective = Objective(name, problem.instance.now)
    starts = {item.job: item.start for item in warm.reservations if item.start is not None}
    demands = [demand for demand in problem.demands if demand.job.id in starts]
    by_id = {demand.job.id: demand for demand in demands}
    value = objective.value(by_id, starts)
    try:
        costs = _costs(problem, demands, objective, value)
    except TooMany:
        note = (
            f"{len(demands)} jobs on {len(problem.instance.cluster.hosts)} hosts are too large for "
            f"the integer program (at most {MOST_PLACEMENTS} placements): this is the time-based "
            "plan; use --method optimal"
        )
        return _time_based(problem, warm, name, value, note)
    model = PlacementModel(
        problem.base, [(demand, sorted(costs[demand.job.id])) for demand in demands]
    )
    if name == "makespan":
        model.minimise_largest(costs)
    else:
        model.minimise(costs)
    outcome, placed = model.solve(budget, seconds=3600.0)
    if not placed and demands:
        note = "the limit of the search was reached: this is the time-based plan"
        return _time_based(problem, warm, name, value, note)
    best = objective.value(by_id, {job: start.time for job, start in placed.items()})
    low = best if outcome.status == "OPTIMAL" else _bound(outcome.bound, objective, len(demands))
    if name in IDLE and placed and outcome.value is not None and not budget.exhausted():
        model.keep(outcome.value)
        model.minimise({job: {time: float(time) for time in own} for job, own in costs.items()})
        placed = model.solve(budget, seconds=3600.0)[1] or placed
        best = objective.value(by_id, {job: start.time for job, start in placed.items()})
    if on_progress is not None:
        shown = best if low is None else min(low, best)
        on_progress(Progress(len(demands), len(demands), best, shown, budget.elapsed()))
    return _as_plan(problem, name, costs, placed, best, low)


def _costs(
    problem: PlanningProblem, demands: list[Demand], objective: Objective, value: float
) -> dict[str, dict[int, float]]:
    """The cost of every candidate start that a plan no worse than `value` may use."""
    least = {d.job.id: _cost(objective, d, d.earliest) for d in demands}
    limit = value * (len(demands) if objective.name == "slowdown" else 1) + 1e-6
    rest = 0.0 if objective.name == "makespan" else sum(least.values())

    def useful(demand: Demand) -> Callable[[int], bool]:
        others = rest - least[demand.job.id] if rest else 0.0
        return lambda time: _cost(objective, demand, time) + others <= limit

    keep = {demand.job.id: useful(demand) for demand in demands}
    found = closure(problem, demands, keep, MOST_PLACEMENTS)
    placements = sum(
        len(found[demand.job.id])
        * len(alternatives(demand))
        * sum(int(term.candidates.size) for term in demand.terms)
        for demand in demands
    )
    if placements > MOST_PLACEMENTS:
        raise TooMany
    return {
        demand.job.id: {time: _cost(objective, demand, time) for time in found[demand.job.id]}
        for demand in demands
    }


def _cost(objective: Objective, demand: Demand, time: int) -> float:
    if objective.name == "makespan":
        return float(objective.end(demand, time))
    return objective.cost(demand, time)


def _bound(bound: float | None, objective: Objective, jobs: int) -> float | None:
    if bound is None:
        return None
    return bound / jobs if objective.name == "slowdown" else bound


def _as_plan(
    problem: PlanningProblem,
    name: str,
    costs: Costs,
    placed: dict[str, Start],
    value: float,
    low: float | None,
) -> Plan:
    proved = low is not None and value <= low + 1e-9
    entries: dict[str, PlannedJob] = {}
    profile = problem.base.copy()
    by_id = {demand.job.id: demand for demand in problem.demands}
    for job, start in sorted(placed.items(), key=lambda item: item[1].time):
        reason = what_it_waits_for(problem, by_id[job], start, profile)
        hold_start(profile, by_id[job], start)
        entries[job] = problem.planned(
            by_id[job], start, "milp", bound=_first(problem, by_id[job], costs), waits_for=reason
        )
    return Plan(
        method="milp",
        objective=name,
        status=("optimal" if len(placed) == len(by_id) else "infeasible") if proved else "feasible",
        now=problem.instance.now,
        reservations=tuple(
            entries[demand.job.id] for demand in problem.demands if demand.job.id in entries
        ),
        unplaced=_unplaced(problem, set(placed)),
        value=value,
        bound=low if low is None else min(low, value),
        notes=() if proved else ("not proved: the limit of the search was reached",),
    )


def _first(problem: PlanningProblem, demand: Demand, costs: Costs) -> int:
    """No start of the job before this one is possible."""
    alone = earliest_start(problem.base, demand) if len(demand.terms) == 1 else None
    return min(costs[demand.job.id]) if alone is None else alone.time


def _time_based(problem: PlanningProblem, warm: Plan, name: str, value: float, note: str) -> Plan:
    """The time-based plan under the objective; "feasible", as nothing is proved."""
    started = tuple(item for item in warm.reservations if item.start is not None)
    return replace(
        warm,
        method="milp",
        objective=name,
        status="feasible",
        reservations=started,
        unplaced=_unplaced(problem, {item.job for item in started}),
        value=value,
        notes=(note,),
    )


def _unplaced(problem: PlanningProblem, placed: set[str]) -> tuple[Unplaced, ...]:
    return tuple(
        Unplaced(demand.job.id, reason_unplaced(problem, demand))
        for demand in problem.demands
        if demand.job.id not in placed
    )
