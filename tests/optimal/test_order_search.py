"""Orders of jobs: how late a job may start within a total, plans given up, steps to better ones."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest
from sampling import some
from slotwise.model.generate import generate
from slotwise.model.objective import objective_named
from slotwise.solver.budget import Budget
from slotwise.solver.optimal.costs import Allowance, Costs, UnitCost
from slotwise.solver.optimal.first_fit import plan_first_fit
from slotwise.solver.optimal.lexicographic import warm_starts
from slotwise.solver.optimal.order_search import Extent, decode, decode_within, improve
from slotwise.solver.optimal.weighted import earliest_alone
from slotwise.solver.placement.earliest import allocate_start, start_at
from slotwise.solver.problem import PlanningProblem

BUSY = generate(hosts=12, running=50, pending=12, load=0.97, seed=4)


@pytest.mark.parametrize("name", ["total-start", "makespan"])
@pytest.mark.parametrize("seed", range(40))
def test_the_latest_start_is_the_last_with_which_the_total_holds(name: str, seed: int) -> None:
    draw = random.Random(seed)
    jobs = {
        str(n): UnitCost(draw.randint(0, 3), draw.randint(0, 9), draw.randint(0, 5))
        for n in range(4)
    }
    costs = Costs(objective_named(name), Fraction(1), jobs)
    least = {job: draw.randint(0, 9) for job in jobs}
    most = costs.total(least) + draw.randint(0, 20)
    allowance, starts = Allowance(costs, least, most), dict(least)
    for job in draw.sample(sorted(jobs), 4):
        latest = allowance.latest(job)
        holds = [t for t in range(least[job], 80) if costs.total({**starts, job: t}) <= most]
        assert holds[-1] == (79 if latest is None else min(latest, 79))
        starts[job] = draw.choice(holds)
        allowance.spend(job, starts[job])
    assert costs.total(starts) <= most


@pytest.mark.parametrize("name", ["total-start", "makespan", "slowdown"])
def test_an_order_is_given_up_where_it_costs_more_and_nowhere_else(name: str) -> None:
    problem = PlanningProblem.of(BUSY)
    alone = earliest_alone(problem)
    costs = Costs.of(objective_named(name), problem.demands, BUSY.now)
    order = [demand for demand in problem.demands if demand.job.id in alone]
    for seed in range(6):
        random.Random(seed).shuffle(order)
        free = decode(problem, order, alone)
        assert len(free) == len(order)
        total = costs.total({job: start.time for job, start in free.items()})
        assert decode_within(problem, costs, order, alone, total) == free
        assert decode_within(problem, costs, order, alone, total - 1) is None


def test_steps_end_where_they_ended_without_an_allowance(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = PlanningProblem.of(BUSY)
    alone = earliest_alone(problem)
    costs = Costs.of(objective_named("total-start"), problem.demands, BUSY.now)
    first = warm_starts(problem, plan_first_fit(problem))

    def steps() -> object:
        return improve(problem, costs, Budget(effort=1.0), alone, first, Extent(60, 0.0))

    narrowed = steps()
    monkeypatch.setattr(Allowance, "latest", lambda *_: None)
    assert steps() == narrowed


@pytest.mark.parametrize("name", some(["total-start", "makespan", "slowdown"], 2))
def test_steps_only_improve_and_every_start_holds(name: str) -> None:
    """Never worse, always a plan, the same for the same seed."""
    problem = PlanningProblem.of(BUSY)
    first = warm_starts(problem, plan_first_fit(problem))
    demands = {demand.job.id: demand for demand in problem.demands}
    costs = Costs.of(objective_named(name), problem.demands, BUSY.now)
    alone, extent, seen = earliest_alone(problem), Extent(60, 0.0, 0, seed=1), list[int]()
    best, value = improve(
        problem, costs, Budget(effort=1.0), alone, first, extent, on_better=seen.append
    )
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
