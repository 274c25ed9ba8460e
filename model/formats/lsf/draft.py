"""An instance document in the making, with the place in LSF's files of everything in it.

Lines make sections, and sections ``KEY = value`` pairs or rows of a table.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...display import some
from ...errors import Problem, nearest
from ...omissions import OPTIONS, Change, OmissionMark
from ..document import Finding, Location
from .lines import Decision, Line, Place, Problems, Value

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


def named_entries(
    section: LsfSection, key: str, what: str, problems: Problems
) -> Iterator[tuple[str, LsfEntry]]:
    """Yield name and entry of a section that is not a table; without a name it is an error."""
    for entry in entries(section, problems, table=False):
        if name := entry.text(key):
            yield name, entry
        else:
            problems.add(entry.place, f"{what} needs a name", f"{section.name}.{key}")


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
        remedy = ": write - or () for a value that is not set" if len(found) < len(columns) else ""
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


_WHOLE = re.compile(r"[+-]?\d{1,15}")
_DECIMAL = re.compile(r"[+-]?(?:\d{1,15}\.\d*|\.\d+)(?:[eE][+-]?\d{1,3})?")


@dataclass(frozen=True, slots=True)
class Mark:
    """Origin of a part of the document in LSF's files."""

    #: File and line from which a value was read.
    place: Place
    #: Section and key as the file has them.
    label: str


class Item:
    """One entry of a list of the document, being filled."""

    def __init__(self, entry: LsfEntry) -> None:
        self.entry = entry
        self.values: dict[str, Any] = {}
        self.marks: dict[str, Mark] = {}

    def put(self, key: str, value: Any, parameter: str | None = None) -> None:
        """Set a key; parameter: the one of the file it comes from, by default of the same name."""
        name = (parameter or key).upper()
        label = f"{self.entry.section}.{self.entry.keys.get(name, parameter or key)}"
        self.values[key] = value
        self.marks[key] = Mark(self.entry.at(name), label)

    def take(self, key: str, parameter: str | None = None, *, plain: bool = True) -> None:
        """Set a key to a parameter's text if it is there; plain: numbers become numbers."""
        value = self.entry.values.get((parameter or key).upper())
        if value is not None:
            self.put(key, number(value) if plain else value.text, parameter)


@dataclass(slots=True)
class Draft:
    """The document, and for each place in it where that came from."""

    #: Instance document under construction.
    document: dict[str, Any] = field(default_factory=lambda: {"format": "slotwise/1"})
    #: Origin of each value, by its place in the document.
    marks: dict[Location, Mark] = field(default_factory=dict)

    def add(self, section: str, item: Item) -> None:
        """Append an entry to a list such as ``queues``."""
        entries: list[Any] = self.document.setdefault(section, [])
        place: Location = (section, len(entries))
        self.marks[place] = Mark(item.entry.place, item.entry.section)
        for key, mark in item.marks.items():
            self.marks[(*place, key)] = mark
        entries.append(item.values)

    def put(self, section: str, key: str, value: Any, mark: Mark) -> None:
        """Set a key of a mapping such as ``params`` or ``host_groups``."""
        self.document.setdefault(section, {})[key] = value
        self.marks[(section, key)] = mark

    def located(self, findings: Iterable[Finding], source: str) -> tuple[Problem, ...]:
        """Return findings about the document as problems of its files, in document order."""
        unique = dict.fromkeys(findings)
        found = (self._problem(finding, source) for finding in unique)
        return tuple(sorted(found, key=lambda problem: (problem.source, problem.line or 0)))

    def _problem(self, finding: Finding, source: str) -> Problem:
        place = finding.place
        for length in range(len(place), 0, -1):
            mark = self.marks.get(place[:length])
            if mark is not None:
                return Problem(finding.message, mark.place.file, mark.place.line, mark.label)
        return Problem(finding.message, source, path=".".join(str(part) for part in place))


def number(value: Value | str) -> Any:
    """Return a text as a number if it is one, else the text itself, which the reader checks."""
    text = value if isinstance(value, str) else value.text
    if _WHOLE.fullmatch(text):
        return int(text)
    return float(text) if _DECIMAL.fullmatch(text) else text


#: Names listed in one note before the rest becomes a number.
_MAX_NAMES = 8


@dataclass(frozen=True, slots=True)
class Concerned:
    """Whose starts something may change, as an omission of an instance document has it."""

    #: The scope: queues, users, hosts … by the keys of the document; empty: any job.
    scope: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    #: Effect on these jobs, one of :data:`slotwise.model.omissions.Change`.
    changes: Change = "starts"
    #: Configuration that the scope needs, if it is known only after all files have been read.
    only: str = ""
    mark: OmissionMark = ""

    @property
    def is_of_option(self) -> bool:
        """Return whether it concerns jobs that are submitted with an option, and no listed job."""
        return not OPTIONS.isdisjoint(self.scope.get("resources", ()))

    @property
    def kind(self) -> object:
        """Return a key that is equal for omissions that one entry can describe."""
        is_one = len(self.scope) < 2 or self.is_of_option
        narrow = tuple(self.scope) if is_one else tuple(self.scope.items())
        return narrow, self.changes


