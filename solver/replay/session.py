"""A replay from its first event to its last, with stops and checkpoints in between.

A replayed schedule in the formats of other tools: SWF, and the job table of evalys.

One log under several policies: the metrics of each side by side.

Measures of a replay: waits, slowdowns, utilisation and fairness, of all jobs and of groups.

Each measure is defined here, with its source; docs/replay.md explains them.
"""

from __future__ import annotations

import heapq
import json
from bisect import bisect, insort
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, fields, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...model.errors import InputError, Problem, UnknownNameError
from ...model.formats.sealed import examine, seal_checkpoint, taking_over, unseal_checkpoint
from ...model.job_table import OneLine
from ...model.workload import Ints, Workload, canonical, machine_size
from ..scheduler.metrics import SHORT
from ..scheduler.metrics import bounded_slowdown as slowdown_of
from .engine import Engine, ScheduleAfter
from .policies import (
    OF_LITERATURE,
    Conservative,
    Easy,
    EasySjbf,
    Fcfs,
    Ordered,
    QueuePolicy,
    Replan,
    ordered,
    registered,
)

if TYPE_CHECKING:
    from pandas import DataFrame


Floats = NDArray[np.float64]

#: Name of the group of jobs whose user or queue the log does not give.
UNKNOWN = "unknown"
#: Kinds of groups.
GROUPS = ("user", "size", "queue")
#: Number of batches of an interval.
BATCHES = 20
#: Minimum number of jobs in a batch; with fewer jobs there is no interval.
MIN_BATCH = 10
#: 0.975 quantile of Student's t with BATCHES - 1 degrees of freedom: intervals have 95 %.
STUDENT_T = 2.0930240544083096


