"""Priorities and shares over time, ready to plot: one row an account and cycle (VEW-04)."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from typing import Any

from .dispatch_order import DispatchOrder
from .dispatch_policy import DispatchPolicy, FirstCome
from .stages import account_path


@dataclass(frozen=True, slots=True)
class SharePoint:
    """One account, or one queue of a slot pool, at one time.

    time: seconds. policy: queue, partition or pool. account: ``policy/group/user``.
    priority: dynamic priority; for a queue of a pool, accumulated slot-seconds for each percent of
    its share (there the least goes first). slots: in use. share: of the policy's slots in use,
    0 when none is. target: what shares alone would give it among its siblings, times the target
    of the group above.
    """

    time: int
    policy: str
    account: str
    priority: float
    slots: int
    share: float
    target: float


class ShareSeries:
    """Collects points; give it the order once a cycle.

    depth: levels of the share trees to look at, None for all.
    """

    def __init__(self, depth: int | None = None) -> None:
        self.depth = depth
        self.points: list[SharePoint] = []

    def record(self, order: DispatchPolicy, now: int) -> None:
        """Add the state at `now` (seconds); nothing where first come, first served is all."""
        if isinstance(order, FirstCome):
            return
        self.points.extend(self._accounts(order, now))
        self.points.extend(_pool_points(order, now))

    def _accounts(self, order: DispatchOrder, now: int) -> Iterator[SharePoint]:
        for tree in order.trees.values():
            total = tree.root.slots
            targets = {tree.root: 1.0}
            for account in tree.root.walk():
                siblings = sum(child.shares for child in account.children.values())
                for child in account.children.values():
                    targets[child] = targets[account] * child.shares / siblings
                depth = len(account.path)
                if depth and (self.depth is None or depth <= self.depth):
                    yield SharePoint(
                        now,
                        tree.name,
                        account_path(tree, account),
                        tree.priority(account, now),
                        account.slots,
                        account.slots / total if total else 0.0,
                        targets[account],
                    )

    def records(self) -> list[dict[str, Any]]:
        """One record a point, numbers to six decimals."""
        return [
            {name: round(v, 6) if isinstance(v, float) else v for name, v in asdict(point).items()}
            for point in self.points
        ]

    def to_csv(self) -> str:
        """Header and one line a point."""
        text = io.StringIO()
        columns = [field.name for field in fields(SharePoint)]
        writer = csv.DictWriter(text, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(self.records())
        return text.getvalue()


def _pool_points(order: DispatchOrder, now: int) -> Iterator[SharePoint]:
    for name, use in order.pools.items():
        total = sum(use.in_use.values())
        shares = sum(use.pool.shares)
        for queue, share in zip(use.pool.queues, use.pool.shares, strict=True):
            yield SharePoint(
                now,
                name,
                f"{name}/{queue}",
                use.weight(queue, now),
                use.in_use[queue],
                use.in_use[queue] / total if total else 0.0,
                share / shares,
            )
