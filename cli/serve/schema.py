"""Tables of the store, their version, and the steps from older versions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    column,
    func,
    insert,
    select,
    table,
    text,
)

#: Marks a store: the value of "format" in META, and the application id of an SQLite file.
FORMAT: Final = "slotwise-store"
APPLICATION: Final = 0x534C5457
#: Version of the tables.
VERSION: Final = 2

TABLES: Final = MetaData()
#: Facts on the store by name: format, version, dated, first_poll, last_poll, polls.
META: Final = Table(
    "meta",
    TABLES,
    Column("name", Text, primary_key=True),
    Column("value", Text, nullable=False),
)
_SECONDS: Final = BigInteger().with_variant(Integer, "sqlite")
#: Jobs that were pending at a poll. A job that is requeued has a row for each attempt.
JOBS: Final = Table(
    "jobs",
    TABLES,
    Column("key", _SECONDS, primary_key=True, autoincrement=False),
    Column("job", Text, nullable=False),
    Column("submit", _SECONDS, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("user", Text, nullable=False),
    Column("queue", Text, nullable=False),
    Column("slots", Integer, nullable=False),
    Column("first_seen", _SECONDS, nullable=False),
    # pending, running, finished; gone: left the cluster, and no start is known.
    Column("state", Text, nullable=False),
    Column("started", _SECONDS),
    # By a poll: the first one without the job; by a log: to the second.
    Column("finished", _SECONDS),
    # "poll" or "log", "" if no start is known.
    Column("known_by", Text, nullable=False),
    UniqueConstraint("job", "submit", "attempt"),
)
#: Estimates of a job; a row is kept if one of them has changed. The clock of a cluster may be wrong
#: for a time: polls are in the order of their numbers.
ESTIMATES: Final = Table(
    "estimates",
    TABLES,
    Column("job_key", _SECONDS, ForeignKey("jobs.key"), primary_key=True, autoincrement=False),
    Column("poll", _SECONDS, primary_key=True, autoincrement=False),
    Column("at", _SECONDS, nullable=False),
    Column("as_configured", _SECONDS),
    Column("estimate", _SECONDS),
    Column("possible", _SECONDS),
    Column("printed", _SECONDS),
    Column("likely", _SECONDS),
    Column("early", _SECONDS),
    Column("late", _SECONDS),
    # Quantiles at 0.1 … 0.9 in seconds, a blank between two, "-": no start.
    Column("quantiles", Text, nullable=False),
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
    chosen = select(number, *before.c)
    connection.execute(insert(ESTIMATES).from_select(["poll", *older], chosen))
    connection.execute(text("DROP TABLE estimates_1"))


#: Step from each older version to the next one; a step runs in the transaction of its version.
STEPS: Final[Mapping[int, Callable[[Connection], None]]] = {1: _by_poll}
