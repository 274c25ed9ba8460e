"""Measures of a replay: waits, slowdowns, utilisation and fairness, of all jobs and of groups.

Each measure is defined here, with its source; docs/replay.md explains them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...model.display import AsData
from ...model.errors import InputError, UnknownNameError
from ...model.workload import Ints
from ..scheduler.metrics import SHORT, bounded_slowdown

Floats = NDArray[np.float64]

#: Name of the group of jobs whose user or queue the log does not give.
UNKNOWN = "unknown"
#: Kinds of groups.
GROUPS = ("user", "size", "queue")
#: Number of batches of an interval.
BATCHES = 20
#: Minimum number of jobs in a batch; with fewer jobs there is no interval.
MIN_BATCH = 10
#: 0.975 quantile of Student's t with BATCHES - 1 degrees of freedom: intervals have 95 %.
STUDENT_T = 2.0930240544083096


@dataclass(frozen=True, slots=True)
class Measuring:
    """Choice of the jobs that are measured, and of their groups; times in seconds.

    Raises InputError for a negative time, a threshold below 1 or an unknown group.
    """

    #: Jobs submitted in the first `warm_up` seconds are not measured.
    warm_up: int = 0
    #: Jobs submitted in the last `cool_down` seconds before the last submission are not measured.
    cool_down: int = 0
    #: Run time that bounded slowdown takes for any shorter job.
    slowdown_threshold: int = SHORT
    #: Kinds of groups that are measured in addition to all jobs, each one of GROUPS.
    by: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name, least in (("warm_up", 0), ("cool_down", 0), ("slowdown_threshold", 1)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise InputError(f"{name} must be {least} or more seconds, not {value!r}")
        for kind in self.by:
            if kind not in GROUPS:
                raise UnknownNameError.among("group", kind, GROUPS)


@dataclass(frozen=True, slots=True)
class Metrics(AsData):
    """Metrics of a replay; waits and spans in seconds, percentiles interpolated linearly.

    `…_low` and `…_high` limit a 95 % interval by batch means (Law and Kelton 2000, 9.5), None with
    fewer than BATCHES × MIN_BATCH jobs.
    """

    #: Number of measured jobs.
    jobs: int
    #: Processors of the machine.
    procs: int
    #: First submission in seconds.
    first_submit: int
    #: Last end in seconds.
    last_end: int
    mean_wait: float
    median_wait: float
    p90_wait: float
    p95_wait: float
    p99_wait: float
    max_wait: float
    mean_bounded_slowdown: float
    median_bounded_slowdown: float
    p95_bounded_slowdown: float
    max_bounded_slowdown: float
    #: Used processor-seconds divided by all processor-seconds from the first submission to the last
    #: end.
    utilisation: float
    mean_wait_low: float | None
    mean_wait_high: float | None
    mean_bounded_slowdown_low: float | None
    mean_bounded_slowdown_high: float | None
    #: Sum of processors × response time divided by sum of processors × run time.
    area_weighted_slowdown: float
    #: As `utilisation`, from the first arrival to the last, without warm-up and cool-down; None if
    #: no time lies in between.
    arrival_utilisation: float | None
    arrival_utilisation_low: float | None
    arrival_utilisation_high: float | None
    #: Share of the jobs that wait longer than under strict FCFS of the same log.
    delayed_share: float
    #: Mean over all jobs of the seconds waited beyond those of strict FCFS, 0 for less.
    mean_delay: float


#: Names of the metrics in the order of a table.
METRICS = tuple(item.name for item in fields(Metrics))


@dataclass(frozen=True, slots=True)
class GroupMetrics:
    """Metrics of the jobs of one group; utilisation is the group's share of the processors."""

    #: One of GROUPS.
    by: str
    #: Number of the user or queue, or the sizes of the class: "1", "2", "3-4", "5-8" and so on.
    group: str
    metrics: Metrics

    def to_dict(self) -> dict[str, Any]:
        """Return the group and its metrics by name."""
        return {"by": self.by, "group": self.group, **self.metrics.to_dict()}


@dataclass(frozen=True, slots=True, eq=False)
class ReplayedJobs:
    """The jobs of a complete replay in columns; int64 arrays of shape (n,), seconds."""

    procs: int
    #: Instant at which the job is known to the scheduler.
    arrival: Ints
    start: Ints
    run: Ints
    size: Ints
    user: Ints
    queue: Ints
    #: Wait of each job under strict FCFS of the same log.
    fcfs_wait: Ints

    @property
    def wait(self) -> Ints:
        """Return the seconds from arrival to start."""
        return self.start - self.arrival

    def used(self, jobs: NDArray[np.bool_], begin: int, end: int) -> int:
        """Return the processor-seconds of some jobs within [begin, end)."""
        start, finish = self.start[jobs], self.start[jobs] + self.run[jobs]
        inside = np.minimum(finish, end) - np.maximum(start, begin)
        return int(np.sum(self.size[jobs] * np.maximum(inside, 0)))


def size_classes(procs: Ints) -> Ints:
    """Return the size class of each job: 1, 2, 3-4, 5-8, …"""
    return np.ceil(np.log2(procs)).astype(np.int64)


def size_text(size_class: int) -> str:
    """Return a size class as text."""
    low, high = 2 ** (size_class - 1) + 1 if size_class else 1, 2**size_class
    return str(high) if low >= high else f"{low}-{high}"


