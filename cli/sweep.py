"""``slotwise sweep``: a study of many cells, on local processes or on a Dask cluster."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ..model.confined import check_inside
from ..model.errors import InputError, Problem
from .declare import argument, command, option
from .options import print_note, study_bar
from .output import check_output, write_file, write_records
from .process import Exit, cancel_on_signal
from .study_output import render_sweep
from .whatif import WORKERS_HELP, StudyOutput, processors

if TYPE_CHECKING:
    from ..solver.studies.sweep import Cell


class CellFiles:
    """Rows by the digests of their cells; what stands there is whole, each file is renamed to."""

    def __init__(self, folder: Path, metrics: Sequence[str] | None = None) -> None:
        """Raise InputError if no file can be written in the folder.

        metrics: names of the numbers of a row, by default those of the loop.
        """
        from ..solver.studies.sweep import METRICS

        self.folder, self._metrics = folder, tuple(metrics or METRICS)
        check_inside(folder)
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            reason = error.strerror or str(error)
            raise InputError([Problem(f"cannot be created: {reason}", str(folder))]) from error
        check_output(folder / "cell.json")

    def read(self, cell: Cell) -> dict[str, Any] | None:
        """Return the stored row of a cell, None if there is none yet.

        Raises InputError for a file that cannot be read, is damaged or is another cell's.
        """
        from ..model.formats.sealed import CELL, refusal, unseal
        from ..solver.studies.sweep import FAILED, row_of

        path = self._file(cell)
        check_inside(path)
        if not path.exists():
            return None
        found = unseal(CELL, _text(path), str(path))
        if found.get("cell") != cell.digest:
            raise refusal("is the file of another cell: it was renamed or copied", str(path))
        if list(found) != ["cell", "status", "error", *self._metrics]:
            raise refusal("has other columns than this version of slotwise", str(path))
        if not _is_a_row(found, self._metrics):
            raise refusal("has values that no simulation returns", str(path))
        if found["status"] == FAILED:
            return row_of(cell, error=found["error"])
        return row_of(cell, {name: found[name] for name in self._metrics})

    def write(self, cell: Cell, row: Mapping[str, Any]) -> None:
        """Keep a row; what tells the cell from others is said by the study itself."""
        from ..model.formats.sealed import CELL, seal

        kept = {name: row[name] for name in ("status", "error", *self._metrics)}
        write_file(self._file(cell), seal(CELL, {"cell": cell.digest, **kept}))

    def _file(self, cell: Cell) -> Path:
        return self.folder / f"{cell.digest}.json"


def _is_a_row(kept: Mapping[str, Any], metrics: Sequence[str]) -> bool:
    """Whether the values of a cell are those of a row, of one that was forged too."""
    from ..solver.studies.sweep import DONE, FAILED

    told = kept["status"] in (DONE, FAILED) and isinstance(kept["error"], str)
    return told and all(kept[name] is None or type(kept[name]) in (int, float) for name in metrics)


def _text(path: Path) -> str:
    from ..model.formats.reading import file_bytes

    try:
        return file_bytes(path).decode()
    except UnicodeDecodeError:
        raise InputError(
            [Problem("is not UTF-8 text: remove the damaged file", str(path))]
        ) from None


@dataclass(frozen=True, slots=True)
class Where:
    """Location of the cells: processes, or a Dask cluster."""

    workers: int | None = option(None, WORKERS_HELP, min=1)
    scheduler: str | None = option(
        None, "Run on the Dask cluster of this scheduler, tls://HOST:8786.", metavar="ADDRESS"
    )
    jobqueue: str | None = option(
        None,
        "Run on batch jobs: lsf, slurm, pbs, sge, htcondor or oar, by dask-jobqueue's "
        "configuration; --workers sets the number of jobs.",
        metavar="NAME",
    )

    @property
    def count(self) -> int:
        """Return the number of processes, or of batch jobs."""
        return self.workers or processors()


@command
def sweep(
    study: Path = argument(..., "The study, YAML or JSON.", show_default=False),
    into: Path | None = option(
        None,
        "Folder with one file for each finished cell; a second call continues from there. "
        "Default: STUDY.cells.",
    ),
    default_limit: str | None = option(
        None,
        "Requested time of jobs without one in an SWF log, instead of that of the study: 12h, "
        "or 2x.",
        metavar="TIME|Nx",
    ),
    *,
    where: Where,
    pages: StudyOutput,
) -> None:
    """Run a study: one row for each case, policy, parameter set and seed (docs/sweep.md).

    Finished cells are kept and never run again; a failed cell is a row with its error.

    Exit codes: 0 done, 2 bad input, 3 stopped early (call again to continue).
    """
    from ..solver.studies.sweep import Sweep, cells_of, columns_of

    if where.scheduler is not None and where.jobqueue is not None:
        raise InputError("give --scheduler or --jobqueue, not both")
    pages.check([study])
    with cancel_on_signal() as cancel:
        with cancel.reading():
            found, cells = cells_of(study, default_limit)
        files = CellFiles(into or Path(f"{study.stem}.cells"), cells[0].metrics)
        rows = _kept(cells, files)
        if rows:
            print_note(f"{len(rows)} of {len(cells)} cells are already in {files.folder}")
        missing = [cell for cell in cells if cell not in rows]
        if missing:
            rows |= _run(missing, files, where, cancel, len(rows))
    if not rows:
        cancel.leave()
    done = tuple(rows[cell] for cell in cells if cell in rows)
    name = found.name or study.stem
    result = Sweep(name, columns_of(cells), done, len(cells) - len(done))
    write_records(result.to_records(), pages.table)
    if pages.output is not None:
        from .report.study_pages import sweep_page

        write_file(pages.output, sweep_page(result))
    typer.echo(render_sweep(result, pages.format), nl=False)
    if result.failed:
        print_note(f"{result.failed} of {len(result)} cells failed: see the column error")
    if result.unfinished:
        print_note(
            f"{result.unfinished} cells are not finished; the others are stored in {files.folder}: "
            f"run the command again"
        )
        raise typer.Exit(Exit.STOPPED)


def _kept(cells: Sequence[Cell], files: CellFiles) -> dict[Cell, dict[str, Any]]:
    """Return the stored rows; print a note on a damaged row, whose cell runs again."""

    rows: dict[Cell, dict[str, Any]] = {}
    for cell in cells:
        try:
            row = files.read(cell)
        except InputError as error:
            print_note(f"{error}; cell {cell.number} runs again")
        else:
            rows |= {} if row is None else {cell: row}
    return rows


def _run(
    cells: Sequence[Cell],
    files: CellFiles,
    where: Where,
    cancel: threading.Event,
    already: int,
) -> dict[Cell, dict[str, Any]]:
    """Return the rows of the finished cells, each stored as soon as it arrives."""
    from ..solver.studies.sweep import rows_of

    rows: dict[Cell, dict[str, Any]] = {}
    with (
        _client(where) as client,
        study_bar("cells", len(cells) + already, already) as step,
    ):
        for cell, row, is_final in rows_of(cells, client, where.count, cancel):
            rows[cell] = row
            if is_final:  # another call may do better
                files.write(cell, row)
            step()
    return rows


@contextmanager
def _client(where: Where) -> Iterator[Any]:
    """Yield a client of the Dask cluster that the options name, None if there is none."""
    if where.scheduler is None and where.jobqueue is None:
        yield None
        return
    from ..solver.studies.workers import client_of, open_to_others

    with client_of(where.scheduler, where.jobqueue, where.count) as client:
        if warning := open_to_others(client.scheduler.address):
            print_note(f"warning: {warning}")
        print_note(f"Dask dashboard: {client.dashboard_link}")
        if not client.scheduler_info()["workers"]:
            print_note("the cluster has no workers yet: cells wait for the first worker")
        yield client
