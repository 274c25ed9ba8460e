"""Solving linear programs by GLOP, with an end to it.

The simplex method of GLOP goes round in circles now and then: one program of 200 rows that takes
hundredths of a second elsewhere was still being solved after five minutes, and no time limit is
heard meanwhile. So its iterations are limited by the size of the program: a limit in seconds alone
would make answers depend on the machine.
"""

from __future__ import annotations

from typing import Any

#: Of GLOP. Duals are certified anyway, so imprecise ones are as good as any.
DUAL_SIMPLEX = "use_dual_simplex: true change_status_to_imprecise: false"
PRIMAL_SIMPLEX = "use_dual_simplex: false change_status_to_imprecise: false"
#: Iterations for a row and a column; those that end take at most 0.7 of them.
ITERATIONS = 3
#: So many more, for the smallest.
FIRST_ITERATIONS = 1000


def new_program() -> Any:
    """An empty program (``pywraplp.Solver``)."""
    from ortools.linear_solver import pywraplp

    return pywraplp.Solver.CreateSolver("GLOP")


def solve(
    program: Any, parameters: str = "", *, anew: bool = False, seconds: float | None = None
) -> bool:
    """Whether an optimum was found, from the last basis or ``anew``; False too where that takes
    far more iterations than it should, or more ``seconds`` than there are (None for no limit).

    parameters: of GLOP, for this time alone.
    """
    from ortools.linear_solver import pywraplp

    size = program.NumVariables() + program.NumConstraints()
    most = FIRST_ITERATIONS + ITERATIONS * size
    program.SetSolverSpecificParametersAsString(f"{parameters} max_number_of_iterations: {most}")
    if seconds is not None:
        program.set_time_limit(max(1, int(1000 * seconds)))
    how = pywraplp.MPSolverParameters()
    if anew:
        how.SetIntegerParam(how.INCREMENTALITY, how.INCREMENTALITY_OFF)
    return bool(program.Solve(how) == program.OPTIMAL)
