"""What a simulation comes to in numbers: waits, use of the cluster, quality of the estimates."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from ...model.int_table import IntTable
from ..world.job_state import FUTURE
from .records import JobRecord, Simulation
from .slot_use import SlotSpans

#: Bounded slowdown takes jobs shorter than this many seconds for as long as this.
SHORT = 10
#: The share of jobs, the largest by slots, that count as big.
BIG = 0.1


@dataclass(frozen=True, slots=True)
class Prediction:
    """First estimates of one method against real starts; seconds, later than said is positive.

    jobs: with an estimate and a start. exact: share that started at the estimate or within a cycle
    of it. early: share whose estimate was too early.
    """

    jobs: int
    mean_error: float
    mean_absolute_error: float
    p90_absolute_error: float
    exact: float
    early: float


@dataclass(frozen=True, slots=True)
class LoopMetrics:
    """Times in seconds, None where there is nothing to measure; percentiles interpolate.

    utilisation: slot-seconds in use over all, from the first submission to the last end.
    idle_while_waiting: share of all slot-seconds that were free while a job waited.
    fragmentation: share of the free slots that lie on hosts with a job, over time.
    big_jobs: the tenth with most slots; big_slots: the least that makes a job big.
    big_mean_wait, big_p95_wait, big_max_wait: of those; starvation: their mean wait over that of
    the others.
    estimates: jobs with a first estimate and a start; estimates_met: the share of them that started
    no later than it, within a cycle.
    predictions: by method, of the first estimate that a job was given.
    predictions_at_submission: the same, of those alone that it was given by the first cycle after
    its submission.
    """

    jobs: int
    started: int
    done: int
    killed: int
    pending: int
    cycles: int
    first_submit: int
    last_end: int
    mean_wait: float | None
    median_wait: float | None
    p90_wait: float | None
    p95_wait: float | None
    p99_wait: float | None
    max_wait: float | None
    mean_bounded_slowdown: float | None
    median_bounded_slowdown: float | None
    p95_bounded_slowdown: float | None
    utilisation: float
    idle_while_waiting: float
    fragmentation: float
    backfilled: int
    big_jobs: int
    big_slots: int
    big_mean_wait: float | None
    big_p95_wait: float | None
    big_max_wait: float | None
    starvation: float | None
    estimates: int
    estimates_met: float | None
    predictions: dict[str, Prediction]
    predictions_at_submission: dict[str, Prediction]

    def to_dict(self) -> dict[str, Any]:
        """Plain data; predictions by method."""
        return asdict(self)


def measure(result: Simulation) -> LoopMetrics:
    """The metrics of a simulation, complete or not; only jobs that were submitted in it count."""
    spans = SlotSpans.before(result)
    found = _Columns(tolerance_of(result), result.instance.now)
    running = len(result.instance.running)
    # Once over the records: they are made as they are asked for.
    for place, record in enumerate(result.jobs):
        spans.add(record)
        if _counts(place, record, running):
            found.add(record)
    use = spans.use()
    slowdown = np.array(found.slowdowns)
    s50, s95 = _percentiles(slowdown, (50, 95))
    told = sum(map(len, found.errors.values()))
    met = sum(int((e.column(0) <= found.step).sum()) for e in found.errors.values())
    waits = found.started.column(0).astype(float)
    p50, p90, p95, p99, most = _percentiles(waits, (50, 90, 95, 99, 100))
    big_slots, big, small = _by_size(found.started.column(1), waits)
    return LoopMetrics(
        jobs=found.jobs,
        started=len(waits),
        done=found.status["done"],
        killed=found.status["killed"],
        pending=found.pending,
        cycles=result.cycles,
        first_submit=use.begin,
        last_end=use.end,
        mean_wait=_mean(waits),
        median_wait=p50,
        p90_wait=p90,
        p95_wait=p95,
        p99_wait=p99,
        max_wait=most,
        mean_bounded_slowdown=_mean(slowdown),
        median_bounded_slowdown=s50,
        p95_bounded_slowdown=s95,
        utilisation=use.utilisation,
        idle_while_waiting=use.idle_while_waiting,
        fragmentation=use.fragmentation,
        backfilled=found.backfilled,
        big_jobs=len(big),
        big_slots=big_slots,
        big_mean_wait=_mean(big),
        big_p95_wait=_percentiles(big, (95,))[0],
        big_max_wait=float(big.max()) if big.size else None,
        starvation=_ratio(_mean(big), _mean(small)),
        estimates=told,
        estimates_met=met / told if told else None,
        predictions=_of_errors(found.errors, found.step),
        predictions_at_submission=_of_errors(found.errors_at_once, found.step),
    )


@dataclass(slots=True)
class _Columns:
    """What metrics ask of the jobs, job by job in columns. step: seconds between two cycles.

    started: waits and slots of those that did. errors: start less first estimate, by method;
    errors_at_once: of estimates made by the first cycle that saw the job.
    """

    step: int
    now: int
    jobs: int = 0
    pending: int = 0
    backfilled: int = 0
    status: Counter[str] = field(default_factory=Counter)
    started: IntTable = field(default_factory=IntTable)
    slowdowns: array[float] = field(default_factory=lambda: array("d"))
    errors: dict[str, IntTable] = field(default_factory=dict)
    errors_at_once: dict[str, IntTable] = field(default_factory=dict)

    def add(self, record: JobRecord) -> None:
        """A job that was submitted."""
        self.jobs += 1
        self.status[record.status] += 1
        self.pending += record.start is None and record.end is None
        self.backfilled += record.backfilled
        if record.wait is not None:
            self.started.append(record.wait, record.slots)
        if record.run_time is not None:
            self.slowdowns.append(_slowdown(record))
        if record.error is not None:
            self.errors.setdefault(record.estimate_by, IntTable()).append(record.error)
            if self._told_at_once(record):
                at_once = self.errors_at_once.setdefault(record.estimate_by, IntTable())
                at_once.append(record.error)

    def _told_at_once(self, record: JobRecord) -> bool:
        """Whether it had an estimate after the first cycle that saw it."""
        waited = max(0, record.submit - self.now)
        first = self.now + -(-waited // self.step) * self.step
        return record.estimated_at is not None and record.estimated_at <= first


def submitted(result: Simulation) -> Iterator[JobRecord]:
    """The jobs that count: those that were submitted in the simulation, or waited when it began."""
    running = len(result.instance.running)
    for place, record in enumerate(result.jobs):
        if _counts(place, record, running):
            yield record


def _counts(place: int, record: JobRecord, running: int) -> bool:
    return place >= running and record.status != FUTURE


def tolerance_of(result: Simulation) -> int:
    """Seconds by which a start may miss its estimate and still count as met: a cycle."""
    return max(1, result.settings.cycle)


def predictions(records: Iterable[JobRecord], tolerance: int) -> dict[str, Prediction]:
    """Estimates of each method that made any; tolerance: seconds that still count as exact."""
    errors: dict[str, IntTable] = {}
    for record in records:
        if record.error is not None:
            errors.setdefault(record.estimate_by, IntTable()).append(record.error)
    return _of_errors(errors, tolerance)


def _of_errors(errors: Mapping[str, IntTable], tolerance: int) -> dict[str, Prediction]:
    found = {}
    for method in sorted(errors):
        error = errors[method].column(0).astype(float)
        size = np.abs(error)
        found[method] = Prediction(
            jobs=len(error),
            mean_error=float(error.mean()),
            mean_absolute_error=float(size.mean()),
            p90_absolute_error=float(np.percentile(size, 90)),
            exact=float((size <= tolerance).mean()),
            early=float((error > tolerance).mean()),
        )
    return found


def _slowdown(record: JobRecord) -> float:
    assert record.wait is not None
    assert record.run_time is not None
    return max(1.0, (record.wait + record.run_time) / max(record.run_time, SHORT))


def _by_size(sizes: np.ndarray, waits: np.ndarray) -> tuple[int, np.ndarray, np.ndarray]:
    """The least size of a big job, and the waits of big jobs and of the others."""
    if not sizes.size:
        return 0, np.zeros(0), np.zeros(0)
    least = int(np.quantile(sizes, 1 - BIG, method="higher"))
    return least, waits[sizes >= least], waits[sizes < least]


def _share(truths: Iterable[bool]) -> float | None:
    values = list(truths)
    return sum(values) / len(values) if values else None


def _mean(values: np.ndarray) -> float | None:
    return float(values.mean()) if values.size else None


def _percentiles(values: np.ndarray, which: Sequence[int]) -> list[float | None]:
    if not values.size:
        return [None] * len(which)
    return [float(value) for value in np.percentile(values, which)]


def _ratio(first: float | None, second: float | None) -> float | None:
    return first / second if first is not None and second else None
