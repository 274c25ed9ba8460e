"""A replay for other tools: SWF, the job table of evalys, Parquet, and the figure."""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import slotwise as sw
import typer
from sampling import some
from slotwise.cli.replay import figure_bytes
from slotwise.cli.replay import replay as replay_command
from slotwise.model.sources.swf import read_swf
from slotwise.model.workload import Workload
from slotwise.solver.replay import Measuring, replay
from slotwise.solver.replay.series import GANTT_JOBS, curves, gantt, gantt_span, mean_level
from synthetic_log import synthetic
from typer.testing import CliRunner

app = typer.Typer()
app.command()(replay_command)

LOG = """; UnixStartTime: 844207200
; TimeZoneString: Europe/Stockholm
; MaxProcs: 8
; Queue: 1 batch
1 0 -1 100 4 -1 -1 4 100 -1 1 7 1 1 1 1 -1 -1
2 10 -1 50 6 -1 -1 6 60 -1 1 8 1 1 2 1 -1 -1
3 20 -1 5 1 -1 -1 1 10 -1 1 7 1 1 2 1 -1 -1
4 30 -1 10 2 -1 -1 2 10 -1 1 7 1 1 1 1 3 15
"""
#: EASY starts them at 0, 100, 20 and 40; processors are the lowest that are free.
EVALYS = """job_id,submission_time,requested_number_of_resources,requested_time,starting_time,\
execution_time,finish_time,waiting_time,turnaround_time,stretch,allocated_resources
1,0,4,100,0,100,100,0,100,1.0,0-3
3,20,1,10,20,5,25,0,5,1.0,4
4,40,2,10,40,10,50,0,10,1.0,4-5
2,10,6,60,100,50,150,90,140,2.8,0-5
"""


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "log.swf"
    path.write_text(LOG)
    return path


def run(*arguments: object) -> str:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == 0, result.exception
    return result.stdout


