"""Views field by field against the samples that the documents print (000, 001, 004).

Left out is what an instance has not: commands, directories, process ids, NICE.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from slotwise.cli.main import app
from typer.testing import CliRunner


def shown(folder: Path, text: str, *arguments: str) -> str:
    file = folder / "site.yaml"
    file.write_text("format: slotwise/1\n" + text)
    view, *rest = arguments
    result = CliRunner().invoke(app, ["show", view, str(file), *rest])
    assert result.exit_code == 0, result.output
    return result.stdout


def fields(text: str) -> list[str]:
    return text.split()


INDICES = ["r15s", "r1m", "r15m", "ut", "pg", "io", "ls", "it", "tmp", "swp", "mem"]
#: The sites of the documents have two load indices of their own.
OWN = """resources:
- {name: cpuspeed, dynamic: Y}
- {name: bandwidth, dynamic: Y}
"""
LOAD = [
    *("SCHEDULING", "PARAMETERS", *INDICES, "loadSched", *"-" * 11, "loadStop", *"-" * 11),
    *("cpuspeed", "bandwidth", "loadSched", "-", "-", "loadStop", "-", "-"),
]


@pytest.mark.behaviour("VEW-03", "FSH-09")
@pytest.mark.parametrize("queue", ["normal", "short"])
def test_bqueues_l_of_a_cross_queue_set(tmp_path: Path, queue: str) -> None:
    """001: both queues show the same shares; normal's run window is closed."""
    text = OWN + (
        "now: 2026-01-05T00:00:00Z\n"
        "params: {DEFAULT_QUEUE: normal}\n"
        "hosts: [{name: a, slots: 4}]\n"
        "queues:\n"
        "- {name: normal, PRIORITY: 30, DESCRIPTION: This is the default queue.,\n"
        "   RUN_WINDOW: '5:00-6:00', FAIRSHARE: 'USER_SHARES[[user1, 100] [default, 1]]',\n"
        "   FAIRSHARE_QUEUES: short license}\n"
        "- {name: short, PRIORITY: 40, UJOB_LIMIT: 4, PJOB_LIMIT: 2}\n"
        "- {name: license, PRIORITY: 50, QJOB_LIMIT: 10, UJOB_LIMIT: 1, PJOB_LIMIT: 1}\n"
        "running: [{id: r, user: user1, queue: short, start: -7034s, run_limit: 5h, slots: 2,\n"
        "  cpu_time: 0.2, allocation: 2*a}]\n"
        "pending: [{id: p, user: user1, run_limit: 1h}]\n"
    )
    rows = {
        "normal": "30 0 Open:Inact_Win - - - - 1 1 0 0 0 0",
        "short": "40 0 Open:Active - 4 2 - 2 0 2 0 0 0",
    }
    heads = {"normal": "QUEUE: normal -- This is the default queue.", "short": "QUEUE: short"}
    windows = {"normal": "RUN_WINDOW: 5:00-6:00", "short": ""}
    assert fields(shown(tmp_path, text, "bqueues", "-l", queue)) == [
        *fields(heads[queue] + " PARAMETERS/STATISTICS"),
        *fields("PRIO NICE STATUS MAX JL/U JL/P JL/H NJOBS PEND RUN SSUSP USUSP RSV"),
        *fields(rows[queue]),
        *LOAD,
        *fields("SCHEDULING POLICIES: FAIRSHARE FAIRSHARE_QUEUES: normal short license"),
        *fields(f"USER_SHARES: [user1, 100] [default, 1] SHARE_INFO_FOR: {queue}/"),
        *fields("USER/GROUP SHARES PRIORITY STARTED RESERVED CPU_TIME RUN_TIME ADJUST"),
        *fields("user1 100 9.645 2 0 0.2 7034 0.000"),
        *fields(windows[queue]),
        *fields("USERS: all users HOSTS: all"),
    ]
    table = shown(tmp_path, text, "bqueues", "license").splitlines()
    assert fields(table[1]) == fields("license 50 Open:Active 10 1 1 - 0 0 0 0")


