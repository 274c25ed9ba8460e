"""Prices for a pool problem, and the instants at which its jobs may start."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from .bounds import Market, PoolBound, Relaxation
from .problem import Bools, Ints, PoolProblem

#: Up to this many seconds, reachable instants are marked in an array of all seconds.
MARKED = 1 << 24


def achievable_starts(problem: PoolProblem, horizon: int, limit: int) -> Ints | None:
    """Return all instants <= horizon at which a left-shifted plan can start a job, ascending.

    None if there are more than ``limit``, in which case no instant may be excluded. No array is
    longer than ``MARKED`` or twice ``limit``, however far the horizon is.

    If an earlier start never hurts, some optimal plan cannot be shifted left: every start is the
    earliest start of the job, a capacity rise, or the end of another job, whose start is again one
    of these instants. So each start is one of few origins plus a sum of durations of different
    jobs.
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
    """Return the reachable instants as a list, for horizons too long to mark every second."""
    for step, count in steps:
        for jump in _jumps(count):
            if len(starts) > limit:
                return None
            further = starts[starts <= horizon - jump * step] + jump * step
            starts = np.union1d(starts, further)
    return starts if len(starts) <= limit else None


def _add_multiples(reached: Bools, step: int, count: int) -> Bools:
    """Add to ``reached`` its instants plus 0..count times ``step``."""
    for jump in _jumps(count):
        if jump * step >= len(reached):
            break
        grown = reached.copy()
        grown[jump * step :] |= reached[: -jump * step]
        reached = grown
    return reached


def _jumps(count: int) -> Iterator[int]:
    """Yield numbers whose partial sums are exactly 0..count: 1, 2, 4, ..., and the remainder."""
    span = 1
    while count > 0:
        yield min(span, count)
        count -= span
        span *= 2


#: Maximum number of buckets times kinds of jobs in a program with all starts, and the minimum
#: number of buckets.
MAX_CELLS = 25_000
MIN_BUCKETS = 6


@dataclass(frozen=True, slots=True)
class Fineness:
    """The effort for a price system: buckets of the grid, rounds of packing rows, and the relative
    gain below which the rounds end.
    """

    #: Number of time buckets.
    buckets: int
    #: Maximum number of rounds of packing rows.
    rounds: int
    #: Minimum relative gain of a round.
    gain: float


def affordable_buckets(buckets: int, kinds: int, most: int) -> int:
    """Return the number of buckets, reduced if the kinds of jobs are too numerous for a program
    with ``most`` buckets of one kind to be solved in time.
    """
    return min(buckets, max(MIN_BUCKETS, most // kinds))


def make_grid(problem: PoolProblem, points: Ints, end: int, buckets: int) -> Ints:
    """Return the bucket limits: the capacity steps and ``points`` (all if few, else evenly
    selected), up to ``end``.
    """
    steps = problem.times[problem.times < end]
    picked = _spread(points, buckets)
    last = int(points[-1])
    tail = np.linspace(last, max(end, last + 1), max(2, buckets // 5)).astype(np.int64)
    if len(steps) > buckets:
        steps = _spread(steps, buckets)
    return np.unique(np.concatenate((np.zeros(1, np.int64), steps, picked, tail)))


def instants(first: int, busy: int, last: int, count: int) -> Ints:
    """Return at most ``count`` instants for a grid: dense at first and ever wider up to ``busy``,
    because prices change most where most jobs may start, then few and even up to ``last``.
    """
    busy = min(max(first, busy), last)
    few = count // 5 if busy < last else 0
    shares = np.linspace(0, 1, max(2, count - few)) ** 2
    dense = first + (busy - first) * shares
    return np.unique(np.append(dense, np.linspace(busy, last, few)).astype(np.int64))


def _spread(values: Ints, count: int) -> Ints:
    if len(values) <= count:
        return values
    return values[np.unique(np.linspace(0, len(values) - 1, count).round().astype(np.int64))]


@dataclass(frozen=True, slots=True)
class Reach:
    """The instants at which the jobs of a plan better than the incumbent can start."""

    #: Possible starts of each group, or None if every start is possible.
    domains: list[Ints] | None = None
    #: End of the grid (seconds), used if there are no domains.
    horizon: int = 0
    #: The last start of a good plan, after which the grid may be coarse; that of the domains if
    #: None.
    busy: int | None = None

    def grid(self, problem: PoolProblem, buckets: int) -> Ints:
        """Return the limits of this number of buckets, or of more buckets if the capacity changes
        more often.
        """
        if self.domains is None:
            points, end = np.array([0, self.horizon]), self.horizon
        else:
            points = np.unique(np.concatenate(self.domains))
            lasts = [int(starts[-1]) for starts in self.domains]
            end = max(last + g.duration for last, g in zip(lasts, problem.groups, strict=True))
        if self.domains is None or len(points) > buckets:
            first, last = int(points[0]), int(points[-1])
            points = instants(first, last if self.busy is None else self.busy, last, buckets)
        return make_grid(problem, points, end, buckets)


def refine(
    problem: PoolProblem,
    reach: Reach,
    ceiling: int,
    fineness: Fineness,
    *,
    known: Iterable[dict[int, int]] = (),
    crowd: PoolProblem | None = None,
    scale: int | None = None,
) -> Iterator[PoolBound | None]:
    """Yield certified bounds, which improve on the whole, and None between pieces of work.

    ``ceiling``: the value that a better plan stays below. ``known``: functions, as size -> weight,
    that helped in a related problem. ``crowd``: a larger one for which the prices should do, too.
    ``scale``: of the prices, the problem's own if None.
    """
    buckets = affordable_buckets(fineness.buckets, len(problem.groups), MAX_CELLS)
    market = Market(problem, reach.grid(problem, buckets), crowd)
    market.add(market.sizes.copy())
    market.add_steps(4)
    for function in known:
        weights = [function.get(size, 0) for size in market.sizes.tolist()]
        if any(weights):
            market.add(np.array(weights, dtype=np.int64))
    yield None
    relaxation = Relaxation(market, reach.domains, 10 * ceiling + 10, scale or problem.scale)
    before = 0
    for left in range(fineness.rounds, -1, -1):
        bound: PoolBound | None = None
        for bound in relaxation.solve():
            yield bound
        if bound is None or relaxation.failed:
            return
        gained, before = bound.floor - before, bound.floor
        if left == 0 or bound.value >= ceiling or gained < fineness.gain * abs(bound.floor):
            return
        added = 0
        for rows in relaxation.separate():
            added += rows
            yield None
        if not added:
            return


def best_of(bounds: Iterator[PoolBound | None]) -> Generator[None, None, PoolBound | None]:
    """Yield None at each pause of the bounds; return the best bound, or None if the LP solver
    failed at the first program.
    """
    best: PoolBound | None = None
    for bound in bounds:
        if bound is not None and (best is None or bound.floor > best.floor):
            best = bound
        yield
    return best


def functions_in_use(bound: PoolBound) -> list[dict[int, int]]:
    """Return the dual feasible functions that have a positive price, as mappings from size to
    weight.
    """
    market = bound.prices.market
    used = sorted({function for function, _, _ in bound.prices.lots})
    sizes = market.sizes.tolist()
    return [dict(zip(sizes, market.functions[w].tolist(), strict=True)) for w in used]
