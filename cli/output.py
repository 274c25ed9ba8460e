"""Output files: instances, records and checkpoints, written whole or not at all.

The one way in which commands write files: whole or not at all, and what was there stays itself. A
regular file keeps its mode, owner and hard links, a symbolic link keeps pointing to it. What is no
regular file (a FIFO, a terminal, a device) is written to and never replaced, and so is a file that
is this process's own standard output.
"""

from __future__ import annotations

import io
import json
import os
import secrets
import shutil
import signal
import stat
import sys
import tempfile
import threading
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from errno import EACCES, EISDIR, ENOENT, ENXIO
from itertools import chain, islice
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, NoReturn, cast

import typer

from ..model.confined import check_inside
from ..model.errors import InputError, Problem, missing_package
from ..model.escaping import csv_lines
from .declare import option
from .options import interval_of, print_note
from .process import Exit

if TYPE_CHECKING:
    from ..model.instance import Instance


#: Bytes of an output that is written in place that are kept in memory before they go to disk.
_SPOOLED = 2**24
_STDOUT, _STDERR = 1, 2


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """Yield a binary file that replaces `path` if the block succeeds, and vanishes otherwise.

    Raises InputError if the file cannot be written.
    """
    check_inside(path)
    with _complaints(path), _terminable():
        there = _status(path)
        if there is not None and (stream := _own_stream(there)) is not None:
            with os.fdopen(os.dup(stream), "wb") as file:
                yield file
        elif there is not None and not stat.S_ISREG(there.st_mode):
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_NOCTTY | os.O_CLOEXEC), "wb") as file:
                yield file
        else:
            target = os.path.realpath(path)
            if there is not None and not os.access(target, os.W_OK):
                raise OSError(EACCES, os.strerror(EACCES))
            replaced = _replacing(target, there) if _may_replace(target, there) else None
            with replaced or _in_place(target) as file:
                yield file


def write_file(path: Path, content: bytes | str) -> None:
    """Write a file whole or not at all; raise InputError if it cannot be written."""
    with whole_file(path) as file:
        file.write(content.encode() if isinstance(content, str) else content)


def check_output(path: Path | None) -> None:
    """Raise InputError where no file can be written, before any work is done for it.

    path: None if no file is to be written.
    """
    if path is None:
        return
    check_inside(path)
    with _complaints(path):
        there = _status(path)
        folder = os.path.dirname(os.path.realpath(path))
        if there is not None and stat.S_ISDIR(there.st_mode):
            raise OSError(EISDIR, os.strerror(EISDIR))
        if there is not None and stat.S_ISSOCK(there.st_mode):
            raise OSError(ENXIO, "the path is a socket: give a file")
        if there is None and not os.path.isdir(folder):
            raise FileNotFoundError(ENOENT, f"no such folder {folder!r}")
        if not os.access(folder if there is None else path, os.W_OK):
            raise OSError(EACCES, os.strerror(EACCES))


def check_apart(outputs: Mapping[str, Path | None], inputs: Iterable[Path] = ()) -> None:
    """Raise InputError where one output would overwrite another, or a file that is still read.

    outputs: by their options. Only regular files can be overwritten; the null device may take all.
    """
    taken: dict[object, str] = {}
    for source in inputs:
        if not is_special(source):
            taken[_identity(source)] = f"the input {source}"
    for spelling, path in outputs.items():
        if path is None or is_special(path):
            continue
        key = _identity(path)
        if key in taken:
            same = f"{spelling} would overwrite {taken[key]}: give another file"
            raise InputError([Problem(same, str(path))])
        taken[key] = spelling


def _identity(path: Path) -> object:
    """Return an identity, equal for two paths to one file, by links too, existing or not."""
    try:
        there = os.stat(path)
    except OSError:
        return os.path.realpath(path)
    return there.st_dev, there.st_ino


