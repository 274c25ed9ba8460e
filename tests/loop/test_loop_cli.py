"""``slotwise simulate`` over hosts: outputs, stop and resume, messages."""

from __future__ import annotations

import csv
import json
import signal
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import slotwise as sw
from forked import program, slotwise
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_profiles import examples
from loop_lab import host, instance, job
from sampling import some
from slotwise import InputError, Params, Queue, dump
from slotwise.cli.main import app
from slotwise.solver.availability.demand import GroupCap, TermCapacity, TermDemand
from slotwise.solver.placement import fits, place
from slotwise.solver.placement.choose import fits_plain, is_plain, place_plain
from slotwise.solver.placement.single import place_on_first
from typer.testing import CliRunner

RUNNER = CliRunner()


def busy(jobs: int = 400):
    """A small cluster with a long queue."""
    rng = np.random.default_rng(1)
    future = tuple(
        job(
            f"j{number}",
            int(rng.integers(1, 9)),
            *(("span[ptile=2]",) if number % 3 == 0 else ()),
            minutes=int(rng.integers(5, 60)),
            run_time=int(rng.integers(60, 1800)),
            submit=int(rng.integers(0, 36000)),
        )
        for number in range(jobs)
    )
    queues = (Queue("q", 10, slot_reserve=5, backfill=True),)
    return instance(
        *(host(f"h{n}", 4) for n in range(6)),
        queues=queues,
        future=future,
        params=Params(default_queue="q"),
    )


def test_records_and_cycles(tmp_path: Path) -> None:
    path = str(sw.example("headline"))
    jobs, log = tmp_path / "jobs.csv", tmp_path / "cycles.jsonl"
    args = ["simulate", path, "--reservation", "time-based", "--jobs", str(jobs)]
    done = RUNNER.invoke(app, [*args, "--cycle-log", str(log), "--format", "json"])
    assert done.exit_code == 0
    metrics = json.loads(done.stdout)
    assert metrics["predictions"]["time-based"]["exact"] == 1.0
    assert metrics["utilisation"] == pytest.approx(0.71875)
    rows = list(csv.DictReader(jobs.open()))
    assert rows[-1]["job"] == "job5"
    assert rows[-1]["hosts"] == "2*hostA 2*hostC 2*hostD"
    assert (rows[-1]["estimate"], rows[-1]["start"], rows[-1]["wait"]) == ("10800",) * 3
    cycles = [json.loads(line) for line in log.read_text().splitlines()]
    assert cycles[0]["reservations"][0]["estimate"] == 10800
    text = RUNNER.invoke(app, ["simulate", path])
    assert "mean_wait" in text.stdout
    assert RUNNER.invoke(app, ["simulate", path, "--format", "csv"]).stdout.count("\n") == 2


@pytest.mark.parametrize(
    ("extra", "says"),
    [
        (["--jobs", "x.xlsx"], "ends in one of"),
        (["--jobs", "nowhere/x.csv"], "no such folder"),
        (["--hosts", "4"], "--hosts: does not apply to an instance file"),
        (["--reservation", "nosuch"], "use one of configured, none, greedy, time-based, optimal"),
        (["--keep-going"], "--keep-going: does not apply to an instance file"),
        (["--resume", "nothing"], "cannot be read"),
    ],
)
def test_messages(extra: list[str], says: str) -> None:
    found = RUNNER.invoke(app, ["simulate", str(sw.example("headline")), *extra])
    assert isinstance(found.exception, InputError)
    assert says in str(found.exception)


SWF = """; MaxProcs: 4
1 0 -1 10 3 -1 -1 3 10 -1 1 1 1 -1 1 -1 -1 -1
"""


@pytest.mark.parametrize(
    "old", [["--policy", "easy"], ["--procs", "4"], ["--schedule-after", "event", "--procs", "8"]]
)
def test_the_old_spelling_of_the_replay_says_where_to_go(tmp_path: Path, old: list[str]) -> None:
    """One line, exit code 2; what it says to type works."""
    log = tmp_path / "log.swf"
    log.write_text(SWF)
    found = slotwise("simulate", log, *old)
    assert (found.returncode, found.stdout, found.stderr.count("\n")) == (2, "", 1)
    said = found.stderr.rsplit("slotwise ", 1)[1].split()
    assert said[:2] == ["replay", str(log)]
    assert set(said[2:]) == set(old)
    assert RUNNER.invoke(app, said).exit_code == 0


def test_a_log_without_hosts_says_both_ways_on(tmp_path: Path) -> None:
    log = tmp_path / "log.swf"
    log.write_text(SWF)
    found = RUNNER.invoke(app, ["simulate", str(log)])
    assert isinstance(found.exception, InputError)
    assert "--hosts N" in str(found.exception)
    assert "slotwise replay LOG" in str(found.exception)
    assert RUNNER.invoke(app, ["simulate", str(log), "--hosts", "2"]).exit_code == 0


