"""How ``slotwise sweep`` shows its rows: a table for people, JSON, CSV."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .plain_tables import csv_rows
from .tables import Column, ListingRow, listing_text, paragraph
from .whatif_output import NUMBERS, value_text

if TYPE_CHECKING:
    from ..solver.studies.sweep import Sweep


def render(result: Sweep, format: str) -> str:
    """The whole output."""
    if format == "json":
        plain = {
            "study": result.name,
            "complete": not result.unfinished,
            "unfinished": result.unfinished,
            "cells": result.to_records(),
        }
        return json.dumps(plain, indent=2) + "\n"
    if format == "csv":
        return csv_rows(result.columns, ([row[name] for name in result.columns] for row in result))
    columns = [
        *(Column(name.upper(), label=name, whole=True) for name in naming(result)),
        *(Column(title, whole=True) for title in ("JOBS", *(title for title, _ in NUMBERS))),
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
    """The columns that tell rows apart; no seed where there is none."""
    found = list(result.columns[: result.columns.index("status")])
    if all(row["seed"] is None for row in result):
        found.remove("seed")
    return found


def names(result: Sweep, row: Mapping[str, Any]) -> list[str]:
    """What tells a row from others, as text."""
    return ["-" if row[name] is None else str(row[name]) for name in naming(result)]


def numbers(row: Mapping[str, Any]) -> list[str]:
    """The numbers of a row that a table has room for."""
    if row["error"]:
        return ["failed", *("" for _ in NUMBERS)]
    return [str(row["jobs"]), *(value_text(name, row[name]) for _, name in NUMBERS)]
