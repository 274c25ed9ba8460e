"""A Slurm cluster read from what its commands printed: live recordings, other spellings, limits."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
import slotwise as sw
from sampling import pairwise
from slotwise import InputError, Instance, from_document, to_document
from slotwise.cli.main import app
from slotwise.model import slurm_values as values
from slotwise.model.sources.lsf_state.values import Text
from slotwise.model.sources.slurm.assemble import AssembledSlurm, assemble
from slotwise.model.sources.slurm.folder import printed_at, read_texts
from slotwise.model.sources.slurm.several_partitions import BEHIND, BEHIND_HET
from typer.testing import CliRunner

DATA = Path(__file__).parents[1] / "data" / "slurm"
pytestmark = pytest.mark.behaviour("SLU-01")


def run(*words: object) -> tuple[int, str]:
    """Exit code, and what goes to stderr with errors as `main` prints them."""
    result = CliRunner().invoke(app, [str(word) for word in words])
    if isinstance(result.exception, InputError):
        return 2, str(result.exception)
    return result.exit_code, result.stderr


def texts_of(name: str) -> dict[str, str]:
    return {path.name: path.read_text() for path in sorted((DATA / name).iterdir())}


def assembled(texts: Mapping[str, str]) -> AssembledSlurm:
    from datetime import UTC, datetime

    seen = read_texts([Text(content, name) for name, content in texts.items()], "test")
    time = printed_at(seen)
    assert time is not None
    return assemble(seen, datetime.fromtimestamp(time, UTC))


def instance_of(texts: Mapping[str, str]) -> Instance:
    return assembled(texts).instance


def jobs_of(instance: Instance) -> dict[str, sw.Job]:
    return {job.id: job for job in instance.pending}


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("Flags=", "Flags=FLEX,", "with FLEX"),
        ("ReservationName=maint1", "ReservationName=other", "which no input describes"),
        ("Nodes=n2", "Nodes=(null)", "has no nodes"),
        ("StartTime=2026-11-27T00", "StartTime=2026-11-26T00", "in maintenance"),
        ("EndTime=2026-11-27T01", "EndTime=2026-11-26T01", "has expired"),
    ],
)
def test_other_reservations_leave_their_job_out_by_name(old: str, new: str, why: str) -> None:
    texts = texts_of("probes")
    texts["reservation.txt"] = texts["reservation.txt"].replace(old, new, 1)
    made = assembled(texts)
    assert "38" not in jobs_of(made.instance)
    assert [text for text in made.notes if why in text and "38" in text]


def test_a_running_job_has_its_nodes_inside_its_reservation() -> None:
    texts = texts_of("probes")
    text = texts["reservation.txt"].replace("Nodes=n2", "Nodes=n[1-4]").replace("MAINT,", "")
    texts["reservation.txt"] = text.replace("StartTime=2026-11-27T00", "StartTime=2026-11-26T00")
    listed = json.loads(texts["squeue.json"])
    for job in listed["jobs"]:
        if job["job_id"] == 1:
            job["resv_name"] = "maint1"
    texts["squeue.json"] = json.dumps(listed)
    found = instance_of(texts)
    assert {run.job.id for run in found.running if run.job.reservation} == {"1"}


def test_the_text_forms_say_the_same() -> None:
    """scontrol show job -o against squeue --json of the same jobs."""
    texts = texts_of("probes")
    whole = instance_of(texts)
    texts.pop("squeue.json")
    found = instance_of(texts)
    listed = re.findall(r"^JobId=(\d+)", texts["jobs.txt"], re.MULTILINE)
    jobs, known = jobs_of(found), jobs_of(whole)
    assert {name.partition("[")[0] for name in jobs} == {"9", "13", "25", "26", "28"}
    for name, job in jobs.items():
        assert job == known[name]
    running = {item.job.id: item for item in whole.running}
    for item in found.running:
        assert item.job.id in listed
        other = running[item.job.id]
        assert (item.start, sum(item.allocation.values())) == (
            other.start, sum(other.allocation.values())
        )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 5400), ("1:30", 90), ("1:30:00", 5400), ("2-12", 216000), ("1-00:00:05", 86405)],
)
def test_time_limits(text: str, seconds: int) -> None:
    assert values.clock_seconds(text) == seconds


QOS = (
    "Name|Priority|GrpTRES|GrpJobs|MaxTRESPU|MaxJobsPU|GrpTRESRunMins\n"
    "normal|0||||2|\nshort|10|cpu=16,mem=4G|||||\nlong|1||||| cpu=1000\n"
)
ASSOCIATIONS = (
    "Cluster|Account|User|Partition|GrpTRES|GrpJobs|MaxJobs\n"
    "live|root|||||\nlive| physics|||cpu=12||\nlive|  atoms||||1|\nlive|  atoms|ann|||| 3\n"
)


def _with_accounts(texts: dict[str, str]) -> dict[str, str]:
    listed = json.loads(texts["squeue.json"])
    kinds = (("atoms", "short", "ann"), ("physics", "normal", "bob"), ("other", "long", "cid"))
    for place, job in enumerate(listed["jobs"]):
        job["account"], job["qos"], job["user_name"] = kinds[place % 3]
    config = texts["config.txt"].replace("= none", "= associations,limits,qos")
    return {**texts, "squeue.json": json.dumps(listed), "config.txt": config}


def test_limits_of_qos_and_associations() -> None:
    texts = _with_accounts(texts_of("live"))
    found = instance_of({**texts, "qos.txt": QOS, "assoc.txt": ASSOCIATIONS})
    limits = {limit.name: limit for limit in found.limits}
    assert limits["qos_normal_user"].amounts == {"jobs": 2}
    assert limits["qos_normal_user"].users == sw.Scope(("all",), each=True)
    assert limits["qos_short_group"].amounts == {"slots": 16, "mem": 4096}
    physics = limits["assoc_physics_group"]
    assert physics.amounts == {"slots": 12}
    assert physics.projects is not None
    assert {name.partition("/")[0] for name in physics.projects.names} == {"physics", "atoms"}
    own = limits["assoc_atoms/ann_jobs"]
    assert (own.amounts, own.users) == ({"jobs": 3}, sw.Scope(("ann",)))
    budget = next(item for item in found.omissions if "GrpTRESRunMins" in item.what)
    of_long = {job.id for job in found.pending if job.project.endswith("/long")}
    assert set(budget.jobs or ()) >= of_long
    assert of_long


def test_limits_by_the_association_manager() -> None:
    manager = (
        "Current Association Manager state\n\nAssociation Records\n\n"
        "ClusterName=live Account=physics UserName= Partition= Priority=0 ID=2\n"
        "    ParentAccount=root(1) Lft=2 DefAssoc=No\n    GrpJobs=N(0) GrpWall=N(0.00)\n"
        "    GrpTRES=cpu=12(3),mem=N(0),node=N(0)\n    MaxJobs= MaxWallPJ=\n\n"
        "QOS Records\n\nQOS=short(2)\n    GrpJobs=5(1) GrpWall=N(0.00)\n"
        "    GrpTRES=cpu=16(8),mem=N(0)\n    MaxTRESPU=\n    User Limits\n      root\n"
        "        MaxJobsPU=9(1)\n"
    )
    texts = _with_accounts(texts_of("live"))
    found = instance_of({**texts, "assoc_mgr.txt": manager})
    amounts = {limit.name: limit.amounts for limit in found.limits}
    assert amounts == {
        "assoc_physics_group": {"slots": 12}, "qos_short_group": {"slots": 16, "jobs": 5}
    }  # fmt: skip


def test_jobs_behind_one_in_unlike_partitions_are_not_proved() -> None:
    """512 may start in its other partition, before the jobs there that are behind it."""
    texts = texts_of("live")
    for name, nodes in (("one", "n[1-2]"), ("two", "n[3-6]"), ("apart", "n6")):
        rule = "MaxCPUsPerNode=3" if name == "two" else ""
        texts["partition.txt"] += f"\nPartitionName={name} Nodes={nodes} {rule}\n"
    listed = json.loads(texts["squeue.json"])
    for job in listed["jobs"]:
        if job["job_state"] == "PENDING":
            job["partition"] = {512: "two,one", 523: "apart"}.get(job["job_id"], "one")
            job["partition"] = "one" if job["job_id"] == 515 else job["partition"]
            job["priority"] = 4294967000 if job["job_id"] == 515 else job["priority"]
    texts["squeue.json"] = json.dumps(listed)
    found = instance_of(texts)
    touched = named(found, BEHIND.what)
    assert {"516", "518", "524"} <= touched
    assert not {"512", "515"} & touched  # itself alone; ahead of it
    plan = sw.plan(found)
    assert not [item.job for item in plan if item.job in touched and item.proved]
    assert plan["515"].proved
    alone = replace_partition(texts, "two,one", "two")
    assert BEHIND.what not in {item.what for item in instance_of(alone).omissions}


def several(one: str, two: str, **facts: str) -> dict[str, str]:
    """The live cluster with two partitions of these nodes, in both of which 512 waits.

    facts: of the second, where it is unlike the first.
    """
    texts = texts_of("live")
    more = " ".join(f"{name}={value}" for name, value in facts.items())
    texts["partition.txt"] += f"\nPartitionName=one Nodes={one} MaxTime=UNLIMITED\n"
    texts["partition.txt"] += f"\nPartitionName=two Nodes={two} MaxTime=UNLIMITED {more}\n"
    listed = json.loads(texts["squeue.json"])
    for job in listed["jobs"]:
        if job["job_id"] == 512:
            job["partition"] = "one,two"
    texts["squeue.json"] = json.dumps(listed)
    return texts


@pytest.mark.parametrize(
    ("nodes", "method"),
    pairwise(
        [("n[1-3]", "n[4-6]"), ("n[4-6]", "n[1-3]"), ("n[1-3]", "n[1-6]")],
        ["optimal", "slurm", "milp", "time-based"],
    ),
)
def test_a_job_starts_in_the_partition_where_it_can_first(
    nodes: tuple[str, str], method: str
) -> None:
    """The start is the earlier one of the two partitions, on nodes of one of them."""
    texts = several(*nodes)
    found = instance_of(texts)
    assert next(job for job in found.pending if job.id == "512").queue == "one/two"
    assert not [item for item in found.omissions if "512" in (item.jobs or ())]
    alone = [
        sw.plan(instance_of(replace_partition(texts, "one,two", name)), method)["512"]
        for name in ("one", "two")
    ]
    plan = sw.plan(found, method)
    item = plan["512"]
    assert not plan.refused
    assert item.start == min(other.start for other in alone if other.start is not None)
    inside = [set(values.host_list(part)) for part in nodes]
    assert any(set(item.allocation) <= part for part in inside)
    assert item.proved == (method in ("optimal", "milp"))


@pytest.mark.parametrize(
    "facts",
    [{"PriorityTier": "5"}, {"OverSubscribe": "EXCLUSIVE"}, {"MaxCPUsPerNode": "2"},
     {"DefMemPerCPU": "50"}, {"DefaultTime": "10"}, {"AllowAccounts": "physics"}],
)  # fmt: skip
def test_partitions_that_differ_in_a_rule_are_named(facts: dict[str, str]) -> None:
    found = instance_of(several("n[1-3]", "n[4-6]", **facts))
    own = [item.what for item in found.omissions if "512" in (item.jobs or ())]
    assert "its other partitions: planned in one of one,two" in own
    assert not sw.plan(found)["512"].proved


@pytest.mark.parametrize(
    "nodes", [("n[4-6]", "n[1-3]"), ("n[1-3]", "n[4-6]"), ("n[1-4]", "n[3-6]")]
)
def test_method_slurm_examines_a_job_in_unlike_partitions(nodes: tuple[str, str]) -> None:
    found = instance_of(several(*nodes, PriorityTier="5"))
    plan = sw.plan(found, "slurm")
    assert not plan.refused, plan.notes
    item = plan["512"]
    inside = [set(values.host_list(part)) for part in nodes]
    assert any(set(item.allocation) <= part for part in inside)
    mixed = {next(iter(part - other)): 3 for part, other in (inside, inside[::-1])}
    wrong = replace(item, allocation={**mixed, "n3": 3})
    others = [other if other.job != "512" else wrong for other in plan]
    faults = sw.validate(found, replace(plan, reservations=tuple(others)))
    assert any("are of none of one, two alone" in fault.message for fault in faults)


def test_a_licence_without_a_number_is_refused() -> None:
    texts = {**texts_of("live"), "licenses.txt": "LicenseName=m\n    Total=UNLIMITED Used=0\n"}
    with pytest.raises(InputError, match="Total: must be a limited amount"):
        assembled(texts)


def replace_partition(texts: dict[str, str], old: str, new: str) -> dict[str, str]:
    return {**texts, "squeue.json": texts["squeue.json"].replace(old, new)}


TOPOLOGY = (
    "# two leaves\nSwitchName=s1 Level=0 LinkSpeed=1 Nodes=n[1-3]\n"
    "SwitchName=n4 Nodes=n[4-6],gone\nSwitchName=top Level=1 Nodes=n[1-6] Switches=s1,n4\n"
)


@pytest.mark.parametrize(("plugin", "named"), [("tree", True), ("none", False), ("flat", False)])
def test_nodes_by_switches_are_named_in_a_plan_as_slurm(plugin: str, named: bool) -> None:
    texts = texts_of("live")
    texts["config.txt"] = texts["config.txt"].replace("topology/none", f"topology/{plugin}")
    notes = sw.plan(instance_of(texts), "slurm").notes
    assert any("TopologyPlugin=topology/tree" in note for note in notes) == named


#: topology.yaml with a tree that the cluster has, and two others for partitions.
NETWORKS = """---
- topology: blocks
  block: {block_sizes: [2, 4], blocks: [{block: b1, nodes: "n[1-4]"}]}
