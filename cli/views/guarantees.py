"""Service classes and guaranteed pools in the words of ``bsla`` and ``bresources -g`` (GUA-02)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ...model.formats.guarantee_text import (
    access_text,
    distribution_text,
    goals_text,
    loans_text,
    pool_type,
)
from ..tables import csv_rows, json_records, text_table, view_text

if TYPE_CHECKING:
    from ...model.service_class import ServiceClass
    from ...solver.availability.guarantees import GuaranteedUse
    from ...solver.scheduler.history import Snapshot
    from ..selection import ViewOptions

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


COLUMNS = ("POOL_NAME", "TYPE", "STATUS", "TOTAL", "FREE", "GUAR_CONFIG", "GUAR_UNUSED", "LOANED")


def guaranteed_pools(snapshot: Snapshot, asked: ViewOptions, format: str) -> str:
    """Return the view of guaranteed pools; long: with their configuration and consumers."""
    uses = [use for use in _pool_uses(snapshot) if asked.wants(use.pool.pool.name)]
    if format == "text" and asked.long and uses:
        return "\n".join(map(_pool_text, uses))
    none = "No guaranteed resource pool is configured.\n"
    whole = map(_pool_record, uses)
    return view_text(format, COLUMNS, [*map(_row, uses)], "<<<>>>>>", none, whole=whole)


def _row(use: GuaranteedUse) -> dict[str, Any]:
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
        **_row(use),
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
