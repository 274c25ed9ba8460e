"""An instance document in the making, with the place in the files of everything in it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from ...errors import Problem
from ..finding import Finding, Location
from .sections import LsfEntry
from .source import Place, Value

_WHOLE = re.compile(r"[+-]?\d{1,15}")
_DECIMAL = re.compile(r"[+-]?(?:\d{1,15}\.\d*|\.\d+)(?:[eE][+-]?\d{1,3})?")


@dataclass(frozen=True, slots=True)
class Mark:
    """Where a part of the document comes from; label: section and key as the file has them."""

    place: Place
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

    document: dict[str, Any] = field(default_factory=lambda: {"format": "slotwise/1"})
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
        """Findings about the document as problems of the files, in their order."""
        unique = dict.fromkeys(findings)
        return tuple(sorted((self._problem(finding, source) for finding in unique), key=_order))

    def _problem(self, finding: Finding, source: str) -> Problem:
        place = finding.place
        for length in range(len(place), 0, -1):
            mark = self.marks.get(place[:length])
            if mark is not None:
                return Problem(finding.message, mark.place.file, mark.place.line, mark.label)
        path = ".".join(str(part) for part in place)
        return Problem(finding.message, source, path=path)


def _order(problem: Problem) -> tuple[str, int]:
    return problem.source, problem.line or 0


def number(value: Value | str) -> Any:
    """A number where the text is one, else the text itself (the reader will say what is due)."""
    text = value if isinstance(value, str) else value.text
    if _WHOLE.fullmatch(text):
        return int(text)
    return float(text) if _DECIMAL.fullmatch(text) else text
