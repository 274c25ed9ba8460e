"""Programs that print a small cluster as LSF's do, of the time at which they were made."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from forked import slotwise

#: On four slots one job runs for 50 minutes more; 4711 waits for it, and would start on one slot.
CLUSTER = """
format: slotwise/1
origin: {origin}
hosts: [{{name: hostA, slots: 4, mem: 8G}}]
queues: [{{name: normal, PRIORITY: 30}}]
running:
  - {{id: "4710", user: ann, queue: normal, start: -600, allocation: 3*hostA, run_limit: 1h}}
pending:
  - {{id: "4711", user: bob, queue: normal, submit: -60, slots: 2, run_limit: 30m}}
"""
#: What bjobs, bhosts and bqueues print, by the name of the program.
VIEWS = {"bjobs": "bjobs", "bhosts": "bhosts", "bqueues": "bqueues"}


def program(folder: Path, name: str, text: str) -> None:
    """A program of the shell."""
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def printing(
    folder: Path, name: str, text: str, *, refuse: tuple[str, ...] = ("-json", "-aps")
) -> None:
    """A program that prints a text, unless it has an option that it does not know."""
    (folder / f"{name}.txt").write_text(text)
    known = "|".join(f"*{word}*" for word in refuse)
    refused = f'case "$*" in {known}) echo "{name}: illegal option" >&2; exit 255;; esac'
    program(folder, name, f"{refused}\ncat {folder / f'{name}.txt'}")


def fake_lsf(folder: Path) -> Path:
    """The programs in a folder, which is made; it gives the folder back."""
    folder.mkdir()
    origin = datetime.now(UTC).replace(microsecond=0).isoformat()
    file = folder / "cluster.yaml"
    file.write_text(CLUSTER.format(origin=origin))
    for name, view in VIEWS.items():
        done = slotwise("show", view, str(file), "-l", *(["-u", "all"] if name == "bjobs" else []))
        assert done.returncode == 0, done.stderr
        printing(folder, name, done.stdout)
    return folder
