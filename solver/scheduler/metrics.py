"""Metrics of a simulation: waits, use of the cluster, quality of the estimates.

How often the scheduler of a recorded cluster ran: the cycle whose starts are the recorded ones. A
log does not say it, and LSF's MBD_SLEEP_TIME is not it where jobs are scheduled more often. So the
first jobs of the log are simulated with each of some lengths, and the one that comes closest to
what was recorded is taken.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from heapq import nsmallest
from itertools import pairwise
from operator import mul

import numpy as np

from ...model.changes import Change
from ...model.compact import IntTable
from ...model.display import AsData
from ...model.instance import Instance
from ..availability.resources import FloatArray, IntArray
from .job_state import FUTURE
from .records import JobRecord, Simulation
from .simulation import simulate

#: Value in a column of times that denotes a missing time.
_NO_TIME = -(1 << 63)
#: Positions of the columns of compared jobs.
_SUBMIT, _SINCE, _START, _REAL, _ESTIMATE = range(5)
#: Seconds by which a simulated start may differ and still count as the recorded one.
CLOSE = 5


@dataclass(frozen=True, slots=True)
class WaitComparison(AsData):
    """The jobs of one queue ("" for all queues) that started both in the log and in the simulation.

    Times in seconds. error: simulated start less recorded start, so positive is late; its quantiles
    over the jobs, interpolated.
    """

    queue: str
    jobs: int
    #: Number of jobs that the simulation never started; other fields do not count them.
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
    #: Number of jobs whose starts differ by at most CLOSE seconds.
    close: int
    #: Number of jobs with a first estimate.
    estimates: int
    #: Mean absolute error of the first estimates against the recorded starts (seconds), None if
    #: there is no estimate.
    estimate_mean_absolute_error: float | None


def compare_waits(
    records: Iterable[JobRecord], recorded: Mapping[str, int]
) -> tuple[WaitComparison, ...]:
    """Return the comparison of all jobs with a recorded start, then of each queue by name.

    recorded: real start by job id, in seconds from the origin.
    """
    queues: dict[str, IntTable] = {}
    for record in records:
        real = recorded.get(record.job)
        if real is not None:
            table = queues.setdefault(record.queue, IntTable())
            table.append(record.submit, record.waits_since, record.start, real, record.estimate)
    groups = {"": list(queues.values()), **{name: [queues[name]] for name in sorted(queues)}}
    return tuple(_of(name, group) for name, group in groups.items())


def _of(queue: str, jobs: Sequence[IntTable]) -> WaitComparison:
    """Return the comparison for job rows of submission, begin of the wait, start, recorded start
    and estimate.

    What was recorded counts from the submission: in a log that is when others had let a job go.
    """
    starts = _column(jobs, _START)
    there = starts != _NO_TIME
    starts = starts[there]
    submits, real = _column(jobs, _SUBMIT)[there], _column(jobs, _REAL)[there]
    since = _column(jobs, _SINCE)[there]
    waits, real_waits = (starts - since).astype(float), (real - submits).astype(float)
    errors = (starts - real).astype(float)
    del starts, submits, real
    guess_errors = _guess_errors(jobs)
    p5, p25, p50, p75, p95 = _percentiles(errors, (5, 25, 50, 75, 95))
    real_median, real_p95 = _percentiles(real_waits, (50, 95))
    median, p95_wait = _percentiles(waits, (50, 95))
    return WaitComparison(
        queue=queue,
        jobs=len(waits),
        not_started=len(there) - len(waits),
        recorded_mean_wait=_mean(real_waits),
        simulated_mean_wait=_mean(waits),
        recorded_median_wait=real_median,
        simulated_median_wait=median,
        recorded_p95_wait=real_p95,
        simulated_p95_wait=p95_wait,
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
    return np.concatenate([np.zeros(0, np.int64), *(t.column(number, _NO_TIME) for t in jobs)])


def _guess_errors(jobs: Sequence[IntTable]) -> FloatArray:
    """Return the differences between first estimates and recorded starts, in seconds."""
    estimates = _column(jobs, _ESTIMATE)
    told = estimates != _NO_TIME
    errors: IntArray = np.abs(estimates[told] - _column(jobs, _REAL)[told])
    return errors.astype(float)


def _mean(values: np.ndarray) -> float | None:
    return float(values.mean()) if values.size else None


@dataclass(frozen=True, slots=True)
class SlotUse:
    """The use of the slots of the cluster."""

    #: Instant of the first submission (seconds).
    begin: int
    #: Instant of the last end (seconds).
    end: int
    #: Used slot-seconds divided by all slot-seconds.
    utilisation: float
    #: Share of all slot-seconds that were free while a job waited.
    idle_while_waiting: float
    #: Share of the free slot-seconds that lie on hosts with a job.
    fragmentation: float


def slot_seconds(
    result: Simulation, begin: int, end: int, block: int
) -> tuple[list[float], list[float]]:
    """Return the used and the total slot-seconds in each block of `block` seconds from `begin` on.

    The last block ends at `end`.
    """
    count = max(1, -(-(end - begin) // block))
    edges = np.minimum(begin + block * np.arange(count + 1, dtype=np.int64), end)
    spans = SlotSpans.of(result)
    used = [
        float(spans.slot_seconds(begin, end, partial(np.clip, a_min=low, a_max=high)))
        for low, high in pairwise(edges)
    ]
    total = sum(host.slots for host in result.instance.cluster.hosts)
    return used, [float(total * (high - low)) for low, high in pairwise(edges)]


@dataclass(slots=True)
class SlotSpans:
    """The periods in which jobs waited and used slots, job by job; None: to the end."""

    #: Number of slots of each host.
    capacity: dict[str, int]
    now: int
    #: End of the measured time so far (seconds).
    end: int
    #: Earliest submission (seconds), None without a job.
    first: int | None = None
    #: Start and end of each waiting period (seconds).
    waits: IntTable = field(default_factory=IntTable)
    #: Start and end of each period (seconds), slots, first row in `hosts` and number of rows.
    held: IntTable = field(default_factory=IntTable)
    #: Number of the host in each row.
    hosts: IntTable = field(default_factory=IntTable)
    _number: dict[str, int] = field(init=False)

    def __post_init__(self) -> None:
        self._number = {name: number for number, name in enumerate(self.capacity)}

    @classmethod
    def before(cls, result: Simulation) -> SlotSpans:
        """Return the columns of a simulation without jobs."""
        hosts = result.instance.cluster.hosts
        return cls({host.name: host.slots for host in hosts}, result.instance.now, result.time)

    @classmethod
    def of(cls, result: Simulation) -> SlotSpans:
        """Return the columns of all jobs of the simulation."""
        spans = cls.before(result)
        for record in result.jobs:
            spans.add(record)
        return spans

    def add(self, record: JobRecord) -> None:
        """Add a job."""
        self.first = record.submit if self.first is None else min(self.first, record.submit)
        self.end = max(self.end, record.end or self.end)
        if record.status == FUTURE:
            return
        # A job that is killed before it starts waits until that instant.
        waits_until = record.end if record.start is None else record.start
        if waits_until is None or record.waits_since < waits_until:
            self.waits.append(record.waits_since, waits_until)
        for since, until, where in record.held:
            self.held.append(since, until, sum(where.values()), len(self.hosts), len(where))
            for name in where:
                self.hosts.append(self._number[name])

    def use(self) -> SlotUse:
        """Return the slot use from the first submission on, but not before the time of the
        instance.
        """
        begin, end = max(self.first or 0, self.now), self.end
        since, until = self.waits.column(0), self.waits.column(1, end)
        waiting = _Union(np.maximum(since, begin), np.maximum(until, begin))
        slots = sum(self.capacity.values())
        busy = self.slot_seconds(begin, end, lambda times: times)
        free = slots * (end - begin) - busy
        idle_then = slots * waiting.length - self.slot_seconds(begin, end, waiting.before)
        partly = self._capacity_seconds(begin, end) - busy
        whole = max(1, slots * max(1, end - begin))
        return SlotUse(begin, end, busy / whole, idle_then / whole, partly / free if free else 0.0)

    def slot_seconds(self, begin: int, end: int, clock: Callable[[IntArray], IntArray]) -> int:
        """Return slots times seconds by a clock that shows `clock(t)` at t; nothing before `begin`
        counts.

        What is still open ends at `end`.
        """
        total = 0
        for rows in self.held.blocks():
            since, until, slots, *_ = zip(*rows, strict=True)
            ends = np.array([end if time is None else time for time in until], np.int64)
            begins = np.maximum(np.array(since, np.int64), begin)
            seconds = clock(np.maximum(ends, begin)) - clock(begins)
            total += sum(map(mul, slots, seconds.tolist()))
        return total

    def _capacity_seconds(self, begin: int, end: int) -> int:
        """Return the slots of hosts times the seconds in which some job used a slot of the host."""
        capacity = list(self.capacity.values())
        done = [begin] * len(capacity)
        total = 0
        for span in np.argsort(np.maximum(self.held.column(0), begin), kind="stable").tolist():
            since, until, _, first, count = self.held[span]
            assert since is not None
            assert first is not None
            assert count is not None
            last = end if until is None else until
            for place in range(first, first + count):
                host = self.hosts[place][0] or 0
                if last > done[host]:
                    total += capacity[host] * (last - max(since, done[host]))
                    done[host] = last
        return total


class _Union:
    """The union of time spans."""

    def __init__(self, begins: IntArray, ends: IntArray) -> None:
        order = np.argsort(begins, kind="stable")
        ends = ends[order]
        begins = begins[order]
        np.maximum.accumulate(ends, out=ends)
        apart = np.flatnonzero(begins[1:] > ends[:-1]) + 1
        some = min(1, len(begins))
        self._begins = begins[np.concatenate([[0][:some], apart]).astype(np.int64)]
        self._ends = ends[np.concatenate([apart, [len(ends)][:some]]).astype(np.int64) - 1]
        self._sum = np.concatenate([[0], np.cumsum(np.maximum(self._ends - self._begins, 0))])
        #: Total seconds of the union.
        self.length = int(self._sum[-1])

    def before(self, at: IntArray) -> IntArray:
        """Return the seconds of the union before each instant."""
        place = np.searchsorted(self._begins, at, side="right")
        inside = np.zeros(len(at), dtype=np.int64)
        some = place > 0
        last = place[some] - 1
        begun = self._begins[last]
        inside[some] = np.clip(at[some] - begun, 0, np.maximum(self._ends[last] - begun, 0))
        return self._sum[np.maximum(place - 1, 0)] * some + inside


#: Seconds that bounded slowdown takes as the run time of any shorter job.
SHORT = 10


def bounded_slowdown(wait: IntArray, run: IntArray, threshold: int = SHORT) -> FloatArray:
    """Return max(1, (wait + run) / max(run, threshold)) of each job (Feitelson et al. 1997)."""
    found: FloatArray = np.maximum(1.0, (wait + run) / np.maximum(run, threshold))
    return found


#: Share of the jobs that count as big, the largest by slots.
BIG = 0.1


@dataclass(frozen=True, slots=True)
class Prediction:
    """First estimates of one method against real starts, in seconds; a positive error is a late
    start.
    """

    #: Number of jobs with an estimate and a start.
    jobs: int
    mean_error: float
    mean_absolute_error: float
    p90_absolute_error: float
    #: Share of the jobs that started within a cycle of the estimate.
    exact: float
    #: Share of the jobs that started more than a cycle after the estimate.
    early: float


@dataclass(frozen=True, slots=True)
class LoopMetrics(AsData):
    """The metrics of a simulation in seconds, None if there is nothing to measure; percentiles
    interpolate.
    """

    #: Number of jobs that count.
    jobs: int
    #: Number of jobs that started.
    started: int
    #: Number of jobs that finished.
    done: int
    #: Number of jobs killed at their run limit.
    killed: int
    #: Number of jobs still pending at the end.
    pending: int
    #: Number of dispatch cycles.
    cycles: int
    #: First submission in seconds.
    first_submit: int
    #: Last end in seconds.
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
    #: Used slot-seconds divided by all slot-seconds, from the first submission to the last end.
    utilisation: float
    #: Share of all slot-seconds that were free while a job waited.
    idle_while_waiting: float
    #: Share of the free slots over time that lie on hosts with a job.
    fragmentation: float
    backfilled: int
    #: Number of big jobs, the tenth with most slots.
    big_jobs: int
    #: Minimum number of slots of a big job.
    big_slots: int
    #: Mean wait of the big jobs (seconds).
    big_mean_wait: float | None
    #: 95th percentile of the waits of the big jobs (seconds).
    big_p95_wait: float | None
    #: Longest wait of a big job (seconds).
    big_max_wait: float | None
    #: Mean wait of the big jobs divided by the mean wait of the other jobs.
    starvation: float | None
    #: Number of jobs with a first estimate and a start.
    estimates: int
    #: Share of these jobs that started no later than estimated, within a cycle.
    estimates_met: float | None
    #: Predictions by the method that made the first estimate of a job.
    predictions: dict[str, Prediction]
    #: Predictions by method, of estimates made by the first cycle after the submission alone.
    predictions_at_submission: dict[str, Prediction]


def measure(result: Simulation) -> LoopMetrics:
    """Return the metrics of a simulation, complete or not; only jobs submitted in it count."""
    spans = SlotSpans.before(result)
    found = _Columns(tolerance_of(result), result.instance.now)
    running = len(result.instance.running)
    # The records are made on demand, so a single pass avoids to make them twice.
    for place, record in enumerate(result.jobs):
        spans.add(record)
        if _counts(place, record, running):
            found.add(record)
    use = spans.use()
    slowdown = bounded_slowdown(found.finished.column(0), found.finished.column(1))
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
    """The job columns from which metrics are computed."""

    #: Seconds between two cycles.
    step: int
    now: int
    jobs: int = 0
    pending: int = 0
    backfilled: int = 0
    status: Counter[str] = field(default_factory=Counter)
    #: Waits (seconds) and slots of the jobs that started.
    started: IntTable = field(default_factory=IntTable)
    #: Waits and run times (seconds) of the finished jobs.
    finished: IntTable = field(default_factory=IntTable)
    #: Start less first estimate (seconds), by method.
    errors: dict[str, IntTable] = field(default_factory=dict)
    #: Start less first estimate (seconds) of estimates made by the first cycle that examined the
    #: job.
    errors_at_once: dict[str, IntTable] = field(default_factory=dict)

    def add(self, record: JobRecord) -> None:
        """Add a submitted job."""
        self.jobs += 1
        self.status[record.status] += 1
        self.pending += record.start is None and record.end is None
        self.backfilled += record.backfilled
        if record.wait is not None:
            self.started.append(record.wait, record.slots)
        if record.run_time is not None:
            self.finished.append(record.wait, record.run_time)
        if record.error is not None:
            self.errors.setdefault(record.estimate_by, IntTable()).append(record.error)
            # Whether the job had an estimate after its first cycle.
            waited = max(0, record.waits_since - self.now)
            first = self.now + -(-waited // self.step) * self.step
            if record.estimated_at is not None and record.estimated_at <= first:
                self.errors_at_once.setdefault(record.estimate_by, IntTable()).append(record.error)


def submitted(result: Simulation) -> Iterator[JobRecord]:
    """Yield the jobs that count: those submitted in the simulation, or waiting at its begin."""
    running = len(result.instance.running)
    for place, record in enumerate(result.jobs):
        if _counts(place, record, running):
            yield record


def _counts(place: int, record: JobRecord, running: int) -> bool:
    return place >= running and record.status != FUTURE


def tolerance_of(result: Simulation) -> int:
    """Return the seconds by which a start may miss its estimate and still count as met: one
    cycle.
    """
    return max(1, result.settings.cycle)


def _of_errors(errors: Mapping[str, IntTable], tolerance: int) -> dict[str, Prediction]:
    """Return the predictions of each method; tolerance: seconds that still count as exact."""
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


def _by_size(sizes: np.ndarray, waits: np.ndarray) -> tuple[int, np.ndarray, np.ndarray]:
    """Return the minimum size of a big job, and the waits of big and of other jobs."""
    if not sizes.size:
        return 0, np.zeros(0), np.zeros(0)
    least = int(np.quantile(sizes, 1 - BIG, method="higher"))
    return least, waits[sizes >= least], waits[sizes < least]


def _percentiles(values: np.ndarray, which: Sequence[int]) -> list[float | None]:
    if not values.size:
        return [None] * len(which)
    return [float(value) for value in np.percentile(values, which)]


def _ratio(first: float | None, second: float | None) -> float | None:
    return first / second if first is not None and second else None


#: Seconds between cycles that are tried in addition to the cluster's MBD_SLEEP_TIME.
LENGTHS = (1, 2, 5, 10, 15, 20, 30, 60, 120, 300)
#: Number of jobs that are simulated with each cycle length.
SAMPLE = 300


@dataclass(frozen=True, slots=True)
class CycleFit:
    """The cycle length whose simulation reproduces the largest number of recorded starts."""

    #: The best cycle length in seconds.
    cycle: int
    #: Number of compared jobs.
    jobs: int
    #: Number of jobs that started within CLOSE seconds of the recorded start, by cycle length.
    close: Mapping[int, int]

    def to_dict(self) -> dict[str, object]:
        """Return plain data."""
        tried = {str(length): count for length, count in self.close.items()}
        return {"cycle": self.cycle, "jobs": self.jobs, "within": CLOSE, "close": tried}


def fit_cycle(
    instance: Instance, recorded: Mapping[str, int], changes: Sequence[Change] = ()
) -> CycleFit | None:
    """Return the cycle length that fits the recorded starts best, or None if no start is recorded.

    The best length has the most jobs within CLOSE seconds, then the smallest mean error, infinite
    if no job starts; of equal lengths the longest counts. Pending jobs reserve nothing in these
    simulations. changes: events of hosts and jobs during the log.
    """
    sample = tuple(nsmallest(SAMPLE, instance.future, key=lambda job: job.submit))
    sample = tuple(job for job in sample if job.id in recorded)
    if not sample:
        return None
    part = replace(instance, future=sample)
    close: dict[int, int] = {}
    ranks: dict[int, tuple[int, float, int]] = {}
    for length in sorted({*LENGTHS, instance.params.mbd_sleep_time}):
        result = simulate(part, reservation="none", cycle=length, changes=changes)
        found = compare_waits(result.jobs, recorded)[0]
        close[length] = found.close
        error = math.inf if found.mean_absolute_error is None else found.mean_absolute_error
        ranks[length] = (found.close, -error, length)
    best = max(ranks, key=ranks.__getitem__)
    return CycleFit(best, len(sample), close)
