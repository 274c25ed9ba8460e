"""The `slotwise` command in a child of this process, which has loaded its modules already.

For matrices of commands, where starting Python anew each time would take longer than the tests; how
the program starts, and what it loads, is for tests that do start it.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from slotwise.cli import start

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
    words = [str(word) for word in arguments]
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = os.fork()
        if child == 0:
            _run(words, cwd, before, out.fileno(), (out if together else err).fileno())
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        out.seek(0)
        err.seek(0)
        said = out.read().decode(), err.read().decode()
    return subprocess.CompletedProcess(["slotwise", *words], code, *said)


def _run(
    words: list[str], cwd: Path | None, before: Callable[[], None], out: int, err: int
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
        if cwd is not None:
            os.chdir(cwd)
        before()
        signal.alarm(_LIMIT)
        sys.argv = ["slotwise", *words]
        start.main()
        code = 0
    except SystemExit as left:
        code = left.code if isinstance(left.code, int) else int(left.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(code)
