"""Tables as notebooks show them: plain HTML that carries nothing but text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from .characters import visible

#: Rows that a notebook shows; the rest is counted.
MOST_ROWS = 60


def html_table(caption: str, head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table with everything escaped; "" stands for None."""
    body = list(rows)
    left = len(body) - MOST_ROWS
    lines = ["<table>", f"<caption>{_text(caption)}</caption>", "<thead>", _row("th", head)]
    lines += ["</thead>", "<tbody>", *(_row("td", row) for row in body[:MOST_ROWS])]
    if left > 0:
        lines.append(f'<tr><td colspan="{len(head)}">and {left} more</td></tr>')
    return "\n".join([*lines, "</tbody>", "</table>"])


def _row(cell: str, values: Iterable[object]) -> str:
    cells = "".join(f"<{cell}>{_text(value)}</{cell}>" for value in values)
    return f"<tr>{cells}</tr>"


def _text(value: object) -> str:
    return "" if value is None else escape(visible(str(value)))
