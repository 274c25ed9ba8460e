"""Measures of a replay: periods, warm-up, groups, utilisation, fairness and intervals."""

from __future__ import annotations

import csv
import io
import json
import math
import statistics
from dataclasses import fields, replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
import slotwise as sw
from slotwise.cli.main import app
from slotwise.model.workload import OTHER_PERIOD, SKIPPED_JOB, Workload, within
from slotwise.solver.replay import Measuring, Metrics, measure, replay
from synthetic_log import synthetic
from typer.testing import CliRunner

#: Batches of an interval, 0.975 quantile of Student's t with one degree of freedom less.
BATCHES, STUDENT_T = 20, 2.0930240544083096
#: Job, submission, run time, processors, requested time, user, queue, preceding job, think time.
JOBS = (
    (1, 0, 100, 2, 100, 1, 1, -1, -1),
    (2, 10, 50, 4, 60, 2, 1, -1, -1),
    (3, 20, 5, 1, 10, 1, 2, -1, -1),
    (4, 30, 20, 3, 20, 2, 2, -1, -1),
    (5, 200, 10, 4, 10, 1, 2, 4, 15),
)


def swf(jobs: tuple[tuple[int, ...], ...] = JOBS, header: str = "") -> str:
    lines = ["; MaxProcs: 4", *([header] if header else [])]
    for job, submit, run, procs, asked, user, queue, before, think in jobs:
        lines.append(
            f"{job} {submit} -1 {run} {procs} -1 -1 {procs} {asked} -1 1 {user} 1 1 {queue} 1 "
            f"{before} {think}"
        )
    return "\n".join(lines) + "\n"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "log.swf"
    path.write_text(swf())
    return path


def run(*arguments: object) -> str:
    result = CliRunner().invoke(app, ["replay", *map(str, arguments)])
    assert result.exit_code == 0, result.exception
    return result.stdout


def rejected(*arguments: object) -> str:
    result = CliRunner().invoke(app, ["replay", *map(str, arguments)])
    assert isinstance(result.exception, sw.InputError)
    return str(result.exception)


def test_a_policy_of_the_user_called_fcfs_is_not_the_reference(log: Path) -> None:
    class Fcfs(sw.QueuePolicy):
        name = "fcfs"

        def order(self, waiting: sw.QueueView, now: int) -> np.ndarray:
            return waiting.req_time

    assert sw.replay(sw.read_log(log), policy=Fcfs()).metrics.mean_delay > 0


@pytest.mark.parametrize("policy", ["easy", "conservative", "saf", "fcfs"])
def test_measures_agree_with_a_reading_job_by_job(policy: str) -> None:
    made = synthetic(600, 16, load=1.1, seed=3)
    users = np.arange(600) % 5
    made = replace(made, user=users, queue=users % 2)
    choice = Measuring(warm_up=86400, cool_down=43200, slowdown_threshold=60)
    result = replay(made, policy=policy, procs=16)
    fcfs = replay(made, policy="fcfs", procs=16)
    found = measure(result, choice)
    log = result.workload
    begin, end = int(log.submit[0]) + 86400, int(log.submit[-1]) - 43200
    rows = [row for row in range(600) if begin <= log.submit[row] <= end]
    waits = [int(result.start[row] - log.submit[row]) for row in rows]
    slow = [
        max(1, (wait + int(log.run_time[row])) / max(60, int(log.run_time[row])))
        for row, wait in zip(rows, waits, strict=True)
    ]
    assert found.jobs == len(rows)
    assert found.mean_wait == pytest.approx(statistics.fmean(waits))
    assert found.mean_bounded_slowdown == pytest.approx(statistics.fmean(slow))
    late = [max(0, int(result.start[row] - fcfs.start[row])) for row in rows]
    assert found.mean_delay == pytest.approx(statistics.fmean(late))
    assert found.delayed_share == sum(each > 0 for each in late) / len(late)
    used = sum(
        int(log.procs[row])
        * max(
            0, min(end, int(result.start[row] + log.run_time[row])) - max(begin, result.start[row])
        )
        for row in range(600)
    )
    assert found.arrival_utilisation == pytest.approx(used / (16 * (end - begin)))
    sizes = [len(part) for part in np.array_split(waits, BATCHES)]
    means = [statistics.fmean(waits[sum(sizes[:n]) : sum(sizes[: n + 1])]) for n in range(BATCHES)]
    half = STUDENT_T * statistics.stdev(means) / math.sqrt(BATCHES)
    assert found.mean_wait_low == pytest.approx(found.mean_wait - half)
    assert found.mean_wait_high == pytest.approx(found.mean_wait + half)
    low, high = found.arrival_utilisation_low, found.arrival_utilisation_high
    assert low is not None
    assert high is not None
    assert low < found.arrival_utilisation < high


@pytest.mark.parametrize("kind", ["user", "size", "queue"])
def test_groups_add_up_to_all_jobs(kind: str) -> None:
    made = synthetic(600, 16, load=1.1, seed=3)
    made = replace(made, user=np.arange(600) % 5, queue=np.arange(600) % 2)
    log = sw.RecordedLog(replace(made, max_procs=16))
    result = sw.replay(log, policy="easy", warm_up="1d", by=[kind])
    whole, groups = result.metrics, [group.metrics for group in result.groups]
    assert len(groups) == {"user": 5, "size": 4, "queue": 2}[kind]
    assert sum(each.jobs for each in groups) == whole.jobs
    for name in ("mean_wait", "mean_bounded_slowdown", "delayed_share", "mean_delay"):
        weighted = sum(each.jobs * getattr(each, name) for each in groups)
        assert weighted == pytest.approx(whole.jobs * getattr(whole, name)), name
    for name in ("utilisation", "arrival_utilisation"):
        assert sum(getattr(each, name) for each in groups) == pytest.approx(getattr(whole, name))


