"""The store: every estimate of a job's start, kept when it changes, and the start that followed.

SQLite by default, another database by its URL. One process writes, any number read. Each poll is
one transaction, so that a killed process loses the poll in flight and no more.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Final, Self

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from ...model.display import HOUR, MINUTE, AsData, data_of
from ...model.errors import InputError, Problem, SlotwiseError, wrong_clock
from ...solver.forecast.forecast import WINDOW, Calibration, Calibrator
from .database import (
    ESTIMATES,
    FORMAT,
    JOBS,
    MEMORY,
    META,
    STEPS,
    TABLES,
    VERSION,
    DamagedCell,
    connected,
    damaged,
    shown_name,
    writer_lock,
)
from .polls import JobEstimate, JobKey, PolledState

#: An estimate has changed if it differs by this many seconds from the kept one, and by this share
#: of the time that is left to it.
MIN_CHANGE, MIN_SHARE = MINUTE, 0.02
#: Names of the estimated starts, as in :class:`JobEstimate` and in the table.
STARTS: Final = ("as_configured", "estimate", "possible", "printed", "likely", "early", "late")
#: Rows of one statement.
_PART = 500


class StoreError(SlotwiseError):
    """The database of the store failed: full disk, lost connection."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """Changes that one poll made to the store."""

    #: Number of kept rows of estimates.
    kept: int
    #: Jobs that were pending before and run now, with their starts.
    started: Mapping[JobKey, int] = field(default_factory=dict)
    #: Pending jobs that left the cluster, and no poll showed a start.
    vanished: tuple[JobKey, ...] = ()


@dataclass(frozen=True, slots=True)
class KeptEstimate:
    """Estimates of one job at one poll, with the start that followed; times in seconds."""

    #: Number of the job in the store.
    number: int
    #: Job id.
    job: str
    #: Submission.
    submit: int
    #: Name of the user.
    user: str
    #: Name of the queue.
    queue: str
    #: Minimum number of slots.
    slots: int
    #: Time of the state from which the estimates were made.
    at: int
    #: Estimated starts by the names in STARTS, None if there is none.
    starts: Mapping[str, int | None]
    #: Uncalibrated quantiles of the forecast, () without a forecast.
    quantiles: tuple[int | None, ...]
    #: The start, None if it is not known.
    started: int | None
    #: What moved the start as configured, "" if nothing is known.
    because: str = ""


@dataclass(frozen=True, slots=True)
class KeptJob:
    """One attempt of a job, with its estimates in the order of time."""

    job: str
    submit: int
    #: 1, or more if the job was requeued.
    attempt: int
    #: "pending", "running", "finished" or "gone": left the cluster without a known start.
    state: str
    started: int | None
    finished: int | None
    estimates: tuple[KeptEstimate, ...]


@dataclass(frozen=True, slots=True)
class LoggedStart:
    """Start and end of a job by a log; times in seconds of the store's clock, None if never."""

    job: str
    submit: int
    started: int | None
    finished: int | None = None


@dataclass(frozen=True, slots=True)
class StoreSummary(AsData):
    """Contents of a store as numbers."""

    #: Number of polls, times of the first and last one (None: no poll yet).
    polls: int
    first_poll: int | None
    last_poll: int | None
    #: Whether times are seconds since 1970.
    dated: bool
    #: Number of jobs by state.
    jobs: Mapping[str, int]
    #: Number of jobs with a known start.
    started: int
    #: Number of rows of estimates.
    estimates: int


@dataclass(slots=True)
class _Alive:
    """A job that was in the cluster at the last poll."""

    number: int
    attempt: int
    running: bool
    #: Last kept estimates, in the order of STARTS; None: none are kept.
    kept: tuple[int | None, ...] | None = None
    #: Whether it had left the cluster by the last poll.
    returned: bool = False


