"""The exact methods, "optimal" and "milp": the search, and what is said of its plan."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ..model.objective import Objective
from ..model.plan import Method, Plan
from .budget import Budget
from .loop.run_on import started_now
from .optimal.claims import (
    heeds_intervals,
    keeping_intervals,
    with_backfill_needs,
    without_backfill,
    without_false_claims,
    without_intervals,
)
from .optimal.completion import TermsTogether
from .optimal.first_fit import (
    fill_ranges,
    moved_by_windows,
    must_be_one_by_one,
    plan_first_fit,
    plan_one_by_one,
    with_exact_fits,
)
from .problem import PlanningProblem

#: Time to keep for the end of a search, in units of the time that the time-based plan took.
WRITE_UP = 1.6
#: Said of a job whose place no search has looked at.
FIRST_FIT = "not proved: the limit left no time for a search"


def plan_exact(
    problem: PlanningProblem,
    budget: Budget,
    *,
    method: Method,
    objective: Objective,
    on_progress: Callable[[Any], None] | None = None,
) -> Plan:
    """The best plan for an objective within the budget; the backends are imported on first use."""
    found, warm = _search(problem, budget, method, objective, on_progress)
    found = fill_ranges(problem, found, budget)
    if problem.as_lsf and objective.in_order:
        found = without_backfill(problem, found, budget)
    else:
        found = with_backfill_needs(problem, found, budget)
    begun = started_now(problem.instance, budget) if problem.left_out else ()
    found = with_exact_fits(problem, without_false_claims(problem, found, begun), budget)
    return replace(found, notes=(*found.notes, *moved_by_windows(problem, warm, budget)))


def _search(
    problem: PlanningProblem,
    budget: Budget,
    method: Method,
    objective: Objective,
    on_progress: Callable[[Any], None] | None,
) -> tuple[Plan, Plan]:
    """The plan of the search, and the first-fit plan that it started from."""
    begun = budget.elapsed()
    warm = plan_first_fit(problem, budget)
    took = budget.elapsed() - begun
    if warm.cut or (took > budget.grace and budget.left() < WRITE_UP * took):
        return _unsearched(problem, warm, method, objective), warm
    if must_be_one_by_one(problem):
        return plan_one_by_one(problem, warm, method, objective, budget), warm
    if heeds_intervals(problem) and not (method == "optimal" and objective.in_order):
        plain = without_intervals(problem)
        found, _ = _search(plain, budget, method, objective, on_progress)
        return keeping_intervals(problem, found, warm, objective), warm
    if method == "milp":
        from .milp import plan_milp

        return plan_milp(problem, budget, objective, on_progress=on_progress), warm
    # What follows a search looks at every job again, about as often as this plan did.
    budget.keep_back(WRITE_UP * took)
    together = TermsTogether(budget)
    problem = problem.placing_terms(together)
    if not objective.in_order:
        from .optimal.weighted import plan_weighted

        found = plan_weighted(
            problem, warm, budget, objective, together.jointly, on_progress=on_progress
        )
    else:
        from .optimal.lexicographic import plan_lexicographic

        found = plan_lexicographic(problem, warm, budget, on_progress=on_progress)
    return together.without_claims(found), warm


def _unsearched(problem: PlanningProblem, warm: Plan, method: Method, objective: Objective) -> Plan:
    """The first-fit plan as the answer: the limit left no time for a search. Nothing is proved."""
    from .optimal.costs import in_terms_of

    if not objective.in_order:
        warm = in_terms_of(objective, warm, problem.demands)
    return replace(
        warm,
        method=method,
        status="feasible",
        reservations=tuple(
            replace(item, method=method, fallback=item.fallback or FIRST_FIT) for item in warm
        ),
        notes=(*warm.notes, "the limit left no time for a search: jobs are where they first fit"),
        cut=True,
    )
