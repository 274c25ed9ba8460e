"""Reading logs in the Standard Workload Format (SWF), plain or gzipped.

A log is text: header comments ``; Name: value``, then one job a line in 18 numeric columns
(D. G. Feitelson, Parallel Workloads Archive, "The Standard Workload Format"). -1 means unknown.
Further columns are allowed and not read.
"""

from __future__ import annotations

import math
import re
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from math import ceil
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np

from ..compact import OnDemand, narrow
from ..display import DAY
from ..errors import Problem
from ..formats.file_format import ChangedEstimates, DefaultLimit
from ..formats.reading import refuse_other
from ..input_limits import limits
from ..job import Job
from ..workload import Ints, Workload
from .log_lines import (
    MAX_NUMBER,
    BadRecords,
    check_records,
    in_range,
    log_lines,
    malformed,
    number_of,
    refused_records,
)

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
_TIMES = frozenset({1, 3, 8})
"""Columns in which a fraction is one of a second."""
_STATUS, _PRECEDING, _THINK = 10, 16, 17
_PARTIAL = (2, 3, 4)
"""What the status of a line says that is one of several runs of a job, which has its own line."""
#: Submit time of a later burst of a job that ran in several.
_LATER_BURST = -1
#: A number of the header, perhaps with a mark or a blank between its thousands.
_SIZE = re.compile(r"\d{1,3}(?:[,' _]\d{3})+(?!\d)|\d{1,15}")
_HEADER = re.compile(r";+\s*([A-Za-z][\w ]*?)\s*:\s*(.*?)\s*$")
#: ``Queue: 1 batch``, ``Queue: 2 [fque:2]``: a number and a name.
_QUEUE = re.compile(r"(\d{1,9})\W+([A-Za-z][\w.-]*)")
#: Maximum number of queues read from a header.
_MAX_QUEUES = 1000
ROUNDED = "a fraction of a second rounded up"
TITLES = "a title row ignored"
PARTS = "a partial execution (status 2 to 4) ignored: the line of its whole job is read"
ONLY_PARTS = "a job recorded in partial executions only (status 2 to 4): their run times added up"
#: Of forecasts, which go by the recorded submissions.
PRECEDING_IGNORED = "a preceding job (columns 17 and 18) is ignored: the recorded submission counts"


def with_default_limit(workload: Workload, limit: DefaultLimit | None) -> Workload:
    """Return the log with requested times for jobs that have only a run time, and notes."""
    missing = (workload.req_time <= 0) & (workload.run_time > 0)
    if limit is None or not missing.any():
        return workload
    req_time = np.where(missing, limit.of(workload.run_time), workload.req_time)
    said = f"no requested time in the log: {limit.text}"
    said += " of the run time taken" if limit.factor is not None else " taken, or the run if longer"
    notes = {**workload.notes, said: int(np.count_nonzero(missing))}
    return replace(workload, req_time=req_time, notes=notes)


def with_estimates(workload: Workload, estimates: ChangedEstimates | None) -> Workload:
    """Return the log with changed requested times, and a note; run times stay."""
    if estimates is None:
        return workload
    asked = workload.req_time > 0
    run_time = np.where(asked, np.minimum(workload.run_time, workload.req_time), workload.run_time)
    req_time = estimates.of(workload.run_time, workload.req_time)
    said = (
        "requested time replaced by the run time"
        if estimates.factor is None
        else f"requested time multiplied by {estimates.factor:g}"
    )
    count = int(np.count_nonzero(req_time != workload.req_time))
    notes = {**workload.notes, **({said: count} if count else {})}
    return replace(workload, run_time=run_time, req_time=req_time, notes=notes)


@dataclass(frozen=True, slots=True)
class SwfLog:
    """What one file holds: its well-formed records in file order, and the malformed ones."""

    workload: Workload
    #: The first malformed records (--max-errors), and one that counts the others.
    problems: tuple[Problem, ...]
    #: Recorded seconds from submission to start, -1 where the log has none.
    wait: Ints
    #: Names of queues by number, as the header has them.
    queues: Mapping[int, str] = field(default_factory=dict)

    @property
    def waits(self) -> dict[int, int]:
        """Return the recorded waits by job number, for jobs that have one."""
        known = self.wait >= 0
        jobs, waits = self.workload.job[known], self.wait[known]
        return dict(zip(jobs.tolist(), waits.tolist(), strict=True))

    @property
    def origin(self) -> datetime | None:
        """Return the date of second 0, as :func:`origin_of` does."""
        return origin_of(self.workload.header)


