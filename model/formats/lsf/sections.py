"""Lines to sections, and sections to ``KEY = value`` pairs or to rows of a table."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from ...errors import nearest
from .lines import Line, Place, Problems, Value

_EDGE = re.compile(r"\s*(begin|end)\s+([A-Za-z]\w*)\s*$", re.IGNORECASE)
_PAIR = re.compile(r"\s*([A-Za-z_][\w/%.-]*)\s*(?:=|$)")
#: Notation of LSF's documentation for "and so on".
_ELLIPSIS = re.compile(r"\s*(?:\.{3,}|…)\s*$")
#: lsf.conf as a section: as in any shell file the last of two equal keys counts.
CONF = "lsf.conf"
_NOTHING = ("", "-", "()", "( )")
#: Columns that take the rest of their row.
_OPEN = frozenset({"LOCATION", "DESCRIPTION", "USER_SHARES"})
_CLOSING = {"(": ")", "[": "]"}


@dataclass(frozen=True, slots=True)
class LsfSection:
    """One ``Begin … End``; name as the documents spell it."""

    #: Name after ``Begin``.
    name: str
    #: File and line of ``Begin``.
    place: Place
    #: Logical lines between ``Begin`` and ``End``.
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class LsfEntry:
    """One thing that is configured: a section of pairs, or a row of a table."""

    #: Name of the section that contains the entry.
    section: str
    #: File and line at which the entry begins.
    place: Place
    #: Values by key in capitals; keys that are not set (``-``, ``()``, empty) are absent.
    values: Mapping[str, Value]
    #: Keys as written, by key in capitals.
    keys: Mapping[str, str]

    def text(self, key: str) -> str:
        """Return the value's text, "" if it is not set."""
        value = self.values.get(key)
        return "" if value is None else value.text

    def at(self, key: str) -> Place:
        """Return the position of the value, of the entry if it is not set."""
        value = self.values.get(key)
        return self.place if value is None else value.place


def read_sections(
    lines: Iterable[Line], known: Iterable[str], problems: Problems, file: str
) -> list[LsfSection]:
    """Return the sections of a file; known: section names of this file, others are kept too."""
    spelled = {name.lower(): name for name in known}
    found: list[LsfSection] = []
    name, place, inside = "", Place(file, 1), list[Line]()

    def close() -> None:
        found.append(LsfSection(spelled.get(name.lower(), name), place, tuple(inside)))

    def unclosed() -> None:
        if name:
            problems.add(place, f"Begin {name} has no End {name}")
            close()
        elif inside:
            text = inside[0].text.strip()[:40]
            problems.add(inside[0].place(), f"{text!r} is outside of any section")

    for line in lines:
        edge = _EDGE.match(line.text)
        if edge is None:
            if name or not _ELLIPSIS.match(line.text):
                inside.append(line)
            continue
        word = edge[2]
        if edge[1].lower() == "begin":
            unclosed()
            name, place, inside = word, line.place(), []
            continue
        if not name:
            hint = "" if word.lower() in spelled else nearest(word, spelled.values())
            problems.add(line.place(), f"End {word} has no Begin {word}{hint}")
            name = word  # earlier lines probably belong to this section
        elif (
            word.lower() != name.lower() and word.lower() in spelled and name.lower() not in spelled
        ):
            problems.add(place, f"Begin {name} ends with End {word}: write Begin {word}")
            name = word
        elif word.lower() != name.lower():
            problems.add(line.place(), f"End {word} closes Begin {name}: write End {name}")
        close()
        name, inside = "", []
    unclosed()
    return found


def entries(
    section: LsfSection, problems: Problems, *, table: bool | None = None
) -> list[LsfEntry]:
    """Return the entries of a section. table: whether it is one; None to detect it."""
    lines = [line for line in section.lines if not _ELLIPSIS.match(line.text)]
    if table is None:
        table = bool(lines) and "=" not in lines[0].text
    return _rows(section, lines, problems) if table else [_pairs(section, lines, problems)]


