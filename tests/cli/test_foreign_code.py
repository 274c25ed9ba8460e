"""No process of ours takes code from the folder in which it is started."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sampling import pairwise, some
from slotwise.solver.optimal.pool.problem import PoolProblem
from slotwise.solver.optimal.pool.search import Helper

#: Modules that our processes load sooner or later; each tells on itself when it is run.
NAMES = (
    *("numpy", "yaml", "typing", "importlib", "runpy", "json", "pickle", "signal", "contextlib"),
    *("pydantic", "typer", "click", "rich", "lark", "ortools", "pulp", "highspy", "queue"),
    *("cli", "solver", "model", "sitecustomize", "usercustomize", "encodings", "random"),
)
SLOTWISE = str(Path(sys.executable).with_name("slotwise"))
POOL = ["--example", "kth-sp2-queue-10", "--effort", "0.3", "--workers", "2"]


@pytest.fixture
def trap(tmp_path: Path) -> tuple[Path, Path]:
    """A folder of traps, and the file in which they leave their names."""
    folder, caught = tmp_path / "trap", tmp_path / "caught"
    folder.mkdir()
    for name in NAMES:
        (folder / f"{name}.py").write_text(
            f"with open({str(caught)!r}, 'a') as file:\n    file.write({name!r} + ' ')\n"
            "raise SystemExit(99)\n"
        )
    return folder, caught


#: The two ways to start it.
STARTS = {"command": [SLOTWISE], "module": [sys.executable, "-m", "slotwise"]}
LINES = {
    name: words
    for name, *words in (
        ["solve a pool", "solve", *POOL],
        ["compare", "compare", *POOL],
        ["milp", "solve", "--example", "headline", "--method", "milp"],
        ["explain", "explain", "--example", "headline", "job5", "--method", "optimal"],
        ["ask", "ask", "--example", "headline", "-n 2", "--method", "optimal"],
        ["simulate", "simulate", "--example", "headline", "--reservation", "optimal"],
        ["show", "show", "bjobs", "--example", "headline"],
        ["generate", "generate", "--hosts", "2", "--running", "1"],
    )
}


@pytest.mark.parametrize(("line", "start"), pairwise(list(LINES), list(STARTS)))
def test_a_command_in_a_folder_of_traps(trap: tuple[Path, Path], start: str, line: str) -> None:
    folder, caught = trap
    done = subprocess.run(
        [*STARTS[start], *LINES[line]],
        cwd=folder,
        env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert not caught.exists(), caught.read_text()
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("python_path", "start"),
    pairwise(["", ".", ":", "/nowhere:", "./:/nowhere", "HERE", "../trap:/nowhere"], list(STARTS)),
)
def test_no_entry_of_the_python_path_is_the_current_folder(
    trap: tuple[Path, Path], start: str, python_path: str
) -> None:
    """What Python itself loads before us is its own affair."""
    folder, caught = trap
    for name in ("sitecustomize", "usercustomize", "encodings", "typing", "importlib", "runpy"):
        (folder / f"{name}.py").unlink()
    for name in ("contextlib", "signal"):
        (folder / f"{name}.py").unlink()
    done = subprocess.run(
        [*STARTS[start], "solve", "--example", "headline"],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": python_path.replace("HERE", str(folder))},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert not caught.exists(), caught.read_text()
    assert (done.returncode, done.stderr) == (0, "")


def test_other_entries_of_the_python_path_stay(tmp_path: Path) -> None:
    """Tools of a site, such as fairshare adjustments, are found there as ever."""
    here, tools = tmp_path / "here", tmp_path / "tools"
    for folder in (here, tools):
        folder.mkdir()
    code = "import sys; from slotwise.cli import start; start._leave_current_folder(); "
    done = subprocess.run(
        [sys.executable, "-c", f"{code}print(*sys.path, sep='\\n')"],
        cwd=here,
        env=os.environ | {"PYTHONPATH": f"{tools}:{here}:sub:"},
        capture_output=True,
        text=True,
        check=True,
    )
    found = done.stdout.splitlines()
    assert str(tools) in found
    assert not {"", str(here), str(here / "sub")} & set(found)


@pytest.mark.parametrize("python_path", some(["", ".", "relative:"], 1))
def test_the_helper_takes_nothing_from_the_folder_and_works(
    trap: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, python_path: str
) -> None:
    """Even where PYTHONPATH or the caller's own path would lead there."""
    folder, caught = trap
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PYTHONPATH", python_path)
    monkeypatch.syspath_prepend(str(folder))
    rng = np.random.default_rng(1)
    problem = PoolProblem.build([0, 5], [2, 4], rng.integers(1, 5, 30), rng.integers(1, 20, 30))
    worst = np.cumsum(problem.durations) + 5
    value = problem.value(worst)
    with Helper(problem, worst, 1) as helper:
        helper.wait(3.0)
        plans = helper.plans()
    assert not caught.exists(), caught.read_text()
    assert plans
    assert min(problem.value(plan) for plan in plans) < value
