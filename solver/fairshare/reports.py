"""Share accounts as the tables of ``bhpart``, ``bqueues -l`` and ``bugroup`` (VEW-03 … VEW-05)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ...model.fairshare import partition_hosts, queue_sets
from ...model.instance import Instance
from ...model.job import Job
from ...model.user import UserGroup
from .accounts import Account, ShareTree
from .dispatch_order import DispatchOrder
from .priority import significant


@dataclass(frozen=True, slots=True)
class ShareRow:
    """One account: cpu_time and run_time in seconds.

    started, reserved: slots in use, and held for pending jobs. run_time: of running jobs and what
    is left of the historical one, without what is only committed. adjust: what the plug-in says.
    """

    account: str
    shares: int
    priority: float
    started: int
    reserved: int
    cpu_time: float
    run_time: int
    adjust: float


@dataclass(frozen=True, slots=True)
class ShareLevel:
    """Accounts that are compared with each other. path: ``Partition1/group2/``."""

    path: str
    rows: tuple[ShareRow, ...]


@dataclass(frozen=True, slots=True)
class PartitionView:
    """One host partition."""

    name: str
    hosts: tuple[str, ...]
    levels: tuple[ShareLevel, ...]


@dataclass(frozen=True, slots=True)
class GroupView:
    """One user group: members as configured (groups end in ``/``), and its share list."""

    name: str
    users: tuple[str, ...]
    shares: tuple[tuple[str, int], ...]


def share_levels(tree: ShareTree, now: int, *, recursive: bool = False) -> tuple[ShareLevel, ...]:
    """The accounts of a policy at `now`, level by level, the highest priority first.

    recursive: the levels below the top too, each before those below it.
    """
    return tuple(_levels(tree, tree.root, now, recursive))


def _levels(tree: ShareTree, account: Account, now: int, recursive: bool) -> Iterator[ShareLevel]:
    def rank(at: Account) -> float:
        return -significant(tree.priority(at, now))

    children = sorted(account.children.values(), key=rank)
    path = "/".join((tree.name, *account.path, ""))
    yield ShareLevel(path, tuple(share_row(tree, child, now) for child in children))
    for child in children if recursive else ():
        if child.children:
            yield from _levels(tree, child, now, recursive)


def share_row(tree: ShareTree, account: Account, now: int) -> ShareRow:
    """One account at `now`."""
    usage = tree.usage(account, now)
    return ShareRow(
        account.name,
        account.shares,
        tree.priority(account, now),
        usage.slots,
        usage.reserved,
        usage.cpu_time,
        round(usage.run_time + usage.historical_run_time),
        tree.adjustment(usage) if tree.adjustment else 0.0,
    )


def queue_levels(
    instance: Instance, order: DispatchOrder, queue: str, now: int, *, recursive: bool = False
) -> tuple[ShareLevel, ...]:
    """SHARE_INFO_FOR of a queue; every queue of a cross-queue set shows the set's (FSH-09)."""
    for policy in queue_sets(instance):
        if queue in policy.queues:
            tree = order.trees[policy.master]
            _enter(tree, (job for job in instance.pending if job.queue in policy.queues))
            levels = share_levels(tree, now, recursive=recursive)
            return tuple(
                ShareLevel(queue + level.path.removeprefix(policy.master), level.rows)
                for level in levels
            )
    return ()


def partition_views(
    instance: Instance, order: DispatchOrder, now: int, *, recursive: bool = False
) -> tuple[PartitionView, ...]:
    """Every host partition, in the order of configuration."""
    sharing = {queue for policy in queue_sets(instance) for queue in policy.queues}
    waiting = [job for job in instance.pending if job.queue not in sharing]
    for partition in instance.partitions:
        _enter(order.trees[partition.name], waiting)
    return tuple(
        PartitionView(
            partition.name,
            partition_hosts(instance.cluster, partition),
            share_levels(order.trees[partition.name], now, recursive=recursive),
        )
        for partition in instance.partitions
    )


def _enter(tree: ShareTree, waiting: Iterable[Job]) -> None:
    """Users whose jobs only wait have an account too where `default` gives them one."""
    for job in waiting:
        tree.accounts(job.user, job.group)


def group_views(instance: Instance) -> tuple[GroupView, ...]:
    """Every user group with the shares it divides, whether a policy uses it or not."""
    names = {group.name for group in instance.groups}
    return tuple(_group_view(group, names) for group in instance.groups)


def _group_view(group: UserGroup, names: set[str]) -> GroupView:
    users = tuple(f"{member}/" if member in names else member for member in group.members)
    return GroupView(group.name, users, group.user_shares)
