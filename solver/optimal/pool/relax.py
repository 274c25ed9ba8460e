"""The linear relaxation whose duals are good prices, by column and row generation (GLOP).

Columns: a group of jobs starting at an instant. Rows: each group is placed; for functions and
buckets, demand <= supply. Duals are constant in a bucket, so windows are cheapest at instants
where they begin or end on the grid: few columns suffice.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..linear_program import DUAL_SIMPLEX, PRIMAL_SIMPLEX, new_program, solve
from .duals import Duals, Market
from .problem import Floats, Group, Ints, PoolProblem

VIOLATED = 1e-4
#: The largest cost in the LP, and the largest after it could not be solved.
LARGEST_COST = 1e9
MODEST_COST = 1e6
PEAKS = 6
#: Starts to begin with where prices tell which are cheap: of all groups together, and of each.
FIRST_COLUMNS, LEAST_COLUMNS = 6000, 30


@dataclass(frozen=True)
class PoolBound:
    """A certified bound: ``prices``, and for each group its candidate starts, the least price of
    one (own cost and window, in prices' scale) and what each costs above that. ``floor`` is the
    bound times the scale."""

    prices: Duals
    floor: int
    starts: list[Ints]
    least: list[int]
    excess: list[Ints]

    @property
    def value(self) -> int:
        """The least integer not below the bound."""
        return -((-self.floor) // self.prices.scale)


@dataclass(frozen=True, slots=True)
class Count:
    """Of the jobs of these groups (by index), `least` to `most` start before an instant."""

    groups: frozenset[int]
    instant: int
    least: int
    most: int


def certify(
    problem: PoolProblem,
    prices: Duals,
    candidates: list[Ints],
    counts: Sequence[tuple[Count, int]] = (),
) -> PoolBound:
    """The exact value of the prices' bound over the candidate starts.

    counts: with the price of each, in the prices' scale: what a start before its instant is paid.
    It is a bound of the plans that keep to all counts.
    """
    floor = -prices.worth
    floor += sum(price * (count.least if price > 0 else count.most) for count, price in counts)
    least, excess = [], []
    for index, (group, starts) in enumerate(zip(problem.groups, candidates, strict=True)):
        window = prices.window(group.size, group.duration, starts)
        total = prices.scale * cost(group, starts) + window
        for count, price in counts:
            if index in count.groups:
                total -= price * (starts < count.instant)
        least.append(int(total.min()))
        floor += group.count * least[-1]
        excess.append(total - least[-1])
    return PoolBound(prices, floor, candidates, least, excess)


def cost(group: Group, starts: Ints) -> Ints:
    """The objective's share of one job of the group, for each start."""
    return group.weight * np.maximum(0, starts - group.due)


class Relaxation:
    """One LP on one grid, growing.

    ``domains``: the starts each group may use; None for all. ``ceiling``: the price of leaving a
    job out, above what any good plan pays: keeps the LP feasible and its duals finite. Bounds are
    certified without it.
    """

    def __init__(
        self,
        market: Market,
        domains: list[Ints] | None,
        ceiling: int,
        scale: int,
        counts: Sequence[Count] = (),
        guide: Duals | None = None,
    ) -> None:
        """scale: of prices, how many make one of cost. guide: prices by which starts are cheap
        that are likely to be used. failed: the LP solver gave up."""
        self.market = market
        self._counts: tuple[Count, ...] = ()
        self._scale = scale
        # The LP solver's tolerances are absolute: its costs are kept within a range that suits it.
        self._unit = 1.0 if ceiling <= LARGEST_COST else ceiling / LARGEST_COST
        self._ceiling = ceiling
        self.failed = False
        self.groups = market.problem.groups
        self._grid = market.grid
        self._lengths = np.diff(market.grid).astype(float)
        self._alone = [int(market.problem.alone[g.members[0]]) for g in self.groups]
        self.candidates = [
            self._every_start(index) if domains is None else domains[index]
            for index in range(len(self.groups))
        ]
        self._guide = guide
        self._starts = [self._first_starts(index) for index in range(len(self.groups))]
        whole = market.add(market.sizes.copy())
        self._rows = [(whole, bucket) for bucket in range(market.buckets)]
        if guide is not None:
            self._rows += [row for row in self._rows_like(guide) if row[0] != whole]
        self._lp = self._load(ceiling)
        self._simplex = PRIMAL_SIMPLEX
        self._grown = False
        variables = self._lp.variables()
        self._columns: list[list[Any]] = []
        for starts in self._starts:
            self._columns.append(variables[: len(starts)])
            variables = variables[len(starts) :]
        constraints = self._lp.constraints()
        self._placed = constraints[: len(self.groups)]
        self._caps = constraints[len(self.groups) :]
        self._counted: list[Any] = []
        self._beliefs: list[float] = []
        self._open = [np.ones(len(starts), dtype=bool) for starts in self._starts]
        for count in counts:
            self._add_count(count)

    def _every_start(self, index: int) -> Ints:
        """Starts among which every price system on the grid has a cheapest one."""
        group, first = self.groups[index], self._alone[index]
        points = np.concatenate((self._grid, self._grid - group.duration, [first, group.due]))
        return np.unique(points[points >= first])

    def _first_starts(self, index: int) -> Ints:
        """All candidates; with a guide the cheapest; else, where they are many, those nearest to
        where windows begin or end on the grid."""
        every = self.candidates[index]
        if self._guide is not None:
            group = self.groups[index]
            window = self._guide.window(group.size, group.duration, every)
            price = self._guide.scale * cost(group, every) + window
            most = max(LEAST_COLUMNS, FIRST_COLUMNS // len(self.groups))
            return every[np.sort(np.argsort(price, kind="stable")[:most])]
        if len(every) <= 2 * self.market.buckets:
            return every
        picks = np.concatenate((self._grid, self._grid - self.groups[index].duration))
        near = np.searchsorted(every, picks)
        both = np.unique(np.concatenate((near, near - 1)))
        return every[both[(both >= 0) & (both < len(every))]]

    def _rows_like(self, guide: Duals) -> list[tuple[int, int]]:
        """(function, bucket) of the functions with a price, in all buckets that meet theirs."""
        first = np.searchsorted(self._grid, guide.market.grid[:-1], side="right") - 1
        after = np.searchsorted(self._grid, guide.market.grid[1:], side="left")
        rows = [
            (self.market.add(guide.market.functions[function]), number)
            for function, bucket, _ in guide.lots
            for number in range(int(first[bucket]), min(int(after[bucket]), self.market.buckets))
        ]
        return list(dict.fromkeys(rows))

    def _load(self, ceiling: int) -> Any:
        """The first LP in one piece: much faster than coefficient by coefficient."""
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
        """Costs for the LP; what is dearer than leaving the job out is never chosen."""
        capped: list[int] = np.minimum(cost(group, starts), self._ceiling).tolist()
        return [price / self._unit for price in capped]

    def _coverage(self, index: int, starts: Ints) -> tuple[Ints, Ints, Floats]:
        """Where windows lie: (position of the start, bucket, share of the bucket) in parallel."""
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

    # --- growing ---------------------------------------------------------------------------------

    def _add_starts(self, index: int, starts: Ints) -> int:
        fresh = starts[~np.isin(starts, self._starts[index])]
        group = self.groups[index]
        columns = []
        for price in self._prices(group, fresh):
            column = self._lp.NumVar(0.0, self._lp.infinity(), "")
            self._lp.Objective().SetCoefficient(column, price)
            self._placed[index].SetCoefficient(column, 1.0)
            columns.append(column)
        for count, row in zip(self._counts, self._counted, strict=True):
            if index in count.groups:
                for start, column in zip(fresh.tolist(), columns, strict=True):
                    row.SetCoefficient(column, float(start < count.instant))
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
        self._open[index] = np.concatenate((self._open[index], np.ones(len(fresh), dtype=bool)))
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

    # --- solving ---------------------------------------------------------------------------------

    def solve(self, rounds: int = 20) -> Iterator[PoolBound]:
        """Solve with column generation: a bound for each round, until no start is missing."""
        for last in range(rounds, 0, -1):
            # The last basis suits the dual simplex after new rows, the primal after new columns.
            rows_came = last == rounds and self._grown
            if not self._solved(self._simplex if rows_came else PRIMAL_SIMPLEX):
                self.failed = True
                if last == rounds:  # Without prices, what jobs cost alone is a bound.
                    free = Duals.rounded(
                        self.market, self._rows, np.zeros(len(self._rows)), self._scale
                    )
                    yield certify(self.market.problem, free, self.candidates)
                return
            prices = Duals.rounded(self.market, self._rows, self._duals(), self._scale)
            paid = [round(row.dual_value() * self._unit * self._scale) for row in self._counted]
            counts = list(zip(self._counts, paid, strict=True))
            bound = certify(self.market.problem, prices, self.candidates, counts)
            # Read before the model changes: the LP interface forgets its solution then.
            beliefs = [placed.dual_value() * self._unit * self._scale for placed in self._placed]
            yield bound
            if last == 1 or not sum(
                self._add_cheap(index, belief, bound) for index, belief in enumerate(beliefs)
            ):
                return

    def _solved(self, simplex: str) -> bool:
        """Solve; where the solver gives up, once more with smaller costs."""
        if solve(self._lp, simplex):
            return True
        smaller = self._ceiling / self._unit / MODEST_COST
        if smaller <= 1:
            return False
        self._unit *= smaller
        aim = self._lp.Objective()
        for variable in self._lp.variables():
            aim.SetCoefficient(variable, aim.GetCoefficient(variable) / smaller)
        return solve(self._lp, simplex)

    def _duals(self) -> Floats:
        duals = -np.array([cap.dual_value() for cap in self._caps], dtype=float)
        return np.asarray(self._unit * duals / self._lengths[[bucket for _, bucket in self._rows]])

    def _add_cheap(self, index: int, belief: float, bound: PoolBound) -> int:
        """Add starts that are cheaper than the LP believes possible: the local minima."""
        group = self.groups[index]
        gain = belief - bound.least[index] - bound.excess[index]
        rounding = 1e-6 * abs(belief) + 4.0 * group.duration * group.size
        padded = np.concatenate(([-np.inf], gain, [-np.inf]))
        peaks = np.flatnonzero((gain > rounding) & (gain >= padded[:-2]) & (gain >= padded[2:]))
        best = peaks[np.argsort(-gain[peaks], kind="stable")[:PEAKS]]
        return self._add_starts(index, bound.starts[index][np.sort(best)]) if len(best) else 0

    # --- parts of the plans ----------------------------------------------------------------------

    @property
    def rows(self) -> list[tuple[int, int]]:
        """(function, bucket) of each row, in the order of duals."""
        return self._rows

    def prefer_dual(self) -> None:
        """Solve by the dual simplex: quicker where bounds of columns change between solves."""
        self._simplex = DUAL_SIMPLEX

    def restrict(self, first: Ints, last: Ints, counts: Sequence[Count]) -> None:
        """Leave each group the columns between its first and last start, and one on either side if
        these are no columns; of all counts ever met, only these hold."""
        for index, (low, high) in enumerate(zip(first.tolist(), last.tolist(), strict=True)):
            starts, columns = self._starts[index], self._columns[index]
            least = starts[starts <= low].max(initial=low if low < starts.min() else 0)
            most = starts[starts >= high].min(initial=max(high, int(starts.max())))
            wanted = (starts >= least) & (starts <= most)
            for column in np.flatnonzero(wanted != self._open[index]).tolist():
                columns[column].SetUb(self._lp.infinity() if wanted[column] else 0.0)
            self._open[index] = wanted
        for count in counts:
            if count not in self._counts:
                self._add_count(count)
        for count, row in zip(self._counts, self._counted, strict=True):
            if count in counts:
                row.SetBounds(count.least, count.most)
            else:
                row.SetBounds(-self._lp.infinity(), self._lp.infinity())

    def add_start(self, index: int, start: int) -> None:
        """A column for one start of a group, if there is none."""
        if start >= self._alone[index]:
            self._add_starts(index, np.array([start], dtype=np.int64))

    def _add_count(self, count: Count) -> None:
        """A row for a count, which may be broken at the price of leaving a job out."""
        row = self._lp.Constraint(count.least, count.most)
        for index in count.groups:
            early = self._starts[index] < count.instant
            for column in np.flatnonzero(early).tolist():
                row.SetCoefficient(self._columns[index][column], 1.0)
        for sign in (1.0, -1.0):
            slack = self._lp.NumVar(0.0, self._lp.infinity(), "")
            self._lp.Objective().SetCoefficient(slack, self._ceiling / self._unit)
            row.SetCoefficient(slack, sign)
        self._counts = (*self._counts, count)
        self._counted.append(row)

    def solution(self, counts: Sequence[Count]) -> tuple[float, Floats, tuple[int, ...]] | None:
        """Solve: the value, the duals of rows, and the prices of these counts; None if the solver
        gave up, even from scratch."""
        if not solve(self._lp, self._simplex) and not solve(self._lp, PRIMAL_SIMPLEX, anew=True):
            return None
        factor = self._unit * self._scale
        paid = {
            count: round(row.dual_value() * factor)
            for count, row in zip(self._counts, self._counted, strict=True)
        }
        value = self._lp.Objective().Value() * self._unit
        self._beliefs = [placed.dual_value() * factor for placed in self._placed]
        return value, self._duals(), tuple(paid[count] for count in counts)

    def add_missing(self, bound: PoolBound) -> int:
        """Add starts that are cheaper by a bound's prices than the last solution believes."""
        return sum(
            self._add_cheap(index, belief, bound) for index, belief in enumerate(self._beliefs)
        )

    def amounts(self, groups: Iterable[int]) -> tuple[Ints, Floats]:
        """The starts that the solution uses of some groups together, ascending, and how often."""
        starts, amounts = [np.zeros(0, dtype=np.int64)], [np.zeros(0)]
        for index in groups:
            open_ = np.flatnonzero(self._open[index])
            values = [self._columns[index][column].solution_value() for column in open_.tolist()]
            used = np.array(values) > 1e-9
            starts.append(self._starts[index][open_[used]])
            amounts.append(np.array(values)[used])
        every, where = np.unique(np.concatenate(starts), return_inverse=True)
        total = np.zeros(len(every))
        np.add.at(total, where, np.concatenate(amounts))
        return every, total

    # --- packing rows ----------------------------------------------------------------------------

    def activity(self) -> Floats:
        """(S, B) the number of jobs of each size active in each bucket, in the LP's solution."""
        level = np.zeros((len(self.market.sizes), self.market.buckets))
        for index, (starts, columns) in enumerate(zip(self._starts, self._columns, strict=True)):
            amounts = np.array([column.solution_value() for column in columns])
            used = np.flatnonzero(amounts > 1e-9)
            position, bucket, share = self._coverage(index, starts[used])
            row = level[self.market.row(self.groups[index].size)]
            np.add.at(row, bucket, share * amounts[used][position])
        return level

    def separate(self) -> Iterator[int]:
        """Add rows that the LP's solution violates, at most one a bucket; last yields their number.

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
        self._grown = True
        yield len(rows)

    def _violated(self, activity: Floats, since: int = 0) -> list[tuple[int, int]]:
        """For each bucket the most violated of the known functions from ``since`` on."""
        market = self.market
        demand = np.array(market.functions[since:], dtype=float) @ activity
        supply = np.array(market.supply[since:], dtype=float) / self._lengths
        violation = (demand - supply) / np.maximum(1e-9, supply)
        worst = violation.argmax(axis=0)
        known = set(self._rows)
        exceeded = violation[worst, np.arange(market.buckets)] > VIOLATED
        rows = [(since + int(worst[bucket]), int(bucket)) for bucket in np.flatnonzero(exceeded)]
        return [row for row in rows if row not in known]
