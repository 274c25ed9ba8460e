"""Rules of absolute priority scheduling and of priorities that grow (APS-01)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from .absolute_priority import FACTORS
from .configuration import Queue
from .errors import Problem
from .input_limits import limits
from .instance import Instance
from .shares import aps_groups, grouped_queues


def absolute_problems(instance: Instance) -> Iterator[Problem]:
    """Yield errors: queues in two groups, and features that APS cannot be combined with."""
    by_name = {queue.name: queue for queue in instance.queues}
    crossed = {
        name: queue.name
        for queue in instance.queues
        if queue.aps_priority is None
        for name in (queue.name, *queue.fairshare_queues)
        if queue.fairshare_queues
    }
    group_of: dict[str, str] = {}
    for index, queue in enumerate(instance.queues):
        if queue.aps_priority is None:
            continue
        path = f"queues[{index}]"
        yield from _parent_problems(instance, queue, path)
        for name in (queue.name, *grouped_queues(queue)) if queue.queue_group else ():
            if name in group_of:
                yield Problem(
                    f"queue {name} is already in the QUEUE_GROUP of {group_of[name]}: "
                    "a queue belongs to one group",
                    path=f"{path}.QUEUE_GROUP",
                )
            else:
                group_of[name] = queue.name
        for name in dict.fromkeys((queue.name, *grouped_queues(queue))):
            if name in crossed:
                yield Problem(
                    f"queue {name} has absolute priority and is in the cross-queue set of "
                    f"{crossed[name]}: write QUEUE_GROUP instead of FAIRSHARE_QUEUES",
                    path=f"{path}.APS_PRIORITY",
                )
            if name in by_name and by_name[name].slot_pool:
                yield Problem(
                    f"queue {name} has absolute priority and is in slot pool "
                    f"{by_name[name].slot_pool}: remove one of them",
                    path=f"{path}.APS_PRIORITY",
                )


def _parent_problems(instance: Instance, queue: Queue, path: str) -> Iterator[Problem]:
    if queue.dispatch_order:
        yield Problem(
            f"queue {queue.name} has APS_PRIORITY and DISPATCH_ORDER={queue.dispatch_order}: "
            "remove one of them",
            path=f"{path}.DISPATCH_ORDER",
        )
    if instance.partitions:
        yield Problem(
            f"queue {queue.name} has APS_PRIORITY and host partition "
            f"{instance.partitions[0].name} is defined: absolute priority cannot be used together "
            "with host-partition fairshare",
            path=f"{path}.APS_PRIORITY",
        )


def absolute_warnings(instance: Instance) -> Iterator[Problem]:
    """Yield settings of absolute or growing priorities without effect or advised against."""
    if instance.params.job_priority_over_time and not instance.params.max_user_priority:
        yield Problem(
            "JOB_PRIORITY_OVER_TIME has no effect: MAX_USER_PRIORITY is not set",
            path="params.JOB_PRIORITY_OVER_TIME",
        )
    groups = aps_groups(instance)
    parent_of = {name: group.parent for group in groups for name in group.queues}
    for index, queue in enumerate(instance.queues):
        yield from _queue_warnings(queue, parent_of.get(queue.name, ""), f"queues[{index}]")
    for group in groups:
        inside = [queue for queue in instance.queues if queue.name in group.queues]
        low, high = (pick(queue.priority for queue in inside) for pick in (min, max))
        between = [
            queue
            for queue in instance.queues
            if low <= queue.priority <= high and queue.name not in group.queues
        ]
        for queue in islice(between, limits().errors):
            yield Problem(
                f"priority {queue.priority} of queue {queue.name} falls inside {low}-{high}, the "
                f"range of the APS group of {group.parent}: the whole group is dispatched at "
                f"priority {high}",
                path=f"queues[{instance.queues.index(queue)}].PRIORITY",
            )
    yield from _job_warnings(instance, parent_of)


def _queue_warnings(queue: Queue, parent: str, path: str) -> Iterator[Problem]:
    formula = queue.aps_priority
    if formula is None:
        if queue.queue_group:
            yield Problem(
                f"queue {queue.name}: QUEUE_GROUP has no effect without APS_PRIORITY: remove it",
                path=f"{path}.QUEUE_GROUP",
            )
        return
    if parent != queue.name:
        yield Problem(
            f"queue {queue.name}: APS_PRIORITY is ignored, APS_PRIORITY of queue {parent} applies",
            path=f"{path}.APS_PRIORITY",
        )
        return
    if queue.fairshare_queues:
        yield Problem(
            f"queue {queue.name}: FAIRSHARE_QUEUES is ignored in a queue with APS_PRIORITY: write "
            "QUEUE_GROUP instead",
            path=f"{path}.FAIRSHARE_QUEUES",
        )
    where = f"{path}.APS_PRIORITY"
    if "FS" in formula.weights and not queue.user_shares:
        yield Problem(
            f"queue {queue.name}: factor FS has weight {formula.weights['FS']:g} and counts as 0, "
            "because the queue has no FAIRSHARE: define FAIRSHARE or remove FS",
            path=where,
        )
    for factor in formula.idle:
        parts = ", ".join(FACTORS[factor])
        yield Problem(
            f"queue {queue.name}: factor {factor} counts as 0, because none of its parts {parts} "
            "has a weight: give one of them a weight",
            path=where,
        )
    for section, names in (("LIMIT", formula.limits), ("GRACE_PERIOD", formula.delays)):
        for name in names:
            if not any(part in formula.metrics for part in (name, *FACTORS.get(name, ()))):
                yield Problem(
                    f"queue {queue.name}: {section} of {name} has no effect, because {name} has no "
                    f"weight: give {name} a WEIGHT, or remove it from {section}",
                    path=where,
                )


def _job_warnings(instance: Instance, parent_of: dict[str, str]) -> Iterator[Problem]:
    """Yield warnings for priorities of administrators without effect in the queue of the job."""
    count = 0
    for section, jobs in (("pending", instance.pending), ("future", instance.future)):
        for index, job in enumerate(jobs):
            message = ""
            if job.aps is not None and job.queue not in parent_of:
                message = f"{job.aps} has no effect: queue {job.queue} has no absolute priority"
            elif job.queued_as is not None and job.queue in parent_of:
                message = f"btop and bbot have no effect: queue {job.queue} has absolute priority"
            if message:
                key = "aps" if job.aps is not None and job.queue not in parent_of else "queued_as"
                yield Problem(message, path=f"{section}[{index}].{key}")
                count += 1
                if count >= limits().errors:
                    return
