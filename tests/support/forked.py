"""The `slotwise` command in a child of this process, which has loaded its modules already.

For matrices of commands, where starting Python anew each time would take longer than the tests; how
the program starts, and what it loads, is for tests that do start it.
"""

from __future__ import annotations

import importlib
import os
import signal
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import slotwise as sw
import typer.main
from slotwise.cli import start
from slotwise.cli.main import app

# What most commands load and make when they first run, so that no child has to.
for module in ("cli.report.command", "solver.outlook.outlook", "model.sources.registry"):
    importlib.import_module(f"slotwise.{module}")
typer.main.get_command(app)
sw.simulate(sw.load(sw.example("headline")))
_LIMIT = 120  # seconds until a child that hangs is ended


def slotwise(
    *arguments: object,
    cwd: Path | None = None,
    before: Callable[[], None] = lambda: None,
    together: bool = False,
) -> subprocess.CompletedProcess[str]:
    """What the command says and its exit code, from an empty input; `before` runs in the child.

    together: messages go to the output, in between.
    """
    return _child(["slotwise", *map(str, arguments)], start.main, cwd, before, together)


def program(code: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """What `python -c code arguments` says, but that it finds its modules loaded."""
    names = {"__name__": "__main__"}
    return _child(["-c", *map(str, arguments)], lambda: exec(code, names), None, lambda: None)


def _child(
    words: list[str],
    main: Callable[[], None],
    cwd: Path | None,
    before: Callable[[], None],
    together: bool = False,
) -> subprocess.CompletedProcess[str]:
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = os.fork()
        if child == 0:
            _run(words, main, cwd, before, out.fileno(), (out if together else err).fileno())
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        out.seek(0)
        err.seek(0)
        said = out.read().decode(), err.read().decode()
    return subprocess.CompletedProcess(words, code, *said)


def _run(
    words: list[str],
    main: Callable[[], None],
    cwd: Path | None,
    before: Callable[[], None],
    out: int,
    err: int,
) -> NoReturn:
    code = 1
    try:
        with open(os.devnull, "rb") as empty:
            for own, given in ((0, empty.fileno()), (1, out), (2, err)):
                os.dup2(given, own)
        sys.stdin, sys.stdout, sys.stderr = (
            open(number, mode, encoding="utf-8", closefd=False)  # noqa: SIM115
            for number, mode in ((0, "r"), (1, "w"), (2, "w"))
        )
        sys.__stdin__, sys.__stdout__, sys.__stderr__ = sys.stdin, sys.stdout, sys.stderr
        if cwd is not None:
            os.chdir(cwd)
        before()
        signal.alarm(_LIMIT)
        sys.argv = words
        main()
        code = 0
    except SystemExit as left:
        code = left.code if isinstance(left.code, int) else int(left.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        try:
            for stream in (sys.stdout, sys.stderr):
                if stream is not None:
                    stream.flush()
        finally:
            os._exit(code)
