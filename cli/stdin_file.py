"""Standard input as a file, for readers that look at the beginning of one before they read it."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import typer

from ..model.errors import InputError, Problem, unreadable


class StandardInput(type(Path())):  # type: ignore[misc]
    """A temporary file with all of standard input; messages call it ``<stdin>``."""

    def __str__(self) -> str:
        return "<stdin>"

    def __fspath__(self) -> str:
        return os.fspath(Path(*self.parts))


def from_stdin(context: typer.Context, value: Any) -> Any:
    """The path or paths that a user gave, ``-`` as :class:`StandardInput` until the command ends.

    Raises InputError if standard input is asked for twice or cannot be read.
    """
    if isinstance(value, list | tuple):
        if sum(str(path) == "-" for path in value) > 1:
            raise InputError("- is given twice: there is one standard input")
        return [from_stdin(context, path) for path in value]
    return _spooled(context) if str(value) == "-" else value


def _spooled(context: typer.Context) -> Path:
    folder = context.with_resource(tempfile.TemporaryDirectory(prefix="slotwise-"))
    file = Path(folder) / "stdin"
    try:
        with file.open("wb") as copy:
            if sys.stdin is None:
                raise InputError([Problem("cannot be read: it is closed", "<stdin>")])
            shutil.copyfileobj(sys.stdin.buffer, copy)
    except OSError as error:
        raise unreadable("<stdin>", error) from error
    return StandardInput(file)
