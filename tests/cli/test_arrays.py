"""Job arrays as commands show them (ARR-03, ARR-04, ARR-05)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import slotwise as sw
from sampling import some
from slotwise.cli.main import app
from slotwise.model.formats.changes import loads_changes
from slotwise.model.generate import generate
from typer.testing import CliRunner

_SITE = """
format: slotwise/1
hosts: [{name: "n[1-2]", slots: 8}]
pending:
  - {id: 101, name: a, array: "1-30%10", run_limit: 1h, run_time: 1h}
"""
_ORDER = ["JOBID", "ARRAY_SPEC", "OWNER", "NJOBS", "PEND", "DONE", "RUN", "EXIT"]


@pytest.fixture
def site(tmp_path: Path) -> str:
    path = tmp_path / "site.yaml"
    path.write_text(_SITE)
    return str(path)


def _run(*words: str) -> str:
    found = CliRunner().invoke(app, list(words))
    assert found.exit_code == 0, found.output
    return found.stdout


@pytest.mark.behaviour("ARR-05")
def test_a_plan_has_one_row(site: str) -> None:
    text = _run("solve", site, "--method", "time-based")
    (row,) = [line for line in text.splitlines() if "101[1-30]" in line]
    assert "first now, middle +1h, last +2h" in row
    assert "10 now, 10 +1h, 10 +2h" in row
    records = json.loads(_run("solve", site, "--method", "time-based", "--format", "json"))
    assert len(records["reservations"]) == 30
    (one,) = json.loads(_run("solve", site, "--job", "101[3]", "--format", "json"))["reservations"]
    assert one["job"] == "101[3]"
    assert (
        len(json.loads(_run("solve", site, "--job", "101", "--format", "json"))["reservations"])
        == 30
    )


@pytest.mark.behaviour("ARR-05")
def test_an_asked_array_says_first_middle_and_last(site: str) -> None:
    text = _run("ask", site, 'bsub -J "b[1-12]%3" -W 60 -n 1 x')
    assert text.startswith(
        "12 elements: first now, middle +1h, last +3h; 3 now, 3 +1h, 3 +2h, 3 +3h;"
    )
    array = json.loads(_run("ask", site, "-J b[1-12]%3 -W 60", "--format", "json"))["array"]
    assert (array["elements"], array["placed"]) == (12, 12)
    assert (array["first"], array["middle"], array["last"]) == (0, 3600, 10800)


@pytest.mark.behaviour("ARR-03")
def test_explain_names_the_limit(site: str) -> None:
    for job in ("101", "101[11]"):
        text = _run("explain", site, job)
        assert "101[11] starts +1h" in text
        assert "Job array has reached its running element limit" in text


@pytest.mark.behaviour("ARR-04")
def test_bjobs_of_arrays(site: str) -> None:
    head, row = _run("show", "bjobs", site, "-A").splitlines()
    assert head.split() == [*_ORDER, "SSUSP", "USUSP", "PSUSP"]
    assert row.split() == ["101", "a[1-30]%10", "user", "30", "20", "0", "10", "0", "0", "0", "0"]
    later = _run("show", "bjobs", site, "-A", "--at", "90m").splitlines()[1]
    assert later.split()[3:7] == ["30", "10", "10", "10"]
    plain = _run("show", "bjobs", site).splitlines()[3].split()
    assert (plain[0], plain[6]) == ("101", "a[3]")
    assert "Job <101[12]>, Job Name <a[12]>" in _run("show", "bjobs", site, "101[12]", "-l")


@pytest.mark.behaviour("ARR-05")
def test_a_plan_of_the_library_has_the_array(site: str) -> None:
    array = sw.plan(sw.load(site), "time-based")["101"]
    assert isinstance(array, sw.PlannedArray)
    assert [item.job for item in array.elements][:3] == ["101[1]", "101[2]", "101[3]"]
    assert (array.first.start, array.middle.start, array.last.start) == (0, 3600, 7200)
    assert (array.start, array.finish) == (0, 10800)


def test_a_change_of_an_array_is_one_of_each_element(site: str) -> None:
    instance = sw.load(site)
    text = """
format: slotwise-changes/1
changes:
  - {at: 10m, bmod: {job: 101, bsub: '-J "a%5"'}}
  - {at: 20m, submit: {id: 102, array: "1-3%2", run_limit: 1h}}
  - {at: 30m, bkill: "101[30]"}
"""
    changes = loads_changes(text, instance)
    assert len(changes) == 34
    assert loads_changes(sw.dump_changes(changes, instance), instance) == changes


@pytest.mark.behaviour("ARR-05")
def test_a_forecast_shows_an_array_as_one_row(site: str, tmp_path: Path) -> None:
    log = tmp_path / "log.swf"
    rows = (f"{n} {60 * n} 0 1800 1 -1 -1 1 3600 -1 1 1 1 1 1 1 -1 -1\n" for n in range(1, 300))
    log.write_text("; MaxProcs: 8\n" + "".join(rows), encoding="utf-8")
    text = _run("forecast", site, "--history", str(log), "--samples", "20")
    (row,) = (line for line in text.splitlines() if line.strip().startswith("101["))
    assert row.split()[0] == "101[1-30]"
    assert " now to " in row
    data = _run("forecast", site, "--history", str(log), "--samples", "20", "--format", "csv")
    assert sum(line.startswith("101[") for line in data.splitlines()) == 30


@pytest.mark.behaviour("ARR-01")
@pytest.mark.behaviour("GPU-01")
@pytest.mark.parametrize("seed", some(range(3), 1))
def test_generated_arrays_and_gpus(seed: int) -> None:
    size = {"hosts": 8, "running": 10, "pending": 12, "seed": seed}
    plain, made = generate(**size), generate(**size, gpus=2, array=6)
    assert made == generate(**size, gpus=2, array=6)
    assert [item.job.slots for item in made.running] == [item.job.slots for item in plain.running]
    arrays = {job.array_id for job in made.pending if job.array_id is not None}
    assert arrays
    assert len(made.pending) == len(plain.pending) + 5 * len(arrays)
    assert any(job.gpu for job in made.pending)
    found = sw.plan(made, "time-based")
    assert sw.validate(made, found) == []
    assert sw.loads(sw.dump(made)) == made
