"""The cells of a sweep that are done: a folder with one CSV row each, by what was asked."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..model.confined import check_inside
from ..model.errors import InputError, Problem
from .atomic import check_output, whole_file

if TYPE_CHECKING:
    from ..solver.studies.sweep import Cell


class CellFiles:
    """Rows by the digests of their cells; what stands there is whole, each file is renamed to."""

    def __init__(self, folder: Path) -> None:
        """Raises InputError where no file could be written there."""
        self.folder = folder
        check_inside(folder)
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            reason = error.strerror or str(error)
            raise InputError([Problem(f"cannot be made: {reason}", str(folder))]) from error
        check_output(folder / "cell.csv")

    def read(self, cell: Cell) -> dict[str, Any] | None:
        """The row of a cell, None where there is none of this form."""
        from ..solver.studies.sweep import DONE, FAILED, METRICS, row_of

        check_inside(self._file(cell))
        try:
            text = self._file(cell).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            return None
        names = ["status", "error", *METRICS]
        found = list(csv.reader(io.StringIO(text)))
        if len(found) != 2 or found[0] != names or len(found[1]) != len(names) or text[-1] != "\n":
            return None
        row = dict(zip(names, found[1], strict=True))
        if row["status"] == FAILED:
            return row_of(cell, error=row["error"])
        try:
            numbers = {name: _number(row[name]) for name in METRICS}
        except (TypeError, ValueError):
            return None
        return row_of(cell, numbers) if row["status"] == DONE else None

    def write(self, cell: Cell, row: Mapping[str, Any]) -> None:
        """Keep a row; what tells the cell from others is said by the study itself."""
        from ..solver.studies.sweep import METRICS

        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        names: Sequence[str] = ("status", "error", *METRICS)
        writer.writerow(names)
        writer.writerow(["" if row[name] is None else row[name] for name in names])
        with whole_file(self._file(cell)) as file:
            file.write(text.getvalue().encode())

    def _file(self, cell: Cell) -> Path:
        return self.folder / f"{cell.digest}.csv"


def _number(text: str) -> int | float | None:
    if not text:
        return None
    return int(text) if text.lstrip("-").isdecimal() else float(text)
