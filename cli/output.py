"""Instances as output of a command."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from ..model.instance import Instance


def write_instance(instance: Instance, output: Path | None) -> None:
    """Write JSON to a file named .json, YAML to any other and to standard output.

    Raises InputError if the file cannot be written; there is never a part of one.
    """
    from ..model.formats import dump, dump_json
    from .atomic import whole_file

    if output is None:
        typer.echo(dump(instance), nl=False)
        return
    text = dump_json(instance) if output.suffix.lower() == ".json" else dump(instance)
    with whole_file(output) as file:
        file.write(text.encode())
