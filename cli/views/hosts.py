"""Hosts in the words of LSF's ``bhosts``, ``bhosts -gpu`` and ``bmgroup`` (VEW-02, VEW-05).

LSF numbers the GPUs of a host and says which one a job has. Here jobs get the lowest numbers that
are free, in the order in which they started.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from ...model.cluster import BUILTIN_INDICES, Host
from ...model.errors import InputError
from ...model.instance import Instance
from ...model.job import Job, RunningJob
from ...solver.scheduler.history import HostLoad, Snapshot
from ..selection import ViewOptions
from ..tables import csv_rows, json_records, lower_keys, text_table, view_text
from .limits import shared_resources

GPU_COLUMNS = ("HOST_NAME", "GPU_ID", "MODEL", "MUSED", "MRSV", "NJOBS", "RUN", "SUSP", "RSV")


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


def bhosts_gpu(snapshot: Snapshot, asked: ViewOptions, format: str) -> str:
    """Return a row for each GPU of each host, with its job."""
    instance = snapshot.instance
    rows = []
    for host in instance.cluster.hosts:
        holders = _holders(instance, host) if asked.wants(host.name) else []
        for number, holder in enumerate(holders):
            model = host.gpus.model if host.gpus is not None else ""
            run = int(holder is not None and not holder.suspended)
            suspended = int(holder is not None and holder.suspended)
            held = run + suspended
            name = "" if format == "text" and number else host.name
            row = (name, number, model or None, None, None, held, run, suspended, 0)
            rows.append(dict(zip(GPU_COLUMNS, row, strict=True)))
    none, whole = "No host has GPUs.\n", lower_keys(rows)
    return view_text(format, GPU_COLUMNS, rows, "<" + ">" * 8, none, instance, whole)


def _holders(instance: Instance, host: Host) -> list[RunningJob | None]:
    """Return the job of each GPU of a host, None if the GPU is free."""
    found: list[RunningJob | None] = [None] * round(host.gpu_count or 0)
    for item in sorted(instance.running, key=lambda run: (run.start, run.job.id)):
        free = [number for number, holder in enumerate(found) if holder is None]
        for number in free[: _held(instance, item.job, item.allocation.get(host.name, 0))]:
            found[number] = item
    return found


def _held(instance: Instance, job: Job, slots: int) -> int:
    from ...model.resreq import RequirementMerging

    try:
        return RequirementMerging.of(instance).gpus_held(job, slots) if slots else 0
    except InputError:
        return 0


def gpu_lines(
    instance: Instance, job: Job, allocation: Mapping[str, int] | None = None
) -> Iterator[str]:
    """Yield the lines of bjobs -l on the GPUs of a job, none for a job without GPUs."""
    from ...model.resreq import RequirementMerging

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
        yield from (f" {line}" for line in text_table(ALLOCATION, rows, "<" * 9).splitlines())


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


HOST_COLUMNS = ("HOST_NAME", "STATUS", "JL/U", "MAX", "NJOBS", "RUN", "SSUSP", "USUSP", "RSV")


HOST_LONG_COLUMNS = (
    *("STATUS", "CPUF", "JL/U", "MAX", "NJOBS", "RUN", "SSUSP", "USUSP", "RSV"),
    *("DISPATCH_WINDOW",),
)


SIZES = frozenset({"tmp", "swp", "mem"})


def bhosts(snapshot: Snapshot, asked: ViewOptions, format: str) -> str:
    """Return hosts with used and reserved slots, and in the long form their resources."""
    if asked.shared:
        return shared_resources(snapshot, asked, format)
    if asked.gpus:
        return bhosts_gpu(snapshot, asked, format)
    hosts = [host for host in snapshot.instance.cluster.hosts if asked.wants(host.name)]
    rows, loads = [numbers(snapshot, host) for host in hosts], snapshot.hosts
    if format == "text" and asked.long:
        sides = "<" + ">" * 8 + "<"
        return "\n".join(
            f"HOST  {row['HOST_NAME']}\n"
            + view_text(format, HOST_LONG_COLUMNS, [row], sides, None, snapshot.instance)
            + "\n CURRENT LOAD USED FOR SCHEDULING:\n"
            + _load(loads[row["HOST_NAME"]])
            for row in rows
        )
    whole = [{**row, **asdict(loads[row["HOST_NAME"]])} for row in rows]
    if format == "text":  # the short form says that a host is closed, the long one why
        rows = [{**row, "STATUS": row["STATUS"].partition("_")[0]} for row in rows]
    return view_text(format, HOST_COLUMNS, rows, "<<>>>>>>>", None, snapshot.instance, whole)


def numbers(snapshot: Snapshot, host: Host) -> dict[str, Any]:
    """Return the columns of a host, counted in slots; all suspended jobs are one count."""
    run = suspended = 0
    for item in snapshot.instance.running:
        slots = item.allocation.get(host.name, 0)
        suspended += slots if item.suspended else 0
        run += 0 if item.suspended else slots
    reserved = snapshot.hosts[host.name].slots
    held = run + suspended + reserved
    return {
        "HOST_NAME": host.name,
        "STATUS": "closed_Full" if host.status == "ok" and held >= host.slots else host.status,
        "CPUF": f"{host.cpu_factor:.2f}",
        "JL/U": host.user_slots,
        "MAX": host.slots if host.mxj_defined else None,
        "NJOBS": held,
        "RUN": run,
        "SSUSP": 0,
        "USUSP": suspended,
        "RSV": reserved,
        "DISPATCH_WINDOW": host.windows or None,
    }


def _load(load: HostLoad) -> str:
    """Return rows Total and Reserved of built-in indices, then of the site's resources."""
    own = tuple(name for name in load.total if name not in BUILTIN_INDICES)
    tables = []
    for names in (BUILTIN_INDICES, own):
        rows = [
            ("Total", *(_amount(name, load.total[name]) for name in names)),
            ("Reserved", *(_amount(name, load.reserved[name]) for name in names)),
        ]
        if names:
            tables.append(text_table((" ", *names), rows, "<" + ">" * len(names)))
    return "\n".join("".join(f" {line}\n" for line in table.splitlines()) for table in tables)


def _amount(name: str, value: float | None) -> str | None:
    """Return a value of a load index as text: ``1.5``, ``91%``, ``911M``."""
    if value is None:
        return None
    if name in SIZES:
        return f"{value:.0f}M"
    if name == "ut":
        return f"{value:.0%}"
    return f"{value:.0f}" if name in ("io", "ls", "it") else f"{value:.1f}"


def bmgroup(snapshot: Snapshot, asked: ViewOptions, format: str) -> str:
    """Return host groups with their hosts; the reader has expanded groups of groups."""
    groups = [group for group in snapshot.instance.cluster.groups if asked.wants(group.name)]
    if format == "json":
        return json_records({"name": group.name, "hosts": group.members} for group in groups)
    rows = [(group.name, " ".join(group.members)) for group in groups]
    if format == "csv":
        return csv_rows(("group", "hosts"), rows)
    if not rows:
        return "No host group is configured.\n"
    return text_table(("GROUP_NAME", "HOSTS"), rows, "<<")
