"""The help of commands: options in panels, one word a thing, words for mistakes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import typer
from typer.core import TyperCommand, TyperGroup

from ..model.errors import InputError, Problem, nearest
from ..model.escaping import printable

#: Panel titles for the tuning options of a command, and for those that bound its input.
ADVANCED: Final = "Advanced"
LIMITS: Final = "Limits on input"
#: Panels in the order in which they are shown: title, and the options without their dashes; one
#: that means something else in a command stands as COMMAND.OPTION.
PANELS: Final[dict[str, str]] = {
    "Input": (
        "example instance cluster hosts events changes against log procs slurm.from slurm.now"
    ),
    "Which jobs": "job name first only sort top most user u q m questions",
    "How to plan": (
        "method objective reservation reservations policy methods compare.configured simulate "
        "explain explore slots ptile limit cu queue set vary until cycle configuration "
        "schedule-after replay.from"
    ),
    "Output": (
        "format brief output once wide w gantt png svg animate open jobs cycle-log shares table "
        "picture replay.by"
    ),
    "A moment of the simulation": ("show.at show.cycle show.reservation show.reservations"),
    "Forecast": "history samples seed by",
    "Service": "host port store keep token-file trust-user-header notify speed",
    "Time and processors": "time-limit timeout every workers for",
    ADVANCED: (
        "as-lsf margin whole-nodes lsf-plan strict rusage keep-going default-limit checkpoint "
        "checkpoint-every resume from from-host alloc configured effort precision "
        "calibration calibrate warm-up cool-down slowdown-threshold"
    ),
    LIMITS: "",
}
_PANEL_OF: Final = {name: panel for panel, names in PANELS.items() for name in names.split()}

#: Options of earlier versions, by command, and what stands for them.
RENAMED: Final = {
    ("compare", "--simulated"): "--methods",
    ("compare", "--really"): "--methods",
    ("simulate", "--top"): "--reservations",
    ("show", "--top"): "--reservations",
    ("backtest", "--sample"): "--questions",
    ("compare", "--processes"): "--workers",
    ("report", "--processes"): "--workers",
}
#: Commands of earlier versions, and the words that stand for them.
MOVED: Final = {
    "schema": "check --schema",
    "verify": "score --snapshot FILE --log LOG",
}
#: Options of `slotwise` itself that only its --help-all lists.
_RARE: Final = frozenset({"install_completion", "show_completion"})
#: Options that are seconds, by the names of their fields.
_SECONDS: Final = frozenset({"time_limit", "timeout", "margin", "cycle", "step"})
#: Arguments that the help calls FILE.
FILES: Final = frozenset({"file", "files", "instance_file", "site"})
#: Shows the help of a command with all its options.
HELP_ALL: Final = "--help-all"
#: Ends the name of a switch that an option without a value stands for.
NOW: Final = "-now"
#: Message of the parser about words after the last argument.
_EXTRA: Final = re.compile(r"Got unexpected extra argument(?:s|\(s\))? \((.*)\)", re.DOTALL)
#: Maximum length of a list of choices, in characters, printed next to its help text.
_MAX_CHOICES: Final = 34


class PanelledCommand(TyperCommand):
    """A command whose options are in panels, and whose wrong options are answered in words."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # A paragraph fills the screen: typer keeps the breaks in all but the first.
        self.help = "\n\n".join(" ".join(each.split()) for each in (self.help or "").split("\n\n"))
        order = [None, *PANELS]
        for parameter in self.params:
            if parameter.param_type_name == "option":
                _arrange(parameter, self.name or "")
            elif parameter.metavar is None:
                word = parameter.name or ""
                parameter.metavar = "FILE" if word in FILES else word.upper()
        self.params.sort(key=lambda each: order.index(_panel(each)))

    def get_help_option(self, ctx: Any) -> Any:
        """Return the option --help, the last of all options."""
        option = super().get_help_option(ctx)
        if option is not None:
            option.rich_help_panel = ADVANCED if ctx.meta.get(ADVANCED) else "Output"
            option.help = "Show this message and exit; --help-all shows all options."
            option.metavar = ""
        return option

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help, with the options that tune the command if all options are requested."""
        with _without(self.params, () if ctx.meta.get(ADVANCED) else (ADVANCED,)):
            super().format_help(ctx, formatter)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse arguments as click does, but accept old spellings and explain errors."""
        if args == ["-h"]:  # where -h belongs to a bsub line, too, it is help when it stands alone
            args = ["--help"]
        args = self._alone(args)
        if HELP_ALL in args[: args.index("--") if "--" in args else None]:
            show_all(ctx, True)
        self._check_values(args)
        words = list(args)  # the parser empties its list
        try:
            return super().parse_args(ctx, args)
        except Exception as error:
            # Older typers take the classes of errors from click, newer ones bring their own.
            kind, option = type(error).__name__, getattr(error, "option_name", "")
            if kind == "BadOptionUsage" and "requires an argument" in getattr(error, "message", ""):
                raise self._needs_a_value(option) from None
            if kind == "NoSuchOption":
                raise self._unknown(ctx, option) from None
            if kind == "MissingParameter":
                raise _missing(ctx, getattr(error, "param", None)) from None
            if found := _EXTRA.match(getattr(error, "message", "") or ""):
                raise self._too_many(ctx, found[1]) from None
            raise (_bad_value(error, words) or _shown(error)) from None

    def _alone(self, words: list[str]) -> list[str]:
        """Return the words; an option without its value becomes the switch that it then is.

        The switch of --X is the hidden --X-now. A list is not the name of a file that follows.
        """
        switches = [name for each in self.params for name in each.opts if name.endswith(NOW)]
        lists = [name for each in self.params if each.metavar == "LIST" for name in each.opts]
        end = words.index("--") if "--" in words else len(words)
        found = list(words)
        for at, (word, following) in enumerate(pairwise([*words[:end], "--"])):
            alone = following.startswith("-") and following != "-"
            alone = alone or (word in lists and Path(following).exists())
            if alone and word.startswith("--") and word + NOW in switches:  # "-" is a file
                found[at] = word + NOW
        return found

    def _check_values(self, words: list[str]) -> None:
        """Raise InputError for an option whose value is the next option."""
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
        commands = commands_of(ctx.find_root().command, ctx.find_root())
        elsewhere = [
            name for name, command in commands for each in command.params if option in each.opts
        ]
        value = option.lstrip("-")
        takes = [each.opts[0] for each in self.params if value in _choices_and_kind(each)[0]]
        if renamed := RENAMED.get((self.name or "", option)):
            hint = f"; use {renamed}"
        elif elsewhere:
            hint = f"; {', '.join(elsewhere)} {'has' if len(elsewhere) == 1 else 'have'} it"
        elif takes:
            hint = f" (did you mean '{takes[0]} {value}'?)"
        else:
            hint = nearest(option, own)
        name = _called(ctx)
        whole = f"`slotwise {name} --help`"
        return InputError(f"{name} has no option {option}{hint} ({whole} lists its options)")

    def _too_many(self, ctx: Any, words: str) -> InputError:
        """Return the message for words behind the last argument."""
        name = _called(ctx)
        has_job = any("--job" in each.opts for each in self.params)
        hint = f": a job is given as --job {words.split(' ')[0]}" if has_job else ""
        usage = f"`slotwise {name} --help`"
        return InputError(printable(f"{name} accepts no further argument {words}{hint} ({usage})"))


