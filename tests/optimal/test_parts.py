"""The bound by parts: never above the best plan, and exact where the parts are the problem."""

from __future__ import annotations

from random import Random

import pytest
from enumerated_instances import instance as draw
from enumerated_plans import Table
from sampling import pairwise
from slotwise.model.cluster import Cluster, ComputeUnit, Host
from slotwise.model.instance import Instance
from slotwise.model.job import Job
from slotwise.model.objective import objective_named
from slotwise.model.queue import Queue
from slotwise.solver.budget import Budget
from slotwise.solver.optimal.costs import Costs
from slotwise.solver.optimal.pool_bounds import bound_of_parts, bound_of_pools
from slotwise.solver.optimal.weighted import earliest_alone
from slotwise.solver.problem import PlanningProblem

MOST = 300
KNOWN = range(0, 40_001, 1000)
LENGTH = 1000


def bounds(instance: Instance, objective: str = "total-start") -> tuple[float | None, float | None]:
    """By parts, and by prices alone, in the objective's own unit."""
    problem = PlanningProblem.of(instance)
    costs = Costs.of(objective_named(objective), problem.demands, instance.now)
    alone = earliest_alone(problem)
    jobs = [demand for demand in problem.demands if demand.job.id in alone]
    parts = bound_of_parts(problem, jobs, costs, alone, KNOWN, Budget())
    priced = bound_of_pools(problem, jobs, costs, alone, KNOWN, Budget())
    in_units = (parts, priced)
    first, second = (None if x is None else costs.value(x, len(jobs)) for x in in_units)
    return first, second


@pytest.mark.parametrize(("block", "objective"), pairwise(range(8), ["total-start", "weighted"]))
def test_no_plan_costs_less_than_the_bound(block: int, objective: str) -> None:
    seen = 0
    for seed in range(block * 40 + 500, block * 40 + 540):
        table = Table(draw(Random(seed)))
        if table.size() > MOST or PlanningProblem.of(table.instance).left_out:
            continue
        best = table.least(objective)
        found, priced = bounds(table.instance, objective)
        if best is not None and found is not None:
            assert found <= best + 1e-6
            assert priced is None or found >= priced - 1e-6
            seen += 1
    assert seen


def crowd(hosts: int, slots: int, jobs: list[Job], per_unit: int = 2) -> Instance:
    names = [f"h{number}" for number in range(hosts)]
    units = tuple(
        ComputeUnit(f"r{first}", "rack", tuple(names[first : first + per_unit]))
        for first in range(0, hosts, per_unit)
    )
    cluster = Cluster(
        tuple(Host(name, slots) for name in names),
        unit_types=("rack",),
        default_unit_type="rack",
        units=units,
    )
    return Instance(cluster, queues=(Queue("default", exclusive="CU[rack]"),), pending=tuple(jobs))


def many(count: int, slots: int, *res_req: str, name: str = "p") -> list[Job]:
    return [
        Job(f"{name}{number}", slots=slots, res_req=res_req, run_limit=LENGTH)
        for number in range(count)
    ]


def test_exclusive_jobs_wait_for_idle_units() -> None:
    """Three racks, jobs of one slot that each want one for themselves: 3 at once, 3 after them."""
    found, priced = bounds(crowd(6, 4, many(6, 1, "cu[excl]")))
    assert found == 3 * LENGTH
    assert priced is not None
    assert 0.8 * found < priced <= found


def test_an_exclusive_job_may_need_several_units() -> None:
    assert bounds(crowd(6, 4, many(2, 9, "cu[excl]")))[0] == LENGTH


def test_whole_hosts_are_planned_among_themselves_and_the_rest_apart() -> None:
    """4 hosts: 3, 3 and 2 whole ones do not fit at once, in pairs neither; 20 jobs of one slot wait
    for slots alone."""
    large = [*many(2, 12, "span[ptile=4]", name="l"), *many(1, 8, "span[ptile=4]", name="m")]
    found, priced = bounds(crowd(4, 4, large))
    assert found == 3 * LENGTH
    assert priced is not None
    assert priced < found
    both, alone = bounds(crowd(4, 4, [*large, *many(20, 1)])), bounds(crowd(4, 4, many(20, 1)))
    assert both[0] is not None
    assert alone[0] is not None
    assert both[0] >= found + alone[0]


def test_where_no_part_loses_anything_it_says_what_prices_say() -> None:
    assert bounds(crowd(4, 4, many(2, 4))) == (None, None)
    assert bounds(crowd(2, 4, many(3, 8)), "makespan")[0] is None


def test_a_cancelled_search_still_has_a_bound() -> None:
    instance = crowd(4, 4, many(3, 12, "span[ptile=4]"))
    problem = PlanningProblem.of(instance)
    costs = Costs.of(objective_named("total-start"), problem.demands, instance.now)
    budget = Budget()
    budget.cancel.set()
    alone = earliest_alone(problem)
    found = bound_of_parts(problem, problem.demands, costs, alone, KNOWN, budget)
    assert found is not None
    assert found <= 3 * LENGTH
