"""No command cuts a word, whatever the terminal's width: from 40 to 200 columns nothing is lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest
import slotwise as sw
from hypothesis import given
from hypothesis import strategies as st
from slotwise.cli import tables
from slotwise.cli.main import app
from slotwise.cli.show import VIEWS
from slotwise.cli.tables import Column, ListingRow, rendered
from typer.testing import CliRunner

WIDTHS = range(40, 201)
#: With the least one the widths at which each command is run anew; at the others what it showed is
#: drawn anew.
MIDDLE, WIDE = 110, 500
QUEUE = str(sw.example("kth-sp2-queue-10"))
HEADLINE = str(sw.example("headline"))
#: Runs of every command that prints a listing; words in capitals are inputs.
LISTINGS: dict[str, list[list[str]]] = {
    "solve": [
        ["solve", "--example", "headline", "--method", "greedy"],
        ["solve", "--example", "cluster-1000", "--method", "time-based"],
        ["solve", QUEUE, "--method", "time-based", "--wide"],
        ["solve", "--example", "site", "--method", "time-based"],
    ],
    "compare": [
        ["compare", "--example", "joint-wins"],
        ["compare", QUEUE, "--effort", "1"],
        ["compare", QUEUE, "--effort", "1", "--wide"],
    ],
    "diagnose": [["diagnose", HEADLINE], ["diagnose", QUEUE]],
    "explain": [["explain", HEADLINE, "job5"], ["explain", QUEUE, "168"]],
    "ask": [
        ["ask", HEADLINE, "-n 1", "--method", "time-based"],
        ["ask", QUEUE, "-n 64 -W 1:00", "--slots", "1,2,4,64,100"],
    ],
    "simulate": [
        ["simulate", HEADLINE],
        ["simulate", "WAITED", "--hosts", "4"],
    ],
    "whatif": [
        ["whatif", "SITE", "--workers", "1", "--vary", "reservation=none,greedy"],
        [
            *("whatif", "SITE", "--workers", "1", "--set", "queues.short.BACKFILL=N"),
            *("--log", "WAITED", "--calibrate"),
        ],
    ],
    "sweep": [["sweep", "STUDY", "--workers", "1", "--into", "CELLS"]],
    "forecast": [["forecast", QUEUE, "--history", "LOG", "--samples", "4", "--by", "1d"]],
    "backtest": [["backtest", "LOG", "--questions", "4", "--samples", "4"]],
    "score": [
        ["score", "STORE"],
        ["score", "STORE", "--by", "horizon"],
        ["score", "--snapshot", "BEFORE", "--log", "AFTER"],
    ],
    "slots": [["slots", "--example", "joint-wins", "--until", "24h"]],
    "check": [["check", HEADLINE]],
    "examples": [["examples"]],
    "replay": [["replay", "LOG"]],
    "resreq": [["resreq", "select[mem>100] order[ut]", "--against", HEADLINE]],
    "show": [
        ["show", view, "--example", "site", *options]
        for view in reversed(VIEWS)
        for options in ([], *([f"-{letter}"] for letter in VIEWS[view] if letter not in "uqm"))
    ],
}
#: Of these every line has its own length whatever the terminal's: LSF's tables, records, numbers.
OF_ONE_WIDTH = {"show", "check", "replay", "resreq"}
Shown = list[Callable[[int], str]]


def _words(text: str) -> Counter[str]:
    """The words of a text; rules between lines are none."""
    return Counter(word for word in text.split() if set(word) != {"─"})


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> tuple[Shown, set[str]]:
    """What a command draws, each as a function of the width; words of titles, labels in cards."""
    drawn: Shown = []
    titles: set[str] = set()
    table, text = tables.rendered, tables.filled

    def rendered(
        columns: list[Column], rows: list[ListingRow], width: int, table_width: int = 110
    ) -> str:
        drawn.append(lambda width: table(columns, rows, width, table_width))
        for column in columns:
            titles.update(column.title.split(), (column.label or column.title.lower()).split())
        return table(columns, rows, width, table_width)

    def filled(words: str, width: int, first: str, later: str) -> str:
        drawn.append(lambda width: text(words, width, first, later))
        return text(words, width, first, later)

    monkeypatch.setattr(tables, "rendered", rendered)
    monkeypatch.setattr(tables, "filled", filled)
    monkeypatch.setenv("LINES", "1000")
    return drawn, titles


def _printed(words: list[str], width: int) -> str:
    done = CliRunner().invoke(app, words, env={"COLUMNS": str(width)})
    assert done.exit_code == 0, (words, done.output, done.exception)
    return done.stdout


@pytest.fixture(scope="module")
def given_words(inputs: dict[str, str]) -> Callable[[str], str]:
    """The path of an input for its word; WAITED is the log with waits of an hour."""
    log = inputs["LOG"]
    with open(log, encoding="utf-8") as file:
        lines = [line.split() for line in file.read().splitlines()]
    waited = [[*line[:2], "3600", *line[3:]] if len(line) > 5 else line for line in lines]
    path = log.replace("log.swf", "waited.swf")
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(" ".join(line) for line in waited) + "\n")
    known = inputs | {"WAITED": path}
    return lambda word: known.get(word, word)


#: Of each command the first run by default.
RUNS = [
    pytest.param(run, id=" ".join(run[:4]), marks=[pytest.mark.slow] if number else [])
    for runs in LISTINGS.values()
    for number, run in enumerate(runs)
]


@pytest.mark.parametrize("words", RUNS)
def test_no_width_loses_a_word(
    words: list[str],
    shown: tuple[Shown, set[str]],
    given_words: Callable[[str], str],
) -> None:
    drawn, titles = shown
    words = [given_words(word) for word in words]
    wide = _printed(words, WIDE)
    whole = _words(wide)
    narrow = _printed(words, WIDTHS[0])  # a table of LSF's kind at 500 may be cards here
    if words[0] in OF_ONE_WIDTH:
        assert narrow.split() == wide.split()
        assert not drawn
        return
    pieces = list(drawn)
    assert pieces or words[:2] == ["simulate", HEADLINE]
    for number, piece in enumerate(pieces):
        wanted = _words(piece(WIDE))
        for width in WIDTHS[number % 3 :: 3]:
            lost = wanted - _words(piece(width))
            assert {*lost} <= titles, (width, lost)
    for shown_text in (narrow, _printed(words, MIDDLE)):
        lost = whole - _words(shown_text)
        assert {*lost} <= titles, lost


_CELL = st.lists(st.text("ab0*[]-", min_size=1, max_size=90), max_size=4).map(" ".join)


@given(
    rows=st.lists(st.tuples(_CELL, _CELL, _CELL, _CELL), min_size=1, max_size=4),
    lines=st.tuples(*[st.integers(0, 1)] * 3),
    width=st.sampled_from(WIDTHS),
)
def test_no_listing_loses_a_word(
    rows: list[tuple[str, ...]],
    lines: tuple[int, ...],
    width: int,
) -> None:
    """Words of up to 90 characters, in columns of every kind; only such a word leaves the page."""
    columns = [
        Column(title, line=line)
        for title, line in zip(("A", "B B", "C", "D"), (0, *lines), strict=True)
    ]
    text = rendered(columns, [ListingRow(row) for row in rows], width)
    wanted = Counter(word for row in rows for cell in row for word in cell.split())
    assert not wanted - Counter(text.split())
    for line in text.splitlines():
        assert len(line) <= width or len(line.split()) == 1, line
