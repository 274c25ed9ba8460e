"""Ends of running jobs: one answer for plan and loop, from each form that says or limits them."""

from __future__ import annotations

import json
from typing import Any

import pytest
import slotwise as sw
from slotwise.model.formats import dump_json

from tests.slurm.test_import import instance_of

pytestmark = pytest.mark.behaviour("TBR-03")


def _slurm(running: str, time: str = "DefaultTime=01:00:00 MaxTime=UNLIMITED") -> dict[str, str]:
    usual = "Partition=p UserId=a(1) NumNodes=1-1 NumCPUs=8 NumTasks=8 TRES=cpu=8,node=1"
    times = "SubmitTime=2026-03-02T08:00:00 EligibleTime=2026-03-02T08:00:00"
    return {
        "nodes.txt": "NodeName=h1 CPUTot=8 RealMemory=900 State=ALLOCATED CPUAlloc=8\n",
        "part.txt": f"PartitionName=p Default=YES {time} Nodes=h1 State=UP PriorityTier=1\n",
        "config.txt": "Configuration data as of 2026-03-02T10:00:00\n"
        "SelectType = select/cons_tres\nSelectTypeParameters = CR_CORE\n",
        "sdiag.txt": "sdiag output at Mon Mar 02 10:00:00 2026 (1772445600)\n",
        "jobs.txt": f"JobId=1 JobState=RUNNING Priority=9 {usual} {times} {running} NodeList=h1\n"
        f"JobId=2 JobState=PENDING Priority=8 {usual} {times} TimeLimit=01:00:00\n",
    }


def _json(time_limit: Any) -> dict[str, str]:
    """The cluster with its jobs as squeue --json prints them."""
    job = {
        "partition": "p", "user_name": "a", "node_count": 1, "cpus": 8, "tasks": 8,
        "submit_time": 1772438400, "eligible_time": 1772438400, "priority": 9,
        "tres_req_str": "cpu=8,node=1",
    }  # fmt: skip
    runs = {
        "job_id": 1, "job_state": "RUNNING", "nodes": "h1", "start_time": 1772440200,
        "time_limit": time_limit, "job_resources": {"nodes": "h1", "allocated_nodes": [
            {"nodename": "h1", "sockets": {"0": {"cores": dict.fromkeys("01234567", "allocated")}}}
        ]},
    }  # fmt: skip
    waits = {"job_id": 2, "job_state": "PENDING", "time_limit": 60}
    texts = _slurm("")
    del texts["jobs.txt"]
    return texts | {"jobs.json": json.dumps({"jobs": [job | runs, job | waits]})}


BEGUN = "StartTime=2026-03-02T08:30:00 EndTime=Unknown TimeLimit="


@pytest.mark.behaviour("GAT-02")
@pytest.mark.parametrize(
    ("texts", "possible"),
    [
        (_slurm(f"{BEGUN}UNLIMITED"), None),
        (_json(None), None),
        (_json({"set": False, "infinite": True, "number": 0}), None),
        (_json({"set": True, "infinite": True, "number": 0}), None),
        (_json({"set": False, "infinite": False, "number": 0}), 1),
        (_slurm(f"{BEGUN}Partition_Limit"), 1),
        (_slurm(f"{BEGUN}02:00:00"), 1800),
    ],
    ids=["UNLIMITED", "null", "infinite", "set and infinite", "not set", "partition", "2h"],
)  # fmt: skip
def test_no_run_limit_is_not_the_default_of_the_partition(
    texts: dict[str, str], possible: int | None
) -> None:
    """The default of one hour has passed for half an hour: no limit must not end the job now."""
    found = instance_of(texts)
    again = sw.loads(sw.dump(found))
    assert again == found == sw.loads(dump_json(found))
    row = sw.outlook(again)["2"]
    assert (row.as_configured, row.possible) == (possible, possible)
    assert row.state == ("unknown end" if possible is None else "starts")
