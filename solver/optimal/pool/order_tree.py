"""A lower bound of a pool by a tree of cases, which distinguish when the k-th large job starts."""

from __future__ import annotations

import heapq
from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice, pairwise

import numpy as np

from .bounds import Incumbent, PoolBound, posted
from .case_program import CaseProgram
from .order_cases import OrderCase, SizeClass
from .pricing import Fineness, Reach, best_of, functions_in_use, refine
from .problem import PoolProblem

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
