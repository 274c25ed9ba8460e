"""Sweeps on one pool: replay policies, changed estimates and --default-limit."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import slotwise as sw
from forked import slotwise
from slotwise.model.formats.file_format import ChangedEstimates
from slotwise.model.sources.swf import with_estimates
from slotwise.model.workload import Workload
from slotwise.solver.studies.sweep import METRICS, resampled_log
from synthetic_log import synthetic

WEEK = 7 * 86400
STUDY = """format: slotwise-study/1
cases:
  - {name: log, log: log.swf}
policies: [easy, conservative, {name: by-stamp, set: {policy: easy, schedule_after: timestamp}}]
parameters:
  estimates: [recorded, exact, x2]
"""


def log_file(folder: Path, jobs: int = 60, *, requested: bool = True) -> Path:
    made = synthetic(jobs, 8, load=1.2, seed=4)
    columns = (made.job, made.submit, made.run_time, made.procs, made.req_time)
    lines = ["; MaxProcs: 8"]
    for job, submit, run, procs, asked in zip(*(c.tolist() for c in columns), strict=True):
        asked = asked if requested else -1
        lines.append(f"{job} {submit} -1 {run} {procs} -1 -1 {procs} {asked} -1 1 1 1 1 1 1 -1 -1")
    path = folder / "log.swf"
    path.write_text("\n".join(lines) + "\n")
    return path


def study(folder: Path, text: str = STUDY) -> Path:
    path = folder / "study.yaml"
    path.write_text(text)
    return path


def test_a_cell_is_the_replay_of_its_policy(tmp_path: Path) -> None:
    log = sw.read_log(log_file(tmp_path))
    found = sw.sweep(study(tmp_path))
    assert [row["error"] for row in found] == [""] * 9
    for row in found:
        how = {"policy": row["policy"], "estimates": row["estimates"]}
        if row["policy"] == "by-stamp":
            how |= {"policy": "easy", "schedule_after": "timestamp"}
        metrics = sw.replay(log, **how).metrics.to_dict()
        assert {name: row[name] for name in metrics} == metrics
        assert row["cycles"] is None
    waits = {(row["policy"], row["estimates"]): row["mean_wait"] for row in found}
    assert len({waits["easy", name] for name in ("recorded", "exact", "x2")}) == 3


def test_the_loop_takes_changed_estimates_too(tmp_path: Path) -> None:
    """With exact run limits the loop of time-based reservations is another one."""
    log_file(tmp_path)
    text = STUDY.replace("log: log.swf}", "log: log.swf, hosts: 2}")
    text = text.replace("[easy, conservative,", "[easy, time-based,")
    rows = [row for row in sw.sweep(study(tmp_path, text)) if row["policy"] == "time-based"]
    assert [row["error"] for row in rows] == [""] * 3
    assert len({row["mean_wait"] for row in rows}) > 1
    assert rows[0]["cycles"] > 0
    assert rows[0]["delayed_share"] is None


def test_a_sweep_of_the_loop_alone_has_its_columns_as_before(tmp_path: Path) -> None:
    text = (
        "format: slotwise-study/1\ncases: [{generate: {hosts: 2, running: 1, pending: 1}}]\n"
        "policies: [greedy]\n"
    )
    found = sw.sweep(study(tmp_path, text))
    assert found.columns == ("cell", "case", "policy", "seed", "status", "error", *METRICS)


def test_default_limit_of_the_command_replaces_that_of_the_study(tmp_path: Path) -> None:
    log_file(tmp_path, requested=False)
    text = STUDY.replace("parameters:\n  estimates: [recorded, exact, x2]\n", "")
    path = study(tmp_path, text.replace("[easy, conservative, {", "[easy, {"))
    assert all("no job" in row["error"] for row in sw.sweep(path))
    found = sw.sweep(path, default_limit="2x")
    log = sw.read_log(tmp_path / "log.swf", default_limit="2x")
    assert found.rows[0]["mean_wait"] == sw.replay(log, policy="easy").metrics.mean_wait
    done = slotwise(
        *("sweep", path.name, "--default-limit", "2x", "--workers", 1, "--format", "csv"),
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    table = list(csv.DictReader(io.StringIO(done.stdout)))
    assert [row["mean_wait"] for row in table] == [str(row["mean_wait"]) for row in found]
    again = slotwise(
        *("sweep", path.name, "--default-limit", "2x", "--workers", 1, "--format", "csv"),
        cwd=tmp_path,
    )
    assert "2 of 2 cells are already in" in again.stderr
    assert again.stdout == done.stdout
    with pytest.raises(sw.InputError, match="--default-limit: must be a time such as 12h"):
        sw.sweep(path, default_limit="soon")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("x2]", "x0.5]", "factor of 1 or more such as x2, not 'x0.5'"),
        ("x2]", "2x]", "must be exact, recorded, or a factor"),
        ("timestamp", "cycle", "must be event or timestamp, not 'cycle'"),
        ("policy: easy,", "policy: esy,", "unknown policy 'esy' (did you mean 'easy'?)"),
        ("[easy, c", "[eazy, c", "unknown policy 'eazy' (did you mean 'easy'?)"),
        ("estimates: [", "queues.*.BACKFILL: [", "does not apply to a policy of replay"),
        ("{name: log, log: log.swf}", "{generate: {hosts: 2}}", "needs a case with a log"),
        ("[easy, c", "[greedy, c", "has a log: give either site, or hosts: N"),
        ("estimates: [recorded, exact, x2]", "warm_up: [1d, soon]", "must be a duration"),
    ],
)
def test_a_bad_study_is_rejected(tmp_path: Path, old: str, new: str, said: str) -> None:
    log_file(tmp_path)
    assert old in STUDY
    with pytest.raises(sw.InputError) as caught:
        sw.sweep(study(tmp_path, STUDY.replace(old, new)))
    assert said in str(caught.value)


def test_a_seed_selects_whole_weeks_of_the_log() -> None:
    made = synthetic(400, 8, load=0.4, seed=1)
    made = replace(made, preceding=np.where(made.job > 1, made.job - 1, -1), think=made.job * 0)
    drawn = resampled_log(made, 5)
    assert drawn.columns().keys() == made.columns().keys()
    assert (np.diff(drawn.submit) >= 0).all()
    assert len(set(drawn.job.tolist())) == len(drawn)
    first, span = int(made.submit[0]), int(made.job.max()) + 1
    old = made.submit - first
    for row in range(len(drawn)):
        week, number = divmod(int(drawn.job[row]), span)
        source = int(np.flatnonzero(made.job == number)[0])
        assert (drawn.submit[row] - first) // WEEK == week
        assert (drawn.submit[row] - first) % WEEK == old[source] % WEEK
        assert drawn.run_time[row] == made.run_time[source]
        assert drawn.preceding[row] in (-1, week * span + number - 1)
    assert resampled_log(made, 6).digest() != drawn.digest()
    assert resampled_log(made, 5).digest() == drawn.digest()


def test_changed_estimates_keep_run_times_and_what_ends_at_its_limit() -> None:
    log = Workload.of([0, 0, 0, 0], [10, 30, 7, 0], [20, 15, -1, 5], [1, 1, 1, 1])
    exact = with_estimates(log, ChangedEstimates.parse("exact"))
    assert exact.req_time.tolist() == [10, 15, 7, 0]
    assert exact.run_time.tolist() == [10, 15, 7, 0]
    double = with_estimates(log, ChangedEstimates.parse("x1.5"))
    assert double.req_time.tolist() == [30, 23, -1, 8]
    assert double.run_time.tolist() == [10, 15, 7, 0]
    assert with_estimates(log, ChangedEstimates.parse("recorded")) is log
