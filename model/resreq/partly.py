"""The parts of a requirement that can be heeded, where others name what nobody described."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from .errors import ResreqError
from .options import Options
from .parser import parse_with_notes
from .printer import print_requirement
from .scanner import alternatives, closing, is_compound
from .syntax import Compound, Rusage, Simple, UsageString, joined, operands
from .vocabulary import ANY

Keep = Callable[[str], bool]


def heeded_part(text: str, options: Options, keep: Keep) -> str:
    """The requirement without the parts that `keep` says no to, "" where nothing is left.

    keep: asked for every part as a requirement of its own: a condition between ``&&``, a key of
    order[] or same[], an amount of rusage[], the whole of span[], cu[] and affinity[]. Of
    alternatives in braces the first counts, which is what LSF tries first.
    A section, or a part of select[] or rusage[], that cannot be read at all goes too.
    Raises ResreqError for a text of which no section can be read.
    """
    for first in alternatives(text)[:1]:
        text = first
    options = replace(options, vocabulary=ANY)
    try:
        requirement = parse_with_notes(text, options).requirement
    except ResreqError:
        if not (readable_text := _readable_text(text, options)):
            raise
        requirement = parse_with_notes(readable_text, options).requirement
    if isinstance(requirement, Compound):
        terms = tuple(
            replace(term, requirement=_simple(term.requirement, options.unit, keep))
            for term in requirement.terms
        )
        return print_requirement(Compound(terms), options.unit)
    return print_requirement(_simple(requirement, options.unit, keep), options.unit)


def readable(options: Options) -> Keep:
    """Says yes to what these options read."""

    def keep(part: str) -> bool:
        try:
            parse_with_notes(part, options)
        except ResreqError:
            return False
        return True

    return keep


#: Where the parts of a section end, of those that may lose one.
_BETWEEN = {"select": "&&", "rusage": ":"}


def _readable_text(text: str, options: Options) -> str:
    """The sections and parts of sections of a simple requirement that can be read by themselves."""
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
    """The section as far as it can be read: [] or one text."""

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
        conditions = operands(whole.select, "&&")
        found = [item for item in conditions if kept(Simple(select=item))]
        select = joined("&&", found) if found else None
    same = tuple(name for name in whole.same if kept(Simple(same=(name,))))
    order = tuple(key for key in whole.order or () if kept(Simple(order=(key,)))) or None
    return Simple(
        select=select,
        order=order,
        rusage=None if whole.rusage is None else _rusage(whole.rusage, kept),
        span=whole.span if whole.span and kept(Simple(span=whole.span, same=same)) else None,
        same=same,
        cu=whole.cu if whole.cu and kept(Simple(cu=whole.cu)) else None,
        affinity=whole.affinity,
        tiling=whole.tiling,
    )


def _rusage(whole: Rusage, kept: Callable[[Simple], bool]) -> Rusage | None:
    """None also where one alternative has lost everything: it asks for nothing now."""
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
