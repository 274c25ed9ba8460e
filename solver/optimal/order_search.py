"""Good plans by searching over orders: each order is decoded job by job into earliest starts.

For a regular objective some order decodes into an optimum whenever placement does not matter, and
into a good plan when it does. The neighbourhood is moving one job to another place in the order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from ..availability.demand import Demand, in_waiting_order, released
from ..availability.profile import FOREVER
from ..budget import Budget
from ..placement.earliest import Start, earliest_start, hold_start
from ..problem import PlanningProblem
from .allowance import Allowance
from .costs import Costs

Starts = dict[str, Start]


def times_of(placed: Mapping[str, Start]) -> dict[str, int]:
    """When jobs start (seconds)."""
    return {job: start.time for job, start in placed.items()}


def decode(problem: PlanningProblem, order: Sequence[Demand], alone: dict[str, int]) -> Starts:
    """Earliest starts in the given order; jobs that find no place are left out.

    A job that waits for others comes behind them.
    """
    profile = problem.base.copy()
    placed: Starts = {}
    for demand in in_waiting_order(order):
        demand = released(demand, times_of(placed))
        start = earliest_start(profile, demand, not_before=alone[demand.job.id])
        if start is not None:
            hold_start(profile, demand, start)
            placed[demand.job.id] = start
    return placed


def decode_within(
    problem: PlanningProblem,
    costs: Costs,
    order: Sequence[Demand],
    alone: Mapping[str, int],
    most: int,
) -> Starts | None:
    """Earliest starts in the given order; None where a job finds no place or they cost more.

    most: what they may cost, in units.
    """
    profile = problem.base.copy()
    placed: Starts = {}
    allowance = Allowance(costs, {d.job.id: alone[d.job.id] for d in order}, most)
    for demand in in_waiting_order(order):
        demand = released(demand, times_of(placed))
        job = demand.job.id
        latest = allowance.latest(job)
        start = earliest_start(profile, demand, not_before=alone[job], not_after=latest)
        if start is None:
            return None
        hold_start(profile, demand, start)
        allowance.spend(job, start.time)
        placed[job] = start
    return placed


def search_by_rules(
    problem: PlanningProblem,
    costs: Costs,
    budget: Budget,
    alone: dict[str, int],
    *,
    first: Starts,
    enough: int,
) -> tuple[Starts, int]:
    """The best of a known plan, the first, and of those in the orders of several priority rules.

    enough: a total that ends the search; totals are in the units of the costs.
    """
    movable = [demand for demand in problem.demands if demand.job.id in first]
    best, value = first, _total(costs, first)
    for rule in _rules(alone):
        if value <= enough or budget.cancel.is_set() or budget.left() <= 0:
            break
        order = sorted(movable, key=rule)
        best, value, _ = _try(problem, costs, order, alone, best, value, order)
    return best, value


def search_orders(
    problem: PlanningProblem,
    costs: Costs,
    budget: Budget,
    alone: dict[str, int],
    *,
    first: Starts,
    enough: int,
    seconds: float,
    moves: int,
    seed: int = 0,
    on_better: Callable[[int], None] | None = None,
) -> tuple[Starts, int]:
    """The best plan found by moving jobs in the order of a known one, the first.

    enough: a total that ends the search; totals are in the units of the costs. seconds and moves
    bound the moves; with an effort in the budget only `moves` does, so that the result does not
    depend on the machine.
    """
    movable = [demand for demand in problem.demands if demand.job.id in first]
    best, value = first, _total(costs, first)
    order = sorted(movable, key=lambda demand: first[demand.job.id].time)
    deadline = budget.elapsed() + seconds
    random = np.random.default_rng(seed)
    for _ in range(moves if len(order) > 1 else 0):
        if value <= enough or budget.cancel.is_set() or budget.left() <= 0:
            break
        if budget.effort is None and budget.elapsed() > deadline:
            break
        source, target = random.integers(len(order)), random.integers(len(order))
        changed = list(order)
        changed.insert(int(target), changed.pop(int(source)))
        before = value
        best, value, order = _try(problem, costs, changed, alone, best, value, order)
        if value < before and on_better is not None:
            on_better(value)
    return best, value


def _try(
    problem: PlanningProblem,
    costs: Costs,
    changed: list[Demand],
    alone: dict[str, int],
    best: Starts,
    value: int,
    order: list[Demand],
) -> tuple[Starts, int, list[Demand]]:
    """Decode an order and keep it if it is at least as good and leaves no job out."""
    found = decode_within(problem, costs, changed, alone, value)
    return (best, value, order) if found is None else (found, _total(costs, found), changed)


def _total(costs: Costs, starts: Starts) -> int:
    return costs.total({job: start.time for job, start in starts.items()})


def _rules(alone: dict[str, int]) -> list[Callable[[Demand], float]]:
    """Priority rules: shortest, smallest area, weighted area, earliest alone."""

    def duration(demand: Demand) -> int:
        return FOREVER if demand.duration is None else demand.duration

    return [
        duration,
        lambda demand: float(duration(demand)) * demand.slots,
        lambda demand: float(duration(demand)) * demand.slots / max(demand.job.weight, 1e-9),
        lambda demand: float(alone[demand.job.id]),
        lambda demand: float(FOREVER if (end := demand.job.deadline) is None else end),
    ]
