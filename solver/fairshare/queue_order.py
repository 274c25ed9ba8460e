"""The order of jobs by their queues alone, and whether anything else decides (FSH-16)."""

from __future__ import annotations

from ...model.instance import Instance
from ...model.job import Job


def queue_key(job: Job, priority: int) -> tuple[int, int, int, int, int]:
    """Sorts jobs as queued: queue priority, job priority (-sp), submission, then id (FSH-16).

    btop and bbot put a job before or behind others of its queue and priority.

    Ids that are numbers count as such. Names leave the order to a stable sort: the place in the
    input, which is the order of submission.
    """
    number = int(job.id) if job.id.isascii() and job.id.isdigit() else 0
    return (-priority, -job.priority, *job.standing, number)


def has_policy(instance: Instance) -> bool:
    """Whether anything but the queues' own order decides: shares, partitions or slot pools."""
    shares = any(queue.user_shares or queue.slot_pool for queue in instance.queues)
    return shares or bool(instance.partitions)
