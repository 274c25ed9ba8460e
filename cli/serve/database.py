"""Database of a store (an SQLite file, memory, or a server by its URL): its tables, connections."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO, Final

import sqlalchemy as sa
from sqlalchemy.exc import (
    ArgumentError,
    DBAPIError,
    NoSuchModuleError,
    OperationalError,
    SQLAlchemyError,
)
from sqlalchemy.pool import StaticPool
from sqlalchemy.types import TypeEngine

from ...model.errors import InputError, Problem
from ...model.formats.reading import beginning, is_stream, no_file
from ..options import SQLITE_HEAD

#: Marks a store: the value of "format" in META, and the application id of an SQLite file.
FORMAT: Final = "slotwise-store"
APPLICATION: Final = 0x534C5457
#: Version of the tables.
VERSION: Final = 3

TABLES: Final = sa.MetaData()
#: Numbers of a store are smaller than this one.
_LARGEST = 1 << 53
_QUANTILE = re.compile(r"-|-?[0-9]{1,15}")


class DamagedCell(ValueError):
    """A value that no version of the store has written."""


class _Cell(sa.TypeDecorator[Any]):
    """Values of a column, checked as they are read; needed: there is one in every row."""

    impl: type[TypeEngine[Any]] = sa.Text
    cache_ok = True

    def __init__(self, *, needed: bool = True) -> None:
        super().__init__()
        self.needed = needed

    def process_result_value(self, value: Any, dialect: sa.Dialect) -> Any:
        """Return a value that was read; raise DamagedCell for one that is none."""
        if not (self.is_sound(value) or (value is None and not self.needed)):
            raise DamagedCell(f"{value!r} is not one of its values")
        return value

    def is_sound(self, value: Any) -> bool:
        """Whether a value that was read may have been written."""
        return type(value) is str


class _Number(_Cell):
    impl = sa.BigInteger
    cache_ok = True

    def load_dialect_impl(self, dialect: sa.Dialect) -> TypeEngine[Any]:
        """Return the type of a database; a key of SQLite is an INTEGER."""
        return sa.Integer() if dialect.name == "sqlite" else sa.BigInteger()

    def is_sound(self, value: Any) -> bool:
        """Whether a value that was read may have been written."""
        return type(value) is int and abs(value) < _LARGEST


class _Quantiles(_Cell):
    """At 0.1 … 0.9 in seconds, a blank between two, ``-``: no start; nothing without a forecast."""

    cache_ok = True

    def process_bind_param(self, value: Any, dialect: sa.Dialect) -> str:
        """Return the text of quantiles."""
        return " ".join("-" if time is None else str(time) for time in value)

    def process_result_value(self, value: Any, dialect: sa.Dialect) -> tuple[int | None, ...]:
        """Return the quantiles of a text; raise DamagedCell for a text that has none."""
        words = super().process_result_value(value, dialect).split()
        return tuple(None if word == "-" else int(word) for word in words)

    def is_sound(self, value: Any) -> bool:
        """Whether a value that was read may have been written."""
        words = value.split() if super().is_sound(value) else [""]
        return len(words) in (0, 9) and all(map(_QUANTILE.fullmatch, words))


#: Facts on the store by name: format, version, dated, first_poll, last_poll, polls.
META: Final = sa.Table(
    "meta",
    TABLES,
    sa.Column("name", _Cell(), primary_key=True),
    sa.Column("value", _Cell(), nullable=False),
)
#: Jobs that were pending at a poll. A job that is requeued has a row for each attempt.
JOBS: Final = sa.Table(
    "jobs",
    TABLES,
    sa.Column("key", _Number(), primary_key=True, autoincrement=False),
    sa.Column("job", _Cell(), nullable=False),
    sa.Column("submit", _Number(), nullable=False),
    sa.Column("attempt", _Number(), nullable=False),
    sa.Column("user", _Cell(), nullable=False),
    sa.Column("queue", _Cell(), nullable=False),
    sa.Column("slots", _Number(), nullable=False),
    sa.Column("first_seen", _Number(), nullable=False),
    # pending, running, finished; gone: left the cluster, and no start is known.
    sa.Column("state", _Cell(), nullable=False),
    sa.Column("started", _Number(needed=False)),
    # By a poll: the first one without the job; by a log: to the second.
    sa.Column("finished", _Number(needed=False)),
    # "poll" or "log", "" if no start is known.
    sa.Column("known_by", _Cell(), nullable=False),
    sa.UniqueConstraint("job", "submit", "attempt"),
)
#: Estimates of a job; a row is kept if one of them has changed. The clock of a cluster may be wrong
#: for a time: polls are in the order of their numbers.
ESTIMATES: Final = sa.Table(
    "estimates",
    TABLES,
    sa.Column(
        "job_key", _Number(), sa.ForeignKey("jobs.key"), primary_key=True, autoincrement=False
    ),
    sa.Column("poll", _Number(), primary_key=True, autoincrement=False),
    sa.Column("at", _Number(), nullable=False),
    sa.Column("as_configured", _Number(needed=False)),
    sa.Column("estimate", _Number(needed=False)),
    sa.Column("possible", _Number(needed=False)),
    sa.Column("printed", _Number(needed=False)),
    sa.Column("likely", _Number(needed=False)),
    sa.Column("early", _Number(needed=False)),
    sa.Column("late", _Number(needed=False)),
    sa.Column("quantiles", _Quantiles(), nullable=False),
    # What moved the start as configured since the state before, "" if nothing is known.
    sa.Column("because", _Cell(), nullable=False, server_default=""),
)
sa.Index("jobs_by_state", JOBS.c.state)
sa.Index("jobs_by_start", JOBS.c.started)


def _by_poll(connection: sa.Connection) -> None:
    """Number the polls of each job, whose estimates had the time of the state alone."""
    older = [item.name for item in ESTIMATES.c if item.name not in ("poll", "because")]
    connection.execute(sa.text("ALTER TABLE estimates RENAME TO estimates_1"))
    ESTIMATES.create(connection)
    before = sa.table("estimates_1", *map(sa.column, older))
    number = sa.func.row_number().over(partition_by=before.c.job_key, order_by=before.c.at)
    connection.execute(
        sa.insert(ESTIMATES).from_select(["poll", *older], sa.select(number, *before.c))
    )
    connection.execute(sa.text("DROP TABLE estimates_1"))


def _with_causes(connection: sa.Connection) -> None:
    """Add the causes of moves; the step before makes the tables of this version."""
    if all(item["name"] != "because" for item in sa.inspect(connection).get_columns("estimates")):
        connection.execute(
            sa.text("ALTER TABLE estimates ADD COLUMN because TEXT DEFAULT '' NOT NULL")
        )


#: Step from each older version to the next one; a step runs in the transaction of its version.
STEPS: Final[Mapping[int, Callable[[sa.Connection], None]]] = {1: _by_poll, 2: _with_causes}


try:
    from fcntl import LOCK_EX, LOCK_NB, flock
except ImportError:  # Windows
    flock = None  # type: ignore[assignment]

#: A store without a file.
MEMORY: Final = ":memory:"
#: Bytes of a file with its application id.
_ID = slice(68, 72)
#: Milliseconds to wait for another process that writes.
_BUSY = 10_000
_WANTED = "give the file that `slotwise serve --store FILE` wrote"


def shown_name(target: str | Path) -> str:
    """Return the name of a store for messages, without a password."""
    text = str(target)
    return _url(text).render_as_string(hide_password=True) if "://" in text else text


def _url(text: str) -> sa.URL:
    """Return a URL in parts; raise InputError if it is none."""
    kind = text.partition("://")[0]
    wrong = f"{kind!r} is not supported for stores"
    if kind.partition("+")[0] == "postgresql":
        try:
            url = sa.make_url(text)
            url.get_dialect()
            if url.port is None or 0 < url.port < 1 << 16:
                return url
            wrong = f"there is no port {url.port}"
        except (ArgumentError, NoSuchModuleError) as error:
            wrong = str(error)
        except ValueError:
            wrong = "the word after its last colon is not a port"
    known = "give postgresql+psycopg://USER@HOST/NAME, or a file"
    raise InputError(f"the URL of the store is invalid: {wrong}: {known}")


def connected(target: str | Path, *, create: bool) -> sa.Engine:
    """Return an engine for a store, with the file checked.

    create: a file that does not exist is made. Raises InputError for a file that is not a store
    or is damaged, and for a database that cannot be reached.
    """
    text = str(target)
    if "://" in text:
        return _server(text)
    if text == MEMORY:
        engine = sa.create_engine(
            "sqlite://", poolclass=StaticPool, connect_args={"check_same_thread": False}
        )
    else:
        _check_file(Path(text), create=create)
        engine = sa.create_engine(sa.URL.create("sqlite", database=text))
    sa.event.listen(engine, "connect", _prepare)
    sa.event.listen(engine, "begin", _start)
    found: list[Any] = []
    try:
        with engine.connect() as connection:
            found = [row[0] for row in connection.exec_driver_sql("PRAGMA quick_check(1)")]
    except OperationalError as error:  # such as a folder that is read-only
        engine.dispose()
        raise InputError([Problem(f"cannot be opened: {_first_line(error)}", text)]) from None
    except (DBAPIError, ValueError) as error:
        found = [_first_line(error)]
    if found != ["ok"]:
        engine.dispose()
        raise damaged(str(found[0]).splitlines()[-1], text)
    return engine


def _server(url: str) -> sa.Engine:
    try:
        engine = sa.create_engine(_url(url), pool_pre_ping=True)
        with engine.connect():
            return engine
    except ModuleNotFoundError as error:
        wrong = f"{error.name} must be installed for this URL: pip install {error.name}"
        raise InputError([Problem(wrong, shown_name(url))]) from None
    except (SQLAlchemyError, ValueError, TypeError) as error:
        wrong = f"cannot be opened: {_first_line(error)}"
        raise InputError([Problem(wrong, shown_name(url))]) from None


def _check_file(path: Path, *, create: bool) -> None:
    """Raise InputError for a file that is none of a store, before SQLite touches it."""
    from ...model.confined import check_inside
    from ..output import check_output

    check_inside(path)
    if create and not path.exists():
        check_output(path)
        return
    if is_stream(path):
        raise no_file(path)
    try:
        head = beginning(path, 100)
    except OSError as error:
        wrong = f"cannot be read: {error.strerror}; {_WANTED}"
        raise InputError([Problem(wrong, str(path))]) from None
    if head and not head.startswith(SQLITE_HEAD):
        wrong = f"must be a store, not a file of another kind: {_WANTED}"
        raise InputError([Problem(wrong, str(path))])
    if head and int.from_bytes(head[_ID]) != APPLICATION:
        wrong = f"must be a store, not an SQLite file of another program: {_WANTED}"
        raise InputError([Problem(wrong, str(path))])


def writer_lock(target: str | Path) -> BinaryIO | None:
    """Return a file that is locked while a process writes a store, or None if it is not a file.

    The lock lasts until the file is closed. Raises InputError if another process writes the store.
    """
    text = str(target)
    if text == MEMORY or "://" in text or flock is None:
        return None
    file = open(text, "rb")  # noqa: SIM115
    try:
        flock(file, LOCK_EX | LOCK_NB)
    except OSError:
        file.close()
        wrong = (
            "another `slotwise serve` writes this store: give another file, or stop that service"
        )
        raise InputError([Problem(wrong, text)]) from None
    return file


def _prepare(connection: sqlite3.Connection, _record: object) -> None:
    """Set a new connection up: the id first, since a killed process must leave a store or nothing.

    Transactions are begun by :func:`_start`, not by the driver.
    """
    connection.isolation_level = None
    connection.execute(f"PRAGMA busy_timeout = {_BUSY}")
    if not connection.execute("PRAGMA application_id").fetchone()[0]:
        connection.execute("PRAGMA auto_vacuum = FULL")
        connection.execute(f"PRAGMA application_id = {APPLICATION}")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("PRAGMA foreign_keys = ON")


def _start(connection: sa.Connection) -> None:
    """Begin a transaction; one that writes takes its lock first, so that it never has to retry."""
    writes = connection.get_execution_options().get("writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def damaged(said: object, name: str) -> InputError:
    """Return the error for a store that is damaged."""
    remedy = "restore a copy, or move the file and start a new store"
    return InputError([Problem(f"is damaged: {said}; {remedy}", name)])


def _first_line(error: Exception) -> str:
    said = str(error.orig) if isinstance(error, DBAPIError) else str(error)
    return said.strip().splitlines()[0] if said.strip() else type(error).__name__
