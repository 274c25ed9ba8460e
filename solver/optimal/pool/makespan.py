"""The last end: an energy bound, then CP-SAT."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .duals import Market
from .incumbent import Incumbent
from .problem import Ints, PoolProblem

FIRST_SLICE = 0.1
LAST_SLICE = 4.0


def makespan_bound(problem: PoolProblem) -> int:
    """The longest of: any job alone; the time in which the capacity holds all the work, by any
    function."""
    best = int((problem.alone + problem.durations).max())
    market = Market(problem, np.array([0, best], dtype=np.int64))
    market.add(market.sizes.copy())
    market.add_steps(6)
    rows = np.searchsorted(market.sizes, problem.sizes)
    for function in market.functions:
        work = int((function[rows] * problem.durations).sum())
        best = max(best, _time_for(problem, market.most(function), work))
    return best


def _time_for(problem: PoolProblem, level: Ints, work: int) -> int:
    """The first instant by which a step function has given that much."""
    given = np.concatenate((np.zeros(1, np.int64), np.cumsum(level[:-1] * np.diff(problem.times))))
    step = int(np.searchsorted(given, work, side="left")) - 1
    if step < 0:
        return 0
    rate = int(level[step])
    return int(problem.times[step]) + -(-(work - int(given[step])) // rate) if rate else 0


def prove_makespan(incumbent: Incumbent) -> Iterator[None]:
    """CP-SAT on one cumulative, restarted from the best plan in slices of deterministic time."""
    problem = incumbent.problem
    incumbent.raise_bound(makespan_bound(problem))
    budget = FIRST_SLICE
    while not incumbent.proved:
        yield
        starts, bound = _solve(problem, incumbent.starts, incumbent.value, incumbent.bound, budget)
        if starts is not None:
            incumbent.offer(starts)
        incumbent.raise_bound(bound)
        budget = min(LAST_SLICE, 1.25 * budget)


def _solve(
    problem: PoolProblem, hint: Ints, value: int, bound: int, budget: float
) -> tuple[Ints | None, int]:
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    capacity = int(problem.free.max())
    last = model.new_int_var(bound, value, "last")
    intervals: list[Any] = []
    demands: list[int] = []
    starts: list[Any] = []
    for job in range(len(problem)):
        duration = int(problem.durations[job])
        start = model.new_int_var(int(problem.alone[job]), value - duration, "")
        model.add(start + duration <= last)
        model.add_hint(start, int(hint[job]))
        starts.append(start)
        intervals.append(model.new_fixed_size_interval_var(start, duration, ""))
        demands.append(int(problem.sizes[job]))
    times = [*problem.times.tolist(), max(value, int(problem.times[-1])) + 1]
    for begin, end, free in zip(times, times[1:], problem.free.tolist(), strict=False):
        if free < capacity:
            intervals.append(model.new_fixed_size_interval_var(begin, end - begin, ""))
            demands.append(capacity - free)
    model.add_cumulative(intervals, demands, capacity)
    model.minimize(last)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.max_deterministic_time = budget
    solver.parameters.random_seed = 1
    status = solver.solve(model)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return None, bound
    plan = np.array([solver.value(start) for start in starts], dtype=np.int64)
    return plan, max(bound, int(np.ceil(solver.best_objective_bound - 1e-6)))