class Store:
    """Estimates and outcomes in a database; open one with :meth:`open`."""

    def __init__(self, engine: sa.Engine, name: str, keep: int | None = None) -> None:
        self.name = name
        #: Seconds for which jobs are kept after they left the cluster; None: for ever.
        self.keep = keep
        self._engine = engine
        self._lock = threading.RLock()
        self._meta: dict[str, str] = {}
        self._alive: dict[JobKey, _Alive] = {}
        #: Running jobs that were never seen pending.
        self._unseen: set[JobKey] = set()
        self._next = 1
        #: Time from which on old jobs are deleted: an hour after the clock was set.
        self._prune_at = 0
        #: Seconds that the clock of the last state was ahead of this process's.
        self._ahead: float | None = None
        #: Locked while this process writes the file.
        self._writing: BinaryIO | None = None

    @classmethod
    def open(cls, target: str | Path, *, create: bool = True, keep: int | None = None) -> Store:
        """Return the store in a file, in memory (``:memory:``) or at a URL, checked and migrated.

        create: make an empty store if there is none. keep: seconds for which jobs are kept after
        they left the cluster, None: for ever. Raises InputError if there is none, if it is
        damaged, newer than this version, or no store.
        """
        store = cls(connected(target, create=create), shown_name(target), keep)
        try:
            if create:
                store._writing = writer_lock(target)
            store._begin(create=create)
        except BaseException:
            store.close()
            raise
        return store

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()
        if self._writing is not None:
            self._writing.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def _transaction(self, *, writes: bool) -> Iterator[sa.Connection]:
        """Yield a connection in a transaction; a failing database is a StoreError."""
        try:
            with self._guard(writes=writes), self._engine.connect() as connection:
                connection.execution_options(writes=writes)
                with connection.begin():
                    yield connection
        except (SQLAlchemyError, UnicodeDecodeError) as error:  # in a damaged schema
            raise StoreError(f"{self.name}: the store failed: {_reason(error)}") from error
        except DamagedCell as error:
            raise damaged(error, self.name) from error

    def _guard(self, *, writes: bool) -> AbstractContextManager[object]:
        """Return the lock of the one writer; readers need it only in memory."""
        return self._lock if writes or self.name == MEMORY else nullcontext()

    def _begin(self, *, create: bool) -> None:
        with self._transaction(writes=True) as connection:
            has_tables = sa.inspect(connection).has_table(META.name)
            if not has_tables:
                if not create:
                    raise self._no_store("a database without the tables of a store")
                TABLES.create_all(connection)
                facts = {"format": FORMAT, "version": str(VERSION)}
                rows = [{"name": name, "value": value} for name, value in facts.items()]
                connection.execute(sa.insert(META), rows)
            self._meta = {row.name: row.value for row in connection.execute(sa.select(META))}
            self._migrate(connection)
            for name in _NUMBERS:
                if not re.fullmatch("-?[0-9]{1,15}", value := self._meta.get(name, "0")):
                    raise DamagedCell(f"{name}: {value!r} is not a number")
            self._load(connection)

    def _no_store(self, found: str) -> InputError:
        wanted = "give the file that `slotwise serve --store FILE` wrote"
        return InputError([Problem(f"must be a store, not {found}: {wanted}", self.name)])

    def _migrate(self, connection: sa.Connection) -> None:
        """Bring the tables to this version, step by step; raise InputError for a newer store."""
        said = self._meta.get("version", "")
        if self._meta.get("format") != FORMAT or not said.isdecimal():
            raise self._no_store("a database of another program")
        found = int(said)
        if not found:
            raise self._no_store(f"a store of version {said}")
        if found > VERSION:
            wrong = (
                f"is a store of version {found}: this slotwise reads up to version {VERSION}; "
                "use the newer slotwise that wrote it"
            )
            raise InputError([Problem(wrong, self.name)])
        for version in range(found, VERSION):
            STEPS[version](connection)
        if found < VERSION:
            self._set(connection, version=VERSION)

    def _set(self, connection: sa.Connection, **facts: int | str) -> None:
        """Write facts on the store into META."""
        for name, value in facts.items():
            changed = connection.execute(
                sa.update(META).where(META.c.name == name).values(value=str(value))
            )
            if not changed.rowcount:
                connection.execute(sa.insert(META).values(name=name, value=str(value)))

    def _load(self, connection: sa.Connection) -> None:
        """Read the jobs that were in the cluster at the last poll, with their last estimates."""
        last_key = sa.select(JOBS.c.key).order_by(JOBS.c.key.desc()).limit(1)
        self._next = (connection.scalar(last_key) or 0) + 1
        alive = JOBS.c.state.in_(("pending", "running"))
        chosen = sa.select(JOBS).where(alive).order_by(JOBS.c.attempt)
        self._alive = {
            (row.job, row.submit): _Alive(row.key, row.attempt, row.state == "running")
            for row in connection.execute(chosen)
        }
        last = (
            sa.select(ESTIMATES.c.job_key, sa.func.max(ESTIMATES.c.poll).label("poll"))
            .join(JOBS, JOBS.c.key == ESTIMATES.c.job_key)
            .where(alive)
            .group_by(ESTIMATES.c.job_key)
            .subquery()
        )
        same = (ESTIMATES.c.job_key == last.c.job_key) & (ESTIMATES.c.poll == last.c.poll)
        by_number = {item.number: item for item in self._alive.values()}
        for row in connection.execute(sa.select(ESTIMATES).join(last, same)):
            if row.job_key in by_number:  # of two attempts that wait, the last one counts
                by_number[row.job_key].kept = _starts_of(row)

    @property
    def last_poll(self) -> int | None:
        """Return the time of the last state, None without one."""
        last = self._meta.get("last_poll")
        return None if last is None else int(last)

    def record(self, state: PolledState) -> Recorded:
        """Keep the estimates of a poll that changed, and derive the starts that it shows.

        A state before the last one is kept too: no poll can tell which of their clocks is wrong.
        Raises InputError for times without a date among dates, or the other way round; StoreError
        if the database fails: then nothing of the poll is kept.
        """
        dated = self._meta.get("dated")
        if dated is not None and bool(int(dated)) != state.dated:
            wrong = wrong_clock(not state.dated, "the store")
            raise InputError([Problem(f"{wrong}: give another store", self.name)])
        number = int(self._meta.get("polls", 0)) + 1
        poll = _Poll.of(self._alive | self._returned(state), state, self._next, number)
        facts: dict[str, int | str] = {
            "dated": int(state.dated),
            "first_poll": self._meta.get("first_poll", str(state.at)),
            "last_poll": state.at,
            "polls": number,
        }
        with self._transaction(writes=True) as connection:
            if poll.jobs:
                connection.execute(sa.insert(JOBS), poll.jobs)
            for number, values in poll.changes.items():
                connection.execute(sa.update(JOBS).where(JOBS.c.key == number).values(**values))
            if poll.rows:
                connection.execute(sa.insert(ESTIMATES), poll.rows)
            self._set(connection, **facts)
        self._alive, self._next = poll.alive, poll.next
        self._unseen = state.running.keys() - poll.alive.keys()
        self._meta.update({name: str(value) for name, value in facts.items()})
        ahead, self._ahead = self._ahead, state.at - time.monotonic()
        if ahead is None or abs(self._ahead - ahead) > HOUR:  # the clock may be wrong
            self._prune_at = state.at + HOUR
        if self.keep is not None and state.at >= self._prune_at:
            self.prune(self.keep)
            self._prune_at = state.at + HOUR
        return Recorded(len(poll.rows), poll.started, poll.vanished)

    def _returned(self, state: PolledState) -> dict[JobKey, _Alive]:
        """Return the jobs of a state that had left the cluster: listed in part, or requeued."""
        keys = {item.key for item in state.pending} - self._alive.keys()
        keys |= state.running.keys() - self._alive.keys() - self._unseen
        if not keys:
            return {}
        chosen = sa.select(JOBS).order_by(JOBS.c.attempt)
        found = {}
        with self._transaction(writes=False) as connection:
            for part in _parts(sorted({job for job, _ in keys})):
                for row in connection.execute(chosen.where(JOBS.c.job.in_(part))):
                    ran = row.started is not None
                    found[row.job, row.submit] = _Alive(row.key, row.attempt, ran, returned=True)
        return {key: job for key, job in found.items() if key in keys}

    def outcome(self, job: str, submit: int, started: int | None, finished: int | None) -> bool:
        """Keep the start and end of one job, None if never; return whether the store has it."""
        return self.add_outcomes([LoggedStart(job, submit, started, finished)]) == 1

    def add_outcomes(self, outcomes: Iterable[LoggedStart]) -> int:
        """Keep the starts and ends of jobs by a log; return for how many jobs of the store.

        A job is known by its id and a submission within the same minute, because some commands
        print no seconds. Records of jobs that the store never saw pending are skipped.
        """
        with self._lock:
            with self._transaction(writes=False) as connection:
                known: dict[str, list[sa.Row[Any]]] = {}
                for row in connection.execute(sa.select(JOBS).order_by(JOBS.c.attempt)):
                    known.setdefault(row.job, []).append(row)
            changes: dict[int, dict[str, Any]] = {}
            for item in outcomes:
                found = _attempt(known.get(item.job, ()), item)
                if found is not None:
                    changes[found.key] = _outcome_values(found, item)
            for part in _parts(list(changes.items())):
                with self._transaction(writes=True) as connection:
                    for number, values in part:
                        chosen = sa.update(JOBS).where(JOBS.c.key == number)
                        connection.execute(chosen.values(**values))
            with self._transaction(writes=False) as connection:
                self._load(connection)
        return len(changes)

    def history(self, job: str) -> tuple[KeptJob, ...]:
        """Return the attempts of all jobs with an id, oldest first; () if there is none."""
        chosen = sa.select(JOBS).where(JOBS.c.job == job)
        with self._transaction(writes=False) as connection:
            rows = connection.execute(chosen.order_by(JOBS.c.submit, JOBS.c.attempt)).all()
            kept: dict[int, list[KeptEstimate]] = {row.key: [] for row in rows}
            joined = _joined().where(JOBS.c.job == job)
            for row in connection.execute(joined.order_by(ESTIMATES.c.poll)):
                kept[row.key].append(_kept(row))
        return tuple(
            KeptJob(
                row.job,
                row.submit,
                row.attempt,
                row.state,
                row.started,
                row.finished,
                tuple(kept[row.key]),
            )
            for row in rows
        )

    def first_estimates(
        self,
        name: str,
        since: int | None = None,
        horizons: Sequence[int] = (),
        last: int | None = None,
    ) -> list[KeptEstimate]:
        """Return the first estimate by one method of each job with a known start, by job.

        Estimates of a clock that was wrong do not count: from before the submission, or after the
        start.

        name: one of STARTS; for the median forecast also a forecast without a start counts. since:
        only those made at this second or later. horizons: bounds of classes of the estimated wait
        in seconds; the first estimate in each class is returned. last: only the jobs with the last
        starts, this many.
        """
        column = ESTIMATES.c[name]
        given: sa.ColumnElement[bool] = column.is_not(None)
        if name == "likely":
            given |= ESTIMATES.c.quantiles != ()
        given &= ESTIMATES.c.at > JOBS.c.submit - MINUTE  # some commands print no seconds
        given &= ESTIMATES.c.at < JOBS.c.started + MINUTE
        groups: list[sa.ColumnElement[Any]] = [ESTIMATES.c.job_key]
        if horizons:
            wait = column - ESTIMATES.c.at
            bounds = [(wait < bound, place) for place, bound in enumerate(horizons)]
            groups.append(sa.case(*bounds, else_=len(horizons)))
            given &= column.is_not(None)
        first = sa.select(ESTIMATES.c.job_key, sa.func.min(ESTIMATES.c.poll).label("poll"))
        first = first.join(JOBS, JOBS.c.key == ESTIMATES.c.job_key)
        first = first.where(given & JOBS.c.started.is_not(None))
        if since is not None:
            first = first.where(ESTIMATES.c.at >= since)
        if last is not None:
            own = sa.exists().where((ESTIMATES.c.job_key == JOBS.c.key) & given)
            started = sa.select(JOBS.c.key).where(JOBS.c.started.is_not(None) & own)
            latest = started.order_by(JOBS.c.started.desc(), JOBS.c.key.desc()).limit(last)
            first = first.where(ESTIMATES.c.job_key.in_(latest))
        chosen = first.group_by(*groups).subquery()
        same = (ESTIMATES.c.job_key == chosen.c.job_key) & (ESTIMATES.c.poll == chosen.c.poll)
        with self._transaction(writes=False) as connection:
            ordered = _joined().join(chosen, same).order_by(JOBS.c.key, ESTIMATES.c.poll)
            return [_kept(row) for row in connection.execute(ordered)]

    def estimates_of(self, jobs: Sequence[int]) -> dict[int, list[KeptEstimate]]:
        """Return the estimates of jobs in the order of time, by the number of the job."""
        kept: dict[int, list[KeptEstimate]] = {number: [] for number in jobs}
        with self._transaction(writes=False) as connection:
            for part in _parts(jobs):
                chosen = _joined().where(JOBS.c.key.in_(part)).order_by(ESTIMATES.c.poll)
                for row in connection.execute(chosen):
                    kept[row.key].append(_kept(row))
        return kept

    def calibration(self) -> Calibration:
        """Return the factors of P10 and P90 by the forecasts whose start is known.

        The first forecast of each job counts, in the order of the starts; the last WINDOW count.
        """
        known = [item for item in self.first_estimates("likely", last=WINDOW) if item.quantiles]
        calibrator = Calibrator()
        for item in sorted(known, key=lambda each: (each.started, each.number)):
            early, late = item.quantiles[0], item.quantiles[-1]
            if early is not None and late is not None and item.started is not None:
                calibrator.add(max(0, item.started - item.at), early - item.at, late - item.at)
        return calibrator.calibration()

    def summary(self) -> StoreSummary:
        """Return the contents of the store as numbers."""
        with self._transaction(writes=False) as connection:
            states = sa.select(JOBS.c.state, sa.func.count()).group_by(JOBS.c.state)
            jobs = {str(state): int(count) for state, count in connection.execute(states)}
            started = connection.scalar(
                sa.select(sa.func.count()).where(JOBS.c.started.is_not(None)).select_from(JOBS)
            )
            estimates = connection.scalar(sa.select(sa.func.count()).select_from(ESTIMATES))
        meta = {name: int(self._meta[name]) for name in _NUMBERS if name in self._meta}
        return StoreSummary(
            polls=meta.get("polls", 0),
            first_poll=meta.get("first_poll"),
            last_poll=meta.get("last_poll"),
            dated=bool(meta.get("dated", 1)),
            jobs=jobs,
            started=started or 0,
            estimates=estimates or 0,
        )

    def prune(self, keep: int) -> int:
        """Delete the jobs that left the cluster over `keep` seconds before the last poll.

        Return their number.
        """
        last = self.last_poll
        if last is None:
            return 0
        left = sa.func.coalesce(JOBS.c.finished, JOBS.c.started, JOBS.c.first_seen)
        old = JOBS.c.state.in_(("finished", "gone")) & (left < last - keep)
        deleted = 0
        while True:
            with self._transaction(writes=True) as connection:
                numbers = list(connection.scalars(sa.select(JOBS.c.key).where(old).limit(_PART)))
                connection.execute(sa.delete(ESTIMATES).where(ESTIMATES.c.job_key.in_(numbers)))
                connection.execute(sa.delete(JOBS).where(JOBS.c.key.in_(numbers)))
            deleted += len(numbers)
            if len(numbers) < _PART:
                return deleted


