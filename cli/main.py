"""The ``slotwise`` command: registers one module a command and maps errors to exit codes."""

from __future__ import annotations

import sys
import traceback
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import fields, replace
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Final, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup

from .. import __version__
from ..model.confined import confined
from ..model.errors import InputError, SlotwiseError, nearest
from ..model.escaping import printable, raw_csv
from ..model.input_limits import STRICT, USUAL, InputLimits, limited
from .ask import SETTINGS as ASK_SETTINGS
from .ask import ask
from .backtest import backtest
from .check import check, examples, generate, schema
from .diagnose import diagnose
from .explain import explain
from .forecast import forecast
from .import_snapshot import snapshot
from .importer import app as importers
from .options import file_option
from .process import Exit, guarded_streams, timed_from_now
from .replay import replay
from .report.command import report
from .resreq import SETTINGS as RESREQ_SETTINGS
from .resreq import resreq
from .show import show
from .simulate import simulate
from .solve import compare, solve
from .sweep import sweep
from .whatif import whatif

#: What the help calls the last options of a command, and those that bound what is read.
MORE: Final = "More options"
LIMITS: Final = "Limits on input"
#: Panels in the order in which they are shown: title, and the options without their dashes; one
#: that means something else in a command stands as COMMAND.OPTION.
PANELS: Final[dict[str, str]] = {
    "Input": (
        "example instance cluster hosts events changes against log procs "
        "diagnose.bjobs diagnose.bhosts diagnose.bqueues diagnose.bhpart diagnose.lsid diagnose.now"
    ),
    "Which jobs": "job name first only sort top most user u q m questions",
    "How to plan": (
        "method objective reservation reservations policy methods simulate explain "
        "explore slots ptile limit cu queue set vary until cycle configuration"
    ),
    "Output": "format output wide w gantt png svg open jobs cycle-log shares table picture",
    "A moment of the simulation": (
        "show.at show.step show.cycle show.reservation show.reservations"
    ),
    "Forecast": "history samples precision seed by calibration calibrate",
    "Time and processors": "time-limit effort advice-time workers",
    MORE: (
        "as-lsf margin whole-nodes lsf-plan strict rusage keep-going default-limit checkpoint "
        "checkpoint-every resume from from-host alloc configured"
    ),
    LIMITS: "",
}
_PANEL_OF: Final = {name: panel for panel, names in PANELS.items() for name in names.split()}

#: Spellings of 0.1 that 0.2 still takes, by command; 0.3 takes them no more.
OLD_SPELLINGS: Final[dict[str, dict[str, str]]] = {
    "solve": {"--jobs": "--reservations"},
    "simulate": {"--top": "--reservations"},
    "show": {"--top": "--reservations"},
    "backtest": {"--sample": "--questions"},
    "compare": {"--processes": "--workers"},
    "report": {"--processes": "--workers"},
}
#: Characters of a list of choices that still leave room for the words beside it.
_MOST_CHOICES: Final = 34


#: Options of earlier versions, by command, and what stands for them.
RENAMED = {
    ("compare", "--simulated"): "--methods",
    ("compare", "--really"): "--methods",
}


class PanelledCommand(TyperCommand):
    """A command whose options are in panels, and whose wrong options are answered in words."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        order = [None, *PANELS]
        for parameter in self.params:
            if parameter.param_type_name == "option":
                _arrange(parameter, self.name or "")
        self.params.sort(key=lambda each: order.index(_panel(each)))

    def get_help_option(self, ctx: Any) -> Any:
        """The option --help, the last of all."""
        option = super().get_help_option(ctx)
        if option is not None:
            option.rich_help_panel = MORE
        return option

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """As ever, but old spellings are taken and mistakes are answered in words."""
        words = self._modern(args)
        self._check_values(words)
        try:
            return super().parse_args(ctx, words)
        except Exception as error:
            # Older typers take the classes of errors from click, newer ones bring their own.
            kind, option = type(error).__name__, getattr(error, "option_name", "")
            if kind == "BadOptionUsage" and "requires an argument" in getattr(error, "message", ""):
                raise self._needs_a_value(option) from None
            if kind == "NoSuchOption":
                raise self._unknown(ctx, option) from None
            raise _shown(error) from None

    def _modern(self, args: list[str]) -> list[str]:
        old = OLD_SPELLINGS.get(self.name or "", {})
        found: list[str] = []
        for place, word in enumerate(args):
            if word == "--":
                return [*found, *args[place:]]
            name, sign, value = word.partition("=")
            # `solve --jobs 5` of 0.1; a word that is the value of another option is no option.
            if name in old:
                note = f"{name} is now {old[name]}; 0.3 will not take the old word"
                typer.echo(f"slotwise: {printable(note)}", err=True)
                word = f"{old[name]}{sign}{value}"
            found.append(word)
        return found

    def _check_values(self, words: list[str]) -> None:
        """InputError for an option whose value is the next option."""
        known = {name: each for each in self.params for name in (*each.opts, *each.secondary_opts)}
        for word, following in pairwise(words):
            if word == "--":
                return
            option = known.get(word) if word.startswith("--") else None
            if option is None or getattr(option, "is_flag", False):
                continue
            if following.startswith("--") and following in known:
                raise self._needs_a_value(word)

    def _needs_a_value(self, option: str) -> InputError:
        found = next((each for each in self.params if option in each.opts), None)
        choices = [] if found is None else _choices_and_kind(found)[0]
        if not choices:
            return InputError(f"{option} needs a value (`slotwise {self.name} --help`)")
        first, last = ", ".join(choices[:-1]), choices[-1]
        return InputError(f"{option} needs a value: {f'{first} or ' if first else ''}{last}")

    def _unknown(self, ctx: Any, option: str) -> InputError:
        own = [name for each in self.params for name in each.opts if name.startswith("--")]
        root = ctx.find_root()
        elsewhere = [
            name
            for name in root.command.list_commands(root)
            for each in root.command.get_command(root, name).params
            if option in each.opts
        ]
        if renamed := RENAMED.get((self.name or "", option)):
            hint = f"; it is {renamed} now"
        elif elsewhere:
            hint = f"; {', '.join(elsewhere)} {'has' if len(elsewhere) == 1 else 'have'} it"
        else:
            hint = nearest(option, own)
        whole = "`slotwise " + f"{self.name} --help`"
        return InputError(f"{self.name} has no option {option}{hint} ({whole} lists its options)")


def _shown(error: Exception) -> Exception:
    """An error of typer's, with what it quotes of the line as a terminal may show it."""
    if isinstance(said := getattr(error, "message", None), str):
        error.message = printable(said)  # type: ignore[attr-defined]
    return error


