"""Standard streams that fail in one line: a full disk, a closed stream, a reader that has gone."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TextIO

_NAMES = ("<stdin>", "<stdout>", "<stderr>")


class _Output(io.FileIO):
    """A descriptor whose errors carry its name; what nobody reads any more is dropped in silence.

    So a command goes on to its end, and its exit code, when the reader of a pipe has enough.
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
    _fill_gaps()
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


def _fill_gaps() -> None:
    """Open the streams that are closed, in an order in which each gets its own number."""
    for number, mode in ((0, os.O_WRONLY), (1, os.O_RDONLY), (2, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, mode)


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
    """Let what could not be written go nowhere, or the end of the process would try it again."""
    if stream is not sys.__stdout__ and isinstance(getattr(stream.buffer, "raw", None), _Output):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.close(nowhere)
