"""What a backtest comes to: errors, coverage and pinball loss, of all jobs and of groups."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...model.workload import Ints
from .backtest import LEVELS, PastLog, Questions
from .calibration import EARLY, LATE, LIKELY
from .draws import Floats


@dataclass(frozen=True, slots=True)
class Accuracy:
    """One estimator over a group of jobs; times in seconds, shares of 1.

    estimator: "by limits", "last two", "history", "forecast" (as it was drawn) or "calibrated".
    mean_error, median_error: absolute, of the one number that it says, of a distribution its P50.
    by_early, by_likely, by_late: which share had started by its P10, P50, P90. loss_likely,
    loss_late: mean pinball loss at P50 and P90. None where it says no such number. jobs: of which
    it says a time at all, the others count nowhere: a plan by limits has none where a job before
    has no limit.
    """

    estimator: str
    jobs: int
    mean_error: float | None
    median_error: float | None
    by_early: float | None = None
    by_likely: float | None = None
    by_late: float | None = None
    loss_likely: float | None = None
    loss_late: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class GroupAccuracy:
    """All estimators over one group of jobs. by: "all", "size" or "queue". mean_wait: seconds."""

    by: str
    group: str
    jobs: int
    mean_wait: float
    estimators: tuple[Accuracy, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)


def pinball(truth: ArrayLike, quantile: ArrayLike, level: float) -> float:
    """Mean pinball loss of a quantile: too early costs `level` a second, too late 1 - level.

    Nothing costs less on average than the true quantile (Koenker and Bassett 1978).
    """
    late = np.asarray(truth, dtype=np.float64) - np.asarray(quantile, dtype=np.float64)
    return float(np.maximum(level * late, (level - 1) * late).mean())


def accuracies(replayed: PastLog, questions: Questions) -> tuple[GroupAccuracy, ...]:
    """All jobs, then those of each size class and of each queue, where there is more than one."""
    rows, queue = questions.row, replayed.names.queue
    sizes = np.ceil(np.log2(replayed.log.procs[rows])).astype(np.int64)
    found = [_of_group("all", "", questions)]
    for by, column in (("size", sizes), ("queue", replayed.log.queue[rows])):
        groups = np.unique(column).tolist()
        if len(groups) > 1:
            found += [
                _of_group(by, _size_text(group) if by == "size" else queue(group), part)
                for group in groups
                if (part := questions.pick(column == group))
            ]
    return tuple(found)


def _size_text(size_class: int) -> str:
    low, high = 2 ** (size_class - 1) + 1 if size_class else 1, 2**size_class
    return str(high) if low >= high else f"{low}-{high}"


def _of_group(by: str, group: str, questions: Questions) -> GroupAccuracy:
    wait = float(questions.wait.mean())
    return GroupAccuracy(by, group, len(questions), wait, tuple(_estimators(questions)))


def _estimators(questions: Questions) -> Iterator[Accuracy]:
    truth = questions.wait
    yield _accuracy("by limits", truth, questions.by_limits)
    yield _accuracy("last two", truth, questions.last_two)
    early, likely, late = questions.past_waits.T
    yield _accuracy("history", truth, likely, early, late)
    likely = questions.raw(LIKELY)
    yield _accuracy("forecast", truth, likely, questions.raw(EARLY), questions.raw(LATE))
    yield _accuracy("calibrated", truth, likely, questions.early, questions.late)


def _accuracy(
    estimator: str,
    truth: Ints,
    likely: Floats,
    early: Floats | None = None,
    late: Floats | None = None,
) -> Accuracy:
    said = np.isfinite(likely) & (True if late is None else np.isfinite(late))
    if not said.any():
        return Accuracy(estimator, 0, None, None)
    truth, likely = truth[said], likely[said]
    early, late = (None if bound is None else bound[said] for bound in (early, late))
    errors = np.abs(likely - truth)
    found = Accuracy(estimator, len(truth), float(errors.mean()), float(np.median(errors)))
    if early is None or late is None:
        return found
    return replace(
        found,
        by_early=_share(truth, early),
        by_likely=_share(truth, likely),
        by_late=_share(truth, late),
        loss_likely=pinball(truth, likely, LIKELY),
        loss_late=pinball(truth, late, LATE),
    )


def _share(truth: Ints, bound: Floats) -> float:
    """Which share of the jobs had started by a bound."""
    return float((truth <= bound).mean())


def reliability(questions: Questions) -> list[tuple[float, float, float | None]]:
    """Each level, the share that had started by its quantile, and by a calibrated bound if any."""
    truth = questions.wait
    calibrated = {EARLY: questions.early, LATE: questions.late}
    return [
        (
            level,
            _share(truth, questions.raw(level)),
            _share(truth, calibrated[level]) if level in calibrated else None,
        )
        for level in LEVELS
    ]
