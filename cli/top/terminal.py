"""The terminal that the page takes over: its keys, its size, and back as it was at the end."""

from __future__ import annotations

import os
import select
import shutil
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from types import FrameType
from typing import TYPE_CHECKING, Any, Self

from ...model.errors import InputError
from .keys import KeyReader

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

#: Sequences to the terminal's alternate screen without cursor, and back.
_ENTER, _LEAVE = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l"
_TOP, _END_OF_LINE, _END_OF_PAGE = "\x1b[H", "\x1b[K", "\x1b[J"
#: Seconds after which ESC is no beginning of a sequence any more.
_SEQUENCE_WAIT = 0.05
#: Columns and lines if the terminal gives none.
_SIZE = (80, 24)


def is_live() -> bool:
    """Whether there is a terminal to paint on and to read keys from."""
    return sys.stdin.isatty() and sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb"


@dataclass(slots=True)
class LiveTerminal:
    """Standard input and output while the page has them. Use as a context manager."""

    #: Wakes the reader of keys from another thread.
    _awake: tuple[int, int] = (-1, -1)
    _keys: KeyReader = field(default_factory=KeyReader)
    _before: Any = None
    _painted: str = ""
    _console: Console | None = None
    _on_stop: Any = None

    def __enter__(self) -> Self:
        self._awake = os.pipe()
        os.set_blocking(self._awake[1], False)
        self._take()
        self._on_stop = signal.signal(signal.SIGTSTP, self._stop)
        return self

    def __exit__(self, *_: object) -> None:
        signal.signal(signal.SIGTSTP, self._on_stop)
        self._return()
        for end in self._awake:
            os.close(end)
        self._awake = (-1, -1)

    def _take(self) -> None:
        import termios
        import tty

        self._before = termios.tcgetattr(0)
        tty.setcbreak(0)  # keys as they are typed; Ctrl-C and Ctrl-Z stay signals
        self._painted = ""
        self._write(_ENTER)

    def _return(self) -> None:
        import termios

        with suppress(OSError):
            self._write(_LEAVE)
        with suppress(termios.error):  # the terminal has gone
            termios.tcsetattr(0, termios.TCSADRAIN, self._before)

    def _stop(self, _number: int, _frame: FrameType | None) -> None:
        """Handle Ctrl-Z: restore the shell's terminal until the page is in front again."""
        self._return()
        os.kill(os.getpid(), signal.SIGSTOP)
        self._take()

    @property
    def size(self) -> tuple[int, int]:
        """Return the current numbers of columns and lines."""
        columns, lines = shutil.get_terminal_size(_SIZE)
        with suppress(OSError):  # what the terminal says comes before COLUMNS: it may change
            columns, lines = os.get_terminal_size(1)
        return max(columns, 20), max(lines, 4)

    def wake(self) -> None:
        """End the wait for keys, from any thread."""
        with suppress(OSError):
            os.write(self._awake[1], b".")

    def keys(self, seconds: float) -> list[str]:
        """Return the keys that come within this time, as soon as there are some.

        EOFError if the terminal has gone.
        """
        wait = _SEQUENCE_WAIT if self._keys.is_within else seconds
        ready, _, _ = select.select([0, self._awake[0]], [], [], wait)
        if self._awake[0] in ready:
            os.read(self._awake[0], 4096)
        if 0 in ready:
            data = os.read(0, 4096)
            if not data:
                raise EOFError
            return list(self._keys.feed(data))
        return list(self._keys.flush()) if self._keys.is_within and not ready else []

    def show(self, lines: Sequence[Text], *, force: bool = False) -> None:
        """Paint a whole page if it differs from the shown one."""
        page = f"{_END_OF_LINE}\r\n".join(map(self._ansi, lines)) + _END_OF_LINE + _END_OF_PAGE
        if force or page != self._painted:
            self._write(_TOP + page)
            self._painted = page

    def _ansi(self, line: Text) -> str:
        from rich.console import Console

        if self._console is None:
            self._console = Console(
                file=sys.stdout, force_terminal=True, markup=False, highlight=False, emoji=False
            )
        with self._console.capture() as found:
            self._console.print(line, end="", soft_wrap=True)
        return found.get()

    def _write(self, text: str) -> None:
        """Write to the terminal without sys.stdout, which Ctrl-Z's signal may interrupt."""
        data = text.encode(sys.stdout.encoding or "utf-8", "replace")
        while data:
            data = data[os.write(1, data) :]


def check_terminal() -> None:
    """Raise InputError if this system has no terminals of the kind that the page needs."""
    try:
        import termios  # noqa: F401
    except ImportError:
        raise InputError("this system has no terminal that top can use: --once prints it") from None
