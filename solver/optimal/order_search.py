"""The searches over hosts: orders, large neighbourhoods, orders that a relaxation suggests."""

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
from .pool_bounds import tiles_of

# Orders of jobs as plans.
#
# Each order is decoded job by job into earliest starts.
#
# For a regular objective some order decodes into an optimum whenever placement does not matter,
# and into a good plan when it does.


Starts = dict[str, Start]


def times_of(placed: Mapping[str, Start]) -> dict[str, int]:
    """Return the start times of jobs (seconds)."""
    return {job: start.time for job, start in placed.items()}


def decode(problem: PlanningProblem, order: Sequence[Demand], alone: dict[str, int]) -> Starts:
    """Earliest starts in the given order; jobs that find no place are left out.

    A job that waits for others comes behind them.
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
    """Earliest starts in the given order; None if a job finds no place or they cost more.

    most: what they may cost, in units.
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


# Large-neighbourhood improvement of a plan: a few jobs leave it and come back in another order.
#
# The jobs that leave are one that waits and some of those that are in its way; all others keep
# their places. Each comes back at its earliest start beside the rest, so a step costs a few
# placements where a new order of all jobs costs one for every job. A step
# ends at the first job with which the plan would be worse.


Floats: TypeAlias = npt.NDArray[np.float64]

#: How many jobs leave in one step.
SIZES = (1, 2, 2, 3, 4, 6, 8)


@dataclass(frozen=True, slots=True)
class Extent:
    """Extent of a search.

    If the budget has an effort, `seconds` do not count, so that the result does not depend on the
    machine.
    """

    #: Steps at most.
    moves: int
    seconds: float
    #: A total that ends the search, in the units of the costs.
    enough: int = 0
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
    """A plan at least as good as `first`, and its value in the units of the costs."""
    search = _Neighbourhoods(problem, costs, alone, dict(first), extent.seed)
    deadline = budget.elapsed() + extent.seconds
    for _ in range(extent.moves):
        late = budget.effort is None and budget.elapsed() > deadline
        if late or search.value <= extent.enough or budget.cancel.is_set() or budget.left() <= 0:
            break
        before = search.value
        search.step()
        if search.value < before and on_better is not None:
            on_better(search.value)
    return search.best, search.value


class _Neighbourhoods:
    """The best plan so far and the steps away from it."""

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
        self.best = first
        self.demands = {d.job.id: d for d in problem.demands if d.job.id in first}
        self.jobs = list(self.demands)
        self.random = np.random.default_rng(seed)
        self.value = self._value(first)

    def _value(self, starts: Starts) -> int:
        return self.costs.total({job: start.time for job, start in starts.items()})

    def step(self) -> None:
        """Take some jobs out, put them back, keep the result if it is no worse."""
        chosen = self._choose()
        profile = self._without(set(chosen))
        found = dict(self.best)
        least = {job: start.time for job, start in found.items()}
        least.update((job, self.alone[job]) for job in chosen)
        allowance = Allowance(self.costs, least, self.value)
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
        if value <= self.value:
            self.best, self.value = found, value

    def _without(self, gone: set[str]) -> Profile:
        profile = self.problem.base.copy()
        for job, start in self.best.items():
            if job not in gone:
                allocate_start(profile, self.demands[job], start)
        return profile

    def _choose(self) -> list[str]:
        """A job that costs more than it would alone, and jobs that run while it waits."""
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
        """Return the cost of each job's wait as a share; if the largest cost counts, its relative
        size.
        """
        cost = self.costs.jobs
        now = [cost[job].at(self.best[job].time) for job in self.jobs]
        if self.costs.largest:
            waits = [self.best[job].time > self.alone[job] for job in self.jobs]
            most = max(*now, 1)
            return np.array(
                [(own / most) ** 4 * late for own, late in zip(now, waits, strict=True)]
            )
        least = [cost[job].at(self.alone[job]) for job in self.jobs]
        # Divided as whole numbers: a cost may be larger than any float.
        most = max(self.value, 1)
        return np.array([(own - first) / most for own, first in zip(now, least, strict=True)])

    def _in_the_way(self, target: str) -> list[str]:
        """The other jobs whose windows meet the target's, wherever it may start up to now."""
        first = self.alone[target]
        last = self.best[target].time + (self.demands[target].duration or 0)
        return [
            job
            for job in self.jobs
            if job != target
            and self.best[job].time < last
            and first < (self.best[job].finish(self.demands[job]) or FOREVER)
        ]

    def _order(self, chosen: Sequence[str]) -> list[str]:
        """The target first, or all by one of several rules."""
        rule = int(self.random.integers(4))
        if rule == 0:
            return [chosen[0], *sorted(chosen[1:], key=lambda job: self.best[job].time)]
        if rule == 1:
            return sorted(chosen, key=lambda job: _area(self.demands[job]))
        if rule == 2:
            return sorted(chosen, key=lambda job: self.alone[job])
        return [chosen[int(index)] for index in self.random.permutation(len(chosen))]


def _area(demand: Demand) -> float:
    """Slot seconds for each unit of weight."""
    duration = FOREVER if demand.duration is None else demand.duration
    return float(duration) * demand.slots / max(demand.job.weight, 1e-9)


# Plans in the order of starts that only pools of resources allow.
#
# Such starts say who should go before whom, not where. Jobs that need large blocks of a host are
# placed first, each with its own wait, so that smaller ones do not take their hosts; and small
# ones are tried on hosts that are idle late or never, which nobody waits for.


def guided_plan(
    problem: PlanningProblem,
    costs: Costs,
    alone: Mapping[str, int],
    guides: Sequence[Mapping[str, int]],
    most: int,
    should_stop: Callable[[], bool] = lambda: False,
) -> Starts | None:
    """The best plan of the jobs of `alone` in orders by the guides (seconds, by job).

    A job that a guide lacks counts with its start alone. Large blocks go before the others by the
    best of the guides only. None if no plan is better than `most`, in units. should_stop: asked
    before each of them is made.
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
            # In the order of its own starts a plan often gets better still.
            order = sorted(demands, key=lambda demand: found[demand.job.id].time)
        return most < before

    chosen = {**alone, **guides[0]} if guides else {}
    for guide in guides:
        known = {**alone, **guide}
        tries = [better(demands, _by_start(demands, known)) for demands in variants]
        chosen = known if any(tries) else chosen
    for size in _block_sizes(movable)[1:] if guides else ():
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


def _by_start(demands: Sequence[Demand], guide: Mapping[str, int]) -> list[Demand]:
    """In the order of the guide; of those that start together the shorter come first."""
    return sorted(demands, key=lambda job: (guide[job.job.id], job.duration or FOREVER))


def _large_first(demands: Sequence[Demand], size: int) -> list[Demand]:
    """Blocks of so many slots and more before the others."""
    return sorted(demands, key=lambda demand: _block(demand) < size)


def _block_sizes(demands: Sequence[Demand]) -> list[int]:
    return sorted({_block(demand) for demand in demands})


def _block(demand: Demand) -> int:
    """Slots of a host that a job needs in one piece, at most."""
    return max((size for term in demand.terms for size, _ in tiles_of(term)), default=1)
