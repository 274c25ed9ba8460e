"""Absolute priorities in the words of LSF's ``bjobs -aps`` (APS-01)."""

from __future__ import annotations

from typing import Any

from ...model.job import Job
from ...solver.fairshare.absolute_order import AbsoluteValue
from ...solver.scheduler.history import Snapshot
from ..selection import ViewOptions
from ..tables import csv_rows, json_records, text_table
from .jobs import JOB_COLUMNS, job_row, selected


def absolute_values(snapshot: Snapshot) -> list[tuple[Job, AbsoluteValue | None]]:
    """Return pending jobs as bjobs -aps orders them: system values, values, other queues."""
    instance = snapshot.instance
    found: list[tuple[Job, AbsoluteValue]] = []
    rest = list(instance.pending)
    for order in snapshot.order.absolute.values():
        inside = [job for job in rest if job.queue in order.group.queues]
        rest = [job for job in rest if job.queue not in order.group.queues]
        found += order.standings(inside, instance.now)
    found.sort(key=lambda item: (*item[1].key, item[0].submit))
    known = {job.id for job, _ in found}
    others = [job for job in instance.pending if job.id not in known]
    return [*found, *((job, None) for job in sorted(others, key=lambda job: job.submit))]


def bjobs_aps(snapshot: Snapshot, asked: ViewOptions, format: str) -> str:
    """Return the view of pending jobs by absolute priority, a dash in queues without one."""
    wanted = {job.id for job in selected(snapshot, asked)[1]}
    rows = [(job, value) for job, value in absolute_values(snapshot) if job.id in wanted]
    if format != "text":
        records = [_record(job, value) for job, value in rows]
        if format == "json":
            return json_records(records)
        cells = [[*item.values()][:-1] for item in records]
        return csv_rows(list(_record(Job(""), None))[:-1], cells)
    if not rows:
        return "No pending job found\n"
    table = [
        (*job_row(snapshot.instance, job, "PEND", {}), "-" if value is None else str(value))
        for job, value in rows
    ]
    return text_table((*JOB_COLUMNS, "APS"), table, "<" * len(JOB_COLUMNS) + ">", snapshot.instance)


def _record(job: Job, value: AbsoluteValue | None) -> dict[str, Any]:
    return {
        "job": job.id,
        "user": job.user,
        "queue": job.queue,
        "submit": job.submit,
        "aps": None if value is None or value.system is not None else round(value.value, 6),
        "system": None if value is None else value.system,
        "terms": None if value is None else dict(value.terms or {}),
    }
