"""Cases of plans by when the k-th large job starts, and what a case says about single starts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .problem import Bools, Group, Ints, PoolProblem


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
