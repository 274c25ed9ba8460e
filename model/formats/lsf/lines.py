"""Files to logical lines: comments, continuations, ``#INCLUDE``, ``#if`` … ``#endif``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ...confined import is_inside
from ...errors import InputError, Problem
from ..source_text import file_bytes
from .conditions import holds
from .source import Circumstances, Line, Place, Problems

#: Included files in all: more is a ring or a slip.
_MOST_FILES = 500
#: Characters of files that are included once more: a small file may stand for very many lines.
_MOST_AGAIN = 2**19
_IF = re.compile(r"#(if|elif)(?=[\s(!])([!(\s]*[A-Za-z_]\w*\s*\(.*)$", re.DOTALL)
_BRANCH = re.compile(r"#(else|endif)\b\s*(?:#.*)?$")
_INCLUDE = re.compile(r"#\s?INCLUDE\s+(\"[^\"]*\"|\S+)\s*$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Decision:
    """One condition that was evaluated: where, its text, and the answer."""

    place: Place
    text: str
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
    """Reads the files of one configuration directory, `root`.

    decisions: every condition met, in order. files: the files read. again: characters of files
    that were included once more.
    """

    root: Path
    circumstances: Circumstances
    problems: Problems
    decisions: list[Decision] = field(default_factory=list)
    files: list[Path] = field(default_factory=list)
    again: int = 0

    def lines(self, path: Path) -> list[Line]:
        """The logical lines of a file that count; what is wrong goes to `problems`."""
        text = self.text(path)
        return [] if text is None else list(self._of_text(path, text, (path.resolve(),)))

    def name(self, path: Path) -> str:
        """How messages name the file: as the directory was given."""
        return str(path)

    def text(self, path: Path) -> str | None:
        """The file's text; None, with a problem, where it cannot be read."""
        self.files.append(path)
        try:
            data = file_bytes(path, self.name(path))
        except InputError as error:
            self.problems.found += error.problems
            return None
        if b"\0" in data:
            self.problems.found.append(Problem("is no text file", self.name(path)))
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
        for number, physical in enumerate(_physical(text), start=1):
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
        """Whether the line is a part of an ``#if``; the stack is brought up to date."""
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
                    self.problems.add(place, "#else stands after #else: one is enough")
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
                self.problems.add(place, "#elif stands after #else: write it before")
        else:
            branch = _Branch(place, False, False)
            branches.append(branch)
        asked = not branch.taken and all(outer.active for outer in branches[:-1])
        branch.active = asked and self._decide(text, place)
        branch.taken |= branch.active

    def _without_if(self, word: str, place: Place, branches: list[_Branch]) -> None:
        """One problem; what belongs to the missing ``#if`` is passed over."""
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
        """The lines of an included file, looked for in the directory too."""
        given = Path(name)
        choices = [path.parent / given, self.root / given.name, path.parent / given.name]
        inside = [choice for choice in choices if is_inside(choice)]
        target = next((choice for choice in inside if _is_file(choice)), None)
        if target is None and len(inside) < len(choices):
            self.problems.add(place, f"the included file {name!r} lies outside (--confine)")
        elif target is None:
            self.problems.add(place, f"the included file {name!r} is not there")
        elif target.resolve() in within:
            self.problems.add(place, f"{name!r} includes itself")
        elif len(self.files) >= _MOST_FILES:
            self.problems.add(place, f"there are more than {_MOST_FILES} included files")
        elif self.again > _MOST_AGAIN:
            self.problems.add(place, f"{name!r} is included again and again")
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


def _physical(text: str) -> list[str]:
    """Lines ended by a line feed alone, or by Windows' two signs."""
    return text.replace("\r\n", "\n").split("\n")


def without_comment(text: str) -> str:
    """The text before a ``#`` that stands outside double quotes (of a pair on this line)."""
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
