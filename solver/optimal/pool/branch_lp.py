"""One relaxation for many parts of the plans: intervals of starts and counts change, rows stay.

From part to part the linear program is solved from its last basis by the dual simplex, in
hundredths of a second. It only suggests: what counts are the bounds certified from its duals.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from .duals import Duals, Market
from .problem import Floats, Ints, PoolProblem
from .relax import Count, PoolBound, Relaxation, certify
from .spans import Spans

#: A plan is worth that many times the best one's value before a job is left out of the LP.
LEFT_OUT = 2
ROUNDS = 12
GAIN = 1e-4
#: Times that missing starts are added for one part.
COLUMN_ROUNDS = 2
#: Times that packing rows are added for one part.
PART_ROUNDS = 2
WHOLE = 1e-6


@dataclass(frozen=True, slots=True)
class Branch:
    """Plans that keep to spans and counts. edges: starts of groups where spans have been cut."""

    spans: Spans
    counts: tuple[Count, ...] = ()
    edges: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Solution:
    """What the LP says of a part: its value, the duals of its rows, and those of the counts."""

    value: float
    duals: Floats
    paid: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Cut:
    """Two parts that have all plans of one between them. about: whose starts it is about; weight:
    what it may be worth, for comparisons only."""

    about: frozenset[int]
    weight: float
    parts: tuple[Branch, Branch]


class BranchLP:
    """The linear program on one grid."""

    def __init__(
        self,
        problem: PoolProblem,
        spans: Spans,
        grid: Ints,
        value: int,
        instants: Ints | None = None,
        known: Iterable[Ints] = (),
        guide: Duals | None = None,
    ) -> None:
        """value: of the best plan. instants: all starts that are needed, None for every second.
        known: functions of the sizes that may help. guide: prices of a coarser grid."""
        self._instants = instants
        self.problem = problem
        self.grid = grid
        #: Where the last solution should have been cut, were it between buckets.
        self.wanted: list[int] = []
        self._market = Market(problem, grid, like=None if guide is None else guide.market)
        self._market.add(self._market.sizes.copy())
        self._market.add_steps(4)
        for function in known:
            self._market.add(function)
        domains = spans.candidates(problem, self.grid)
        ceiling = LEFT_OUT * value + 10
        scale = problem.scale
        self._relaxation = Relaxation(self._market, domains, ceiling, scale, guide=guide)
        self._relaxation.prefer_dual()

    @property
    def functions(self) -> list[Ints]:
        """Those that have rows."""
        used = sorted({function for function, _ in self._relaxation.rows})
        return [self._market.functions[function] for function in used]

    def tighten(self) -> Iterator[PoolBound | None]:
        """Add packing rows that the whole's solution violates; certified bounds, None between."""
        before = 0
        for _ in range(ROUNDS):
            bound: PoolBound | None = None
            for bound in self._relaxation.solve():
                yield bound
            if bound is None or self._relaxation.failed:
                return
            gained, before = bound.floor - before, bound.floor
            if gained < GAIN * abs(bound.floor):
                return
            added = 0
            for rows in self._relaxation.separate():
                added += rows
                yield None
            if not added:
                return

    def solve(self, part: Branch) -> Solution | None:
        """The LP's solution of a part; None if the solver gave up."""
        for index, start in part.edges:
            self._relaxation.add_start(index, start)
        self._relaxation.restrict(part.spans.first, part.spans.last, part.counts)
        found = self._relaxation.solution(part.counts)
        return None if found is None else Solution(*found)

    def certify(self, part: Branch, solution: Solution) -> PoolBound:
        """The exact bound of a part by a solution's duals."""
        problem = self.problem
        rows = self._relaxation.rows[: len(solution.duals)]
        prices = Duals.rounded(self._market, rows, solution.duals, problem.scale)
        candidates = part.spans.candidates(problem, self.grid, part.counts)
        paid = list(zip(part.counts, solution.paid, strict=True))
        return certify(problem, prices, candidates, paid)

    def best(self, part: Branch) -> tuple[Solution, PoolBound] | None:
        """Solve and certify, with the starts that the LP lacks in this part added."""
        found: tuple[Solution, PoolBound] | None = None
        for left in range(COLUMN_ROUNDS, -1, -1):
            solution = self.solve(part)
            if solution is None:
                return found
            bound = self.certify(part, solution)
            if found is None or bound.floor > found[1].floor:
                found = solution, bound
            if left == 0 or not self._relaxation.add_missing(bound):
                return found
        return found

    def sharpened(self, part: Branch) -> Generator[None, None, tuple[Solution, PoolBound] | None]:
        """The same, with packing rows that its solution violates: they hold for all parts."""
        best = self.best(part)
        yield
        for _ in range(PART_ROUNDS):
            if best is None:
                return None
            added = 0
            for rows in self._relaxation.separate():
                added += rows
                yield
            if not added:
                return best
            before = best[1].floor
            found = self.best(part)
            if found is None:
                return best
            best = found
            if best[1].floor - before < GAIN * abs(before):
                return best
        return best

    def cuts(self, part: Branch, large: frozenset[int]) -> list[Cut]:
        """Cuts of the part that its last solution does not keep to, the heaviest first.

        A group's starts are cut where the solution's jobs are spread to both sides; together, the
        ``large`` ones are cut where their number is broken.
        """
        found = []
        self.wanted = []
        for index, group in enumerate(self.problem.groups):
            at = self._middle(*self._relaxation.amounts([index]))
            if at is not None:
                weight = at[2] * group.size * float(np.sqrt(group.duration))
                found += self._cut(part, frozenset({index}), at, weight)
        if len(large) > 1:
            at = self._middle(*self._relaxation.amounts(sorted(large)))
            if at is not None:
                heaviest = max((cut.weight for cut in found), default=0.0)
                found += self._cut(part, large, at, heaviest)
        return sorted(found, key=lambda cut: -cut.weight)

    def _cut(
        self, part: Branch, groups: frozenset[int], at: tuple[int, int, float], weight: float
    ) -> list[Cut]:
        """The cut at (instant, number, ...), if it does not take ever smaller bites: numbers of
        several jobs are cut between buckets only."""
        instant, number, _ = at
        several = sum(self.problem.groups[index].count for index in groups) > 1
        if several and instant + 1 not in self.grid:
            self.wanted.append(instant + 1)
            return []
        return [Cut(groups, weight, self._at(part, groups, instant, number))]

    def _at(
        self, part: Branch, groups: frozenset[int], instant: int, number: int
    ) -> tuple[Branch, Branch]:
        """At most ``number`` of the jobs start up to the instant, or more."""
        total = sum(self.problem.groups[index].count for index in groups)
        if total > 1:
            fewer = Count(groups, instant + 1, 0, number)
            more = Count(groups, instant + 1, number + 1, total)
            after = tuple((index, instant + 1) for index in sorted(groups))
            before = tuple((index, instant) for index in sorted(groups))
            return (
                Branch(part.spans, (*part.counts, fewer), after),
                Branch(part.spans, (*part.counts, more), before),
            )
        (index,) = groups
        late = self.snapped(part.spans.with_first(index, instant + 1))
        early = self.snapped(part.spans.with_last(index, instant))
        return (
            Branch(late, part.counts, ((index, int(late.first[index])),)),
            Branch(early, part.counts, ((index, int(early.last[index])),)),
        )

    def _middle(self, starts: Ints, amounts: Floats) -> tuple[int, int, float] | None:
        """Where a spread-out number of jobs is cut: (instant, whole jobs up to it, spread).

        Up to an instant, so many jobs and a fraction have started; how far that is from whole
        numbers, summed over time, is the spread, in seconds, and the cut is in its middle. None if
        all numbers are whole.
        """
        upto = np.cumsum(amounts)
        whole = np.floor(upto + WHOLE)
        part = np.clip(upto - whole, 0, None)
        broken = np.minimum(part, 1 - part)
        broken[broken < WHOLE] = 0
        spread = np.cumsum(broken[:-1] * np.diff(starts))
        if not len(spread) or spread[-1] <= 0:
            return None
        at = int(np.searchsorted(spread, spread[-1] / 2))
        # Between two starts that the solution uses, the numbers do not change.
        behind = spread[-1] / 2 - (spread[at - 1] if at else 0.0)
        instant = int(starts[at] + min(behind / broken[at], starts[at + 1] - starts[at] - 1))
        inside = self.grid[(self.grid > starts[at]) & (self.grid <= starts[at + 1])]
        if len(inside):  # starts from a bucket's begin on leave all of the one before
            instant = int(inside[np.abs(inside - instant).argmin()]) - 1
        return instant, int(whole[at]), float(spread[-1])

    def snapped(self, spans: Spans) -> Spans:
        """Without the starts at the ends that no plan needs."""
        return spans if self._instants is None else spans.within(self._instants)
