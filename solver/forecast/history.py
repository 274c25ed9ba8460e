"""Jobs of a log (SWF, lsb.acct, sacct -P or lsb.events): their runs, and ended jobs in columns."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from zlib import crc32

import numpy as np

from ...model.configuration import consumers_of
from ...model.display import MINUTE, WEEK, duration_text, epoch_of
from ...model.errors import InputError, Problem, report
from ...model.formats.reading import kind_of, refuse_other
from ...model.instance import Instance
from ...model.job import Job
from ...model.job_table import OneLine
from ...model.sources.acct import SKEWED, read_acct
from ...model.sources.finished_jobs import FinishedJob
from ...model.sources.log_lines import BadRecords, refused_records
from ...model.sources.lsf_state.bjobs import SeenJob
from ...model.sources.lsf_state.event_log import cut
from ...model.sources.lsf_state.log_records import read_events
from ...model.sources.swf import SwfLog, read_swf
from ...model.workload import Workload
from .jobs import NO_LIMIT, PastJobs, ints, keys_of

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


#: Seconds before now within which a log may end without being moved in time.
OLD = 4 * WEEK


@dataclass(frozen=True, slots=True)
class Ended:
    """A finished job; times in seconds of the log's clock."""

    job: Job
    #: Start in seconds on the log's clock.
    start: int
    #: End in seconds on the log's clock.
    end: int


@dataclass(frozen=True, slots=True, repr=False)
class History(OneLine):
    """Ended jobs on the clock of an instance, and what was odd about the log."""

    #: The finished jobs in the order of their ends.
    jobs: PastJobs
    #: Number of each user by name.
    users: Mapping[str, int] = field(default_factory=dict)
    #: Returns the job of a row of `jobs`, as a pattern for a new submission; its times are the
    #: log's.
    like: Callable[[int], Job] = lambda row: Job(str(row))
    #: Remarks on the log, one sentence each.
    remarks: tuple[str, ...] = ()

    def _about(self) -> str:
        return f"{len(self.jobs)} jobs"

    def numbers(self, users: Iterable[str]) -> list[int]:
        """Return the numbers of users by name; a user unknown to the history has one below 0.

        It follows from the name alone, so that other jobs do not change a user's random numbers.
        """
        known = self.users
        return [known[user] if user in known else -1 - crc32(user.encode()) for user in users]


def history_of(
    ended: Sequence[Ended],
    shift: int = 0,
    users: Mapping[str, int] | None = None,
) -> History:
    """Return a history of jobs given in any order.

    shift: seconds to add to the log's clock. users: numbers that some users have already.
    """
    order = sorted(range(len(ended)), key=lambda place: ended[place].end)
    jobs = [ended[place].job for place in order]
    users = dict(users or {})
    numbers = [users.setdefault(job.user, len(users)) for job in jobs]
    limits = [NO_LIMIT if job.run_limit is None else job.run_limit for job in jobs]
    past = PastJobs(
        key=keys_of(job.id for job in jobs),
        user=ints(numbers),
        limit=ints(limits),
        slots=ints([job.slots for job in jobs]),
        submit=ints([job.submit for job in jobs]) + shift,
        start=ints([ended[place].start for place in order]) + shift,
        end=ints([ended[place].end for place in order]) + shift,
    )
    return History(past, users, jobs.__getitem__)


