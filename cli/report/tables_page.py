"""A page of tables that sort and filter, made of the report's own parts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from string import Template

from ... import __version__
from ..cells import printable
from .page import asset, policy

_SCRIPTS = ("vendor/jquery.slim.min.js", "vendor/dataTables.min.js", "plain.js", "tables.js")
_STYLES = ("vendor/dataTables.min.css", "report.css")


@dataclass(frozen=True, slots=True)
class TableCell:
    """A cell: its text; what it is sorted by, None for the text; kind: "good", "bad" or ""."""

    text: str
    order: float | None = None
    kind: str = ""


def tables_page(
    kind: str,
    title: str,
    lead: str,
    figures: Iterable[tuple[str, str]],
    parts: Iterable[tuple[str, str]],
    notes: Iterable[str],
) -> str:
    """The page. figures: values and what they are; parts: titles and HTML; notes: plain lines."""
    scripts = [asset(name) for name in _SCRIPTS]
    sections = [
        f'<section aria-labelledby="part-{n}"><header><h2 id="part-{n}">{_text(name)}</h2>'
        f"</header>{body}</section>"
        for n, (name, body) in enumerate(parts)
    ]
    lines = "".join(f'<p class="note">{_text(note)}</p>' for note in notes)
    return Template(asset("report.html")).substitute(
        policy=policy(scripts),
        version=__version__,
        kind=_text(kind),
        title=_text(title),
        lead=_text(lead),
        verdict="",
        styles="\n".join(map(asset, _STYLES)),
        figures="".join(
            f"<li><b>{_text(value)}</b><span>{_text(what)}</span></li>" for value, what in figures
        ),
        sections="\n".join(sections),
        notes=f"<section><h2>Notes</h2>{lines}</section>",
        footer=_text(f"slotwise {__version__}. The page works offline."),
        data="null",
        scripts="\n".join(f"<script>{script}</script>" for script in scripts),
    )


def table(name: str, titles: Iterable[str], rows: Iterable[Sequence[TableCell]]) -> str:
    """A table that sorts and filters; without JavaScript it is complete too."""
    head = "".join(f'<th scope="col">{_text(title)}</th>' for title in titles)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    return (
        f'<div class="scroll"><table class="sortable" id="{name}"><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _cell(cell: TableCell) -> str:
    if cell.order is None and not cell.kind:
        return f"<td>{_text(cell.text)}</td>"
    order = "" if cell.order is None else f' data-order="{cell.order:.12g}"'
    return f'<td class="number {cell.kind}"{order}>{_text(cell.text)}</td>'


def _text(value: object) -> str:
    return escape(printable(str(value)))
