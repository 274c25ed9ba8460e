"""SWF logs as people have them: dates, queues, fractions, parts of jobs, missing requests."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import slotwise as sw
from slotwise import InputError
from slotwise.cli.main import app
from slotwise.model.sources.swf import (
    PRECEDING_IGNORED,
    ROUNDED,
    parse_swf,
    read_swf,
)
from slotwise.model.workload import canonical
from slotwise.solver.replay import replay
from typer.testing import CliRunner

pytestmark = pytest.mark.behaviour("CFG-04")

HEADER = "; UnixStartTime: 843480031\n; TimeZoneString: Europe/Stockholm\n; MaxProcs: 10\n"
JOBS = (
    "1 0 0 400 4 -1 -1 4 600 -1 1 1 1 -1 1 -1 -1 -1\n"
    "2 3 397 20 8 -1 -1 8 30 -1 1 2 1 -1 2 -1 1 30\n"
)


TITLE = "JobID Submit Wait Run Procs Cpu Mem ReqProcs ReqTime ReqMem Status U G E Q P Before Think"


def line(number: int, **changed: object) -> str:
    """A record; c2="5.5" replaces its second column."""
    words = f"{number} 0 0 100 4 -1 -1 4 600 -1 1 1 1 -1 1 -1 -1 -1".split()
    for name, word in changed.items():
        words[int(name[1:]) - 1] = str(word)
    return " ".join(words)


def run(*words: object) -> tuple[int, str]:
    """Exit code and everything that a command printed."""
    result = CliRunner().invoke(app, [str(word) for word in words])
    said = f"{result.output}{result.exception or ''}"
    return (2 if isinstance(result.exception, InputError) else result.exit_code), said


def test_times_are_rounded_up_and_counted() -> None:
    lines = [line(1, c2="3.5", c3="6.75", c4="10.25", c9="20.0"), line(2, c2="1e1")]
    log = parse_swf(lines)
    assert not log.problems
    assert (log.workload.submit[0], log.wait[0], log.workload.run_time[0]) == (4, 7, 11)
    assert log.workload.notes == {ROUNDED: 1}


def test_a_fraction_of_a_processor_is_malformed() -> None:
    assert "must be a whole number" in parse_swf([line(1, c8="1.5")]).problems[0].message


def test_a_second_title_is_a_malformed_record() -> None:
    assert len(parse_swf([TITLE, TITLE, line(1)]).problems) == 1
    assert len(parse_swf([line(1), TITLE]).problems) == 1
    assert len(parse_swf(["job submit", line(1)]).problems) == 1


def test_the_same_number_without_such_a_status_is_still_refused() -> None:
    assert "already used" in parse_swf([line(1), line(1)]).problems[0].message


@pytest.mark.parametrize(
    ("header", "origin"),
    [
        (HEADER, "1996-09-23T14:00:31+02:00"),
        ("; UnixStartTime: 843480031\n; TimeZone: 3600\n", "1996-09-23T13:00:31+01:00"),
        ("; UnixStartTime: 843480031\n; TimeZoneString: Nowhere\n", "1996-09-23T12:00:31+00:00"),
        ("; UnixStartTime: 843480031\n; TimeZone: 999999\n", "1996-09-23T12:00:31+00:00"),
        ("; UnixStartTime: 0\n", None),
        ("", None),
    ],
)
def test_the_date_of_second_zero(header: str, origin: str | None) -> None:
    found = parse_swf(header.splitlines()).origin
    assert (None if found is None else found.isoformat()) == origin


@pytest.mark.parametrize("at", ["1996-09-24T14:02:11+02:00", "1990-01-01T00:00:00Z", "5000"])
def test_a_moment_outside_the_log_is_refused(tmp_path: Path, at: str) -> None:
    log = tmp_path / "log.swf"
    log.write_text(HEADER + JOBS)
    code, said = run("import", "swf", log, "--at", at)
    assert code == 2
    assert "outside the log" in said
    assert "1996-09-23T14:07:31+02:00" in said


def test_a_date_needs_a_log_that_says_its_own(tmp_path: Path) -> None:
    log = tmp_path / "log.swf"
    log.write_text("; MaxProcs: 10\n" + JOBS)
    code, said = run("import", "swf", log, "--at", "1996-09-23T14:02:11+02:00")
    assert code == 2
    assert "UnixStartTime" in said


@pytest.mark.behaviour("DEP-06")
def test_what_follows_another_job_waits_for_it(tmp_path: Path) -> None:
    log = tmp_path / "log.swf"
    log.write_text("; MaxProcs: 10\n" + JOBS)
    command = ["simulate", str(log), "--hosts", "1", "--cycle", "0", "--format", "json"]
    simulated = json.loads(CliRunner().invoke(app, command).stdout)
    assert (simulated["last_end"], simulated["mean_wait"]) == (450, 0.0)  # job 2 starts at 430
    assert simulated["omissions"] == []
    found = replay(read_swf(log).workload)
    assert found.start.tolist() == [0, 430]
    assert found.wait.tolist() == [0, 0]
    assert PRECEDING_IGNORED in run("backtest", log)[1]
    cut = tmp_path / "cut.yaml"
    assert run("import", "swf", log, "--at", "100", "-o", cut)[0] == 0
    (waits,) = sw.load(cut).pending
    assert (waits.dependency, waits.think_time) == ("ended(1)", 30)
    assert sw.plan(sw.load(cut))["2"].start == 630  # by the limit of job 1
    assert sw.plan(sw.load(cut))["2"].proved


def test_a_limit_where_the_log_has_none(tmp_path: Path) -> None:
    file = tmp_path / "log.swf"
    file.write_text("\n".join([line(1, c9=-1), line(2, c9=-1, c4=90_000), line(3)]))
    assert len(canonical(sw.read_log(file).workload, 10)) == 1
    for text, limits in {"2x": [200, 180_000, 600], "12h": [43_200, 90_000, 600]}.items():
        made = sw.read_log(file, default_limit=text).workload
        assert made.req_time.tolist() == limits
        assert list(made.notes.values()) == [2]
        assert len(canonical(made, 10)) == 3


@pytest.mark.parametrize("text", ["", "0x", "0.5x", "x", "0", "soon", "-2x", "-1h"])
def test_a_limit_that_is_none_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "log.swf").write_text(line(1))
    with pytest.raises(InputError, match="default_limit: must be a time such as 12h"):
        sw.read_log(tmp_path / "log.swf", default_limit=text)


@pytest.mark.parametrize("command", ["replay", "backtest", "simulate", "import"])
def test_a_log_without_requests_says_what_helps(tmp_path: Path, command: str) -> None:
    log = tmp_path / "log.swf"
    log.write_text("; MaxProcs: 10\n" + "\n".join(line(n, c9=-1, c8=10) for n in range(1, 20)))
    words = ["import", "swf"] if command == "import" else [command]
    hosts = ["--hosts", 1] if command == "simulate" else []
    code, said = run(*words, log, *hosts)
    assert code == 2
    assert "--default-limit" in said
    policy = ["--policy", "easy", "--at", 50] if command == "import" else []
    code, said = run(*words, log, *hosts, *policy, "--default-limit", "2x")
    assert code == 0
    assert "19 × no requested time in the log: 2x of the run time taken" in said


def test_later_bursts_have_no_time_of_submission(tmp_path: Path) -> None:
    burst = "{} {} {} {} 4 -1 -1 4 400 -1 {} 1 1 1 1 -1 -1 -1\n"
    log = tmp_path / "log.swf"
    lines = [
        burst.format(1, -1, 50, 70, 3),
        burst.format(1, 10, 5, 100, 2),
        burst.format(2, 20, 0, 10, 1),
    ]
    log.write_text("; MaxProcs: 4\n" + "".join(lines))
    read = read_swf(log).workload
    assert read.job.tolist() == [1, 2]
    assert (read.submit.tolist(), read.run_time.tolist()) == ([10, 20], [170, 10])
    log.write_text("; MaxProcs: 4\n" + lines[0] + lines[2])
    with pytest.raises(InputError, match="must have a submit time of 0 or more"):
        read_swf(log)
    log.write_text("; MaxProcs: 4\n" + burst.format(1, -1, 5, 100, 1))
    with pytest.raises(InputError, match="submit time must be 0 or more, not -"):
        read_swf(log)
