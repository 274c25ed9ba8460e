"""Large-neighbourhood steps: never worse, always a plan, the same for the same seed."""

from __future__ import annotations

import pytest
from sampling import some
from slotwise import Instance
from slotwise.model.generate import generate
from slotwise.model.objective import objective_named
from slotwise.solver.budget import Budget
from slotwise.solver.optimal.costs import Costs
from slotwise.solver.optimal.first_fit import plan_first_fit
from slotwise.solver.optimal.lexicographic import warm_starts
from slotwise.solver.optimal.order_search import Extent, improve
from slotwise.solver.placement.earliest import Start, allocate_start, earliest_start, start_at
from slotwise.solver.problem import PlanningProblem

BUSY = generate(hosts=12, running=50, pending=12, load=0.97, seed=4)


def improved(
    instance: Instance, name: str, moves: int, enough: int = 0
) -> tuple[PlanningProblem, dict[str, Start], dict[str, Start], int, list[int]]:
    """The problem, the time-based starts, the improved ones with their total, totals on the way."""
    problem = PlanningProblem.of(instance)
    first = warm_starts(problem, plan_first_fit(problem))
    alone = {}
    for demand in problem.demands:
        start = earliest_start(problem.base, demand)
        if start is not None:
            alone[demand.job.id] = start.time
    seen: list[int] = []
    best, value = improve(
        problem,
        Costs.of(objective_named(name), problem.demands, instance.now),
        Budget(effort=1.0),
        alone,
        first,
        Extent(moves, 0.0, enough, seed=1),
        on_better=seen.append,
    )
    return problem, first, best, value, seen


@pytest.mark.parametrize("name", some(["total-start", "makespan", "slowdown"], 2))
def test_steps_only_improve_and_every_start_holds(name: str) -> None:
    problem, first, best, value, seen = improved(BUSY, name, 60)
    demands = {demand.job.id: demand for demand in problem.demands}
    costs = Costs.of(objective_named(name), problem.demands, BUSY.now)
    before = costs.total({job: start.time for job, start in first.items()})
    assert value == costs.total({job: start.time for job, start in best.items()})
    assert seen == sorted(seen, reverse=True)
    assert value == (seen[-1] if seen else before)
    assert value < before
    assert best.keys() == first.keys()
    profile = problem.base.copy()
    for job, start in sorted(best.items(), key=lambda item: item[1].time):
        assert start_at(profile, demands[job], start.time) is not None
        allocate_start(profile, demands[job], start)
