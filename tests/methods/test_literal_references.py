"""The scheduler's greedy and time-based plans equal the literal references of solver/reference.

Of every instance that uses no rule of :data:`left_out.LEFT_OUT`: starts, estimates and what is
held. The references share nothing with the scheduler but the model.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import slotwise as sw
from left_out import LEFT_OUT, METHODS, differences, left_out, pair_case, whole_case
from sampling import some
from slotwise import Cluster, Host, Instance, Job, Queue, RunningJob
from slotwise.solver.reference import time_based
from slotwise.solver.reference.greedy import greedy, hold
from slotwise.solver.reference.occupancy import FOREVER, Occupancy, Occupant

HOUR = 3600
GROUND = Path(__file__).parents[1] / "data" / "ground" / "volclava-greedy.json"
GREEDY = {item["scenario"]: item for item in json.loads(GROUND.read_text())["scenarios"]}


@pytest.mark.behaviour("REF-01", "REF-02", "GRD-03", "GRD-05", "TBR-02")
def test_the_headline_of_the_documents() -> None:
    """FT(Job4) by greedy, which counts slots; FT(Job1) by time-based, on two slots each."""
    instance = sw.load(sw.example("headline"))
    held, placed = greedy(instance)["job5"], time_based(instance)["job5"]
    assert (held.estimate, held.slots) == (2 * HOUR, {"hostA": 1, "hostD": 1})
    assert (placed.start, placed.slots) == (3 * HOUR, {"hostA": 2, "hostC": 2, "hostD": 2})


@pytest.mark.behaviour("REF-01", "REF-02", "GRD-02", "TBR-05", "TBR-07", "TBR-08", "TBR-09")
@pytest.mark.parametrize(
    ("example", "job", "estimate", "start"),
    [
        ("qat-time-based", "11898", 10, 12),
        ("sierra-nodes", "11902", 10, 10),
        ("candidate-groups", "job4", 5, 2),
        ("candidate-order", "job2", 1, 1),
        ("exclusive-hosts", "job5", None, 2),
        ("cu-exclusive", "job3", None, 2),
        ("cu-racks", "job3", None, 1),
    ],
)
def test_golden_numbers(example: str, job: str, estimate: int | None, start: int) -> None:
    instance = sw.load(sw.example(example))
    if estimate is not None:
        assert greedy(instance)[job].estimate == instance.now + estimate * HOUR
    assert time_based(instance)[job].start == instance.now + start * HOUR


@pytest.mark.behaviour("REF-01", "REF-02")
@pytest.mark.parametrize("name", some(sw.examples(), 28))
def test_the_examples(name: str) -> None:
    """On the same hosts too, if nothing is left out; plain loops take long with many jobs."""
    instance = sw.load(sw.example(name))
    if len(instance.pending) > 10 or left_out(instance):
        return
    for method, reference in METHODS.items():
        rule, differing = differences(instance, method)
        assert rule or not differing
        found = reference(instance)
        for item in sw.plan(instance, method):
            if item.start is not None and not rule:
                assert item.allocation == found[item.job].slots


@pytest.mark.behaviour("REF-01", "REF-02")
@pytest.mark.parametrize("block", some(range(200), 1))
@pytest.mark.parametrize("draw", [pair_case, whole_case])
def test_sites_in_which_features_meet(draw: Any, block: int) -> None:
    """A rule that either reads otherwise makes an estimate, a start or a reservation differ."""
    for seed in range(25 * block, 25 * block + 25):
        for method in METHODS:
            rule, differing = differences(draw(seed), method)
            assert rule or not differing, (seed, method, differing)


def test_most_sites_are_compared_and_no_rule_stands_in_the_list_for_nothing() -> None:
    """An instance is compared unless it uses a rule of the list: these draws use few."""
    rules = [left_out(whole_case(seed)) for seed in range(200)]
    assert rules.count("") > 180
    met = {left_out(pair_case(seed)) for seed in range(400)}
    elsewhere = {"other schedulers", "amounts per slot or job", "limits of some", "loads"}
    elsewhere |= {"the last cycle", "RESERVE_BY_STARTTIME", "queues of some"}
    assert met | elsewhere == {"", *(name for name, _, _ in LEFT_OUT)}


@pytest.mark.behaviour("REF-01", "GRD-01", "GRD-03")
@pytest.mark.parametrize("name", GREEDY)
def test_what_a_scheduler_of_the_family_reserved(name: str) -> None:
    """Where only hosts count on which the recorded scheduler has a free slot (test_loop_ground)."""
    scenario = GREEDY[name]
    hosts = tuple(Host(host, slots) for host, slots in scenario["hosts"].items())
    started = [_running(item, {item["host"]: item["slots"]}) for item in scenario["running"]]
    waiting = [item for item in scenario["pending"] if item["state"] != "RUN"]
    started += [_running(i, i["alloc"]) for i in scenario["pending"] if i["state"] == "RUN"]
    queues, jobs = (Queue("reserve", slot_reserve=2000),), tuple(map(_job, waiting))
    occupancy = Occupancy(Instance(Cluster(hosts), queues, tuple(started), jobs), {})
    running = list(occupancy.uses)
    for job, item in zip(jobs, waiting, strict=True):
        free = occupancy.free(job, 0, FOREVER)
        groups = [tuple(h for h in group if free[h]) for group in occupancy.asks(job).groups]
        occupancy.asked[job.id] = replace(occupancy.asks(job), groups=tuple(filter(None, groups)))
        found, said = hold(occupancy, running, job, {}), item["predicted_start_rel_s"]
        assert not item["reserved_on"] or found.slots == item["reserved_on"]
        assert found.estimate is said or abs((found.estimate or 0) - (said or 0)) <= STEP
        occupancy.uses.append(Occupant(job, found.slots, 0, FOREVER, "reserved"))


#: Seconds by which the recorded scheduler learns run times.
STEP = 16


def _job(item: dict[str, Any]) -> Job:
    asks = (item["resreq"],) if item.get("resreq") else ()
    slots, limit = item.get("n") or item["slots"], 60 * item["limit_min"]
    return Job(item["name"], slots, queue="reserve", res_req=asks, run_limit=limit)


def _running(item: dict[str, Any], where: dict[str, int]) -> RunningJob:
    return RunningJob(_job(item), 0, where)
