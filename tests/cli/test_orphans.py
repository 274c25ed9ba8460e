"""kill -9 of a command that has processes at work leaves none of them: one row a kind of worker."""

from __future__ import annotations

import ast
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import slotwise as sw
from forked import slotwise
from study_lab import site_file
from synthetic_log import synthetic

if not Path("/proc/self/stat").exists():
    pytest.skip("looks for processes in /proc", allow_module_level=True)

SLOTWISE = str(Path(sys.executable).with_name("slotwise"))
#: Seconds for a worker to see that its parent has gone, on a busy machine.
PATIENCE = 30
STUDY = """
format: slotwise-study/1
name: backfilling
cases: [{name: weeks, site: site.yaml}]
policies: [time-based]
parameters:
  MBD_SLEEP_TIME: [1]
  queues.*.FAIRSHARE: ['[default,1]']
seeds: [1, 2, 3, 4]
"""
#: How the processes of each kind are recognised in a list of all: a word of their command lines.
KINDS = {
    "sweep": (b"spawn_main", "sweep study.yaml --workers 2"),
    "whatif": (
        b"spawn_main",
        "whatif site.yaml --set MBD_SLEEP_TIME=1 --vary reservation=none,greedy --workers 2",
    ),
    "forecast": (
        b"forkserver",
        "forecast now.yaml --history log.swf --samples 100000 --workers 2",
    ),
    "ask": (
        b"forkserver",
        "ask now.yaml --history log.swf --samples 100000 --workers 2 -- -n 2 -W 60",
    ),
    "backtest": (b"forkserver", "backtest log.swf --samples 500 --workers 2"),
    "solve": (
        b"pool.search",
        "solve --example theta-queue-50 --objective makespan --time-limit 100 --workers 2",
    ),
    "snapshot": (b"sleep", "snapshot"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the commands read: a study, a site, a log and a moment of it, and an LSF that hangs."""
    made = tmp_path_factory.mktemp("orphans")
    site_file(made, weeks=12, each=15)
    (made / "study.yaml").write_text(STUDY)
    work = synthetic(2000, 16, load=1.1, seed=4)
    columns = (work.job, work.submit, work.run_time, work.procs, work.req_time)
    lines = ["; MaxProcs: 16"]
    for number, submit, run, procs, limit in zip(*(c.tolist() for c in columns), strict=True):
        lines.append(f"{number} {submit} -1 {run} {procs} -1 -1 {procs} {limit}" + " -1" * 9)
    (made / "log.swf").write_text("\n".join([*lines, ""]))
    cut = ["import", "swf", "log.swf", "--policy", "easy", "--at", "600000", "-o", "now.yaml"]
    assert slotwise(*cut, cwd=made).returncode == 0
    for name in ("bjobs", "bhosts", "bqueues"):
        program = made / "bin" / name
        program.parent.mkdir(exist_ok=True)
        program.write_text("#!/bin/sh\nexec sleep 1000\n")
        program.chmod(0o755)
    return made


def _of_session(session: int) -> dict[int, bytes]:
    """The processes of a session that are at work, with their command lines."""
    found = {}
    for entry in Path("/proc").iterdir():
        try:
            stat = (entry / "stat").read_text().rpartition(")")[2].split()
            if stat[3] == str(session) and stat[0] not in "ZX":
                found[int(entry.name)] = (entry / "cmdline").read_bytes()
        except (OSError, IndexError):  # no process, or one that has just gone
            continue
    return found


def _until(true: Callable[[], bool]) -> bool:
    end = time.monotonic() + PATIENCE
    while not true():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def _killed(folder: Path, kind: str, later: float) -> tuple[bool, list[bytes]]:
    """Whether workers were there as the command was killed, and who is left."""
    mark, line = KINDS[kind]
    path = f"{folder / 'bin'}:{os.environ['PATH']}"
    with subprocess.Popen(
        [SLOTWISE, *line.split()],
        cwd=folder,
        env={**os.environ, "PATH": path},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as command:
        try:
            assert _until(
                lambda: (
                    command.poll() is not None
                    or any(mark in words for words in _of_session(command.pid).values())
                )
            )
            time.sleep(later)
            were = any(mark in words for words in _of_session(command.pid).values())
            command.kill()
            command.wait()
            _until(lambda: not _of_session(command.pid))
            return were, list(_of_session(command.pid).values())
        finally:
            for process in _of_session(command.pid):
                os.kill(process, signal.SIGKILL)


def test_the_look_at_a_session_sees_its_processes() -> None:
    with subprocess.Popen(["sleep", "100"], start_new_session=True) as process:
        assert _until(lambda: any(b"sleep" in w for w in _of_session(process.pid).values()))
        process.kill()
        process.wait()
        assert not _of_session(process.pid)


@pytest.mark.slow
def test_forty_kills_leave_no_orphan(folder: Path) -> None:
    """At instants drawn by seed: as workers begin, while they load, at work."""
    draw = random.Random(40)
    kinds = [list(KINDS)[number % len(KINDS)] for number in range(40)]
    found = [(kind, _killed(folder, kind, draw.choice([0, 0.1, 0.3, 1, 3]))) for kind in kinds]
    assert sum(were for _, (were, _) in found) >= 35
    assert [(kind, left) for kind, (_, left) in found if left] == []


def test_processes_are_made_in_one_place() -> None:
    """What may make them elsewhere: names of errors alone."""
    root = Path(sw.__file__).parent
    makers = {"multiprocessing", "subprocess", "concurrent.futures", "os"}
    home = root / "solver" / "processes.py"
    found = []
    for path in [
        *root.glob("cli/**/*.py"),
        *root.glob("solver/**/*.py"),
        *root.glob("model/**/*.py"),
    ]:
        names = {"Popen", "Process", "ProcessPoolExecutor", "Pool", "fork", "system", "get_context"}
        text = path.read_text(encoding="utf-8")
        if not any(name in text for name in names | {"subprocess", ".run("}):
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ImportFrom) and node.module in makers and path != home:
                found += [(path.name, item.name) for item in node.names if item.name in names]
            if (
                isinstance(node, ast.Attribute)
                and isinstance(node.value, ast.Name)
                and node.value.id in makers
                and node.attr in names | {"run", "Popen"}
                and path != home
            ):
                found.append((path.name, node.attr))
    assert found == []
