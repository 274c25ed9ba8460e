"""A simulated cluster that lives on by itself, faster than real time."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ...model.display import HOUR, MINUTE
from ...model.duration import expected_duration
from ...model.errors import Problem
from ...model.job import Job
from ..options import read_source

if TYPE_CHECKING:
    from ...model.instance import Instance

#: Simulated seconds of one second.
SPEED = 60.0
#: Largest time by which one read advances the cluster, in simulated seconds.
MAX_STEP = 6 * HOUR
#: Share of the run limit that a job really runs, minimum and maximum.
_SHARES = (0.15, 1.0)
#: Share of the slots that new jobs keep busy; with more the queue would grow for ever.
_LOAD = 0.85
#: Minimum mean time between two new jobs, in simulated seconds.
_GAP = 30.0


@dataclass(slots=True)
class LivingCluster:
    """The cluster of an example; each read advances it by the time since the last one.

    Jobs run for a part of their limits, which plans do not know, and new ones like those of the
    example arrive. Equal seeds and clocks give equal clusters.
    """

    title: str
    #: The state, with run times and arrivals that a reader does not see.
    instance: Instance
    speed: float = SPEED
    seed: int = 0
    clock: Callable[[], float] = time.monotonic
    _began: float | None = None
    _first: int = 0
    _arrivals: Iterator[Job] | None = None
    _models: tuple[Job, ...] = ()
    _next: Job | None = None
    _number: int = 0

    def stamp(self) -> tuple[int, ...]:
        """Return (): only reading tells."""
        return ()

    def read(self) -> tuple[Instance, Sequence[Problem]]:
        """Advance the cluster and return its state."""
        if self._began is None:
            self._begin()
        assert self._began is not None
        now = self._first + int((self.clock() - self._began) * self.speed)
        while self.instance.now < now:
            self._advance(min(now, self.instance.now + MAX_STEP))
        return _as_seen(self.instance), ()

    def _begin(self) -> None:
        """Give every job a run time, and begin the arrivals."""
        numbers = random.Random(f"{self.seed} run times")
        found = self.instance
        running = tuple(
            replace(
                run, job=_with_run_time(found, run.job, numbers, at_least=found.now - run.start + 1)
            )
            for run in found.running
        )
        pending = tuple(_with_run_time(found, job, numbers) for job in found.pending)
        self.instance = replace(found, running=running, pending=pending, future=(), held=())
        known = (*pending, *(run.job for run in running))
        self._models = tuple(job for job in known if not job.dependency) or (Job("any"),)
        known_ids = [int(job.id) for job in known if job.id.isdecimal()]
        self._number = max(known_ids, default=9000) + 1
        self._first, self._began = found.now, self.clock()
        self._arrivals = self._submissions()

    def _advance(self, time: int) -> None:
        """Advance the simulated scheduler to an instant; jobs that arrive until then are entered.

        One arrival more is known to the scheduler, so that its simulation does not end before.
        """
        from ...solver.scheduler.history import snapshot_at

        assert self._arrivals is not None
        coming: list[Job] = [] if self._next is None else [self._next]
        while not coming or coming[-1].submit <= time:
            coming.append(next(self._arrivals))
        found = snapshot_at(replace(self.instance, future=tuple(coming)), time).instance
        self._next = coming[-1]
        self.instance = replace(found, future=())

    def _submissions(self) -> Iterator[Job]:
        """Return new jobs like those of the example, as many as the cluster has slots for."""
        numbers = random.Random(f"{self.seed} arrivals")
        slots = sum(host.slots for host in self.instance.cluster.hosts)
        lengths = (job.run_time or expected_duration(self.instance, job) for job in self._models)
        work = zip(self._models, lengths, strict=True)
        mean = sum(job.slots * (length or HOUR) for job, length in work) / len(self._models)
        at = float(self.instance.now)
        while True:
            at += numbers.expovariate(1.0 / max(_GAP, mean / (_LOAD * max(1, slots))))
            model = numbers.choice(self._models)
            job = replace(model, id=str(self._number), submit=int(at), begin=None, array_limit=None)
            yield _with_run_time(self.instance, job, numbers)
            self._number += 1


def _with_run_time(
    instance: Instance, job: Job, numbers: random.Random, *, at_least: int = MINUTE
) -> Job:
    """Return the job with a run time below its limit."""
    limit = expected_duration(instance, job) or 2 * HOUR
    return replace(job, run_time=max(at_least, min(limit, int(numbers.uniform(*_SHARES) * limit))))


def _as_seen(instance: Instance) -> Instance:
    """Return the state as a scheduler prints it: without run times of the future."""
    running = tuple(replace(run, job=replace(run.job, run_time=None)) for run in instance.running)
    pending = tuple(replace(job, run_time=None) for job in instance.pending)
    return replace(instance, running=running, pending=pending, future=(), lsf_says=())


def living_cluster(name: str, speed: float = SPEED) -> LivingCluster:
    """Return the cluster of an example; raise UnknownNameError for another name."""
    from ...instances import example

    return LivingCluster(name, read_source(example(name)), speed)
