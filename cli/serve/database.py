"""Connections to the database of a store: an SQLite file, memory, or a server by its URL."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any, BinaryIO, Final

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, SQLAlchemyError
from sqlalchemy.pool import StaticPool

from ...model.errors import InputError, Problem
from ...model.formats.reading import beginning, is_stream, no_file
from .schema import APPLICATION
from .sqlite_file import SQLITE_HEAD

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


def _url(text: str) -> URL:
    """Return a URL in parts; raise InputError if it is none."""
    kind = text.partition("://")[0]
    wrong = f"no store is kept in {kind!r}"
    if kind.partition("+")[0] == "postgresql":
        try:
            url = make_url(text)
            url.get_dialect()
            if url.port is None or 0 < url.port < 1 << 16:
                return url
            wrong = f"there is no port {url.port}"
        except (ArgumentError, NoSuchModuleError) as error:
            wrong = str(error)
        except ValueError:
            wrong = "the word after its last colon is no port"
    known = "give postgresql+psycopg://USER@HOST/NAME, or a file"
    raise InputError(f"the URL of the store is invalid: {wrong}: {known}")


def connected(target: str | Path, *, create: bool) -> Engine:
    """Return an engine for a store, with the file checked.

    create: a file that does not exist is made. Raises InputError for a file that is no store or is
    damaged, and for a database that cannot be reached.
    """
    text = str(target)
    if "://" in text:
        return _server(text)
    if text == MEMORY:
        engine = create_engine(
            "sqlite://", poolclass=StaticPool, connect_args={"check_same_thread": False}
        )
    else:
        _check_file(Path(text), create=create)
        engine = create_engine(URL.create("sqlite", database=text))
    event.listen(engine, "connect", _prepare)
    event.listen(engine, "begin", _start)
    found: list[Any] = []
    try:
        with engine.connect() as connection:
            found = [row[0] for row in connection.exec_driver_sql("PRAGMA quick_check(1)")]
    except (DBAPIError, ValueError) as error:
        found = [_first_line(error)]
    if found != ["ok"]:
        engine.dispose()
        raise damaged(str(found[0]).splitlines()[-1], text)
    return engine


def _server(url: str) -> Engine:
    try:
        engine = create_engine(_url(url), pool_pre_ping=True)
        with engine.connect():
            return engine
    except ModuleNotFoundError as error:
        wrong = f"needs the package {error.name}, which is not installed: pip install {error.name}"
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
        raise InputError([Problem(f"is no store: it is no SQLite file; {_WANTED}", str(path))])
    if head and int.from_bytes(head[_ID]) != APPLICATION:
        found = "it is an SQLite file of another program"
        raise InputError([Problem(f"is no store: {found}; {_WANTED}", str(path))])


def writer_lock(target: str | Path) -> BinaryIO | None:
    """Return a file that is locked while a process writes a store, or None if it is no file.

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
        wrong = "another `slotwise serve` writes this store: give another file, or end that service"
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


def _start(connection: Connection) -> None:
    """Begin a transaction; one that writes takes its lock first, so that it never has to retry."""
    writes = connection.get_execution_options().get("writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def damaged(said: object, name: str) -> InputError:
    """Return the error for a store that is damaged."""
    remedy = "restore a copy, or move it away and begin a new store"
    return InputError([Problem(f"is damaged: {said}; {remedy}", name)])


def _first_line(error: Exception) -> str:
    said = str(error.orig) if isinstance(error, DBAPIError) else str(error)
    return said.strip().splitlines()[0] if said.strip() else type(error).__name__