def read_history(path: str | Path, instance: Instance, *, keep_going: bool = False) -> History:
    """Return the jobs of the log at `path` that had ended by the instance's now, on its clock.

    A log of LSF says which second is which, an SWF log with UnixStartTime and an instance with an
    origin too. Where one does not, their seconds 0 are taken for one. A log that begins after the
    instance's now on a clock that nobody says, or ends weeks before it, is moved by whole weeks, so
    that what it holds had ended just now. A record of a job that waits or runs in the instance
    does not count, whatever it says.

    Raises
    ------
    InputError
        The log cannot be read or is none, has malformed records (unless `keep_going`), or no job
        of it had ended by then.
    """
    source = str(path)
    ended, epoch, remarks = _read(Path(path), keep_going)
    if not ended:
        raise InputError([Problem("has no finished jobs: give a log of finished jobs", source)])
    same_clock = instance.origin is not None and epoch is not None
    shift = clock_offset(epoch, instance)
    if weeks := _weeks(ended, instance.now - shift, same_clock=same_clock):
        remarks += (f"{source}: moved by {weeks:+} weeks, to end just before the instance's now",)
    shift += weeks * WEEK
    known = [item for item in ended if item.end + shift <= instance.now]
    others = _others(known, instance, shift)
    if len(others) < len(known):
        remarks += (f"{source}: {_of_it(len(known) - len(others))}",)
    if known and not others:
        wrong = (
            "the jobs it calls finished are pending or running in the instance: give an older log"
        )
        raise InputError([Problem(wrong, source)])
    if not known:
        late = duration_text(min(item.end for item in ended) + shift - instance.now)
        wrong = f"its first job ends {late} after the instance's now: give a log of earlier jobs"
        raise InputError([Problem(wrong, source)])
    if not any(item.job.run_limit for item in ended):
        remarks += (
            f"{source}: none of its jobs has a run limit: run times are sampled in seconds",
        )
    found = history_of(others, shift)
    users = {job.user for job in instance.pending} | {run.job.user for run in instance.running}
    if users and not users & set(found.users):
        remarks += (
            f"{source}: it has none of the instance's users: all its jobs have equal weight",
        )
    return replace(found, remarks=remarks)


def without_own(history: History, instance: Instance) -> History:
    """Return the history without records of jobs that wait or run in the instance.

    A log that was written later would reveal their run times. A record belongs to a job with its id
    that was submitted within the same minute (bjobs prints no seconds); if the instance has no
    submission (0), the user must be equal.
    """
    here = _jobs_here(instance)
    own = [
        row
        for row in np.flatnonzero(np.isin(history.jobs.key, keys_of(here))).tolist()
        if is_record_of(here, history.like(row), int(history.jobs.submit[row]))
    ]
    if not own:
        return history
    left = np.delete(np.arange(len(history.jobs)), own)
    like = [history.like(row) for row in left.tolist()]
    remarks = (*history.remarks, _of_it(len(own)))
    return History(history.jobs.pick(left), history.users, like.__getitem__, remarks)


def _others(known: Sequence[Ended], instance: Instance, shift: int) -> list[Ended]:
    """Return the records of jobs that are not in the instance; shift: from their clock to its
    clock.
    """
    here = _jobs_here(instance)
    return [item for item in known if not is_record_of(here, item.job, item.job.submit + shift)]


def _jobs_here(instance: Instance) -> dict[str, Job]:
    return {job.id: job for job in instance.present_jobs}


def is_record_of(here: Mapping[str, Job], record: Job, submit: int) -> bool:
    """Whether a record, submitted at `submit`, is of one of the jobs of the instance, by id."""
    job = here.get(record.id)
    if job is None:
        return False
    return abs(submit - job.submit) < MINUTE or (job.submit == 0 and record.user == job.user)


def _of_it(count: int) -> str:
    said = (
        "1 of its jobs is pending or running"
        if count == 1
        else f"{count} of its jobs are pending or running"
    )
    return f"{said} in the instance: not counted as finished"


def clock_offset(epoch: int | None, instance: Instance) -> int:
    """Return the seconds from the log's clock to the instance's, 0 if one is unknown.

    epoch: seconds since 1970 of the log's second 0.
    """
    zero = epoch_of(instance.origin)
    return 0 if zero is None or epoch is None else epoch - zero


def _weeks(ended: Sequence[Ended], now: int, *, same_clock: bool) -> int:
    """Return the weeks by which a log is moved to end just before now, on the log's clock."""
    last = max(item.end for item in ended)
    if min(item.end for item in ended) > now:
        return 0 if same_clock else (now - last) // WEEK
    return (now - last) // WEEK if last < now - OLD else 0


