"""The one family of errors that Slotwise raises on purpose."""

from __future__ import annotations

import difflib
import string
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from errno import ENXIO

from .input_limits import compared, limits, may_suggest

#: So many names are listed whole.
_FEW = 12
#: Characters of a message that quotes something endless.
_LONGEST = 2000
#: Characters of a word for which another one may have been meant.
_LONGEST_WORD = 200
#: Words of an input that are compared closely, and at all, to find what was meant.
_CLOSELY, _COMPARED = 60_000, 3_000_000
_LETTERS = string.ascii_lowercase + string.digits + "_-."


class SlotwiseError(Exception):
    """Base of every error that Slotwise raises on purpose; its text is fit for a user."""


class Cancelled(SlotwiseError):
    """A call was cancelled, or its limit came, before it had any answer."""

    def __init__(
        self, why: str = "cancelled", when: str = "while the instance was still being looked at"
    ) -> None:
        super().__init__(f"{why} {when}")


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with an input."""

    #: What is wrong and what would be right, one sentence.
    message: str
    #: File name, or "" for input that has none.
    source: str = ""
    #: Line number from 1, or None.
    line: int | None = None
    #: Path into the document such as ``hosts[1].slots``, or "".
    path: str = ""
    #: It says that a name has no definition.
    undefined: bool = False
    #: It rests on the value of a key in another entry.
    undecided: bool = False

    def __str__(self) -> str:
        place = self.source
        message = self.message
        if len(message) > _LONGEST:
            message = f"{message[: _LONGEST // 2]} … {message[-_LONGEST // 4 :]}"
        if self.line is not None:
            place = f"{place}:{self.line}" if place else f"line {self.line}"
        return ": ".join(part for part in (place, self.path, message) if part)


class InputError(SlotwiseError):
    """Bad input: carries every problem found, in the order of the document.

    Its text spells out the first ones, as many as the limits allow, and counts the others.
    """

    def __init__(self, problems: Iterable[Problem] | str, hint: str = "") -> None:
        if isinstance(problems, str):
            problems = (Problem(problems),)
        self.problems: tuple[Problem, ...] = tuple(problems)
        #: What to do about all of them, a last line.
        self.hint = hint
        super().__init__("\n".join([*report(self.problems), *([hint] if hint else [])]))

    def __reduce__(self) -> tuple[type[InputError], tuple[tuple[Problem, ...], str]]:
        """Pickled with its problems: errors travel between processes too."""
        return type(self), (self.problems, self.hint)


class UnknownNameError(InputError, KeyError, ValueError):
    """A name that stands for nothing, with the nearest one that does.

    A look-up that fails is a KeyError where Python looks things up, and a choice that does not
    exist a ValueError: this is both.
    """

    __str__ = Exception.__str__  # KeyError would show the quoted form

    @classmethod
    def among(cls, what: str, name: object, known: Iterable[str]) -> UnknownNameError:
        """``unknown method 'greddy' (did you mean 'greedy'?): use one of …``."""
        names = list(known)
        hint = nearest(str(name), names)
        listed = f": use one of {', '.join(names)}" if len(names) <= _FEW else ""
        return cls(f"unknown {what} {name!r}{hint}{listed}")


def unreadable(source: object, error: Exception) -> InputError:
    """``FILE: cannot be read: Permission denied``: the system does not hand a file out."""
    reason = getattr(error, "strerror", None) or str(error)
    if getattr(error, "errno", None) == ENXIO:
        reason = "it is a socket, or a device that is not there"
    return InputError([Problem(f"cannot be read: {reason}", str(source))])


def report(problems: Sequence[Problem]) -> list[str]:
    """A line a problem, of very many the first (--max-errors), and how many more there are."""
    most = limits().errors
    if len(problems) <= most + 1:
        return [str(problem) for problem in problems]
    lines = [str(problem) for problem in problems[:most]]
    return [*lines, f"and {len(problems) - most} more problems ({len(problems)} in all)"]


def nearest(word: str, known: Iterable[str]) -> str:
    """`` (did you mean 'x'?)`` for the known word closest to `word`, or "".

    Among very many words one that differs by a letter is looked for.
    """
    if len(word) > _LONGEST_WORD or not may_suggest() or compared(0) > _COMPARED:
        return ""
    lower, choices = word.lower(), {name.lower(): name for name in known}
    if compared(len(choices)) <= _CLOSELY:
        close = difflib.get_close_matches(lower, choices, n=1, cutoff=0.6)
    else:
        close = [other for other in _one_letter_off(lower) if other in choices]
    return f" (did you mean '{choices[close[0]]}'?)" if close else ""


def _one_letter_off(word: str) -> Iterator[str]:
    """The word itself, with two letters swapped, one letter less, another one, and one more."""
    parts = [(word[:at], word[at:]) for at in range(len(word) + 1)]
    yield word
    yield from (left + right[1] + right[0] + right[2:] for left, right in parts if right[1:])
    yield from (left + right[1:] for left, right in parts if right)
    yield from (left + letter + right[1:] for left, right in parts if right for letter in _LETTERS)
    yield from (left + letter + right for left, right in parts for letter in _LETTERS)
