"""Programs of others that `snapshot` runs: found once, bounded, and ended with all they began."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from sampling import some

if not Path("/proc/self/stat").exists():
    pytest.skip("looks for processes in /proc", allow_module_level=True)

SLOTWISE = str(Path(sys.executable).with_name("slotwise"))


def _program(folder: Path, text: str, name: str = "bjobs") -> str:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def _alive(mark: str) -> list[int]:
    """The processes whose environment has the mark."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if f"MARK={mark}".encode() in (entry / "environ").read_bytes().split(b"\0"):
                found.append(int(entry.name))
        except (OSError, ValueError):
            continue
    return found


def test_a_snapshot_takes_neither_programs_nor_variables_along(tmp_path: Path) -> None:
    """LSF's programs see LSF's variables, a PATH of absolute folders, and little else."""
    folder, here = tmp_path / "bin", tmp_path / "here"
    folder.mkdir()
    here.mkdir()
    for name in ("bhosts", "bqueues", "lsid", "bhpart", "lshosts", "env"):
        _program(here, "touch caught", name)
    for name in ("bjobs", "bhosts", "bqueues"):
        _program(folder, 'env > "$LSF_ENVDIR/seen"; echo none >&2; exit 1', name)
    done = subprocess.run(
        [SLOTWISE, "snapshot"],
        cwd=here,
        env={
            "PATH": f":.:here:{folder}:/usr/bin:/bin",
            "LSF_ENVDIR": str(tmp_path),
            "LD_PRELOAD": "",
            "PYTHONPATH": ":",
            "SECRET": "x",
        },
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    first, second = done.stderr.splitlines()
    assert done.returncode == 2
    assert first == (
        "slotwise: the LSF of this machine does not answer: `bjobs -u all -UF`: failed: none"
    )
    assert second.startswith("slotwise: Run it where bjobs works")
    assert not (here / "caught").exists()
    seen = dict(line.split("=", 1) for line in (tmp_path / "seen").read_text().splitlines())
    assert set(seen) - {"PWD", "SHLVL", "_", "OLDPWD"} == {
        *("PATH", "LSF_ENVDIR", "LSB_DISPLAY_YEAR", "LC_ALL", "PYTHONSAFEPATH"),
    }
    assert seen["PATH"] == f"{folder}:/usr/bin:/bin"


#: Commands that are at work for long, at once or after they have read something.
LONG = {
    "reading": "check -",
    "replay": "replay -",
    "a plan": "solve --example theta-queue-50 --objective makespan --time-limit 100",
    "a snapshot": "snapshot",
    "a report": "report --example theta-queue-50 --time-limit 100 -o page.html",
}
#: Those that give what they have found so far.
PARTIAL = {"a plan", "a report"}


def _until(true: Callable[[], bool]) -> bool:
    end = time.monotonic() + 60
    while not true():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def _catches(status: str) -> bool:
    """Whether a process has a handler of SIGTERM, by what the kernel says of it."""
    mask = int(status.split("SigCgt:")[1].split()[0], 16)
    return bool(mask & 1 << (signal.SIGTERM - 1))


@pytest.mark.parametrize("kind", some(LONG, 1))
def test_a_command_that_is_terminated(tmp_path: Path, kind: str) -> None:
    """143 where there is no answer yet, 3 and the answer so far where there is one."""
    for name in ("bjobs", "bhosts", "bqueues"):
        _program(tmp_path, "sleep 1000", name)
    mark = str(tmp_path)
    with subprocess.Popen(
        [SLOTWISE, *LONG[kind].split()],
        cwd=tmp_path,
        env=os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}", "MARK": mark},
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as command:
        # The command itself has the handler once it has taken the current folder out of its PATH.
        caught = Path(f"/proc/{command.pid}/status")
        assert _until(lambda: _catches(caught.read_text()))
        time.sleep(1.0 if kind in PARTIAL else 0.3)
        command.terminate()
        said = command.communicate(timeout=60)[1]
    assert command.returncode in ((143, 3) if kind in PARTIAL else (143,))
    if command.returncode == 143:
        assert said == "slotwise: stopped before an answer was found\n"
    assert _until(lambda: not _alive(mark))
