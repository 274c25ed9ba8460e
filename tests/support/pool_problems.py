"""Random pool problems and slow, literal answers to them."""

from __future__ import annotations

from itertools import permutations

import numpy as np
from hypothesis import strategies as st
from slotwise.solver.optimal.pool import PoolProblem


@st.composite
def pool_problems(draw, most_jobs=6, objective="starts", weighted=True, falling=True):
    """Small problems with rises and falls of capacity, releases, weights and dues."""
    steps = draw(st.integers(1, 4))
    times = [0, *sorted(draw(st.sets(st.integers(1, 30), min_size=steps - 1, max_size=steps - 1)))]
    free = draw(st.lists(st.integers(0, 6), min_size=steps, max_size=steps))
    if not falling:
        free = sorted(free)
    free[-1] = max(1, *free)
    count = draw(st.integers(1, most_jobs))

    def column(low, high):
        return draw(st.lists(st.integers(low, high), min_size=count, max_size=count))

    return PoolProblem.build(
        times,
        free,
        column(1, free[-1]),
        column(1, 12),
        earliest=column(0, 8) if draw(st.booleans()) else None,
        weights=column(0, 4) if weighted and draw(st.booleans()) else None,
        due=column(-5, 12) if weighted and draw(st.booleans()) else None,
        objective=objective,
    )


def literal_starts(problem, order):
    """Second by second: each job of the order at the first second with room for all of it."""
    horizon = int(problem.times[-1] + problem.earliest.max() + problem.durations.sum()) + 1
    free = np.zeros(2 * horizon, dtype=int)
    for time, level in zip(problem.times, problem.free, strict=True):
        free[time:] = level
    starts = []
    for job in order:
        size, duration = int(problem.sizes[job]), int(problem.durations[job])
        start = int(problem.earliest[job])
        while (free[start : start + duration] < size).any():
            start += 1
        free[start : start + duration] -= size
        starts.append(start)
    return starts


def brute_force(problem):
    """The least value over all orders: the optimum, for it never pays to start later."""
    best = None
    for order in permutations(range(len(problem))):
        starts = np.zeros(len(problem), dtype=int)
        starts[list(order)] = literal_starts(problem, order)
        value = problem.value(starts)
        best = value if best is None else min(best, value)
    return best


def from_running(free_now, running, sizes, durations):
    """A problem beside running jobs, given as (size, remaining seconds)."""
    times = [0, *sorted({remaining for _, remaining in running})]
    free = [free_now + sum(size for size, end in running if end <= time) for time in times]
    return PoolProblem.build(times, free, sizes, durations)


def violations(problem, starts):
    """What is wrong with a plan; empty if it is valid."""
    begin = np.asarray(starts, dtype=np.int64)
    found = [
        f"job {job} starts at {begin[job]}, before {problem.earliest[job]}"
        for job in np.flatnonzero(begin < problem.earliest).tolist()
    ]
    end = begin + problem.durations
    for instant in np.unique(np.concatenate((begin, problem.times))).tolist():
        used = int(problem.sizes[(begin <= instant) & (instant < end)].sum())
        free = int(problem.free[np.searchsorted(problem.times, instant, side="right") - 1])
        if used > free:
            found.append(f"at {instant} the plan uses {used} of {free} processors")
    return found