def test_options_of_the_replay_are_not_offered() -> None:
    shown = RUNNER.invoke(app, ["simulate", "--help"]).stdout
    assert "--reservation" in shown
    for option in ("--policy", "--procs", "--schedule-after"):
        assert option not in shown


def test_a_pool_snapshot_is_simulated_as_its_instance(tmp_path: Path) -> None:
    """A format of the registry is known to the command without being named there."""
    snapshot = tmp_path / "pool.json"
    snapshot.write_text(
        '{"log": "x", "time": 0, "procs": 4, "free": 4, "running": [], "queue": '
        '[{"id": 1, "procs": 4, "req_s": 100, "run_s": 50, "waited_s": 0}, '
        '{"id": 2, "procs": 4, "req_s": 100, "run_s": 50, "waited_s": 0}]}'
    )
    jobs = tmp_path / "jobs.csv"
    args = ["simulate", str(snapshot), "--cycle", "0", "--jobs", str(jobs)]
    assert RUNNER.invoke(app, args).exit_code == 0
    assert [row["start"] for row in csv.DictReader(jobs.open())] == ["0", "50"]


def test_parquet_needs_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    path = str(sw.example("headline"))
    found = RUNNER.invoke(app, ["simulate", path, "--jobs", str(tmp_path / "x.parquet")])
    assert "needs the package pyarrow" in str(found.exception)


#: Runs the command and stops it, as a signal from outside would, before its `after`-th cycle.
STOPPED = """
import os, sys
from slotwise.cli.main import main
from slotwise.solver.scheduler.simulation import Session

how, after = int(sys.argv.pop(1)), int(sys.argv.pop(1))
advance, cycles = Session.advance, 0

def counted(session):
    global cycles
    cycles += 1
    if cycles == after:
        os.kill(os.getpid(), how)
    return advance(session)

Session.advance = counted
sys.argv[0] = "slotwise"
main()
"""


@pytest.mark.parametrize("how", some([signal.SIGINT, signal.SIGTERM], 1))
def test_stop_and_resume_give_the_same_bytes(tmp_path: Path, how: signal.Signals) -> None:
    """Stopped after 7 cycles, resumed, stopped 40 later, resumed: nothing shows in the output."""
    source = tmp_path / "busy.yaml"
    source.write_text(dump(busy(60)))
    whole, parts, point = (tmp_path / name for name in ("whole.csv", "parts.csv", "point.json"))
    rest = ["simulate", str(source), "--reservation", "time-based"]

    def simulate(after: int, *more: str) -> int:
        return program(STOPPED, int(how), after, *rest, *more).returncode

    assert simulate(0, "--jobs", str(whole)) == 0
    out = ["--jobs", str(parts), "--checkpoint", str(point)]
    assert simulate(7, *out) == 3
    first = point.read_bytes()
    assert not parts.exists()
    assert simulate(40, *out, "--resume", str(point)) == 3
    assert point.read_bytes() != first
    assert not parts.exists()
    assert simulate(0, *out, "--resume", str(point)) == 0
    assert parts.read_bytes() == whole.read_bytes()


@examples(200)
@given(
    st.lists(st.integers(0, 5), min_size=1, max_size=8),
    st.integers(1, 9),
    st.sampled_from(["any", "ptile", "host"]),
    st.integers(1, 3),
    st.integers(0, 2),
)
def test_the_short_way_places_as_the_long_one(
    caps: list[int], slots: int, shape: str, tile: int, spare: int
) -> None:
    """Caps of groups that allow all slots of the term change nothing."""
    count = len(caps)
    term = TermDemand(
        slots,
        slots,
        np.arange(count, dtype=np.int64)[::-1].copy(),
        ptile=np.full(count, tile, dtype=np.int64) if shape == "ptile" else None,
        one_host=shape == "host",
    )
    group = GroupCap(np.arange(count) % 2 == 0, slots + spare, slots + spare)
    capacity = TermCapacity(np.array(caps, dtype=np.int64), (group,))
    assert is_plain(term, capacity, slots)
    labels = replace(term, same=(np.zeros(count, dtype=np.int64),))  # forces the long way
    assert not is_plain(labels, capacity, slots)
    assert place_plain(term, capacity, slots) == place(labels, capacity)
    assert fits_plain(term, capacity, slots) == fits(labels, capacity)
    for few in range(1, count + 1):
        on_first = place_on_first(replace(term, candidates=term.candidates[:few]), capacity)
        assert on_first in (None, place(labels, capacity))


def test_library_call() -> None:
    result = sw.simulate(busy(50), until="2h")
    assert result.time == 7200
    assert result.complete
    full = sw.simulate(busy(50))
    early = {name: start for name, start in full.starts.items() if start <= 7200}
    assert result.starts == early
    assert replace(result.settings).reservation == "greedy"
