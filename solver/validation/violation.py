"""What the judge reports."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Violation:
    """One rule that a plan breaks.

    check: the rule's short name (``slots``, ``span``, ``run-window``, …). message: a sentence with
    job, host, time, amount and limit as far as the rule has them. job, host: "" where none is to
    blame alone. time: seconds from the origin, None where the rule has no instant.
    """

    check: str
    message: str
    job: str = ""
    host: str = ""
    time: int | None = None

    def __str__(self) -> str:
        return f"{self.check}: {self.message}"


def shown(amount: float) -> str:
    """An amount as people write it: no trailing zeros, at most six decimals."""
    return f"{amount:.6f}".rstrip("0").rstrip(".")
