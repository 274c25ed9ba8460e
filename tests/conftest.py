"""Surroundings of all tests; option --behaviours: which rows of docs/behaviours.yaml they mark."""

from __future__ import annotations

import gc
import json
import os
import signal
import sys
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
import typer.main
import typer.testing
import yaml
from cpu_seconds import CpuSeconds
from hypothesis_profiles import register_profiles
from sampling import SAMPLING

# Listings are as wide and as long as the terminal: the same one for every test and its commands.
os.environ.update(COLUMNS="160", LINES="50")
# Compiled modules are kept, for this process and the commands that it starts, whatever the shell
# says: to compile them anew takes longer than most tests. Copies with faults in them, which change
# faster than the dates of files tell (docs/make_mutants.py), are not.
if ".cache" not in Path(__file__).parts:
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False
# Ctrl-C is heard by the commands that tests start, even where a script runs them behind its back.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The tree of commands is made once: making it takes longer than most commands.
typer.main.get_command = typer.testing._get_command = cache(typer.main.get_command)  # noqa: SLF001
yaml.SafeLoader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # for yaml.safe_load

register_profiles()

#: Signals that the commands handle.
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@pytest.fixture(autouse=True)
def _handlers_as_before() -> Iterator[None]:
    """Restore the signal handlers: a command that ran in this process leaves its own.

    Programs that later tests start would inherit an ignored Ctrl-C.
    """
    before = {number: signal.getsignal(number) for number in _SIGNALS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


#: Number of test functions that carry each behaviour mark, where all tests were collected.
BEHAVIOURS = pytest.StashKey[dict[str, int]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--behaviours",
        metavar="FILE",
        help="write the number of test functions that carry each behaviour mark, as JSON",
    )
    parser.addoption(
        "--cpu-seconds",
        metavar="FILE",
        help="write the seconds of the processor that each test took, the dearest first",
    )
    parser.addoption(
        "--record-golden",
        action="store_true",
        help="write the outputs of tests/golden anew: look at the diff",
    )


def pytest_configure(config: pytest.Config) -> None:
    gc.disable()  # until all tests are collected: they all stay
    SAMPLING.all_cases = "not slow" not in config.getoption("markexpr")
    if output := config.getoption("--cpu-seconds"):
        config.pluginmanager.register(CpuSeconds(Path(output)))


@pytest.hookimpl(tryfirst=True)  # before any are taken out
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    marked: dict[str, set[str]] = defaultdict(set)
    for item in items:
        for mark in item.iter_markers("behaviour"):
            for name in mark.args:
                marked[name].add(item.nodeid.partition("[")[0])
    counts = {name: len(tests) for name, tests in sorted(marked.items())}
    everything = set(Path(__file__).parent.rglob("test_*.py"))
    if {item.path for item in items} == everything and not any("::" in a for a in config.args):
        config.stash[BEHAVIOURS] = counts
    output = config.getoption("--behaviours")
    if output is not None:
        Path(output).write_text(json.dumps(counts, indent=1), encoding="utf-8")


def pytest_collection_finish() -> None:
    gc.freeze()  # thousands of tests are looked through no more for garbage among them
    gc.enable()


@pytest.fixture(scope="session")
def behaviours(request: pytest.FixtureRequest) -> dict[str, int] | None:
    """Number of test functions with each mark, or None where only some tests were collected."""
    return request.config.stash.get(BEHAVIOURS, None)
