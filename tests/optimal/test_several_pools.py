"""The bound from several pools is one: never above the best plan, and as high as it should be."""

from __future__ import annotations

from random import Random

import pytest
from enumerated_instances import instance as draw
from enumerated_plans import Table
from sampling import some
from slotwise import Instance, Job
from slotwise.model.objective import objective_named
from slotwise.solver.budget import Budget
from slotwise.solver.optimal.costs import Costs
from slotwise.solver.optimal.pool_bounds import bound_of_pools
from slotwise.solver.optimal.weighted import earliest_alone
from slotwise.solver.problem import PlanningProblem

MOST = 300
KNOWN = range(0, 4001, 100)


def bound(instance: Instance, objective: str = "total-start") -> tuple[float | None, int]:
    """The bound in the objective's own unit, and what jobs would cost alone, in units."""
    problem = PlanningProblem.of(instance)
    costs = Costs.of(objective_named(objective), problem.demands, instance.now)
    alone = earliest_alone(problem)
    demands = [demand for demand in problem.demands if demand.job.id in alone]
    found = bound_of_pools(problem, demands, costs, alone, KNOWN, Budget())
    return None if found is None else costs.value(found, len(demands)), costs.total(alone)


@pytest.mark.parametrize("block", some(range(8), 3))
def test_no_plan_costs_less_than_the_bound(block: int) -> None:
    seen = 0
    for seed in range(block * 12, block * 12 + 12):
        table = Table(draw(Random(seed)))
        if table.size() > MOST or PlanningProblem.of(table.instance).omitted_rules:
            continue
        best = table.least("total-start")
        found, _ = bound(table.instance)
        if best is not None and found is not None:
            assert found <= best + 1e-6
            seen += 1
    assert seen


@pytest.mark.parametrize("seed", [23387, 24205, 36943])
def test_hosts_of_different_ptile_need_not_be_many(seed: int) -> None:
    """span[ptile='!'], 4 slots and memory for each host: so many hosts as the largest allow."""
    instance = draw(Random(seed))
    best, (found, _) = Table(instance).least("total-start"), bound(instance)
    assert best is not None
    assert found is None or found <= best


def many(count: int, slots: int, *res_req: str, length: int = 1000) -> list[Job]:
    return [
        Job(f"p{number}", slots=slots, res_req=res_req, run_limit=length) for number in range(count)
    ]
