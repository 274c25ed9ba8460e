"""Plans as Slurm makes them, whose jobs of the future have their nodes to themselves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import slotwise as sw

RECORDED = {
    (item["scenario"], item["description"]): item
    for item in json.loads(
        (Path(__file__).parents[1] / "data" / "ground" / "slurm-plans.json").read_text()
    )
}


def recorded_start(item: dict[str, Any]) -> int:
    start = item["start_rel_s"]
    found: int = item["planned"]["start_rel_s"] if start is None else start
    return found


def waits(plan: sw.Plan) -> int:
    return sum((item.start or 0) - plan.now for item in plan)


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


def test_it_is_a_matter_of_the_time_based_method() -> None:
    instance = sw.load(sw.example("slurm-recorded"))
    for method in ("greedy", "optimal", "milp"):
        with pytest.raises(sw.InputError, match="whole_nodes: a plan of the time-based method"):
            sw.plan(instance, method, whole_nodes=True)
    with pytest.raises(sw.InputError, match="whole_nodes"):
        sw.plan(instance, "time-based", whole_nodes=True, jobs=2)


def test_margins_and_objectives_go_with_it() -> None:
    instance = sw.load(sw.example("slurm-recorded"))
    kept = sw.plan(instance, "time-based", whole_nodes=True, margin=60)
    assert [item.start for item in kept] == [900, 1800, 9060]
    last = sw.plan(instance, "time-based", whole_nodes=True, objective="makespan")
    assert last.value == 9000 + 3600