def _pairs(section: LsfSection, lines: Iterable[Line], problems: Problems) -> LsfEntry:
    values: dict[str, Value] = {}
    keys: dict[str, str] = {}
    first: dict[str, Place] = {}
    for line in lines:
        match = _PAIR.match(line.text)
        # A key alone is one that is not set; in small letters it is rather a value cut loose.
        if match is None or ("=" not in line.text and match[1].islower()):
            text = line.text.strip()[:40]
            problems.add(line.place(), f"{text!r} is not KEY = value", section.name)
            continue
        key = match[1].upper()
        label = f"{section.name}.{match[1]}"
        if key in first and section.name != CONF:
            message = f"is given twice in this section, first in line {first[key].line}: keep one"
            problems.add(line.place(), message, label)
            continue
        first[key] = line.place()
        value = line.value(match.end(), len(line.text))
        text = value.text
        if len(text) > 1 and text[0] == text[-1] in "\"'" and text[0] not in text[1:-1]:
            value = Value(text[1:-1].strip(), value.place)
        if value.text not in _NOTHING:
            values[key], keys[key] = value, match[1]
    return LsfEntry(section.name, section.place, values, keys)


def _rows(section: LsfSection, lines: list[Line], problems: Problems) -> list[LsfEntry]:
    if not lines:
        return []
    named = cells(lines[0], problems)
    if named is None:
        return []
    header = [cell.text for cell in named]
    columns = [name.upper() for name in header]
    for name in {name for name in columns if columns.count(name) > 1}:
        problems.add(lines[0].place(), f"has the column {name} twice", section.name)
    if any("(" in name or "=" in name for name in header):
        text = lines[0].text.strip()[:40]
        message = f"the first line of a table names its columns, not {text!r}"
        problems.add(lines[0].place(), message, section.name)
        return []
    return [
        entry
        for line in lines[1:]
        for entry in _row(section, line, columns, dict(zip(columns, header, strict=True)), problems)
    ]


def _row(
    section: LsfSection,
    line: Line,
    columns: list[str],
    keys: Mapping[str, str],
    problems: Problems,
) -> Iterator[LsfEntry]:
    found = cells(line, problems)
    if found is None:
        return
    if len(found) > len(columns) and columns[-1] in _OPEN:
        rest = found[len(columns) - 1 :]
        whole = Value(" ".join(cell.text for cell in rest), rest[0].place)
        found = [*found[: len(columns) - 1], whole]
    if len(found) != len(columns):
        message = (
            f"has {len(found)} cells, its table {len(columns)} columns ({' '.join(keys.values())})"
        )
        remedy = ": write - or () for what is not set" if len(found) < len(columns) else ""
        problems.add(line.place(), message + remedy, section.name)
        return
    values = {
        column: cell
        for column, cell in zip(columns, found, strict=True)
        if cell.text not in _NOTHING
    }
    yield LsfEntry(section.name, line.place(), values, keys)


def cells(line: Line, problems: Problems) -> list[Value] | None:
    """Return the words of a row; brackets and double quotes keep blanks together.

    None, with a problem, if one of these is not closed.
    """
    found: list[Value] = []
    text = line.text
    open_brackets: list[str] = []
    start, quoted = -1, False
    for index, sign in enumerate(text):
        if start < 0:
            if sign.isspace():
                continue
            start = index
        if sign == '"':
            quoted = not quoted
        elif quoted:
            continue
        elif sign in _CLOSING:
            open_brackets.append(_CLOSING[sign])
        elif open_brackets and sign == open_brackets[-1]:
            open_brackets.pop()
        elif sign.isspace() and not open_brackets:
            found.append(line.value(start, index))
            start = -1
    if start >= 0:
        found.append(line.value(start, len(text)))
    if open_brackets or quoted:
        missing = '"' if quoted else open_brackets[-1]
        problems.add(line.place(), f"a {missing!r} is missing: {found[-1].text[:40]!r}")
        return None
    return found
