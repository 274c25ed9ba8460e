"""Lower bounds and guiding starts from possible starts of whole jobs in several pools.

The pools are those of :mod:`.pool_bounds`. A best plan of the pools needs few instants: a job that
starts neither at a change of the base profile nor at the end of another job could start one second
earlier.

A lower bound, and starts with a cost near it, from whole jobs in several pools. A linear program
lets fractions of a job start at different instants; here each job has one start. By the prices of
the linear program, most starts cannot be part of a plan as good as the known one; the remaining
starts fit into an exact model. All bounds are computed in integers.

Guiding starts from a linear program over several pools, which may split jobs. They give no bound,
but a good order of jobs: the order of mean starts, and the order of the instants at which a share
of each job has started (list scheduling by alpha-points: Phillips, Stein, Wein 1998; Goemans 1997).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..availability.demand import Demand
from ..availability.resources import IntArray
from ..budget import Budget, OutOfTime
from ..problem import PlanningProblem
from .backends import new_program, solve
from .costs import Costs
from .pool_bounds import GLIMPSE, WORK, pools_of

#: Limits of a complete model: instants, and possible starts of all jobs.
MAX_INSTANTS = 1500
MAX_STARTS = 30_000
#: Size of a sample of starts: possible starts of all jobs, and minimum number of instants of each
#: job.
SOME_STARTS = 5_000
MIN_INSTANTS = 30
#: Resolution of amounts: units of one piece. Resolution of costs: bits of the largest extra cost.
FINE = 64
BITS = 30


@dataclass(frozen=True, slots=True)
class StartsRow:
    """One capacity row: starts that use a pool at an instant, their amounts, and the capacity."""

    #: Positions of the starts in the table.
    starts: IntArray
    #: Amount of each start, in units of 1/FINE.
    amounts: IntArray
    #: Capacity of the pool, in units of 1/FINE.
    limit: int


@dataclass(frozen=True, slots=True)
class StartTable:
    """Table of possible starts of all jobs, with one position for each start."""

    #: Number of the job of each start.
    jobs: IntArray
    #: Second of each start.
    times: IntArray
    #: Extra cost over the first start of the job, shifted right by `bits`.
    costs: IntArray
    #: Number of bits dropped from the costs.
    bits: int

    def of(self, count: int) -> list[IntArray]:
        """Return the positions of the starts of each of `count` jobs."""
        return [np.flatnonzero(self.jobs == number) for number in range(count)]


def possible_starts(
    problem: PlanningProblem,
    jobs: Sequence[Demand],
    costs: Costs,
    alone: Mapping[str, int],
    capacity: int,
) -> StartTable | None:
    """Return all starts that a best plan of the pools may need; None if there are too many.

    Starts whose extra cost exceeds `capacity` are excluded. capacity: extra cost of all jobs
    together over their earliest starts, in units.
    """
    ranges = _ranges(jobs, costs, alone, capacity)
    end = max((last for _, last in ranges), default=0)
    durations = np.unique([demand.duration or 0 for demand in jobs])
    begin = np.unique([*problem.base.changes(), *(first for first, _ in ranges)])
    grid = _instants(begin, durations, end)
    if grid is None:
        return None
    found = [grid[(grid >= first) & (grid <= last)] for first, last in ranges]
    if not all(map(len, found)) or not 0 < sum(map(len, found)) <= MAX_STARTS:
        return None
    return _table(jobs, costs, found)


def some_starts(
    problem: PlanningProblem,
    jobs: Sequence[Demand],
    costs: Costs,
    alone: Mapping[str, int],
    capacity: int,
    known: Sequence[int] = (),
) -> StartTable:
    """Return about SOME_STARTS possible starts as a sample, which gives no valid bounds.

    If there are too many instants, the sample takes instants at even distances. known: instants
    of a plan, all of which are in the sample, so that a plan of all jobs is among them.
    """
    ranges = _ranges(jobs, costs, alone, capacity)
    end = max(last for _, last in ranges)
    durations = np.unique([demand.duration or 0 for demand in jobs])
    begin = np.unique([*problem.base.changes(), *(first for first, _ in ranges), *known])
    grid = np.unique(np.concatenate((begin, np.add.outer(begin, durations).ravel())))
    grid = grid[grid <= end]
    count = min(len(grid), max(MIN_INSTANTS, SOME_STARTS // len(jobs)))
    grid = grid[np.linspace(0, len(grid) - 1, count).astype(np.int64)]
    grid = np.union1d(grid, np.array(known, dtype=np.int64))
    found = [
        np.append(first, grid[(grid > first) & (grid <= last)]).astype(np.int64)
        for first, last in ranges
    ]
    return _table(jobs, costs, found)


def _ranges(
    jobs: Sequence[Demand], costs: Costs, alone: Mapping[str, int], capacity: int
) -> list[tuple[int, int]]:
    """Return the first and the last start of each job whose extra cost is at most `capacity`."""
    found = []
    for demand in jobs:
        cost, first = costs.jobs[demand.job.id], alone[demand.job.id]
        last = cost.latest(cost.at(first) + capacity)
        found.append((first, first - 1 if last is None else last))
    return found


def _table(jobs: Sequence[Demand], costs: Costs, times: Sequence[IntArray]) -> StartTable:
    own = [costs.jobs[demand.job.id] for demand in jobs]
    extra = [
        [cost.at(time) - cost.at(int(mine[0])) for time in mine.tolist()]
        for cost, mine in zip(own, times, strict=True)
    ]
    bits = max(0, max(max(row) for row in extra).bit_length() - BITS)
    return StartTable(
        np.repeat(np.arange(len(jobs)), [len(mine) for mine in times]),
        np.concatenate(times),
        np.array([more >> bits for row in extra for more in row], dtype=np.int64),
        bits,
    )


def _instants(begin: IntArray, durations: IntArray, end: int) -> IntArray | None:
    """Return the instants up to `end` that are sums of a begin and durations, None if too many."""
    found = new = begin[begin <= end]
    while new.size:
        if found.size > MAX_INSTANTS:
            return None
        later = np.unique(np.add.outer(new, durations))
        new = np.setdiff1d(later[later <= end], found)
        found = np.union1d(found, new)
    return found


def rows_of(
    problem: PlanningProblem, jobs: Sequence[Demand], starts: StartTable, budget: Budget
) -> list[StartsRow]:
    """Return the capacity rows of all instants at which running jobs could exceed a pool."""
    changes = np.array(problem.base.changes())
    grid = np.unique(starts.times)
    step = np.searchsorted(changes, grid, side="right") - 1
    lengths = np.array([demand.duration or 0 for demand in jobs])
    ends = starts.times + lengths[starts.jobs]
    own = starts.of(len(jobs))
    first, last = (np.array([call(starts.times[at]) for at in own]) for call in (np.min, np.max))
    may_run = (first <= grid[:, np.newaxis]) & (grid[:, np.newaxis] < last + lengths)
    rows = []
    for pool in pools_of(problem.base, jobs, budget):
        taken = np.zeros(len(jobs), dtype=np.int64)
        for number, amount in pool.taken.items():
            taken[number] = int(FINE * amount)
        there = np.ceil(FINE * pool.there).astype(np.int64)[step]
        users = np.flatnonzero(taken[starts.jobs])
        for at in np.flatnonzero(may_run @ taken > there).tolist():
            running = users[(starts.times[users] <= grid[at]) & (grid[at] < ends[users])]
            rows.append(StartsRow(running, taken[starts.jobs[running]], int(there[at])))
    return rows


def solved_program(
    starts: StartTable,
    rows: Sequence[StartsRow],
    count: int,
    budget: Budget,
    work: float = WORK,
) -> Any | None:
    """Return the solved linear program for `count` jobs, None if it takes too long.

    Its variables are the starts in their order. Its first constraints are the jobs, followed by the
    rows. work: deterministic time, about seconds; it cannot be interrupted.
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


