"""The help of a command: panels, one screen first, one word a thing, words for mistakes."""

from __future__ import annotations

from itertools import pairwise

import pytest
from all_commands import all_commands
from forked import slotwise
from sampling import some

#: Panels that come after the first screen of a command.
AFTER_THE_FIRST_SCREEN = (
    "A moment of the simulation",
    "Forecast",
    "Time and processors",
    "Advanced",
)
#: Lines of a screen.
SCREEN = 45


def help_of(*words: str, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("TERMINAL_WIDTH", "100")
    done = slotwise(*words, "--help")
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize(
    "command", some([((),), *((command,) for command in all_commands())], 8), ids=" ".join
)
def test_what_matters_is_on_the_first_screen(
    command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = help_of(*command, monkeypatch=monkeypatch)
    panels = [f"─ {name} " for name in AFTER_THE_FIRST_SCREEN]
    rest = (n for n, line in enumerate(lines) if any(name in line for name in panels))
    assert next(rest, len(lines)) <= SCREEN


@pytest.mark.parametrize(
    "command", some(["solve", "compare", "explain", "report", "simulate", "ask"], 2)
)
def test_options_are_in_panels(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "\n".join(help_of(command, monkeypatch=monkeypatch))
    assert "─ Options " not in text
    assert "─ How to plan " in text
    assert "─ Advanced " not in text
    assert "<bool>" not in text
    everything = slotwise(command, "--help-all").stdout
    assert "─ Advanced " in everything
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
        (
            ("compare", "--example", "headline", "--bjobs", "x"),
            "compare has no option --bjobs; snapshot has it",
        ),
        (
            ("import", "lsf", "--site", "x"),
            "import lsf has no option --site; snapshot, import events",
        ),
        (
            ("compare", "x.yaml", "--json"),
            "compare has no option --json (did you mean '--format json'?)",
        ),
        (
            ("solve", "x.yaml", "--milp"),
            "solve has no option --milp (did you mean '--method milp'?)",
        ),
        (("import", "slurm", "--form", "x"), "import slurm has no option --form (did you mean"),
        (
            ("compare", "a.yaml", "job1", "job2"),
            "compare accepts no further argument job1 job2: a job is given as --job job1 "
            "(`slotwise compare --help`)",
        ),
        (
            ("explain", "a.yaml", "job1", "job2"),
            "explain accepts no further argument job2 (`slotwise ex",
        ),
        (
            ("import", "lsf", "a", "b"),
            "import lsf accepts no further argument b (`slotwise import lsf -",
        ),
        (
            ("explian",),
            "there is no command 'explian' (did you mean 'explain'?) (`slotwise --help`",
        ),
        (
            ("import", "slrum"),
            "import has no command 'slrum' (did you mean 'slurm'?) (`slotwise im",
        ),
        (("import", "compare"), "import has no command 'compare': `slotwise compare` (`slotwise"),
        (("schema", "x", "-h"), "`slotwise schema` was renamed: use `slotwise check --schema`"),
        (
            ("verify", "a", "b"),
            "`slotwise verify` was renamed: use `slotwise score --snapshot FILE --log LOG`",
        ),
        (("slurm", "x"), "there is no command 'slurm': `slotwise import slurm` (`slotwise --help`"),
        (("--debug", "x\x1b[31m"), "there is no command 'x"),
    ],
)
def test_commands_within_commands_are_named_whole(words: tuple[str, ...], said: str) -> None:
    done = slotwise(*words)
    assert done.returncode == 2
    assert done.stderr.startswith(f"slotwise: {said}")


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


def test_paragraphs_fill_the_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    """A line of a command's words ends where the next word finds no room."""
    for command in ("score", "diagnose", "backtest", "solve"):
        lines = help_of(command, monkeypatch=monkeypatch)
        words = [line.strip() for line in lines[: next(n for n, x in enumerate(lines) if "╭" in x)]]
        for line, following in pairwise(words[3:]):
            if line and following:
                assert len(f"{line} {following.split()[0]}") > 98
