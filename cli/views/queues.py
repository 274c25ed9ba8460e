"""Queues and users with their shares: ``bqueues``, ``busers``, ``bugroup``, ``bhpart``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from ...model.absolute_priority import SECTIONS, AbsolutePriority, time_text
from ...model.cluster import BUILTIN_INDICES
from ...model.configuration import Queue
from ...model.instance import Instance
from ...model.shares import QueueSet, queue_hosts, queue_sets
from ...model.windows import open_periods
from ...solver.fairshare.reports import ShareLevel, group_views, partition_views, queue_levels
from ...solver.scheduler.history import Snapshot
from ..selection import ViewOptions
from ..tables import csv_rows, dashed, json_records, text_table, view_text

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


QUEUE_COLUMNS = (
    *("QUEUE_NAME", "PRIO", "STATUS", "MAX", "JL/U", "JL/P", "JL/H"),
    *("NJOBS", "PEND", "RUN", "SUSP"),
)


QUEUE_LONG_COLUMNS = (
    *("PRIO", "NICE", "STATUS", "MAX", "JL/U", "JL/P", "JL/H"),
    *("NJOBS", "PEND", "RUN", "SSUSP", "USUSP", "RSV"),
)


def bqueues(snapshot: Snapshot, asked: ViewOptions, format: str) -> str:
    """Return queues: one line for each, or the long form."""
    instance = snapshot.instance
    queues = [queue for queue in instance.queues if asked_for(instance, queue, asked)]
    levels = {
        queue.name: queue_levels(
            instance, snapshot.order, queue.name, instance.now, recursive=asked.recursive
        )
        for queue in queues
    }
    sets = {name: policy for policy in queue_sets(instance) for name in policy.queues}
    if format == "csv" and asked.long:
        return share_csv(level for queue in queues for level in levels[queue.name])
    if format != "text" or not asked.long:
        rows = [queue_numbers(snapshot, queue) for queue in queues]
        whole = (
            row
            | _record(instance, queue, sets.get(queue.name))
            | {"levels": [asdict(level) for level in levels[queue.name]]}
            for queue, row in zip(queues, rows, strict=True)
        )
        return view_text(format, QUEUE_COLUMNS, rows, "<><>>>>>>>>", None, instance, whole)
    return ("\n" + "-" * 78 + "\n\n").join(
        _text(snapshot, queue, sets.get(queue.name), levels[queue.name]) for queue in queues
    )


def asked_for(instance: Instance, queue: Queue, asked: ViewOptions) -> bool:
    """Whether a queue is selected by name, by users with access (-u) and by hosts (-m)."""
    open_to = {user for name in queue.users for user in members_of(instance, name)}
    return (
        asked.wants(queue.name)
        and (not asked.users or not queue.users or not open_to.isdisjoint(asked.users))
        and (
            not asked.hosts or not set(asked.hosts).isdisjoint(queue_hosts(instance.cluster, queue))
        )
    )


def queue_numbers(snapshot: Snapshot, queue: Queue) -> dict[str, Any]:
    """Return the columns of a queue, counted in slots; reserved slots do not pend.

    An instance has neither the NICE of a queue (0 is LSF's own) nor who suspended a job.
    """
    instance = snapshot.instance
    running = [item for item in instance.running if item.job.queue == queue.name]
    jobs = [job for job in instance.pending if job.queue == queue.name]
    reserved = sum(sum(snapshot.holds(job.id).values()) for job in jobs)
    pending = sum(job.slots for job in jobs) - reserved
    run = sum(item.slots for item in running if not item.suspended)
    suspended = sum(item.slots for item in running if item.suspended)
    return {
        "QUEUE_NAME": queue.name,
        "PRIO": queue.priority,
        "NICE": 0,
        "STATUS": _status(instance, queue),
        "MAX": queue.queue_slots,
        "JL/U": queue.user_slots,
        "JL/P": queue.processor_slots,
        "JL/H": queue.host_slots,
        "NJOBS": pending + run + suspended + reserved,
        "PEND": pending,
        "RUN": run,
        "SUSP": suspended,
        "SSUSP": 0,
        "USUSP": suspended,
        "RSV": reserved,
    }


def _status(instance: Instance, queue: Queue) -> str:
    taking = "Open" if queue.open else "Closed"
    if not queue.active:
        return f"{taking}:Inact"
    now = instance.now
    windows = (queue.dispatch_window, queue.run_window)
    active = all(open_periods(text, instance.origin, now, now + 1) for text in windows)
    return f"{taking}:Active" if active else f"{taking}:Inact_Win"


def _record(instance: Instance, queue: Queue, policy: QueueSet | None) -> dict[str, Any]:
    """Return policies and pools as plain data; times in seconds."""
    return {
        "policies": _policies(queue, policy),
        "user_shares": None if policy is None else dict(policy.shares),
        "fairshare_queues": list(policy.queues) if policy and len(policy.queues) > 1 else None,
        "dispatch_order": "QUEUE" if policy and policy.ordered else None,
        "aps_priority": None if queue.aps_priority is None else str(queue.aps_priority),
        "queue_group": list(queue.queue_group) or None,
        "slot_share": queue.slot_share,
        "slot_pool": queue.slot_pool or None,
        "max_reservation_time": _longest_reservation(instance, queue),
    }


def _policies(queue: Queue, policy: QueueSet | None) -> list[str]:
    unit = queue.exclusive.removeprefix("CU[").removesuffix("]")
    used = {
        "FAIRSHARE": policy is not None,
        "APS_PRIORITY": queue.aps_priority is not None,
        "BACKFILL": queue.backfill,
        "EXCLUSIVE": queue.exclusive == "Y",
        f"EXCLUSIVE(CU[{unit}])": queue.exclusive.startswith("CU"),
        "PREEMPTIVE": queue.preemptive is not None,
        "PREEMPTABLE": queue.preemptable is not None,
        "RESOURCE_RESERVE": queue.resource_reserve is not None,
        "IGNORE_DEADLINE": queue.ignore_deadline,
    }
    return [name for name, is_used in used.items() if is_used]


def _longest_reservation(instance: Instance, queue: Queue) -> int | None:
    cycles = queue.reserve_cycles
    return None if cycles is None else cycles * instance.params.mbd_sleep_time


def _text(
    snapshot: Snapshot, queue: Queue, policy: QueueSet | None, levels: Sequence[ShareLevel]
) -> str:
    instance = snapshot.instance
    found = queue_numbers(snapshot, queue)
    row = [found[name] for name in QUEUE_LONG_COLUMNS]
    chosen = _policies(queue, policy)
    lines = ["SCHEDULING POLICIES:  " + " ".join(chosen)] if chosen else []
    if queue.aps_priority is not None:
        lines += _formula_lines(queue.aps_priority)
    if queue.queue_group and queue.aps_priority is not None:
        lines.append("QUEUE_GROUP:  " + " ".join((queue.name, *queue.queue_group)))
    elif policy is not None and len(policy.queues) > 1:
        lines.append("FAIRSHARE_QUEUES:  " + " ".join(policy.queues))
        if policy.ordered and queue.name == policy.master:
            lines.append("DISPATCH_ORDER:  QUEUE")
    if policy is not None:
        lines.append("USER_SHARES:  " + shares_text(policy.shares))
    blocks = [
        f"QUEUE: {queue.name}\n" + (f"  -- {queue.description}\n" if queue.description else ""),
        "PARAMETERS/STATISTICS\n"
        + text_table(
            QUEUE_LONG_COLUMNS, [row], ">><" + ">" * len(QUEUE_LONG_COLUMNS[3:]), snapshot.instance
        )
        + _lines(_limit_lines(instance, queue)),
        "SCHEDULING PARAMETERS\n" + thresholds_table(instance, queue),
        _lines(lines),
        *(share_table(level, adjust=True) for level in levels),
        _lines(_member_lines(instance, queue)),
    ]
    return "\n".join(block for block in blocks if block)


def _lines(lines: Sequence[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _limit_lines(instance: Instance, queue: Queue) -> list[str]:
    lines = []
    if queue.job_accept_interval is not None:
        seconds = queue.job_accept_interval * instance.params.mbd_sleep_time
        lines.append(f"Interval for a host to accept two jobs is {seconds} seconds")
    if queue.run_limit is not None:
        lines.append(f"RUNLIMIT: {_minutes(queue.run_limit)} min (default)")
    if queue.run_limit_max is not None:
        lines.append(f"RUNLIMIT: {_minutes(queue.run_limit_max)} min (maximum)")
    if queue.cpu_limit is not None:
        lines += ["CPULIMIT", f" {_minutes(queue.cpu_limit)} min"]
    if queue.slots is not None:
        lines.append("PROCLIMIT: " + " ".join(str(n) for n in queue.slots if n is not None))
    return lines


def thresholds_table(instance: Instance, queue: Queue) -> str:
    """Return tables of built-in indices and of the site's: dynamic or with a threshold."""
    sched, stop = queue.thresholds.sched, queue.thresholds.stop
    defined = [r for r in instance.cluster.resources if r.dynamic and r.kind == "numeric"]
    names = dict.fromkeys([*(item.name for item in defined), *sched, *stop])
    own = tuple(name for name in names if name not in BUILTIN_INDICES)
    return "\n".join(
        text_table(
            ("", *names),
            [_load_row("loadSched", names, sched), _load_row("loadStop", names, stop)],
            "<" + ">" * len(names),
        )
        for names in (BUILTIN_INDICES, own)
        if names
    )


def _load_row(
    title: str, names: Sequence[str], values: Mapping[str, float]
) -> tuple[str | float | None, ...]:
    return (title, *(values.get(name) for name in names))


#: The names that are printed of the factors and their parts.
PRINTED = {
    "FS": "FAIRSHARE",
    "RSRC": "RESOURCE",
    "PROC": " PROCESSORS",
    "MEM": " MEMORY",
    "SWAP": " SWAP",
    "WORK": "WORK",
    "JPRIORITY": " JOB PRIORITY",
    "QPRIORITY": " QUEUE PRIORITY",
    "APP": " APPLICATION",
    "USER": " USER",
    "UG": " USER GROUP",
}


def _formula_lines(formula: AbsolutePriority) -> Iterator[str]:
    """Yield the formula's block of bqueues -l; its layout is assumed."""
    yield "APS_PRIORITY:"
    weights, limits, delays = (section.replace("_", " ") for section in SECTIONS)
    heads = (f"{weights} FACTORS", f"{limits} FACTORS", delays)
    yield " " * 17 + "".join(f"{head:>16}" for head in heads)
    for name, printed in PRINTED.items():
        weight, limit = formula.weight(name), formula.limits.get(name)
        delay = formula.delays.get(name)
        cells = (
            f"{weight:.2f}" if weight else "-",
            "-" if limit is None else f"{limit:.2f}",
            "-" if delay is None else time_text(delay),
        )
        yield f"{printed:17}" + "".join(f"{cell:>16}" for cell in cells)


def _member_lines(instance: Instance, queue: Queue) -> list[str]:
    groups = {group.name for group in instance.cluster.groups}
    hosts = [
        request.name
        + "/" * (request.name in groups)
        + "!" * request.first
        + (f"+{request.preference}" if request.preference else "")
        for request in queue.hosts
    ]
    hosts += [f"~{name}" + "/" * (name in groups) for name in queue.excluded_hosts]
    lines = [
        *(f"{key}:  {text}" for key, text in _windows(queue) if text),
        f"USERS: {' '.join(queue.users) or 'all users'}",
        f"HOSTS: {' '.join(hosts) or 'all'}",
    ]
    if queue.res_req:
        lines.append(f"RES_REQ:  {queue.res_req}")
    if queue.resrsv_limit:
        ranges = (f"{n}={low:g},{high:g}" for n, (low, high) in queue.resrsv_limit.items())
        lines.append(f"RESRSV_LIMIT:  [{':'.join(ranges)}]")
    if queue.chunk_job_size is not None:
        lines.append(f"CHUNK_JOB_SIZE:  {queue.chunk_job_size}")
    preemption = [
        word + ("" if names == ("*",) else f"[{' '.join(names)}]")
        for word, names in (("PREEMPTIVE", queue.preemptive), ("PREEMPTABLE", queue.preemptable))
        if names is not None
    ]
    if preemption:
        lines.append(f"PREEMPTION:  {' '.join(preemption)}")
    seconds = _longest_reservation(instance, queue)
    if seconds is not None:
        kind = "slot" if queue.resource_reserve is None else "resource"
        lines.append(f"Maximum {kind} reservation time: {seconds} seconds")
    if queue.slot_pool:
        lines.append(f"SLOT_SHARE: {dashed(queue.slot_share)}%")
        lines.append(f"SLOT_POOL: {queue.slot_pool}")
    if queue.max_slots_in_pool is not None:
        lines.append(f"MAX_SLOTS_IN_POOL: {queue.max_slots_in_pool}")
    if queue.use_priority_in_pool:
        lines.append("USE_PRIORITY_IN_POOL: Y")
    return lines


def _windows(queue: Queue) -> tuple[tuple[str, str], ...]:
    return ("DISPATCH_WINDOW", queue.dispatch_window), ("RUN_WINDOW", queue.run_window)


def _minutes(seconds: int) -> str:
    return f"{seconds / 60:g}"
