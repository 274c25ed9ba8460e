"""Large-neighbourhood improvement of a plan: a few jobs leave it and come back in another order.

The jobs that leave are one that waits and some of those that are in its way; all others keep their
places. Each comes back at its earliest start beside the rest, so a step costs a few placements
where a new order of all jobs (:mod:`.order_search`) costs one for every job. A step ends at the
first job with which the plan would be worse.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from ..availability.demand import Demand, in_waiting_order, keeps_order, released
from ..availability.profile import FOREVER, Profile
from ..budget import Budget
from ..placement.earliest import Start, earliest_start, hold_start
from ..problem import PlanningProblem
from .allowance import Allowance
from .costs import Costs
from .order_search import times_of

Starts = dict[str, Start]
Floats: TypeAlias = npt.NDArray[np.float64]

#: How many jobs leave in one step.
SIZES = (1, 2, 2, 3, 4, 6, 8)


def improve(
    problem: PlanningProblem,
    costs: Costs,
    budget: Budget,
    alone: Mapping[str, int],
    *,
    first: Starts,
    enough: int,
    seconds: float,
    moves: int,
    seed: int = 0,
    on_better: Callable[[int], None] | None = None,
) -> tuple[Starts, int]:
    """A plan at least as good as `first`, and its value.

    enough: a total that ends the search; totals are in the units of the costs. seconds and moves
    bound it; with an effort in the budget only `moves` does, so that the result does not depend on
    the machine.
    """
    search = _Neighbourhoods(problem, costs, alone, dict(first), seed)
    deadline = budget.elapsed() + seconds
    for _ in range(moves):
        late = budget.effort is None and budget.elapsed() > deadline
        if late or search.value <= enough or budget.cancel.is_set() or budget.left() <= 0:
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
            demand = released(demand, times_of(others))
            latest = allowance.latest(job)
            start = earliest_start(profile, demand, not_before=self.alone[job], not_after=latest)
            if start is None:
                return
            hold_start(profile, demand, start)
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
                hold_start(profile, self.demands[job], start)
        return profile

    # --- which jobs -----------------------------------------------------------------------------

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
        """What the wait of each job costs, as a share; where the largest cost counts, how large."""
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