def _called(ctx: Any) -> str:
    """Return the name of a context's command behind slotwise: ``compare``, ``import lsf``."""
    names: list[str] = []
    while ctx.parent is not None:
        names.insert(0, ctx.info_name)
        ctx = ctx.parent
    return " ".join(names)


def commands_of(group: Any, ctx: Any, before: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the commands of a group and of its groups, by the names behind slotwise."""
    for name in group.list_commands(ctx):
        command = group.get_command(ctx, name)
        if getattr(command, "hidden", False):
            continue
        yield f"{before}{name}", command
        if hasattr(command, "list_commands"):
            yield from commands_of(command, ctx, f"{before}{name} ")


def _shown(error: Exception) -> Exception:
    """Return an error of typer, with quoted words of the line made safe for a terminal."""
    if isinstance(said := getattr(error, "message", None), str):
        error.message = printable(said)  # type: ignore[attr-defined]
    return error


def _missing(ctx: Any, parameter: Any) -> InputError:
    """Return the message for an argument or an option that must be given."""
    spelling = max(parameter.opts, key=len)
    metavar = parameter.metavar or parameter.name.upper()
    wanted = f"{spelling} {metavar}" if spelling.startswith("-") else metavar.strip("{}")
    meaning = (parameter.help or "").split("  ")[0].rstrip(".")
    meaning = f": {meaning}" if meaning else ""
    name = _called(ctx)
    return InputError(f"{name} needs {wanted}{meaning} (`slotwise {name} --help`)")


def _bad_value(error: Exception, words: list[str]) -> InputError | None:
    """Return the message for an option's invalid value, or None after another error."""
    option: Any = getattr(error, "param", None)
    if type(error).__name__ != "BadParameter" or not getattr(option, "opts", None):
        return None
    spelling = max(option.opts, key=len)
    given = [value for value in _values_of(option, words) if not _is_valid(option, value)]
    if not spelling.startswith("-") or not given:
        return None
    choices, _ = _choices_and_kind(option)
    if choices:
        hint = _commands_with(error, spelling, given[0]) or nearest(given[0], choices)
        wanted = f"must be one of {', '.join(choices)}, not {given[0]!r}{hint}"
    else:
        number = "a whole number" if option.metavar == "N" else "a number"
        low, high = _bounds(option)
        within = "" if low is None else f" of at least {low:,.10g}"
        within += "" if high is None else f"{' and' if within else ' of'} at most {high:,.10g}"
        wanted = f"must be {number}{within}, not {given[0]!r}"
    return InputError([Problem(printable(wanted), spelling)])


def _commands_with(error: Exception, spelling: str, value: str) -> str:
    """Return which commands take a value of an option that another one rejects, "" if none."""
    ctx: Any = getattr(error, "ctx", None)
    if ctx is None:
        return ""
    found = [
        f"`slotwise {name} {spelling} {value}`"
        for name, command in commands_of(ctx.find_root().command, ctx.find_root())
        for option in command.params
        if spelling in option.opts and value in _choices_and_kind(option)[0]
    ]
    return f"; {' and '.join(found)} {'take' if len(found) > 1 else 'takes'} it" if found else ""


def _values_of(option: Any, words: list[str]) -> list[str]:
    """Return the values of an option on a command line: ``--x 1``, ``--x=1``, ``-x 1``."""
    end = words.index("--") if "--" in words else len(words)
    found = [b for a, b in pairwise(words[:end]) if a in option.opts]
    for word in words[:end]:
        name, equals, value = word.partition("=")
        if equals and name in option.opts:
            found.append(value)
    return found


def _is_valid(option: Any, value: str) -> bool:
    """Return whether an option takes a value, by its choices or by its bounds."""
    choices, _ = _choices_and_kind(option)
    if choices:
        return value in choices
    try:
        number = int(value) if option.metavar == "N" else float(value)
    except ValueError:
        return False
    low, high = _bounds(option)
    return (low is None or number >= low) and (high is None or number <= high)


def _bounds(option: Any) -> tuple[float | None, float | None]:
    """Return the minimum and maximum of an option, None if it has no bound."""
    kind = getattr(option, "type", None)  # of typer up to 0.20, a type of click
    return tuple(getattr(option, name, getattr(kind, name, None)) for name in ("min", "max"))  # type: ignore[return-value]


class CommandGroup(TyperGroup):
    """A group of commands, whose wrong names are answered in words."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Resolve the command as click does, but explain a name that no command has."""
        try:
            return super().resolve_command(ctx, args)
        except Exception as error:
            if args and self.get_command(ctx, args[0]) is None and not args[0].startswith("-"):
                raise self._unknown(ctx, args[0]) from None
            raise _shown(error) from None

    def _unknown(self, ctx: Any, name: str) -> InputError:
        group = _called(ctx)
        if not group and name in MOVED:
            return InputError(f"`slotwise {name}` was renamed: use `slotwise {MOVED[name]}`")
        own = self.list_commands(ctx)
        elsewhere = [
            whole
            for whole, _ in commands_of(ctx.find_root().command, ctx.find_root())
            if whole.split()[-1] == name
        ]
        hint = f": `slotwise {elsewhere[0]}`" if elsewhere else nearest(name, own)
        what = f"{group} has no command" if group else "there is no command"
        usage = f"`slotwise {group} --help`" if group else "`slotwise --help`"
        return InputError(printable(f"{what} {name!r}{hint} ({usage} lists them)"))


class PanelledGroup(CommandGroup):
    """The command itself: --help-all also lists the limits on input and the rare options."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the options, with those of completion and help."""
        found = super().get_params(ctx)
        for parameter in found:
            if getattr(parameter, "is_flag", False):
                parameter.metavar = ""
            if parameter.name == "show_completion":
                parameter.help = "Show completion for the current shell, to copy it."  # type: ignore[attr-defined]
            if parameter.name in _RARE:
                parameter.rich_help_panel = ADVANCED  # type: ignore[attr-defined]
        return found

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse arguments as click does, but explain an invalid value."""
        words = list(args)
        try:
            return super().parse_args(ctx, args)
        except Exception as error:
            raise (_bad_value(error, words) or _shown(error)) from None

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help, with the limits on input or without them."""
        hidden = () if ctx.meta.get(ADVANCED) else (LIMITS, ADVANCED)
        with _without(self.get_params(ctx), hidden):
            super().format_help(ctx, formatter)


@contextmanager
def _without(parameters: Iterable[Any], panels: tuple[str, ...]) -> Iterator[None]:
    """Hide the options of these panels within the block."""
    hidden = [each for each in parameters if _panel(each) in panels]
    for each in hidden:
        each.hidden = True
    try:
        yield
    finally:
        for each in hidden:
            each.hidden = False


def show_all(context: Any, asked: bool) -> None:
    """Print the help with every option and exit, for --help-all."""
    if asked:
        context.meta[ADVANCED] = True
        typer.echo(context.get_help())
        raise typer.Exit


def _panel(parameter: Any) -> str | None:
    return getattr(parameter, "rich_help_panel", None)


def _choices_and_kind(option: Any) -> tuple[list[str], str]:
    """Return the values of an option, () for any value of its kind, and the name of the kind."""
    old = getattr(option, "type", None)  # of typer up to 0.20, a type of click
    if old is not None:
        return [str(each) for each in getattr(old, "choices", ())], str(old.name)
    words = str(option.display_type(None)).strip("<>")
    return (words.split("|") if "|" in words else []), words


def _arrange(option: Any, command: str) -> None:
    """Set the panel of an option, and a short word for its value."""
    if _panel(option) is None:
        spelling = max(option.opts, key=len).lstrip("-")
        usual = None if (command, spelling) == ("generate", "seed") else _PANEL_OF.get(spelling)
        option.rich_help_panel = _PANEL_OF.get(f"{command}.{spelling}", usual)
    if option.is_flag:
        option.metavar = ""
    if option.metavar is not None:
        return
    choices, kind = _choices_and_kind(option)
    if len("|".join(choices)) > _MAX_CHOICES:
        option.metavar = "NAME"
        if not all(each in (option.help or "") for each in choices):
            option.help = f"{option.help} One of {', '.join(choices)}."
    elif not choices:
        option.metavar = _word(option.name, kind)


def _word(name: str, kind: str) -> str:
    """Return a short word for the value of an option; N is a whole number everywhere."""
    if name in _SECONDS or name.endswith("time"):
        return "SECONDS"
    if kind.startswith("float"):
        return "NUMBER"
    if kind.startswith("int"):
        return "N"
    return "FILE" if "path" in kind or "file" in kind else "TEXT"
