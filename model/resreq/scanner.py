"""Scanner of requirement strings: compound terms and sections (REQ-01, REQ-14)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from string import ascii_letters, digits
from typing import NoReturn

from ..errors import nearest
from .errors import ResreqError

SECTIONS = ("select", "order", "rusage", "span", "same", "cu", "affinity")
_NAMES = "select[], order[], rusage[], span[], same[], cu[] or affinity[]"
_OPERATORS = ("&&", "||")
#: Characters of the name of a section.
_WORD = f"{ascii_letters}{digits}_"
#: Delay of an alternative in minutes.
_DELAY = re.compile(r"\s*@\s*([0-9]{1,9})(?![\w.])")
_TERM = re.compile(r"\s*(?:(?P<count>[0-9]+)\s*\*\s*|\*\s*)?(?=\{)")


@dataclass(frozen=True, slots=True)
class SectionText:
    """A section of a requirement: its keyword ("" for the implicit selection), body and offsets."""

    #: Name of the section; "": a bare selection.
    keyword: str
    #: Text between the brackets.
    body: str
    #: Offset of the first character of the section.
    start: int
    #: Offset of the first character of the body.
    at: int


@dataclass(frozen=True, slots=True)
class AlternativeText:
    """An alternative ``{body}@delay``; delay in minutes, None if it is omitted."""

    #: Text of the alternative without its braces.
    body: str
    #: Offset of the first character of the body.
    start: int
    #: Seconds after ``@``, None without a delay.
    delay: int | None


@dataclass(frozen=True, slots=True)
class TermText:
    """A term ``count*{body}`` of a compound requirement; count None if it is omitted."""

    #: Number of slots before ``*``, None if omitted.
    count: int | None
    #: Text of the requirement between the braces.
    body: str
    #: Offset of the first character of the term.
    start: int
    #: Offset of the first character of the body.
    at: int


def unquoted(text: str) -> tuple[str, int]:
    """Return the string without quotes around all of it, and the offset of the rest (REQ-08)."""
    left = len(text) - len(text.lstrip())
    inner = text.strip()
    if len(inner) >= 2 and inner[0] in "'\"" and inner.find(inner[0], 1) == len(inner) - 1:
        return inner[1:-1], left + 1
    return text, 0


def skip_quote(text: str, at: int) -> int:
    """Return the offset after the quoted string that starts at `at`."""
    end = text.find(text[at], at + 1)
    if end < 0:
        raise ResreqError(
            f"the string {text[at : at + 30]} has no closing {text[at]}",
            text=text,
            position=at,
            token=text[at],
        )
    return end + 1


def closing(text: str, at: int, pair: str) -> int:
    """Return the offset of the bracket that closes the one at `at`; pair is ``[]`` or ``{}``."""
    depth, place = 0, at
    while place < len(text):
        if text[place] in "'\"":
            place = skip_quote(text, place)
            continue
        depth += (text[place] == pair[0]) - (text[place] == pair[1])
        if depth == 0:
            return place
        place += 1
    raise ResreqError(
        f"{text[at : at + 30]!r} has no closing '{pair[1]}'",
        text=text,
        position=at,
        token=pair[0],
    )


def is_compound(text: str) -> bool:
    """Return whether a brace occurs outside quotes and sections."""
    return "{" in re.sub(r"'[^']*'|\"[^\"]*\"", "", text)


def terms(text: str) -> tuple[TermText, ...]:
    """Return the terms of ``n1*{…} + n2*{…} + {…}``."""
    found: list[TermText] = []
    place = 0
    while True:
        match = _TERM.match(text, place)
        if match is None:
            at = place + len(text[place:]) - len(text[place:].lstrip())
            raise ResreqError(
                f"{text[at : at + 30]!r} is not a term of a compound requirement"
                if at < len(text)
                else "a term of the compound requirement is missing",
                text=text,
                position=at,
                token=text[at : at + 1],
                expected="count*{requirement}, such as 2*{select[mem>100]}",
            )
        brace = match.end()
        end = closing(text, brace, "{}")
        count = match.group("count")
        at = place + len(text[place:brace]) - len(text[place:brace].lstrip())
        found.append(
            TermText(None if count is None else int(count), text[brace + 1 : end], brace + 1, at)
        )
        place = end + 1
        rest = text[place:].lstrip()
        if not rest:
            return tuple(found)
        at = len(text) - len(rest)
        if rest[0] != "+":
            raise ResreqError(
                f"{rest[:30]!r} follows a term of a compound requirement",
                text=text,
                position=at,
                token=rest.split(maxsplit=1)[0],
                expected="'+' and another term, or the end"
                if rest[:2] != "||"
                else "each alternative in braces of its own: {2*{…} + 3*{…}} || {…}",
            )
        if count is None:
            raise ResreqError(
                f"term {len(found)} has no count, which only the last term may omit",
                text=text,
                position=found[-1].at,
                token="{",
                expected="a count, such as 2*{…}",
            )
        place = at + 1


def alternatives(text: str) -> tuple[AlternativeText, ...]:
    """Return the alternatives of ``{…} || {…}@60`` in order, () for any other text.

    Raises ResreqError for a text that begins like alternatives and continues otherwise.
    """
    found: list[AlternativeText] = []
    place = _after_blanks(text, 0)
    while text.startswith("{", place):
        end = closing(text, place, "{}")
        delay = _DELAY.match(text, end + 1)
        after = end + 1 if delay is None else delay.end()
        minutes = None if delay is None else int(delay[1])
        found.append(AlternativeText(text[place + 1 : end], place + 1, minutes))
        sign = _after_blanks(text, after)
        if sign == len(text):
            return tuple(found) if len(found) > 1 or delay else ()
        if not text.startswith("||", sign):
            if len(found) == 1 and delay is None and text[sign] != "@":
                return ()
            _reject_alternative(
                text, sign, "cannot follow an", "'||' and another, @minutes, or the end"
            )
        place = _after_blanks(text, sign + 2)
    if found:
        _reject_alternative(
            text, place, "begins no", "an alternative in braces, such as {select[mem>100]}@10"
        )
    return ()


def _after_blanks(text: str, at: int) -> int:
    """Return the offset of the next character that is not a blank."""
    return len(text) - len(text[at:].lstrip())


def _reject_alternative(text: str, at: int, place: str, expected: str) -> NoReturn:
    token = text[at : at + 1]
    what = f"'{token}' {place} alternative in braces" if token else "an alternative is missing"
    raise ResreqError(what, text=text, position=at, token=token, expected=expected)


@lru_cache(maxsize=16384)
def sections(text: str) -> tuple[tuple[SectionText, ...], tuple[SectionText, ...]]:
    """Return the sections of a simple requirement in order, and the text between them.

    A leading text without a keyword is the implicit selection. Raises ResreqError for an unknown
    section and for brackets or quotes that do not match. Repeated sections are not an error here.
    """
    found: list[SectionText] = []
    stray: list[SectionText] = []
    place = loose = 0

    def keep_loose(end: int) -> None:
        body = text[loose:end]
        if body.strip():
            at = loose + len(body) - len(body.lstrip())
            (stray if found else found).append(SectionText("", body.strip(), at, at))

    while place < len(text):
        char = text[place]
        if char in "'\"":
            place = skip_quote(text, place)
        elif char == "[":
            before = text[loose:place].rstrip()
            keyword = before[len(before.rstrip(_WORD)) :]
            at = loose + len(before) - len(keyword)
            _check_keyword(text, keyword, at if keyword else place)
            end = closing(text, place, "[]")
            keep_loose(at)
            found.append(SectionText(keyword, text[place + 1 : end], place + 1, at))
            place = loose = end + 1
        elif char == "]":
            raise ResreqError(
                f"{text[: place + 1][-30:]!r} has no '[' before its ']'",
                text=text,
                position=place,
                token="]",
                expected=f"a section such as {_NAMES}",
            )
        else:
            place += 1
    keep_loose(len(text))
    return tuple(found), tuple(stray)


def joined_selections(
    text: str, found: tuple[SectionText, ...], stray: tuple[SectionText, ...]
) -> tuple[tuple[SectionText, ...], tuple[SectionText, ...]]:
    """Return the sections with every ``mem<5 && select[gpu]`` merged to ``mem<5 && (gpu)``.

    A selection next to a select section is joined to it by the operator between them, so that no
    part of the request is lost. Offsets refer to `text`.
    """
    runs: list[list[SectionText]] = []
    for piece in sorted((*found, *stray), key=lambda section: section.at):
        if runs and _linked(runs[-1][-1], piece):
            runs[-1].append(piece)
        else:
            runs.append([piece])
    kept: list[SectionText] = []
    loose: list[SectionText] = []
    outside = {section.at for section in stray}
    for run in runs:
        for end in (-1, 0):  # An operator at the start or end of the text has no second operand.
            if len(run) > 1 and run[end].body in _OPERATORS:
                loose.append(run.pop(end))
        if len(run) == 1:
            (loose if run[0].at in outside else kept).append(run[0])
            continue
        kept.append(_one_selection(text, run))
    return tuple(kept), tuple(loose)


def is_linked(section: SectionText) -> bool:
    """Return whether an operator joins the text to a section next to it."""
    body = section.body
    return body not in _OPERATORS and (body.startswith(_OPERATORS) or body.endswith(_OPERATORS))


def _linked(before: SectionText, after: SectionText) -> bool:
    if before.keyword == "select" and not after.keyword:
        return after.body.startswith(_OPERATORS)
    return not before.keyword and after.keyword == "select" and before.body.endswith(_OPERATORS)


def _one_selection(text: str, run: list[SectionText]) -> SectionText:
    first, last = run[0], run[-1]
    signs = list(text[first.at : last.start + len(last.body) + (last.keyword != "")])
    for piece in run:
        if piece.keyword:
            begin, end = piece.start - 1 - first.at, piece.start + len(piece.body) - first.at
            signs[piece.at - first.at : begin] = " " * (piece.start - 1 - piece.at)
            signs[begin], signs[end] = "(", ")"
    return SectionText("select", "".join(signs), first.at, first.at)


def _check_keyword(text: str, keyword: str, at: int) -> None:
    if keyword in SECTIONS:
        return
    if not keyword:
        raise ResreqError(
            f"{text[at : at + 30]!r} has no section name before its '['",
            text=text,
            position=at,
            token="[",
            expected=_NAMES,
        )
    glued = next((name for name in SECTIONS[:5] if keyword.endswith(name)), None)
    if glued:
        first = keyword[: -len(glued)]
        raise ResreqError(
            f"unknown section '{keyword}'",
            text=text,
            position=at,
            token=keyword,
            expected=f"a blank between '{first}' and {glued}[…]",
        )
    raise ResreqError(
        f"unknown section '{keyword}'{nearest(keyword, SECTIONS)}",
        text=text,
        position=at,
        token=keyword,
        expected=_NAMES,
    )
