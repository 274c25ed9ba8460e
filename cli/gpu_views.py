"""GPUs in the words of LSF's ``bhosts -gpu`` and ``bjobs -l`` (VEW-02, VEW-05).

LSF numbers the GPUs of a host and says which one a job has. Here jobs get the lowest numbers that
are free, in the order in which they started.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from .plain_tables import csv_rows, json_records, plain_table

if TYPE_CHECKING:
    from ..model.cluster import Host
    from ..model.instance import Instance
    from ..model.job import Job, RunningJob
    from ..solver.loop.snapshot import Snapshot
    from .view_options import ViewOptions

COLUMNS = ("HOST_NAME", "GPU_ID", "MODEL", "MUSED", "MRSV", "NJOBS", "RUN", "SUSP", "RSV")
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
            {name.lower(): value for name, value in zip(COLUMNS, row, strict=True)} for row in rows
        )
    if format == "csv":
        return csv_rows([name.lower() for name in COLUMNS], rows)
    if not rows:
        return "No host has GPUs.\n"
    seen: set[object] = set()
    shown = []
    for row in rows:
        shown.append(("" if row[0] in seen else row[0], *row[1:]))
        seen.add(row[0])
    return plain_table(COLUMNS, shown, "<" + ">" * (len(COLUMNS) - 1))


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
