"""What a simulation writes and prints: records, metrics, the bar; where it stops and goes on."""

from __future__ import annotations

import gzip
import itertools
import json
import os
import pty
import shutil
import subprocess
import sys
import types
from pathlib import Path

import pytest
import slotwise as sw
from loop_lab import HOUR, host, instance, job, run
from slotwise import HostStatus, InputError, Queue, Resize, measure
from slotwise.cli.main import app
from slotwise.solver.scheduler.checkpoints import save
from slotwise.solver.scheduler.methods import settings_for
from slotwise.solver.scheduler.simulation import Session, simulate
from typer.testing import CliRunner

RUNNER = CliRunner()
DATA = Path(__file__).parents[1] / "data"
HEADLINE = str(sw.example("headline"))


def small():
    """Four slots: two jobs that fill them, a big one behind, one that comes after an hour."""
    return instance(
        host("A", 2),
        host("B", 2),
        queues=(Queue("q", 10, slot_reserve=100),),
        pending=(
            job("a", 2, minutes=30, run_time=20 * 60),
            job("b", 2, minutes=60, run_time=60 * 60),
            job("big", 4, minutes=10),
        ),
        future=(job("late", 4, minutes=10, submit=HOUR + 30),),
    )


def test_a_horizon_leaves_out_what_has_not_come() -> None:
    found = measure(run(small(), "time-based", until=1800))
    assert (found.jobs, found.started, found.pending) == (3, 2, 1)
    assert found.last_end == 1800
    # Up to then: 2 slots for 20 minutes, 2 slots for 30, and big waited all the time.
    assert found.utilisation == pytest.approx((2 * 20 + 2 * 30) / (4 * 30))
    assert found.idle_while_waiting == pytest.approx(2 * 10 / (4 * 30))
    empty = measure(simulate(instance(host("A", 1), future=(job("x", submit=500),)), until=60))
    assert (empty.jobs, empty.utilisation, empty.idle_while_waiting) == (0, 0.0, 0.0)


def test_slots_count_while_they_are_held() -> None:
    """Preempted from 10 to 20 min, down from 25 to 50 min, twice as large from 60 min on."""
    problem = instance(
        host("A", 4),
        queues=(Queue("q", 10), Queue("high", 40, preemptive=("*",))),
        pending=(job("low", 2, minutes=60, run_time=30 * 60),),
        future=(job("top", 4, minutes=10, queue="high", submit=600),),
    )
    changes = (
        HostStatus(25 * 60, "A", "down"),
        HostStatus(50 * 60, "A", "ok"),
        Resize(60 * 60, "low", {"A": 4}),
    )
    result = simulate(problem, changes=changes)
    assert result["low"].held == (
        (0, 600, {"A": 2}),
        (1200, 1500, {"A": 2}),
        (3000, 3600, {"A": 2}),
        (3600, 4800, {"A": 4}),
    )
    found = measure(result)
    assert found.utilisation == pytest.approx((2 * 25 + 4 * 10 + 4 * 20) * 60 / (4 * 4800))
    assert 0 <= found.idle_while_waiting <= 1
    assert 0 <= found.fragmentation <= 1


