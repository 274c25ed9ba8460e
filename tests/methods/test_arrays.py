"""Plans of job arrays, element by element."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from every_start import arrays
from long_ways import every_element
from sampling import some
from slotwise import (
    Cluster,
    Host,
    Instance,
    Job,
    Limit,
    Method,
    PlannedJob,
    Planner,
    Queue,
    RunningJob,
    Scope,
)
from slotwise.model.job import elements, parse_array
from slotwise.solver.planning import plan
from slotwise.solver.problem import PlanningProblem
from slotwise.solver.scheduler.simulation import simulate
from slotwise.solver.validate import validate

METHODS: tuple[Method, ...] = ("greedy", "time-based", "optimal", "milp")


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
    instance = replace(arrays(1000 + seed, jobs=8).instance, limits=(wide,))
    apart = tuple(replace(job, project=f"p{number}") for number, job in enumerate(instance.pending))
    kinds = {demand.kind for demand in PlanningProblem.of(replace(instance, pending=apart)).demands}
    assert len(kinds) == len(apart)
    for method in METHODS[:3]:
        together = plan(instance, method, effort=3)
        separate = plan(replace(instance, pending=apart), method, effort=3)
        assert [(i.job, i.start, i.bound, i.proved, i.waits_for) for i in together] == [
            (i.job, i.start, i.bound, i.proved, i.waits_for) for i in separate
        ]


def small_and_large(seed: int) -> Instance:
    """Small jobs expected to run alike under different run limits, between large ones."""
    draw = random.Random(seed)
    hosts = tuple(Host(f"h{number}", draw.randint(2, 4)) for number in range(draw.randint(1, 3)))
    running = tuple(
        RunningJob(
            Job(f"r{host.name}", slots, run_limit=draw.choice((1800, 3600, 5400))),
            0,
            {host.name: slots},
        )
        for host in hosts
        if draw.random() < 0.8
        for slots in [draw.randint(1, host.slots)]
    )
    pending = []
    for number in range(draw.randint(3, 7)):
        large = draw.random() < 0.4
        slots = draw.randint(2, sum(host.slots for host in hosts)) if large else 1
        limit = draw.choice((600, 3600, 36000, None))
        expected = None if large else 600
        pending.append(Job(f"p{number}", slots, run_limit=limit, estimated_run_time=expected))
    queue = Queue("default", backfill=draw.random() < 0.8)
    return Instance(Cluster(hosts), (queue,), running, tuple(pending))


@pytest.mark.behaviour("TBR-18")
def test_a_search_begins_at_the_job_before_only_where_nothing_is_missed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Jobs of other run limits may use other held slots; seeds 11, 114 and 121 are such."""
    seeds = (*range(8), 11, 114, 121)
    near = [plan(small_and_large(seed), "time-based") for seed in seeds]
    every_element(monkeypatch)
    whole = [plan(small_and_large(seed), "time-based") for seed in seeds]
    assert near == whole


@pytest.mark.behaviour("ARR-01")
@pytest.mark.behaviour("ARR-02")
@pytest.mark.parametrize("element_first", [True, False])
def test_a_job_that_runs_is_no_element_because_it_is_like_one(element_first: bool) -> None:
    """The element ends at 60, the job like it at 120; either may be looked at first."""
    fields = {"queue": "q", "run_limit": 60}
    element = RunningJob(Job("100[4]", array_limit=1, **fields), 0, {"c": 1})  # type: ignore[arg-type]
    other = RunningJob(Job("902", queue="q", run_limit=120), 0, {"a": 1})
    instance = Instance(
        Cluster((Host("a", 2), Host("c", 4))),
        (Queue("q", backfill=True),),
        (element, other) if element_first else (other, element),
        elements(Job("100", **fields), parse_array("a[1-3]%1")[1]),  # type: ignore[arg-type]
    )
    starts = [60, 120, 180]
    for method in METHODS[1:]:
        found = plan(instance, method)
        assert [item.start for item in found] == starts, method
        assert validate(instance, found) == [], method
    for reservation in ("greedy", "time-based"):
        run = simulate(instance, reservation=reservation, cycle=1, until=1000)
        assert [run[f"100[{n}]"].start for n in (1, 2, 3)] == starts, reservation
    early = replace(found, reservations=tuple(_earlier(item, 30) for item in found))
    assert "the running element limit of array 100 allows 1" in str(validate(instance, early)[0])
    late = replace(found, reservations=tuple(_earlier(item, -60) for item in found))
    assert [fault.check for fault in validate(instance, late)]


def _earlier(item: PlannedJob, seconds: int) -> PlannedJob:
    assert item.start is not None
    assert item.finish is not None
    assert item.bound is not None
    times = (item.start - seconds, item.finish - seconds, item.bound - seconds)
    return replace(item, start=times[0], finish=times[1], bound=times[2])
