"""A pool of interchangeable slots run forward: planned with limits, ended as drawn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from ...model.workload import Ints, Workload
from ..replay import POLICIES
from ..replay.engine import Engine
from .arrivals import ComingJobs
from .jobs import NEVER, NO_LIMIT, AskedJobs, ints
from .runtimes import ENDLESS

#: Events between two looks at whether all jobs asked about have started.
STRIDE = 16


def never() -> bool:
    """Nobody wants to stop."""
    return False


class ForwardWorld(Protocol):
    """A cluster at one moment, with a scheduler that can be run from it as often as is wanted."""

    @property
    def now(self) -> int:
        """The moment (seconds)."""

    @property
    def jobs(self) -> AskedJobs:
        """Those that run, then those that wait, in the order of the queue."""

    @property
    def asked(self) -> Ints:
        """Rows of the jobs whose starts are wanted."""

    def about(self, asked: Ints) -> ForwardWorld:
        """The same world, asked about these rows alone."""

    def starts(self, run_times: Ints, coming: ComingJobs, stop: Callable[[], bool] = never) -> Ints:
        """Start (seconds) of each asked job, NEVER where it has none; shape (asked,).

        run_times: of all jobs, shape (jobs,). stop: asked now and then where this takes long;
        OutOfTime is raised once it says yes.
        """


@dataclass(frozen=True, slots=True)
class PoolWorld:
    """A pool of `procs` slots under a policy of :mod:`..replay` at one moment.

    jobs: those that run (elapsed >= 0) come first, in the order of their starts, then those that
    wait in the order of the queue. asked: rows of waiting jobs. A job without a limit is planned
    to run for ever.
    """

    now: int
    procs: int
    jobs: AskedJobs
    asked: Ints
    policy: str = "easy"

    def about(self, asked: Ints) -> PoolWorld:
        """As :class:`ForwardWorld` says."""
        return replace(self, asked=asked)

    def starts(self, run_times: Ints, coming: ComingJobs, stop: Callable[[], bool] = never) -> Ints:
        """As :class:`ForwardWorld` says."""
        engine = self._engine(run_times, coming)
        begun, left = engine.start, self.asked.tolist()
        while left:
            more = engine.advance(STRIDE)
            while left and 0 <= begun[left[-1]] - self.now <= engine.now - self.now:
                left.pop()
            if not more:
                break
        found = ints([begun[row] for row in self.asked.tolist()])
        return np.where(found < 0, NEVER, found)

    def _engine(self, run_times: Ints, coming: ComingJobs) -> Engine:
        """The policy's engine at the moment: running jobs hold slots, waiting ones come now."""
        jobs = self.jobs
        running = int(np.count_nonzero(jobs.elapsed >= 0))
        fits = np.flatnonzero(coming.slots <= self.procs)
        limit = np.concatenate((jobs.limit, coming.limit[fits]))
        limit = np.where(limit == NO_LIMIT, ENDLESS, limit)
        limit[:running] = np.maximum(limit[:running], run_times[:running])  # some are overdue
        size = np.concatenate((jobs.slots, coming.slots[fits]))
        submit = np.concatenate((np.full(len(jobs), self.now), coming.submit[fits]))
        ran = np.concatenate((run_times, coming.run_time[fits]))
        workload = Workload.of(submit, ran, limit, size)
        policy = POLICIES[self.policy]
        engine = policy(workload, self.procs, policy.default_schedule_after)
        for job, elapsed in enumerate(jobs.elapsed[:running].tolist()):
            engine.carry_on(job, self.now - elapsed)
        engine.begin_with(running, len(jobs))
        return engine
