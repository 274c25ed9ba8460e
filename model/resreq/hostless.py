"""What of a requirement still means something where nothing is known of hosts but their slots.

A log names hosts without their memory, types, units and resources. How slots are spread (span[])
is about slots alone; the other sections ask for what such hosts do not have.
"""

from __future__ import annotations

from dataclasses import replace

from ..errors import InputError
from .parser import parse
from .printer import print_requirement
from .syntax import Binary, Compound, Expression, Name, Simple, operands

#: Comparisons of the host type that every host meets: what LSF adds of its own accord.
_ANY_TYPE = frozenset({"any", "local"})


def hostless(text: str, slots: int) -> tuple[str, tuple[str, ...]]:
    """The part that needs no host attributes, and the sections that had to go, by name.

    slots: that the job has; the terms of a compound requirement must add up to them. What cannot
    be read goes whole, under the name "unreadable".
    """
    try:
        requirement = parse(text)
    except InputError:
        return "", ("unreadable",)
    if isinstance(requirement, Simple):
        kept, gone = _simple(requirement)
        return print_requirement(kept), gone
    terms = [(term, *_simple(term.requirement)) for term in requirement.terms]
    gone = tuple(sorted({name for _, _, names in terms for name in names}))
    counted = sum(term.count or 0 for term in requirement.terms)
    if gone or counted != slots:
        return "", gone or ("compound",)
    kept_terms = tuple(replace(term, requirement=kept) for term, kept, _ in terms)
    return print_requirement(Compound(kept_terms)), ()


def _simple(requirement: Simple) -> tuple[Simple, tuple[str, ...]]:
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
    """Whether a selection lets every host pass: ``type == any`` and the like."""
    return all(
        isinstance(part, Binary)
        and part.operator == "=="
        and part.left == Name("type")
        and isinstance(part.right, Name)
        and part.right.value in _ANY_TYPE
        for part in operands(select, "&&")
    )
