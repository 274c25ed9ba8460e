"""A program on a terminal of its own: keys go in, its output comes out."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import sys
import termios
import time
from types import TracebackType
from typing import Any, Self

#: Seconds until something has to be seen.
LIMIT = 60


class OnTerminal:
    """`slotwise` in a child of this process, on a terminal of `size` columns and lines.

    fresh: as a program of its own, which inherits no threads, locks or handlers from the tests.
    """

    def __init__(
        self,
        *words: object,
        size: tuple[int, int] = (80, 24),
        environment: Any = None,
        fresh: bool = False,
    ) -> None:
        from slotwise.cli import start

        self.said = ""
        self.code: int | None = None
        self.child, self.terminal = pty.fork()
        if self.child == 0:
            os.environ.pop("COLUMNS", None)
            os.environ.pop("LINES", None)
            os.environ.update({"TERM": "xterm", **(environment or {})})
            code = 1
            try:
                signal.alarm(2 * LIMIT)
                if fresh:
                    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
                    program = [sys.executable, "-m", "slotwise", *map(str, words)]
                    os.execv(sys.executable, program)
                for number, mode in ((0, "r"), (1, "w"), (2, "w")):
                    stream = open(number, mode, encoding="utf-8", closefd=False)  # noqa: SIM115
                    setattr(sys, ("stdin", "stdout", "stderr")[number], stream)
                sys.argv = ["slotwise", *map(str, words)]
                fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
                start.main()
                code = 0
            except SystemExit as left:
                code = left.code if isinstance(left.code, int) else int(left.code is not None)
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(code)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: object, trace: TracebackType | None
    ) -> None:
        if self.code is None:
            os.kill(self.child, signal.SIGKILL)
            os.waitpid(self.child, 0)
        os.close(self.terminal)

    def said_until(self, words: str) -> None:
        """Wait until the program has written this; AssertionError if it never does."""
        end = time.monotonic() + LIMIT
        while words not in self.said:
            left = end - time.monotonic()
            assert left > 0, self.said[-3000:]
            assert self._read(left), self.said[-3000:]

    def press(self, keys: str) -> None:
        os.write(self.terminal, keys.encode())

    def ended(self) -> int:
        """The exit code, once the program has ended."""
        while self._read(LIMIT):
            pass
        self.code = os.waitstatus_to_exitcode(os.waitpid(self.child, 0)[1])
        return self.code

    def _read(self, seconds: float) -> bool:
        """Take what has come; False if nothing will come any more."""
        ready, _, _ = select.select([self.terminal], [], [], seconds)
        if not ready:
            return True
        try:
            data = os.read(self.terminal, 65536)
        except OSError:  # the program has ended
            return False
        self.said += data.decode("utf-8", "replace")
        return bool(data)
