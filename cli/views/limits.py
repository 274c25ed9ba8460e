"""Limits, resources and guarantees: ``blimits``, ``bresources``, ``bsla`` (VEW-05, GUA-02)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from ...model.configuration import CONSUMERS, Limit, Scope
from ...model.display import data_of
from ...model.formats.guarantee_text import (
    access_text,
    distribution_text,
    goals_text,
    loans_text,
    pool_type,
)
from ...model.instance import Instance
from ...model.service_class import ServiceClass
from ...solver.availability.guarantees import GuaranteedUse
from ...solver.scheduler.history import LimitUse, Snapshot
from ..selection import ViewOptions
from ..tables import csv_rows, json_records, lower_keys, text_table, view_text


def bresources(snapshot: Snapshot, asked: ViewOptions, format: str) -> str:
    """Return how amounts of resources are reserved: for each job, host or slot."""
    usages = [item for item in snapshot.instance.reservation_usage if asked.wants(item.resource)]
    rows = [data_of(item, "RESOURCE=resource METHOD=method") for item in usages]
    none, whole = "No reservation usage is configured.\n", lower_keys(rows)
    text = view_text(format, ("RESOURCE", "METHOD"), rows, "<<", none, whole=whole)
    if format != "text" or not rows:
        return text
    return f"Begin ReservationUsage\n{text}End ReservationUsage\n"


def shared_resources(snapshot: Snapshot, asked: ViewOptions, format: str) -> str:
    """Return shared resources: amounts that scheduling uses, reserved ones, and hosts."""
    shared = [item for item in snapshot.shared if asked.wants(item.name)]
    rows = [
        {
            **data_of(item, "RESOURCE=name TOTAL=total RESERVED=reserved"),
            "LOCATION": " ".join(item.hosts),
        }
        for item in shared
    ]
    none, whole = "No shared resource is configured.\n", map(asdict, shared)
    columns = ("RESOURCE", "TOTAL", "RESERVED", "LOCATION")
    return view_text(format, columns, rows, "<>><", none, whole=whole)


#: Resources of Limit sections that no site defines.
INTERNAL = ("SLOTS", "MEM", "TMP", "SWP", "JOBS")


def blimits(snapshot: Snapshot, asked: ViewOptions, format: str) -> str:
    """Return the use of Limit sections by jobs as used/limit, or the sections themselves."""
    instance = snapshot.instance
    limits = [limit for limit in instance.limits if asked.wants(limit.name)]
    if asked.configured:
        return _configured(limits, format)
    places = {limit.name: place for place, limit in enumerate(snapshot.instance.limits)}
    uses = sorted(
        (use for use in snapshot.limits if asked.wants(use.name) and _concerns(use, asked)),
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
            (use.name, *(" ".join(use.consumers.get(name.lower(), ())) for name in _columns(uses)),
             use.resource, use.used, use.limit)
            for use in uses
        ]  # fmt: skip
        columns = ("name", *(name.lower() for name in _columns(uses)), "resource", "used", "limit")
        return csv_rows(columns, rows)
    if not snapshot.instance.limits:
        return "No limit is configured.\n"
    if not uses:
        return "No resource usage found.\n"
    external = [use for use in uses if use.resource.upper() not in INTERNAL]
    internal = [use for use in uses if use.resource.upper() in INTERNAL]
    names = tuple(dict.fromkeys(use.resource for use in external))
    blocks = []
    if internal:
        blocks.append("INTERNAL RESOURCE LIMITS:\n\n" + _usage_table(instance, internal, INTERNAL))
    if external:
        blocks.append("EXTERNAL RESOURCE LIMITS:\n\n" + _usage_table(instance, external, names))
    return "\n".join(blocks)


def _concerns(use: LimitUse, asked: ViewOptions) -> bool:
    """Whether a counter is of what is asked for (-u, -q, -m); one that names none is of all."""
    pairs = (("users", asked.users), ("queues", asked.queues), ("hosts", asked.hosts))
    return all(
        not wanted
        or not use.consumers[kind]
        or "all" in use.consumers[kind]
        or not set(wanted).isdisjoint(use.consumers[kind])
        for kind, wanted in pairs
    )


def _unused(limit: Limit) -> list[LimitUse]:
    from ...solver.scheduler.history import LimitUse

    consumers = {name.lower(): scope_names(scope) for name, scope in _scopes(limit)}
    return [LimitUse(limit.name, consumers, name, 0.0, n) for name, n in limit.amounts.items()]


def _usage_table(instance: Instance, uses: list[LimitUse], resources: tuple[str, ...]) -> str:
    rows: dict[tuple[str, ...], dict[str, str]] = {}
    consumers = _columns(uses)
    for use in uses:
        key = (use.name, *(" ".join(use.consumers.get(name.lower(), ())) for name in consumers))
        shown = f"{use.used:.10g}/{use.limit:.10g}"
        rows.setdefault(key, {})[use.resource.lower()] = shown
    cells = [
        [*(name or None for name in key), *(row.get(name.lower()) for name in resources)]
        for key, row in rows.items()
    ]
    columns = ("NAME", *consumers, *resources)
    return text_table(columns, cells, "<" * (1 + len(consumers)) + ">" * len(resources), instance)


def _scopes(limit: Limit) -> list[tuple[str, Scope | None]]:
    return [
        (item.field.upper(), scope)
        for item in CONSUMERS
        if (scope := item.scope(limit)) is not None or not item.is_rare
    ]


def _columns(uses: Sequence[LimitUse]) -> tuple[str, ...]:
    """Return the columns of consumers that some limit distinguishes."""
    distinguished = {kind for use in uses for kind in use.consumers}
    return tuple(
        item.field.upper() for item in CONSUMERS if not item.is_rare or item.field in distinguished
    )


def scope_names(scope: Scope | None) -> tuple[str, ...]:
    """Return a scope as configured: names, and excluded names behind ``~``."""
    return () if scope is None else (*scope.names, *(f"~{name}" for name in scope.excluded))


def _configured(limits: list[Limit], format: str) -> str:
    """Return the Limit sections in the horizontal form of lsb.resources."""
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
    found += [(name.upper(), f"{n:.10g}%") for name, n in limit.percentages.items()]
    return [*found, ("RESOURCE", " ".join(site))] if site else found


RULE = " -------------\n"


def bsla(snapshot: Snapshot, asked: ViewOptions, format: str) -> str:
    """Return the view of service classes and of their guarantees by pool."""
    uses = _pool_uses(snapshot)
    classes = [item for item in snapshot.instance.service_classes if asked.wants(item.name)]
    if format == "json":
        return json_records(_class_record(item, uses) for item in classes)
    if format == "csv":
        rows = [(item.name, *row) for item in classes for row in _of_class(item, uses)]
        columns = ("class", "pool", "type", "config", "used", "total_used")
        return csv_rows(columns, rows)
    if not classes:
        return "No service class is configured.\n"
    return RULE.join(_class_text(item, uses) for item in classes)


def _class_record(item: ServiceClass, uses: Iterable[GuaranteedUse]) -> dict[str, Any]:
    keys = ("pool", "type", "config", "used", "total_used")
    return {
        "name": item.name,
        "description": item.description,
        "access_control": access_text(item.access),
        "auto_attach": item.auto_attach,
        "goals": list(item.goals),
        "pools": [dict(zip(keys, row, strict=True)) for row in _of_class(item, uses)],
    }


def _of_class(
    item: ServiceClass, uses: Iterable[GuaranteedUse]
) -> list[tuple[str, str, float, float, float]]:
    """Return rows of the pools with a guarantee for a class: configured, used of it, all used."""
    return [
        (use.pool.pool.name, use.pool.pool.kind, *_consumers(use)[item.name])
        for use in uses
        if item.name in use.pool.guaranteed
    ]


def _class_text(item: ServiceClass, uses: Iterable[GuaranteedUse]) -> str:
    text = f"SERVICE CLASS NAME:  {item.name}\n"
    text += f" -- {item.description}\n" if item.description else ""
    if item.access:
        text += f"ACCESS CONTROL:  {access_text(item.access)}\n"
    text += f"AUTO ATTACH:  {'Y' if item.auto_attach else 'N'}\n\n"
    goals = "GUARANTEE" if item.guarantees else goals_text(item.goals)
    text += f"GOAL:  {goals}\n\n"
    columns = ("POOL NAME", "TYPE", "GUARANTEE CONFIG", "GUARANTEE USED", "TOTAL USED")
    rows = _of_class(item, uses)
    return text + text_table(columns, rows, "<<>>>") if rows else text


POOL_COLUMNS = (
    "POOL_NAME",
    "TYPE",
    "STATUS",
    "TOTAL",
    "FREE",
    "GUAR_CONFIG",
    "GUAR_UNUSED",
    "LOANED",
)


def guaranteed_pools(snapshot: Snapshot, asked: ViewOptions, format: str) -> str:
    """Return the view of guaranteed pools; long: with their configuration and consumers."""
    uses = [use for use in _pool_uses(snapshot) if asked.wants(use.pool.pool.name)]
    if format == "text" and asked.long and uses:
        return "\n".join(map(_pool_text, uses))
    none = "No guaranteed resource pool is configured.\n"
    whole = map(_pool_record, uses)
    return view_text(format, POOL_COLUMNS, [*map(_pool_row, uses)], "<<<>>>>>", none, whole=whole)


def _pool_row(use: GuaranteedUse) -> dict[str, Any]:
    unused = sum(use.unused.values())
    return {
        "POOL_NAME": use.pool.pool.name,
        "TYPE": use.pool.pool.kind,
        "STATUS": _status(use),
        "TOTAL": use.pool.total,
        "FREE": use.free,
        "GUAR_CONFIG": sum(use.pool.guaranteed.values()),
        "GUAR_UNUSED": unused,
        "LOANED": max(0.0, unused - use.free),
    }


def _status(use: GuaranteedUse) -> str:
    return "ok" if sum(use.pool.guaranteed.values()) <= use.pool.total else "overcommitted"


def _consumers(use: GuaranteedUse) -> dict[str, tuple[float, float, float]]:
    """Return by class what is configured of a pool, used of that, and used in all."""
    total = {name: use.used.get(name, 0.0) for name in use.pool.guaranteed}
    return {
        name: (amount, min(amount, total[name]), total[name])
        for name, amount in use.pool.guaranteed.items()
    }


def _pool_record(use: GuaranteedUse) -> dict[str, Any]:
    pool, keys = use.pool.pool, ("config", "used", "total_used")
    consumers = [
        {"class": name, **dict(zip(keys, amounts, strict=True))}
        for name, amounts in _consumers(use).items()
    ]
    return {
        **_pool_row(use),
        "type": pool_type(pool.type),
        "hosts": list(pool.hosts) or ["all"],
        "distribution": distribution_text(pool.distribution),
        "loan_policies": loans_text(pool.loans),
        "consumers": consumers,
    }


def _pool_text(use: GuaranteedUse) -> str:
    """Return a pool as bresources -g -l prints it without SIMPLIFIED_GUARANTEE."""
    pool, consumers = use.pool.pool, _consumers(use)
    text = f"GUARANTEED RESOURCE POOL: {pool.name}\n"
    text += f"{pool.description}\n" if pool.description else ""
    text += f"\nTYPE: {pool.type}\nDISTRIBUTION: {distribution_text(pool.distribution)}\n"
    text += f"LOAN_POLICIES: {loans_text(pool.loans)}\n" if pool.loans is not None else ""
    if pool.has_hosts:
        text += f"HOSTS: {' '.join(pool.hosts) or 'all'}\n"
    text += f"RES_SELECT: {pool.res_select}\n" if pool.res_select else ""
    text += f"STATUS: {_status(use)}\n\nRESOURCE SUMMARY:\n"
    summary = (
        ("TOTAL", use.pool.total),
        ("FREE", use.free),
        ("GUARANTEE CONFIGURED", sum(use.pool.guaranteed.values())),
        ("GUARANTEE USED", sum(used for _, used, _ in consumers.values())),
    )
    text += "".join(f"  {name:<22}{amount:>8g}\n" for name, amount in summary)
    rows = [(name, *amounts) for name, amounts in consumers.items()]
    columns = ("CONSUMERS", "GUAR CONFIG", "GUAR USED", "TOTAL USED")
    return f"{text}\n{text_table(columns, rows, '<>>>')}"


def _pool_uses(snapshot: Snapshot) -> list[GuaranteedUse]:
    """Return the use of each guaranteed pool by the running jobs of a snapshot."""
    from ...solver.resolve import Resolver
    from ...solver.rules.eligibility import InitialSituation

    return InitialSituation(snapshot.instance, Resolver.of(snapshot.instance)).pool_uses
