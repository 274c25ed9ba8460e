"""The tables of `slotwise compare`: greedy against optimal, and as configured against possible."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

import pytest
import slotwise as sw
from sampling import some
from slotwise.cli.comparison import MAX_REASON, MAX_WIDTH, comparison_output
from slotwise.cli.main import app
from slotwise.solver.advice.comparison import Comparison
from typer.testing import CliRunner

#: Examples whose comparison needs seconds.
LONG = {"cluster-1000", "theta-queue-50", "ctc-sp2-queue-100"}
EXAMPLES = [
    pytest.param(name, marks=[pytest.mark.slow] if name in LONG else []) for name in sw.examples()
]
#: A start or a wait in a cell: it has to be whole, on the line of its job.
TIME = re.compile(r"\d\d:\d\d(:\d\d)?|\d+d( \d+h)?|\d+h( \d+m)?|\d+m( \d+s)?|\d+s")
THREE = ("--methods", "greedy,time-based,optimal")


def printed(*arguments: str, columns: int = 160, code: int = 0) -> str:
    done = CliRunner().invoke(app, list(arguments), env={"COLUMNS": str(columns)})
    assert done.exit_code == code, done.output
    return done.stdout


@cache
def compared(name: str, methods: bool | None) -> tuple[sw.Instance, Comparison]:
    instance = sw.load(sw.example(name))
    return instance, sw.compare(instance, methods=methods, effort=1)


def rows_of(text: str) -> list[str]:
    """The lines between the rule below the titles and the next rule or empty line."""
    lines = text.splitlines()
    rule = next(n for n, line in enumerate(lines) if line.startswith(" ──"))
    end = (n for n in range(rule + 1, len(lines)) if not lines[n].strip(" ─"))
    return lines[rule + 1 : next(end)]


@pytest.mark.parametrize("name", EXAMPLES)
@pytest.mark.parametrize("columns", [80, 100, 120])
@pytest.mark.parametrize("methods", [False, True])
def test_no_table_wraps_a_number_or_a_start(
    name: str, columns: int, methods: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Would find: a wider column of starts, a reason of three lines, a line beyond 100 columns."""
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("LINES", "1000")
    instance, found = compared(name, methods)
    text = comparison_output(instance, found, "text")
    assert max(map(len, text.splitlines())) <= min(columns, MAX_WIDTH), text
    names = {row.job for row in found}
    lines = 0
    for line in rows_of(text):
        lines = 1 if re.split(r"\s+|\[", line.strip())[0] in names or line[1] != " " else lines + 1
        assert lines <= (2 if columns == 80 else 1), text
        if lines == 2:
            assert len(line.strip()) <= MAX_REASON, text
            assert not re.fullmatch(TIME, line.strip()), text
    starts = [row.as_configured for row in found]
    assert not methods or len(starts) < 2 or "sum" in text
