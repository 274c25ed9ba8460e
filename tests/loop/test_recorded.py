"""A log beside its simulation: recorded waits, the cycle that fits, lives of hosts, its options."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from types import SimpleNamespace

import pytest
import slotwise as sw
from loop_lab import host, instance, job
from slotwise import Cluster, HostStatus, InputError, Instance
from slotwise.cli.main import app
from slotwise.cli.simulate import WAITS, fit_text, wait_table
from slotwise.model.sources.acct import read_acct
from slotwise.model.sources.log_lines import BadRecords
from slotwise.model.sources.lsf_state.event_log import host_lives
from slotwise.model.sources.lsf_state.log_records import parse_events, read_events
from slotwise.model.sources.trace import from_acct
from slotwise.solver.scheduler.metrics import compare_waits, fit_cycle
from slotwise.solver.scheduler.simulation import simulate
from typer.testing import CliRunner

DATA = Path(__file__).parents[1] / "data"
ACCT = DATA / "acct" / "lsb.acct.small-cluster"
EVENTS = DATA / "lsf" / "lsb.events"


def run(*arguments: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, [str(item) for item in arguments])
    if isinstance(result.exception, InputError):
        return 2, result.stdout, str(result.exception)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.stdout, result.stderr


def test_nothing_recorded_fits_nothing() -> None:
    assert fit_cycle(instance(host("A", 1), future=(job("a", 1),)), {}) is None


def test_where_no_length_fits_none_is_said_to() -> None:
    problem = instance(host("A", 1), future=(job("a", 1, submit=0), job("b", 1, submit=10)))
    fit = fit_cycle(problem, {"a": 10_000_003, "b": 20_000_003})
    assert fit is not None
    assert set(fit.close.values()) == {0}
    assert fit_text(fit).startswith("no cycle length fits the log: none of 2 jobs starts within")


def test_the_table_and_the_columns_say_the_same() -> None:
    _, text, _ = run("simulate", ACCT, "--cycle", 60)
    table = text.split("\n\n")[1].splitlines()
    assert [line.split()[0] for line in table] == ["QUEUE", "all", "sender"]
    shown = dict(zip(table[0].split(), table[1].split(), strict=True))
    _, text, _ = run("simulate", ACCT, "--cycle", 60, "--format", "csv")
    (row,) = csv.DictReader(io.StringIO(text))
    assert shown["JOBS"] == row["log_jobs"] == row["sender:jobs"] == "82"
    assert float(shown["REC_MEAN"]) == round(float(row["log_recorded_mean_wait"]), 1)
    assert float(shown["SIM_P95"]) == round(float(row["log_simulated_p95_wait"]), 1)


@pytest.mark.behaviour("CFG-04")
def test_hosts_that_come_and_go_explain_the_long_waits() -> None:
    """The real cluster had one host of its own and 20 of a cloud; jobs waited until these came."""
    bad = BadRecords()
    lives = host_lives(read_events(EVENTS, bad, {}))
    assert (bad.count, lives.configured, len(lives.first), len(lives.passing)) == (0, 1, 22, 21)
    plain = json.loads(run("simulate", ACCT, "--cycle", 1, "--format", "json")[1])
    code, text, said = run("simulate", ACCT, "--cycle", 1, "--events", EVENTS, "--format", "json")
    assert code == 0
    assert "20 of 21 hosts fail and return" in said
    with_lives = json.loads(text)["recorded"][0]
    assert with_lives["not_started"] == 0
    assert with_lives["mean_absolute_error"] < plain["recorded"][0]["mean_absolute_error"] / 4
    assert with_lives["close"] > plain["recorded"][0]["close"]


@pytest.mark.behaviour("CFG-04", "LOP-05")
def test_a_moment_of_a_real_log_planned_and_replayed_beside_what_was_recorded(
    tmp_path: Path,
) -> None:
    """lsb.events cut while jobs waited: a plan of them, and the loop from there to its end."""
    file, at = tmp_path / "then.yaml", 1643923500
    code, _, said = run("import", "events", EVENTS, "--at", at, "--with-future", "-o", file)
    assert code == 0, said
    then = sw.load(file)
    zero = at - then.now
    real = {item.id: item.start - zero for item in read_acct(ACCT).jobs}
    waiting = [item.id for item in then.pending]
    assert waiting
    assert all(real[name] > then.now for name in waiting)
    plan = sw.plan(then, method="time-based")
    assert sw.validate(then, plan) == []
    result = simulate(then, reservation="time-based", cycle=1)
    whole = compare_waits(result.jobs, real)[0]
    assert (whole.jobs, whole.not_started) == (7, 0)
    for name in waiting:
        assert plan[name].start == result[name].start
    assert whole.mean_absolute_error is not None


def start(number: int, time: int, *hosts: str) -> str:
    names = " ".join(f'"{name}"' for name in hosts)
    return f'"JOB_START" "10.1" {time} {number} 4 0 0 1.0 {len(hosts)} {names} "" "" 0 "" 0 ""'


def status(number: int, time: int, code: int) -> str:
    return f'"JOB_STATUS" "10.1" {time} {number} {code} 0 0 1.0 {time} 0 0 0'


LOG = (
    '"MBD_START" "10.1" 100 "m" "c" %d 2',
    start(1, 200, "a"),
    start(2, 300, "b", "c"),
    status(1, 400, 64),
    '"HOST_CTRL" "10.1" 450 2 "a" 0 "root" "broken"',
    status(2, 500, 64),
    start(3, 600, "b"),
    '"HOST_CTRL" "10.1" 700 1 "a" 0 "root" ""',
)


@pytest.mark.parametrize(
    ("configured", "wanted"),
    [
        (3, []),
        (9, []),
        (2, [(0, "c", "closed"), (200, "c", "open"), (400, "c", "closed")]),
        (
            1,
            [
                *((0, name, "closed") for name in "bc"),
                *((200, name, "open") for name in "bc"),
                (400, "c", "closed"),
            ],
        ),
    ],
)
def test_lives_from_a_log(configured: int, wanted: list[tuple[int, str, str]]) -> None:
    """b still runs a job when the log ends, so nobody knows its end; what is closed opens again."""
    bad = BadRecords()
    lines = [LOG[0] % configured, *LOG[1:]]
    lives = host_lives(parse_events(lines, bad, {}))
    assert bad.count == 0
    found = set(lives.changes(["a", "b", "c"], 100))
    controls = {HostStatus(350, "a", "closed"), HostStatus(600, "a", "open")}
    assert found == controls | {HostStatus(*item) for item in wanted}
    assert lives.changes(["x"], 100) == ()
    assert {change.time for change in lives.changes(["a"], 900)} == {0}


def test_what_goes_is_told_with_counts() -> None:
    line = ACCT.read_text().splitlines()[0]
    words = [line.replace('"sender" ""', f'"sender" "{asks}"', 1) for asks in (
        "span[hosts=1]", "select[mem>5]", "select[mem>9] rusage[mem=1]",
    )]  # fmt: skip
    assert words[0] != line
    from slotwise.model.sources.acct import parse_acct

    found = from_acct(parse_acct(words).jobs)
    assert [item.res_req for item in found.instance.future] == [("span[hosts=1]",), (), ()]
    assert {name.split()[0]: count for name, count in found.left_out.items()} == {
        "select[]": 2, "rusage[]": 1,
    }  # fmt: skip


def test_the_waits_fit_a_narrow_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = dict.fromkeys((field for _, field in WAITS), 12345.678)
    item = SimpleNamespace(queue="night", to_dict=lambda: {"queue": "night", **numbers})
    for columns in (60, 80, 200):
        monkeypatch.setenv("COLUMNS", str(columns))
        text = wait_table([item], Instance(Cluster(())))
        assert max(map(len, text.splitlines())) <= columns
        assert text.count("12345.7") == len(WAITS)
