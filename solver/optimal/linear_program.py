"""Solving linear programs by GLOP, with an end to it.

The simplex method of GLOP goes round in circles now and then: one program of 200 rows that takes
hundredths of a second elsewhere was still being solved after five minutes. Others are too large for
the time there is. No time limit is heard meanwhile, so each solve has its own, in GLOP's
deterministic time: about seconds, but the same on any machine.
"""

from __future__ import annotations

from typing import Any

#: Of GLOP. Duals are certified anyway, so imprecise ones are as good as any.
DUAL_SIMPLEX = "use_dual_simplex: true change_status_to_imprecise: false"
PRIMAL_SIMPLEX = "use_dual_simplex: false change_status_to_imprecise: false"
#: Deterministic time of one solve.
MOST_WORK = 3.0


def new_program() -> Any:
    """An empty program (``pywraplp.Solver``)."""
    from ortools.linear_solver import pywraplp

    return pywraplp.Solver.CreateSolver("GLOP")


def solve(
    program: Any,
    parameters: str = "",
    *,
    anew: bool = False,
    work: float | None = None,
    seconds: float | None = None,
) -> bool:
    """Whether an optimum was found, from the last basis or ``anew``. If not, the program has no
    solution to read.

    parameters: of GLOP, for this time alone. work: deterministic time, MOST_WORK if None. seconds:
    of the clock that there are, None for no limit.
    """
    from ortools.linear_solver import pywraplp

    work = MOST_WORK if work is None else work
    program.SetSolverSpecificParametersAsString(f"{parameters} max_deterministic_time: {work}")
    if seconds is not None:
        program.set_time_limit(max(1, int(1000 * seconds)))
    how = pywraplp.MPSolverParameters()
    if anew:
        how.SetIntegerParam(how.INCREMENTALITY, how.INCREMENTALITY_OFF)
    return bool(program.Solve(how) == program.OPTIMAL)
