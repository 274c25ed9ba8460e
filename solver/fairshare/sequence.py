"""Pending jobs in the order that the instance's policies give them, for plans of one moment."""

from __future__ import annotations

from ...model.instance import Instance
from ...model.job import Job
from .dispatch_order import order_policy


def dispatch_sequence(instance: Instance) -> tuple[Job, ...]:
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
