"""What jobs of a snapshot or a log still wait for (bsub -w)."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from slotwise.model.sources.lsf_state.assemble import Assembled, assemble
from slotwise.model.sources.lsf_state.bhosts import SeenHost
from slotwise.model.sources.lsf_state.bjobs import SeenJob
from slotwise.model.sources.lsf_state.seen import Seen
from slotwise.solver.planning import plan

pytestmark = [pytest.mark.behaviour("CFG-04"), pytest.mark.behaviour("DEP-01")]

NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)
ZERO = int(NOW.timestamp())


def job(id: str, **given: object) -> SeenJob:
    return SeenJob(id, slots=1, queue="q", run_limit=3600, **given)  # type: ignore[arg-type]


def runs(id: str, **given: object) -> SeenJob:
    return job(id, status="RUN", start=ZERO - 60, allocation={"h1": 1}, **given)


def seen(*jobs: SeenJob, gone: bool = False) -> Assembled:
    return assemble(Seen(list(jobs), hosts=[SeenHost("h1", slots=4)], gone=gone), NOW)


@pytest.mark.parametrize(
    ("condition", "listed", "log"),
    [
        ("done(1)", "done(1)", "done(1)"),
        ("done(9)", "done(9)", ""),
        ("done(9) && done(1)", "done(9) && done(1)", "done(1)"),
        ("done(9) || done(1)", "done(9) || done(1)", ""),
        ("done(2) && ended(1)", "ended(1)", "ended(1)"),
        ("exit(3) && ended(1)", "ended(1)", "ended(1)"),
        ("exit(9) || ended(1)", "exit(9) || ended(1)", "ended(1)"),
        (
            "(done(9) || !done(1)) && started(prep)",
            "(done(9) || !done(1)) && started(prep)",
            "started(prep)",
        ),
    ],
)
def test_what_is_open_of_a_condition(condition: str, listed: str, log: str) -> None:
    others = (runs("1"), job("2", status="DONE"), job("3", status="EXIT"), job("4", name="prep"))
    waits = job("5", dependency=condition, dependent=True)
    for gone, right in ((False, listed), (True, log)):
        found = seen(*others, waits, gone=gone).instance.pending
        assert {item.id: item.dependency for item in found}["5"] == right


def test_a_condition_that_holds_by_what_bjobs_says_is_gone() -> None:
    waits = job("5", dependency="done(1)", reason="Not enough job slot(s): 1 host;")
    found = seen(runs("1"), waits).instance
    assert found.pending[0].dependency == ""
    still = job("5", dependency="done(1)", dependent=True, reason="Job dependency condition not …")
    assert plan(seen(runs("1"), still).instance)["5"].start == 3540


def test_who_waits_for_nobody_knows_whom_is_left_out() -> None:
    found = seen(job("1"), job("2", dependent=True))
    assert [item.id for item in found.instance.pending] == ["1"]
    assert any("give -o dependency" in note for note in found.notes)


def test_counts_of_arrays_that_are_partly_gone_are_named() -> None:
    waits = job("5", dependency="numdone(7, >= 3) && done(1)", dependent=True)
    found = seen(runs("1"), runs("7[3]"), waits)
    assert found.instance.pending[0].dependency == "done(1)"
    assert not plan(found.instance)["5"].proved
    assert any("the number of ended elements of an array" in note for note in found.notes)


def test_a_condition_that_cannot_be_read_is_named() -> None:
    found = seen(job("5", dependency="done(1", dependent=True))
    assert found.instance.pending[0].dependency == ""
    assert any("cannot be read" in note for note in found.notes)
