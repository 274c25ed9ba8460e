"""Counts at two instants: right wherever they refute, and they refute what they should."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_profiles import examples
from random_instances import instances
from slotwise import Cluster, ComputeUnit, Host, Instance, Job, Queue, RunningJob
from slotwise.solver.budget import Budget
from slotwise.solver.optimal.joint_placement import JointPlacement
from slotwise.solver.optimal.refutation import blocks_of, is_overfull, most_pieces
from slotwise.solver.problem import PlanningProblem

few = examples(150)
Starts = tuple[int, ...]


def counts(problem: PlanningProblem, times: Starts) -> bool:
    """Whether the counts at two instants refute."""
    base = problem.base
    asked = [(d, at, blocks_of(base, d, at)) for d, at in zip(problem.demands, times, strict=True)]
    points = sorted({*times, *base.later_starts})
    return is_overfull(base, asked, points)


def status(problem: PlanningProblem, times: Starts) -> str:
    asked = list(zip(problem.demands, times, strict=True))
    return JointPlacement(problem.base, asked).solve(Budget(), seconds=20, effort=20)[0]


@few
@given(instances(most_hosts=4, most_jobs=4), st.data())
def test_what_counts_refute_the_model_refutes(instance: Instance, data: st.DataObject) -> None:
    problem = PlanningProblem.of(instance)
    changes = problem.base.changes()
    times = tuple(
        max(demand.earliest, data.draw(st.sampled_from(changes))) for demand in problem.demands
    )
    if counts(problem, times):
        assert status(problem, times) == "INFEASIBLE"


def in_units(hosts: tuple[Host, ...], size: int) -> Cluster:
    """Compute units of so many hosts each."""
    names = [host.name for host in hosts]
    units = tuple(
        ComputeUnit(f"u{at}", "enclosure", tuple(names[at : at + size]))
        for at in range(0, len(names), size)
    )
    return Cluster(hosts, unit_types=("enclosure",), default_unit_type="enclosure", units=units)


@st.composite
def crowded(draw: st.DrawFn) -> tuple[PlanningProblem, Starts]:
    """Hosts that fill up and empty, small jobs that take nearly all, blocks behind them."""
    hosts = tuple(Host(f"h{number}", draw(st.integers(2, 5))) for number in range(4))
    running = tuple(
        RunningJob(
            Job(f"on {host.name}", slots=used, run_limit=draw(st.sampled_from([10, 20]))),
            0,
            {host.name: used},
        )
        for host in hosts
        if (used := draw(st.integers(0, host.slots)))
    )
    shapes = [
        "",
        "",
        "span[ptile=2]",
        "span[ptile=3]",
        "span[hosts=1]",
        "cu[maxcus=1]",
        "cu[maxcus=2]",
    ]
    spans = st.sampled_from(shapes)
    jobs, times = [], []
    for number in range(draw(st.integers(2, 5))):
        span = draw(spans)
        jobs.append(
            Job(
                f"j{number}",
                slots=draw(st.integers(1, 6)),
                res_req=(span,) if span else (),
                run_limit=draw(st.sampled_from([10, 20, 30])),
            )
        )
        times.append(draw(st.sampled_from([0, 0, 10, 20])))
    instance = Instance(
        in_units(hosts, 2), queues=(Queue("default"),), running=running, pending=tuple(jobs)
    )
    return PlanningProblem.of(instance), tuple(times)


@examples(200)
@given(crowded())
def test_what_counts_refute_where_it_is_crowded(case: tuple[PlanningProblem, Starts]) -> None:
    problem, times = case
    if counts(problem, times):
        assert status(problem, times) == "INFEASIBLE"


def problem_of(free: list[int], *jobs: Job, slots: int = 4) -> PlanningProblem:
    """Hosts, two in a unit, of which so many slots are free now, and all from 10 on."""
    hosts = tuple(Host(f"h{number}", slots) for number in range(len(free)))
    running = tuple(
        RunningJob(Job(f"on {host.name}", slots=slots - n, run_limit=10), 0, {host.name: slots - n})
        for host, n in zip(hosts, free, strict=True)
        if n < slots
    )
    return PlanningProblem.of(
        Instance(in_units(hosts, 2), queues=(Queue("default"),), running=running, pending=jobs)
    )


def job(name: str, slots: int, span: str = "", limit: int = 50) -> Job:
    return Job(name, slots=slots, res_req=(span,) if span else (), run_limit=limit)


@pytest.mark.parametrize(
    ("now", "whole", "refuted"),
    [
        # Of 1 + 1 + 2 + 2 slots free now: each used one is in the way of a whole host at 10.
        (6, 1, True),
        (5, 1, False),
        (5, 2, True),
        (4, 2, False),
        (3, 3, True),
        (2, 3, False),
    ],
)
def test_who_fills_up_now_is_in_the_way_of_whole_hosts_later(
    now: int, whole: int, refuted: bool
) -> None:
    problem = problem_of([1, 1, 2, 2], job("a", now), job("b", 4 * whole, "span[ptile=4]"))
    assert counts(problem, (0, 10)) is refuted
    assert status(problem, (0, 10)) == ("INFEASIBLE" if refuted else "FEASIBLE")


@pytest.mark.parametrize(
    ("now", "slots", "most", "refuted"),
    [
        # From 10 on 7 slots of u0 and 5 of u1 are new, and what the first job leaves of 1 + 3.
        (4, 7, 1, False),
        (4, 8, 1, True),
        (3, 8, 1, False),
        (1, 8, 1, False),
        (4, 12, 2, False),
        (4, 13, 2, True),
        (3, 13, 2, False),
    ],
)
def test_who_fills_up_now_is_in_the_way_within_units(
    now: int, slots: int, most: int, refuted: bool
) -> None:
    jobs = job("a", now), job("b", slots, f"cu[maxcus={most}]")
    problem = problem_of([1, 0, 2, 1], *jobs)
    assert counts(problem, (0, 10)) is refuted
    assert status(problem, (0, 10)) == ("INFEASIBLE" if refuted else "FEASIBLE")


def test_units_count_with_what_their_hosts_have_room_for() -> None:
    """b takes memory on each host, which one of each unit lacks: 4 slots and what a leaves of 2."""
    hosts = tuple(
        Host(f"h{number}", 4, amounts={"mem": 9.0 if number % 2 else 1.0}) for number in range(4)
    )
    running = tuple(
        RunningJob(Job(f"on {host.name}", slots=3, run_limit=10), 0, {host.name: 3})
        for host in hosts
    )
    within = Job("b", slots=4, res_req=("cu[maxcus=1] rusage[mem=5]",), run_limit=50)
    for now, refuted in ((4, True), (3, False)):
        problem = PlanningProblem.of(
            Instance(
                in_units(hosts, 2),
                queues=(Queue("default"),),
                running=running,
                pending=(job("a", now), within),
            )
        )
        assert counts(problem, (0, 10)) is refuted
        assert status(problem, (0, 10)) == ("INFEASIBLE" if refuted else "FEASIBLE")


def test_who_has_ended_by_then_is_in_nobodys_way() -> None:
    jobs = job("a", 6, limit=10), job("b", 4, "span[ptile=4]")
    assert not counts(problem_of([1, 1, 2, 2], *jobs), (0, 10))


def test_blocks_that_are_there_at_the_first_instant_are_not_behind_it() -> None:
    """The block starts now as well: it may be one of those that fill up."""
    jobs = job("a", 2), job("b", 4, "span[ptile=4]")
    assert not counts(problem_of([4, 2], *jobs), (0, 0))


def test_only_hosts_with_room_for_the_blocks_count() -> None:
    """b's blocks need memory, which h2 and h3 do not have: h0 and h1 are full since now."""
    hosts = tuple(
        Host(f"h{number}", 4, amounts={"mem": 9.0 if number < 2 else 1.0}) for number in range(4)
    )
    running = tuple(
        RunningJob(Job(f"on {host.name}", slots=2, run_limit=10), 0, {host.name: 2})
        for host in hosts[:2]
    )
    block = Job("b", slots=4, res_req=("span[ptile=4] rusage[mem=5]",), run_limit=50)
    for now, refuted in ((11, True), (10, False)):
        problem = PlanningProblem.of(
            Instance(
                Cluster(hosts),
                queues=(Queue("default"),),
                running=running,
                pending=(job("a", now), block),
            )
        )
        assert counts(problem, (0, 10)) is refuted
        assert status(problem, (0, 10)) == ("INFEASIBLE" if refuted else "FEASIBLE")


@examples(300)
@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 6)), min_size=1, max_size=3),
    st.integers(1, 4),
    st.integers(0, 8),
)
def test_most_pieces_is_the_most_of_all_ways(
    hosts: list[tuple[int, int]], size: int, spare: int
) -> None:
    """Every way of leaving `spare` slots over at the first instant, tried one by one."""
    first, second = (np.array(column, dtype=float) for column in zip(*hosts, strict=True))
    stay = np.minimum(first, second).astype(int)
    ways = product(*(range(most + 1) for most in stay.tolist()))
    right = max(
        sum((int(free) - used) // size for free, used in zip(second, way, strict=True))
        for way in ways
        if int(stay.sum()) - sum(way) <= spare
    )
    assert most_pieces(first, second, size, float(spare)) == right
