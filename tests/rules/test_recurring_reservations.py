"""Recurring advance reservations have no end: a job that fits into no gap never starts (ARV-01)."""

from __future__ import annotations

import pytest
import slotwise as sw

pytestmark = pytest.mark.behaviour("ARV-01")
#: Sunday, second 0 of the week; 8 slots on two hosts.
SITE = """
format: slotwise/1
origin: '2026-03-01T00:00:00+00:00'
hosts: [{{name: a, slots: 4}}, {{name: b, slots: 4}}]
queues: [{{name: q}}]
advance_reservations: [{{name: 'bob#0', users: bob, allocation: {held}, windows: '{windows}'}}]
pending: [{{id: j, queue: q, slots: {slots}, user: zoe, run_limit: {hours}h}}]
"""
DAILY, WEEKLY, TWICE = "12:00-14:00", "3:12:00-3:14:00", "1:12:00-1:14:00 4:12:00-4:14:00"


@pytest.mark.parametrize(
    ("windows", "held", "slots", "hours", "start"),
    [
        (DAILY, "4*a 4*b", 8, 12, 0),
        (DAILY, "4*a 4*b", 8, 22, 14),
        (DAILY, "4*a 4*b", 8, 23, None),
        (DAILY, "4*a", 8, 23, None),
        (DAILY, "4*a", 4, 23, 0),
        (DAILY, "4*a", 5, 23, None),
        (DAILY, "1*a", 7, 2000, 0),
        (DAILY, "1*a", 8, 23, None),
        (WEEKLY, "4*a 4*b", 8, 166, 86),
        (WEEKLY, "4*a 4*b", 8, 167, None),
        (TWICE, "4*a 4*b", 8, 94, 110),
        (TWICE, "4*a 4*b", 8, 95, None),
    ],
)
def test_a_job_longer_than_every_gap_never_starts(
    windows: str, held: str, slots: int, hours: int, start: int | None
) -> None:
    instance = sw.loads(SITE.format(windows=windows, held=held, slots=slots, hours=hours))
    row = sw.outlook(instance)["j"]
    at = None if start is None else start * 3600
    assert (row.as_configured, row.possible, row.proved) == (at, at, at is not None)
    assert row.state == ("impossible" if start is None else "starts")
    milp = sw.plan(instance, "milp")
    asked = sw.ask(instance, f"bsub -q q -n {slots} -W {hours}:00 -u zoe x", method="optimal")
    if start is None:
        why = "is longer than every gap of advance reservation bob#0"
        assert row.condition == why
        assert [item.reason for item in milp.unplaced] == [why]
        assert asked.line.answer.start is None
    else:
        assert milp["j"].start == at


def test_a_start_behind_the_known_periods_is_not_proved_and_not_impossible() -> None:
    text = SITE.format(windows=DAILY, held="4*a 4*b", slots=8, hours=3)
    runs = "running: [{id: r, queue: q, start: 0, finish: 100d, allocation: 4*a 4*b}]\n"
    row = sw.outlook(sw.loads(text + runs))["j"]
    assert (row.possible, row.proved, row.state) == (None, False, "starts if")
    assert "within 10 weeks" in row.waits_for


def test_a_job_without_run_limit_is_not_called_impossible() -> None:
    """LSF starts it, and stops it as the period begins: a rule that is omitted."""
    text = SITE.format(windows=DAILY, held="4*a 4*b", slots=8, hours=3)
    row = sw.outlook(sw.loads(text.replace(", run_limit: 3h", "")))["j"]
    assert row.state == "starts if"
    assert "has no known end" in row.condition
