"""Instances as output of a command."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

if TYPE_CHECKING:
    from ..model.instance import Instance


Notation = Annotated[
    Literal["yaml", "json"] | None,
    typer.Option("--format", help="Default: JSON for a file named .json, else YAML."),
]


def write_instance(
    instance: Instance, output: Path | None, notation: Literal["yaml", "json"] | None = None
) -> None:
    """Write YAML or JSON; without a notation JSON to a file named .json, else YAML.

    Raises InputError if the file cannot be written; there is never a part of one.
    """
    from ..model.formats import dump, dump_json
    from .atomic import whole_file

    if notation is None:
        named_json = output is not None and output.suffix.lower() == ".json"
        notation = "json" if named_json else "yaml"
    text = dump_json(instance) if notation == "json" else dump(instance)
    if output is None:
        typer.echo(text, nl=not text.endswith("\n"))
        return
    with whole_file(output) as file:
        file.write(text.encode())
