"""Reading logs in the Standard Workload Format (SWF), plain or gzipped.

A log is text: header comments ``; Name: value``, then one job a line in 18 numeric columns
(D. G. Feitelson, Parallel Workloads Archive, "The Standard Workload Format"). -1 means unknown.
Further columns are allowed and not read.
"""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ..errors import InputError, Problem
from ..workload import Workload
from .sniff import refuse_other

COLUMNS = 18
"""Columns that a record must have."""

_READ = {  # the columns that are read, by position, and what they are called in messages
    0: "job number",
    1: "submit time",
    3: "run time",
    7: "requested processors",
    8: "requested time",
    11: "user",
    14: "queue",
}
_NAMES = ("job", "submit", "run_time", "procs", "req_time", "user", "queue")
_LIMIT = 2**53  # larger seconds or processors are not numbers that anyone measured
_HEADER = re.compile(r";+\s*([A-Za-z][\w ]*?)\s*:\s*(.*?)\s*$")


@dataclass(frozen=True, slots=True)
class SwfLog:
    """What one file holds: its well-formed records in file order, and the malformed ones.

    waits: recorded seconds from submission to start by job number, where the log has them.
    """

    workload: Workload
    problems: tuple[Problem, ...]
    waits: Mapping[int, int] = field(default_factory=dict)


def read_swf(path: str | Path, *, keep_going: bool = False) -> SwfLog:
    """Read ``.swf`` or ``.swf.gz`` without leaving out any well-formed record.

    Pass the workload through `slotwise.model.workload.canonical` before a replay. Malformed
    records are all reported: with `keep_going` in `SwfLog.problems`, otherwise by InputError.

    Raises
    ------
    InputError
        The file cannot be read, or holds malformed records and `keep_going` is false.
    """
    refuse_other(path, "swf")
    log = parse_swf(_lines(Path(path)), source=str(path))
    if log.problems and not keep_going:
        raise InputError(log.problems)
    return log


def parse_swf(lines: Iterable[str], source: str = "") -> SwfLog:
    """The same as `read_swf` for lines at hand, with ``keep_going``."""
    header: dict[str, str] = {}
    records: list[tuple[int, ...]] = []
    problems: list[Problem] = []
    seen: dict[int, int] = {}
    waits: dict[int, int] = {}
    for number, line in enumerate(lines, start=1):
        words = line.split()
        if not words:
            continue
        if words[0].startswith(";"):
            if found := _HEADER.match(line.strip()):
                header.setdefault(found[1], found[2])
            continue
        try:
            record = _record(words)
            if record[0] in seen:
                before = seen[record[0]]
                raise ValueError(f"job number {record[0]} is already used at line {before}")
        except ValueError as error:
            problems.append(Problem(str(error), source, number))
        else:
            seen[record[0]] = number
            records.append(record)
            if (wait := int(_number(words[2], "wait"))) >= 0:
                waits[record[0]] = wait
    table = np.array(records, dtype=np.int64).reshape(-1, len(_NAMES))
    columns = {name: np.ascontiguousarray(table[:, i]) for i, name in enumerate(_NAMES)}
    workload = Workload(
        **columns,
        max_procs=_max_procs(header),
        source=source,
        header=header,
        left_out={"malformed record": len(problems)} if problems else {},
    )
    return SwfLog(workload, tuple(problems), waits)


def _record(words: list[str]) -> tuple[int, ...]:
    """The columns that are read, as ints; ValueError says in a sentence what is malformed."""
    if len(words) < COLUMNS:
        raise ValueError(f"{len(words)} columns; a record has {COLUMNS}")
    record = tuple(_whole(words[position], name) for position, name in _READ.items())
    for position in range(COLUMNS):
        if position not in _READ:
            _number(words[position], f"column {position + 1}")
    if record[0] < 0:
        raise ValueError(f"job number {record[0]}; it must not be negative")
    if record[1] < 0:
        raise ValueError(f"submit time {record[1]}; it must not be negative")
    for value, name in zip(record[2:5], tuple(_READ.values())[2:5], strict=True):
        if value < -1:
            raise ValueError(f"{name} {value}; it must be positive, or -1 for unknown")
    return record


def _whole(word: str, name: str) -> int:
    try:
        value = int(word.replace("_", "?"))  # int() would take 1_000
    except ValueError:
        number = _number(word, name)
        if not number.is_integer():
            raise ValueError(f"{name} '{word}'; it must be a whole number") from None
        value = int(number)
    if abs(value) > _LIMIT:
        raise ValueError(f"{name} '{word}' is out of range")
    return value


def _number(word: str, name: str) -> float:
    try:
        value = float(word)
    except ValueError:
        raise ValueError(f"{name} '{word}' is not a number") from None
    if not abs(value) < float("inf") or "_" in word:
        raise ValueError(f"{name} '{word}' is not a number")
    return value


def _max_procs(header: dict[str, str]) -> int | None:
    """The machine's size as the header states it: MaxProcs, or MaxNodes where that is missing."""
    for name in ("MaxProcs", "MaxNodes"):
        if (found := re.match(r"\d+", header.get(name, ""))) and int(found[0]) > 0:
            return int(found[0])
    return None


def _lines(path: Path) -> Iterator[str]:
    try:
        with path.open("rb") as file:
            packed = file.read(2) == b"\x1f\x8b"
            file.seek(0)
            content = gzip.GzipFile(fileobj=file) if packed else file
            for line in content:
                yield line.decode("utf-8", errors="replace")
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError([Problem(f"cannot be read: {reason}", str(path))]) from error
