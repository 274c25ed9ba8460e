"""A limit that is 0, one without end and one that is not given are three values."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest
import slotwise as sw
from printed_listings import slurm_snapshot

pytestmark = pytest.mark.behaviour("GAT-03")
NOW = datetime(2026, 3, 2, 10, tzinfo=UTC)
TEXTS = {
    "sdiag": f"sdiag output at Mon Mar 02 10:00:00 2026 ({int(NOW.timestamp())})\n",
    "config": "Configuration data as of 2026-03-02T10:00:00\nPriorityType = priority/basic\n"
    "SelectType = select/cons_tres\nSelectTypeParameters = CR_CPU\nSLURM_VERSION = 23.11.4\n",
    "nodes": "NodeName=n1 CPUTot=16 CPUAlloc=8 CoresPerSocket=8 Sockets=1 ThreadsPerCore=2 "
    "RealMemory=64000 State=MIXED Partitions=cpu\n",
    "partitions": "PartitionName=cpu Default=YES MaxNodes=UNLIMITED MaxTime=UNLIMITED Nodes=n1 "
    "DefaultTime=NONE MaxCPUsPerNode=UNLIMITED RootOnly=NO OverTimeLimit=NONE State=UP\n"
    "PartitionName=void MaxTime=UNLIMITED Nodes=(null) State=UP\n",
    "jobs": "JobId=1 JobName=r UserId=zoe(9) Priority=1000 Account=lab QOS=normal "
    "JobState=RUNNING TimeLimit=00:29:50 StartTime=2026-03-02T09:30:00 "
    "EndTime=2026-03-02T09:59:50 Partition=cpu NodeList=n1 NumNodes=1 NumCPUs=8 NumTasks=8 "
    "Nodes=n1 CPU_IDs=0-7 Mem=0\n"
    "JobId=2 JobName=p UserId=ann(8) Priority=900 Account=lab QOS=normal JobState=PENDING "
    "Reason=Priority TimeLimit=01:00:00 Partition=cpu NumNodes=1-1 NumCPUs=8 NumTasks=8 "
    "Licenses=m:8\n",
    "licences": "LicenseName=m Total=8 Used=0 Free=8 Reserved=0 Remote=yes\n",
}


def changed(file: str, **fields: str) -> dict[str, str]:
    """The texts with these fields in the last record of a file but for the partition `void`."""
    lines = TEXTS[file].splitlines()
    last = 0 if file == "partitions" else -1
    words = dict(word.split("=", 1) for word in lines[last].split()) | fields
    lines[last] = " ".join(f"{name}={value}" for name, value in words.items())
    return {**TEXTS, file: "\n".join(lines) + "\n"}


def waits(texts: Mapping[str, str]) -> tuple[int | None, bool, str]:
    """The start of the pending job, whether it is proved, and its state."""
    found = sw.outlook(slurm_snapshot(NOW, texts), effort=5)["2"]
    return found.possible, found.proved, found.state


def test_the_listing_as_it_is() -> None:
    assert waits(TEXTS) == (0, True, "starts")


@pytest.mark.parametrize(
    ("file", "fields"),
    [
        ("partitions", {"MaxNodes": "0"}),
        ("partitions", {"MaxTime": "00:00:00"}),
        ("partitions", {"DefaultTime": "00:00:00"}),
        ("partitions", {"MaxCPUsPerNode": "0"}),
        ("partitions", {"MaxCPUsPerSocket": "0"}),
        ("partitions", {"RootOnly": "YES"}),
        ("jobs", {"Partition": "void"}),
        ("nodes", {"CoreSpecCount": "2", "CPUEfctv": "16"}),
        ("nodes", {"RestrictedCoresPerGPU": "2"}),
        ("licences", {"LastDeficit": "3"}),
    ],
)
def test_what_stands_in_a_listing_takes_the_proof(file: str, fields: dict[str, str]) -> None:
    """Each was taken as no limit, so that the job started at once, "proved"."""
    assert not waits(changed(file, **fields))[1]


@pytest.mark.parametrize(
    ("state", "starts", "accepts"),
    [("UP", True, True), ("DRAIN", True, False), ("DOWN", False, True), ("INACTIVE", False, False)],
)
def test_states_of_partitions(state: str, starts: bool, accepts: bool) -> None:
    """The jobs of a partition that is drained start, new ones are refused (scontrol(1))."""
    texts = changed("partitions", State=state)
    assert waits(texts) == ((0, True, "starts") if starts else (None, False, "starts if"))
    instance = slurm_snapshot(NOW, texts)
    try:
        refused = sw.ask(instance, "sbatch -p cpu -n 1 -t 10").line.refused
    except sw.InputError as error:
        refused = str(error)
    assert ("closed and accepts no new jobs" in refused) != accepts


@pytest.mark.parametrize("fields", [{"CoreSpecCount": "2"}, {"CPUSpecList": "0-1,2"}])
def test_cores_set_apart(fields: dict[str, str]) -> None:
    """CPUs were only read as set apart by their number, not by their list."""
    start, proved, _ = waits(changed("nodes", **fields))
    assert (start, proved) == (20, True)  # KillWait after the end of the job that runs


@pytest.mark.parametrize(
    ("file", "limit", "expected"),
    [
        ("config", "UNLIMITED", (None, False, "unknown end")),
        ("partitions", "UNLIMITED", (None, False, "unknown end")),
        ("partitions", "0", (20, True, "starts")),
        ("partitions", "5", (320, True, "starts")),
    ],
)
def test_a_job_past_its_end_runs_for_the_over_limit(
    file: str, limit: str, expected: tuple[Any, ...]
) -> None:
    """Without a limit it "ended" in 20 s."""
    texts = changed("jobs", NumCPUs="16", NumTasks="16")
    if file == "config":
        texts["config"] += f"OverTimeLimit = {limit}\n"
    else:
        texts |= {"partitions": changed("partitions", OverTimeLimit=limit)["partitions"]}
    assert waits(texts) == expected


@pytest.mark.parametrize("number", [{"set": True, "infinite": False, "number": 0}, 0])
@pytest.mark.parametrize("name", ["nodes", "time", "cpus_per_node"])
def test_zero_and_no_limit_in_json(name: str, number: Any) -> None:
    none = {"set": False, "infinite": True, "number": 0}
    for value, proved in ((number, False), (none, True), ({"set": False, "number": 0}, True)):
        partition = {"name": "cpu", "nodes": {"configured": "n1"}, "maximums": {name: value}}
        given = json.dumps({"partitions": [partition]})
        assert waits({**TEXTS, "partitions": given})[1] == proved


@pytest.mark.parametrize("words", ["-H", "--hold", "--priority=0"])
def test_a_priority_of_zero_holds_the_job(words: str) -> None:
    """sbatch(1): the job waits until it is released, as with --hold."""
    found = sw.ask(slurm_snapshot(NOW, TEXTS), f"sbatch -n 1 -t 10 {words}")
    assert [item.what for item in found.line.answer.omissions] == [
        "--hold: it starts once it is released"
    ]


def test_no_memory_is_without_limit() -> None:
    """The message was of rusage[], which nobody had written."""
    with pytest.raises(sw.InputError, match="--mem: must be a limited amount"):
        sw.ask(slurm_snapshot(NOW, TEXTS), "sbatch -n 1 -t 10 --mem=UNLIMITED")


@pytest.mark.parametrize(
    ("limit", "least", "proved"),
    [
        ("01:00:00", None, True),
        ("01:00:01", None, False),
        ("UNLIMITED", None, False),
        ("02:00:00", "00:30:00", True),
        ("Partition_Limit", None, True),
    ],
)
def test_a_job_above_the_time_of_its_partition_is_not_proved(
    limit: str, least: str | None, proved: bool
) -> None:
    """It "started now", though Slurm keeps it for PartitionTimeLimit."""
    job = {"TimeLimit": limit} | ({"TimeMin": least} if least else {})
    texts = changed("jobs", **job)
    texts |= {"partitions": changed("partitions", MaxTime="01:00:00")["partitions"]}
    above = [
        item.what
        for item in slurm_snapshot(NOW, texts).omissions
        if "exceeds that of its partition" in item.what
    ]
    assert bool(above) != proved
    assert proved or not waits(texts)[1]


@pytest.mark.parametrize(
    ("mark", "word"),
    [
        ("MIXED*", "MIXED+NOT_RESPONDING"),
        ("MIXED@", "MIXED+REBOOT_REQUESTED"),
        ("MIXED^", "MIXED+REBOOT_ISSUED"),
        ("MIXED$", "MIXED+MAINTENANCE"),
        ("MIXED!", "MIXED+POWER_DOWN"),
        ("MIXED%", "MIXED+POWERING_DOWN"),
        ("MIXED~", "MIXED+POWERED_DOWN"),
        ("MIXED#", "MIXED+POWERING_UP"),
        ("MIXED-", "MIXED+PLANNED"),
    ],
)
def test_a_state_is_one_in_both_its_forms(mark: str, word: str) -> None:
    assert waits(changed("nodes", State=mark)) == waits(changed("nodes", State=word))


def test_a_state_that_nothing_knows_takes_the_proof() -> None:
    assert not waits(changed("nodes", State="MIXED+OF_ANOTHER_VERSION"))[1]