def _together(alike: Sequence[Concerned]) -> dict[str, Any]:
    """Return the document keys of several objects of one kind."""
    scope: dict[str, dict[str, None]] = {}
    for item in alike:
        for key, names in item.scope.items():
            scope.setdefault(key, {}).update(dict.fromkeys(names))
    changes = {} if alike[0].changes == "starts" else {"changes": alike[0].changes}
    mark = {"mark": alike[0].mark} if alike[0].mark else {}
    return {key: list(names) for key, names in scope.items()} | changes | mark


def _said(topic: str, reason: str, places: Iterable[str]) -> str:
    return f"{topic} ({listed(places)}): {reason}"


@dataclass(slots=True)
class Notes:
    """Notes collected while the files are read; :meth:`lines` returns them as few sentences."""

    #: Files in it are named from there.
    root: str = ""
    #: Results of the conditions (``#if``) in the files.
    decisions: list[Decision] = field(default_factory=list)
    _left_out: Counter[tuple[str, str]] = field(default_factory=Counter)
    _differ: dict[tuple[str, str], dict[str, Concerned]] = field(default_factory=dict)
    _remarks: dict[str, None] = field(default_factory=dict)

    def not_modelled(self, kind: str, parameter: str) -> None:
        """Note a parameter of one queue, host or file (`kind`) that has no counterpart."""
        self._left_out[kind, parameter] += 1

    def may_differ(
        self, topic: str, reason: str, where: str, concerned: Concerned | None = None
    ) -> None:
        """Note why answers may differ from LSF's; `where` is the queue, host or file.

        concerned: the jobs whose starts it may change; any where None.
        """
        self._differ.setdefault((topic, reason), {})[where] = concerned or Concerned()

    def settle(self, scopes: Mapping[str, Concerned | None]) -> None:
        """Fill in the scopes that need all files; None: the scope has no such configuration."""
        for (topic, reason), places in list(self._differ.items()):
            for where, concerned in list(places.items()):
                if not concerned.only:
                    continue
                found = scopes[concerned.only]
                if found is None:
                    del places[where]
                    self.not_modelled(where, topic)
                else:
                    places[where] = found
            if not places:
                del self._differ[topic, reason]

    def remark(self, text: str, place: Place | None = None) -> None:
        """Add another remark; a repeated one is added one time."""
        self._remarks[f"{self.at(place)}: {text}" if place else text] = None

    def at(self, place: Place) -> str:
        """Return the position as text: ``lsb.queues:12``."""
        return f"{place.file.removeprefix(self.root).lstrip('/')}:{place.line}"

    def lines(self) -> tuple[str, ...]:
        """Return one sentence for each condition, remark, difference and omission."""
        found = [
            f"{self.at(decision.place)}: #if {decision.text} is "
            f"{'true' if decision.answer else 'false'}"
            for decision in self.decisions
        ]
        found += self._remarks
        found += [
            f"answers may differ because of {_said(topic, reason, places)}"
            for (topic, reason), places in self._differ.items()
            if not all(item.is_of_option for item in places.values())
        ]
        if self._left_out:
            found.append(f"not modelled: {'; '.join(self._counted())}")
        return tuple(found)

    def omissions(self) -> list[dict[str, Any]]:
        """Return the omissions for an instance document, an entry for each scope."""
        found = []
        for (topic, reason), places in self._differ.items():
            kinds: dict[object, dict[str, Concerned]] = {}
            for where, concerned in places.items():
                kinds.setdefault(concerned.kind, {})[where] = concerned
            for alike in kinds.values():
                entry = {"what": _said(topic, reason, alike), "count": len(alike)}
                found.append(entry | _together(list(alike.values())))
        return found

    def _counted(self) -> Iterator[str]:
        """Yield ``NICE in 12 queues, MIG in 3`` for each kind of object."""
        for kind in dict.fromkeys(kind for kind, _ in self._left_out):
            counts = [(name, n) for (k, name), n in self._left_out.items() if k == kind]
            counts.sort(key=lambda pair: (-pair[1], pair[0]))
            if kind.startswith("ls"):
                yield f"{', '.join(name for name, _ in counts)} in {kind}"
                continue
            first = counts[0]
            noun, of, file = kind.partition(" of ")
            plural = "s" if first[1] > 1 else ""
            parts = [f"{first[0]} in {first[1]} {noun}{plural}{of}{file}"]
            parts += [f"{name} in {count}" for name, count in counts[1:]]
            yield ", ".join(parts)


def listed(names: Iterable[str]) -> str:
    """Return ``a, b, c``; a long list ends with the number of further items."""
    return some(names, _MAX_NAMES)
