"""``KEY=VALUE``: where it leads, what it may hold, and what is said of what is wrong."""

from __future__ import annotations

from dataclasses import replace

import pytest
import slotwise as sw
from slotwise.model.formats.settings import Setting, changed, read_setting

DOCUMENT = """
format: slotwise/1
params: {DEFAULT_QUEUE: parallel}
hosts:
  - {name: "n[01-04]", slots: 4}
  - {name: big.example.com, slots: 8}
host_groups: {few: n01 n02}
users: [{name: alice, MAX_JOBS: 4}]
user_groups:
  - {name: lab, members: alice bob, USER_SHARES: "[alice,3] [default,1]"}
queues:
  - {name: parallel, PRIORITY: 30, BACKFILL: Y, SLOT_RESERVE: "MAX_RESERVE_TIME[5]"}
  - {name: short.a, FAIRSHARE: "USER_SHARES[[lab,2] [default,1]]"}
  - {name: short.b}
pending:
  - {id: 7, slots: 2, run_limit: 1h}
"""


def instance() -> sw.Instance:
    return sw.loads(DOCUMENT)


def after(*texts: str) -> sw.Instance:
    found, wrong = changed(instance(), [read_setting(text) for text in texts])
    assert wrong == []
    assert found is not None
    return found


def complaints(*texts: str) -> list[str]:
    found, wrong = changed(instance(), [read_setting(text) for text in texts], ["reservation"])
    assert found is None
    return [str(problem) for problem in wrong]


def test_nothing_set_is_the_instance_itself() -> None:
    base = instance()
    assert changed(base, []) == (base, [])


def test_a_key_of_one_queue_alone() -> None:
    base = instance()
    parallel, *others = base.queues
    assert after("queues.parallel.BACKFILL=N") == replace(
        base, queues=(replace(parallel, backfill=False), *others)
    )


def test_lsf_names_of_keys() -> None:
    assert (
        after("queues.parallel.TASKLIMIT=8").queues[0]
        == after("queues.parallel.PROCLIMIT=8").queues[0]
    )
    assert after("RESOURCE_RESERVE_PER_TASK=Y").params.reserve_per_slot


@pytest.mark.parametrize("nothing", ["", "-", "()"])
def test_nothing_takes_a_key_away(nothing: str) -> None:
    assert after(f"queues.parallel.SLOT_RESERVE={nothing}").queues[0].slot_reserve is None


def test_one_host_of_a_range_and_several() -> None:
    assert [h.slots for h in after("hosts.n02.slots=1").cluster.hosts] == [4, 1, 4, 4, 8]
    assert [h.slots for h in after("hosts.n[02-03].slots=1").cluster.hosts] == [4, 1, 1, 4, 8]
    assert [h.slots for h in after("hosts.*.slots=2").cluster.hosts] == [2, 2, 2, 2, 2]


def test_shares_whole_and_one_of_them() -> None:
    whole = after("queues.short.a.FAIRSHARE=USER_SHARES[[lab,5] [carol,2] [default,1]]")
    assert whole.queues[1].user_shares == (("lab", 5), ("carol", 2), ("default", 1))
    one = after("queues.short.a.FAIRSHARE.lab=9")
    assert one.queues[1].user_shares == (("lab", 9), ("default", 1))
    every = after("queues.*.FAIRSHARE.default=4")
    assert [queue.user_shares for queue in every.queues] == [
        None,
        (("lab", 2), ("default", 4)),
        None,
    ]
    group = after("user_groups.lab.USER_SHARES.alice=8")
    assert dict(group.groups[0].user_shares)["alice"] == 8


@pytest.mark.parametrize(
    "text",
    [
        *("now=5", "origin=2024-01-01", "format=slotwise/1", "pending=[]", "running=", "future=-"),
        *("pending.7.slots=3", "pending.*.slots=3", "now.x=1"),
    ],
)
def test_the_workload_stays_as_it_is(text: str) -> None:
    (line,) = complaints(text)
    section = text.partition("=")[0].partition(".")[0]
    assert line.startswith(f"--set {text}: {section} is not part of the configuration")


def test_the_queue_that_every_instance_has() -> None:
    plain = sw.loads("format: slotwise/1\nhosts: [{name: a, slots: 1}]\n")
    found, wrong = changed(plain, [Setting("queues.default.BACKFILL", "Y")])
    assert wrong == []
    assert found is not None
    assert [(queue.name, queue.backfill) for queue in found.queues] == [("default", True)]