class PanelledGroup(TyperGroup):
    """The command itself: its help leaves the limits on input out, --help-limits has them."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """As ever."""
        try:
            return super().parse_args(ctx, args)
        except Exception as error:
            raise _shown(error) from None

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """As ever."""
        try:
            return super().resolve_command(ctx, args)
        except Exception as error:
            raise _shown(error) from None

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """The help, with the limits on input or without them."""
        hidden = [each for each in self.params if _panel(each) == LIMITS]
        if ctx.meta.get(LIMITS):
            hidden = []
        for each in hidden:
            each.hidden = True  # type: ignore[attr-defined]
        try:
            super().format_help(ctx, formatter)
        finally:
            for each in hidden:
                each.hidden = False  # type: ignore[attr-defined]


def show_limits(context: typer.Context, asked: bool) -> None:
    """What --help-limits does: the help with the limits on input, and nothing else."""
    if asked:
        context.meta[LIMITS] = True
        typer.echo(context.get_help())
        raise typer.Exit


def _panel(parameter: Any) -> str | None:
    return getattr(parameter, "rich_help_panel", None)


def _choices_and_kind(option: Any) -> tuple[list[str], str]:
    """The values that an option may have, () for any of its kind, and the name of that kind."""
    old = getattr(option, "type", None)  # of typer up to 0.20, a type of click
    if old is not None:
        return [str(each) for each in getattr(old, "choices", ())], str(old.name)
    words = str(option.display_type(None)).strip("<>")
    return (words.split("|") if "|" in words else []), words


def _arrange(option: Any, command: str) -> None:
    """The panel of an option, and a short word for its value."""
    if _panel(option) is None:
        spelling = max(option.opts, key=len).lstrip("-")
        usual = None if (command, spelling) == ("generate", "seed") else _PANEL_OF.get(spelling)
        option.rich_help_panel = _PANEL_OF.get(f"{command}.{spelling}", usual)
    if option.metavar is not None or option.is_flag:
        return
    choices, kind = _choices_and_kind(option)
    if len("|".join(choices)) > _MOST_CHOICES:
        option.metavar = "NAME"
        if not all(each in (option.help or "") for each in choices):
            option.help = f"{option.help} One of {', '.join(choices)}."
    elif not choices:
        option.metavar = _word(option.name, kind)


def _word(name: str, kind: str) -> str:
    if kind.startswith(("int", "float")):
        return "SECONDS" if name.endswith("time") or name == "time_limit" else "N"
    return "FILE" if "path" in kind or "file" in kind else "TEXT"


_DEBUG: ContextVar[bool] = ContextVar("debug", default=False)
_MEMORY_LIMIT: ContextVar[int | None] = ContextVar("memory limit", default=None)

app = typer.Typer(
    name="slotwise",
    cls=PanelledGroup,
    help="When will each pending job start, where, is that provably the earliest, "
    "and what would start it sooner? Pages (docs/NAME.md) are in share/doc/slotwise of the "
    "installation.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (
    solve,
    compare,
    diagnose,
    explain,
    report,
    simulate,
    replay,
    show,
    check,
    generate,
    examples,
):
    app.command(cls=PanelledCommand)(command)
app.command(cls=PanelledCommand)(schema)
app.command(cls=PanelledCommand)(snapshot)
app.command(cls=PanelledCommand)(whatif)
app.command(cls=PanelledCommand)(sweep)
app.command(cls=PanelledCommand)(forecast)
app.command(cls=PanelledCommand)(backtest)
app.command(cls=PanelledCommand, context_settings=ASK_SETTINGS)(ask)
app.command(cls=PanelledCommand, context_settings=RESREQ_SETTINGS)(resreq)
app.add_typer(importers, name="import")


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"slotwise {__version__}")
        raise typer.Exit


def _most(what: str, most: int | None = None) -> Any:
    return typer.Option(min=1, max=most, help=f"Most {what}.", rich_help_panel=LIMITS)


Version = Annotated[
    bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
]
HelpLimits = Annotated[
    bool,
    typer.Option(
        "--help-limits", callback=show_limits, is_eager=True, help="Show the limits on input too."
    ),
]
Debug = Annotated[bool, typer.Option("--debug", help="Errors with their traceback.")]
RawCsv = Annotated[
    bool, typer.Option("--raw-csv", help="CSV cells that begin like a formula stay so.")
]
Confine = Annotated[
    Path | None,
    file_option(
        "--confine",
        metavar="DIR",
        help="Read and write no file outside this folder, links followed (docs/portals.md).",
        rich_help_panel=LIMITS,
    ),
]
StrictLimits = Annotated[
    bool,
    typer.Option(
        "--strict-limits",
        help="Tighter limits, for inputs of strangers (docs/portals.md); --max-… beside it "
        "still count.",
        rich_help_panel=LIMITS,
    ),
]
MemoryLimit = Annotated[
    int | None,
    typer.Option(
        min=100,
        metavar="MB",
        help="Most memory of each process; then it ends.",
        rich_help_panel=LIMITS,
    ),
]


@app.callback()
def _global(
    context: typer.Context,
    version: Version = False,
    _limits: HelpLimits = False,
    debug: Debug = False,
    raw_cells: RawCsv = False,
    confine: Confine = None,
    strict: StrictLimits = False,
    memory_limit: MemoryLimit = None,
    max_hosts: Annotated[int, _most("hosts of an instance")] = USUAL.hosts,
    max_jobs: Annotated[int, _most("jobs of an instance, records of a log")] = USUAL.jobs,
    max_names: Annotated[int, _most("names that ranges stand for")] = USUAL.names,
    max_elements: Annotated[int, _most("elements of job arrays")] = USUAL.elements,
    max_text: Annotated[int, _most("bytes of an instance file")] = USUAL.text,
    max_value: Annotated[int, _most("characters of one value")] = USUAL.value,
    max_requirement: Annotated[
        int, _most("characters of a requirement or bsub line")
    ] = USUAL.requirement,
    max_nesting: Annotated[int, _most("levels of lists and mappings", 500)] = USUAL.nesting,
    max_line: Annotated[int, _most("bytes of a line of a log")] = USUAL.line,
    max_unpacked: Annotated[int, _most("bytes that a packed log unpacks to")] = USUAL.unpacked,
    max_ratio: Annotated[int, _most("times its size that a packed log unpacks to")] = USUAL.ratio,
    max_errors: Annotated[int, _most("problems that are shown")] = USUAL.errors,
) -> None:
    """Options that stand before the command."""
    _DEBUG.set(debug)
    context.with_resource(timed_from_now())
    context.with_resource(raw_csv(raw_cells))
    if memory_limit is not None:
        _limit_memory(memory_limit)
    given = {
        field.name: context.params[f"max_{field.name}"]
        for field in fields(InputLimits)
        if not strict or _is_said(context, f"max_{field.name}")
    }
    context.with_resource(limited(replace(STRICT if strict else USUAL, **given)))
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
        _complain(f"{place}{error.strerror or error}")
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
        _leave(Exit.FAULT, f"a fault of slotwise itself: {what} (slotwise --debug … shows where)")
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
    """Say what is wrong, under --debug where too."""
    if _DEBUG.get():
        with suppress(OSError):
            typer.echo(printable(traceback.format_exc()), err=True, nl=False)
    _complain(text)
    sys.exit(code)


def _limit_memory(megabytes: int) -> None:
    from ..solver.budget import limit_memory

    if not limit_memory(megabytes):
        raise InputError("--memory-limit: this system cannot limit the memory of a process")
    _MEMORY_LIMIT.set(megabytes)


def out_of_memory() -> str:
    """What is said then: what ran out, and what to do."""
    limit = _MEMORY_LIMIT.get()
    if limit is None:
        what, more = "memory ran out", "a machine with more memory"
    else:
        what, more = f"memory ran out at {limit} MB (--memory-limit)", "a higher limit"
    return f"{what}: take {more}, fewer --workers, or a part of the input (--first, --until)"


def _stopped(code: Exit) -> NoReturn:
    """Leave after a Ctrl-C or SIGTERM that no search was there to answer."""
    _complain("stopped before there was an answer")
    sys.exit(code)


def _complain(text: str) -> None:
    with suppress(OSError):  # nowhere to say it: the exit code still does
        for line in text.split("\n"):
            typer.echo(f"slotwise: {printable(line)}", err=True)
