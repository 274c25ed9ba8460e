"""An instance at its now as columns of jobs, and as a pool where it is one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...model.cluster import Host
from ...model.duration import expected_duration
from ...model.instance import Instance
from ...model.job import Job, RunningJob
from ...model.queue import Queue
from ..fairshare.priority_order import priority_order
from .draws import keys_of
from .forward import PoolWorld
from .history import History
from .jobs import NO_LIMIT, AskedJobs, ints


def asked_jobs(
    instance: Instance, history: History, here: Sequence[Job] | None = None
) -> AskedJobs:
    """The running jobs by start, then the pending ones in the order in which they have turns.

    Limits are the durations that a plan takes (TBR-03). here: of :func:`jobs_here`, where known.
    """
    running = _by_start(instance)
    jobs = jobs_here(instance) if here is None else here
    pending = jobs[len(running) :]
    limits = [_planned(instance, run) for run in running]
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
    """The jobs of an instance in the order in which :func:`asked_jobs` has them."""
    return (*(run.job for run in _by_start(instance)), *priority_order(instance))


def _by_start(instance: Instance) -> list[RunningJob]:
    return sorted(instance.running, key=lambda run: run.start)


def _planned(instance: Instance, run: RunningJob) -> int | None:
    """Seconds that a running job is planned to run in all."""
    if run.finish is not None:
        return run.finish - run.start
    return expected_duration(instance, run.job)


def waiting_names(instance: Instance) -> tuple[str, ...]:
    """Ids of the pending jobs in the order in which :func:`asked_jobs` has them."""
    return tuple(job.id for job in priority_order(instance))


def pool_world(instance: Instance, history: History, policy: str = "easy") -> PoolWorld | None:
    """The instance as a pool of interchangeable slots, None where it is more than that.

    It is one with a single host, a single queue, and jobs that ask for slots and a time alone.
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
    """Whether a job says nothing of itself but what a pool heeds, or no scheduler does."""
    said = ("slots", "user", "queue", "run_limit", "cpu_limit", "run_time", "cpu_time", "submit")
    unheeded = ("deadline", "weight", "project", "from_host")
    return job == Job(job.id, **{name: getattr(job, name) for name in (*said, *unheeded)})


def _is_plain_queue(queue: Queue) -> bool:
    said = ("name", "priority", "backfill", "run_limit", "run_limit_max", "cpu_limit", "users")
    unheeded = ("slot_reserve", "resource_reserve", "description")
    return queue == Queue(**{name: getattr(queue, name) for name in (*said, *unheeded)})


def _has_no_rules(instance: Instance) -> bool:
    """Whether nothing else decides: limits, reservations, shares, what is to come."""
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
