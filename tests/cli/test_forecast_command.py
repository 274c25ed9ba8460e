"""``slotwise forecast`` and ``slotwise backtest``: text, JSON, CSV, what is refused."""

from __future__ import annotations

import csv
import io
import json
import random
import re
from pathlib import Path

import pytest
import slotwise as sw
from slotwise import InputError
from slotwise.cli.forecast import calibration_of_file
from slotwise.cli.main import app
from slotwise.model.sources.acct import split
from synthetic_log import synthetic
from typer.testing import CliRunner

PROCS = 16
ACCT = Path(__file__).parents[1] / "data" / "acct"
RUNNER = CliRunner()


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    work = synthetic(400, PROCS, load=1.1, seed=4)
    columns = (work.job, work.submit, work.run_time, work.procs, work.req_time)
    lines = [f"; MaxProcs: {PROCS}"]
    for number, submit, run, procs, limit in zip(*(c.tolist() for c in columns), strict=True):
        user = number % 5
        lines.append(
            f"{number} {submit} -1 {run} {procs} -1 -1 {procs} {limit} -1 1 {user} 1 1 1 1 -1 -1"
        )
    path = tmp_path_factory.mktemp("log") / "log.swf"
    path.write_text("\n".join([*lines, ""]))
    return path


@pytest.fixture(scope="module")
def moment(log):
    path = log.with_name("now.yaml")
    found = RUNNER.invoke(
        app, ["import", "swf", str(log), "--policy", "easy", "--at", "600000", "-o", str(path)]
    )
    assert found.exit_code == 0, found.output
    return path


def _run(*arguments):
    return RUNNER.invoke(app, [str(argument) for argument in arguments])


def _forecast(moment, log, *more):
    return _run("forecast", moment, "--history", log, "--samples", 30, *more)


def test_json_csv_text_and_the_library_say_the_same(moment, log):
    record = json.loads(_forecast(moment, log, "--format", "json", "--by", "1h").stdout)
    instance = sw.load(moment)
    library = sw.forecast(instance, log, samples=30)
    # The command says of jobs without a start what state they are in.
    assert {job.pop("state") for job in record["jobs"]} == {"starts"}
    assert record["jobs"] == library.records(instance.now + 3600)
    assert record["by"] == instance.now + 3600
    assert record["samples"] == 30
    assert len(record["jobs"]) == len(instance.pending) > 3
    rows = list(csv.DictReader(io.StringIO(_forecast(moment, log, "--format", "csv").stdout)))
    for row, job in zip(rows, record["jobs"], strict=True):
        for key in ("job", "by_limits", "likely", "nine_in_ten_by", "one_in_ten_by"):
            assert row[key] == str(job[key])
        assert job["one_in_ten_by"] <= job["likely"] <= job["nine_in_ten_by"]
        assert 0 <= job["chance"] <= 1
    named = _forecast(moment, log, "--format", "csv", "--by", "1h").stdout
    by = {(row["by"], row["chance"]) for row in csv.DictReader(io.StringIO(named))}
    assert by == {(str(record["by"]), str(job["chance"])) for job in record["jobs"]}
    text = _forecast(moment, log, "--top", "0", "--by", "1h").stdout
    for word in ("BY LIMITS", "LIKELY", "9 IN 10 BY", "1 IN 10 BY", "BY +1h", "not calibrated"):
        assert word in text
    for job in record["jobs"]:
        assert f" {job['job']} " in text


def test_seeds(moment, log):
    one, again, other = (
        _forecast(moment, log, "--format", "json", "--seed", seed).stdout for seed in (1, 1, 2)
    )
    assert one == again != other


def test_the_strip_is_where_the_samples_are(moment, log):
    from slotwise.cli.forecast import STRIP, _strips

    found = sw.forecast(sw.load(moment), log, samples=30)
    for waits, strip in zip(found.waits, _strips(found), strict=True):
        assert len(strip) == STRIP
        span = found.bounds[1].max() - found.now
        for place, mark in enumerate(strip):
            low, high = span * place / STRIP, span * (place + 1) / STRIP
            inside = ((waits >= low) & (waits < high)).any() or (
                place == STRIP - 1 and (waits == high).any()
            )
            assert (mark != "·") == inside


