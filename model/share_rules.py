"""Rules of shares, groups, partitions, pools and priorities (FSH-01 … FSH-13, QBF-01).

Past use of share accounts and of queues in slot pools (FSH-02, FSH-03, QBF-07). An instance gives
it because running jobs alone do not determine it: the priority of an account depends on use by
finished jobs too.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import entry_points
from itertools import islice

from .absolute_rules import absolute_problems, absolute_warnings
from .cluster import NamedHosts
from .configuration import Queue
from .errors import Problem, nearest
from .input_limits import limits, too_many
from .instance import Instance
from .job import Job
from .shares import (
    DEFAULT,
    EVERYONE,
    OTHERS,
    Assignments,
    Groups,
    ShareLookup,
    ShareNode,
    expand_hosts,
    partition_hosts,
    pools,
    queue_host_names,
    queue_hosts,
    queue_sets,
    share_tree,
)


@dataclass(frozen=True, slots=True)
class _Policy:
    """A fairshare policy, found by its name."""

    #: Share accounts by path, ``group/user``.
    nodes: dict[str, ShareNode]
    #: Queue that defines the policy, "" if it is this one.
    master: str = ""


def usage_problems(instance: Instance) -> Iterator[Problem]:
    """Yield usage of unknown policies, accounts and queues, duplicates, and usage of the future.

    The share lists themselves must be valid.
    """
    policies = _policies(instance, Groups(instance.groups)) if instance.share_usage else {}
    seen: set[tuple[str, str]] = set()
    for index, usage in enumerate(instance.share_usage):
        place = f"share_usage[{index}]"
        policy = policies.get(usage.policy)
        if usage.stamp > instance.now:
            yield Problem(_future(usage.stamp, instance.now), path=f"{place}.stamp")
        if policy is None or policy.master:
            yield Problem(_no_policy(usage.policy, policies), path=f"{place}.policy")
            continue
        if (usage.policy, usage.account) in seen:
            message = f"{usage.policy}/{usage.account} is given twice: remove one entry"
            yield Problem(message, path=f"{place}.account")
        seen.add((usage.policy, usage.account))
        if wrong := _no_account(policy, usage.policy, usage.account):
            yield Problem(wrong, path=f"{place}.account")
    yield from _pool_usage_problems(instance)


def usage_warnings(instance: Instance) -> Iterator[Problem]:
    """Yield usage that has no effect."""
    if instance.params.enable_hist_run_time:
        return
    for index, usage in enumerate(instance.share_usage):
        if usage.historical_run_time:
            yield Problem(
                "has no effect: set ENABLE_HIST_RUN_TIME=Y or remove it",
                path=f"share_usage[{index}].historical_run_time",
            )
            return


def _pool_usage_problems(instance: Instance) -> Iterator[Problem]:
    pooled = [queue.name for queue in instance.queues if queue.slot_pool]
    seen: set[str] = set()
    for index, usage in enumerate(instance.pool_usage):
        place = f"pool_usage[{index}]"
        if usage.queue not in pooled:
            message = f"queue {usage.queue!r} is in no slot pool"
            yield Problem(message + nearest(usage.queue, pooled), path=f"{place}.queue")
        if usage.queue in seen:
            message = f"queue {usage.queue} is given twice: remove one entry"
            yield Problem(message, path=f"{place}.queue")
        seen.add(usage.queue)
        if usage.stamp > instance.now:
            yield Problem(_future(usage.stamp, instance.now), path=f"{place}.stamp")


def _future(stamp: int, now: int) -> str:
    return f"lies {stamp - now} s after the instance's now: past usage cannot be in the future"


def _policies(instance: Instance, groups: Groups) -> dict[str, _Policy]:
    found: dict[str, _Policy] = {}
    for item in queue_sets(instance):
        nodes = dict(_nodes(share_tree(item.master, item.shares, groups)))
        for queue in item.queues:
            found[queue] = _Policy(nodes, "" if queue == item.master else item.master)
    for partition in instance.partitions:
        tree = share_tree(partition.name, partition.user_shares, groups)
        found[partition.name] = _Policy(dict(_nodes(tree)))
    return found


def _nodes(node: ShareNode, path: str = "") -> Iterator[tuple[str, ShareNode]]:
    yield path, node
    for child in node.children:
        yield from _nodes(child, f"{path}/{child.name}" if path else child.name)


def _no_policy(name: str, policies: dict[str, _Policy]) -> str:
    if name in policies:
        master = policies[name].master
        return f"queue {name} shares the policy of {master}: give the usage of {master}"
    hint = nearest(name, policies)
    return f"unknown fairshare queue or host partition {name!r}{hint}"


def _no_account(policy: _Policy, name: str, account: str) -> str:
    """Return why a policy has no such account, "" if it has."""
    if account and account in policy.nodes:
        return ""
    above, _, last = account.rpartition("/")
    node = policy.nodes.get(above)
    if node is not None and node.default is not None and last and node.serves(last):
        return ""  # An account that ``default`` creates for a user on submission.
    known = [path for path in policy.nodes if path]
    return f"{name} has no share account {account!r}{nearest(account, known)}"


#: Entry-point group of installed fairshare adjustments.
ADJUSTMENTS = "slotwise.fairshare_adjustment"


#: Weights of the dynamic priority by their names in lsb.params, each with its maximum.
FACTORS = {
    "CPU_TIME_FACTOR": math.inf,
    "RUN_TIME_FACTOR": math.inf,
    "COMMITTED_RUN_TIME_FACTOR": 1.0,
    "RUN_JOB_FACTOR": math.inf,
    "FAIRSHARE_ADJUSTMENT_FACTOR": math.inf,
    "HIST_HOURS": math.inf,
}


#: Description of shares for each member of a group without a definition (a system or egroup group).
UNKNOWN_MEMBERS = "the members of '{}', which no input gives"
#: Size of a share account, in names.
_ACCOUNT = 5
#: Number of nested groups that take as much memory as one name.
_INNER = 8
#: Maximum depth of nested share trees.
_DEEPEST = 100


def share_problems(instance: Instance) -> list[Problem]:
    """Return all errors in shares, groups, partitions, pools and priorities.

    They are in the order: groups, queues, cross-queue sets, parameters, partitions, pools, jobs.
    Jobs are examined only if the share lists are valid.
    """
    if large := list(_size_problems(instance)):
        return large
    groups = Groups(instance.groups)
    lists = [*_group_problems(instance, groups), *_queue_problems(instance)]
    lists += _set_problems(instance)
    lists += absolute_problems(instance) if _has_absolute(instance) else ()
    found = [*lists, *_factor_problems(instance), *_partition_problems(instance)]
    found += _pool_problems(instance)
    found += association_problems(instance) if instance.associations else ()
    if lists:
        return found
    return [*found, *usage_problems(instance), *_job_problems(instance, groups)]


def share_warnings(instance: Instance) -> list[Problem]:
    """Return settings that have no effect or are advised against (FSH-02, FSH-09, QBF-01)."""
    found = [
        Problem(
            f"no input gives the members of '{name}': users without another share count as "
            f"members, unless others or default has a share{nearest(name[:-1], known)}",
            path=path,
        )
        for path, name, known in _unknown_groups(instance)
    ]
    found += [*_queue_warnings(instance), *_pool_warnings(instance), *_factor_warnings(instance)]
    found += absolute_warnings(instance) if _has_absolute(instance) else ()
    found += association_warnings(instance) if instance.associations else ()
    return [*found, *usage_warnings(instance)]


def _has_absolute(instance: Instance) -> bool:
    """Return whether absolute priority or growing priorities are configured."""
    return (
        instance.params.job_priority_over_time is not None
        or any(queue.aps_priority or queue.queue_group for queue in instance.queues)
        or any(job.aps for jobs in (instance.pending, instance.future) for job in jobs)
    )


def share_lists(instance: Instance) -> Iterator[tuple[str, Assignments]]:
    """Yield the shares of each queue and host partition, with their path."""
    for at, queue in enumerate(instance.queues):
        yield f"queues[{at}].FAIRSHARE", queue.user_shares or ()
    for at, partition in enumerate(instance.partitions):
        yield f"host_partitions[{at}].USER_SHARES", partition.user_shares or ()


def _unknown_groups(instance: Instance) -> Iterator[tuple[str, str, Collection[str]]]:
    """Yield path and name of every ``group@`` without known members, and the known groups."""
    known = {group.name for group in instance.groups if group.members}
    of_groups = (
        (f"user_groups[{at}].USER_SHARES", group.user_shares)
        for at, group in enumerate(instance.groups)
    )
    for path, assignments in (*share_lists(instance), *of_groups):
        for name, _ in assignments or ():
            if name.endswith("@") and name[:-1] not in known:
                yield path, name, known


def shares_of_nobody(instance: Instance) -> dict[str, frozenset[str] | None]:
    """Return each ``group@`` without known members with the queues that it divides; None: all."""
    found: dict[str, frozenset[str] | None] = {}
    for path, name, _ in _unknown_groups(instance):
        if not path.startswith("queues"):
            found[name] = None
            continue
        queue = instance.queues[int(path.split("[")[1].split("]")[0])]
        before = found.get(name, frozenset())
        if before is not None:
            found[name] = before.union((queue.name, *queue.fairshare_queues))
    return found


def _queue_warnings(instance: Instance) -> Iterator[Problem]:
    policies = {policy.master for policy in queue_sets(instance)}
    master_of: dict[str, str] = {}
    for queue in instance.queues:
        for name in queue.fairshare_queues if queue.aps_priority is None else queue.queue_group:
            master_of.setdefault(name, queue.name)
    for index, queue in enumerate(instance.queues):
        master = master_of.get(queue.name)
        if master is not None and queue.user_shares:
            yield Problem(
                f"queue {queue.name}: FAIRSHARE is ignored, FAIRSHARE of queue {master} applies",
                path=f"queues[{index}].FAIRSHARE",
            )
        if queue.dispatch_order and not queue.fairshare_queues:
            yield Problem(
                f"queue {queue.name}: DISPATCH_ORDER has no effect: set DISPATCH_ORDER in the "
                f"queue with FAIRSHARE_QUEUES",
                path=f"queues[{index}].DISPATCH_ORDER",
            )
        if queue.factors and queue.name not in policies:
            whose = "it has no FAIRSHARE"
            if master is not None:
                whose = f"its priorities are those of {master}"
            yield Problem(
                f"queue {queue.name}: {', '.join(queue.factors)} has no effect: {whose}",
                path=f"queues[{index}].{next(iter(queue.factors))}",
            )


def _pool_warnings(instance: Instance) -> Iterator[Problem]:
    first: set[str] = set()
    for index, queue in enumerate(instance.queues):
        if not queue.slot_pool:
            continue
        if queue.slot_reserve is not None:
            yield Problem(
                f"queue {queue.name} is in slot pool {queue.slot_pool}: remove SLOT_RESERVE",
                path=f"queues[{index}].SLOT_RESERVE",
            )
        own = queue.max_slots_in_pool is not None or queue.use_priority_in_pool
        if queue.slot_pool in first and own:
            yield Problem(
                f"queue {queue.name}: MAX_SLOTS_IN_POOL and USE_PRIORITY_IN_POOL apply only in "
                f"the first queue of slot pool {queue.slot_pool}",
                path=f"queues[{index}]",
            )
        first.add(queue.slot_pool)


def _factors(instance: Instance) -> Iterator[tuple[str, Mapping[str, float]]]:
    """Yield the weights that are set, with their path: of the cluster, then of each queue."""
    yield "params", {name: float(getattr(instance.params, name.lower())) for name in FACTORS}
    for index, queue in enumerate(instance.queues):
        yield f"queues[{index}]", queue.factors


def _factor_problems(instance: Instance) -> Iterator[Problem]:
    """Yield weights out of range, and an adjustment that is not installed (FSH-02, FSH-05)."""
    for section, weights in _factors(instance):
        for name, value in weights.items():
            most = FACTORS.get(name, math.inf)
            if not 0 <= value <= most:
                right = "be 0 or more" if most == math.inf else f"be between 0 and {most:g}"
                yield Problem(f"{name} must {right}, not {value:g}", path=f"{section}.{name}")
    name = instance.params.fairshare_adjustment
    if name and not entry_points(group=ADJUSTMENTS, name=name):
        yield Problem(unknown_adjustment(name), path="params.fairshare_adjustment")


def unknown_adjustment(name: str) -> str:
    """Return the message for an adjustment that is not installed, with the installed ones."""
    known = sorted(entry_points(group=ADJUSTMENTS).names)
    return (
        f"no fairshare adjustment '{name}' is installed{nearest(name, known)}: "
        f"known are {', '.join(known) or 'none'}"
    )


def _factor_warnings(instance: Instance) -> Iterator[Problem]:
    name = instance.params.fairshare_adjustment
    factors = list(_factors(instance))
    weighed = [section for section, own in factors if own.get("FAIRSHARE_ADJUSTMENT_FACTOR")]
    if weighed and not name:
        yield Problem(
            "FAIRSHARE_ADJUSTMENT_FACTOR has no effect: fairshare_adjustment names no plug-in",
            path=f"{weighed[0]}.FAIRSHARE_ADJUSTMENT_FACTOR",
        )
    if name and not weighed:
        yield Problem(
            f"adjustment '{name}' has no effect: FAIRSHARE_ADJUSTMENT_FACTOR is 0",
            path="params.fairshare_adjustment",
        )
    common = factors[0][1]
    for section, own in factors:
        weights = {**common, **own}
        rises = weights["COMMITTED_RUN_TIME_FACTOR"] > weights["RUN_TIME_FACTOR"]
        if rises and {"COMMITTED_RUN_TIME_FACTOR", "RUN_TIME_FACTOR"} & set(own):
            yield Problem(
                "COMMITTED_RUN_TIME_FACTOR is above RUN_TIME_FACTOR: priorities rise while jobs "
                "run; set RUN_TIME_FACTOR to at least this value",
                path=f"{section}.COMMITTED_RUN_TIME_FACTOR",
            )


def _assignment_problems(
    assignments: Assignments, path: str, members: tuple[str, ...] | None
) -> Iterator[Problem]:
    """Yield errors of one USER_SHARES list; members: of the group it divides, None at the top."""
    seen: set[str] = set()
    for name, shares in assignments:
        if name in seen:
            yield Problem(f"{name!r} has two share assignments: keep one", path=path)
        seen.add(name)
        if shares < 1:
            yield Problem(
                f"'{name}' has {shares} shares: number_shares must be a positive integer", path=path
            )
        bare = name.removesuffix("@")
        if (
            members is not None
            and EVERYONE not in members
            and name not in (DEFAULT, OTHERS)
            and bare not in members
        ):
            yield Problem(
                f"'{bare}' is not a member of the group{nearest(bare, members)}", path=path
            )
    if DEFAULT in seen and OTHERS in seen:
        yield Problem("'default' and 'others' both denote the remaining users: keep one", path=path)


def _sizes(instance: Instance) -> tuple[dict[str, int], dict[str, int], int | None]:
    """Return the number of members and of share accounts of each group, nested groups included.

    And the index of the first group at which the total is too large, None if there is none.
    """
    members: dict[str, int] = {}
    accounts: dict[str, int] = {}
    inner: dict[str, int] = {}
    total = groups = 0
    for index, group in enumerate(instance.groups):
        within = [item.removeprefix("~") for item in group.members]
        members[group.name] = sum(members.get(item, 1) for item in within)
        inner[group.name] = 1 + sum(inner.get(item, 0) for item in within)
        accounts[group.name] = 1 + _accounts(group.user_shares, group.members, members, accounts)
        total += members[group.name]
        groups += inner[group.name]
        if max(total, accounts[group.name], groups // _INNER) > limits().names:
            return members, accounts, index
    return members, accounts, None


def _accounts(
    assignments: Assignments,
    divided: Iterable[str],
    members: Mapping[str, int],
    accounts: Mapping[str, int],
) -> int:
    """Return the maximum number of share accounts that a list makes of the members it divides."""
    found = 0
    named = {name.removesuffix("@") for name, _ in assignments}
    for name, _ in assignments:
        if name == DEFAULT:
            found += sum(accounts.get(item, 1) for item in divided if item not in named)
        elif name.endswith("@"):
            found += members.get(name[:-1], 1)
        else:
            found += accounts.get(name, 1)
    return found


def _size_problems(instance: Instance) -> Iterator[Problem]:
    """Yield groups and share trees that would fill memory, counted before they are built."""
    members, accounts, large = _sizes(instance)
    if large is not None:
        message = too_many("members in groups within groups", "names")
        yield Problem(message, path=f"user_groups[{large}].members")
        return
    total = 0
    for path, assignments in share_lists(instance):
        total += _accounts(assignments, (), members, accounts)
        if len(assignments) > 1:  # Members with a share of their own are stored in addition.
            total += sum(members.get(n.removesuffix("@"), 0) for n, _ in assignments) // _ACCOUNT
        if total * _ACCOUNT > limits().names:
            what = f"names, with {_ACCOUNT} for each share account of all policies"
            yield Problem(too_many(what, "names"), path=path)
            return


def _group_problems(instance: Instance, groups: Groups) -> Iterator[Problem]:
    defined: set[str] = set()
    levels: dict[str, int] = {}
    looked = 0
    for index, group in enumerate(instance.groups):
        path = f"user_groups[{index}]"
        if group.user_shares:
            below = [levels.get(member, 0) for member in group.members]
            levels[group.name] = 1 + max(below, default=0)
            if levels[group.name] == _DEEPEST + 1:
                message = f"share trees are nested more than {_DEEPEST} levels deep: use fewer"
                yield Problem(message, path=f"{path}.USER_SHARES")
        if group.name in defined:
            message = f"user group '{group.name}' is defined twice: define each group once"
            yield Problem(message, path=path)
        for member in group.members:
            if member in groups and member not in defined:
                message = (
                    f"group '{member}' must be defined before '{group.name}', which has it "
                    "as a member"
                )
                looked += 1
                if looked <= limits().errors and group.name in groups.within(member):
                    message = f"user groups contain each other: '{group.name}' and '{member}'"
                yield Problem(message, path=f"{path}.members", undefined=True)
        defined.add(group.name)
        yield from _assignment_problems(group.user_shares, f"{path}.USER_SHARES", group.members)


def _queue_problems(instance: Instance) -> Iterator[Problem]:
    for index, queue in enumerate(instance.queues):
        path = f"queues[{index}]"
        if queue.user_shares is not None:
            if not queue.user_shares:
                yield Problem(
                    f"FAIRSHARE of queue {queue.name} needs a share assignment such as [default,1]",
                    path=f"{path}.FAIRSHARE",
                )
            yield from _assignment_problems(queue.user_shares, f"{path}.FAIRSHARE", None)
            if instance.partitions:
                yield Problem(
                    f"queue {queue.name} has FAIRSHARE and host partition "
                    f"{instance.partitions[0].name} is defined: a cluster uses either "
                    "queue-level or host-partition fairshare",
                    path=f"{path}.FAIRSHARE",
                )
        if queue.dispatch_order and queue.dispatch_order.upper() != "QUEUE":
            yield Problem(
                f"DISPATCH_ORDER={queue.dispatch_order} is unknown: use QUEUE, or remove the key",
                path=f"{path}.DISPATCH_ORDER",
            )


def _set_problems(instance: Instance) -> Iterator[Problem]:
    """Yield errors of cross-queue sets: membership, masters and the priority range (FSH-09)."""
    by_name = {queue.name: queue for queue in instance.queues}
    set_of: dict[str, str] = {}
    told = 0
    for index, master in enumerate(instance.queues):
        if not master.fairshare_queues or master.aps_priority is not None:
            continue
        path = f"queues[{index}].FAIRSHARE_QUEUES"
        if not master.user_shares:
            yield Problem(
                f"queue {master.name} has FAIRSHARE_QUEUES: also set FAIRSHARE in the queue",
                path=path,
                undecided=True,
            )
        for name in filter(by_name.__contains__, (master.name, *master.fairshare_queues)):
            if name in set_of:
                yield Problem(
                    f"queue {name} is already in the cross-queue set of {set_of[name]}: "
                    "a queue belongs to one set",
                    path=path,
                )
            else:
                set_of[name] = master.name
        if not master.dispatch_order and told < limits().errors:
            inside = list(_range_problems(instance, master, path))
            told += len(inside)
            yield from inside


def _range_problems(instance: Instance, master: Queue, path: str) -> Iterator[Problem]:
    members = {master.name, *master.fairshare_queues}
    priorities = [queue.priority for queue in instance.queues if queue.name in members]
    low, high = min(priorities), max(priorities)
    inside = (q for q in instance.queues if low <= q.priority <= high and q.name not in members)
    for queue in islice(inside, limits().errors):
        yield Problem(
            f"priority {queue.priority} of queue {queue.name} falls inside {low}-{high}, the "
            f"range of the cross-queue set of {master.name}: move it outside or set "
            "DISPATCH_ORDER=QUEUE",
            path=path,
            undecided=True,
        )


def _partition_problems(instance: Instance) -> Iterator[Problem]:
    owner: dict[str, str] = {}
    known = NamedHosts(instance.cluster)
    for index, partition in enumerate(instance.partitions):
        path = f"host_partitions[{index}]"
        if not partition.user_shares:
            yield Problem(
                f"host partition {partition.name} needs a share assignment such as [default,1]",
                path=f"{path}.USER_SHARES",
            )
        yield from _assignment_problems(partition.user_shares, f"{path}.USER_SHARES", None)
        hosts = partition_hosts(known, partition)
        for host in islice(filter(owner.__contains__, hosts), limits().errors):
            yield Problem(
                f"host {host} is already in partition {owner[host]}: a host belongs to one "
                f"partition",
                path=f"{path}.HOSTS",
            )
        for host in hosts:
            owner.setdefault(host, partition.name)
    for pool in pools(instance) if owner and _named_in_pools(instance) <= limits().names else ():
        for host in islice(filter(owner.__contains__, pool.hosts), limits().errors):
            yield Problem(
                f"host {host} of slot pool {pool.name} is in host partition {owner[host]}: "
                "hosts of queue-based fairshare cannot be in a partition",
                path="host_partitions",
            )


def _named_in_pools(instance: Instance) -> int:
    """Return the number of hosts of all slot pools, with each different list of hosts counted."""
    pooled = [queue for queue in instance.queues if queue.slot_pool]
    if not pooled:
        return 0
    known = NamedHosts(instance.cluster)
    lists = {(queue.slot_pool, queue_host_names(queue)) for queue in pooled}
    names = (name for _, listed in lists for name in listed if name[0] != "~")
    return sum(len(known.expand(name) or ()) for name in names)


def _pool_problems(instance: Instance) -> Iterator[Problem]:
    members = _PoolMembers(instance)
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
                f"queue {queue.name} also needs {missing}: queue-based fairshare requires both",
                path=path,
            )
        if len(queue.slot_pool.split()) > 1:
            yield Problem(
                f"queue {queue.name} names the pools {queue.slot_pool}: a queue belongs to one",
                path=f"{path}.SLOT_POOL",
            )
        if queue.slot_pool:
            yield from members.problems(queue, path)
    yield from _pool_host_problems(instance)


def _pool_host_problems(instance: Instance) -> Iterator[Problem]:
    """Yield errors of slot pools: queues with different hosts, and hosts without a slot limit."""
    if _named_in_pools(instance) > limits().names:
        message = too_many("hosts in slot pools", "names")
        yield Problem(message, path="queues")
        return
    found = {pool.name: pool for pool in pools(instance)}
    known = NamedHosts(instance.cluster) if found else None
    for index, queue in enumerate(instance.queues):
        pool = found.get(queue.slot_pool)
        if known is None or pool is None:
            continue
        hosts = queue_hosts(known, queue)
        if hosts is not pool.hosts and hosts != pool.hosts:
            yield Problem(
                f"queue {queue.name} uses other hosts than the first queue of slot pool "
                f"{pool.name}: all queues of a pool have the same hosts",
                path=f"queues[{index}].HOSTS",
            )
    unbounded = _without_slot_limit(instance, known) if known else frozenset()
    for pool in found.values() if unbounded else ():
        for host in islice(filter(unbounded.__contains__, pool.hosts), limits().errors):
            yield Problem(
                f"host {host} of slot pool {pool.name} has no slot limit: "
                "set MXJ, or SLOTS in a Limit section",
                path="queues",
                undecided=True,
            )


class _PoolMembers:
    """Membership of queues in slot pools, and the features that are excluded by it."""

    def __init__(self, instance: Instance) -> None:
        queues = instance.queues
        self._preempted = {name for queue in queues for name in queue.preemptive or ()}
        self._listed = {name for queue in queues for name in queue.fairshare_queues}

    def problems(self, queue: Queue, path: str) -> Iterator[Problem]:
        """Yield errors of a queue in a slot pool."""
        preempted = queue.name in self._preempted
        if queue.preemptive is not None or queue.preemptable is not None or preempted:
            yield Problem(
                f"queue {queue.name} of slot pool {queue.slot_pool} cannot be preemptive or "
                "preemptable: remove it from PREEMPTION or from the pool",
                path=path,
            )
        if queue.fairshare_queues or queue.name in self._listed:
            yield Problem(
                f"queue {queue.name} of slot pool {queue.slot_pool} cannot take part in "
                "cross-queue fairshare: remove it from FAIRSHARE_QUEUES or from the pool",
                path=f"{path}.SLOT_POOL",
            )


def _without_slot_limit(instance: Instance, known: NamedHosts) -> frozenset[str]:
    """Return the hosts whose slots neither MXJ nor a Limit section bounds."""
    left = {host.name for host in instance.cluster.hosts if not host.mxj_defined}
    for limit in instance.limits:
        counts = "slots" in limit.amounts or limit.slots_per_processor is not None
        if left and limit.hosts is not None and counts:
            bounded = frozenset(expand_hosts(known, limit.hosts.names))
            left -= bounded.difference(limit.hosts.excluded)
    return frozenset(left)


def _job_problems(instance: Instance, groups: Groups) -> Iterator[Problem]:
    """Yield jobs whose user has no share, or whose -G is not allowed (FSH-07, FSH-13)."""
    policies = {name: policy for policy in queue_sets(instance) for name in policy.queues}
    lookups: dict[tuple[tuple[str, int], ...], ShareLookup] = {}
    checked: set[tuple[str, str, str]] = set()
    for path, job in _jobs(instance):
        key = (job.queue, job.user, job.group)
        if key in checked:
            continue
        checked.add(key)
        wrong = _group_choice_problem(job, groups)
        if not wrong and job.queue in policies:
            policy = policies[job.queue]
            if policy.shares not in lookups:
                tree = share_tree(policy.master, policy.shares, groups)
                lookups[policy.shares] = ShareLookup(tree)
            if not lookups[policy.shares].accounts(job.user, job.group):
                whose = f"group {job.group}" if job.group else job.user
                wrong = (
                    f"{whose} has no share in the fairshare policy of queue {policy.master}: "
                    f"add [{job.group or job.user}, number_shares]"
                )
        if wrong:
            yield Problem(wrong, path=path, undefined=bool(job.group) and job.group not in groups)


def _jobs(instance: Instance) -> Iterator[tuple[str, Job]]:
    """Yield every job with its path."""
    for index, running in enumerate(instance.running):
        yield f"running[{index}]", running.job
    for section, jobs in (("pending", instance.pending), ("future", instance.future)):
        for index, job in enumerate(jobs):
            yield f"{section}[{index}]", job


def _group_choice_problem(job: Job, groups: Groups) -> str:
    """Return the error of ``bsub -G``, "" if its user is a member, in any queue."""
    if not job.group:
        return ""
    if job.group not in groups:
        known = "" if groups.by_name else ": user_groups defines none"
        return f"unknown user group '{job.group}'{known}{nearest(job.group, groups.by_name)}"
    if not groups.contains_user(job.group, job.user):
        return f"user {job.user} is not a member of group {job.group} that -G names"
    if groups.subgroups(job.group):
        inner = ", ".join(groups.subgroups(job.group))
        return f"-G {job.group} has subgroups ({inner}): name one that has none"
    return ""


def association_problems(instance: Instance) -> Iterator[Problem]:
    """Yield duplicates, unknown accounts, accounts in a circle and accounts nested too deep."""
    items = instance.associations
    parents = {item.account: item.parent for item in items if not item.user}
    seen: set[tuple[str, str, str]] = set()
    for number, item in enumerate(items):
        place = f"associations[{number}]"
        key = item.account, item.user, item.partition
        if key in seen:
            yield Problem(f"{item.title} is given twice: remove one entry", path=f"{place}.account")
        seen.add(key)
        if item.user and item.account not in parents:
            known = nearest(item.account, parents)
            message = f"account {item.account!r} has no association of its own{known}: add one"
            yield Problem(message, path=f"{place}.account")
        if item.user:
            if item.parent:
                yield Problem(
                    f"applies to accounts only: remove {item.parent}", path=f"{place}.parent"
                )
            continue
        if item.parent and item.parent not in parents:
            message = f"unknown account {item.parent!r}{nearest(item.parent, parents)}"
            yield Problem(message, path=f"{place}.parent")
        elif (depth := _depth(item.account, parents)) is None:
            message = f"account {item.account} is its own ancestor: name another parent"
            yield Problem(message, path=f"{place}.parent")
        elif depth > _DEEPEST:
            message = (
                f"account {item.account} is nested more than {_DEEPEST} levels deep: use fewer"
            )
            yield Problem(message, path=f"{place}.parent")


def _depth(account: str, parents: dict[str, str]) -> int | None:
    """Return the number of accounts above an account, None if they are a circle."""
    depth = 0
    at = parents[account]
    while at in parents and depth <= _DEEPEST + 1:
        if at == account:
            return None
        at = parents[at]
        depth += 1
    return depth


def association_warnings(instance: Instance) -> Iterator[Problem]:
    """Yield associations that have no effect."""
    if instance.associations and not instance.params.scheduler.is_multifactor:
        yield Problem("have no effect without Slurm: remove the section", path="associations")
