"""The one place where inputs are read: files, devices, pipes and standard input, never without end.

What is read whole is bounded by --max-text. A log is read as it comes: a file ends by itself, and
what has no end of its own (:func:`is_stream`) is bounded by --max-unpacked where it begins as a log
and by --max-text where it does not. ``tests/formats/test_reading.py`` forbids other reads.

The kind of a file is recognised by its first lines, to report a wrong one in one sentence.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from errno import EACCES, EBADF, EISDIR
from io import BufferedReader, BytesIO, FileIO
from pathlib import Path
from typing import Any, BinaryIO, cast

from ..confined import check_inside, is_inside
from ..errors import InputError, Problem, unreadable
from ..input_limits import limits, too_many
from ..table_files import rows

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
            raise _too_long("text", source)
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
        bound = _bound(is_log(part))
        while part:
            copy.write(part)
            if copy.tell() > getattr(limits(), bound):
                raise _too_long(bound, shown)
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
    """A file that refuses to give more bytes than the limit `bound`, None for any number."""

    def __init__(self, path: Path, shown: str) -> None:
        super().__init__(path)
        self.bound: str | None = None
        self._shown = shown
        self._given = 0

    def readinto(self, buffer: Any, /) -> int | None:
        count = super().readinto(buffer)
        self._given += count or 0
        if self.bound is not None and self._given > getattr(limits(), self.bound):
            raise _too_long(self.bound, self._shown)
        return count


def _bound(is_log: bool) -> str:
    """Return the limit of the number of bytes of a stream."""
    return "unpacked" if is_log else "text"


def _too_long(bound: str, source: str) -> InputError:
    return InputError([Problem(too_many("bytes", bound), source)])


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
        raise _too_long("text", source)


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
    """Return the kind of a path that is not a file, such as a folder; else ""."""
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        return "a broken link" if path.is_symlink() else ""
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


#: Number of bytes that are examined.
HEAD = 8192
#: First bytes of a gzip file, and zlib's number for that format with the largest window.
GZIP, _GZIP_FORMAT = b"\x1f\x8b", 31
#: Kinds of which a file may be larger than any instance.
LOGS = ("swf", "acct", "events")


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of file that can be recognised from its beginning."""

    #: Name of the kind of file, for comparisons.
    name: str
    #: Description of the kind for people.
    text: str
    #: Command that reads such a file, "" if none does.
    use: str
    #: Advice on what to use instead if no command reads it.
    instead: str
    #: What a text of the kind has at its beginning, None if other signs tell it.
    begins: re.Pattern[str] | None


def _kinds() -> Iterator[Kind]:
    for name, text, use, instead, begins in rows(__package__, "kinds_of_file.tsv", 5):
        form = re.compile(begins, re.MULTILINE) if begins else None
        yield Kind(name, text, use, instead, form)


KINDS = {kind.name: kind for kind in _kinds()}
_RECORD = re.compile(r'\s*"([A-Z][A-Z0-9_]*)"\s+"\d')
_ACCT = frozenset({"JOB_FINISH", "EVENT_ADRSV_FINISH", "JOB_RESIZE", "JOB_ARRAY_ELEMENT"})
_EVENTS = frozenset(
    {"JOB_NEW", "JOB_FORWARD", "JOB_ACCEPT", "JOB_ACCEPTACK", "JOB_CHKPNT", "JOB_START"}
    | {"JOB_START_ACCEPT", "JOB_STATUS", "JOB_SWITCH", "JOB_SWITCH2", "JOB_MOVE", "QUEUE_CTRL"}
    | {"HOST_CTRL", "MBD_START", "MBD_DIE", "UNFULFILL", "LOAD_INDEX", "JOB_SIGACT", "MIG"}
    | {"JOB_MODIFY2", "JOB_SIGNAL", "JOB_EXECUTE", "JOB_REQUEUE", "JOB_CLEAN", "JOB_EXCEPTION"}
    | {"JOB_EXT_MSG", "JOB_ATTA_DATA", "JOB_CHUNK", "SBD_UNREPORTED_STATUS", "LOG_SWITCH"}
    | {"JOB_FORCE", "JGRP_NEW", "JGRP_STATUS", "JGRP_CNT", "JOB_ATTR_SET"}
)
_NUMBER = r"-?\d+(?:\.\d+)?"
_SWF = re.compile(rf"\s*{_NUMBER}(?:\s+{_NUMBER}){{10,}}\s*$")
_JSON = re.compile(r'"COMMAND"\s*:\s*"(\w+)"')
#: The first line of sacct -P, which is read as lsb.acct is.
SACCT_HEADER = re.compile(r"(?:[A-Za-z/]+\|)*JobID(?:Raw)?\|", re.IGNORECASE)


