"""The exact methods: single-job search, joint plans by CP-SAT, a MILP cross-check, improvement."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...model.plan import Plan
from ..problem import PlanningProblem
from ..timebased import plan_time_based
from .budget import Budget


def plan_optimal(
    problem: PlanningProblem,
    budget: Budget,
    *,
    method: str,
    objective: str,
    on_progress: Callable[[Any], None] | None = None,
) -> Plan:
    """The best plan for an objective within the budget; the backends are imported on first use."""
    if method == "milp":
        from ..milp import plan_milp

        return plan_milp(problem, budget, objective, on_progress=on_progress)
    warm = plan_time_based(problem)
    if objective != "lexicographic":
        from .weighted import plan_weighted

        return plan_weighted(problem, warm, budget, objective, on_progress=on_progress)
    from .lexicographic import plan_lexicographic

    return plan_lexicographic(problem, warm, budget, on_progress=on_progress)
