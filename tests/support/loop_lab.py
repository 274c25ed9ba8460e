"""Short ways to write a small cluster, its jobs, and what the loop makes of them."""

from __future__ import annotations

from typing import Any

from slotwise import Cluster, Host, Instance, Job, Params, Queue, RunningJob, Simulation
from slotwise.solver.scheduler.simulation import simulate

MINUTE, HOUR = 60, 3600


def host(name: str, slots: int = 4, mem: float | None = None, **more: Any) -> Host:
    """A host, with memory (MB) if it is said."""
    amounts = {} if mem is None else {"mem": float(mem)}
    return Host(name, slots, amounts={**amounts, **more.pop("amounts", {})}, **more)


def job(name: str, slots: int = 1, *res_req: str, minutes: int | None = None, **more: Any) -> Job:
    """A job; `minutes` is its run limit."""
    limit = None if minutes is None else minutes * MINUTE
    return Job(name, slots, res_req=res_req, **{"run_limit": limit, "queue": "q", **more})


def running(
    name: str, where: dict[str, int], minutes: int | None = None, **more: Any
) -> RunningJob:
    """A job that runs since second 0."""
    asks = more.pop("res_req", ())
    return RunningJob(job(name, sum(where.values()), *asks, minutes=minutes, **more), 0, where)


def cluster(*hosts: Host, **more: Any) -> Cluster:
    """A cluster of these hosts."""
    return Cluster(tuple(hosts), **more)


def instance(*hosts: Host, queues: tuple[Queue, ...] | None = None, **more: Any) -> Instance:
    """An instance; params by keyword `params`, cycles of 60 s unless they say otherwise."""
    where = more.pop("cluster", None) or cluster(*hosts)
    params = more.pop("params", Params())
    return Instance(where, queues=queues or (Queue("q"),), params=params, **more)


def run(problem: Instance, method: str = "configured", **more: Any) -> Simulation:
    """The simulation, with its log."""
    return simulate(problem, reservation=method, keep_log=True, **more)


def held(result: Simulation, name: str) -> list[tuple[int, dict[str, int], dict[str, float]]]:
    """(time, slots, memory) that a job held in each cycle that was run."""
    found = []
    for entry in result.log:
        for item in entry["reservations"]:
            if item["job"] == name:
                found.append((entry["time"], item["reserved"], item.get("memory", {})))
    return found


def estimates(result: Simulation, name: str) -> list[tuple[int, int | None]]:
    """(time, estimated start) of a job in each cycle that was run."""
    return [
        (entry["time"], item["estimate"])
        for entry in result.log
        for item in entry["reservations"]
        if item["job"] == name
    ]
