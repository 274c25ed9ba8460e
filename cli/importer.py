"""``slotwise import``: other formats as instance files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .import_logs import acct, events, swf
from .import_lsf import lsf
from .import_snapshot import snapshot_files
from .output import write_instance

app = typer.Typer(help="Turn other formats into instance files.", no_args_is_help=True)
app.command("snapshot")(snapshot_files)
for command in (lsf, events, acct, swf):
    app.command()(command)


@app.callback()
def _formats() -> None:
    """Turn other formats into instance files."""


@app.command()
def pool(
    file: Annotated[
        Path, typer.Argument(help="Snapshot of a pool of processors, JSON.", show_default=False)
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", help="File to write, .yaml or .json. Default: stdout, YAML."
        ),
    ] = None,
) -> None:
    """Turn a queue snapshot of a pool of identical processors into an instance.

    The processors become one host with as many slots (docs/instances.md).

    Exit codes: 0 done, 2 bad input.
    """
    from ..model.formats.pool import load_pool

    write_instance(load_pool(file), output)
