"""A log of finished jobs for `import slotwise`: reading, replay on a pool, and backtest."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeAlias, overload

from ...model.errors import Cancelled, InputError, Problem, report
from ...model.formats.file_format import ChangedEstimates, DefaultLimit
from ...model.formats.reading import kind_of, refuse_other
from ...model.formats.units import parse_duration, second_of
from ...model.job_table import OneLine
from ...model.progress import OnProgress, Progress
from ...model.sources.swf import PRECEDING_IGNORED, read_swf, with_estimates
from ...model.workload import Workload, within
from ..accuracy.measures import GroupAccuracy
from ..budget import OutOfTime
from ..replay import (
    Measuring,
    Policy,
    QueuePolicy,
    Replay,
    ReplayComparison,
    ReplayResult,
    require_different,
)
from ..replay.engine import ScheduleAfter
from ..replay.session import INCOMPLETE, is_strict_fcfs
from ..scheduler.metrics import SHORT
from .backtest import (
    JOBS,
    SAMPLES,
    PastLog,
    Questions,
    Replayed,
    accuracies,
    calibration_of,
    progress_of,
    reliability,
)
from .backtest import backtest as ask_past_jobs
from .forecast import Calibration
from .history import JobNaming, read_recorded

if TYPE_CHECKING:
    from pandas import DataFrame


#: Seconds of a log, a duration from its second 0, or a date as text or datetime.
Instant: TypeAlias = int | str | datetime
#: Several policies, compared on one log.
Policies: TypeAlias = list[str] | list[QueuePolicy] | list[Policy] | tuple[Policy, ...]
#: When a call was cancelled that has no answer to give.
UNANSWERED = "before the first question was answered"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RecordedLog(OneLine):
    """Jobs of a log as columns of numbers, with the names that the numbers denote."""

    workload: Workload
    #: Names of jobs and queues; empty for SWF, which has numbers only.
    names: JobNaming = field(default_factory=JobNaming)
    #: Warnings about the file, one sentence each.
    remarks: tuple[str, ...] = ()
    #: Date of second 0, None if the log does not give it.
    origin: datetime | None = None

    def __len__(self) -> int:
        return len(self.workload)

    def to_frame(self) -> DataFrame:
        """Return a pandas data frame with one row per job; times in seconds, -1 for unknown."""
        import pandas

        log = self.workload
        names = ("job", "submit", "run_time", "req_time", "procs", "user", "queue")
        return pandas.DataFrame({name: getattr(log, name) for name in names})


def read_log(
    path: str | Path, *, keep_going: bool = False, default_limit: str | DefaultLimit | None = None
) -> RecordedLog:
    """Return a log of finished jobs: SWF, lsb.acct or lsb.events, gzipped or not.

    keep_going: skip malformed records, with a remark each, instead of an error. default_limit:
    requested time of SWF jobs without one, such as "12h" or "2x". Raises InputError with every
    error in the file.
    """
    path = path if isinstance(path, Path) else Path(path)
    refuse_other(path, "swf", "acct", "events")
    if kind_of(path) in ("acct", "events"):
        if default_limit is not None:
            wrong = "default_limit applies to SWF only: queues of LSF have their own limits"
            raise InputError([Problem(wrong, str(path))])
        recorded = read_recorded(path, keep_going=keep_going)
        return RecordedLog(*recorded, origin=datetime.fromtimestamp(0, UTC))
    if isinstance(default_limit, str):
        default_limit = DefaultLimit.parse(default_limit, "default_limit")
    found = read_swf(path, keep_going=keep_going, default_limit=default_limit)
    remarks = tuple(f"warning: {x}" for x in report(found.problems))
    return RecordedLog(found.workload, remarks=remarks, origin=found.origin)


def without_preceding(log: RecordedLog) -> RecordedLog:
    """Return the log without dependencies between jobs: each job keeps its recorded submission.

    A remark states the number of such jobs.
    """
    preceding = log.workload.preceding
    if preceding is None:
        return log
    remark = f"{int((preceding >= 0).sum())} × {PRECEDING_IGNORED}"
    workload = replace(log.workload, preceding=None, think=None)
    return replace(log, workload=workload, remarks=(*log.remarks, remark))


def of_period(
    log: RecordedLog,
    since: Instant | None = None,
    until: Instant | None = None,
    names: tuple[str, str] = ("since", "until"),
) -> RecordedLog:
    """Return the log with the jobs submitted from `since` until before `until` alone.

    Instants: seconds of the log, a duration from its first submission, or a date. names: what
    messages call them. Raises InputError for any other value, and if no job is submitted then.
    """
    first = int(log.workload.submit.min()) if len(log) else 0
    ends = [
        None if value is None else _as_input(name, partial(second_of, value, log.origin, first))
        for name, value in zip(names, (since, until), strict=True)
    ]
    return replace(log, workload=within(log.workload, *ends))


def _as_input(name: str, read: Callable[[], int]) -> int:
    try:
        return read()
    except ValueError as error:
        raise InputError([Problem(str(error), name)]) from None


@overload
def replay(
    log: RecordedLog | Workload,
    *,
    policy: Policy = "easy",
    procs: int | None = None,
    schedule_after: ScheduleAfter | None = None,
    since: Instant | None = None,
    until: Instant | None = None,
    estimates: str = "recorded",
    warm_up: int | str = 0,
    cool_down: int | str = 0,
    slowdown_threshold: int | str = SHORT,
    by: Sequence[str] = (),
    cancel: threading.Event | None = None,
    on_progress: OnProgress | None = None,
) -> ReplayResult: ...


@overload
def replay(
    log: RecordedLog | Workload,
    *,
    policy: Policies,
    procs: int | None = None,
    schedule_after: ScheduleAfter | None = None,
    since: Instant | None = None,
    until: Instant | None = None,
    estimates: str = "recorded",
    warm_up: int | str = 0,
    cool_down: int | str = 0,
    slowdown_threshold: int | str = SHORT,
    by: Sequence[str] = (),
    cancel: threading.Event | None = None,
    on_progress: OnProgress | None = None,
) -> ReplayComparison: ...


def replay(
    log: RecordedLog | Workload,
    *,
    policy: Policy | Policies = "easy",
    procs: int | None = None,
    schedule_after: ScheduleAfter | None = None,
    since: Instant | None = None,
    until: Instant | None = None,
    estimates: str = "recorded",
    warm_up: int | str = 0,
    cool_down: int | str = 0,
    slowdown_threshold: int | str = SHORT,
    by: Sequence[str] = (),
    cancel: threading.Event | None = None,
    on_progress: OnProgress | None = None,
) -> ReplayResult | ReplayComparison:
    """Return the replay of a log on one pool of identical processors.

    policy: "fcfs", "easy", "easy-sjbf", "conservative", "replan", "saf", "wfp3", "f1", a name of an
    installed package, or a :class:`~slotwise.QueuePolicy`; a list of them gives a comparison.
    procs: processors, by default as in the log. schedule_after: each "event" or once a "timestamp",
    by default as the policy is defined. since, until: only jobs submitted then are replayed;
    as in :func:`of_period`. estimates: "exact" replaces requested times by run times, "x2"
    doubles them. warm_up, cool_down: seconds or "7d" at both ends of the
    submissions that are not measured. slowdown_threshold: run time that bounded slowdown takes for
    shorter jobs. by: groups that are measured too, of "user", "size" and "queue". cancel: set it to
    stop; the starts so far are returned, not `complete`. on_progress: called every few hundred
    events.
    """
    times = {
        "warm_up": warm_up,
        "cool_down": cool_down,
        "slowdown_threshold": slowdown_threshold,
    }
    seconds = {
        name: _as_input(name, partial(parse_duration, value)) if isinstance(value, str) else value
        for name, value in times.items()
    }
    if isinstance(by, str):
        by = by.split(",")
    measuring = Measuring(**seconds, by=tuple(by))
    recorded = log if isinstance(log, RecordedLog) else RecordedLog(_workload(log))
    changed = ChangedEstimates.parse(estimates, "estimates")
    workload = with_estimates(of_period(recorded, since, until).workload, changed)
    run = partial(_replayed, workload, procs, schedule_after, measuring, cancel, on_progress)
    if isinstance(policy, str | QueuePolicy):
        return run(policy)
    if not policy:
        raise InputError("policy: give at least one policy, not an empty list")
    require_different(policy)
    results = tuple(run(each) for each in policy)
    fcfs = next(filter(is_strict_fcfs, results), None) or run("fcfs")
    return ReplayComparison(results, fcfs, measuring)


def _replayed(
    workload: Workload,
    procs: int | None,
    schedule_after: ScheduleAfter | None,
    measuring: Measuring,
    cancel: threading.Event | None,
    on_progress: OnProgress | None,
    policy: Policy,
) -> ReplayResult:
    session = Replay(workload, policy, procs, schedule_after)
    begun, total = monotonic(), len(session.workload)
    while not (cancel is not None and cancel.is_set()) and session.advance():
        if on_progress is not None:
            seconds = monotonic() - begun
            on_progress(Progress(session.finished, total, None, None, seconds, session.now))
    return replace(session.result(), measuring=measuring)


def _workload(log: RecordedLog | Workload) -> Workload:
    found = log.workload if isinstance(log, RecordedLog) else log
    if not isinstance(found, Workload):
        raise InputError(f"must be a log (sw.read_log), not {type(log).__name__}")
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Backtest:
    """Backtest of past jobs: forecasts made with the data of that time, and the true starts."""

    past: PastLog
    questions: Questions
    #: Remarks on parts of the log that are not used, one sentence each.
    remarks: tuple[str, ...] = ()
    #: Whether all questions were answered.
    complete: bool = True

    @property
    def groups(self) -> tuple[GroupAccuracy, ...]:
        """Return the accuracy of each estimator: over all jobs, by size and by queue."""
        return accuracies(self.past, self.questions)

    @property
    def calibration(self) -> Calibration:
        """Return the calibration for the next forecast, from all these answers."""
        return calibration_of(self.questions)

    @property
    def reliability(self) -> list[tuple[float, float, float | None]]:
        """Return for each probability: itself, the share of jobs started by then, and by the
        calibrated bound.
        """
        return reliability(self.questions)

    def columns(self) -> dict[str, Any]:
        """Return columns with one value per requested job; waits in seconds, infinite for no
        start.
        """
        log, asked = self.past.log, self.questions
        return {
            "job": [self.past.names.job(number) for number in log.job[asked.row].tolist()],
            "submit": log.submit[asked.row],
            "procs": log.procs[asked.row],
            "wait": asked.wait,
            "by_limits": asked.by_limits,
            "last_two": asked.last_two,
            "p10": asked.raw(0.1),
            "p50": asked.raw(0.5),
            "p90": asked.raw(0.9),
            "one_in_ten_by": asked.early.round(),
            "nine_in_ten_by": asked.late.round(),
        }

    def to_frame(self) -> DataFrame:
        """Return a pandas data frame, one row per forecast job."""
        import pandas

        return pandas.DataFrame(self.columns())

    def accuracy_records(self) -> list[dict[str, Any]]:
        """Return accuracy records, one per estimator and group of jobs."""
        return [record for group in self.groups for record in group.records()]


def backtest(
    log: RecordedLog | Workload | ReplayResult,
    *,
    policy: Policy = "easy",
    procs: int | None = None,
    questions: int = JOBS,
    samples: int = SAMPLES,
    seed: int = 0,
    workers: int = 1,
    cancel: threading.Event | None = None,
    on_progress: OnProgress | None = None,
) -> Backtest:
    """Return the accuracy of forecasts for past jobs, made with the data known at that time.

    log: a log to be replayed (`policy` and `procs` as for :func:`replay`), or a complete replay.
    questions: number of past jobs to forecast. samples: number of simulations per job. workers:
    number of processes; the answers do not depend on it. cancel: set it to stop; the result then
    has the answers so far. Raises InputError if no job can be forecast, Cancelled if stopped before
    the first answer.
    """
    event = cancel or threading.Event()
    names, remarks = JobNaming(), tuple[str, ...]()
    if isinstance(log, ReplayResult):
        result = log
    else:
        known = log.names if isinstance(log, RecordedLog) else names
        read = without_preceding(RecordedLog(_workload(log), known))
        names, remarks = read.names, read.remarks
        result = replay(read, policy=policy, procs=procs, cancel=event)
    if not result.complete:
        if event.is_set():
            raise Cancelled(when=UNANSWERED)
        raise InputError(INCOMPLETE)
    past = Replayed.of(result, names)
    tell = progress_of(questions, on_progress)
    try:
        found = ask_past_jobs(
            past,
            jobs=questions,
            samples=samples,
            seed=seed,
            workers=workers,
            tell=tell,
            stop=event.is_set,
        )
    except OutOfTime:
        raise Cancelled(when=UNANSWERED) from None
    return Backtest(past, found, remarks, complete=not event.is_set())
