"""How a command shows its help and answers a wrong option: panels, old spellings, words."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Final

import typer
from typer.core import TyperCommand, TyperGroup

from ..model.errors import InputError, nearest
from .cells import printable

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
    "Which jobs": "job name first only sort top most user u q m sample",
    "How to plan": (
        "method objective reservation reservations policy simulated simulate explain explore slots "
        "ptile limit cu queue set vary until cycle configuration"
    ),
    "Output": "format output wide w gantt png svg open jobs cycle-log shares table picture",
    "A moment of the simulation": (
        "show.at show.step show.cycle show.reservation show.reservations"
    ),
    "Forecast": "history samples seed by calibration calibrate",
    "Time and processors": "time-limit effort advice-time workers",
    MORE: (
        "as-lsf margin whole-nodes lsf-plan strict rusage keep-going default-limit checkpoint "
        "checkpoint-every resume from alloc"
    ),
    LIMITS: "",
}
#: What comes after the first screen of a command's help.
AFTER_THE_FIRST_SCREEN: Final = (
    "A moment of the simulation",
    "Forecast",
    "Time and processors",
    MORE,
)
_PANEL_OF: Final = {name: panel for panel, names in PANELS.items() for name in names.split()}

#: Spellings of 0.1 that 0.2 still takes, by command; 0.3 takes them no more.
OLD_SPELLINGS: Final[dict[str, dict[str, str]]] = {
    "solve": {"--jobs": "--reservations"},
    "simulate": {"--top": "--reservations"},
    "show": {"--top": "--reservations"},
    "compare": {"--processes": "--workers"},
    "report": {"--processes": "--workers"},
}
#: Characters of a list of choices that still leave room for the words beside it.
_MOST_CHOICES: Final = 34


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
            raise

    def _modern(self, args: list[str]) -> list[str]:
        old = OLD_SPELLINGS.get(self.name or "", {})
        found: list[str] = []
        for place, word in enumerate(args):
            if word == "--":
                return [*found, *args[place:]]
            name, sign, value = word.partition("=")
            # `solve --jobs 5` of 0.1; a word that is the value of another option is no option.
            if name in old:
                note = f"{name} is now {old[name]}; 0.3 takes the old word no more"
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
        if elsewhere:
            hint = f"; {', '.join(elsewhere)} {'has' if len(elsewhere) == 1 else 'have'} it"
        else:
            hint = nearest(option, own)
        whole = "`slotwise " + f"{self.name} --help`"
        return InputError(f"{self.name} has no option {option}{hint} ({whole} lists its options)")


class PanelledGroup(TyperGroup):
    """The command itself: its help leaves the limits on input out, --help-limits has them."""

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
