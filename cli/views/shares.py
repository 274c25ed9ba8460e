"""Shares and usage of Slurm's associations: ``sshare``."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ..tables import csv_rows, json_records, text_table

if TYPE_CHECKING:
    from ...solver.scheduler.history import Snapshot
    from ..selection import ViewOptions

COLUMNS = ("Account", "User", "RawShares", "NormShares", "RawUsage", "EffectvUsage", "FairShare")
#: Column of -l: only Fair Tree has it.
LEVEL = "LevelFS"
NO_SHARES = (
    "No association is known: fairshare is no part of priorities, or the instance was made "
    "without sshare -a -l -P.\n"
)


def sshare(snapshot: Snapshot, asked: ViewOptions, format: str) -> str:
    """Return accounts and their users with shares and usage at the last computation."""
    use = snapshot.order.priorities.use
    if use is None:
        empty = {"json": json_records([]), "csv": csv_rows(list(map(str.lower, COLUMNS)), [])}
        return empty.get(format, NO_SHARES)
    use.advance(snapshot.instance.now)
    level = asked.long and use.rule.is_fair_tree
    columns = (*COLUMNS, *((LEVEL,) if level else ()))
    rows = []
    for number, (item, found) in enumerate(zip(use.tree.associations, use.shares(), strict=True)):
        if not (asked.wants(item.account) or asked.wants(item.user)):
            continue
        indent = "" if format != "text" else " " * (len(use.tree.chain(number)) - 1)
        shares = "parent" if item.shares is None else item.shares
        rows.append(
            {
                "Account": f"{indent}{item.account}",
                "User": item.user,
                "RawShares": None if use.tree.parent[number] is None else shares,
                "NormShares": _fraction(found.norm_shares),
                "RawUsage": int(use.usage[number]),
                "EffectvUsage": _fraction(found.effective_usage),
                "FairShare": _fraction(found.factor),
                **({LEVEL: _fraction(found.level)} if level else {}),
            }
        )
    if format == "json":
        return json_records({key.lower(): _number(value) for key, value in row.items()}
                            for row in rows)  # fmt: skip
    cells = [[row[name] for name in columns] for row in rows]
    if format == "csv":
        return csv_rows([column.lower() for column in columns], cells)
    return text_table(columns, cells, "<<" + ">" * (len(columns) - 2))


def _fraction(value: float | None) -> str | None:
    """Return six digits behind the point, ``inf`` for infinity."""
    if value is None:
        return None
    return "inf" if math.isinf(value) else f"{value:.6f}"


def _number(value: Any) -> Any:
    """Return a printed fraction as a number; infinity stays a text."""
    if isinstance(value, str) and value.count(".") == 1:
        return float(value)
    return value
