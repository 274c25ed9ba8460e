"""Joint plans for objectives that trade jobs against each other: weighted starts, makespan, …

A plan from the order search comes first; where the problem is small enough one exact model proves
or improves it; the bound is the best of that model's and of each job's earliest start alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from ...model.plan import Plan, PlannedJob, Unplaced
from ..pending_reasons import reason_unplaced, what_it_waits_for
from ..placement.earliest import Start, earliest_start, hold_start
from ..placement.fewest import with_fewest_units
from ..problem import PlanningProblem
from .budget import Budget
from .completion import Jointly, completed
from .lexicographic import Progress, warm_starts
from .neighbourhood import improve
from .objectives import Objective
from .order_search import Starts, search_orders
from .pooled import solve_as_pool

#: Share of the time left that the searches may take where the exact model follows, and their moves.
EXACT_SHARE = 0.35
MOVES_BEFORE_EXACT = 400
#: Share of the time left that the exact model may take.
PROOF_SHARE = 0.7
#: Moves of the searches under a deterministic effort, for each unit of it.
MOVES_PER_EFFORT = 40
#: Values that differ by no more are equal.
NEAR = 1e-9


def plan_weighted(
    problem: PlanningProblem,
    warm: Plan,
    budget: Budget,
    name: str,
    jointly: Jointly,
    *,
    on_progress: Callable[[Any], None] | None = None,
) -> Plan:
    """The best plan found for an objective, with a bound; proved where the two meet.

    jointly: places jobs at fixed starts, for those that find no place one after another.
    """
    objective = Objective(name, problem.instance.now)
    demands = {demand.job.id: demand for demand in problem.demands}
    alone = earliest_alone(problem)
    first, why = completed(problem, warm_starts(problem, warm), alone, jointly)

    def value_of(starts: Starts) -> float:
        return objective.value(demands, {job: start.time for job, start in starts.items()})

    def tell(value: float, bound: float) -> None:
        if on_progress is not None:
            on_progress(Progress(len(first), len(demands), value, bound, budget.elapsed()))

    low = objective.value(demands, {job: alone[job] for job in first})
    if value_of(first) <= low + NEAR:
        return _as_plan(problem, name, first, value_of(first), low, why)
    placed = [demand for demand in problem.demands if demand.job.id in first]
    pooled, bound = solve_as_pool(problem, placed, objective, alone, budget, tell)
    low = max(low, bound)
    if pooled:
        best = min(first, pooled, key=value_of)
        return _as_plan(problem, name, best, value_of(best), min(low, value_of(best)), why)
    exact = _exact_model_fits(problem, placed)
    best, value = _search(problem, objective, budget, alone, first, low, exact, tell)
    tell(value, low)
    if exact and value > low + NEAR and not budget.exhausted():
        best, low = _prove(problem, objective, budget, alone, best, low)
        value = value_of(best)
        tell(value, low)
        if value > low + NEAR and not budget.exhausted():
            best, value = _search(problem, objective, budget, alone, best, low, False, tell)
    return _as_plan(problem, name, best, value, min(low, value), why)


def _search(
    problem: PlanningProblem,
    objective: Objective,
    budget: Budget,
    alone: dict[str, int],
    first: Starts,
    low: float,
    exact: bool,
    tell: Callable[[float, float], None],
) -> tuple[Starts, float]:
    """The best of the order search and of large neighbourhoods, in turn.

    exact: an exact model follows, which has most of the time.
    """
    seconds = min(budget.left(), 3600.0) * (EXACT_SHARE if exact else 1.0)
    moves = 10**9 if budget.effort is None else int(MOVES_PER_EFFORT * budget.effort)
    moves = min(moves, MOVES_BEFORE_EXACT) if exact else moves
    best, value = first, math.inf
    again = partial(search_orders, rules=False)
    turns: Sequence[tuple[Callable[..., tuple[Starts, float]], int]] = (
        (search_orders, 1),
        (improve, 2),
        (again, 1),
        (improve, 2),
    )
    for number, (search, parts) in enumerate(turns):
        best, value = search(
            problem,
            objective,
            budget,
            alone,
            first=best,
            enough=low + NEAR,
            seconds=parts * seconds / 6,
            moves=parts * moves // 6,
            seed=number,
            on_better=lambda better: tell(better, low),
        )
    return best, value


def earliest_alone(problem: PlanningProblem) -> dict[str, int]:
    """The earliest start of each job beside what runs: no plan can start it before."""
    found: dict[str, int] = {}
    for demand in problem.demands:
        start = earliest_start(problem.base, demand)
        if start is not None:
            found[demand.job.id] = start.time
    return found


def _exact_model_fits(problem: PlanningProblem, demands: list[Any]) -> bool:
    if not demands:
        return False
    from .interval_model import IntervalModel

    return IntervalModel.fits(demands, len(problem.instance.cluster.hosts))


def _prove(
    problem: PlanningProblem,
    objective: Objective,
    budget: Budget,
    alone: dict[str, int],
    best: Starts,
    low: float,
) -> tuple[Starts, float]:
    """Run the exact model from the incumbent; the better plan and the better bound."""
    from .interval_model import IntervalModel

    demands = [demand for demand in problem.demands if demand.job.id in best]
    by_id = {demand.job.id: demand for demand in demands}
    horizon = max(problem.base.changes()[-1], *(start.time for start in best.values()))
    horizon += sum(demand.duration or 0 for demand in demands)
    model = IntervalModel(problem, demands, objective, alone, horizon)
    seconds = PROOF_SHARE * budget.left()
    status, found, bound = model.solve(budget, best, seconds=seconds)
    low = max(low, bound)
    known = objective.value(by_id, {job: start.time for job, start in best.items()})
    if found:
        value = objective.value(by_id, {job: start.time for job, start in found.items()})
        if value < known:
            best, known = found, value
        if status == "OPTIMAL" and model.exact:
            low = known
    return best, low


def _as_plan(
    problem: PlanningProblem, name: str, best: dict[str, Start], value: float, low: float, why: str
) -> Plan:
    """why: what keeps the jobs without a start from being proved to have none, "" if nothing."""
    unplaced = [
        Unplaced(demand.job.id, why or reason_unplaced(problem, demand))
        for demand in problem.demands
        if demand.job.id not in best
    ]
    proved = value <= low + NEAR and not why
    best = with_fewest_units(problem.base, problem.demands, best)
    profile = problem.base.copy()
    entries: dict[str, PlannedJob] = {}
    ordered = sorted(
        (demand for demand in problem.demands if demand.job.id in best),
        key=lambda demand: best[demand.job.id].time,
    )
    for demand in ordered:
        start = best[demand.job.id]
        reason = what_it_waits_for(problem, demand, start, profile, tuple(entries.values()))
        hold_start(profile, demand, start)
        alone = earliest_start(problem.base, demand)
        bound = None if alone is None else alone.time
        entries[demand.job.id] = problem.planned(
            demand, start, "optimal", bound=bound, waits_for=reason
        )
    status = ("infeasible" if unplaced else "optimal") if proved else "feasible"
    return Plan(
        method="optimal",
        objective=name,
        status=status,
        now=problem.instance.now,
        reservations=tuple(
            entries[demand.job.id] for demand in problem.demands if demand.job.id in entries
        ),
        unplaced=tuple(unplaced),
        value=value,
        bound=low,
        notes=(f"not proved: {why}",) if why else (),
    )
