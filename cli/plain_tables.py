"""Tables as LSF prints them, and the same rows as JSON and CSV."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .cells import csv_cell, printable


def plain_table(columns: Sequence[str], rows: Iterable[Sequence[object]], sides: str) -> str:
    """Columns two blanks apart, each aligned as `sides` says (``<`` or ``>``); None is a dash."""
    texts = [list(columns), *([dashed(value) for value in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    lines = (
        "  ".join(
            f"{text:{side}{width}}" for text, side, width in zip(row, sides, widths, strict=True)
        )
        for row in texts
    )
    return "".join(f"{line.rstrip()}\n" for line in lines)


def dashed(value: object) -> str:
    """A value as text, ``-`` for None."""
    if value is None:
        return "-"
    return f"{value:g}" if isinstance(value, float) else printable(str(value))


def json_records(records: Iterable[Mapping[str, Any]]) -> str:
    """A list of objects."""
    return json.dumps(list(records), indent=2) + "\n"


def csv_rows(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A header and a line a row; None is empty."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([csv_cell(value) for value in row] for row in rows)
    return text.getvalue()