def _read(path: Path, keep_going: bool) -> tuple[list[Ended], int | None, tuple[str, ...]]:
    """Return finished jobs of a log, seconds since 1970 of its second 0 (None: unknown), and
    remarks.
    """
    log = read_runs(path)
    ended = [
        Ended(run.job, run.start, run.end)
        for run in log.runs
        if run.start is not None and run.end is not None
    ]
    problems = log.problems
    if problems and not ended and not kind_of(path):
        wrong = (
            "is not a log (SWF, lsb.acct, lsb.events or a table of sacct -P): give a log of "
            "finished jobs"
        )
        raise InputError([Problem(wrong, str(path))])
    if problems and not keep_going:
        raise refused_records(problems, len(ended))
    remarks = [f"warning: {line}" for line in report(problems)]
    remarks += [f"{count} × {note}" for note, count in log.notes.items() if count]
    others = len(log.runs) - len(ended)
    if others and ended:
        of_all = f"{others} of {len(log.runs)} jobs"
        remarks.append(f"{path}: {of_all} have no finished run and are not counted")
    return ended, log.epoch, tuple(remarks)


@dataclass(frozen=True, slots=True)
class JobNaming:
    """Names for the numbers of a workload, if the log has names."""

    #: Names of jobs by number.
    jobs: Mapping[int, str] = field(default_factory=dict)
    #: Names of queues by number.
    queues: Mapping[int, str] = field(default_factory=dict)

    def job(self, number: int) -> int | str:
        """Return the id of a job."""
        return self.jobs.get(number, number)

    def queue(self, number: int) -> str:
        """Return the name of a queue."""
        return self.queues.get(number, str(number))


def numbered(
    jobs: Sequence[Job], run_times: Sequence[int], limits: Sequence[int], source: str = ""
) -> tuple[Workload, JobNaming]:
    """Return jobs in the order of submission as a workload; job numbers start at 1.

    Users and queues are numbered in order of appearance, so that later jobs change no number.
    run_times, limits: seconds, NO_LIMIT for none.
    """
    users, queues = _numbers(job.user for job in jobs), _numbers(job.queue for job in jobs)
    workload = Workload.of(
        [job.submit for job in jobs], run_times, limits, [job.slots for job in jobs]
    )
    workload = replace(
        workload,
        user=ints([users[job.user] for job in jobs]),
        queue=ints([queues[job.queue] for job in jobs]),
        source=source,
    )
    return workload, JobNaming(
        {place: job.id for place, job in enumerate(jobs, start=1)},
        {number: name for name, number in queues.items()},
    )


def _numbers(names: Iterable[str]) -> dict[str, int]:
    """Return numbers for names, in the order of their first appearance."""
    found: dict[str, int] = {}
    for name in names:
        found.setdefault(name, len(found))
    return found


def read_recorded(
    path: str | Path, *, keep_going: bool = False
) -> tuple[Workload, JobNaming, tuple[str, ...]]:
    """Return the finished jobs of lsb.acct or lsb.events for a pool, and remarks about the log.

    The pool has as many slots as were ever in use together. Raises InputError for an unreadable
    log, and if all jobs lack a run limit.
    """
    ended, _, remarks = _read(Path(path), keep_going)
    if not any(item.job.run_limit for item in ended):
        wrong = "no finished job has a run limit (bsub -W): give a log with run limits"
        raise InputError([Problem(wrong, str(path))])
    ended = sorted(ended, key=lambda item: (item.job.submit, _place(item.job.id), item.job.id))
    workload, names = numbered(
        [item.job for item in ended],
        [item.end - item.start for item in ended],
        [item.job.run_limit or NO_LIMIT for item in ended],
        str(path),
    )
    return replace(workload, max_procs=most_in_use(ended)), names, remarks


def _place(name: str) -> list[int]:
    """Return the numbers of a job and of its array element, in the order in which LSF assigned
    them.
    """
    return [int(digits) for digits in re.findall(r"\d+", name)]


def most_in_use(ended: Sequence[Ended]) -> int:
    """Return the maximum number of slots in use at one instant; at one second, ends come before
    starts.
    """
    times = ints([item.start for item in ended] + [item.end for item in ended])
    slots = ints([item.job.slots for item in ended])
    change = np.concatenate((slots, -slots))
    order = np.lexsort((change, times))
    return int(np.cumsum(change[order]).max(initial=0))
