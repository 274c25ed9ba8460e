"""CP-SAT and GLOP under a budget, and how large a model may be."""

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
    """Solve within the smaller of the budget and this call's own limits.

    seconds: wall limit of the call; effort: its deterministic limit. Returns the status name
    (OPTIMAL, FEASIBLE, INFEASIBLE, UNKNOWN) and the solver that holds the values. The budget's
    cancellation stops the search within a tenth of a second. feasibility: for many small models
    without an objective: a full linear relaxation (it is what refutes them) without cuts (they
    take longer than they save), and a short presolve.
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
            solver.stop_search()  # repeated, because a request before the search has begun is lost
    return found[0]


# Solving linear programs by GLOP, with an end to it.
#
# The simplex method of GLOP goes round in circles now and then: one program of 200 rows that
# takes hundredths of a second elsewhere was still being solved after five minutes. Others are too
# large for the time there is. No time limit is heard meanwhile, so each solve has its own, in
# GLOP's deterministic time: about seconds, but the same on any machine.


#: GLOP parameters. Duals are certified in integers, so imprecise ones do no harm.
PRIMAL_SIMPLEX = "use_dual_simplex: false change_status_to_imprecise: false"
#: Deterministic time of one solve.
MAX_WORK = 3.0


def new_program() -> Any:
    """An empty program (``pywraplp.Solver``)."""
    from ortools.linear_solver import pywraplp

    return pywraplp.Solver.CreateSolver("GLOP")


def solve(
    program: Any,
    parameters: str = "",
    *,
    work: float | None = None,
    seconds: float | None = None,
) -> bool:
    """Whether an optimum was found. If not, the program has no solution to read.

    parameters: of GLOP, for this time alone. work: deterministic time, MAX_WORK if None. seconds:
    of the clock that there are, None for no limit.
    """
    work = MAX_WORK if work is None else work
    program.SetSolverSpecificParametersAsString(f"{parameters} max_deterministic_time: {work}")
    if seconds is not None:
        program.set_time_limit(max(1, int(1000 * seconds)))
    return bool(program.Solve() == program.OPTIMAL)


@dataclass(frozen=True, slots=True)
class PairWeight:
    """Measured cost of a pair of job and host."""

    #: Bytes, for model, presolve and search together.
    memory: float
    #: Pairs that a second is enough for; the first guess, and what counts under an effort.
    a_second: float
    #: Share of the remaining time that a model may take.
    share: float


#: Placement at fixed starts: what building a model and reading it into the solver takes.
PLACEMENT = PairWeight(memory=8000, a_second=15_000, share=0.4)
#: Weight of the first guess, in seconds of measurement.
TRUST = 1.0


@dataclass(slots=True)
class ModelSizeLimit:
    """The limit on the (job, host) pairs of a model; it learns from what models took to build."""

    budget: Budget
    weight: PairWeight = PLACEMENT
    #: Seconds that the models built so far took.
    seconds: float = 0.0
    #: Pairs of jobs in them.
    pairs: int = 0

    def took(self, pairs: int, seconds: float) -> None:
        """Note a model that was built."""
        self.pairs += pairs
        self.seconds += seconds

    def max_pairs(self) -> float:
        """Return the number of pairs that one more model may have."""
        by_memory = self.budget.memory_left() * (1 << 20) / self.weight.memory
        return min(by_memory, self.weight.share * self._seconds_left() * self._rate())

    def _seconds_left(self) -> float:
        """Under an effort its units, each about a second: the clock decides nothing then."""
        budget = self.budget
        return max(0.0, budget.left() if budget.effort is None else budget.effort_left())

    def _rate(self) -> float:
        if self.budget.effort is not None:
            return self.weight.a_second
        return (self.pairs + TRUST * self.weight.a_second) / (self.seconds + TRUST)