def test_all_that_is_wrong_in_one_report() -> None:
    found = complaints(
        "queues.paralel.BACKFILL=N", "queues.parallel.PRIORITY=x", "LSB_TIME=1", "hosts.n01.slots=y"
    )
    assert {line.partition(":")[0] for line in found} == {
        "--set queues.paralel.BACKFILL=N",
        "--set LSB_TIME=1",
        "--set queues.parallel.PRIORITY=x",
        "--set hosts.n01.slots=y",
    }
    assert len(found) == 4


def test_what_breaks_elsewhere_is_laid_to_the_settings() -> None:
    """A host group loses a host that a setting takes away."""
    (line,) = complaints("host_groups.few=n01 n99")
    assert "n99" in line
    assert line.startswith("--set host_groups.few=n01 n99")


POOLS = """
format: slotwise/1
hosts: [{name: A, slots: 10}]
service_classes: [{name: sc1}, {name: sc2}]
guaranteed_pools:
  - {name: p.1, TYPE: slots, HOSTS: all, DISTRIBUTION: "[sc1, 5] [sc2, 20%]"}
"""


@pytest.mark.behaviour("GUA-01")
@pytest.mark.parametrize("section", ["pools", "guaranteed_pools"])
@pytest.mark.parametrize(
    ("key", "shares"),
    [
        ("DISTRIBUTION.sc1=2", "[sc1, 2] [sc2, 20%]"),
        ("DISTRIBUTION.sc2=5%", "[sc1, 5] [sc2, 5%]"),
        ("DISTRIBUTION.sc1=", "[sc2, 20%]"),
        ("DISTRIBUTION=[sc1, 3]", "[sc1, 3]"),
        ("DISTRIBUTION=[[sc1, 3], [sc2, 10%]]", "[sc1, 3] [sc2, 10%]"),
        ("LOAN_POLICIES=QUEUES[all] DURATION[10]", "[sc1, 5] [sc2, 20%]"),
    ],
)
def test_guarantees_of_a_pool_one_by_one(section: str, key: str, shares: str) -> None:
    for name in ("p.1", "*"):
        found, wrong = changed(sw.loads(POOLS), [read_setting(f"{section}.{name}.{key}")])
        assert not wrong
        assert found is not None
        (pool,) = found.guaranteed_pools
        assert sw.to_document(found)["guaranteed_pools"][0]["DISTRIBUTION"] == shares
        assert (pool.loans is not None) is key.startswith("LOAN")


@pytest.mark.parametrize(
    ("key", "says"),
    [
        ("pools.p.1.DISTRIBUTION.sc9=2", "unknown service class 'sc9'"),
        ("pools.p.1.DISTRIBUTION.sc1=x", "must be an amount such as 5, or 10%"),
        ("pools.p.1.DISTRIBUTION=[sc1, 2, 3]", "must be pairs [class, amount]"),
        ("pools.q.DISTRIBUTION.sc1=2", "unknown guaranteed pool 'q'"),
    ],
)
def test_what_is_wrong_with_the_guarantees_of_a_pool(key: str, says: str) -> None:
    found, wrong = changed(sw.loads(POOLS), [read_setting(key)])
    assert found is None
    assert any(says in str(problem) for problem in wrong), wrong


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("hosts=9", "hosts.a1.slots=8"),
        ("hosts=ALL", "hosts.a1.mem=1"),
        ("hosts=[{slots: 4}]", "hosts.a1.mem=1"),
        ("queues=x", "queues.*.PRIORITY=4"),
        ("limits=[null]", "limits.*.JOBS=1"),
        ("resources=- a", "resources.*.x=1"),
        ("params=[1,2]", "params.MBD_SLEEP_TIME=5"),
        ("params=[{name: x}]", "MBD_SLEEP_TIME=5"),
        ("queues=[{name: q, FAIRSHARE: 9}]", "queues.q.FAIRSHARE.ann=3"),
        ("config=9", "config.lsf.x=3"),
    ],
)
def test_a_section_that_a_setting_replaced_is_no_fault_of_the_next_one(
    first: str, second: str
) -> None:
    """Each is refused in words, of an instance of LSF and of Slurm."""
    lsf = sw.loads("format: slotwise/1\nhosts: [{name: a1, slots: 4}]\n")
    for here in (lsf, sw.load(sw.example("slurm-live"))):
        found, wrong = changed(here, [read_setting(first), read_setting(second)])
        assert found is None
        assert wrong[0].source.startswith("--set ")
