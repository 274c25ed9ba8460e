"""Possible starts of jobs in several pools at once, and rows that keep them within what there is.

The pools are those of :mod:`.several_pools`. Whatever is pooled, a best plan of the pools needs few
instants: a job that starts neither where the base changes nor where another ends could start a
second before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..availability.arrays import IntArray
from ..availability.demand import Demand
from ..budget import Budget
from ..problem import PlanningProblem
from .costs import Costs
from .several_pools import pools_of

#: Instants and possible starts that a model may have.
MOST_INSTANTS = 1500
MOST_STARTS = 30_000
#: Starts where only some are taken, and instants of each job then, at least.
SOME_STARTS = 30_000
FEWEST_INSTANTS = 30
#: Parts of a piece that are counted, and bits of the largest cost.
FINE = 64
BITS = 30


@dataclass(frozen=True, slots=True)
class StartsRow:
    """What the starts at these positions take of a pool at an instant, and what there is."""

    starts: IntArray
    amounts: IntArray
    limit: int


@dataclass(frozen=True, slots=True)
class StartTable:
    """Possible starts: whose, when, and what each costs more than the job's first, shifted right
    by `bits`.
    """

    jobs: IntArray
    times: IntArray
    costs: IntArray
    bits: int

    def of(self, count: int) -> list[IntArray]:
        """The positions of each job's starts."""
        return [np.flatnonzero(self.jobs == number) for number in range(count)]


def possible_starts(
    problem: PlanningProblem,
    jobs: Sequence[Demand],
    costs: Costs,
    alone: Mapping[str, int],
    room: int,
) -> StartTable | None:
    """All starts with which a job alone does not cost more than there is room for, of those that a
    best plan of the pools needs; None: too many.

    room: what all jobs together may cost more than alone, in units.
    """
    ranges = _ranges(jobs, costs, alone, room)
    end = max((last for _, last in ranges), default=0)
    durations = np.unique([demand.duration or 0 for demand in jobs])
    begin = np.unique([*problem.base.changes(), *(first for first, _ in ranges)])
    grid = _instants(begin, durations, end)
    if grid is None:
        return None
    found = [grid[(grid >= first) & (grid <= last)] for first, last in ranges]
    if not all(map(len, found)) or not 0 < sum(map(len, found)) <= MOST_STARTS:
        return None
    return _table(jobs, costs, found)


def some_starts(
    problem: PlanningProblem,
    jobs: Sequence[Demand],
    costs: Costs,
    alone: Mapping[str, int],
    room: int,
) -> StartTable:
    """Some of these starts, about SOME_STARTS at most: what follows from them bounds nothing.

    Where there are too many instants they are taken evenly from those that are there, and come
    after one job.
    """
    ranges = _ranges(jobs, costs, alone, room)
    end = max(last for _, last in ranges)
    durations = np.unique([demand.duration or 0 for demand in jobs])
    begin = np.unique([*problem.base.changes(), *(first for first, _ in ranges)])
    grid = np.unique(np.concatenate((begin, np.add.outer(begin, durations).ravel())))
    grid = grid[grid <= end]
    count = min(len(grid), max(FEWEST_INSTANTS, SOME_STARTS // len(jobs)))
    grid = grid[np.linspace(0, len(grid) - 1, count).astype(np.int64)]
    found = [
        np.append(first, grid[(grid > first) & (grid <= last)]).astype(np.int64)
        for first, last in ranges
    ]
    return _table(jobs, costs, found)


def _ranges(
    jobs: Sequence[Demand], costs: Costs, alone: Mapping[str, int], room: int
) -> list[tuple[int, int]]:
    """The first and the last start of each job that there is room for."""
    found = []
    for demand in jobs:
        cost, first = costs.jobs[demand.job.id], alone[demand.job.id]
        last = cost.latest(cost.at(first) + room)
        found.append((first, first - 1 if last is None else last))
    return found


def _table(jobs: Sequence[Demand], costs: Costs, times: Sequence[IntArray]) -> StartTable:
    own = [costs.jobs[demand.job.id] for demand in jobs]
    extra = [
        [cost.at(time) - cost.at(int(mine[0])) for time in mine.tolist()]
        for cost, mine in zip(own, times, strict=True)
    ]
    bits = max(0, max(max(row) for row in extra).bit_length() - BITS)
    return StartTable(
        np.repeat(np.arange(len(jobs)), [len(mine) for mine in times]),
        np.concatenate(times),
        np.array([more >> bits for row in extra for more in row], dtype=np.int64),
        bits,
    )


def _instants(begin: IntArray, durations: IntArray, end: int) -> IntArray | None:
    """These up to `end`, and those that come so long after another; None if they are too many."""
    found = new = begin[begin <= end]
    while new.size:
        if found.size > MOST_INSTANTS:
            return None
        later = np.unique(np.add.outer(new, durations))
        new = np.setdiff1d(later[later <= end], found)
        found = np.union1d(found, new)
    return found


def rows_of(
    problem: PlanningProblem, jobs: Sequence[Demand], starts: StartTable, budget: Budget
) -> list[StartsRow]:
    """What runs at an instant takes no more than there is: wherever that could be broken."""
    changes = np.array(problem.base.changes())
    grid = np.unique(starts.times)
    step = np.searchsorted(changes, grid, side="right") - 1
    lengths = np.array([demand.duration or 0 for demand in jobs])
    ends = starts.times + lengths[starts.jobs]
    own = starts.of(len(jobs))
    first, last = (np.array([call(starts.times[at]) for at in own]) for call in (np.min, np.max))
    may_run = (first <= grid[:, np.newaxis]) & (grid[:, np.newaxis] < last + lengths)
    rows = []
    for pool in pools_of(problem.base, jobs, budget):
        taken = np.zeros(len(jobs), dtype=np.int64)
        for number, amount in pool.taken.items():
            taken[number] = int(FINE * amount)
        there = np.ceil(FINE * pool.there).astype(np.int64)[step]
        users = np.flatnonzero(taken[starts.jobs])
        for at in np.flatnonzero(may_run @ taken > there).tolist():
            running = users[(starts.times[users] <= grid[at]) & (grid[at] < ends[users])]
            rows.append(StartsRow(running, taken[starts.jobs[running]], int(there[at])))
    return rows
