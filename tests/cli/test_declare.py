"""Records as options: a dataclass of a subject's options is what a command takes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import typer
from slotwise.cli.declare import argument, command, option
from typer.main import get_command


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


SEEN: list[object] = []


@command
def whole(
    kinds: Kinds,
    file: str | None = argument(None, "What is read.", metavar="FILE"),
    last: int = option(1, "By itself."),
) -> None:
    """Takes all of a record, and two by themselves."""
    SEEN[:] = [kinds, file, last]


def options(function: object) -> dict[str, str]:
    app = typer.Typer(add_completion=False)
    app.command()(function)  # type: ignore[type-var]
    return {"/".join((*p.opts, *p.secondary_opts)): str(p.help) for p in get_command(app).params}


def test_a_switch_that_is_usually_off_has_no_negative() -> None:
    assert "--quiet" in options(whole)
    assert "--memory/--no-memory" in options(whole)
