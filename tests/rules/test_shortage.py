"""Reasons as data: numbers that change with the instant are numbers, not pieces of a text."""

from __future__ import annotations

from slotwise.model.pending import Pending, Reason, over

FEW = Pending.FEW_SLOTS


def _has(*parts: str | float, kind: Pending = FEW) -> Reason:
    return Reason.of(kind, *parts)


def test_joined_reasons_keep_their_numbers() -> None:
    both = [Reason.joined([_has("has ", n), _has("lacks ", 9 - n, " MB")]) for n in (2, 5)]
    assert over(both) == "has 2 to 5; lacks 4 to 7 MB"
