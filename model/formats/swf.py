"""Reading logs in the Standard Workload Format (SWF), plain or gzipped.

A log is text: header comments ``; Name: value``, then one job a line in 18 numeric columns
(D. G. Feitelson, Parallel Workloads Archive, "The Standard Workload Format"). -1 means unknown.
Further columns are allowed and not read.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..errors import InputError, Problem
from ..workload import Ints, Workload
from .log_lines import check_records, log_lines, malformed
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
_NAMES = ("job", "submit", "run_time", "procs", "req_time", "user", "queue", "wait")
_LIMIT = 2**53  # larger seconds or processors are not numbers that anyone measured
#: A number of the header, perhaps with a mark or a blank between its thousands.
_SIZE = re.compile(r"\d{1,3}(?:[,' _]\d{3})+(?!\d)|\d{1,15}")
_HEADER = re.compile(r";+\s*([A-Za-z][\w ]*?)\s*:\s*(.*?)\s*$")


@dataclass(frozen=True, slots=True)
class SwfLog:
    """What one file holds: its well-formed records in file order, and the malformed ones.

    wait: recorded seconds from submission to start, -1 where the log has none.
    """

    workload: Workload
    problems: tuple[Problem, ...]
    wait: Ints

    @property
    def waits(self) -> dict[int, int]:
        """Recorded waits by job number, of the jobs that have one."""
        known = self.wait >= 0
        jobs, waits = self.workload.job[known], self.wait[known]
        return dict(zip(jobs.tolist(), waits.tolist(), strict=True))


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
    log = parse_swf(log_lines(Path(path)), source=str(path))
    if log.problems and not keep_going:
        raise InputError(log.problems)
    return log


def parse_swf(lines: Iterable[str], source: str = "") -> SwfLog:
    """The same as `read_swf` for lines at hand, with ``keep_going``."""
    header: dict[str, str] = {}
    columns = [array("q") for _ in _NAMES]
    at_line = array("q")
    problems: list[Problem] = []
    for number, line in enumerate(lines, start=1):
        words = line.split()
        if not words:
            continue
        if words[0].startswith(";"):
            if found := _HEADER.match(line.strip()):
                header.setdefault(found[1], found[2])
            continue
        try:
            for column, value in zip(columns, _record(words), strict=True):
                column.append(value)
            at_line.append(number)
        except ValueError as error:
            problems.append(malformed(error, source, number))
        check_records(len(at_line) + len(problems), source)
    table = {name: _array(column) for name, column in zip(_NAMES, columns, strict=True)}
    again, doubles = _used_twice(table["job"], _array(at_line), source)
    if doubles:
        problems = sorted((*problems, *doubles), key=lambda problem: problem.line or 0)
        table = {name: np.delete(column, again) for name, column in table.items()}
    wait = table.pop("wait")
    workload = Workload(
        **table,
        max_procs=_max_procs(header),
        source=source,
        header=header,
        left_out={"malformed record": len(problems)} if problems else {},
    )
    return SwfLog(workload, tuple(problems), wait)


def _array(column: array[int]) -> Ints:
    return np.frombuffer(column, dtype=np.int64) if column else np.zeros(0, dtype=np.int64)


def _used_twice(numbers: Ints, lines: Ints, source: str) -> tuple[Ints, list[Problem]]:
    """Places of records whose job number an earlier one has, and what is wrong with each."""
    order = np.argsort(numbers, kind="stable")
    again = order[1:][np.diff(numbers[order]) == 0]
    first: dict[int, int] = {}
    for place in order[np.isin(numbers[order], numbers[again])].tolist() if len(again) else ():
        first.setdefault(int(numbers[place]), int(lines[place]))
    return again, [
        Problem(
            f"job number {numbers[place]} is already used at line {first[int(numbers[place])]}",
            source,
            int(lines[place]),
        )
        for place in again.tolist()
    ]


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
    if record[3] < 1:  # of these jobs the log says only what they got
        record = (*record[:3], max(record[3], _allocated(words[4])), *record[4:])
    return (*record, _wait(words[2]))


def _allocated(word: str) -> int:
    """Processors that a job had, or -1 for unknown."""
    number = _number(word, "column 5")
    return int(number) if number.is_integer() and 0 < number <= _LIMIT else -1


def _wait(word: str) -> int:
    """Whole seconds, or -1 for unknown."""
    wait = _number(word, "wait")
    if abs(wait) > _LIMIT:
        raise ValueError(f"wait '{word}' is out of range")
    return max(-1, int(wait))


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
        found = _SIZE.match(header.get(name, ""))
        if found and (size := int(re.sub(r"\D", "", found[0]))) > 0:
            return size
    return None
