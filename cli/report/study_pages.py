"""A page of tables that sort and filter, made of the report's own parts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from string import Template
from typing import TYPE_CHECKING

from ... import __version__
from ...model.display import duration_text
from ...model.escaping import html_text
from ..study_output import (
    WORDS,
    change_text,
    interval_text,
    naming,
    numbers,
    remarks,
    value_of,
    value_text,
)
from .bars import step_of_scale
from .page import asset, policy

if TYPE_CHECKING:
    from ...solver.studies.sweep import Sweep
    from ...solver.studies.whatif import ComparedVariant, Difference, WhatIf


_SCRIPTS = ("vendor/jquery.slim.min.js", "vendor/dataTables.min.js", "theme.js", "tables.js")
_STYLES = ("vendor/dataTables.min.css", "base.css")


@dataclass(frozen=True, slots=True)
class TableCell:
    """A cell: its text; what it is sorted by, None for the text."""

    text: str
    order: float | None = None
    #: "good", "bad" or "".
    kind: str = ""


def tables_page(
    kind: str,
    title: str,
    lead: str,
    figures: Iterable[tuple[str, str]],
    parts: Iterable[tuple[str, str]],
    notes: Iterable[str],
) -> str:
    """Return the page. figures: values and labels; parts: titles and HTML; notes: lines."""
    scripts = [asset(name) for name in _SCRIPTS]
    sections = [
        f'<section aria-labelledby="part-{n}"><header><h2 id="part-{n}">{html_text(name)}</h2>'
        f"</header>{body}</section>"
        for n, (name, body) in enumerate(parts)
    ]
    lines = "".join(f'<p class="note">{html_text(note)}</p>' for note in notes)
    return Template(asset("tables.html")).substitute(
        policy=policy(scripts),
        version=__version__,
        kind=html_text(kind),
        title=html_text(title),
        lead=html_text(lead),
        styles="\n".join(map(asset, _STYLES)),
        figures="".join(
            f"<li><b>{html_text(value)}</b><span>{html_text(what)}</span></li>"
            for value, what in figures
        ),
        sections="\n".join(sections),
        notes=f"<section><h2>Notes</h2>{lines}</section>",
        footer=html_text(f"slotwise {__version__}. The page works offline."),
        data="null",
        scripts="\n".join(f"<script>{script}</script>" for script in scripts),
    )


def table(name: str, titles: Iterable[str], rows: Iterable[Sequence[TableCell]]) -> str:
    """Return a table that sorts and filters, and that is complete without JavaScript."""
    head = "".join(f'<th scope="col">{html_text(title)}</th>' for title in titles)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    return (
        f'<div class="scroll"><table class="sortable" id="{name}"><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _cell(cell: TableCell) -> str:
    if cell.order is None and not cell.kind:
        return f"<td>{html_text(cell.text)}</td>"
    order = "" if cell.order is None else f' data-order="{cell.order:.12g}"'
    return f'<td class="number {cell.kind}"{order}>{html_text(cell.text)}</td>'


#: Pixels of a line of a picture of intervals (its name above its bar).
_LINE = 44
#: Maximum number of steps of a scale, which also fit on a phone.
_MAX_STEPS = 4


def whatif_page(found: WhatIf, name: str) -> str:
    """Return the page of a whatif study; equal variants give equal texts."""
    first = found.variants[0]
    figures = [
        (str(len(found)), "variants"),
        (str(first.metrics.jobs), "jobs"),
        (value_text("mean_wait", first.metrics.mean_wait), f"mean wait {first.name}"),
        (
            value_text("utilisation", value_of(first, "utilisation")),
            f"utilisation {first.name}",
        ),
        (str(found.blocks), f"blocks of {duration_text(found.block)}"),
    ]
    parts = [("Variants", _variants(found))]
    parts += [
        (f"Change of the {WORDS[measure]}", _picture(found, measure))
        for measure in ("mean_wait", "big_mean_wait")
        if any(measure in variant.differences for variant in found)
    ]
    parts.append(("Groups that wait longer, groups that wait less", _groups(found)))
    if found.calibration:
        head = ("Queue", "Jobs", "Recorded mean", "Simulated mean", "Recorded P95", "Simulated P95")
        rows = [
            [
                TableCell(item.queue or "all"),
                TableCell(str(item.jobs), item.jobs),
                *(
                    TableCell(value_text("mean_wait", value), -1.0 if value is None else value)
                    for value in (
                        item.recorded_mean_wait,
                        item.simulated_mean_wait,
                        item.recorded_p95_wait,
                        item.simulated_p95_wait,
                    )
                ),
            ]
            for item in found.calibration
        ]
        parts.append(("Recorded and simulated waits", table("calibration", head, rows)))
    return tables_page("what if", name, " ".join(_lead(found)), figures, parts, remarks(found))


def _lead(found: WhatIf) -> Iterable[str]:
    yield "Variants of a configuration, each run by the scheduler loop over the same jobs."
    if found.unfinished:
        yield f"Stopped early: {len(found.unfinished)} variants are missing."


def _variants(found: WhatIf) -> str:
    head = ["Variant"]
    for name in WORDS:
        head += [WORDS[name].capitalize(), "change", "95 % interval"]
    rows = []
    for variant in found:
        row = [TableCell(variant.name)]
        for name in WORDS:
            row += _numbers(name, value_of(variant, name), variant.differences.get(name))
        rows.append(row)
    return table("variants", head, rows)


def _numbers(name: str, value: float | None, change: Difference | None) -> list[TableCell]:
    shown = TableCell(value_text(name, value), value if value is not None else -1e18)
    if change is None:
        return [shown, TableCell("", -1e18), TableCell("")]
    kind = _kind(name, change)
    return [
        shown,
        TableCell(change_text(name, change.change), change.change, kind),
        TableCell(interval_text(name, change), kind=kind),
    ]


def _kind(name: str, change: Difference) -> str:
    """Return "good" or "bad" for a clear change, else ""."""
    from ...solver.studies.whatif import MEASURES

    way = MEASURES[name] * change.change
    return "" if not change.clear or not way else "good" if way > 0 else "bad"


def _groups(found: WhatIf) -> str:
    head = ("Variant", "Kind", "Group", "Jobs", "Today", "Then", "Change", "Interval", "Clear")
    rows = [
        [
            TableCell(variant.name),
            TableCell(group.kind),
            TableCell(group.name),
            TableCell(str(group.jobs), group.jobs),
            TableCell(value_text("mean_wait", group.today), group.today),
            TableCell(value_text("mean_wait", group.then), group.then),
            TableCell(
                change_text("mean_wait", group.difference.change),
                group.difference.change,
                _kind("mean_wait", group.difference),
            ),
            TableCell(interval_text("mean_wait", group.difference)),
            TableCell("yes" if group.difference.clear else "no"),
        ]
        for variant in found
        for group in variant.groups
    ]
    return (
        '<p class="meaning">Mean waits; intervals of a kind are wider the more groups it has.</p>'
        + table("groups", head, rows)
    )


def _picture(found: WhatIf, name: str) -> str:
    """Return a line for each variant: the change as a point, its interval as a bar."""
    shown = [(v, v.differences[name]) for v in found if name in v.differences]
    ends = [0.0]
    for _, change in shown:
        ends += [e for e in (change.low, change.high, change.change) if e is not None]
    scale = _scale(min(ends), max(ends))
    low, high = scale[0], scale[-1]

    def x(value: float) -> str:
        """Return the position of a value as a share of the width, because the picture has no fixed
        width.
        """
        return f"{4 + 92 * (value - low) / (high - low):.2f}%"

    height = _LINE * len(shown) + 30
    lines = [_mark(name, value, x(value), height, scale) for value in scale]
    for number, (variant, change) in enumerate(shown):
        lines.append(_line(name, variant, change, _LINE * number + 14, x))
    label = "; ".join(f"{v.name} {change_text(name, c.change)}" for v, c in shown)
    return (
        f'<svg class="intervals" height="{height}" role="img" aria-label="{html_text(label)}" '
        f'font-size="12">{"".join(lines)}</svg>'
    )


def _scale(low: float, high: float) -> list[float]:
    """Round values (seconds) from one at or below `low` to one at or above `high`, with 0."""
    step = step_of_scale(max(high - low, 1.0), _MAX_STEPS - 1)
    first, last = int(low // step), max(int(-(-high // step)), int(low // step) + 1)
    return [step * number for number in range(first, last + 1)]


def _mark(name: str, value: float, x: str, height: int, scale: list[float]) -> str:
    anchor = "start" if value == scale[0] else "end" if value == scale[-1] else "middle"
    words = "as today" if value == 0 else change_text(name, value)
    colour = "var(--soft)" if value == 0 else "var(--line)"
    return (
        f'<line x1="{x}" x2="{x}" y1="4" y2="{height - 22}" stroke="{colour}"/>'
        f'<text x="{x}" y="{height - 6}" text-anchor="{anchor}" fill="var(--soft)">'
        f"{html_text(words)}</text>"
    )


def _line(
    name: str, variant: ComparedVariant, change: Difference, y: int, x: Callable[[float], str]
) -> str:
    colour = {"good": "var(--good)", "bad": "var(--bad)"}.get(_kind(name, change), "var(--soft)")
    title = f"{variant.name}: {change_text(name, change.change)} ({interval_text(name, change)})"
    words = variant.name if len(variant.name) <= 44 else f"{variant.name[:43]}…"
    bar = ""
    if change.low is not None and change.high is not None:
        bar = (
            f'<line x1="{x(change.low)}" x2="{x(change.high)}" y1="{y + 16}" y2="{y + 16}" '
            f'stroke="{colour}" stroke-width="5" stroke-linecap="round" opacity=".55"/>'
        )
    return (
        f"<g><title>{html_text(title)}</title>"
        f'<text x="0" y="{y + 4}" fill="var(--ink)" stroke="var(--card)" stroke-width="4" '
        f'paint-order="stroke">{html_text(words)}</text>'
        f'{bar}<circle cx="{x(change.change)}" cy="{y + 16}" r="5" fill="{colour}"/></g>'
    )


def sweep_page(result: Sweep) -> str:
    """Return the page of a sweep; equal rows give equal texts."""
    columns = naming(result)
    head = [*columns, "jobs", *WORDS.values(), "error"]
    rows = []
    for row in result:
        cells = [TableCell("-" if row[name] is None else str(row[name])) for name in columns]
        orders = [row["jobs"], *(row[name] for name in WORDS)]
        cells += [
            TableCell(text, -1.0 if order is None else float(order))
            for text, order in zip(numbers(row), orders, strict=True)
        ]
        cells.append(TableCell(row["error"], kind="bad" if row["error"] else ""))
        rows.append(cells)
    figures = [
        (str(len(result)), "cells done"),
        (str(result.failed), "failed"),
        (str(result.unfinished), "not done yet"),
    ]
    lead = "A sweep: every case under every policy, parameter and seed, each run by the loop."
    parts = [("Cells", table("cells", head, rows))]
    notes = ["Every metric of every cell: --table FILE or --format csv."]
    return tables_page("sweep", result.name, lead, figures, parts, notes)
