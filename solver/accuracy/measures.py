"""Measures of estimated starts against true ones, each defined here and nowhere else, and tables.

Times are waits: seconds from the instant of the estimate, infinite if it gives no start.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Final, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...model.display import DAY, HOUR, MINUTE, WEEK, AsData
from ...model.workload import Ints
from ..replay.measures import size_classes, size_text


class Columns:
    """Arrays of one length, the rows of which can be picked."""

    def __len__(self) -> int:
        return len(getattr(self, fields(self)[0].name))  # type: ignore[arg-type]

    def rows(self, *names: str) -> Iterator[tuple[Any, ...]]:
        """Yield the values of these columns, row by row."""
        return zip(*(getattr(self, name).tolist() for name in names), strict=True)

    def pick(self, rows: object) -> Self:
        """Return only these rows: a mask, row numbers, or a slice."""
        names = [item.name for item in fields(self)]  # type: ignore[arg-type]
        return type(self)(**{name: getattr(self, name)[rows] for name in names})


Floats = NDArray[np.float64]

#: Levels of a forecast: 1 in 10 by, median, 9 in 10 by.
EARLY, LIKELY, LATE = 0.1, 0.5, 0.9
#: Levels at which the jobs that had started are counted.
LEVELS = tuple(round(level * 0.1, 1) for level in range(1, 10))


@dataclass(frozen=True, slots=True)
class Accuracy(AsData):
    """Accuracy of one estimator over a group of jobs; times in seconds, shares of 1."""

    #: Name of the estimator. In a backtest "by limits", "last two", "history", "forecast" (without
    #: calibration) or "calibrated".
    estimator: str
    #: Number of jobs with a time from this estimator; other jobs count nowhere. A plan by limits
    #: has no time behind a job without a limit.
    jobs: int
    #: Mean of the absolute errors of the one number that it gives (P50 of a distribution).
    mean_error: float | None
    #: Median of the absolute errors.
    median_error: float | None
    #: Share of the jobs that had started by its P10.
    by_early: float | None = None
    #: Share of the jobs that had started by its P50.
    by_likely: float | None = None
    #: Share of the jobs that had started by its P90.
    by_late: float | None = None
    #: Mean pinball loss at P50, None if the estimator gives no P50.
    loss_likely: float | None = None
    #: Mean pinball loss at P90.
    loss_late: float | None = None
    #: Mean of estimate minus start: negative if jobs start later than estimated.
    bias: float | None = None
    #: Share of the jobs with an error of 1, 5 or 10 minutes at most.
    within_1m: float | None = None
    within_5m: float | None = None
    within_10m: float | None = None
    #: Share of the jobs with an error of 1 hour at most.
    within_1h: float | None = None
    #: Error that 9 of 10 jobs do not exceed.
    p90_error: float | None = None


@dataclass(frozen=True, slots=True)
class GroupAccuracy(AsData):
    """Accuracy of all estimators over one group of jobs."""

    #: Property that makes the groups: "all", "size", "queue", "horizon".
    by: str
    #: Name of the group, "" if it is all jobs.
    group: str
    #: Number of jobs.
    jobs: int
    #: Mean of the true waits in seconds.
    mean_wait: float
    #: Accuracy of each estimator over these jobs.
    estimators: tuple[Accuracy, ...]

    def records(self) -> list[dict[str, Any]]:
        """Return one record per estimator."""
        head = {"by": self.by, "group": self.group, "mean_wait": self.mean_wait}
        return [{**head, **item.to_dict()} for item in self.estimators]


def pinball(truth: ArrayLike, quantile: ArrayLike, level: float) -> float:
    """Return the mean pinball loss of a quantile.

    Each second that it is too early costs `level`, each second too late 1 - level. The true
    quantile has the lowest mean (Koenker and Bassett 1978).
    """
    late = np.asarray(truth, dtype=np.float64) - np.asarray(quantile, dtype=np.float64)
    return float(np.maximum(level * late, (level - 1) * late).mean())


def share_started(truth: Ints, bound: Floats) -> float:
    """Return the share of the jobs that had started by a bound."""
    return float((truth <= bound).mean())


def accuracy(
    estimator: str,
    truth: Ints,
    likely: Floats,
    early: Floats | None = None,
    late: Floats | None = None,
) -> Accuracy:
    """Return the accuracy of one estimator.

    likely: its one number, or the median of its distribution. early, late: its P10 and P90, both
    or none. Jobs without a finite estimate do not count.
    """
    finite = np.isfinite(likely) & (True if late is None else np.isfinite(late))
    if not finite.any():
        return Accuracy(estimator, 0, None, None)
    truth, likely = truth[finite], likely[finite]
    early, late = (None if bound is None else bound[finite] for bound in (early, late))
    errors = np.abs(likely - truth)
    found = Accuracy(
        estimator,
        len(truth),
        float(errors.mean()),
        float(np.median(errors)),
        bias=float((likely - truth).mean()),
        within_1m=float((errors <= MINUTE).mean()),
        within_5m=float((errors <= 5 * MINUTE).mean()),
        within_10m=float((errors <= 10 * MINUTE).mean()),
        within_1h=float((errors <= HOUR).mean()),
        p90_error=float(np.quantile(errors, LATE, method="inverted_cdf")),
    )
    if early is None or late is None:
        return found
    return replace(
        found,
        by_early=share_started(truth, early),
        by_likely=share_started(truth, likely),
        by_late=share_started(truth, late),
        loss_likely=pinball(truth, likely, LIKELY),
        loss_late=pinball(truth, late, LATE),
    )


def reliability_rows(
    truth: Ints, quantiles: Floats, calibrated: Mapping[float, Floats]
) -> list[tuple[float, float, float | None]]:
    """Return each level, the share that had started by its quantile, and by its calibrated bound.

    quantiles: at LEVELS, shape (n, levels), n at least 1. calibrated: bounds of some levels; None
    in the rows of the others.
    """
    return [
        (
            level,
            share_started(truth, quantiles[:, place]),
            share_started(truth, calibrated[level]) if level in calibrated else None,
        )
        for place, level in enumerate(LEVELS)
    ]


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