def is_special(path: Path) -> bool:
    """Whether something stands there that is neither a regular file nor a folder."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


@contextmanager
def _complaints(path: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError([Problem(f"cannot be written: {reason}", str(path))]) from error


def _status(path: Path) -> os.stat_result | None:
    """Return the file status of the target of a path; None if it does not exist."""
    try:
        return os.stat(path)
    except FileNotFoundError:
        return None


def _own_stream(there: os.stat_result) -> int | None:
    """Return stdout or stderr if the path leads there: replacing it would lose text."""
    for stream in (_STDOUT, _STDERR):
        with suppress(OSError):
            mine = os.fstat(stream)
            if stat.S_ISREG(mine.st_mode) and os.path.samestat(mine, there):
                return stream
    return None


def _may_replace(target: str, there: os.stat_result | None) -> bool:
    """Whether a new file can be all that the present one is."""
    if there is None:
        return True
    own = there.st_uid == os.geteuid() and there.st_gid in (os.getegid(), *os.getgroups())
    return (
        there.st_nlink == 1
        and (own or os.geteuid() == 0)
        and os.access(os.path.dirname(target), os.W_OK | os.X_OK)
        and not _marked(target)
    )


def _marked(target: str) -> bool:
    """Whether it carries attributes (access lists, notes) that a new file would not have.

    What a security module gives every file is none of these.
    """
    with suppress(OSError, AttributeError):  # not every system, nor every file system, has them
        return any(not name.startswith("security.") for name in os.listxattr(target))
    return False


@contextmanager
def _replacing(target: str, there: os.stat_result | None) -> Iterator[BinaryIO]:
    """Yield a new file in the folder of `target`, renamed to it once it is safely on disk."""
    folder = os.path.dirname(target)
    name = os.path.join(folder, f".slotwise-{secrets.token_hex(8)}.tmp")
    mode = 0o666 if there is None else 0o600
    handle = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            if there is not None:
                if (there.st_uid, there.st_gid) != (os.geteuid(), os.getegid()):
                    os.fchown(handle, there.st_uid, there.st_gid)
                os.fchmod(handle, stat.S_IMODE(there.st_mode))
            os.fsync(handle)
        os.replace(name, target)
    except BaseException:
        with suppress(FileNotFoundError):  # an interrupt may come once it has its place
            os.unlink(name)
        raise
    _keep_name(folder)


def _keep_name(folder: str) -> None:
    """Write the folder's list of names to disk if the file system supports it."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@contextmanager
def _in_place(target: str) -> Iterator[BinaryIO]:
    """Yield a buffer for an existing file, which is written in place when the block ends.

    Disk space is allocated before the first byte is written: if the disk is full, the file keeps
    its content.
    """
    with tempfile.SpooledTemporaryFile(_SPOOLED) as content:
        yield cast("BinaryIO", content)
        size = content.tell()
        content.seek(0)
        with _undisturbed(), open(target, "r+b") as file:
            before = os.fstat(file.fileno()).st_size
            try:
                if size > before:
                    os.posix_fallocate(file.fileno(), 0, size)
            except OSError:
                file.truncate(before)
                raise
            shutil.copyfileobj(content, file)
            file.truncate(size)
            file.flush()
            os.fsync(file.fileno())


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Delay Ctrl-C and SIGTERM until the end of the block."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _terminable() -> Iterator[None]:
    """Let SIGTERM unwind like Ctrl-C within the block, so that no half-written file stays."""
    here = threading.current_thread() is threading.main_thread()
    if not here or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return

    def leave(_number: int, _frame: FrameType | None) -> NoReturn:
        sys.exit(Exit.TERMINATED)

    signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _checked(output: Path | None) -> Path | None:
    check_output(output)
    return output


@dataclass(frozen=True, slots=True)
class Written:
    """Target and format of a written instance."""

    output: Path | None = option(
        None,
        "File to write, .yaml or .json. Default: stdout, YAML.",
        "-o",
        "--output",
        callback=_checked,  # refused before any work is done where nothing could be written
    )
    format: Literal["yaml", "json"] | None = option(
        None, "Default: JSON for a file named .json, else YAML."
    )

    def write(self, instance: Instance) -> None:
        """Write the instance, as :func:`write_instance` does."""
        write_instance(instance, self.output, self.format)


def write_instance(
    instance: Instance, output: Path | None, notation: Literal["yaml", "json"] | None = None
) -> None:
    """Write YAML or JSON; without a notation JSON to a file named .json, else YAML.

    Raises InputError if the file cannot be written; there is never a part of one.
    """
    from ..model.formats import dump, dump_json

    if notation is None:
        named_json = output is not None and output.suffix.lower() == ".json"
        notation = "json" if named_json else "yaml"
    text = dump_json(instance) if notation == "json" else dump(instance)
    if output is None:
        typer.echo(text, nl=not text.endswith("\n"))
        return
    write_file(output, text)


#: Number of CSV lines that are written together.
_PART = 1000
#: Window bits by which zlib selects the gzip container, with the largest window.
_GZIP = 31

SUFFIXES = (".csv", ".csv.gz", ".json", ".json.gz", ".parquet")


def check_path(path: Path | None, suffixes: Sequence[str] = SUFFIXES) -> None:
    """Check that a file of records can be written there, before any work is done.

    path: None if no file is to be written.
    A FIFO, terminal or device may have any name; it gets CSV unless its name says otherwise.
    Raises InputError for an unknown suffix, a missing folder, or Parquet without pyarrow.
    """
    if path is None:
        return
    if suffixes and not path.name.endswith(tuple(suffixes)) and not is_special(path):
        known = ", ".join(suffixes)
        raise InputError([Problem(f"must be a name that ends in one of {known}", str(path))])
    check_output(path)
    if path.name.endswith(".parquet"):
        try:
            import pyarrow  # noqa: F401
        except ImportError:
            wrong = missing_package("pyarrow", "Parquet", "parquet")
            raise InputError([Problem(wrong, str(path))]) from None


