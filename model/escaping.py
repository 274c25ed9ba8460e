"""Escaping of input texts in outputs: one function for each kind of output.

Names of users, jobs, hosts and files may be chosen to attack a reader. In no output are they
interpreted by the terminal, browser, renderer or spreadsheet that shows it.
"""

from __future__ import annotations

import csv
import html
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from typing import Any, cast

from .input_limits import within

#: Categories of invisible characters: control, format, surrogate, separators.
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


def printable(text: str, kept: str = "\n") -> str:
    """Return the text for a terminal: invisible characters are escaped, line ends are kept."""
    if text.replace("\n", "").isprintable():
        return text
    return "".join(
        char.encode("unicode_escape").decode()
        if char not in kept and unicodedata.category(char) in _UNSEEN
        else char
        for char in text
    )


def html_text(value: object) -> str:
    """Return the text for HTML, between tags and in quoted attributes."""
    return html.escape(printable(str(value)))


#: Maximum number of rows in a notebook; the rest is counted.
MAX_ROWS = 60


def html_table(caption: str, head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table as HTML with all texts escaped; "" stands for None."""
    body = list(rows)
    left = len(body) - MAX_ROWS
    lines = ["<table>", f"<caption>{_text(caption)}</caption>", "<thead>", _row("th", head)]
    lines += ["</thead>", "<tbody>", *(_row("td", row) for row in body[:MAX_ROWS])]
    if left > 0:
        lines.append(f'<tr><td colspan="{len(head)}">and {left} more</td></tr>')
    return "\n".join([*lines, "</tbody>", "</table>"])


def _row(cell: str, values: Iterable[object]) -> str:
    cells = "".join(f"<{cell}>{_text(value)}</{cell}>" for value in values)
    return f"<tr>{cells}</tr>"


def _text(value: object) -> str:
    return "" if value is None else html_text(value)


#: Characters that renderers know as HTML entities, and those that a backslash escapes.
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "`": "&#96;"}
_SIGNS = {ord(sign): f"\\{sign}" for sign in "\\*_[]#|~$!"} | {
    ord(sign): entity for sign, entity in _ENTITIES.items()
}
#: Start of a list, a rule or the underline of a heading.
_BLOCK = re.compile(r"[-+=]|\d+(?=[.)])")
#: Mention of a user (GitHub, GitLab) or start of an address.
_MENTION = re.compile(r"@(?=\w)")


def markdown_text(text: str) -> str:
    """Return one line of Markdown prose (CommonMark, GitHub, GitLab), safe at its start.

    Addresses become no links. The sign of a mention is set as code, so that no user is notified.
    """
    plain = " ".join(printable(text).split()).translate(_SIGNS)
    if begin := _BLOCK.match(plain):
        cut = begin.end() - 1 if begin[0] in "-+=" else begin.end()
        plain = f"{plain[:cut]}\\{plain[cut:]}"
    plain = plain.replace("://", "\\://").replace("www.", "www\\.")
    return _MENTION.sub("`@`", plain)


def markdown_code(text: str) -> str:
    """Return a code span of Markdown that shows the text unchanged, on one line."""
    line = " ".join(printable(text).split("\n")) or " "
    fence = "`" * (max(map(len, re.findall("`+", line)), default=0) + 1)
    # Renderers drop one blank at each end; it separates the fence from backquotes of the text.
    blank = line[0] == line[-1] == " " and line.strip()
    padded = f" {line} " if "`" in line or blank else line
    return f"{fence}{padded}{fence}"


#: Characters that start a formula in a spreadsheet, after blanks too.
_FORMULA = tuple(
    "=+-@\t\r"
    "\N{FULLWIDTH EQUALS SIGN}\N{FULLWIDTH PLUS SIGN}"
    "\N{FULLWIDTH HYPHEN-MINUS}\N{FULLWIDTH COMMERCIAL AT}"
)
_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?([eE][+-]?\d+)?")
_RAW: ContextVar[bool] = ContextVar("raw_csv", default=False)


def csv_cell(value: Any) -> Any:
    """Return a cell of CSV; a text that begins like a formula gets an apostrophe in front.

    Numbers stay numbers, negative ones too. Carriage returns, at which readers begin a new row, and
    invisible characters are escaped.
    """
    if _RAW.get() or not isinstance(value, str):
        return value
    formula = value.startswith(_FORMULA) or value.lstrip().startswith(_FORMULA)
    text = f"'{value}" if formula and not _NUMBER.fullmatch(value) else value
    return printable(text, kept="\n\t")


def raw_csv(wanted: bool = True) -> AbstractContextManager[None]:
    """Disable the escaping of formulas within the block."""
    return within(_RAW, wanted)


class _Line:
    """A file object for one line, whose ``write`` returns the text."""

    def write(self, text: str) -> str:
        return text


def csv_lines(columns: Iterable[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    """Yield a header and a CSV line for each row, with line ends; None becomes an empty cell."""
    writer = csv.writer(cast("Any", _Line()), lineterminator="\n")
    yield cast("str", writer.writerow([csv_cell(name) for name in columns]))
    for row in rows:
        yield cast("str", writer.writerow([csv_cell(value) for value in row]))
