"""The ``slotwise`` command: registers one module a command and maps errors to exit codes."""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import Annotated, NoReturn

import typer

from .. import __version__
from ..model.errors import InputError, SlotwiseError
from .ask import SETTINGS as ASK_SETTINGS
from .ask import ask
from .check import check, examples, schema
from .compare import compare
from .exits import Exit
from .explain import explain
from .generate import generate
from .importer import app as importers
from .replay import replay
from .resreq import SETTINGS as RESREQ_SETTINGS
from .resreq import resreq
from .show import show
from .simulate import simulate
from .snapshot import snapshot
from .solve import solve
from .streams import guarded_streams

app = typer.Typer(
    name="slotwise",
    help="When will each pending job start, where, is that provably the earliest, "
    "and what would start it sooner?",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (solve, compare, explain, simulate, replay, show, check, generate, examples, schema):
    app.command()(command)
app.command()(snapshot)
app.command(context_settings=ASK_SETTINGS)(ask)
app.command(context_settings=RESREQ_SETTINGS)(resreq)
app.add_typer(importers, name="import")


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"slotwise {__version__}")
        raise typer.Exit


@app.callback()
def _global(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Options that stand before the command."""


def main() -> None:
    """Run the command line; every error a user can cause ends in a message and an exit code."""
    try:
        with guarded_streams():
            _run()
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        _complain(f"{place}{error.strerror or error}")
        sys.exit(Exit.BAD_INPUT)


def _run() -> None:
    try:
        app()
    except InputError as error:
        _complain(str(error))
        sys.exit(Exit.BAD_INPUT)
    except SlotwiseError as error:
        _complain(str(error))
        sys.exit(Exit.FAILED)
    except KeyboardInterrupt:
        _interrupted()
    except SystemExit as leaving:
        # Typer turns Ctrl-C into this code and says nothing.
        if leaving.code == Exit.INTERRUPTED:
            _interrupted()
        raise


def _interrupted() -> NoReturn:
    """Leave after a Ctrl-C that no search was there to answer."""
    _complain("stopped before there was an answer")
    sys.exit(Exit.INTERRUPTED)


def _complain(text: str) -> None:
    with suppress(OSError):  # nowhere to say it: the exit code still does
        for line in text.splitlines():
            typer.echo(f"slotwise: {line}", err=True)
