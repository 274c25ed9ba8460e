"""Jobs in the words of LSF's ``bjobs``: what runs, and what waits with what (VEW-01, VEW-06)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ..model.allocation import FORMATTERS, AllocationFormatter, allocation_text
from ..model.job import Job
from ..model.resreq import requested
from ..model.time_text import clock_text, wall_clock
from ..solver.loop.snapshot import PendingJob
from .plain_tables import csv_rows, json_records, plain_table
from .queue_views import thresholds_table

if TYPE_CHECKING:
    from ..model.instance import Instance
    from ..model.job import RunningJob
    from ..solver.loop.snapshot import Snapshot
    from .view_options import ViewOptions

COLUMNS = (
    *("JOBID", "USER", "STAT", "QUEUE", "FROM_HOST", "EXEC_HOST", "JOB_NAME"),
    *("SUBMIT_TIME",),
)


def bjobs(moment: Snapshot, asked: ViewOptions, format: str) -> str:
    """Running, then pending jobs: one line each, or everything about each."""
    instance = moment.instance
    running = [item for item in instance.running if asked.wants(item.job.id) and not asked.pending]
    pending = [job for job in instance.pending if asked.wants(job.id)]
    if format != "text":
        records = [
            *(_running_record(item) for item in running),
            *(_record(job, "PEND", moment.waiting[job.id]) for job in pending),
        ]
        if format == "json":
            return json_records(records)
        rows = [tuple(_flat(value) for value in record.values()) for record in records]
        return csv_rows(list(_record(Job(""), "", PendingJob())), rows)
    if not running and not pending:
        return "No pending job found\n" if asked.pending else "No unfinished job found\n"
    if not asked.long:
        rows = [
            *(_row(instance, item.job, _status(item), item) for item in running),
            *(_row(instance, job, "PEND", None) for job in pending),
        ]
        return plain_table(COLUMNS, rows, "<" * len(COLUMNS))
    text = FORMATTERS[asked.alloc]
    return ("\n" + "-" * 78 + "\n\n").join(
        [
            *("".join(f"{line}\n" for line in _running_text(instance, item)) for item in running),
            *(_pending_text(instance, job, moment.waiting[job.id], text) for job in pending),
        ]
    )


def _status(item: RunningJob) -> str:
    return "USUSP" if item.suspended else "RUN"


def _row(
    instance: Instance, job: Job, status: str, item: RunningJob | None
) -> tuple[str | None, ...]:
    """An instance has no job names."""
    hosts = None if item is None else ":".join(allocation_text(item.allocation).split())
    time = _stamp(instance, job.submit)
    return (job.id, job.user, status, job.queue, job.from_host or None, hosts, None, time)


def _running_record(item: RunningJob) -> dict[str, Any]:
    """Times in seconds."""
    record = _record(item.job, _status(item), PendingJob())
    return record | {"slots": item.slots, "start": item.start, "hosts": dict(item.allocation)}


def _record(job: Job, status: str, waiting: PendingJob) -> dict[str, Any]:
    """Times in seconds, memory in MB."""
    return {
        "job": job.id,
        "user": job.user,
        "status": status,
        "queue": job.queue,
        "slots": job.slots,
        "submit": job.submit,
        "start": None,
        "hosts": {},
        "reserved_slots": dict(waiting.slots),
        "reserved_memory": dict(waiting.memory),
        "reserved_since": waiting.since,
        "estimate": waiting.estimate,
        "allocation": dict(waiting.allocation),
        "reason": waiting.reason,
    }


def _flat(value: object) -> object:
    if isinstance(value, dict):
        return " ".join(f"{amount:g}*{host}" for host, amount in value.items())
    return value


def _running_text(instance: Instance, item: RunningJob) -> Iterator[str]:
    yield from _head(instance, item.job, _status(item))
    yield f"{_stamp(instance, item.start)}: Started on <{'> <'.join(_places(item.allocation))}>;"


def _places(allocation: Mapping[str, int]) -> list[str]:
    return allocation_text(allocation).split()


def _head(instance: Instance, job: Job, status: str) -> Iterator[str]:
    """The job, what it asks for, and its run limit or its queue's."""
    priority = f", Job Priority <{job.priority}>" if job.priority else ""
    group = f", User Group <{job.group}>" if job.group else ""
    yield (
        f"Job <{job.id}>, User <{job.user}>{group}, Project <{job.project}>, Status <{status}>, "
        f"Queue <{job.queue}>{priority}"
    )
    home = f" from host <{job.from_host}>" if job.from_host else ""
    asks = []
    if job.most_slots > 1:
        count = f"{job.slots}" if job.max_slots is None else f"{job.slots},{job.max_slots}"
        asks.append(f", {count} Processors Requested")
    if job.res_req:
        asks.append(f", Requested Resources <{requested(instance, job)}>")
    if job.hosts:
        asks.append(f", Specified Hosts {', '.join(f'<{host.name}>' for host in job.hosts)}")
    yield f"{_stamp(instance, job.submit)}: Submitted{home}{''.join(asks)};"
    limit = job.run_limit if job.run_limit is not None else instance.queue(job.queue).run_limit
    if limit is not None:
        yield " RUNLIMIT"
        yield f" {limit / 60:.1f} min"


def _pending_text(
    instance: Instance, job: Job, waiting: PendingJob, alloc: AllocationFormatter
) -> str:
    lines = [*_head(instance, job, "PEND"), *_reserved(instance, waiting)]
    if waiting.estimate is not None:
        says = (
            f"Estimated Job Start Time; {alloc(waiting.allocation)}"
            if waiting.allocation
            else "Job will start no sooner than indicated time stamp;"
        )
        lines.append(f"{_stamp(instance, waiting.estimate)}: {says}")
    if waiting.reason:
        lines += ["", " PENDING REASONS:", f" {waiting.reason};"]
    text = "".join(f"{line}\n" for line in lines)
    table = thresholds_table(instance.queue(job.queue))
    return f"{text}\n SCHEDULING PARAMETERS\n" + "".join(
        f" {line}\n" for line in table.splitlines()
    )


def _reserved(instance: Instance, waiting: PendingJob) -> Iterator[str]:
    """Reserved slots since they are held, and reserved memory."""
    since = _stamp(instance, instance.now if waiting.since is None else waiting.since)
    slots = sum(waiting.slots.values())
    if slots == 1:
        yield f"{since}: Reserved <1> job slot on host <{next(iter(waiting.slots))}>;"
    elif slots:
        where = allocation_text(waiting.slots)
        yield f"{since}: Reserved <{slots}> job slots on host(s) <{where}>;"
    if waiting.memory:
        where = " ".join(f"{amount:g}M*{host}" for host, amount in waiting.memory.items())
        hosts = "host" if len(waiting.memory) == 1 else "host(s)"
        total = sum(waiting.memory.values())
        yield f"{since}: Reserved <{total:g}> megabyte memory on {hosts} <{where}>;"


def _stamp(instance: Instance, time: int) -> str:
    """``Fri Apr 22 15:18:56``; where the instance has no origin, how long from now."""
    moment = None if instance.origin is None else wall_clock(instance.origin, time)
    if moment is None:
        return clock_text(instance, time)
    return moment.strftime("%a %b %d %H:%M:%S")
