"""``slotwise import``: other formats as instance files, a command for each format that is known."""

from __future__ import annotations

from inspect import Parameter, Signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

from .import_logs import acct, events, swf
from .import_lsf import lsf
from .import_snapshot import snapshot_files
from .options import DefaultLimitOption, KeepGoing, limit_of, read_instance, tell
from .output import Notation, Output, keep_inputs, write_instance
from .paths import file_argument, file_option
from .stdin_file import from_stdin

if TYPE_CHECKING:
    from ..model.formats.file_format import FileFormat

EXITS = "Exit codes: 0 done, 2 bad input."

File = Annotated[
    Path,
    file_argument(
        help="File to read; - for standard input.", callback=from_stdin, show_default=False
    ),
]
#: The options that a format may take, by their names in ReadOptions.
OPTIONS: dict[str, Any] = {
    "hosts": Annotated[
        int | None, typer.Option(min=1, help="Spread the processors of the log over N hosts.")
    ],
    "cluster": Annotated[
        Path | None,
        file_option(help="Instance whose hosts and queues to take.", show_default=False),
    ],
    "keep_going": KeepGoing,
    "default_limit": DefaultLimitOption,
}


class FormatGroup(TyperGroup):
    """The commands that are written by hand, and one for every other format of the registry."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Names in the order of the registry."""
        own = super().list_commands(ctx)
        return own + [item.name for item in _importable() if item.name not in own]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of a name, None if nobody knows it."""
        own = super().get_command(ctx, cmd_name)
        if own is not None:
            return own
        return next((_command(item) for item in _importable() if item.name == cmd_name), None)


app = typer.Typer(
    cls=FormatGroup, help="Turn other formats into instance files.", no_args_is_help=True
)
app.command("snapshot")(snapshot_files)
for command in (lsf, events, acct, swf):
    app.command()(command)


@app.callback()
def _formats() -> None:
    """Turn other formats into instance files."""


def _importable() -> list[FileFormat]:
    from ..model.formats.registry import file_formats

    return [item for item in file_formats() if item.name != "instance"]


def _command(found: FileFormat) -> Any:
    """``slotwise import NAME FILE`` with the options that mean something for the format."""

    def run(file: Path, output: Path | None, format: Any, **given: Any) -> None:
        from ..model.formats.file_format import ReadOptions

        keep_inputs(output, [file])
        if given.get("cluster") is not None:
            given["cluster"] = read_instance(given["cluster"], None)
        if "default_limit" in given:
            given["default_limit"] = limit_of(given["default_limit"])
        reading = found.read(file, ReadOptions(**given))
        for remark in reading.remarks:
            tell(remark)
        write_instance(reading.instance, output, format)

    kinds = {"file": File, "output": Output, "format": Notation}
    kinds |= {name: kind for name, kind in OPTIONS.items() if name in found.takes}
    defaults = {"file": Parameter.empty, "keep_going": False}
    run.__annotations__ = kinds
    run.__signature__ = Signature(  # type: ignore[attr-defined]
        [
            Parameter(name, Parameter.KEYWORD_ONLY, default=defaults.get(name), annotation=kind)
            for name, kind in kinds.items()
        ]
    )
    alone = typer.Typer(add_completion=False)
    alone.command(found.name, help=f"Turn {found.kind}, into an instance.\n\n{EXITS}")(run)
    return get_command(alone)
