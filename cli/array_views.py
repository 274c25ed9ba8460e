"""Job arrays in the words of ``bjobs -A``: how many elements wait, run and have ended (ARR-04)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..model.array import ArraySpec, ranges_of
from .plain_tables import csv_rows, json_records, plain_table

if TYPE_CHECKING:
    from ..model.job import Job
    from ..solver.loop.snapshot import Snapshot
    from .view_options import ViewOptions

_STATES = ("PEND", "DONE", "RUN", "EXIT", "SSUSP", "USUSP", "PSUSP")
COLUMNS = ("JOBID", "ARRAY_SPEC", "OWNER", "NJOBS", *_STATES)


@dataclass(slots=True)
class _ArrayCount:
    """One array: a job of it, its indices, how many elements are in each state."""

    job: Job
    indices: set[int] = field(default_factory=set)
    states: Counter[str] = field(default_factory=Counter)

    def row(self) -> tuple[str | int, ...]:
        spec = ArraySpec(ranges_of(self.indices), self.job.array_limit)
        counts = (self.states[state] for state in _STATES)
        number = self.job.array_id or self.job.id
        return (number, f"{self.job.name}{spec}", self.job.user, len(self.indices), *counts)


def arrays(moment: Snapshot, asked: ViewOptions, format: str) -> str:
    """A line for each array that has not ended, with -a or -d for each."""
    found: dict[str, _ArrayCount] = {}

    def count(job: Job, state: str) -> None:
        if job.array_id is None or job.array_index is None:
            return
        if asked.wants_job(job.id, job.user, job.queue, frozenset()):
            array = found.setdefault(job.array_id, _ArrayCount(job))
            array.indices.add(job.array_index)
            array.states[state] += 1

    for item in moment.instance.running:
        count(item.job, "USUSP" if item.suspended else "RUN")
    for job in moment.instance.pending:
        count(job, "PEND")
    for record in moment.finished:
        count(moment.jobs[record.job], "DONE" if record.status == "done" else "EXIT")
    ended = asked.everything or asked.ended
    unfinished = [item for item in found.values() if ended or not item.states.keys() <= _ENDED]
    rows = [item.row() for item in unfinished]
    if format == "json":
        return json_records([dict(zip(COLUMNS, row, strict=True)) for row in rows])
    if format == "csv":
        return csv_rows(COLUMNS, rows)
    if not rows:
        return "No job array found\n"
    return plain_table(COLUMNS, rows, "<<<" + ">" * (len(COLUMNS) - 3))


_ENDED = frozenset({"DONE", "EXIT"})
