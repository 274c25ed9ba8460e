"""A planning problem as one pool of identical slots: placement left out.

Exact where placement cannot matter (one host, jobs that use nothing but slots); everywhere else
every plan of the cluster is also a plan of the pool, so a bound of the pool's optimum is a bound.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ..availability.demand import Demand
from ..availability.resources import SLOTS
from ..availability.uses import Per
from ..problem import PlanningProblem
from .objectives import SLOWDOWN_THRESHOLD, Objective
from .pool.problem import PoolProblem

#: Weights are scaled to integers.
WEIGHT_SCALE = 1000


def pool_of(
    problem: PlanningProblem,
    demands: Sequence[Demand],
    objective: Objective,
    alone: Mapping[str, int],
) -> tuple[PoolProblem, float] | None:
    """The pool problem of `demands`, and the factor from its value to the objective's unit.

    alone: earliest start of each job by itself (seconds). The objective is the pool's value divided
    by the factor, plus :func:`constant_of`. None where there is no pool problem: no jobs, or a job
    whose end is unknown.
    """
    if any(demand.duration is None or demand.duration < 1 for demand in demands) or not demands:
        return None
    base, now = problem.base, problem.instance.now
    times = base.changes()
    free = [int(np.clip(base.free(SLOTS, time), 0, None).sum()) for time in times]
    if free[-1] < max(demand.slots for demand in demands):
        return None
    parts = [_weight_and_due(demand, objective) for demand in demands]
    durations = [demand.duration or 0 for demand in demands]
    pool = PoolProblem.build(
        [time - now for time in times],
        free,
        [demand.slots for demand in demands],
        durations,
        earliest=[max(0, alone[demand.job.id] - now) for demand in demands],
        weights=[weight for weight, _ in parts],
        due=[due for _, due in parts],
        objective="makespan" if objective.name == "makespan" else "starts",
    )
    scale = 1.0 if objective.name in ("makespan", "total-start") else float(WEIGHT_SCALE)
    if objective.name == "slowdown":
        scale *= SLOWDOWN_SCALE * len(demands)
    return pool, scale


#: Slowdown weights are small: one over the run time.
SLOWDOWN_SCALE = 1_000_000


def constant_of(demands: Sequence[Demand], objective: Objective) -> float:
    """The part of the objective that no plan can change: a slowdown is at least one a job."""
    return 1.0 if objective.name == "slowdown" and demands else 0.0


def _weight_and_due(demand: Demand, objective: Objective) -> tuple[int, int]:
    """A job's weight (scaled, rounded down) and the start after which it counts, from now."""
    now, duration = objective.now, demand.duration or 0
    weight = int(demand.job.weight * WEIGHT_SCALE)
    if objective.name == "weighted":
        return weight, 0
    if objective.name == "tardiness":
        if demand.job.deadline is None:
            return 0, 0
        return weight, demand.job.deadline - duration - now
    if objective.name == "slowdown":
        ran = max(duration, SLOWDOWN_THRESHOLD)
        return WEIGHT_SCALE * SLOWDOWN_SCALE // ran, demand.job.submit + ran - duration - now
    return 1, 0


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
