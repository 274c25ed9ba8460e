"""What an import has to say about itself: what it left out, and what may change answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from .lines import Decision
from .source import Place

#: Names listed in one note before the rest becomes a number.
_MOST_NAMES = 8


@dataclass(slots=True)
class Notes:
    """Collected while the files are read; :meth:`lines` says it in as few lines as possible.

    root: files in it are named from there.
    """

    root: str = ""
    decisions: list[Decision] = field(default_factory=list)
    _left_out: Counter[tuple[str, str]] = field(default_factory=Counter)
    _differ: dict[tuple[str, str], dict[str, None]] = field(default_factory=dict)
    _remarks: dict[str, None] = field(default_factory=dict)

    def not_modelled(self, kind: str, parameter: str) -> None:
        """A parameter of one queue, host, file … (`kind`) that has no counterpart."""
        self._left_out[kind, parameter] += 1

    def may_differ(self, topic: str, reason: str, where: str) -> None:
        """Why answers may not be LSF's; where: the queue, host, file … it concerns."""
        self._differ.setdefault((topic, reason), {})[where] = None

    def remark(self, text: str, place: Place | None = None) -> None:
        """Anything else worth knowing; said once."""
        self._remarks[f"{self.at(place)}: {text}" if place else text] = None

    def at(self, place: Place) -> str:
        """``lsb.queues:12``."""
        return f"{place.file.removeprefix(self.root).lstrip('/')}:{place.line}"

    def lines(self) -> tuple[str, ...]:
        """One sentence each: conditions, remarks, what may differ, what is not modelled."""
        found = [
            f"{self.at(decision.place)}: #if {decision.text} is "
            f"{'true' if decision.answer else 'false'}"
            for decision in self.decisions
        ]
        found += self._remarks
        found += [f"answers may differ because of {what}" for what, _ in self._differing()]
        if self._left_out:
            found.append(f"not modelled: {'; '.join(self._counted())}")
        return tuple(found)

    def omissions(self) -> list[dict[str, Any]]:
        """What may change answers, as an instance document keeps it."""
        return [{"what": what, "count": count} for what, count in self._differing()]

    def _differing(self) -> Iterator[tuple[str, int]]:
        """What may change answers, in words, and in how many places it was met."""
        for (topic, reason), places in self._differ.items():
            yield f"{topic} ({listed(places)}): {reason}", len(places)

    def _counted(self) -> Iterator[str]:
        """``NICE in 12 queues, MIG in 3`` for each kind of thing."""
        kinds = dict.fromkeys(kind for kind, _ in self._left_out)
        for kind in kinds:
            counts = [(name, n) for (k, name), n in self._left_out.items() if k == kind]
            counts.sort(key=lambda pair: (-pair[1], pair[0]))
            if kind.startswith("ls"):
                yield f"{', '.join(name for name, _ in counts)} in {kind}"
                continue
            first = counts[0]
            noun, of, file = kind.partition(" of ")
            plural = "s" if first[1] > 1 else ""
            parts = [f"{first[0]} in {first[1]} {noun}{plural}{of}{file}"]
            parts += [f"{name} in {count}" for name, count in counts[1:]]
            yield ", ".join(parts)


def listed(names: Iterable[str]) -> str:
    """``a, b, c``; a long list ends in how many more there are."""
    words = list(names)
    more = len(words) - _MOST_NAMES
    return ", ".join(words[:_MOST_NAMES]) + (f" and {more} more" if more > 0 else "")
