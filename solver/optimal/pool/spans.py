"""Starts as intervals, for problems in which there are too many instants to list them.

Reduced costs are linear between the grid's points, the grid's points less a duration, the due and
the ends of the interval: over these candidates a price system is as exact as over all seconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from .pricing import instants
from .problem import Ints, PoolProblem
from .relax import Count, PoolBound


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
