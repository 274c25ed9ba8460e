"""Advance reservations in the words of LSF's ``brsvs`` (ARV-01)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...model.display import clock_text, wall_clock
from ...model.instance import AdvanceReservation, Instance
from ...model.job import Job
from ...model.reserved_periods import ReservedPeriods, reserved_periods
from ...solver.scheduler.history import Snapshot
from ..selection import ViewOptions
from ..tables import text_table, view_text

COLUMNS = ("RSVID", "TYPE", "USER", "NCPUS", "RSV_HOSTS", "TIME_WINDOW")


def brsvs(snapshot: Snapshot, asked: ViewOptions, format: str) -> str:
    """Return reservations with used and total slots and their times; -l: state and jobs."""
    instance = snapshot.instance
    items = [item for item in instance.advance_reservations if asked.wants(item.name)]
    if format != "text" or not items:
        rows = [_row(instance, item) for item in items]
        whole = (row | _more(snapshot, item) for row, item in zip(rows, items, strict=True))
        return view_text(format, COLUMNS, rows, "", "No reservation found\n", whole=whole)
    if not asked.long:
        return _table(instance, items)
    return "\n".join(_table(instance, [item]) + _long(snapshot, item) for item in items)


def _table(instance: Instance, items: list[AdvanceReservation]) -> str:
    cells: list[list[object]] = []
    for item in items:
        row = _row(instance, item)
        first, *others = row["RSV_HOSTS"].split(" ") if row["RSV_HOSTS"] else ("-",)
        cells.append([*(row[name] for name in COLUMNS[:4]), first, row["TIME_WINDOW"]])
        cells += [["", "", "", "", host, ""] for host in others]
    return text_table(COLUMNS, cells, "<<<<<<", instance)


def _row(instance: Instance, item: AdvanceReservation) -> dict[str, Any]:
    groups = {group.name for group in instance.groups}
    used = dict.fromkeys(item.slots, 0)
    for run in instance.running:
        if run.job.reservation == item.name and not run.suspended:
            for host, slots in run.allocation.items():
                used[host] = used.get(host, 0) + slots
    kind = "group" if groups & set(item.users) else "user" if item.users else "sys"
    return {
        "RSVID": item.name,
        "TYPE": kind,
        "USER": " ".join(item.users) or "system",
        "NCPUS": f"{sum(used.values())}/{sum(item.slots.values())}",
        "RSV_HOSTS": " ".join(f"{host}:{used[host]}/{n}" for host, n in item.slots.items()),
        "TIME_WINDOW": _window(instance, item),
    }


def _window(instance: Instance, item: AdvanceReservation) -> str:
    """Return ``11/12/6/0-11/12/8/0``, or the weekly times of a recurring one and a star."""
    if item.windows:
        return f"{item.windows} *"
    return "-".join(_time(instance, time) for time in (item.start, item.end))


def _time(instance: Instance, time: int) -> str:
    """Return month, day, hour and minute; without an origin a time as in other views."""
    at = None if instance.origin is None else wall_clock(instance.origin, time)
    if at is None:
        return clock_text(instance, time)
    return f"{at.month}/{at.day}/{at.hour}/{at.minute}"


def _more(snapshot: Snapshot, item: AdvanceReservation) -> dict[str, Any]:
    instance = snapshot.instance
    jobs = {
        "PEND": [job for job in instance.pending if job.reservation == item.name],
        "RUN": [run.job for run in _running(instance, item) if not run.suspended],
        "SUSP": [run.job for run in _running(instance, item) if run.suspended],
    }
    over = (snapshot.jobs.get(record.job) for record in snapshot.finished)
    done = [job for job in over if job is not None and job.reservation == item.name]
    periods = reserved_periods(instance, item.name)
    active = periods is not None and periods.is_active(instance.now)
    return {
        "STATUS": "Active" if active else "Inactive",
        "NEXT_ACTIVE_PERIOD": _next(instance, periods),
        "RESERVATION_TYPE": "OPEN" if item.open else "CLOSED",
        "FINISHED": _ids(done),
        **{name: _ids(found) for name, found in jobs.items()},
    }


def _running(instance: Instance, item: AdvanceReservation) -> Iterator[Any]:
    return (run for run in instance.running if run.job.reservation == item.name)


def _ids(jobs: list[Job]) -> str:
    return " ".join(job.id for job in jobs)


def _next(instance: Instance, periods: ReservedPeriods | None) -> str:
    """Return the active period, or the next."""
    coming = () if periods is None else periods.periods
    for start, end in coming:
        if end > instance.now:
            return f"{clock_text(instance, start)} - {clock_text(instance, end)}"
    return ""


def _long(snapshot: Snapshot, item: AdvanceReservation) -> str:
    more = _more(snapshot, item)
    lines = [f" Reservation Status: {more['STATUS']}"]
    if more["NEXT_ACTIVE_PERIOD"]:
        lines += [" Next Active Period:", f"     {more['NEXT_ACTIVE_PERIOD']}"]
    lines.append(f" Reservation Type: {more['RESERVATION_TYPE']}")
    for name in ("FINISHED", "PEND", "RUN", "SUSP"):
        lines.append(f" {name} Jobs: {more[name] or '-'}")
    return "\n".join(lines) + "\n"
