"""An instance without the configured rules that keep jobs from starting on free slots."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ....model.cluster import Thresholds
from ....model.configuration import Queue
from ....model.duration import expected_duration
from ....model.instance import Instance
from .limits import QUEUE_LIMITS, arrays_at
from .surroundings import longest_limit

#: Number of cycles that exceeds any reservation time.
LONG = 1 << 40


def without_limits(instance: Instance) -> Instance:
    """Return the instance without limits, windows, thresholds, guarantees and accept intervals."""
    hosts = tuple(
        replace(host, windows="", thresholds=Thresholds(), user_slots=None)
        for host in instance.cluster.hosts
    )
    users = tuple(replace(u, max_slots=None, processor_slots=None) for u in instance.users)
    return replace(
        arrays_at(None, None, instance),
        cluster=replace(instance.cluster, hosts=hosts),
        queues=tuple(map(_without_limits, instance.queues)),
        users=users,
        limits=(),
        job_groups=tuple(replace(group, limit=None) for group in instance.job_groups),
        guaranteed_pools=(),
        advance_reservations=(),
        params=replace(instance.params, job_accept_interval=0),
    )


def _without_limits(queue: Queue) -> Queue:
    of_slots: dict[str, Any] = {field: None for _, field, _ in QUEUE_LIMITS}
    return replace(
        queue,
        **of_slots,
        processor_slots=None,
        max_slots_in_pool=None,
        slots=None,
        thresholds=Thresholds(),
        dispatch_window="",
        run_window="",
        job_accept_interval=None,
    )


def without_rules(instance: Instance) -> Instance:
    """Return the instance with unlimited reservations, backfill, open hosts and no limits."""
    length = longest_limit(instance)
    jobs = instance.present_jobs
    endless = {job.queue for job in jobs if expected_duration(instance, job) is None}
    plain = without_limits(instance)
    queues = tuple(
        replace(
            queue,
            slot_reserve=None,
            resource_reserve=LONG,
            backfill=True,
            chunk_job_size=None,
            active=True,
            run_limit=length if queue.name in endless else queue.run_limit,
        )
        for queue in plain.queues
    )
    hosts = tuple(replace(host, status="ok") for host in plain.cluster.hosts)
    return replace(
        plain,
        cluster=replace(plain.cluster, hosts=hosts),
        queues=queues,
        held=(),
        borrowed=(),
        params=replace(plain.params, modules=None),
    )
