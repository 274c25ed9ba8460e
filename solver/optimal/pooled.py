"""Bounds, and on a cluster that is one pool of slots plans too, from the time-only optimiser."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ..availability.demand import Demand
from ..budget import Budget
from ..placement.earliest import Start
from ..problem import PlanningProblem
from .aggregate import is_whole_pool, pool_of
from .costs import Costs

#: Share of the time left that a bound may cost where placement matters, and at most these seconds.
BOUND_SHARE = 0.1
BOUND_SECONDS = 20.0
#: Rounds of work of the pool optimiser for each unit of deterministic effort.
ROUNDS_PER_EFFORT = 8


@dataclass(frozen=True, slots=True)
class PooledPlan:
    """What the pool says. starts: none unless the cluster is a pool. bound: no plan's total is
    below it, None if nothing is known. settled: the starts are optimal with all weights kept to
    nine digits. finished: no more time would tell more.
    """

    starts: Mapping[str, Start]
    bound: int | None = None
    settled: bool = False
    finished: bool = False


def solve_as_pool(
    problem: PlanningProblem,
    demands: Sequence[Demand],
    costs: Costs,
    alone: Mapping[str, int],
    budget: Budget,
    tell: Callable[[int, int], None],
) -> PooledPlan:
    """A plan and a bound from the pool of all slots.

    tell: called with totals of plan and bound, in the units of the costs, as they improve.
    """
    aggregated = pool_of(problem, demands, costs, alone)
    if aggregated is None:
        return PooledPlan({})
    from .pool import PoolProgress, optimise

    whole = is_whole_pool(problem, demands)

    def progress(report: PoolProgress) -> None:
        if whole:
            tell(aggregated.total(report.value), aggregated.total(report.bound))

    limit = budget.left() if whole else min(BOUND_SECONDS, BOUND_SHARE * budget.left())
    rounds = None if budget.effort is None else 1 + int(ROUNDS_PER_EFFORT * budget.effort)
    result = optimise(
        aggregated.pool,
        time_limit=limit if math.isfinite(limit) else None,
        effort=rounds,
        workers=budget.processes if whole else 1,
        progress=progress,
        cancelled=budget.cancel.is_set,
    )
    bound = aggregated.total(result.bound)
    if not whole:
        return PooledPlan({}, bound)
    now = problem.instance.now
    starts = {
        demand.job.id: Start(now + int(time), ({0: demand.slots},))
        for demand, time in zip(demands, result.starts.tolist(), strict=True)
    }
    proved = result.status == "proved"
    return PooledPlan(starts, bound, proved and aggregated.faithful, proved)
