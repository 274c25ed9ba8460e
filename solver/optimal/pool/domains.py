"""The instants at which a job may start in some optimal plan.

If starting earlier never hurts, some optimal plan cannot be shifted left: every start is the job's
earliest, a capacity rise, or the end of another job, whose start is such an instant in turn. So
starts are one of few origins plus a sum of durations of different jobs.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .problem import Bools, Ints, PoolProblem

#: Up to so many seconds, the instants reached are marked on an array of all seconds.
MARKED = 1 << 24


def achievable_starts(problem: PoolProblem, horizon: int, limit: int) -> Ints | None:
    """All instants <= horizon that a left-shifted plan may start a job at, ascending.

    None if there are more than ``limit``, in which case no instant may be excluded. No array is
    longer than ``MARKED`` or twice ``limit``, however far the horizon is.
    """
    rises = problem.times[1:][np.diff(problem.free) > 0]
    origins = np.unique(np.concatenate((np.zeros(1, np.int64), rises, problem.earliest)))
    origins = origins[origins <= horizon]
    durations, counts = np.unique(problem.durations, return_counts=True)
    steps = list(zip(durations.tolist(), counts.tolist(), strict=True))
    if horizon > MARKED:
        return _listed(origins, steps, horizon, limit)
    reached = np.zeros(horizon + 1, dtype=bool)
    reached[origins] = True
    for duration, count in steps:
        reached = _add_multiples(reached, duration, count)
    starts = np.flatnonzero(reached).astype(np.int64)
    return starts if len(starts) <= limit else None


def _listed(starts: Ints, steps: list[tuple[int, int]], horizon: int, limit: int) -> Ints | None:
    """The same as a list of instants: for horizons too far to mark every second."""
    for step, count in steps:
        for jump in _jumps(count):
            if len(starts) > limit:
                return None
            further = starts[starts <= horizon - jump * step] + jump * step
            starts = np.union1d(starts, further)
    return starts if len(starts) <= limit else None


def _add_multiples(reached: Bools, step: int, count: int) -> Bools:
    """Instants of ``reached`` plus 0..count times ``step``."""
    for jump in _jumps(count):
        if jump * step >= len(reached):
            break
        grown = reached.copy()
        grown[jump * step :] |= reached[: -jump * step]
        reached = grown
    return reached


def _jumps(count: int) -> Iterator[int]:
    """Numbers of which the sums of some are 0..count: 1, 2, 4, ..., and the rest."""
    span = 1
    while count > 0:
        yield min(span, count)
        count -= span
        span *= 2
