"""Files with one record a job: CSV, JSON or Parquet, plain or (CSV, JSON) gzipped."""

from __future__ import annotations

import csv
import io
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from .atomic import check_output, is_special, whole_file
from .cells import csv_cell

#: Characters of CSV that are written at once.
_PART = 1 << 16
#: What zlib calls the gzip container, with the largest window.
_GZIP = 31

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


def write_records(records: Iterable[Mapping[str, Any]], path: Path) -> None:
    """Write records of equal keys in the format that the name asks for; whole or not at all.

    But for Parquet they are written one after another and never all in memory.
    """
    parts: Iterable[bytes]
    if path.name.endswith(".parquet"):
        parts = [_parquet(records)]
    elif path.name.endswith((".json", ".json.gz")):
        parts = _json(records)
    else:
        parts = _csv(records)
    if path.name.endswith(".gz"):
        parts = _gzipped(parts)
    with whole_file(path) as file:
        file.writelines(parts)


def _json(records: Iterable[Mapping[str, Any]]) -> Iterator[bytes]:
    """A list, as ``json.dumps(…, indent=0)`` writes it."""
    before = "["
    for record in records:
        yield f"{before}\n{json.dumps(record, indent=0)}".encode()
        before = ","
    yield b"[]\n" if before == "[" else b"\n]\n"


def _csv(records: Iterable[Mapping[str, Any]]) -> Iterator[bytes]:
    """Allocations as ``2*hostA 3*hostB``; nothing for what is unknown."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for number, record in enumerate(records):
        if not number:
            writer.writerow(record)
        writer.writerow([csv_cell(_cell(value)) for value in record.values()])
        if text.tell() > _PART:
            yield text.getvalue().encode()
            text.seek(0)
            text.truncate()
    yield text.getvalue().encode()


def _gzipped(parts: Iterable[bytes]) -> Iterator[bytes]:
    """The same for the same content, whenever it is made: without a time."""
    packer = zlib.compressobj(9, zlib.DEFLATED, _GZIP)
    yield from map(packer.compress, parts)
    yield packer.flush()


def _cell(value: Any) -> Any:
    if isinstance(value, Mapping):
        return " ".join(f"{count}*{name}" for name, count in value.items())
    return value


def _parquet(records: Iterable[Mapping[str, Any]]) -> bytes:
    import pyarrow
    import pyarrow.parquet

    rows = [{name: _cell(value) for name, value in record.items()} for record in records]
    buffer = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), buffer)
    return buffer.getvalue()
