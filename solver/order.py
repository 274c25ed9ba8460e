"""The order of pending jobs where no fairshare policy decides (FSH-16, LOP-04)."""

from __future__ import annotations

from ..model.instance import Instance
from ..model.job import Job


def priority_order(instance: Instance) -> tuple[Job, ...]:
    """Pending jobs by queue priority, job priority (-sp), submission, then order of listing."""
    priority = {queue.name: queue.priority for queue in instance.queues}
    return tuple(
        sorted(
            instance.pending,
            key=lambda job: (-priority[job.queue], -job.priority, job.submit),
        )
    )
