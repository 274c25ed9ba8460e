"""``slotwise show VIEW``: an instance as LSF's own commands would show it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from .options import Example, FormatOption, read_instance

if TYPE_CHECKING:
    from ..model.instance import Instance

View = Literal["bhpart", "bqueues", "bugroup"]


def show(
    view: Annotated[View, typer.Argument(help="Which command's table.", show_default=False)],
    file: Annotated[
        Path | None,
        typer.Argument(
            help="Instance file, YAML or JSON; - for standard input.", show_default=False
        ),
    ] = None,
    example: Example = None,
    name: Annotated[
        list[str] | None,
        typer.Option("--name", help="Only this partition, queue or group; may be repeated."),
    ] = None,
    long: Annotated[
        bool, typer.Option("-l", help="bqueues: all parameters and shares; bugroup: shares.")
    ] = False,
    recursive: Annotated[
        bool, typer.Option("-r", help="Share accounts of every level, not of the top alone.")
    ] = False,
    format: FormatOption = "text",
) -> None:
    """Show partitions, queues or user groups with their shares, as of the instance's now."""
    from . import queue_views, share_views

    instance = read_instance(file, example)
    _check_names(instance, view, name or [])
    asked = share_views.Asked(tuple(name or ()), long or recursive, recursive)
    render = {
        "bhpart": share_views.bhpart,
        "bqueues": queue_views.bqueues,
        "bugroup": share_views.bugroup,
    }[view]
    sys.stdout.write(render(instance, asked, format))


def _check_names(instance: Instance, view: View, names: list[str]) -> None:
    from ..model.errors import InputError, Problem, nearest

    known = {
        "bhpart": [partition.name for partition in instance.partitions],
        "bqueues": [queue.name for queue in instance.queues],
        "bugroup": [group.name for group in instance.groups],
    }[view]
    kind = {"bhpart": "host partition", "bqueues": "queue", "bugroup": "user group"}[view]
    problems = [
        Problem(f"there is no {kind} '{name}'{nearest(name, known)}")
        for name in names
        if name not in known
    ]
    if problems:
        raise InputError(problems)
