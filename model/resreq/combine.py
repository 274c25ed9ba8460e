"""Several -R options of one level as one requirement (REQ-12)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from .errors import ResreqError
from .options import ORDINARY, Options
from .parser import check_together, parse_with_notes
from .rusage import combined_usages
from .syntax import Compound, Expression, OrderKey, Requirement, Simple, joined


@dataclass(frozen=True, slots=True)
class Merged:
    """One requirement out of several, and what a reader should know about it, a sentence each."""

    requirement: Requirement
    warnings: tuple[str, ...] = ()


def combine(strings: Sequence[str], options: Options = ORDINARY) -> Merged:
    """The requirement of the -R options of one level; none at all is an empty requirement.

    Selections are and-ed, order, same and rusage joined; span, cu and affinity may stand once.
    Raises ResreqError for a compound or multi-phase string beside others and a resource that is
    reserved twice.
    """
    texts = [text for text in strings if text.strip()]
    if not texts:
        return Merged(Simple())
    if len(texts) == 1:
        alone = parse_with_notes(texts[0], options)
        return Merged(alone.requirement, alone.notes)
    apart = replace(options, together=False)
    parsed = [(text, parse_with_notes(text, apart)) for text in texts]
    notes = tuple(note for _, item in parsed for note in item.notes)
    result = Simple()
    for text, item in parsed:
        result = _added(result, _alone(item.requirement, text), text)
    if options.together:
        check_together(result, " ".join(texts))
    return Merged(result, notes)


def _alone(requirement: Requirement, text: str) -> Simple:
    if isinstance(requirement, Compound):
        raise ResreqError(f"the compound requirement {text} cannot be one of several -R options")
    if requirement.rusage is not None and requirement.rusage.phased:
        raise ResreqError(f"{text} has mem in phases: it cannot be one of several -R options")
    return requirement


def _added(first: Simple, second: Simple, text: str) -> Simple:
    for section in ("span", "cu", "affinity"):
        if all(getattr(item, section) not in (None, "") for item in (first, second)):
            raise ResreqError(f"{section}[] stands in two -R options; the second is {text}")
    return Simple(
        select=all_selected(first, second),
        order=_joined_order(first.order, second.order),
        rusage=combined_usages(first.rusage, second.rusage, text),
        span=first.span or second.span,
        same=all_same(first, second),
        cu=first.cu or second.cu,
        affinity=first.affinity or second.affinity,
        tiling=first.tiling or second.tiling,
    )


def all_selected(*levels: Simple) -> Expression | None:
    """The selections of all levels, and-ed."""
    parts = [level.select for level in levels if level.select is not None]
    return joined("&&", parts) if parts else None


def all_same(*levels: Simple) -> tuple[str, ...]:
    """The names of all same sections, each once."""
    return tuple(dict.fromkeys(name for level in levels for name in level.same))


def _joined_order(
    first: tuple[OrderKey, ...] | None, second: tuple[OrderKey, ...] | None
) -> tuple[OrderKey, ...] | None:
    """A key that comes again further right sorts nothing any more, so it is left out."""
    keys: dict[str, OrderKey] = {}
    for key in (first or ()) + (second or ()):
        keys.setdefault(key.resource, key)
    return tuple(keys.values()) or None
