"""A plan without a joint search, for rules that only hold from one start to the next."""

from __future__ import annotations

from dataclasses import replace

from ...model.objective import Objective
from ...model.omissions import Omission
from ...model.plan import Method, Plan, PlannedJob, Status
from ..budget import Budget
from ..placement.earliest import earliest_start
from ..problem import PlanningProblem

#: What is left out: a start that is later than alone may be one that a joint plan would mend.
RULE = "loadSched of memory beside other planned jobs"


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
    reservations: list[PlannedJob] = []
    for item in first:
        if item.start is None or budget.late():
            reservations.append(replace(item, method=method))
            continue
        alone = earliest_start(problem.base, demands[item.job])
        bound = None if alone is None else alone.time
        proved = bound is not None and bound == item.start
        why = item.fallback if proved else f"not proved: {RULE} is not considered"
        reservations.append(replace(item, method=method, bound=bound, proved=proved, fallback=why))
    never = all(earliest_start(problem.base, demands[item.job]) is None for item in first.unplaced)
    proved = never and all(item.proved for item in reservations)
    open_still = [item.job for item in reservations if not item.proved]
    open_still += [] if never else [item.job for item in first.unplaced]
    whole: Status = "infeasible" if first.unplaced else "optimal"
    value = first.value if objective.in_order else None
    return replace(
        first,
        method=method,
        objective=objective.name,
        status=whole if proved and objective.in_order and not first.cut else "feasible",
        reservations=tuple(reservations),
        value=value,
        bound=value if proved and not first.unplaced else None,
        notes=(*first.notes, *([_note(open_still)] if open_still else [])),
        omissions=(*first.omissions, *([Omission(RULE)] if open_still else [])),
    )


def _note(jobs: list[str]) -> str:
    more = f" and {len(jobs) - 3} more" if len(jobs) > 3 else ""
    return f"not considered: {RULE} (touches {', '.join(jobs[:3])}{more})"
