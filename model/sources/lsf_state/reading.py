"""One text that a command printed, read cell by cell: one that cannot be read takes only itself.

What it would say is then not known. A note names it, with an omission of the jobs it may touch.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal, TypeVar

from ...errors import InputError, Problem
from ...omissions import Omission, OmissionMark
from . import values
from .printed_facts import Kind, columns, read_alike
from .values import PrintedTimes, Remarks, Text, is_name, lacks, may_be_truncated, pick, table_row

T = TypeVar("T")
NamedKind = Literal["host", "queue"]
#: Maximum number of reported problems that differ only by a number.
_MAX_ALIKE = 5


#: The jobs that something unknown may touch: of all by default.
Touched = partial(Omission, "")
#: Scope of facts that affect no start.
NOBODY = Touched(jobs=())


def _kind(item: Omission) -> tuple[object, ...]:
    """Return a key that is equal for scopes that can be merged to one."""
    named = (not item.queues, not item.users, not item.hosts)
    return item.jobs is None, *named, item.resources


def _both(one: Omission, other: Omission) -> Omission:
    """Return the union of the jobs of two scopes of one kind."""
    return replace(
        one,
        jobs=None if one.jobs is None else _union(one.jobs, other.jobs or ()),
        queues=_union(one.queues, other.queues),
        users=_union(one.users, other.users),
        hosts=_union(one.hosts, other.hosts),
    )


def _union(some: Iterable[str], others: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*some, *others)))


class Reading:
    """Collects the errors in the records of one text, so that all are reported together."""

    def __init__(
        self, text: Text, notes: Remarks | None = None, times: PrintedTimes | None = None
    ) -> None:
        """Start reading a text. notes: collects unreadable values at the end."""
        self.times = times
        self.source = text.source
        self.problems: list[Problem] = []
        self.line: int | None = None
        self.where = ""
        #: Jobs that the current record may affect.
        self.touched = Touched()
        self.notes = Remarks() if notes is None else notes
        #: Unreadable cells of the current record: name, problem, resources.
        self._cells: list[tuple[str, Problem, tuple[str, ...] | None]] = []
        self._unread: list[tuple[Problem, Omission]] = []
        self._lost: list[Problem] = []

    def at(self, where: str, line: int | None = None, touched: Omission | None = None) -> None:
        """Begin to read a record, or another line of the current record.

        where: its name in messages. touched: jobs that it may touch; by default all jobs, or those
        of the current record if `where` is still that one.
        """
        if touched is not None or where != self.where:
            self._close()
            self.touched = Touched() if touched is None else touched
        self.where, self.line = where, line

    def _close(self) -> None:
        """Close the scope of the current record."""
        for _, problem, resources in self._cells:
            touched = replace(self.touched, resources=resources) if resources else self.touched
            self._unread.append((problem, NOBODY if resources is None else touched))
        self._cells.clear()

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the unreadable cells of the current record."""
        return tuple(name for name, _, _ in self._cells)

    def value(
        self,
        name: str,
        text: str,
        read: Callable[[str], T | None],
        resources: tuple[str, ...] | None = (),
    ) -> T | None:
        """Return the value of a field; None if it is absent or cannot be read, which is noted.

        resources: that the field describes; None if it affects no start.
        """
        try:
            return read(text)
        except (ValueError, OverflowError) as error:
            self.unknown(f"{name}: {error}", resources, name=name)
            return None

    def unknown(
        self, message: str, resources: tuple[str, ...] | None = (), *, name: str = ""
    ) -> None:
        """Record that a part of the current record cannot be read; it counts as not printed."""
        self._cells.append((name, self._problem(message), resources))

    def lost(self, message: str) -> None:
        """Record an unusable record; it is an error if all records are."""
        self._lost.append(self._problem(message))

    def wrong(self, message: str) -> None:
        """Record an error in the current record that makes the whole text unusable."""
        self.problems.append(self._problem(message))

    def _problem(self, message: str) -> Problem:
        return Problem(message, self.source, self.line, self.where)

    def once(
        self,
        kind: str,
        records: Sequence[tuple[str, int | None]],
        more: Mapping[str, str] | None = None,
    ) -> None:
        """Report each record (name, line) whose name occurred before; then as :meth:`done`.

        more: additional text by name.
        """
        seen: set[str] = set()
        self._close()
        for name, line in records:
            self.where, self.line = f"{kind} {name}", line
            if name in seen:
                self.wrong(f"is listed twice{(more or {}).get(name, '')}")
            seen.add(name)
        self.done(len(records))

    def done(self, kept: int = 1) -> None:
        """End the reading: note the lines that were skipped, or raise InputError.

        Raises InputError with all problems if there is an error, or if lines were skipped and no
        record could be read. kept: number of records that could be read.
        """
        self._close()
        if self.problems or (self._lost and not kept):
            raise InputError(_once_each([*self.problems, *self._lost]))
        self._unread += [(problem, Touched()) for problem in self._lost]
        groups: dict[tuple[object, ...], list[tuple[Problem, Omission]]] = {}
        for problem, touched in self._unread:
            groups.setdefault((_plain(problem), *_kind(touched)), []).append((problem, touched))
        for alike in groups.values():
            for problem, touched, count in _joined(alike):
                self._tell(problem, touched, count)

    def _tell(self, problem: Problem, touched: Omission, count: int) -> None:
        place = problem.source if problem.line is None else f"{problem.source}:{problem.line}"
        more = f" (and {count - 1} more of this kind)" if count > 1 else ""
        of = f"{problem.path}: " if problem.path else ""
        text = f"{of}{problem.message}: treated as unknown{more}"
        mark: OmissionMark = "fit" if touched.hosts else ""
        self.notes.add(replace(touched, what=text, where=place, count=count, mark=mark))


