"""A sweep as one HTML page that needs nothing but itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..sweep_output import naming, numbers
from ..whatif_output import NUMBERS, WORDS
from .tables_page import TableCell, table, tables_page

if TYPE_CHECKING:
    from ...solver.studies.sweep import Sweep


def sweep_page(result: Sweep) -> str:
    """The page; the same rows give the same text."""
    columns = naming(result)
    head = [*columns, "jobs", *(WORDS[name] for _, name in NUMBERS), "error"]
    rows = []
    for row in result:
        cells = [TableCell("-" if row[name] is None else str(row[name])) for name in columns]
        orders = [row["jobs"], *(row[name] for _, name in NUMBERS)]
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
