"""Tables of the store, their version, and the steps from older versions."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Dialect,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    TypeDecorator,
    UniqueConstraint,
    column,
    func,
    insert,
    select,
    table,
    text,
)
from sqlalchemy.types import TypeEngine

#: Marks a store: the value of "format" in META, and the application id of an SQLite file.
FORMAT: Final = "slotwise-store"
APPLICATION: Final = 0x534C5457
#: Version of the tables.
VERSION: Final = 2

TABLES: Final = MetaData()
#: Numbers of a store are smaller than this one.
_LARGEST = 1 << 53
_QUANTILE = re.compile(r"-|-?[0-9]{1,15}")


class DamagedCell(ValueError):
    """A value that no version of the store has written."""


class _Cell(TypeDecorator[Any]):
    """Values of a column, checked as they are read; needed: there is one in every row."""

    impl: type[TypeEngine[Any]] = Text
    cache_ok = True

    def __init__(self, *, needed: bool = True) -> None:
        super().__init__()
        self.needed = needed

    def process_result_value(self, value: Any, dialect: Dialect) -> Any:
        """Return a value that was read; raise DamagedCell for one that is none."""
        if not (self.is_sound(value) or (value is None and not self.needed)):
            raise DamagedCell(f"{value!r} is none of its values")
        return value

    def is_sound(self, value: Any) -> bool:
        """Whether a value that was read may have been written."""
        return type(value) is str


class _Number(_Cell):
    impl = BigInteger
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """Return the type of a database; a key of SQLite is an INTEGER."""
        return Integer() if dialect.name == "sqlite" else BigInteger()

    def is_sound(self, value: Any) -> bool:
        """Whether a value that was read may have been written."""
        return type(value) is int and abs(value) < _LARGEST


class _Quantiles(_Cell):
    """At 0.1 … 0.9 in seconds, a blank between two, ``-``: no start; nothing without a forecast."""

    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> str:
        """Return the text of quantiles."""
        return " ".join("-" if time is None else str(time) for time in value)

    def process_result_value(self, value: Any, dialect: Dialect) -> tuple[int | None, ...]:
        """Return the quantiles of a text; raise DamagedCell for a text that has none."""
        words = super().process_result_value(value, dialect).split()
        return tuple(None if word == "-" else int(word) for word in words)

    def is_sound(self, value: Any) -> bool:
        """Whether a value that was read may have been written."""
        words = value.split() if super().is_sound(value) else [""]
        return len(words) in (0, 9) and all(map(_QUANTILE.fullmatch, words))


#: Facts on the store by name: format, version, dated, first_poll, last_poll, polls.
META: Final = Table(
    "meta",
    TABLES,
    Column("name", _Cell(), primary_key=True),
    Column("value", _Cell(), nullable=False),
)
#: Jobs that were pending at a poll. A job that is requeued has a row for each attempt.
JOBS: Final = Table(
    "jobs",
    TABLES,
    Column("key", _Number(), primary_key=True, autoincrement=False),
    Column("job", _Cell(), nullable=False),
    Column("submit", _Number(), nullable=False),
    Column("attempt", _Number(), nullable=False),
    Column("user", _Cell(), nullable=False),
    Column("queue", _Cell(), nullable=False),
    Column("slots", _Number(), nullable=False),
    Column("first_seen", _Number(), nullable=False),
    # pending, running, finished; gone: left the cluster, and no start is known.
    Column("state", _Cell(), nullable=False),
    Column("started", _Number(needed=False)),
    # By a poll: the first one without the job; by a log: to the second.
    Column("finished", _Number(needed=False)),
    # "poll" or "log", "" if no start is known.
    Column("known_by", _Cell(), nullable=False),
    UniqueConstraint("job", "submit", "attempt"),
)
#: Estimates of a job; a row is kept if one of them has changed. The clock of a cluster may be wrong
#: for a time: polls are in the order of their numbers.
ESTIMATES: Final = Table(
    "estimates",
    TABLES,
    Column("job_key", _Number(), ForeignKey("jobs.key"), primary_key=True, autoincrement=False),
    Column("poll", _Number(), primary_key=True, autoincrement=False),
    Column("at", _Number(), nullable=False),
    Column("as_configured", _Number(needed=False)),
    Column("estimate", _Number(needed=False)),
    Column("possible", _Number(needed=False)),
    Column("printed", _Number(needed=False)),
    Column("likely", _Number(needed=False)),
    Column("early", _Number(needed=False)),
    Column("late", _Number(needed=False)),
    Column("quantiles", _Quantiles(), nullable=False),
)
Index("jobs_by_state", JOBS.c.state)
Index("jobs_by_start", JOBS.c.started)


def _by_poll(connection: Connection) -> None:
    """Number the polls of each job, whose estimates had the time of the state alone."""
    older = [item.name for item in ESTIMATES.c if item.name != "poll"]
    connection.execute(text("ALTER TABLE estimates RENAME TO estimates_1"))
    ESTIMATES.create(connection)
    before = table("estimates_1", *map(column, older))
    number = func.row_number().over(partition_by=before.c.job_key, order_by=before.c.at)
    connection.execute(insert(ESTIMATES).from_select(["poll", *older], select(number, *before.c)))
    connection.execute(text("DROP TABLE estimates_1"))


#: Step from each older version to the next one; a step runs in the transaction of its version.
STEPS: Final[Mapping[int, Callable[[Connection], None]]] = {1: _by_poll}
