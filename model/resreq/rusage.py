"""Joining and overriding rusage sections (REQ-11, REQ-12, REQ-15, REQ-17)."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import TypeAlias

from .errors import ResreqError
from .syntax import Amount, Rusage, UsageString

#: One alternative: usage strings that are reserved together.
Alternative: TypeAlias = tuple[UsageString, ...]


def amounts(alternative: Alternative) -> dict[str, tuple[Amount, UsageString]]:
    """Each resource of an alternative with its amount and the usage string it stands in."""
    return {amount.resource: (amount, usage) for usage in alternative for amount in usage.amounts}


def alternatives(rusage: Rusage | None) -> tuple[Alternative, ...]:
    """The alternatives of a section; an absent one has one empty alternative."""
    return ((),) if rusage is None else rusage.alternatives


def combined_usages(first: Rusage | None, second: Rusage | None, text: str) -> Rusage | None:
    """The sections of two -R options of one level joined by commas, alternatives multiplied."""
    if first is None or second is None:
        return first or second
    for one in first.alternatives:
        for other in second.alternatives:
            twice = sorted(amounts(one).keys() & amounts(other).keys())
            if twice:
                raise ResreqError(f"{twice[0]} is reserved by two -R options; the second is {text}")
    return Rusage(tuple(a + b for a in first.alternatives for b in second.alternatives))


def without(alternative: Alternative, names: Collection[str]) -> Alternative:
    """An alternative less the resources of `names`; usage strings left empty go too."""
    kept = (
        replace(usage, amounts=tuple(a for a in usage.amounts if a.resource not in names))
        for usage in alternative
    )
    return tuple(usage for usage in kept if usage.amounts)


def overridden(upper: Alternative, lower: Alternative, *, joint: bool) -> Alternative:
    """`upper` (job) over `lower` (queue): resources named above win, the others are kept.

    joint: neither level has alternatives. Then one usage string over another gives one string, as
    in the documents' examples: where the upper one sets no duration or decay it takes the lower
    one's, for all its resources. Otherwise the strings stay apart, and an upper string without a
    duration takes that of the lower string whose resource it overrides. Phases are never mixed.
    An amount that does not say per what it counts counts as the lower one's.
    """
    if not upper or not lower:
        return upper or lower
    upper = _counted_as(upper, lower)
    rest = without(lower, amounts(upper).keys())
    one_each = joint and len(upper) == 1 and len(lower) == 1
    if one_each and not _keeps_apart(upper[0], lower[0], bool(rest)):
        kept = rest[0].amounts if rest else ()
        return (_inheriting(replace(upper[0], amounts=upper[0].amounts + kept), lower[0]),)
    return tuple(_overriding(usage, lower) for usage in upper) + rest


def _counted_as(upper: Alternative, lower: Alternative) -> Alternative:
    """`upper`, its amounts per host, task or job as `lower` has them where it does not say."""
    per = {name: amount.per for name, (amount, _) in amounts(lower).items()}

    def counted(amount: Amount) -> Amount:
        return replace(amount, per=amount.per or per.get(amount.resource, ""))

    return tuple(replace(usage, amounts=tuple(map(counted, usage.amounts))) for usage in upper)


def _keeps_apart(upper: UsageString, lower: UsageString, more: bool) -> bool:
    """One string cannot hold both: phases, or a short job-level duration over a lasting amount."""
    return upper.phased or lower.phased or (more and bool(upper.durations) and not lower.durations)


def _overriding(usage: UsageString, lower: Alternative) -> UsageString:
    below = amounts(lower)
    for amount in usage.amounts:
        if amount.resource in below:
            return _inheriting(usage, below[amount.resource][1])
    return usage


def _inheriting(usage: UsageString, lower: UsageString) -> UsageString:
    if usage.phased or lower.phased:
        return usage
    return replace(
        usage,
        durations=usage.durations or lower.durations,
        decays=usage.decays or lower.decays,
    )
