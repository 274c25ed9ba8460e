"""What a simulation comes to in numbers: waits, use of the cluster, quality of the estimates."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from ..world.job_state import FUTURE
from .records import JobRecord, Simulation

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
    records = submitted(result)
    tolerance = tolerance_of(result)
    met = [record.error <= tolerance for record in records if record.error is not None]
    started = [record for record in records if record.wait is not None]
    waits = np.array([record.wait for record in started], dtype=float)
    ended = [record for record in started if record.run_time is not None]
    slowdown = np.array([_slowdown(record) for record in ended])
    use = _use(result)
    big_slots, big, small = _by_size(started)
    p50, p90, p95, p99, most = _percentiles(waits, (50, 90, 95, 99, 100))
    s50, s95 = _percentiles(slowdown, (50, 95))
    return LoopMetrics(
        jobs=len(records),
        started=len(started),
        done=sum(record.status == "done" for record in records),
        killed=sum(record.status == "killed" for record in records),
        pending=sum(record.start is None and record.end is None for record in records),
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
        backfilled=sum(record.backfilled for record in records),
        big_jobs=len(big),
        big_slots=big_slots,
        big_mean_wait=_mean(big),
        big_p95_wait=_percentiles(big, (95,))[0],
        big_max_wait=float(big.max()) if big.size else None,
        starvation=_ratio(_mean(big), _mean(small)),
        estimates=len(met),
        estimates_met=sum(met) / len(met) if met else None,
        predictions=predictions(records, tolerance),
        predictions_at_submission=predictions(_told_at_once(result, records), tolerance),
    )


def submitted(result: Simulation) -> list[JobRecord]:
    """The jobs that count: those that were submitted in the simulation, or waited when it began."""
    before = len(result.instance.running)
    return [record for record in result.jobs[before:] if record.status != FUTURE]


def tolerance_of(result: Simulation) -> int:
    """Seconds by which a start may miss its estimate and still count as met: a cycle."""
    return max(1, result.settings.cycle)


def slot_seconds(
    result: Simulation, begin: int, end: int, block: int
) -> tuple[list[float], list[float]]:
    """Slot-seconds in use, and all there are, in each stretch of `block` seconds from `begin` on.

    The last stretch ends at `end`. A job counts while it holds its slots.
    """
    count = max(1, -(-(end - begin) // block))
    edges = np.minimum(begin + block * np.arange(count + 1, dtype=float), end)
    total = sum(host.slots for host in result.instance.cluster.hosts)
    held = [
        (since, end if until is None else until, sum(where.values()))
        for record in result.jobs
        if record.status != FUTURE
        for since, until, where in record.held
    ]
    since, until, slots = np.array(held, dtype=float).reshape(-1, 3).T
    used = [
        float((np.clip(until, low, high) - np.clip(since, low, high)) @ slots)
        for low, high in pairwise(edges)
    ]
    return used, [total * float(high - low) for low, high in pairwise(edges)]


def predictions(records: Iterable[JobRecord], tolerance: int) -> dict[str, Prediction]:
    """Estimates of each method that made any; tolerance: seconds that still count as exact."""
    errors: dict[str, list[int]] = {}
    for record in records:
        if record.error is not None:
            errors.setdefault(record.estimate_by, []).append(record.error)
    found = {}
    for method in sorted(errors):
        error = np.array(errors[method], dtype=float)
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


def _told_at_once(result: Simulation, records: Iterable[JobRecord]) -> list[JobRecord]:
    """Jobs that had an estimate after the first cycle that saw them."""
    step, first = max(1, result.settings.cycle), result.instance.now
    return [
        record
        for record in records
        if record.estimated_at is not None
        and record.estimated_at <= first + -(-max(0, record.submit - first) // step) * step
    ]


@dataclass(frozen=True, slots=True)
class _Use:
    begin: int
    end: int
    utilisation: float
    idle_while_waiting: float
    fragmentation: float


def _use(result: Simulation) -> _Use:
    """Slots in use over time, by one sweep over starts, ends and submissions."""
    hosts = {host.name: number for number, host in enumerate(result.instance.cluster.hosts)}
    capacity = [host.slots for host in result.instance.cluster.hosts]
    begin = min((record.submit for record in result.jobs), default=0)
    begin = max(begin, result.instance.now)
    end = max([result.time, *(r.end for r in result.jobs if r.end is not None)])
    # (time, jobs that wait more, sign and places of slots in use more); one for the end itself.
    events: list[tuple[int, int, int, dict[str, int]]] = [(end, 0, 0, {})]
    for record in result.jobs:
        if record.status == FUTURE:
            continue
        # One that is killed before it starts waits until then.
        waits_until = record.end if record.start is None else record.start
        if waits_until is None or record.submit < waits_until:
            events.append((max(begin, record.submit), 1, 0, {}))
        if waits_until is not None and record.submit < waits_until:
            events.append((waits_until, -1, 0, {}))
        for since, until, where in record.held:
            events.append((max(begin, since), 0, 1, where))
            if until is not None:
                events.append((max(begin, until), 0, -1, where))
    events.sort(key=lambda event: event[0])
    total = sum(capacity)
    used = [0] * len(capacity)
    busy = waiting = partly = 0
    busy_time = idle_waiting = free_time = broken_time = 0
    last = begin
    for time, more, sign, where in events:
        span = max(0, time - last)
        if span:
            free = total - busy
            busy_time += span * busy
            free_time += span * free
            broken_time += span * partly
            idle_waiting += span * free if waiting > 0 else 0
            last = time
        waiting += more
        for name, slots in where.items():
            host = hosts[name]
            if used[host] > 0:
                partly -= capacity[host] - used[host]
            used[host] += sign * slots
            if used[host] > 0:
                partly += capacity[host] - used[host]
            busy += sign * slots
    whole = max(1, total * max(1, end - begin))
    return _Use(
        begin,
        end,
        busy_time / whole,
        idle_waiting / whole,
        broken_time / free_time if free_time else 0.0,
    )


def _slowdown(record: JobRecord) -> float:
    assert record.wait is not None
    assert record.run_time is not None
    return max(1.0, (record.wait + record.run_time) / max(record.run_time, SHORT))


def _by_size(records: Sequence[JobRecord]) -> tuple[int, np.ndarray, np.ndarray]:
    """The least size of a big job, and the waits of big jobs and of the others."""
    if not records:
        return 0, np.zeros(0), np.zeros(0)
    sizes = np.array([record.slots for record in records])
    waits = np.array([record.wait for record in records], dtype=float)
    least = int(np.quantile(sizes, 1 - BIG, method="higher"))
    return least, waits[sizes >= least], waits[sizes < least]


def _mean(values: np.ndarray) -> float | None:
    return float(values.mean()) if values.size else None


def _percentiles(values: np.ndarray, which: Sequence[int]) -> list[float | None]:
    if not values.size:
        return [None] * len(which)
    return [float(value) for value in np.percentile(values, which)]


def _ratio(first: float | None, second: float | None) -> float | None:
    return first / second if first is not None and second else None