_NUMBERS = ("polls", "first_poll", "last_poll", "dated")


@dataclass(slots=True)
class _Poll:
    """Rows by which a poll changes the tables, and the state behind it."""

    alive: dict[JobKey, _Alive]
    #: Number of the next job that is new, and of the poll.
    next: int
    number: int
    jobs: list[dict[str, Any]] = field(default_factory=list)
    changes: dict[int, dict[str, Any]] = field(default_factory=dict)
    rows: list[dict[str, Any]] = field(default_factory=list)
    started: dict[JobKey, int] = field(default_factory=dict)
    vanished: tuple[JobKey, ...] = ()

    @classmethod
    def of(
        cls, before: Mapping[JobKey, _Alive], state: PolledState, next_job: int, number: int
    ) -> _Poll:
        """Return the changes from the jobs of the last poll to a state."""
        poll = cls({}, next_job, number)
        for item in state.pending:
            poll._pend(before.get(item.key), item, state.at)
        for key, start in state.running.items():
            job = before.get(key)
            if job is None or key in poll.alive:
                continue
            if not job.running:
                poll.changes[job.number] = _running(start)
                poll.started[key] = start
            elif job.returned:
                poll.changes[job.number] = {"state": "running", "finished": None}
            poll.alive[key] = _Alive(job.number, job.attempt, running=True)
        left = [(key, job) for key, job in before.items() if key not in poll.alive]
        for _, job in left:
            word = "finished" if job.running else "gone"
            poll.changes[job.number] = {"state": word, "finished": state.at}
        poll.vanished = tuple(key for key, job in left if not job.running)
        return poll

    def _pend(self, before: _Alive | None, item: JobEstimate, at: int) -> None:
        """Take a pending job over; a job that ran before is requeued and begins an attempt."""
        if before is None or before.running:
            attempt = 1
            if before is not None:
                if not before.returned:
                    self.changes[before.number] = {"state": "finished", "finished": at}
                attempt = before.attempt + 1
            before = _Alive(self.next, attempt, running=False)
            self.next += 1
            self.jobs.append(_job_row(before, item, at))
        elif before.returned:
            self.changes[before.number] = {"state": "pending", "finished": None}
        kept = before.kept
        values = tuple(getattr(item, name) for name in STARTS)
        changed = kept is None or any(map(_has_changed, kept, values, [at] * len(values)))
        if item.examined and (changed or item.because):
            self.rows.append(_estimate_row(before.number, self.number, item, at))
            kept = values
        self.alive[item.key] = _Alive(before.number, before.attempt, running=False, kept=kept)