- topology: tree  # that of the cluster
  cluster_default: true
  tree:
    switches:
      - {switch: root, children: "s[1-2]"}
      - {switch: s1, nodes: "n[1-2]"}
      - {switch: s2, nodes: "n[3-6]"}
- topology: plain
  flat: true
"""


def test_topology_yaml_counts_before_topology_conf() -> None:
    conf = "SwitchName=all Nodes=n[1-6]\n"
    found = instance_of({**texts_of("live"), "a.conf": conf, "topology.yaml": NETWORKS})
    assert {unit.name for unit in found.cluster.units} == {"s1", "s2"}
    alone = instance_of({**texts_of("live"), "a.conf": conf})
    assert [unit.name for unit in alone.cluster.units] == ["all"]


@pytest.mark.parametrize(
    ("plugin", "more", "named"),
    [
        ("topology/none", {}, False), ("topology/block", {}, True), ("topology/tree", {}, False),
        ("topology/none", {"topology.conf": "BlockName=b1 Nodes=n[1-4]\n"}, False),
        ("", {"topology.conf": "BlockName=b1 Nodes=n[1-4]\n"}, True),
    ],
)  # fmt: skip
def test_blocks_are_named_if_the_plugin_has_them(
    plugin: str, more: Mapping[str, str], named: bool
) -> None:
    texts = texts_of("live")
    texts["config.txt"] = re.sub(r"topology/none", plugin, texts["config.txt"])
    found = instance_of({**texts, **more})
    told = [item for item in found.omissions if item.what.startswith("network topology block")]
    assert bool(told) == named


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("- topology: a\n  tree:\n    switches: 3\n", "not a tree of named switches"),
        ("- topology: a\n  tree: {switches: [{nodes: n1}]}\n", "not a tree of named switches"),
        ("- topology: a\n- 3\n", "the key topology"),
        ("- topology: [a\n", "not YAML"),
        ("- topology: a\n  tree: {switches: [{switch: s, nodes: 'n[1-'}]}\n", "n[1-"),
    ],
)
def test_what_is_wrong_in_topology_yaml(text: str, wrong: str) -> None:
    with pytest.raises(InputError) as error:
        instance_of({**texts_of("live"), "topology.yaml": text})
    assert wrong in str(error.value)
    assert "topology.yaml" in str(error.value)


def test_layers_of_a_hierarchical_licence_are_one_pool_and_named() -> None:
    """Not only the last of its records counts, and no proof of a job hangs on them."""
    texts = texts_of("probes")
    texts["licenses.txt"] = "".join(
        f"LicenseName=power Total={total} Used=0 Free={total} Reserved=0 Remote=no\n"
        f"    Nodes={nodes} Mode={mode}\n"
        for total, nodes, mode in ((24, "n[1-4]", 2), (12, "n[1-2]", 2))
    )
    found = instance_of(texts)
    assert [(item.name, item.amount) for item in found.cluster.shared] == [("lic_power", 36.0)]
    (told,) = [item for item in found.omissions if "hierarchical" in item.what]
    assert told.resources == ("lic_power",)
    assert "24 on n[1-4], 12 on n[1-2]" in told.what


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_layer_without_a_limit_has_enough(form: str) -> None:
    """As a live 26.05.3 printed ``count: -1``: the JSON was refused."""
    texts, totals = texts_of("probes"), {"n[1-2]": 4294967295, "n[1-4]": 3}
    del texts["licenses.txt"]
    records = [{"LicenseName": "flat", "Total": n, "Nodes": name} for name, n in totals.items()]
    lines = (f"LicenseName=flat\n    Total={n} Used=0\n    Nodes={name} Mode=2\n"
             for name, n in totals.items())  # fmt: skip
    texts["lic"] = json.dumps({"licenses": records}) if form == "json" else "".join(lines)
    found = instance_of(texts)
    assert [item.amount >= 4294967295 for item in found.cluster.shared] == [True]
    assert any("(unlimited on n[1-2], 3 on n[1-4])" in item.what for item in found.omissions)


def test_arrays_count_from_zero_and_gpus_have_types() -> None:
    texts = texts_of("live")
    texts.pop("sinfo.json")
    texts["node.txt"] = texts["node.txt"].replace("Gres=(null)", "Gres=gpu:a100:4(S:0-1),shard:8")
    listed = json.loads(texts["squeue.json"])
    job = next(item for item in listed["jobs"] if item["job_id"] == 524)
    job |= {"array_job_id": 524, "array_task_string": "0-3%2", "memory_per_node": 10}
    job |= {"tres_per_node": "gres/gpu:a100:2,shard:1"}
    texts["squeue.json"] = json.dumps(listed)
    found = instance_of(texts)
    jobs = [job for job in found.pending if job.array_id == "524"]
    assert [job.id for job in jobs] == [f"524[{n}]" for n in range(4)]
    assert jobs[0].gpu == "num=2/host:gmodel=a100"
    assert "gres_shard=5/host" in jobs[0].res_req[0]
    assert found.cluster.hosts[0].gpus == sw.Gpus(4, "a100")
    assert from_document(to_document(found)) == found


@pytest.mark.parametrize(
    ("text", "tasks", "limit", "is_cut"),
    [
        ("1,3,5,7...", [1, 3, 5], None, True),
        ("1,3,5,7...%2", [1, 3, 5], 2, True),
        ("1-3,5...%10", [1, 2, 3], 10, True),
        ("1,3,5%2", [1, 3, 5], 2, False),
    ],
)
def test_a_truncated_list_of_tasks(
    text: str, tasks: list[int], limit: int | None, is_cut: bool
) -> None:
    """Slurm writes the limit of an array behind the sign of what it has cut."""
    texts = texts_of("live")
    listed = json.loads(texts["squeue.json"])
    job = next(item for item in listed["jobs"] if item["job_id"] == 524)
    job |= {"array_job_id": 524, "array_task_string": text}
    made = assembled({**texts, "squeue.json": json.dumps(listed)})
    found = [job for job in made.instance.pending if job.array_id == "524"]
    assert [(job.array_index, job.array_limit) for job in found] == [(n, limit) for n in tasks]
    assert any("Slurm has truncated the list" in note for note in made.notes) == is_cut


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("squeue.json", '{"jobs": [', "is not JSON"),
        (
            "squeue.json",
            '{"jobs": [{"job_id": "x", "job_state": "PENDING"}]}',
            "must be a number such as 4 or UNLIMITED, not 'x'",
        ),
        ("topology.txt", "SwitchName=a Nodes=n[1-", "line 1: "),
        ("partition.txt", "PartitionName=p Nodes=n[1- MaxTime=3", "not a list of nodes"),
    ],
)
def test_bad_input_has_a_place(file: str, content: str, message: str, tmp_path: Path) -> None:
    for name, text in {**texts_of("live"), file: content}.items():
        (tmp_path / name).write_text(text)
    code, said = run("import", "slurm", "--from", tmp_path)
    assert code == 2
    assert message in said
    assert file in said


def test_partitions_that_only_nodes_name_have_a_default() -> None:
    """Slurm 22.05 prints no partitions as JSON; squeue and sinfo alone make an instance."""
    texts = texts_of("live")
    for forms in (["squeue.json", "sinfo.json"], ["squeue.json", "node.txt"]):
        found = instance_of({name: texts[name] for name in forms} | {"sdiag": texts["sdiag.txt"]})
        assert [queue.name for queue in found.queues] == ["main"]
        assert found.params.default_queue == "main"


def test_a_folder_without_nodes_is_refused(tmp_path: Path) -> None:
    (tmp_path / "squeue.json").write_text(texts_of("live")["squeue.json"])
    code, said = run("import", "slurm", "--from", tmp_path)
    assert code == 2
    assert "scontrol show node" in said


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("squeue.json", "", "no input lists the jobs"),
        ("squeue.json", '{"meta": {}}', "no input lists the jobs"),
        ("squeue.json", "slurm_load_jobs error: Unable to contact slurm controller (connect "
         "failure)", "contains an error of Slurm and no listing"),
        ("node.txt", "scontrol: error: resolve_ctls_from_dns_srv", "contains an error of Slurm"),
        ("squeue.json", '{"jobs": [], "errors": [{"description": "Unable to connect"}]}',
         "contains an error of Slurm and no listing: 'Unable to connect'"),
        ("squeue.json", "  JOBID PARTITION     NAME     USER ST TIME  NODES NODELIST(REASON)\n"
         "      1      main     wrap     root  R 0:13      1 n2\n", "is a table of squeue"),
        ("config.txt", "Configuration data as of 2026-11-26T23:01:49\nMaxArraySize = many\n",
         "MaxArraySize: must be a number such as 4 or UNLIMITED, not 'many'"),
        ("squeue.json", '{"jobs": [{"job_id": 1, "job_state": "RUNNING", "time_limit": {"set": '
         'true, "infinite": false, "number": "ten"}}]}',
         "time_limit: must be a number such as 4 or UNLIMITED, not 'ten'"),
        ("squeue.json", '{"jobs": [{"job_id": 1, "job_state": "RUNNING", "job_resources": '
         '{"nodes": "n1", "allocated_nodes": 7}}]}', "job_resources: "),
        ("squeue.json", '{"jobs": [{"job_id": 1, "job_state": "PENDING", "partition": "a b"}]}',
         "partition: 'a b' is not a name"),
    ],
)  # fmt: skip
def test_each_fault_is_one_message_with_its_field(name: str, content: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        assembled(texts_of("live") | {name: content})
    assert message in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def test_no_jobs_and_dates_of_another_locale() -> None:
    texts = texts_of("live") | {"squeue.json": "No jobs in the system\n"}
    assert instance_of(texts).running == ()
    for printed in ("Do 26. Nov 23:01:49 CET 2026", "11/26/26 11:01:49 PM", "Nov 26 23:01:49"):
        diagnosis = Text(f"sdiag output at {printed} (1795730509)\n", "sdiag.txt")
        job = Text("JobId=7 JobState=PENDING SubmitTime=2026-11-26T23:01:49", "jobs.txt")
        seen = read_texts([diagnosis, job], "test")
        assert (seen.now, seen.jobs[0].submit) == (1795730509, 1795730509)


def preempting(kind: str, mode: str = "REQUEUE", **qos: str) -> dict[str, str]:
    """The live cluster with a partition of a higher tier on n1 to n3, in which 512 waits.

    qos: of jobs, by id, as ``of_505="low"``.
    """
    texts = texts_of("live")
    texts["partition.txt"] = texts["partition.txt"].replace(
        "PreemptMode=OFF", f"PreemptMode={mode}"
    )
    texts["partition.txt"] += "\nPartitionName=high Nodes=n[1-3] PriorityTier=9 PreemptMode=OFF\n"
    texts["config.txt"] += f"\nPreemptType = preempt/{kind}\nPreemptMode = {mode}\n"
    listed = json.loads(texts["squeue.json"])
    for job in listed["jobs"]:
        job["partition"] = "high" if job["job_id"] == 512 else job["partition"]
        job["qos"] = qos.get(f"of_{job['job_id']}", "normal")
    texts["squeue.json"] = json.dumps(listed)
    return texts


def preempted(texts: dict[str, str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for item in instance_of(texts).omissions:
        for job in item.jobs or () if item.what.startswith("preemption: ") else ():
            found.setdefault(job, []).append(item.what)
    return found


def test_preemption_by_qos_needs_a_running_job_of_the_lower_one() -> None:
    table = "Name|Priority|GrpTRES|Preempt\nlow|0||\nnormal|0||\nurgent|9||low\n"
    texts = {**preempting("qos", of_505="low", of_513="urgent"), "qos.txt": table}
    found = preempted(texts)
    assert found["513"] == ["preemption: 505 may be preempted for it (REQUEUE)"]
    assert found["512"] == ["preemption: 505 may be preempted for another job (REQUEUE)"]
    assert preempted({**preempting("qos", of_513="urgent"), "qos.txt": table}) == {}


@pytest.mark.parametrize(
    ("switches", "wait", "named"),
    [
        (1, {"set": False, "infinite": True, "number": 0}, False),
        (1, {"set": True, "infinite": False, "number": 600}, True),
        (1, 0, True),
        (0, 0, False),
    ],
)
def test_switches_of_a_job_are_compute_units(switches: int, wait: object, *, named: bool) -> None:
    """512 needs three nodes: of one leaf switch, n1 to n3 or n4 to n6."""
    texts = {**texts_of("live"), "topology.txt": TOPOLOGY}
    listed = json.loads(texts["squeue.json"])
    for job in listed["jobs"]:
        if job["job_id"] == 512:
            job |= {"required_switches": switches, "maximum_switch_wait_time": wait}
    texts["squeue.json"] = json.dumps(listed)
    found = instance_of(texts)
    job = next(job for job in found.pending if job.id == "512")
    assert ("cu[type=leaf:maxcus=1]" in job.res_req[0]) == bool(switches)
    told = [item.what for item in found.omissions if "--switches" in item.what]
    assert bool(told) == named
    item = sw.plan(found)["512"]
    leaves = ({"n1", "n2", "n3"}, {"n4", "n5", "n6"})
    assert any(set(item.allocation) <= leaf for leaf in leaves) == bool(switches)
    assert item.proved == (not named)


@pytest.mark.parametrize(
    ("version", "memory", "is_named"),
    [("22.05.8", "memory_per_node", True), ("22.05.8", "memory_per_cpu", False),
     ("22.05.6", "memory_per_node", False), ("23.02.4", "memory_per_node", True),
     ("23.02.5", "memory_per_node", False)],
)  # fmt: skip
def test_tasks_that_a_version_does_not_keep_whole_are_named(
    version: str, memory: str, is_named: bool
) -> None:
    texts = texts_of("live")
    listed = json.loads(texts["squeue.json"])
    row = next(job for job in listed["jobs"] if job["job_id"] == 515)
    row.update(
        tasks=3, cpus=6, node_count=1, max_nodes=0, tasks_per_node=0, minimum_cpus_per_node=2,
        memory_per_node=None, memory_per_cpu=None, tres_req_str="cpu=6,node=1",
    )  # fmt: skip
    row[memory] = 10
    listed["meta"] = {"slurm": {"release": version}}
    texts["squeue.json"] = json.dumps(listed)
    texts["sinfo.json"] = texts["sinfo.json"].replace("22.05.8", version)
    texts["config.txt"] = texts["config.txt"].replace("22.05.8", version)
    found = instance_of(texts)
    assert "span[block=2]" in jobs_of(found)["515"].res_req[0]
    named = [item.what for item in found.omissions if item.jobs and "515" in item.jobs]
    assert any("whole tasks of 2 CPUs" in text for text in named) == is_named


def test_a_feature_that_no_node_has_any_more() -> None:
    """A pending job of which the administrator has changed the nodes: it cannot start, by name."""
    texts = texts_of("probes")
    listed = json.loads(texts["squeue.json"])
    next(job for job in listed["jobs"] if job["job_id"] == 10)["features"] = "a&big"
    texts["squeue.json"] = json.dumps(listed)
    del texts["jobs.txt"]
    found = instance_of(texts)
    reason = next(item.reason for item in sw.plan(found, "greedy").unplaced if item.job == "10")
    assert "big holds on 0 of 4 hosts" in reason


def named(found: Instance, text: str) -> set[str]:
    return {job for item in found.omissions if text in item.what for job in item.jobs or ()}


def het_texts() -> dict[str, str]:
    live = texts_of("live")
    return {name: live[name] for name in ("config.txt", "partition.txt")} | texts_of("het")


def test_a_live_heterogeneous_job() -> None:
    """Slurm plans each component by itself; neither they nor the jobs behind are proved."""
    found = instance_of(het_texts())
    assert {run.job.id for run in found.running} == {"1", "2", "3", "4", "5", "6", "10", "11"}
    assert named(found, "the components of heterogeneous job 7") == {"7", "8"}
    assert named(found, BEHIND_HET.what) == {"9"}
    of_slurm = {item.job: item.start for item in found.lsf_says}
    assert {item.job: item.start for item in sw.plan(found, "slurm")} == of_slurm
    best = sw.plan(found)
    assert not best.refused
    assert not any(item.proved or item.proved_if for item in best)
