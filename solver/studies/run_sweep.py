"""A sweep as a call: the table of a study."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

from .arguments import require_arguments
from .dask_cluster import on_dask
from .sweep import Sweep, cells_of, columns_of, row_of, run_cell
from .workers import Lost, in_turn, on_processes


def sweep(
    study: str | Path,
    *,
    workers: int = 1,
    client: Any = None,
    cancel: threading.Event | None = None,
) -> Sweep:
    """Run every cell of a study (docs/sweep.md); a bad cell is a row with its error.

    workers: processes; with more than one a program needs the guard that multiprocessing asks for.
    client: a distributed.Client, whose cluster takes their place. cancel: set it to stop; the rows
    that are done are returned.
    Raises InputError for arguments that are none and for a study that is malformed.
    """
    require_arguments(paths={"study": study}, numbers={"workers": (workers, 1)})
    read, cells = cells_of(Path(study))
    stop = cancel or threading.Event()
    if client is not None:
        coming = on_dask(run_cell, cells, client, stop)
    elif workers == 1:
        coming = in_turn(run_cell, cells, stop)
    else:
        coming = on_processes(run_cell, cells, workers, stop)
    rows = {
        number: row_of(cells[number], error=row.reason) if isinstance(row, Lost) else row
        for number, row in coming
    }
    done = tuple(rows[number] for number in sorted(rows))
    return Sweep(read.name or Path(study).stem, columns_of(cells), done, len(cells) - len(done))
