"""A job with a begin time (-b) says so in every view."""

import json
from pathlib import Path

import pytest
from loop_lab import HOUR, host, instance, job, run, running
from slotwise.cli.main import app
from slotwise.solver.scheduler.history import snapshot_of
from typer.testing import CliRunner

REASON = "its begin time (-b)"
SITE = """\
format: slotwise/1
hosts: [{name: h1, slots: 4}]
queues: [{name: q, SLOT_RESERVE: "MAX_RESERVE_TIME[9]"}]
params: {DEFAULT_QUEUE: q}
pending: [{id: later, begin: 1h, run_limit: 1h}, {id: wide, slots: 4, begin: 2h, run_limit: 1h}]
"""


@pytest.mark.behaviour("LOP-01")
@pytest.mark.parametrize("after_cycle", [False, True])
def test_the_moment_knows_why_it_waits(after_cycle: bool) -> None:
    problem = instance(host("A", 4), pending=(job("p", minutes=60, begin=HOUR),))
    moment = snapshot_of(problem, after_cycle=after_cycle)
    assert moment.waiting["p"].reason == REASON


@pytest.mark.parametrize("method", ["none", "greedy", "time-based", "optimal"])
def test_the_record_of_a_simulation_says_why_it_did_not_start_at_once(method: str) -> None:
    """Held back until its begin; with the host busy then, that is the reason; none of it at now."""
    free = instance(host("A", 4), pending=(job("p", 4, minutes=60, begin=HOUR),))
    result = run(free, method)
    assert (result["p"].start, result["p"].reason) == (HOUR, REASON)
    assert run(free, method, until=60)["p"].reason == REASON
    busy = instance(
        host("A", 4),
        running=(running("r", {"A": 4}, 120),),
        pending=(job("p", 4, minutes=60, begin=HOUR),),
    )
    result = run(busy, method)
    assert result["p"].start == 2 * HOUR
    assert "slots" in result["p"].reason
    past = instance(host("A", 4), now=HOUR, pending=(job("p", begin=60, minutes=60),))
    assert run(past, method)["p"].reason == ""


@pytest.mark.parametrize(
    "line",
    [
        "solve {}",
        "solve {} --method time-based",
        "solve {} --method greedy",
        "compare {}",
        "explain {} later",
        "show bjobs {} -l",
        "show bjobs {} -l --cycle",
        "show bjobs {} --format json",
        "show bjobs {} --format csv",
    ],
)
def test_every_view_has_the_reason(tmp_path: Path, line: str) -> None:
    site = tmp_path / "site.yaml"
    site.write_text(SITE)
    result = CliRunner().invoke(app, line.format(site).split(), env={"COLUMNS": "200"})
    assert result.exit_code == 0, result.output
    words = "Job's start time not reached" if line.endswith(("-l", "--cycle")) else REASON
    if line.startswith("compare"):  # whose cells are short
        words = REASON.removesuffix(" (-b)")
    assert words in result.output


def test_a_simulation_writes_the_reason_of_each(tmp_path: Path) -> None:
    site, out = tmp_path / "site.yaml", tmp_path / "jobs.json"
    site.write_text(SITE)
    result = CliRunner().invoke(app, ["simulate", str(site), "--jobs", str(out)])
    assert result.exit_code == 0, result.output
    records = {item["job"]: item for item in json.loads(out.read_text())}
    assert {name: item["reason"] for name, item in records.items()} == {
        "later": REASON,
        "wide": REASON,
    }
