"""Accuracy of forecasts on a log: past jobs are forecast with the data known at that time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from time import monotonic
from typing import Protocol

import numpy as np

from ...model.errors import InputError
from ...model.progress import OnProgress, Progress
from ...model.workload import Ints, Workload
from ..accuracy.measures import (
    EARLY,
    LATE,
    LEVELS,
    LIKELY,
    Accuracy,
    Columns,
    GroupAccuracy,
    accuracy,
    reliability_rows,
)
from ..budget import OutOfTime
from ..replay import Policy, ReplayResult
from ..replay.measures import size_classes, size_text
from .arrivals import NOBODY, PastBlocks
from .forecast import Calibration, Calibrator, Drawn, forecast_world
from .history import JobNaming
from .jobs import NO_START, AskedJobs, Floats, PastJobs, keys_of, uniforms
from .moment import ForwardWorld, PoolWorld, never
from .runtimes import LastTwo, Ratios
from .workers import Stop, results_of

#: Minimum wait in seconds of the jobs in a backtest; the wait must exceed it.
SHORT_WAIT = 60
#: Share of a log, from its begin, whose jobs are not forecast.
LEARNT = 0.25
#: Number of past waits of a size class that the estimator "history" uses.
LAST_WAITS = 300
#: Default numbers of past jobs, and of samples for each.
JOBS, SAMPLES = 300, 100
#: Start of a job that never starts (seconds); it sorts after all others.
UNSTARTED = 2**62


@dataclass(frozen=True, slots=True, eq=False)
class Questions(Columns):
    """Forecasts of past jobs with the true waits; arrays of shape (n,), waits in seconds."""

    #: Rows of the log, rising.
    row: Ints
    #: True wait, from submission to start.
    wait: Ints
    #: Wait in a plan with limits as run times.
    by_limits: Floats
    #: Wait in a plan with the run times of EASY++: the mean of the user's last two.
    last_two: Floats
    #: P10, P50 and P90 of past waits, of shape (n, 3).
    past_waits: Floats
    #: Forecast waits at LEVELS, of shape (n, levels).
    quantiles: Floats
    #: Calibrated P10.
    early: Floats
    #: Calibrated P90.
    late: Floats
    #: Calibration factors of P10 and P90, of shape (n, 2).
    factors: Floats

    def raw(self, level: float) -> Floats:
        """Return the uncalibrated quantile at one of LEVELS."""
        return np.asarray(self.quantiles[:, LEVELS.index(level)])


class PastLog(Protocol):
    """A log that has been run to its end, from which past states of the cluster are reconstructed.

    log: jobs in the order of submission. names: names of its jobs and queues. start: start of each
    job (seconds), UNSTARTED if it never started. past: its finished jobs by end. ratios: the model
    of their run times.
    """

    @property
    def log(self) -> Workload: ...

    @property
    def names(self) -> JobNaming: ...

    @property
    def start(self) -> Ints: ...

    @property
    def past(self) -> PastJobs: ...

    @property
    def ratios(self) -> Ratios: ...

    def world(self, row: int) -> ForwardWorld:
        """Return the cluster state at the submission of a job, with this job as the requested
        one.
        """


@dataclass(frozen=True, slots=True)
class Replayed:
    """A log replayed on a pool of processors."""

    #: Jobs in the order of submission.
    log: Workload
    #: Start of each job of `log` in the replay (seconds).
    start: Ints
    #: Processors of the replayed pool.
    procs: int
    #: Policy of the replay.
    policy: Policy
    #: Names of the jobs and queues of the log.
    names: JobNaming = JobNaming()
    #: Finished jobs in the order of their ends.
    past: PastJobs = field(init=False)
    #: Model of the run times of the finished jobs.
    ratios: Ratios = field(init=False)

    def __post_init__(self) -> None:
        log, end = self.log, self.start + self.log.run_time
        keys = keys_of(map(str, log.job.tolist()))
        columns = (keys, log.user, log.req_time, log.procs, log.submit, self.start, end)
        past = PastJobs(*columns).pick(np.argsort(end, kind="stable"))
        object.__setattr__(self, "past", past)
        object.__setattr__(self, "ratios", Ratios(past))

    @classmethod
    def of(cls, result: ReplayResult, names: JobNaming | None = None) -> Replayed:
        """Return the past of a complete replay; names: names for the numbers in the log."""
        return cls(
            result.workload,
            result.start,
            result.procs,
            result.own_policy or result.policy,
            names or JobNaming(),
        )

    def world(self, row: int) -> PoolWorld:
        """Return the cluster state at the submission of a job, as :class:`PastLog` defines."""
        log, now = self.log, int(self.log.submit[row])
        start = self.start[: row + 1]
        running = np.flatnonzero((start < now) & (start + log.run_time[: row + 1] >= now))
        running = running[np.argsort(start[running], kind="stable")]
        rows = np.concatenate((running, np.flatnonzero(start >= now)))
        jobs = AskedJobs(
            key=keys_of(map(str, log.job[rows].tolist())),
            user=log.user[rows],
            limit=log.req_time[rows],
            slots=log.procs[rows],
            submit=log.submit[rows],
            elapsed=np.where(self.start[rows] < now, now - self.start[rows], -1),
        )
        return PoolWorld(now, self.procs, jobs, np.array([len(rows) - 1]), self.policy)


def past_waits(replayed: PastLog, row: int) -> Floats:
    """Return P10, P50 and P90 of the last waits of jobs of similar size, 0 if there are none."""
    log, now = replayed.log, int(replayed.log.submit[row])
    start, size = replayed.start[:row], size_classes(log.procs[:row])
    like = np.flatnonzero((start < now) & (size == size_classes(log.procs[row : row + 1])))
    last = like[np.argsort(start[like], kind="stable")][-LAST_WAITS:]
    if not len(last):
        return np.zeros(3)
    waits = start[last] - log.submit[last]
    levels = (EARLY, LIKELY, LATE)
    return np.asarray(np.quantile(waits, levels, method="inverted_cdf"), dtype=np.float64)


def sampled_rows(replayed: PastLog, jobs: int, seed: int) -> Ints:
    """Return rows of at most `jobs` random jobs that waited, after the LEARNT part of the log,
    rising.

    A smaller sample is a subset of a larger one with an equal seed. Raises InputError if no job
    waited.
    """
    waits = replayed.start - replayed.log.submit
    waited = np.flatnonzero((waits > SHORT_WAIT) & (replayed.start < UNSTARTED))
    waited = waited[waited >= LEARNT * len(replayed.log)]
    if not len(waited):
        raise InputError(
            f"{replayed.log.source or 'the log'}: no job after the first quarter waited longer "
            f"than {SHORT_WAIT} s: give a log with waiting jobs"
        )
    names = keys_of(map(str, replayed.log.job[waited].tolist()))
    order = np.argsort(uniforms(seed, "asked", names, 1)[:, 0], kind="stable")
    return np.sort(waited[order[:jobs]])


def answer(replayed: PastLog, row: int, samples: int, seed: int, stop: Stop = never) -> list[float]:
    """Return the waits of one job in seconds: by limits, by last two, past waits, forecast at
    LEVELS.

    Only data known at the submission is used; a job that ends in that second counts as running.
    Raises OutOfTime if `stop` returns True.
    """
    world = replayed.world(row)
    known = world.now - 1
    arrivals = PastBlocks(replayed.past)
    drawn = Drawn(samples, seed, stop=stop)
    found = forecast_world(world, ("",), replayed.ratios, arrivals, drawn, known=known)
    if found.cut:
        raise OutOfTime
    last_two = LastTwo(replayed.past).draw(world.jobs, known, 1, seed)[:, 0]
    starts = [
        _known(found.by_limits[0]),
        _known(world.starts(last_two, NOBODY, stop)[0]),
        *(float(found.quantile(level)[0]) for level in LEVELS),
    ]
    waits = [start - world.now for start in starts]
    return [*waits[:2], *past_waits(replayed, row).tolist(), *waits[2:]]


def _known(start: np.int64) -> float:
    """Return a start as a float, infinite if there is none."""
    return np.inf if start == NO_START else float(start)


def backtest(
    replayed: PastLog,
    *,
    jobs: int = JOBS,
    samples: int = SAMPLES,
    seed: int = 0,
    workers: int = 1,
    tell: Callable[[int], object] = lambda done: None,
    stop: Stop = never,
) -> Questions:
    """Forecast `jobs` past jobs that waited, each at its submission, in the order of submission.

    workers: number of processes; the answers do not depend on it. tell: called with the number of
    answers so far. stop: called from time to time; when it returns True, the answers so far are
    returned. Raises InputError if no job can be forecast, OutOfTime if stopped before the first
    answer.
    """
    if jobs < 1 or samples < 1 or workers < 1:
        raise InputError(f"{jobs=}, {samples=}, {workers=}: each must be 1 or more")
    rows = sampled_rows(replayed, jobs, seed)
    found: list[list[float]] = []
    tasks = ((row, samples, seed) for row in rows.tolist())
    for answered in results_of(_answer, replayed, tasks, workers, stop):
        found.append(answered)
        tell(len(found))
    return calibrated(replayed, rows[: len(found)], np.array(found, dtype=np.float64))


def progress_of(
    total: int,
    on_progress: OnProgress | None,
    tell: Callable[[int], object] = lambda done: None,
) -> Callable[[int], object]:
    """Return a function that also reports the number of answers so far to `on_progress`."""
    if on_progress is None:
        return tell
    begun = monotonic()

    def report(done: int) -> None:
        tell(done)
        on_progress(Progress(done, total, None, None, monotonic() - begun))

    return report


def _answer(replayed: PastLog, task: tuple[int, int, int], stop: Stop) -> list[float]:
    """Return :func:`answer` for a tuple of (row, samples, seed)."""
    return answer(replayed, *task, stop)


def calibrated(replayed: PastLog, rows: Ints, answers: Floats) -> Questions:
    """Return the answers as columns, each calibrated by earlier ones whose true wait was known
    then.
    """
    asked = replayed.log.submit[rows]
    start = replayed.start[rows]
    raw = answers[:, 5:]
    early, likely, late = (raw[:, LEVELS.index(level)] for level in (EARLY, LIKELY, LATE))
    calibrator = Calibrator()
    factors = np.ones((len(rows), 2))
    bounds = np.zeros((len(rows), 2))
    waiting = sorted(range(len(rows)), key=lambda place: start[place])
    for place in range(len(rows)):
        while waiting and start[waiting[0]] < asked[place]:
            known = waiting.pop(0)
            calibrator.add(float(start[known] - asked[known]), early[known], late[known])
        found = calibrator.calibration()
        factors[place] = found.early, found.late
        here = slice(place, place + 1)
        low, high = found.bounds(early[here], likely[here], late[here])
        bounds[place] = low[0], high[0]
    return Questions(
        row=rows,
        wait=start - asked,
        by_limits=answers[:, 0],
        last_two=answers[:, 1],
        past_waits=answers[:, 2:5],
        quantiles=raw,
        early=bounds[:, 0],
        late=bounds[:, 1],
        factors=factors,
    )


def calibration_of(questions: Questions) -> Calibration:
    """Return the calibration for the next forecast from forecasts whose true values are known."""
    calibrator = Calibrator()
    columns = (questions.wait, questions.raw(EARLY), questions.raw(LATE))
    for truth, early, late in zip(*(column.tolist() for column in columns), strict=True):
        calibrator.add(truth, early, late)
    return calibrator.calibration()


def accuracies(replayed: PastLog, questions: Questions) -> tuple[GroupAccuracy, ...]:
    """Return the accuracy over all jobs, and by size class and queue if there are several."""
    rows, queue = questions.row, replayed.names.queue
    sizes = size_classes(replayed.log.procs[rows])
    found = [_of_group("all", "", questions)]
    for by, column in (("size", sizes), ("queue", replayed.log.queue[rows])):
        groups = np.unique(column).tolist()
        if len(groups) > 1:
            found += [
                _of_group(by, size_text(group) if by == "size" else queue(group), part)
                for group in groups
                if (part := questions.pick(column == group))
            ]
    return tuple(found)


def _of_group(by: str, group: str, questions: Questions) -> GroupAccuracy:
    wait = float(questions.wait.mean())
    return GroupAccuracy(by, group, len(questions), wait, tuple(_estimators(questions)))


def _estimators(questions: Questions) -> Iterator[Accuracy]:
    truth = questions.wait
    yield accuracy("by limits", truth, questions.by_limits)
    yield accuracy("last two", truth, questions.last_two)
    early, likely, late = questions.past_waits.T
    yield accuracy("history", truth, likely, early, late)
    likely = questions.raw(LIKELY)
    yield accuracy("forecast", truth, likely, questions.raw(EARLY), questions.raw(LATE))
    yield accuracy("calibrated", truth, likely, questions.early, questions.late)


def reliability(questions: Questions) -> list[tuple[float, float, float | None]]:
    """Return for each level: itself, the share started by its quantile, and by a calibrated
    bound if any.
    """
    calibrated = {EARLY: questions.early, LATE: questions.late}
    return reliability_rows(questions.wait, questions.quantiles, calibrated)
