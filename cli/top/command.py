"""``slotwise top``: the options, and the page printed once."""

from __future__ import annotations

import io
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import typer

from ...model.errors import InputError
from ..declare import command, option
from ..listing import Column, JobChoice
from ..options import interval_of, print_note
from ..process import Exit, cancel_on_signal, left_of
from ..source import Source
from ..tables import terminal_width
from .view import TopView

if TYPE_CHECKING:
    from ..watched import WatchedSource
    from .screen import TopPage

#: Wall seconds of each plan, and of each explanation.
TIME_LIMIT = 10.0
#: Seconds after which the scheduler is asked again.
LIVE_EVERY = 60.0


@command
def top(
    source: Source,
    once: bool = option(False, "Print the table and end; the default if there is no terminal."),
    every: str | None = option(
        None,
        "Read it again after this time (30s, 5m) too, not only if the file has changed. With "
        "--cluster 60s.",
        metavar="TIME",
    ),
    sort: Column = option("priority", "Order of the jobs; s changes it on the page."),
    user: str | None = option(None, "Only jobs of this user.", "-u"),
    queue: str | None = option(None, "Only jobs of this queue.", "-q"),
    time_limit: float = option(TIME_LIMIT, "Wall seconds of each plan.", min=0.1),
) -> None:
    """A live page of the terminal: pending jobs, their starts, what they wait for.

    Keys sort, filter and explain; h lists them. FILE is planned again whenever it changes.

    Exit codes: 0 done, 2 bad input, 3 printed once and stopped early.
    """
    from ..watched import WatchedSource
    from .live import TopOptions, live
    from .terminal import check_terminal, is_live

    given = WatchedSource(source.read_with_warnings, source.name, source.watched)
    seconds = LIVE_EVERY if source.live else None
    options = TopOptions(seconds if every is None else interval_of(every, "--every"), time_limit)
    only = {"user": user, "queue": queue}
    view = TopView(JobChoice(sort, only={name: value for name, value in only.items() if value}))
    if once or not is_live():
        _print(given, view, time_limit)
        return
    check_terminal()
    if str(source.file) == "-":
        raise InputError("top reads FILE again and again, and standard input only once: add --once")
    live(given, options, view)


def _print(source: WatchedSource, view: TopView, time_limit: float) -> None:
    """Print the table on standard output, warnings on standard error."""
    from .screen import TopPage
    from .work import listed

    with cancel_on_signal() as cancel:
        with cancel.reading():
            found = source.read()
        listing = listed(replace(source, read=lambda: found), lambda: left_of(time_limit), cancel)
    for line in listing.warnings:
        print_note(f"warning: {line}")
    typer.echo(text_of(TopPage(source.title, view, listing), terminal_width()), nl=False)
    if listing.truncated:
        print_note("the limit came before every job was examined: earlier starts may be possible")
        raise typer.Exit(Exit.STOPPED)


def text_of(page: TopPage, width: int) -> str:
    """Return all rows as lines of at most `width` characters, in colour only on a terminal."""
    from rich.console import Console

    from .screen import listed_lines

    buffer = io.StringIO()
    colours = True if sys.stdout.isatty() else None
    console = Console(
        file=buffer, force_terminal=colours, markup=False, highlight=False, emoji=False
    )
    for line in listed_lines(page, width):
        console.print(line, soft_wrap=True)
    return buffer.getvalue()