@pytest.mark.parametrize(
    ("more", "wrong"),
    [
        (("--by", "soon"), "--by: must be a time"),
        (("--by", "2026-01-01T00:00:00Z"), "--by: a time stamp needs an origin"),
        (("--job", "nobody"), "unknown pending job 'nobody'"),
        (("--calibration", "none.json"), "No such file"),
    ],
)
def test_what_is_refused(moment, log, more, wrong):
    found = _forecast(moment, log, *more)
    assert isinstance(found.exception, InputError)
    assert wrong in str(found.exception)


def test_a_history_is_needed_and_samples_too(moment, log):
    missing = _run("forecast", moment)
    assert str(missing.exception).startswith("forecast needs --history FILE: Log of finished jobs")
    refused = _forecast(moment, log, "--samples", 0)
    assert str(refused.exception).startswith("--samples: must be a whole number of at least 1")


def test_a_backtest_as_json_calibrates_a_forecast(moment, log, tmp_path):
    options = ("--questions", 30, "--samples", 10)
    found = _run("backtest", log, *options, "--format", "json")
    assert found.exit_code == 0, found.output
    record = json.loads(found.stdout)
    assert record["jobs"] == 30
    assert record["calibration"]["forecasts"] == 30
    assert [group["by"] for group in record["groups"]][:2] == ["all", "size"]
    assert [row["level"] for row in record["reliability"]] == [n / 10 for n in range(1, 10)]
    path = tmp_path / "b.json"
    path.write_text(found.stdout)
    raw, calibrated = (
        json.loads(_forecast(moment, log, "--format", "json", *more).stdout)
        for more in ((), ("--calibration", path))
    )
    assert calibrated["calibration"] == record["calibration"]
    now, factor = raw["now"], record["calibration"]["late"]
    for one, other in zip(raw["jobs"], calibrated["jobs"], strict=True):
        assert other["likely"] == one["likely"]
        drawn = (one["nine_in_ten_by"] - now) / raw["calibration"]["late"]
        expected = max(drawn * factor, one["likely"] - now)
        assert other["nine_in_ten_by"] - now == pytest.approx(expected, abs=1)
    text = _forecast(moment, log, "--calibration", path).stdout
    assert "calibrated by 30 past forecasts" in " ".join(text.split())
    path.write_text("{}")
    assert "has no calibration" in str(_forecast(moment, log, "--calibration", path).exception)


