"""Proofs of lower bounds for a pool: prices first, then searches until no better plan can exist."""

from __future__ import annotations

import heapq
from collections.abc import Generator, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from .bounds import Incumbent, Market, PoolBound, posted
from .chronology import Chronology, Guide, State, plan_of
from .layers import LayeredSearch
from .order_tree import branch_on_order
from .pricing import Fineness, Reach, achievable_starts, best_of, functions_in_use, refine
from .problem import Ints, PoolProblem

FIRST_SLICE = 0.1
LAST_SLICE = 4.0


def makespan_bound(problem: PoolProblem) -> int:
    """Return the largest of two makespan bounds: the end of any job alone, and the time in which
    the capacity holds the whole work under any function.
    """
    best = int((problem.alone + problem.durations).max())
    market = Market(problem, np.array([0, best], dtype=np.int64))
    market.add(market.sizes.copy())
    market.add_steps(6)
    rows = np.searchsorted(market.sizes, problem.sizes)
    for function in market.functions:
        work = int((function[rows] * problem.durations).sum())
        best = max(best, _time_for(problem, market.most(function), work))
    return best


def _time_for(problem: PoolProblem, level: Ints, work: int) -> int:
    """Return the first instant by which the area under a step function reaches this amount."""
    given = np.concatenate((np.zeros(1, np.int64), np.cumsum(level[:-1] * np.diff(problem.times))))
    step = int(np.searchsorted(given, work, side="left")) - 1
    if step < 0:
        return 0
    rate = int(level[step])
    return int(problem.times[step]) + -(-(work - int(given[step])) // rate) if rate else 0


def prove_makespan(incumbent: Incumbent) -> Iterator[None]:
    """Prove the makespan by CP-SAT with one cumulative constraint, restarted from the best plan in
    slices of deterministic time.
    """
    problem = incumbent.problem
    incumbent.raise_bound(makespan_bound(problem))
    budget = FIRST_SLICE
    while not incumbent.proved:
        yield
        starts, bound = _solve(problem, incumbent.starts, incumbent.value, incumbent.bound, budget)
        if starts is not None:
            incumbent.offer(starts)
        incumbent.raise_bound(bound)
        budget = min(LAST_SLICE, 1.25 * budget)


def _solve(
    problem: PoolProblem, hint: Ints, value: int, bound: int, budget: float
) -> tuple[Ints | None, int]:
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    capacity = int(problem.free.max())
    last = model.new_int_var(bound, value, "last")
    intervals: list[Any] = []
    demands: list[int] = []
    starts: list[Any] = []
    for job in range(len(problem)):
        duration = int(problem.durations[job])
        start = model.new_int_var(int(problem.alone[job]), value - duration, "")
        model.add(start + duration <= last)
        model.add_hint(start, int(hint[job]))
        starts.append(start)
        intervals.append(model.new_fixed_size_interval_var(start, duration, ""))
        demands.append(int(problem.sizes[job]))
    times = [*problem.times.tolist(), max(value, int(problem.times[-1])) + 1]
    for begin, end, free in zip(times, times[1:], problem.free.tolist(), strict=False):
        if free < capacity:
            intervals.append(model.new_fixed_size_interval_var(begin, end - begin, ""))
            demands.append(capacity - free)
    model.add_cumulative(intervals, demands, capacity)
    model.minimize(last)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.max_deterministic_time = budget
    solver.parameters.random_seed = 1
    if solver.solve(model) not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return None, bound
    plan = np.array([solver.value(start) for start in starts], dtype=np.int64)
    return plan, max(bound, int(np.ceil(solver.best_objective_bound - 1e-6)))


COARSE = Fineness(buckets=50, rounds=0, gain=1e-3)
QUICK = Fineness(buckets=50, rounds=6, gain=1e-3)
FINE = Fineness(buckets=80, rounds=15, gain=2e-4)
#: Buckets of ever finer grids, and the work of a grid after which no finer one follows.
GRIDS = (80, 130)
CHEAP = 400_000
BRANCH = Fineness(buckets=40, rounds=6, gain=1e-3)
MAX_INSTANTS = 400_000
NODES = 3000
FIRST_WIDTH = 500
NARROW = 50
GROWTH = 10
SEARCHABLE = 30
#: Maximum number of jobs of which a search in layers takes less time than the first cases.
QUICKLY_LAYERED = 60
MAX_STATES = 1_000_000


def prove(incumbent: Incumbent) -> Iterator[None]:
    """Raise the bound of the incumbent up to a proof or the end of the budget; weights must be
    positive.

    Prices come first, on ever finer grids, then a search until no better plan can exist: in layers
    if capacity never falls, by cases of when large jobs start if jobs are many, and at the end in a
    tree of forward plans. In layers of very many jobs it is slow and comes after the cases.

    The generator does one small piece of work per step (mostly under a second), so that other tasks
    can run in between. Better plans found by these tasks make the later steps faster.
    """
    problem = incumbent.problem
    horizon = int((incumbent.starts + problem.durations).max())
    every_start = Reach(None, horizon, incumbent.last)
    coarse = yield from best_of(
        posted(
            incumbent,
            refine(problem, every_start, incumbent.value, COARSE),
        )
    )
    if coarse is None or incumbent.proved:
        return
    latest = latest_starts(coarse, incumbent.value)
    every = achievable_starts(problem, max(latest), MAX_INSTANTS // len(problem.groups))
    if every is None:
        reach = Reach(None, horizon, incumbent.last)
        best = yield from finer(incumbent, reach)
        if best is not None:
            yield from branch_on_order(incumbent, best, reach)
        return
    root = Root(incumbent, _within(problem, every, latest))
    yield from root.tighten(QUICK)
    layered, quick = root.layered, len(problem) <= QUICKLY_LAYERED
    yield from root.try_at_once(FIRST_WIDTH if quick else NARROW)
    yield from root.tighten(FINE)
    in_layers = root.widen(FIRST_WIDTH, FIRST_WIDTH, hopeful=True) if layered else iter(())
    if quick:
        yield from in_layers
    if layered and len(problem) <= SEARCHABLE:
        yield from root.widen(FIRST_WIDTH * GROWTH, MAX_STATES)
    if len(problem) > SEARCHABLE and root.bound is not None:
        reach = Reach(root.domains, busy=incumbent.last)
        yield from branch_on_order(incumbent, root.bound, reach, in_layers)
    yield from root.branch()


def finer(incumbent: Incumbent, reach: Reach) -> Generator[None, None, PoolBound | None]:
    """Return the best of the bounds on ever finer grids, which end when one took much work, or
    None if there is none.
    """
    best: PoolBound | None = None
    for buckets in GRIDS:
        known = () if best is None else functions_in_use(best)
        fineness = replace(FINE, buckets=buckets)
        bounds = refine(incumbent.problem, reach, incumbent.value, fineness, known=known)
        found = yield from best_of(posted(incumbent, bounds))
        if found is not None and (best is None or found.floor > best.floor):
            best = found
        if found is None or incumbent.proved or found.work > CHEAP:
            break
    return best


def latest_starts(bound: PoolBound, value: int) -> list[int]:
    """Return, for each group, an instant after which no job starts in any plan better than
    ``value``.

    Reduced costs are linear between the candidates and rise after the last, given positive weights.
    So after the last affordable candidate, nothing beyond the next one is affordable.
    """
    spare = (value - 1) * bound.prices.scale - bound.floor
    latest = []
    for group, starts, excess, least in zip(
        bound.prices.market.problem.groups, bound.starts, bound.excess, bound.least, strict=True
    ):
        last = int(np.flatnonzero(excess <= max(0, spare))[-1])
        if last + 1 < len(starts):
            latest.append(int(starts[last + 1]))
        else:
            # Windows beyond the grid have no price, so only the cost of the job itself remains.
            latest.append(
                group.due + (least + max(0, spare)) // (bound.prices.scale * group.weight)
            )
    horizon = bound.prices.market.problem.horizon
    return [min(max(0, instant), horizon) for instant in latest]


def _within(problem: PoolProblem, every: Ints, latest: list[int]) -> list[Ints]:
    """Return the achievable starts of each group, between its earliest and its latest start."""
    domains = []
    for group, last in zip(problem.groups, latest, strict=True):
        first = int(problem.alone[group.members[0]])
        domains.append(every[(every >= first) & (every <= max(first, last))])
    return domains


class Root:
    """The whole problem with the starts that a better plan may still use."""

    def __init__(self, incumbent: Incumbent, domains: list[Ints]) -> None:
        self.incumbent = incumbent
        self.problem = incumbent.problem
        self.domains = domains
        self.bound: PoolBound | None = None

    def tighten(self, fineness: Fineness) -> Iterator[None]:
        """Compute prices and remove starts that cost too much, as long as starts are removed."""
        for _ in range(3):
            if self.incumbent.proved:
                return
            incumbent = self.incumbent
            reach = Reach(self.domains, busy=incumbent.last)
            bounds = refine(self.problem, reach, incumbent.value, fineness)
            best = yield from best_of(posted(self.incumbent, bounds))
            if best is None:
                return
            self.bound = best
            before = sum(map(len, self.domains))
            if not self._strike(best) or sum(map(len, self.domains)) > 0.7 * before:
                return

    @property
    def layered(self) -> bool:
        """Whether the layered search applies to the problem."""
        return self.bound is not None and LayeredSearch.suits(self.problem, self.domains)

    def try_at_once(self, width: int = FIRST_WIDTH) -> Iterator[None]:
        """Search simple problems immediately, because they need no better prices: in layers of at
        most ``width`` states, or in a tree of some nodes.
        """
        if self.layered:
            yield from self.widen(width, width, hopeful=True)
        elif self.bound is not None and not self.incumbent.proved:
            tree = Chronology(self.problem, self.incumbent.value)
            guide = Guide(self.bound, tree.root(), list(range(len(self.problem.groups))))
            done = tree.explore(tree.root(), guide, NODES)
            self._take(tree)
            if done:
                self.incumbent.raise_bound(self.incumbent.value)
            yield

    def widen(self, width: int, most: int, *, hopeful: bool = False) -> Iterator[None]:
        """Search in layers with ever more states per layer, up to ``most`` states or the limit of
        memory.

        The hopeful search for better plans, and again while they find some.
        """
        while self.bound is not None and not self.incumbent.proved and self._strike(self.bound):
            prices, value = self.bound.prices, self.incumbent.value
            search = LayeredSearch(self.problem, self.domains, prices, value)
            yield
            most = min(most, search.widest)
            proved = yield from search.run(min(width, most), hopeful=hopeful)
            if search.found is not None:
                self.incumbent.offer(search.found)
            self.incumbent.raise_bound(proved)
            if hopeful and self.incumbent.value < value:
                continue
            if width >= most:
                return
            width *= GROWTH

    def _strike(self, bound: PoolBound) -> bool:
        """Keep the starts whose reduced cost a better plan can afford; return False if a group has
        none.
        """
        spare = (self.incumbent.value - 1) * bound.prices.scale - bound.floor
        kept = [s[excess <= spare] for s, excess in zip(bound.starts, bound.excess, strict=True)]
        if min(map(len, kept)) == 0:
            self.incumbent.raise_bound(self.incumbent.value)
            return False
        self.domains = kept
        return True

    def branch(self) -> Iterator[None]:
        """Search the states with the lowest bound first; a small subtree is searched completely, a
        large one gets new prices and is split.
        """
        bound = self.bound
        if bound is None or self.incumbent.proved:
            return
        tree = Chronology(self.problem, self.incumbent.value)
        known = functions_in_use(bound)
        root = tree.root()
        number = 0
        first = Guide(bound, root, list(range(len(self.problem.groups))))
        queue: list[tuple[int, int, State, Guide]] = [(bound.value, number, root, first)]
        while queue:
            least, _, state, guide = heapq.heappop(queue)
            self.incumbent.raise_bound(least)
            tree.best = min(tree.best, self.incumbent.value)
            if least >= tree.best:
                break
            done = tree.explore(state, guide, NODES)
            self._take(tree)
            yield
            if not done and guide.base is not state:
                fresh = yield from self._price(tree, state, known)
                if fresh is not None:
                    guide = fresh
                    least = max(least, state.value + guide.value)
                done = least >= tree.best or tree.explore(state, guide, NODES)
                self._take(tree)
            if not done:
                for child in tree.children(state):
                    reached = max(least, tree.bound(child, guide))
                    if reached < tree.best:
                        number += 1
                        heapq.heappush(queue, (reached, number, child, guide))
        self.incumbent.raise_bound(self.incumbent.value)

    def _take(self, tree: Chronology) -> None:
        if tree.found is not None and tree.best < self.incumbent.value:
            self.incumbent.offer(plan_of(self.problem, tree.found))

    def _price(
        self, tree: Chronology, state: State, known: list[dict[int, int]]
    ) -> Generator[None, None, Guide | None]:
        """Yield prices for the remaining problem of a state."""
        problem, kinds = tree.residual(state)
        last = max(int(self.domains[kind][-1]) for kind in kinds)
        every = achievable_starts(problem, last, MAX_INSTANTS)
        if every is None:
            return None
        domains = []
        for kind, group in zip(kinds, problem.groups, strict=True):
            later = every[every >= problem.alone[group.members[0]]]
            domains.append(np.intersect1d(later, self.domains[kind], assume_unique=True))
        if min(map(len, domains)) == 0:
            return None
        reach = Reach(domains, busy=self.incumbent.last)
        bounds = refine(problem, reach, tree.best - state.value, BRANCH, known=known)
        bound = yield from best_of(bounds)
        return None if bound is None else Guide(bound, state, kinds)
