"""Arguments and options that name a file; who reads or writes it says what is wrong with it."""

from __future__ import annotations

from typing import Any

import typer


def file_argument(**settings: Any) -> Any:
    """`typer.Argument` for a path."""
    return typer.Argument(readable=False, **settings)


def file_option(*names: str, **settings: Any) -> Any:
    """`typer.Option` for a path.

    Typer would look whether it may be read, of an output too, and answer with a panel of many
    lines; the readers say it in one, as for all that is wrong with a file.
    """
    return typer.Option(*names, readable=False, **settings)
