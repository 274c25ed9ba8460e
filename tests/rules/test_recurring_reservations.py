"""Recurring advance reservations have no end: a job that fits into no gap never starts (ARV-01)."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime

import pytest
import slotwise as sw
from sampling import pairwise

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
    assert (row.possible, row.proved, row.state) == (None, False, "unknown end")
    assert "within 10 weeks" in row.waits_for
    assert "within 10 weeks" in row.condition
    (waits,) = sw.diagnose(sw.loads(text + runs)).jobs
    assert (waits.starves, waits.condition) == (False, row.condition)


def test_a_job_without_run_limit_is_not_called_impossible() -> None:
    """LSF starts it, and stops it as the period begins: a rule that is omitted."""
    text = SITE.format(windows=DAILY, held="4*a 4*b", slots=8, hours=3)
    row = sw.outlook(sw.loads(text.replace(", run_limit: 3h", "")))["j"]
    assert row.state == "starts if"
    assert "has no known end" in row.condition


SLURM = {
    "nodes.txt": "NodeName=n1 CPUTot=4 ThreadsPerCore=1 RealMemory=900 State=IDLE\n",
    "part.txt": "PartitionName=p Default=YES MaxTime=UNLIMITED Nodes=n1 State=UP\n",
    "config.txt": "Configuration data as of 2026-03-02T10:00:00\nSelectType = select/cons_tres\n"
    "SelectTypeParameters = CR_CORE\n",
    "sdiag.txt": "sdiag output at Mon Mar 02 10:00:00 2026 (1772445600)\n",
}
JOB = (
    "JobId={0} UserId=ann(1) Priority=9 Partition=p JobState=PENDING TimeLimit={1} {2} "
    "NumNodes=1-1 NumCPUs=4 NumTasks=4 TRES=cpu=4,node=1\n"
)


@pytest.mark.parametrize(
    "more",
    [
        "begin: 100d",
        "begin: 100d, user: bob, reservation: 'bob#0', run_limit: 1h",
        "dependency: ended(r)",
        "dependency: ended(p)",
    ],
)
def test_what_starts_behind_the_known_weeks_is_not_impossible(more: str) -> None:
    """A begin time beyond them was "longer than every gap", and its reservation "has expired"."""
    text = SITE.format(windows=DAILY, held="4*a", slots=8, hours=9)
    keys = {"user": "zoe", "run_limit": "9h"}
    own = "".join(f"{key}: {value}, " for key, value in keys.items() if f"{key}:" not in more)
    text = text[: text.index("pending")] + (
        "running: [{id: r, queue: q, start: 0, run_limit: 80d, allocation: 1*b}]\n"
        "pending: [{id: p, queue: q, user: zoe, run_limit: 80d, hosts: b},\n"
        f"  {{id: j, queue: q, slots: 4, hosts: a, {own}{more}}}]\n"
    )
    instance = sw.loads(text)
    row = sw.outlook(instance)["j"]
    state = "unknown end" if "begin" in more else "starts if"
    assert (row.as_configured, row.proved, row.state) == (None, False, state)
    told = sw.explain(instance, "j").outlook
    assert told is not None
    assert told.state == state
    for method in ("optimal", "milp"):
        (item,) = [item for item in sw.plan(instance, method).unplaced if item.job == "j"]
        assert "longer than every" not in item.reason
        assert "expired" not in item.reason


@pytest.mark.parametrize(
    ("second", "refused"), [("0:00-2:00", False), (WEEKLY, True), ("13:59-15:00", True)]
)
def test_two_that_recur_may_not_overlap(second: str, refused: bool) -> None:
    """Behind the known weeks both counted as always active, so that any two were refused."""
    one = "{name: 'bob#0', users: bob, allocation: 4*a, windows: '12:00-14:00'}"
    other = f"{{name: 'c#0', users: c, allocation: 4*a, windows: '{second}'}}"
    text = SITE.format(windows=DAILY, held="4*a", slots=4, hours=10).replace(
        "}]\npend", f"}}, {other}]\npend"
    )
    assert one in text
    text = text.replace("slots: 4, user: zoe", "slots: 4, hosts: a, user: zoe")
    if refused:
        with pytest.raises(sw.InputError, match="reserve 8 together"):
            sw.loads(text)
    else:
        row = sw.outlook(sw.loads(text))["j"]
        assert (row.possible, row.proved) == (2 * 3600, True)


def reservation_text(flags: str, start: str, end: str) -> str:
    return (
        f"ReservationName=r StartTime=2026-03-{start}:00 EndTime=2026-03-{end}:00 Nodes=n1 "
        f"NodeCnt=1 CoreCnt=4 Flags={flags},SPEC_NODES Users=root State=INACTIVE\n"
    )


def reservation_json(flags: str, start: str, end: str) -> str:
    times = {
        name: int(datetime.fromisoformat(f"2026-03-{at}:00+00:00").timestamp())
        for name, at in (("start_time", start), ("end_time", end))
    }
    record = {"name": "r", "node_list": "n1", "flags": [flags, "SPEC_NODES"], "users": "root"}
    numbers = {name: {"set": True, "infinite": False, "number": at} for name, at in times.items()}
    return json.dumps({"reservations": [record | numbers], "errors": [], "warnings": []})


#: Flags, begin and end of a reservation, and the longest run between two of its periods (minutes).
REPEATED = [
    ("DAILY", "02T18:00", "02T20:00", 22 * 60),
    ("DAILY", "02T09:00", "02T11:00", 22 * 60),
    ("DAILY", "02T22:30", "03T01:00", 21 * 60 + 30),
    ("WEEKLY", "04T18:00", "04T20:00", 166 * 60),
    ("WEEKDAY", "02T18:00", "02T20:00", 70 * 60),
    ("WEEKEND", "07T06:00", "07T18:00", 132 * 60),
]


@pytest.mark.behaviour("SLU-01")
@pytest.mark.parametrize(
    ("write", "repeated"), pairwise([reservation_text, reservation_json], REPEATED)
)
def test_a_reservation_of_slurm_that_repeats(
    write: Callable[[str, str, str], str], repeated: tuple[str, str, str, int]
) -> None:
    """The first period of a repeated one may be days ahead: it is treated as now, and named."""
    flags, start, end, longest = repeated
    text = write(flags, start, end)
    for limit, fits in ((longest, True), (longest + 1, False)):
        found = instance_of({**SLURM, "resv": text, "jobs.txt": JOB.format(1, limit, "")})
        row = sw.outlook(found)["1"]
        assert (row.state, row.proved) == (("starts", True) if fits else ("impossible", False))


@pytest.mark.behaviour("SLU-01")
@pytest.mark.parametrize(
    ("flags", "start", "told"),
    [("DAILY", "05T18:00", "DAILY"), ("HOURLY", "02T18:00", "HOURLY"),
     ("TIME_FLOAT", "02T18:00", "TIME_FLOAT"),
     ("FLEX", "02T18:00", "FLEX"),
     ("PURGE_COMP=00:10:00", "02T18:00", "PURGE_COMP"), ("REPLACE", "02T18:00", "REPLACE"),
     ("SPEC_NODES", "02T18:00", "")],
)  # fmt: skip
def test_a_reservation_of_slurm_that_moves_is_named(flags: str, start: str, told: str) -> None:
    """A job longer than every gap started behind the first period."""
    text = reservation_text(flags, start, start.replace("18", "20"))
    found = instance_of({**SLURM, "resv": text, "jobs.txt": JOB.format(1, "60", "")})
    named = [item for item in found.omissions if "treated as it is now" in item.what]
    assert [told in item.what for item in named] == [True] * bool(told)
    assert sw.plan(found)["1"].proved is not bool(told)


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
