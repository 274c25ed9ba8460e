"""Lines, conditions, sections and tables, and the place of every value."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_profiles import examples
from lsf.lab import MORNING
from slotwise.model.formats.lsf.draft import LsfEntry, entries, read_sections
from slotwise.model.formats.lsf.lines import (
    Circumstances,
    Line,
    LineReader,
    Problems,
    holds,
    without_comment,
)


def _reader(root: Path, **circumstances: object) -> LineReader:
    return LineReader(root, Circumstances(**circumstances), Problems())  # type: ignore[arg-type]


def _lines(root: Path, text: str, **circumstances: object) -> list[tuple[str, int]]:
    file = root / "f"
    file.write_text(text)
    reader = _reader(root, **circumstances)
    found = reader.lines(file)
    assert reader.problems.found == []
    return [(line.text.strip(), line.place().line) for line in found]


def test_comments_and_continuations(tmp_path: Path) -> None:
    text = """# If a comment begins so, it is not a condition
a = 1   # one
#b = 2 \\
c = "x # y" z # w
d = long \\
  and longer
#if you read this (or not) it is a comment

e = last \\"""
    assert _lines(tmp_path, text) == [
        ("a = 1", 2),
        ('c = "x # y" z', 4),
        ("d = long   and longer", 5),
        ("e = last", 9),
    ]


def test_a_value_knows_its_line_within_a_continuation(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("GroupA (one two \\\n three) \\\n ([one, 1])\n")
    (line,) = _reader(tmp_path).lines(tmp_path / "f")
    assert [line.place(line.text.index(word)).line for word in ("GroupA", "three", "[one")] == [
        1,
        2,
        3,
    ]


def test_windows_line_ends_and_old_letters(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"a = 1 \\\r\n 2\r\n# caf\xe9\r\nb = 3\r\n")
    found = _reader(tmp_path).lines(tmp_path / "f")
    assert [line.text.split() for line in found] == [["a", "=", "1", "2"], ["b", "=", "3"]]


NESTED = """#if cluster(blue)
a
#if user(ann)
b
#elif user(bert carl)
c
#else
d
#endif
e
#elif cluster(red)
f
#else
g
#endif
h"""


@pytest.mark.behaviour("CFG-01")
@pytest.mark.parametrize(
    ("cluster", "user", "left"),
    [
        ("blue", "ann", "abeh"),
        ("blue", "carl", "aceh"),
        ("blue", "", "adeh"),
        ("red", "ann", "fh"),
        ("green", "ann", "gh"),
    ],
)
def test_conditions_within_conditions(tmp_path: Path, cluster: str, user: str, left: str) -> None:
    found = _lines(tmp_path, NESTED, cluster=cluster, user=user)
    assert "".join(text for text, _ in found) == left
    assert [NESTED.splitlines()[line - 1] for _, line in found] == list(left)


@pytest.mark.parametrize(
    ("condition", "monday_at_nine"),
    [
        ("time(8:30-18:30)", True),
        ("time(18:30-8:30)", False),
        ("time(1:9:00-1:10:00)", True),
        ("time(2:0:00-1:8:59)", False),
        ("time(6:0:00-1:9:01)", True),
        ("time(0-8 9-10)", True),
        ("!time(8:30-18:30)", False),
        ("time(8:30-18:30) && user(ann)", True),
        ("time(8:30-18:30) && user(bert)", False),
        ("user(bert) || cluster(blue)", True),
        ("!(user(ann) || user(bert))", False),
        ("user(bert) || user(ann) && cluster(blue)", True),
        ("(user(bert) || user(ann)) && cluster(red)", False),
    ],
)
def test_conditions(condition: str, monday_at_nine: bool) -> None:
    assert holds(condition, Circumstances(MORNING, "ann", "blue")) is monday_at_nine


@given(st.integers(0, 7 * 1440 - 1), st.integers(0, 7 * 1440 - 1), st.integers(0, 7 * 1440 - 1))
@examples(200)
def test_windows_go_round_the_week(first: int, last: int, now: int) -> None:
    def text(minute: int) -> str:
        return f"{minute // 1440}:{minute % 1440 // 60}:{minute % 60:02d}"

    sunday = datetime.fromisoformat("2026-03-01T00:00:00+00:00")
    moment = datetime.fromtimestamp(sunday.timestamp() + 60 * now, sunday.tzinfo)
    inside = first <= now < last if first < last else now >= first or now < last
    assert holds(f"time({text(first)}-{text(last)})", Circumstances(moment)) is inside


def test_without_a_time_no_window_can_be_judged() -> None:
    with pytest.raises(ValueError, match="needs the current time: give --at"):
        holds("time(8-9)", Circumstances())


def test_includes_are_found_beside_the_file_and_in_the_directory(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "one").write_text("1\n")
    (tmp_path / "deep/two").write_text('2\n#INCLUDE "/opt/lsf/conf/one"\n')
    (tmp_path / "f").write_text('a\n#INCLUDE "deep/two"\n#include one\nb\n')
    found = _reader(tmp_path).lines(tmp_path / "f")
    shown = [(line.text, Path(line.file).name, line.place().line) for line in found]
    assert shown == [
        ("a", "f", 1),
        ("2", "two", 1),
        ("1", "one", 1),
        ("1", "one", 1),
        ("b", "f", 4),
    ]


def test_rings_and_bushes_of_includes_end(tmp_path: Path) -> None:
    (tmp_path / "f").write_text('#INCLUDE "g"\n')
    (tmp_path / "g").write_text('#INCLUDE "f"\n')
    reader = _reader(tmp_path)
    assert reader.lines(tmp_path / "f") == []
    assert [problem.message for problem in reader.problems.found] == ["'f' includes itself"]
    for n in range(40):
        (tmp_path / f"b{n}").write_text(f'#INCLUDE "b{n + 1}"\n' * 2)
    (tmp_path / "b40").write_text("x\n")
    reader = _reader(tmp_path)
    reader.lines(tmp_path / "b0")
    assert len(reader.files) <= 501
    assert "more than 500 included files" in reader.problems.found[0].message


def _entries(text: str, table: bool | None = None) -> tuple[list[LsfEntry], list[str]]:
    problems = Problems()
    lines = [
        Line(line, "f", ((0, number),))
        for number, line in enumerate(text.splitlines(), start=1)
        if line.strip()
    ]
    sections = read_sections(lines, ("Host", "Queue", "Limit"), problems, "f")
    found = [entry for section in sections for entry in entries(section, problems, table=table)]
    return found, [str(problem) for problem in problems.found]


def test_cells_of_a_table() -> None:
    found, wrong = _entries(
        "begin host\nHOST_NAME MXJ windows  x\n"
        'a\t! (5:19:00-1:8:30 20:00-8:30) "two words"\nb () - ([c, 1] [d, 2])\nEND HOST'
    )
    assert wrong == []
    assert [entry.section for entry in found] == ["Host", "Host"]
    assert {key: value.text for key, value in found[0].values.items()} == {
        "HOST_NAME": "a",
        "MXJ": "!",
        "WINDOWS": "(5:19:00-1:8:30 20:00-8:30)",
        "X": '"two words"',
    }
    assert {key: value.text for key, value in found[1].values.items()} == {
        "HOST_NAME": "b",
        "X": "([c, 1] [d, 2])",
    }
    assert found[1].values["X"].place.line == 4
    assert found[1].keys["WINDOWS"] == "windows"


def test_pairs_with_nothing_and_with_quotes() -> None:
    found, wrong = _entries(
        "Begin Queue\nQUEUE_NAME=q\nRUN_WINDOW\nUSERS =\nNICE = -\n"
        'PRE_EXEC = "a = b"\nJL/P = 2\n...\nr1m  = 0.7/2.0\nEnd Queue',
    )
    assert wrong == []
    assert {key: value.text for key, value in found[0].values.items()} == {
        "QUEUE_NAME": "q",
        "PRE_EXEC": "a = b",
        "JL/P": "2",
        "R1M": "0.7/2.0",
    }


def test_both_styles_of_one_section() -> None:
    found, wrong = _entries(
        "Begin Limit\nNAME = a\nSLOTS = 3\nEnd Limit\n"
        "Begin Limit\nNAME SLOTS\nb 4\nc -\nEnd Limit\nBegin Limit\nEnd Limit"
    )
    assert wrong == []
    assert [(entry.text("NAME"), entry.text("SLOTS")) for entry in found] == [
        ("a", "3"),
        ("b", "4"),
        ("c", ""),
        ("", ""),
    ]


@given(st.text(alphabet='ab "#', max_size=30))
@examples(300)
def test_what_is_left_of_a_line_with_comments(text: str) -> None:
    left = without_comment(text)
    assert text.startswith(left)
    if left != text:
        assert text[len(left)] == "#"
        assert left.count('"') % 2 == 0 or '"' not in text[len(left) :]
