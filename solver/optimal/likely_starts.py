"""Starts that jobs are likely to have, by a linear program of several pools that may split jobs.

They bound nothing, but say who goes before whom: plans in the order of mean starts, and of the
instants at which some share of a job has started, are good ones (list scheduling by alpha-points:
Phillips, Stein, Wein 1998; Goemans 1997).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ..availability.demand import Demand
from ..budget import Budget, OutOfTime
from ..problem import PlanningProblem
from .costs import Costs
from .start_program import solved_program
from .start_table import rows_of, some_starts

#: Deterministic time of the program, about seconds: most take one or two.
GUIDE_WORK = 12.0
#: The shares of a job by whose starts it is placed.
SHARES = (0.1, 0.5, 0.9)


def likely_starts(
    problem: PlanningProblem,
    demands: Sequence[Demand],
    costs: Costs,
    alone: Mapping[str, int],
    most: int,
    budget: Budget,
) -> list[Mapping[str, int]]:
    """Guides for plans that cost no more than `most`, in units: starts in seconds, by job.

    alone: the earliest start of each job by itself (seconds). Empty where there is nothing to say.
    """
    if costs.largest or any(len(demand.terms) != 1 for demand in demands):
        return []
    jobs = [demand for demand in demands if demand.duration and costs.jobs[demand.job.id].weight]
    room = most - costs.total({demand.job.id: alone[demand.job.id] for demand in demands})
    if not jobs or room <= 0:
        return []
    starts = some_starts(problem, jobs, costs, alone, room)
    try:
        rows = rows_of(problem, jobs, starts, budget)
    except OutOfTime:
        return []
    program = solved_program(starts, rows, len(jobs), budget, GUIDE_WORK) if rows else None
    if program is None:
        return []
    shares = np.array([variable.solution_value() for variable in program.variables()]).clip(0)
    guides: list[dict[str, int]] = [{} for _ in range(1 + len(SHARES))]
    for demand, mine in zip(jobs, starts.of(len(jobs)), strict=True):
        times, begun = starts.times[mine], np.cumsum(shares[mine])
        guides[0][demand.job.id] = round(float(shares[mine] @ times))
        for guide, share in zip(guides[1:], SHARES, strict=True):
            place = min(len(mine) - 1, int(np.searchsorted(begun, share)))
            guide[demand.job.id] = int(times[place])
    return list(guides)
