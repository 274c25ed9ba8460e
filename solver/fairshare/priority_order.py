"""The order in which pending jobs are considered (FSH-06, FSH-16, LOP-04)."""

from __future__ import annotations

from ...model.instance import Instance
from ...model.job import Job
from ...model.modules import with_loaded_modules


def queue_key(job: Job, priority: int) -> tuple[int, int, int, int]:
    """Sorts jobs as queued: queue priority, job priority (-sp), submission, then id (FSH-16).

    Ids that are numbers count as such. Names leave the order to a stable sort: the place in the
    input, which is the order of submission.
    """
    number = int(job.id) if job.id.isascii() and job.id.isdigit() else 0
    return (-priority, -job.priority, job.submit, number)


def priority_order(instance: Instance) -> tuple[Job, ...]:
    """Pending jobs in the order in which a cycle with room for all would take them.

    First come, first served, or by the fairshare, partitions and pools of the instance.
    """
    instance = with_loaded_modules(instance)
    priority = {queue.name: queue.priority for queue in instance.queues}
    if has_policy(instance):
        from .sequence import dispatch_sequence

        return dispatch_sequence(instance)
    return tuple(sorted(instance.pending, key=lambda job: queue_key(job, priority[job.queue])))


def has_policy(instance: Instance) -> bool:
    """Whether anything but the queues' own order decides: shares, partitions or slot pools."""
    shares = any(queue.user_shares or queue.slot_pool for queue in instance.queues)
    return shares or bool(instance.partitions)
