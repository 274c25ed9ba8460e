"""What the command loads before it knows what is asked of it: nothing heavy."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from slotwise.cli import start

HEAVY = ("ortools", "pulp", "highspy", "pandas", "pydantic", "lark", "yaml", "numpy", "dask")
SCRIPT = """
import sys
from slotwise.cli.main import main
sys.argv = ["slotwise", *{arguments!r}]
try:
    main()
except SystemExit as end:
    code = end.code
print("LOADED", code, *(name for name in {heavy!r} if name in sys.modules))
"""


def loaded(*arguments: str) -> tuple[str, list[str], str]:
    """Exit code, heavy modules that were imported, and what was printed."""
    script = SCRIPT.format(arguments=arguments, heavy=HEAVY)
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True
    )
    text, _, last = done.stdout.rpartition("LOADED ")
    code, *modules = last.split()
    return code, modules, text


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_help_and_version_load_nothing_heavy(option: str) -> None:
    code, modules, text = loaded(option)
    assert (code, modules) == ("0", [])
    assert "slotwise" in text


@pytest.mark.parametrize("command", ["solve", "compare"])
def test_the_help_of_a_command_loads_no_solver_and_no_reader(command: str) -> None:
    """Newer typer imports pydantic by itself when it is installed."""
    code, modules, text = loaded(command, "--help")
    assert code == "0"
    assert set(modules) <= {"pydantic"}
    assert "Exit codes: 0 done" in text


def test_a_heuristic_plan_needs_no_solver() -> None:
    code, modules, _ = loaded("solve", "--example", "headline", "--method", "time-based")
    assert code == "0"
    assert not {"ortools", "pulp", "highspy", "pandas"} & set(modules)


def test_the_library_loads_only_what_is_used() -> None:
    script = f"import sys, slotwise; print([m for m in {HEAVY!r} if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_ctrl_c_while_the_command_line_loads_is_one_line_and_code_130() -> None:
    """No exception: one in the middle of an import could be swallowed or wrapped."""
    script = """
import os, signal, sys
from types import ModuleType

class Interrupting(ModuleType):
    def __getattr__(self, name):
        os.kill(os.getpid(), signal.SIGINT)
        return lambda: print("went on")

signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever started us may ignore it
sys.modules["slotwise.cli.main"] = Interrupting("slotwise.cli.main")
from slotwise.cli.start import main
main()
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    said = "slotwise: stopped before an answer was found\n"
    assert (done.returncode, done.stdout, done.stderr) == (130, "", said)


def test_ctrl_c_while_writing_leaves_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The interrupt comes when all is written and only the file's name is missing."""

    def replace(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("os.replace", replace)
    target = tmp_path / "random.json"
    argv = ["slotwise", "generate", "--hosts", "3", "--running", "2", "-o", str(target)]
    monkeypatch.setattr(sys, "argv", argv)
    with pytest.raises(SystemExit) as caught:
        start.main()
    assert caught.value.code == 130
    assert capsys.readouterr().err == "slotwise: stopped before an answer was found\n"
    assert list(tmp_path.iterdir()) == []


def test_the_package_is_a_command_too() -> None:
    command = [sys.executable, "-m", "slotwise", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("slotwise ")
