"""Fairshare policies of an instance: queue sets, host partitions, slot pools (FSH-07 … QBF-01).

What they must not be is told by ``share_rules.py``.
"""

from __future__ import annotations

from dataclasses import dataclass

from .cluster import Cluster
from .instance import Instance
from .queue import Queue
from .shares import EVERYONE
from .user import HostPartition


@dataclass(frozen=True, slots=True)
class QueueSet:
    """Queues that share one policy: a fairshare queue alone, or a cross-queue set (FSH-09).

    queues: the master first, then FAIRSHARE_QUEUES in their order. ordered: DISPATCH_ORDER=QUEUE.
    """

    queues: tuple[str, ...]
    shares: tuple[tuple[str, int], ...]
    ordered: bool = False

    @property
    def master(self) -> str:
        """The queue that defines the policy; the set goes by its name."""
        return self.queues[0]


@dataclass(frozen=True, slots=True)
class SlotPool:
    """A pool of queues (QBF-01).

    queues: in order of priority, equal ones as configured. hosts: which they share.
    shares: SLOT_SHARE of each, in percent. max_slots, use_priority: of the first queue.
    """

    name: str
    queues: tuple[str, ...]
    shares: tuple[float, ...]
    hosts: tuple[str, ...]
    max_slots: int | None = None
    use_priority: bool = False


def queue_sets(instance: Instance) -> tuple[QueueSet, ...]:
    """Every queue-level policy, in the order of the queues that define them.

    A FAIRSHARE of its own in a queue that another one lists is ignored, as documented.
    """
    listed = {name for queue in instance.queues for name in queue.fairshare_queues}
    return tuple(
        QueueSet(
            (queue.name, *queue.fairshare_queues),
            queue.user_shares,
            queue.dispatch_order.upper() == "QUEUE",
        )
        for queue in instance.queues
        if queue.user_shares and (queue.name not in listed or queue.fairshare_queues)
    )


def queue_hosts(cluster: Cluster, queue: Queue) -> tuple[str, ...]:
    """Hosts that HOSTS of a queue stands for, in the cluster's order; all where it is empty."""
    names = [request.name for request in queue.hosts] or [EVERYONE]
    return expand_hosts(cluster, [*names, *(f"~{name}" for name in queue.excluded_hosts)])


def partition_hosts(cluster: Cluster, partition: HostPartition) -> tuple[str, ...]:
    """Hosts of a partition: names, groups and ``all``, without those marked ``~`` (FSH-08)."""
    return expand_hosts(cluster, partition.hosts)


def expand_hosts(cluster: Cluster, names: list[str] | tuple[str, ...]) -> tuple[str, ...]:
    """Hosts that a list of hosts, groups, ``all``, ``others`` and ``~`` exceptions stands for."""
    taken = {host for name in names if name[0] != "~" for host in cluster.expand(name) or ()}
    if "others" in names or all(name[0] == "~" for name in names):
        taken = {host.name for host in cluster.hosts}
    left = {host for name in names if name[0] == "~" for host in cluster.expand(name[1:]) or ()}
    return tuple(host.name for host in cluster.hosts if host.name in taken - left)


def pools(instance: Instance) -> tuple[SlotPool, ...]:
    """The pools of queues, in the order in which their first queue is configured."""
    members: dict[str, list[Queue]] = {}
    for queue in instance.queues:
        if queue.slot_pool:
            members.setdefault(queue.slot_pool, []).append(queue)
    return tuple(
        SlotPool(
            name,
            queues=tuple(queue.name for queue in ranked),
            shares=tuple(queue.slot_share or 0.0 for queue in ranked),
            hosts=queue_hosts(instance.cluster, queues[0]),
            max_slots=queues[0].max_slots_in_pool,
            use_priority=queues[0].use_priority_in_pool,
        )
        for name, queues in members.items()
        for ranked in [sorted(queues, key=lambda queue: -queue.priority)]
    )
