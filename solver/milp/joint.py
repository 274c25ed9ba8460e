"""Objectives that trade jobs against each other: one integer program over all candidate starts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...model.plan import Plan, PlannedJob, Unplaced
from ..availability.demand import Demand
from ..optimal.budget import Budget
from ..optimal.completion import LIMIT, Jointly, completed
from ..optimal.first_fit import plan_first_fit
from ..optimal.lexicographic import Progress, warm_starts
from ..optimal.objectives import Objective
from ..optimal.weighted import earliest_alone
from ..pending_reasons import reason_unplaced, what_it_waits_for
from ..placement.earliest import Start, hold_start
from ..placement.fewest import with_fewest_units
from ..problem import PlanningProblem
from .model import PlacementModel, alternatives
from .starts import TooMany, closure

#: Above this many placements (option and host) the program is not built.
MOST_PLACEMENTS = 30_000

#: Objectives under which a job may start late at no cost: equal optima are told apart by starts.
IDLE = ("makespan", "tardiness")

#: Values that differ by no more are equal.
NEAR = 1e-9


def plan_joint(
    problem: PlanningProblem,
    budget: Budget,
    name: str,
    jointly: Jointly,
    *,
    on_progress: Callable[[Any], None] | None = None,
) -> Plan:
    """The optimum of a joint objective; where that is too large, the time-based plan and a note.

    jointly: places jobs at fixed starts, for those that find no place one after another.
    """
    objective = Objective(name, problem.instance.now)
    alone = earliest_alone(problem)
    warm, why = completed(problem, warm_starts(problem, plan_first_fit(problem)), alone, jointly)
    starts = {job: start.time for job, start in warm.items()}
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
        return _as_plan(problem, name, alone, warm, value, None, [note])
    model = PlacementModel(
        problem.base, [(demand, sorted(costs[demand.job.id])) for demand in demands]
    )
    if name == "makespan":
        model.minimise_largest(costs)
    else:
        model.minimise(costs)
    outcome, placed = model.solve(budget, seconds=3600.0)
    if not placed and demands:
        note = f"{LIMIT}: this is the time-based plan"
        return _as_plan(problem, name, alone, warm, value, None, [note])
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
    notes = [f"not proved: {why}"] if why else []
    if low is None or best > low + NEAR:
        notes.append(f"not proved: {LIMIT}")
    return _as_plan(problem, name, alone, placed, best, low, notes)


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
    alone: Mapping[str, int],
    placed: dict[str, Start],
    value: float,
    low: float | None,
    notes: Sequence[str],
) -> Plan:
    """notes: why nothing is proved, none if it is."""
    entries: dict[str, PlannedJob] = {}
    profile = problem.base.copy()
    by_id = {demand.job.id: demand for demand in problem.demands}
    placed = with_fewest_units(profile, problem.demands, placed)
    for job, start in sorted(placed.items(), key=lambda item: item[1].time):
        reason = what_it_waits_for(problem, by_id[job], start, profile)
        hold_start(profile, by_id[job], start)
        entries[job] = problem.planned(
            by_id[job], start, "milp", bound=alone[job], waits_for=reason
        )
    return Plan(
        method="milp",
        objective=name,
        status="feasible" if notes else ("optimal" if len(placed) == len(by_id) else "infeasible"),
        now=problem.instance.now,
        reservations=tuple(
            entries[demand.job.id] for demand in problem.demands if demand.job.id in entries
        ),
        unplaced=tuple(
            Unplaced(
                demand.job.id,
                LIMIT if demand.job.id in alone and notes else reason_unplaced(problem, demand),
            )
            for demand in problem.demands
            if demand.job.id not in placed
        ),
        value=value,
        bound=low if low is None else min(low, value),
        notes=tuple(notes),
    )
