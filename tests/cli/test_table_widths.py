"""What tables print at 80, 100 and 120 columns, over examples and commands that print tables."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
import slotwise as sw
from slotwise.cli import tables
from slotwise.cli.main import app
from slotwise.cli.tables import Column, ListingRow, TableStyle
from typer.testing import CliRunner

#: Lines of the tallest cell, by the width of the terminal.
WIDTHS = {80: 2, 100: 2, 120: 1}
#: Examples and commands of the short run; all others are slow.
QUICK = {
    "tutorial": ("compare", "explain", "solve"),
    "slurm-live": ("solve",),
    "kth-sp2-queue-20": ("explain",),
    "headline": ("compare", "explain", "ask", "slots", "solve"),
    "fairshare-pool": ("compare",),
}
#: Words of commands; JOB is the pending job that the example starts last.
COMMANDS = (
    ("compare",),
    ("compare", "--configured"),
    ("compare", "--methods"),
    ("explain",),
    ("explain", "JOB", "--no-configuration"),
    ("ask", "-n 4 -W 60", "--slots", "1,2,4,8", "--method", "time-based"),
    ("slots", "--until", "24h", "--time-limit", "20"),
    ("diagnose",),
    ("forecast", "--history", "LOG", "--samples", "4"),
    ("solve", "--method", "greedy"),
)
#: Functions that compute what the commands print, each by its module; once for all widths.
COMPUTING = {
    "solver.advice.comparison": "compare",
    "solver.advice.explain": "explain",
    "solver.advice.slots": "slots",
    "solver.advice.ask": "ask",
    "solver.advice.diagnosis.diagnose": "diagnose",
    "solver.forecast.of_instance": "forecast",
    "solver.planning": "plan",
}
#: A duration, a clock time, a date with its time, or a number with its noun.
DURATION = r"-?\d+[dhms](?: \d+[hms])*"
QUANTITY = re.compile(
    rf"\+?{DURATION}\b|\b\d\d-\d\d \d\d:\d\d(?::\d\d)?|\b\d\d:\d\d(?::\d\d)?|\b\d[\d,]*\b"
)
CUT = re.compile(rf"(?<![\w.])(?:{DURATION}|\d[\d:,]*) ?…$")
#: Columns of starts, and a reason by which nothing is free now.
STARTS = ("START", "AS CONFIGURED", "COULD START")
NONE_FREE = re.compile(r"\((has|now) 0\)")


@dataclass(frozen=True)
class Printed:
    """One listing that a command printed."""

    columns: Sequence[Column]
    rows: Sequence[ListingRow]
    text: str
    is_table: bool


def faults(listing: Printed, tallest: int) -> Iterator[str]:
    """Yield what a listing breaks, cuts, or makes too tall."""
    lines = listing.text.split("\n")
    flat = "\n".join(lines)
    for row in listing.rows:
        for column, cell in zip(listing.columns, row.cells, strict=True):
            if found := CUT.search(cell):
                yield f"cut: {found[0]!r} in {cell!r}"
            for found in QUANTITY.finditer(cell):
                if found[0] not in flat:
                    yield f"broken: {found[0]!r} of {cell!r}"
            if column.name == "EARLIER" and cell.startswith("-"):
                yield f"negative: {column.name} {cell}"
        cells = dict(zip((column.name for column in listing.columns), row.cells, strict=True))
        if any(cells.get(name) == "now" for name in STARTS) and any(
            NONE_FREE.search(cell) for cell in row.cells
        ):
            yield f"now, with none free: {row.cells}"
    if not listing.is_table:
        yield from (f"a line too long: {line!r}" for line in lines if len(line) > 120)
        return
    rule = next(n for n, line in enumerate(lines) if "───" in line and "─ " not in line)
    height = 0
    for line in lines[rule + 1 :]:
        height = height + 1 if line.startswith("  ") else 1
        if height == tallest + 1:
            yield f"a cell of {height} lines: {line!r}"


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Callable[..., Any]:
    """A command at a width: what it prints, and its listings."""
    done: dict[object, Any] = {}
    printed: list[Printed] = []
    table = tables.rendered

    def rendered(
        columns: Sequence[Column], rows: Sequence[ListingRow], width: int, style: TableStyle
    ) -> str:
        text = table(columns, rows, width, style)
        is_table = not tables.as_cards(columns, rows, width, style)
        printed.append(Printed(columns, rows, text, is_table))
        return text

    def once(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def found(*given: Any, **named: Any) -> Any:
            key = (name, *map(repr, given[1:]), repr(named.get("methods")))
            if key not in done:
                done[key] = function(*given, **named)
            return done[key]

        return found

    monkeypatch.setattr(tables, "rendered", rendered)
    for module, name in COMPUTING.items():
        home = importlib.import_module(f"slotwise.{module}")
        monkeypatch.setattr(home, name, once(name, getattr(home, name)))

    def command(words: Sequence[str], width: int) -> tuple[str, list[Printed]]:
        printed.clear()
        if "LOG" in words:
            words = [request.getfixturevalue("inputs").get(word, word) for word in words]
        answer = CliRunner().invoke(app, words, env={"COLUMNS": str(width), "LINES": "200"})
        assert answer.exit_code in (0, 3), (words, answer.output, answer.exception)
        return answer.stdout, [*printed]

    return command


def last_job(example: str) -> str:
    """The pending job of an example with the latest start as configured."""
    pending = sw.load(sw.example(example)).pending
    return max(pending, key=lambda job: job.slots).id


CASES = [
    pytest.param(
        example,
        command,
        id=f"{example} {' '.join(command)}",
        marks=[] if command[0] in QUICK.get(example, ()) else [pytest.mark.slow],
    )
    for example in sw.examples()
    for command in COMMANDS
]


@pytest.mark.parametrize(("example", "command"), CASES)
def test_no_table_breaks_a_number(
    example: str, command: tuple[str, ...], run: Callable[..., Any]
) -> None:
    """Would find: a wrapped or cut number, start or duration, a tall cell, a negative gain."""
    words = [command[0], "--example", example, *command[1:]]
    words = [last_job(example) if word == "JOB" else word for word in words]
    found = []
    for width, tallest in WIDTHS.items():
        _, listings = run(words, width)
        found += [f"{width}: {item}" for listing in listings for item in faults(listing, tallest)]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("example", ["tutorial", "queue7"])
def test_every_place_counts_the_same_jobs_as_held_back(example: str) -> None:
    """Would find: a job that `top` counts and that the comparison has otherwise."""
    comparison = sw.compare(sw.load(sw.example(example)))
    held = sum(bool(row.earlier_by) for row in comparison)
    text = CliRunner().invoke(app, ["top", "--example", example, "--once"]).stdout
    assert (f": {held} held back" in text) == bool(held)
    rows = [line for line in text.splitlines() if line.startswith(" ")]
    assert sum(" held back " in line for line in rows) == held
