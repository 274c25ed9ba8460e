"""One linear program for many cases of one problem: rows and columns stay, limits change."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np

from ..backends import RESTART_DUAL, RESTART_PRIMAL, solve
from .bounds import DEAREST, CaseLoad, Duals, PoolBound, Relaxation, Toll, certify
from .order_cases import OrderCase, SizeClass
from .problem import Floats, Group, Ints

#: Number of starts that the program begins with, those of the lowest reduced cost.
COLUMNS = 4000
#: Starts are added if their absence weakens a bound by more than this share.
WEAKENED = 2e-3


class CaseProgram(Relaxation):
    """The relaxation of a problem on the grid of a bound, with that bound's rows.

    Between cases the bounds of columns and rows change, so the dual simplex continues from the last
    basis. Starts that no plan better than ``value`` can use are removed: a case
    of only worse plans has a bound above its true one.
    """

    def __init__(self, bound: PoolBound, value: int) -> None:
        market = bound.prices.market
        problem = market.problem
        spare = (value - 1) * bound.prices.scale - bound.floor
        domains, reduced = [], []
        for group, starts, excess in zip(problem.groups, bound.starts, bound.excess, strict=True):
            useful = np.flatnonzero(excess <= spare)
            useful = useful[_extremes(starts[useful], _kinks(market.grid, group))]
            domains.append(starts[useful])
            reduced.append(excess[useful])
        #: Whether no plan is better than the value.
        self.empty = min(map(len, domains)) == 0
        if self.empty:
            return
        every = np.concatenate(reduced)
        most = np.partition(every, COLUMNS)[COLUMNS] if len(every) > COLUMNS else spare
        self._cheap: list[Ints] = [
            starts[excess <= max(most, excess.min())]
            for starts, excess in zip(domains, reduced, strict=True)
        ]
        rows = [(function, bucket) for function, bucket, _ in bound.prices.lots]
        super().__init__(market, domains, 10 * value + 10, problem.scale, rows)
        self._open = [np.ones(len(starts), dtype=bool) for starts in self._starts]
        self._loads: dict[CaseLoad, Any] = {}

    def bound_of(self, case: OrderCase) -> PoolBound | None:
        """Return a certified bound of the case, or None if it has no plan better than the value."""
        kept = [
            starts[case.allowed(group, starts)]
            for group, starts in zip(self.groups, self.candidates, strict=True)
        ]
        if min(map(len, kept)) == 0 or min(case.unused.values(), default=0) < 0:
            return None
        self._restrict(case)
        bound = self._certified(case, kept)
        lacking = self._lp.Objective().Value() * self._unit - bound.value if self.solved else 0
        if lacking > WEAKENED * bound.value and self._add_missing(bound):
            again = self._certified(case, kept, RESTART_PRIMAL)
            bound = max(bound, again, key=lambda bound: bound.floor)
        return bound

    def sharpened(self, case: OrderCase) -> PoolBound | None:
        """Return a bound of the case after rows that its solution violates are added, None if there
        are none. The rows hold for all cases.
        """
        self.bound_of(case)
        if not self.solved or not deque(self.separate(), maxlen=1)[-1]:
            return None
        return self.bound_of(case)

    def _certified(
        self, case: OrderCase, kept: list[Ints], simplex: str = RESTART_DUAL
    ) -> PoolBound:
        """Return the bound by the prices of the program as it is."""
        self.solved = solve(self._lp, simplex) or self._solved()
        duals = self._duals() if self.solved else np.zeros(len(self._rows))
        prices = Duals.rounded(self.market, self._rows, duals, self._scale)
        tolls = self._tolls(case) if self.solved else []
        return certify(self.market.problem, prices, kept, tolls)

    def _add_missing(self, bound: PoolBound) -> int:
        """Add the cheapest starts by the prices of a bound, and return their number."""
        factor = self._unit * self._scale
        beliefs = [placed.dual_value() * factor for placed in self._placed]
        return sum(self._add_cheap(index, belief, bound) for index, belief in enumerate(beliefs))

    def _first_starts(self, index: int) -> Ints:
        """Return the candidates of the lowest reduced cost."""
        return self._cheap[index]

    def _add_starts(self, index: int, starts: Ints) -> int:
        """Add columns, with their loads in all rows."""
        before = len(self._starts[index])
        added = super()._add_starts(index, starts)
        fresh = self._starts[index][before:]
        for load, row in self._loads.items():
            loads = load.of(self.groups[index], fresh)
            for which in np.flatnonzero(loads).tolist():
                row.SetCoefficient(self._columns[index][before + which], float(loads[which]))
        self._open[index] = np.append(self._open[index], np.ones(len(fresh), dtype=bool))
        return added

    def begun(self, jobs: SizeClass) -> tuple[Ints, Floats]:
        """Return the instants at which the solution starts jobs of a class, and how many have
        started up to each of them.
        """
        starts, amounts = [], []
        for index, group in enumerate(self.groups):
            if jobs.has(group):
                for which in np.flatnonzero(self._open[index]).tolist():
                    amount = self._columns[index][which].solution_value()
                    if amount > 1e-7:
                        starts.append(int(self._starts[index][which]))
                        amounts.append(amount)
        order = np.argsort(starts, kind="stable")
        return np.array(starts, dtype=np.int64)[order], np.cumsum(np.array(amounts)[order])

    def _restrict(self, case: OrderCase) -> None:
        """Open the columns that the case allows, and limit the loads that it limits."""
        infinity = self._lp.infinity()
        for index, group in enumerate(self.groups):
            wanted = case.allowed(group, self._starts[index])
            for which in np.flatnonzero(wanted != self._open[index]).tolist():
                self._columns[index][which].SetUb(infinity if wanted[which] else 0.0)
            self._open[index] = wanted
        for load, row in self._loads.items():
            if load not in case.limits:
                row.SetUb(infinity)
        for load, limit in case.limits.items():
            if load not in self._loads:
                self._loads[load] = self._new_row(load)
            self._loads[load].SetUb(float(limit))

    def _new_row(self, load: CaseLoad) -> Any:
        """Add the row of a load; omitted jobs are no load."""
        row = self._lp.Constraint(-self._lp.infinity(), self._lp.infinity())
        for index, group in enumerate(self.groups):
            loads = load.of(group, self._starts[index])
            for which in np.flatnonzero(loads).tolist():
                row.SetCoefficient(self._columns[index][which], float(loads[which]))
        return row

    def _tolls(self, case: OrderCase) -> list[Toll]:
        """Return the LP's prices of the loads, truncated to fit into 64 bits."""
        highest = DEAREST / max(1, len(case.limits)) / float(self.market.sizes[-1])
        found = []
        for load, limit in case.limits.items():
            price = -self._loads[load].dual_value() * self._unit * self._scale
            found.append(Toll(load, int(min(highest, max(0.0, price))), limit))
        return found


def _kinks(grid: Ints, group: Group) -> Ints:
    """Return the starts between which the price and the cost of a job of the group are linear."""
    return np.concatenate((grid, grid - group.duration, [group.due]))


def _extremes(starts: Ints, points: Ints) -> Ints:
    """Return the indices of the first and the last of the starts between any two neighbours of the
    points, and of those at the points, between which prices are linear.
    """
    if len(starts) <= 2 * len(points):
        return np.arange(len(starts))
    near = np.searchsorted(starts, points)
    after = np.searchsorted(starts, points, side="right")
    picks = np.unique(np.concatenate((near - 1, near, after, [0, len(starts) - 1])))
    return picks[(picks >= 0) & (picks < len(starts))]
