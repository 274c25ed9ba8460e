"""kill -9 of a command that has processes at work leaves none of them: one row a kind of worker."""

from __future__ import annotations

import ast
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import slotwise as sw

if not Path("/proc/self/stat").exists():
    pytest.skip("looks for processes in /proc", allow_module_level=True)

#: Seconds for a worker to see that its parent has gone, on a busy machine.
PATIENCE = 30


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


def test_the_look_at_a_session_sees_its_processes() -> None:
    with subprocess.Popen(["sleep", "100"], start_new_session=True) as process:
        assert _until(lambda: any(b"sleep" in w for w in _of_session(process.pid).values()))
        process.kill()
        process.wait()
        assert not _of_session(process.pid)


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
