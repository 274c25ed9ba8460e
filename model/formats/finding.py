"""What a reader finds wrong, before it is known where in the text that stands."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..errors import Problem

#: Keys and indices from the root of a document.
Location = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong at `place`; a warning does not stop the reader.

    undefined: it says that a name has no definition, so it proves nothing where the definitions
    themselves cannot be read.
    """

    place: Location
    message: str
    warning: bool = False
    undefined: bool = False


def path_text(place: Location) -> str:
    """``hosts[1].slots``."""
    text = ""
    for part in place:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
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
