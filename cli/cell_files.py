"""The cells of a sweep that are done: a folder with one sealed record each, by what was asked."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..model.confined import check_inside
from ..model.errors import InputError, Problem, unreadable
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
        check_output(folder / "cell.json")

    def read(self, cell: Cell) -> dict[str, Any] | None:
        """The row of a cell, None where there is none yet.

        Raises InputError for a file that cannot be read, is damaged or is another cell's.
        """
        from ..model.formats.sealed import CELL, refusal, unseal
        from ..solver.studies.sweep import FAILED, METRICS, row_of

        path = self._file(cell)
        check_inside(path)
        if not path.exists():
            return None
        found = unseal(CELL, _text(path), str(path))
        if found.get("cell") != cell.digest:
            raise refusal("is the file of another cell: it was renamed or copied", str(path))
        if list(found) != ["cell", "status", "error", *METRICS]:
            raise refusal("has other columns than this version of slotwise", str(path))
        if found["status"] == FAILED:
            return row_of(cell, error=found["error"])
        return row_of(cell, {name: found[name] for name in METRICS})

    def write(self, cell: Cell, row: Mapping[str, Any]) -> None:
        """Keep a row; what tells the cell from others is said by the study itself."""
        from ..model.formats.sealed import CELL, seal
        from ..solver.studies.sweep import METRICS

        kept = {name: row[name] for name in ("status", "error", *METRICS)}
        with whole_file(self._file(cell)) as file:
            file.write(seal(CELL, {"cell": cell.digest, **kept}).encode())

    def _file(self, cell: Cell) -> Path:
        return self.folder / f"{cell.digest}.json"


def _text(path: Path) -> str:
    try:
        return path.read_bytes().decode()
    except OSError as error:
        raise unreadable(path, error) from error
    except UnicodeDecodeError:
        raise InputError([Problem("is damaged: not a text file", str(path))]) from None
