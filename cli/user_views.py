"""Users and what limits leave them, in the words and columns of ``busers`` and ``blimits``."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from ..model.limits import Limit, Scope
from .plain_tables import csv_rows, json_records, plain_table

if TYPE_CHECKING:
    from ..model.instance import Instance
    from ..solver.loop.snapshot import LimitUse, Snapshot
    from .view_options import ViewOptions

COLUMNS = ("USER/GROUP", "JL/P", "MAX", "NJOBS", "PEND", "RUN", "SSUSP", "USUSP", "RSV")
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
    cells = [[row[name] for name in COLUMNS] for row in rows]
    if format == "csv":
        return csv_rows([column.lower() for column in COLUMNS], cells)
    return plain_table(COLUMNS, cells, "<" + ">" * 8) if rows else "No user has a job.\n"


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


# --- blimits --------------------------------------------------------------------------------------


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
    from ..solver.loop.snapshot import LimitUse

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
    entries = [dict(_lines(limit)) for limit in limits]
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


def _lines(limit: Limit) -> list[tuple[str, str]]:
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
