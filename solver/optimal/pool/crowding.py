"""A tree over intervals of starts: how many of the large jobs start before an instant, as a group.

Jobs of more than half the processors run one at a time. A relaxation may spread each over all its
starts; that of all of them none, or one, or k start before an instant it cannot evade. Where these
numbers are whole, single jobs have their starts halved.
"""

from __future__ import annotations

import heapq
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field

import numpy as np

from .duals import Market
from .incumbent import Incumbent
from .pricing import Fineness, functions_in_use, make_grid
from .problem import Ints, PoolProblem
from .relax import Count, PoolBound, Relaxation
from .spans import Spans

ROOT = Fineness(buckets=120, rounds=20, gain=1e-4)
NODE = Fineness(buckets=120, rounds=5, gain=5e-4)
#: A number of jobs no farther than this from a half is worth a branch.
FRACTIONAL = 0.25
NEARLY = 0.1


@dataclass(frozen=True, slots=True)
class Node:
    """Plans that keep to spans and counts, with a bound of theirs."""

    spans: Spans
    counts: tuple[Count, ...]
    bound: PoolBound
    fraction: Count | None = None

    def halves(self, value: int) -> list[tuple[Spans, tuple[Count, ...]]]:
        """Two parts that have all its plans between them; none if there is nothing to halve."""
        if self.fraction is not None:
            cut = self.fraction
            fewer = Count(cut.groups, cut.instant, 0, cut.least)
            more = Count(cut.groups, cut.instant, cut.least + 1, cut.most)
            return [(self.spans, (*self.counts, part)) for part in (fewer, more)]
        return [(spans, self.counts) for spans in self._split_spans(value)]

    def _split_spans(self, value: int) -> list[Spans]:
        """The starts of the job with the largest product of area and doubt, halved."""
        bound = self.bound
        spare = max(0, (value - 1) * bound.prices.scale - bound.floor)
        best, chosen, middle = 0, -1, 0
        groups = bound.prices.market.problem.groups
        for index, (group, starts, excess) in enumerate(
            zip(groups, bound.starts, bound.excess, strict=True)
        ):
            near = starts[excess <= NEARLY * spare]
            score = group.size * group.duration * int(near[-1] - near[0])
            if group.count == 1 and score > best:
                best, chosen, middle = score, index, int(near[0] + near[-1]) // 2
        if chosen < 0:
            return []
        parts = [
            self.spans.with_last(chosen, middle),
            self.spans.with_first(chosen, middle + 1),
        ]
        return [part for part in parts if part.possible]


@dataclass(slots=True)
class CrowdTree:
    """The tree of one problem. large: groups of jobs that run one at a time."""

    incumbent: Incumbent
    large: frozenset[int] = field(init=False)
    _grid: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    def __post_init__(self) -> None:
        problem = self.incumbent.problem
        half = int(problem.free.max())
        self.large = frozenset(
            index for index, group in enumerate(problem.groups) if 2 * group.size > half
        )

    @property
    def problem(self) -> PoolProblem:
        """The problem of the incumbent."""
        return self.incumbent.problem

    def search(self, latest: list[int]) -> Iterator[None]:
        """Raise the incumbent's bound, best bound first, until proved or nothing can be halved."""
        incumbent = self.incumbent
        root = yield from self._node(Spans.of(self.problem, latest), (), ROOT, [])
        if root is None or incumbent.proved:
            return
        known = functions_in_use(root.bound)
        number = 0
        queue = [(root.bound.value, number, root)]
        while queue:
            least, _, node = heapq.heappop(queue)
            incumbent.raise_bound(least)
            halves = node.halves(incumbent.value)
            if incumbent.proved or not halves:
                return
            for spans, counts in halves:
                found = yield from self._node(spans, counts, NODE, known)
                if found is None:
                    return  # no prices, so no bound: this part could hold anything
                if found.bound.value < incumbent.value and found.spans.possible:
                    number += 1
                    heapq.heappush(queue, (max(least, found.bound.value), number, found))
        incumbent.raise_bound(incumbent.value)

    def _node(
        self,
        spans: Spans,
        counts: tuple[Count, ...],
        fineness: Fineness,
        known: list[dict[int, int]],
    ) -> Generator[None, None, Node | None]:
        """A part with the best bound of a few rounds; None if the LP solver gave up."""
        problem, value = self.problem, self.incumbent.value
        grid = self._grid_of(spans, counts, fineness)
        market = Market(problem, grid)
        market.add(market.sizes.copy())
        market.add_steps(4)
        for function in known:
            weights = [function.get(size, 0) for size in market.sizes.tolist()]
            market.add(np.array(weights, dtype=np.int64))
        domains = spans.candidates(problem, grid, counts)
        relaxation = Relaxation(market, domains, 10 * value + 10, problem.scale, counts)
        best: PoolBound | None = None
        fraction: Count | None = None
        before = 0
        for _ in range(fineness.rounds + 1):
            last: PoolBound | None = None
            for last in relaxation.solve():
                best = last if best is None or last.floor > best.floor else best
                if fineness is ROOT:  # of all plans, so it counts at once
                    self.incumbent.raise_bound(best.value)
                yield
            if last is None or relaxation.failed or best is None or best.value >= value:
                break
            fraction = self._fraction(relaxation, grid, spans)
            gained, before = last.floor - before, last.floor
            if gained < fineness.gain * abs(last.floor):
                break
            added = 0
            for rows in relaxation.separate():
                added += rows
                yield
            if not added:
                break
        if best is None:
            return None
        kept = spans.affordable(best, value)
        if kept is None:
            return Node(Spans(spans.last + 1, spans.last), counts, best)
        return Node(kept, counts, best, fraction)

    def _grid_of(self, spans: Spans, counts: tuple[Count, ...], fineness: Fineness) -> Ints:
        """The root's grid, and what a part is cut at: prices there are no worse than the root's."""
        problem = self.problem
        if not len(self._grid):
            pairs = zip(spans.last.tolist(), problem.groups, strict=True)
            end = max(last + group.duration for last, group in pairs)
            points = spans.points(fineness.buckets, self.incumbent.last)
            self._grid = make_grid(problem, points, end, fineness.buckets)
            return self._grid
        cuts = [count.instant for count in counts]
        return np.union1d(self._grid, cuts).astype(np.int64)

    def _fraction(self, relaxation: Relaxation, grid: Ints, spans: Spans) -> Count | None:
        """The first instant before which the number of large jobs is far from a whole one.

        What is asked of the first of them moves all jobs behind it.
        """
        if len(self.large) < 2:
            return None
        members = sorted(self.large)
        instants = grid[(grid > spans.first[members].min()) & (grid <= spans.last[members].max())]
        if not len(instants):
            return None
        early = relaxation.early(members, instants)
        open_ = np.flatnonzero(np.abs(early - np.floor(early) - 0.5) <= FRACTIONAL)
        if not len(open_):
            return None
        at = int(open_[0])
        total = sum(self.problem.groups[index].count for index in members)
        return Count(self.large, int(instants[at]), int(np.floor(early[at])), total)
