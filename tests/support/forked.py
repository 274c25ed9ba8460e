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
from types import ModuleType
from typing import NoReturn

import slotwise as sw
import typer.main
from slotwise.cli import start
from slotwise.cli.main import app

# What most commands load and make when they first run, so that no child has to.
for module in (
    *("cli.report.command", "cli.views", "model.sources.registry", "solver.outlook.outlook"),
    *("model.sources.lsf_state.folder", "model.sources.slurm.folder"),
    *("solver.optimal.joint_placement", "solver.plausibility.consistency"),
):
    importlib.import_module(f"slotwise.{module}")
typer.main.get_command(app)
for name in ("headline", "queue7"):  # the second has requirements to parse
    sw.simulate(sw.load(sw.example(name)))
_LIMIT = 120  # seconds until a child that hangs is ended


def slotwise(
    *arguments: object,
    cwd: Path | None = None,
    before: Callable[[], None] = lambda: None,
    text: str = "",
    together: bool = False,
) -> subprocess.CompletedProcess[str]:
    """What the command says and its exit code, with `text` as its input.

    before: runs in the child. together: messages go to the output, in between.
    """

    def main() -> None:
        if cwd is not None:
            os.chdir(cwd)
        before()
        start.main()

    return _child(["slotwise", *map(str, arguments)], main, text, together)


def program(
    code: str, *arguments: object, cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """What `python -c code arguments` says, but that it finds its modules loaded."""

    def main() -> None:
        if cwd is not None:
            os.chdir(cwd)
        exec(code, {"__name__": "__main__"})

    return _child(["-c", *map(str, arguments)], main, "", together=False)


def _child(
    words: list[str], main: Callable[[], None], text: str, together: bool
) -> subprocess.CompletedProcess[str]:
    with (
        tempfile.TemporaryFile() as given,
        tempfile.TemporaryFile() as out,
        tempfile.TemporaryFile() as err,
    ):
        given.write(text.encode())
        given.seek(0)
        child = os.fork()
        if child == 0:
            files = given, out, (out if together else err)
            _run(words, main, [file.fileno() for file in files])
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        out.seek(0)
        err.seek(0)
        said = out.read().decode(), err.read().decode()
    return subprocess.CompletedProcess(words, code, *said)


def _run(words: list[str], main: Callable[[], None], files: list[int]) -> NoReturn:
    code = 1
    try:
        for own, given in enumerate(files):
            os.dup2(given, own)
        sys.stdin, sys.stdout, sys.stderr = (
            open(number, mode, encoding="utf-8", closefd=False)  # noqa: SIM115
            for number, mode in ((0, "r"), (1, "w"), (2, "w"))
        )
        sys.__stdin__, sys.__stdout__, sys.__stderr__ = sys.stdin, sys.stdout, sys.stderr
        sys.modules["__main__"] = ModuleType("__main__")  # its name is none of the program's
        signal.alarm(_LIMIT)
        sys.argv = words
        main()
        code = 0
    except SystemExit as left:
        code = left.code if isinstance(left.code, int) else int(left.code is not None)
        if isinstance(left.code, str):
            print(left.code, file=sys.stderr)
    except BaseException:
        traceback.print_exc()
    finally:
        try:
            for stream in (sys.stdout, sys.stderr):
                if stream is not None:
                    stream.flush()
        finally:
            os._exit(code)
