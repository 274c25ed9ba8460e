"""Refutation by counts: right wherever it refutes, and it refutes what it should."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_profiles import examples
from random_instances import instances
from slotwise.model.cluster import Cluster, Host
from slotwise.model.instance import Instance
from slotwise.model.job import Job, RunningJob
from slotwise.model.queue import Queue
from slotwise.solver.budget import Budget
from slotwise.solver.optimal.joint_placement import JointPlacement
from slotwise.solver.optimal.lexicographic import JointProbe
from slotwise.solver.optimal.refutation import Blocks, blocks_of, too_many
from slotwise.solver.placement.earliest import start_at
from slotwise.solver.problem import PlanningProblem

few = examples(150)


@few
@given(instances(most_hosts=4, most_jobs=4), st.data())
def test_what_counts_refute_the_model_refutes(instance: Instance, data: st.DataObject) -> None:
    problem = PlanningProblem.of(instance)
    changes = problem.base.changes()
    asked = [
        (demand, max(demand.earliest, data.draw(st.sampled_from(changes))))
        for demand in problem.demands
    ]
    blocks = [found for demand, time in asked for found in blocks_of(problem.base, demand, time)]
    points = sorted({time for _, time in asked} | set(problem.base.later_starts))
    if too_many(problem.base, blocks, points):
        status, _ = JointPlacement(problem.base, asked).solve(Budget(), seconds=20, effort=20)
        assert status == "INFEASIBLE"


def problem_of(slots: list[int], busy: dict[str, int], *jobs: Job) -> PlanningProblem:
    hosts = tuple(Host(f"h{number}", size) for number, size in enumerate(slots))
    running = tuple(
        RunningJob(Job(f"on {name}", slots=used, run_limit=100), 0, {name: used})
        for name, used in busy.items()
    )
    return PlanningProblem.of(
        Instance(Cluster(hosts), queues=(Queue("default"),), running=running, pending=jobs)
    )


def refuted(problem: PlanningProblem, *times: int) -> bool:
    asked = list(zip(problem.demands, times, strict=True))
    blocks = [found for demand, time in asked for found in blocks_of(problem.base, demand, time)]
    return too_many(problem.base, blocks, sorted(set(times)))


def job(name: str, slots: int, span: str = "", limit: int = 50) -> Job:
    return Job(name, slots=slots, res_req=(span,) if span else (), run_limit=limit)


def test_whole_blocks_are_counted_by_hosts() -> None:
    """Three hosts with four slots free: three blocks of three, not four; but twelve slots."""
    three = [job("a", 6, "span[ptile=3]"), job("b", 3, "span[ptile=3]")]
    assert not refuted(problem_of([4] * 3, {}, *three), 0, 0)
    four = [*three, job("c", 3, "span[ptile=3]")]
    assert refuted(problem_of([4] * 3, {}, *four), 0, 0, 0)
    assert not refuted(problem_of([4] * 3, {}, *three, job("c", 3)), 0, 0, 0)
    assert refuted(problem_of([4] * 3, {}, *three, job("c", 4)), 0, 0, 0)
    assert not refuted(problem_of([4] * 3, {}, *four), 0, 0, 50), "the others have ended"


def test_a_block_of_six_counts_as_two_of_three() -> None:
    """Two hosts of six: one whole, of the other a half; no third block of three is left."""
    jobs = [job("a", 6, "span[hosts=1]"), job("b", 3, "span[ptile=3]")]
    assert not refuted(problem_of([6, 6], {}, *jobs, job("c", 3, "span[ptile=3]")), 0, 0, 0)
    assert refuted(problem_of([6, 6], {}, *jobs, job("c", 4, "span[ptile=4]")), 0, 0, 0)
    assert refuted(problem_of([6, 6], {}, *jobs, job("c", 6, "span[ptile=3]")), 0, 0, 0)


def test_only_hosts_on_which_a_block_fits_count() -> None:
    """Five are free on h0 alone: two blocks of five have one host, though there are 13 slots."""
    jobs = [job("a", 5, "span[ptile=5]"), job("b", 5, "span[ptile=5]")]
    problem = problem_of([5, 5, 5], {"h1": 1, "h2": 1}, *jobs)
    assert refuted(problem, 0, 0)
    assert not refuted(problem, 0, 50)
    assert not refuted(problem, 0, 100)


def test_the_remainder_of_a_job_is_a_block_of_its_own() -> None:
    found = blocks_of(problem_of([4], {}, job("a", 7, "span[ptile=3]")).base, *one("a", 7, 3))
    assert [(block.size, block.count) for block in found] == [(3, 2), (1, 1)]


def one(name: str, slots: int, tile: int):
    problem = problem_of([4], {}, job(name, slots, f"span[ptile={tile}]"))
    return problem.demands[0], 0


@pytest.mark.parametrize("res_req", ["rusage[mem=1] || rusage[mem=2]", "2*{} + 1*{}"])
def test_what_a_job_may_choose_is_not_counted(res_req: str) -> None:
    """Rusage alternatives and the terms of compound requirements."""
    chooser = Job("a", slots=3, res_req=(res_req,), run_limit=50)
    hosts = (Host("h0", 4, amounts={"mem": 10.0}),)
    instance = Instance(Cluster(hosts), queues=(Queue("default"),), pending=(chooser,))
    problem = PlanningProblem.of(instance)
    assert blocks_of(problem.base, problem.demands[0], 0) == ()


def test_windows_are_half_open() -> None:
    block = Blocks(1, 1, np.ones(1, dtype=bool), 5, 10)
    assert [block.covers(time) for time in (4, 5, 9, 10)] == [False, True, True, False]


def test_a_job_that_is_settled_anew_is_counted_where_it_is_now() -> None:
    """Two jobs of all slots: at 0 the second has room only while the first is at 50."""
    problem = problem_of([4], {}, job("a", 4), job("b", 4))
    first, second = problem.demands
    probe = JointProbe(problem.base, Budget())

    def asked(time: int) -> str:
        start = start_at(problem.base, first, time)
        settled = SimpleNamespace(demand=first, start=start)
        return probe.ask([settled], second, 0, share=0.5)[0]

    assert [asked(time) for time in (0, 50, 0, 25)] == [
        "INFEASIBLE",
        "FEASIBLE",
        "INFEASIBLE",
        "INFEASIBLE",
    ]


def test_a_host_with_less_than_nothing_free_takes_nothing_from_others() -> None:
    # The second job fills its host while the other host, where only the first fits, is overdrawn.
    free = {0: np.array([1.0, 2.0]), 20: np.array([-1.0, 2.0])}
    base = SimpleNamespace(free=lambda _, point: free[point])
    first = Blocks(1, 1, np.array([True, True]), 0, 10)
    second = Blocks(1, 2, np.array([False, True]), 20, 30)
    assert not too_many(base, [first, second], [0, 20])  # type: ignore[arg-type]
    third = Blocks(1, 3, np.array([False, True]), 20, 30)
    assert too_many(base, [first, third], [0, 20])  # type: ignore[arg-type]