def origin_of(header: Mapping[str, str]) -> datetime | None:
    """Return the date of second 0 in the log's own zone; None if the header does not give it.

    0, which prepared logs have, is not a date. TimeZoneString names a zone, TimeZone is its offset
    in seconds; UTC if there is neither or the zone is unknown.
    """
    found = re.match(r"\d{1,11}", header.get("UnixStartTime", ""))
    if found is None or not int(found[0]):
        return None
    zone: tzinfo = UTC
    offset = re.fullmatch(r"[+-]?\d{1,5}", header.get("TimeZone", "").strip())
    try:
        zone = ZoneInfo(header.get("TimeZoneString", "").strip())
    except (ValueError, OSError, ZoneInfoNotFoundError):
        if offset is not None and abs(int(offset[0])) < DAY:
            zone = timezone(timedelta(seconds=int(offset[0])))
    return datetime.fromtimestamp(int(found[0]), zone)


def read_swf(
    path: str | Path, *, keep_going: bool = False, default_limit: DefaultLimit | None = None
) -> SwfLog:
    """Read ``.swf`` or ``.swf.gz`` without omitting any well-formed record.

    Pass the workload through `slotwise.model.workload.canonical` before a replay. Malformed
    records are reported: with `keep_going` in `SwfLog.problems`, otherwise by InputError.
    default_limit: the requested time of jobs without one.

    Raises
    ------
    InputError
        The file cannot be read, or holds malformed records and `keep_going` is false.
    """
    refuse_other(path, "swf")
    log = parse_swf(log_lines(Path(path)), source=str(path))
    if log.problems and not keep_going:
        raise refused_records(log.problems, len(log.workload))
    return replace(log, workload=with_default_limit(log.workload, default_limit))


def parse_swf(lines: Iterable[str], source: str = "") -> SwfLog:
    """Parse SWF lines in memory as `read_swf` does with ``keep_going``."""
    reader = _SwfLines(source)
    for number, line in enumerate(lines, start=1):
        reader.take(number, line)
    return reader.log()