def test_the_command_and_the_library_give_the_same_table(log: Path) -> None:
    options = (log, "--policy", "fcfs,easy", "--by", "user,queue", "--warm-up", "10s")
    rows = json.loads(run(*options, "--format", "json"))["rows"]
    read = sw.read_log(log)
    compared = sw.replay(read, policy=["fcfs", "easy"], by=["user", "queue"], warm_up=10)
    assert [{"log": str(log), **row} for row in compared.to_records()] == rows
    assert compared.to_frame()["mean_wait"].tolist() == [row["mean_wait"] for row in rows]
    table = list(csv.DictReader(io.StringIO(run(*options, "--format", "csv"))))
    assert [row["mean_wait"] for row in table] == [str(row["mean_wait"]) for row in rows]
    assert [(row["policy"], row["by"], row["group"]) for row in rows[:5]] == [
        ("fcfs", "all", ""),
        ("fcfs", "user", "1"),
        ("fcfs", "user", "2"),
        ("fcfs", "queue", "1"),
        ("fcfs", "queue", "2"),
    ]
    text = run(*options)
    assert "QUEUE  POLICY" in text
    one = json.loads(run(log, "--by", "queue", "--format", "json"))
    assert [group["group"] for group in one["groups"]] == ["1", "2"]
    metrics = {item.name for item in fields(Metrics)}
    assert metrics <= one.keys()
    assert metrics <= one["groups"][0].keys()
    assert compared["easy"].start.tolist() == [0, 100, 20, 150, 200]


@pytest.mark.parametrize(
    "options",
    [
        ("--from", "10", "--until", "200"),
        ("--from", "1996-10-01T00:00:10", "--until", "1996-10-01T00:03:20"),
        ("--from", "1996-09-30T22:00:10Z", "--until", "1996-10-01T00:03:20+02:00"),
        ("--from", "10s", "--until", "200s"),
    ],
)
def test_a_period_is_given_in_seconds_or_dates(tmp_path: Path, options: tuple[str, ...]) -> None:
    path = tmp_path / "log.swf"
    zero = int(datetime(1996, 9, 30, 22, tzinfo=UTC).timestamp())
    path.write_text(swf(header=f"; UnixStartTime: {zero}\n; TimeZoneString: Europe/Stockholm"))
    found = json.loads(run(path, *options, "--format", "json"))
    assert (found["jobs"], found["first_submit"]) == (3, 10)
    assert found["left_out"] == {OTHER_PERIOD: 2}


def test_a_time_counts_from_the_begin_of_the_log(tmp_path: Path) -> None:
    """Of logs whose seconds are those since 1970 too."""
    path = tmp_path / "log.swf"
    path.write_text(swf(tuple((job[0], job[1] + 10**9, *job[2:]) for job in JOBS)))
    found = json.loads(run(path, "--from", "10s", "--until", "200s", "--format", "json"))
    assert (found["jobs"], found["first_submit"]) == (3, 10**9 + 10)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--from", "1996-10-01"), "--from: 1996-10-01 is a date, but the log has no date"),
        (("--until", "soon"), "--until: must be a time"),
        (("--from", "500"), "no job is submitted from second 500"),
        (("--by", "host"), "unknown group 'host': use one of user, size, queue"),
        (("--warm-up", "-1"), "--warm-up: must be a positive time"),
        (("--slowdown-threshold", "fast"), "--slowdown-threshold: must be a duration"),
        (("--warm-up", "1d"), "no job is submitted between warm-up (86400 s)"),
        (("--policy", "easy,esy"), "unknown policy 'esy'"),
        (("--policy", "easy,easy"), "policy 'easy' is given twice"),
        (("--policy", "easy,fcfs", "--checkpoint", "x"), "--checkpoint requires one policy, not 2"),
    ],
)
def test_bad_choices_are_rejected(log: Path, options: tuple[str, ...], said: str) -> None:
    assert said in rejected(log, *options)


def test_a_skipped_preceding_job_is_counted(tmp_path: Path) -> None:
    """Job 4 is skipped: by the period, or since it has no run time."""
    path = tmp_path / "log.swf"
    path.write_text(swf())
    result = CliRunner().invoke(app, ["replay", str(path), "--from", "100"])
    assert f"slotwise: 1 × {SKIPPED_JOB}" in result.stderr.splitlines()
    path.write_text(swf((*JOBS[:3], (4, 30, 0, 3, 20, 2, 2, -1, -1), JOBS[4])))
    found = sw.replay(sw.read_log(path))
    assert dict(found.workload.notes) == {SKIPPED_JOB: 1}
    whole = Workload.of([0, 5], [1, 1], [1, 1], [1, 1])
    assert within(whole, None, None) is whole


def test_the_threshold_and_the_spans_are_read_as_durations(log: Path) -> None:
    read = sw.read_log(log)
    by_text = sw.replay(read, policy="fcfs", slowdown_threshold="1m", cool_down="2m").metrics
    by_seconds = sw.replay(read, policy="fcfs", slowdown_threshold=60, cool_down=120).metrics
    assert by_text == by_seconds
    assert by_text.jobs == 4
    assert by_text.max_bounded_slowdown == pytest.approx((120 + 20) / 60)
    with pytest.raises(sw.InputError, match="slowdown_threshold must be 1 or more"):
        sw.replay(read, slowdown_threshold=0)
    with pytest.raises(sw.InputError, match="at least one policy"):
        sw.replay(read, policy=[])
