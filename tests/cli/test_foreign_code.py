"""No process of ours takes code from the folder in which it is started."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from sampling import pairwise, some
from slotwise.solver.optimal.pool import PoolProblem
from slotwise.solver.optimal.pool.search import Helper

DATA = Path(__file__).parents[1] / "data"
LSF = DATA / "lsf"
SLURM = DATA / "slurm" / "live"
ACCT = DATA / "acct" / "lsb.acct.small-cluster"
#: What our processes load sooner or later; each tells on itself when it is run.
NAMES = sorted(
    sys.stdlib_module_names
    | {"numpy", "yaml", "pydantic", "typer", "click", "rich", "lark", "ortools", "pulp", "highspy"}
    | {"fastapi", "starlette", "uvicorn", "h11", "anyio", "sqlalchemy"}
    | {"cli", "solver", "model", "sitecustomize", "usercustomize", "matplotlib", "pyarrow", "dask"}
)
SLOTWISE = str(Path(sys.executable).with_name("slotwise"))
POOL = "--example kth-sp2-queue-10 --effort 0.3 --workers 2"
LISTINGS = f"--bjobs {LSF}/bjobs-running-two-hosts.json --bhosts {LSF}/bhosts.json"


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


def _left_to_python(folder: Path) -> None:
    """Take away the traps for what Python itself, and the script that pip has made, load first."""
    code = "import re, runpy, sys; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True
    )
    first = {name.partition(".")[0] for name in done.stdout.split()}
    # Those of other systems, which ntpath and its like look for in vain.
    first |= {name for name in sys.stdlib_module_names if find_spec(name) is None}
    for name in (*first, "sitecustomize", "usercustomize"):
        (folder / f"{name}.py").unlink(missing_ok=True)
    assert len(list(folder.iterdir())) > 200


#: The two ways to start it.
STARTS = {"command": [SLOTWISE], "module": [sys.executable, "-m", "slotwise"]}
#: Every command, with more than one process where it can have them. Words in capitals are inputs.
LINES = (
    "whatif SITE --set MBD_SLEEP_TIME=1 --workers 2",
    f"solve {POOL}",
    "solve --example headline --method milp",
    f"compare {POOL}",
    "forecast --example headline --history LOG --samples 40 --workers 2",
    "explain --example headline job5 --method optimal",
    "ask --example headline --history LOG --samples 40 --workers 2 -- -n 2 -W 60",
    "ask --example headline --method optimal -n 2",
    "simulate --example headline --reservation optimal",
    "backtest LOG --questions 4 --samples 20 --workers 2",
    "diagnose --example headline --history LOG --samples 40 --workers 2",
    "sweep STUDY --into trap.cells --workers 2",
    "snapshot",
    "report --example headline -o -",
    "score STORE",
    "score --snapshot BEFORE --log AFTER",
    "replay LOG",
    "show bjobs --example headline",
    "top --example headline --once",
    "slots --example headline",
    "serve --example headline --port 0 --for 1s",
    "check SITE",
    "generate --hosts 2 --running 1",
    "examples",
    "check --schema",
    "resreq select[mem>1]",
    f"import snapshot {LISTINGS} --bqueues {LSF}/bqueues.json",
    "import lsf CONF",
    f"import events {LSF}/lsb.events --keep-going",
    f"import acct {ACCT}",
    "import swf LOG --policy easy --at 10000",
    f"import slurm --from {SLURM}",
    "import pool POOL",
)
#: What PYTHONPATH is; None: it is not set.
PATHS = (None, ":")


def _run_in(
    trap: tuple[Path, Path], words: list[str], environment: dict[str, str]
) -> subprocess.CompletedProcess[str]:
    """A command among the traps, of which it takes none."""
    folder, caught = trap
    done = subprocess.run(
        words,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert not caught.exists(), caught.read_text()
    return done


@pytest.mark.parametrize(
    ("line", "start", "python_path"),
    [
        *some(
            [(line, list(STARTS)[at % 2], PATHS[at // 2 % 2]) for at, line in enumerate(LINES)], 2
        ),
        *(
            pytest.param(line, start, path, marks=pytest.mark.slow)
            for line in LINES
            for start in STARTS
            for path in PATHS
        ),
    ],
)
def test_a_command_in_a_folder_of_traps(
    trap: tuple[Path, Path],
    inputs: dict[str, str],
    commands: None,
    line: str,
    start: str,
    python_path: str | None,
) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    if python_path is not None:
        environment["PYTHONPATH"] = python_path
        _left_to_python(trap[0])
    pool = trap[0].parent / "pool.json"
    pool.write_text('{"procs": 4, "running": [], "queue": []}')
    known = inputs | {"POOL": str(pool)}
    words = [known.get(word, word) for word in line.split()]
    done = _run_in(trap, [*STARTS[start], *words], environment)
    assert done.returncode == 0, done.stderr


def test_a_process_that_keeps_a_list_of_semaphores_dies_and_comes_again(
    trap: tuple[Path, Path], inputs: dict[str, str]
) -> None:
    """multiprocessing begins it anew as soon as a semaphore is given up, wherever that happens."""
    code = (
        "from slotwise.solver.environment import leave_current_folder as leave; leave()\n"
        "import os, signal\n"
        "from multiprocessing import resource_tracker, get_context\n"
        "lock = get_context('spawn').Lock()\n"
        "tracker = resource_tracker._resource_tracker\n"
        "os.kill(tracker._pid, signal.SIGKILL); os.waitpid(tracker._pid, 0)\n"
        "tracker._fd, tracker._pid = None, None\n"
        "del lock\n"
        "print(tracker._pid)\n"
    )
    (trap[0] / "slotwise.py").unlink(missing_ok=True)
    done = _run_in(trap, [sys.executable, "-P", "-c", code], dict(os.environ))
    assert done.stdout.strip().isdecimal(), done.stderr


@pytest.mark.parametrize(
    ("python_path", "start"),
    some(
        pairwise(
            ["", ".", ":", "/nowhere:", "./:/nowhere", "HERE", "../trap:/nowhere"], list(STARTS)
        ),
        2,
    ),
)
def test_no_entry_of_the_python_path_is_the_current_folder(
    trap: tuple[Path, Path], start: str, python_path: str
) -> None:
    folder, _ = trap
    _left_to_python(folder)
    done = _run_in(
        trap,
        [*STARTS[start], "check", "--example", "headline"],
        os.environ | {"PYTHONPATH": python_path.replace("HERE", str(folder))},
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_other_entries_of_the_python_path_stay(tmp_path: Path) -> None:
    """Tools of a site, such as fairshare adjustments, are found there as ever."""
    here, tools = tmp_path / "here", tmp_path / "tools"
    for folder in (here, tools):
        folder.mkdir()
    code = "import sys; from slotwise.solver import environment as e; e.leave_current_folder(); "
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


@pytest.mark.slow
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
