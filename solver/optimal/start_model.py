"""A bound, and starts that come to it, from whole jobs in several pools at once.

The pools are those of :mod:`.several_pools`. A linear program lets fractions of jobs share them;
here each job has one start. Whatever is pooled, a best plan of the pools needs few instants: a job
that starts neither where the base changes nor where another ends could start a second before.
Most of the starts cannot be part of a plan as good as the known one, by prices: what is left is
small enough for an exact model. All that is said is computed in whole numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..availability.arrays import IntArray
from ..availability.demand import Demand
from ..budget import Budget, OutOfTime
from ..problem import PlanningProblem
from .costs import Costs
from .start_program import solved_program
from .start_table import FINE, StartsRow, StartTable, possible_starts, rows_of

#: Prices to the unit of cost.
SCALE = 1 << 20
#: Seconds and deterministic effort of the exact model, at most, and its share of the time left.
SECONDS = 6.0
EFFORT = 5.0
SHARE = 0.3
#: Beyond so much nothing is computed in 64 bits.
HUGE = float(1 << 61)
#: Plans are looked for that cost so much more than alone, in shares of what the best bound so far
#: does: the fewer, the smaller the model.
FIRST_ROOMS = (1.25, 2.0)


@dataclass(frozen=True, slots=True)
class BoundedStarts:
    """What the model says. bound: no plan costs less, in units. starts: seconds, by job, of jobs
    whose sum comes near it if only the pools counted; none where none were found.
    """

    bound: int
    starts: Mapping[str, int]


def bound_of_starts(
    problem: PlanningProblem,
    demands: Sequence[Demand],
    costs: Costs,
    alone: Mapping[str, int],
    between: tuple[int, int],
    budget: Budget,
) -> BoundedStarts | None:
    """No plan of `demands` costs less, in units; None where there is nothing to say.

    alone: the earliest start of each job by itself (seconds). between: a bound that is known, and
    what a known plan costs, in units: of plans that cost more nothing is asked.
    """
    if costs.largest or any(len(demand.terms) != 1 for demand in demands):
        return None
    jobs = [demand for demand in demands if demand.duration and costs.jobs[demand.job.id].weight]
    least = costs.total({demand.job.id: alone[demand.job.id] for demand in demands})
    low, most = between
    rooms = [int(share * (low - least)) for share in FIRST_ROOMS if low > least]
    best = None
    for room in [*(room for room in rooms if room < most - least), most - least]:
        found = _within(problem, jobs, costs, alone, room, budget)
        if found is None:
            break
        bound = least + found.bound
        if best is None or bound >= best.bound:
            best = BoundedStarts(bound, found.starts)
        if found.starts or found.bound < room or budget.exhausted():
            break
    return best


def _within(
    problem: PlanningProblem,
    jobs: Sequence[Demand],
    costs: Costs,
    alone: Mapping[str, int],
    room: int,
    budget: Budget,
) -> BoundedStarts | None:
    """The same of plans that cost no more than `room`, all of it beyond the jobs alone, in units.

    The bound is no more than the room; there are no starts where none of these plans can exist.
    """
    starts = possible_starts(problem, jobs, costs, alone, room)
    if starts is None:
        return None
    try:
        rows = rows_of(problem, jobs, starts, budget)
    except OutOfTime:
        return None
    priced = _priced(starts, rows, len(jobs), budget) if rows else None
    if priced is None:
        return None
    shifted = room >> starts.bits
    low, kept = priced[0], np.flatnonzero(priced[1] <= SCALE * shifted)
    value, chosen = _solved(starts, rows, kept, len(jobs), budget)
    bound = shifted if value is None else max(0, -(-low // SCALE), value)
    return BoundedStarts(
        min(room, bound << starts.bits),
        {jobs[starts.jobs[at]].job.id: int(starts.times[at]) for at in chosen},
    )


# --- prices ---------------------------------------------------------------------------------------


def _priced(
    starts: StartTable, rows: Sequence[StartsRow], count: int, budget: Budget
) -> tuple[int, IntArray] | None:
    """By prices of the rows: what all jobs cost at least, and with each start what they then do.

    Both in SCALE to the unit of the shifted costs; None where the numbers are too large.
    """
    prices = _prices(starts, rows, count, budget)
    if prices is None:
        return None
    paid = SCALE * starts.costs
    size = paid.astype(float)
    for row, price in zip(rows, prices, strict=True):
        paid[row.starts] += price * row.amounts
        size[row.starts] += float(price) * row.amounts
    if size.max() > HUGE:
        return None
    cheapest = np.array([paid[at].min() for at in starts.of(count)])
    supply = sum(price * row.limit for row, price in zip(rows, prices, strict=True))
    low = sum(cheapest.tolist()) - supply
    if abs(low) + supply > HUGE:
        return None
    return low, low + paid - cheapest[starts.jobs]


def _prices(
    starts: StartTable, rows: Sequence[StartsRow], count: int, budget: Budget
) -> list[int] | None:
    """The price of an amount of each row, from the linear program; None where it is not solved."""
    program = solved_program(starts, rows, count, budget)
    if program is None:
        return None
    duals = (max(0.0, -row.dual_value()) for row in program.constraints()[count:])
    return [int(min(dual * SCALE / FINE, HUGE)) for dual in duals]


# --- the exact model ------------------------------------------------------------------------------


def _solved(
    starts: StartTable, rows: Sequence[StartsRow], kept: IntArray, count: int, budget: Budget
) -> tuple[int | None, list[int]]:
    """The least cost with these starts alone, or a bound of it, and the positions that have it.

    None where no choice of them keeps the rows.
    """
    from ortools.sat.python import cp_model

    from .cpsat import run

    model = cp_model.CpModel()
    chosen = {at: model.new_bool_var("") for at in kept.tolist()}
    by_job = [[at for at in mine.tolist() if at in chosen] for mine in starts.of(count)]
    for mine in by_job:
        model.add_exactly_one([chosen[at] for at in mine])
    for row in rows:
        here = [
            (chosen[at], amount)
            for at, amount in zip(row.starts.tolist(), row.amounts.tolist(), strict=True)
            if at in chosen
        ]
        terms = [variable for variable, _ in here]
        model.add(cp_model.LinearExpr.weighted_sum(terms, [n for _, n in here]) <= row.limit)
    prices = [int(starts.costs[at]) for at in chosen]
    model.minimize(cp_model.LinearExpr.weighted_sum(list(chosen.values()), prices))
    seconds = min(SECONDS, SHARE * budget.left())
    status, solver = run(model, budget, seconds=seconds, effort=EFFORT)
    if status == "INFEASIBLE":
        return None, []
    if status not in ("OPTIMAL", "FEASIBLE"):
        return 0, []
    found = [at for at, variable in chosen.items() if solver.boolean_value(variable)]
    return round(solver.best_objective_bound), found
