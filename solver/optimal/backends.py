"""The solvers CP-SAT and GLOP within a budget, and the limit on the size of CP-SAT models.

The simplex method of GLOP sometimes cycles: a program of 200 rows that other settings solve in
hundredths of a second was not solved in five minutes. GLOP does not check a wall-clock limit
meanwhile, so each solve has a limit in GLOP's deterministic time, which is roughly seconds and
equal on all machines.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..budget import Budget

if TYPE_CHECKING:
    from ortools.sat.python import cp_model


def run(
    model: cp_model.CpModel,
    budget: Budget,
    *,
    seconds: float,
    effort: float,
    feasibility: bool = False,
) -> tuple[str, cp_model.CpSolver]:
    """Solve a CP-SAT model within the smaller of the budget and the limits of this call.

    seconds: wall limit of the call. effort: its limit in CP-SAT's deterministic time. feasibility:
    True for many small models without an objective; they get the full linear relaxation, which
    refutes most of them, no cuts, which cost more than they save, and a short presolve. Cancelling
    the budget stops the search within a tenth of a second.

    Returns the status name (OPTIMAL, FEASIBLE, INFEASIBLE, UNKNOWN) and the solver with the values.
    Raises ValueError for an invalid model.
    """
    from ortools.sat.python import cp_model

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
    """Solve a model in a thread of its own, so that Ctrl-C reaches Python and stops the search."""
    found: list[cp_model.CpSolverStatus] = []
    thread = threading.Thread(target=lambda: found.append(solver.solve(model)), daemon=True)
    thread.start()
    while thread.is_alive():
        try:
            thread.join(0.02)
        except KeyboardInterrupt:
            budget.cancel.set()
        if budget.cancel.is_set():
            solver.stop_search()  # Repeated: a request before the search begins is lost.
    return found[0]


#: GLOP parameters: primal simplex. Imprecise duals are accepted, because they are certified in
#: integer arithmetic.
PRIMAL_SIMPLEX = "use_dual_simplex: false change_status_to_imprecise: false"
#: GLOP parameters: from the last basis, after changes of bounds or after new columns.
RESTART_DUAL = "use_dual_simplex: true use_preprocessing: false change_status_to_imprecise: false"
RESTART_PRIMAL = (
    "use_dual_simplex: false use_preprocessing: false change_status_to_imprecise: false"
)
#: Deterministic time of one GLOP solve.
MAX_WORK = 3.0


def new_program() -> Any:
    """Return an empty GLOP program (``pywraplp.Solver``)."""
    from ortools.linear_solver import pywraplp

    return pywraplp.Solver.CreateSolver("GLOP")


def solve(
    program: Any,
    parameters: str = "",
    *,
    work: float | None = None,
    seconds: float | None = None,
) -> bool:
    """Solve a linear program; return whether the optimum was found. Without it, no values can be
    read.

    parameters: GLOP parameters for this solve. work: deterministic time, MAX_WORK if None. seconds:
    wall limit, None if no limit.
    """
    work = MAX_WORK if work is None else work
    program.SetSolverSpecificParametersAsString(f"{parameters} max_deterministic_time: {work}")
    if seconds is not None:
        program.set_time_limit(max(1, int(1000 * seconds)))
    return bool(program.Solve() == program.OPTIMAL)


@dataclass(frozen=True, slots=True)
class PairWeight:
    """Measured cost of one pair of job and host in a CP-SAT model."""

    #: Bytes of one pair: model, presolve and search together.
    memory: float
    #: Pairs that one second suffices for: an initial estimate, and the fixed rate if the budget is
    #: an effort.
    a_second: float
    #: Share of the remaining time that a model may take.
    share: float


#: Cost of a pair if the starts are fixed: building the model and loading it into the solver.
PLACEMENT = PairWeight(memory=8000, a_second=15_000, share=0.4)
#: Weight of the initial estimate against measurements, in seconds.
TRUST = 1.0


@dataclass(slots=True)
class ModelSizeLimit:
    """The limit on the pairs of job and host in a model.

    The limit adapts to the measured building times of earlier models.
    """

    budget: Budget
    weight: PairWeight = PLACEMENT
    #: Seconds spent on building models so far.
    seconds: float = 0.0
    #: Pairs of job and host in the models built so far.
    pairs: int = 0

    def took(self, pairs: int, seconds: float) -> None:
        """Record the number of pairs and the building time of a model."""
        self.pairs += pairs
        self.seconds += seconds

    def max_pairs(self) -> float:
        """Return the number of pairs that one more model may have."""
        by_memory = self.budget.memory_left() * (1 << 20) / self.weight.memory
        return min(by_memory, self.weight.share * self.budget.rest() * self._rate())

    def _rate(self) -> float:
        if self.budget.effort is not None:
            return self.weight.a_second
        return (self.pairs + TRUST * self.weight.a_second) / (self.seconds + TRUST)
