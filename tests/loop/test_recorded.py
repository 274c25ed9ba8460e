"""A log beside its simulation: recorded waits, the cycle that fits, lives of hosts, its options."""

from __future__ import annotations

import csv
import io
import json
import statistics
from pathlib import Path
from types import SimpleNamespace

import pytest
import slotwise as sw
from loop_lab import MINUTE, host, instance, job, running
from sampling import some
from slotwise import Cluster, HostStatus, InputError, Instance, dump
from slotwise.cli.main import app
from slotwise.cli.simulate import WAITS, fit_text, wait_table
from slotwise.model.resreq.partly import hostless
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


@pytest.mark.behaviour("LOP-05")
def test_waits_and_errors_are_those_of_the_starts() -> None:
    problem = instance(
        host("A", 2),
        future=(
            job("a", 2, minutes=10, submit=0),
            job("b", 2, minutes=10, submit=30),
            job("c", 2, minutes=10, submit=60, project="x"),
            job("never", 9, submit=0),
            job("unknown", 1, minutes=1, submit=5000),
        ),
    )
    result = simulate(problem, cycle=0)
    recorded = {"a": 4, "b": 700, "c": 1100, "never": 50}
    whole, queue = compare_waits(result.jobs, recorded)
    assert (whole.queue, queue.queue) == ("", "q")
    assert (whole.jobs, whole.not_started) == (3, 1)
    waits, real = [0, 570, 1140], [4, 670, 1040]
    errors = [0 - 4, 600 - 700, 1200 - 1100]
    assert whole.simulated_mean_wait == pytest.approx(statistics.mean(waits))
    assert whole.recorded_mean_wait == pytest.approx(statistics.mean(real))
    assert (whole.simulated_median_wait, whole.recorded_median_wait) == (570, 670)
    assert whole.mean_absolute_error == pytest.approx(statistics.mean(map(abs, errors)))
    assert (whole.median_error, whole.p5_error) == (-4, pytest.approx(-100 + 0.1 * 96))
    assert whole.close == 1
    assert queue.to_dict() == {**whole.to_dict(), "queue": "q"}
    (empty,) = compare_waits(result.jobs, {})
    assert (empty.jobs, empty.recorded_mean_wait, empty.p95_error) == (0, None, None)


def test_estimates_are_compared_with_what_was_recorded() -> None:
    problem = instance(
        host("A", 2),
        running=(running("r", {"A": 2}, 20, run_time=5 * MINUTE),),
        pending=(job("p", 2, minutes=10),),
    )
    result = simulate(problem, reservation="time-based", cycle=0)
    (whole, _) = compare_waits(result.jobs, {"p": 900})
    assert (whole.estimates, whole.estimate_mean_absolute_error) == (1, 300)


@pytest.mark.parametrize("cycle", some([1, 5, 15, 60, 300], 2))
def test_the_cycle_of_a_log_is_found_again(cycle: int) -> None:
    future = tuple(
        job(f"j{n}", 1, submit=n * 37 + n * n % 11, run_time=20 + n % 90) for n in range(120)
    )
    problem = instance(host("A", 3), future=future)
    recorded = simulate(problem, reservation="none", cycle=cycle).starts
    fit = fit_cycle(problem, recorded)
    assert fit is not None
    assert (fit.cycle, fit.close[cycle]) == (cycle, 120)
    assert all(close < 120 for length, close in fit.close.items() if abs(length - cycle) > 5)


def test_nothing_recorded_fits_nothing() -> None:
    assert fit_cycle(instance(host("A", 1), future=(job("a", 1),)), {}) is None


def test_a_length_with_which_nothing_starts_is_the_worst() -> None:
    """The host is there from second 10 to 100 alone: cycles of 120 s and more miss it."""
    problem = instance(host("A", 1), future=(job("a", 1, submit=5, run_time=20),))
    lives = [HostStatus(0, "A", "down"), HostStatus(10, "A", "up"), HostStatus(100, "A", "down")]
    fit = fit_cycle(problem, {"a": 1_000}, lives)
    assert fit is not None
    assert set(fit.close.values()) == {0}
    assert fit.cycle == 60  # starts at second 60, nearest to the recorded start


def test_where_no_length_fits_none_is_said_to() -> None:
    problem = instance(host("A", 1), future=(job("a", 1, submit=0), job("b", 1, submit=10)))
    fit = fit_cycle(problem, {"a": 10_000_003, "b": 20_000_003})
    assert fit is not None
    assert set(fit.close.values()) == {0}
    assert fit_text(fit).startswith("no cycle length fits the log: none of 2 jobs starts within")


@pytest.mark.behaviour("LOP-07", "CFG-04")
def test_a_real_log_beside_its_simulation(tmp_path: Path) -> None:
    """82 jobs of LSF 10.1: at cycles of a minute 3 start when they did, at the fitted length 70."""
    jobs = tmp_path / "jobs.json"
    code, text, said = run("simulate", ACCT, "--format", "json", "--jobs", jobs)
    assert code == 0
    found = json.loads(text)
    assert found["cycle_fit"]["close"]["60"] == 3
    assert found["cycle_fit"]["close"]["1"] == 70
    assert found["cycle"] == found["cycle_fit"]["cycle"] <= 5
    assert found["origin"] == "2022-02-03T17:40:37+00:00"
    assert [item["queue"] for item in found["recorded"]] == ["", "sender"]
    assert found["recorded"][0]["close"] == 70
    assert f"cycles every {found['cycle']} s fit the log best" in said
    log = {item.id: item for item in read_acct(ACCT).jobs}
    for record in json.loads(jobs.read_text()):
        real = log[record["job"]]
        assert record["recorded_wait"] == real.start - real.submit
        assert record["recorded_error"] == record["start"] - record["recorded_start"]
    waits = sorted(item.start - item.submit for item in log.values())
    assert found["recorded"][0]["recorded_mean_wait"] == pytest.approx(statistics.mean(waits))
    given = json.loads(run("simulate", ACCT, "--cycle", 60, "--format", "json")[1])
    assert "cycle_fit" not in given
    assert given["recorded"][0]["close"] == 3


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


