"""The shipped fictitious site imports, checks clean, plans and simulates; a real one imports."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
import slotwise as sw
from lsf.lab import MORNING
from slotwise import Instance, Problem, dump, dump_json, from_document, loads, to_document
from slotwise.instances import site
from slotwise.model.formats import load_with_warnings
from slotwise.model.formats.lsf import site_document

pytestmark = pytest.mark.behaviour("CFG-01")
CLUSTERS = ("harbour", "quay")
_REAL = Path(__file__).parents[1] / "data" / "lsf"


@cache
def imported(cluster: str) -> tuple[Instance, tuple[Problem, ...]]:
    return site_document(site(), cluster=cluster, at=MORNING).instance()


@pytest.mark.parametrize("cluster", CLUSTERS)
def test_it_imports_clean_and_comes_back(cluster: str) -> None:
    instance, warnings = imported(cluster)
    assert warnings == ()
    assert instance.name == cluster
    for write in (dump, dump_json):
        assert loads(write(instance)) == instance
    assert from_document(to_document(instance)) == instance


@pytest.mark.behaviour("FSH-14")
def test_it_has_every_mode_of_fairshare_and_reservation() -> None:
    harbour, quay = imported("harbour")[0], imported("quay")[0]
    queues = {queue.name: queue for queue in harbour.queues}
    assert len(harbour.cluster.unit_types) == 3
    assert {unit.type for unit in harbour.cluster.units} == set(harbour.cluster.unit_types)
    assert queues["normal"].fairshare_queues == ("short", "license")
    assert queues["priority"].dispatch_order == "QUEUE"
    assert queues["production"].user_shares == (("key_users@", 2000), ("others", 1))
    assert set(queues["static"].factors.values()) == {0.0}
    assert len({queue.slot_pool for queue in harbour.queues} - {""}) == 2
    assert any(group.user_shares for group in harbour.groups)
    assert queues["reservation"].resource_reserve == queues["big"].slot_reserve == 20
    assert queues["big"].exclusive == "CU[rack]"
    assert queues["express"].preemptive == ("idle",)
    assert {usage.method for usage in harbour.reservation_usage} == {
        "PER_JOB",
        "PER_HOST",
        "PER_SLOT",
    }
    assert len(harbour.limits) == 5
    assert [partition.name for partition in quay.partitions] == [
        "big_servers",
        "Partition1",
        "equal_share_partition",
    ]


def test_the_example_takes_its_cluster_from_the_directory() -> None:
    instance, warnings = load_with_warnings(sw.example("site"))
    assert warnings == ()
    assert instance.cluster == imported("harbour")[0].cluster
    assert instance.queues == imported("harbour")[0].queues
    assert len(instance.running) == 6


def test_the_example_plans_and_simulates() -> None:
    """Job 201 wants 112 slots of one rack; both are free at 4h: 103 (owners) holds the second, 210
    (owners too, of higher priority than 201) the first from now on. n16 is closed by day.
    """
    instance = sw.load(sw.example("site"))
    plan = sw.plan(instance, method="time-based")
    assert sw.validate(instance, plan) == []
    big = plan["201"]
    assert big.start == 4 * 3600
    assert plan["210"].start == 0
    assert set(big.allocation) <= {f"n{number:02d}" for number in range(1, 9)}
    simulated = {record.job: record for record in sw.simulate(instance).jobs}
    assert {record.status for record in simulated.values()} == {"done"}
    assert simulated["210"].start == 0


@pytest.mark.parametrize("cluster", CLUSTERS)
def test_a_saved_import_plans_as_the_imported_one(cluster: str) -> None:
    instance, _ = imported(cluster)
    document = to_document(instance)
    queue = instance.params.default_queue
    # The hosts of one partition that takes ann have 16 slots.
    user, slots = {"harbour": ("User1", 20), "quay": ("ann", 12)}[cluster]
    document["pending"] = [
        {"id": n, "user": user, "queue": queue, "slots": slots, "run_limit": 3600}
        for n in range(1, 4)
    ]
    first = from_document(document)
    again = loads(dump(first))
    assert sw.plan(first, method="time-based") == sw.plan(again, method="time-based")
    assert sw.plan(first, method="time-based")["1"].start == first.now


@pytest.fixture
def real(tmp_path: Path) -> Path:
    """A directory as jhlava installs it, with names for its placeholders."""
    names = {"__HOSTNAME__": "node1", "__OS__": "LINUX64", "__CLUSTERNAME__": "jhlava"}
    for file in _REAL.iterdir():
        text = file.read_text()
        for old, new in names.items():
            text = text.replace(old, new)
        (tmp_path / file.name).write_text(text)
    return tmp_path


def test_a_real_directory(real: Path) -> None:
    found = site_document(real, ncpus={"": 8})
    instance, warnings = found.instance()
    assert warnings == ()
    (host,) = instance.cluster.hosts
    assert (host.name, host.slots, host.type, host.booleans) == ("node1", 8, "LINUX64", {"cs"})
    assert [queue.name for queue in instance.queues] == ["normal"]
    assert instance.queues[0].description.endswith("only if hosts are lightly loaded.")
    assert instance.params.mbd_sleep_time == 10
    assert found.notes[-1].startswith("not modelled: LSB_MAILTO, LSB_MBD_PORT, ")
    assert found.notes[-1].endswith("r1m in 1 host of lsf.cluster; NICE in 1 queue")
