"""Fairshare policies of an instance and the rules they must keep (FSH-07 … FSH-13, QBF-01)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .cluster import Cluster
from .errors import Problem, nearest
from .instance import Instance
from .job import Job
from .queue import Queue
from .shares import DEFAULT, EVERYONE, OTHERS, Assignments, Groups, ShareLookup, share_tree
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
class Pool:
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
    """Hosts that a list of hosts, groups, ``all`` and ``~`` exceptions stands for."""
    taken = {host for name in names if name[0] != "~" for host in cluster.expand(name) or ()}
    if all(name[0] == "~" for name in names):
        taken = {host.name for host in cluster.hosts}
    left = {host for name in names if name[0] == "~" for host in cluster.expand(name[1:]) or ()}
    return tuple(host.name for host in cluster.hosts if host.name in taken - left)


def pools(instance: Instance) -> tuple[Pool, ...]:
    """The pools of queues, in the order in which their first queue is configured."""
    members: dict[str, list[Queue]] = {}
    for queue in instance.queues:
        if queue.slot_pool:
            members.setdefault(queue.slot_pool, []).append(queue)
    return tuple(
        Pool(
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


def share_problems(instance: Instance) -> list[Problem]:
    """Everything about shares, groups, partitions and pools that the documents forbid.

    All problems are found, in the order: groups, queues, cross-queue sets, partitions, pools, jobs.
    """
    groups = Groups(instance.groups)
    found = [*_group_problems(instance, groups), *_queue_problems(instance, groups)]
    found += _set_problems(instance)
    found += _partition_problems(instance, groups)
    found += _pool_problems(instance)
    # Accounts can be looked up only where the lists themselves make sense.
    return found or list(_job_problems(instance, groups))


def share_warnings(instance: Instance) -> list[str]:
    """What is allowed but has no effect, or is advised against (FSH-09, QBF-01)."""
    found = []
    for queue in instance.queues:
        masters = [other.name for other in instance.queues if queue.name in other.fairshare_queues]
        if masters and queue.user_shares:
            found.append(
                f"queue {queue.name}: its own FAIRSHARE is ignored, "
                f"it inherits the one of {masters[0]}"
            )
        if queue.slot_pool and queue.slot_reserve is not None:
            found.append(
                f"queue {queue.name}: SLOT_RESERVE should not be used in slot pool "
                f"{queue.slot_pool}"
            )
    first: set[str] = set()
    for queue in instance.queues:
        later = queue.slot_pool in first
        if later and (queue.max_slots_in_pool is not None or queue.use_priority_in_pool):
            found.append(
                f"queue {queue.name}: MAX_SLOTS_IN_POOL and USE_PRIORITY_IN_POOL count only in "
                f"the first queue of slot pool {queue.slot_pool}"
            )
        if queue.slot_pool:
            first.add(queue.slot_pool)
    return found


def _assignment_problems(
    assignments: Assignments, groups: Groups, path: str, members: tuple[str, ...] | None
) -> Iterator[Problem]:
    """Rules of one USER_SHARES list; members: of the group it divides, None at the top."""
    seen: set[str] = set()
    for name, shares in assignments:
        if name in seen:
            yield Problem(f"'{name}' has two share assignments: keep one", path=path)
        seen.add(name)
        if shares < 1:
            yield Problem(
                f"'{name}' has {shares} shares: number_shares must be a positive integer", path=path
            )
        bare = name.removesuffix("@")
        if name != bare and bare not in groups:
            hint = nearest(bare, groups.by_name)
            yield Problem(f"'{name}' needs a user group '{bare}'{hint}", path=path)
        elif (
            members is not None
            and EVERYONE not in members
            and name not in (DEFAULT, OTHERS)
            and bare not in members
        ):
            yield Problem(
                f"'{bare}' is not a member of the group{nearest(bare, members)}", path=path
            )
    if DEFAULT in seen and OTHERS in seen:
        yield Problem(
            "'default' and 'others' both stand for the users who are left: keep one", path=path
        )


def _group_problems(instance: Instance, groups: Groups) -> Iterator[Problem]:
    defined: set[str] = set()
    for index, group in enumerate(instance.groups):
        path = f"user_groups[{index}]"
        if group.name in defined:
            yield Problem(f"user group '{group.name}' is defined twice", path=path)
        for member in group.members:
            if member in groups and member not in defined:
                yield Problem(
                    f"group '{member}' must be defined before '{group.name}', which has it "
                    "as a member",
                    path=f"{path}.members",
                )
        defined.add(group.name)
        yield from _assignment_problems(
            group.user_shares, groups, f"{path}.USER_SHARES", group.members
        )


def _queue_problems(instance: Instance, groups: Groups) -> Iterator[Problem]:
    for index, queue in enumerate(instance.queues):
        path = f"queues[{index}]"
        if queue.user_shares is not None:
            if not queue.user_shares:
                yield Problem(
                    f"FAIRSHARE of queue {queue.name} needs at least one share assignment",
                    path=f"{path}.FAIRSHARE",
                )
            yield from _assignment_problems(queue.user_shares, groups, f"{path}.FAIRSHARE", None)
            if instance.partitions:
                yield Problem(
                    f"queue {queue.name} has FAIRSHARE and host partition "
                    f"{instance.partitions[0].name} is defined: a cluster uses either "
                    "queue-level or host-partition fairshare",
                    path=f"{path}.FAIRSHARE",
                )
        if queue.dispatch_order and queue.dispatch_order.upper() != "QUEUE":
            yield Problem(
                f"DISPATCH_ORDER={queue.dispatch_order} is unknown: it is QUEUE or left out",
                path=f"{path}.DISPATCH_ORDER",
            )


def _set_problems(instance: Instance) -> Iterator[Problem]:
    """Cross-queue sets: membership, masters and the priority range (FSH-09)."""
    by_name = {queue.name: queue for queue in instance.queues}
    set_of: dict[str, str] = {}
    for index, master in enumerate(instance.queues):
        if not master.fairshare_queues:
            continue
        path = f"queues[{index}].FAIRSHARE_QUEUES"
        if not master.user_shares:
            yield Problem(
                f"queue {master.name} has FAIRSHARE_QUEUES but no FAIRSHARE: "
                "the master queue defines the shares",
                path=path,
            )
        for name in (master.name, *master.fairshare_queues):
            if name not in by_name:
                yield Problem(f"unknown queue '{name}'{nearest(name, by_name)}", path=path)
            elif name in set_of:
                yield Problem(
                    f"queue {name} is in the cross-queue set of {set_of[name]} already: "
                    "a queue belongs to one set",
                    path=path,
                )
            else:
                set_of[name] = master.name
        if not master.dispatch_order:
            yield from _range_problems(instance, master, path)


def _range_problems(instance: Instance, master: Queue, path: str) -> Iterator[Problem]:
    members = {master.name, *master.fairshare_queues}
    priorities = [queue.priority for queue in instance.queues if queue.name in members]
    low, high = min(priorities), max(priorities)
    for queue in instance.queues:
        if queue.name not in members and low <= queue.priority <= high:
            yield Problem(
                f"priority {queue.priority} of queue {queue.name} falls inside {low}-{high}, the "
                f"range of the cross-queue set of {master.name}: move it outside or set "
                "DISPATCH_ORDER=QUEUE",
                path=path,
            )


def _partition_problems(instance: Instance, groups: Groups) -> Iterator[Problem]:
    owner: dict[str, str] = {}
    for index, partition in enumerate(instance.partitions):
        path = f"host_partitions[{index}]"
        if not partition.user_shares:
            yield Problem(
                f"host partition {partition.name} needs at least one share assignment",
                path=f"{path}.USER_SHARES",
            )
        yield from _assignment_problems(partition.user_shares, groups, f"{path}.USER_SHARES", None)
        for name in partition.hosts:
            if instance.cluster.expand(name.removeprefix("~")) is None:
                known = [host.name for host in instance.cluster.hosts]
                known += [group.name for group in instance.cluster.groups]
                hint = nearest(name.removeprefix("~"), known)
                yield Problem(f"unknown host or host group '{name}'{hint}", path=f"{path}.HOSTS")
        for host in partition_hosts(instance.cluster, partition):
            if host in owner:
                yield Problem(
                    f"host {host} is in partition {owner[host]} already: "
                    "a host belongs to one partition",
                    path=f"{path}.HOSTS",
                )
            owner.setdefault(host, partition.name)
    for pool in pools(instance):
        for host in pool.hosts:
            if host in owner:
                yield Problem(
                    f"host {host} of slot pool {pool.name} is in host partition {owner[host]}: "
                    "hosts of queue-based fairshare belong to none",
                    path="host_partitions",
                )


def _pool_problems(instance: Instance) -> Iterator[Problem]:
    for index, queue in enumerate(instance.queues):
        path = f"queues[{index}]"
        if queue.slot_share is not None and not 0 < queue.slot_share <= 100:
            yield Problem(
                f"SLOT_SHARE {queue.slot_share:g} of queue {queue.name} must be above 0 and at "
                "most 100",
                path=f"{path}.SLOT_SHARE",
            )
        if bool(queue.slot_pool) != (queue.slot_share is not None):
            missing = "SLOT_SHARE" if queue.slot_pool else "SLOT_POOL"
            yield Problem(
                f"queue {queue.name} needs {missing} too: queue-based fairshare takes both",
                path=path,
            )
        if len(queue.slot_pool.split()) > 1:
            yield Problem(
                f"queue {queue.name} names the pools {queue.slot_pool}: a queue belongs to one",
                path=f"{path}.SLOT_POOL",
            )
        if queue.slot_pool:
            yield from _pool_member_problems(instance, queue, path)
    for pool in pools(instance):
        for index, queue in enumerate(instance.queues):
            if queue.name not in pool.queues:
                continue
            if queue_hosts(instance.cluster, queue) != pool.hosts:
                yield Problem(
                    f"queue {queue.name} uses other hosts than the first queue of slot pool "
                    f"{pool.name}: all queues of a pool have the same hosts",
                    path=f"queues[{index}].HOSTS",
                )
        for host in instance.cluster.hosts:
            if host.name in pool.hosts and not _has_slot_limit(instance, host.name):
                yield Problem(
                    f"host {host.name} of slot pool {pool.name} has no slot limit: "
                    "set MXJ, or SLOTS in a Limit section",
                    path="queues",
                )


def _pool_member_problems(instance: Instance, queue: Queue, path: str) -> Iterator[Problem]:
    preempted = any(queue.name in (other.preemptive or ()) for other in instance.queues)
    if queue.preemptive is not None or queue.preemptable is not None or preempted:
        yield Problem(
            f"queue {queue.name} of slot pool {queue.slot_pool} cannot be preemptive or "
            "preemptable",
            path=path,
        )
    listed = any(queue.name in other.fairshare_queues for other in instance.queues)
    if queue.fairshare_queues or listed:
        yield Problem(
            f"queue {queue.name} of slot pool {queue.slot_pool} cannot take part in cross-queue "
            "fairshare",
            path=f"{path}.SLOT_POOL",
        )


def _has_slot_limit(instance: Instance, host: str) -> bool:
    """Whether MXJ or a Limit section bounds the slots of a host."""
    if any(item.name == host and item.mxj_defined for item in instance.cluster.hosts):
        return True
    return any(
        limit.hosts is not None
        and ("slots" in limit.amounts or limit.slots_per_processor is not None)
        and host in expand_hosts(instance.cluster, limit.hosts.names)
        and host not in limit.hosts.excluded
        for limit in instance.limits
    )


def _job_problems(instance: Instance, groups: Groups) -> Iterator[Problem]:
    """Jobs whose user has no share, or whose -G is not allowed (FSH-07, FSH-13)."""
    lookups = {
        name: (policy.master, ShareLookup(share_tree(policy.master, policy.shares, groups)))
        for policy in queue_sets(instance)
        for name in policy.queues
    }
    checked: set[tuple[str, str, str]] = set()
    for path, job in _jobs(instance):
        key = (job.queue, job.user, job.group)
        if key in checked:
            continue
        checked.add(key)
        wrong = _group_choice_problem(job, groups)
        if not wrong and job.queue in lookups:
            master, lookup = lookups[job.queue]
            if not lookup.accounts(job.user, job.group):
                whose = f"group {job.group}" if job.group else job.user
                wrong = (
                    f"{whose} has no share in the fairshare policy of queue {master}: "
                    f"add [{job.group or job.user}, number_shares]"
                )
        if wrong:
            yield Problem(wrong, path=path)


def _jobs(instance: Instance) -> Iterator[tuple[str, Job]]:
    """Every job with its path."""
    for index, running in enumerate(instance.running):
        yield f"running[{index}]", running.job
    for section, jobs in (("pending", instance.pending), ("future", instance.future)):
        for index, job in enumerate(jobs):
            yield f"{section}[{index}]", job


def _group_choice_problem(job: Job, groups: Groups) -> str:
    """What is wrong with ``bsub -G``, "" if nothing; unchecked where no groups are defined."""
    if not job.group or not groups.by_name:
        return ""
    if job.group not in groups:
        return f"unknown user group '{job.group}'{nearest(job.group, groups.by_name)}"
    if not groups.contains_user(job.group, job.user):
        return f"user {job.user} is not a member of group {job.group} that -G names"
    if groups.subgroups(job.group):
        inner = ", ".join(groups.subgroups(job.group))
        return f"-G {job.group} has subgroups ({inner}): name one that has none"
    return ""
