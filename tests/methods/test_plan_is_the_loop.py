"""The time-based plan is what the loop does, and SIMULATED is the loop, on random instances."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from loop_starts import simulated_starts
from slotwise import Cluster, Host, Instance, Job, Limit, Queue, RunningJob, Scope, SharedResource
from slotwise.model.shares import HostPartition
from slotwise.solver.planning import plan
from slotwise.solver.scheduler.simulation import simulate
from slotwise.solver.validate import validate

MINUTE = 60
SEEDS = 30


def workload(seed: int, *, rich: bool) -> Instance:
    """Two queues, BACKFILL on or off, groups, limits; rich: memory, licences, partitions too."""
    draw = random.Random(seed)
    hosts = tuple(
        Host(
            f"h{number}",
            draw.randint(1, 4),
            type=draw.choice("XY"),
            amounts={"mem": float(draw.choice([100, 200, 400]))},
        )
        for number in range(draw.randint(2, 5))
    )
    queues = (
        Queue(
            "a",
            priority=draw.choice([1, 2]),
            backfill=draw.random() < 0.5,
            host_slots=draw.choice([None] * 4 + [2]),
            user_slots=draw.choice([None] * 4 + [3]),
            queue_slots=draw.choice([None] * 4 + [4]),
        ),
        Queue("b", priority=draw.choice([1, 3]), backfill=draw.random() < 0.5),
    )
    if rich and draw.random() < 0.3:
        queues = tuple(replace(queue, resource_reserve=100) for queue in queues)
    shared = (SharedResource("lic", float(draw.randint(1, 3))),) if rich else ()
    partitions: tuple[HostPartition, ...] = ()
    if rich and draw.random() < 0.25:
        names = tuple(host.name for host in hosts[: draw.randint(1, len(hosts) - 1)])
        partitions = (HostPartition("P", names, (("default", 1),)),)
    asks = [(), (), (), ("span[ptile=1]",), ("span[ptile=2]",), ("span[hosts=1]",)]
    asks += [("same[type]",), ("select[type==X]",)]
    if rich:
        asks += [("rusage[mem=100]",), ("rusage[mem=50] span[ptile=2]",), ("rusage[lic=1]",)]
    limits: tuple[Limit, ...] = ()
    if draw.random() < 0.3:
        scope = Scope(("all",), each=True)
        limits = (Limit("u", {"slots": float(draw.randint(2, 6))}, users=scope),)
    return Instance(
        Cluster(hosts, shared=shared),
        queues=queues,
        running=tuple(_running(draw, hosts)),
        pending=tuple(_pending(draw, number, asks) for number in range(draw.randint(1, 6))),
        limits=limits,
        partitions=partitions,
    )


def _running(draw: random.Random, hosts: tuple[Host, ...]) -> list[RunningJob]:
    found: list[RunningJob] = []
    for host in hosts:
        free = host.slots
        while free and draw.random() < 0.6:
            slots = draw.randint(1, free)
            free -= slots
            limit = MINUTE * draw.randint(1, 20) if draw.random() < 0.95 else None
            job = Job(
                f"r{len(found)}",
                slots,
                user=draw.choice(["ann", "bob"]),
                queue=draw.choice("ab"),
                run_limit=limit,
            )
            found.append(RunningJob(job, 0, {host.name: slots}))
    return found


def _pending(draw: random.Random, number: int, asks: list[tuple[str, ...]]) -> Job:
    return Job(
        f"p{number}",
        draw.randint(1, 6),
        user=draw.choice(["ann", "bob"]),
        queue=draw.choice("ab"),
        res_req=draw.choice(asks),
        run_limit=MINUTE * draw.randint(1, 12) if draw.random() < 0.97 else None,
        submit=-20 + number,
    )


def pending_starts(problem: Instance, method: str, **more: int) -> dict[str, int]:
    starts = simulate(problem, reservation=method, cycle=0, **more).starts
    return {job.id: starts[job.id] for job in problem.pending if job.id in starts}


@pytest.mark.behaviour("TBR-04", "TBR-05", "TBR-10", "TBR-12", "TBR-18")
@pytest.mark.parametrize("rich", [False, True], ids=["slots", "rich"])
def test_the_plan_is_what_the_loop_does(rich: bool) -> None:
    """Where it differs, the plan names why; that is seldom."""
    named = 0
    for seed in range(SEEDS):
        problem = workload(seed, rich=rich)
        found = plan(problem, "time-based")
        assert validate(problem, found, as_lsf=True) == [], seed
        planned = {item.job: item.start for item in found if item.start is not None}
        if planned != pending_starts(problem, "time-based", top=len(problem.pending)):
            assert found.notes, seed
            named += 1
    assert named <= SEEDS // 10


@pytest.mark.behaviour("GRD-04", "GRD-06")
def test_a_simulated_start_is_the_loops() -> None:
    for seed in range(SEEDS):
        problem = workload(seed, rich=bool(seed % 2))
        assert simulated_starts(problem, "greedy") == pending_starts(problem, "greedy"), seed
