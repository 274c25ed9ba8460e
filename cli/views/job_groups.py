"""Job groups in the words of LSF's ``bjgroup`` (GRP-01)."""

from __future__ import annotations

from typing import Any

from ...model.instance import Instance
from ...model.job import job_groups_of
from ...solver.scheduler.history import Snapshot
from ..selection import ViewOptions
from ..tables import csv_rows, json_records, text_table

COLUMNS = ("GROUP_NAME", "NJOBS", "PEND", "RUN", "SSUSP", "USUSP", "FINISH", "JLIMIT")


def known_job_groups(instance: Instance) -> list[str]:
    """Return the job groups of entries and of jobs with their parents, by level and name."""
    named = {job.job_group for job in instance.jobs if job.job_group}
    named |= {group.name for group in instance.job_groups}
    found = {group for name in named for group in job_groups_of(name)}
    return sorted(found, key=lambda name: (name.count("/"), name))


def bjgroup(snapshot: Snapshot, asked: ViewOptions, format: str) -> str:
    """Return job groups with their limits and the jobs of the group and of those below."""
    names = known_job_groups(snapshot.instance)
    rows = [_row(snapshot, name) for name in names if asked.wants(name)]
    if format == "json":
        return json_records(rows)
    cells = [[row[name] for name in COLUMNS] for row in rows]
    if format == "csv":
        return csv_rows([column.lower() for column in COLUMNS], cells)
    return text_table(COLUMNS, cells, "<" + ">" * 7) if rows else "No job group found\n"


def _row(snapshot: Snapshot, name: str) -> dict[str, Any]:
    """Return the job counts of a group; all suspended jobs are one count."""
    instance = snapshot.instance
    running = [item for item in instance.running if name in job_groups_of(item.job.job_group)]
    pending = sum(name in job_groups_of(job.job_group) for job in instance.pending)
    finished = sum(
        name in job_groups_of(snapshot.jobs[record.job].job_group)
        for record in snapshot.finished
        if record.job in snapshot.jobs
    )
    suspended = sum(item.suspended for item in running)
    limits = {group.name: group.limit for group in instance.job_groups}
    limit = limits.get(name)
    return {
        "GROUP_NAME": name,
        "NJOBS": pending + len(running) + finished,
        "PEND": pending,
        "RUN": len(running) - suspended,
        "SSUSP": 0,
        "USUSP": suspended,
        "FINISH": finished,
        "JLIMIT": f"{len(running)}/{'-' if limit is None else limit}",
    }
