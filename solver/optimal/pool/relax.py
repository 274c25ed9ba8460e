"""The linear relaxation whose duals are good prices, by column and row generation (GLOP).

Columns: a group of jobs starting at an instant. Rows: each group is placed; for weighings and
buckets, demand <= supply. The prices on the grid of buckets are constant, so windows are
cheapest at instants
where they begin or end on the grid: few columns suffice.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count, repeat
from typing import Any

import numpy as np

from .prices import Market, Prices
from .problem import Floats, Group, Ints, PoolProblem

SCALE = 1 << 16


@dataclass(frozen=True)
class Bound:
    """A certified bound: ``prices``, and for each group its candidate starts and their reduced
    costs (in prices' scale) above ``floor`` = the bound times scale."""

    prices: Prices
    floor: int
    starts: list[Ints]
    least: list[int]
    excess: list[Ints]

    @property
    def value(self) -> int:
        """The least integer not below the bound."""
        return -((-self.floor) // self.prices.scale)


def cost(group: Group, starts: Ints) -> Ints:
    """The objective's share of one job of the group, for each start."""
    return group.weight * np.maximum(0, starts - group.due)


class Relaxation:
    """One LP on one grid, growing."""

    def __init__(self, market: Market, domains: list[Ints] | None, ceiling: int) -> None:
        from ortools.linear_solver import pywraplp

        self.market = market
        self.problem: PoolProblem = market.problem
        self.groups = self.problem.groups
        self.domains = domains
        self._alone = [int(self.problem.alone[g.members[0]]) for g in self.groups]
        self._lp: Any = pywraplp.Solver.CreateSolver("GLOP")
        self._placed = [self._lp.Constraint(g.count, g.count) for g in self.groups]
        self._rows: list[tuple[int, int]] = []
        self._caps: list[Any] = []
        self._columns: list[dict[int, Any]] = [{} for _ in self.groups]
        self._objective = self._lp.Objective()
        self._objective.SetMinimization()
        energy = market.add(market.sizes.copy())
        for bucket in range(market.buckets):
            self._add_row(energy, bucket)
        for index in range(len(self.groups)):
            self._add_columns(index, self._first_columns(index))
        # Leaving a job out at a price that no good plan pays keeps the LP feasible and its duals
        # finite.
        # The bound is certified without it.
        for placed in self._placed:
            column = self._lp.NumVar(0.0, self._lp.infinity(), "")
            self._objective.SetCoefficient(column, float(ceiling))
            placed.SetCoefficient(column, 1.0)

    # --- columns -------------------------------------------------------------------------------

    def candidates(self, index: int) -> Ints:
        """Starts among which every price system on the grid has a cheapest one."""
        group, grid = self.groups[index], self.market.grid
        if self.domains is not None:
            return self.domains[index]
        points = np.concatenate((grid, grid - group.duration, [self._alone[index], group.due]))
        return np.unique(points[points >= self._alone[index]])

    def _first_columns(self, index: int) -> Ints:
        every = self.candidates(index)
        limit = 2 * self.market.buckets
        if len(every) <= limit:
            return every
        picks = np.concatenate((self.market.grid, self.market.grid - self.groups[index].duration))
        near = np.searchsorted(every, picks)
        both = np.concatenate((near, near - 1))
        return every[np.unique(both[(both >= 0) & (both < len(every))])]

    def _add_columns(self, index: int, starts: Ints) -> int:
        group, known = self.groups[index], self._columns[index]
        fresh = [start for start in starts.tolist() if start not in known]
        costs = cost(group, np.array(fresh, dtype=np.int64)).tolist()
        infinity = self._lp.infinity()
        for start, price in zip(fresh, costs, strict=True):
            column = self._lp.NumVar(0.0, infinity, "")
            known[start] = column
            self._objective.SetCoefficient(column, float(price))
            self._placed[index].SetCoefficient(column, 1.0)
        if fresh:
            self._fill(index, fresh, range(len(self._rows)))
        return len(fresh)

    def _fill(self, index: int, starts: list[int], rows: range) -> None:
        """Coefficients of a group's columns in some of the capacity rows."""
        group, grid = self.groups[index], self.market.grid
        size_row = self.market.row(group.size)
        begin = np.array(starts, dtype=np.int64)
        columns = [self._columns[index][start] for start in starts]
        first = np.searchsorted(grid, begin, side="right") - 1
        last = np.searchsorted(grid, begin + group.duration, side="left")
        by_bucket = self._rows_of_bucket(rows)
        for column, start, low, high in zip(
            columns, starts, first.tolist(), last.tolist(), strict=True
        ):
            for bucket in range(low, min(high, self.market.buckets)):
                entries = by_bucket.get(bucket)
                if not entries:
                    continue
                end = min(int(grid[bucket + 1]), start + group.duration)
                overlap = end - max(int(grid[bucket]), start)
                for weighing, cap, length in entries:
                    weight = int(self.market.weighings[weighing][size_row])
                    if weight:
                        cap.SetCoefficient(column, weight * overlap / length)

    def _rows_of_bucket(self, rows: range) -> dict[int, list[tuple[int, Any, float]]]:
        found: dict[int, list[tuple[int, Any, float]]] = {}
        lengths = np.diff(self.market.grid).astype(float).tolist()
        for row in rows:
            weighing, bucket = self._rows[row]
            found.setdefault(bucket, []).append((weighing, self._caps[row], lengths[bucket]))
        return found

    # --- rows ----------------------------------------------------------------------------------

    def _add_row(self, weighing: int, bucket: int) -> None:
        length = int(self.market.grid[bucket + 1] - self.market.grid[bucket])
        supply = int(self.market.supply[weighing][bucket]) / length
        self._rows.append((weighing, bucket))
        self._caps.append(self._lp.Constraint(-self._lp.infinity(), supply))

    def add_rows(self, rows: list[tuple[int, int]]) -> None:
        """More (weighing, bucket) rows over all columns there are."""
        before = len(self._rows)
        for weighing, bucket in rows:
            self._add_row(weighing, bucket)
        for index, known in enumerate(self._columns):
            if known:
                self._fill(index, list(known), range(before, len(self._rows)))

    # --- solving -------------------------------------------------------------------------------

    def solve(self, rounds: int = 30) -> Bound | None:
        """Solve, with column generation; None if the LP solver gives up."""
        bound = None
        for last in range(rounds, 0, -1):
            if self._lp.Solve() != self._lp.OPTIMAL:
                return None
            bound = self._certify()
            # Read before the model changes: the LP interface forgets its solution then.
            duals = [placed.dual_value() for placed in self._placed]
            if last == 1 or not sum(map(self._add_cheap, count(), duals, repeat(bound))):
                break
        return bound

    def _certify(self) -> Bound:
        lengths = np.diff(self.market.grid).astype(float)
        duals = -np.array([cap.dual_value() for cap in self._caps], dtype=float)
        duals /= lengths[[bucket for _, bucket in self._rows]]
        prices = Prices.rounded(self.market, self._rows, duals, SCALE)
        return certify(self.problem, prices, [self.candidates(i) for i in range(len(self.groups))])

    def _add_cheap(self, index: int, dual: float, bound: Bound) -> int:
        """Add starts that are cheaper than the LP believes possible: the local minima."""
        dual *= SCALE
        group = self.groups[index]
        gain = dual - bound.least[index] - bound.excess[index]
        rounding = 1e-6 * abs(dual) + 4.0 * group.duration * group.size
        padded = np.concatenate(([-np.inf], gain, [-np.inf]))
        peaks = np.flatnonzero((gain > rounding) & (gain >= padded[:-2]) & (gain >= padded[2:]))
        best = peaks[np.argsort(-gain[peaks], kind="stable")[:6]]
        return self._add_columns(index, bound.starts[index][best])

    def activity(self) -> Floats:
        """(S, B) the number of jobs of each size active in each bucket, in the LP's solution."""
        grid = self.market.grid
        level = np.zeros((len(self.market.sizes), self.market.buckets))
        lengths = np.diff(grid).astype(float)
        for group, known in zip(self.groups, self._columns, strict=True):
            row = level[self.market.row(group.size)]
            for start, column in known.items():
                amount = column.solution_value()
                if amount > 1e-9:
                    overlap = np.minimum(grid[1:], start + group.duration) - np.maximum(
                        grid[:-1], start
                    )
                    row += amount * np.maximum(0, overlap) / lengths
        return level

    def separate(self) -> int:
        """Add rows that the LP's solution violates, at most one a bucket; their number.

        Known weighings are tried first; where none is violated, one is looked for.
        """
        activity = self.activity()
        rows = self._violated(activity)
        settled = {bucket for _, bucket in rows}
        before = len(self.market.weighings)
        for bucket in range(self.market.buckets):
            if bucket not in settled:
                patterns = self.market.patterns(bucket)
                weighing = patterns.separate(activity[:, bucket])
                if weighing is not None:
                    self.market.add(weighing)
        if len(self.market.weighings) > before:
            rows += [row for row in self._violated(activity, before) if row[1] not in settled]
        self.add_rows(rows)
        return len(rows)

    def _violated(self, activity: Floats, since: int = 0) -> list[tuple[int, int]]:
        """For each bucket the most violated of the known weighings from ``since`` on."""
        market = self.market
        lengths = np.diff(market.grid).astype(float)
        demand = np.array(market.weighings[since:], dtype=float) @ activity
        supply = np.array(market.supply[since:], dtype=float) / lengths
        violation = (demand - supply) / np.maximum(1e-9, supply)
        worst = violation.argmax(axis=0)
        known = set(self._rows)
        buckets = np.flatnonzero(violation[worst, np.arange(market.buckets)] > 1e-4).tolist()
        rows = [(since + int(worst[bucket]), bucket) for bucket in buckets]
        return [row for row in rows if row not in known]


def certify(problem: PoolProblem, prices: Prices, candidates: list[Ints]) -> Bound:
    """The exact value of the prices' bound over the candidate starts."""
    floor = -prices.worth
    least, excess = [], []
    for group, starts in zip(problem.groups, candidates, strict=True):
        total = prices.scale * cost(group, starts) + prices.window(
            group.size, group.duration, starts
        )
        least.append(int(total.min()))
        floor += group.count * least[-1]
        excess.append(total - least[-1])
    return Bound(prices, floor, candidates, least, excess)
