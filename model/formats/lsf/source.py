"""Text with its place: every value of a configuration knows the file and line it came from."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from datetime import datetime

from ...errors import Problem


@dataclass(frozen=True, slots=True)
class Place:
    """A file (as it is named in messages) and a line number from 1."""

    file: str
    line: int


@dataclass(frozen=True, slots=True)
class Value:
    """A piece of text and where it begins."""

    text: str
    place: Place


@dataclass(frozen=True, slots=True)
class Line:
    """A logical line: comments gone, continuation lines joined.

    starts: for each physical line that went into it, its offset in `text` and its number.
    """

    text: str
    file: str
    starts: tuple[tuple[int, int], ...]

    def place(self, offset: int = 0) -> Place:
        """Where the character at `offset` stands in the file."""
        index = bisect_right(self.starts, offset, key=lambda start: start[0]) - 1
        return Place(self.file, self.starts[max(index, 0)][1])

    def value(self, start: int, end: int) -> Value:
        """The text between two offsets, blanks around it left out."""
        while start < end and self.text[start].isspace():
            start += 1
        return Value(self.text[start:end].rstrip(), self.place(start))


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What conditions (``#if``) ask for: a time with its zone, a user, the cluster's name."""

    at: datetime | None = None
    user: str = ""
    cluster: str = ""


@dataclass(slots=True)
class Problems:
    """What is wrong so far; reading goes on, so that one report has everything."""

    found: list[Problem] = field(default_factory=list)

    def add(self, place: Place, message: str, label: str = "") -> None:
        """One more problem; label: section and key such as ``Queue.RUNLIMIT``."""
        self.found.append(Problem(message, place.file, place.line, label))
