"""Tables of accuracy over kept estimates: by method, queue, size and horizon."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from ...model.display import DAY, HOUR, MINUTE, WEEK
from ...model.workload import Ints
from ..replay.measures import size_classes, size_text
from .measures import (
    EARLY,
    LATE,
    LEVELS,
    Accuracy,
    Columns,
    Floats,
    GroupAccuracy,
    accuracy,
    reliability_rows,
)

#: Properties that make the groups of a table; "method": one group of all jobs.
ScoreBy = Literal["method", "queue", "size", "horizon"]
#: Upper bounds of the classes of horizons in seconds, and the names of the classes.
HORIZONS: Final = (10 * MINUTE, HOUR, 4 * HOUR, DAY, WEEK)
HORIZON_NAMES: Final = ("under 10m", "10m-1h", "1h-4h", "4h-1d", "1d-7d", "over 7d")
#: Bounds of :attr:`Estimates.quantiles` that are P10 and P90 without calibration.
_P10, _P90 = LEVELS.index(EARLY), LEVELS.index(LATE)


@dataclass(frozen=True, slots=True, eq=False)
class Estimates(Columns):
    """Estimated starts with the start that followed; arrays of n rows, times in seconds."""

    #: Number of the job, shape (n,). A job that is requeued has a number for each run.
    job: Ints
    #: Name of the method, shape (n,).
    method: NDArray[Any]
    #: Instant of the estimate, shape (n,).
    made_at: Ints
    #: Estimated start, infinite if the method gives none, shape (n,).
    start: Floats
    #: P10, NaN if the method gives no bounds, shape (n,).
    early: Floats
    #: P90, likewise.
    late: Floats
    #: Uncalibrated quantiles at LEVELS, NaN if the method gives none, shape (n, levels).
    quantiles: Floats
    #: True start, shape (n,).
    started: Ints
    #: Slots of the job, shape (n,).
    slots: Ints
    #: Name of the queue, shape (n,).
    queue: NDArray[Any]

    @property
    def wait(self) -> Ints:
        """Return the true waits; 0 if the start was before the estimate (clocks have minutes)."""
        waits: Ints = np.maximum(self.started - self.made_at, 0)
        return waits

    @property
    def horizon(self) -> Ints:
        """Return the class of the estimated wait, a number into HORIZON_NAMES."""
        ahead = np.where(np.isfinite(self.start), self.start - self.made_at, 0)
        return np.searchsorted(np.array(HORIZONS), ahead, side="right").astype(np.int64)


def accuracy_tables(rows: Estimates, by: ScoreBy = "method") -> tuple[GroupAccuracy, ...]:
    """Return the accuracy of each method over all jobs, then over each group.

    A job counts once in each line: by its first estimate of that method and, for horizons, in that
    class. So a job with many changes has no more weight than another one. The horizon is the
    estimated wait, which is known when the estimate is made.
    """
    if not len(rows):
        return ()
    found = [_group("all", "", rows)]
    if by == "method":
        return tuple(found)
    if by == "horizon":
        rows = rows.pick(np.isfinite(rows.start))
    column = _column(rows, by)
    for group in np.unique(column).tolist():
        found.append(_group(by, _name(by, group), rows.pick(column == group)))
    return tuple(found)


def _column(rows: Estimates, by: ScoreBy) -> NDArray[Any]:
    """Return the group of each row."""
    if by == "size":
        return size_classes(np.maximum(rows.slots, 1))
    return rows.queue if by == "queue" else rows.horizon


def _name(by: ScoreBy, group: Any) -> str:
    if by == "size":
        return size_text(group)
    return HORIZON_NAMES[group] if by == "horizon" else str(group)


def _group(by: str, group: str, rows: Estimates) -> GroupAccuracy:
    first = first_of_each_job(rows)
    return GroupAccuracy(by, group, len(first), float(first.wait.mean()), tuple(_of_methods(rows)))


def first_of_each_job(rows: Estimates) -> Estimates:
    """Return the first estimate of each job, in the order of the jobs' numbers."""
    order = np.lexsort((rows.made_at, rows.job))
    first = np.ones(len(order), dtype=bool)
    first[1:] = np.diff(rows.job[order]) != 0
    return rows.pick(order[first])


def _of_methods(rows: Estimates) -> Iterator[Accuracy]:
    """Yield the accuracy of each method; a method with quantiles also without calibration."""
    for method in dict.fromkeys(rows.method.tolist()):
        own = rows.pick((rows.method == method) & np.isfinite(rows.start))
        if not len(own):
            yield Accuracy(method, 0, None, None)
            continue
        own = first_of_each_job(own)
        likely, wait = own.start - own.made_at, own.wait
        has_bounds = not np.isnan(own.late).any()
        bounds = [bound - own.made_at for bound in (own.early, own.late)] if has_bounds else []
        yield accuracy(method, wait, likely, *bounds)
        if not np.isnan(own.quantiles).any():
            raw = own.quantiles - own.made_at[:, None]
            yield accuracy(f"{method}, uncalibrated", wait, likely, raw[:, _P10], raw[:, _P90])


def reliability(rows: Estimates) -> list[tuple[float, float, float | None]]:
    """Return the reliability diagram of the first forecast of each job, as `reliability_rows`.

    [] if there is no forecast.
    """
    rows = rows.pick(~np.isnan(rows.quantiles).any(axis=1) & ~np.isnan(rows.late))
    if not len(rows):
        return []
    own = first_of_each_job(rows)
    made = own.made_at
    calibrated = {EARLY: own.early - made, LATE: own.late - made}
    return reliability_rows(own.wait, own.quantiles - made[:, None], calibrated)
