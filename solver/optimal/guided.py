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
    guides: Sequence[Mapping[str, int]],
    most: int,
    stop: Callable[[], bool] = lambda: False,
) -> Starts | None:
    """The best plan of the jobs of `alone` in orders by the guides (seconds, by job).

    A job that a guide lacks counts with its start alone. Large blocks go before the others by the
    best of the guides only. None where no plan is better than `most`, in units. stop: asked before
    each of them is made.
    """
    movable = [demand for demand in problem.demands if demand.job.id in alone]
    variants = (movable, sparing_idle_hosts(problem, movable))
    best: Starts | None = None

    def better(demands: Sequence[Demand], order: Sequence[Demand]) -> bool:
        nonlocal best, most
        before = most
        while not stop():
            found = decode_within(problem, costs, order, alone, most - 1)
            if found is None:
                break
            best, most = found, costs.total({job: item.time for job, item in found.items()})
            # In the order of its own starts a plan often gets better still.
            order = sorted(demands, key=lambda demand: found[demand.job.id].time)
        return most < before

    chosen = {**alone, **guides[0]} if guides else {}
    for guide in guides:
        known = {**alone, **guide}
        tries = [better(demands, _by_start(demands, known)) for demands in variants]
        chosen = known if any(tries) else chosen
    for size in _block_sizes(movable)[1:] if guides else ():
        for demands in variants:
            better(demands, _large_first(_by_start(demands, chosen), size))
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


def _by_start(demands: Sequence[Demand], guide: Mapping[str, int]) -> list[Demand]:
    """In the order of the guide; of those that start together the shorter come first."""
    return sorted(demands, key=lambda job: (guide[job.job.id], job.duration or FOREVER))


def _large_first(demands: Sequence[Demand], size: int) -> list[Demand]:
    """Blocks of so many slots and more before the others."""
    return sorted(demands, key=lambda demand: _block(demand) < size)


def _block_sizes(demands: Sequence[Demand]) -> list[int]:
    return sorted({_block(demand) for demand in demands})


def _block(demand: Demand) -> int:
    """Slots of a host that a job needs in one piece, at most."""
    return max((size for term in demand.terms for size, _ in tiles_of(term)), default=1)