def kind_of_text(text: str) -> str:
    """Return the name of the kind of input that a text begins like, "" if unknown."""
    start = text.lstrip("\ufeff \t\r\n")
    if start.startswith("{"):
        return _kind_of_json(start)
    for line in start.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        if found := _RECORD.match(line):
            return "acct" if found[1] in _ACCT else "events" if found[1] in _EVENTS else ""
        if SACCT_HEADER.match(line):
            return "acct"
        if line.startswith(";") or _SWF.match(line):
            return "swf"
        break
    forms = ((kind.begins, kind.name) for kind in KINDS.values() if kind.begins)
    places = {name: found.start() for form, name in forms if (found := form.search(start))}
    if "bhist" in places and start.startswith("Job <"):  # bhist -l begins as bjobs -l does
        return "bhist"
    return min(places, key=lambda name: (places[name], name), default="")


def _kind_of_json(start: str) -> str:
    if (found := _JSON.search(start)) and found[1] in KINDS:
        return found[1]
    if found := re.search(r'"format"\s*:\s*"slotwise(-changes)?/', start):
        return "changes" if found[1] else "instance"
    if '"NUM_PLANS"' in start or '"PLANS"' in start:
        return "plan"
    return "pool" if re.search(r'"procs"\s*:', start) and '"format"' not in start else ""


def kind_of(path: str | Path) -> str:
    """Return the kind of a file, also gzipped; "" if unknown, unreadable or readable only once."""
    if not is_inside(path) or is_stream(Path(path)):
        return ""
    try:
        return _kind_of_head(beginning(Path(path), HEAD))
    except (OSError, ValueError):
        return ""


def begins_as_log(head: bytes) -> bool:
    """Return whether a stream with this beginning is a log, also gzipped."""
    return head.startswith(GZIP) or _kind_of_head(head) in LOGS


def _kind_of_head(head: bytes) -> str:
    """Return the kind of a file by its first bytes."""
    cut = len(head) >= HEAD
    if head.startswith(GZIP):
        try:
            head = zlib.decompressobj(_GZIP_FORMAT).decompress(head, HEAD)
        except zlib.error:
            return ""
        cut = True
    text = head.decode("utf-8-sig", errors="replace")
    # The last line may be cut.
    return kind_of_text(text.rpartition("\n")[0] if cut and "\n" in text else text)


def refuse_other(path: str | Path, *wanted: str) -> None:
    """Raise InputError with one line where a file is recognised as of another kind than wanted."""
    if wrong := other_kind(kind_of(path), *wanted):
        raise InputError([Problem(wrong, str(path))])


def other_kind(found: str, *wanted: str) -> str:
    """Return the message that kind `found` is not the wanted one; "" if it is, or is unknown."""
    if not found or found in wanted:
        return ""
    kind = KINDS[found]
    use = f": `{kind.use}` reads it" if kind.use else ""
    if kind.instead:
        use = f", which lists {kind.instead}"
    return f"is {kind.text}, not {' or '.join(KINDS[name].text for name in wanted)}{use}"


#: Words that only a scheduler of the open family prints in a listing, and which it is.
_OWN_WORDS = (("FAIRSAHRE", "volclava"), ("OpenLava system", "OpenLava"))


def family_of_words(texts: Iterable[str]) -> tuple[str, str]:
    """Return the scheduler family that prints such words, and the words; "" if none is found."""
    for text in texts:
        for words, family in _OWN_WORDS:
            if words in text:
                return family, words
    return "", ""


def lava_family(text: str) -> str:
    """Return "OpenLava" or "volclava" if a text names one of them, as lsid does, else ""."""
    found = re.search(r"openlava|volclava", text, re.IGNORECASE)
    return "" if found is None else "volclava" if found[0].lower() == "volclava" else "OpenLava"
