"""The share accounts that an instance configures, and the hosts that no partition has."""

from __future__ import annotations

from collections.abc import Mapping

from ...model.fairshare import queue_sets
from ...model.instance import Instance
from ...model.shares import Groups, share_tree
from .accounts import ShareTree
from .adjustment import load_adjustment
from .priority import Factors


def outside(instance: Instance, partitions: Mapping[str, frozenset[str]]) -> frozenset[str] | None:
    """Hosts in no partition; None, for all, where there are no partitions."""
    if not partitions:
        return None
    inside = frozenset().union(*partitions.values())
    return frozenset(host.name for host in instance.cluster.hosts) - inside


def share_trees(instance: Instance) -> dict[str, ShareTree]:
    """The accounts of every policy: of queue sets by master queue, of partitions by name."""
    groups = Groups(instance.groups)
    adjustment = load_adjustment(instance.params.fairshare_adjustment)
    hosts = instance.cluster.hosts
    slots = sum(host.slots for host in hosts)
    slot_memory = sum(host.amounts.get("mem", 0.0) for host in hosts) / slots if slots else 0.0
    trees = {}
    for policy in queue_sets(instance):
        node = share_tree(policy.master, policy.shares, groups)
        factors = Factors.of(instance.params, instance.queue(policy.master))
        trees[policy.master] = ShareTree(node, factors, adjustment, slot_memory)
    for partition in instance.partitions:
        node = share_tree(partition.name, partition.user_shares, groups)
        factors = Factors.of(instance.params)
        trees[partition.name] = ShareTree(node, factors, adjustment, slot_memory)
    return trees
