"""Lagrangian bounds: processors cost money, jobs buy the cheapest window.

For any prices per processor-second that are >= 0,

    sum over jobs of min over starts (own cost + price of the window)  -  price of everything
    there is

is a lower bound of the best plan. Duals are integers on a grid of time buckets, one row for each
*dual feasible function* of sizes, so the bound is evaluated exactly, in integers: it is valid
whatever made the prices.

Such a function gives a job of size p the demand a(p); what is there of it with c processors free is
the largest sum of a over jobs that fit into c together. With a(p) = p that is the energy argument,
with capacity rounded down to what sizes can fill; with a(p) = [p > c/2], "one of the large ones at
a time".
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .packing import Patterns
from .problem import Floats, Ints, PoolProblem

#: What all prices of a system make together stays below this, so that sums fit into 64 bits.
DEAREST = float(1 << 59)


class Market:
    """What there is by each dual feasible function, on a grid of buckets.

    ``grid`` (B+1,) ascending from 0.

    After the grid's end everything is free of charge and without limit. ``crowd``: a problem whose
    jobs include all of this one's; functions are then of its sizes and counts, and the prices mean
    something for all problems within it. ``like``: one of the same problem on another grid, whose
    patterns serve here too.
    """

    def __init__(
        self,
        problem: PoolProblem,
        grid: Ints,
        crowd: PoolProblem | None = None,
        like: Market | None = None,
    ) -> None:
        self.problem = problem
        self.grid = grid
        jobs = (crowd or problem).sizes
        self.sizes, counts = np.unique(jobs, return_counts=True)
        self._counts = counts
        self._row = {size: row for row, size in enumerate(self.sizes.tolist())}
        self.functions: list[Ints] = []
        self.supply: list[Ints] = []
        self._highest: list[float] = []
        self._known: dict[tuple[int, ...], int] = {}
        #: The patterns met so far, by level of capacity.
        self.met: dict[int, Patterns] = {} if like is None else like.met

    def row(self, size: int) -> int:
        """The row of a size in every function."""
        return self._row[size]

    @property
    def buckets(self) -> int:
        return len(self.grid) - 1

    def add(self, function: Ints) -> int:
        """Register a dual feasible function (one integer >= 0 a distinct size); its index."""
        key = tuple(function.tolist())
        if key not in self._known:
            self._known[key] = len(self.functions)
            self.functions.append(function)
            level = self.most(function)
            self.supply.append(self._integrate(level))
            self._highest.append(max(1.0, float(level.max())))
        return self._known[key]

    def most(self, function: Ints) -> Ints:
        """For every step of the capacity, the largest total weight of jobs that fit into it."""
        return self.filled(function, self.problem.free)

    def filled(self, function: Ints, rooms: Ints) -> Ints:
        """The largest total weight of jobs that fit into each of these numbers of processors."""
        unit = int(np.gcd.reduce(self.sizes))
        free = np.minimum(rooms, int((self.sizes * self._counts).sum())) // unit
        level: Ints = fill(self.sizes // unit, self._counts, function, int(free.max()))[free]
        return level

    def whole_worth(self, rows: list[tuple[int, int]]) -> Floats:
        """For each row, what a price of one makes of all that is ever there, through the bucket."""
        functions, buckets = np.array(rows, dtype=np.int64).T
        lengths = np.diff(self.grid).astype(float)
        worth: Floats = np.array(self._highest)[functions] * lengths[buckets]
        return worth

    def add_steps(self, parts: int) -> None:
        """Register the functions floor(m p / (c + 1)), m <= parts, for each level c of the
        capacity."""
        for level in np.unique(self.problem.free[self.problem.free > 0]).tolist():
            for multiple in range(2, parts + 1):
                function = self.sizes * multiple // (level + 1)
                if function.any():
                    self.add(function)

    def patterns(self, bucket: int) -> Patterns:
        """The patterns that fit somewhere in the bucket."""
        level = self._level_of(bucket)
        if level not in self.met:
            self.met[level] = Patterns(self.sizes, self._counts, level)
        return self.met[level]

    def _level_of(self, bucket: int) -> int:
        """The most that is ever free in the bucket."""
        first = np.searchsorted(self.problem.times, self.grid[bucket], side="right") - 1
        after = np.searchsorted(self.problem.times, self.grid[bucket + 1], side="left")
        return int(self.problem.free[first:after].max())

    def _integrate(self, level: Ints) -> Ints:
        """(B,) integrals over the buckets of a step function with the problem's breakpoints."""
        end = max(int(self.grid[-1]), int(self.problem.times[-1])) + 1
        times = np.append(self.problem.times, end)
        area = np.concatenate((np.zeros(1, np.int64), np.cumsum(level * np.diff(times))))
        step = np.searchsorted(times, self.grid, side="right") - 1
        upto = area[step] + level[step] * (self.grid - times[step])
        parts: Ints = np.diff(upto)
        return parts


