"""A tree over intervals of starts and numbers of jobs before an instant, by one linear program.

A relaxation spreads jobs over many starts, and above all large ones, which others must make room
for. Of the cuts that its solution does not keep to, some are tried, and the one that raises the
bounds of both its parts the most is made (Achterberg et al., Branching rules revisited, 2005).
What cuts of the same jobs came to before says which to try. With few jobs coarse grids do: what a
finer one adds is little beside what a cut does, until cuts come to little. With many it is the
other way round, so cuts begin where fine prices end.
"""

from __future__ import annotations

import heapq
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field
from itertools import zip_longest

import numpy as np

from .branch_lp import Branch, BranchLP, Cut, Solution
from .duals import Duals
from .incumbent import Incumbent, posted
from .pricing import best_of, make_grid
from .problem import Ints, PoolProblem
from .relax import PoolBound
from .spans import Spans

#: From so many jobs on, finer prices raise the bound faster than cut starts do.
MANY_JOBS = 60
#: Buckets of the first grids, for many jobs and for few; cuts begin on the last.
MANY, FEW = (40, 80, 160), (40,)
#: Instants that each further grid adds, and how many grids are cut on.
FURTHER, GRIDS = 30, 6
#: Cuts are tried until so many in a row are no better than the best before, or so many in all: few
#: where a trial takes long.
TRIALS, TRIALS_OF_MANY = (5, 16), (2, 4)
#: The last trial counts for at least that much.
RECENT = 0.3
#: The worse of a cut's parts counts for that much.
WORSE = 0.8
#: After so many cuts that closed less than that share of the gap, the grid is refined.
PATIENCE, LITTLE = 30, 0.04


@dataclass(slots=True)
class Gains:
    """What cuts about some jobs raised the bounds of their two parts by, of late."""

    trials: int = 0
    mean: tuple[float, float] = (0.0, 0.0)

    def learn(self, gains: tuple[float, float]) -> None:
        """One more trial."""
        self.trials += 1
        share = max(RECENT, 1 / self.trials)
        low, high = self.mean
        self.mean = (low + share * (gains[0] - low), high + share * (gains[1] - high))


@dataclass(frozen=True, slots=True)
class Node:
    """A part with a bound of its plans."""

    part: Branch
    bound: PoolBound


def worth(gains: tuple[float, float]) -> float:
    """How good a cut is."""
    return WORSE * min(gains) + (1 - WORSE) * max(gains)