def _joined(alike: Sequence[tuple[Problem, Omission]]) -> list[tuple[Problem, Omission, int]]:
    """Return each of a few problems, or the first for all."""
    if len(alike) <= _MAX_ALIKE:
        return [(problem, touched, 1) for problem, touched in alike]
    problem, touched = alike[0]
    for _, other in alike[1:]:
        touched = _both(touched, other)
    return [(problem, touched, len(alike))]


def _plain(problem: Problem) -> str:
    """Return a message without its numbers and quotations, for comparison."""
    return re.sub(r"\d+", "#", re.sub(r"'[^']*'", "'…'", problem.message))


def _once_each(problems: Sequence[Problem]) -> list[Problem]:
    """Return the problems, of those that many records share only the first."""
    kinds: dict[str, list[Problem]] = {}
    for problem in problems:
        kinds.setdefault(re.sub(r"\d+", "#", problem.message), []).append(problem)
    found: list[Problem] = []
    for alike in kinds.values():
        first, more = alike[0], len(alike) - 1
        if more < _MAX_ALIKE:
            found += alike
        else:
            found.append(replace(first, message=f"{first.message} (and {more} more of this kind)"))
    return list(problems) if len(found) == len(problems) else found


def json_records(text: Text, reading: Reading) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield number (from 1) and fields of each record; names in capitals, values as texts.

    reading: collects invalid records. Raises InputError if the text is no such JSON.
    """
    try:
        data = json.loads(text.content.lstrip("\ufeff"))
    except json.JSONDecodeError as error:
        message = f"is not JSON: {error.msg} (column {error.colno})"
        raise InputError([Problem(message, text.source, error.lineno)]) from None
    except (RecursionError, ValueError) as error:
        raise InputError([Problem(f"is not JSON: {error}", text.source)]) from None
    records = data.get("RECORDS") if isinstance(data, dict) else None
    if not isinstance(records, list):
        message = "has no list RECORDS: give the output of -json"
        raise InputError([Problem(message, text.source)])
    for number, record in enumerate(records, start=1):
        if not isinstance(record, dict):
            message = f"must be an object with the fields of -o, not {record!r:.60}"
            reading.at(f"RECORDS[{number - 1}]")
            reading.lost(message)
            continue
        yield number, {str(name).upper(): _text(value) for name, value in record.items()}


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value)


def named_records(
    text: Text, reading: Reading, kind: NamedKind, *needed: str
) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield name and fields of each record of JSON that has a name; `reading` is then at it.

    needed: columns of every host or queue.
    """
    title = f"{kind.upper()}_NAME"
    for number, record in json_records(text, reading):
        reading.at(f"RECORDS[{number - 1}]")
        name = pick(record, *columns("name", kind))
        if not is_name(name):
            reading.lost(f"has no {title}: {name!r}" if name else f"has no {title}")
            continue
        names = (name,)
        touched = Touched(hosts=names) if kind == "host" else Touched(queues=names)
        reading.at(f"{kind} {name}", None, touched)
        if wrong := lacks(record, *needed):
            reading.wrong(wrong)
            return
        yield name, record