@pytest.mark.parametrize(
    ("text", "kept", "gone"),
    [
        ("span[hosts=1]", "span[hosts=1]", ()),
        ("span[ptile=2]", "span[ptile=2]", ()),
        ("select[type == any] order[r15s:pg] span[hosts=1]", "span[hosts=1]", ()),
        ("select[type==local && type==any]", "", ()),
        ("select[mem>10] span[ptile=2]", "span[ptile=2]", ("select",)),
        ("rusage[mem=10,lic=1] same[type]", "", ("rusage", "same")),
        ("cu[maxcus=2]", "", ("cu",)),
        ("4*{span[hosts=1]} + 2*{span[ptile=1]}", "4*{span[hosts=1]} + 2*{span[ptile=1]}", ()),
        ("4*{span[hosts=1]} + 3*{span[ptile=1]}", "", ("compound",)),
        ("4*{select[mem>1]} + 2*{span[hosts=1]}", "", ("select",)),
        ("span[hosts=", "", ("unreadable",)),
    ],
)
def test_what_needs_no_host_attribute_is_kept(text: str, kept: str, gone: tuple[str, ...]) -> None:
    assert hostless(text, 6) == (kept, gone)


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


SWF = "; MaxProcs: 4\n1 0 5 10 3 -1 -1 3 10 -1 1 1 1 -1 1 -1 -1 -1\n"
POOL = {"procs": 4, "free": 4, "running": [], "queue": []}


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    """One file of each kind, and what options name."""
    made = {"swf": tmp_path / "log.swf", "pool": tmp_path / "pool.json", "acct": ACCT}
    made |= {"instance": tmp_path / "i.yaml", "changes": tmp_path / "c.yaml", "events": EVENTS}
    made["swf"].write_text(SWF)
    made["pool"].write_text(json.dumps(POOL))
    # With the hosts of the log, so that it can run one.
    cluster = from_acct(read_acct(ACCT).jobs).instance
    made["instance"].write_text(dump(sw.load(sw.example("headline"))))
    made["cluster"] = tmp_path / "cluster.yaml"
    from dataclasses import replace

    made["cluster"].write_text(dump(replace(cluster, future=(), origin=None)))
    made["changes"].write_text("format: slotwise-changes/1\nchanges: []\n")
    return made


#: Of each option of `simulate` that not every kind of input takes: those that do.
APPLIES = {
    ("--hosts", "2"): {"swf"},
    ("--cluster", "cluster"): {"swf", "acct"},
    ("--keep-going",): {"swf", "acct"},
    ("--events", "events"): {"acct"},
    ("--changes", "changes"): {"swf", "acct", "instance", "pool"},
    ("--cycle", "30"): {"swf", "acct", "instance", "pool"},
    ("--until", "1h"): {"swf", "acct", "instance", "pool"},
    ("--reservation", "greedy"): {"swf", "acct", "instance", "pool"},
    ("--reservations", "2", "--reservation", "time-based"): {"swf", "acct", "instance", "pool"},
    ("--reservations", "2", "--reservation", "greedy"): set(),
    ("--reservations", "2", "--reservation", "none"): set(),
    ("--checkpoint-every", "5m"): set(),
    ("--shares", "shares.csv"): set(),
    ("--policy", "easy"): set(),
    ("--procs", "4"): set(),
    ("--schedule-after", "event"): set(),
    ("--example", "headline"): set(),
}


@pytest.mark.parametrize("kind", ["swf", "acct", "instance", "pool"])
@pytest.mark.parametrize("option", APPLIES, ids=" ".join)
def test_an_option_applies_or_is_refused(
    files: dict[str, Path], kind: str, option: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(files["swf"].parent)
    words: list[object] = [files.get(word, word) for word in option]
    if kind == "swf" and option[0] not in ("--hosts", "--cluster"):
        words += ["--hosts", "2"]
    if kind == "acct" and option[0] != "--cycle":
        words += ["--cycle", "30"]
    code, text, said = run("simulate", files[kind], *words)
    if kind in APPLIES[option]:
        assert (code, bool(text)) == (0, True), said
    else:
        assert (code, text) == (2, "")
        assert option[0].lstrip("-") in said
    assert not Path("shares.csv").exists()


def test_two_sources_of_hosts_are_refused(files: dict[str, Path]) -> None:
    code, _, said = run("simulate", files["swf"], "--hosts", 2, "--cluster", files["instance"])
    assert code == 2
    assert "not both" in said


def test_the_waits_fit_a_narrow_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = dict.fromkeys((field for _, field in WAITS), 12345.678)
    item = SimpleNamespace(queue="night", to_dict=lambda: {"queue": "night", **numbers})
    for columns in (60, 80, 200):
        monkeypatch.setenv("COLUMNS", str(columns))
        text = wait_table([item], Instance(Cluster(())))
        assert max(map(len, text.splitlines())) <= columns
        assert text.count("12345.7") == len(WAITS)
