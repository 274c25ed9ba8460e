"""Guides for plans: starts that a linear program of the pools mixes."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import numpy as np
import pytest
from sampling import some
from slotwise import Instance
from slotwise.model.generate import generate
from slotwise.solver.budget import Budget
from slotwise.solver.optimal import start_model
from slotwise.solver.optimal.first_fit import plan_first_fit
from slotwise.solver.optimal.order_search import guided_plan
from slotwise.solver.optimal.start_model import SHARES, likely_starts, possible_starts, some_starts
from slotwise.solver.planning import plan

from .test_start_model import LENGTH, Case, one_host


def guides(case: Case, most: int, known: tuple[int, ...] = ()) -> list[dict[str, int]]:
    budget = Budget(effort=20)
    found = likely_starts(case.problem, case.jobs, case.costs, case.alone, most, budget, known)
    return [dict(guide) for guide in found]


@pytest.mark.parametrize("objective", ["total-start", "tardiness"])
def test_guides_are_possible_starts_and_their_means(objective: str) -> None:
    seen = 0
    for seed in range(12):
        case = Case(one_host(Random(seed)), objective)
        most = case.least + 60 * LENGTH
        found = guides(case, most)
        for guide in found:
            for job, time in guide.items():
                cost = case.costs.jobs[job]
                assert time >= case.alone[job]
                assert cost.at(time) - cost.at(case.alone[job]) <= most - case.least
        for early, late in pairwise(found[1:]):
            assert all(early[job] <= late[job] for job in early)
        seen += bool(found)
    assert seen > 6


def table_of(case: Case, capacity: int, *, some: bool = True) -> start_model.StartTable:
    make = some_starts if some else possible_starts
    found = make(case.problem, case.jobs, case.costs, case.alone, capacity)
    assert found is not None
    return found


def test_some_starts_are_few_and_begin_with_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    instance: Instance = generate(hosts=20, running=60, pending=25, seed=4, load=1.0)
    case = Case(instance)
    for most, fewest in ((2000, 3), (300, 3), (30, 5)):
        monkeypatch.setattr(start_model, "SOME_STARTS", most)
        monkeypatch.setattr(start_model, "MIN_INSTANTS", fewest)
        found = table_of(case, 200_000)
        count = len(case.jobs)
        assert len(found.jobs) <= max(most, fewest * count) + count
        for demand, mine in zip(case.jobs, found.of(count), strict=True):
            times = found.times[mine]
            assert times[0] == case.alone[demand.job.id]
            assert (np.diff(times) > 0).all()
            assert ((found.costs[mine] << found.bits) <= times - times[0]).all()


@pytest.mark.parametrize(
    ("hosts", "part"), [(15, 0.95), pytest.param(60, 0.7, marks=pytest.mark.slow)]
)
def test_many_jobs_have_good_plans_before_any_search(hosts: int, part: float) -> None:
    """80 jobs are too many for whole jobs in a model; orders by a rule are far worse."""
    pending = hosts * 4 // 3
    case = Case(generate(hosts=hosts, running=200, pending=pending, seed=3, load=1.0))
    first = {item.job: item.start for item in plan_first_fit(case.problem) if item.start}
    most = case.costs.total({**case.alone, **first})
    plans = [
        guided_plan(case.problem, case.costs, case.alone, [guide], most)
        for guide in guides(case, most)
    ]
    totals = [
        case.costs.total({job: start.time for job, start in found.items()})
        for found in plans
        if found is not None
    ]
    assert len(totals) == len(plans) == 1 + len(SHARES)
    assert max(totals) < part * most
    stopped = guided_plan(case.problem, case.costs, case.alone, [{}], most, lambda: True)
    assert stopped is None


@pytest.mark.slow
@pytest.mark.parametrize("objective", some(["total-start", "weighted", "makespan"], 1))
def test_plans_by_guides_are_plans(objective: str) -> None:
    """Planned and judged, with next to no time for a search."""
    instance = generate(hosts=12, running=40, pending=16, seed=7, load=1.0)
    found = plan(instance, objective=objective, effort=0.5)
    assert found.status in ("feasible", "optimal")
    assert found.value is not None
    assert found.bound is not None
    assert found.bound <= found.value