def test_bqueues_l_has_all_of_a_queue(tmp_path: Path) -> None:
    text = (
        "params: {DEFAULT_QUEUE: q}\n"
        "hosts: [{name: a, slots: 4, mem: 100}, {name: b, slots: 4}]\n"
        "queues:\n"
        "- {name: q, USERS: ann, HOSTS: a, DISPATCH_WINDOW: '5:00-6:00', CPULIMIT: 30,\n"
        "   RES_REQ: 'rusage[mem=40]', RESRSV_LIMIT: '[mem=30,100]', PREEMPTION: PREEMPTIVE}\n"
        "- {name: low, PREEMPTION: 'PREEMPTABLE[q]', HOSTS: b}\n"
    )
    found = shown(tmp_path, text, "bqueues", "-l")
    for line in (
        "DISPATCH_WINDOW:  5:00-6:00",
        "RESRSV_LIMIT:  [mem=30,100]",
        "PREEMPTION:  PREEMPTIVE",
        "PREEMPTION:  PREEMPTABLE[q]",
        "RES_REQ:  rusage[mem=40]",
        "USERS: ann",
    ):
        assert f"{line}\n" in found
    assert "CPULIMIT\n 30 min\n" in found
    by_host = shown(tmp_path, text, "bqueues", "-m", "b").splitlines()
    assert [line.split()[0] for line in by_host] == ["QUEUE_NAME", "low"]


@pytest.mark.behaviour("VEW-01")
def test_bjobs_and_bhist_l_of_a_finished_job(tmp_path: Path) -> None:
    """004: bsub -R "type==any" -q normal myjob, from hostA, on hostB."""
    text = (
        "now: 2002-05-10T17:21:26Z\n"
        "params: {DEFAULT_QUEUE: normal, MBD_SLEEP_TIME: 5}\n"
        "hosts: [{name: hostA, slots: 1}, {name: hostB, slots: 1}]\n"
        "queues: [{name: normal}]\n"
        "running:\n"
        "- {id: a, start: 0, run_limit: 1h, allocation: 1*hostA}\n"
        "- {id: b, start: -10, finish: 5, allocation: 1*hostB}\n"
        "pending: [{id: '2533', user: user1, from_host: hostA, res_req: type==any,\n"
        "  run_time: 16, run_limit: 1h, cpu_time: 0.3}]\n"
    )
    history = shown(tmp_path, text, "bhist", "-l", "2533", "--at", "60").splitlines()
    assert history == [
        "Job <2533>, User <user1>, Project <default>",
        "Fri May 10 17:21:26: Submitted from host <hostA>, to Queue <normal>, "
        "Requested Resources <type==any>;",
        " RUNLIMIT",
        " 60.0 min",
        "Fri May 10 17:21:26: Pending: Job slot limit reached: hostA, hostB;",
        "Fri May 10 17:21:31: Dispatched to <hostB>;",
        "Fri May 10 17:21:47: Done successfully. The CPU time used is 0.3 seconds;",
        "",
        "Summary of time in seconds spent in various states by  Fri May 10 17:21:47",
        "PEND  PSUSP  RUN  USUSP  SSUSP  UNKWN  TOTAL",
        "5     0      16   0      0      0      21",
    ]
    job = shown(tmp_path, text, "bjobs", "-l", "-a", "2533", "--at", "60").splitlines()
    assert job[0] == ("Job <2533>, User <user1>, Project <default>, Status <DONE>, Queue <normal>")
    assert job[-2:] == [
        "Fri May 10 17:21:31: Started on <hostB>;",
        "Fri May 10 17:21:47: Done successfully. The CPU time used is 0.3 seconds.",
    ]


@pytest.mark.behaviour("VEW-05")
def test_bresources_and_bugroup(tmp_path: Path) -> None:
    text = (
        "hosts: [{name: a, slots: 1}]\n"
        "shared_resources:\n"
        "- {name: licenseX, amount: 1}\n- {name: licenseY, amount: 1}\n"
        "- {name: licenseZ, amount: 1}\n"
        "reservation_usage: {licenseX: PER_JOB, licenseY: PER_HOST, licenseZ: PER_SLOT}\n"
        "user_groups:\n"
        "- {name: group2, members: user1 user2 user3, USER_SHARES: '[others,10] [user3,4]'}\n"
        "- {name: group3, members: all, USER_SHARES: '[user2,10] [default,5]'}\n"
        "- {name: group1, members: group2 group3, USER_SHARES: '[group2,20] [group3,10]'}\n"
    )
    assert fields(shown(tmp_path, text, "bresources", "-s")) == fields(
        "Begin ReservationUsage RESOURCE METHOD licenseX PER_JOB licenseY PER_HOST "
        "licenseZ PER_SLOT End ReservationUsage"
    )
    assert "licenseX" not in shown(tmp_path, text, "bresources", "-s", "licenseZ")
    assert fields(shown(tmp_path, text, "bugroup", "-l", "group1")) == fields(
        "GROUP_NAME: group1 USERS: group2/ group3/ SHARES: [group2,20] [group3,10]"
    )
