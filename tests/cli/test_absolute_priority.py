"""Absolute priority as commands show it, and what they say would help (APS-01)."""

from __future__ import annotations

import json

import pytest
from slotwise.cli.main import app
from typer.testing import CliRunner

pytestmark = pytest.mark.behaviour("APS-01")

#: The listing of the manual: system first, then values, then queues without absolute priority.
SITE = """
format: slotwise/1
origin: 2026-02-12T01:00:00Z
hosts: [{name: hostA, slots: 1}]
params: {MAX_USER_PRIORITY: 100}
queues:
  - name: normal
    PRIORITY: 30
    APS_PRIORITY: "WEIGHT[[JPRIORITY, 1]] LIMIT[[WORK, 500]] GRACE_PERIOD[[WORK, 90m]]"
    QUEUE_GROUP: short
  - {name: short, PRIORITY: 20}
  - {name: owners, PRIORITY: 43}
running:
  - {id: 300, queue: owners, start: 0, run_limit: 1h, allocation: {hostA: 1}}
pending:
  - {id: 312, user: user1, queue: normal, priority: 99, name: myjob, submit: -2h, run_limit: 10m}
  - {id: 313, user: user1, queue: short, name: myjob, aps: system=10, run_limit: 10m}
  - {id: 314, user: user1, queue: normal, priority: 99, aps: admin=10, submit: -2h, run_limit: 10m}
  - {id: 321, user: user1, queue: owners, priority: 99, name: myjob, run_limit: 10m}
"""
#: Ten small jobs before a wide one, by a weight of the slots.
WIDE = """
format: slotwise/1
hosts: [{name: hostA, slots: 2}]
params: {MAX_USER_PRIORITY: 100}
queues: [{name: normal, PRIORITY: 30, APS_PRIORITY: "WEIGHT[[PROC, -50] [JPRIORITY, 1]]"}]
pending:
  - {id: 1, user: u, slots: 2, queue: normal, priority: 99, run_limit: 1h}
  - {id: 2, array: 1-10, user: v, queue: normal, run_limit: 2h}
"""


def shown(*words: str, site: str = SITE) -> str:
    done = CliRunner().invoke(app, list(words), input=site, env={"COLUMNS": "160"})
    assert done.exit_code == 0, done.output
    return done.stdout


def test_bjobs_aps_is_in_the_order_of_the_manual() -> None:
    lines = [line.split() for line in shown("show", "bjobs", "-aps", "-").splitlines()]
    assert lines[0] == [
        *("JOBID", "USER", "STAT", "QUEUE", "FROM_HOST", "EXEC_HOST", "JOB_NAME"),
        *("SUBMIT_TIME", "APS"),
    ]
    assert [(line[0], line[-1]) for line in lines[1:]] == [
        *(("313", "(10)"), ("314", "109.00"), ("312", "99.00"), ("321", "-")),
    ]
    records = json.loads(shown("show", "bjobs", "-aps", "-", "--format", "json"))
    assert [record["aps"] for record in records] == [None, 109, 99, None]
    assert records[1]["terms"] == {"JPRIORITY": 99, "ADMIN": 10}
    assert [record["system"] for record in records] == [10, None, None, None]


def test_long_forms_say_what_an_administrator_set_and_the_formula() -> None:
    assert "System Absolute Priority <10>" in shown("show", "bjobs", "-l", "-", "313")
    assert "Admin factor value <10>" in shown("show", "bjobs", "-l", "-", "314")
    text = shown("show", "bqueues", "-l", "-", "normal")
    assert "SCHEDULING POLICIES:  APS_PRIORITY" in text
    assert "QUEUE_GROUP:  normal short" in text
    lines = [line.split() for line in text.splitlines()]
    assert ["WORK", "1.00", "500.00", "90m"] in lines
    assert ["JOB", "PRIORITY", "1.00", "-", "-"] in lines


def test_explain_says_the_rank_and_what_stands_before() -> None:
    said = (
        "ranks 3 of 3 by absolute priority of queues normal, short: 99.00 (JPRIORITY 99), "
        "behind 314 with 109.00 (JPRIORITY 99, ADMIN 10)"
    )
    assert said in " ".join(shown("explain", "-", "312").split())
    record = json.loads(shown("explain", "-", "312", "--format", "json"))
    assert record["absolute"]["behind"] == "314"
    assert "absolute" not in json.loads(shown("explain", "-", "321", "--format", "json"))


def test_what_would_bring_it_forward_is_made_of_absolute_priority() -> None:
    record = json.loads(shown("explain", "-", "1", "--format", "json", site=WIDE))
    gains = {item["change"]: item["start"] for item in record["suggestions"]}
    assert gains["if it were first in the dispatch order"] == 0
    assert gains["with -n 1"] == 0  # -n 1 has 49, two slots have -1
    text = " ".join(shown("diagnose", "-", site=WIDE).split())
    assert "Cause: Job 1 ranks 11 of 11 by absolute priority of queue normal: -1.00" in text
    assert "bmod -aps system=1 1" in text
    variants = shown(
        *("whatif", "-", "--set", "queues.normal.APS_PRIORITY=WEIGHT[[JPRIORITY, 1]]"),
        *("--format", "json"),
        site=WIDE,
    )
    assert json.loads(variants)
