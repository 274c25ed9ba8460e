"""Errors that Slotwise raises on purpose."""

from __future__ import annotations

import difflib
import string
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from errno import ENXIO
from functools import wraps
from typing import ParamSpec, TypeVar

from .input_limits import compared, limits, may_suggest

P = ParamSpec("P")
T = TypeVar("T")
#: Maximum number of names that a message lists in full.
_FEW = 12
#: Maximum length of a message that quotes an input, in characters.
_LONGEST = 2000
#: Maximum length of a word for which similar words are searched, in characters.
_LONGEST_WORD = 200
#: Maximum numbers of input words for a thorough and for a quick search of similar words.
_CLOSELY, _COMPARED = 60_000, 3_000_000
_LETTERS = string.ascii_lowercase + string.digits + "_-."


class SlotwiseError(Exception):
    """Base of every error that Slotwise raises on purpose; its text is fit for a user."""


class Cancelled(SlotwiseError):
    """A call was cancelled, or its limit came, before it had any answer."""

    def __init__(
        self, why: str = "cancelled", when: str = "while the instance was still being checked"
    ) -> None:
        super().__init__(f"{why} {when}")


@dataclass(frozen=True, slots=True)
class Problem:
    """One error in an input."""

    #: Error and accepted values, in one sentence.
    message: str
    #: File name, "" if the input has none.
    source: str = ""
    #: Line number from 1, None if unknown.
    line: int | None = None
    #: Path into the document such as ``hosts[1].slots``, "" if unknown.
    path: str = ""
    #: Whether the error is a name without a definition.
    undefined: bool = False
    #: Whether the error depends on the value of a key in another entry.
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
    """Invalid input, with every problem found, in the order of the document.

    The text has the first problems, up to the limits, and the number of the rest.
    """

    def __init__(self, problems: Iterable[Problem] | str, hint: str = "") -> None:
        if isinstance(problems, str):
            problems = (Problem(problems),)
        self.problems: tuple[Problem, ...] = tuple(problems)
        #: Last line of the text: the remedy for all problems.
        self.hint = hint
        super().__init__("\n".join([*report(self.problems), *([hint] if hint else [])]))

    def __reduce__(self) -> tuple[type[InputError], tuple[tuple[Problem, ...], str]]:
        """Keep the problems when pickled, because errors are passed between processes."""
        return type(self), (self.problems, self.hint)


class UnknownNameError(InputError, KeyError, ValueError):
    """An unknown name, with the nearest known one.

    It is a KeyError, as failed look-ups are, and a ValueError, as invalid choices are.
    """

    __str__ = Exception.__str__  # KeyError would print the text in quotes.

    @classmethod
    def among(cls, what: str, name: object, known: Iterable[str]) -> UnknownNameError:
        """Return the error ``unknown method 'greddy' (did you mean 'greedy'?): use one of …``."""
        names = list(known)
        hint = nearest(str(name), names)
        listed = f": use one of {', '.join(names)}" if len(names) <= _FEW else ""
        return cls(f"unknown {what} {name!r}{hint}{listed}")


def bounded(what: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Return a decorator of readers: an error of any kind becomes an InputError.

    what: the input in words.
    """

    def decorated(read: Callable[P, T]) -> Callable[P, T]:
        @wraps(read)
        def reading(*given: P.args, **named: P.kwargs) -> T:
            try:
                return read(*given, **named)
            except (SlotwiseError, OSError, MemoryError):
                raise
            except Exception as error:
                kind = type(error).__name__
                text = f"{what} cannot be read: {kind}: {error} (slotwise --debug … shows where)"
                raise InputError(text) from error

        return reading

    return decorated


def missing_package(names: str, use: str, extra: str) -> str:
    """Return the message for packages of an extra that are not installed."""
    return f"{names} must be installed for {use}: pip install 'slotwise[{extra}]'"


def wrong_clock(dated: bool, other: str) -> str:
    """Return the message for times that are dates or seconds, and the other times are not."""
    return f"times must be {'dates' if dated else 'seconds without a date'}, as in {other}"


def unreadable(source: object, error: Exception) -> InputError:
    """Return the error for a file that the system does not allow to be read, with its reason."""
    reason = getattr(error, "strerror", None) or str(error)
    if getattr(error, "errno", None) == ENXIO:
        reason = "it is a socket, or a device that does not exist"
    return InputError([Problem(f"cannot be read: {reason}", str(source))])


def report(problems: Sequence[Problem]) -> list[str]:
    """Return a line for each of the first problems (--max-errors) and the number of the rest."""
    most = limits().errors
    if len(problems) <= most + 1:
        return [str(problem) for problem in problems]
    lines = [str(problem) for problem in problems[:most]]
    return [*lines, f"and {len(problems) - most} more problems ({len(problems)} in all)"]


def nearest(word: str, known: Iterable[str]) -> str:
    """Return `` (did you mean 'x'?)`` with the known word closest to `word`, or "".

    Among very many words, only those that differ by one letter are found.
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
    """Yield the word with two letters swapped, or with one letter removed, replaced or added."""
    parts = [(word[:at], word[at:]) for at in range(len(word) + 1)]
    yield word
    yield from (left + right[1] + right[0] + right[2:] for left, right in parts if right[1:])
    yield from (left + right[1:] for left, right in parts if right)
    yield from (left + letter + right[1:] for left, right in parts if right for letter in _LETTERS)
    yield from (left + letter + right for left, right in parts for letter in _LETTERS)
