"""Instances as output of a command."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from ..model.instance import Instance


def _checked(output: Path | None) -> Path | None:
    from .atomic import check_output

    if output is not None:
        check_output(output)
    return output


#: Refused before any work is done where nothing could be written.
Output = Annotated[
    Path | None,
    typer.Option(
        "-o",
        "--output",
        help="File to write, .yaml or .json. Default: stdout, YAML.",
        callback=_checked,
    ),
]


def keep_inputs(output: Path | None, inputs: Iterable[Path]) -> None:
    """InputError where the output would take the place of a file that it is made from."""
    from .atomic import check_apart

    check_apart({"--output": output}, inputs)


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