@pytest.mark.parametrize(
    ("until", "says"),
    [("2x", "must be a duration"), (-1, "or later, not -1"), ("-5m", "or later, not -300")],
)
def test_an_until_that_makes_no_sense(until: int | str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        simulate(small(), until=until)


def test_parquet_has_the_columns_of_the_other_formats(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The library is not among the tests' own needs: what it is handed is looked at."""
    handed = []
    arrow = types.ModuleType("pyarrow")
    arrow.Table = types.SimpleNamespace(from_pylist=lambda rows: rows)  # type: ignore[attr-defined]
    parquet = types.ModuleType("pyarrow.parquet")

    def write_table(rows, buffer):
        handed.extend(rows)
        buffer.write(b"PAR1")

    parquet.write_table = write_table  # type: ignore[attr-defined]
    arrow.parquet = parquet  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "pyarrow", arrow)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", parquet)
    out, table = tmp_path / "jobs.parquet", tmp_path / "jobs.json"
    for path in (out, table):
        assert RUNNER.invoke(app, ["simulate", HEADLINE, "--jobs", str(path)]).exit_code == 0
    assert out.read_bytes() == b"PAR1"
    rows = json.loads(table.read_text())
    assert [list(row) for row in handed] == [list(row) for row in rows]
    assert [row["start"] for row in handed] == [row["start"] for row in rows]


def test_accounting_records_under_another_name(tmp_path: Path) -> None:
    """They are known by how they begin."""
    copy = tmp_path / "march.log"
    shutil.copy(DATA / "acct" / "lsb.acct.small-cluster", copy)
    one, other = (
        json.loads(RUNNER.invoke(app, ["simulate", str(path), "--format", "json"]).stdout)
        for path in (copy, DATA / "acct" / "lsb.acct.small-cluster")
    )
    assert one["jobs"] == 82
    assert {**one, "input": ""} == {**other, "input": ""}


@pytest.mark.parametrize(
    ("extra", "says"),
    [
        (["--reservation", "greedy"], "has --reservation time-based, not greedy"),
        (["--reservations", "2"], "has --reservations 1, not 2"),
        (["--cycle", "30"], "has --cycle 60, not 30"),
        (["--until", "1h"], "has no --until, not 3600"),
        (["--cycle-log", "log.jsonl"], "made without --cycle-log"),
    ],
)
def test_resume_keeps_to_the_checkpoint(tmp_path: Path, extra: list[str], says: str) -> None:
    problem = sw.load(HEADLINE)
    session = Session(problem, settings_for(problem, reservation="time-based"))
    session.begin()
    session.advance()
    point = tmp_path / "point.json"
    point.write_text(save(session))
    found = RUNNER.invoke(app, ["simulate", HEADLINE, "--resume", str(point), *extra])
    assert isinstance(found.exception, InputError)
    assert says in str(found.exception)
    same = ["--reservation", "time-based", "--reservations", "1", "--cycle", "60"]
    assert RUNNER.invoke(app, ["simulate", HEADLINE, "--resume", str(point), *same]).exit_code == 0


def test_the_bar_on_a_terminal(tmp_path: Path) -> None:
    """On stderr only, with jobs a second and the simulated time."""
    log = tmp_path / "log.swf"
    with gzip.open(DATA / "traces" / "KTH-SP2.swf.gz", "rt") as whole:
        log.write_text("".join(itertools.islice(whole, 500)))
    start = "from slotwise.cli.main import main; main()"
    ours, theirs = pty.openpty()
    command = [sys.executable, "-c", start, "simulate", str(log), "--hosts", "100", "--until", "3d"]
    done = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=theirs)
    os.close(theirs)
    shown = b""
    try:
        while part := os.read(ours, 4096):
            shown += part
    except OSError:  # the other end is closed
        pass
    os.close(ours)
    out, _ = done.communicate()
    assert done.returncode == 0
    assert b"jobs/s" in shown
    assert b"simulated" in shown
    assert b"jobs/s" not in out


@pytest.mark.parametrize(("seconds", "code"), [("0", 3), ("600", 0)])
def test_a_limit_stops_the_loop_as_ctrl_c_does(tmp_path: Path, seconds: str, code: int) -> None:
    point = tmp_path / "point.json"
    args = ["simulate", HEADLINE, "--time-limit", seconds, "--checkpoint", str(point)]
    assert RUNNER.invoke(app, args).exit_code == code
    if code:
        assert RUNNER.invoke(app, ["simulate", HEADLINE, "--resume", str(point)]).exit_code == 0


WAITING = """
format: slotwise/1
origin: '2026-03-02T10:00:00+00:00'
hosts: [{{name: h, slots: 4}}]
queues: [{{name: q}}]
running: [{{id: 8, queue: q, start: 0, run_limit: 1h, allocation: 1*h, suspended: true}}]
pending: [{{id: 9, bsub: -q q -n 9 -W 5}}, {{id: V, bsub: '-q q -n 1 -W 5 {waits}'}}]
"""


@pytest.mark.behaviour("LOP-07")
@pytest.mark.parametrize(
    ("waits", "pending"), [("-w done(8)", 2), ("-w ended(9)", 2), ("-b 20:00", 2), ("", 1)]
)
def test_a_submitted_job_that_waits_is_counted(waits: str, pending: int) -> None:
    """It was "future", as one that is submitted later, and missing in the summary."""
    found = measure(simulate(sw.loads(WAITING.format(waits=waits)), until="1h"))
    assert (found.jobs, found.pending) == (2, pending)
