"""A simulated log beside what really happened: waits of both, and how far apart they are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ...model.int_table import IntTable
from ..availability.arrays import FloatArray, IntArray
from .records import JobRecord

#: In a column of times: none.
_NEVER = -(1 << 63)
#: Columns of the jobs that are compared.
_SUBMIT, _START, _REAL, _ESTIMATE = range(4)
#: Seconds by which a simulated start may differ and still count as the recorded one.
CLOSE = 5


@dataclass(frozen=True, slots=True)
class WaitComparison:
    """Jobs of one queue ("" for all) that started both in the log and in the simulation.

    Times in seconds. error: simulated start less recorded start, so positive is late; its quantiles
    over the jobs, interpolated. close: jobs whose starts differ by at most CLOSE seconds.
    not_started: jobs that the simulation never started; they count nowhere else.
    estimates: jobs with a first estimate; estimate_mean_absolute_error: of it against the recorded
    start, None where there is none.
    """

    queue: str
    jobs: int
    not_started: int
    recorded_mean_wait: float | None
    simulated_mean_wait: float | None
    recorded_median_wait: float | None
    simulated_median_wait: float | None
    recorded_p95_wait: float | None
    simulated_p95_wait: float | None
    mean_absolute_error: float | None
    p5_error: float | None
    p25_error: float | None
    median_error: float | None
    p75_error: float | None
    p95_error: float | None
    close: int
    estimates: int
    estimate_mean_absolute_error: float | None

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)


def compare_waits(
    records: Iterable[JobRecord], recorded: Mapping[str, int]
) -> tuple[WaitComparison, ...]:
    """All jobs of the log that have a recorded start, then those of each queue by name.

    recorded: real start by job id, in seconds from the origin.
    """
    queues: dict[str, IntTable] = {}
    for record in records:
        real = recorded.get(record.job)
        if real is not None:
            table = queues.setdefault(record.queue, IntTable())
            table.append(record.submit, record.start, real, record.estimate)
    groups = {"": list(queues.values()), **{name: [queues[name]] for name in sorted(queues)}}
    return tuple(_of(name, group) for name, group in groups.items())


def _of(queue: str, jobs: Sequence[IntTable]) -> WaitComparison:
    """jobs: submission, start, recorded start and estimate, a row a job."""
    starts = _column(jobs, _START)
    there = starts != _NEVER
    starts = starts[there]
    submits, real = _column(jobs, _SUBMIT)[there], _column(jobs, _REAL)[there]
    waits, real_waits = (starts - submits).astype(float), (real - submits).astype(float)
    errors = (starts - real).astype(float)
    del starts, submits, real
    guess_errors = _guess_errors(jobs)
    p5, p25, p50, p75, p95 = (_percentile(errors, q) for q in (5, 25, 50, 75, 95))
    return WaitComparison(
        queue=queue,
        jobs=len(waits),
        not_started=len(there) - len(waits),
        recorded_mean_wait=_mean(real_waits),
        simulated_mean_wait=_mean(waits),
        recorded_median_wait=_percentile(real_waits, 50),
        simulated_median_wait=_percentile(waits, 50),
        recorded_p95_wait=_percentile(real_waits, 95),
        simulated_p95_wait=_percentile(waits, 95),
        mean_absolute_error=_mean(np.abs(errors)),
        p5_error=p5,
        p25_error=p25,
        median_error=p50,
        p75_error=p75,
        p95_error=p95,
        close=int((np.abs(errors) <= CLOSE).sum()),
        estimates=len(guess_errors),
        estimate_mean_absolute_error=_mean(guess_errors),
    )


def _column(jobs: Sequence[IntTable], number: int) -> IntArray:
    return np.concatenate([np.zeros(0, np.int64), *(t.column(number, _NEVER) for t in jobs)])


def _guess_errors(jobs: Sequence[IntTable]) -> FloatArray:
    """How far the first estimates were from the recorded starts."""
    estimates = _column(jobs, _ESTIMATE)
    told = estimates != _NEVER
    errors: IntArray = np.abs(estimates[told] - _column(jobs, _REAL)[told])
    return errors.astype(float)


def _mean(values: np.ndarray) -> float | None:
    return float(values.mean()) if values.size else None


def _percentile(values: np.ndarray, which: float) -> float | None:
    return float(np.percentile(values, which)) if values.size else None
