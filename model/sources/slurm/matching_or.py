"""Constraints such as ``[a|b]``: all nodes of a job have one and the same of the features."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

#: Alternatives in brackets, and features that every node must have before and behind them.
_FORM = re.compile(
    r"(?:([^\[\]|*]+)[&,])?\[([^\[\]*&,|]+(?:\|[^\[\]*&,|]+)+)\](?:[&,]([^\[\]|*]+))?"
)
#: Beginning of the name of a resource.
_PREFIX = "any_"
#: Between the features in the name of a resource.
_OR = "_or_"


@dataclass(frozen=True, slots=True)
class MatchingOr:
    """Alternatives of which all nodes of a job must have one."""

    #: Features of every node, joined by ``&``; "" if there are none.
    every: str
    #: The features of which all nodes have one, without those whose nodes all have another, too.
    features: tuple[str, ...]

    @property
    def constraint(self) -> str:
        """Return the constraint on a single node, as of -C."""
        any_of = "|".join(self.features)
        parts = [self.every, f"({any_of})" if self.every and len(self.features) > 1 else any_of]
        return "&".join(filter(None, parts))

    @property
    def resource(self) -> str:
        """Return the string resource with the feature of each node; "" if there is only one."""
        if len(self.features) < 2:
            return ""
        return _PREFIX + _OR.join(map(_word, self.features))

    def value(self, features: Iterable[str]) -> str:
        """Return the value of the resource on a node with these features, "" if it has none."""
        return next((name for name in features if name in self.features), "")


def _word(feature: str) -> str:
    """Return a feature as a part of a name, another one for each feature."""
    return re.sub(
        r"[\W_]",
        lambda found: "__" if found[0] == "_" else f"_{ord(found[0]):x}_",
        feature,
        flags=re.ASCII,
    )


def matching_or(text: str, nodes: Mapping[str, Sequence[str]]) -> MatchingOr | None:
    """Return the alternatives of a constraint, None if it is of another form.

    None also if two features have some nodes in common, but neither has all nodes of the other.
    nodes: features by node.
    """
    found = _FORM.fullmatch(text.strip())
    if found is None:
        return None
    names = tuple(dict.fromkeys(name.strip() for name in found[2].split("|")))
    members = {
        name: frozenset(node for node, features in nodes.items() if name in features)
        for name in names
    }
    kept: list[str] = []
    for name in sorted(names, key=lambda name: -len(members[name])):
        if members[name] and not any(members[name] <= members[other] for other in kept):
            kept.append(name)
    apart = not any(members[one] & members[other] for one, other in combinations(kept, 2))
    if not kept or not apart:
        return None
    every = "&".join(part.replace(",", "&") for part in (found[1], found[3]) if part)
    return MatchingOr(every, tuple(name for name in names if name in kept))


def matching_ors(
    constraints: Iterable[str], nodes: Mapping[str, Sequence[str]]
) -> dict[str, MatchingOr]:
    """Return the alternatives that need a resource, by its name."""
    made: dict[str, MatchingOr] = {}
    for text in constraints:
        found = matching_or(text, nodes)
        if found is not None and found.resource:
            made[found.resource] = found
    return made


def is_matching(resource: str) -> bool:
    """Return whether a resource is that of such alternatives."""
    return resource.startswith(_PREFIX) and _OR in resource
