"""Instances as output of a command."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from .paths import file_option

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
    file_option(
        "-o",
        "--output",
        help="File to write, .yaml or .json. Default: stdout, YAML.",
        callback=_checked,
    ),
]
Notation = Annotated[
    Literal["yaml", "json"] | None,
    typer.Option("--format", help="Default: JSON for a file named .json, else YAML."),
]


def keep_inputs(output: Path | None, inputs: Iterable[Path]) -> None:
    """InputError where the output would take the place of a file that it is made from."""
    from .atomic import check_apart

    check_apart({"--output": output}, inputs)


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
