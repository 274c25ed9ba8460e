"""The exact methods: single-job search, joint plans by CP-SAT, improvement."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ...model.objective import Objective
from ...model.plan import Plan
from ..problem import PlanningProblem
from .budget import Budget
from .compound import TermsTogether
from .first_fit import plan_first_fit
from .ranges import fill_ranges
from .window_effects import moved_by_windows

#: Time to keep for the end of a search, in units of the time that the time-based plan took.
WRITE_UP = 1.6


def plan_optimal(
    problem: PlanningProblem,
    budget: Budget,
    *,
    objective: Objective,
    on_progress: Callable[[Any], None] | None = None,
) -> Plan:
    """The best plan for an objective within the budget; the backends are imported on first use."""
    begun = budget.elapsed()
    warm = plan_first_fit(problem)
    # What follows a search looks at every job again, about as often as this plan did.
    budget.keep_back(WRITE_UP * (budget.elapsed() - begun))
    together = TermsTogether(budget)
    problem = problem.placing_terms(together)
    if not objective.in_order:
        from .weighted import plan_weighted

        found = plan_weighted(problem, warm, budget, objective, on_progress=on_progress)
    else:
        from .lexicographic import plan_lexicographic

        found = plan_lexicographic(problem, warm, budget, on_progress=on_progress)
    found = fill_ranges(problem, together.without_claims(found))
    return replace(found, notes=(*found.notes, *moved_by_windows(problem, warm)))
