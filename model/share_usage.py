"""What share accounts and queues of slot pools have used before now (FSH-02, FSH-03, QBF-07).

An instance says it where its own running jobs do not tell the whole story: an account's priority
goes by what finished jobs used too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .errors import Problem, nearest
from .fairshare import queue_sets
from .instance import Instance
from .shares import Groups, ShareNode, share_tree


@dataclass(frozen=True, slots=True)
class _Policy:
    """A policy by name. master: the queue whose policy it is, "" for itself.

    nodes: its accounts by path, ``group/user``.
    """

    nodes: dict[str, ShareNode]
    master: str = ""


def usage_problems(instance: Instance) -> Iterator[Problem]:
    """Usage of policies, accounts and queues that there are not, given twice, or of the future.

    The share lists themselves must make sense.
    """
    groups = Groups(instance.groups)
    policies = _policies(instance, groups) if instance.share_usage else {}
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
            message = f"{usage.policy}/{usage.account} has its usage stated already"
            yield Problem(message, path=f"{place}.account")
        seen.add((usage.policy, usage.account))
        if wrong := _no_account(policy, usage.policy, usage.account):
            yield Problem(wrong, path=f"{place}.account")
    yield from _pool_problems(instance)


def usage_warnings(instance: Instance) -> Iterator[Problem]:
    """Usage that counts for nothing."""
    if instance.params.enable_hist_run_time:
        return
    for index, usage in enumerate(instance.share_usage):
        if usage.historical_run_time:
            yield Problem(
                "counts for nothing: ENABLE_HIST_RUN_TIME is not set",
                path=f"share_usage[{index}].historical_run_time",
            )
            return


def _pool_problems(instance: Instance) -> Iterator[Problem]:
    pooled = [queue.name for queue in instance.queues if queue.slot_pool]
    seen: set[str] = set()
    for index, usage in enumerate(instance.pool_usage):
        place = f"pool_usage[{index}]"
        if usage.queue not in pooled:
            message = f"no queue of a slot pool is called {usage.queue!r}"
            yield Problem(message + nearest(usage.queue, pooled), path=f"{place}.queue")
        if usage.queue in seen:
            message = f"queue {usage.queue} has its usage stated already"
            yield Problem(message, path=f"{place}.queue")
        seen.add(usage.queue)
        if usage.stamp > instance.now:
            yield Problem(_future(usage.stamp, instance.now), path=f"{place}.stamp")


def _future(stamp: int, now: int) -> str:
    return f"lies {stamp - now} s after the instance's now: past usage has been used"


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
        return f"queue {name} shares the policy of {master}: state the usage of {master}"
    hint = nearest(name, policies)
    return f"neither a fairshare queue nor a host partition is called {name!r}{hint}"


def _no_account(policy: _Policy, name: str, account: str) -> str:
    """Why a policy has no such account, "" if it has."""
    if account and account in policy.nodes:
        return ""
    above, _, last = account.rpartition("/")
    node = policy.nodes.get(above)
    if node is not None and node.default is not None and last and node.serves(last):
        return ""  # The account that ``default`` gives a user as he comes.
    known = [path for path in policy.nodes if path]
    return f"{name} has no share account {account!r}{nearest(account, known)}"