class _SwfLines:
    """The lines of one log, read so far."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._header: dict[str, str] = {}
        self._queues: dict[int, str] = {}
        self._columns = [array("q") for _ in (*_NAMES, "preceding", "think")]
        self._columns.append(array("b"))
        self._at_line = array("q")
        self._bad = BadRecords()
        self._notes: Counter[str] = Counter()

    def take(self, number: int, line: str) -> None:
        """Read one line of the file."""
        words = line.split()
        if not words or words[0].startswith("#"):
            return
        if words[0].startswith(";"):
            if found := _HEADER.match(line.strip()):
                self._said(found[1], found[2])
            return
        try:
            record, rounded = _record(words)
        except ValueError as error:
            if not self._at_line and not self._notes[TITLES] and _is_title(words):
                self._notes[TITLES] += 1
                return
            self._bad.add(malformed(error, self._source, number))
        else:
            for column, value in zip(self._columns, record, strict=True):
                column.append(value)
            self._at_line.append(number)
            self._notes[ROUNDED] += rounded
        check_records(len(self._at_line) + self._bad.count, self._source)

    def _said(self, name: str, value: str) -> None:
        self._header.setdefault(name, value)
        found = _QUEUE.match(value) if name == "Queue" else None
        if found is not None and len(self._queues) < _MAX_QUEUES:
            self._queues.setdefault(int(found[1]), found[2])

    def log(self) -> SwfLog:
        """Return the log of all lines read."""
        names = (*_NAMES, "preceding", "think", "partial")
        table = {name: _array(c) for name, c in zip(names, self._columns, strict=True)}
        lines = _array(self._at_line)
        parts = self._parts(table)
        if len(parts):
            table = {name: np.delete(column, parts) for name, column in table.items()}
            lines = np.delete(lines, parts)
        bad = self._bad
        again, doubles = _used_twice(table["job"], lines, self._source)
        if doubles:
            bad.merge(doubles, len(again))
            table = {name: np.delete(column, again) for name, column in table.items()}
        del table["partial"]
        wait = table.pop("wait")
        if not (table["preceding"] >= 0).any():
            del table["preceding"], table["think"]
        workload = Workload(
            **table,
            max_procs=_max_procs(self._header),
            source=self._source,
            header=self._header,
            left_out={"malformed record": bad.count} if bad.count else {},
            notes={note: count for note, count in self._notes.items() if count},
        )
        return SwfLog(workload, tuple(bad.report()), wait, self._queues)

    def _parts(self, table: dict[str, Ints]) -> Ints:
        """Return indices of lines that are parts of a job which another line represents.

        If no line is for the whole job, its first part represents it, with the sum of the run
        times.
        """
        partial = table["partial"] > 0
        if not partial.any():
            return np.zeros(0, dtype=np.int64)
        known = partial & np.isin(table["job"], table["job"][~partial])
        gone = np.flatnonzero(known).tolist()
        self._notes[PARTS] += len(gone)
        first: dict[int, int] = {}
        alone = np.flatnonzero(partial & ~known)
        later = table["submit"][alone] == _LATER_BURST
        for place in (*alone[~later].tolist(), *alone[later].tolist()):
            first.setdefault(int(table["job"][place]), place)
        run_time = table["run_time"] = table["run_time"].copy()
        for place in alone.tolist():
            stands = first[int(table["job"][place])]
            if place != stands:
                together = int(run_time[stands]) + max(0, int(run_time[place]))
                run_time[stands] = min(together, MAX_NUMBER)
                gone.append(place)
        gone += self._never_submitted(table, first.values())
        self._notes[ONLY_PARTS] += len(first)
        return np.array(sorted(gone), dtype=np.int64)

    def _never_submitted(self, table: dict[str, Ints], places: Iterable[int]) -> list[int]:
        """Return indices of jobs without any recorded submission, which are malformed."""
        found = [place for place in places if table["submit"][place] == _LATER_BURST]
        for place in found:
            error = ValueError("one line of the job must have a submit time of 0 or more, not -1")
            self._bad.add(malformed(error, self._source, self._at_line[place]))
        return found


def _array(column: array[int]) -> Ints:
    return np.frombuffer(column, dtype=column.typecode)  # numpy rejects an empty buffer


def _used_twice(numbers: Ints, lines: Ints, source: str) -> tuple[Ints, list[Problem]]:
    """Return indices of records whose job number an earlier one has, and the first errors."""
    order = np.argsort(numbers, kind="stable")
    again = order[1:][np.diff(numbers[order]) == 0]
    shown = np.sort(again)[: limits().errors + 1]
    first: dict[int, int] = {}
    for place in order[np.isin(numbers[order], numbers[shown])].tolist() if len(again) else ():
        first.setdefault(int(numbers[place]), int(lines[place]))
    return again, [
        Problem(
            f"job number {numbers[place]} is already used at line {first[int(numbers[place])]}",
            source,
            int(lines[place]),
        )
        for place in shown.tolist()
    ]


def _record(words: list[str]) -> tuple[tuple[int, ...], bool]:
    """Return the columns that are read, as ints, and whether one was rounded.

    Raises ValueError with a sentence for a malformed record.
    """
    if len(words) < COLUMNS:
        raise ValueError(f"a record must have {COLUMNS} columns, not {len(words)}")
    record = tuple(
        _whole(words[position], name, up=position in _TIMES) for position, name in _READ.items()
    )
    for position in range(COLUMNS):
        if position not in _READ:
            number_of(words[position], f"column {position + 1}")
    if record[0] < 0:
        raise ValueError(f"job number must be 0 or more, not {record[0]}")
    partial = float(words[_STATUS]) in _PARTIAL
    if record[1] < 0 and not (partial and record[1] == _LATER_BURST):
        raise ValueError(f"submit time must be 0 or more, not {record[1]}")
    for value, name in zip(record[2:5], tuple(_READ.values())[2:5], strict=True):
        if value < -1:
            raise ValueError(f"{name} must be 0 or more, or -1 for unknown, not {value}")
    if record[3] < 1:  # the log has only the allocated number for these jobs
        record = (*record[:3], max(record[3], _positive(words[4])), *record[4:])
    wait = _wait(words[2], words[1], record[1])
    ends = (_positive(words[_PRECEDING]), math.ceil(max(0.0, float(words[_THINK]))), partial)
    rounded = any(
        not words[place].isdecimal() and not float(words[place]).is_integer() for place in _TIMES
    )
    return (*record, wait, *ends), rounded


def _positive(word: str) -> int:
    """Return a positive whole number, or -1 for unknown."""
    number = float(word)
    return int(number) if number.is_integer() and number > 0 else -1


def _wait(word: str, submit: str, rounded_submit: int) -> int:
    """Return whole seconds from the rounded submission to the start, rounded up; -1 for unknown."""
    wait = float(word)
    if wait < 0 or "." not in word + submit:
        return max(-1, int(wait))
    return max(0, ceil(float(submit) + wait) - rounded_submit)


def _whole(word: str, name: str, *, up: bool) -> int:
    try:
        value = int(word.replace("_", "?"))  # int() would take 1_000
    except ValueError:
        number = number_of(word, name)
        if not number.is_integer() and not up:
            raise ValueError(f"{name} must be a whole number, not {word!r}") from None
        return ceil(number)
    return in_range(value, name, word)


def _is_title(words: list[str]) -> bool:
    """Whether a line has a word for each column, and no number."""

    def number(word: str) -> bool:
        try:
            float(word)
        except ValueError:
            return False
        return True

    return len(words) >= COLUMNS and not any(map(number, words))


def _max_procs(header: dict[str, str]) -> int | None:
    """Return the machine's size in the header: MaxProcs, or MaxNodes if that is missing."""
    for name in ("MaxProcs", "MaxNodes"):
        found = _SIZE.match(header.get(name, ""))
        if found and (size := int(re.sub(r"\D", "", found[0]))) > 0:
            return size
    return None


