"""Lines, conditions, sections and tables, and the place of every value."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_profiles import examples
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


@given(st.text(alphabet='ab "#', max_size=30))
@examples(300)
def test_what_is_left_of_a_line_with_comments(text: str) -> None:
    left = without_comment(text)
    assert text.startswith(left)
    if left != text:
        assert text[len(left)] == "#"
        assert left.count('"') % 2 == 0 or '"' not in text[len(left) :]
