"""A second process that only improves plans.

A process, not a thread (the LP solver and the order search both hold the interpreter's lock), and
started as a command, so that callers need no ``__main__`` guard. Speaks pickles: (problem, starts,
seed) in; plans out, on its standard output.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import queue
import subprocess
import sys
import threading
from pathlib import Path
from typing import IO, Any, Self

import numpy as np

from ...processes import begin_process, die_with
from .improver import improve
from .incumbent import Incumbent
from .problem import Ints, PoolProblem

#: Loads this very package, whatever its folder is called, then serves.
_BOOTSTRAP = """\
import sys
from importlib import import_module, util
package, root, module, *folders = sys.argv[1:]
sys.path += folders
spec = util.spec_from_file_location(package, root + "/__init__.py",
                                    submodule_search_locations=[root])
sys.modules[package] = util.module_from_spec(spec)
spec.loader.exec_module(sys.modules[package])
import_module(module).main()
"""


def _command() -> list[str]:
    """The helper's command line: -I takes code neither from the current folder nor from
    PYTHONPATH, so this package and numpy are told where they are.
    """
    package = __name__.partition(".")[0]
    root = Path(__file__).resolve().parents[__name__.count(".") - 1]
    numpy = Path(np.__file__).resolve().parents[1]
    return [sys.executable, "-I", "-c", _BOOTSTRAP, package, str(root), __name__, str(numpy)]


class Helper:
    """The caller's end. Use as a context manager; the process ends with it."""

    def __init__(self, problem: PoolProblem, starts: Ints, seed: int) -> None:
        self._process = begin_process(_command())
        self._plans: queue.SimpleQueue[Ints] = queue.SimpleQueue()
        self._send((problem, starts, seed))
        threading.Thread(target=self._listen, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def wait(self, seconds: float) -> None:
        """Until the process ends, at most ``seconds``."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)

    def plans(self) -> list[Ints]:
        """What has arrived since the last call."""
        found = []
        while not self._plans.empty():
            found.append(self._plans.get())
        return found

    def tell(self, starts: Ints) -> None:
        """Hand over a better plan."""
        self._send(starts)

    def _send(self, message: object) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            pickle.dump(message, self._process.stdin)
            self._process.stdin.flush()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        with contextlib.suppress(EOFError, OSError, ValueError, pickle.UnpicklingError):
            while True:
                self._plans.put(pickle.load(self._process.stdout))


def serve(source: IO[bytes], target: IO[bytes]) -> None:
    """The helper's end: improve until the caller is gone."""
    problem, starts, seed = pickle.load(source)
    heard: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def listen() -> None:
        with contextlib.suppress(Exception):
            while True:
                heard.put(pickle.load(source))
        os._exit(0)

    threading.Thread(target=listen, daemon=True).start()
    incumbent = Incumbent(problem, starts, 0)
    told = incumbent.value
    for _ in improve(incumbent, seed):
        while not heard.empty():
            incumbent.offer(heard.get())
            told = min(told, incumbent.value)
        if incumbent.value < told:
            told = incumbent.value
            pickle.dump(incumbent.starts, target)
            target.flush()


def main() -> None:
    """Serve over the standard streams; a linear program keeps the end of the input waiting."""
    die_with(os.getppid())  # a parent that had gone before leaves an input at its end
    with contextlib.suppress(BrokenPipeError, KeyboardInterrupt):
        serve(sys.stdin.buffer, sys.stdout.buffer)
