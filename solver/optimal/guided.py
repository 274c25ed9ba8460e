"""Plans in the order of starts that only pools of resources allow.

Such starts say who should go before whom, not where. Jobs that need large blocks of a host are
placed first, each with its own wait, so that smaller ones do not take their hosts; and small ones
are tried on hosts that are idle late or never, which nobody waits for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from ..availability.demand import Demand
from ..availability.profile import FOREVER
from ..availability.resources import SLOTS
from ..problem import PlanningProblem
from .costs import Costs
from .order_search import Starts, decode_within
from .several_pools import tiles_of


def guided_plan(
    problem: PlanningProblem,
    costs: Costs,
    alone: Mapping[str, int],
    guide: Mapping[str, int],
    most: int,
    stop: Callable[[], bool] = lambda: False,
) -> Starts | None:
    """The best plan of the jobs of `alone` in orders by `guide` (seconds, by job).

    A job that the guide lacks counts with its start alone. None where no plan is better than
    `most`, in units. stop: asked before each of them is made.
    """
    movable = [demand for demand in problem.demands if demand.job.id in alone]
    best: Starts | None = None
    for demands in (movable, sparing_idle_hosts(problem, movable)):
        for order in _orders(demands, {**alone, **guide}):
            if stop():
                return best
            found = decode_within(problem, costs, order, alone, most - 1)
            if found is not None:
                best, most = found, costs.total({job: item.time for job, item in found.items()})
    return best


def sparing_idle_hosts(problem: PlanningProblem, demands: Sequence[Demand]) -> list[Demand]:
    """The same jobs, which try hosts first that are idle late beside what runs, or never."""
    capacity = problem.base.table.host_resources[SLOTS].capacity
    times = problem.base.changes()
    idle = np.array([problem.base.free(SLOTS, time) >= capacity for time in times])
    first = np.where(idle.any(axis=0), idle.argmax(axis=0), len(times))
    return [
        replace(
            demand,
            terms=tuple(
                replace(
                    term,
                    candidates=term.candidates[np.argsort(-first[term.candidates], kind="stable")],
                )
                for term in demand.terms
            ),
        )
        for demand in demands
    ]


def _orders(demands: Sequence[Demand], guide: Mapping[str, int]) -> list[list[Demand]]:
    """By the guide, all alike or with blocks of so many slots and more before the others.

    Of those that start together the shorter come first.
    """
    blocks = {
        demand.job.id: max((size for term in demand.terms for size, _ in tiles_of(term)), default=1)
        for demand in demands
    }
    by_start = sorted(
        demands, key=lambda demand: (guide[demand.job.id], demand.duration or FOREVER)
    )
    return [
        sorted(by_start, key=lambda demand: blocks[demand.job.id] < size)
        for size in sorted(set(blocks.values()))
    ]
