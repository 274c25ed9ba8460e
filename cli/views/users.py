"""Users, their groups and their shares: ``busers``, ``bugroup`` and ``bhpart`` (VEW-04, VEW-05)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from ...model.instance import Instance
from ...solver.fairshare.reports import ShareLevel, group_views, partition_views
from ...solver.scheduler.history import Snapshot
from ..selection import ViewOptions
from ..tables import csv_rows, json_records, text_table, view_text

USER_COLUMNS = ("USER/GROUP", "JL/P", "MAX", "NJOBS", "PEND", "RUN", "SSUSP", "USUSP", "RSV")


def known_users(instance: Instance) -> list[str]:
    """Return users of jobs, of groups and of lsb.users limits, then the groups."""
    groups = [group.name for group in instance.groups]
    users = {job.user for job in instance.jobs}
    users |= {name for group in instance.groups for name in group.members if name != "all"}
    users |= {entry.name.rstrip("@") for entry in instance.users}
    return [*sorted(users - set(groups) - {"default"}), *groups]


def busers(snapshot: Snapshot, asked: ViewOptions, format: str) -> str:
    """Return users and user groups with their slot limits and the slots of their jobs."""
    rows, none = user_rows(snapshot, asked), "No user has a job.\n"
    return view_text(format, USER_COLUMNS, rows, "<" + ">" * 8, none, snapshot.instance)


def user_rows(snapshot: Snapshot, asked: ViewOptions) -> list[dict[str, Any]]:
    """Return a row for each requested user and group."""
    return [
        _user_row(snapshot, name) for name in known_users(snapshot.instance) if asked.wants(name)
    ]


def _user_row(snapshot: Snapshot, name: str) -> dict[str, Any]:
    """Return the slots of a user by state; all suspended jobs are one count."""
    instance = snapshot.instance
    who = members_of(instance, name)
    entry = next((item for item in instance.users if item.name.rstrip("@") == name), None)
    if entry is None and not any(group.name == name for group in instance.groups):
        entry = next((item for item in instance.users if item.name == "default"), None)
    own = [item for item in instance.running if item.job.user in who]
    waiting = [job for job in instance.pending if job.user in who]
    reserved = sum(sum(snapshot.holds(job.id).values()) for job in waiting)
    pending = sum(job.slots for job in waiting) - reserved
    run = sum(item.slots for item in own if not item.suspended)
    suspended = sum(item.slots for item in own if item.suspended)
    return {
        "USER/GROUP": name,
        "JL/P": None if entry is None else entry.processor_slots,
        "MAX": None if entry is None else entry.max_slots,
        "NJOBS": pending + run + suspended + reserved,
        "PEND": pending,
        "RUN": run,
        "SSUSP": 0,
        "USUSP": suspended,
        "RSV": reserved,
    }


def members_of(instance: Instance, name: str) -> frozenset[str]:
    """Return the users that a user or group name denotes."""
    groups = {group.name: group for group in instance.groups}
    reached: set[str] = set()
    waiting = [name]
    while waiting:
        at = waiting.pop()
        if at not in reached:
            reached.add(at)
            waiting += groups[at].members if at in groups else ()
    if "all" in reached:
        reached |= {item.job.user for item in instance.running}
        reached |= {job.user for job in (*instance.pending, *instance.future)}
    return frozenset(reached)


SHARE_COLUMNS = ("USER/GROUP", "SHARES", "PRIORITY", "STARTED", "RESERVED", "CPU_TIME", "RUN_TIME")


def bhpart(snapshot: Snapshot, asked: ViewOptions, format: str) -> str:
    """Return host partitions with their share accounts."""
    instance = snapshot.instance
    found = partition_views(instance, snapshot.order, instance.now, recursive=asked.recursive)
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


def bugroup(snapshot: Snapshot, asked: ViewOptions, format: str) -> str:
    """Return user groups with their members, and with shares if requested."""
    views = [view for view in group_views(snapshot.instance) if asked.wants(view.name)]
    if format == "json":
        return json_records(asdict(view) for view in views)
    if format == "csv":
        rows = [(view.name, " ".join(view.users), shares_text(view.shares)) for view in views]
        return csv_rows(("group", "users", "shares"), rows)
    if not views:
        return "No user group is configured.\n"
    if not asked.long:
        members = [(view.name, " ".join(view.users)) for view in views]
        return text_table(("GROUP_NAME", "USERS"), members, "<<")
    return "\n".join(
        f"GROUP_NAME: {view.name}\nUSERS:  {' '.join(view.users)}\n"
        f"SHARES: {shares_text(view.shares, ',') or '-'}\n"
        for view in views
    )


def share_table(level: ShareLevel, *, adjust: bool = False) -> str:
    """Return SHARE_INFO_FOR and the accounts below; adjust: with the plug-in's factors."""
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
    return f"SHARE_INFO_FOR: {level.path}\n" + text_table(columns, rows, sides)


def share_csv(levels: Iterable[ShareLevel]) -> str:
    """Return a CSV line for each account, with the level of the account."""
    rows = [(level.path, *asdict(row).values()) for level in levels for row in level.rows]
    columns = ("level", "account", *(name.lower() for name in SHARE_COLUMNS[1:]), "adjust")
    return csv_rows(columns, rows)


def shares_text(shares: Iterable[tuple[str, int]], comma: str = ", ") -> str:
    """Return shares as ``[user1, 100] [default, 1]``."""
    return " ".join(f"[{name}{comma}{number}]" for name, number in shares)
