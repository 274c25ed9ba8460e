"""Output of ``slotwise whatif``: tables for people, JSON, CSV."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..model.display import duration_text
from .simulate import wait_table
from .tables import Column, ListingRow, csv_rows, json_text, listing_text, paragraph

if TYPE_CHECKING:
    from ..model.instance import Instance
    from ..solver.studies.sweep import Sweep
    from ..solver.studies.whatif import ComparedVariant, Difference, GroupChange, WhatIf


#: Measures in the table of variants: the title of a column, and the measure in words.
MEASURES = {
    "mean_wait": ("WAIT", "mean wait"),
    "p95_wait": ("P95", "95th percentile of waits"),
    "big_mean_wait": ("BIG WAIT", "mean wait of big jobs"),
    "big_p95_wait": ("BIG P95", "95th percentile of waits of big jobs"),
    "utilisation": ("USE", "utilisation"),
    "backfilled": ("BACKFILLED", "jobs backfilled"),
    "estimates_met": ("MET", "estimates met"),
    "pending": ("PENDING", "jobs still pending"),
}
TITLES = tuple(title for title, _ in MEASURES.values())
WORDS = {name: words for name, (_, words) in MEASURES.items()}
SHARES = frozenset({"utilisation", "estimates_met"})
COUNTS = frozenset({"backfilled", "pending"})
#: Groups that are named in the table of variants, each way, and that are listed below it.
_NAMED, MAX_GROUPS = 2, 3


def render_whatif(found: WhatIf, format: str, today: Instance) -> str:
    """Return the whole output; today: the cluster, in the words of whose scheduler the text is."""
    from ..solver.studies.whatif import COLUMNS

    if format == "json":
        return json_text(found.to_dict())
    if format == "csv":
        return csv_rows(COLUMNS, (list(row.values()) for row in found.to_records()))
    return _text(found, today)


def _text(found: WhatIf, today: Instance) -> str:
    parts = []
    if found.calibration:
        parts.append(
            "Recorded waits (REC) and simulated waits of today's configuration (SIM), in seconds:\n"
        )
        parts.append(wait_table(found.calibration, today) + "\n")
    titles = ("VARIANT", *TITLES, "LONGER", "LESS")
    columns = [Column(title) for title in titles]
    first = found.variants[0]
    rows = [ListingRow(cells(variant)) for variant in found]
    parts.append(listing_text(columns, rows, instance=today))
    changes = [
        ListingRow((variant.name, *row))
        for variant in found
        for row in changes_of(variant, first, MAX_GROUPS)
    ]
    if changes:
        titles = ("VARIANT", "WHAT", "JOBS", "TODAY", "THEN", "CHANGE", "95 % INTERVAL")
        parts.append("Clear changes:\n")
        parts.append(listing_text([Column(title) for title in titles], changes, instance=today))
    parts += [paragraph(line, instance=today) for line in remarks(found)]
    return "".join(parts)


def cells(variant: ComparedVariant) -> tuple[str, ...]:
    """Return the texts of a row of the table of variants."""
    numbers = []
    for name in MEASURES:
        value = value_of(variant, name)
        change = variant.differences.get(name)
        shown = value_text(name, value)
        if change is not None and change.change:
            shown += f"\n{change_text(name, change.change)}{'*' if change.clear else ''}"
        elif change is None and variant.differences and value is not None:
            shown += "\n-"  # nothing to tell it from
        numbers.append(shown)
    name = variant.name.replace(" ", "\n") if variant.settings else variant.name
    return (name, *numbers, *(names_text(variant, way) for way in (1, -1)))


def names_text(variant: ComparedVariant, way: int) -> str:
    """Return the groups that clearly wait longer (way 1) or less (-1), the first by name."""
    groups = clear_groups(variant, way)
    shown = ", ".join(f"{group.kind} {group.name}" for group in groups[:_NAMED])
    left = len(groups) - _NAMED
    return f"{shown}, {left} more" if left > 0 else shown


def clear_groups(variant: ComparedVariant, way: int) -> list[GroupChange]:
    """Return groups whose wait clearly changes that way, largest job-hours first."""
    return [g for g in variant.groups if g.difference.clear and g.difference.change * way > 0]


def changes_of(
    variant: ComparedVariant, first: ComparedVariant, most: int
) -> Iterator[tuple[str, ...]]:
    """Yield the clear changes of a variant: measures, then waits; without the variant's name."""
    for name, found in variant.differences.items():
        if found.clear:
            today, then = (value_of(item, name) for item in (first, variant))
            yield (
                WORDS[name],
                "",
                value_text(name, today),
                value_text(name, then),
                change_text(name, found.change),
                interval_text(name, found),
            )
    for way in (1, -1):
        for group in clear_groups(variant, way)[:most]:
            yield (
                f"{group.kind} {group.name} waits {'longer' if way > 0 else 'less'}",
                str(group.jobs),
                value_text("mean_wait", group.today),
                value_text("mean_wait", group.then),
                change_text("mean_wait", group.difference.change),
                interval_text("mean_wait", group.difference),
            )