@dataclass(slots=True)
class StartTree:
    """The tree of one problem. large: groups of jobs that run one at a time. instants: all starts
    that a plan needs, None for every second."""

    incumbent: Incumbent
    instants: Ints | None = None
    large: frozenset[int] = field(init=False)
    _gains: dict[frozenset[int], Gains] = field(default_factory=dict)

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

    @property
    def _many(self) -> bool:
        return len(self.problem) >= MANY_JOBS

    def search(self, spans: Spans) -> Iterator[None]:
        """Raise the incumbent's bound, best bound first, until proved or nothing can be cut.

        spans: of the starts that a plan better than the incumbent's may use.
        """
        priced = yield from self.priced(spans)
        if priced is not None:
            yield from self.cut(*priced)

    def cut(self, lp: BranchLP, root: Node) -> Iterator[None]:
        """The same, from the whole as it has been priced."""
        queue = [(root.bound.value, 0, root)]
        for left in range(GRIDS - 1, -1, -1):
            yield from self._cut(lp, queue, patient=not left)
            if self.incumbent.proved or not left:
                return
            parts = [node.part for _, _, node in queue]
            grid = _finer(np.union1d(lp.grid, lp.wanted).astype(np.int64), parts)
            lp = self._program(_hull(parts), grid, lp.functions)
            for _ in lp.tighten():
                yield

    def priced(
        self, spans: Spans, guide: Duals | None = None
    ) -> Generator[None, None, tuple[BranchLP, Node] | None]:
        """The whole on the finest of the first grids, after coarser ones have told which functions
        and starts matter; None if it is proved, or if there are no prices and so no bound.

        guide: prices of a still coarser grid.
        """
        spans = self._snapped(spans)
        priced: tuple[BranchLP, Node] | None = None
        known: list[Ints] = []
        for buckets in MANY if self._many else FEW:
            lp = self._program(spans, self._grid(spans, buckets), known, guide)
            root = yield from best_of(posted(self.incumbent, lp.tighten()))
            if root is None:
                break
            left = spans.affordable(root, self.incumbent.value)
            if left is None or not self._snapped(left).possible:
                self.incumbent.raise_bound(self.incumbent.value)
                return None
            spans = self._snapped(left)
            priced, known, guide = (lp, Node(Branch(spans), root)), lp.functions, root.prices
        return priced

    def _snapped(self, spans: Spans) -> Spans:
        return spans if self.instants is None else spans.within(self.instants)

    def _program(
        self, spans: Spans, grid: Ints, known: list[Ints], guide: Duals | None = None
    ) -> BranchLP:
        value = self.incumbent.value
        return BranchLP(self.problem, spans, grid, value, self.instants, known, guide)

    def _grid(self, spans: Spans, buckets: int) -> Ints:
        problem = self.problem
        pairs = zip(spans.last.tolist(), problem.groups, strict=True)
        end = max(last + group.duration for last, group in pairs)
        return make_grid(problem, spans.points(buckets, self.incumbent.last), end, buckets)

    def _cut(
        self, lp: BranchLP, queue: list[tuple[int, int, Node]], *, patient: bool
    ) -> Iterator[None]:
        """Cut the part of the least bound, again and again, while that raises it; for the patient,
        until nothing can be cut."""
        incumbent = self.incumbent
        cuts, since = 0, queue[0][0]
        number = max(entry[1] for entry in queue)
        while queue:
            least, _, node = queue[0]
            incumbent.raise_bound(least)
            if incumbent.proved:
                return
            if cuts == PATIENCE:
                if not patient and least - since < LITTLE * (incumbent.value - least):
                    return
                cuts, since = 0, least
            heapq.heappop(queue)
            rest = queue[0][0] if queue else incumbent.value
            children = yield from self._children(lp, node, rest)
            if children is None:
                heapq.heappush(queue, (least, number + 1, node))
                return
            cuts += 1
            for child in children:
                number += 1
                heapq.heappush(queue, (max(least, child.bound.value), number, child))
        incumbent.raise_bound(incumbent.value)

    def _children(
        self, lp: BranchLP, node: Node, rest: int
    ) -> Generator[None, None, list[Node] | None]:
        """Parts that have all its better plans between them, itself if it turns out to be above
        the ``rest``; None if it cannot be cut."""
        value = self.incumbent.value
        best = yield from lp.sharpened(node.part)
        if best is None:
            return None
        solution, bound = best
        if bound.value >= value:
            return []
        spans = node.part.spans.affordable(bound, value)
        spans = None if spans is None else lp.snapped(spans)
        if spans is None or not spans.possible:
            return []
        part = Branch(spans, node.part.counts)
        if bound.value > max(rest, node.bound.value):
            return [Node(part, bound)]
        found = yield from self._best_cut(lp, part, solution)
        if found is None:
            return None
        children = []
        for half, known in zip(*found, strict=True):
            if half.spans.possible and known is not None:
                sharper = lp.certify(half, known)
                bounds = max(sharper, bound, key=lambda bound: bound.floor)
                if bounds.value < value:
                    children.append(Node(half, bounds))
        return children

    def _best_cut(
        self, lp: BranchLP, part: Branch, solution: Solution
    ) -> Generator[None, None, tuple[tuple[Branch, Branch], list[Solution | None]] | None]:
        """The parts of the best cut, and what the LP says of each."""
        best: tuple[float, Cut, list[Solution | None]] | None = None
        in_vain = 0
        most_in_vain, most_tried = TRIALS_OF_MANY if self._many else TRIALS
        for cut in self._in_order(lp.cuts(part, self.large))[:most_tried]:
            halves = [lp.solve(half) if half.spans.possible else None for half in cut.parts]
            yield
            if any(
                half.spans.possible and known is None
                for half, known in zip(cut.parts, halves, strict=True)
            ):
                continue  # the solver gave up
            most = float(self.incumbent.value)
            rise = [most if known is None else min(known.value, most) for known in halves]
            gains = (max(0.0, rise[0] - solution.value), max(0.0, rise[1] - solution.value))
            self._gains.setdefault(cut.about, Gains()).learn(gains)
            in_vain += 1
            if best is None or worth(gains) > best[0]:
                best = worth(gains), cut, halves
                in_vain = 0
            if in_vain == most_in_vain:
                break
        return None if best is None else (best[1].parts, best[2])

    def _in_order(self, cuts: list[Cut]) -> list[Cut]:
        """The most promising first: in turn one of the best past, and the heaviest of those that
        have none."""
        known = [cut for cut in cuts if self._past(cut).trials]
        fresh = [cut for cut in cuts if not self._past(cut).trials]
        known.sort(key=lambda cut: -worth(self._past(cut).mean))
        pairs = zip_longest(known, fresh)
        return [cut for pair in pairs for cut in pair if cut is not None]

    def _past(self, cut: Cut) -> Gains:
        return self._gains.get(cut.about, Gains())


def _hull(parts: list[Branch]) -> Spans:
    """The starts that are in any of the parts."""
    first = np.min([part.spans.first for part in parts], axis=0)
    return Spans(first, np.max([part.spans.last for part in parts], axis=0))


def _finer(grid: Ints, parts: list[Branch]) -> Ints:
    """With the instants at which most parts have been cut."""
    cuts = [np.array([count.instant for part in parts for count in part.counts], dtype=np.int64)]
    for part in parts:
        cuts += [np.unique(part.spans.first), np.unique(part.spans.last + 1)]
    instants, often = np.unique(np.concatenate(cuts), return_counts=True)
    inside = (instants > 0) & (instants < grid[-1]) & ~np.isin(instants, grid)
    instants, often = instants[inside], often[inside]
    return np.union1d(grid, instants[np.argsort(-often, kind="stable")[:FURTHER]])
