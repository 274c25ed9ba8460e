"""The one family of errors that Slotwise raises on purpose."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass


class SlotwiseError(Exception):
    """Base of every error that Slotwise raises on purpose; its text is fit for a user."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with an input.

    message: what is wrong and what would be right, one sentence.
    source: file name, or "" for input that has none.
    line: line number from 1, or None.
    path: path into the document such as ``hosts[1].slots``, or "".
    undefined: it says that a name has no definition.
    """

    message: str
    source: str = ""
    line: int | None = None
    path: str = ""
    undefined: bool = False

    def __str__(self) -> str:
        place = self.source
        if self.line is not None:
            place = f"{place}:{self.line}" if place else f"line {self.line}"
        return ": ".join(part for part in (place, self.path, self.message) if part)


class InputError(SlotwiseError):
    """Bad input: carries every problem found, in the order of the document."""

    def __init__(self, problems: Iterable[Problem] | str) -> None:
        if isinstance(problems, str):
            problems = (Problem(problems),)
        self.problems: tuple[Problem, ...] = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


def nearest(word: str, known: Iterable[str]) -> str:
    """`` (did you mean 'x'?)`` for the known word closest to `word`, or ""."""
    choices = {name.lower(): name for name in known}
    close = difflib.get_close_matches(word.lower(), choices, n=1, cutoff=0.6)
    return f" (did you mean '{choices[close[0]]}'?)" if close else ""
