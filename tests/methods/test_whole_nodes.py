"""Plans as Slurm makes them, whose jobs of the future have their nodes to themselves."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
import slotwise as sw
from sampling import some

RECORDED = {
    (item["scenario"], item["description"]): item
    for item in json.loads(
        (Path(__file__).parents[1] / "data" / "ground" / "slurm-plans.json").read_text()
    )
}
#: Where the recorded plan takes other nodes of several that would do, or ends in a second that we
#: do not use: its jobs begin a second after `now`.
OTHERWISE = {"random-01": {"p3"}, "random-03": {"p1", "p3", "p4"}}


def instance_of(scenario: dict[str, Any]) -> sw.Instance:
    def asks(item: dict[str, Any]) -> tuple[str, ...]:
        parts = [f"span[ptile={item['ptile']}]"] if item.get("ptile") else []
        parts += [f"rusage[mem={item['mem_per_node']}]"] if item.get("mem_per_node") else []
        return (" ".join(parts),) if parts else ()

    return sw.instance(
        [
            sw.Host(name, node["cpus"], amounts={"mem": float(node["mem_mb"])})
            for name, node in scenario["nodes"].items()
        ],
        queues=[sw.Queue("q", exclusive="Y", backfill=True)],
        running=[
            sw.RunningJob(
                sw.Job(item["name"], sum(item["alloc"].values()), queue="q", res_req=asks(item)),
                0,
                item["alloc"],
                finish=item["end_rel_s"],
            )
            for item in scenario["running"]
        ],
        pending=[
            sw.Job(
                item["name"],
                max(item["n"], (item["nodes"] or 0) * (item["ptile"] or 0)),
                queue="q",
                res_req=asks(item),
                run_limit=60 * item["limit_min"],
                exclusive=bool(item["exclusive"]),
            )
            for item in scenario["pending"]
        ],
        now=1,
    )


def recorded_start(item: dict[str, Any]) -> int:
    start = item["start_rel_s"]
    found: int = item["planned"]["start_rel_s"] if start is None else start
    return found


def waits(plan: sw.Plan) -> int:
    return sum((item.start or 0) - plan.now for item in plan)


@pytest.mark.parametrize("key", RECORDED, ids=lambda key: f"{key[0]}{key[1][:12]}")
def test_starts_are_those_that_were_recorded(key: tuple[str, str]) -> None:
    scenario = RECORDED[key]
    instance = instance_of(scenario)
    found = sw.plan(instance, "time-based", whole_nodes=True)
    assert sw.validate(instance, found, as_lsf=True) == []
    assert any(note.startswith("whole nodes") for note in found.notes)
    differs = {
        item["name"]
        for item in scenario["pending"]
        if abs((found[item["name"]].start or 0) - recorded_start(item)) > 5
    }
    assert differs == OTHERWISE.get(key[0], set())


def test_the_shipped_case_is_the_recorded_one() -> None:
    shipped = sw.load(sw.example("slurm-recorded"))
    recorded = next(item for (name, _), item in RECORDED.items() if name == "random-05")
    assert {host.name: host.slots for host in shipped.cluster.hosts} == {
        name: node["cpus"] for name, node in recorded["nodes"].items()
    }
    assert sorted((*item.allocation.items(), item.job.run_limit) for item in shipped.running) == (
        sorted((*item["alloc"].items(), item["end_rel_s"]) for item in recorded["running"])
    )
    whole = sw.plan(shipped, "time-based", whole_nodes=True)
    assert [item.start for item in whole] == [recorded_start(i) for i in recorded["pending"]]
    assert (waits(whole), waits(sw.plan(shipped, "time-based"))) == (11700, 3600)


@pytest.mark.parametrize("seed", some(range(40), 12))
def test_no_planned_job_shares_a_node_with_one_of_the_future(seed: int) -> None:
    """And each starts at the first instant at which that can be, by trying all of them."""
    draw = random.Random(seed)
    hosts = [sw.Host(f"h{n}", draw.randint(1, 3)) for n in range(3)]
    queue = sw.Queue("q", backfill=True)
    running = [
        sw.RunningJob(
            sw.Job(f"r{n}", 1, queue="q", run_limit=10 * draw.randint(1, 4)), 0, {h.name: 1}
        )
        for n, h in enumerate(hosts)
        if draw.random() < 0.7
    ]
    pending = [
        sw.Job(f"p{n}", draw.randint(1, 4), queue="q", run_limit=10 * draw.randint(1, 4))
        for n in range(4)
    ]
    most = sum(host.slots for host in hosts)
    pending = [job for job in pending if job.slots <= most]
    instance = sw.instance(hosts, running=running, pending=pending, queues=[queue])
    found = sw.plan(instance, "time-based", whole_nodes=True)
    assert sw.validate(instance, found, as_lsf=True) == []
    spans: list[tuple[int, int, dict[str, int]]] = []
    for job in instance.pending:
        item = found[job.id]
        assert item.start is not None
        assert item.finish is not None
        length = item.finish - item.start
        instants = sorted({0, *(r.job.run_limit or 0 for r in running), *(e for _, e, _ in spans)})
        fits = next(t for t in instants if _free(hosts, running, spans, t, length) >= job.slots)
        assert item.start == fits
        for start, end, on in spans:
            if start > 0 and max(start, item.start) < min(end, item.finish):
                assert not on.keys() & item.allocation.keys()
        spans.append((item.start, item.finish, dict(item.allocation)))


def _free(
    hosts: list[sw.Host],
    running: list[sw.RunningJob],
    spans: list[tuple[int, int, dict[str, int]]],
    time: int,
    length: int,
) -> int:
    """Slots that a job of such a length finds: beside starts at once, not beside later ones."""
    total = 0
    for host in hosts:
        if any(
            host.name in on and start > 0 and start < time + length and time < end
            for start, end, on in spans
        ):
            continue
        used = sum(
            r.allocation.get(host.name, 0) for r in running if time < (r.job.run_limit or 0)
        ) + sum(on.get(host.name, 0) for start, end, on in spans if start == 0 and time < end)
        total += host.slots - used
    return total


def test_it_is_a_matter_of_the_time_based_method() -> None:
    instance = sw.load(sw.example("slurm-recorded"))
    for method in ("greedy", "optimal", "milp"):
        with pytest.raises(sw.InputError, match="whole_nodes requires the time-based method"):
            sw.plan(instance, method, whole_nodes=True)
    with pytest.raises(sw.InputError, match="whole_nodes"):
        sw.plan(instance, "time-based", whole_nodes=True, jobs=2)


def test_margins_and_objectives_go_with_it() -> None:
    instance = sw.load(sw.example("slurm-recorded"))
    kept = sw.plan(instance, "time-based", whole_nodes=True, margin=60)
    assert [item.start for item in kept] == [900, 1800, 9060]
    last = sw.plan(instance, "time-based", whole_nodes=True, objective="makespan")
    assert last.value == 9000 + 3600