def _has_changed(kept: int | None, new: int | None, at: int) -> bool:
    """Whether an estimate differs from the kept one by more than a reader would notice."""
    if kept is None or new is None:
        return kept is not new
    return abs(new - kept) >= max(MIN_CHANGE, MIN_SHARE * (new - at))


def _running(start: int) -> dict[str, Any]:
    return {"state": "running", "started": start, "finished": None, "known_by": "poll"}


def _job_row(job: _Alive, item: JobEstimate, at: int) -> dict[str, Any]:
    return {
        **data_of(job, "key=number attempt"),
        **data_of(item, "job submit user queue slots"),
        "first_seen": at,
        "state": "pending",
        "known_by": "",
    }


def _estimate_row(job: int, poll: int, item: JobEstimate, at: int) -> dict[str, Any]:
    names = " ".join((*STARTS, "quantiles", "because"))
    return {"job_key": job, "poll": poll, "at": at, **data_of(item, names)}


def _attempt(rows: Sequence[sa.Row[Any]], item: LoggedStart) -> sa.Row[Any] | None:
    """Return the attempt of a job to which a record of a log belongs, None if it is unknown."""
    same = [row for row in rows if abs(row.submit - item.submit) < MINUTE]
    if item.started is None:
        return same[-1] if same else None
    later = [row for row in same if row.first_seen <= item.started]
    return later[-1] if later else (same[0] if same else None)


