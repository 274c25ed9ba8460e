"""Curves of a replay: use and queue over time, and distributions, with few points each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...model.workload import Ints
from ..scheduler.metrics import bounded_slowdown
from .export import Interval, PoolSchedule
from .measures import Floats, Measuring, measured_span
from .session import ReplayResult

#: Number of bins of a curve over time.
BINS = 400
#: Number of steps of a distribution.
STEPS = 500
#: Number of jobs of a Gantt chart.
GANTT_JOBS = 400


@dataclass(frozen=True, slots=True, eq=False)
class Curves:
    """The curves of one replay; times in seconds of the log."""

    policy: str
    #: Limits of the bins, one more than bins.
    edges: Ints
    #: Mean share of the processors in use in each bin.
    used: Floats
    #: Mean number of waiting jobs in each bin.
    waiting: Floats
    #: Waits (seconds) and bounded slowdowns of the measured jobs at STEPS equal steps of their
    #: share.
    waits: Floats
    slowdowns: Floats


@dataclass(frozen=True, slots=True)
class GanttBar:
    """A job of a Gantt chart, with its processors."""

    job: int
    start: int
    finish: int
    processors: tuple[Interval, ...]


def mean_level(begin: Ints, end: Ints, weight: Ints, edges: Ints) -> Floats:
    """Return the mean weight of the spans [begin, end) in each bin between two edges."""

    def integral(at: Ints) -> Floats:
        order = np.argsort(at, kind="stable")
        weights = np.concatenate(([0], np.cumsum(weight[order])))
        sums = np.concatenate(([0.0], np.cumsum(weight[order] * at[order].astype(np.float64))))
        place = np.searchsorted(at[order], edges, side="right")
        found: Floats = weights[place] * edges.astype(np.float64) - sums[place]
        return found

    total: Floats = np.diff(integral(begin) - integral(end)) / np.diff(edges)
    return total


def curves(result: ReplayResult, measuring: Measuring) -> Curves:
    """Return the curves of a complete replay. Raises InputError if no job is measured."""
    log, arrival, start = result.workload, result.arrival, result.start
    begin, end = measured_span(arrival, measuring)
    chosen = (arrival >= begin) & (arrival <= end)
    first, last = int(arrival.min()), int((start + log.run_time).max())
    edges = np.unique(np.linspace(first, last, BINS + 1).round().astype(np.int64))
    slowdown = bounded_slowdown(
        result.wait[chosen], log.run_time[chosen], measuring.slowdown_threshold
    )
    shares = np.linspace(0, 1, STEPS + 1)
    one_each = np.ones(len(log), dtype=np.int64)
    return Curves(
        result.policy,
        edges,
        mean_level(start, start + log.run_time, log.procs, edges) / result.procs,
        mean_level(arrival, start, one_each, edges),
        np.quantile(result.wait[chosen], shares, method="inverted_cdf").astype(np.float64),
        np.quantile(slowdown, shares, method="inverted_cdf").astype(np.float64),
    )


def gantt_span(result: ReplayResult) -> tuple[int, int]:
    """Return the time from the first to the last start of GANTT_JOBS jobs around the longest queue.

    With fewer jobs, the span has all of them.
    """
    log, starts = result.workload, np.sort(result.start)
    last_end = int((result.start + log.run_time).max())
    if len(log) <= GANTT_JOBS:
        return int(starts[0]), last_end
    events = np.concatenate((result.arrival, result.start))
    change = np.repeat(np.array([1, -1]), len(log))
    order = np.lexsort((change, events))
    longest = int(events[order][np.argmax(np.cumsum(change[order]))])
    middle = int(np.searchsorted(starts, longest))
    low = min(max(0, middle - GANTT_JOBS // 2), len(log) - GANTT_JOBS)
    return int(starts[low]), max(int(starts[low]) + 1, int(starts[low + GANTT_JOBS - 1]))


def gantt(schedule: PoolSchedule, span: tuple[int, int]) -> list[GanttBar]:
    """Return the jobs that run within a span, in order of the log."""
    begin, end = span
    finish = schedule.start + schedule.log.run_time
    allocations = schedule.allocations()
    return [
        GanttBar(
            int(schedule.log.job[row]),
            int(schedule.start[row]),
            int(finish[row]),
            tuple(allocations[row]),
        )
        for row in np.flatnonzero((schedule.start < end) & (finish > begin)).tolist()
    ]
