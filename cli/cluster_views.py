"""Hosts in the words of LSF's ``bhosts`` and ``bmgroup`` (VEW-02, VEW-05)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from ..model.cluster import BUILTIN_INDICES
from ..model.configuration import Limit, Scope
from ..model.shares import QueueSet, queue_hosts, queue_sets
from ..model.windows import open_periods
from ..solver.fairshare.reports import ShareLevel, group_views, partition_views, queue_levels
from .selection import ViewOptions
from .tables import csv_rows, dashed, json_records, plain_table

if TYPE_CHECKING:
    from ..model.cluster import Host
    from ..model.configuration import Queue
    from ..model.instance import Instance
    from ..model.job import Job, RunningJob
    from ..solver.scheduler.history import HostLoad, LimitUse, Snapshot
    from .selection import ViewOptions


# GPUs in the words of LSF's ``bhosts -gpu`` and ``bjobs -l`` (VEW-02, VEW-05).
#
# LSF numbers the GPUs of a host and says which one a job has. Here jobs get the lowest numbers
# that are free, in the order in which they started.


GPU_COLUMNS = ("HOST_NAME", "GPU_ID", "MODEL", "MUSED", "MRSV", "NJOBS", "RUN", "SUSP", "RSV")
ALLOCATION = (
    "HOST",
    "TASK",
    "GPU_ID",
    "MODEL",
    "MTOTAL",
    "FACTOR",
    "MRSV",
    "SOCKET",
    "NVLINK/XGMI",
)


def bhosts_gpu(moment: Snapshot, asked: ViewOptions, format: str) -> str:
    """The GPUs of each host, a row each, with the jobs that have them."""
    instance = moment.instance
    rows = []
    for host in instance.cluster.hosts:
        holders = _holders(instance, host) if asked.wants(host.name) else []
        for number, holder in enumerate(holders):
            model = host.gpus.model if host.gpus is not None else ""
            run = int(holder is not None and not holder.suspended)
            suspended = int(holder is not None and holder.suspended)
            held = run + suspended
            rows.append((host.name, number, model or None, None, None, held, run, suspended, 0))
    if format == "json":
        return json_records(
            {name.lower(): value for name, value in zip(GPU_COLUMNS, row, strict=True)}
            for row in rows
        )
    if format == "csv":
        return csv_rows([name.lower() for name in GPU_COLUMNS], rows)
    if not rows:
        return "No host has GPUs.\n"
    seen: set[object] = set()
    shown = []
    for row in rows:
        shown.append(("" if row[0] in seen else row[0], *row[1:]))
        seen.add(row[0])
    return plain_table(GPU_COLUMNS, shown, "<" + ">" * (len(GPU_COLUMNS) - 1))


def _holders(instance: Instance, host: Host) -> list[RunningJob | None]:
    """The job that has each GPU of a host, None for one that is free."""
    found: list[RunningJob | None] = [None] * round(host.gpu_count or 0)
    for item in sorted(instance.running, key=lambda run: (run.start, run.job.id)):
        free = [number for number, holder in enumerate(found) if holder is None]
        for number in free[: _held(instance, item.job, item.allocation.get(host.name, 0))]:
            found[number] = item
    return found


def _held(instance: Instance, job: Job, slots: int) -> int:
    from ..model.errors import InputError
    from ..model.resreq import RequirementMerging

    try:
        return RequirementMerging.of(instance).gpus_held(job, slots) if slots else 0
    except InputError:
        return 0


def gpu_lines(
    instance: Instance, job: Job, allocation: Mapping[str, int] | None = None
) -> Iterator[str]:
    """What bjobs -l says of the GPUs of a job, nothing of one without."""
    from ..model.errors import InputError
    from ..model.resreq import RequirementMerging

    try:
        asked = RequirementMerging.of(instance).gpu_text(job)
    except InputError:
        return
    if not asked:
        return
    yield from ("", " GPU REQUIREMENT DETAILS:", f" Combined: {asked}", f" Effective: {asked}")
    rows = list(_allocated(instance, job, allocation or {}))
    if rows:
        yield from ("", " GPU_ALLOCATION:")
        yield from (f" {line}" for line in plain_table(ALLOCATION, rows, "<" * 9).splitlines())


def _allocated(
    instance: Instance, job: Job, allocation: Mapping[str, int]
) -> Iterator[tuple[str | None, ...]]:
    for host in instance.cluster.hosts:
        if host.name not in allocation:
            continue
        name = host.name
        gpus = host.gpus
        mem = None if gpus is None or gpus.mem is None else f"{gpus.mem / 1024:.1f}G"
        for number, holder in enumerate(_holders(instance, host)):
            if holder is not None and holder.job.id == job.id:
                model = gpus.model if gpus is not None and gpus.model else None
                yield name, None, str(number), model, mem, None, None, None, None
                name = ""


HOST_COLUMNS = ("HOST_NAME", "STATUS", "JL/U", "MAX", "NJOBS", "RUN", "SSUSP", "USUSP", "RSV")
HOST_LONG_COLUMNS = (
    *("STATUS", "CPUF", "JL/U", "MAX", "NJOBS", "RUN", "SSUSP", "USUSP", "RSV"),
    *("DISPATCH_WINDOW",),
)
SIZES = frozenset({"tmp", "swp", "mem"})


def bhosts(moment: Snapshot, asked: ViewOptions, format: str) -> str:
    """Hosts with the slots that are used and reserved, and in the long form their resources."""
    if asked.shared:
        return _shared(moment, asked, format)
    if asked.gpus:
        return bhosts_gpu(moment, asked, format)
    hosts = [host for host in moment.instance.cluster.hosts if asked.wants(host.name)]
    found = {host.name: numbers(moment, host) for host in hosts}
    if format == "json":
        return json_records(
            {**found[host.name], **asdict(moment.hosts[host.name])} for host in hosts
        )
    if format == "csv" or not asked.long:
        rows = [[found[host.name][name] for name in HOST_COLUMNS] for host in hosts]
        if format == "csv":
            return csv_rows([column.lower() for column in HOST_COLUMNS], rows)
        # The short form says that a host is closed, the long one why.
        short = [[name, status.partition("_")[0], *rest] for name, status, *rest in rows]
        return plain_table(HOST_COLUMNS, short, "<<>>>>>>>")
    return "\n".join(
        f"HOST  {host.name}\n"
        + plain_table(
            HOST_LONG_COLUMNS,
            [[found[host.name][name] for name in HOST_LONG_COLUMNS]],
            "<" + ">" * 8 + "<",
        )
        + "\n CURRENT LOAD USED FOR SCHEDULING:\n"
        + _load(moment.hosts[host.name])
        for host in hosts
    )


def numbers(moment: Snapshot, host: Host) -> dict[str, Any]:
    """What the tables have in columns; counts are slots, and who suspended a job is not known."""
    run = suspended = 0
    for item in moment.instance.running:
        slots = item.allocation.get(host.name, 0)
        suspended += slots if item.suspended else 0
        run += 0 if item.suspended else slots
    reserved = moment.hosts[host.name].slots
    held = run + suspended + reserved
    return {
        "HOST_NAME": host.name,
        "STATUS": "closed_Full" if host.status == "ok" and held >= host.slots else host.status,
        "CPUF": f"{host.cpu_factor:.2f}",
        "JL/U": host.user_slots,
        "MAX": host.slots if host.mxj_defined else None,
        "NJOBS": held,
        "RUN": run,
        "SSUSP": 0,
        "USUSP": suspended,
        "RSV": reserved,
        "DISPATCH_WINDOW": host.windows or None,
    }


def _load(load: HostLoad) -> str:
    """Rows Total and Reserved: of the built-in indices, then of the resources of the site."""
    own = tuple(name for name in load.total if name not in BUILTIN_INDICES)
    tables = []
    for names in (BUILTIN_INDICES, own):
        rows = [
            ("Total", *(_amount(name, load.total[name]) for name in names)),
            ("Reserved", *(_amount(name, load.reserved[name]) for name in names)),
        ]
        if names:
            tables.append(plain_table((" ", *names), rows, "<" + ">" * len(names)))
    return "\n".join("".join(f" {line}\n" for line in table.splitlines()) for table in tables)


def _amount(name: str, value: float | None) -> str | None:
    """``1.5``, ``91%``, ``911M``."""
    if value is None:
        return None
    if name in SIZES:
        return f"{value:.0f}M"
    if name == "ut":
        return f"{value:.0%}"
    return f"{value:.0f}" if name in ("io", "ls", "it") else f"{value:.1f}"


def bmgroup(moment: Snapshot, asked: ViewOptions, format: str) -> str:
    """Host groups with their hosts; groups of groups were taken apart when the file was read."""
    groups = [group for group in moment.instance.cluster.groups if asked.wants(group.name)]
    if format == "json":
        return json_records({"name": group.name, "hosts": group.members} for group in groups)
    rows = [(group.name, " ".join(group.members)) for group in groups]
    if format == "csv":
        return csv_rows(("group", "hosts"), rows)
    if not rows:
        return "No host group is configured.\n"
    return plain_table(("GROUP_NAME", "HOSTS"), rows, "<<")


def bresources(moment: Snapshot, asked: ViewOptions, format: str) -> str:
    """How amounts of resources are reserved: for each job, host or slot."""
    usages = [item for item in moment.instance.reservation_usage if asked.wants(item.resource)]
    rows = [(item.resource, item.method) for item in usages]
    if format == "json":
        return json_records({"resource": name, "method": method} for name, method in rows)
    if format == "csv":
        return csv_rows(("resource", "method"), rows)
    if not rows:
        return "No reservation usage is configured.\n"
    table = plain_table(("RESOURCE", "METHOD"), rows, "<<")
    return f"Begin ReservationUsage\n{table}End ReservationUsage\n"


def _shared(moment: Snapshot, asked: ViewOptions, format: str) -> str:
    """Shared resources: what scheduling goes by, what is reserved, and on which hosts they are."""
    shared = [item for item in moment.shared if asked.wants(item.name)]
    if format == "json":
        return json_records(asdict(item) for item in shared)
    rows = [(item.name, item.total, item.reserved, " ".join(item.hosts)) for item in shared]
    columns = ("RESOURCE", "TOTAL", "RESERVED", "LOCATION")
    if format == "csv":
        return csv_rows([column.lower() for column in columns], rows)
    return plain_table(columns, rows, "<>><") if rows else "No shared resource is configured.\n"


USER_COLUMNS = ("USER/GROUP", "JL/P", "MAX", "NJOBS", "PEND", "RUN", "SSUSP", "USUSP", "RSV")
CONSUMERS = ("USERS", "QUEUES", "HOSTS", "PROJECTS")
#: What Limit sections know besides resources of the site.
INTERNAL = ("SLOTS", "MEM", "TMP", "SWP", "JOBS")


def known_users(instance: Instance) -> list[str]:
    """Users with jobs, members of groups and those that lsb.users limits; then the groups."""
    groups = [group.name for group in instance.groups]
    jobs = [*(item.job for item in instance.running), *instance.pending, *instance.future]
    users = {job.user for job in jobs}
    users |= {name for group in instance.groups for name in group.members if name != "all"}
    users |= {entry.name.rstrip("@") for entry in instance.users}
    return [*sorted(users - set(groups) - {"default"}), *groups]


def busers(moment: Snapshot, asked: ViewOptions, format: str) -> str:
    """Users, and user groups, with their slot limits and the slots of their jobs."""
    rows = user_rows(moment, asked)
    if format == "json":
        return json_records(rows)
    cells = [[row[name] for name in USER_COLUMNS] for row in rows]
    if format == "csv":
        return csv_rows([column.lower() for column in USER_COLUMNS], cells)
    return plain_table(USER_COLUMNS, cells, "<" + ">" * 8) if rows else "No user has a job.\n"


def user_rows(moment: Snapshot, asked: ViewOptions) -> list[dict[str, Any]]:
    """A row for each user and group that is asked for."""
    return [_user_row(moment, name) for name in known_users(moment.instance) if asked.wants(name)]


def _user_row(moment: Snapshot, name: str) -> dict[str, Any]:
    """Slots; who suspended a job is not known of one that an instance has as suspended."""
    instance = moment.instance
    who = members_of(instance, name)
    entry = next((item for item in instance.users if item.name.rstrip("@") == name), None)
    if entry is None and not any(group.name == name for group in instance.groups):
        entry = next((item for item in instance.users if item.name == "default"), None)
    own = [item for item in instance.running if item.job.user in who]
    waiting = [job for job in instance.pending if job.user in who]
    reserved = sum(sum(moment.holds(job.id).values()) for job in waiting)
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
    """The users that a user or group name stands for."""
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


def blimits(moment: Snapshot, asked: ViewOptions, format: str) -> str:
    """What jobs use of Limit sections, as used/limit; or the sections themselves."""
    limits = [limit for limit in moment.instance.limits if asked.wants(limit.name)]
    if asked.configured:
        return _configured(limits, format)
    places = {limit.name: place for place, limit in enumerate(moment.instance.limits)}
    uses = sorted(
        (use for use in moment.limits if asked.wants(use.name) and _concerns(use, asked)),
        key=lambda use: places[use.name],
    )
    if asked.everything:
        known = {use.name for use in uses}
        uses += [use for limit in limits if limit.name not in known for use in _unused(limit)]
    else:
        uses = [use for use in uses if use.used > 0]
    if format == "json":
        return json_records(asdict(use) for use in uses)
    if format == "csv":
        rows = [
            (use.name, *(" ".join(use.consumers[name.lower()]) for name in CONSUMERS),
             use.resource, use.used, use.limit)
            for use in uses
        ]  # fmt: skip
        columns = ("name", *(name.lower() for name in CONSUMERS), "resource", "used", "limit")
        return csv_rows(columns, rows)
    if not moment.instance.limits:
        return "No limit is configured.\n"
    if not uses:
        return "No resource usage found.\n"
    external = [use for use in uses if use.resource.upper() not in INTERNAL]
    internal = [use for use in uses if use.resource.upper() in INTERNAL]
    names = tuple(dict.fromkeys(use.resource for use in external))
    blocks = []
    if internal:
        blocks.append("INTERNAL RESOURCE LIMITS:\n\n" + _usage_table(internal, INTERNAL))
    if external:
        blocks.append("EXTERNAL RESOURCE LIMITS:\n\n" + _usage_table(external, names))
    return "\n".join(blocks)


def _concerns(use: LimitUse, asked: ViewOptions) -> bool:
    """Whether a counter is of what is asked for (-u, -q, -m); one that names none is of all."""
    pairs = (("users", asked.users), ("queues", asked.queues), ("hosts", asked.hosts))
    return all(
        not wanted
        or not use.consumers[kind]
        or "all" in use.consumers[kind]
        or bool(wanted & set(use.consumers[kind]))
        for kind, wanted in pairs
    )


def _unused(limit: Limit) -> list[LimitUse]:
    from ..solver.scheduler.history import LimitUse

    consumers = {name.lower(): scope_names(scope) for name, scope in _scopes(limit)}
    return [LimitUse(limit.name, consumers, name, 0.0, n) for name, n in limit.amounts.items()]


def _usage_table(uses: list[LimitUse], resources: tuple[str, ...]) -> str:
    rows: dict[tuple[str, ...], dict[str, str]] = {}
    for use in uses:
        key = (use.name, *(" ".join(use.consumers[name.lower()]) for name in CONSUMERS))
        shown = f"{use.used:.10g}/{use.limit:.10g}"
        rows.setdefault(key, {})[use.resource.lower()] = shown
    cells = [
        [*(name or None for name in key), *(row.get(name.lower()) for name in resources)]
        for key, row in rows.items()
    ]
    columns = ("NAME", *CONSUMERS, *resources)
    return plain_table(columns, cells, "<" * 5 + ">" * len(resources))


def _scopes(limit: Limit) -> list[tuple[str, Scope | None]]:
    scopes = (limit.users, limit.queues, limit.hosts, limit.projects)
    return list(zip(CONSUMERS, scopes, strict=True))


def scope_names(scope: Scope | None) -> tuple[str, ...]:
    """A scope as configured: names, and those that are left out behind ``~``."""
    return () if scope is None else (*scope.names, *(f"~{name}" for name in scope.excluded))


def _configured(limits: list[Limit], format: str) -> str:
    """The Limit sections as lsb.resources has them, in the horizontal form."""
    entries = [dict(_lines_of_limit(limit)) for limit in limits]
    if format == "json":
        return json_records(entries)
    if format == "csv":
        rows = [(entry["NAME"], key, value) for entry in entries for key, value in entry.items()]
        return csv_rows(("limit", "parameter", "value"), rows)
    if not limits:
        return "No limit is configured.\n"
    return "\n".join(
        "Begin Limit\n" + "".join(f"{k:<19} = {v}\n" for k, v in entry.items()) + "End Limit\n"
        for entry in entries
    )


def _lines_of_limit(limit: Limit) -> list[tuple[str, str]]:
    found = [("NAME", limit.name)]
    for name, scope in _scopes(limit):
        if scope is not None:
            key = f"PER_{name.removesuffix('S')}" if scope.each else name
            found.append((key, " ".join(scope_names(scope))))
    if limit.slots_per_processor is not None:
        found.append(("SLOTS_PER_PROCESSOR", f"{limit.slots_per_processor:.10g}"))
    site = []
    for resource, amount in limit.amounts.items():
        if resource.upper() in INTERNAL:
            found.append((resource.upper(), f"{amount:.10g}"))
        else:
            site.append(f"[{resource}, {amount:.10g}]")
    return [*found, ("RESOURCE", " ".join(site))] if site else found


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


QUEUE_COLUMNS = (
    *("QUEUE_NAME", "PRIO", "STATUS", "MAX", "JL/U", "JL/P", "JL/H"),
    *("NJOBS", "PEND", "RUN", "SUSP"),
)
QUEUE_LONG_COLUMNS = (
    *("PRIO", "NICE", "STATUS", "MAX", "JL/U", "JL/P", "JL/H"),
    *("NJOBS", "PEND", "RUN", "SSUSP", "USUSP", "RSV"),
)


def bqueues(moment: Snapshot, asked: ViewOptions, format: str) -> str:
    """Queues: one line each, or everything about each."""
    instance = moment.instance
    queues = [queue for queue in instance.queues if asked_for(instance, queue, asked)]
    levels = {
        queue.name: queue_levels(
            instance, moment.order, queue.name, instance.now, recursive=asked.recursive
        )
        for queue in queues
    }
    sets = {name: policy for policy in queue_sets(instance) for name in policy.queues}
    if format == "json":
        return json_records(
            queue_numbers(moment, queue)
            | _record(instance, queue, sets.get(queue.name))
            | {"levels": [asdict(level) for level in levels[queue.name]]}
            for queue in queues
        )
    if format == "csv" and asked.long:
        return share_csv(level for queue in queues for level in levels[queue.name])
    rows = [[queue_numbers(moment, queue)[name] for name in QUEUE_COLUMNS] for queue in queues]
    if format == "csv":
        return csv_rows([column.lower() for column in QUEUE_COLUMNS], rows)
    if not asked.long:
        return plain_table(QUEUE_COLUMNS, rows, "<><>>>>>>>>")
    return ("\n" + "-" * 78 + "\n\n").join(
        _text(moment, queue, sets.get(queue.name), levels[queue.name]) for queue in queues
    )


def asked_for(instance: Instance, queue: Queue, asked: ViewOptions) -> bool:
    """By name, by the users it is open to (-u) and by the hosts it uses (-m)."""
    open_to = {user for name in queue.users for user in members_of(instance, name)}
    return (
        asked.wants(queue.name)
        and (not asked.users or not queue.users or bool(open_to & asked.users))
        and (not asked.hosts or bool(asked.hosts & {*queue_hosts(instance.cluster, queue)}))
    )


def queue_numbers(moment: Snapshot, queue: Queue) -> dict[str, Any]:
    """What the tables have in columns; counts are slots, reserved ones do not pend.

    An instance has neither the NICE of a queue (0 is LSF's own) nor who suspended a job.
    """
    instance = moment.instance
    running = [item for item in instance.running if item.job.queue == queue.name]
    jobs = [job for job in instance.pending if job.queue == queue.name]
    reserved = sum(sum(moment.holds(job.id).values()) for job in jobs)
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
    """Policies and pools as plain data; times in seconds."""
    return {
        "policies": _policies(queue, policy),
        "user_shares": None if policy is None else dict(policy.shares),
        "fairshare_queues": list(policy.queues) if policy and len(policy.queues) > 1 else None,
        "dispatch_order": "QUEUE" if policy and policy.ordered else None,
        "slot_share": queue.slot_share,
        "slot_pool": queue.slot_pool or None,
        "max_reservation_time": _longest_reservation(instance, queue),
    }


def _policies(queue: Queue, policy: QueueSet | None) -> list[str]:
    unit = queue.exclusive.removeprefix("CU[").removesuffix("]")
    used = {
        "FAIRSHARE": policy is not None,
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
    moment: Snapshot, queue: Queue, policy: QueueSet | None, levels: Sequence[ShareLevel]
) -> str:
    instance = moment.instance
    found = queue_numbers(moment, queue)
    row = [found[name] for name in QUEUE_LONG_COLUMNS]
    blocks = [
        f"QUEUE: {queue.name}\n" + (f"  -- {queue.description}\n" if queue.description else ""),
        "PARAMETERS/STATISTICS\n"
        + plain_table(QUEUE_LONG_COLUMNS, [row], ">><" + ">" * len(QUEUE_LONG_COLUMNS[3:]))
        + _lines(_limit_lines(instance, queue)),
        "SCHEDULING PARAMETERS\n" + thresholds_table(instance, queue),
        _lines(_policy_lines(queue, policy)),
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
    """The built-in load indices, then those of the site: dynamic ones, and what has a threshold."""
    sched, stop = queue.thresholds.sched, queue.thresholds.stop
    defined = [r for r in instance.cluster.resources if r.dynamic and r.kind == "numeric"]
    names = dict.fromkeys([*(item.name for item in defined), *sched, *stop])
    own = tuple(name for name in names if name not in BUILTIN_INDICES)
    return "\n".join(
        plain_table(
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


def _policy_lines(queue: Queue, policy: QueueSet | None) -> list[str]:
    chosen = _policies(queue, policy)
    lines = ["SCHEDULING POLICIES:  " + " ".join(chosen)] if chosen else []
    if policy is not None and len(policy.queues) > 1:
        lines.append("FAIRSHARE_QUEUES:  " + " ".join(policy.queues))
        if policy.ordered and queue.name == policy.master:
            lines.append("DISPATCH_ORDER:  QUEUE")
    if policy is not None:
        lines.append("USER_SHARES:  " + shares_text(policy.shares))
    return lines


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
