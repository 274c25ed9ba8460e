"""Ends of running jobs: one answer for plan and loop, from each form that says or limits them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import slotwise as sw
from sampling import pairwise
from slotwise.cli.main import app
from slotwise.model.formats import dump_json
from typer.testing import CliRunner

from tests.slurm.test_import import instance_of

pytestmark = pytest.mark.behaviour("TBR-03")
RUNS = {
    "JOBID": "1", "STAT": "RUN", "USER": "zoe", "QUEUE": "normal", "NREQ_SLOT": "8",
    "ALLOC_SLOT": "8*h1", "SUBMIT_TIME": "Mar  2 09:00", "START_TIME": "Mar  2 09:30",
    "RUNTIMELIMIT": "60.0", "COMBINED_RESREQ": "", "JOB_PRIORITY": "50", "ASK_HOSTS": "",
    "SPECIFIED_START_TIME": "", "DEPENDENCY": "",
}  # fmt: skip
WAITS = RUNS | {
    "JOBID": "2", "STAT": "PEND", "ALLOC_SLOT": "", "START_TIME": "", "RUNTIMELIMIT": "60.0"
}  # fmt: skip
LONG = """
Job <1>, User <zoe>, Project <default>, Status <RUN>, Queue <normal>, Command <x>
Mon Mar  2 09:00:00: Submitted from host <h1>, CWD </x>, 8 Task(s);

 RUNLIMIT
 60.0 min of h1
Mon Mar  2 09:30:00: Started 8 Task(s) on Host(s) <8*h1>, Allocated 8 Slot(s) on Host(s) <8*h1>;
Mon Mar  2 09:35:00: Suspended by user or administrator;
Mon Mar  2 09:55:00: Running;

------------------------------------------------------------------------------

