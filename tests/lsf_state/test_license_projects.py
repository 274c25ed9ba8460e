"""Licence projects (bsub -Lp) of jobs, and limits by them, in every form that has them."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
import slotwise as sw
from printed_listings import snapshot

SECTION = "Begin Limit\nNAME = lp\nPER_LIC_PROJECT = all ~free\nJOBS = 1\nEnd Limit\n"
JOBS = """
Job <7>, User <ann>, Project <default>, License Project <a>, Status <PEND>, Queue <normal>
Fri Nov 27 00:31:00: Submitted from host <hostA>, CWD </>, 2 Processors Requested;
"""


HOSTS = """HOST_NAME          STATUS       JL/U    MAX  NJOBS    RUN  SSUSP  USUSP    RSV
hostA              ok              -      4      0      0      0      0      0
"""
NOW = datetime(2026, 11, 27, 0, 34, tzinfo=UTC)


def made(*limits: str, bjobs: str = JOBS) -> sw.Instance:
    """The instance of one host, of jobs and of these limits."""
    return snapshot(NOW, bjobs=bjobs, bhosts=HOSTS, blimits=limits)


@pytest.mark.parametrize("column", [{}, {"LICENSE_PROJECT": ""}, {"LICENSE_PROJECT": "a"}])
def test_jobs_without_a_column_of_it_may_be_under_any_limit_of_it(column: dict[str, str]) -> None:
    record = {"JOBID": "7", "STAT": "PEND", "USER": "ann", "QUEUE": "normal", "NREQ_SLOT": "1"}
    text = json.dumps({"COMMAND": "bjobs", "JOBS": 1, "RECORDS": [record | column]})
    found = made(SECTION, bjobs=text)
    assert found.pending[0].license_project == column.get("LICENSE_PROJECT", "")
    named = [item for item in found.omissions if "licence projects" in item.what]
    assert len(named) == (not column)
    assert not [item for item in made(bjobs=text).omissions if "licence projects" in item.what]


def test_a_service_class_attaches_by_it() -> None:
    """A job without -Lp may have a default project of License Scheduler: it is named."""
    text = """
format: slotwise/1
hosts: [{name: A, slots: 4}]
queues: [{name: q}]
service_classes: [{name: sc, ACCESS_CONTROL: "LIC_PROJECTS[lp]", AUTO_ATTACH: Y}]
guaranteed_pools: [{name: p1, TYPE: slots, HOSTS: all, DISTRIBUTION: "([sc, 3])"}]
pending:
  - {id: first, bsub: "-q q -W 60 -n 2 -Lp other"}
  - {id: owner, bsub: "-q q -W 60 -n 3 -Lp lp"}
  - {id: unsaid, bsub: "-q q -W 60 -n 1"}
"""
    found = sw.plan(sw.loads(text), "time-based")
    assert found["owner"].start == 0
    assert [item.job for item in found.unplaced] == ["first"]
    assert not any("bug" in note for note in found.notes)
    assert [item.jobs for item in found.omissions if "licence" in item.what] == [("unsaid",)]