def fill(sizes: Ints, counts: Ints, weights: Ints, capacity: int) -> Ints:
    """(capacity+1,) bounded knapsack: the best weight for each capacity."""
    best = np.zeros(capacity + 1, dtype=np.int64)
    for size, count, weight in zip(sizes.tolist(), counts.tolist(), weights.tolist(), strict=True):
        left = min(count, capacity // size)
        batch = 1
        while left > 0:
            take = min(batch, left)
            jump = take * size
            best[jump:] = np.maximum(best[jump:], best[: capacity + 1 - jump] + take * weight)
            left -= take
            batch *= 2
    return best


@dataclass(frozen=True)
class Duals:
    """Integer prices, ``scale`` to the unit of cost. ``lots``: (function, bucket, price) of a unit
    of weight for a second; ``charge`` (S, B): what that makes for a job of each distinct size;
    ``worth``: of all supply."""

    market: Market
    scale: int
    lots: list[tuple[int, int, int]]
    charge: Ints
    worth: int

    @classmethod
    def rounded(
        cls, market: Market, rows: list[tuple[int, int]], duals: Floats, scale: int
    ) -> Duals:
        """Duals from an LP's duals of (function, bucket) rows, negatives cut off, and what is too
        high for 64 bits."""
        charge = np.zeros((len(market.sizes), market.buckets), dtype=np.int64)
        worth = 0
        lots = []
        # Whatever prices are cut down to, what they certify is a bound.
        caps = DEAREST / len(rows) / market.whole_worth(rows) if rows else np.zeros(0)
        whole = np.clip(np.rint(duals * scale), 0, caps).astype(np.int64).tolist()
        for (function, bucket), price in zip(rows, whole, strict=True):
            if price:
                lots.append((function, bucket, price))
                charge[:, bucket] += price * market.functions[function]
                worth += price * int(market.supply[function][bucket])
        return cls(market, scale, lots, charge, worth)

    def window(self, size: int, duration: int, starts: Ints) -> Ints:
        """The price of [s, s+duration) for a job of that size, for each start."""
        row = self.market.row(size)
        return self.upto(row, starts + duration) - self.upto(row, starts)

    def until(self, instant: int) -> tuple[int, dict[int, int]]:
        """From 0 to the instant: the worth of all supply, and the price of running, by size."""
        points, rates, areas = self._supply
        step = bisect_right(points, instant) - 1
        worth = areas[step] + (rates[step] * (instant - points[step]) if step < len(rates) else 0)
        bucket = bisect_right(self.market.grid.tolist(), instant) - 1
        paid = self._paid[:, min(bucket, self.market.buckets)]
        if bucket < self.market.buckets:
            paid = paid + self.charge[:, bucket] * (instant - int(self.market.grid[bucket]))
        return worth, dict(zip(self.market.sizes.tolist(), paid.tolist(), strict=True))

    @cached_property
    def _paid(self) -> Ints:
        """(S, B+1) price from 0 to each grid point."""
        paid = np.zeros((self.charge.shape[0], self.charge.shape[1] + 1), dtype=np.int64)
        np.cumsum(self.charge * np.diff(self.market.grid), axis=1, out=paid[:, 1:])
        return paid

    def by_function(self, instants: Ints) -> Iterator[tuple[Ints, Ints]]:
        """For each function with a price: its weights, and what a unit costs from 0 to each of the
        instants."""
        grid = self.market.grid
        for function in sorted({lot[0] for lot in self.lots}):
            prices = np.zeros(self.market.buckets + 1, dtype=np.int64)
            for which, bucket, price in self.lots:
                if which == function:
                    prices[bucket] = price
            paid = np.concatenate((np.zeros(1, np.int64), np.cumsum(prices[:-1] * np.diff(grid))))
            where = np.searchsorted(grid, instants, side="right") - 1
            upto = paid[where] + prices[where] * (instants - grid[where])
            yield self.market.functions[function], upto

    def upto(self, row: int, instants: Ints) -> Ints:
        """The price of running from 0 to each instant, for the size of that row."""
        grid, paid = self.market.grid, self._paid[row]
        bucket = np.searchsorted(grid, instants, side="right") - 1
        inside = bucket < len(grid) - 1
        bucket = np.minimum(bucket, len(grid) - 2)
        partial = self.charge[row][bucket] * (instants - grid[bucket])
        upto: Ints = np.where(inside, paid[bucket] + partial, paid[-1])
        return upto

    @cached_property
    def _supply(self) -> tuple[list[int], list[int], list[int]]:
        """The worth of supply as a step function: points, rate from each to the next, area before
        each."""
        times, grid = self.market.problem.times, self.market.grid
        points = np.unique(np.concatenate((grid, times[times < grid[-1]])))
        step = np.searchsorted(times, points[:-1], side="right") - 1
        bucket = np.searchsorted(grid, points[:-1], side="right") - 1
        rates = np.zeros(len(points) - 1, dtype=np.int64)
        for function in sorted({lot[0] for lot in self.lots}):
            prices = np.zeros(self.market.buckets, dtype=np.int64)
            for which, where, price in self.lots:
                if which == function:
                    prices[where] = price
            rates += prices[bucket] * self.market.most(self.market.functions[function])[step]
        areas = np.concatenate((np.zeros(1, np.int64), np.cumsum(rates * np.diff(points))))
        return points.tolist(), rates.tolist(), areas.tolist()
