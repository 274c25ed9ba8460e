"""Which fact each form of a listing prints, and under which name: of jobs, hosts, queues, users …

The readers take their columns from here, docs/output-forms.md shows the rows, and a test prints
random clusters in every form. A form without a cell does not print the fact: there it is unknown.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, cast

from ...configuration import CONSUMERS
from ...table_files import rows

#: ``bjobs -l`` and ``-UF`` (wrapped or not), ``bhosts -l``, ``bqueues -l`` and ``-r``.
LONG = "-l"
#: ``-json -o '…'``.
JSON = "-json"
#: Tables of bhosts and bqueues, with or without ``-w``; tables of bjobs are rejected.
PLAIN = "plain"


Kind = Literal[
    "job", "host", "queue", "user", "user group", "host group", "limit", "job group", "units"
]


@dataclass(frozen=True, slots=True)
class PrintedFact:
    """One fact. `cells`: by form the names that it has there; of several columns the first counts
    that says something.
    """

    #: Kind of object that the fact describes.
    of: Kind
    #: The fact in words.
    what: str
    #: Field of SeenJob, SeenHost or SeenQueue, "" if the fact is stored elsewhere.
    field: str
    cells: Mapping[str, tuple[str, ...]]
    #: Whether the fact is read, reported as missing, or has no effect on starts.
    outcome: Literal["read", "told", "silent"] = "read"
    #: The column of -o without which an answer may be another one, "" for none.
    needed: str = ""
    #: Columns of -o that are asked for, by default the best one.
    asked: tuple[str, ...] = ()
    #: Function of :mod:`.values` that reads the fact alike in every form.
    reader: str = ""

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the columns of tables and -json; clauses of ``bjobs -l`` are not columns."""
        forms = (JSON,) if self.of == "job" else (JSON, PLAIN, LONG)
        return tuple(dict.fromkeys(name for form in forms for name in self.cells.get(form, ())))


def _names(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(";"))


#: Whom a limit binds: those together, or each of them.
LIMIT_CONSUMERS = tuple(
    PrintedFact(
        "limit",
        f"{item.noun}s",
        item.field,
        {LONG: (key, item.per_field.upper()), PLAIN: (key,)},
    )
    for item in CONSUMERS
    for key in (item.field.upper(),)
)


def _table() -> Iterator[PrintedFact]:
    """Yield the rows of the table file; names in a cell are parted by ``;``."""
    for row in rows(__package__, "printed_facts.tsv", 10):
        of, what, field, long, json, words, outcome, needed, asked, reader = cast("list[Any]", row)
        cells = ((LONG, long), (JSON, json), (PLAIN, words))
        printed = {form: _names(names) for form, names in cells if names}
        yield PrintedFact(of, what, field, printed, outcome, needed, tuple(asked.split()), reader)
        if (of, what) == ("limit", "name"):
            yield from LIMIT_CONSUMERS


_ROWS = tuple(_table())
FACTS = tuple(fact for fact in _ROWS if fact.outcome != "silent")
JOBS, HOSTS, QUEUES, TOPOLOGY, LIMITS = (
    tuple(fact for fact in FACTS if fact.of == kind)
    for kind in ("job", "host", "queue", "units", "limit")
)
#: Columns of ``bjobs -o`` that have no effect on starts.
SILENT_COLUMNS = frozenset(
    name for fact in _ROWS if fact.outcome == "silent" for name in fact.cells[JSON]
)
LIMIT_AMOUNTS = tuple(
    fact for fact in LIMITS if fact.what != "name" and fact not in LIMIT_CONSUMERS
)


_READ_COLUMNS = frozenset(
    name for fact in JOBS if fact.outcome == "read" for name in fact.cells.get(JSON, ())
)
_COLUMNS = {(fact.of, fact.what): fact.columns for fact in FACTS}
_TITLES = {(fact.of, name): fact.what for fact in FACTS for name in fact.cells.get(LONG, ())}


def columns(what: str, of: Kind = "job") -> tuple[str, ...]:
    """Return the columns that have a fact, the best first."""
    return _COLUMNS[of, what]


@cache
def read_alike(of: Kind, form: str) -> tuple[tuple[PrintedFact, tuple[str, ...]], ...]:
    """Return the facts that have a reader, each with its names in a form, by default columns."""
    return tuple(
        (fact, fact.cells.get(form, ()) if form else fact.columns)
        for fact in FACTS
        if fact.of == of and fact.reader
    )


def fact_of(title: str, of: Kind) -> str:
    """Return the fact under a title of a long form, "" if there is none."""
    return _TITLES.get((of, title), "")


def titles(facts: Iterable[PrintedFact], form: str) -> tuple[tuple[str, str], ...]:
    """Return the titles of a form, each with the field of its fact."""
    return tuple((name, fact.field) for fact in facts for name in fact.cells.get(form, ()))


def needed() -> Iterator[tuple[str, tuple[str, ...]]]:
    """Return, for facts without which answers may differ, the column to request, and all
    columns.
    """
    return ((fact.needed, fact.cells[JSON]) for fact in JOBS if fact.needed)


def asked_columns() -> Iterator[str]:
    """Return the fields of ``bjobs -o`` that have all facts of a job."""
    return (name.lower() for fact in JOBS for name in fact.asked)


def is_told(column: str) -> bool:
    """Return whether a column of ``bjobs -json`` that has a value is reported: no reader uses it,
    and it may affect a start.
    """
    return column not in _READ_COLUMNS and column not in SILENT_COLUMNS


def read_parts() -> frozenset[str]:
    """Return clauses and titles of ``bjobs -l`` from which the reader takes a fact, in lower
    case.
    """
    kept = (fact for fact in JOBS if fact.field != "unheeded")
    return frozenset(name.lower() for fact in kept for name in fact.cells.get(LONG, ()))
