"""Lower bounds of one pool: feasible mixtures of jobs, prices of processors, and the linear
relaxation that yields these prices.

Lagrangian bounds: processors cost money, jobs buy the cheapest window. For any prices per
processor-second that are >= 0,

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
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from ..backends import PRIMAL_SIMPLEX, new_program, solve
from .problem import Floats, Group, Ints, PoolProblem

FINE = 10_000
ROUNDS = 40


class Patterns:
    """The patterns (sets of jobs that fit together) found so far at one level of capacity.

    The numbers of active jobs of each size, averaged over a bucket, should be a mixture of
    *patterns*. If they are not, a dual feasible function proves this: weights a >= 0 with a·pattern
    <= b for every pattern, but a·mixture > b. A small LP over patterns finds the weights; a
    knapsack adds patterns when needed.
    """

    def __init__(self, sizes: Ints, counts: Ints, capacity: int) -> None:
        unit = int(np.gcd.reduce(sizes))
        self.sizes = (sizes // unit).tolist()
        self.capacity = min(capacity // unit, int((sizes // unit * counts).sum()))
        self.counts = counts.tolist()
        self._lp: Any = None
        self._columns: list[Any] = []

    def separate(self, mixture: Floats) -> Ints | None:
        """Return a dual feasible function that the mixture violates, or None if every function
        allows the mixture.
        """
        program = self._prepare()
        for column, amount in zip(self._columns, mixture.tolist(), strict=True):
            program.Objective().SetCoefficient(column, amount)
        for _ in range(ROUNDS):
            if not solve(program):
                return None
            value = program.Objective().Value()
            if value <= 1.0 + 1e-4:
                return None
            weights = np.array([column.solution_value() for column in self._columns])
            most, pattern = self.heaviest(weights)
            if value > (1.0 + 1e-4) * most and (most <= 1.0 + 1e-7 or value > 1.02 * most):
                return _integral(weights / most)
            if most <= 1.0 + 1e-7:
                return None
            self._forbid(pattern)
        return None

    def heaviest(self, weights: Floats) -> tuple[float, list[int]]:
        """Return the pattern with the largest total weight."""
        best = np.zeros(self.capacity + 1)
        taken = []
        for size, count, weight in zip(self.sizes, self.counts, weights.tolist(), strict=True):
            grown = best
            choice = np.zeros(self.capacity + 1, dtype=np.int64)
            if weight > 1e-12:
                for number in range(1, min(count, self.capacity // size) + 1):
                    jump = number * size
                    other = best[: self.capacity + 1 - jump] + number * weight
                    better = other > grown[jump:] + 1e-12
                    if not better.any():
                        break
                    grown = grown.copy() if grown is best else grown
                    grown[jump:][better] = other[better]
                    choice[jump:][better] = number
            best = grown
            taken.append(choice)
        left, pattern = self.capacity, []
        for size, choice in zip(reversed(self.sizes), reversed(taken), strict=True):
            pattern.append(int(choice[left]))
            left -= pattern[-1] * size
        return float(best[self.capacity]), pattern[::-1]

    def _prepare(self) -> Any:
        if self._lp is None:
            self._lp = new_program()
            self._lp.Objective().SetMaximization()
            # A size larger than the capacity has weight 0 here, because its jobs cannot be active.
            fits = [size <= self.capacity for size in self.sizes]
            self._columns = [self._lp.NumVar(0.0, 1.0 if fit else 0.0, "") for fit in fits]
            for index, size in enumerate(self.sizes):
                most = min(self.counts[index], self.capacity // size)
                self._forbid([most if other == index else 0 for other in range(len(self.sizes))])
        return self._lp

    def _forbid(self, pattern: list[int]) -> None:
        row = self._lp.Constraint(-self._lp.infinity(), 1.0)
        for column, number in zip(self._columns, pattern, strict=True):
            if number:
                row.SetCoefficient(column, float(number))


def _integral(weights: Floats) -> Ints:
    """Return a multiple of the weights in integers, exact if their common denominator is small."""
    denominator = 1
    for weight in weights.tolist():
        denominator = np.lcm(denominator, Fraction(weight).limit_denominator(60).denominator)
        if denominator > FINE:
            break
    whole = np.rint(weights * denominator)
    if denominator <= FINE and np.allclose(whole, weights * denominator, atol=1e-6):
        return np.asarray(whole, dtype=np.int64)
    return np.asarray(np.rint(weights * FINE), dtype=np.int64)


#: Upper limit for the sum of all prices of a system, so that sums fit into 64 bits.
DEAREST = float(1 << 59)


class Market:
    """The capacity of the pool under each dual feasible function, on a grid of time buckets.

    ``grid`` (B+1,): bucket limits, ascending from 0. After its end capacity is free and unlimited.

    ``crowd``: a problem whose jobs include all jobs of this one; functions are then made for its
    sizes and counts, and the prices are valid for all problems within it.
    """

    def __init__(
        self,
        problem: PoolProblem,
        grid: Ints,
        crowd: PoolProblem | None = None,
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
        self.met: dict[int, Patterns] = {}

    def row(self, size: int) -> int:
        """Return the weights of one job size under all functions."""
        return self._row[size]

    @property
    def buckets(self) -> int:
        return len(self.grid) - 1

    def add(self, function: Ints) -> int:
        """Register a dual feasible function (one integer >= 0 per distinct size) and return its
        index.
        """
        key = tuple(function.tolist())
        if key not in self._known:
            self._known[key] = len(self.functions)
            self.functions.append(function)
            level = self.most(function)
            self.supply.append(self._integrate(level))
            self._highest.append(max(1.0, float(level.max())))
        return self._known[key]

    def most(self, function: Ints) -> Ints:
        """Return, for each step of the capacity, the largest total weight of jobs that fit into the
        step.
        """
        return self.filled(function, self.problem.free)

    def filled(self, function: Ints, rooms: Ints) -> Ints:
        """Return the largest total weight of jobs that fit into each of these numbers of
        processors.
        """
        unit = int(np.gcd.reduce(self.sizes))
        free = np.minimum(rooms, int((self.sizes * self._counts).sum())) // unit
        level: Ints = fill(self.sizes // unit, self._counts, function, int(free.max()))[free]
        return level

    def whole_worth(self, rows: list[tuple[int, int]]) -> Floats:
        """Return, for each row, the worth of the whole supply up to the end of the bucket at a
        price of one.
        """
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
        """Return the patterns that fit somewhere in the bucket."""
        # The largest number of processors free at any instant of the bucket.
        first = np.searchsorted(self.problem.times, self.grid[bucket], side="right") - 1
        after = np.searchsorted(self.problem.times, self.grid[bucket + 1], side="left")
        level = int(self.problem.free[first:after].max())
        if level not in self.met:
            self.met[level] = Patterns(self.sizes, self._counts, level)
        return self.met[level]

    def _integrate(self, level: Ints) -> Ints:
        """Return the integrals (B,) over the buckets of a step function with the problem's
        breakpoints.
        """
        end = max(int(self.grid[-1]), int(self.problem.times[-1])) + 1
        times = np.append(self.problem.times, end)
        area = np.concatenate((np.zeros(1, np.int64), np.cumsum(level * np.diff(times))))
        step = np.searchsorted(times, self.grid, side="right") - 1
        upto = area[step] + level[step] * (self.grid - times[step])
        parts: Ints = np.diff(upto)
        return parts


def fill(sizes: Ints, counts: Ints, weights: Ints, capacity: int) -> Ints:
    """Return the best total weight for each capacity (capacity + 1,), by a bounded knapsack."""
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
        """Return duals rounded to integers from the LP's duals of (function, bucket) rows; negative
        values become 0 and values too large for 64 bits are truncated.
        """
        charge = np.zeros((len(market.sizes), market.buckets), dtype=np.int64)
        worth = 0
        lots = []
        # Any truncated prices still certify a bound.
        caps = DEAREST / len(rows) / market.whole_worth(rows) if rows else np.zeros(0)
        whole = np.clip(np.rint(duals * scale), 0, caps).astype(np.int64).tolist()
        for (function, bucket), price in zip(rows, whole, strict=True):
            if price:
                lots.append((function, bucket, price))
                charge[:, bucket] += price * market.functions[function]
                worth += price * int(market.supply[function][bucket])
        return cls(market, scale, lots, charge, worth)

    def window(self, size: int, duration: int, starts: Ints) -> Ints:
        """Return the price of the window [s, s + duration) for a job of this size, for each start
        s.
        """
        row = self.market.row(size)
        return self.upto(row, starts + duration) - self.upto(row, starts)

    def until(self, instant: int) -> tuple[int, dict[int, int]]:
        """Return the worth of all supply from 0 to the instant, and the price of running until
        then, by size.
        """
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
        """Return the price (S, B+1) of running from 0 to each grid point, by size."""
        paid = np.zeros((self.charge.shape[0], self.charge.shape[1] + 1), dtype=np.int64)
        np.cumsum(self.charge * np.diff(self.market.grid), axis=1, out=paid[:, 1:])
        return paid

    def by_function(self, instants: Ints) -> Iterator[tuple[Ints, Ints]]:
        """Yield for each priced function its weights and the cost of a unit from 0 to each
        instant.
        """
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
        """Return the price of running from 0 to each instant, for the job size of this row."""
        grid, paid = self.market.grid, self._paid[row]
        bucket = np.searchsorted(grid, instants, side="right") - 1
        inside = bucket < len(grid) - 1
        bucket = np.minimum(bucket, len(grid) - 2)
        partial = self.charge[row][bucket] * (instants - grid[bucket])
        upto: Ints = np.where(inside, paid[bucket] + partial, paid[-1])
        return upto

    @cached_property
    def _supply(self) -> tuple[list[int], list[int], list[int]]:
        """Return the worth of supply as a step function: breakpoints, rate after each breakpoint,
        and area before each breakpoint.
        """
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


VIOLATED = 1e-4
#: The largest cost in the LP, and the largest cost in the second attempt after the solver failed.
LARGEST_COST = 1e9
MODEST_COST = 1e6
PEAKS = 6


@dataclass(frozen=True)
class PoolBound:
    """A certified bound: ``prices``, and for each group its candidate starts, the least price of
    one (own cost and window, in prices' scale) and what each costs above that. ``floor`` is the
    bound times the scale."""

    prices: Duals
    floor: int
    #: Candidate starts of each job, in seconds.
    starts: list[Ints]
    #: Minimum cost of each job, in SCALE per unit.
    least: list[int]
    #: Cost of each candidate start above the minimum.
    excess: list[Ints]
    #: Work of the linear programs that led to the prices, in simplex steps times rows.
    work: int = 0

    @property
    def value(self) -> int:
        """Return the least integer that is not below the bound."""
        return -((-self.floor) // self.prices.scale)


class CaseLoad(Protocol):
    """What starts load a row with that holds for some plans only."""

    def of(self, group: Group, starts: Ints) -> Ints:
        """Return the load of one job of the group, for each start."""


@dataclass(frozen=True, slots=True)
class Toll:
    """An integer price, at least 0, of a load that is at most ``limit``."""

    load: CaseLoad
    price: int
    limit: int


def certify(
    problem: PoolProblem,
    prices: Duals,
    candidates: list[Ints],
    tolls: Sequence[Toll] = (),
) -> PoolBound:
    """Return the exact bound of the prices and tolls over the candidate starts."""
    floor = -prices.worth - sum(toll.price * toll.limit for toll in tolls)
    least, excess = [], []
    for group, starts in zip(problem.groups, candidates, strict=True):
        window = prices.window(group.size, group.duration, starts)
        total = prices.scale * cost(group, starts) + window
        for toll in tolls:
            total += toll.price * toll.load.of(group, starts)
        least.append(int(total.min()))
        floor += group.count * least[-1]
        excess.append(total - least[-1])
    return PoolBound(prices, floor, candidates, least, excess)


def cost(group: Group, starts: Ints) -> Ints:
    """Return the contribution of one job of the group to the objective, for each start."""
    return group.weight * np.maximum(0, starts - group.due)


class Relaxation:
    """A linear program on one time grid, which grows by columns and rows.

    ``domains``: the starts each group may use, None: all. ``ceiling``: the price of omitting a job,
    above the price in any good plan: it keeps the LP feasible and its duals finite. Bounds are
    certified without the ceiling.

    The duals of the relaxation are good prices. Column and row generation (GLOP) solves it. A
    column is a group of jobs that starts at an instant; one row per group requires that the group
    is placed, one row per function and bucket that demand <= supply. Duals are constant in a
    bucket, so windows are cheapest at instants where they begin or end on the grid, and few columns
    suffice.
    """

    def __init__(
        self,
        market: Market,
        domains: list[Ints] | None,
        ceiling: int,
        scale: int,
        rows: Sequence[tuple[int, int]] = (),
    ) -> None:
        """Load the program.

        rows: (function, bucket) to begin with, in addition to those of the sizes themselves.

        scale: integer prices per unit of cost. failed: whether the LP solver gave up. solved:
        whether there is a solution.
        """
        self.market = market
        self._scale = scale
        # The tolerances of the LP solver are absolute, so costs are scaled into a range that suits
        # these tolerances.
        self._unit = 1.0 if ceiling <= LARGEST_COST else ceiling / LARGEST_COST
        self._ceiling = ceiling
        self.failed = self.solved = False
        self._work = 0
        self.groups = market.problem.groups
        self._grid = market.grid
        self._lengths = np.diff(market.grid).astype(float)
        self._alone = [int(market.problem.alone[g.members[0]]) for g in self.groups]
        self.candidates = [
            self._every_start(index) if domains is None else domains[index]
            for index in range(len(self.groups))
        ]
        self._starts = [self._first_starts(index) for index in range(len(self.groups))]
        whole = market.add(market.sizes.copy())
        always = [(whole, bucket) for bucket in range(market.buckets)]
        self._rows = list(dict.fromkeys([*always, *rows]))
        self._lp = self._load(ceiling)
        variables = self._lp.variables()
        self._columns: list[list[Any]] = []
        for starts in self._starts:
            self._columns.append(variables[: len(starts)])
            variables = variables[len(starts) :]
        constraints = self._lp.constraints()
        self._placed = constraints[: len(self.groups)]
        self._caps = constraints[len(self.groups) :]

    def _every_start(self, index: int) -> Ints:
        """Return starts that contain a cheapest start under any prices on the grid."""
        group, first = self.groups[index], self._alone[index]
        points = np.concatenate((self._grid, self._grid - group.duration, [first, group.due]))
        return np.unique(points[points >= first])

    def _first_starts(self, index: int) -> Ints:
        """Return all candidate starts, or, if there are many, the candidates whose windows begin or
        end nearest to grid points.
        """
        every = self.candidates[index]
        if len(every) <= 2 * self.market.buckets:
            return every
        picks = np.concatenate((self._grid, self._grid - self.groups[index].duration))
        near = np.searchsorted(every, picks)
        both = np.unique(np.concatenate((near, near - 1)))
        return every[both[(both >= 0) & (both < len(every))]]

    def _load(self, ceiling: int) -> Any:
        """Load the first LP in one call, which is much faster than coefficient by coefficient."""
        from ortools.linear_solver import linear_solver_pb2

        model = linear_solver_pb2.MPModelProto()
        columns, buckets, shares, sizes = [], [], [], []
        before = 0
        for index, (group, starts) in enumerate(zip(self.groups, self._starts, strict=True)):
            for price in self._prices(group, starts):
                model.variable.add(lower_bound=0.0, objective_coefficient=price)
            column, bucket, share = self._coverage(index, starts)
            columns.append(column + before)
            buckets.append(bucket)
            shares.append(share)
            sizes.append(np.full(len(share), self.market.row(group.size)))
            before += len(starts)
        for _ in self.groups:
            model.variable.add(lower_bound=0.0, objective_coefficient=ceiling / self._unit)
        first = 0
        for index, (group, starts) in enumerate(zip(self.groups, self._starts, strict=True)):
            row = model.constraint.add(lower_bound=group.count, upper_bound=group.count)
            row.var_index.extend([*range(first, first + len(starts)), before + index])
            row.coefficient.extend([1.0] * (len(starts) + 1))
            first += len(starts)
        where = np.concatenate(buckets)
        order = np.argsort(where, kind="stable")
        limits = np.searchsorted(where[order], np.arange(self.market.buckets + 1)).tolist()
        column, share, size = (np.concatenate(part)[order] for part in (columns, shares, sizes))
        for function, number in self._rows:
            part = slice(limits[number], limits[number + 1])
            weight = share[part] * self.market.functions[function][size[part]]
            limit = model.constraint.add(upper_bound=self._supply((function, number)))
            limit.var_index.extend(column[part][weight > 0].tolist())
            limit.coefficient.extend(weight[weight > 0].tolist())
        program = new_program()
        program.LoadModelFromProto(model)
        return program

    def _prices(self, group: Group, starts: Ints) -> list[float]:
        """Return the costs for the LP; a start that costs more than leaving the job out is never
        chosen.
        """
        capped: list[int] = np.minimum(cost(group, starts), self._ceiling).tolist()
        return [price / self._unit for price in capped]

    def _coverage(self, index: int, starts: Ints) -> tuple[Ints, Ints, Floats]:
        """Return the coverage of windows as parallel arrays: position of the start, bucket, share
        of the bucket.
        """
        ends = starts + self.groups[index].duration
        first = np.searchsorted(self._grid, starts, side="right") - 1
        after = np.searchsorted(self._grid, ends, side="left")
        counts = np.maximum(0, np.minimum(after, self.market.buckets) - first)
        position = np.repeat(np.arange(len(starts)), counts)
        offset = np.arange(len(position)) - np.repeat(np.cumsum(counts) - counts, counts)
        bucket = np.repeat(first, counts) + offset
        begin = np.maximum(starts[position], self._grid[bucket])
        end = np.minimum(ends[position], self._grid[bucket + 1])
        return position, bucket, (end - begin) / self._lengths[bucket]

    def _supply(self, row: tuple[int, int]) -> float:
        function, bucket = row
        return float(self.market.supply[function][bucket] / self._lengths[bucket])

    def _add_starts(self, index: int, starts: Ints) -> int:
        fresh = starts[~np.isin(starts, self._starts[index])]
        group = self.groups[index]
        columns = []
        for price in self._prices(group, fresh):
            column = self._lp.NumVar(0.0, self._lp.infinity(), "")
            self._lp.Objective().SetCoefficient(column, price)
            self._placed[index].SetCoefficient(column, 1.0)
            columns.append(column)
        by_bucket: dict[int, list[tuple[Any, float]]] = {}
        size = self.market.row(group.size)
        for (function, bucket), cap in zip(self._rows, self._caps, strict=True):
            weight = float(self.market.functions[function][size])
            if weight:
                by_bucket.setdefault(bucket, []).append((cap, weight))
        entries = (array.tolist() for array in self._coverage(index, fresh))
        for position, bucket, share in zip(*entries, strict=True):
            for cap, weight in by_bucket.get(bucket, ()):
                cap.SetCoefficient(columns[position], weight * share)
        self._starts[index] = np.concatenate((self._starts[index], fresh))
        self._columns[index].extend(columns)
        return len(columns)

    def _add_rows(self, rows: list[tuple[int, int]]) -> None:
        caps: dict[int, list[tuple[int, Any]]] = {}
        for function, bucket in rows:
            cap = self._lp.Constraint(-self._lp.infinity(), self._supply((function, bucket)))
            self._rows.append((function, bucket))
            self._caps.append(cap)
            caps.setdefault(bucket, []).append((function, cap))
        touched = np.zeros(self.market.buckets, dtype=bool)
        touched[list(caps)] = True
        for index, (starts, columns) in enumerate(zip(self._starts, self._columns, strict=True)):
            size = self.market.row(self.groups[index].size)
            coverage = self._coverage(index, starts)
            kept = touched[coverage[1]]
            entries = (array[kept].tolist() for array in coverage)
            for which, bucket, part in zip(*entries, strict=True):
                for function, cap in caps[bucket]:
                    weight = int(self.market.functions[function][size])
                    if weight:
                        cap.SetCoefficient(columns[which], weight * part)

    def solve(self, rounds: int = 20) -> Iterator[PoolBound]:
        """Solve with column generation: a bound for each round, until no start is missing."""
        for last in range(rounds, 0, -1):
            if not self._solved():
                self.failed = True
                if last == rounds:  # Without prices, the costs of the jobs alone are a bound.
                    free = Duals.rounded(
                        self.market, self._rows, np.zeros(len(self._rows)), self._scale
                    )
                    yield certify(self.market.problem, free, self.candidates)
                return
            prices = Duals.rounded(self.market, self._rows, self._duals(), self._scale)
            bound = replace(certify(self.market.problem, prices, self.candidates), work=self._work)
            # The solution is read before the model changes, because the LP interface discards it at
            # the first change.
            beliefs = [placed.dual_value() * self._unit * self._scale for placed in self._placed]
            yield bound
            if last == 1 or not sum(
                self._add_cheap(index, belief, bound) for index, belief in enumerate(beliefs)
            ):
                return

    def _solved(self) -> bool:
        """Solve the LP; if the solver fails, solve once more with smaller costs."""
        self.solved = solve(self._lp, PRIMAL_SIMPLEX)
        self._work += self._lp.iterations() * self._lp.NumConstraints()
        if self.solved:
            return True
        smaller = self._ceiling / self._unit / MODEST_COST
        if smaller <= 1:
            return False
        self._unit *= smaller
        aim = self._lp.Objective()
        for variable in self._lp.variables():
            aim.SetCoefficient(variable, aim.GetCoefficient(variable) / smaller)
        self.solved = solve(self._lp, PRIMAL_SIMPLEX)
        return self.solved

    def _duals(self) -> Floats:
        duals = -np.array([cap.dual_value() for cap in self._caps], dtype=float)
        return np.asarray(self._unit * duals / self._lengths[[bucket for _, bucket in self._rows]])

    def _add_cheap(self, index: int, belief: float, bound: PoolBound) -> int:
        """Add the starts with the lowest reduced costs (local minima) as columns."""
        group = self.groups[index]
        gain = belief - bound.least[index] - bound.excess[index]
        rounding = 1e-6 * abs(belief) + 4.0 * group.duration * group.size
        padded = np.concatenate(([-np.inf], gain, [-np.inf]))
        peaks = np.flatnonzero((gain > rounding) & (gain >= padded[:-2]) & (gain >= padded[2:]))
        best = peaks[np.argsort(-gain[peaks], kind="stable")[:PEAKS]]
        return self._add_starts(index, bound.starts[index][np.sort(best)]) if len(best) else 0

    def activity(self) -> Floats:
        """Return the number (S, B) of jobs of each size active in each bucket, in the LP's
        solution.
        """
        level = np.zeros((len(self.market.sizes), self.market.buckets))
        for index, (starts, columns) in enumerate(zip(self._starts, self._columns, strict=True)):
            amounts = np.array([column.solution_value() for column in columns])
            used = np.flatnonzero(amounts > 1e-9)
            position, bucket, share = self._coverage(index, starts[used])
            row = level[self.market.row(self.groups[index].size)]
            np.add.at(row, bucket, share * amounts[used][position])
        return level

    def separate(self) -> Iterator[int]:
        """Add rows that the LP's solution violates, at most one per bucket; the last value yielded
        is the number of rows.

        Known functions are tried first; where none is violated, one is looked for. Yields 0 in
        between.
        """
        activity = self.activity()
        rows = self._violated(activity)
        settled = {bucket for _, bucket in rows}
        before = len(self.market.functions)
        for bucket in range(self.market.buckets):
            if bucket not in settled:
                function = self.market.patterns(bucket).separate(activity[:, bucket])
                if function is not None:
                    self.market.add(function)
            if bucket % 20 == 19:
                yield 0
        if len(self.market.functions) > before:
            rows += [row for row in self._violated(activity, before) if row[1] not in settled]
        self._add_rows(rows)
        yield len(rows)

    def _violated(self, activity: Floats, since: int = 0) -> list[tuple[int, int]]:
        """Return, for each bucket, the most violated of the known functions from index ``since``
        on.
        """
        market = self.market
        demand = np.array(market.functions[since:], dtype=float) @ activity
        supply = np.array(market.supply[since:], dtype=float) / self._lengths
        violation = (demand - supply) / np.maximum(1e-9, supply)
        worst = violation.argmax(axis=0)
        known = set(self._rows)
        exceeded = violation[worst, np.arange(market.buckets)] > VIOLATED
        rows = [(since + int(worst[bucket]), int(bucket)) for bucket in np.flatnonzero(exceeded)]
        return [row for row in rows if row not in known]


class Incumbent:
    """The best plan found so far (``starts`` with the objective ``value``) and a lower bound
    (``bound``); the callback ``changed`` is called when either improves.
    """

    def __init__(self, problem: PoolProblem, starts: Ints, bound: int) -> None:
        self.problem = problem
        self.starts = starts
        self.value = problem.value(starts)
        self.bound = min(bound, self.value)
        self.changed: Callable[[], None] = lambda: None

    @property
    def proved(self) -> bool:
        return self.bound >= self.value

    @property
    def last(self) -> int:
        """Return the last start of the best plan."""
        return int(self.starts.max())

    def offer(self, starts: Ints) -> bool:
        """Replace the best plan by this plan if this plan has a lower value."""
        value = self.problem.value(starts)
        if value >= self.value:
            return False
        self.starts, self.value = starts, value
        self.changed()
        return True

    def raise_bound(self, bound: int) -> None:
        """Raise the lower bound if this bound is higher, but never above the value of the best
        plan, which is optimal once the two are equal.
        """
        bound = min(bound, self.value)
        if bound > self.bound:
            self.bound = bound
            self.changed()


def posted(incumbent: Incumbent, bounds: Iterator[PoolBound | None]) -> Iterator[PoolBound | None]:
    """Pass each bound of an iterator on to the incumbent as soon as it arrives."""
    for bound in bounds:
        if bound is not None:
            incumbent.raise_bound(bound.value)
        yield bound
