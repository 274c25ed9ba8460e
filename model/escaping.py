"""Text of others in our outputs: one function for each kind of output, and every output uses it.

Names of users, jobs, hosts and files are whatever somebody chose. In each output they are text:
nothing in them is obeyed by the terminal, browser, renderer or spreadsheet that shows it.
"""

from __future__ import annotations

import csv
import html
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, cast

#: Categories of characters that have no look of their own: control, format, surrogate, separators.
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


def printable(text: str, kept: str = "\n") -> str:
    """For a terminal: unseen characters as ``\\x1b`` or ``\\u202e``; lines stay lines."""
    if text.replace("\n", "").isprintable():
        return text
    return "".join(
        char.encode("unicode_escape").decode()
        if char not in kept and unicodedata.category(char) in _UNSEEN
        else char
        for char in text
    )


def html_text(value: object) -> str:
    """For HTML, between tags and in an attribute in quotes."""
    return html.escape(printable(str(value)))


#: Signs that every renderer knows as characters of HTML, and those that a backslash makes plain.
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "`": "&#96;"}
_SIGNS = {ord(sign): f"\\{sign}" for sign in "\\*_[]#|~$!"} | {
    ord(sign): entity for sign, entity in _ENTITIES.items()
}
#: How a list, a rule or the line below a heading begins.
_BLOCK = re.compile(r"[-+=]|\d+(?=[.)])")
#: A mention of somebody (GitHub, GitLab) or an address.
_MENTION = re.compile(r"@(?=\w)")


def markdown_text(text: str) -> str:
    """For prose of Markdown (CommonMark, GitHub, GitLab): one line, also at the start of a block.

    Addresses are no links. The sign of a mention stands as code, where nobody is told of it.
    """
    plain = " ".join(printable(text).split()).translate(_SIGNS)
    if begin := _BLOCK.match(plain):
        cut = begin.end() - 1 if begin[0] in "-+=" else begin.end()
        plain = f"{plain[:cut]}\\{plain[cut:]}"
    plain = plain.replace("://", "\\://").replace("www.", "www\\.")
    return _MENTION.sub("`@`", plain)


def markdown_code(text: str) -> str:
    """A code span of Markdown that holds the text as it is, on one line."""
    line = " ".join(printable(text).split("\n")) or " "
    fence = "`" * (max(map(len, re.findall("`+", line)), default=0) + 1)
    # One blank at both ends is no part of what is shown; it parts a fence from signs of its kind.
    blank = line[0] == line[-1] == " " and line.strip()
    padded = f" {line} " if "`" in line or blank else line
    return f"{fence}{padded}{fence}"


#: Beginnings that a spreadsheet takes for a formula, behind blanks too.
_FORMULA = tuple(
    "=+-@\t\r"
    "\N{FULLWIDTH EQUALS SIGN}\N{FULLWIDTH PLUS SIGN}"
    "\N{FULLWIDTH HYPHEN-MINUS}\N{FULLWIDTH COMMERCIAL AT}"
)
_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?([eE][+-]?\d+)?")
_RAW: ContextVar[bool] = ContextVar("raw_csv", default=False)


def csv_cell(value: Any) -> Any:
    """A cell of CSV; a text that begins like a formula gets an apostrophe in front.

    Numbers stay numbers, negative ones too. A carriage return, at which readers begin a new row,
    and what has no look of its own are shown as such.
    """
    if _RAW.get() or not isinstance(value, str):
        return value
    formula = value.startswith(_FORMULA) or value.lstrip().startswith(_FORMULA)
    text = f"'{value}" if formula and not _NUMBER.fullmatch(value) else value
    return printable(text, kept="\n\t")


@contextmanager
def raw_csv(wanted: bool = True) -> Iterator[None]:
    """Leave cells as they are within the block."""
    token = _RAW.set(wanted)
    try:
        yield
    finally:
        _RAW.reset(token)


class _Line:
    """A file for one line: what is written is the result of the call."""

    def write(self, text: str) -> str:
        return text


def csv_lines(columns: Iterable[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    """A header and a line a row, each with its end; None is empty."""
    writer = csv.writer(cast("Any", _Line()), lineterminator="\n")
    yield cast("str", writer.writerow([csv_cell(name) for name in columns]))
    for row in rows:
        yield cast("str", writer.writerow([csv_cell(value) for value in row]))