def value_of(variant: ComparedVariant, name: str) -> float | None:
    """Return a measure of a variant, None if a run without duration has no use."""
    metrics = variant.metrics
    if name == "utilisation" and metrics.last_end <= metrics.first_submit:
        return None
    value: float | None = getattr(metrics, name)
    return value


def value_text(name: str, value: float | None) -> str:
    """Return a value of a measure as people read it."""
    if value is None:
        return "-"
    if name in SHARES:
        return f"{100 * value:.1f} %"
    return str(round(value)) if name in COUNTS else duration_text(round(value))


def change_text(name: str, change: float) -> str:
    """Return a change with its sign; shares in percentage points."""
    sign = "+" if change > 0 else ""
    if name in SHARES:
        return f"{sign}{100 * change:.1f} pp"
    return sign + value_text(name, change)


def interval_text(name: str, found: Difference) -> str:
    """Return an interval such as ``-2h … -30m``, "" if there is none."""
    if found.low is None or found.high is None:
        return ""
    return f"{change_text(name, found.low)} … {change_text(name, found.high)}"


def remarks(found: WhatIf) -> list[str]:
    """Return the notes that a reader of the numbers needs."""
    from ..solver.studies.whatif import DRAWS

    lines = [
        "WAIT and P95: mean and 95th percentile; BIG: the 10% of the jobs with the most slots; "
        "MET: first estimates that were met within a cycle or earlier; "
        "PENDING: jobs without a start at the end."
    ]
    if len(found) > 1 and any(variant.differences for variant in found):
        lines.append(
            f"Each number has its change from today; * if its 95 % interval excludes 0, by {DRAWS} "
            f"resamplings of blocks of {duration_text(found.block)} by submission "
            f"(seed {found.seed}). A change without a star may be noise."
        )
    if found.caution:
        lines.append(f"{found.caution[:1].upper()}{found.caution[1:]}.")
    if found.unfinished:
        lines.append(f"Not finished: {'; '.join(found.unfinished)}.")
    return lines


def notes(found: WhatIf) -> Sequence[str]:
    """Return the notes of the runs, each once."""
    return list(dict.fromkeys(f"{v.name}: {note}" for v in found for note in v.notes))


def render_sweep(result: Sweep, format: str) -> str:
    """Return the whole output of a sweep."""
    if format == "json":
        plain = {
            "study": result.name,
            "complete": not result.unfinished,
            "unfinished": result.unfinished,
            "cells": result.to_records(),
        }
        return json_text(plain)
    if format == "csv":
        return csv_rows(result.columns, ([row[name] for name in result.columns] for row in result))
    columns = [
        *(Column(name.upper(), label=name) for name in naming(result)),
        *(Column(title) for title in ("JOBS", *TITLES)),
    ]
    rows = [ListingRow((*names(result, row), *numbers(row))) for row in result]
    failed: dict[str, list[str]] = {}
    for row in result:
        if row["error"]:
            failed.setdefault(row["error"], []).append(str(row["cell"]))
    errors = (
        paragraph(f"cell{'s' if len(cells) > 1 else ''} {', '.join(cells)}: {error}", "  ")
        for error, cells in failed.items()
    )
    return listing_text(columns, rows) + "".join(errors)


def naming(result: Sweep) -> list[str]:
    """Return the names of the columns that identify a row of a sweep.

    These are the columns before "status", without "seed" if no row has a seed.
    """
    found = list(result.columns[: result.columns.index("status")])
    if all(row["seed"] is None for row in result):
        found.remove("seed")
    return found


def names(result: Sweep, row: Mapping[str, Any]) -> list[str]:
    """Return the texts that distinguish a row from others."""
    return ["-" if row[name] is None else str(row[name]) for name in naming(result)]


def numbers(row: Mapping[str, Any]) -> list[str]:
    """Return the numbers of a row that fit into a table."""
    if row["error"]:
        return ["failed", *("" for _ in MEASURES)]
    return [str(row["jobs"]), *(value_text(name, row[name]) for name in MEASURES)]
