"""Running one PuLP problem: by HiGHS where highspy is there, else by the CBC that PuLP brings."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Literal

import pulp

from ...model.errors import SlotwiseError
from ..budget import Budget

#: Branch-and-bound nodes for each unit of a deterministic effort.
NODES_PER_EFFORT = 200

Solver = Literal["HiGHS", "CBC"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run found: OPTIMAL, FEASIBLE, INFEASIBLE or UNKNOWN.

    value: objective of the solution left in the variables, None without one. bound: no solution
    is below it, None where the solver does not say.
    """

    status: str
    value: float | None = None
    bound: float | None = None


def default_solver() -> Solver:
    """HiGHS if highspy can be imported, else the CBC that comes with PuLP."""
    return "HiGHS" if find_spec("highspy") is not None else "CBC"


def solve(
    problem: pulp.LpProblem, budget: Budget, *, seconds: float, solver: Solver | None = None
) -> Outcome:
    """Minimise within the smaller of the budget and `seconds` (wall); one thread.

    Under a deterministic effort the number of nodes is limited instead of the time. PuLP calls a
    run that a limit ended "Optimal" all the same: what counts is the status of the solution.
    """
    limit = None
    nodes = None
    if budget.effort is None:
        limit = max(0.05, min(seconds, budget.left()))
    else:
        nodes = max(1, int(NODES_PER_EFFORT * min(budget.effort_left(), 1e6)))
    if (solver or default_solver()) == "HiGHS":
        return _highs(problem, budget, limit, nodes)
    return _cbc(problem, limit, nodes)


def _cbc(problem: pulp.LpProblem, limit: float | None, nodes: int | None) -> Outcome:
    command = pulp.PULP_CBC_CMD(msg=False, timeLimit=limit, maxNodes=nodes, threads=1, gapRel=0)
    if not command.available():
        raise SlotwiseError("no solver for the integer program: pip install 'slotwise[highs]'")
    problem.solve(command)
    if problem.sol_status == pulp.LpSolutionOptimal:
        value = float(pulp.value(problem.objective) or 0.0)
        return Outcome("OPTIMAL", value, value)
    if problem.sol_status == pulp.LpSolutionIntegerFeasible:
        return Outcome("FEASIBLE", float(pulp.value(problem.objective) or 0.0))
    infeasible = problem.status == pulp.LpStatusInfeasible
    return Outcome("INFEASIBLE" if infeasible else "UNKNOWN")


def _highs(
    problem: pulp.LpProblem, budget: Budget, limit: float | None, nodes: int | None
) -> Outcome:
    """HiGHS, built by PuLP and run here: PuLP itself has no way to stop it or to read the bound."""
    import highspy

    options: dict[str, Any] = {"mip_rel_gap": 0.0, "mip_abs_gap": 1e-6}
    if nodes is not None:
        options["mip_max_nodes"] = nodes
    command = pulp.HiGHS(msg=False, threads=1, timeLimit=limit, **options)
    command.createAndConfigureSolver(problem)
    command.buildSolverModel(problem)
    highs = problem.solverModel
    _until_cancelled(highs, budget)
    status = highs.getModelStatus()
    info = highs.getInfo()
    kinds = highspy.HighsModelStatus
    if status in (kinds.kInfeasible, kinds.kUnboundedOrInfeasible):
        return Outcome("INFEASIBLE")
    bound = float(info.mip_dual_bound)
    # 2 is highspy's kSolutionStatusFeasible.
    if info.primal_solution_status != 2:
        return Outcome("UNKNOWN", bound=bound)
    values = list(highs.getSolution().col_value)
    for variable in problem.variables():
        variable.varValue = values[variable.index]
    value = float(info.objective_function_value)
    if status == kinds.kOptimal:
        return Outcome("OPTIMAL", value, value)
    return Outcome("FEASIBLE", value, bound)


def _until_cancelled(highs: Any, budget: Budget) -> None:
    """Run in a thread, so that Ctrl-C reaches Python; the solver stops at its next check."""

    def stop(event: Any) -> None:
        event.interrupt(budget.cancel.is_set())

    highs.cbMipInterrupt.subscribe(stop)
    thread = threading.Thread(target=highs.run, daemon=True)
    thread.start()
    try:
        while thread.is_alive():
            thread.join(0.02)
    except KeyboardInterrupt:
        budget.cancel.set()
        thread.join()
