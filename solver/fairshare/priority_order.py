"""The order in which pending jobs are considered, for plans of one moment (FSH-06, LOP-04)."""

from __future__ import annotations

from dataclasses import replace

from ...model.collection import no_collection
from ...model.instance import Instance
from ...model.job import Job
from ...model.modules import with_loaded_modules
from ..precedence import Precedence
from .dispatch_order import order_policy
from .queue_order import has_policy, queue_key


def priority_order(instance: Instance) -> tuple[Job, ...]:
    """Pending jobs in the order in which a cycle with room for all would take them.

    First come, first served, or by the fairshare, partitions and pools of the instance; a job that
    waits for others (-w) comes behind them.
    """
    instance = with_loaded_modules(instance)
    order, precedence = _by_priority(instance), Precedence.of(instance)
    if not precedence:
        return order
    by_id = {job.id: job for job in order}
    return tuple(by_id[name] for name in precedence.ordered(list(by_id)))


def _by_priority(instance: Instance) -> tuple[Job, ...]:
    """The pending jobs, whatever they wait for."""
    priority = {queue.name: queue.priority for queue in instance.queues}
    if has_policy(instance):
        return _dispatch_sequence(instance)
    with no_collection():
        return tuple(sorted(instance.pending, key=lambda job: queue_key(job, priority[job.queue])))


def first_in_order(instance: Instance, count: int) -> Instance:
    """The instance with the first jobs of :func:`priority_order` alone pending.

    In one cycle nobody behind a job has a say in what it gets.
    """
    if count >= len(instance.pending):
        return instance
    first = {job.id for job in priority_order(instance)[:count]}
    return replace(instance, pending=tuple(job for job in instance.pending if job.id in first))


def _dispatch_sequence(instance: Instance) -> tuple[Job, ...]:
    """The order of one cycle in which every job that may start does (FSH-06).

    Each job is booked on its account before the next is chosen, so that users alternate as they
    would. Jobs that a pool holds back, and those without a share, come last.
    """
    order = order_policy(instance)
    anywhere = instance.cluster.hosts[0].name
    found: dict[str, Job] = {}
    order.begin(instance.now, instance.pending)
    while (offer := order.next()) is not None:
        found[offer.job.id] = offer.job
        if offer.withheld:
            order.skipped(offer.job)
        else:
            host = min(offer.hosts) if offer.hosts else anywhere
            order.started(offer.job, {host: offer.job.slots}, instance.now)
    return tuple(found.values())
