"""Which queues may preempt which (LOP-06)."""

from __future__ import annotations

from ...model.instance import Instance
from ...model.queue import Queue


def may_preempt(queue: Queue, other: Queue) -> bool:
    """Whether jobs of `queue` may suspend jobs of `other`, by the word of either.

    Only lower queues are preempted, and none with BACKFILL.
    """
    if other.priority >= queue.priority or other.backfill:
        return False
    return _names(queue.preemptive, other) or _names(other.preemptable, queue)


def preempting_pairs(instance: Instance) -> list[tuple[str, str]]:
    """All pairs of a queue and one that it may preempt."""
    if not any(q.preemptive is not None or q.preemptable is not None for q in instance.queues):
        return []
    return [
        (queue.name, other.name)
        for queue in instance.queues
        for other in instance.queues
        if may_preempt(queue, other)
    ]


def preempting_now(instance: Instance) -> list[tuple[str, str]]:
    """The pairs that matter to the jobs of an instance: with one that waits and one to suspend.

    Where a job is suspended already, all of them.
    """
    pairs = preempting_pairs(instance)
    if not pairs or any(run.suspended for run in instance.running):
        return pairs
    waiting = {job.queue for job in instance.pending}
    there = waiting | {run.job.queue for run in instance.running}
    return [(queue, other) for queue, other in pairs if queue in waiting and other in there]


def _names(listed: tuple[str, ...] | None, queue: Queue) -> bool:
    return listed is not None and ("*" in listed or queue.name in listed)