def test_no_flipped_bit_of_a_backtest_changes_a_calibration(moment, log, tmp_path, capsys):
    """1,000 of them: refused, or told as without a checksum and the same."""
    path = tmp_path / "backtest.json"
    options = ("--questions", 30, "--samples", 10, "--format", "json")
    data = _run("backtest", log, *options).stdout.encode()
    path.write_bytes(data)
    right, rng = calibration_of_file(path), random.Random(40)
    assert capsys.readouterr().err == ""
    accepted = 0
    for _ in range(1000):
        changed = bytearray(data)
        changed[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        path.write_bytes(changed)
        try:
            assert calibration_of_file(path) == right
        except InputError:
            continue
        accepted += 1
    assert accepted < 10


def test_a_forecast_may_calibrate_itself(moment, log):
    options = ("--format", "json", "--calibrate", 25)
    record = json.loads(_forecast(moment, log, *options).stdout)
    expected = sw.forecast(sw.load(moment), log, samples=30, calibrate=25)
    assert record["calibration"]["forecasts"] == 25
    assert [{k: v for k, v in job.items() if k != "state"} for job in record["jobs"]] == (
        expected.records()
    )
    text = _forecast(moment, log, "--calibrate", 25).stdout
    assert "calibrated by 25 past forecasts" in " ".join(text.split())
    few = _forecast(moment, log, "--calibrate", 5).stdout
    assert "not calibrated (5 past forecasts known, 20 are needed)" in " ".join(few.split())
    path = log.with_name("calibration.json")
    path.write_text(json.dumps(record))
    both = _forecast(moment, log, "--calibrate", 25, "--calibration", path)
    assert "give one of them" in str(both.exception)


def test_a_backtest_as_text_csv_records_and_picture(log, tmp_path):
    options = ("--questions", 12, "--samples", 8)
    text = _run("backtest", log, *options).stdout
    for word in ("by limits", "last two", "history", "forecast", "calibrated", "stated", "size"):
        assert word in text
    records, picture = tmp_path / "jobs.csv", tmp_path / "r.svg"
    drawn = ("--jobs", records, "--picture", picture)
    found = _run("backtest", log, *options, "--format", "csv", *drawn)
    assert found.exit_code == 0, found.output
    rows = list(csv.DictReader(io.StringIO(found.stdout)))
    assert [row["estimator"] for row in rows[:2]] == ["by limits", "last two"]
    jobs = list(csv.DictReader(records.open()))
    assert len(jobs) == 12
    errors = [abs(int(job["p50"]) - int(job["wait"])) for job in jobs]
    assert float(rows[3]["mean_error"]) == pytest.approx(sum(errors) / 12)
    first = picture.read_bytes()
    assert b"<svg" in first
    assert b"stated probability of a start" in first
    _run("backtest", log, *options, "--picture", picture)
    assert picture.read_bytes() == first


def test_a_backtest_over_hosts(log, tmp_path):
    records = log.read_text().splitlines()
    short, cluster = tmp_path / "short.swf", tmp_path / "cluster.yaml"
    short.write_text("\n".join([*records[:61], ""]))
    cluster.write_text(
        "format: slotwise/1\nhosts:\n  - {name: a, slots: 8}\n  - {name: b, slots: 8}\n"
    )
    options = ("--cluster", cluster, "--questions", 3, "--samples", 2)
    found = _run("backtest", short, *options, "--format", "json")
    assert found.exit_code == 0, found.output
    record = json.loads(found.stdout)
    assert (record["hosts"], record["jobs"]) == (2, 3)
    assert record["groups"][0]["jobs"] == 3
    wrong = str(_run("backtest", log, *options, "--policy", "fcfs", "--procs", 3).exception)
    assert "--policy fcfs applies to a pool only" in wrong
    assert "--procs 3 applies to a pool only" in wrong


def test_a_backtest_of_accounting_records_is_that_of_the_same_log(log, tmp_path, capfd):
    """An lsb.acct with the waits of a replay: the same plans, and jobs and queues by name."""
    jobs = tmp_path / "replay.csv"
    assert _run("replay", log, "--jobs", jobs).exit_code == 0
    good = (ACCT / "lsb.acct.small-cluster").read_text().splitlines()[0]
    begin, lines = 1_600_000_000, []
    for row in csv.DictReader(jobs.open()):
        submit, start, end = (begin + int(row[name]) for name in ("submit", "start", "end"))
        record = split(good)
        record[2], record[3], record[6] = str(end), row["job"], row["procs"]
        record[7], record[10], record[12] = str(submit), str(start), "q" + str(int(row["job"]) % 2)
        asked = int(record[22])
        assert (asked, record[23]) == (0, "1")
        record[24] = f"{row['procs']}*{record[24]}"
        limit = len(record) - 1 - record[::-1].index("4194304") - 1
        record[limit] = row["req_time"]
        lines.append(" ".join(_field(word) for word in record))
    acct = tmp_path / "lsb.acct"
    acct.write_text("\n".join([*lines, ""]))
    options = ("--questions", 12, "--samples", 4)
    out, again = tmp_path / "acct.csv", tmp_path / "swf.csv"
    found = _run("backtest", acct, *options, "--jobs", out, "--procs", PROCS)
    assert found.exit_code == 0, found.output
    assert "queue q0" in found.stdout
    assert _run("backtest", log, *options, "--jobs", again).exit_code == 0
    rows, expected = (list(csv.DictReader(path.open())) for path in (out, again))
    for name in ("job", "submit", "procs", "wait", "by_limits"):
        shift = begin if name == "submit" else 0
        assert [int(row[name]) - shift for row in rows] == [int(row[name]) for row in expected]
    found = _run("backtest", acct, *options, "--format", "json")
    assert json.loads(found.stdout)["procs"] == PROCS  # the log is so busy that all were in use
    none = str(_run("backtest", ACCT / "lsb.acct.small-cluster").exception)
    assert "has a run limit" in none


def _field(word):
    return (
        word
        if re.fullmatch(r"-?\d+(\.\d{2,})?", word) and word != "10.108"
        else chr(34) + word + chr(34)
    )


def test_a_backtest_takes_a_log_and_pictures_have_names(moment, log, tmp_path):
    assert "is an instance file, not a log" in str(_run("backtest", moment).exception)
    found = _run("backtest", log, "--picture", tmp_path / "r.gif")
    assert ".png or .svg" in str(found.exception)
    empty = tmp_path / "empty.swf"
    empty.write_text("; MaxProcs: 4\n")
    assert "give a log with waiting jobs" in str(_run("backtest", empty).exception)
    assert "has no finished jobs" in str(_forecast(moment, empty).exception)


def test_an_interrupt_before_the_first_future_gives_no_answer(log, monkeypatch):
    from contextlib import nullcontext

    from slotwise.cli import forecast, process

    cancel = process.Cancel()
    cancel.set()
    monkeypatch.setattr(forecast, "cancel_on_signal", lambda: nullcontext(cancel))
    found = _run("forecast", "--example", "headline", "--history", log)
    assert found.exit_code == 130
    assert not found.stdout


@pytest.mark.parametrize(
    ("more", "wrong"),
    [
        (("--by=99999999999999999999",), "--by: must be at most "),
        (("--by=-1",), "--by: must be now or later, not '-1'"),
        (("--by=-2h",), "--by: must be now or later, not '-2h'"),
    ],
)
def test_moments_that_are_refused(moment, log, more, wrong):
    found = _forecast(moment, log, *more)
    assert isinstance(found.exception, InputError)
    assert str(found.exception).startswith(wrong)


@pytest.mark.parametrize("text", ["hello there\n" * 40, "1 2 3\n" * 3, "a,b\n1,2\n"])
@pytest.mark.parametrize("more", [(), ("--keep-going",)])
def test_a_history_that_is_no_log_is_one_line(moment, tmp_path, text, more):
    path = tmp_path / "notes.txt"
    path.write_text(text)
    found = _forecast(moment, path, *more)
    assert isinstance(found.exception, InputError)
    (problem,) = found.exception.problems
    assert "is not a log (SWF, lsb.acct, lsb.events or a table of sacct -P)" in str(problem)


def test_a_log_with_malformed_lines_still_names_each(moment, log, tmp_path):
    path = tmp_path / "log.swf"
    path.write_text("what\n" + log.read_text() + "ever\n")
    found = _forecast(moment, path)
    assert len(found.exception.problems) == 2


def test_a_job_that_never_fits_has_its_reason(log, tmp_path):
    from slotwise.model.cluster import Cluster, Host
    from slotwise.model.instance import Instance
    from slotwise.model.job import Job

    jobs = (Job("1", 2, run_limit=3600), Job("big", 8, run_limit=600))
    path = tmp_path / "now.yaml"
    path.write_text(sw.dump(Instance(Cluster((Host("h", 4),)), pending=jobs, now=600_000)))
    found = _forecast(path, log)
    reason = sw.compare(sw.load(path))["big"].condition
    assert reason == "needs 8 free slots (has 4)"
    told = f"job big cannot start on this cluster: {reason}"
    assert told in found.stderr
    assert "impossible" in found.stdout
    (big,) = json.loads(_forecast(path, log, "--job", "big", "--format", "json").stdout)["jobs"]
    assert big["state"] == "impossible"
    assert "job 1 " not in found.stderr
    assert told not in _forecast(path, log, "--job", "1").stderr
