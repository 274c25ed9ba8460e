"""Accounts and pools that begin with what an instance says of the past (FSH-02, FSH-03, QBF-07).

What is stated holds at its stamp for finished and running jobs together; so what the instance's own
running jobs have booked by then is part of it and not counted twice. From there on it decays, and
the running jobs go on.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ...model.instance import Instance, ShareUsage
from .accounts import Account, ShareTree
from .ledger import Ledger
from .slot_pools import PoolUse


def stamps(instance: Instance) -> list[int]:
    """The times at which something is stated, in order (seconds)."""
    shares = {usage.stamp for usage in instance.share_usage}
    return sorted(shares | {usage.stamp for usage in instance.pool_usage})


def state(
    trees: Mapping[str, ShareTree],
    ledger: Ledger,
    pools: Mapping[str, PoolUse],
    instance: Instance,
    stamp: int,
) -> None:
    """Bring accounts and pools to what is stated for `stamp`.

    They must have come to that time: jobs started later are not booked yet.
    """
    for name, tree in trees.items():
        usages = [item for item in instance.share_usage if item.policy == name]
        now = [item for item in usages if item.stamp == stamp]
        if now:
            stated = {_account(tree, item) for item in usages}
            _settle(tree, {_account(tree, item): item for item in now}, stated, stamp)
            for item in now:
                if item.committed_run_time is not None:
                    ledger.commit(_account(tree, item), item.committed_run_time, stamp)
    for usage in instance.pool_usage:
        if usage.stamp == stamp:
            for use in pools.values():
                if usage.queue in use.accumulated:
                    use.set_accumulated(usage.queue, usage.slot_seconds, stamp)


def _account(tree: ShareTree, usage: ShareUsage) -> Account:
    return tree.account(tuple(usage.account.split("/")))


def _settle(
    tree: ShareTree, usages: dict[Account, ShareUsage], stated: Iterable[Account], now: int
) -> None:
    """Make each account what its usage says; a group without a statement moves with those below."""
    moved: dict[Account, tuple[float, float]] = {}
    for account in reversed(list(tree.root.walk())):
        if account in usages:
            moved[account] = _missing(tree, account, usages[account], now)
        elif account in stated:
            continue  # Its own statement is of another time, and includes those below it.
        else:
            below = [moved[child] for child in account.children.values() if child in moved]
            if not below:
                continue
            moved[account] = (sum(cpu for cpu, _ in below), sum(history for _, history in below))
        cpu, history = moved[account]
        tree.correct(account, now, cpu, history)


def _missing(tree: ShareTree, account: Account, usage: ShareUsage, now: int) -> tuple[float, float]:
    """CPU and historical run time that running jobs do not account for; negative: too much."""
    counted = tree.usage(account, now)
    history = usage.historical_run_time if tree.factors.hist_run_time else 0.0
    return usage.cpu_time - counted.cpu_time, history - counted.historical_run_time
