"""A replay from its first event to its last, with stops and checkpoints in between."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...model.errors import InputError, Problem
from ...model.formats.checkpoint import seal, taking_over, unseal
from ...model.workload import Ints, Workload, canonical, machine_size
from .conservative import Conservative
from .easy import Easy, EasySjbf
from .engine import Engine, ScheduleAfter
from .fcfs import Fcfs
from .replan import Replan

POLICIES: dict[str, type[Engine]] = {
    "fcfs": Fcfs,
    "easy": Easy,
    "easy-sjbf": EasySjbf,
    "conservative": Conservative,
    "replan": Replan,
}
"""The policies by name; docs/replay.md says what each one does."""

_STRIDE = 256  # events between two looks at the stop flag


@dataclass(frozen=True, slots=True, eq=False)
class ReplayResult:
    """When each job of `workload` (canonical form) started; arrays int64 of shape (n,), seconds.

    came: when each was submitted, None where as recorded.
    start, end: -1 where a stopped replay had not come to the start. complete: every job has ended.
    """

    workload: Workload
    policy: str
    procs: int
    schedule_after: ScheduleAfter
    start: Ints
    complete: bool
    came: Ints | None = None

    @property
    def end(self) -> Ints:
        """Real ends."""
        return np.where(self.start < 0, -1, self.start + self.workload.run_time)

    @property
    def wait(self) -> Ints:
        """Seconds from submission to start, -1 where not started.

        A job that follows another is submitted after its end.
        """
        submit = self.workload.submit if self.came is None else self.came
        return np.where(self.start < 0, -1, self.start - submit)

    def columns(self) -> dict[str, Ints]:
        """The per-job table by column, in the order in which files have it."""
        log = self.workload
        return {
            "job": log.job,
            "submit": log.submit,
            "start": self.start,
            "end": self.end,
            "procs": log.procs,
            "req_time": log.req_time,
            "run_time": log.run_time,
            "wait": self.wait,
        }


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A stopped replay: which one it is, and all it needs to go on."""

    policy: str
    procs: int
    schedule_after: ScheduleAfter
    digest: str
    state: dict[str, Any]

    def to_json(self) -> str:
        """One JSON document; the same replay stopped at the same event gives the same bytes."""
        return seal("replay", {name: getattr(self, name) for name in self.__slots__})

    @classmethod
    def from_json(cls, text: str, source: str = "") -> Checkpoint:
        """Raises InputError if `text` is not an undamaged checkpoint of this version."""
        content = unseal(text, "replay", source)
        with taking_over(source):
            return cls(**content)


class Replay:
    """One replay that can be advanced, looked at, stopped and resumed.

    Parameters
    ----------
    workload: is brought into canonical form; `left_out` of the result's workload says what fell.
    policy: a name of POLICIES.
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
        policy: str = "easy",
        procs: int | None = None,
        schedule_after: ScheduleAfter | None = None,
    ) -> None:
        if policy not in POLICIES:
            raise InputError(f"unknown policy '{policy}'; choose one of {', '.join(POLICIES)}")
        if schedule_after not in (None, "event", "timestamp"):
            raise InputError(f"schedule after '{schedule_after}'; choose event or timestamp")
        self.policy = policy
        self.procs = machine_size(workload, procs)
        self.workload = canonical(workload, self.procs)
        engine = POLICIES[policy]
        self.schedule_after = schedule_after or engine.default_schedule_after
        self._engine = engine(self.workload, self.procs, self.schedule_after)

    @classmethod
    def resume(cls, workload: Workload, checkpoint: Checkpoint, source: str = "") -> Replay:
        """Go on from a checkpoint of the same workload.

        Raises InputError if the workload is another one.
        """
        session = cls(workload, checkpoint.policy, checkpoint.procs, checkpoint.schedule_after)
        if session.workload.digest() != checkpoint.digest:
            message = f"the checkpoint belongs to another log than {workload.source or 'this one'}"
            raise InputError([Problem(message, source)])
        with taking_over(source):
            session._engine.restore(checkpoint.state)
        return session

    @property
    def now(self) -> int:
        """Simulated time, seconds."""
        return self._engine.now

    @property
    def finished(self) -> int:
        """Jobs that have ended."""
        return self._engine.finished

    def reservations(self) -> list[int]:
        """Start or reserved start of each job, -1 where it has neither yet."""
        return list(self._engine.start)

    def advance(self, events: int = _STRIDE) -> bool:
        """Handle up to `events` further events; whether any is left."""
        return self._engine.advance(events)

    def checkpoint(self) -> Checkpoint:
        """The present state; it stays valid when the replay goes on."""
        state = json.loads(json.dumps(self._engine.state()))
        digest = self.workload.digest()
        return Checkpoint(self.policy, self.procs, self.schedule_after, digest, state)

    def result(self) -> ReplayResult:
        """What is known now; a start in the future is only a reservation and counts as none."""
        start = np.array(self._engine.start, dtype=np.int64)
        complete = self.finished == len(self.workload)
        if not complete:
            start[start > self.now] = -1
        came = None
        if self._engine.came:
            came = self.workload.submit.copy()
            came[list(self._engine.came)] = list(self._engine.came.values())
        return ReplayResult(
            self.workload, self.policy, self.procs, self.schedule_after, start, complete, came
        )


def replay(
    workload: Workload,
    *,
    policy: str = "easy",
    procs: int | None = None,
    schedule_after: ScheduleAfter | None = None,
    stop: Callable[[], bool] | None = None,
) -> ReplayResult:
    """Replay a whole workload; parameters and errors as for `Replay`.

    `stop` is asked every few hundred events; once it says yes, what is known is returned with
    ``complete=False``.
    """
    session = Replay(workload, policy, procs, schedule_after)
    while session.advance() and not (stop and stop()):
        pass
    return session.result()
