"""``slotwise check``, ``schema`` and ``examples``: instance files, their form, and shipped ones."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from .cells import printable
from .exits import Exit
from .options import read_source

if TYPE_CHECKING:
    from ..model.instance import Instance


def check(
    files: Annotated[
        list[Path],
        typer.Argument(
            help="Instance files, YAML or JSON; - for standard input.", show_default=False
        ),
    ],
    changes: Annotated[
        Path | None,
        typer.Option(
            help="Also a file of changes over time, against each of them (docs/changes.md).",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Check instance files: one line `ok` a file, or everything that is wrong with it.

    Exit codes: 0 all are right, 2 some are not.
    """
    from ..model.errors import InputError, report
    from ..solver.shortage import counted

    wrong = False
    for file in files:
        try:
            instance = read_source(file)
            happens = _changes(changes, instance)
        except InputError as error:
            wrong = True
            for line in report(error.problems):
                typer.echo(f"slotwise: {printable(line)}", err=True)
            continue
        cluster = instance.cluster
        slots = sum(host.slots for host in cluster.hosts)
        for job, why in _without_a_share(instance):
            typer.echo(f"slotwise: {printable(f'warning: {file}: job {job}: {why}')}", err=True)
        hosts = counted(len(cluster.hosts), "host")
        waiting = counted(len(instance.pending), "pending job")
        typer.echo(
            f"{printable(str(file))}: ok ({hosts}, {counted(slots, 'slot')}, "
            f"{len(instance.running)} running, {waiting}{happens})"
        )
    if wrong:
        sys.exit(Exit.BAD_INPUT)


def _changes(path: Path | None, instance: Instance) -> str:
    """How many changes a file has; InputError with everything that is wrong with it."""
    if path is None:
        return ""
    from ..model.formats.changes import load_changes
    from ..solver.shortage import counted

    return f", {counted(len(load_changes(path, instance)), 'change')}"


def _without_a_share(instance: Instance) -> Iterator[tuple[str, str]]:
    """Pending jobs that no fairshare policy lets start, and why."""
    from ..solver.fairshare.admission import admissions

    for job, found in admissions(instance).items():
        if found.refused:
            yield job, found.refused


def schema(
    of: Annotated[
        Literal["instance", "changes"],
        typer.Argument(help="Instance files, or files of changes over time."),
    ] = "instance",
) -> None:
    """Print the JSON Schema of instance files, or of files of changes."""
    from ..model.formats import changes_schema, json_schema

    found = json_schema() if of == "instance" else changes_schema()
    typer.echo(json.dumps(found, indent=2))


def examples(
    name: Annotated[
        str | None, typer.Argument(help="Print this example's file.", show_default=False)
    ] = None,
) -> None:
    """List the shipped examples with what each shows, or print one."""
    from ..instances import description, example
    from ..instances import examples as names

    if name is not None:
        typer.echo(example(name).read_text(encoding="utf-8"), nl=False)
        return
    shipped = names()
    width = max(len(item) for item in shipped)
    for item in shipped:
        typer.echo(f"{item:{width}}  {description(item)}")