def test_the_swf_has_the_waits_and_is_read_as_recorded(log: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.swf"
    run(log, "-o", out)
    lines = out.read_text().splitlines()
    assert lines[-2:] == [
        "3 20 0 5 1 -1 -1 1 10 -1 1 7 -1 -1 2 -1 -1 -1",
        "4 40 0 10 2 -1 -1 2 10 -1 1 7 -1 -1 1 -1 3 15",
    ]
    found = read_swf(out)
    assert found.waits == {1: 0, 2: 90, 3: 0, 4: 0}
    assert found.workload.max_procs == 8
    assert found.origin == read_swf(log).origin is not None
    again = sw.replay(sw.read_log(out), policy="easy")
    assert again.start.tolist() == [0, 100, 20, 40]
    packed = tmp_path / "out.swf.gz"
    run(log, "--output", packed)
    assert gzip.decompress(packed.read_bytes()).decode() == out.read_text()
    assert sw.replay(sw.read_log(log), policy="easy").to_swf() == out.read_text()


def test_the_table_of_evalys(log: Path, tmp_path: Path) -> None:
    out = tmp_path / "jobs.csv"
    run(log, "--evalys", out)
    assert out.read_text() == EVALYS


def test_evalys_reads_the_table(tmp_path: Path) -> None:
    jobset = pytest.importorskip("evalys.jobset", reason="evalys is not installed")
    made = synthetic(300, 32, load=1.1, seed=2)
    result = replay(made, policy="easy", procs=32)
    path = tmp_path / "jobs.csv"
    rows = list(result.schedule.evalys_records())
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    found = jobset.JobSet.from_csv(path, resource_bounds=(0, 31))
    assert found.MaxProcs == 32
    assert found.df["proc_alloc"].tolist() == [row["requested_number_of_resources"] for row in rows]
    assert found.utilisation["load"].max() <= 32
    area = (found.df["proc_alloc"] * found.df["execution_time"]).sum()
    assert area == int(np.sum(result.workload.procs * result.workload.run_time))
    assert found.df["waiting_time"].mean() == pytest.approx(result.metrics.mean_wait)


@pytest.mark.parametrize("policy", ["fcfs", "easy", "conservative"])
def test_no_processor_has_two_jobs(policy: str) -> None:
    made = synthetic(400, 16, load=1.3, seed=9)
    schedule = replay(made, policy=policy, procs=16).schedule
    busy: dict[int, list[tuple[int, int]]] = {}
    for job, intervals in enumerate(schedule.allocations()):
        taken = [one for low, high in intervals for one in range(low, high + 1)]
        assert len(set(taken)) == len(taken) == schedule.log.procs[job]
        assert 0 <= min(taken) <= max(taken) < 16
        start = int(schedule.start[job])
        for one in taken:
            busy.setdefault(one, []).append((start, start + int(schedule.log.run_time[job])))
    for spans in busy.values():
        spans.sort()
        assert all(first[1] <= second[0] for first, second in pairwise(spans))


def test_parquet_has_the_records(log: Path, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
    run(log, "--jobs", tmp_path / "a.parquet", "--evalys", tmp_path / "b.parquet")
    expected = list(csv.DictReader(io.StringIO(EVALYS)))
    rows = parquet.read_table(tmp_path / "b.parquet").to_pylist()
    assert [{name: str(value) for name, value in row.items()} for row in rows] == expected
    assert parquet.read_table(tmp_path / "a.parquet").num_rows == 4


def _seconds(
    begin: list[int], end: list[int], weight: list[int], edges: list[int]
) -> Iterator[float]:
    """Yield the mean level of each bin, second by second."""
    for low, high in pairwise(edges):
        level = [
            sum(w for b, e, w in zip(begin, end, weight, strict=True) if b <= second < e)
            for second in range(low, high)
        ]
        yield sum(level) / len(level)


def test_curves_are_means_of_every_second() -> None:
    begin, end, weight, edges = [0, 3, 3, 8], [5, 3, 9, 12], [2, 7, 1, 4], [0, 4, 9, 10, 13]
    columns = (np.array(each, dtype=np.int64) for each in (begin, end, weight, edges))
    expected = list(_seconds(begin, end, weight, edges))
    assert mean_level(*columns).tolist() == pytest.approx(expected)
    made = synthetic(500, 16, load=1.1, seed=3)
    result = replay(made, policy="easy", procs=16)
    found = curves(result, Measuring())
    lengths = np.diff(found.edges)
    area = float(np.sum(result.workload.procs * result.workload.run_time))
    assert float(np.sum(found.used * lengths)) * 16 == pytest.approx(area)
    assert float(np.sum(found.waiting * lengths)) == pytest.approx(float(result.wait.sum()))
    assert (found.waits[0], found.waits[-1]) == (result.wait.min(), result.wait.max())
    begin_of, end_of = gantt_span(result)
    inside = (result.start >= begin_of) & (result.start <= end_of)
    assert GANTT_JOBS <= int(inside.sum()) < len(result.workload)
    bars = gantt(result.schedule, (begin_of, end_of))
    assert all(bar.start < end_of and bar.finish > begin_of for bar in bars)


@pytest.mark.parametrize("form", some(["svg", "pdf", "png"], 1))
def test_the_figure(form: str, log: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    path = tmp_path / f"figure.{form}"
    run(log, "--policy", "fcfs,easy", "--plot", path)
    content = path.read_bytes()
    begins = {"svg": b"<?xml", "pdf": b"%PDF", "png": b"\x89PNG"}
    assert content.startswith(begins[form])
    if form == "svg":
        text = content.decode()
        assert all(word in text for word in ("fcfs", "easy", "bounded slowdown", "waiting jobs"))
        compared = sw.replay(sw.read_log(log), policy=["fcfs", "easy"])
        assert figure_bytes(compared, form) == content


def test_a_stopped_replay_is_not_written() -> None:
    session = sw.replay(Workload.of([0], [5], [5], [1]), procs=1)
    assert session.complete
    stopped = replay(Workload.of([0, 1], [5, 5], [5, 5], [1, 1]), procs=1, should_stop=lambda: True)
    if stopped.complete:  # A short log is over before the first check.
        stopped = type(stopped)(
            stopped.workload, "easy", 1, "event", np.array([0, -1]), complete=False
        )
    with pytest.raises(sw.InputError, match="stopped before its end"):
        stopped.to_swf()
