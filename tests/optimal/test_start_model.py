"""The bound of whole jobs in several pools, and the plans in the order of its starts."""

from __future__ import annotations

import math
from itertools import product
from random import Random

import pytest
from enumerated_instances import instance as draw
from enumerated_plans import Table
from sampling import some
from slotwise import Cluster, Host, Instance, Job, Queue, RunningJob
from slotwise.model.objective import objective_named
from slotwise.solver.budget import Budget
from slotwise.solver.optimal.costs import Costs
from slotwise.solver.optimal.pool_bounds import bound_of_pools, solve_as_pool
from slotwise.solver.optimal.start_model import BoundedStarts, bound_of_starts
from slotwise.solver.optimal.weighted import earliest_alone
from slotwise.solver.problem import PlanningProblem

MOST = 300
LENGTH = 1000


class Case:
    """A problem with its costs."""

    def __init__(self, instance: Instance, objective: str = "total-start") -> None:
        self.problem = PlanningProblem.of(instance, due_dates=True)
        self.costs = Costs.of(objective_named(objective), self.problem.demands, instance.now)
        self.alone = earliest_alone(self.problem)
        self.jobs = [d for d in self.problem.demands if d.job.id in self.alone]
        self.least = self.costs.total(self.alone)

    def bound(self, most: int, low: int | None = None) -> BoundedStarts | None:
        between = (self.least if low is None else low, most)
        return bound_of_starts(
            self.problem, self.jobs, self.costs, self.alone, between, Budget(effort=20)
        )


@pytest.mark.parametrize(
    ("block", "objective"), some(product(range(4), ["total-start", "weighted"]), 1)
)
def test_no_plan_costs_less_than_the_bound(block: int, objective: str) -> None:
    """Also where the known plan is the best itself, or the bound that is known is far too low."""
    seen = 0
    for seed in range(block * 150 + 900, block * 150 + 1050):
        table = Table(draw(Random(seed)))
        if table.size() > MOST or PlanningProblem.of(table.instance).omitted_rules:
            continue
        best = table.least(objective)
        if best is None:
            continue
        case = Case(table.instance, objective)
        units = math.ceil(best * case.costs.unit - 1e-6)
        for most in (units, 2 * units + 600, units - 1):
            found = case.bound(most, (case.least + units) // 2)
            if found is not None:
                assert found.bound <= (most if most < units else units)
                seen += 1
    assert seen


@pytest.mark.parametrize(
    ("block", "objective"), some(product(range(6), ["total-start", "tardiness"]), 2)
)
def test_one_pool_of_slots_is_solved(block: int, objective: str) -> None:
    """Where placement does not matter the bound is the optimum, and the starts have it."""
    seen = 0
    for seed in range(block * 10, block * 10 + 6):
        random = Random(seed)
        case = Case(one_host(random), objective)
        value = case.costs.total({job: start.time for job, start in proved(case).items()})
        for most in (value, 2 * value):
            found = case.bound(most)
            if found is None:
                continue
            assert found.bound == value
            assert case.costs.total({**case.alone, **found.starts}) == value
            seen += 1
    assert seen


def one_host(random: Random) -> Instance:
    """Jobs that share the slots of one host with others that end one after another."""
    running = tuple(
        RunningJob(
            Job(f"r{n}", slots=1, run_limit=random.randint(1, 30) * 60),
            start=0,
            allocation={"a": 1},
        )
        for n in range(3)
    )
    jobs = [
        Job(
            f"p{n}",
            slots=random.randint(1, 5),
            run_limit=random.randint(1, 9) * 200,
            deadline=random.randint(1, 9) * 300,
        )
        for n in range(random.randint(3, 5))
    ]
    return crowd(5, 1, jobs, running)


def proved(case: Case) -> dict[str, object]:
    found = solve_as_pool(
        case.problem, case.jobs, case.costs, case.alone, Budget(effort=50), lambda *_: None
    )
    assert found.settled
    return dict(found.starts)


def crowd(
    slots: int, hosts: int, jobs: list[Job], running: tuple[RunningJob, ...] = ()
) -> Instance:
    cluster = Cluster(tuple(Host("abcdef"[number], slots) for number in range(hosts)))
    return Instance(cluster, queues=(Queue("default"),), running=running, pending=tuple(jobs))


def test_weights_beyond_all_numbers_leave_no_bound_of_prices() -> None:
    jobs = [
        Job(f"p{n}", slots=2, run_limit=LENGTH, weight=10.0 ** (280 * n - 280)) for n in range(3)
    ]
    case = Case(crowd(3, 1, jobs), "weighted")
    instants = range(0, 10_000, LENGTH)
    found = bound_of_pools(case.problem, case.jobs, case.costs, case.alone, instants, Budget())
    assert found is None
    best = case.costs.total({"p2": 0, "p1": LENGTH, "p0": 2 * LENGTH})
    whole = case.bound(2 * best)
    assert whole is None or whole.bound <= best
