"""Texts of others in tables and CSV: nothing runs, and nothing is hidden."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from slotwise.model.escaping import printable

UNSEEN = ["\x1b[31m", "\0", "\x7f", "\x9b", "\u202e", "\u200b", "\ufeff", "\u2028", "\ud800"]


@given(st.text())
def test_what_is_shown_can_be_seen(text: str) -> None:
    shown = printable(text)
    assert printable(shown) == shown
    assert shown.count("\n") == text.count("\n")
    shown.encode()
    assert not any(char in shown for char in UNSEEN)
