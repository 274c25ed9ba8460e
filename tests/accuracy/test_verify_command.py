"""``slotwise score --snapshot``: text, JSON and CSV of one snapshot and its log."""

import csv
import io
import json
from pathlib import Path

import pytest
import slotwise as sw
from event_lines import job_new, job_start, job_status
from slotwise.cli.main import app
from typer.testing import CliRunner, Result

ZERO = 1_790_000_000
#: Job 1 runs on the one host; 2 and 3 wait. It ended an hour early, 3 is still pending.
EVENTS = [
    job_new(1, ZERO - 4000, slots=4, user="ann", queue="default"),
    job_start(1, ZERO - 3600, *["h"] * 4),
    job_new(2, ZERO - 600, slots=4, user="ann", queue="default"),
    job_new(3, ZERO - 500, slots=4, user="bob", queue="default"),
    job_status(1, ZERO + 60, 64),
    job_start(2, ZERO + 100, *["h"] * 4),
    job_new(4, ZERO + 200, slots=1, user="eve", queue="default"),
]


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    jobs = [
        sw.Job(name, 4, user=user, run_limit=7200, submit=submit)
        for name, user, submit in (("1", "ann", -4000), ("2", "ann", -600), ("3", "bob", -500))
    ]
    before = sw.Instance(
        sw.Cluster((sw.Host("h", 4),)),
        running=(sw.RunningJob(jobs[0], -3600, {"h": 4}),),
        pending=tuple(jobs[1:]),
        origin="2026-09-21T14:13:20+00:00",
    )
    (tmp_path / "before.yaml").write_text(sw.dump(before))
    (tmp_path / "lsb.events").write_text("\n".join([*EVENTS, ""]))
    return [str(tmp_path / "before.yaml"), str(tmp_path / "lsb.events")]


def run(before: str, log: str, *words: str) -> Result:
    found = CliRunner().invoke(app, ["score", "--snapshot", before, "--log", log, *words])
    assert found.exit_code == 0, found.output
    return found


def test_text_names_the_reason_of_each_row(files: list[str]):
    text = " ".join(run(*files).stdout.split())
    assert "earlier: job 1 finished early by 59m" in text
    assert "3 4 17:13:20 still pending at the end of the log" in text
    assert "all jobs as configured 1 58m 20s 58m 20s 58m 20s 58m 20s late 0% 100%" in text
    assert "1 of 2 jobs have no start in the log. Times are of 2026-09-21." in text


def test_json_and_csv_have_the_same_rows(files: list[str]):
    record = json.loads(run(*files, "--format", "json").stdout)
    rows = list(csv.DictReader(io.StringIO(run(*files, "--format", "csv").stdout)))
    assert [row["job"] for row in rows] == [job["job"] for job in record["jobs"]] == ["2", "3"]
    first = record["jobs"][0]
    assert (first["started"], first["late_by"], first["why"]) == (100, -3500, "finished early")
    assert sum(cause["seconds"] for cause in first["causes"]) == -3500
    assert first["started_time"] == rows[0]["started_time"] == "2026-09-21T14:15:00+00:00"
    assert [job["fate"] for job in record["jobs"]] == ["started", "pending"]
    chosen = json.loads(run(*files, "--format", "json", "--job", "3").stdout)["jobs"]
    assert [job["job"] for job in chosen] == ["3"]


def test_likely_and_possible_starts_are_compared_too(files: list[str], tmp_path: Path):
    log = tmp_path / "log.swf"
    lines = (f"{n} {n * 10} 0 3000 4 -1 -1 4 7200 -1 1 1 1 1 1 -1 -1 -1" for n in range(1, 30))
    log.write_text("\n".join([*lines, ""]))
    options = ["--history", str(log), "--samples", "8", "--possible", "--format", "json"]
    record = json.loads(run(*files, *options).stdout)
    estimators = {item["estimator"] for item in record["accuracy"]}
    assert {"as_configured", "likely", "possible"} <= estimators
