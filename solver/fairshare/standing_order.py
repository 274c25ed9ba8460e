"""Whether time alone may bring the jobs that wait into another order.

Dynamic priorities move from second to second. Where all jobs wait under one account there is
nothing to compare: among themselves they are first come, first served.
"""

from __future__ import annotations

from .dispatch_order import DispatchOrder


def moves_with_time(order: DispatchOrder) -> bool:
    """Whether the jobs that wait may come in another order later though nothing has happened.

    What pools and partitions leave hangs on more than priorities: there they always may.
    """
    owners = order.told.owners()
    if order.pools or order.partitions or len(owners) > 1:
        return True
    trees = order.trees.values()
    return any(len(tree.accounts(*owner)) > 1 for owner in owners for tree in trees)
