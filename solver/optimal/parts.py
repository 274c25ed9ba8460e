"""A bound by parts: jobs that want the same scarce thing are planned among themselves.

Whole hosts, idle compute units and the like are few, and the jobs that want them are few as well:
each such pool with its jobs is small enough to be solved exactly, where prices over all pools lose
what fractions of jobs may share. Every job counts in one part only, so the sum is a bound.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..availability.demand import Demand
from ..budget import Budget, OutOfTime
from ..problem import PlanningProblem
from .aggregate import AggregatedProblem, as_pool
from .costs import Costs
from .several_pools import Pieces, bound_of_pools, pools_of

#: Jobs of a part, at most, and pieces that a pool may have: small enough to be solved.
MOST_JOBS = 20
MOST_PIECES = 50_000
#: Rounds of the pool's search to see what a part is worth, and to solve it.
GLANCE = 3
ROUNDS = 120
#: Pieces are counted with this slack.
SPARE = 1e-9
#: Share of the time left that all of it may take.
SHARE = 0.4


@dataclass(frozen=True, slots=True)
class ScarcePart:
    """Some jobs, by position, that share a pool, and what they cost at least, in units.

    alone: what they would cost if none were in the way of another.
    """

    jobs: frozenset[int]
    pool: AggregatedProblem
    bound: int
    alone: int

    @property
    def gain(self) -> float:
        """What a job of the part costs more than alone, on average."""
        return (self.bound - self.alone) / len(self.jobs)


def bound_of_parts(
    problem: PlanningProblem,
    demands: Sequence[Demand],
    costs: Costs,
    alone: Mapping[str, int],
    instants: Sequence[int],
    budget: Budget,
) -> int | None:
    """No plan of `demands` costs less, in units; None where there is nothing to say.

    alone, instants: as for :func:`.several_pools.bound_of_pools`, which bounds what no part holds.
    """
    if costs.largest or any(len(demand.terms) != 1 for demand in demands):
        return None
    budget = Budget(
        budget.part(SHARE),
        cancel=budget.cancel,
        grace=budget.grace / 2,
        clock=budget.clock,
        memory=budget.memory_left,
    )
    found = bound_of_pools(problem, demands, costs, alone, instants, budget)
    try:
        search = _Parts(problem, [d for d in demands if d.duration], costs, alone, budget)
    except OutOfTime:
        return found
    least = costs.total({demand.job.id: alone[demand.job.id] for demand in demands})
    sure, left = 0, list(demands)
    while (part := search.best()) is not None:
        part = search.solved(part)
        sure += part.bound
        gone = {search.jobs[number].job.id for number in part.jobs}
        left = [demand for demand in left if demand.job.id not in gone]
        rest = costs.total({demand.job.id: alone[demand.job.id] for demand in left})
        priced = bound_of_pools(problem, left, costs, alone, instants, budget) if left else None
        found = max(found or least, sure + max(rest, priced or rest))
    return found


class _Parts:
    """The parts that can still be formed of jobs that are in none."""

    def __init__(
        self,
        problem: PlanningProblem,
        jobs: Sequence[Demand],
        costs: Costs,
        alone: Mapping[str, int],
        budget: Budget,
    ) -> None:
        self.jobs = jobs
        self._problem = problem
        self._costs = costs
        self._alone = alone
        self._budget = budget
        self._pools = pools_of(problem.base, jobs, budget) if jobs else []
        self._free = set(range(len(jobs)))
        self._known: dict[tuple[int, frozenset[int]], ScarcePart | None] = {}

    def best(self) -> ScarcePart | None:
        """The part in which a job loses most; None if no part loses anything."""
        parts = [part for number in range(len(self._pools)) if (part := self._seen(number))]
        worth = [part for part in parts if part.bound > part.alone]
        return max(worth, key=lambda part: part.gain, default=None)

    def solved(self, part: ScarcePart) -> ScarcePart:
        """The part with a bound that took work; its jobs are in no other part from now on."""
        self._free -= part.jobs
        return self._bounded(part.jobs, part.pool, ROUNDS)

    def _seen(self, number: int) -> ScarcePart | None:
        """The part of a pool and all free jobs that want it, with what it is worth at a glance."""
        pieces = self._pools[number]
        sizes = {job: int(pieces.taken[job]) for job in sorted(self._free & pieces.taken.keys())}
        jobs = frozenset(job for job, size in sizes.items() if size)
        if (number, jobs) not in self._known:
            self._known[number, jobs] = self._new(pieces, sizes, jobs)
        return self._known[number, jobs]

    def _new(
        self, pieces: Pieces, sizes: Mapping[int, int], jobs: frozenset[int]
    ) -> ScarcePart | None:
        if not 2 <= len(jobs) <= MOST_JOBS or self._late():
            return None
        taken = np.array([sizes[job] for job in sorted(jobs)])
        unit = int(np.gcd.reduce(taken))
        free = np.floor((pieces.there + SPARE) / unit).astype(np.int64)
        if free.max() > MOST_PIECES:
            return None
        demands = [self.jobs[job] for job in sorted(jobs)]
        pool = as_pool(self._problem, demands, self._costs, self._alone, free, taken // unit)
        return None if pool is None else self._bounded(jobs, pool, GLANCE)

    def _late(self) -> bool:
        return self._budget.stopped()

    def _bounded(self, jobs: frozenset[int], pool: AggregatedProblem, rounds: int) -> ScarcePart:
        from .pool import optimise

        result = optimise(pool.pool, effort=rounds, cancelled=self._late)
        alone = {self.jobs[job].job.id: self._alone[self.jobs[job].job.id] for job in jobs}
        least = self._costs.total(alone)
        return ScarcePart(jobs, pool, max(least, pool.total(result.bound)), least)
