"""Recurring advance reservations have no end: a job that fits into no gap never starts (ARV-01)."""

from __future__ import annotations

import pytest
import slotwise as sw

from tests.slurm.test_import import instance_of

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


SLURM = {
    "nodes.txt": "NodeName=n1 CPUTot=4 RealMemory=900 State=IDLE\n",
    "part.txt": "PartitionName=p Default=YES MaxTime=UNLIMITED Nodes=n1 State=UP\n",
    "config.txt": "Configuration data as of 2026-03-02T10:00:00\nSelectType = select/cons_tres\n"
    "SelectTypeParameters = CR_CORE\n",
    "sdiag.txt": "sdiag output at Mon Mar 02 10:00:00 2026 (1772445600)\n",
}
JOB = (
    "JobId={0} UserId=ann(1) Priority=9 Partition=p JobState=PENDING TimeLimit={1} {2} "
    "NumNodes=1-1 NumCPUs=4 NumTasks=4 TRES=cpu=4,node=1\n"
)


def reservation_text(flags: str, start: str, end: str) -> str:
    return (
        f"ReservationName=r StartTime=2026-03-{start}:00 EndTime=2026-03-{end}:00 Nodes=n1 "
        f"NodeCnt=1 CoreCnt=4 Flags={flags},SPEC_NODES Users=root State=INACTIVE\n"
    )


def test_a_job_inside_a_reservation_of_slurm_that_repeats() -> None:
    """It starts in the next period, which may not be the first that it gets: not proved."""
    text = reservation_text("DAILY", "02T18:00", "02T20:00").replace("Users=root", "Users=ann")
    jobs = JOB.format(1, "60", "Reservation=r") + JOB.format(2, "180", "Reservation=r")
    found = instance_of({**SLURM, "resv": text, "jobs.txt": jobs})
    rows = sw.outlook(found)
    assert (rows["1"].possible, rows["1"].proved) == (8 * 3600, False)
    assert rows["2"].possible is None
    asked = sw.ask(found, "sbatch -n4 -N1 -t 60 --reservation=r x", user="ann")
    assert any("--reservation (r)" in item.what for item in asked.omissions)
