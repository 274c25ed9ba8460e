"""`slotwise solve` and `slotwise compare`: formats, exit codes, messages, interruption."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import datetime
from pathlib import Path

import forked
import pytest
import slotwise as sw
from slotwise.cli.main import app
from slotwise.model.objective import objectives
from slotwise.solver import certify
from typer.testing import CliRunner

SLOTWISE = str(Path(sys.executable).with_name("slotwise"))
IMPOSSIBLE = """
format: slotwise/1
hosts: [{name: hostA, slots: 4}]
pending: [{id: small, slots: 1, run_limit: 1h}, {id: huge, slots: 9, run_limit: 1h}]
"""


def _wide() -> None:
    os.environ.update(COLUMNS="200", NO_COLOR="1")


def slotwise(*arguments: str, text: str = "") -> subprocess.CompletedProcess[str]:
    return forked.slotwise(*arguments, before=_wide, text=text)


def test_times_in_json_count_from_the_origin_with_stamps_beside_them() -> None:
    """The example is seen at second 1800: job3 starts at once, job2 90 minutes later."""
    done = slotwise("solve", "--example", "backfill", "--format", "json")
    record = json.loads(done.stdout)
    starts = {item["job"]: item["start"] for item in record["reservations"]}
    assert starts == {"job2": 7200, "job3": 1800, "job4": 10800}
    instance = sw.load(sw.example("backfill"))
    assert (record["now"], record["origin"]) == (1800, instance.origin)
    first = datetime.fromisoformat(str(instance.origin))
    for item in record["reservations"]:
        stamp = datetime.fromisoformat(item["start_time"])
        assert (stamp - first).total_seconds() == item["start"]
    compared = json.loads(slotwise("compare", "--example", "backfill", "--format", "json").stdout)
    assert {row["job"]: row["possible"] for row in compared["jobs"]} == starts
    assert compared["jobs"][0]["possible_time"] == record["reservations"][0]["start_time"]


@pytest.mark.parametrize(
    ("command", "options"),
    [
        ("solve", ["--method", "greedy"]),
        ("compare", ["--effort", "1"]),
        ("report", ["--effort", "1", "-o", "page.html"]),
    ],
)
def test_a_plan_that_the_judge_refuses_has_an_exit_code_of_its_own(
    command: str, options: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(certify, "validate", lambda *_, **__: ["slots: job job5: too many"])
    monkeypatch.chdir(tmp_path)
    done = slotwise(command, "--example", "headline", *options)
    assert done.returncode == 4
    shown = (tmp_path / "page.html").read_text() if command == "report" else done.stdout
    assert "a bug in Slotwise" in shown


def test_greedy_holds_nothing_for_a_job_that_is_too_large(tmp_path: Path) -> None:
    file = tmp_path / "impossible.yaml"
    file.write_text(IMPOSSIBLE, encoding="utf-8")
    command = ("solve", str(file), "--method", "greedy")
    (huge,) = json.loads(slotwise(*command, "--format", "json").stdout)["unplaced"]
    assert huge["job"] == "huge"
    done = slotwise(*command, "--strict")
    assert done.returncode == 1
    text = " ".join(done.stdout.split())
    assert "huge impossible impossible needs 9 free slots (has 4)" in text


def test_a_comparison_of_nothing_has_its_columns_all_the_same() -> None:
    text = "format: slotwise/1\nhosts: [{name: hostA, slots: 4}]\n"
    done = slotwise("compare", "-", "--format", "csv", text=text)
    assert done.stdout.startswith("job,slots,state,as_configured,")
    assert done.stdout.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("solve",), "give an instance file or --example NAME"),
        (
            ("compare", "a.yaml", "--example", "headline"),
            "--example headline: is the instance already: leave a.yaml out",
        ),
        (
            ("diagnose", "."),
            "slotwise: .: has no file with the output of bjobs, bhosts, bqueues or",
        ),
        (
            ("explain", ".", "job1"),
            "has no file with the output of bjobs, bhosts, bqueues or squeue, sinfo,",
        ),
        (
            ("show", "bjobs", "."),
            "has no file with the output of bjobs, bhosts, bqueues or squeue, sinfo,",
        ),
        (("solve", "--example", "headlin"), "(did you mean 'headline'?)"),
        (
            ("solve", "nowhere.yaml"),
            "slotwise: nowhere.yaml: cannot be read: No such file or directory",
        ),
        (("solve", "--example", "headline", "--method", "gredy"), "'greedy'"),
        (("compare", "--example", "headline", "--objective", "makspan"), "'makespan'"),
        (("solve", "--example", "headline", "--efort", "1"), "--effort"),
        (("solv", "--example", "headline"), "'solve'"),
        (("solve", "--example", "headline", "--time-limit", "-1"), "time-limit"),
    ],
)
def test_slips_are_answered_with_what_would_be_right(
    arguments: tuple[str, ...], message: str
) -> None:
    done = slotwise(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


def test_an_unwritable_output_leaves_nothing(tmp_path: Path) -> None:
    output = tmp_path / "nowhere" / "out.yaml"
    done = slotwise("generate", "--hosts", "4", "--running", "4", "-o", str(output))
    assert done.returncode == 2
    assert done.stderr.startswith(f"slotwise: {output}: cannot be written: ")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_reader_that_goes_away_is_no_error() -> None:
    command = f"{SLOTWISE} solve --example kth-sp2-queue-20 --method greedy | head -n 1"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, check=False
    )
    assert "Traceback" not in done.stderr
    assert "Exception" not in done.stderr


def test_the_objectives_on_offer_are_the_registered_ones() -> None:
    done = slotwise("solve", "--example", "headline", "--objective", "flow")
    assert done.returncode == 2
    assert f"must be one of {', '.join(objectives())}, not 'flow'" in done.stderr
    page = Path(sw.__file__).parent / "docs" / "how-it-works.md"
    text = page.read_text(encoding="utf-8")
    assert all(f"`{name}`" in text for name in tuple(objectives()))


@pytest.mark.parametrize("command", ["solve", "compare"])
def test_of_some_jobs_no_omission_of_others_is_printed(command: str, tmp_path: Path) -> None:
    file = tmp_path / "site.yaml"
    file.write_text("""
format: slotwise/1
hosts: [{name: A, slots: 4}, {name: B, slots: 4}]
pending:
  - {id: bound, bsub: "-m A -W 10 -R 'affinity[core(1)]'"}
  - {id: plain, bsub: "-m B -W 10"}
""")
    for names, named in ((["bound"], True), (["plain"], False), (["plain", "bound"], True)):
        done = CliRunner().invoke(
            app, [command, str(file), *(word for name in names for word in ("--job", name))]
        )
        assert done.exit_code == 0
        assert ("not considered: affinity[]" in done.stdout) is named, done.stdout


def test_an_answer_depends_on_no_hash_seed() -> None:
    """Would find: jobs of an omission, or of a condition, in the order of a set."""
    line = (sys.executable, "-m", "slotwise", "solve", "--example", "site", "--effort", "1")
    found = {
        subprocess.run(
            (*line, "--format", "json"),
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "3")
    }
    assert len(found) == 1
