"""Clauses and columns of bjobs: read in either sentence, and named if no reader knows them."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from slotwise import Instance
from slotwise.cli.import_snapshot import Printed, make_instance
from slotwise.model.bsub_options import QUIET_VALUES
from slotwise.model.sources.lsf_state.bjobs import SeenJob, read_bjobs
from slotwise.model.sources.lsf_state.values import PrintedTimes, Text

NOW = datetime(2026, 3, 16, 10, tzinfo=UTC)
HEAD = "Job <7>, User <ann>, Project <p>, Status <PEND>, Queue <q>{}, Command <x, Queue <z>>\n"
SUBMITTED = "Mon Mar 16 09:20:00 2026: Submitted from host <login>, CWD <$HOME>{};\n"
HOSTS = "HOST_NAME STATUS JL/U MAX NJOBS RUN SSUSP USUSP RSV\nn1 ok - 4 0 0 0 0 0\n"
QUEUES = (
    "QUEUE: q\n\nPRIO NICE STATUS MAX JL/U JL/P JL/H NJOBS PEND RUN SSUSP USUSP RSV\n"
    "30 0 Open:Active - - - - 1 1 0 0 0 0\nUSERS: all\nHOSTS: all\n"
)
RECORD = {
    **{"JOBID": "7", "STAT": "PEND", "USER": "ann", "QUEUE": "q", "NREQ_SLOT": "1"},
    **{"COMBINED_RESREQ": "", "RUNTIMELIMIT": "30.0", "SUBMIT_TIME": "Mar 16 09:20"},
    **{"JOB_PRIORITY": "", "SPECIFIED_START_TIME": "", "ASK_HOSTS": "", "DEPENDENCY": ""},
}


def _job(head: str, submitted: str, more: str = "") -> SeenJob:
    text = HEAD.format(head) + SUBMITTED.format(submitted) + more
    (job,) = read_bjobs(Text(text, "x"), PrintedTimes(NOW))
    return job


def _json(**more: str) -> str:
    return json.dumps({"COMMAND": "bjobs", "JOBS": 1, "RECORDS": [RECORD | more]})


def _instance(jobs: str) -> Instance:
    return make_instance(
        Printed([Text(jobs, "j")], [Text(HOSTS, "h")], [Text(QUEUES, "q")]), NOW, NOW, None
    )


CLAUSES = {
    "Job Group </a/b>": ("job_group", "/a/b"),
    "Reservation <ann#0>": ("reservation", "ann#0"),
    "Service Class <sc1>": ("service_class", "sc1"),
    "License Project <lp>": ("license_project", "lp"),
    "User Group <g>": ("group", "g"),
    "Application <app>": ("application", "app"),
    "Requested GPU <num=2>": ("gpu", "num=2"),
    "Requested Resources <span[ptile=2] rusage[mem=1, tmp=2]>": (
        "res_req",
        "span[ptile=2] rusage[mem=1, tmp=2]",
    ),
    "Specified Hosts <n1>, <n2!>": ("hosts", "n1 n2!"),
    "Exclusive Execution": ("exclusive", True),
    "Autoresizable": ("resizable", True),
    "Dependency Condition <done(5)>": ("dependency", "done(5)"),
    "Specified Start Time <Mon Mar 16 11:00:00 2026>": (
        "begin",
        int(datetime(2026, 3, 16, 11, tzinfo=UTC).timestamp()),
    ),
    "4-8 Task(s)": ("max_slots", 8),
}


@pytest.mark.behaviour("CFG-04")
@pytest.mark.parametrize("clause", CLAUSES)
@pytest.mark.parametrize("sentence", ["head", "submitted"])
def test_a_clause_is_read_in_either_sentence(clause: str, sentence: str) -> None:
    where = {"head": "", "submitted": ""} | {sentence: f", {clause}"}
    field, value = CLAUSES[clause]
    job = _job(**where)
    assert getattr(job, field) == value
    plain = _job("", "")
    assert plain.queue == "q"
    assert replace(job, **{field: getattr(plain, field)}, slots=1) == plain  # and nothing else


@pytest.mark.behaviour("CFG-04")
def test_words_in_names_are_no_clauses() -> None:
    job = _job(", Job Name <Exclusive Execution of autoresizable>", ", Output File <a, b>")
    assert (job.exclusive, job.resizable, job.unread) == (False, False, ())


@pytest.mark.behaviour("CFG-04")
@pytest.mark.parametrize(
    ("sentence", "told"),
    [
        (", Host file </tmp/h>", "Host file"),
        (", Network <gold>", "Network"),
        (", Core isolation <2>, Allocation flags <smt4>, Resizable, Migration Threshold <3>", ""),
    ],
)
def test_clauses_are_told_as_the_options_of_ask_are(sentence: str, told: str) -> None:
    assert ("-hostfile" in QUIET_VALUES, "-core_isolation" in QUIET_VALUES) == (False, True)
    assert _job("", sentence).unread == (() if not told else (told,))


@pytest.mark.behaviour("CFG-04")
@pytest.mark.parametrize(
    "line",
    [
        "Mon Mar 16 09:30:00 2026: Job has been forwarded to cluster <c2> as Job <9>;\n",
        "Mon Mar 16 09:30:00 2026: Forwarded job to cluster c2;\n",
    ],
)
def test_a_forwarded_job_waits_elsewhere(line: str) -> None:
    assert _job("", "", line).unread == ("forwarded to cluster",)
    (job,) = read_bjobs(Text(_json(FORWARD_CLUSTER="c2"), "x"), PrintedTimes(NOW))
    assert job.unread == ("FORWARD_CLUSTER",)


@pytest.mark.behaviour("CFG-04")
@pytest.mark.parametrize(
    ("columns", "told"),
    [
        ({"HOST_FILE": "/tmp/h"}, ("HOST_FILE",)),
        ({"NEW_COLUMN": "x", "MEM": "3 Gbytes", "PIDS": "1 2"}, ("NEW_COLUMN",)),
        ({"NEW_COLUMN": "-", "NETWORK_REQ": "", "HOST_FILE": "N"}, ()),
        ({"ALLOC_FLAGS": "smt4", "RESIZE_NOTIFICATION_COMMAND": "x", "MEMLIMIT": "4G"}, ()),
    ],
)
def test_columns_that_no_reader_uses_are_told(columns: dict[str, str], told: object) -> None:
    (job,) = read_bjobs(Text(_json(**columns), "x"), PrintedTimes(NOW))
    assert job.unread == told


@pytest.mark.behaviour("CFG-04")
def test_columns_by_their_own_names() -> None:
    (job,) = read_bjobs(Text(_json(LICPROJECT="lp", CPULIMIT="10.0"), "x"), PrintedTimes(NOW))
    assert (job.license_project, job.cpu_limit) == ("lp", 600)


@pytest.mark.behaviour("CFG-04")
def test_an_ineligible_job_that_would_start_now_is_a_contradiction() -> None:
    (told,) = (i for i in _instance(_json(PENDSTATE="IPEND")).omissions if "IPEND" in i.what)
    assert told.jobs == ("7",)
    assert not any("IPEND" in i.what for i in _instance(_json(PENDSTATE="EPEND")).omissions)


@pytest.mark.behaviour("CFG-04")
@pytest.mark.parametrize(
    ("submitted", "started", "told"),
    [
        ("09:20:00", "09:30:00", False),
        ("09:20:00", "10:01:00", False),
        ("11:20:00", "11:30:00", True),
        ("09:20:00", "10:30:00", True),
    ],
)
def test_times_after_now_are_told(submitted: str, started: str, told: bool) -> None:
    text = HEAD.format("").replace("PEND", "RUN") + SUBMITTED.format("")
    text += f"Mon Mar 16 {started} 2026: Started 1 Task(s) on Host(s) <1*n1>;\n"
    found = _instance(text.replace("09:20:00", submitted)).omissions
    assert any("after now (job 7)" in item.what and item.jobs is None for item in found) == told


def test_no_reader_names_a_column_that_is_silent() -> None:
    from slotwise.model.sources.lsf_state.printed_facts import (
        JOBS,
        JSON,
        SILENT_COLUMNS,
        is_told,
    )

    names = {name for fact in JOBS for name in fact.cells.get(JSON, ())}
    assert names & SILENT_COLUMNS <= {"NREQ_SLOT", "SLOTS"}
    assert is_told("DATA_REQUIREMENT")
    assert not is_told("JOBID")
