"""The lines of a log, plain or gzipped, one at a time and none too long."""

from __future__ import annotations

import gzip
import math
import zlib
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, TypeVar, cast

from ..errors import InputError, Problem, unreadable
from ..formats.reading import GZIP, begins_as_log, opened
from ..input_limits import limits, too_many

_Number = TypeVar("_Number", int, float)
#: First bytes of files compressed by programs other than gzip.
_PACKED = {b"BZh": "bzip2", b"\xfd7zXZ": "xz", b"\x28\xb5\x2f\xfd": "zstd", b"PK\x03\x04": "zip"}
#: Characters of a complaint about one line.
_LONGEST = 300
#: Bytes that any packed log may unpack to, however small it is.
_ALWAYS = 2**24
#: Bytes that a line of a packed log counts for at least: empty ones cost time too.
_LEAST = 64
#: Largest number in a record, positive or negative: larger than any measurement, while sums of
#: hundreds of them fit into 64 bits.
MAX_NUMBER = 2**53


def in_range(value: _Number, name: str, word: str) -> _Number:
    """Return a number of a record; raises ValueError if it exceeds the range of logs."""
    if not -MAX_NUMBER <= value <= MAX_NUMBER:
        raise ValueError(f"{name} must be a number within ±{MAX_NUMBER}, not {word!r}")
    return value


def number_of(word: str, name: str, where: str = "") -> float:
    """Return the number of a word of a record; where: end of the message, the position in the line.

    Raises ValueError for a word that is not a number.
    """
    try:
        value = float(word)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or "_" in word:
        raise ValueError(f"{name} must be a number, not {word!r}{where}")
    return in_range(value, name, word)


def log_lines(path: Path) -> Iterator[str]:
    """Yield the lines of a file as text.

    Raises InputError if it cannot be read, has a line that is too long, or unpacks to too much, in
    total or in proportion to its size.
    """
    try:
        with opened(path, is_log=begins_as_log) as file:
            head = file.peek(5)[:5]
            for begin, name in _PACKED.items():
                if head.startswith(begin):
                    message = (
                        f"is compressed with {name}: decompress it first, or compress it with gzip"
                    )
                    raise InputError([Problem(message, str(path))])
            packed = head.startswith(GZIP)
            content = gzip.GzipFile(fileobj=file) if packed else file
            taken = file.tell if packed else None
            yield from _decoded(cast("IO[bytes]", content), str(path), taken)
    except zlib.error as error:
        raise unreadable(path, error) from error


def _decoded(content: IO[bytes], source: str, taken: Callable[[], int] | None) -> Iterator[str]:
    """Yield the lines of a stream. taken: number of bytes read from a packed file so far."""
    longest = limits().line
    total = counted = number = 0
    while line := content.readline(longest + 1):
        number += 1
        total += len(line)
        counted += max(len(line), _LEAST)
        if len(line) > longest:
            raise InputError([Problem(too_many("bytes", "line"), source, number)])
        if taken is not None and (wrong := _swells(total, counted, taken)):
            raise InputError([Problem(wrong, source, number)])
        if number == 1:
            if line.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
                raise InputError([Problem("is UTF-16: a log must be UTF-8 text", source)])
            line = line.removeprefix(BOM_UTF8)
        yield line.decode("utf-8", errors="replace")


def _swells(total: int, counted: int, taken: Callable[[], int]) -> str:
    """Return the error if `total` bytes are too many for a packed log, or for its size; else "".

    counted: bytes, with short lines counted as :data:`_LEAST`.
    """
    most, ratio = limits().unpacked, limits().ratio
    if total > most:
        return too_many("bytes when unpacked", "unpacked")
    if counted > _ALWAYS and counted > ratio * taken():
        return f"unpacks to more than {ratio:,} times its size: raise --max-ratio"
    return ""


def malformed(error: Exception, source: str, line: int) -> Problem:
    """Return the problem of one malformed record; a long quotation is truncated."""
    message = str(error)
    if len(message) > _LONGEST:
        message = f"{message[:_LONGEST]} …"
    return Problem(message, source, line)


def refused_records(problems: Iterable[Problem], well_formed: int = 1) -> InputError:
    """Return the error for a log with malformed records.

    well_formed: number of other records. If there are any, the error names the option that skips
    malformed records.
    """
    hint = "--keep-going skips and counts such records and reads the others"
    return InputError(problems, hint if well_formed else "")


def check_records(number: int, source: str) -> None:
    """Raise InputError if a log has more records than allowed."""
    if number > limits().jobs:
        raise InputError([Problem(too_many("records", "jobs"), source)])


class BadRecords:
    """Malformed records of a log: the first in full, the rest counted."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self.count = 0
        #: Number of records with small errors that were corrected.
        self.repaired = 0
        #: The first cells that could not be read of records that count otherwise, and their jobs.
        self.cells: list[tuple[Problem, int]] = []
        self.cell_count = 0

    def add(self, problem: Problem) -> None:
        """Add one problem."""
        self.count += 1
        if self.count <= limits().errors + 1:
            self.problems.append(problem)

    def add_cells(self, messages: Sequence[str], job: int, source: str, line: int) -> None:
        """Add cells of a job's record that could not be read and are treated as missing."""
        self.cell_count += len(messages)
        for message in messages[: max(0, limits().errors - len(self.cells))]:
            what = malformed(ValueError(f"job {job}: {message}: treated as unknown"), source, line)
            self.cells.append((what, job))

    def told_cells(self) -> list[str]:
        """Return a line for each of the first unreadable cells, and the number of all."""
        lines = [str(problem) for problem, _ in self.cells]
        more = self.cell_count - len(lines)
        return lines + ([f"and {more:,} more cells that cannot be read"] if more else [])

    def merge(self, first: Sequence[Problem], count: int) -> None:
        """Add `count` problems, with `first` as the first of the file."""
        self.count += count
        both = sorted((*self.problems, *first), key=lambda problem: problem.line or 0)
        self.problems = both[: limits().errors + 1]

    def report(self) -> list[Problem]:
        """Return the first problems, and the number of malformed records."""
        if self.count <= limits().errors + 1:
            return self.problems
        first = self.problems[: limits().errors]
        more = f"and {self.count - len(first):,} more bad records ({self.count:,} in all)"
        return [*first, Problem(more, first[-1].source)]
