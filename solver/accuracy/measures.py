"""Measures of estimated starts against true ones, each defined here and nowhere else.

Times are waits: seconds from the instant of the estimate, infinite if it gives no start.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...model.display import HOUR, MINUTE, AsData
from ...model.workload import Ints


class Columns:
    """Arrays of one length, the rows of which can be picked."""

    def __len__(self) -> int:
        return len(getattr(self, fields(self)[0].name))  # type: ignore[arg-type]

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
