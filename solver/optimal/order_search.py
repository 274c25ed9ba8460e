"""Searches for plans over hosts: orders of jobs, large neighbourhoods, orders that a relaxation
gives.

An order is decoded job by job into earliest starts. If allocations do not matter, then for a
regular objective some order decodes into an optimum.

Large-neighbourhood search: a step removes a few jobs and inserts them in another order, while all
other jobs keep their starts. One of the removed jobs waits; the rest are chosen from the jobs that
overlap its wait. A step costs a few placements; a new order of all jobs costs one per job. A step
ends at the first job that would make the plan worse.

Plans in the order of starts of a relaxation with pools only. Such starts give a good order, but no
hosts. Jobs that need large blocks of a host are placed first, so that small jobs do not take their
hosts. Small jobs are also tried on hosts that are idle late or never, which no large job can use.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from ..availability.demand import Demand, in_waiting_order, keeps_order, with_eligible_time
from ..availability.profile import Profile
from ..availability.resources import SLOTS
from ..availability.usage import FOREVER
from ..budget import Budget
from ..placement.earliest import Start, allocate_start, earliest_start
from ..problem import PlanningProblem
from .costs import Allowance, Costs
from .pool_bounds import tiles_anywhere

Starts = dict[str, Start]


def times_of(placed: Mapping[str, Start]) -> dict[str, int]:
    """Return the start times of jobs (seconds)."""
    return {job: start.time for job, start in placed.items()}


def decode(problem: PlanningProblem, order: Sequence[Demand], alone: dict[str, int]) -> Starts:
    """Return the earliest starts in the given order, by job id; infeasible jobs are omitted.

    A job with a dependency is placed after the jobs that it depends on. alone: earliest start of
    each job given running jobs only (seconds).
    """
    profile = problem.base.copy()
    placed: Starts = {}
    for demand in in_waiting_order(order):
        demand = with_eligible_time(demand, times_of(placed))
        start = earliest_start(profile, demand, not_before=alone[demand.job.id])
        if start is not None:
            allocate_start(profile, demand, start)
            placed[demand.job.id] = start
    return placed


def decode_within(
    problem: PlanningProblem,
    costs: Costs,
    order: Sequence[Demand],
    alone: Mapping[str, int],
    most: int,
) -> Starts | None:
    """Return the earliest starts in the given order; None if a job is infeasible or the cost too
    high.

    most: maximum total cost, in the units of the costs.
    """
    profile = problem.base.copy()
    placed: Starts = {}
    allowance = Allowance(costs, {d.job.id: alone[d.job.id] for d in order}, most)
    for demand in in_waiting_order(order):
        demand = with_eligible_time(demand, times_of(placed))
        job = demand.job.id
        latest = allowance.latest(job)
        start = earliest_start(profile, demand, not_before=alone[job], not_after=latest)
        if start is None:
            return None
        allocate_start(profile, demand, start)
        allowance.spend(job, start.time)
        placed[job] = start
    return placed


Floats: TypeAlias = npt.NDArray[np.float64]

#: Numbers of jobs that a step removes; one is chosen at random.
SIZES = (1, 2, 2, 3, 4, 6, 8, 12)
#: Share of the least cost by which a step may raise the cost at first; it falls to 0.
WORSE = 0.004


@dataclass(frozen=True, slots=True)
class Extent:
    """Limits of a search.

    If the budget has an effort, `seconds` has no effect, so that the result does not depend on the
    machine.
    """

    #: Maximum number of steps.
    moves: int
    #: Maximum wall seconds.
    seconds: float
    #: Total cost at which the search ends, in the units of the costs.
    enough: int = 0
    #: Seed of the random choices.
    seed: int = 0


def improve(
    problem: PlanningProblem,
    costs: Costs,
    budget: Budget,
    alone: Mapping[str, int],
    first: Starts,
    extent: Extent,
    on_better: Callable[[int], None] | None = None,
) -> tuple[Starts, int]:
    """Return a plan that is at least as good as `first`, and its cost in units.

    on_better: called with the cost of each better plan.
    """
    search = _Neighbourhoods(problem, costs, alone, dict(first), extent.seed)
    best, least = search.starts, search.value
    begun = budget.elapsed()
    for number in range(extent.moves):
        done = number / extent.moves
        if budget.effort is None:
            done = max(done, (budget.elapsed() - begun) / max(extent.seconds, 1e-9))
        if done >= 1 or least <= extent.enough or budget.cancel.is_set() or budget.left() <= 0:
            break
        search.step(int(WORSE * (1 - done) * least))
        if search.value < least:
            best, least = search.starts, search.value
            if on_better is not None:
                on_better(least)
    return best, least


class _Neighbourhoods:
    """A plan and the random steps that change it."""

    def __init__(
        self,
        problem: PlanningProblem,
        costs: Costs,
        alone: Mapping[str, int],
        first: Starts,
        seed: int,
    ) -> None:
        self.problem = problem
        self.costs = costs
        self.alone = alone
        self.starts = first
        self.demands = {d.job.id: d for d in problem.demands if d.job.id in first}
        self.jobs = list(self.demands)
        self.random = np.random.default_rng(seed)
        self.value = self._value(first)

    def _value(self, starts: Starts) -> int:
        return self.costs.total({job: start.time for job, start in starts.items()})

    def step(self, worse: int) -> None:
        """Remove some jobs and insert them again; keep the result if it costs at most `worse`
        units more.
        """
        chosen = self._choose()
        profile = self._without(set(chosen))
        found = dict(self.starts)
        least = {job: start.time for job, start in found.items()}
        least.update((job, self.alone[job]) for job in chosen)
        allowance = Allowance(self.costs, least, self.value + worse)
        again = in_waiting_order([self.demands[job] for job in self._order(chosen)])
        others = {job: start for job, start in found.items() if job not in set(chosen)}
        for demand in again:
            job = demand.job.id
            demand = with_eligible_time(demand, times_of(others))
            latest = allowance.latest(job)
            start = earliest_start(profile, demand, not_before=self.alone[job], not_after=latest)
            if start is None:
                return
            allocate_start(profile, demand, start)
            allowance.spend(job, start.time)
            found[job] = others[job] = start
        if not keeps_order(self.demands.values(), times_of(found)):
            return
        value = self._value(found)
        if value <= self.value + worse:
            self.starts, self.value = found, value

    def _without(self, gone: set[str]) -> Profile:
        profile = self.problem.base.copy()
        for job, start in self.starts.items():
            if job not in gone:
                allocate_start(profile, self.demands[job], start)
        return profile

    def _choose(self) -> list[str]:
        """Return a random job that costs more than at its earliest start, and jobs that run
        while it waits.
        """
        excess = self._excesses()
        if excess.sum() <= 0:
            excess[:] = 1.0
        target = self.jobs[int(self.random.choice(len(self.jobs), p=excess / excess.sum()))]
        size = int(self.random.choice(SIZES))
        near = self._in_the_way(target)
        count = min(size - 1, len(near))
        others = self.random.choice(len(near), count, replace=False) if count else ()
        return [target, *(near[int(index)] for index in others)]

    def _excesses(self) -> Floats:
        """Return the cost of each job's wait as a share of the total.

        If the objective is the largest cost, the result is the relative size of each job's cost.
        """
        cost = self.costs.jobs
        now = [cost[job].at(self.starts[job].time) for job in self.jobs]
        if self.costs.largest:
            waits = [self.starts[job].time > self.alone[job] for job in self.jobs]
            most = max(*now, 1)
            return np.array(
                [(own / most) ** 4 * late for own, late in zip(now, waits, strict=True)]
            )
        least = [cost[job].at(self.alone[job]) for job in self.jobs]
        # Integers are divided, because a cost may exceed the range of a float.
        most = max(self.value, 1)
        return np.array([(own - first) / most for own, first in zip(now, least, strict=True)])

    def _in_the_way(self, target: str) -> list[str]:
        """Return the other jobs that run between the earliest possible start of a job and its
        finish.
        """
        first = self.alone[target]
        last = self.starts[target].time + (self.demands[target].duration or 0)
        return [
            job
            for job in self.jobs
            if job != target
            and self.starts[job].time < last
            and first < (self.starts[job].finish(self.demands[job]) or FOREVER)
        ]

    def _order(self, chosen: Sequence[str]) -> list[str]:
        """Return the removed jobs in a random insertion order: one of five rules."""
        rule = int(self.random.integers(5))
        if rule == 0:
            return [chosen[0], *sorted(chosen[1:], key=lambda job: self.starts[job].time)]
        if rule == 1:
            return sorted(chosen, key=lambda job: area(self.demands[job]))
        if rule == 2:
            return sorted(chosen, key=lambda job: self.alone[job])
        if rule == 3:
            noise = dict(zip(chosen, self.random.exponential(size=len(chosen)), strict=True))
            return sorted(chosen, key=lambda job: noise[job] * area(self.demands[job]))
        return [chosen[int(index)] for index in self.random.permutation(len(chosen))]


def area(demand: Demand) -> float:
    """Return the slot seconds of a job per unit of its weight."""
    duration = FOREVER if demand.duration is None else demand.duration
    return float(duration) * demand.slots / max(demand.job.weight, 1e-9)


def guided_plan(
    problem: PlanningProblem,
    costs: Costs,
    alone: Mapping[str, int],
    guides: Sequence[Mapping[str, float]],
    most: int,
    should_stop: Callable[[], bool] = lambda: False,
) -> Starts | None:
    """Return the best plan of the jobs in `alone`, decoded in orders that the guides give.

    guides: starts in seconds by job id; a job that is missing has its earliest start. Orders with
    large blocks first are tried for the best guide only. Plans that cost
    `most` units or more are ignored. Returns None if no plan is better. should_stop: called
    before each decoding.
    """
    movable = [demand for demand in problem.demands if demand.job.id in alone]
    variants = (movable, sparing_idle_hosts(problem, movable))
    best: Starts | None = None

    def better(demands: Sequence[Demand], order: Sequence[Demand]) -> bool:
        nonlocal best, most
        before = most
        while not should_stop():
            found = decode_within(problem, costs, order, alone, most - 1)
            if found is None:
                break
            best, most = found, costs.total({job: item.time for job, item in found.items()})
            # A plan often improves if it is decoded again in the order of its own starts.
            order = sorted(demands, key=lambda demand: found[demand.job.id].time)
        return most < before

    chosen = {**alone, **guides[0]} if guides else {}
    for guide in guides:
        known = {**alone, **guide}
        tries = [better(demands, _by_start(demands, known)) for demands in variants]
        chosen = known if any(tries) else chosen
    for size in sorted({_block(demand) for demand in movable})[1:] if guides else ():
        for demands in variants:
            better(demands, _large_first(_by_start(demands, chosen), size))
    return best


def sparing_idle_hosts(problem: PlanningProblem, demands: Sequence[Demand]) -> list[Demand]:
    """Return the jobs with hosts tried first that are idle late, given running jobs, or never."""
    capacity = problem.base.table.host_resources[SLOTS].capacity
    times = problem.base.changes()
    idle = np.array([problem.base.free(SLOTS, time) >= capacity for time in times])
    first = np.where(idle.any(axis=0), idle.argmax(axis=0), len(times))
    return [
        replace(
            demand,
            terms=tuple(
                replace(
                    term,
                    candidates=term.candidates[np.argsort(-first[term.candidates], kind="stable")],
                )
                for term in demand.terms
            ),
        )
        for demand in demands
    ]


def _by_start(demands: Sequence[Demand], guide: Mapping[str, float]) -> list[Demand]:
    """Return the jobs in the order of the guide; with equal starts, shorter jobs first."""
    return sorted(demands, key=lambda job: (guide[job.job.id], job.duration or FOREVER))


def _large_first(demands: Sequence[Demand], size: int) -> list[Demand]:
    """Return the jobs with those first whose blocks have `size` slots or more."""
    return sorted(demands, key=lambda demand: _block(demand) < size)


def _block(demand: Demand) -> int:
    """Return the largest number of slots that a job needs on a single host."""
    return max((size for term in demand.terms for size, _ in tiles_anywhere(term)), default=1)