#: Digits that no job number of a log has.
_DIGITS = 18


class SwfJobs(OnDemand[Job]):
    """Slots are the processors, run limits the requested times.

    queues: of the log's queue numbers the queues of the site; default: the queue of all others.
    """

    __slots__ = ("_columns", "_default", "_follows", "_queues")

    def __init__(self, log: Workload, queues: Mapping[int, str], default: str) -> None:
        columns = (
            *(log.job, log.procs, log.user, log.req_time, log.run_time, log.submit),
            log.queue,
        )
        self._columns = tuple(map(narrow, columns))
        self._queues, self._default = dict(queues), default
        #: Number of the job that each follows, and its think time; None if none does.
        self._follows: tuple[Ints, Ints] | None = None
        if log.preceding is not None and log.think is not None:
            self._follows = narrow(log.preceding), narrow(log.think)

    def __len__(self) -> int:
        return len(self._columns[0])

    def item(self, place: int) -> Job:
        """Return the job of one record."""
        number, procs, user, req_time, run_time, submit, queue = (
            int(column[place]) for column in self._columns
        )
        return Job(
            id=str(number),
            slots=procs,
            user=f"user{user}" if user >= 0 else "user",
            queue=self._queues.get(queue, self._default),
            run_limit=req_time,
            run_time=run_time,
            submit=submit,
            **self._condition(place),
        )

    def _condition(self, place: int) -> dict[str, Any]:
        """Return the condition that a job starts after another one ended and its user has waited
        (DEP-06).
        """
        if self._follows is None or self._follows[0][place] < 0:
            return {}
        number, think = (int(column[place]) for column in self._follows)
        return {"dependency": f"ended({number})", "think_time": think}


class RecordedStarts(Mapping[str, int]):
    """Recorded starts (seconds) by job id, of jobs whose ids are numbers; in columns."""

    __slots__ = ("_numbers", "_starts")

    def __init__(self, numbers: Ints, starts: Ints) -> None:
        order = np.argsort(numbers)
        self._numbers, self._starts = narrow(numbers[order]), narrow(starts[order])

    def __getitem__(self, job: str) -> int:
        if job.isdecimal() and len(job) < _DIGITS:
            place = bisect_left(self._numbers, int(job))
            if place < len(self._numbers) and str(self._numbers[place]) == job:
                return int(self._starts[place])
        raise KeyError(job)

    def __iter__(self) -> Iterator[str]:
        return map(str, self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)
