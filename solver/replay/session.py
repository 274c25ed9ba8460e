"""A replay from its first event to its last, with stops and checkpoints; replays compared."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ...model.display import data_of
from ...model.errors import InputError, Problem, UnknownNameError
from ...model.formats.sealed import examine, seal_checkpoint, taking_over, unseal_checkpoint
from ...model.job_table import OneLine
from ...model.workload import Ints, Workload, canonical, machine_size
from .engine import Engine, ScheduleAfter
from .export import PoolSchedule
from .measures import GroupMetrics, Measuring, Metrics, ReplayedJobs, measured
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
            raise InputError(f"policy {name!r} is given twice: remove or rename one of them")


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


INCOMPLETE = "the replay was stopped before its end: resume the replay first"
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
        names = (
            "job=workload.job submit=workload.submit start end procs=workload.procs "
            "req_time=workload.req_time run_time=workload.run_time wait"
        )
        later = "" if self.workload.preceding is None else " effective_submit=arrival"
        return data_of(self, names + later)

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
            raise InputError(INCOMPLETE)
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
            raise InputError(f"schedule_after must be event or timestamp, not {schedule_after!r}")
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
            message = f"has policy {checkpoint.policy}, not {policy.name}: give the original one"
            raise InputError([Problem(message, source)])
        again = policy or checkpoint.policy
        session = cls(workload, again, checkpoint.procs, checkpoint.schedule_after)
        if session.workload.digest() != checkpoint.digest:
            message = "belongs to another log: give the original one"
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
        raise InputError(f"{log.source or 'the workload'}: has no job to replay: give another log")
    if not result.complete:
        raise InputError(INCOMPLETE)
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
