"""The linear program of possible starts: jobs may be split among theirs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..budget import Budget
from .linear_program import new_program, solve
from .several_pools import GLIMPSE, WORK
from .start_table import FINE, StartsRow, StartTable


def solved_program(
    starts: StartTable,
    rows: Sequence[StartsRow],
    count: int,
    budget: Budget,
    work: float = WORK,
) -> Any | None:
    """The program, solved, of so many jobs; None where that takes too long.

    Its variables are the starts in order, its first constraints the jobs, the others the rows.
    work: deterministic time, about seconds; nobody is heard meanwhile.
    """
    from ortools.linear_solver import linear_solver_pb2

    model = linear_solver_pb2.MPModelProto()
    for cost in starts.costs.tolist():
        model.variable.add(lower_bound=0.0, objective_coefficient=float(cost))
    for at in starts.of(count):
        model.constraint.add(
            lower_bound=1.0, upper_bound=1.0, var_index=at.tolist(), coefficient=[1.0] * len(at)
        )
    for row in rows:
        model.constraint.add(
            upper_bound=row.limit / FINE,
            var_index=row.starts.tolist(),
            coefficient=(row.amounts / FINE).tolist(),
        )
    program = new_program()
    program.LoadModelFromProto(model)
    seconds = None if budget.time_limit is None else max(GLIMPSE, budget.left())
    return program if solve(program, work=work, seconds=seconds) else None
