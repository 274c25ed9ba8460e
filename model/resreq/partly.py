"""The parts of a requirement that can be obeyed if other parts name undefined resources.

Parts of a requirement that apply to hosts of which only slots are known. A log names hosts without
memory, types, units and resources. The distribution of slots (span[]) needs slots alone; all other
sections need attributes of hosts.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from ..errors import InputError
from .errors import ResreqError
from .parser import parse, parse_with_notes
from .printer import print_requirement
from .scanner import SectionText, alternatives, closing, is_compound, sections, terms, unquoted
from .syntax import (
    Binary,
    Compound,
    Expression,
    Name,
    Options,
    Requirement,
    Rusage,
    Simple,
    UsageString,
    joined,
    operands,
)
from .vocabulary import ANY

Keep = Callable[[str], bool]


def heeded_part(text: str, options: Options, keep: Keep) -> str:
    """Return the requirement without the parts that `keep` rejects, "" if nothing is left.

    keep: called for every part as a requirement of its own: a condition between ``&&``, a key of
    order[] or same[], an amount of rusage[], the whole of span[], cu[] and affinity[]. Of
    alternatives in braces that cannot all be read only the first, which LSF tries first, is used. A
    section, or a part of select[] or rusage[], that cannot be read is removed too. Raises
    ResreqError for a text of which no section can be read.
    """
    options = replace(options, vocabulary=ANY)
    try:
        requirement = parse_with_notes(text, options).requirement
    except ResreqError:
        found = alternatives(unquoted(text)[0])
        readable_text = found[0].body if found else _readable_text(text, options)
        if not readable_text:
            raise
        if found:
            return heeded_part(readable_text, options, keep)
        requirement = parse_with_notes(readable_text, options).requirement
    return print_requirement(_kept(requirement, options.unit, keep), options.unit)


def _kept(requirement: Requirement, unit: str, keep: Keep) -> Requirement:
    """Return a requirement, with its alternatives, without the parts that `keep` rejects."""
    later = tuple(
        replace(item, requirement=_kept(item.requirement, unit, keep)) for item in requirement.later
    )
    if isinstance(requirement, Simple):
        return replace(_simple(requirement, unit, keep), later=later)
    terms = (
        replace(term, requirement=_simple(term.requirement, unit, keep))
        for term in requirement.terms
    )
    return Compound(tuple(terms), later)


def readable(options: Options) -> Keep:
    """Return a predicate that accepts texts which these options can read."""

    def keep(part: str) -> bool:
        try:
            parse_with_notes(part, options)
        except ResreqError:
            return False
        return True

    return keep


#: Separators of parts, for sections from which a part can be removed.
_BETWEEN = {"select": "&&", "rusage": ":"}


def _readable_text(text: str, options: Options) -> str:
    """Return the sections and parts of sections of a simple requirement that can be read."""
    if is_compound(text):
        return ""
    found: list[str] = []
    place = loose = 0
    while (place := text.find("[", place)) >= 0:
        before = text[loose:place].rstrip()
        keyword = re.search(r"\w*$", before)
        assert keyword is not None
        stray = before[: keyword.start()].strip()
        try:
            end = closing(text, place, "[]")
        except ResreqError:
            return ""
        if stray and not found:
            found += _parts_read("", stray, options)
        found += _parts_read(keyword[0], text[place + 1 : end], options)
        place = loose = end + 1
    if not found and not loose:
        found += _parts_read("", text.strip(), options)
    return " ".join(found)


def _parts_read(keyword: str, body: str, options: Options) -> list[str]:
    """Return the readable part of a section as one text, [] if there is none."""

    def section(inside: str) -> str:
        return f"{keyword}[{inside}]" if keyword else inside

    keep = readable(options)
    if keep(section(body)):
        return [section(body)]
    sign = _BETWEEN.get(keyword or "select")
    if sign is None:
        return []
    kept = sign.join(part for part in body.split(sign) if part.strip() and keep(section(part)))
    return [section(kept)] if kept and keep(section(kept)) else []


def _simple(whole: Simple, unit: str, keep: Keep) -> Simple:
    def kept(part: Simple) -> bool:
        return keep(print_requirement(part, unit))

    select = None
    if whole.select is not None:
        found = [item for item in operands(whole.select, "&&") if kept(Simple(select=item))]
        select = joined("&&", found) if found else None
    same = tuple(name for name in whole.same if kept(Simple(same=(name,))))
    return Simple(
        select=select,
        order=tuple(key for key in whole.order or () if kept(Simple(order=(key,)))) or None,
        rusage=None if whole.rusage is None else _rusage(whole.rusage, kept),
        span=whole.span if whole.span and kept(Simple(span=whole.span, same=same)) else None,
        same=same,
        cu=whole.cu if whole.cu and kept(Simple(cu=whole.cu)) else None,
        affinity=whole.affinity,
        tiling=whole.tiling,
    )


def _rusage(whole: Rusage, kept: Callable[[Simple], bool]) -> Rusage | None:
    """Return rusage with the kept amounts; None if an alternative lost all of them."""
    found: list[tuple[UsageString, ...]] = []
    for usages in whole.alternatives:
        strings: list[UsageString] = []
        for usage in usages:
            amounts = tuple(
                amount
                for amount in usage.amounts
                if kept(Simple(rusage=Rusage(((replace(usage, amounts=(amount,)),),))))
            )
            if amounts:
                strings.append(replace(usage, amounts=amounts))
        if not strings:
            return None
        found.append(tuple(strings))
    return Rusage(tuple(found))


VALID = "Resource requirement string is valid."
_STRICT = Options(strict=True)


def check_select(text: str) -> tuple[bool, str]:
    """Return whether the select section of a -R string is valid, and the sentence that bsub prints.

    Other sections are not read; an empty string is valid.
    """
    inner, _ = unquoted(text)
    try:
        for part in [item.body for item in alternatives(inner)] or [inner]:
            bodies = [term.body for term in terms(part)] if is_compound(part) else [part]
            for body in bodies:
                _check(body, _STRICT)
    except ResreqError as error:
        return False, f'Error near "{error.token}": {error.what}. Job not submitted.'
    return True, VALID


def _check(text: str, options: Options) -> None:
    found, stray = sections(text)
    selections = [section for section in found if section.keyword in ("", "select")]
    if len(selections) > 1:
        _refuse(selections[1], "duplicate section")
    for section in stray:
        _refuse(section, "the selection must come first or be in select[]")
    for section in selections:
        if section.body.strip():
            _read(section.body, options)


def _read(body: str, options: Options) -> None:
    try:
        parse_with_notes(f"select[{body}]", options)
    except ResreqError as error:
        # At the end of the text there is no token to name but the last one.
        at_end = error.position is not None and error.position >= len("select[" + body.rstrip())
        token = body.split()[-1] if at_end else error.token
        raise ResreqError(error.what, text=body, token=token) from None


def _refuse(section: SectionText, what: str) -> None:
    raise ResreqError(what, text=section.body, token=section.keyword or section.body)


#: Comparisons of the host type that every host meets; LSF adds them by itself.
_ANY_TYPE = frozenset({"any", "local"})


def hostless(text: str, slots: int) -> tuple[str, tuple[str, ...]]:
    """Return the part that needs no host attributes, and the names of the removed sections.

    slots: number of slots of the job; the terms of a compound requirement must add up to it. A text
    that cannot be read is removed whole, under the name "unreadable".
    """
    try:
        requirement = parse(text)
    except InputError:
        return "", ("unreadable",)
    if requirement.later:
        return "", ("alternatives",)
    if isinstance(requirement, Simple):
        kept, gone = _without_hosts(requirement)
        return print_requirement(kept), gone
    terms = [(term, *_without_hosts(term.requirement)) for term in requirement.terms]
    gone = tuple(sorted({name for _, _, names in terms for name in names}))
    if gone or sum(term.count or 0 for term in requirement.terms) != slots:
        return "", gone or ("compound",)
    kept_terms = tuple(replace(term, requirement=kept) for term, kept, _ in terms)
    return print_requirement(Compound(kept_terms)), ()


def _without_hosts(requirement: Simple) -> tuple[Simple, tuple[str, ...]]:
    span = requirement.span
    by_type = span is not None and bool(span.ptile_by or span.ptile_max)
    gone = {
        "select": requirement.select is not None and not _any_host(requirement.select),
        "rusage": requirement.rusage is not None,
        "span": by_type,
        "same": bool(requirement.same),
        "cu": requirement.cu is not None,
    }
    kept = Simple(span=None if by_type else span)
    return kept, tuple(name for name, lost in gone.items() if lost)


def _any_host(select: Expression) -> bool:
    """Return whether a selection accepts every host, such as ``type == any``."""
    return all(
        isinstance(part, Binary)
        and part.operator == "=="
        and part.left == Name("type")
        and isinstance(part.right, Name)
        and part.right.value in _ANY_TYPE
        for part in operands(select, "&&")
    )
