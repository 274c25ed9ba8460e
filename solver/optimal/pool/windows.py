"""A bound by cases: when the large jobs start."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from .bounds import Barrier, Incumbent, Market, PoolBound, Relaxation
from .problem import Group, Ints, PoolProblem

# When the large jobs start.
#
# Prices let a large job run in fractions: a tenth of it beside nine tenths of what it excludes, at
# ten different times. The pool is never drained for it, which costs a plan most. In the case that
# the job starts within a given window, all that runs through the window runs beside it: long jobs
# that leave no room for it must end or start in between.
#
# Cases are made slab by slab of time. Large jobs that no window is known of start at some instant
# or later; in the slab that begins there, either one of them starts, the largest of those that do,
# or none does. So the cases together are all plans, and the least of their bounds is a bound.
#
# Best bound first. Prices of the whole problem are a good beginning for those of a case.


#: Slabs up to the last start of the best plan, and into how many parts a window is split at most.
SLABS = 128
PARTS = 4


@dataclass(frozen=True)
class WindowCase:
    """Some large jobs start within ``windows``, job -> (first, last), others, ``later``, at some
    instant or after it. ``priced``: the bound is of this case, not of one that it is part of."""

    windows: dict[int, tuple[int, int]]
    later: dict[int, int]
    priced: bool = False


class WindowSearch:
    """The cases of one problem; ``bound``: prices of the whole."""

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
        """Raise the incumbent's bound as far as cases can be told apart."""
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
        """Cases that are together the whole of one; none if that cannot be split."""
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
        """No plan of the case is below this; the best plan's value if the case has none."""
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
        """The problem with the first starts of the case."""
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
        """The grid of the whole, and where a job of the case is sure to run."""
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
        """Starts among which every price system has a cheapest one that the case allows."""
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
