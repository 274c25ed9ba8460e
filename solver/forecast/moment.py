"""Cluster states from which forecasts are simulated: an instance as columns of jobs, or as a
pool.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from ...model.cluster import Host
from ...model.configuration import Queue
from ...model.duration import expected_duration, expected_span
from ...model.instance import Instance
from ...model.job import Job, RunningJob
from ...model.workload import Ints, Workload
from ..fairshare.priority_order import priority_order
from ..replay import Policy, engine_of
from ..replay.engine import Engine
from ..replay.policies import Ordered
from .arrivals import FutureArrivals
from .history import History
from .jobs import NO_LIMIT, NO_START, AskedJobs, ints, keys_of
from .runtimes import ENDLESS

#: Number of events between two checks whether all requested jobs have started.
STRIDE = 16


def never() -> bool:
    """Return False: a stop function that never stops."""
    return False


class ForwardWorld(Protocol):
    """A cluster state at an instant, from which a scheduler can be simulated repeatedly."""

    @property
    def now(self) -> int:
        """Return the instant of the state (seconds)."""

    @property
    def jobs(self) -> AskedJobs:
        """Return the running jobs, then the waiting jobs in dispatch order."""

    @property
    def asked(self) -> Ints:
        """Return the rows of the jobs whose starts are requested."""

    def about(self, asked: Ints) -> ForwardWorld:
        """Return the state with only these rows as requested jobs."""

    def starts(
        self, run_times: Ints, coming: FutureArrivals, should_stop: Callable[[], bool] = never
    ) -> Ints:
        """Simulate one sample; return the start (seconds) of each requested job, of shape (asked,).

        NO_START denotes a job without a start. run_times: of all jobs, of shape (jobs,).
        should_stop: called from time to time in long simulations; OutOfTime is raised when it
        returns True.
        """


@dataclass(frozen=True, slots=True)
class PoolWorld:
    """A pool of `procs` slots under a policy of :mod:`..replay` at an instant."""

    #: Instant of the state (seconds).
    now: int
    #: Slots of the pool.
    procs: int
    #: Running jobs (elapsed >= 0) in the order of their starts, then waiting jobs in queue order.
    jobs: AskedJobs
    #: Rows of the waiting jobs whose starts are requested. A job without a limit is planned to run
    #: indefinitely.
    asked: Ints
    #: Policy of the pool, by name or as an object.
    policy: Policy = "easy"

    def about(self, asked: Ints) -> PoolWorld:
        """Return the state restricted to some jobs, as :class:`ForwardWorld` defines."""
        return replace(self, asked=asked)

    def starts(
        self, run_times: Ints, coming: FutureArrivals, should_stop: Callable[[], bool] = never
    ) -> Ints:
        """Return the starts of a sample, as :class:`ForwardWorld` defines."""
        engine = self._engine(run_times, coming)
        begun, left = engine.start, self.asked.tolist()
        while left:
            more = engine.advance(STRIDE)
            while left and 0 <= begun[left[-1]] - self.now <= engine.now - self.now:
                left.pop()
            if not more:
                break
        found = ints([begun[row] for row in self.asked.tolist()])
        return np.where(found < 0, NO_START, found)

    def _engine(self, run_times: Ints, coming: FutureArrivals) -> Engine:
        """Return the engine of the policy with the running jobs started and the waiting jobs
        submitted now.
        """
        jobs = self.jobs
        running = int(np.count_nonzero(jobs.elapsed >= 0))
        fits = np.flatnonzero(coming.slots <= self.procs)
        limit = np.concatenate((jobs.limit, coming.limit[fits]))
        limit = np.where(limit == NO_LIMIT, ENDLESS, limit)
        limit[:running] = np.maximum(
            limit[:running], run_times[:running]
        )  # samples may exceed limits
        size = np.concatenate((jobs.slots, coming.slots[fits]))
        submit = np.concatenate((np.full(len(jobs), self.now), coming.submit[fits]))
        ran = np.concatenate((run_times, coming.run_time[fits]))
        user = np.concatenate((jobs.user, np.full(len(fits), -1)))
        workload = replace(Workload.of(submit, ran, limit, size), user=user)
        policy = engine_of(self.policy)
        engine = policy(workload, self.procs, policy.default_schedule_after)
        if isinstance(engine, Ordered):
            engine.submitted_before(jobs.submit)
        for job, elapsed in enumerate(jobs.elapsed[:running].tolist()):
            engine.carry_on(job, self.now - elapsed)
        engine.begin_with(running, len(jobs))
        return engine


def asked_jobs(
    instance: Instance, history: History, here: Sequence[Job] | None = None
) -> AskedJobs:
    """Return the running jobs by start, then the pending jobs in dispatch order.

    Limits are the durations that a plan uses (TBR-03). here: result of :func:`jobs_here`, if
    already computed.
    """
    running = _by_start(instance)
    jobs = jobs_here(instance) if here is None else here
    pending = jobs[len(running) :]
    limits = [expected_span(instance, run) for run in running]
    limits += [expected_duration(instance, job) for job in pending]
    elapsed = [max(0, instance.now - run.start) for run in running] + [-1] * len(pending)
    slots = [run.slots for run in running] + [job.slots for job in pending]
    return AskedJobs(
        key=keys_of(job.id for job in jobs),
        user=ints(history.numbers(job.user for job in jobs)),
        limit=ints([NO_LIMIT if limit is None else limit for limit in limits]),
        slots=ints(slots),
        submit=ints([job.submit for job in jobs]),
        elapsed=ints(elapsed),
    )


def jobs_here(instance: Instance) -> tuple[Job, ...]:
    """Return the jobs of an instance in the order of :func:`asked_jobs`."""
    return (*(run.job for run in _by_start(instance)), *priority_order(instance))


def _by_start(instance: Instance) -> list[RunningJob]:
    return sorted(instance.running, key=lambda run: run.start)


def waiting_names(instance: Instance) -> tuple[str, ...]:
    """Return the ids of the pending jobs in the order of :func:`asked_jobs`."""
    return tuple(job.id for job in priority_order(instance))


def pool_world(instance: Instance, history: History, policy: Policy = "easy") -> PoolWorld | None:
    """Return the instance as a pool of interchangeable slots, None if it is not one.

    An instance is a pool if it has one host, one queue, and jobs that request slots and a time
    only.
    """
    if not _is_pool(instance):
        return None
    jobs = asked_jobs(instance, history)
    waiting = np.flatnonzero(jobs.elapsed < 0)
    return PoolWorld(instance.now, instance.cluster.hosts[0].slots, jobs, waiting, policy)


def _is_pool(instance: Instance) -> bool:
    hosts, jobs = instance.cluster.hosts, [run.job for run in instance.running]
    jobs += instance.pending
    queues = {job.queue for job in jobs}
    return (
        len(hosts) == 1
        and hosts[0] == Host(hosts[0].name, hosts[0].slots)
        and len(queues) <= 1
        and all(_is_plain_queue(instance.queue(name)) for name in queues)
        and all(_is_plain_job(job) for job in jobs)
        and not any(run.suspended for run in instance.running)
        and all(job.slots <= hosts[0].slots for job in instance.pending)
        and _has_no_rules(instance)
    )


def _is_plain_job(job: Job) -> bool:
    """Return whether a job has no property except those that a pool obeys or that no scheduler
    uses.
    """
    said = ("slots", "user", "queue", "run_limit", "cpu_limit", "run_time", "cpu_time", "submit")
    unheeded = ("weight", "project", "license_project", "from_host")
    return job == Job(job.id, **{name: getattr(job, name) for name in (*said, *unheeded)})


def _is_plain_queue(queue: Queue) -> bool:
    said = ("name", "priority", "backfill", "run_limit", "run_limit_max", "cpu_limit", "users")
    unheeded = ("slot_reserve", "resource_reserve", "description")
    return queue == Queue(**{name: getattr(queue, name) for name in (*said, *unheeded)})


def _has_no_rules(instance: Instance) -> bool:
    """Return whether no other rule matters: limits, reservations, shares, future events."""
    return not (
        instance.limits
        or instance.reservation_usage
        or instance.advance_reservations
        or instance.partitions
        or instance.future
        or instance.applications
        or instance.params.job_accept_interval
        or instance.params.modules is not None
    )
