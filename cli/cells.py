"""Text of others in our outputs: control characters are shown, formulas are kept from running."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

#: Categories of characters that have no look of their own: control, format, surrogate, separators.
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
#: Beginnings that a spreadsheet takes for a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?([eE][+-]?\d+)?")
_RAW: ContextVar[bool] = ContextVar("raw_csv", default=False)


def printable(text: str) -> str:
    """The text with unseen characters as ``\\x1b`` or ``\\u202e``; lines stay lines."""
    if text.isascii() and text.replace("\n", "").isprintable():
        return text
    return "".join(
        char.encode("unicode_escape").decode()
        if char != "\n" and unicodedata.category(char) in _UNSEEN
        else char
        for char in text
    )


def csv_cell(value: Any) -> Any:
    """A cell of CSV; a text that begins like a formula gets an apostrophe in front.

    Numbers stay numbers, negative ones too. A carriage return is shown as such.
    """
    if _RAW.get() or not isinstance(value, str):
        return value
    formula = value.startswith(_FORMULA) and not _NUMBER.fullmatch(value)
    text = f"'{value}" if formula else value
    return text.replace("\r", "\\r") if "\r" in text else text  # readers begin a new row there


@contextmanager
def raw_csv(wanted: bool = True) -> Iterator[None]:
    """Leave cells as they are within the block."""
    token = _RAW.set(wanted)
    try:
        yield
    finally:
        _RAW.reset(token)
