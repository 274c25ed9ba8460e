"""Jobs in the words of LSF's ``bjobs``: what runs, and what waits with what (VEW-01, VEW-06)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from ..model.allocation import FORMATTERS, AllocationFormatter, allocation_text
from ..model.job import Job
from ..model.resreq import requested
from ..model.time_text import clock_text, wall_clock
from ..solver.loop.snapshot import PendingJob
from .array_views import arrays
from .gpu_views import gpu_lines
from .plain_tables import csv_rows, json_records, plain_table
from .queue_views import thresholds_table

if TYPE_CHECKING:
    from ..model.instance import Instance
    from ..model.job import RunningJob
    from ..solver.loop.records import JobRecord
    from ..solver.loop.snapshot import Snapshot
    from .view_options import ViewOptions

Number = TypeVar("Number", int, float)

COLUMNS = (
    *("JOBID", "USER", "STAT", "QUEUE", "FROM_HOST", "EXEC_HOST", "JOB_NAME"),
    *("SUBMIT_TIME",),
)


def bjobs(moment: Snapshot, asked: ViewOptions, format: str) -> str:
    """Running, then pending jobs: one line each, or everything about each."""
    if asked.arrays:
        return arrays(moment, asked, format)
    instance = moment.instance
    running, pending, ended = selected(moment, asked)
    if format != "text":
        records = [
            *(_running_record(item) for item in running),
            *(_record(job, "PEND", moment.waiting[job.id]) for job in pending),
            *(_ended_record(moment, item) for item in ended),
        ]
        if format == "json":
            return json_records(records)
        rows = [tuple(_flat(value) for value in record.values()) for record in records]
        return csv_rows(list(_record(Job(""), "", PendingJob())), rows)
    if not running and not pending and not ended:
        return f"No {_what(asked)} job found\n"
    if not asked.long:
        rows = [
            *(_row(instance, item.job, _status(item), item.allocation) for item in running),
            *(_row(instance, job, "PEND", {}) for job in pending),
            *(_row(instance, moment.jobs[r.job], ending(r), r.hosts) for r in ended),
        ]
        table = plain_table(COLUMNS, rows, "<" * len(COLUMNS))
        return _with_reasons(table, moment, running, pending) if asked.pending else table
    text = FORMATTERS[asked.alloc]
    return ("\n" + "-" * 78 + "\n\n").join(
        [
            *("".join(f"{line}\n" for line in _running_text(instance, item)) for item in running),
            *(_pending_text(instance, job, moment.waiting[job.id], text) for job in pending),
            *("".join(f"{line}\n" for line in _ended_text(moment, item)) for item in ended),
        ]
    )


def selected(
    moment: Snapshot, asked: ViewOptions
) -> tuple[list[RunningJob], list[Job], list[JobRecord]]:
    """The jobs that run (or are suspended), wait and have ended, of those asked for."""
    instance = moment.instance

    def wanted(job: Job, hosts: Mapping[str, int]) -> bool:
        return asked.wants_job(job.id, job.user, job.queue, frozenset(hosts))

    state = asked.any_state
    running = [
        item
        for item in instance.running
        if (not state or (asked.suspended if item.suspended else asked.running))
        and wanted(item.job, item.allocation)
    ]
    pending = [job for job in instance.pending if (not state or asked.pending) and wanted(job, {})]
    ended = [
        record
        for record in moment.finished
        if (asked.ended or asked.everything) and wanted(moment.jobs[record.job], record.hosts)
    ]
    return running, pending, ended


def _what(asked: ViewOptions) -> str:
    kinds = {
        "running": asked.running,
        "pending": asked.pending,
        "suspended": asked.suspended,
        "finished": asked.ended,
    }
    return " or ".join(name for name, wanted in kinds.items() if wanted) or "unfinished"


def _with_reasons(
    table: str, moment: Snapshot, running: Sequence[RunningJob], pending: Sequence[Job]
) -> str:
    """The short table with the reasons of each job below its line, as ``bjobs -p`` has them."""
    lines = table.splitlines()
    first = 1 + len(running)
    shown = lines[:first]
    for line, job in zip(lines[first:], pending, strict=False):
        reasons = moment.waiting[job.id].reasons
        shown += [line, *(f" {reason.text(counted=True)};" for reason in reasons)]
    return "".join(f"{line}\n" for line in [*shown, *lines[first + len(pending) :]])


def _status(item: RunningJob) -> str:
    return "USUSP" if item.suspended else "RUN"


def _row(
    instance: Instance, job: Job, status: str, where: Mapping[str, int]
) -> tuple[str | None, ...]:
    hosts = ":".join(places(instance, where)) or None
    name, time = job.shown_name or None, stamp(instance, job.submit)
    number = job.array_id or job.id  # the index stands in the name
    return (number, job.user, status, job.queue, job.from_host or None, hosts, name, time)


def ending(record: JobRecord) -> str:
    """The state of a job that has ended."""
    return "DONE" if record.status == "done" else "EXIT"


def _running_record(item: RunningJob) -> dict[str, Any]:
    """Times in seconds."""
    record = _record(item.job, _status(item), PendingJob())
    return record | {"slots": item.slots, "start": item.start, "hosts": dict(item.allocation)}


def _ended_record(moment: Snapshot, item: JobRecord) -> dict[str, Any]:
    record = _record(moment.jobs[item.job], ending(item), PendingJob())
    hosts = dict(item.hosts)
    return record | {"slots": item.procs, "start": item.start, "end": item.end, "hosts": hosts}


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
        "end": None,
        "hosts": {},
        "reserved_slots": dict(waiting.slots),
        "reserved_memory": dict(waiting.memory),
        "reserved_since": waiting.since,
        "estimate": waiting.estimate,
        "allocation": dict(waiting.allocation),
        "reason": waiting.reason,
        "reasons": [reason.to_dict() for reason in waiting.reasons],
    }


def _reason_text(reason: Mapping[str, Any]) -> str:
    return f"{reason['reason']}{': ' if reason['hosts'] else ''}{', '.join(reason['hosts'])}"


def _flat(value: object) -> object:
    if isinstance(value, list):
        return "; ".join(_reason_text(item) for item in value)
    if isinstance(value, dict):
        return " ".join(f"{amount:g}*{host}" for host, amount in value.items())
    return value


def _running_text(instance: Instance, item: RunningJob) -> Iterator[str]:
    yield from head_lines(instance, item.job, _status(item))
    where = "> <".join(places(instance, item.allocation))
    yield f"{stamp(instance, item.start)}: Started on <{where}>;"
    yield from gpu_lines(instance, item.job, item.allocation)


def _ended_text(moment: Snapshot, item: JobRecord) -> Iterator[str]:
    instance = moment.instance
    yield from head_lines(instance, moment.jobs[item.job], ending(item))
    assert item.start is not None
    assert item.end is not None
    where = "> <".join(places(instance, item.hosts))
    yield f"{stamp(instance, item.start)}: Started on <{where}>;"
    if item.status != "done":
        words = "Exited; TERM_RUNLIMIT: job killed after reaching LSF run time limit."
    elif (cpu := moment.jobs[item.job].cpu_time) is None:
        words = "Done successfully."
    else:
        words = f"Done successfully. The CPU time used is {cpu:.1f} seconds."
    yield f"{stamp(instance, item.end)}: {words}"


def places(instance: Instance, allocation: Mapping[str, int]) -> list[str]:
    """``2*hostA``, ``1*hostB``; of a job with one slot the host alone."""
    held = by_machine(instance, allocation)
    return list(held) if sum(held.values()) == 1 else allocation_text(held).split()


def by_machine(instance: Instance, amounts: Mapping[str, Number]) -> dict[str, Number]:
    """Amounts by host as LSF shows them: nodes count for the machine that they are in."""
    machine = {host.name: host.node_of for host in instance.cluster.hosts if host.node_of}
    found: dict[str, Number] = {}
    for host, amount in amounts.items():
        name = machine.get(host, host)
        found[name] = found[name] + amount if name in found else amount
    return found


def head_lines(instance: Instance, job: Job, status: str) -> Iterator[str]:
    """The job, what it asks for, and its run limit or its queue's.

    status: with the queue on the first line; "" leaves both out, as bhist does.
    """
    priority = f", Job Priority <{job.priority}>" if job.priority else ""
    extsched = f", Extsched <{job.extsched}>" if job.extsched else ""
    name = f", Job Name <{job.shown_name}>" if job.shown_name else ""
    group = f", User Group <{job.group}>" if job.group else ""
    state = f", Status <{status}>, Queue <{job.queue}>" if status else ""
    yield (
        f"Job <{job.id}>{name}, User <{job.user}>{group}, Project <{job.project}>{state}"
        f"{priority}{extsched}"
    )
    home = f" from host <{job.from_host}>" if job.from_host else ""
    asks = []
    if job.most_slots > 1:
        count = f"{job.slots}" if job.max_slots is None else f"{job.slots},{job.max_slots}"
        asks.append(f", {count} Processors Requested")
    if job.res_req:
        asks.append(f", Requested Resources <{requested(instance, job)}>")
    if job.gpu:
        asks.append(f", Requested GPU <{job.gpu}>")
    if job.hosts:
        asks.append(f", Specified Hosts {', '.join(f'<{host.name}>' for host in job.hosts)}")
    if job.dependency:
        asks.append(f", Dependency Condition <{job.dependency}>")
    yield f"{stamp(instance, job.submit)}: Submitted{home}{''.join(asks)};"
    limit = job.run_limit if job.run_limit is not None else instance.queue(job.queue).run_limit
    if limit is not None:
        yield " RUNLIMIT"
        yield f" {limit / 60:.1f} min"


def _pending_text(
    instance: Instance, job: Job, waiting: PendingJob, alloc: AllocationFormatter
) -> str:
    if job.extsched.startswith("RMS["):
        alloc = FORMATTERS["rms"]
    since = instance.now if waiting.since is None else waiting.since
    held = reserved_lines(instance, since, waiting.slots, waiting.memory)
    lines = [*head_lines(instance, job, "PEND"), *held]
    if waiting.estimate is not None:
        says = (
            f"Estimated Job Start Time; {alloc(waiting.allocation)}"
            if waiting.allocation
            else "Job will start no sooner than indicated time stamp;"
        )
        lines.append(f"{stamp(instance, waiting.estimate)}: {says}")
    if waiting.reasons:
        lines += ["", " PENDING REASONS:", *(f" {item.text()};" for item in waiting.reasons)]
    text = "".join(f"{line}\n" for line in lines)
    table = thresholds_table(instance, instance.queue(job.queue))
    gpus = "".join(f"{line}\n" for line in gpu_lines(instance, job))
    limits = "".join(f" {line}\n" for line in table.splitlines())
    return f"{text}\n SCHEDULING PARAMETERS\n{limits}{gpus}"


def reserved_lines(
    instance: Instance, time: int, slots: Mapping[str, int], memory: Mapping[str, float]
) -> Iterator[str]:
    """What a pending job holds since `time`: slots, and memory (MB)."""
    slots, memory = by_machine(instance, slots), by_machine(instance, memory)
    since, count = stamp(instance, time), sum(slots.values())
    if count == 1:
        yield f"{since}: Reserved <1> job slot on host <{next(iter(slots))}>;"
    elif count:
        yield f"{since}: Reserved <{count}> job slots on host(s) <{allocation_text(slots)}>;"
    if memory:
        where = " ".join(f"{amount:g}M*{host}" for host, amount in memory.items())
        hosts = "host" if len(memory) == 1 else "host(s)"
        total = sum(memory.values())
        yield f"{since}: Reserved <{total:g}> megabyte memory on {hosts} <{where}>;"


def stamp(instance: Instance, time: int) -> str:
    """``Fri Apr 22 15:18:56``; where the instance has no origin, how long from now."""
    moment = None if instance.origin is None else wall_clock(instance.origin, time)
    if moment is None:
        return clock_text(instance, time)
    return moment.strftime("%a %b %d %H:%M:%S")
