"""Host partitions and user groups in the words and columns of LSF (VEW-04, VEW-05)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING

from ..solver.fairshare.reports import ShareLevel, group_views, partition_views
from .plain_tables import csv_rows, json_records, plain_table
from .view_options import ViewOptions

if TYPE_CHECKING:
    from ..solver.loop.snapshot import Snapshot

SHARE_COLUMNS = ("USER/GROUP", "SHARES", "PRIORITY", "STARTED", "RESERVED", "CPU_TIME", "RUN_TIME")


def bhpart(moment: Snapshot, asked: ViewOptions, format: str) -> str:
    """Host partitions with their share accounts."""
    instance = moment.instance
    found = partition_views(instance, moment.order, instance.now, recursive=asked.recursive)
    views = [view for view in found if asked.wants(view.name)]
    if format == "json":
        return json_records(asdict(view) for view in views)
    if format == "csv":
        return share_csv(level for view in views for level in view.levels)
    if not views:
        return "No host partition is configured.\n"
    blocks = []
    for view in views:
        head = f"HOST_PARTITION_NAME: {view.name}\nHOSTS: {' '.join(view.hosts)}\n"
        blocks.append(head + "".join("\n" + share_table(level) for level in view.levels))
    return "\n".join(blocks)


def bugroup(moment: Snapshot, asked: ViewOptions, format: str) -> str:
    """User groups with their members, and shares where asked for."""
    views = [view for view in group_views(moment.instance) if asked.wants(view.name)]
    if format == "json":
        return json_records(asdict(view) for view in views)
    if format == "csv":
        rows = [(view.name, " ".join(view.users), shares_text(view.shares)) for view in views]
        return csv_rows(("group", "users", "shares"), rows)
    if not views:
        return "No user group is configured.\n"
    if not asked.long:
        members = [(view.name, " ".join(view.users)) for view in views]
        return plain_table(("GROUP_NAME", "USERS"), members, "<<")
    return "\n".join(
        f"GROUP_NAME: {view.name}\nUSERS:  {' '.join(view.users)}\n"
        f"SHARES: {shares_text(view.shares, ',') or '-'}\n"
        for view in views
    )


def share_table(level: ShareLevel, *, adjust: bool = False) -> str:
    """SHARE_INFO_FOR and the accounts below it; adjust: with what the plug-in says."""
    columns = (*SHARE_COLUMNS, "ADJUST") if adjust else SHARE_COLUMNS
    rows = [
        (
            row.account,
            row.shares,
            f"{row.priority:.3f}",
            row.started,
            row.reserved,
            f"{row.cpu_time:.1f}",
            row.run_time,
            *([f"{row.adjust:.3f}"] if adjust else []),
        )
        for row in level.rows
    ]
    sides = "<" + ">" * len(columns[1:])
    return f"SHARE_INFO_FOR: {level.path}\n" + plain_table(columns, rows, sides)


def share_csv(levels: Iterable[ShareLevel]) -> str:
    """A line an account, with the level it is on."""
    rows = [(level.path, *asdict(row).values()) for level in levels for row in level.rows]
    columns = ("level", "account", *(name.lower() for name in SHARE_COLUMNS[1:]), "adjust")
    return csv_rows(columns, rows)


def shares_text(shares: Iterable[tuple[str, int]], comma: str = ", ") -> str:
    """``[user1, 100] [default, 1]``."""
    return " ".join(f"[{name}{comma}{number}]" for name, number in shares)
