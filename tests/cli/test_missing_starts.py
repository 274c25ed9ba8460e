"""A job without a start: what is said of it is what is known, the same in every view."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from report.lab import Elements, data_of
from sampling import some
from slotwise.cli.main import app
from slotwise.solver.budget import Budget
from typer.testing import CliRunner

#: Jobs without a run limit fill both hosts for good: first fit has no place for the last one, but a
#: search might start it before them.
FILLED = """format: slotwise/1
hosts: [{name: "h[1-2]", slots: 4}]
running: [{id: r, start: 0, slots: 4, allocation: 4*h1, run_limit: 1h}]
pending: [{id: a, slots: 4}, {id: b, slots: 4}, {id: c, slots: 2, run_limit: 5m}]
"""
QUEUE = ("--example", "ctc-sp2-queue-100")
LAST = "1155"
#: Of a job that fits nowhere, in a sentence; "impossible" in a table.
IMPOSSIBLE = "cannot start on this cluster"


def run(*arguments: str, code: int = 0) -> str:
    """Standard output of a command that leaves with this exit code, its blanks as one."""
    done = CliRunner().invoke(app, list(arguments))
    assert done.exit_code == code, done.output
    return " ".join(done.stdout.split())


@pytest.fixture
def filled(tmp_path: Path) -> str:
    path = tmp_path / "filled.yaml"
    path.write_text(FILLED, encoding="utf-8")
    return str(path)


@pytest.fixture(params=["160", "60"])
def width(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A table and cards."""
    monkeypatch.setenv("COLUMNS", request.param)


def page(tmp_path: Path, *arguments: str, code: int = 0) -> str:
    path = tmp_path / "page.html"
    run("report", *arguments, "--explain", "0", "-o", str(path), code=code)
    return path.read_text(encoding="utf-8")


def starts(text: str, table: str, place: int) -> dict[str, str]:
    return {row[0][0]: row[place][0] for row in Elements(text).cells[table][1:]}


@pytest.mark.usefixtures("width")
def test_an_unfinished_search_has_found_no_place(filled: str) -> None:
    exact = ("--effort", "0")
    method = ("--method", "optimal")
    line = "-n 2 -W 5"
    for shown in (
        run("solve", filled, *method, *exact),
        run("compare", filled, *exact, "--only", "unplaced"),
        run("explain", filled, "c", *method, *exact),
        run("ask", filled, line, *method, *exact),
        run("ask", filled, line, "--slots", "3", *method, *exact),
    ):
        assert (
            "no place found" in shown or "none was found" in shown or "no start was found" in shown
        )
        assert IMPOSSIBLE not in shown
    record = json.loads(run("explain", filled, "c", *method, *exact, "--format", "json"))
    assert (record["start"], record["missing"]) == (None, "no place found")
    answer = json.loads(
        run("ask", filled, line, "--slots", "3", *method, *exact, "--format", "json")
    )
    assert {item["missing"] for item in (answer["line"], *answer["alternatives"])} == {
        "no place found"
    }


def test_the_page_of_an_unfinished_search(filled: str, tmp_path: Path) -> None:
    text = page(tmp_path, filled, "--effort", "0")
    assert starts(text, "comparison", 3)["c"] == "no place found"
    text = page(tmp_path, filled, "--method", "optimal", "--effort", "0")
    assert starts(text, "plan", 1)["c"] == "no place found"


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every limit and its grace are over from the beginning where a limit is given at all."""
    monkeypatch.setattr(Budget, "late", lambda self, graces=1.0: self.stopped())


@pytest.mark.usefixtures("width")
@pytest.mark.parametrize("late", some([False, True], 1))
def test_a_limit_leaves_starts_unknown(request: pytest.FixtureRequest, late: bool) -> None:
    if late:
        request.getfixturevalue("at_once")
    limit = ("--time-limit", "0")
    for arguments in (
        ("explain", *QUEUE, LAST, *limit),
        ("ask", *QUEUE, "-n 2 -W 60", *limit),
        ("ask", *QUEUE, "-n 2 -W 60", "--slots", "4,8", *limit),
    ):
        shown = run(*arguments, code=3)
        assert "was not examined" in shown
        assert IMPOSSIBLE not in shown
        record = json.loads(run(*arguments, "--format", "json", code=3))
        for item in (record["line"], *record["alternatives"]) if "line" in record else [record]:
            assert (item["start"], item["missing"], item["cut"]) == (None, "not examined", True)


def test_the_page_that_a_limit_cut(tmp_path: Path) -> None:
    text = page(tmp_path, *QUEUE, "--method", "time-based", "--time-limit", "0", code=3)
    assert "impossible" not in starts(text, "plan", 1).values()
    assert data_of(text)["plan"]["cut"] is True
    text = page(tmp_path, *QUEUE, "--time-limit", "0", code=3)
    for place in (3, 4, 5, 6, 7):
        assert "impossible" not in starts(text, "comparison", place).values()
    words = {
        word for place in (3, 4, 5, 6, 7) for word in starts(text, "comparison", place).values()
    }
    assert "not examined" in words
    assert "impossible" not in words


def test_a_saved_plan_that_was_cut_is_drawn_as_such(tmp_path: Path) -> None:
    plan = tmp_path / "plan.json"
    arguments = ("solve", *QUEUE, "--method", "time-based", "--time-limit", "0")
    plan.write_text(run(*arguments, "--format", "json", code=3), encoding="utf-8")
    text = page(tmp_path, str(plan))
    assert data_of(text)["plan"]["cut"] is True
    assert "impossible" not in starts(text, "plan", 1).values()


def test_a_stopped_simulation_calls_nothing_impossible(tmp_path: Path, filled: str) -> None:
    text = page(tmp_path, filled, "--simulate", "--until", "60")
    assert starts(text, "simulation", 5)["b"] == "not started"
