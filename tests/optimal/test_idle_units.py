"""Counts of idle units: right wherever they refute, and they refute what they should."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_profiles import examples
from slotwise.model.cluster import Cluster, ComputeUnit, Host
from slotwise.model.instance import Instance
from slotwise.model.job import Job, RunningJob
from slotwise.model.queue import Queue
from slotwise.solver.budget import Budget
from slotwise.solver.optimal.joint_placement import JointPlacement
from slotwise.solver.optimal.refutation import too_few_idle, whole_units_of
from slotwise.solver.problem import PlanningProblem

Starts = tuple[int, ...]
few = examples(300)


def refuted(problem: PlanningProblem, times: Starts) -> bool:
    asked = zip(problem.demands, times, strict=True)
    found = [whole_units_of(problem.base, demand, at) for demand, at in asked]
    return too_few_idle([item for item in found if item is not None], sorted(set(times)))


def status(problem: PlanningProblem, times: Starts) -> str:
    asked = list(zip(problem.demands, times, strict=True))
    return JointPlacement(problem.base, asked).solve(Budget(), seconds=20, effort=20)[0]


def problem_of(
    units: list[list[int]], busy: dict[str, int], *jobs: Job, mem: dict[str, float] | None = None
) -> PlanningProblem:
    """Units of hosts with so many slots; busy: hosts with one slot in use up to a second."""
    hosts, groups = [], []
    for at, sizes in enumerate(units):
        names = [f"u{at}h{number}" for number in range(len(sizes))]
        groups.append(ComputeUnit(f"u{at}", "enclosure", tuple(names)))
        for name, slots in zip(names, sizes, strict=True):
            hosts.append(Host(name, slots, amounts={"mem": (mem or {}).get(name, 9.0)}))
    running = tuple(
        RunningJob(Job(f"on {name}", slots=1, run_limit=until), 0, {name: 1})
        for name, until in busy.items()
    )
    cluster = Cluster(
        tuple(hosts), unit_types=("enclosure",), default_unit_type="enclosure", units=tuple(groups)
    )
    queue = Queue("default", exclusive="CU[enclosure]")
    return PlanningProblem.of(Instance(cluster, queues=(queue,), running=running, pending=jobs))


def job(name: str, slots: int, text: str = "cu[excl]", limit: int = 50) -> Job:
    return Job(name, slots=slots, res_req=(text,) if text else (), run_limit=limit)


@st.composite
def cases(draw: st.DrawFn) -> tuple[PlanningProblem, Starts]:
    units = draw(
        st.lists(st.lists(st.integers(1, 3), min_size=1, max_size=2), min_size=2, max_size=4)
    )
    names = [f"u{at}h{n}" for at, sizes in enumerate(units) for n in range(len(sizes))]
    busy = draw(st.dictionaries(st.sampled_from(names), st.sampled_from([10, 20]), max_size=3))
    texts = [
        "cu[excl]",
        "cu[excl]",
        "cu[excl] rusage[mem=5]",
        "cu[excl:maxcus=1]",
        "span[ptile=1]",
        "",
    ]
    count = draw(st.integers(2, 4))
    jobs = [
        job(
            f"j{number}",
            draw(st.integers(1, 4)),
            draw(st.sampled_from(texts)),
            draw(st.sampled_from([10, 20, 30])),
        )
        for number in range(count)
    ]
    mem = dict.fromkeys(draw(st.sets(st.sampled_from(names), max_size=2)), 1.0)
    times = tuple(draw(st.sampled_from([0, 0, 10, 20])) for _ in range(count))
    return problem_of(units, busy, *jobs, mem=mem), times


@few
@given(cases())
def test_what_counts_refute_the_model_refutes(case: tuple[PlanningProblem, Starts]) -> None:
    problem, times = case
    if refuted(problem, times):
        assert status(problem, times) == "INFEASIBLE"


@pytest.mark.parametrize(
    ("slots", "times", "expected"),
    [
        ((1, 1), (10, 10), False),
        ((1, 1, 1), (10, 10, 10), True),
        ((3, 1), (10, 10), True),  # three slots need both units
        ((2, 1), (10, 10), False),
        ((3, 1), (10, 60), False),  # the first has ended
        ((1, 1), (0, 0), True),  # one of the units is idle from 10 on
        ((1, 1), (0, 10), False),
    ],
)
def test_units_are_counted_whole(slots: Starts, times: Starts, expected: bool) -> None:
    jobs = [job(f"j{number}", size) for number, size in enumerate(slots)]
    problem = problem_of([[1, 1], [2]], {"u1h0": 10}, *jobs)
    assert refuted(problem, times) is expected
    assert status(problem, times) == ("INFEASIBLE" if expected else "FEASIBLE")


def test_only_units_with_room_for_a_job_are_counted_for_it() -> None:
    """Two jobs that take memory have one unit, though three are idle; others have those."""
    wide = "cu[excl] rusage[mem=5]"
    for texts, expected in (((wide, wide), True), ((wide, "cu[excl]", "cu[excl]"), False)):
        jobs = [job(f"j{number}", 1, text) for number, text in enumerate(texts)]
        problem = problem_of([[1], [1], [1]], {}, *jobs, mem={"u1h0": 1.0, "u2h0": 1.0})
        times = (0,) * len(jobs)
        assert refuted(problem, times) is expected
        assert status(problem, times) == ("INFEASIBLE" if expected else "FEASIBLE")


def test_a_job_that_shares_its_unit_is_not_counted() -> None:
    problem = problem_of([[4]], {}, job("a", 1, ""), job("b", 1, ""))
    assert [whole_units_of(problem.base, demand, 0) for demand in problem.demands] == [None, None]
    (whole,) = problem_of([[4]], {}, job("a", 1)).demands
    found = whole_units_of(problem.base, whole, 5)
    assert found is not None
    assert (found.count, found.start, found.end) == (1, 5, 55)
    assert np.array_equal(found.able, [True])


def test_hosts_of_no_unit_take_nothing_from_units() -> None:
    within = problem_of([[2], [2], [1]], {}, job("a", 4)).instance
    hosts = (*within.cluster.hosts, Host("outside", 4))
    problem = PlanningProblem.of(replace(within, cluster=replace(within.cluster, hosts=hosts)))
    found = whole_units_of(problem.base, problem.demands[0], 0)
    assert found is not None
    assert found.count == 2
    assert found.able.tolist() == [True, True, True, False]
