"""Bounds, and on a cluster that is one pool of slots plans too, from the time-only optimiser."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from ..availability.demand import Demand
from ..placement.earliest import Start
from ..problem import PlanningProblem
from .aggregate import constant_of, is_whole_pool, pool_of
from .budget import Budget
from .objectives import Objective

#: Share of the time left that a bound may cost where placement matters, and at most these seconds.
BOUND_SHARE = 0.25
BOUND_SECONDS = 20.0
#: Rounds of work of the pool optimiser for each unit of deterministic effort.
ROUNDS_PER_EFFORT = 8


def solve_as_pool(
    problem: PlanningProblem,
    demands: Sequence[Demand],
    objective: Objective,
    alone: Mapping[str, int],
    budget: Budget,
    tell: Callable[[float, float], None],
) -> tuple[dict[str, Start], float]:
    """Starts (none unless the cluster is a pool) and a lower bound of the objective.

    tell: called with value and bound as they improve.
    """
    aggregated = pool_of(problem, demands, objective, alone)
    if aggregated is None:
        return {}, -math.inf
    from .pool import PoolProgress, optimise

    pool, scale = aggregated
    constant = constant_of(demands, objective)
    whole = is_whole_pool(problem, demands)

    def progress(report: PoolProgress) -> None:
        if whole:
            tell(report.value / scale + constant, report.bound / scale + constant)

    limit = budget.left() if whole else min(BOUND_SECONDS, BOUND_SHARE * budget.left())
    rounds = None if budget.effort is None else 1 + int(ROUNDS_PER_EFFORT * budget.effort)
    result = optimise(
        pool,
        time_limit=limit if math.isfinite(limit) else None,
        effort=rounds,
        workers=budget.processes if whole else 1,
        progress=progress,
        cancelled=budget.cancel.is_set,
    )
    bound = result.bound / scale + constant
    if not whole:
        return {}, bound
    now = problem.instance.now
    starts = {
        demand.job.id: Start(now + int(time), ({0: demand.slots},))
        for demand, time in zip(demands, result.starts.tolist(), strict=True)
    }
    return starts, bound