def batch_interval(means: Floats, centre: float) -> tuple[float, float]:
    """Return the 95 % interval of a mean from the means of BATCHES batches."""
    half = STUDENT_T * float(means.std(ddof=1)) / BATCHES**0.5
    return centre - half, centre + half


def measured_span(arrival: Ints, measuring: Measuring) -> tuple[int, int]:
    """Return the first and the last instant of the arrivals that are measured.

    Raises InputError if no job arrives then.
    """
    first, last = int(arrival.min()), int(arrival.max())
    begin, end = first + measuring.warm_up, last - measuring.cool_down
    if not ((arrival >= begin) & (arrival <= end)).any():
        raise InputError(
            f"no job is submitted between warm-up ({measuring.warm_up} s) and cool-down "
            f"({measuring.cool_down} s); submissions span {last - first} s"
        )
    return begin, end


class _Measured:
    """The measured jobs of a replay, and the spans over which it is measured."""

    def __init__(self, outcome: ReplayedJobs, measuring: Measuring) -> None:
        self.outcome, self.threshold = outcome, measuring.slowdown_threshold
        #: First and last instant of the arrivals that are measured.
        self.begin, self.end = measured_span(outcome.arrival, measuring)
        self.jobs = (outcome.arrival >= self.begin) & (outcome.arrival <= self.end)
        self.first = int(outcome.arrival[self.jobs].min())
        self.last_end = int((outcome.start + outcome.run)[self.jobs].max())

    def metrics(self, group: NDArray[np.bool_]) -> Metrics:
        """Return the metrics of the measured jobs of a group, which has at least one."""
        outcome, chosen = self.outcome, self.jobs & group
        wait, run, size = outcome.wait[chosen], outcome.run[chosen], outcome.size[chosen]
        slowdown = bounded_slowdown(wait, run, self.threshold)
        delay = np.maximum(0, wait - outcome.fcfs_wait[chosen])
        order = np.argsort(outcome.arrival[chosen], kind="stable")
        median, p90, p95, p99 = (float(q) for q in np.percentile(wait, (50, 90, 95, 99)))
        whole = outcome.procs * (self.last_end - self.first)
        wait_low, wait_high = _interval(wait[order])
        slow_low, slow_high = _interval(slowdown[order])
        used, used_low, used_high = self._arrival_utilisation(group, len(wait))
        return Metrics(
            jobs=len(wait),
            procs=outcome.procs,
            first_submit=self.first,
            last_end=self.last_end,
            mean_wait=float(wait.mean()),
            median_wait=median,
            p90_wait=p90,
            p95_wait=p95,
            p99_wait=p99,
            max_wait=float(wait.max()),
            mean_bounded_slowdown=float(slowdown.mean()),
            median_bounded_slowdown=float(np.median(slowdown)),
            p95_bounded_slowdown=float(np.percentile(slowdown, 95)),
            max_bounded_slowdown=float(slowdown.max()),
            utilisation=outcome.used(group, self.first, self.last_end) / whole,
            mean_wait_low=wait_low,
            mean_wait_high=wait_high,
            mean_bounded_slowdown_low=slow_low,
            mean_bounded_slowdown_high=slow_high,
            area_weighted_slowdown=float(np.sum(size * (wait + run)) / np.sum(size * run)),
            arrival_utilisation=used,
            arrival_utilisation_low=used_low,
            arrival_utilisation_high=used_high,
            delayed_share=float((delay > 0).mean()),
            mean_delay=float(delay.mean()),
        )

    def _arrival_utilisation(
        self, group: NDArray[np.bool_], jobs: int
    ) -> tuple[float | None, float | None, float | None]:
        """Return the utilisation between the measured arrivals and its interval.

        A batch is one of BATCHES spans of equal length.
        """
        span = self.end - self.begin
        if span <= 0:
            return None, None, None
        procs = self.outcome.procs
        whole = self.outcome.used(group, self.begin, self.end) / (procs * span)
        if jobs < BATCHES * MIN_BATCH or span < BATCHES:
            return whole, None, None
        edges = np.linspace(self.begin, self.end, BATCHES + 1).round().astype(np.int64).tolist()
        shares = [
            self.outcome.used(group, low, high) / (procs * (high - low))
            for low, high in pairwise(edges)
        ]
        return whole, *batch_interval(np.array(shares), whole)


def _interval(values: NDArray[Any]) -> tuple[float | None, float | None]:
    """Return the interval of the mean of values in order of arrival."""
    if len(values) < BATCHES * MIN_BATCH:
        return None, None
    means = np.array([part.mean() for part in np.array_split(values, BATCHES)])
    return batch_interval(means, float(values.mean()))


def measured(
    outcome: ReplayedJobs, measuring: Measuring
) -> tuple[Metrics, tuple[GroupMetrics, ...]]:
    """Return the metrics of all measured jobs, and those of each group.

    Raises InputError if no job is measured.
    """
    jobs = _Measured(outcome, measuring)
    everyone = np.ones(len(outcome.start), dtype=bool)
    groups = tuple(group for kind in measuring.by for group in _groups(jobs, kind))
    return jobs.metrics(everyone), groups


def _groups(jobs: _Measured, kind: str) -> Iterator[GroupMetrics]:
    outcome = jobs.outcome
    keys = {
        "user": outcome.user,
        "size": size_classes(outcome.size),
        "queue": outcome.queue,
    }[kind]
    for key in np.unique(keys[jobs.jobs]).tolist():
        name = size_text(key) if kind == "size" else UNKNOWN if key < 0 else str(key)
        yield GroupMetrics(kind, name, jobs.metrics(keys == key))
