"""Records as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any

from ..model.allocation import allocation_text
from .cells import csv_cell


def csv_text(columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> str:
    """CSV with a header; allocations as ``2*hostA 3*hostB``."""
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, columns, restval="", lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow(flat(row))
    return buffer.getvalue()


def flat(record: Mapping[str, Any]) -> dict[str, Any]:
    """A record as cells of CSV, with its allocations as text."""
    return {key: csv_cell(_cell(value)) for key, value in record.items()}


def _cell(value: Any) -> Any:
    """An allocation as text, those of several terms joined by ``+``."""
    if isinstance(value, dict):
        return allocation_text(value)
    if isinstance(value, list):
        return " + ".join(map(allocation_text, value))
    return value
