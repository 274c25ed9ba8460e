"""GPUs of a cluster's moment: of hosts, of running jobs, of waiting ones (GPU-01, CFG-04)."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime

import pytest
from printed_listings import snapshot
from slotwise import Gpus, Instance
from slotwise.solver.planning import plan

NOW = datetime(2026, 11, 24, 11, 1, tzinfo=UTC)
HOSTS = """HOST_NAME          STATUS          JL/U    MAX  NJOBS    RUN  SSUSP  USUSP    RSV
q01                ok              -      48      8      8      0      0      0
q02                ok              -      48      0      0      0      0      0
"""
GPUS = """HOST_NAME          GPU_ID                MODEL   MUSED     MRSV NJOBS   RUN  SUSP   RSV
q01                     0  TeslaV100_PCIE_32GB   14.5G       0M     1     1     0     0
                        1  TeslaV100_PCIE_32GB   24.5G       0M     1     1     0     0
q02                     0             TeslaK80    273M       0M     0     0     0     0
"""
#: What bjobs -l prints of a job with GPUs, the host cut short as there.
BLOCK = """ EXTERNAL MESSAGES:
 MSG_ID FROM       POST_TIME      MESSAGE                             ATTACHMENT
 0      test       Oct  1 11:14   kilenc:gpus=0,1;                        N

 RESOURCE REQUIREMENT DETAILS:
 Combined: select[(ngpus>0) && (type == local)] order[gpu_maxfactor] rusage[ngp
                     us_physical=2.00]

 GPU REQUIREMENT DETAILS:
 Combined: num=2:mode=exclusive_process:mps=no:j_exclusive=yes:gvendor=nvidia:gm
                     em=2G
 Effective: num=2:mode=exclusive_process:mps=no:j_exclusive=yes

"""
TABLE = """ GPU_ALLOCATION:
 HOST             TASK GPU_ID  MODEL        MTOTAL  FACTOR MRSV    SOCKET NVLINK/XGMI
 nodes-1.example  0    0       RadeonInstin 31.9G   0.0    0M      0      -
                  1    1       RadeonInstin 31.9G   0.0    0M      0      -
 nodes-2.example  0    0       RadeonInstin 31.9G   0.0    0M      0      -
"""


def record(id: str, status: str, **more: str) -> dict[str, str]:
    plain = {"JOBID": id, "STAT": status, "USER": "a", "QUEUE": "gpu", "NREQ_SLOT": "1"}
    times = {"SUBMIT_TIME": "Nov 24 10:00", "RUNTIMELIMIT": "120.0", "RUN_TIME": "3600 second(s)"}
    asks = {"JOB_PRIORITY": "", "SPECIFIED_START_TIME": "", "ASK_HOSTS": "", "DEPENDENCY": ""}
    return {**plain, **times, **asks, "COMBINED_RESREQ": "", **more}


def running(id: str, host: str = "q01", slots: int = 8, **more: str) -> dict[str, str]:
    where = {"EXEC_HOST": f"{slots}*{host}", "NALLOC_SLOT": str(slots)}
    return record(id, "RUN", START_TIME="Nov 24 10:01", **where, **more)


def instance(*jobs: dict[str, str], hosts: tuple[str, ...] = (HOSTS,)) -> Instance:
    text = json.dumps({"COMMAND": "bjobs", "JOBS": len(jobs), "RECORDS": jobs})
    return snapshot(NOW, bjobs=text, bhosts=hosts)


def gpus(found: Instance) -> dict[str, Gpus | None]:
    return {host.name: host.gpus for host in found.cluster.hosts}


@pytest.mark.behaviour("GPU-01", "GPU-03", "CFG-04")
def test_hosts_have_the_gpus_that_running_jobs_hold() -> None:
    waits = record("22", "PEND", GPU_NUM="4", RUNTIMELIMIT="60.0")
    held = running("21", GPU_NUM="4", GPU_MODE="shared", GPU_ALLOC="q01:0,1,2,3")
    found = instance(held, waits)
    assert gpus(found) == {"q01": Gpus(4), "q02": None}
    planned = plan(found, "optimal", effort=20)["22"]
    assert planned.start == 3600  # when 21 reaches its limit
    assert not planned.proved
    assert any("no input gives the GPUs of hosts" in item.what for item in found.omissions)


@pytest.mark.behaviour("GPU-01", "GPU-03", "CFG-04")
def test_gpus_in_use_that_no_job_has_are_held_by_the_last_to_end() -> None:
    both = running("21", slots=4), running("20", slots=4, RUNTIMELIMIT="600.0")
    waits = record("22", "PEND", GPU_NUM="2", RUNTIMELIMIT="60.0")
    found = instance(*both, waits, hosts=(HOSTS, GPUS))
    assert {run.job.id: run.job.gpu for run in found.running} == {"20": "num=2/host", "21": ""}
    named = [item for item in found.omissions if "no running job has them" in item.what]
    assert [item.jobs for item in named] == [("22",)]
    # Nobody runs there: these GPUs are not there for others.
    alone = instance(waits, hosts=(HOSTS, GPUS))
    assert gpus(alone)["q01"] == Gpus(1, "TeslaV100_PCIE_32GB")


@pytest.mark.behaviour("GPU-01", "CFG-04")
def test_the_long_form_of_bjobs_tells_gpus() -> None:
    """Also in a listing of which no line is wrapped: the rows of a table stand as far in."""
    text = "Job <7>, User <a>, Project <p>, Status <RUN>, Queue <gpu>, Command <x>\n"
    text += "Tue Nov 24 10:00:00: Submitted from host <q01>, CWD </>, {0} Task(s);\n"
    text += "Tue Nov 24 10:01:00: Started {0} Task(s) on Host(s) {1};\n\n{2}"

    def gpu(slots: int, where: str, block: str) -> str:
        names = re.findall(r"[a-z]+[-\w.]*", where)
        rows = [f"{name} ok - 48 0 0 0 0 0" for name in names]
        each = [f"{name} {number} V100 1G 0M 0 0 0 0" for name in names for number in range(4)]
        heads = ((HOSTS, rows), (GPUS, each))
        hosts = ["\n".join([head.split("\n")[0], *lines]) for head, lines in heads]
        found = snapshot(NOW, bjobs=text.format(slots, where, block), bhosts=hosts)
        return found.running[0].job.gpu

    asked = "mode=exclusive_process:mps=no:j_exclusive=yes:gvendor=nvidia:gmem=2G"
    assert gpu(1, "<kilenc>", BLOCK) == f"num=2:{asked}"
    counted = BLOCK[: BLOCK.index(" RESOURCE")] + BLOCK[BLOCK.index(" GPU REQ") :]
    assert gpu(1, "<kilenc>", counted) == f"num=2/host:{asked}"
    assert gpu(3, "<2*nodes-1.example> <1*nodes-2.example>", TABLE) == "num=2/host"
