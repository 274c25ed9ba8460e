"""Partitions, queues and user groups in the words and columns of LSF (VEW-03 … VEW-05)."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from ..model.cluster import BUILTIN_INDICES
from ..model.fairshare import QueueSet, queue_sets
from ..solver.loop.order import order_policy
from ..solver.loop.share_report import (
    ShareLevel,
    group_views,
    partition_views,
    queue_levels,
)

if TYPE_CHECKING:
    from ..model.instance import Instance
    from ..model.queue import Queue

SHARE_COLUMNS = ("USER/GROUP", "SHARES", "PRIORITY", "STARTED", "RESERVED", "CPU_TIME", "RUN_TIME")
QUEUE_COLUMNS = (
    *("QUEUE_NAME", "PRIO", "STATUS", "MAX", "JL/U", "JL/P", "JL/H"),
    *("NJOBS", "PEND", "RUN", "SUSP"),
)


@dataclass(frozen=True, slots=True)
class Asked:
    """names: to show, () for all. long: everything about each. recursive: every share level."""

    names: tuple[str, ...] = ()
    long: bool = False
    recursive: bool = False

    def wants(self, name: str) -> bool:
        """Whether a partition, queue or group is to be shown."""
        return not self.names or name in self.names


def bhpart(instance: Instance, asked: Asked, format: str) -> str:
    """Host partitions with their share accounts."""
    order = order_policy(instance)
    views = [
        view
        for view in partition_views(instance, order, instance.now, recursive=asked.recursive)
        if asked.wants(view.name)
    ]
    if format == "json":
        return _json(asdict(view) for view in views)
    if format == "csv":
        return _share_csv(level for view in views for level in view.levels)
    if not views:
        return "No host partition is configured.\n"
    blocks = []
    for view in views:
        head = f"HOST_PARTITION_NAME: {view.name}\nHOSTS: {' '.join(view.hosts)}\n"
        blocks.append(head + "".join("\n" + _share_table(level) for level in view.levels))
    return "\n".join(blocks)


def bugroup(instance: Instance, asked: Asked, format: str) -> str:
    """User groups with their members, and shares where asked for."""
    views = [view for view in group_views(instance) if asked.wants(view.name)]
    if format == "json":
        return _json(asdict(view) for view in views)
    if format == "csv":
        rows = [(view.name, " ".join(view.users), _shares(view.shares)) for view in views]
        return _csv(("group", "users", "shares"), rows)
    if not views:
        return "No user group is configured.\n"
    if not asked.long:
        return _table(("GROUP_NAME", "USERS"), [(v.name, " ".join(v.users)) for v in views], "<<")
    return "\n".join(
        f"GROUP_NAME: {view.name}\nUSERS:  {' '.join(view.users)}\n"
        f"SHARES: {_shares(view.shares) or '-'}\n"
        for view in views
    )


def bqueues(instance: Instance, asked: Asked, format: str) -> str:
    """Queues: one line each, or everything about each."""
    order = order_policy(instance)
    now = instance.now
    queues = [queue for queue in instance.queues if asked.wants(queue.name)]
    levels = {
        queue.name: queue_levels(instance, order, queue.name, now, recursive=asked.recursive)
        for queue in queues
    }
    if format == "json":
        return _json(
            _summary(instance, queue)
            | {
                "slot_share": queue.slot_share,
                "slot_pool": queue.slot_pool or None,
                "levels": [asdict(level) for level in levels[queue.name]],
            }
            for queue in queues
        )
    if format == "csv" and asked.long:
        return _share_csv(level for queue in queues for level in levels[queue.name])
    rows = [tuple(_summary(instance, queue).values()) for queue in queues]
    if format == "csv":
        return _csv([column.lower() for column in QUEUE_COLUMNS], rows)
    if not asked.long:
        return _table(QUEUE_COLUMNS, rows, "<><>>>>>>>>")
    sets = {name: policy for policy in queue_sets(instance) for name in policy.queues}
    return ("\n" + "-" * 78 + "\n\n").join(
        _queue_text(instance, queue, sets.get(queue.name), levels[queue.name]) for queue in queues
    )


def _summary(instance: Instance, queue: Queue) -> dict[str, Any]:
    running = [item for item in instance.running if item.job.queue == queue.name]
    pending = sum(job.slots for job in instance.pending if job.queue == queue.name)
    run = sum(item.slots for item in running if not item.suspended)
    stopped = sum(item.slots for item in running if item.suspended)
    limits = (queue.queue_slots, queue.user_slots, queue.processor_slots, queue.host_slots)
    counts = (pending + run + stopped, pending, run, stopped)
    shown = (_or_dash(limit) for limit in limits)
    values = (queue.name, queue.priority, "Open:Active", *shown, *counts)
    return dict(zip(QUEUE_COLUMNS, values, strict=True))


def _queue_text(
    instance: Instance, queue: Queue, policy: QueueSet | None, levels: Sequence[ShareLevel]
) -> str:
    blocks = [
        f"QUEUE: {queue.name}\n" + (f"  -- {queue.description}\n" if queue.description else ""),
        _parameters(instance, queue),
        "SCHEDULING PARAMETERS\n" + _thresholds(queue),
        "".join(f"{line}\n" for line in _policy_lines(instance, queue, policy)),
        *(_share_table(level, adjust=True) for level in levels),
        "".join(f"{line}\n" for line in _member_lines(queue)),
    ]
    return "\n".join(block for block in blocks if block)


def _parameters(instance: Instance, queue: Queue) -> str:
    summary = _summary(instance, queue)
    columns = ("PRIO", "STATUS", "MAX", "JL/U", "JL/P", "JL/H", "NJOBS", "PEND", "RUN")
    row = tuple(summary[column] for column in columns)
    table = _table((*columns, "SUSP"), [(*row, summary["SUSP"])], "><>>>>>>>>")
    return "PARAMETERS/STATISTICS\n" + table + "".join(f"{x}\n" for x in _limit_lines(queue))


def _limit_lines(queue: Queue) -> list[str]:
    lines = []
    if queue.job_accept_interval is not None:
        cycles = queue.job_accept_interval
        lines.append(f"Interval for a host to accept two jobs is {cycles} dispatch cycles")
    if queue.run_limit is not None:
        lines.append(f"RUNLIMIT: {_minutes(queue.run_limit)} min (default)")
    if queue.run_limit_max is not None:
        lines.append(f"RUNLIMIT: {_minutes(queue.run_limit_max)} min (maximum)")
    if queue.slots is not None:
        lines.append("PROCLIMIT: " + " ".join(str(n) for n in queue.slots if n is not None))
    return lines


def _thresholds(queue: Queue) -> str:
    def row(name: str, values: Mapping[str, float]) -> tuple[str, ...]:
        shown = (f"{values[i]:g}" if i in values else "-" for i in BUILTIN_INDICES)
        return (name, *shown)

    rows = [row("loadSched", queue.thresholds.sched), row("loadStop", queue.thresholds.stop)]
    return _table(("", *BUILTIN_INDICES), rows, "<" + ">" * len(BUILTIN_INDICES))


def _policy_lines(instance: Instance, queue: Queue, policy: QueueSet | None) -> list[str]:
    exclusive = queue.exclusive if queue.exclusive.startswith("CU") else "Y"
    names = {
        "FAIRSHARE": policy is not None,
        "BACKFILL": queue.backfill,
        f"EXCLUSIVE({exclusive})".replace("(Y)", ""): queue.exclusive != "N",
        "PREEMPTIVE": queue.preemptive is not None,
        "PREEMPTABLE": queue.preemptable is not None,
    }
    chosen = [name for name, used in names.items() if used]
    lines = ["SCHEDULING POLICIES:  " + " ".join(chosen)] if chosen else []
    if policy is not None and len(policy.queues) > 1:
        lines.append("FAIRSHARE_QUEUES:  " + " ".join(policy.queues))
        if policy.ordered and queue.name == policy.master:
            lines.append("DISPATCH_ORDER:  QUEUE")
    if policy is not None:
        lines.append("USER_SHARES:  " + _shares(policy.shares))
    if queue.reserve_cycles is not None:
        kind = "slot" if queue.resource_reserve is None else "resource"
        seconds = queue.reserve_cycles * instance.params.mbd_sleep_time
        lines.append(f"Maximum {kind} reservation time: {seconds} seconds")
    return lines


def _member_lines(queue: Queue) -> list[str]:
    hosts = [
        request.name
        + "!" * request.first
        + (f"+{request.preference}" if request.preference else "")
        for request in queue.hosts
    ] + [f"~{name}" for name in queue.excluded_hosts]
    lines = [f"USERS: {' '.join(queue.users) or 'all users'}", f"HOSTS: {' '.join(hosts) or 'all'}"]
    if queue.res_req:
        lines.append(f"RES_REQ:  {queue.res_req}")
    if queue.slot_pool:
        lines.append(f"SLOT_SHARE: {queue.slot_share:g}%")
        lines.append(f"SLOT_POOL: {queue.slot_pool}")
    return lines


def _share_table(level: ShareLevel, *, adjust: bool = False) -> str:
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
    return f"SHARE_INFO_FOR: {level.path}\n" + _table(columns, rows, "<" + ">" * len(columns[1:]))


def _share_csv(levels: Iterable[ShareLevel]) -> str:
    rows = [(level.path, *asdict(row).values()) for level in levels for row in level.rows]
    columns = ("level", *(name.lower() for name in SHARE_COLUMNS), "adjust")
    return _csv([column.replace("user/group", "account") for column in columns], rows)


def _shares(shares: Iterable[tuple[str, int]]) -> str:
    return " ".join(f"[{name}, {number}]" for name, number in shares)


def _or_dash(value: float | None) -> str | float:
    return "-" if value is None else value


def _minutes(seconds: int) -> str:
    return f"{seconds / 60:g}"


def _table(columns: Sequence[str], rows: Iterable[Sequence[object]], sides: str) -> str:
    """Columns two blanks apart, each aligned as `sides` says (``<`` or ``>``)."""
    texts = [list(columns), *([str(value) for value in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    lines = (
        "  ".join(
            f"{text:{side}{width}}" for text, side, width in zip(row, sides, widths, strict=True)
        )
        for row in texts
    )
    return "".join(f"{line.rstrip()}\n" for line in lines)


def _json(records: Iterable[Mapping[str, Any]]) -> str:
    return json.dumps(list(records), indent=2) + "\n"


def _csv(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return text.getvalue()