def _outcome_values(row: sa.Row[Any], item: LoggedStart) -> dict[str, Any]:
    if item.started is None:
        return {"state": "gone", "finished": item.finished}
    state = row.state if item.finished is None else "finished"
    return {
        "state": "running" if state in ("pending", "gone") else state,
        "started": item.started,
        "finished": item.finished,
        "known_by": "log",
    }


def _joined() -> sa.Select[Any]:
    """Return the estimates joined with their jobs."""
    columns = [column for column in ESTIMATES.c if column.name != "job_key"]
    return sa.select(JOBS, *columns).join(ESTIMATES, ESTIMATES.c.job_key == JOBS.c.key)


def _starts_of(row: sa.Row[Any]) -> tuple[int | None, ...]:
    return tuple(getattr(row, name) for name in STARTS)


def _kept(row: sa.Row[Any]) -> KeptEstimate:
    starts = dict(zip(STARTS, _starts_of(row), strict=True))
    names = ("job", "submit", "user", "queue", "slots", "at", "quantiles", "started", "because")
    return KeptEstimate(row.key, starts=starts, **{name: getattr(row, name) for name in names})


def _parts(items: Sequence[Any]) -> Iterator[Sequence[Any]]:
    return (items[place : place + _PART] for place in range(0, len(items), _PART))


def _reason(error: SQLAlchemyError | UnicodeDecodeError) -> str:
    """Return the database's own words, without the statement and its values."""
    if isinstance(error, UnicodeDecodeError):
        return "its schema contains bytes that are not text"
    return str(error.orig) if isinstance(error, DBAPIError) else type(error).__name__