@dataclass(frozen=True, slots=True)
class Measuring:
    """Choice of the jobs that are measured, and of their groups; times in seconds.

    Raises InputError for a negative time, a threshold below 1 or an unknown group.
    """

    #: Jobs submitted in the first `warm_up` seconds are not measured.
    warm_up: int = 0
    #: Jobs submitted in the last `cool_down` seconds before the last submission are not measured.
    cool_down: int = 0
    #: Run time that bounded slowdown takes for any shorter job.
    slowdown_threshold: int = SHORT
    #: Kinds of groups that are measured in addition to all jobs, each one of GROUPS.
    by: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name, least in (("warm_up", 0), ("cool_down", 0), ("slowdown_threshold", 1)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise InputError(f"{name} must be {least} or more seconds, not {value!r}")
        for kind in self.by:
            if kind not in GROUPS:
                raise InputError(f"unknown group {kind!r}; choose from {', '.join(GROUPS)}")


@dataclass(frozen=True, slots=True)
class Metrics:
    """Metrics of a replay; waits and spans in seconds, percentiles interpolated linearly.

    `…_low` and `…_high` limit a 95 % interval by batch means (Law and Kelton 2000, 9.5), None with
    fewer than BATCHES × MIN_BATCH jobs.
    """

    #: Number of measured jobs.
    jobs: int
    #: Processors of the machine.
    procs: int
    #: First submission in seconds.
    first_submit: int
    #: Last end in seconds.
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
    #: Used processor-seconds divided by all processor-seconds from the first submission to the last
    #: end.
    utilisation: float
    mean_wait_low: float | None
    mean_wait_high: float | None
    mean_bounded_slowdown_low: float | None
    mean_bounded_slowdown_high: float | None
    #: Sum of processors × response time divided by sum of processors × run time.
    area_weighted_slowdown: float
    #: As `utilisation`, from the first arrival to the last, without warm-up and cool-down; None if
    #: no time lies in between.
    arrival_utilisation: float | None
    arrival_utilisation_low: float | None
    arrival_utilisation_high: float | None
    #: Share of the jobs that wait longer than under strict FCFS of the same log.
    delayed_share: float
    #: Mean over all jobs of the seconds waited beyond those of strict FCFS, 0 for less.
    mean_delay: float

    def to_dict(self) -> dict[str, int | float | None]:
        """Return the metrics by name, in the order of the fields."""
        return asdict(self)


#: Names of the metrics in the order of a table.
METRICS = tuple(item.name for item in fields(Metrics))


@dataclass(frozen=True, slots=True)
class GroupMetrics:
    """Metrics of the jobs of one group; utilisation is the group's share of the processors."""

    #: One of GROUPS.
    by: str
    #: Number of the user or queue, or the sizes of the class: "1", "2", "3-4", "5-8" and so on.
    group: str
    metrics: Metrics

    def to_dict(self) -> dict[str, Any]:
        """Return the group and its metrics by name."""
        return {"by": self.by, "group": self.group, **self.metrics.to_dict()}


@dataclass(frozen=True, slots=True, eq=False)
class ReplayedJobs:
    """The jobs of a complete replay in columns; int64 arrays of shape (n,), seconds."""

    procs: int
    #: Instant at which the job is known to the scheduler.
    arrival: Ints
    start: Ints
    run: Ints
    size: Ints
    user: Ints
    queue: Ints
    #: Wait of each job under strict FCFS of the same log.
    fcfs_wait: Ints

    @property
    def wait(self) -> Ints:
        """Return the seconds from arrival to start."""
        return self.start - self.arrival

    def used(self, jobs: NDArray[np.bool_], begin: int, end: int) -> int:
        """Return the processor-seconds of some jobs within [begin, end)."""
        start, finish = self.start[jobs], self.start[jobs] + self.run[jobs]
        inside = np.minimum(finish, end) - np.maximum(start, begin)
        return int(np.sum(self.size[jobs] * np.maximum(inside, 0)))


def size_classes(procs: Ints) -> Ints:
    """Return the size class of each job: 1, 2, 3-4, 5-8, …"""
    return np.ceil(np.log2(procs)).astype(np.int64)


def size_text(size_class: int) -> str:
    """Return a size class as text."""
    low, high = 2 ** (size_class - 1) + 1 if size_class else 1, 2**size_class
    return str(high) if low >= high else f"{low}-{high}"


def batch_interval(means: Floats, centre: float) -> tuple[float, float]:
    """Return the 95 % interval of a mean from the means of BATCHES batches."""
    half = STUDENT_T * float(means.std(ddof=1)) / BATCHES**0.5
    return centre - half, centre + half


def measured_span(arrival: Ints, measuring: Measuring) -> tuple[int, int]:
    """Return the first and the last instant of the arrivals that are measured.

    Raises InputError if no job arrives then.
    """
    first, last = int(arrival.min()), int(arrival.max())
    begin, end = first + measuring.warm_up, last - measuring.cool_down
    if not ((arrival >= begin) & (arrival <= end)).any():
        raise InputError(
            f"no job is submitted between warm-up ({measuring.warm_up} s) and cool-down "
            f"({measuring.cool_down} s); submissions span {last - first} s"
        )
    return begin, end


class _Measured:
    """The measured jobs of a replay, and the spans over which it is measured."""

    def __init__(self, outcome: ReplayedJobs, measuring: Measuring) -> None:
        self.outcome, self.threshold = outcome, measuring.slowdown_threshold
        #: First and last instant of the arrivals that are measured.
        self.begin, self.end = measured_span(outcome.arrival, measuring)
        self.jobs = (outcome.arrival >= self.begin) & (outcome.arrival <= self.end)
        self.first = int(outcome.arrival[self.jobs].min())
        self.last_end = int((outcome.start + outcome.run)[self.jobs].max())

    def metrics(self, group: NDArray[np.bool_]) -> Metrics:
        """Return the metrics of the measured jobs of a group, which has at least one."""
        outcome, chosen = self.outcome, self.jobs & group
        wait, run, size = outcome.wait[chosen], outcome.run[chosen], outcome.size[chosen]
        slowdown = slowdown_of(wait, run, self.threshold)
        delay = np.maximum(0, wait - outcome.fcfs_wait[chosen])
        order = np.argsort(outcome.arrival[chosen], kind="stable")
        median, p90, p95, p99 = (float(q) for q in np.percentile(wait, (50, 90, 95, 99)))
        whole = outcome.procs * (self.last_end - self.first)
        wait_low, wait_high = _interval(wait[order])
        slow_low, slow_high = _interval(slowdown[order])
        used, used_low, used_high = self._arrival_utilisation(group, len(wait))
        return Metrics(
            jobs=len(wait),
            procs=outcome.procs,
            first_submit=self.first,
            last_end=self.last_end,
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
            utilisation=outcome.used(group, self.first, self.last_end) / whole,
            mean_wait_low=wait_low,
            mean_wait_high=wait_high,
            mean_bounded_slowdown_low=slow_low,
            mean_bounded_slowdown_high=slow_high,
            area_weighted_slowdown=float(np.sum(size * (wait + run)) / np.sum(size * run)),
            arrival_utilisation=used,
            arrival_utilisation_low=used_low,
            arrival_utilisation_high=used_high,
            delayed_share=float((delay > 0).mean()),
            mean_delay=float(delay.mean()),
        )

    def _arrival_utilisation(
        self, group: NDArray[np.bool_], jobs: int
    ) -> tuple[float | None, float | None, float | None]:
        """Return the utilisation between the measured arrivals and its interval.

        A batch is one of BATCHES spans of equal length.
        """
        span = self.end - self.begin
        if span <= 0:
            return None, None, None
        procs = self.outcome.procs
        whole = self.outcome.used(group, self.begin, self.end) / (procs * span)
        if jobs < BATCHES * MIN_BATCH or span < BATCHES:
            return whole, None, None
        edges = np.linspace(self.begin, self.end, BATCHES + 1).round().astype(np.int64).tolist()
        shares = [
            self.outcome.used(group, low, high) / (procs * (high - low))
            for low, high in pairwise(edges)
        ]
        return whole, *batch_interval(np.array(shares), whole)


def _interval(values: NDArray[Any]) -> tuple[float | None, float | None]:
    """Return the interval of the mean of values in order of arrival."""
    if len(values) < BATCHES * MIN_BATCH:
        return None, None
    means = np.array([part.mean() for part in np.array_split(values, BATCHES)])
    return batch_interval(means, float(values.mean()))


def measured(
    outcome: ReplayedJobs, measuring: Measuring
) -> tuple[Metrics, tuple[GroupMetrics, ...]]:
    """Return the metrics of all measured jobs, and those of each group.

    Raises InputError if no job is measured.
    """
    jobs = _Measured(outcome, measuring)
    everyone = np.ones(len(outcome.start), dtype=bool)
    groups = tuple(group for kind in measuring.by for group in _groups(jobs, kind))
    return jobs.metrics(everyone), groups


def _groups(jobs: _Measured, kind: str) -> Iterator[GroupMetrics]:
    outcome = jobs.outcome
    keys = {
        "user": outcome.user,
        "size": size_classes(outcome.size),
        "queue": outcome.queue,
    }[kind]
    for key in np.unique(keys[jobs.jobs]).tolist():
        name = size_text(key) if kind == "size" else UNKNOWN if key < 0 else str(key)
        yield GroupMetrics(kind, name, jobs.metrics(keys == key))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ReplayComparison(OneLine):
    """Replays of one log on one machine, one per policy."""

    results: tuple[ReplayResult, ...]
    #: Strict FCFS of the same log; fairness compares each wait with its own there.
    fcfs: ReplayResult
    measuring: Measuring

    def _about(self) -> str:
        return ", ".join(result.policy for result in self.results)

    def __iter__(self) -> Iterator[ReplayResult]:
        return iter(self.results)

    def __len__(self) -> int:
        return len(self.results)

    def __getitem__(self, policy: str) -> ReplayResult:
        """Return the replay under a policy. Raises UnknownNameError."""
        for result in self.results:
            if result.policy == policy:
                return result
        raise UnknownNameError.among("policy", policy, [each.policy for each in self.results])

    @property
    def complete(self) -> bool:
        """Return whether all replays are complete."""
        return self.fcfs.complete and all(result.complete for result in self.results)

    def to_records(self) -> list[dict[str, Any]]:
        """Return one record per policy, then one per group of each policy if groups are measured.

        With groups, `by` is "all" in the records of all jobs. Raises InputError if no job is
        measured, or a replay was stopped.
        """
        return [record for result in self.results for record in self._records(result)]

    def _records(self, result: ReplayResult) -> Iterator[dict[str, Any]]:
        head = {"policy": result.policy, "schedule_after": result.schedule_after}
        metrics, groups = measured(outcome_of(result, self.fcfs), self.measuring)
        grouped = {"by": "all", "group": ""} if self.measuring.by else {}
        yield {**head, **grouped, **metrics.to_dict()}
        for group in groups:
            yield {**head, **group.to_dict()}

    def to_frame(self) -> DataFrame:
        """Return the records as a pandas data frame."""
        import pandas

        return pandas.DataFrame(self.to_records())


#: First and last processor of an interval.
Interval = tuple[int, int]
#: Keys of a header that a replay replaces, or of which a header has several.
_OWN_KEYS = ("MaxProcs", "MaxNodes", "MaxJobs", "MaxRecords", "Note", "Queue", "Partition")


@dataclass(frozen=True, slots=True, eq=False)
class PoolSchedule:
    """The jobs of a replay and when each of them ran; int64 arrays of shape (n,), seconds."""

    log: Workload
    #: Effective submission.
    arrival: Ints
    start: Ints
    procs: int
    policy: str

    def allocations(self) -> list[list[Interval]]:
        """Return the processors of each job, from 0 on: at its start, the lowest that are free.

        A pool does not number its processors; this is one of the allocations that fit.
        """
        finish = self.start + self.log.run_time
        free: list[Interval] = [(0, self.procs - 1)]
        running: list[tuple[int, int]] = []
        found: list[list[Interval]] = [[] for _ in range(len(self.log))]
        for job in np.argsort(self.start, kind="stable").tolist():
            while running and running[0][0] <= self.start[job]:
                for interval in found[heapq.heappop(running)[1]]:
                    _release(free, interval)
            found[job] = _taken(free, int(self.log.procs[job]))
            heapq.heappush(running, (int(finish[job]), job))
        return found

    def swf_lines(self) -> Iterator[str]:
        """Yield the lines of an SWF log, in order of effective submission, with line ends.

        Columns 2, 3 and 5 are of the replay: submission, wait and allocated processors.
        """
        log = self.log
        yield f"; MaxProcs: {self.procs}\n; MaxJobs: {len(log)}\n"
        for name, value in log.header.items():
            if name not in _OWN_KEYS:
                yield f"; {name}: {value}\n"
        yield f"; Note: a replay by Slotwise under policy {self.policy}; waits are simulated\n"
        unknown = np.full(len(log), -1, dtype=np.int64)
        columns = (
            *(log.job, self.arrival, self.start - self.arrival, log.run_time, log.procs),
            *(unknown, unknown, log.procs, log.req_time, unknown, unknown + 2, log.user),
            *(unknown, unknown, log.queue, unknown),
            *_following(log),
        )
        order = np.lexsort((log.job, self.arrival))
        for row in np.stack(columns, axis=1)[order].tolist():
            yield " ".join(map(str, row)) + "\n"

    def evalys_records(self) -> Iterator[dict[str, Any]]:
        """Yield one record per job with the columns of evalys and Batsim, in order of start."""
        log, allocations = self.log, self.allocations()
        for job in np.argsort(self.start, kind="stable").tolist():
            submit, start, run = (
                int(self.arrival[job]),
                int(self.start[job]),
                int(log.run_time[job]),
            )
            yield {
                "job_id": int(log.job[job]),
                "submission_time": submit,
                "requested_number_of_resources": int(log.procs[job]),
                "requested_time": int(log.req_time[job]),
                "starting_time": start,
                "execution_time": run,
                "finish_time": start + run,
                "waiting_time": start - submit,
                "turnaround_time": start + run - submit,
                "stretch": (start + run - submit) / run,
                "allocated_resources": interval_text(allocations[job]),
            }


def _following(log: Workload) -> tuple[Ints, Ints]:
    """Return the preceding job and the think time of each job, -1 without a preceding job."""
    unknown = np.full(len(log), -1, dtype=np.int64)
    if log.preceding is None or log.think is None:
        return unknown, unknown
    return log.preceding, np.where(log.preceding < 0, -1, log.think)


def interval_text(intervals: list[Interval]) -> str:
    """Return intervals as ``0-3 7``."""
    return " ".join(str(low) if low == high else f"{low}-{high}" for low, high in intervals)


def _taken(free: list[Interval], count: int) -> list[Interval]:
    """Remove the lowest `count` processors from ascending free intervals and return them."""
    found: list[Interval] = []
    while count:
        low, high = free.pop(0)
        last = min(high, low + count - 1)
        found.append((low, last))
        count -= last - low + 1
        if last < high:
            free.insert(0, (last + 1, high))
    return found


def _release(free: list[Interval], interval: Interval) -> None:
    """Add an interval to ascending free intervals, joined with its neighbours."""
    at = bisect(free, interval)
    low, high = interval
    if at < len(free) and free[at][0] == high + 1:
        high = free.pop(at)[1]
    if at and free[at - 1][1] == low - 1:
        low = free.pop(at - 1)[0]
    insort(free, (low, high))


#: The policies by name; docs/replay.md says what each one does.
POLICIES: dict[str, type[Engine]] = {
    "fcfs": Fcfs,
    "easy": Easy,
    "easy-sjbf": EasySjbf,
    "conservative": Conservative,
    "replan": Replan,
    **{name: ordered(policy) for name, policy in OF_LITERATURE.items()},
}
#: A policy name, or a user-defined policy.
Policy: TypeAlias = str | QueuePolicy


def policy_names() -> tuple[str, ...]:
    """Return the accepted names of `policy`: the built-in ones, then those of installed
    packages.
    """
    return (*POLICIES, *sorted(registered().keys() - POLICIES.keys()))


def policy_name(policy: Policy) -> str:
    """Return the name of a policy that :func:`engine_of` accepts."""
    return policy if isinstance(policy, str) else policy.name


def require_different(policies: Iterable[Policy]) -> None:
    """Raise InputError if two policies have one name."""
    names = [policy_name(policy) for policy in policies]
    for place, name in enumerate(names):
        if name in names[:place]:
            raise InputError(f"policy {name!r} is given twice; names tell replays apart")


def engine_of(policy: Policy) -> type[Engine]:
    """Return the engine of a policy. Raises UnknownNameError for an unknown name."""
    if not isinstance(policy, str):
        return ordered(policy)
    if policy in POLICIES:
        return POLICIES[policy]
    if (point := registered().get(policy)) is None:
        raise UnknownNameError.among("policy", policy, policy_names())
    try:
        found = point.load()
    except Exception as error:  # Code of another package may raise any error.
        raise InputError(f"policy {policy} ({point.value}): {error}") from error
    return ordered(found)


_STRIDE = 256  # Number of events between two checks of the stop flag.


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ReplayResult(OneLine):
    """Starts of the jobs of `workload` (canonical form); int64 arrays of shape (n,), seconds."""

    workload: Workload
    policy: str
    procs: int
    schedule_after: ScheduleAfter
    #: Start of each job, -1 if a stopped replay did not reach it.
    start: Ints
    #: Whether every job has ended.
    complete: bool
    #: Submission times in seconds, None if they are as recorded.
    submitted_at: Ints | None = None
    #: The policy, if it is user-defined.
    own_policy: QueuePolicy | None = None
    #: Jobs and groups that `metrics` and `groups` measure.
    measuring: Measuring = Measuring()

    def _about(self) -> str:
        return f"{self.policy}: {len(self.workload)} jobs, {self.procs} processors"

    @property
    def arrival(self) -> Ints:
        """Return the effective submission of each job: later than recorded for a job that follows
        another.
        """
        return self.workload.submit if self.submitted_at is None else self.submitted_at

    @property
    def end(self) -> Ints:
        """Return the real end of each job, -1 without a start."""
        return np.where(self.start < 0, -1, self.start + self.workload.run_time)

    @property
    def wait(self) -> Ints:
        """Return the seconds from submission to start, -1 without a start.

        A job that follows another is submitted after its end.
        """
        return np.where(self.start < 0, -1, self.start - self.arrival)

    def columns(self) -> dict[str, Ints]:
        """Return the job table by column, in the column order of files.

        If some job follows another, `effective_submit` is the last column.
        """
        log = self.workload
        later = {} if log.preceding is None else {"effective_submit": self.arrival}
        return {
            "job": log.job,
            "submit": log.submit,
            "start": self.start,
            "end": self.end,
            "procs": log.procs,
            "req_time": log.req_time,
            "run_time": log.run_time,
            "wait": self.wait,
            **later,
        }

    def to_frame(self) -> DataFrame:
        """Return a pandas data frame, one row per job."""
        import pandas

        return pandas.DataFrame(self.columns())

    @property
    def schedule(self) -> PoolSchedule:
        """Return the schedule of a complete replay, for SWF and other formats.

        Raises InputError if the replay was stopped.
        """
        if not self.complete:
            raise InputError("the replay was stopped before its end; resume it to write it")
        return PoolSchedule(self.workload, self.arrival, self.start, self.procs, self.policy)

    def to_swf(self) -> str:
        """Return the schedule as an SWF log with waits and processors. Raises InputError."""
        return "".join(self.schedule.swf_lines())

    @property
    def metrics(self) -> Metrics:
        """Return waits, slowdowns, utilisation and fairness, as :func:`measure` computes them."""
        return measure(self)

    @property
    def groups(self) -> tuple[GroupMetrics, ...]:
        """Return the metrics of the groups in `measuring.by`."""
        return measured(outcome_of(self), self.measuring)[1]


@dataclass
class _EngineState:
    """State that an engine's `state` returns."""

    now: int
    finished: int
    start: list[int]
    came: list[tuple[int, int]]
    events: list[tuple[int, int, int, int]]
    sequence: int
    policy: dict[str, Any]


@dataclass
class _ReplayContent:
    """The content of a replay checkpoint."""

    policy: str
    procs: int
    schedule_after: ScheduleAfter
    digest: str
    state: _EngineState


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A stopped replay, with its identity and the state needed to continue."""

    policy: str
    procs: int
    schedule_after: ScheduleAfter
    digest: str
    state: dict[str, Any]

    def to_json(self) -> str:
        """Return one JSON document; a replay stopped at an equal event gives equal bytes."""
        return seal_checkpoint("replay", {name: getattr(self, name) for name in self.__slots__})

    @classmethod
    def from_json(cls, text: str, source: str = "") -> Checkpoint:
        """Raises InputError if `text` is not an undamaged checkpoint of this version."""
        content = unseal_checkpoint(text, "replay", source)
        examine(content, _ReplayContent, source)
        engine = POLICIES.get(content["policy"], Ordered)
        examine(content["state"]["policy"], engine.state_shape, source)
        with taking_over(source):
            return cls(**content)


class Replay:
    """A replay that a caller can advance, inspect, stop and resume.

    Parameters
    ----------
    workload: is brought into canonical form; `left_out` of the result's workload says what fell.
    policy: a name of :func:`policy_names`, or a :class:`QueuePolicy`.
    procs: the machine's size, by default what the log states.
    schedule_after: run the scheduler after each "event" or once a "timestamp"; by default what
        the policy is defined with (replan: timestamp, the others: event).

    Raises
    ------
    InputError
        Unknown policy or switch, or no machine size.
    """

    def __init__(
        self,
        workload: Workload,
        policy: Policy = "easy",
        procs: int | None = None,
        schedule_after: ScheduleAfter | None = None,
    ) -> None:
        engine = engine_of(policy)
        if schedule_after not in (None, "event", "timestamp"):
            raise InputError(f"schedule after '{schedule_after}'; choose event or timestamp")
        self.own_policy = None if isinstance(policy, str) else policy
        self.policy = policy_name(policy)
        self.procs = machine_size(workload, procs)
        self.workload = canonical(workload, self.procs)
        self.schedule_after = schedule_after or engine.default_schedule_after
        self._engine = engine(self.workload, self.procs, self.schedule_after)

    @classmethod
    def resume(
        cls,
        workload: Workload,
        checkpoint: Checkpoint,
        source: str = "",
        policy: QueuePolicy | None = None,
    ) -> Replay:
        """Continue from a checkpoint of an equal workload; policy: a user-defined policy, given
        again.

        Raises InputError if the workload or the policy is another one.
        """
        if policy is not None and policy.name != checkpoint.policy:
            message = f"the checkpoint is of policy {checkpoint.policy}, not {policy.name}"
            raise InputError([Problem(message, source)])
        again = policy or checkpoint.policy
        session = cls(workload, again, checkpoint.procs, checkpoint.schedule_after)
        if session.workload.digest() != checkpoint.digest:
            message = f"the checkpoint belongs to another log than {workload.source or 'this one'}"
            raise InputError([Problem(message, source)])
        with taking_over(source):
            session._engine.restore(checkpoint.state)
        return session

    @property
    def now(self) -> int:
        """Return the simulated time in seconds."""
        return self._engine.now

    @property
    def finished(self) -> int:
        """Return the number of jobs that have ended."""
        return self._engine.finished

    def reservations(self) -> list[int]:
        """Return the start or reserved start of each job, -1 if it has neither yet."""
        return list(self._engine.start)

    def advance(self, events: int = _STRIDE) -> bool:
        """Process up to `events` further events; return whether any event is left."""
        return self._engine.advance(events)

    def checkpoint(self) -> Checkpoint:
        """Return a checkpoint of the present state, which stays valid when the replay continues."""
        state = json.loads(json.dumps(self._engine.state()))
        digest = self.workload.digest()
        return Checkpoint(self.policy, self.procs, self.schedule_after, digest, state)

    def result(self) -> ReplayResult:
        """Return the starts known now; a planned start in the future is a reservation and no
        start.
        """
        start = np.array(self._engine.start, dtype=np.int64)
        complete = self.finished == len(self.workload)
        if not complete:
            start[start > self.now] = -1
        submitted_at = None
        if self._engine.submitted_at:
            submitted_at = self.workload.submit.copy()
            submitted_at[list(self._engine.submitted_at)] = list(self._engine.submitted_at.values())
        return ReplayResult(
            self.workload,
            self.policy,
            self.procs,
            self.schedule_after,
            start,
            complete,
            submitted_at,
            self.own_policy,
        )


def replay(
    workload: Workload,
    *,
    policy: Policy = "easy",
    procs: int | None = None,
    schedule_after: ScheduleAfter | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> ReplayResult:
    """Replay a whole workload; parameters and errors as for `Replay`.

    `should_stop` is called every few hundred events; when it returns True, the starts so far are
    returned with ``complete=False``.
    """
    session = Replay(workload, policy, procs, schedule_after)
    while session.advance() and not (should_stop and should_stop()):
        pass
    return session.result()


def is_strict_fcfs(result: ReplayResult) -> bool:
    """Return whether a replay is that of the built-in policy fcfs."""
    return result.policy == "fcfs" and result.own_policy is None


def strict_fcfs(
    result: ReplayResult, should_stop: Callable[[], bool] | None = None
) -> ReplayResult:
    """Return the replay of the same log and machine under strict FCFS.

    Fairness compares each wait with its own there.
    """
    if is_strict_fcfs(result):
        return result
    return replay(result.workload, policy="fcfs", procs=result.procs, should_stop=should_stop)


def bounded_slowdown(result: ReplayResult, short: int = SHORT) -> NDArray[np.float64]:
    """Return the bounded slowdown of each job, shape (n,); the result must be complete."""
    return slowdown_of(result.wait, result.workload.run_time, short)


def measure(
    result: ReplayResult,
    measuring: Measuring | None = None,
    fcfs: ReplayResult | None = None,
) -> Metrics:
    """Return the metrics of a complete replay.

    measuring: by default that of the result. fcfs: its :func:`strict_fcfs`, if it is known.
    Raises InputError if there is no job to measure or the replay was stopped.
    """
    choice = replace(measuring or result.measuring, by=())
    return measured(outcome_of(result, fcfs), choice)[0]


def outcome_of(result: ReplayResult, fcfs: ReplayResult | None = None) -> ReplayedJobs:
    """Return the columns that are measured; fcfs as for :func:`measure`."""
    log = result.workload
    if not len(log):
        raise InputError(f"{log.source or 'the workload'}: no job that can be replayed")
    if not result.complete:
        raise InputError("the replay was stopped before its end; resume it to measure it")
    reference = fcfs or strict_fcfs(result)
    return ReplayedJobs(
        procs=result.procs,
        arrival=result.arrival,
        start=result.start,
        run=log.run_time,
        size=log.procs,
        user=log.user,
        queue=log.queue,
        fcfs_wait=reference.wait,
    )
