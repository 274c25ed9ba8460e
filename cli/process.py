"""Exit codes, signals and output streams of the command's process."""

from __future__ import annotations

import io
import os
import signal
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar, copy_context
from dataclasses import dataclass, field
from enum import IntEnum
from types import FrameType
from typing import ClassVar, NoReturn, TextIO

import typer

from .options import print_note


class Exit(IntEnum):
    """What a command's exit code says.

    DONE. FAILED: infeasible under --strict, or a requirement string that is refused. BAD_INPUT.
    REFUSED: there is a plan, and the judge objects to it. FAULT: of slotwise itself (as sysexits
    has it). OUT_OF_MEMORY: there was too little, or the limit came (sysexits' OSERR).
    STOPPED: early, with a partial answer. INTERRUPTED, TERMINATED: by Ctrl-C or SIGTERM before
    there was any answer (128 and the number of the signal, as shells do).
    """

    DONE = 0
    FAILED = 1
    BAD_INPUT = 2
    STOPPED = 3
    REFUSED = 4
    FAULT = 70
    OUT_OF_MEMORY = 71
    INTERRUPTED = 130
    TERMINATED = 143


#: When the command began (monotonic seconds), so that its time limit counts all that it does.
_BEGAN: ContextVar[float | None] = ContextVar("began", default=None)
#: Time of checking and writing an answer, as a share of the reading time.
KEPT = 0.75


@dataclass(slots=True, kw_only=True)
class BackgroundWork:
    """Work in a thread of its own until it is stopped."""

    #: Seconds to wait for the thread at the end.
    PATIENCE: ClassVar[float] = 1.0
    stopping: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def start(self) -> None:
        """Start the thread, in the context of the caller."""
        run, name = copy_context().run, type(self).__name__
        self._thread = threading.Thread(target=run, args=(self._run,), name=name, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop the work and wait for the thread; what waits is lost."""
        self.stopping.set()
        self._wake()
        if self._thread is not None:
            self._thread.join(self.PATIENCE)

    @property
    def is_alive(self) -> bool:
        """Whether the thread runs."""
        return self._thread is not None and self._thread.is_alive()

    def _run(self) -> None:
        """Do the work until `stopping` is set."""
        raise NotImplementedError

    def _wake(self) -> None:
        """Wake the thread if it waits for anything but `stopping`."""


@contextmanager
def timed_from_now() -> Iterator[None]:
    """Start the time limit of a command, which runs within the block."""
    token = _BEGAN.set(time.monotonic())
    try:
        yield
    finally:
        _BEGAN.reset(token)


def left_of(limit: float | None, kept: float = KEPT) -> float | None:
    """Return the seconds left of a time limit of the whole command; None and 0 stay.

    kept: for writing the answer up, as a share of the seconds used so far; half of the rest at
    most.
    """
    from ..solver.budget import MIN_LIMIT

    began = _BEGAN.get()
    if limit is None or limit == 0 or began is None:
        return limit
    used = time.monotonic() - began
    left = limit - used
    return max(MIN_LIMIT, left - min(kept * used, left / 2))


def give(text: str, remarks: Iterable[str] = (), *, is_partial: bool = False) -> None:
    """Print remarks on stderr, then an answer; exit with code 3 if it was stopped early."""
    print_note(*remarks)
    typer.echo(text, nl=False)
    if is_partial:
        raise typer.Exit(Exit.STOPPED)


def end_on_sigterm(_number: int, _frame: FrameType | None) -> NoReturn:
    """Handle SIGTERM by default: close open files and end; a second SIGTERM kills."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    sys.exit(Exit.TERMINATED)


class Cancel(threading.Event):
    """Set once SIGINT or SIGTERM has come."""

    #: The first of them, None before.
    number: int | None = None
    #: Whether there is nothing yet that could be brought to an end.
    nothing_yet: bool = False

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Let a signal end the command while inputs are read within the block."""
        self.nothing_yet = True
        try:
            if self.is_set():
                self.leave()
            yield
        finally:
            self.nothing_yet = False

    def leave(self) -> NoReturn:
        """End the command as one that was stopped before there was any answer."""
        if self.number == signal.SIGTERM:
            sys.exit(Exit.TERMINATED)
        raise KeyboardInterrupt


@contextmanager
def cancel_on_signal(*, at_once: bool = False) -> Iterator[Cancel]:
    """Yield an event that SIGINT or SIGTERM sets; a second signal kills.

    Outside the main thread signals cannot be caught and it is never set. at_once: there is nothing
    to bring to an end first; KeyboardInterrupt or SystemExit is raised wherever it is.
    """
    cancel = Cancel()

    def ask(number: int, _frame: FrameType | None) -> None:
        cancel.number = number
        cancel.set()
        if cancel.nothing_yet:
            cancel.leave()
        # The message bypasses sys.stderr: the signal may interrupt a write to sys.stderr.
        with suppress(OSError):
            os.write(2, b"slotwise: stopping with what there is so far (once more: at once)\n")
        kills = number == signal.SIGTERM and before[signal.SIGTERM] is end_on_sigterm
        signal.signal(number, signal.SIG_DFL if kills else before[signal.Signals(number)])
        if at_once:
            cancel.leave()

    if threading.current_thread() is not threading.main_thread():
        yield cancel
        return
    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield cancel
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


_NAMES = ("<stdin>", "<stdout>", "<stderr>")


class _Output(io.FileIO):
    """A descriptor whose errors carry its name; output to a closed pipe is dropped silently.

    So a command runs to its end, with its exit code, when the reader of a pipe stops early.
    """

    def write(self, data, /):  # type: ignore[no-untyped-def]
        try:
            return super().write(data)
        except BrokenPipeError:
            return memoryview(data).nbytes
        except OSError as error:
            raise OSError(error.errno, error.strerror, _NAMES[self.fileno()]) from None


@contextmanager
def guarded_streams() -> Iterator[None]:
    """Put guards before standard output and error, and stand-ins where a stream is closed.

    Without a stand-in the next file that is opened would get the stream's number, and messages.
    A stand-in for output or input fails when it is used, one for messages takes them all. At the
    end standard output is flushed: OSError (with the stream's name) if that fails.
    """
    for number, mode in ((0, os.O_WRONLY), (1, os.O_RDONLY), (2, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, mode)
    before = sys.stdout, sys.stderr
    try:
        if sys.stdout is None or sys.stdout is sys.__stdout__:
            sys.stdout = _guarded(1, sys.stdout)
        if sys.stderr is None or sys.stderr is sys.__stderr__:
            sys.stderr = _guarded(2, sys.stderr)
        try:
            yield
        finally:
            sys.stdout.flush()
    except OSError:
        _drop(sys.stdout)
        raise
    finally:
        with suppress(OSError):
            sys.stderr.flush()
        sys.stdout, sys.stderr = before


def _guarded(number: int, stream: TextIO | None) -> TextIO:
    terminal = os.isatty(number)
    errors = "backslashreplace" if stream is None or stream.errors == "strict" else stream.errors
    if stream is not None:
        stream.flush()
    return io.TextIOWrapper(
        io.BufferedWriter(_Output(number, "wb", closefd=False)),
        encoding="utf-8" if stream is None else stream.encoding,
        errors=errors,
        line_buffering=terminal or number == 2,
    )


def _drop(stream: TextIO) -> None:
    """Drop output that could not be written, or the end of the process would write it again."""
    if stream is not sys.__stdout__ and isinstance(getattr(stream.buffer, "raw", None), _Output):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.close(nowhere)
