"""Runs of jobs by a log (SWF, lsb.acct, sacct -P or lsb.events), also of jobs still pending."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ...model.configuration import consumers_of
from ...model.errors import InputError, Problem
from ...model.formats.reading import kind_of, refuse_other
from ...model.job import Job
from ...model.sources.acct import SKEWED, read_acct
from ...model.sources.finished_jobs import FinishedJob
from ...model.sources.log_lines import BadRecords, refused_records
from ...model.sources.lsf_state.bjobs import SeenJob
from ...model.sources.lsf_state.event_log import cut
from ...model.sources.lsf_state.log_records import read_events
from ...model.sources.swf import SwfLog, read_swf

#: The logs that are read, for messages.
LOGS = "SWF, lsb.acct, sacct -P or lsb.events"


@dataclass(frozen=True, slots=True)
class LoggedRun:
    """A job of a log; times in seconds of the log's clock."""

    #: The job; `slots` are those in use, if it has run.
    job: Job
    #: Last start, None if it never started.
    start: int | None
    #: End, None if the log does not have it.
    end: int | None


@dataclass(frozen=True, slots=True)
class LoggedRuns:
    """The jobs of a log in the order of the file."""

    runs: Sequence[LoggedRun]
    #: Seconds since 1970 of the log's second 0, None if the log does not say.
    epoch: int | None = 0
    #: Malformed records.
    problems: Sequence[Problem] = ()
    #: Number of repairs and of cells that cannot be read, by kind.
    notes: Mapping[str, int] = field(default_factory=dict)
    #: Time of the last record in seconds of the log's clock.
    last: int = 0
    #: Whether jobs without an end are in it too.
    has_unfinished: bool = False


def logged_runs(path: Path, *, keep_going: bool = False) -> LoggedRuns:
    """Return the runs of a log.

    Raises InputError if it cannot be read, is not a log, or has bad records (unless keep_going).
    """
    found = read_runs(path)
    if found.problems and not kind_of(path) and all(run.start is None for run in found.runs):
        raise InputError(
            [Problem(f"is not a log ({LOGS}): give a log of finished jobs", str(path))]
        )
    if found.problems and not keep_going:
        raise refused_records(found.problems, len(found.runs))
    return found


def read_runs(path: Path) -> LoggedRuns:
    """Return the runs of a log with its malformed records; raises InputError if it is none."""
    refuse_other(path, *_READERS)
    return _READERS.get(kind_of(path), _swf)(path)


def _swf(path: Path) -> LoggedRuns:
    """Return the records with a run time; a job without a recorded wait counts as started at
    submission.
    """
    log = read_swf(path, keep_going=True)
    runs = _swf_runs(log)
    epoch = None if log.origin is None else int(log.origin.timestamp())
    last = max((run.end or 0 for run in runs), default=0)
    return LoggedRuns(runs, epoch, log.problems, log.workload.notes, last)


def _swf_runs(log: SwfLog) -> list[LoggedRun]:
    """Return all records of an SWF log; those without a run time, size or submission never ran."""
    work = log.workload
    columns = (work.job, work.submit, log.wait, work.run_time, work.req_time, work.procs, work.user)
    runs = []
    for number, submit, wait, run, limit, slots, user in zip(
        *(column.tolist() for column in columns), strict=True
    ):
        ran = run > 0 and slots > 0
        start = submit + max(0, wait)
        job = Job(
            str(number),
            slots=max(slots, 1),
            user=f"user{user}" if user >= 0 else "user",
            run_limit=limit if limit > 0 else None,
            submit=submit,
        )
        end = start + (min(run, limit) if limit > 0 else run)
        runs.append(LoggedRun(job, start if ran else None, end if ran else None))
    return runs


def _acct(path: Path) -> LoggedRuns:
    """Return the finished jobs; a job that was ended while pending has no start."""
    log = read_acct(path, keep_going=True)
    runs = [
        LoggedRun(
            _job(job, job.hosts),
            job.start if job.start and job.hosts else None,
            job.end,
        )
        for job in log.jobs
    ]
    notes = {SKEWED: log.repaired, **_unread(log.unread)}
    last = max((run.end or 0 for run in runs), default=0)
    return LoggedRuns(runs, 0, log.problems, notes, last)


def _unread(lines: Sequence[str]) -> dict[str, int]:
    return {f"a cell that cannot be read, first {lines[0]}": len(lines)} if lines else {}


def _events(path: Path) -> LoggedRuns:
    """Return the jobs whose submission is in the log."""
    bad = BadRecords()
    found = cut(read_events(path, bad, {}), -1, later=True)
    runs = [
        LoggedRun(
            _job(seen, seen.allocation),
            seen.start,
            seen.start + seen.real_run_time
            if seen.status == "DONE" and seen.start is not None and seen.real_run_time is not None
            else None,
        )
        for seen in found.later
    ]
    problems = bad.report() if bad.count else ()
    return LoggedRuns(runs, 0, problems, _unread(bad.told_cells()), found.last, has_unfinished=True)


def _job(seen: SeenJob | FinishedJob, allocation: Mapping[str, int]) -> Job:
    return Job(
        seen.id,
        slots=sum(allocation.values()) or seen.slots or 1,
        **(consumers_of(seen) | {"queue": seen.queue or "default"}),
        res_req=(seen.res_req,) if seen.res_req else (),
        run_limit=seen.run_limit,
        submit=seen.submit or 0,
    )


_READERS: dict[str, Callable[[Path], LoggedRuns]] = {"swf": _swf, "acct": _acct, "events": _events}
