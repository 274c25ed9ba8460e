"""Files to logical lines: comments, continuations, ``#INCLUDE``, ``#if`` … ``#endif``.

Conditions of ``#if`` and ``#elif``: ``time(…)``, ``user(…)`` and ``cluster(…)``. They are joined by
``&&``, ``||``, ``!`` and brackets. Every function raises ValueError with a sentence that says what
would be right.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from ...confined import is_inside
from ...errors import InputError, Problem, nearest
from ...windows import MINUTES_A_DAY, MINUTES_A_WEEK, parse_windows
from ..reading import file_bytes, odd_kind


@dataclass(frozen=True, slots=True)
class Place:
    """A file (as it is named in messages) and a line number from 1."""

    #: Path of the file as messages name it.
    file: str
    #: Line number, from 1.
    line: int


@dataclass(frozen=True, slots=True)
class Value:
    """A piece of text and where it begins."""

    #: Text without surrounding blanks.
    text: str
    #: Position at which the text begins.
    place: Place


@dataclass(frozen=True, slots=True)
class Line:
    """A logical line: comments gone, continuation lines joined."""

    #: Logical line: continued physical lines are joined.
    text: str
    #: Path of the file, as messages name it.
    file: str
    #: Offset in `text` and line number of each joined physical line.
    starts: tuple[tuple[int, int], ...]

    def place(self, offset: int = 0) -> Place:
        """Return the position of the character at `offset` in the file."""
        index = bisect_right(self.starts, offset, key=lambda start: start[0]) - 1
        return Place(self.file, self.starts[max(index, 0)][1])

    def value(self, start: int, end: int) -> Value:
        """Return the text between two offsets without surrounding blanks."""
        while start < end and self.text[start].isspace():
            start += 1
        return Value(self.text[start:end].rstrip(), self.place(start))


@dataclass(frozen=True, slots=True)
class Circumstances:
    """Inputs of conditions (``#if``): a time with its zone, a user, the cluster's name."""

    #: Time for ``#if time(…)``, None if unknown.
    at: datetime | None = None
    #: User for ``#if user(…)``, "" if unknown.
    user: str = ""
    #: Cluster for ``#if cluster(…)``, "" if unknown.
    cluster: str = ""


@dataclass(slots=True)
class Problems:
    """Problems found so far; reading continues after a problem, so that one report lists all."""

    #: Problems in the order in which they were found.
    found: list[Problem] = field(default_factory=list)

    def add(self, place: Place, message: str, label: str = "") -> None:
        """Add one problem; label: section and key such as ``Queue.RUNLIMIT``."""
        self.found.append(Problem(message, place.file, place.line, label))


_TOKEN = re.compile(r"\s*(?:(&&|\|\||!|\(|\))|([A-Za-z_]\w*)\s*\(([^()]*)\))")
#: Maximum depth of brackets and negations.
_DEEPEST = 50


def holds(text: str, circumstances: Circumstances) -> bool:
    """Return whether a condition is true under these circumstances."""
    return _Condition(text, circumstances).answer()


class _Condition:
    """A recursive descent over the tokens; all parts are evaluated, so that all errors are seen."""

    def __init__(self, text: str, circumstances: Circumstances) -> None:
        self._text = text
        self._circumstances = circumstances
        self._tokens = _tokens(text)
        self._at = 0
        self._depth = 0

    def answer(self) -> bool:
        found = self._either()
        if self._at < len(self._tokens):
            raise self._broken()
        return found

    def _broken(self) -> ValueError:
        return ValueError(
            f"{self._text.strip()!r} is not a condition such as time(18:30-8:30) && "
            f"(user(ann) || !cluster(blue))"
        )

    def _sign(self, *wanted: str) -> bool:
        if self._at < len(self._tokens) and self._tokens[self._at][0] in wanted:
            self._at += 1
            return True
        return False

    def _either(self) -> bool:
        found = self._both()
        while self._sign("||"):
            found = self._both() or found
        return found

    def _both(self) -> bool:
        found = self._single()
        while self._sign("&&"):
            found = self._single() and found
        return found

    def _single(self) -> bool:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise ValueError(f"the condition is nested more than {_DEEPEST} levels deep: use fewer")
        if self._sign("!"):
            found = not self._single()
        elif self._sign("("):
            found = self._either()
            if not self._sign(")"):
                raise self._broken()
        else:
            found = self._call()
        self._depth -= 1
        return found

    def _call(self) -> bool:
        if self._at >= len(self._tokens) or not self._tokens[self._at][1]:
            raise self._broken()
        _, name, argument = self._tokens[self._at]
        self._at += 1
        if name.lower() not in _FUNCTIONS:
            known = ", ".join(f"{word}(…)" for word in _FUNCTIONS)
            raise ValueError(
                f"unknown condition {name}(…){nearest(name, _FUNCTIONS)}: use one of {known}"
            )
        return _FUNCTIONS[name.lower()](argument, self._circumstances)


def _tokens(text: str) -> list[tuple[str, str, str]]:
    """Return tokens of (sign, function, argument); an invalid rest becomes one token."""
    found: list[tuple[str, str, str]] = []
    at = 0
    while match := _TOKEN.match(text, at):
        found.append((match[1] or "", match[2] or "", match[3] or ""))
        at = match.end()
    if text[at:].strip():
        found.append((text[at:].strip(), "", ""))
    return found


def _time(argument: str, circumstances: Circumstances) -> bool:
    if not argument.strip():
        raise ValueError("time() needs windows such as time(18:30-8:30)")
    periods = parse_windows(argument)
    if circumstances.at is None:
        raise ValueError(
            f"time({argument.strip()}) needs the current time: give --at, or an instance whose "
            "now is a time stamp"
        )
    minute = _minute_of_week(circumstances.at)
    return any(
        first <= moment < last
        for first, last in periods
        for moment in (minute, minute + MINUTES_A_WEEK)
    )


def _minute_of_week(moment: datetime) -> int:
    return moment.isoweekday() % 7 * MINUTES_A_DAY + moment.hour * 60 + moment.minute


def _listed(argument: str, name: str) -> bool:
    return name != "" and name in re.split(r"[\s,]+", argument.strip())


_FUNCTIONS: dict[str, Callable[[str, Circumstances], bool]] = {
    "time": _time,
    "user": lambda argument, here: _listed(argument, here.user),
    "cluster": lambda argument, here: _listed(argument, here.cluster),
}


def described(circumstances: Circumstances) -> str:
    """Return text such as ``at Monday 09:30, for user ann, in cluster blue``."""
    parts = [circumstances.at.strftime("at %A %H:%M")] if circumstances.at else []
    parts += [f"for user {circumstances.user}"] if circumstances.user else []
    parts += [f"in cluster {circumstances.cluster}"] if circumstances.cluster else []
    return ", ".join(parts)


#: Maximum number of included files; more are a cycle or an error.
_MAX_FILES = 500
#: Characters of files that are included once more: a small file may stand for very many lines.
_MAX_AGAIN = 2**19
_IF = re.compile(r"#(if|elif)(?=[\s(!])([!(\s]*[A-Za-z_]\w*\s*\(.*)$", re.DOTALL)
_BRANCH = re.compile(r"#(else|endif)\b\s*(?:#.*)?$")
_INCLUDE = re.compile(r"#\s?INCLUDE\s+(\"[^\"]*\"|\S+)\s*$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Decision:
    """One condition that was evaluated: where, its text, and the answer."""

    #: File and line of the condition.
    place: Place
    #: Condition as written.
    text: str
    #: Whether the condition holds.
    answer: bool


@dataclass(slots=True)
class _Branch:
    """An open ``#if``: whether its lines count now, whether one part has counted, else seen."""

    place: Place
    active: bool
    taken: bool
    last: bool = False


@dataclass(slots=True)
class LineReader:
    """Reads the files of one configuration directory, `root`."""

    #: Configuration directory, searched for included files.
    root: Path
    #: Time, user and cluster that decide the conditions.
    circumstances: Circumstances
    #: Receives the problems of all files read.
    problems: Problems
    #: Every condition met, in order.
    decisions: list[Decision] = field(default_factory=list)
    #: The files read.
    files: list[Path] = field(default_factory=list)
    #: Characters of files that were included once more.
    again: int = 0

    def lines(self, path: Path) -> list[Line]:
        """Return the logical lines of a file that apply; problems go to `problems`."""
        text = self.text(path)
        return [] if text is None else list(self._of_text(path, text, (path.resolve(),)))

    def name(self, path: Path) -> str:
        """Return the name of the file in messages, relative to the directory as given."""
        return str(path)

    def text(self, path: Path) -> str | None:
        """Return the file's text; None, with a problem, if it cannot be read."""
        self.files.append(path)
        try:
            data = file_bytes(path, self.name(path))
        except InputError as error:
            self.problems.found += error.problems
            return None
        if b"\0" in data:
            self.problems.found.append(
                Problem("must be UTF-8 text, but has a NUL byte", self.name(path))
            )
            return None
        try:
            return data.decode("utf-8-sig")
        except UnicodeDecodeError:
            # Old files have comments in their country's letters; keywords and names are ASCII.
            return data.decode("latin-1")

    def _of_text(self, path: Path, text: str, within: tuple[Path, ...]) -> Iterator[Line]:
        name = self.name(path)
        branches: list[_Branch] = []
        parts: list[str] = []
        starts: list[tuple[int, int]] = []
        length = 0
        for number, physical in enumerate(text.replace("\r\n", "\n").split("\n"), start=1):
            place = Place(name, number)
            if not parts and self._branching(physical.strip(), place, branches):
                continue
            if not all(branch.active for branch in branches):
                continue
            if not parts and (match := _INCLUDE.match(physical.strip())):
                yield from self._included(match[1].strip('"'), path, place, within)
                continue
            body = without_comment(physical).rstrip()
            goes_on = body.endswith("\\")
            body = body[:-1] if goes_on else body
            if parts or body.strip():
                starts.append((length, number))
                parts.append(body)
                length += len(body)
            if parts and not goes_on:
                yield Line("".join(parts), name, tuple(starts))
                parts, starts, length = [], [], 0
        if parts:
            yield Line("".join(parts), name, tuple(starts))
        for branch in branches:
            self.problems.add(branch.place, "#if has no #endif in this file")

    def _branching(self, text: str, place: Place, branches: list[_Branch]) -> bool:
        """Return whether the line is a part of an ``#if``; updates the stack of branches."""
        if not text.startswith("#"):
            return False
        if match := _IF.match(text):
            self._condition(match[1], without_comment(match[2]), place, branches)
            return True
        if match := _BRANCH.match(text):
            if not branches:
                self._without_if(match[1], place, branches)
            elif match[1] == "endif":
                branches.pop()
            else:
                branch = branches[-1]
                if branch.last:
                    self.problems.add(place, "#else follows #else: keep one")
                branch.active, branch.taken, branch.last = not branch.taken, True, True
            return True
        return False

    def _condition(self, word: str, text: str, place: Place, branches: list[_Branch]) -> None:
        if word == "elif":
            if not branches:
                self._without_if(word, place, branches)
                return
            branch = branches[-1]
            if branch.last:
                self.problems.add(place, "#elif follows #else: write it before #else #else #else")
        else:
            branch = _Branch(place, False, False)
            branches.append(branch)
        asked = not branch.taken and all(outer.active for outer in branches[:-1])
        branch.active = asked and self._decide(text, place)
        branch.taken |= branch.active

    def _without_if(self, word: str, place: Place, branches: list[_Branch]) -> None:
        """Add one problem, and skip the lines that belong to the missing ``#if``."""
        self.problems.add(place, f"#{word} has no #if before it")
        if word != "endif":
            branches.append(_Branch(place, False, True, last=word == "else"))

    def _decide(self, text: str, place: Place) -> bool:
        try:
            answer = holds(text, self.circumstances)
        except ValueError as error:
            self.problems.add(place, str(error))
            return False
        self.decisions.append(Decision(place, text.strip(), answer))
        return answer

    def _included(
        self, name: str, path: Path, place: Place, within: tuple[Path, ...]
    ) -> Iterator[Line]:
        """Yield the lines of an included file, which is also searched in the directory."""
        given = Path(name)
        choices = [path.parent / given, self.root / given.name, path.parent / given.name]
        inside = [choice for choice in choices if is_inside(choice)]
        target = next((choice for choice in inside if _is_file(choice)), None)
        if target is None and len(inside) < len(choices):
            self.problems.add(
                place, f"the included file {name!r} is outside the folder of --confine"
            )
        elif target is None:
            kind = next(filter(None, map(odd_kind, inside)), "")
            what = f"is {kind}, not a file" if kind else "is not there"
            self.problems.add(place, f"the included file {name!r} {what}")
        elif target.resolve() in within:
            self.problems.add(place, f"{name!r} includes itself")
        elif len(self.files) >= _MAX_FILES:
            self.problems.add(place, f"there are more than {_MAX_FILES} included files")
        elif self.again > _MAX_AGAIN:
            self.problems.add(place, f"{name!r} includes itself")
        else:
            known = target in self.files
            text = self.text(target)
            if text is not None:
                self.again += known * len(text)
                yield from self._of_text(target, text, (*within, target.resolve()))


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def without_comment(text: str) -> str:
    """Return the text before a ``#`` outside double quotes (paired on this line)."""
    at = text.find("#")
    if at < 0:
        return text
    quote = text.find('"')
    if quote < 0 or quote > at:
        return text[:at]
    inside = False
    last_quote = text.rfind('"')
    for index, sign in enumerate(text):
        if sign == '"':
            inside = not inside and index < last_quote
        elif sign == "#" and not inside:
            return text[:index]
    return text
