"""Records as options: a dataclass of a subject's options is what a command takes."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Literal

import pytest
import typer
from slotwise.cli.declare import argument, command, option, spelled, taking, values_of
from typer.main import get_command
from typer.testing import CliRunner


@dataclass(frozen=True, slots=True)
class Kinds:
    """An option of each kind."""

    times: int = option(3, "How often.", min=1)
    names: tuple[str, ...] = option((), "Who.", "--name")
    quiet: bool = option(False, "Nothing is said.")
    memory: bool = option(True, "With memory.")
    color: bool | None = option(None, "Colours.", "--color/--no-color")
    form: Literal["a", "b"] = option("a", "Which.")
    log_file: Path | None = option(None, "Where.")
    #: No option.
    beside: int = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class Needed:
    """One that must be given."""

    history: Path = option(..., "A log.")


SEEN: list[object] = []


@command
def whole(
    kinds: Kinds,
    file: str | None = argument(None, "What is read.", metavar="FILE"),
    last: int = option(1, "By itself."),
) -> None:
    """Takes all of a record, and two by themselves."""
    SEEN[:] = [kinds, file, last]


@command
def part(
    needed: Needed,
    kinds: Annotated[Kinds, taking("memory times", times="How many times.")],
) -> None:
    """Takes a part of a record."""
    SEEN[:] = [needed, kinds]


@command
def changed(kinds: Annotated[Kinds, taking("times", times=option(5, "Five.", "--five"))]) -> None:
    """Declares an option of its own for a field."""
    SEEN[:] = [kinds]


def run(function: object, *words: str) -> list[object]:
    app = typer.Typer()
    app.command()(function)  # type: ignore[type-var]
    SEEN.clear()
    done = CliRunner().invoke(app, list(words))
    assert done.exit_code == (0 if SEEN else 2), done.output
    return SEEN or [done.output]


def options(function: object) -> dict[str, str]:
    app = typer.Typer(add_completion=False)
    app.command()(function)  # type: ignore[type-var]
    return {"/".join((*p.opts, *p.secondary_opts)): str(p.help) for p in get_command(app).params}


def test_defaults_and_values_of_every_kind() -> None:
    assert run(whole) == [Kinds(), None, 1]
    words = "f --times 5 --name a --name b --quiet --no-memory --no-color --form b --log-file x"
    asked = Kinds(5, ("a", "b"), True, False, False, "b", Path("x"))
    assert run(whole, *words.split(), "--last", "2") == [asked, "f", 2]
    assert spelled(asked) | {} == {
        **{"--times": 5, "--name": ("a", "b"), "--quiet": True, "--memory": False},
        **{"--color/--no-color": False, "--form": "b", "--log-file": Path("x")},
    }
    assert values_of(asked, "times", "beside") == {"times": 5, "beside": 7}
    assert list(values_of(asked)) == [each.name for each in fields(Kinds)]


def test_a_switch_that_is_usually_off_has_no_negative() -> None:
    assert "--quiet" in options(whole)
    assert "--memory/--no-memory" in options(whole)


def test_a_part_in_its_order_with_words_of_its_own() -> None:
    assert list(options(part)) == ["--history", "--memory/--no-memory", "--times"]
    assert options(part)["--times"] == "How many times."
    assert run(part, "--history", "log", "--times", "9") == [
        Needed(history=Path("log")),
        Kinds(times=9),
    ]
    assert "history" in str(run(part)[0])


def test_a_declaration_may_be_another() -> None:
    assert options(changed) == {"--five": "Five."}
    assert run(changed) == [Kinds(times=5)]


def test_what_is_refused() -> None:
    assert "--times" in str(run(whole, "--times", "0")[0])
    with pytest.raises(ValueError, match="times"):

        @command
        def twice(kinds: Kinds, times: int = option(1, "Again.")) -> None:
            """Has an option in two ways."""
