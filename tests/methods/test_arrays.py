"""Plans of job arrays: against every start tried, and element by element."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import pytest
from array_cases import case
from sampling import some
from slotwise import (
    Cluster,
    Host,
    Instance,
    Job,
    Limit,
    Method,
    ObjectiveName,
    Plan,
    Planner,
    RunningJob,
    Scope,
)
from slotwise.model.job import elements, parse_array
from slotwise.solver.planning import plan
from slotwise.solver.problem import PlanningProblem
from slotwise.solver.scheduler.simulation import simulate

METHODS: tuple[Method, ...] = ("greedy", "time-based", "optimal", "milp")


def exact(instance: Instance, method: Method, objective: str) -> Plan:
    aim = cast("ObjectiveName", objective)
    if method == "milp":
        return plan(instance, method, objective=aim, time_limit=60)
    return plan(instance, method, objective=aim, effort=3)


def array(spec: str, **fields: object) -> tuple[Job, ...]:
    """The elements of an array of one slot and 100 seconds each."""
    _, found = parse_array(spec)
    assert found is not None
    given = {"run_limit": 100, "name": "a", **fields}
    return elements(Job("7", **given), found)  # type: ignore[arg-type]


def site(*pending: Job, running: tuple[RunningJob, ...] = (), slots: int = 8) -> Instance:
    return Instance(Cluster((Host("a", slots),)), running=running, pending=pending)


@pytest.mark.behaviour("ARR-01")
@pytest.mark.behaviour("ARR-03")
@pytest.mark.parametrize("method", ["time-based", "optimal", "milp"])
def test_no_more_elements_run_than_the_limit_says(method: Method) -> None:
    found = plan(site(*array("a[1-6]%2")), method)
    assert [item.start for item in found] == [0, 0, 100, 100, 200, 200]
    assert "running elements of array 7 (at most 2 at once)" in found["7[3]"].waits_for


@pytest.mark.behaviour("ARR-01")
def test_elements_that_run_count_for_those_to_come() -> None:
    """What runs was listed without the limit, which elements that come later say."""
    first, second, third = array("a[1-3]%1")
    ran = RunningJob(replace(first, array_limit=None), 0, {"a": 1})
    coming = site(running=(ran,))
    result = simulate(replace(coming, future=(replace(second, submit=10),)), cycle=1, until=1000)
    assert result["7[2]"].start == 100
    planner = Planner(coming)
    planner.plan()
    planner.submit(second)
    assert [item.start for item in planner.plan()] == [100]
    planner.submit(third)
    assert [item.start for item in planner.plan()] == [100, 200]


@pytest.mark.behaviour("ARR-06")
@pytest.mark.parametrize("seed", some(range(8), 4))
def test_equal_elements_are_placed_as_if_one_after_the_other(seed: int) -> None:
    """Projects of their own, which a limit counts, make equal jobs different to who looks."""
    wide = Limit("wide", {"slots": 1000}, projects=Scope(("all",), each=True))
    instance = replace(case(1000 + seed, jobs=8), limits=(wide,))
    apart = tuple(replace(job, project=f"p{number}") for number, job in enumerate(instance.pending))
    kinds = {demand.kind for demand in PlanningProblem.of(replace(instance, pending=apart)).demands}
    assert len(kinds) == len(apart)
    for method in METHODS[:3]:
        together = exact(instance, method, "lexicographic")
        separate = exact(replace(instance, pending=apart), method, "lexicographic")
        assert [(i.job, i.start, i.bound, i.proved, i.waits_for) for i in together] == [
            (i.job, i.start, i.bound, i.proved, i.waits_for) for i in separate
        ]
