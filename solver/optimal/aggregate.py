"""A planning problem as one pool of identical slots: placement left out.

Exact where placement cannot matter (one host, jobs that use nothing but slots); everywhere else
every plan of the cluster is also a plan of the pool, so a bound of the pool's optimum is a bound.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..availability.arrays import IntArray
from ..availability.demand import Demand
from ..availability.resources import SLOTS
from ..availability.uses import Per
from ..problem import PlanningProblem
from .costs import Coarser, Costs, UnitCost, coarser
from .pool.problem import MOST_COST, PoolProblem


@dataclass(frozen=True, slots=True)
class AggregatedProblem:
    """A pool problem and what its values mean: total = value * two to the `bits` + `constant`.

    Totals are in the units of the costs. faithful: no weight lost any of its first nine digits.
    """

    pool: PoolProblem
    bits: int
    constant: int
    faithful: bool

    def total(self, value: int) -> int:
        """The total that a value of the pool stands for; of a bound, a bound."""
        return (value << self.bits) + self.constant


def pool_of(
    problem: PlanningProblem,
    demands: Sequence[Demand],
    costs: Costs,
    alone: Mapping[str, int],
) -> AggregatedProblem | None:
    """The pool problem of `demands`; alone: earliest start of each job by itself (seconds).

    None where there is none: no jobs, a job whose end is unknown, or an objective that a pool does
    not have (the largest cost of a job where that is not its end).
    """
    base = problem.base
    free = [int(np.clip(base.free(SLOTS, time), 0, None).sum()) for time in base.changes()]
    sizes = [demand.slots for demand in demands]
    return as_pool(problem, demands, costs, alone, np.array(free), np.array(sizes))


def as_pool(
    problem: PlanningProblem,
    demands: Sequence[Demand],
    costs: Costs,
    alone: Mapping[str, int],
    free: IntArray,
    sizes: IntArray,
) -> AggregatedProblem | None:
    """The pool problem of `demands` that each take `sizes` of what is `free`.

    free: at each instant at which the base changes. None as for :func:`pool_of`.
    """
    if any(demand.duration is None or demand.duration < 1 for demand in demands) or not demands:
        return None
    now, times = problem.instance.now, problem.base.changes()
    if free[-1] < sizes.max():
        return None
    if costs.largest and not _are_ends(demands, costs, now):
        return None
    own = [costs.jobs[demand.job.id] for demand in demands]
    durations = [demand.duration or 0 for demand in demands]
    earliest = [max(0, alone[demand.job.id] - now) for demand in demands]
    due = [cost.due - now for cost in own]
    horizon = max(times[-1] - now, *earliest) + sum(durations)
    weights = Coarser((1,) * len(own), 0, True)
    if not costs.largest:
        most = max(
            cost.weight * max(1, horizon - late) for cost, late in zip(own, due, strict=True)
        )
        weights = coarser([cost.weight for cost in own], most, MOST_COST)
    pool = PoolProblem.build(
        [time - now for time in times],
        free,
        sizes,
        durations,
        earliest=earliest,
        weights=weights.numbers,
        due=due,
        objective="makespan" if costs.largest else "starts",
    )
    # The pool knows no margin: its last end lies so much behind the jobs' own.
    constant = -problem.margin if costs.largest else sum(cost.base for cost in own)
    return AggregatedProblem(pool, weights.bits, constant, weights.faithful)


def _are_ends(demands: Sequence[Demand], costs: Costs, now: int) -> bool:
    """Whether every job costs the seconds from now to its end."""
    return costs.unit == 1 and all(
        costs.jobs[demand.job.id] == UnitCost(1, now, demand.runs or 0) for demand in demands
    )


def is_whole_pool(problem: PlanningProblem, demands: Sequence[Demand]) -> bool:
    """Whether the pool is the cluster itself: one host, and jobs that use its slots alone."""
    return len(problem.instance.cluster.hosts) == 1 and all(
        _uses_slots_alone(demand) for demand in demands
    )


def _uses_slots_alone(demand: Demand) -> bool:
    if len(demand.terms) != 1 or demand.calendar is not None or demand.exclusive:
        return False
    term = demand.terms[0]
    uses = [use for alternative in term.alternatives for use in alternative.host_uses]
    pools = [use for alternative in term.alternatives for use in alternative.pool_uses]
    plain = all(use.index == SLOTS and use.per is Per.SLOT for use in uses)
    fits_ptile = term.ptile is None or int(term.ptile[0]) >= term.slots
    free_unit = term.unit is None or not (term.unit.excl or term.unit.usablecuslots)
    return plain and not pools and fits_ptile and free_unit and len(term.alternatives) == 1
