"""Clauses and columns of bjobs: read in either sentence, and named if no reader knows them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from slotwise.model.bsub_options import QUIET_VALUES
from slotwise.model.sources.lsf_state.bjobs import SeenJob, read_bjobs
from slotwise.model.sources.lsf_state.values import PrintedTimes, Text

NOW = datetime(2026, 3, 16, 10, tzinfo=UTC)
HEAD = "Job <7>, User <ann>, Project <p>, Status <PEND>, Queue <q>{}, Command <x, Queue <z>>\n"
SUBMITTED = "Mon Mar 16 09:20:00 2026: Submitted from host <login>, CWD <$HOME>{};\n"


def _job(head: str, submitted: str, more: str = "") -> SeenJob:
    text = HEAD.format(head) + SUBMITTED.format(submitted) + more
    (job,) = read_bjobs(Text(text, "x"), PrintedTimes(NOW))
    return job


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
