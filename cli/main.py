"""The ``slotwise`` command: registers one module per command and maps errors to exit codes."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Final, NoReturn

import typer

from .. import __version__
from ..model.confined import confined
from ..model.errors import InputError, SlotwiseError
from ..model.escaping import printable, raw_csv
from ..model.input_limits import STRICT, InputLimits, limited
from .ask import ask
from .backtest import backtest
from .check import check, examples, generate
from .declare import command, option, taking, values_of
from .diagnose import diagnose
from .explain import explain
from .forecast import forecast
from .importer import app as importers
from .importer import snapshot
from .panels import ADVANCED, HELP_ALL, LIMITS, PanelledCommand, PanelledGroup, show_all
from .process import Exit, guarded_streams, timed_from_now
from .replay import replay
from .report.command import report
from .resreq import resreq
from .score import score
from .serve.command import serve
from .show import show
from .simulate import simulate
from .slots import slots
from .solve import compare, solve
from .sweep import sweep
from .top.command import top
from .whatif import whatif

_DEBUG: ContextVar[bool] = ContextVar("debug", default=False)
_MEMORY_LIMIT: ContextVar[int | None] = ContextVar("memory limit", default=None)

app = typer.Typer(
    name="slotwise",
    cls=PanelledGroup,
    help="Compute when each pending job starts, by greedy reservation and as configured, and its "
    "earliest possible start, proved by constraint programming (CP-SAT). Pages: "
    "share/doc/slotwise.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
#: The commands as the help shows them, by what people come for; more: how one is read.
COMMANDS: Final[dict[str, tuple[Callable[..., Any], ...]]] = {
    "Plan and understand": (compare, explain, ask, diagnose, report, solve, forecast),
    "Your cluster": (snapshot, show, top, slots, serve, score),
    "Study and simulate": (whatif, simulate, replay, sweep, backtest, generate),
    "Files": (check, examples, resreq),
}
#: The argument may begin with a minus: unknown options are arguments, and -h is not the help.
_MINUS_FIRST: Final = {"ignore_unknown_options": True, "help_option_names": ["--help"]}
_MORE: Final[dict[Callable[..., Any], dict[str, Any]]] = {
    ask: _MINUS_FIRST,
    resreq: _MINUS_FIRST,
}
for title, commands in COMMANDS.items():
    for each in commands:
        app.command(cls=PanelledCommand, rich_help_panel=title, context_settings=_MORE.get(each))(
            each
        )
app.add_typer(importers, name="import", rich_help_panel="Your cluster")


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"slotwise {__version__}")
        raise typer.Exit


def _most(name: str, what: str, most: int | None = None) -> Any:
    return option(..., f"Maximum {what}.", f"--max-{name}", min=1, max=most, rich_help_panel=LIMITS)


#: The limits on input as options, in the order of the help.
MAXIMA = {
    "hosts": _most("hosts", "hosts of an instance"),
    "jobs": _most("jobs", "jobs of an instance, records of a log"),
    "names": _most("names", "names in expanded ranges"),
    "elements": _most("elements", "elements of job arrays"),
    "text": _most("text", "bytes of an instance file"),
    "value": _most("value", "characters of one value"),
    "requirement": _most("requirement", "characters of a requirement or bsub line"),
    "nesting": _most("nesting", "levels of lists and mappings", 500),
    "line": _most("line", "bytes of a line of a log"),
    "unpacked": _most("unpacked", "bytes of a decompressed log"),
    "ratio": _most("ratio", "ratio of a decompressed log to its file"),
    "errors": _most("errors", "problems that are shown"),
}


@app.callback()
@command
def _global(
    context: typer.Context,
    version: bool = option(False, "Print the version.", callback=_version, is_eager=True),
    help_limits: bool = option(
        False,
        "Also show completion and limits on input.",
        HELP_ALL,
        callback=show_all,
        is_eager=True,
    ),
    debug: bool = option(False, "Show errors with their traceback.", rich_help_panel=ADVANCED),
    raw_cells: bool = option(
        False,
        "Keep CSV cells that begin like a formula.",
        "--raw-csv",
        rich_help_panel=ADVANCED,
    ),
    confine: Path | None = option(
        None,
        "Read and write no file outside this folder; resolve links first (docs/limits.md).",
        metavar="DIR",
        rich_help_panel=LIMITS,
    ),
    strict: bool = option(
        False,
        "Tighter limits, for input that is not trusted (docs/limits.md); --max-… options still "
        "apply.",
        "--strict-limits",
        rich_help_panel=LIMITS,
    ),
    memory_limit: int | None = option(
        None,
        "Maximum memory of each process; a process that exceeds it ends.",
        min=100,
        metavar="MB",
        rich_help_panel=LIMITS,
    ),
    *,
    maxima: Annotated[InputLimits, taking(" ".join(MAXIMA), **MAXIMA)],
) -> None:
    """Read the options before the command."""
    _DEBUG.set(debug)
    context.with_resource(timed_from_now())
    context.with_resource(raw_csv(raw_cells))
    if memory_limit is not None:
        from ..solver.budget import limit_memory

        if not limit_memory(memory_limit):
            raise InputError("this system does not support --memory-limit: remove the option")
        _MEMORY_LIMIT.set(memory_limit)
    said = {name: i for name, i in values_of(maxima).items() if _is_said(context, name)}
    context.with_resource(limited(replace(STRICT, **said) if strict else maxima))
    context.with_resource(confined(confine))


def _is_said(context: typer.Context, name: str) -> bool:
    """Whether an option was given, rather than left at its default."""
    source = context.get_parameter_source(name)
    return source is not None and source.name != "DEFAULT"


def main() -> None:
    """Run the command line; every error a user can cause ends in a message and an exit code."""
    try:
        with guarded_streams():
            _run()
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        _print_error(f"{place}{error.strerror or error}")
        sys.exit(Exit.BAD_INPUT)


def _run() -> None:
    try:
        app()
    except InputError as error:
        _leave(Exit.BAD_INPUT, str(error))
    except SlotwiseError as error:
        _leave(Exit.FAILED, str(error))
    except KeyboardInterrupt:
        _stopped(Exit.INTERRUPTED)
    except MemoryError:
        _leave(Exit.OUT_OF_MEMORY, out_of_memory())
    except OSError:
        raise
    except Exception as error:
        if _caused_by_interrupt(error):
            _stopped(Exit.INTERRUPTED)
        what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        _leave(
            Exit.FAULT, f"an internal error of slotwise: {what} (slotwise --debug … shows where)"
        )
    except SystemExit as leaving:
        # Typer turns Ctrl-C into this code and says nothing.
        if leaving.code in (Exit.INTERRUPTED, Exit.TERMINATED):
            _stopped(Exit(leaving.code))
        raise


def _caused_by_interrupt(error: BaseException | None) -> bool:
    """Whether Ctrl-C caused it: Python 3.11 wraps what is raised while a class is made."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__
    return error is not None


def _leave(code: Exit, text: str) -> NoReturn:
    """Print the error and exit; with --debug, print the traceback too."""
    if _DEBUG.get():
        with suppress(OSError):
            typer.echo(printable(traceback.format_exc()), err=True, nl=False)
    _print_error(text)
    sys.exit(code)


def out_of_memory() -> str:
    """Return the message for exhausted memory: its cause, and the remedy."""
    limit = _MEMORY_LIMIT.get()
    if limit is None:
        what, more = "memory ran out", "a machine with more memory"
    else:
        what, more = f"memory ran out at {limit} MB (--memory-limit)", "a higher limit"
    return f"{what}: use {more}, fewer --workers, or a part of the input (--first, --until)"


def _stopped(code: Exit) -> NoReturn:
    """Leave after a Ctrl-C or SIGTERM that no search was there to answer."""
    _print_error("stopped before an answer was found")
    sys.exit(code)


def _print_error(text: str) -> None:
    with suppress(OSError):  # nowhere to say it: the exit code still does
        for line in text.split("\n"):
            typer.echo(f"slotwise: {printable(line)}", err=True)
