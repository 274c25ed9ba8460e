"""A user's program, type-checked against the installed package by mypy and pyright, and run.

Lines that end in `type: ignore` are wrong on purpose: a checker that finds nothing there (because
the package carries no types) complains of an ignore that it does not need.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import replace

import slotwise as sw


def planned(hosts: list[sw.Host], jobs: list[sw.Job], method: sw.Method) -> dict[str, int]:
    """Start of each job that has one, seconds."""
    problem: sw.Instance = sw.instance(hosts, pending=jobs, params=sw.Params(mbd_sleep_time=30))
    told: list[sw.Progress] = []
    cancel = threading.Event()
    plan: sw.Plan = sw.plan(
        problem, method, objective="total-start", effort=1, cancel=cancel, on_progress=told.append
    )
    status: sw.Status = plan.status
    first: sw.PlannedJob = plan[jobs[0].id]
    where: Mapping[str, int] = first.allocation
    violations: list[sw.Violation] = sw.validate(problem, plan)
    assert not violations
    assert status in ("optimal", "feasible", "heuristic", "infeasible")
    assert sum(where.values()) >= jobs[0].slots
    return {item.job: item.start for item in plan if item.start is not None}


def looked_at(problem: sw.Instance) -> int:
    """Every other call, each with the type it gives."""
    comparison: sw.Comparison = sw.compare(problem, effort=1, methods=True)
    simulation: sw.Simulation = sw.simulate(problem, reservation="greedy", until="7d")
    starts: dict[str, int] = simulation.starts
    answer: sw.Answer = sw.ask(problem, "-n 1 -W 1:00", choices=sw.Choices(slots=(2,)))
    explanation: sw.Explanation = sw.explain(problem, problem.pending[0].id)
    again: sw.Instance = sw.loads(sw.dump(problem))
    queue: sw.Queue = again.queues[0]
    warnings: tuple[sw.Problem, ...] = sw.check(replace(again, queues=(queue,)))
    return len(comparison) + len(starts) + answer.tried + explanation.tried + len(warnings)


def wrong(problem: sw.Instance) -> None:
    """What a checker has to object to."""
    sw.plan(problem, "greddy")  # type: ignore
    sw.plan(problem, objective="makespam")  # type: ignore
    sw.simulate(problem, reservation="greddy")  # type: ignore
    sw.plan(problem, on_progress=print, cancle=None)  # type: ignore
    sw.Job("p1", "4")  # type: ignore
    print(sw.plan(problem).starts)  # type: ignore


def main() -> None:
    """Run it."""
    hosts = [sw.Host("a", 4, amounts={"mem": 64000.0}), sw.Host("b", 4)]
    jobs = [sw.Job("p1", 4, run_limit=600), sw.Job("p2", 8, run_limit=60)]
    print(planned(hosts, jobs, "optimal"))
    assert looked_at(sw.instance(hosts, pending=jobs)) > 0
    try:
        wrong(sw.instance(hosts))
    except sw.UnknownNameError as error:
        print(error)


if __name__ == "__main__":
    main()
