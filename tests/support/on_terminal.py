"""A program on a terminal of its own: keys go in, whole screens come out."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

#: Seconds until something has to be seen.
LIMIT = 60
_STYLE = re.compile(r"\x1b\[[0-9;]*m")


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

    @property
    def screen(self) -> list[str]:
        """The lines of the last whole screen, without styles."""
        whole = self.said.split("\x1b[H")[-1].split("\x1b[J")[0]
        return [_STYLE.sub("", line).rstrip() for line in whole.replace("\x1b[K", "").split("\r\n")]

    @property
    def text(self) -> str:
        """The last whole screen as one text."""
        return "\n".join(self.screen)

    def until(self, holds: Callable[[str], bool]) -> str:
        """The screen, as soon as this holds of it; AssertionError if it never does."""
        end = time.monotonic() + LIMIT
        while not (self.said.endswith("\x1b[J") and holds(self.text)):
            left = end - time.monotonic()
            assert left > 0, self.text
            assert self._read(left), self.said[-3000:]
        return self.text

    def shows(self, *words: str) -> str:
        """The screen, as soon as all these words are on it."""
        return self.until(lambda text: all(word in text for word in words))

    def press(self, keys: str) -> None:
        os.write(self.terminal, keys.encode())

    def resize(self, columns: int, lines: int) -> None:
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def modes(self) -> list[Any]:
        """How the terminal treats keys."""
        return termios.tcgetattr(self.terminal)[:4]

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


def copy_of(source: Path, folder: Path) -> Path:
    """A file that may be changed."""
    target = folder / source.name
    target.write_text(source.read_text("utf-8"), encoding="utf-8")
    return target
