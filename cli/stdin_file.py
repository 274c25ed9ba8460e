"""What can be read but once, as a file, for readers that look at its beginning first."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import typer

from ..model.confined import also_in, check_inside
from ..model.errors import InputError, Problem, unreadable


class StandardInput(type(Path())):  # type: ignore[misc]
    """A temporary file with all of standard input, or of a pipe, by whose name messages call it."""

    shown = "<stdin>"

    def __str__(self) -> str:
        return self.shown

    def __fspath__(self) -> str:
        return os.fspath(Path(*self.parts))


def from_stdin(context: typer.Context, value: Any) -> Any:
    """The path or paths that a user gave, ``-`` as :class:`StandardInput` until the command ends.

    So are pipes, such as ``/dev/stdin`` and what a shell writes for ``<(zcat log)``.
    Raises InputError if standard input is asked for twice or cannot be read.
    """
    from ..model.formats.source_text import is_pipe

    if isinstance(value, list | tuple):
        if sum(str(path) == "-" for path in value) > 1:
            raise InputError("- is given twice: there is one standard input")
        return [from_stdin(context, path) for path in value]
    if value is None or (str(value) != "-" and not is_pipe(value)):
        return value
    if str(value) != "-":
        check_inside(value)
    folder = context.with_resource(tempfile.TemporaryDirectory(prefix="slotwise-"))
    context.with_resource(also_in(Path(folder)))
    file = StandardInput(Path(folder) / "stdin")
    if str(value) != "-":
        file.shown = str(value)
    _spool(value, file)
    return file


def _spool(source: Path, file: StandardInput) -> None:
    try:
        with file.open("wb") as copy:
            if str(source) != "-":
                with source.open("rb") as pipe:
                    shutil.copyfileobj(pipe, copy)
                return
            if sys.stdin is None:
                raise InputError([Problem("cannot be read: it is closed", "<stdin>")])
            shutil.copyfileobj(sys.stdin.buffer, copy)
    except OSError as error:
        raise unreadable(file, error) from error
