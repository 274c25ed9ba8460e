"""The judge's columns say what counting job by job says."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from judging import host, job, plan, problem, running
from slotwise import Cluster, ComputeUnit, SharedResource
from slotwise.solver.validate import validate
from slotwise.solver.validation.facts import SlotColumns, UnitsOfType

Held = tuple[str, int, int | None, dict[str, int]]


def _held(random: Random, names: list[str]) -> list[Held]:
    found: list[Held] = []
    for _ in range(random.randint(0, 8)):
        start = random.randint(-5, 5)
        finish = random.choice([None, start, start + random.randint(1, 6)])
        on = random.sample(names, random.randint(1, len(names)))
        allocation = {name: random.randint(1, 3) for name in on}
        found.append((random.choice("abcde"), start, finish, allocation))
    return found


@pytest.mark.parametrize("seed", range(40))
def test_free_slots_are_those_that_no_other_job_holds(seed: int) -> None:
    random = Random(seed)
    hosts = {name: host(name, random.randint(1, 6)) for name in ("h1", "h2", "h3")}
    held = _held(random, list(hosts))
    columns = SlotColumns(hosts, held)
    for own in ("a", "b", "nobody"):
        for time in range(-6, 13):
            free = columns.free_beside(own, time)
            for name, found in zip(hosts, free, strict=True):
                used = sum(
                    allocation.get(name, 0)
                    for other, start, finish, allocation in held
                    if other != own and start <= time and (finish is None or time < finish)
                )
                assert found == max(0, hosts[name].slots - used)


def test_a_host_counts_in_every_unit_it_is_in() -> None:
    units = (
        ComputeUnit("r1", "rack", ("a", "b")),
        ComputeUnit("s1", "switch", ("a", "b", "c")),
        ComputeUnit("r2", "rack", ("b", "c")),
    )
    found = UnitsOfType.of(units, "rack", ("a", "b", "c", "d"))
    assert [unit.name for unit in found.units] == ["r1", "r2"]
    assert found.of_host == {"a": [0], "b": [0, 1], "c": [1]}
    assert found.sums(np.array([1, 2, 4, 8])).tolist() == [3, 6]
    inside = found.hosts_of(np.array([False, True]), 4)
    assert inside.tolist() == [False, True, True, False]
    none = UnitsOfType.of(units, "row", ("a", "b", "c", "d"))
    assert none.sums(np.array([1, 2, 4, 8])).tolist() == []


def test_only_those_that_reserve_a_shared_resource_count() -> None:
    """Jobs that ask for nothing of it, before and behind those that do, change nothing."""
    cluster = Cluster((host("h", 9),), shared=(SharedResource("lic", 3.0),))
    instance = problem(
        job("j", 1, "rusage[lic=2]"),
        job("k", 1),
        running=(running("r", {"h": 1}, "rusage[lic=2]"), running("s", {"h": 1})),
        cluster=cluster,
    )
    found = validate(instance, plan(instance, {"j": (0, {"h": 1}), "k": (0, {"h": 1})}))
    assert [(fault.check, fault.job) for fault in found] == [("lic", "j")]
    assert "4 lic in use at 0 s, there are 3" in str(found[0])
