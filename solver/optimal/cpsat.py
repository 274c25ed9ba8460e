"""Running one CP-SAT model under a budget."""

from __future__ import annotations

import threading

from ortools.sat.python import cp_model

from ..budget import Budget


def run(
    model: cp_model.CpModel,
    budget: Budget,
    *,
    seconds: float,
    effort: float,
    feasibility: bool = False,
) -> tuple[str, cp_model.CpSolver]:
    """Solve within the smaller of the budget and this call's own limits.

    seconds: wall limit of the call; effort: its deterministic limit. Returns the status name
    (OPTIMAL, FEASIBLE, INFEASIBLE, UNKNOWN) and the solver that holds the values. The budget's
    cancellation stops the search within a tenth of a second. feasibility: for many small models
    without an objective: a full linear relaxation (it is what refutes them) without cuts (they
    take longer than they save), and a short presolve.
    """
    solver = cp_model.CpSolver()
    parameters = solver.parameters
    parameters.num_workers = budget.workers
    parameters.random_seed = 1
    if feasibility:
        parameters.linearization_level = 2
        parameters.cp_model_probing_level = 0
        parameters.symmetry_level = 0
        parameters.cut_level = 0
    parameters.max_memory_in_mb = max(1, int(budget.memory_left()))
    parameters.catch_sigint_signal = False
    if budget.effort is not None:
        parameters.max_deterministic_time = max(1e-3, min(effort, budget.effort_left()))
    else:
        parameters.max_time_in_seconds = max(1e-3, min(seconds, budget.left()))
    status = _in_thread(solver, model, budget)
    budget.effort_spent += solver.response_proto.deterministic_time
    if status == cp_model.MODEL_INVALID:
        raise ValueError(f"invalid CP-SAT model: {model.validate()}")
    return solver.status_name(status), solver


def _in_thread(
    solver: cp_model.CpSolver,
    model: cp_model.CpModel,
    budget: Budget,
) -> cp_model.CpSolverStatus:
    """Solve in a thread, so that Ctrl-C reaches Python and stops the search."""
    found: list[cp_model.CpSolverStatus] = []
    thread = threading.Thread(target=lambda: found.append(solver.solve(model)), daemon=True)
    thread.start()
    while thread.is_alive():
        try:
            thread.join(0.02)
        except KeyboardInterrupt:
            budget.cancel.set()
        if budget.cancel.is_set():
            solver.stop_search()  # again and again: before the search has begun nobody hears it
    return found[0]
