"""What two real schedulers did: timelines, greedy reservations, planned starts
(tests/data/ground)."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from loop_lab import held, run
from parsed_bsub import parse_bsub
from slotwise import (
    Cluster,
    Host,
    HostRequest,
    Instance,
    Job,
    Params,
    Queue,
    RunningJob,
    Simulation,
)
from slotwise.solver.availability.demand import parts_of
from slotwise.solver.availability.resources import SLOTS, Amounts
from slotwise.solver.availability.running_profile import Residual
from slotwise.solver.placement.earliest import earliest_start
from slotwise.solver.planning import plan as plan_of
from slotwise.solver.problem import PlanningProblem
from slotwise.solver.scheduler.methods import settings_for
from slotwise.solver.scheduler.reserving import reserve_greedily
from slotwise.solver.scheduler.simulation import Session

GROUND = Path(__file__).parents[1] / "data" / "ground"
#: The recorded scheduler learns run times in steps of about 14 s, and cycles every 2 s.
STEP = 16


def load(name: str) -> Any:
    return json.loads((GROUND / name).read_text())


TIMELINES = {item["scenario"]: item for item in load("volclava-timelines.json")}
GREEDY = {item["scenario"]: item for item in load("volclava-greedy.json")["scenarios"]}
PLANS = {(item["scenario"], item["description"]): item for item in load("slurm-plans.json")}
QUEUES = (
    Queue("reserve", 50, slot_reserve=2000),
    Queue("normal", 30),
    Queue("bf", 20, backfill=True),
    Queue("qrun", 30, run_limit=60, run_limit_max=300),
)


def replayed(scenario: dict[str, Any]) -> Simulation:
    jobs = []
    for item in scenario["submissions"]:
        line, seconds = item["args"].rsplit(" sleep ", 1)
        fields = parse_bsub(re.sub(r"-R (\S+)", r'-R "\1"', line), None)
        submit, runs = round(item["t_rel"]), int(seconds)
        jobs.append(Job(item["job"], user=item["user"], submit=submit, run_time=runs, **fields))
    hosts = tuple(Host(name, n, amounts={"mem": 1000.0}) for name, n in scenario["hosts"].items())
    problem = Instance(
        Cluster(hosts), queues=QUEUES, future=tuple(jobs), params=Params(mbd_sleep_time=2)
    )
    return run(problem, until=120)


@pytest.mark.behaviour("GRD-06", "RSV-02", "RSV-03", "LOP-02", "TBR-18")
@pytest.mark.parametrize("name", TIMELINES)
def test_recorded_timelines(name: str) -> None:
    """Who starts when, and who never does; which of several equal hosts is a matter of load."""
    scenario = TIMELINES[name]
    result = replayed(scenario)
    for job, seen in scenario["dispatched"].items():
        if seen is None:
            assert result[job].start is None, job
            continue
        start = result[job].start
        assert start is not None, job
        assert abs(start - seen["start_rel"]) <= STEP, job
        assert sum(result[job].hosts.values()) == sum(seen["alloc"].values()), job


@pytest.mark.behaviour("GRD-01", "GRD-06")
@pytest.mark.parametrize("name", ["grow", "backfill"])
def test_recorded_reservations_grow_and_shrink_alike(name: str) -> None:
    """The numbers of slots held, in the order in which they changed."""
    scenario = TIMELINES[name]
    counts = [
        int(re.search(r"<(\d+)>", item["reserved"])[1])
        for item in scenario["timeline"]
        if item["reserved"]
    ]
    theirs = [n for at, n in enumerate(counts) if at == 0 or n != counts[at - 1]]
    mine = [sum(slots.values()) for _, slots, _ in held(replayed(scenario), "big")]
    ours = [n for at, n in enumerate(mine) if at == 0 or n != mine[at - 1]]
    assert ours[-len(theirs) :] == theirs


@pytest.mark.behaviour("GRD-01", "GRD-03")
@pytest.mark.parametrize("name", GREEDY)
def test_recorded_greedy_reservations(name: str) -> None:
    """Equal once only those hosts count that the recorded scheduler lets count.

    It drops hosts without a free slot from a job's candidates before it adds up what will be
    freed; LSF's text has all running jobs count (docs/loop.md).
    """
    scenario = GREEDY[name]
    hosts = tuple(Host(host, slots) for host, slots in scenario["hosts"].items())
    started = [_running(item, {item["host"]: item["slots"]}) for item in scenario["running"]]
    waiting = []
    for item in scenario["pending"]:
        if item["state"] == "RUN":
            started.append(_running(item, item["alloc"]))
        else:
            waiting.append(item)
    problem = Instance(
        Cluster(hosts),
        queues=QUEUES,
        running=tuple(started),
        pending=tuple(_job(item) for item in waiting),
    )
    session = Session(problem, settings_for(problem))
    session.begin()
    everything = Amounts()
    for item in waiting:
        state = session.world.states.get(item["name"])
        residual = Residual(session.world.free_now, 0, everything)
        demand = session.requests.shape(state.job).reserving
        left = residual.free(SLOTS, 0)[demand.terms[0].candidates] > 0
        term = replace(demand.terms[0], candidates=demand.terms[0].candidates[left])
        demand = replace(demand, terms=(term,))
        found = reserve_greedily(
            state, demand, residual, session.world.running_profile, 0, memory=False
        )
        if item["reserved_on"]:
            assert found is not None
            assert session.world.named(found.slots) == item["reserved_on"], item["name"]
        said = item["predicted_start_rel_s"]
        if said is None:
            assert found is None or found.estimate is None, item["name"]
        else:
            assert found is not None
            assert abs((found.estimate or 0) - said) <= STEP, item["name"]
        if found is not None:
            found.add_to(everything, residual)


def _job(item: dict[str, Any]) -> Job:
    asks = (item["resreq"],) if item.get("resreq") else ()
    slots = item.get("n") or item["slots"]
    return Job(item["name"], slots, queue="reserve", res_req=asks, run_limit=60 * item["limit_min"])


def _running(item: dict[str, Any], where: dict[str, int]) -> RunningJob:
    return RunningJob(_job(item), 0, where)


def planned(scenario: dict[str, Any], *, now: int) -> Instance:
    hosts = tuple(
        Host(name, node["cpus"], amounts={"mem": float(node["mem_mb"])})
        for name, node in scenario["nodes"].items()
    )
    running = tuple(
        RunningJob(
            Job(item["name"], sum(item["alloc"].values()), queue="q", res_req=_asks(item)),
            0,
            item["alloc"],
            finish=item["end_rel_s"],
        )
        for item in scenario["running"]
    )
    pending = tuple(
        Job(
            item["name"],
            # Whole blocks: this scheduler rounds the tasks of -N nodes up.
            max(item["n"], (item["nodes"] or 0) * (item["ptile"] or 0)),
            queue="q",
            res_req=_asks(item),
            run_limit=60 * item["limit_min"],
            exclusive=bool(item["exclusive"]),
        )
        for item in scenario["pending"]
    )
    queue = Queue("q", exclusive="Y", backfill=True)
    return Instance(Cluster(hosts), queues=(queue,), running=running, pending=pending, now=now)


def _asks(item: dict[str, Any]) -> tuple[str, ...]:
    parts = [f"span[ptile={item['ptile']}]"] if item.get("ptile") else []
    parts += [f"rusage[mem={item['mem_per_node']}]"] if item.get("mem_per_node") else []
    return (" ".join(parts),) if parts else ()


def start_of(item: dict[str, Any]) -> int:
    return (
        item["start_rel_s"] if item["start_rel_s"] is not None else item["planned"]["start_rel_s"]
    )


SHARED_NODES = {
    "backfill-toolong": "small could share n1 with big's future place",
    "seed-x/scaled": "s2 could share a node with Job5's future place",
    "random-00": "p4 to p6 could share nodes with p3's place",
    "random-01": "p3 to p6",
    "random-03": "another node for p1, then whole nodes",
    "random-05": "p2",
}


def name_of(key: tuple[str, str]) -> str:
    return f"{key[0]}/scaled" if "scaled" in key[1] else key[0]


@pytest.mark.behaviour("TBR-02", "TBR-04")
@pytest.mark.parametrize("key", PLANS, ids=name_of)
def test_time_based_starts_equal_recorded_plans(key: tuple[str, str]) -> None:
    """As far as no place in the future is shared: the recorded plans reserve whole nodes."""
    scenario = PLANS[key]
    plan = plan_of(planned(scenario, now=1), "time-based")
    differs = [
        item["name"]
        for item in scenario["pending"]
        if abs((plan[item["name"]].start or 0) - start_of(item)) > 5
    ]
    assert bool(differs) is (name_of(key) in SHARED_NODES)


@pytest.mark.behaviour("TBR-02", "TBR-04")
@pytest.mark.parametrize("key", PLANS, ids=name_of)
def test_with_whole_nodes_and_the_same_nodes_every_start_is_equal(key: tuple[str, str]) -> None:
    scenario = PLANS[key]
    problem = planned(scenario, now=1)
    where = {item["name"]: item["sched_nodes"] for item in scenario["pending"]}
    on = tuple(
        replace(job, hosts=tuple(map(HostRequest, where[job.id] or ()))) for job in problem.pending
    )
    resolved = PlanningProblem.of(replace(problem, pending=on))
    profile = resolved.base.copy()
    for demand, item in zip(resolved.demands, scenario["pending"], strict=True):
        start = earliest_start(profile, demand)
        assert start is not None
        assert abs(start.time - start_of(item)) <= 5, item["name"]
        allocation = start.terms[0]
        alone = set(allocation) if start.time > problem.now else ()
        uses = demand.terms[0].alternatives[0]
        parts = parts_of(profile.table, uses, allocation, alone)
        profile.allocate(parts, start.time, start.finish(demand))
