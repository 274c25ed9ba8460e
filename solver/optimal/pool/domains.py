"""The instants at which a job may start in some optimal plan.

If starting earlier never hurts, some optimal plan cannot be shifted left: every start is the job's
earliest, a capacity rise, or the end of another job, whose start is such an instant in turn. So
starts are one of few origins plus a sum of durations of different jobs.
"""

from __future__ import annotations

import numpy as np

from .problem import Bools, Ints, PoolProblem


def achievable_starts(problem: PoolProblem, horizon: int, limit: int) -> Ints | None:
    """All instants <= horizon that a left-shifted plan may start a job at, ascending.

    None if there are more than ``limit``, in which case no instant may be excluded.
    """
    rises = problem.times[1:][np.diff(problem.free) > 0]
    origins = np.unique(np.concatenate((np.zeros(1, np.int64), rises, problem.earliest)))
    reached = np.zeros(horizon + 1, dtype=bool)
    reached[origins[origins <= horizon]] = True
    durations, counts = np.unique(problem.durations, return_counts=True)
    for duration, count in zip(durations.tolist(), counts.tolist(), strict=True):
        reached = _add_multiples(reached, duration, count)
    starts = np.flatnonzero(reached).astype(np.int64)
    return starts if len(starts) <= limit else None


def _add_multiples(reached: Bools, step: int, count: int) -> Bools:
    """Instants of ``reached`` plus 0..count times ``step``, by doubling."""
    span = 1
    left = count
    while left > 0 and step < len(reached):
        jump = min(span, left) * step
        if jump >= len(reached):
            break
        grown = reached.copy()
        grown[jump:] |= reached[:-jump]
        reached = grown
        left -= min(span, left)
        span *= 2
    return reached
