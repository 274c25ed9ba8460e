"""Queues that stand for several partitions of Slurm: ``a/b`` takes the jobs of ``-p a,b``."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .instance import Instance

#: Separator of the names of the partitions.
SEVERAL = "/"


def partitions_of(instance: Instance, queue: str) -> tuple[str, ...]:
    """Return the partitions that a queue stands for, in the job's order; usually itself alone."""
    names = tuple(queue.split(SEVERAL))
    if not instance.params.scheduler.starts_in_any_queue or len(names) < 2:
        return (queue,)
    return names if {item.name for item in instance.queues}.issuperset(names) else (queue,)
