"""A simulated log beside what really happened: waits of both, and how far apart they are."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ..availability.arrays import IntArray
from .records import JobRecord

#: In a column of times: none.
_NEVER = -(1 << 63)
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
    columns = [array("q") for _ in range(5)]
    queues: dict[str, int] = {}
    for record in records:
        real = recorded.get(record.job)
        if real is not None:
            queue = queues.setdefault(record.queue, len(queues))
            row = (queue, record.submit, record.start, real, record.estimate)
            for column, value in zip(columns, row, strict=True):
                column.append(_NEVER if value is None else value)
    table = np.array(columns, dtype=np.int64)
    groups = {"": table, **{name: table[:, table[0] == queues[name]] for name in sorted(queues)}}
    return tuple(_of(name, group) for name, group in groups.items())


def _of(queue: str, jobs: IntArray) -> WaitComparison:
    """jobs: number of the queue, submission, start, recorded start and estimate, [5, n]."""
    _, submits, starts, real, _ = (row.astype(float) for row in jobs[:, jobs[2] != _NEVER])
    waits, real_waits, errors = starts - submits, real - submits, starts - real
    told = jobs[:, jobs[4] != _NEVER]
    guess_errors = np.abs(told[4] - told[3]).astype(float)
    p5, p25, p50, p75, p95 = (_percentile(errors, q) for q in (5, 25, 50, 75, 95))
    return WaitComparison(
        queue=queue,
        jobs=len(starts),
        not_started=jobs.shape[1] - len(starts),
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


def _mean(values: np.ndarray) -> float | None:
    return float(values.mean()) if values.size else None


def _percentile(values: np.ndarray, which: float) -> float | None:
    return float(np.percentile(values, which)) if values.size else None
