"""A job with a begin time (-b) says so in every view."""

import json
from pathlib import Path

import pytest
from slotwise.cli.main import app
from typer.testing import CliRunner

REASON = "its begin time (-b)"
SITE = """\
format: slotwise/1
hosts: [{name: h1, slots: 4}]
queues: [{name: q, SLOT_RESERVE: "MAX_RESERVE_TIME[9]"}]
params: {DEFAULT_QUEUE: q}
pending: [{id: later, begin: 1h, run_limit: 1h}, {id: wide, slots: 4, begin: 2h, run_limit: 1h}]
"""


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
