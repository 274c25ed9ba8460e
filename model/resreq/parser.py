"""From a requirement string to its syntax tree (REQ-01 … REQ-20).

The scanner cuts the string into terms and sections, a lark grammar reads each section, and the
builders turn its parse tree into the syntax tree. Places in errors are those of the whole string.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from ..characters import strange_character
from ..input_limits import check_length
from .complaint import complaint
from .errors import ResreqError
from .options import LSF_7, LSF_10, Options
from .scanner import (
    SectionText,
    is_compound,
    is_linked,
    joined_selections,
    sections,
    terms,
    unquoted,
)
from .syntax import Compound, Expression, Requirement, Simple, Term, joined
from .vocabulary import ANY, UNITS, Vocabulary

if TYPE_CHECKING:
    from lark import Lark, Tree


_STARTS = ["ordinary", "strict", "restricted", "order", "rusage", "span", "same", "cu"]
#: The items of span[] that spread tasks over hosts or GPUs: stripe, stripe=n, gtile=n, gtile='!'.
_TILING = re.compile(
    r"(?:(?<=:)|^)\s*(?:stripe(?:\s*=\s*[0-9]+)?|gtile\s*=\s*(?:[0-9]+|'!'|\"!\"))\s*(?=:|\Z)"
)
_NOT_TILED = "stripe and gtile of span[] are read and not heeded"
#: What the note about affinity[] says.
_AFFINITY = "affinity[] is read and not heeded: plans know slots, not processor cores"


@dataclass(frozen=True, slots=True)
class Parsed:
    """A requirement and notes on what was accepted but has no effect, a sentence each."""

    requirement: Requirement
    notes: tuple[str, ...] = ()


def parse(
    text: str,
    *,
    strict: bool = False,
    lenient: bool = False,
    unit: str = "MB",
    vocabulary: Vocabulary = ANY,
    dialect: str = LSF_10,
) -> Requirement:
    """The requirement that a -R string or a RES_REQ parameter states; "" is an empty requirement.

    strict: the rules of LSF_STRICT_RESREQ=Y. lenient: also accept cu[balance] with usablecuslots.
    unit: what a number given for mem or swp means (KB … EB); the tree always holds MB.
    vocabulary: names that are known; names outside a complete one are errors. dialect: the
    language of LSF "7" or "10.1".
    Raises ResreqError with the place of the first mistake. Equal calls are answered from a cache.
    """
    options = Options(strict, lenient, unit, vocabulary, dialect=dialect)
    return parse_with_notes(text, options).requirement


@lru_cache(maxsize=16384)
def parse_with_notes(text: str, options: Options) -> Parsed:
    """As :func:`parse`, with notes on text and values that LSF accepts and ignores."""
    if options.unit not in UNITS:
        raise ResreqError(f"'{options.unit}' is no unit", expected=", ".join(UNITS))
    try:
        check_length(text)
    except ValueError as error:
        raise ResreqError(f"the requirement {error}") from None
    if wrong := strange_character(text, "\n\t\r"):
        raise ResreqError(f"the requirement {wrong}", text=text)
    inner, offset = unquoted(text)
    try:
        requirement, notes = _requirement(inner, options)
    except ResreqError as error:
        raise error.shifted(text, offset) from None
    return Parsed(requirement, tuple(notes))


def _requirement(text: str, options: Options) -> tuple[Requirement, list[str]]:
    notes: list[str] = []
    if not is_compound(text):
        return _simple(text, options, notes), notes
    found = []
    for term in terms(text):
        if term.count == 0:
            raise ResreqError(
                "a term of a compound requirement needs slots",
                text=text,
                position=term.at,
                token="0",
                expected="a count of at least 1",
            )
        try:
            simple = _simple(term.body, options, notes, in_term=True)
        except ResreqError as error:
            raise error.shifted(text, term.start) from None
        found.append(Term(term.count, simple))
    return Compound(tuple(found)), notes


def _simple(text: str, options: Options, notes: list[str], *, in_term: bool = False) -> Simple:
    from .builders import Builder

    found, stray = sections(text)
    parts: dict[str, Any] = {}
    seen: dict[str, SectionText] = {}
    selections: list[Expression] = []
    found, stray = _with_leading(text, found, stray, options, notes)
    for section in stray:
        _judge_stray(text, section, options, notes)
    for section in found:
        keyword = section.keyword or "select"
        if keyword in seen and (keyword != "select" or _one_selection(options)):
            raise _second(text, section, keyword)
        if options.dialect == LSF_7:
            _judge_by_7(text, section, in_term)
        seen[keyword] = section
        try:
            if keyword == "affinity":
                notes.append(_AFFINITY)
                parts[keyword] = " ".join(section.body.split())
            elif keyword != "select":
                body = section.body
                if keyword == "span" and (tiling := _TILING.findall(body)):
                    parts["tiling"] = ":".join("".join(item.split()) for item in tiling)
                    notes.append(_NOT_TILED)
                    body = _TILING.sub(lambda item: " " * len(item[0]), body)
                    body = body if body.strip(" :") else ""
                if body.strip() or keyword == "cu":
                    parts[keyword], found_notes = _section(keyword, body, options, in_term)
                    notes += found_notes
            elif section.body.strip():
                builder = Builder(section.body, options, notes, in_term=in_term)
                start = "strict" if options.strict else builder.select_form()
                selections.append(builder.select(_tree(section.body, start), start))
        except ResreqError as error:
            raise error.shifted(text, section.start) from None
    if selections:
        parts["select"] = selections[0] if len(selections) == 1 else joined("&&", selections)
    result = Simple(**parts)
    if options.together:
        check_together(result, text, seen.get("span"))
    return result


def _with_leading(
    text: str,
    found: tuple[SectionText, ...],
    stray: tuple[SectionText, ...],
    options: Options,
    notes: list[str],
) -> tuple[tuple[SectionText, ...], tuple[SectionText, ...]]:
    """Selections beside select[]: in LSF 7 they hold too, unless the syntax is strict (004)."""
    if options.dialect != LSF_7 and not options.strict:
        _judge_selections(text, found, stray)
    elif not options.strict:
        found, stray = joined_selections(text, found, stray)
    explicit = any(section.keyword == "select" for section in found)
    if not (found and not found[0].keyword and explicit):
        return found, stray
    if options.strict:
        return found[1:], (found[0], *stray)
    notes.append(f"'{found[0].body}' stands before select[…]: both must hold")
    return found, stray


def _one_selection(options: Options) -> bool:
    return options.strict or options.dialect != LSF_7


def _second(text: str, section: SectionText, keyword: str) -> ResreqError:
    also = ", its conditions joined by && or ||" if keyword == "select" else ""
    return ResreqError(
        f"{keyword}[] stands here a second time",
        text=text,
        position=section.at,
        token=section.keyword or section.body,
        expected=f"one {keyword}[] section{also}",
    )


def _judge_selections(
    text: str, found: tuple[SectionText, ...], stray: tuple[SectionText, ...]
) -> None:
    """LSF 10.1 refuses a second selection, and one that an operator joins to select[]."""
    selections = [section for section in found if section.keyword in ("", "select")]
    if selections:
        selections += [section for section in stray if is_linked(section)]
    if len(selections) > 1:
        raise _second(text, selections[1], "select")


def _judge_by_7(text: str, section: SectionText, in_term: bool) -> None:
    """Sections that LSF 7 does not know, or not there."""
    what = "affinity[]" if section.keyword == "affinity" else ""
    if in_term and section.keyword == "cu":
        what = "cu[] in compound requirements"
    if what:
        raise ResreqError(
            f"LSF 7 has no {what}",
            text=text,
            position=section.at,
            token=section.keyword,
            expected="dialect: 10.1, or select[], order[], rusage[], span[] or same[]",
        )


def check_together(simple: Simple, text: str = "", span: SectionText | None = None) -> None:
    """Raise ResreqError when ptile names host types or models without same[type] or same[model]."""
    by_name = simple.span is not None and simple.span.ptile_by
    if by_name and not {"type", "model"} & set(simple.same):
        raise ResreqError(
            "ptile for a host type or model needs same[type] or same[model]",
            text=text,
            position=span.at if span else None,
            token="span",
            expected="same[type] or same[model] beside it",
        )


def _judge_stray(text: str, section: SectionText, options: Options, notes: list[str]) -> None:
    """Text outside the sections: an error under strict syntax, else ignored with a note (004)."""
    if options.strict:
        raise ResreqError(
            f"'{section.body}' stands outside the sections",
            text=text,
            position=section.start,
            token=section.body,
            expected="the selection first, or all of it inside one select[…]",
        )
    notes.append(f"'{section.body}' stands outside the sections and is ignored, as LSF does")


@lru_cache(maxsize=16384)
def _section(
    keyword: str, body: str, options: Options, in_term: bool
) -> tuple[Any, tuple[str, ...]]:
    """What a section says, and notes on it; many different strings share sections."""
    from .builders import Builder

    notes: list[str] = []
    builder = Builder(body, options, notes, in_term=in_term)
    return getattr(builder, keyword)(_tree(body, keyword)), tuple(notes)


@lru_cache(maxsize=1)
def _lark() -> Lark:
    from lark import Lark

    grammar = resources.files(__package__).joinpath("grammar.lark").read_text(encoding="utf-8")
    return Lark(grammar, parser="lalr", lexer="contextual", start=_STARTS, maybe_placeholders=False)


@lru_cache(maxsize=16384)
def _tree(body: str, start: str) -> Tree[Any]:
    """The parse tree of one section; many different strings share sections. Nobody changes it."""
    from lark.exceptions import UnexpectedInput

    try:
        return _lark().parse(body, start=start)
    except UnexpectedInput as error:
        raise complaint(error, body, start) from None
