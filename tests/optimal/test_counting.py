"""The blocks that jobs take for certain."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from slotwise import Cluster, Host, Instance, Job, Queue, RunningJob
from slotwise.solver.budget import Budget
from slotwise.solver.optimal.lexicographic import JointProbe
from slotwise.solver.optimal.refutation import Blocks, blocks_of
from slotwise.solver.placement.earliest import start_at
from slotwise.solver.problem import PlanningProblem


def problem_of(slots: list[int], busy: dict[str, int], *jobs: Job) -> PlanningProblem:
    hosts = tuple(Host(f"h{number}", size) for number, size in enumerate(slots))
    running = tuple(
        RunningJob(Job(f"on {name}", slots=used, run_limit=100), 0, {name: used})
        for name, used in busy.items()
    )
    return PlanningProblem.of(
        Instance(Cluster(hosts), queues=(Queue("default"),), running=running, pending=jobs)
    )


def job(name: str, slots: int, span: str = "", limit: int = 50) -> Job:
    return Job(name, slots=slots, res_req=(span,) if span else (), run_limit=limit)


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
        return probe.ask([settled], second, [0], share=0.5)[0][0]

    assert [asked(time) for time in (0, 50, 0, 25)] == [
        "INFEASIBLE",
        "FEASIBLE",
        "INFEASIBLE",
        "INFEASIBLE",
    ]
