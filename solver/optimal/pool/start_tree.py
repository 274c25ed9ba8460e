"""The tree over intervals of starts, with the linear program of its parts."""

from __future__ import annotations

import heapq
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest

import numpy as np

from .bounds import Count, Duals, Incumbent, Market, PoolBound, Relaxation, certify, posted
from .pricing import affordable_buckets, best_of, instants, make_grid
from .problem import Floats, Ints, PoolProblem

# --- starts as intervals, for problems in which there are too many instants to list them ----------
# Reduced costs are linear between the grid's points, the grid's points less a duration, the due
# and the ends of the interval: over these candidates a price system is as exact as over all
# seconds.


@dataclass(frozen=True, slots=True)
class Spans:
    """The first and the last start of each group, (G,) each."""

    first: Ints
    last: Ints

    @classmethod
    def of(cls, problem: PoolProblem, latest: list[int]) -> Spans:
        """From each group's earliest start alone to its latest in any better plan."""
        first = np.array([int(problem.alone[group.members[0]]) for group in problem.groups])
        return cls(first, np.maximum(first, np.array(latest, dtype=np.int64)))

    def points(self, buckets: int, busy: int | None = None) -> Ints:
        """Instants for a grid between the first start and the last, most of them up to ``busy``,
        the last start of a good plan."""
        low, high = int(self.first.min()), int(self.last.max())
        return instants(low, high if busy is None else busy, max(high, low + 1), buckets)

    def candidates(
        self, problem: PoolProblem, grid: Ints, counts: Sequence[Count] = ()
    ) -> list[Ints]:
        """For each group the starts among which any prices on the grid have a cheapest one."""
        cuts = [instant for count in counts for instant in (count.instant - 1, count.instant)]
        found = []
        for group, first, last in zip(
            problem.groups, self.first.tolist(), self.last.tolist(), strict=True
        ):
            points = np.concatenate((grid, grid - group.duration, [first, last, group.due, *cuts]))
            found.append(np.unique(points[(points >= first) & (points <= last)]).astype(np.int64))
        return found

    def affordable(self, bound: PoolBound, value: int) -> Spans | None:
        """What a plan better than ``value`` may still use; None where a group has nothing left.

        Between a candidate that is too dear and one that is not, all starts are kept.
        """
        spare = (value - 1) * bound.prices.scale - bound.floor
        first, last = self.first.copy(), self.last.copy()
        for index, (starts, excess) in enumerate(zip(bound.starts, bound.excess, strict=True)):
            kept = np.flatnonzero(excess <= spare)
            if not len(kept):
                return None
            low, high = int(kept[0]), int(kept[-1])
            if low > 0:
                first[index] = starts[low - 1] + 1
            if high + 1 < len(starts):
                last[index] = starts[high + 1] - 1
        return Spans(first, last)

    def with_first(self, index: int, first: int) -> Spans:
        """With one group not before an instant."""
        changed = self.first.copy()
        changed[index] = max(first, int(changed[index]))
        return replace(self, first=changed)

    def with_last(self, index: int, last: int) -> Spans:
        """With one group not after an instant."""
        changed = self.last.copy()
        changed[index] = min(last, int(changed[index]))
        return replace(self, last=changed)

    def within(self, instants: Ints) -> Spans:
        """From and to the nearest of some instants, ascending, inside."""
        after = np.searchsorted(instants, self.first)
        before = np.searchsorted(instants, self.last, side="right") - 1
        beyond = int(max(self.last.max(), instants[-1])) + 1
        first = np.append(instants, beyond)[after]
        last = np.where(before >= 0, instants[before], -1)
        return Spans(first, last)

    @property
    def possible(self) -> bool:
        """Whether every group has a start."""
        return bool((self.first <= self.last).all())


# --- one relaxation for many parts of the plans ---------------------------------------------------
# One relaxation for many parts of the plans: intervals of starts and counts change, rows stay.
#
# From part to part the linear program is solved from its last basis by the dual simplex, in
# hundredths of a second. It only suggests: what counts are the bounds certified from its duals.


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
            if best is None or not self._relaxation.solved:
                return best
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
        found: list[Cut] = []
        self.wanted = []
        if not self._relaxation.solved:
            return found
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


# --- a tree over intervals of starts and numbers of jobs before an instant, by one linear program
# A relaxation spreads jobs over many starts, and above all large ones, which others must make
# room for. Of the cuts that its solution does not keep to, some are tried, and the one that
# raises the bounds of both its parts the most is made (Achterberg et al., Branching rules
# revisited, 2005). What cuts of the same jobs came to before says which to try. With few jobs
# coarse grids do: what a finer one adds is little beside what a cut does, until cuts come to
# little. With many it is the other way round, so cuts begin where fine prices end.


#: From so many jobs on, finer prices raise the bound faster than cut starts do.
MANY_JOBS = 60
#: Buckets of the first grids, for many jobs and for few; cuts begin on the last.
MANY, FEW = (40, 80, 160), (40,)
#: Buckets, times the kinds of jobs, that a program with the cheapest starts may have.
MOST_CELLS = 60_000
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
        kinds = len(self.problem.groups)
        sizes = [
            affordable_buckets(size, kinds, MOST_CELLS) for size in (MANY if self._many else FEW)
        ]
        for buckets in dict.fromkeys(sizes):
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