Job <2>, User <ann>, Project <default>, Status <PEND>, Queue <normal>, Command <y>
Mon Mar  2 09:01:00: Submitted from host <h1>, CWD </x>, 8 Task(s);
"""


def _lsf(folder: Path, listing: str, site: str = "") -> sw.Instance:
    files = {
        "bjobs": listing,
        "bhosts": "HOST_NAME STATUS JL/U MAX NJOBS RUN SSUSP USUSP RSV\nh1 ok - 8 8 8 0 0 0\n",
        "site": f"format: slotwise/1\nhosts: [{{name: h1, slots: 8}}]\n"
        f"queues: [{{name: normal{site}}}]\n",
    }  # fmt: skip
    words = ["import", "snapshot", "--now", "2026-03-02T10:00:00Z", "-o", str(folder / "o.yaml")]
    for name, text in files.items():
        file = folder / (f"{name}.yaml" if name == "site" else name)
        file.write_text(text)
        words += [f"--{name}", str(file)]
    done = CliRunner().invoke(app, words, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return sw.load(folder / "o.yaml")


def _columns(**cells: str) -> str:
    return json.dumps({"COMMAND": "bjobs", "JOBS": 2, "RECORDS": [RUNS | cells, WAITS]})


def _slurm(running: str, time: str = "DefaultTime=01:00:00 MaxTime=UNLIMITED") -> dict[str, str]:
    usual = "Partition=p UserId=a(1) NumNodes=1-1 NumCPUs=8 NumTasks=8 TRES=cpu=8,node=1"
    times = "SubmitTime=2026-03-02T08:00:00 EligibleTime=2026-03-02T08:00:00"
    return {
        "nodes.txt": "NodeName=h1 CPUTot=8 ThreadsPerCore=1 RealMemory=900 State=ALLOCATED "
        "CPUAlloc=8\n",
        "part.txt": f"PartitionName=p Default=YES {time} Nodes=h1 State=UP PriorityTier=1\n",
        "config.txt": "Configuration data as of 2026-03-02T10:00:00\n"
        "SelectType = select/cons_tres\nSelectTypeParameters = CR_CORE\n",
        "sdiag.txt": "sdiag output at Mon Mar 02 10:00:00 2026 (1772445600)\n",
        "jobs.txt": f"JobId=1 JobState=RUNNING Priority=9 {usual} {times} {running} NodeList=h1\n"
        f"JobId=2 JobState=PENDING Priority=8 {usual} {times} TimeLimit=01:00:00\n",
    }


DOCUMENT = """
format: slotwise/1
hosts: [{name: h1, slots: 8}]
queues: [{name: q, BACKFILL: Y, RUNLIMIT: 60}]
running: [{id: 1, queue: q, start: -30m, finish: 50m, allocation: 8*h1}]
pending: [{id: 2, queue: q, slots: 8}]
"""
RESUMED: dict[str, Callable[[Path], sw.Instance]] = {
    "FINISH_TIME": lambda at: _lsf(at, _columns(FINISH_TIME="Mar  2 10:50 L")),
    "TIME_LEFT": lambda at: _lsf(at, _columns(TIME_LEFT="0:50 L")),
    "FINISH_TIME by estimate": lambda at: _lsf(at, _columns(FINISH_TIME="Mar  2 10:50 E")),
    "RUN_TIME": lambda at: _lsf(at, _columns(RUN_TIME="600 second(s)")),
    "RUN_TIME under RUNLIMIT of the queue": lambda at: _lsf(
        at, _columns(RUN_TIME="600 second(s)", RUNTIMELIMIT=""), ", RUNLIMIT: 60"
    ),
    "bjobs -l": lambda at: _lsf(at, LONG),
    "EndTime": lambda at: instance_of(
        _slurm("TimeLimit=01:00:00 StartTime=2026-03-02T09:30:00 EndTime=2026-03-02T10:50:00")
    ),
    "document": lambda at: sw.loads(DOCUMENT),
}


@pytest.mark.parametrize("form", RESUMED)
def test_a_suspension_moves_the_end(form: str, tmp_path: Path) -> None:
    """The job has run for 10 minutes of its hour although it started half an hour ago."""
    row = sw.outlook(RESUMED[form](tmp_path))["2"]
    assert (row.as_configured, row.possible, row.proved) == (3000, 3000, True)


OVERDUE: dict[str, Callable[[Path], sw.Instance]] = {
    "FINISH_TIME": lambda at: _lsf(at, _columns(FINISH_TIME="Mar  2 09:50 L")),
    "RUNTIMELIMIT": lambda at: _lsf(at, _columns(RUNTIMELIMIT="20.0")),
    "UNKWN": lambda at: _lsf(at, _columns(STAT="UNKWN")),
    "RUNLIMIT of the queue": lambda at: _lsf(at, _columns(RUNTIMELIMIT=""), ", RUNLIMIT: 20"),
    "COMPLETING": lambda at: instance_of(
        {name: text.replace("RUNNING", "COMPLETING") for name, text in _slurm(
            "TimeLimit=01:00:00 StartTime=2026-03-02T09:30:00 EndTime=2026-03-02T09:59:00"
        ).items()}
    ),
    "EndTime": lambda at: instance_of(
        _slurm("TimeLimit=00:20:00 StartTime=2026-03-02T09:30:00 EndTime=2026-03-02T09:50:00")
    ),
}  # fmt: skip


@pytest.mark.behaviour("GAT-02")
@pytest.mark.parametrize("form", OVERDUE)
def test_no_start_behind_a_job_that_should_have_ended_is_proved(form: str, tmp_path: Path) -> None:
    """Its end was taken to be in one second, or at a limit beyond the end that is printed."""
    row = sw.outlook(OVERDUE[form](tmp_path))["2"]
    assert not row.proved
    assert [item for item in row.cautions if re.search("should have finished|UNKWN", item.what)]


def test_a_run_time_beyond_the_time_since_the_start_takes_the_proof(tmp_path: Path) -> None:
    """The end by start and run limit was proved, although the listing contradicts itself."""
    row = sw.outlook(_lsf(tmp_path, _columns(RUN_TIME="9000 second(s)", FINISH_TIME="")))["2"]
    assert not row.proved
    assert [item for item in row.cautions if "run time is longer" in item.what]


@pytest.mark.parametrize("form", ["never suspended", "seconds of two clocks"])
def test_without_a_suspension_the_run_limit_counts_from_the_start(
    form: str, tmp_path: Path
) -> None:
    ran = {"never suspended": "1800 second(s)", "seconds of two clocks": "1745 second(s)"}[form]
    found = _lsf(tmp_path, _columns(RUN_TIME=ran, FINISH_TIME=""))
    assert (found.running[0].finish, sw.outlook(found)["2"].possible) == (None, 1800)


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
        (_json({"set": False, "infinite": False, "number": 0}), None),
        (_slurm(f"{BEGUN}Partition_Limit"), None),
        (_slurm(f"{BEGUN}(null)"), None),
        (_slurm(BEGUN.removesuffix("TimeLimit=")), None),
        (_slurm(BEGUN.removesuffix("TimeLimit=").replace("Unknown", "2026-03-02T10:20:00")), 1200),
        (_slurm(f"{BEGUN}02:00:00"), 1800),
    ],
    ids=["UNLIMITED", "null", "infinite", "set and infinite", "not set", "partition", "empty",
         "no field", "end alone", "2h"],
)  # fmt: skip
def test_no_run_limit_is_not_the_default_of_the_partition(
    texts: dict[str, str], possible: int | None
) -> None:
    """The default of one hour has passed for half an hour: neither a job without a limit nor one
    whose limit no input has ends now.
    """
    found = instance_of(texts)
    again = sw.loads(sw.dump(found))
    assert again == found == sw.loads(dump_json(found))
    row = sw.outlook(again)["2"]
    assert (row.as_configured, row.possible) == (possible, possible)
    assert row.state == ("unknown end" if possible is None else "starts")


@pytest.mark.parametrize("limit", ["-t 0", "--time=UNLIMITED", "--time=infinite"])
def test_a_job_asked_about_without_a_limit_ends_never(limit: str) -> None:
    idle = _slurm(f"{BEGUN}02:00:00")
    asked = sw.ask(instance_of(idle), f"sbatch {limit} -n 8 --wrap x", method="optimal")
    assert (asked.line.answer.start, asked.line.answer.finish) == (5400, None)


@pytest.mark.parametrize("command", ["simulate", "outlook"])
def test_slurm_holds_nothing_for_a_job_behind_a_run_without_limit(command: str) -> None:
    """Its planned start is a year ahead, so that no reservation keeps the next job from running."""
    texts = _slurm(f"{BEGUN}UNLIMITED", "MaxTime=UNLIMITED")
    halved = texts["jobs.txt"].splitlines()[0].replace("=8", "=4")
    small = texts["jobs.txt"].splitlines()[1].replace("JobId=2", "JobId=3").replace("=8", "=4")
    small = small.replace("Priority=8", "Priority=1").replace("TimeLimit=01:00:00", "")
    found = instance_of(
        texts | {"jobs.txt": f"{halved}\n{texts['jobs.txt'].splitlines()[1]}\n{small}\n"}
    )
    if command == "outlook":
        rows = sw.outlook(found)
        assert [rows[job].as_configured for job in "23"] == [None, 0]
        assert rows["2"].state == "unknown end"
    else:
        starts = {job.job: job.start for job in sw.simulate(found, until=400 * 86400).jobs}
        assert (starts["2"], starts["3"]) == (None, 0)


SUSPENDED = """
format: slotwise/1
origin: '2026-03-02T17:00:00+00:00'
hosts: [{{name: h1, slots: {slots}}}]
queues: [{{name: q}}, {{name: w, RUN_WINDOW: {window}}}]
running: [{{id: 9, queue: w, start: -60m, {end}, allocation: 1*h1}}]
pending: [{{id: 1, queue: q, slots: 1, run_limit: 1h{after}}}]
"""


@pytest.mark.behaviour("TBR-19")
@pytest.mark.parametrize(
    ("of", "after", "end"),
    pairwise(
        [
            ('"8:00-18:00"', 16),
            ('"8:00-18:00", IGNORE_DEADLINE: Y', 16),
            ('"8:00-16:00"', 17),
            ('"18:30-18:45"', 7 * 24 + 1.75),
            ('"8:00-20:00"', 2),
        ],
        ["", ", dependency: done(9)", ", dependency: ended(9)"],
        ["run_limit: 3h", "finish: 2h", "run_limit: 3h, deadline: 3h"],
    ),
)
def test_a_run_window_suspends_a_running_job_in_plan_and_loop(
    of: tuple[str, float], after: str, end: str
) -> None:
    """The plan let the job run on at night; the loop did too where only a condition waits."""
    window, hours = of
    late = "deadline" in end and hours > 3
    text = SUSPENDED.format(window=window, end=end, after=after, slots=2 if after else 1)
    row = sw.outlook(sw.loads(text))["1"]
    if late and "done" in after:
        assert (row.state, row.possible, row.proved) == ("starts if", None, False)
    else:
        start = 3600 * (3 if late else hours)
        assert (row.as_configured, row.possible, row.proved) == (start, start, True)


KILLED = """
format: slotwise/1
hosts: [{{name: h1, slots: 2}}]
queues: [{{name: q, IGNORE_DEADLINE: Y}}]
advance_reservations: [{{name: R, users: bob, allocation: 2*h1, start: {begin}, end: {end}}}]
running: [{runs}]
pending: [{waits}{{id: 1, queue: q, run_limit: 1h, dependency: "{condition}"}}]
"""


@pytest.mark.behaviour("TBR-03")
@pytest.mark.parametrize("condition", ["done(9)", "ended(9)", "done(9) || ended(9)"])
@pytest.mark.parametrize(
    ("form", "begin"),
    [
        ("run_limit: 3h, deadline: 30m, start: -20m, allocation: 1*h1", "40h"),
        ("run_limit: 1h, start: -2h, allocation: 1*h1", "40h"),
        ("run_limit: 3h, reservation: R, start: -20m, allocation: 1*h1", "-30m"),
        ("deadline: 30m, suspended: true, start: -20m, allocation: 1*h1", "40h"),
        ("run_limit: 3h, deadline: 30m", "40h"),
        ("run_limit: 3h, reservation: R", "-30m"),
        ("run_limit: 3h, reservation: R", "10m"),
    ],
)
def test_a_job_that_is_killed_is_not_done(form: str, begin: str, condition: str) -> None:
    """Its dependent had a proved start at the instant at which the clock kills it."""
    job = f"{{id: 9, queue: q, user: bob, {form}}}"
    runs, waits = (job, "") if "allocation" in form else ("", f"{job}, ")
    end = "41h" if begin == "40h" else "30m"
    text = KILLED.format(begin=begin, end=end, runs=runs, waits=waits, condition=condition)
    row = sw.outlook(sw.loads(text))["1"]
    if condition == "done(9)":
        assert (row.state, row.as_configured, row.proved) == ("starts if", None, False)
        assert [item for item in row.possible_cautions if "they end" in item.what]
    else:
        assert row.as_configured == row.possible
        assert row.as_configured is not None