#: Integer prices for one unit of cost.
SCALE = 1 << 20
#: Limits of the exact model: seconds, deterministic effort, and share of the remaining time.
SECONDS = 6.0
EFFORT = 5.0
SHARE = 0.1
#: Largest number for which sums are computed in 64 bits.
HUGE = float(1 << 61)
#: Limits on the extra cost of the plans searched first, as multiples of the known lower bound on
#: it; a smaller limit makes a smaller model.
FIRST_ROOMS = (1.25, 2.0)


@dataclass(frozen=True, slots=True)
class BoundedStarts:
    """Result of the start model: a lower bound and guiding starts."""

    #: Lower bound on the cost of any plan, in units.
    bound: int
    #: Start of each job in seconds by id, with a total cost near the bound; empty if none were
    #: found.
    starts: Mapping[str, int]


def bound_of_starts(
    problem: PlanningProblem,
    demands: Sequence[Demand],
    costs: Costs,
    alone: Mapping[str, int],
    between: tuple[int, int],
    budget: Budget,
) -> BoundedStarts | None:
    """Return a lower bound on the cost of any plan of `demands`, in units; None if none was found.

    alone: earliest start of each job given running jobs only (seconds). between: known lower bound
    and cost of the known plan, in units; plans with a higher cost are ignored.
    """
    if costs.largest:
        return None
    jobs = [demand for demand in demands if demand.duration and costs.jobs[demand.job.id].weight]
    least = costs.total({demand.job.id: alone[demand.job.id] for demand in demands})
    low, most = between
    rooms = [int(share * (low - least)) for share in FIRST_ROOMS if low > least]
    best = None
    for capacity in [*(capacity for capacity in rooms if capacity < most - least), most - least]:
        found = _within(problem, jobs, costs, alone, capacity, budget)
        if found is None:
            break
        bound = least + found.bound
        if best is None or bound >= best.bound:
            best = BoundedStarts(bound, found.starts)
        if found.starts or found.bound < capacity or budget.exhausted():
            break
    return best