def write_records(records: Iterable[Mapping[str, Any]], path: Path | None) -> None:
    """Write records of equal keys in the format that the name asks for; whole or not at all.

    But for Parquet they are written one after another and never all in memory. path: None if no
    file is to be written.
    """
    parts: Iterable[bytes]
    if path is None:
        return
    if path.name.endswith(".parquet"):
        import pyarrow
        import pyarrow.parquet

        rows = [{name: _cell(value) for name, value in record.items()} for record in records]
        buffer = io.BytesIO()
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), buffer)
        parts = [buffer.getvalue()]
    elif path.name.endswith((".json", ".json.gz")):
        parts = _json(records)
    else:
        parts = _csv(records)
    _write_parts(parts, path)


def write_text(text: str, path: Path) -> None:
    """Write text, compressed if the name ends in .gz; whole or not at all."""
    _write_parts((text.encode(),), path)


def _write_parts(parts: Iterable[bytes], path: Path) -> None:
    with whole_file(path) as file:
        file.writelines(_gzipped(parts) if path.name.endswith(".gz") else parts)


def _json(records: Iterable[Mapping[str, Any]]) -> Iterator[bytes]:
    """Yield a list, as ``json.dumps(…, indent=0)`` writes it."""
    before = "["
    for record in records:
        yield f"{before}\n{json.dumps(record, indent=0)}".encode()
        before = ","
    yield b"[]\n" if before == "[" else b"\n]\n"


def _csv(records: Iterable[Mapping[str, Any]]) -> Iterator[bytes]:
    """Yield allocations as ``2*hostA 3*hostB``; "" if they are unknown."""
    rest = iter(records)
    first = next(rest, None)
    if first is None:
        return
    rows = ([_cell(value) for value in record.values()] for record in chain((first,), rest))
    lines = csv_lines(first, rows)
    while part := "".join(islice(lines, _PART)):
        yield part.encode()


def _gzipped(parts: Iterable[bytes]) -> Iterator[bytes]:
    """Yield compressed data without a time stamp: equal content gives equal bytes."""
    packer = zlib.compressobj(9, zlib.DEFLATED, _GZIP)
    yield from map(packer.compress, parts)
    yield packer.flush()


def _cell(value: Any) -> Any:
    if isinstance(value, Mapping):
        return " ".join(f"{count}*{name}" for name, count in value.items())
    return value


@dataclass(frozen=True)
class Resuming:
    """Options for stopping and resuming a long run."""

    checkpoint: Path | None = option(None, "File to which Ctrl-C or SIGTERM writes the state.")
    checkpoint_every: str | None = option(
        None,
        "Also write --checkpoint at this interval (0.5s, 60s, 5m).",
        metavar="TIME",
    )
    resume: Path | None = option(None, "Continue from a checkpoint.")

    def checkpoints(self) -> Checkpoints:
        """Return the writer of checkpoints; raise InputError for an invalid path or time."""
        return Checkpoints.of(self.checkpoint, self.checkpoint_every)


@dataclass(slots=True)
class Checkpoints:
    """Writes the state of a run to `path` every `every` seconds (None: only when asked to)."""

    path: Path | None
    every: float | None = None
    #: Seconds that only go forward.
    clock: Callable[[], float] = time.monotonic
    _due: float = field(init=False)

    def __post_init__(self) -> None:
        self._due = self.clock() + (self.every or 0.0)

    @classmethod
    def of(cls, path: Path | None, every: str | None) -> Checkpoints:
        """Return the output of two options; raise InputError for an invalid path or time."""

        check_output(path)
        if every is None:
            return cls(path)
        if path is None:
            raise InputError("--checkpoint-every needs --checkpoint FILE")
        return cls(path, interval_of(every, "--checkpoint-every"))

    def when_due(self, state: Callable[[], str]) -> None:
        """Write what `state` gives if it is time to."""
        if self.every is not None and self.clock() >= self._due:
            self.write(state())
            self._due = self.clock() + self.every

    def write(self, state: str) -> None:
        """Replace the file as a whole; InputError if it cannot be written."""
        assert self.path is not None
        write_file(self.path, state)

    def leave(self, done: str, state: Callable[[], str]) -> NoReturn:
        """Write what `state` gives, if there is a path, say what was done, and exit with code 3."""
        if self.path is None:
            print_note(f"{done}; nothing was written (no --checkpoint)")
        else:
            self.write(state())
            print_note(f"{done}; continue with --resume {self.path}")
        raise typer.Exit(Exit.STOPPED)
