"""The help of a command: panels, one screen first, one word a thing, words for mistakes."""

from __future__ import annotations

import pytest
from all_commands import all_commands
from forked import slotwise
from slotwise.cli.main import MORE, OLD_SPELLINGS, app
from typer.main import get_command

#: Panels that come after the first screen of a command.
AFTER_THE_FIRST_SCREEN = (
    "A moment of the simulation",
    "Forecast",
    "Time and processors",
    MORE,
)
#: Lines of a screen.
SCREEN = 45


def help_of(*words: str, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("TERMINAL_WIDTH", "100")
    done = slotwise(*words, "--help")
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize("command", [(), *all_commands()], ids=" ".join)
def test_what_matters_is_on_the_first_screen(
    command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = help_of(*command, monkeypatch=monkeypatch)
    panels = [f"─ {name} " for name in AFTER_THE_FIRST_SCREEN]
    rest = (n for n, line in enumerate(lines) if any(name in line for name in panels))
    assert next(rest, len(lines)) <= SCREEN


@pytest.mark.parametrize("command", ["solve", "compare", "explain", "report", "simulate", "ask"])
def test_options_are_in_panels(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "\n".join(help_of(command, monkeypatch=monkeypatch))
    assert "─ Options " not in text
    assert "─ How to plan " in text
    assert "─ More options " in text


def test_limits_on_input_are_out_of_the_way(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "\n".join(help_of(monkeypatch=monkeypatch))
    assert "--max-hosts" not in text
    assert "--help-limits" in text
    limits = slotwise("--help-limits")
    assert limits.returncode == 0
    assert "--max-hosts" in limits.stdout
    assert "--confine" in limits.stdout


def test_one_word_for_one_thing() -> None:
    """An old spelling is no option any more, where it was one; the new one is."""
    root = get_command(app)
    for name, spellings in OLD_SPELLINGS.items():
        command = root.get_command(None, name)  # type: ignore[attr-defined,arg-type]
        known = {spelling for option in command.params for spelling in option.opts}
        assert not known & set(spellings)
        assert set(spellings.values()) <= known


def test_an_old_spelling_is_taken_and_named() -> None:
    given = ("solve", "--example", "headline", "--method", "time-based")
    old, new = slotwise(*given, "--jobs", "0"), slotwise(*given, "--reservations=0")
    usual = slotwise(*given)
    assert old.returncode == new.returncode == 0
    assert old.stdout == new.stdout != usual.stdout
    assert "--jobs is now --reservations" in old.stderr
    assert new.stderr == ""


@pytest.mark.parametrize("words", [("--method",), ("--method", "--effort", "3")], ids=" ".join)
def test_a_missing_value_is_answered_with_the_values(words: tuple[str, ...]) -> None:
    done = slotwise("solve", "--example", "headline", *words)
    assert done.returncode == 2
    assert done.stderr == (
        "slotwise: --method needs a value: greedy, time-based, optimal or milp\n"
    )


def test_an_option_of_another_command_says_whose_it_is() -> None:
    done = slotwise("compare", "--example", "headline", "--method", "greedy")
    assert done.returncode == 2
    assert "compare has no option --method; " in done.stderr
    assert "solve" in done.stderr
    assert "did you mean" not in done.stderr


def test_a_misspelt_option_gets_the_nearest() -> None:
    done = slotwise("solve", "--example", "headline", "--objectiv", "makespan")
    assert done.returncode == 2
    assert "did you mean '--objective'" in done.stderr