def _within(
    problem: PlanningProblem,
    jobs: Sequence[Demand],
    costs: Costs,
    alone: Mapping[str, int],
    capacity: int,
    budget: Budget,
) -> BoundedStarts | None:
    """Return the bound for plans that cost at most `capacity` units more than the earliest starts.

    The bound is at most `capacity`. The starts are empty if no such plan can exist.
    """
    starts = possible_starts(problem, jobs, costs, alone, capacity)
    if starts is None:
        return None
    try:
        rows = rows_of(problem, jobs, starts, budget)
    except OutOfTime:
        return None
    priced = _priced(starts, rows, len(jobs), budget) if rows else None
    if priced is None:
        return None
    shifted = capacity >> starts.bits
    low, kept = priced[0], np.flatnonzero(priced[1] <= SCALE * shifted)
    value, chosen = _solved(starts, rows, kept, len(jobs), budget)
    bound = shifted if value is None else max(0, -(-low // SCALE), value)
    return BoundedStarts(
        min(capacity, bound << starts.bits),
        {jobs[starts.jobs[at]].job.id: int(starts.times[at]) for at in chosen},
    )


def _priced(
    starts: StartTable, rows: Sequence[StartsRow], count: int, budget: Budget
) -> tuple[int, IntArray] | None:
    """Return a lower bound of the total cost by row prices, and the bound under each start.

    Both in SCALE to the unit of the shifted costs; None if the numbers are too large.
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
    """Return the price of one amount of each row from the linear program, None if it is not
    solved.
    """
    program = solved_program(starts, rows, count, budget)
    if program is None:
        return None
    duals = (max(0.0, -row.dual_value()) for row in program.constraints()[count:])
    return [int(min(dual * SCALE / FINE, HUGE)) for dual in duals]


def _solved(
    starts: StartTable, rows: Sequence[StartsRow], kept: IntArray, count: int, budget: Budget
) -> tuple[int | None, list[int]]:
    """Return the minimum cost with these starts, or a lower bound of it, and the chosen positions.

    The cost is None if no choice of starts obeys the rows.
    """
    from ortools.sat.python import cp_model

    from .backends import run

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


#: Deterministic time of the linear program for guides, about seconds; few need more.
GUIDE_WORK = 4.0
#: Shares of a job; each gives a guide by the instants at which this share has started.
SHARES = (0.1, 0.5, 0.9)


def likely_starts(
    problem: PlanningProblem,
    demands: Sequence[Demand],
    costs: Costs,
    alone: Mapping[str, int],
    most: int,
    budget: Budget,
    known: Sequence[int] = (),
) -> list[Mapping[str, int]]:
    """Return guides for plans with a cost of at most `most` units: starts in seconds by job id.

    alone: earliest start of each job given running jobs only. known: starts of a plan of that cost.
    Empty if there is no guide.
    """
    if costs.largest:
        return []
    jobs = [demand for demand in demands if demand.duration and costs.jobs[demand.job.id].weight]
    capacity = most - costs.total({demand.job.id: alone[demand.job.id] for demand in demands})
    if not jobs or capacity <= 0:
        return []
    starts = some_starts(problem, jobs, costs, alone, capacity, known)
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
