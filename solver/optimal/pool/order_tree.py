"""A lower bound of a pool by a tree of cases, which distinguish when the k-th large job starts.

One linear program serves all cases: rows and columns stay, limits change.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice, pairwise
from typing import Any

import numpy as np

from ..backends import RESTART_DUAL, RESTART_PRIMAL, solve
from .bounds import (
    DEAREST,
    CaseLoad,
    Duals,
    Incumbent,
    PoolBound,
    Relaxation,
    Toll,
    certify,
    posted,
)
from .pricing import Fineness, Reach, best_of, functions_in_use, refine
from .problem import Bools, Floats, Group, Ints, PoolProblem

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


@dataclass(frozen=True, slots=True)
class SizeClass:
    """The ``count`` jobs of ``smallest`` to ``largest`` processors, none of which can start before
    ``first``.
    """

    smallest: int
    largest: int
    count: int
    first: int

    @classmethod
    def of(cls, problem: PoolProblem, smallest: int, largest: int) -> SizeClass:
        """Return the class of the jobs of these sizes, of which there is at least one."""
        jobs = np.flatnonzero((problem.sizes >= smallest) & (problem.sizes <= largest))
        sizes, alone = problem.sizes[jobs], problem.alone[jobs]
        return cls(int(sizes.min()), int(sizes.max()), len(jobs), int(alone.min()))

    def has(self, group: Group) -> bool:
        """Return whether the jobs of a group belong to the class."""
        return self.smallest <= group.size <= self.largest


@dataclass(frozen=True, slots=True)
class Begun:
    """The jobs of a class that start before an instant."""

    jobs: SizeClass
    instant: int

    def of(self, group: Group, starts: Ints) -> Ints:
        """Return 1 for each start of a job of the class before the instant, else 0."""
        return (starts < self.instant).astype(np.int64) * self.jobs.has(group)


@dataclass(frozen=True, slots=True)
class Late:
    """The jobs of a class that start after an instant."""

    jobs: SizeClass
    instant: int

    def of(self, group: Group, starts: Ints) -> Ints:
        """Return 1 for each start of a job of the class after the instant, else 0."""
        return (starts > self.instant).astype(np.int64) * self.jobs.has(group)


@dataclass(frozen=True, slots=True)
class Through:
    """The processors of the jobs that start before ``first`` and end after ``last``."""

    first: int
    last: int

    def of(self, group: Group, starts: Ints) -> Ints:
        """Return the processors of a job for each start at which it is one of these, else 0."""
        return group.size * self.passed(group, starts).astype(np.int64)

    def passed(self, group: Group, starts: Ints) -> Bools:
        """Return, for each start, whether the job is one of these."""
        passed: Bools = (starts < self.first) & (starts + group.duration > self.last)
        return passed


@dataclass(frozen=True)
class OrderCase:
    """The plans in which the k-th start of a class, from 0, lies within a window.

    ``windows``: (class, k) -> (first, last), both included. A window that ends at ``end`` or later
    has no end.
    """

    problem: PoolProblem
    end: int
    windows: Mapping[tuple[SizeClass, int], tuple[int, int]]

    @cached_property
    def limits(self) -> dict[Begun | Late | Through, int]:
        """Return the loads that the case limits, and their limits.

        At most k jobs of the class start before its window, and at most all but k + 1 after it. The
        jobs that begin before the window and end after it leave enough processors for the
        job of the k-th start.
        """
        found: dict[Begun | Late | Through, int] = {}
        for through, left in self.unused.items():
            found[through] = left
        for (jobs, k), (first, last) in self.windows.items():
            if first > jobs.first:
                before = Begun(jobs, first)
                found[before] = min(k, found.get(before, k))
            if last < self.end:
                after = Late(jobs, last)
                found[after] = min(jobs.count - k - 1, found.get(after, jobs.count))
        return found

    @cached_property
    def unused(self) -> dict[Through, int]:
        """Return the processors left for the jobs that run through each window, negative if the
        window is too early for the smallest job of its class.
        """
        times, free = self.problem.times, self.problem.free
        found: dict[Through, int] = {}
        for (jobs, _), (first, last) in self.windows.items():
            if last < self.end:
                step, after = np.searchsorted(times, [first, last], side="right").tolist()
                left = int(free[step - 1 : after].max()) - jobs.smallest
                through = Through(first, last)
                found[through] = min(left, found.get(through, left))
        return found

    def allowed(self, group: Group, starts: Ints) -> Bools:
        """Return, for each start of a job of the group, whether some plan of the case has it."""
        kept = np.ones(len(starts), dtype=bool)
        for (jobs, k), (first, last) in self.windows.items():
            if jobs.has(group):
                if k == 0:
                    kept &= starts >= first
                if k == jobs.count - 1 and last < self.end:
                    kept &= starts <= last
        for through, left in self.unused.items():
            if group.size > left:
                kept &= ~through.passed(group, starts)
        return kept


#: Maximum number of open cases, for memory.
MAX_OPEN = 50_000
#: Number of steps of each set of classes in the first round.
TRIAL = 25
#: Maximum number of jobs of middle size that form a class.
FEW = 6
#: Minimum ratio of the processors left by large jobs and by the largest of them.
MUCH_LESS = 1.5
#: The jobs of at least a half, a third, ... of the pool form a further class.
PARTS_OF_POOL = (2, 3, 4, 6, 8, 12, 16)
#: Maximum number of parts of a window that is split for the first time.
PARTS = 20
#: Share of a job by which the k-th start of a solution counts as begun, and as complete.
BEGUN = 0.05
#: Rows are added to a case while they raise its bound by this share.
SHARPENED = 1e-3
#: A tree stalls if this number of steps closes less than this share of the gap.
STALL = 100
CLOSED = 0.02
#: Grids for a tree that stalls, one after the other, and the work of the prices before after which
#: no finer one follows.
FINER = (
    Fineness(buckets=200, rounds=15, gain=2e-4),
    Fineness(buckets=300, rounds=15, gain=2e-4),
)
AFFORDABLE = 2_000_000


@dataclass(frozen=True, slots=True, order=True)
class Node:
    """An open case with a lower bound of its plans."""

    bound: int
    number: int
    case: OrderCase = field(compare=False)
    #: The cases that it is to be split into, None before its own bound is computed.
    parts: list[OrderCase] | None = field(default=None, compare=False)
    #: Number of classes by which it may be split, 0: those that the tree begins with.
    classes: int = field(default=0, compare=False)
    #: Whether its solution violates no rows that could be added.
    sharp: bool = field(default=False, compare=False)


class OrderTree:
    """The tree of the cases of one problem by some classes; ``bound`` has the prices of the whole.

    Prices let a large job run in fractions, for example a tenth of the job at each of ten different
    times, so the relaxed pool is never drained for the job although a real plan must drain it. It
    does not matter much which large job starts at a time, so cases do not distinguish that, but
    when the first job of a class starts, the second, and so on. Each case has all plans in which
    these starts lie in its windows, and the cases of a split cover those of the case that is split.
    The case with the lowest bound is split first.
    """

    def __init__(
        self,
        incumbent: Incumbent,
        bound: PoolBound,
        classes: list[SizeClass],
        further: list[SizeClass],
        program: CaseProgram,
    ) -> None:
        """Initialise the tree with one case, which has all plans.

        classes: by which cases are split. further: one after the other in addition, for cases that
        cannot be split any more.
        """
        self.incumbent = incumbent
        self.classes = list(dict.fromkeys([*classes, *further]))
        self._first = len(classes)
        self._price(bound, program)
        self._number = 0
        #: Open cases, those of the lowest bound first.
        self.open: list[Node] = []
        whole = OrderCase(incumbent.problem, int(self._grid[-1]), {})
        self._push(Node(bound.value, 0, whole, classes=self._first))

    def _price(self, bound: PoolBound, program: CaseProgram) -> None:
        self._grid = bound.prices.market.grid
        self._program = program

    def reprice(self, bound: PoolBound, program: CaseProgram) -> None:
        """Continue with the open cases on the grid of other prices."""
        self._price(bound, program)
        before, self.open = self.open, []
        for node in before:
            least = max(node.bound, bound.value)
            self._push(Node(least, 0, self.on_grid(node.case), classes=self._first))

    def on_grid(self, case: OrderCase) -> OrderCase:
        """Return a case of another grid with its windows widened to points of this one.

        The program keeps the starts that are cheapest between points of its grid only, so a window
        may not end between two of them. What its plans cost at least stays true.
        """
        end = int(self._grid[-1])
        windows = {}
        for key, (first, last) in case.windows.items():
            low, high = self._around(first, end if last >= case.end else min(last, end))
            windows[key] = (int(self._grid[low]), int(self._grid[high]))
        return OrderCase(case.problem, end, windows)

    @property
    def bound(self) -> int:
        """Return the lowest bound of the open cases, at most the value of the best plan."""
        value = self.incumbent.value
        return min(value, self.open[0].bound) if self.open else value

    def step(self) -> bool:
        """Compute the bound of one case or split it; return False if nothing is left to do."""
        if self.bound >= self.incumbent.value or len(self.open) > MAX_OPEN:
            return False
        node = heapq.heappop(self.open)
        if node.parts is None:
            self._solve(node)
        elif node.parts:
            for part in node.parts:
                self._push(Node(node.bound, 0, part, classes=self._first))
        elif not node.sharp:
            self._sharpen(node)
        elif node.classes < len(self.classes):
            self._push(replace(node, parts=None, classes=node.classes + 1))
        else:
            heapq.heappush(self.open, node)
            return False
        return True

    def _solve(self, node: Node) -> None:
        """Put a case back with its bound and its parts."""
        found = self._program.bound_of(node.case)
        if found is not None:
            self._push(self._split(replace(node, bound=max(node.bound, found.value))))

    def _sharpen(self, node: Node) -> None:
        """Put a case back with the bound by the rows that its solution violates."""
        found = self._program.sharpened(node.case)
        if found is None:
            self._push(replace(node, sharp=True))
        else:
            gained = found.value - node.bound >= SHARPENED * node.bound
            bound = max(node.bound, found.value)
            self._push(self._split(replace(node, bound=bound, sharp=not gained)))

    def _split(self, node: Node) -> Node:
        """Return a node with the parts that the last solution of the program suggests."""
        classes = self.classes[: node.classes]
        parts = self.split(node.case, classes) if self._program.solved else []
        return replace(node, parts=parts)

    def _push(self, node: Node) -> None:
        if node.bound < self.incumbent.value:
            self._number += 1
            heapq.heappush(self.open, replace(node, number=self._number))

    def split(self, case: OrderCase, classes: list[SizeClass]) -> list[OrderCase]:
        """Return the parts of a case by the last solution, an empty list if it cannot be split by
        these classes.

        A window that is longer than a bucket is halved, that of the lowest k first. Else the lowest
        k without a window gets some, in the first of the classes.
        """
        best: tuple[int, int, int] | None = None
        for which, jobs in enumerate(classes):
            starts, begun = self._program.begun(jobs)
            if not len(starts):
                continue
            for k in range(jobs.count):
                known = (jobs, k) in case.windows
                first, last = self._buckets(case, jobs, k)
                low, high = np.searchsorted(begun, [k + BEGUN, k + 1 - BEGUN])
                spread = starts[min(high, len(starts) - 1)] > starts[min(low, len(starts) - 1)]
                if last - first > 1 and (spread or not known):
                    rank = (0 if known else 1, k, which)
                    best = rank if best is None else min(best, rank)
        if best is None:
            return []
        known, k, which = best[0] == 0, best[1], best[2]
        return self._parts(case, classes[which], k, known=known)

    def _parts(self, case: OrderCase, jobs: SizeClass, k: int, *, known: bool) -> list[OrderCase]:
        first, last = self._buckets(case, jobs, k)
        number = 2 if known else min(PARTS, last - first)
        cuts = np.unique(np.linspace(first, last, number + 1).round().astype(np.int64))
        return [
            replace(case, windows={**case.windows, (jobs, k): (low, high)})
            for low, high in pairwise(self._grid[cuts].tolist())
        ]

    def _buckets(self, case: OrderCase, jobs: SizeClass, k: int) -> tuple[int, int]:
        """Return the first and the last point of the grid for the k-th start, given the windows of
        the starts before and after it.
        """
        low, high = case.windows.get((jobs, k), (jobs.first, case.end))
        for (other, number), (first, last) in case.windows.items():
            if other == jobs and number < k:
                low = max(low, first)
            if other == jobs and number > k:
                high = min(high, last)
        return self._around(low, high)

    def _around(self, first: int, last: int) -> tuple[int, int]:
        """Return the last point of the grid up to a window, and the first one from its end on."""
        low = int(np.searchsorted(self._grid, first, side="right")) - 1
        return low, int(np.searchsorted(self._grid, last))


def branch_on_order(
    incumbent: Incumbent, bound: PoolBound, reach: Reach, other: Iterable[None] = ()
) -> Iterator[None]:
    """Raise the bound of the incumbent by a tree; ``bound`` has the prices of the whole problem, of
    which ``reach`` has the starts.

    Trees by several sets of classes compete: each takes some steps, the better half of them twice
    as many, and so on. When the best stalls, the ``other`` search runs, and then the tree
    continues on finer grids.
    """
    program = CaseProgram(bound, incumbent.value)
    if program.empty:
        incumbent.raise_bound(incumbent.value)
        return
    sets, further = class_sets(incumbent.problem), further_classes(incumbent.problem)
    trees = [OrderTree(incumbent, bound, classes, further, program) for classes in sets]
    steps = TRIAL
    while len(trees) > 1 and not incumbent.proved:
        for tree in trees:
            yield from _steps(tree, incumbent, steps)
        trees = sorted(trees, key=lambda tree: -tree.bound)[: (len(trees) + 1) // 2]
        steps *= 2
    yield from _until_stalled(trees[0], incumbent)
    yield from other
    yield from _on_finer_grids(trees[0], incumbent, bound, reach)
    yield from _steps(trees[0], incumbent)


def _on_finer_grids(
    tree: OrderTree, incumbent: Incumbent, bound: PoolBound, reach: Reach
) -> Iterator[None]:
    """Take steps of a tree on ever finer grids, each until it stalls."""
    for fineness in FINER:
        if incumbent.proved or bound.work > AFFORDABLE:
            return
        known = functions_in_use(bound)
        bounds = refine(incumbent.problem, reach, incumbent.value, fineness, known=known)
        found = yield from best_of(posted(incumbent, bounds))
        if found is None or incumbent.proved:
            return
        bound, program = found, CaseProgram(found, incumbent.value)
        if program.empty:
            incumbent.raise_bound(incumbent.value)
            return
        tree.reprice(bound, program)
        yield from _until_stalled(tree, incumbent)


def _until_stalled(tree: OrderTree, incumbent: Incumbent) -> Iterator[None]:
    """Take steps of a tree as long as they close the gap."""
    more, before, gap = True, 0, 0
    while more and tree.bound - before >= CLOSED * gap:
        before, gap = tree.bound, incumbent.value - tree.bound
        more = yield from _steps(tree, incumbent, STALL)


def _steps(
    tree: OrderTree, incumbent: Incumbent, most: int | None = None
) -> Generator[None, None, bool]:
    """Take steps of a tree, at most this number, and raise the bound of the incumbent; return
    whether there may be more.
    """
    taken = 0
    for _ in islice(iter(tree.step, False), most):
        taken += 1
        incumbent.raise_bound(tree.bound)
        yield
    incumbent.raise_bound(tree.bound)
    return taken == most


def class_sets(problem: PoolProblem) -> list[list[SizeClass]]:
    """Return sets of classes to try, the most promising first; each set is a list without
    repetition.

    The jobs larger than half of the pool exclude each other, so they come first, then also the
    largest of them, which leave hardly any processors. Where jobs of middle size are few, the cost
    may be theirs.
    """
    most = int(problem.free.max())
    sizes = np.sort(problem.sizes)
    large = _above(problem, most // 2 + 1)
    nested = _largest_of(problem)
    middle = [
        SizeClass.of(problem, int(found[0]), int(found[-1]))
        for low, high in ((most / 3, most / 2), (most / 6, most / 3))
        if 0 < len(found := sizes[(sizes > low) & (sizes <= high)]) <= FEW
    ]
    from_quarter = _above(problem, -(-most // 4))
    sets = [large, large + nested, large + nested + middle, from_quarter]
    if not any(sets):
        sets.append(_above(problem, int(sizes[-1])))
    return [list(classes) for classes in dict.fromkeys(tuple(dict.fromkeys(s)) for s in sets if s)]


def further_classes(problem: PoolProblem) -> list[SizeClass]:
    """Return classes with ever more jobs."""
    most = int(problem.free.max())
    return [jobs for parts in PARTS_OF_POOL for jobs in _above(problem, -(-most // parts))]


def _above(problem: PoolProblem, least: int) -> list[SizeClass]:
    """Return the class of all jobs of at least this size, if there are any."""
    most = int(problem.sizes.max())
    return [SizeClass.of(problem, least, most)] if most >= least else []


def _largest_of(problem: PoolProblem) -> list[SizeClass]:
    """Return the class of the largest of the large jobs, if these leave far fewer processors than
    the others.
    """
    most = int(problem.free.max())
    sizes = np.sort(problem.sizes[problem.large])
    if len(sizes) < 3:
        return []
    left = (most - sizes + 1).astype(float)
    ratio = left[:-1] / left[1:]
    at = int(np.argmax(ratio))
    return _above(problem, int(sizes[at + 1])) if ratio[at] >= MUCH_LESS else []
