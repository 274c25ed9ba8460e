"""A lower bound of a pool by cases, which distinguish when the large jobs start."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from .bounds import Barrier, Incumbent, Market, PoolBound, Relaxation
from .problem import Group, Ints, PoolProblem

#: Number of windows up to the last start of the best plan, and the maximum number of parts of a
#: split window.
SLABS = 128
PARTS = 4


@dataclass(frozen=True)
class WindowCase:
    """A case of the search: some large jobs start within ``windows`` (job -> (first, last)), the
    jobs of ``later`` at the given instants or after them. ``priced`` is True if the bound was
    computed for this case and not for a case that contains it.
    """

    windows: dict[int, tuple[int, int]]
    later: dict[int, int]
    priced: bool = False


class WindowSearch:
    """The search over the cases of one problem; ``bound`` has the prices of the whole problem.

    Prices let a large job run in fractions, for example a tenth of the job at each of ten different
    times, so the relaxed pool is never drained for the job although a real plan must drain it. If
    the job starts within a known window, only jobs that fit beside it run through the window: long
    jobs that leave no room must end or start inside the window.

    Cases divide time into slabs. A large job without a known window starts at some instant or
    later; in the slab that begins there, one of these jobs starts (the largest of those that do),
    or none. So the cases together cover all plans, and the least of their bounds is a bound. The
    case with the lowest bound is split first. Prices of the whole problem are good initial prices
    for a case.
    """

    def __init__(self, incumbent: Incumbent, bound: PoolBound) -> None:
        self.incumbent = incumbent
        self.problem = incumbent.problem
        market = bound.prices.market
        self._grid = market.grid
        self._lots = [
            (market.functions[function], int(market.grid[bucket]), int(market.grid[bucket + 1]))
            for function, bucket, _ in bound.prices.lots
        ]
        self.slab = max(PARTS, incumbent.last // SLABS)

    def run(self) -> Iterator[None]:
        """Raise the bound of the incumbent by splitting cases, within the budget."""
        if not self.problem.large:
            return
        number = 0
        earliest = {job: int(self.problem.alone[job]) for job in self.problem.large}
        queue: list[tuple[int, int, WindowCase]] = [
            (self.incumbent.bound, number, WindowCase({}, earliest, True))
        ]
        while queue:
            least, _, case = heapq.heappop(queue)
            self.incumbent.raise_bound(least)
            if self.incumbent.proved:
                return
            if not case.priced:
                reached = max(least, self._price(case))
                yield
                found = [(reached, replace(case, priced=True))]
            else:
                cases = self.split(case)
                if not cases:
                    return
                found = [(least, part) for part in cases]
            for reached, part in found:
                if reached < self.incumbent.value:
                    number += 1
                    heapq.heappush(queue, (reached, number, part))
        self.incumbent.raise_bound(self.incumbent.value)

    def split(self, case: WindowCase) -> list[WindowCase]:
        """Return cases that together cover this case, or an empty list if it cannot be split."""
        for job, (first, last) in case.windows.items():
            if last - first >= 2 * self.slab // PARTS:
                middle = (first + last) // 2
                halves = ((first, middle), (middle + 1, last))
                return [WindowCase({**case.windows, job: half}, case.later) for half in halves]
        if not case.later:
            return []
        begin = min(case.later.values())
        end = begin + self.slab
        found = []
        after = case.later
        for job in self.problem.large:
            if job in case.later and case.later[job] < end:
                rest = {other: first for other, first in after.items() if other != job}
                window = (case.later[job], end - 1)
                found.append(WindowCase({**case.windows, job: window}, rest))
                after = {**after, job: end}
        return [*found, WindowCase(case.windows, after)]

    def _price(self, case: WindowCase) -> int:
        """Return a lower bound of all plans of the case, or the value of the best plan if the case
        has none.
        """
        problem, value = self._restricted(case), self.incumbent.value
        barriers = self.barriers(case)
        grid = self._grid_of(case)
        domains = [self._starts(problem, group, grid, case, barriers) for group in problem.groups]
        if min(map(len, domains)) == 0 or any(barrier.room < 0 for barrier in barriers):
            return value
        market = Market(problem, grid)
        relaxation = Relaxation(market, domains, 10 * value + 10, problem.scale, barriers)
        relaxation.add_prices(self._lots)
        return max((bound.value for bound in relaxation.solve()), default=0)

    def _restricted(self, case: WindowCase) -> PoolProblem:
        """Return the problem with the earliest starts of the case."""
        earliest = self.problem.earliest.copy()
        for job, first in case.later.items():
            earliest[job] = max(earliest[job], first)
        for job, (first, _) in case.windows.items():
            earliest[job] = max(earliest[job], first)
        return replace(self.problem, earliest=earliest, apart=frozenset(self.problem.large))

    def barriers(self, case: WindowCase) -> list[Barrier]:
        """Return the barriers that follow from the windows of the case."""
        times, free = self.problem.times, self.problem.free
        found = []
        for job, (first, last) in case.windows.items():
            step, after = np.searchsorted(times, [first, last], side="right").tolist()
            room = int(free[step - 1 : after].max() - self.problem.sizes[job])
            found.append(Barrier(job, first, last, room))
        return found

    def _grid_of(self, case: WindowCase) -> Ints:
        """Return the grid of the whole problem, refined where a job of the case certainly runs."""
        points = []
        for job, (first, last) in case.windows.items():
            points += [first, last + 1, max(last, first + int(self.problem.durations[job]))]
        return np.unique(np.concatenate((self._grid, np.array(points, dtype=np.int64))))

    def _starts(
        self,
        problem: PoolProblem,
        group: Group,
        grid: Ints,
        case: WindowCase,
        barriers: list[Barrier],
    ) -> Ints:
        """Return allowed starts of the case that contain a cheapest start under any prices."""
        job, alone = group.members[0], int(problem.alone[group.members[0]])
        first, last = case.windows.get(job, (alone, None))
        first = max(first, alone)
        edges = [first, group.due] if last is None else [first, group.due, last]
        for barrier in barriers:
            through = barrier.last - group.duration
            edges += [through, through + 1, barrier.first, barrier.first + 1]
        points = np.unique(np.concatenate((grid, grid - group.duration, edges)))
        points = points[points >= first]
        if last is not None:
            points = points[points <= last]
        for barrier in barriers:
            if group.size > barrier.room:
                points = points[~barrier.passed(group, points)]
        return points
