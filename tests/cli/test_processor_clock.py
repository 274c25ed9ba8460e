"""Every command keeps its --time-limit by the processor's clock.

The commands are given the processor's seconds for those of the wall, so that other work on the
machine has no say: a phase that never asks the limit shows as seconds too many, every time.
"""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest
from sampling import some
from slotwise import dump_json
from slotwise.cli.main import app
from slotwise.model.generate import generate
from slotwise.solver.budget import GRACE
from slotwise.solver.planning import GRACE_SHARE, MIN_GRACE
from typer.testing import CliRunner

#: Every command that has a limit, by the slowest of its ways.
COMMANDS = (
    "solve FILE --method greedy",
    "solve FILE --method optimal --workers 1",
    "explain FILE LAST",
    "compare FILE --workers 1",
    "solve FILE --method time-based",
    "solve FILE --method milp --workers 1",
    "solve FILE --objective total-start --workers 1",
    "explain FILE LAST --method optimal",
    "ask FILE -n 4 -W 60",
    "diagnose FILE",
    "top FILE --once",
    "score --snapshot FILE --log LOG",
    "slots FILE",
    "report FILE --workers 1 --output PAGE",
)
#: When the instances begin, and a log of other jobs of that time.
ORIGIN = "2022-02-01T08:00:00Z"
ACCT = Path(__file__).parents[1] / "data" / "acct" / "lsb.acct.small-cluster"
#: What a command needs beside: programs that it loads, and writing some thousand rows.
BESIDE = 2.0
#: Plans, each with a grace of its own, of commands that make several; others make one.
PLANS = {"compare": 2, "report": 3}
#: Of the time that reading took, for judging and writing (`KEPT` of the commands' process).
KEPT = 0.75


def seconds_of(command: str, names: dict[str, str]) -> float:
    """Processor seconds of a command, which has to end as one that is done or was cut short."""
    begun = time.process_time()
    done = CliRunner().invoke(app, [names.get(word, word) for word in command.split()])
    used = time.process_time() - begun
    assert done.exit_code in (0, 3), (done.exit_code, done.exception, done.output[-500:])
    return used


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[int, tuple[str, str]]:
    """By number of hosts a file of an instance, and its last job; made when first asked for."""
    folder = tmp_path_factory.mktemp("large")

    class Files(dict[int, tuple[str, str]]):
        def __missing__(self, hosts: int) -> tuple[str, str]:
            made = generate(
                hosts=hosts, running=3 * hosts // 2, pending=min(hosts, 4000), load=0.95, seed=5
            )
            path = Path(folder, f"{hosts}.json")
            path.write_text(dump_json(replace(made, origin=ORIGIN)), encoding="utf-8")
            self[hosts] = str(path), made.pending[-1].id
            return self[hosts]

    return Files()


def kept(
    command: str,
    hosts: int,
    limit: float,
    files: dict[int, tuple[str, str]],
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path, last = files[hosts]
    names = {"FILE": path, "LAST": last, "LOG": str(ACCT), "PAGE": str(folder / "page.html")}
    reading = seconds_of("check FILE", names)
    monkeypatch.setattr(time, "monotonic", time.process_time)
    used = seconds_of(f"{command} --time-limit {limit}", names)
    grace = min(GRACE, max(MIN_GRACE, GRACE_SHARE * limit))
    most = max(limit, reading * (1 + KEPT)) + PLANS.get(command.split()[0], 1) * grace + BESIDE
    assert used <= most, f"{used:.1f} processor seconds, of {most:.1f}"


@pytest.mark.parametrize("command", some(COMMANDS, 1))
def test_a_thousand_hosts(
    command: str,
    files: dict[int, tuple[str, str]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kept(command, 1000, 0.2, files, tmp_path, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize(("hosts", "limit"), [(10_000, 8.0), (50_000, 30.0)])
@pytest.mark.parametrize("command", COMMANDS)
def test_ten_and_fifty_thousand_hosts(
    command: str,
    hosts: int,
    limit: float,
    files: dict[int, tuple[str, str]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kept(command, hosts, limit, files, tmp_path, monkeypatch)


def test_the_table_has_every_command_with_a_limit() -> None:
    from all_commands import all_commands
    from typer.main import get_command

    whole = get_command(app)

    def options(words: tuple[str, ...]) -> list[str]:
        inner = whole
        for word in words:
            inner = inner.get_command(None, word)  # type: ignore[attr-defined, arg-type]
        return [option for item in inner.params for option in item.opts]

    limited = {words for words in all_commands() if "--time-limit" in options(words)}
    assert {(command.split()[0],) for command in COMMANDS} == limited
