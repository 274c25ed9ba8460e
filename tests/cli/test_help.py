"""The help of a command: panels, one screen first, one word a thing, words for mistakes."""

from __future__ import annotations

import pytest
from all_commands import all_commands
from forked import slotwise
from sampling import some
from slotwise.cli.panels import ADVANCED


def help_of(*words: str, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("TERMINAL_WIDTH", "100")
    done = slotwise(*words, "--help")
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize(
    "command", some(["solve", "compare", "explain", "report", "simulate", "ask"], 2)
)
def test_options_are_in_panels(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "\n".join(help_of(command, monkeypatch=monkeypatch))
    assert "─ Options " not in text
    assert "─ How to plan " in text
    assert f"─ {ADVANCED} " not in text
    assert "<bool>" not in text
    everything = slotwise(command, "--help-all").stdout
    assert f"─ {ADVANCED} " in everything
    assert len(everything) > len(text)


@pytest.mark.parametrize(
    "command", some([(command,) for command in all_commands()], 6), ids=" ".join
)
def test_help_has_a_short_form_everywhere(command: tuple[str, ...]) -> None:
    done = slotwise(*command, "-h")
    assert done.returncode == 0
    assert "Usage" in done.stdout


def test_limits_on_input_are_out_of_the_way(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "\n".join(help_of(monkeypatch=monkeypatch))
    assert "--max-hosts" not in text
    assert "--help-all" in text
    limits = slotwise("--help-all")
    assert limits.returncode == 0
    assert "--max-hosts" in limits.stdout
    assert "--confine" in limits.stdout


@pytest.mark.parametrize("words", [("--method",), ("--method", "--effort", "3")], ids=" ".join)
def test_a_missing_value_is_answered_with_the_values(words: tuple[str, ...]) -> None:
    done = slotwise("solve", "--example", "headline", *words)
    assert done.returncode == 2
    assert done.stderr == (
        "slotwise: --method needs a value: greedy, time-based, optimal, milp or slurm\n"
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


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("compare x --workers 0", "--workers: must be a whole number of at least 1, not '0'"),
        ("compare x --workers=1.5", "--workers: must be a whole number of at least 1, not '1.5'"),
        ("compare x --time-limit soon", "--time-limit: must be a number of at least 0, not 'soon'"),
        ("compare x --time-limit=nan", "--time-limit: must be a number of at least 0, not 'nan'"),
        ("--max-jobs many check x", "--max-jobs: must be a number of at least 1, not 'many'"),
        (
            "solve x --method optimall",
            "--method: must be one of greedy, time-based, optimal, milp, slurm, not 'optimall' "
            "(did you mean 'optimal'?)",
        ),
        (
            "backtest x --samples 1000000",
            "--samples: must be a whole number of at least 1 and at most 100,000, not '1000000'",
        ),
        ("import lsf x --format xml", "--format: must be one of yaml, json, not 'xml'"),
    ],
)
def test_an_invalid_value_is_one_line(words: str, said: str) -> None:
    """The option, the values that it takes, and the value that was given."""
    done = slotwise(*words.split())
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"slotwise: {said}\n"
