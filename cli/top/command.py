"""``slotwise top``: the options, and the page printed once."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Annotated

import typer

from ...model.errors import InputError
from ..options import (
    Example,
    InstanceFile,
    interval_of,
    print_note,
    read_with_warnings,
    source_of,
)
from ..process import Exit, cancel_on_signal, left_of
from ..tables import terminal_width
from .jobs import Column, JobChoice
from .live import TopOptions, live
from .screen import TopPage, listed_lines
from .terminal import check_terminal, is_live
from .view import TopView
from .work import TopSource, listed

#: Wall seconds of each plan, and of each explanation.
TIME_LIMIT = 10.0

Once = Annotated[
    bool,
    typer.Option("--once", help="Print the table and end; the default if there is no terminal."),
]
Every = Annotated[
    str | None,
    typer.Option(
        help="Read it again after this time (30s, 5m) too, not only if the file has changed.",
        metavar="TIME",
        show_default=False,
    ),
]
TopSort = Annotated[
    Column, typer.Option("--sort", help="Order of the jobs; s changes it on the page.")
]
OfUser = Annotated[str | None, typer.Option("-u", help="Only jobs of this user.")]
InQueue = Annotated[str | None, typer.Option("-q", help="Only jobs of this queue.")]
RefreshLimit = Annotated[
    float, typer.Option("--time-limit", min=0.1, help="Wall seconds of each plan.")
]


def top(
    file: InstanceFile = None,
    example: Example = None,
    once: Once = False,
    every: Every = None,
    sort: TopSort = "priority",
    user: OfUser = None,
    queue: InQueue = None,
    time_limit: RefreshLimit = TIME_LIMIT,
) -> None:
    """A live page of the terminal: pending jobs, their starts, what they wait for.

    Keys sort, filter and explain; h lists them. FILE is planned again whenever it changes.

    Exit codes: 0 done, 2 bad input, 3 printed once and stopped early.
    """
    source = _source(file, example)
    options = TopOptions(None if every is None else interval_of(every, "--every"), time_limit)
    only = {"user": user, "queue": queue}
    view = TopView(JobChoice(sort, only={name: value for name, value in only.items() if value}))
    if once or not is_live():
        _print(source, view, time_limit)
        return
    check_terminal()
    if str(file) == "-":
        raise InputError("top reads FILE again and again, and standard input only once: add --once")
    live(source, options, view)


def _source(file: Path | None, example: str | None) -> TopSource:
    path = source_of(file, example)
    return TopSource(lambda: read_with_warnings(path), example or str(path), path)


def _print(source: TopSource, view: TopView, time_limit: float) -> None:
    """The table on standard output, warnings on standard error."""
    with cancel_on_signal() as cancel:
        listing = listed(source, lambda: left_of(time_limit), cancel)
    for line in listing.warnings:
        print_note(f"warning: {line}")
    typer.echo(text_of(TopPage(source.title, view, listing), terminal_width()), nl=False)
    if listing.truncated:
        raise typer.Exit(Exit.STOPPED)


def text_of(page: TopPage, width: int) -> str:
    """All rows as lines of at most `width` characters, in colour only on a terminal."""
    from rich.console import Console

    buffer = io.StringIO()
    colours = True if sys.stdout.isatty() else None
    console = Console(
        file=buffer, force_terminal=colours, markup=False, highlight=False, emoji=False
    )
    for line in listed_lines(page, width):
        console.print(line, soft_wrap=True)
    return buffer.getvalue()
