"""Metrics and jobs of replays as text, JSON, CSV and records."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from .options import Format
from .tables import csv_rows, dashed, plain_metric, text_table

if TYPE_CHECKING:
    from ..solver.replay import ReplayComparison

#: Metrics in a table of groups, and their titles.
_OF_GROUPS = {
    "jobs": "JOBS",
    "mean_wait": "MEAN WAIT",
    "p95_wait": "P95 WAIT",
    "mean_bounded_slowdown": "SLOWDOWN",
    "area_weighted_slowdown": "BY AREA",
    "arrival_utilisation": "UTILISATION",
    "delayed_share": "DELAYED",
    "mean_delay": "MEAN DELAY",
}
_LOW, _HIGH = "_low", "_high"


def job_records(compared: ReplayComparison) -> Iterator[dict[str, Any]]:
    """Yield one record per job in the order of the log; of several policies, with their names."""
    for result in compared:
        columns = {name: column.tolist() for name, column in result.columns().items()}
        head = {"policy": result.policy} if len(compared) > 1 else {}
        for row in zip(*columns.values(), strict=True):
            yield head | dict(zip(columns, row, strict=True))


def rendered(compared: ReplayComparison, format: Format) -> str:
    """Return the metrics of one replay as one record, of several as one table."""
    workload = compared.results[0].workload
    records = [{"log": workload.source, **record} for record in compared.to_records()]
    skipped = {"left_out": dict(workload.left_out)}
    if format == "csv":
        rows = [list(record.values()) for record in records]
        return csv_rows(list(records[0]), rows).rstrip("\n")
    if len(compared) > 1:
        if format == "json":
            return json.dumps(skipped | {"rows": records}, indent=2)
        return _comparison(records)
    first, *groups = records
    for name in ("by", "group"):
        first.pop(name, None)
    if format == "json":
        for group in groups:
            del group["log"], group["policy"], group["schedule_after"]
        more = {"groups": groups} if compared.measuring.by else {}
        return json.dumps(first | skipped | more, indent=2)
    names = [name for name in first if _is_row(name)]
    width = max(map(len, names))
    lines = [f"{name:<{width}}  {_line(name, first)}" for name in names]
    return "\n".join(lines) + _groups(groups, ())


def _is_row(name: str) -> bool:
    """Return whether a metric has a line of its own: the limits of an interval have not."""
    return not name.endswith((_LOW, _HIGH))


def _line(name: str, record: Mapping[str, Any]) -> str:
    limits = _interval(name, record)
    return plain_metric(name, record[name]) + (f"  95 % interval {limits}" if limits else "")


def _interval(name: str, record: Mapping[str, Any]) -> str:
    low, high = record.get(name + _LOW), record.get(name + _HIGH)
    return "" if low is None else f"{_number(name, low)} to {_number(name, high)}"


def _number(name: str, value: object) -> str:
    """Return a time in seconds with 1 decimal, a ratio with 4, and anything else as it is."""
    if not isinstance(value, float):
        return dashed(value)
    return f"{value:.1f}" if name.endswith(("wait", "delay")) else f"{value:.4f}"


def _comparison(records: list[dict[str, Any]]) -> str:
    """Return a table with a column for each policy, then a table for each kind of groups."""
    whole = [record for record in records if record.get("by", "all") == "all"]
    rows: list[list[str]] = []
    for name in whole[0]:
        if not _is_row(name) or name in ("log", "policy", "by", "group"):
            continue
        rows.append([name, *(_number(name, record[name]) for record in whole)])
        limits = [_interval(name, record) for record in whole]
        if any(limits):
            rows.append(["  95 % interval", *limits])
    head = ["", *(record["policy"] for record in whole)]
    table = text_table(head, rows, "<" + ">" * len(whole)).rstrip("\n")
    grouped = [record for record in records if record.get("by", "all") != "all"]
    return f"log  {whole[0]['log']}\n{table}" + _groups(grouped, ("policy",))


def _groups(records: Iterable[Mapping[str, Any]], more: tuple[str, ...]) -> str:
    """Return a table for each kind of groups, after an empty line each."""
    found = ""
    kinds: dict[str, list[Mapping[str, Any]]] = {}
    for record in records:
        kinds.setdefault(record["by"], []).append(record)
    for kind, rows in kinds.items():
        # Policies of one group are next to each other; groups keep their order.
        order = list(dict.fromkeys(row["group"] for row in rows))
        rows.sort(key=lambda row: order.index(row["group"]))
        head = [kind.upper(), *(name.upper() for name in more), *_OF_GROUPS.values()]
        cells = [
            [row["group"], *(row[name] for name in more)]
            + [_number(name, row[name]) for name in _OF_GROUPS]
            for row in rows
        ]
        sides = "<" * (1 + len(more)) + ">" * len(_OF_GROUPS)
        found += "\n\n" + text_table(head, cells, sides).rstrip("\n")
    return found
