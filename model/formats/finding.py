"""What a reader finds wrong, before it is known where in the text that stands."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..characters import visible
from ..errors import Problem

#: Keys and indices from the root of a document.
Location = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong at `place`; a warning does not stop the reader.

    undefined: it says that a name has no definition, so it proves nothing where the definitions
    themselves cannot be read. undecided: the same of the value of a key in another entry.
    """

    place: Location
    message: str
    warning: bool = False
    undefined: bool = False
    undecided: bool = False

    @property
    def rests_on_others(self) -> bool:
        """Whether it proves nothing where entries that define something cannot be read."""
        return self.undefined or self.undecided


def path_text(place: Location) -> str:
    """``hosts[1].slots``."""
    text = ""
    for part in place:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{visible(part)}" if text else visible(part)
    return text


def problems(
    findings: Iterable[Finding], source: str, lines: dict[Location, int]
) -> tuple[Problem, ...]:
    """Findings as problems, in the order of the document, without repetition."""
    unique = list(dict.fromkeys(findings))
    unique.sort(key=lambda finding: lines.get(finding.place, 0))
    return tuple(
        Problem(finding.message, source, lines.get(finding.place), path_text(finding.place))
        for finding in unique
    )
