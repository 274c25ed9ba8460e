"""Listings of scontrol show job without -d: CPUs by node, and fields with several numbers."""

from __future__ import annotations

from pathlib import Path

import pytest
from slotwise import InputError, Instance
from slotwise.model.sources.slurm.assemble import shared_out
from slotwise.model.sources.slurm.folder import read_folder
from slotwise.model.sources.slurm.seen import SlurmNode

from tests.slurm.test_import import instance_of, texts_of

pytestmark = pytest.mark.behaviour("SLU-01")


def _one_line(number: int, state: str, **fields: str) -> str:
    """One line of scontrol show job -o, without the CPUs by node that only -d prints."""
    usual = {
        "Priority": "1", "Partition": "main", "UserId": "a(1)", "JobState": state,
        "SubmitTime": "2026-11-26T23:50:00", "EligibleTime": "2026-11-26T23:50:00",
        "StartTime": "2026-11-26T23:53:00" if state == "RUNNING" else "Unknown",
        "TimeLimit": "00:30:00", "NumNodes": "1", "NumCPUs": "2", "NumTasks": "1",
        "MinMemoryNode": "10M", "OverSubscribe": "OK",
    }  # fmt: skip
    return f"JobId={number} " + " ".join(f"{k}={v}" for k, v in (usual | fields).items())


def _probes_with(*jobs: str) -> Instance:
    texts = texts_of("probes") | {"jobs.txt": "\n".join(jobs)}
    texts.pop("squeue.json")
    return instance_of(texts)


def _tres(cpus: int) -> dict[str, str]:
    return {"NumCPUs": str(cpus), "NumTasks": str(cpus), "TRES": f"cpu={cpus},mem=20M,node=1"}


def test_cpus_by_node_are_what_the_nodes_have_in_use() -> None:
    """Four jobs of the recording; all nodes are full, so an even share does not fit."""
    found = _probes_with(
        _one_line(8, "RUNNING", NodeList="n[2,4]", **_tres(6) | {"NumNodes": "2"}),
        *(_one_line(number, "RUNNING", NodeList=f"n{number}", **_tres(4)) for number in (2, 4)),
        _one_line(16, "RUNNING", NodeList="n4", **_tres(2)),
    )
    held = {item.job.id: dict(item.allocation) for item in found.running}
    assert held == {"8": {"n2": 4, "n4": 2}, "2": {"n2": 4}, "4": {"n4": 4}, "16": {"n4": 2}}
    assert any("job 8 by node" in item.what for item in found.omissions)
    assert not any("how many CPUs" in item.what and "n2" in item.what for item in found.omissions)


def test_cpus_by_node_fit_on_nodes_whose_use_is_not_known() -> None:
    nodes = {name: SlurmNode(name, ("IDLE",), cpus) for name, cpus in (("a", 16), ("b", 4))}
    listed = {"1": {"a": 0, "b": 0}, "2": {"a": 0, "b": 0}, "3": {"b": 2}}
    found = shared_out(listed, {"1": 10, "2": 6, "3": 2}, nodes, 1)
    assert {job: sum(held.values()) for job, held in found.items()} == {"1": 10, "2": 6, "3": 2}
    assert all(min(held.values()) >= 1 for held in found.values())
    for name, node in nodes.items():
        assert sum(held.get(name, 0) for held in found.values()) <= node.cpus
    whole_cores = shared_out({"1": {"a": 0, "b": 0}}, {"1": 10}, nodes, 2)["1"]
    assert [count % 2 for count in whole_cores.values()] == [0, 0]


@pytest.mark.parametrize(
    ("fields", "slots", "named"),
    [
        ({"ReqB:S:C:T": "0:0:*:*"}, 4, ""),
        ({"ReqB:S:C:T": "0:0:*:1"}, 8, ""),  # --threads-per-core=1: whole cores
        ({"ReqB:S:C:T": "0:0:2:*"}, 4, "cores per socket (2)"),
        ({"ReqB:S:C:T": "0:2:*:*"}, 4, "sockets per board (2)"),
        ({"NtasksPerN:B:S:C": "0:0:*:*"}, 4, ""),
        ({"NtasksPerN:B:S:C": "0:0:2:*"}, 4, "tasks per socket (2)"),
        ({"NtasksPerN:B:S:C": "0:0:*:1"}, 4, "tasks per core (1)"),
        ({"NtasksPerN:B:S:C": "4:0:*:*"}, 4, ""),
    ],
)  # fmt: skip
def test_the_parts_of_a_text_field_are_fields(
    fields: dict[str, str], slots: int, named: str
) -> None:
    found = _probes_with(_one_line(20, "PENDING", NodeList="", **_tres(4), **fields))
    (job,) = found.pending
    assert job.slots == slots
    told = {item.what for item in found.omissions if item.jobs == ("20",)}
    assert told == ({named} if named else set())


def test_a_folder_with_tables_for_people_alone_is_told_what_to_give(tmp_path: Path) -> None:
    (tmp_path / "squeue.txt").write_text(
        "  JOBID PARTITION     NAME     USER ST TIME  NODES NODELIST(REASON)\n"
        "      1      main     wrap     root  R 0:13      1 n2\n"
    )
    with pytest.raises(InputError, match="is a table of squeue"):
        read_folder(tmp_path)
