"""The same small joint problems written a second time, as integer programs in PuLP.

Independent of the CP-SAT models on purpose: only the resolved demands and the availability profile
are shared, so that two wrong models would have to be wrong in the same way. There is no time
variable and no big-M: a job chooses among *options* (a start and a rusage alternative), and every
option has its own placement over the hosts (:mod:`.model`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...model.objective import Objective
from ...model.plan import Plan
from ..budget import Budget
from ..problem import PlanningProblem

__all__ = ["plan_milp"]


def plan_milp(
    problem: PlanningProblem,
    budget: Budget,
    objective: Objective,
    *,
    on_progress: Callable[[Any], None] | None = None,
) -> Plan:
    """Return the optimal plan by integer programming, with HiGHS if it is installed, else with CBC.

    Meant for small problems; one that is too large, or
    that the budget does not reach, keeps time-based places, with status "feasible" and a note.
    PuLP is imported on the first call.
    """
    from .model import TermsByProgram

    together = TermsByProgram(budget)
    problem = problem.placing_terms(together)
    if objective.in_order:
        from .joint import plan_lexicographic

        found = plan_lexicographic(problem, budget, on_progress=on_progress)
    else:
        from .joint import plan_joint

        found = plan_joint(problem, budget, objective, together.jointly, on_progress=on_progress)
    return together.without_claims(found)
