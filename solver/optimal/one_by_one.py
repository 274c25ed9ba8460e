"""A plan without a joint search, for rules that only hold from one start to the next."""

from __future__ import annotations

from dataclasses import replace

from ...model.objective import Objective
from ...model.plan import Method, Plan
from ..budget import Budget
from ..placement.earliest import earliest_start
from ..problem import PlanningProblem


def must_be_one_by_one(problem: PlanningProblem) -> bool:
    """Whether some job looks at what is free at its start beyond what it takes (loadSched)."""
    return any(demand.floors for demand in problem.demands)


def plan_one_by_one(
    problem: PlanningProblem, first: Plan, method: Method, objective: Objective, budget: Budget
) -> Plan:
    """First fit, with the bound of each job: its start beside running jobs alone.

    first: the first-fit plan. A job that the budget does not reach has no bound.
    """
    demands = {demand.job.id: demand for demand in problem.demands}
    reservations = []
    for item in first:
        if item.start is None or budget.late():
            reservations.append(replace(item, method=method))
            continue
        alone = earliest_start(problem.base, demands[item.job])
        bound = None if alone is None else alone.time
        proved = bound is not None and bound == item.start
        reservations.append(replace(item, method=method, bound=bound, proved=proved))
    return replace(
        first,
        method=method,
        objective=objective.name,
        status="feasible",
        reservations=tuple(reservations),
        value=None if not objective.in_order else first.value,
    )
