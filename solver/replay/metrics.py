"""What a replay comes to in a few numbers."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from ...model.errors import InputError
from .session import ReplayResult

SHORT = 10
"""Bounded slowdown takes jobs shorter than this many seconds for as long as this."""


@dataclass(frozen=True, slots=True)
class Metrics:
    """Waits and spans in seconds; percentiles interpolate linearly.

    Bounded slowdown of a job: max(1, (wait + run) / max(run, 10 s)) (Feitelson et al. 1997).
    utilisation: busy processor-seconds over all of them from the first submission to the last end.
    """

    jobs: int
    procs: int
    first_submit: int
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
    utilisation: float

    def to_dict(self) -> dict[str, int | float]:
        """Name to number, in the order of the fields."""
        return asdict(self)


def bounded_slowdown(result: ReplayResult, short: int = SHORT) -> NDArray[np.float64]:
    """Of each job, shape (n,); needs a complete result."""
    run = result.workload.run_time
    return np.maximum(1.0, (result.wait + run) / np.maximum(run, short))


def measure(result: ReplayResult, short: int = SHORT) -> Metrics:
    """The metrics of a complete replay.

    Raises InputError if there is no job or the replay was stopped.
    """
    log, wait = result.workload, result.wait
    if not len(log):
        raise InputError(f"{log.source or 'the workload'}: no job that can be replayed")
    if not result.complete:
        raise InputError("the replay was stopped before its end; resume it to measure it")
    slowdown = bounded_slowdown(result, short)
    first, last = int(log.submit[0]), int(result.end.max())
    busy = int(np.sum(log.procs * log.run_time))
    median, p90, p95, p99 = (float(q) for q in np.percentile(wait, (50, 90, 95, 99)))
    return Metrics(
        jobs=len(log),
        procs=result.procs,
        first_submit=first,
        last_end=last,
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
        utilisation=busy / (result.procs * (last - first)),
    )
