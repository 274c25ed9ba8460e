"""Counts at two instants: right wherever they refute, and they refute what they should."""

from __future__ import annotations

from itertools import product

import numpy as np
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
