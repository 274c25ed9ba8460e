"""Omissions with a scope: the jobs that one can touch lose their proof and show it, no others."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import slotwise as sw
from sampling import some
from slotwise import UserGroup
from slotwise.model.formats.lsf import site_document
from slotwise.model.omissions import Omission

HOUR = 3600


def site() -> sw.Instance:
    """Two hosts in use, each with a queue of its own and a job that waits; "any" may use both."""
    hosts = (sw.Host("a", 4, amounts={"mem": 1000.0}), sw.Host("b", 4, amounts={"mem": 1000.0}))
    a, b = (sw.HostRequest("a"),), (sw.HostRequest("b"),)
    queues = (sw.Queue("of_a", hosts=a), sw.Queue("of_b", hosts=b), sw.Queue("of_all"))

    def job(name: str, queue: str, user: str, **more: object) -> sw.Job:
        return sw.Job(name, 4, queue=queue, user=user, run_limit=HOUR, **more)  # type: ignore[arg-type]

    return sw.Instance(
        sw.Cluster(hosts),
        queues=queues,
        applications=(sw.Application("solver"),),
        groups=(UserGroup("team", ("ann",)),),
        running=(
            sw.RunningJob(job("r", "of_a", "ann"), 0, {"a": 4}),
            sw.RunningJob(job("s", "of_b", "bob"), 0, {"b": 4}),
        ),
        pending=(
            job("x", "of_a", "ann", application="solver"),
            job("y", "of_b", "bob", res_req=("rusage[mem=100]",)),
            job("any", "of_all", "cat", submit=1),
        ),
        now=0,
    )


SCOPES = [
    (Omission("m"), "x y any"),
    (Omission("m", jobs=("y",)), "y"),
    (Omission("m", queues=("of_a",)), "x"),
    (Omission("m", queues=("of_a", "of_b")), "x y"),
    (Omission("m", applications=("solver",)), "x"),
    (Omission("m", users=("bob",)), "y"),
    (Omission("m", users=("team",)), "x"),
    (Omission("m", users=("strangers",)), "x y any"),
    (Omission("m", hosts=("b",)), "y any"),
    (Omission("m", hosts=("default",)), "x y any"),
    (Omission("m", resources=("mem",)), "y"),
    (Omission("m", resources=("gpu",)), ""),
    (Omission("m", queues=("of_a",), users=("bob",)), ""),
    (Omission("m", queues=("of_a",), changes="later ends"), "x any"),
    (Omission("m", queues=("of_all",), changes="later ends"), "x y any"),
    (Omission("m", resources=("gpu",), changes="later ends"), ""),
    (Omission("m", changes="sooner ends"), ""),
    (Omission("m", queues=("of_a",), changes="sooner ends"), ""),
]


@pytest.mark.parametrize(("left_out", "of"), some(SCOPES, 5))
def test_an_omission_takes_the_proofs_of_the_jobs_in_its_scope(left_out: Omission, of: str) -> None:
    """A fault here: a proof that is lost to a rule of others, or kept beside one of its own."""
    instance = replace(site(), omissions=(left_out,))
    touched = set(of.split())
    found = sw.outlook(instance, effort=1)
    assert {row.job for row in found if row.cautions} == touched
    firm = {row.job for row in found if row.proved or row.proved_if}
    assert firm == {"x", "y", "any"} - touched
    for row in found:
        assert touched.issuperset(row.proved_if)
        explained = sw.explain(instance, row.job, effort=1)
        assert explained.outlook is not None
        assert {item.what for item in explained.outlook.cautions} == {
            item.what for item in row.cautions
        }
    rows = sw.compare(instance, effort=1)
    assert {row.job for row in rows if row.cautions} == touched
    for method in ("greedy", "time-based", "milp"):
        plan = sw.plan(instance, method, effort=1)
        assert {job for item in plan.omissions for job in item.jobs or of.split()} == touched
        if left_out.changes == "sooner ends":
            assert any("ignored: m" in note for note in plan.notes)


def test_closed_hosts_are_usable_hosts_to_a_scope() -> None:
    """What is said of a host that is closed is of the jobs that could use it when it opens."""
    it = site()
    a, b = it.cluster.hosts
    shut = replace(it.cluster, hosts=(a, replace(b, status="closed_Adm")))
    it = replace(it, cluster=shut, omissions=(Omission("m", hosts=("b",)),))
    assert {row.job for row in sw.outlook(it, effort=1) if row.cautions} == {"y", "any"}


def test_a_longer_run_touches_what_waits_for_it_by_name() -> None:
    it = site()
    x, y, rest = it.pending
    y = replace(y, dependency="ended(r)")
    longer = Omission("m", queues=("of_a",), changes="later ends")
    it = replace(it, pending=(x, y, rest), omissions=(longer,))
    assert sw.outlook(it, effort=1)["y"].cautions


def test_the_site_of_the_examples_is_proved_but_for_its_slot_pools() -> None:
    found = sw.outlook(sw.load(sw.example("site")), effort=5)
    without = {
        row.job: {item.what for item in row.possible_cautions} for row in found if not row.proved
    }
    assert not any(row.cautions for row in found)
    assert set(without) == {"208", "209"}
    assert all("slot pools" in " ".join(said) for said in without.values())


CONF = {
    "lsf.conf": "LSF_LIM_PORT=1\n",
    "lsf.cluster.c": "Begin Host\nHOSTNAME model type server RESOURCES\nh1 ! ! 1 ()\nEnd Host\n",
    "lsb.hosts": "Begin Host\nHOST_NAME MXJ RUNWINDOW\nh1 4 20:00-8:00\nEnd Host\n",
    "lsb.queues": (
        "Begin Queue\nQUEUE_NAME=one\nMEMLIMIT=100\nEXTENDABLE_RUNLIMIT=BASE[10]\nEnd Queue\n"
        "Begin Queue\nQUEUE_NAME=two\nMEMLIMIT=100\nROUND_ROBIN=Y\nEnd Queue\n"
    ),
    "lsb.resources": "Begin Limit\nNAME=l\nMEM=50%\nQUEUES=two\nUSERS=ann ~bob\nEnd Limit\n",
}


def test_readers_of_a_configuration_say_whom_it_is_of(tmp_path: Path) -> None:
    for name, text in CONF.items():
        (tmp_path / name).write_text(text)
    found = site_document(tmp_path).document["omissions"]
    said = {
        item["what"].split()[0]: item for item in found if "-M" not in item.get("resources", ())
    }
    assert [item["queues"] for item in found if "-M" in item.get("resources", ())] == [
        ["one", "two"]
    ]
    assert said["MEMLIMIT"]["queues"] == ["one", "two"]
    assert said["MEMLIMIT"]["changes"] == "sooner ends"
    assert said["EXTENDABLE_RUNLIMIT"]["queues"] == ["one"]
    assert said["EXTENDABLE_RUNLIMIT"]["changes"] == "later ends"
    assert said["ROUND_ROBIN"]["queues"] == ["two"]
    assert said["RUNWINDOW"]["hosts"] == ["h1"]
    assert said["MEM"]["queues"] == ["two"]
    assert said["MEM"]["resources"] == ["mem"]
    assert "users" not in said["MEM"]
