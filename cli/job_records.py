"""Files with one record a job: CSV, JSON or Parquet, plain or (CSV, JSON) gzipped."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .atomic import check_output, is_special, whole_file
from .cells import csv_cell

SUFFIXES = (".csv", ".csv.gz", ".json", ".json.gz", ".parquet")


def check_path(path: Path, suffixes: Sequence[str] = SUFFIXES) -> None:
    """Whether a file of records can be written there, before any work is done.

    A FIFO, terminal or device may have any name; it gets CSV unless its name says otherwise.
    Raises InputError for an unknown suffix, a missing folder, or Parquet without pyarrow.
    """
    from ..model.errors import InputError, Problem

    if suffixes and not path.name.endswith(tuple(suffixes)) and not is_special(path):
        known = ", ".join(suffixes)
        raise InputError([Problem(f"takes a name that ends in one of {known}", str(path))])
    check_output(path)
    if path.name.endswith(".parquet"):
        try:
            import pyarrow  # noqa: F401
        except ImportError:
            text = (
                "Parquet needs the package pyarrow, which is not installed: "
                "pip install 'slotwise[parquet]', or take .csv or .json"
            )
            raise InputError([Problem(text, str(path))]) from None


def write_records(records: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Write records of equal keys in the format that the name asks for; whole or not at all."""
    if path.name.endswith(".parquet"):
        content = _parquet(records)
    elif path.name.endswith((".json", ".json.gz")):
        content = (json.dumps(list(records), indent=0) + "\n").encode()
    else:
        content = _csv(records)
    if path.name.endswith(".gz"):
        content = gzip.compress(content, mtime=0)
    with whole_file(path) as file:
        file.write(content)


def _csv(records: Sequence[Mapping[str, Any]]) -> bytes:
    """Allocations as ``2*hostA 3*hostB``; nothing for what is unknown."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    if records:
        writer.writerow(records[0])
    for record in records:
        writer.writerow([csv_cell(_cell(value)) for value in record.values()])
    return text.getvalue().encode()


def _cell(value: Any) -> Any:
    if isinstance(value, Mapping):
        return " ".join(f"{count}*{name}" for name, count in value.items())
    return value


def _parquet(records: Sequence[Mapping[str, Any]]) -> bytes:
    import pyarrow
    import pyarrow.parquet

    rows = [{name: _cell(value) for name, value in record.items()} for record in records]
    buffer = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), buffer)
    return buffer.getvalue()
