"""When time alone brings the jobs that wait into another order.

Dynamic priorities move from second to second, but what counts is who comes before whom: as long as
the accounts of every level of a share tree stand in one order, the walk through the jobs is the
same. Where all jobs wait under one account there is nothing to compare: among themselves they are
first come, first served.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from .accounts import Account, ShareTree
from .dispatch_order import DispatchOrder

#: Accounts of one level of a share tree with waiting jobs below them.
Level = tuple[ShareTree, tuple[Account, ...]]


def next_reordering(order: DispatchOrder, now: int, step: int, before: int) -> int | None:
    """The first of `now` + step, `now` + 2 step, … before some time with another order than `now`.

    Nothing happens meanwhile. None where the order stays. What pools and partitions leave hangs on
    more than priorities: there the order may be another at once.
    """
    times = range(now + step, before, step)
    if not times or order.pools or order.partitions:
        return next(iter(times), None)
    standing = [_standing(tree, level, now) for tree, level in _levels(order)]
    moved = (time for time in times if not all(_stands(*one, time) for one in standing))
    return next(moved, None) if standing else None


def _levels(order: DispatchOrder) -> Iterator[Level]:
    """The levels at which jobs that wait compete, whatever their queues."""
    owners = order.told.owners()
    for tree in order.trees.values():
        below: dict[Account, dict[Account, None]] = {}
        for owner in owners:
            for account in tree.accounts(*owner):
                for child, parent in pairwise(account.chain()):
                    below.setdefault(parent, {})[child] = None
        yield from ((tree, tuple(level)) for level in below.values() if len(level) > 1)


#: The accounts of a level in order, and whether each is level with the one before it.
Standing = tuple[ShareTree, list[Account], list[bool]]


def _standing(tree: ShareTree, level: tuple[Account, ...], now: int) -> Standing:
    keys = {account: tree.key(account, now) for account in level}
    ranked = sorted(level, key=keys.__getitem__)
    return tree, ranked, [keys[one] == keys[other] for one, other in pairwise(ranked)]


def _stands(tree: ShareTree, ranked: list[Account], level: list[bool], time: int) -> bool:
    """Whether the accounts are in that order at a time."""
    keys = [tree.key(account, time) for account in ranked]
    return all(
        one == other if even else one < other
        for (one, other), even in zip(pairwise(keys), level, strict=True)
    )
