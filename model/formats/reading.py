"""The one place where inputs are read: files, devices, pipes and standard input, never without end.

What is read whole is bounded by --max-text. A log is read as it comes: a file ends by itself, and
what has no end of its own (:func:`is_stream`) is bounded by --max-unpacked where it begins as a log
and by --max-text where it does not. ``tests/formats/test_reading.py`` forbids other reads.
"""

from __future__ import annotations

import hashlib
import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from errno import EACCES, EBADF, EISDIR
from io import BufferedReader, BytesIO, FileIO
from pathlib import Path
from typing import Any, BinaryIO, cast

from ..confined import check_inside
from ..errors import InputError, Problem, unreadable
from ..input_limits import limits

#: Bytes that are read at a time, and ahead.
_PART, _BUFFER = 2**20, 2**16


def file_bytes(path: Path, source: str = "") -> bytes:
    """Return the bytes of a file or device, up to the limit; messages call it `source`.

    Raises InputError if it cannot be read or exceeds the limit.
    """
    check_inside(path, source)
    try:
        with path.open("rb") as file:
            return stream_bytes(file, source or str(path))
    except (OSError, ValueError) as error:
        raise unreadable(source or path, error) from None


def standard_input() -> bytes:
    """Return all of standard input; raises InputError if it is closed, unreadable or too long."""
    with _standard_input() as stream:
        return stream_bytes(stream, "<stdin>")


def stream_bytes(stream: BinaryIO, source: str) -> bytes:
    """Return the bytes of a stream to its end; raises InputError beyond the limit."""
    most = limits().text
    content = BytesIO()
    # A single read of the whole limit would allocate that much memory.
    while part := stream.read(min(_PART, most + 1 - content.tell())):
        content.write(part)
        if content.tell() > most:
            raise _too_long(most, "--max-text", source)
    return content.getvalue()


#: Whether a stream that begins so is a log.
IsLog = Callable[[bytes], bool]


def no_log(_head: bytes) -> bool:
    """Return False: a test for callers that read no logs."""
    return False


def spool(source: Path, target: Path, shown: str, is_log: IsLog) -> None:
    """Copy a stream, standard input for "-", to a file; messages call it `shown`.

    Raises InputError where it cannot be read or has more bytes than are read.
    """
    opener = _standard_input() if str(source) == "-" else opened(source, shown)
    with target.open("wb") as copy, opener as stream:
        part = stream.read1(_PART)
        most, option = _bound(is_log(part))
        while part:
            copy.write(part)
            if copy.tell() > most:
                raise _too_long(most, option, shown)
            part = stream.read1(_PART)


@contextmanager
def opened(path: Path, source: str = "", is_log: IsLog | None = None) -> Iterator[BufferedReader]:
    """Return an open stream of a file; messages name it `source`.

    is_log: whether a stream is one; None if the caller bounds what it reads.
    Raises InputError where it cannot be read, also from the block, or a stream has more bytes than
    are read.
    """
    check_inside(path, source)
    shown = source or str(path)
    try:
        raw = _Counted(path, shown)
        with BufferedReader(raw, _BUFFER) as file:
            if is_log is not None and not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raw.bound = _bound(is_log(file.peek()))
            yield cast("BufferedReader", file)
    except (OSError, EOFError, ValueError) as error:
        raise unreadable(shown, error) from error


def beginning(path: Path, size: int) -> bytes:
    """Return the first bytes of a file; raises OSError if it cannot be read."""
    with path.open("rb") as file:
        return file.read(size)


def digest(path: Path) -> str:
    """Return the SHA-256 of a file; raises InputError if it is unreadable or endless."""
    found = hashlib.sha256()
    with opened(path, is_log=no_log) as file:
        while part := file.read1(_PART):
            found.update(part)
    return found.hexdigest()


class _Counted(FileIO):
    """A file that refuses to give more bytes than its bound, None for any number."""

    def __init__(self, path: Path, shown: str) -> None:
        super().__init__(path)
        self.bound: tuple[int, str] | None = None
        self._shown = shown
        self._given = 0

    def readinto(self, buffer: Any, /) -> int | None:
        count = super().readinto(buffer)
        self._given += count or 0
        if self.bound is not None and self._given > self.bound[0]:
            raise _too_long(*self.bound, self._shown)
        return count


def _bound(is_log: bool) -> tuple[int, str]:
    """Return the maximum number of bytes of a stream, and the option that sets it."""
    return (limits().unpacked, "--max-unpacked") if is_log else (limits().text, "--max-text")


def _too_long(most: int, option: str, source: str) -> InputError:
    return InputError([Problem(f"has more than {most:,} bytes ({option})", source)])


@contextmanager
def _standard_input() -> Iterator[BufferedReader]:
    """Return standard input; raises InputError if it is closed or unreadable."""
    try:
        if sys.stdin is None:
            raise OSError(EBADF, os.strerror(EBADF))
        yield cast("BufferedReader", sys.stdin.buffer)
    except OSError as error:
        raise unreadable("<stdin>", error) from error


def check_length(text: str | bytes, source: str) -> None:
    """Raise InputError if a text is longer than the limit."""
    if len(text) > limits().text:
        raise _too_long(limits().text, "--max-text", source)


def check_readable(path: Path) -> None:
    """Raise InputError if a file cannot be opened; a stream is not opened."""
    check_inside(path)
    try:
        if stat.S_ISDIR(os.stat(path).st_mode):
            raise IsADirectoryError(EISDIR, os.strerror(EISDIR))
        if not os.access(path, os.R_OK):
            raise PermissionError(EACCES, os.strerror(EACCES))
    except (OSError, ValueError) as error:
        raise unreadable(path, error) from None


def is_stream(path: Path) -> bool:
    """Return whether a path is a pipe or a device: readable once, possibly without end."""
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def odd_kind(path: Path) -> str:
    """Return the kind of a path that is no file, such as a folder; "" for a file or if missing."""
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        return "a link to nothing" if path.is_symlink() else ""
    except (OSError, ValueError):
        return ""
    kinds = (
        (stat.S_ISDIR, "a folder"),
        (stat.S_ISFIFO, "a pipe"),
        (stat.S_ISSOCK, "a socket"),
        (lambda mode: stat.S_ISCHR(mode) or stat.S_ISBLK(mode), "a device"),
    )
    return next((kind for is_kind, kind in kinds if is_kind(mode)), "")


def no_file(path: Path) -> InputError:
    """Return the error message for the kind that :func:`odd_kind` returns."""
    return InputError([Problem(f"is {odd_kind(path)}, not a file", str(path))])