def _begins(reading: Reading, kind: NamedKind, name: str, line: int) -> bool:
    """Begin to read the host or queue of a name; a text that is no name is reported."""
    names = (name,)
    touched = Touched(hosts=names) if kind == "host" else Touched(queues=names)
    reading.at(f"{kind} {name}", line, touched)
    if not is_name(name):
        reading.lost(f"{name!r} is not a {kind} name")
    return is_name(name)


def named_blocks(
    lines: Sequence[str], title: re.Pattern[str], reading: Reading, kind: NamedKind
) -> Iterator[tuple[str, int, int]]:
    """Yield name, first line and end (from 0) of each block of a long form; `reading` is at it.

    title: matches the first line of a block; its group is the name.
    """
    begun = [(n, match[1]) for n, line in enumerate(lines) if (match := title.match(line))]
    ends = [*(start for start, _ in begun), len(lines)][1:]
    for (start, name), end in zip(begun, ends, strict=True):
        if _begins(reading, kind, name, start + 1):
            yield name, start + 1, end


def named_rows(
    lines: Sequence[str], reading: Reading, kind: NamedKind, second: str, needed: str
) -> Iterator[tuple[str, dict[str, str], bool]]:
    """Yield name and row of each line of a table, and whether the name may be truncated.

    second: title of the column behind the names. needed: that of a column without which the table
    is useless.
    """
    names: list[str] = []
    header = ""
    for number, line in enumerate(lines, start=1):
        words = line.split()
        if words[:2] == [f"{kind.upper()}_NAME", second]:
            names, header = words, line
            if wrong := lacks(dict.fromkeys(names, ""), needed):
                reading.at("", number)
                reading.wrong(wrong)
                return
        elif words and names and words[0].startswith("*"):
            reading.at(f"{kind} {words[0]}", number)
            give = f"b{kind}s -w or b{kind}s -l"
            reading.wrong(f"its name is truncated: give the output of {give}")
        elif words and names and _begins(reading, kind, words[0], number):
            row = known_row(table_row(names, words), names, words, reading)
            yield words[0], row, may_be_truncated(words[0], header, second)


def known_row(
    row: dict[str, str] | None, names: Sequence[str], words: Sequence[str], reading: Reading
) -> dict[str, str]:
    """Return a row; {} if it lacks columns, because its cells then belong to no known column."""
    if row is None:
        reading.unknown(f"has {len(words)} of {len(names)} columns", name="MAX")
    return row or {}


class Cells:
    """The facts of one record in the columns that have them, as the table of printed facts says."""

    def __init__(self, record: Mapping[str, str], reading: Reading, of: Kind) -> None:
        self._record = record
        self._reading = reading
        self._of = of

    def text(self, what: str) -> str:
        """Return the first non-empty column of a fact, "" if there is none."""
        return pick(self._record, *columns(what, self._of))

    def column(self, what: str) -> str:
        """Return the column of a fact, the best one if none has a value."""
        names = columns(what, self._of)
        return next((name for name in names if pick(self._record, name)), names[0])

    def value(
        self, what: str, read: Callable[[str], T | None], resources: tuple[str, ...] = ()
    ) -> T | None:
        """Return the value of a fact, None if it is absent or cannot be read."""
        return self._reading.value(self.column(what), self.text(what), read, resources)

    def facts(self, form: str = "") -> dict[str, Any]:
        """Return the facts that have a reader and a value, by field; form: of their names."""
        found: dict[str, Any] = {}
        for fact, names in read_alike(self._of, form):
            for name in names:
                text = self._record.get(name, "")
                if text and text.strip() not in ("", "-"):
                    read = getattr(self._reading.times, fact.reader, None)
                    value = self._reading.value(name, text, read or getattr(values, fact.reader))
                    if value is not None:
                        found[fact.field] = value
                    break
        return found
