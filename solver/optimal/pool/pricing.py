"""Good prices for a problem: choose a grid, solve the relaxation, add packing rows while they
pay."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from .duals import Market
from .problem import Ints, PoolProblem
from .relax import PoolBound, Relaxation


@dataclass(frozen=True, slots=True)
class Fineness:
    """How much work a price system is worth: buckets of the grid, rounds of packing rows, and the
    relative gain below which another round is not made."""

    buckets: int
    rounds: int
    gain: float


def make_grid(problem: PoolProblem, points: Ints, end: int, buckets: int) -> Ints:
    """Bucket limits: capacity steps, and ``points`` (all of them if few, else evenly picked), up to
    ``end``."""
    steps = problem.times[problem.times < end]
    picked = _spread(points, buckets)
    last = int(points[-1])
    tail = np.linspace(last, max(end, last + 1), max(2, buckets // 5)).astype(np.int64)
    if len(steps) > buckets:
        steps = _spread(steps, buckets)
    return np.unique(np.concatenate((np.zeros(1, np.int64), steps, picked, tail)))


def instants(first: int, busy: int, last: int, count: int) -> Ints:
    """At most ``count`` instants for a grid: up to ``busy`` ever farther apart, for prices change
    most where most jobs may start; then few and even to ``last``.
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


def refine(
    problem: PoolProblem,
    domains: list[Ints] | None,
    ceiling: int,
    fineness: Fineness,
    *,
    horizon: int = 0,
    busy: int | None = None,
    known: Iterable[dict[int, int]] = (),
    crowd: PoolProblem | None = None,
    scale: int | None = None,
) -> Iterator[PoolBound | None]:
    """Certified bounds, on the whole ever better; None between pieces of work.

    ``domains``: the starts of each group that a plan better than ``ceiling`` may use; None for all,
    with the grid then ending at ``horizon``. ``busy``: the last start of a good plan, after which
    the grid may be coarse; that of the domains if None. ``known``: functions, as size -> weight,
    that helped in a related problem. ``crowd``: a larger one for which the prices should do, too.
    ``scale``: of the prices, the problem's own if None.
    """
    if domains is None:
        points, end = np.array([0, horizon]), horizon
    else:
        points = np.unique(np.concatenate(domains))
        lasts = [int(starts[-1]) for starts in domains]
        end = max(last + g.duration for last, g in zip(lasts, problem.groups, strict=True))
    if domains is None or len(points) > fineness.buckets:
        first, last = int(points[0]), int(points[-1])
        points = instants(first, last if busy is None else busy, last, fineness.buckets)
    market = Market(problem, make_grid(problem, points, end, fineness.buckets), crowd)
    market.add(market.sizes.copy())
    market.add_steps(4)
    for function in known:
        weights = [function.get(size, 0) for size in market.sizes.tolist()]
        if any(weights):
            market.add(np.array(weights, dtype=np.int64))
    yield None
    relaxation = Relaxation(market, domains, 10 * ceiling + 10, scale or problem.scale)
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
    """Pass on the pauses; in the end, the best bound, or None if the LP solver gave up at once."""
    best: PoolBound | None = None
    for bound in bounds:
        if bound is not None and (best is None or bound.floor > best.floor):
            best = bound
        yield
    return best


def functions_in_use(bound: PoolBound) -> list[dict[int, int]]:
    """The dual feasible functions that carry a price, as size -> weight."""
    market = bound.prices.market
    used = sorted({function for function, _, _ in bound.prices.lots})
    sizes = market.sizes.tolist()
    return [dict(zip(sizes, market.functions[w].tolist(), strict=True)) for w in used]
