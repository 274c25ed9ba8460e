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
from ..tables import csv_rows, json_records, text_table

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
    found = []
    for use in uses:
        if item.name in use.pool.guaranteed:
            config, total = use.pool.guaranteed[item.name], use.used.get(item.name, 0.0)
            pool = use.pool.pool
            found.append((pool.name, pool.kind, config, min(config, total), total))
    return found


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
    rows = [_row(use) for use in uses]
    if format == "json":
        return json_records(_pool_record(use, row) for use, row in zip(uses, rows, strict=True))
    if format == "csv":
        return csv_rows([column.lower() for column in COLUMNS], rows)
    if not uses:
        return "No guaranteed resource pool is configured.\n"
    if asked.long:
        return "\n".join(map(_pool_text, uses))
    return text_table(COLUMNS, rows, "<<<>>>>>")


def _row(use: GuaranteedUse) -> tuple[Any, ...]:
    pool = use.pool
    config, unused = sum(pool.guaranteed.values()), sum(use.unused.values())
    loaned = max(0.0, unused - use.free)
    return (
        pool.pool.name,
        pool.pool.kind,
        _status(use),
        pool.total,
        use.free,
        config,
        unused,
        loaned,
    )


def _status(use: GuaranteedUse) -> str:
    return "ok" if sum(use.pool.guaranteed.values()) <= use.pool.total else "overcommitted"


def _pool_record(use: GuaranteedUse, row: tuple[Any, ...]) -> dict[str, Any]:
    pool = use.pool.pool
    consumers = [
        {"class": name, "config": amount, "used": min(amount, use.used.get(name, 0.0))}
        | {"total_used": use.used.get(name, 0.0)}
        for name, amount in use.pool.guaranteed.items()
    ]
    return {
        **dict(zip(COLUMNS, row, strict=True)),
        "type": pool_type(pool.type),
        "hosts": list(pool.hosts) or ["all"],
        "distribution": distribution_text(pool.distribution),
        "loan_policies": loans_text(pool.loans),
        "consumers": consumers,
    }


def _pool_text(use: GuaranteedUse) -> str:
    """Return a pool as bresources -g -l prints it without SIMPLIFIED_GUARANTEE."""
    pool = use.pool.pool
    used = sum(min(amount, use.used.get(name, 0.0)) for name, amount in use.pool.guaranteed.items())
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
        ("GUARANTEE USED", used),
    )
    text += "".join(f"  {name:<22}{amount:>8g}\n" for name, amount in summary)
    rows = [
        (name, amount, min(amount, use.used.get(name, 0.0)), use.used.get(name, 0.0))
        for name, amount in use.pool.guaranteed.items()
    ]
    columns = ("CONSUMERS", "GUAR CONFIG", "GUAR USED", "TOTAL USED")
    return f"{text}\n{text_table(columns, rows, '<>>>')}"


def _pool_uses(snapshot: Snapshot) -> list[GuaranteedUse]:
    """Return the use of each guaranteed pool by the running jobs of a snapshot."""
    from ...solver.resolve import Resolver
    from ...solver.rules.eligibility import InitialSituation

    return InitialSituation(snapshot.instance, Resolver.of(snapshot.instance)).pool_uses
