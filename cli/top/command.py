"""``slotwise top``: the options, and the page printed once."""

from __future__ import annotations

import os
import sys

import typer

from ...model.errors import InputError, report
from ..declare import command, option
from ..listing import Column, JobChoice, cell_of, listed
from ..options import interval_of, print_note
from ..process import Exit, cancel_on_signal, left_of
from ..source import Source, WatchedSource
from ..tables import Column as TableColumn
from ..tables import ListingRow, TableStyle, listing_text, terminal_width

#: Wall-clock seconds of each plan, and of each explanation.
TIME_LIMIT = 10.0
#: Seconds after which the scheduler is asked again.
LIVE_EVERY = 60.0


@command
def top(
    source: Source,
    once: bool = option(
        False, "Print the table and exit; the default if the output is not a terminal."
    ),
    every: str | None = option(
        None,
        "Also read it again after this time (30s, 5m), even if the file has not changed. "
        "Default with --cluster: 60s.",
        metavar="TIME",
    ),
    sort: Column = option("priority", "Order of the jobs; s changes it on the page."),
    user: str | None = option(None, "Only jobs of this user.", "-u"),
    queue: str | None = option(None, "Only jobs of this queue.", "-q"),
    time_limit: float = option(TIME_LIMIT, "Wall-clock seconds of each plan.", min=0.1),
) -> None:
    """Show a live table in the terminal: pending jobs, their starts, what they wait for.

    Keys sort, filter and explain; h lists them. FILE is planned again whenever it changes.

    Exit codes: 0 done, 2 bad input, 3 printed once and stopped early.
    """
    given = WatchedSource(source.read_with_warnings, source.name, source.watched)
    seconds = interval_of(every, "--every") if every is not None else None
    only = {"user": user, "queue": queue}
    choice = JobChoice(sort, only={name: value for name, value in only.items() if value})
    terminal = sys.stdin.isatty() and sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
    if once or not terminal:
        _print(given, choice, time_limit)
        return
    if str(source.file) == "-":
        raise InputError(
            "top cannot read standard input (-) repeatedly: add --once, or give a file"
        )
    from .page import TopApp

    app = TopApp(given, choice, seconds or (LIVE_EVERY if source.live else None), time_limit)
    app.run(mouse=False)
    if app.signalled:
        raise typer.Exit(128 + app.signalled)
    if app.failure:
        raise InputError(app.failure)


def _print(source: WatchedSource, choice: JobChoice, time_limit: float) -> None:
    """Print the table on standard output, warnings on standard error."""
    from .about import head_lines, titles

    with cancel_on_signal() as cancel:
        with cancel.reading():
            instance, warnings = source.read()
        left = left_of(time_limit) or time_limit
        listing = listed(instance, report(warnings), left, cancel, lambda part: None)
    print_note(*(f"warning: {line}" for line in listing.warnings))
    names = titles(terminal_width())
    columns = [TableColumn(title, marked=name == "job") for name, title in names.items()]
    rows = [
        ListingRow(tuple(cell_of(item, name) for name in names), item.colour)
        for item in choice.of(listing.jobs)
    ]
    typer.echo("\n".join(head_lines(source.title, listing, choice)))
    text = listing_text(columns, rows, TableStyle(between=2), listing.instance)
    typer.echo(text, nl=False)
    if listing.truncated:
        print_note(
            "the limit was reached before every job was examined: earlier starts may be possible"
        )
        raise typer.Exit(Exit.STOPPED)
