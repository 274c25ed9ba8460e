"""Jobs as LSF's ``bjobs`` (VEW-01, VEW-06) and ``bhist`` (VEW-08) print them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

from ...model.display import clock_text, data_of, wall_clock, with_stamps
from ...model.duration import granted_run_limit, last_start
from ...model.job import ArraySpec, Job, ranges_of
from ...model.pending import bjobs_text
from ...model.plan import FORMATTERS, AllocationFormatter, allocation_text
from ...model.resreq import requested
from ...solver.fairshare.absolute_order import AbsoluteValue
from ...solver.scheduler.history import PendingJob, Snapshot
from ..selection import ViewOptions
from ..tables import csv_rows, json_records, text_table
from .hosts import gpu_lines
from .queues import thresholds_table

if TYPE_CHECKING:
    from ...model.instance import Instance
    from ...model.job import RunningJob
    from ...model.omissions import Omission
    from ...solver.scheduler.history import JobEvent, JobHistory
    from ...solver.scheduler.records import JobRecord


#: The columns of ``bjobs -A``: how many elements wait, run and have finished (ARR-04).
_STATES = ("PEND", "DONE", "RUN", "EXIT", "SSUSP", "USUSP", "PSUSP")


ARRAY_COLUMNS = ("JOBID", "ARRAY_SPEC", "OWNER", "NJOBS", *_STATES)


@dataclass(slots=True)
class _ArrayCount:
    """One array: a job of it, its indices, and the number of elements in each state."""

    job: Job
    indices: set[int] = field(default_factory=set)
    states: Counter[str] = field(default_factory=Counter)

    def row(self) -> tuple[str | int, ...]:
        spec = ArraySpec(ranges_of(self.indices), self.job.array_limit)
        counts = (self.states[state] for state in _STATES)
        number = self.job.array_id or self.job.id
        return (number, f"{self.job.name}{spec}", self.job.user, len(self.indices), *counts)


def arrays(snapshot: Snapshot, asked: ViewOptions, format: str) -> str:
    """Return a line for each unfinished array, with -a or -d for every array."""
    found: dict[str, _ArrayCount] = {}

    def count(job: Job, state: str) -> None:
        if job.array_id is None or job.array_index is None:
            return
        if asked.wants_job(job.id, job.user, job.queue, frozenset()):
            array = found.setdefault(job.array_id, _ArrayCount(job))
            array.indices.add(job.array_index)
            array.states[state] += 1

    for item in snapshot.instance.running:
        count(item.job, "USUSP" if item.suspended else "RUN")
    for job in snapshot.instance.pending:
        count(job, "PEND")
    for record in snapshot.finished:
        count(snapshot.jobs[record.job], "DONE" if record.status == "done" else "EXIT")
    ended = asked.everything or asked.ended
    unfinished = [item for item in found.values() if ended or not item.states.keys() <= _ENDED]
    rows = [item.row() for item in unfinished]
    if format == "json":
        return json_records([dict(zip(ARRAY_COLUMNS, row, strict=True)) for row in rows])
    if format == "csv":
        return csv_rows(ARRAY_COLUMNS, rows)
    if not rows:
        return "No job array found\n"
    return text_table(ARRAY_COLUMNS, rows, "<<<" + ">" * (len(ARRAY_COLUMNS) - 3))


_ENDED = frozenset({"DONE", "EXIT"})


Number = TypeVar("Number", int, float)


JOB_COLUMNS = (
    *("JOBID", "USER", "STAT", "QUEUE", "FROM_HOST", "EXEC_HOST", "JOB_NAME"),
    *("SUBMIT_TIME",),
)


#: Empty: no job with omissions.
NOTHING: Mapping[str, Sequence[Omission]] = {}


def bjobs(
    snapshot: Snapshot,
    asked: ViewOptions,
    format: str,
    cautions: Mapping[str, Sequence[Omission]] = NOTHING,
) -> str:
    """Return running, then pending jobs: one line for each, or the long form.

    cautions: omissions of the jobs that were to start, by job.
    """
    if asked.arrays:
        return arrays(snapshot, asked, format)
    instance = snapshot.instance
    running, pending, ended = selected(snapshot, asked)
    if format != "text":
        records = [
            *(_running_record(item) for item in running),
            *(_record(job, "PEND", snapshot.waiting[job.id]) for job in pending),
            *(_ended_record(snapshot, item) for item in ended),
        ]
        for record in records:
            record["cautions"] = [item.name for item in cautions.get(record["job"], ())]
        if format == "json":
            return json_records(records)
        rows = [tuple(_flat(value) for value in record.values()) for record in records]
        return csv_rows(list(_record(Job(""), "", PendingJob())), rows)
    if not running and not pending and not ended:
        return f"No {_what(asked)} job found\n"
    if not asked.long:
        rows = [
            *(job_row(instance, item.job, _status(item), item.allocation) for item in running),
            *(job_row(instance, job, "PEND", {}) for job in pending),
            *(job_row(instance, snapshot.jobs[r.job], ending(r), r.hosts) for r in ended),
        ]
        table = text_table(JOB_COLUMNS, rows, "<" * len(JOB_COLUMNS), instance)
        return _with_reasons(table, snapshot, running, pending) if asked.pending else table
    text = FORMATTERS[asked.alloc]
    return ("\n" + "-" * 78 + "\n\n").join(
        [
            *("".join(f"{line}\n" for line in _running_text(instance, item)) for item in running),
            *(_pending_text(instance, job, snapshot.waiting[job.id], text) for job in pending),
            *("".join(f"{line}\n" for line in _ended_text(snapshot, item)) for item in ended),
        ]
    )


def selected(
    snapshot: Snapshot, asked: ViewOptions
) -> tuple[list[RunningJob], list[Job], list[JobRecord]]:
    """Return the requested jobs that run (or are suspended), wait and have finished."""
    instance = snapshot.instance

    def wanted(job: Job, hosts: Mapping[str, int]) -> bool:
        return asked.wants_job(job.id, job.user, job.queue, frozenset(hosts))

    state = asked.any_state
    running = [
        _submitted_by_its_start(item)
        for item in instance.running
        if (not state or (asked.suspended if item.suspended else asked.running))
        and wanted(item.job, item.allocation)
    ]
    pending = [job for job in instance.pending if (not state or asked.pending) and wanted(job, {})]
    ended = [
        record
        for record in snapshot.finished
        if (asked.ended or asked.everything) and wanted(snapshot.jobs[record.job], record.hosts)
    ]
    return running, pending, ended


def _submitted_by_its_start(item: RunningJob) -> RunningJob:
    """Return the job with a submission no later than its start, in case none is known (0)."""
    if item.job.submit <= item.start:
        return item
    return replace(item, job=replace(item.job, submit=item.start))


def _what(asked: ViewOptions) -> str:
    kinds = {
        "running": asked.running,
        "pending": asked.pending,
        "suspended": asked.suspended,
        "finished": asked.ended,
    }
    return " or ".join(name for name, wanted in kinds.items() if wanted) or "unfinished"


def _with_reasons(
    table: str, snapshot: Snapshot, running: Sequence[RunningJob], pending: Sequence[Job]
) -> str:
    """Return the short table with the reasons of each job below its line, as ``bjobs -p``."""
    lines = table.splitlines()
    first = 1 + len(running)
    shown = lines[:first]
    for line, job in zip(lines[first:], pending, strict=False):
        reasons = snapshot.waiting[job.id].reasons
        shown += [line, *(f" {bjobs_text(reason, counted=True)};" for reason in reasons)]
    return "".join(f"{line}\n" for line in [*shown, *lines[first + len(pending) :]])


def _status(item: RunningJob) -> str:
    return "USUSP" if item.suspended else "RUN"


def job_row(
    instance: Instance, job: Job, status: str, where: Mapping[str, int]
) -> tuple[str | None, ...]:
    """Return the row of a job in the short table."""
    hosts = ":".join(places(instance, where)) or None
    name, time = job.shown_name or None, stamp(instance, job.submit)
    number = job.array_id or job.id  # the index stands in the name
    return (number, job.user, status, job.queue, job.from_host or None, hosts, name, time)


def ending(record: JobRecord) -> str:
    """Return the state of a finished job: DONE or EXIT."""
    return "DONE" if record.status == "done" else "EXIT"


def _running_record(item: RunningJob) -> dict[str, Any]:
    """Return the record of a running job; times in seconds."""
    record = _record(item.job, _status(item), PendingJob())
    return record | {"slots": item.slots, "start": item.start, "hosts": dict(item.allocation)}


def _ended_record(snapshot: Snapshot, item: JobRecord) -> dict[str, Any]:
    record = _record(snapshot.jobs[item.job], ending(item), PendingJob())
    hosts = dict(item.hosts)
    return record | {"slots": item.procs, "start": item.start, "end": item.end, "hosts": hosts}


def _record(job: Job, status: str, waiting: PendingJob) -> dict[str, Any]:
    """Return the record of a job; times in seconds, memory in MB."""
    reserved = "reserved_slots=slots reserved_memory=memory reserved_since=since"
    return {
        **data_of(job, "job=id user"),
        "status": status,
        **data_of(job, "queue slots submit"),
        "start": None,
        "end": None,
        "hosts": {},
        **data_of(waiting, f"{reserved} estimate allocation reason reasons"),
        "cautions": [],
    }


def _reason_text(reason: Mapping[str, Any]) -> str:
    return f"{reason['reason']}{': ' if reason['hosts'] else ''}{', '.join(reason['hosts'])}"


def _flat(value: object) -> object:
    if isinstance(value, list):
        return "; ".join(i if isinstance(i, str) else _reason_text(i) for i in value)
    if isinstance(value, dict):
        return " ".join(f"{amount:g}*{host}" for host, amount in value.items())
    return value


def _running_text(instance: Instance, item: RunningJob) -> Iterator[str]:
    yield from head_lines(instance, item.job, _status(item))
    where = "> <".join(places(instance, item.allocation))
    yield f"{stamp(instance, item.start)}: Started on <{where}>;"
    yield from gpu_lines(instance, item.job, item.allocation)


def _ended_text(snapshot: Snapshot, item: JobRecord) -> Iterator[str]:
    instance = snapshot.instance
    yield from head_lines(instance, snapshot.jobs[item.job], ending(item))
    assert item.end is not None
    if item.start is not None:
        where = "> <".join(places(instance, item.hosts))
        yield f"{stamp(instance, item.start)}: Started on <{where}>;"
    if item.status != "done":
        words = f"Exited; {why_killed(instance, snapshot.jobs[item.job], item.start, item.end)}."
    elif (cpu := snapshot.jobs[item.job].cpu_time) is None:
        words = "Done successfully."
    else:
        words = f"Done successfully. The CPU time used is {cpu:.1f} seconds."
    yield f"{stamp(instance, item.end)}: {words}"


def why_killed(instance: Instance, job: Job, start: int | None, end: int) -> str:
    """Return why a job was killed, as in bacct and bhist; an unstarted job was aborted."""
    if job.deadline is not None and start is not None and end >= job.deadline:
        return "TERM_DEADLINE: job killed after reaching deadline"
    last, limit = last_start(instance, job), granted_run_limit(instance, job)
    if start is None:
        late = last is not None and end > last
        return "job aborted: it would miss its deadline" if late else "job killed by its owner"
    if limit is not None and end - start >= limit:
        return "TERM_RUNLIMIT: job killed after reaching LSF run time limit"
    return "TERM_OWNER: job killed by owner"


def places(instance: Instance, allocation: Mapping[str, int]) -> list[str]:
    """Return ``2*hostA``, ``1*hostB``; for a job with one slot only the host."""
    held = by_machine(instance, allocation)
    return list(held) if sum(held.values()) == 1 else allocation_text(held).split()


def by_machine(instance: Instance, amounts: Mapping[str, Number]) -> dict[str, Number]:
    """Return amounts by host as LSF shows them: nodes count for their machine."""
    machine = {host.name: host.node_of for host in instance.cluster.hosts if host.node_of}
    found: dict[str, Number] = {}
    for host, amount in amounts.items():
        name = machine.get(host, host)
        found[name] = found[name] + amount if name in found else amount
    return found


def head_lines(instance: Instance, job: Job, status: str) -> Iterator[str]:
    """Yield the lines on the job, its request, and its run limit or that of its queue.

    status: with the queue on the first line; "" leaves both out, as bhist does.
    """
    priority = f", Job Priority <{job.priority}>" if job.priority else ""
    if job.aps is not None:
        words = "System Absolute Priority" if job.aps.kind == "system" else "Admin factor value"
        priority += f", {words} <{job.aps.value:g}>"
    extsched = f", Extsched <{job.extsched}>" if job.extsched else ""
    name = f", Job Name <{job.shown_name}>" if job.shown_name else ""
    group = f", User Group <{job.group}>" if job.group else ""
    group += f", Reservation <{job.reservation}>" if job.reservation else ""
    group += f", Job Group <{job.job_group}>" if job.job_group else ""
    license = f", License Project <{job.license_project}>" if job.license_project else ""
    state = f", Status <{status}>, Queue <{job.queue}>" if status else ""
    yield (
        f"Job <{job.id}>{name}, User <{job.user}>{group}, Project <{job.project}>{license}{state}"
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
    if job.begin is not None:
        asks.append(f", Specified Start Time <{stamp(instance, job.begin)}>")
    if job.deadline is not None:
        asks.append(f", Specified Termination Time <{stamp(instance, job.deadline)}>")
    if job.dependency:
        asks.append(f", Dependency Condition <{job.dependency}>")
    yield f"{stamp(instance, job.submit)}: Submitted{home}{''.join(asks)};"
    limit = granted_run_limit(instance, job)
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
        lines += ["", " PENDING REASONS:", *(f" {bjobs_text(item)};" for item in waiting.reasons)]
    text = "".join(f"{line}\n" for line in lines)
    table = thresholds_table(instance, instance.queue(job.queue))
    gpus = "".join(f"{line}\n" for line in gpu_lines(instance, job))
    limits = "".join(f" {line}\n" for line in table.splitlines())
    return f"{text}\n SCHEDULING PARAMETERS\n{limits}{gpus}"


def reserved_lines(
    instance: Instance, time: int, slots: Mapping[str, int], memory: Mapping[str, float]
) -> Iterator[str]:
    """Yield the resources that a pending job reserves since `time`: slots, and memory (MB)."""
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
    """Return ``Fri Apr 22 15:18:56``, or the time from now if the instance has no origin."""
    time_of_day = None if instance.origin is None else wall_clock(instance.origin, time)
    if time_of_day is None:
        return clock_text(instance, time)
    return time_of_day.strftime("%a %b %d %H:%M:%S")


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
        records = [_aps_record(job, value) for job, value in rows]
        if format == "json":
            return json_records(records)
        cells = [[*item.values()][:-1] for item in records]
        return csv_rows(list(_aps_record(Job(""), None))[:-1], cells)
    if not rows:
        return "No pending job found\n"
    table = [
        (*job_row(snapshot.instance, job, "PEND", {}), "-" if value is None else str(value))
        for job, value in rows
    ]
    return text_table((*JOB_COLUMNS, "APS"), table, "<" * len(JOB_COLUMNS) + ">", snapshot.instance)


def _aps_record(job: Job, value: AbsoluteValue | None) -> dict[str, Any]:
    return {
        **data_of(job, "job=id user queue submit"),
        "aps": None if value is None or value.system is not None else round(value.value, 6),
        "system": None if value is None else value.system,
        "terms": None if value is None else dict(value.terms or {}),
    }


#: The states of the table, and their sum.
TIMES = ("PEND", "PSUSP", "RUN", "USUSP", "SSUSP", "UNKWN", "TOTAL")


_SPENT = "Summary of time in seconds spent in various states"


def bhist(
    instance: Instance, until: int, jobs: Sequence[JobHistory], asked: ViewOptions, format: str
) -> str:
    """Return the seconds in each state; with -l first the events of each job.

    instance: as the simulation began with it. until: the second to which the jobs were followed.
    """
    if format == "json":
        return json_records(_history_record(instance, item) for item in jobs)
    rows = [(item.job.id, item.job.user, None, *_times(item)) for item in jobs]
    columns = ("JOBID", "USER", "JOB_NAME", *TIMES)
    if format == "csv":
        return csv_rows([column.lower() for column in columns], rows)
    if not jobs:
        return "No matching job found\n"
    if not asked.long:
        return f"{_SPENT}:\n" + text_table(columns, rows, "<" * len(columns), instance)
    return ("\n" + "-" * 78 + "\n\n").join(
        "".join(f"{line}\n" for line in _lines(instance, until, item)) for item in jobs
    )


def _times(item: JobHistory) -> list[int]:
    return [*item.seconds.values(), item.total]


def _lines(instance: Instance, until: int, item: JobHistory) -> Iterator[str]:
    first, submitted, *limits = head_lines(instance, item.job, "")
    where = f", to Queue <{item.job.queue}>"
    yield first
    yield (
        submitted.replace(": Submitted", f": Submitted{where}", 1)
        if not item.job.from_host
        else (submitted.replace(f"<{item.job.from_host}>", f"<{item.job.from_host}>{where}", 1))
    )
    yield from limits
    for event in item.events[1:]:
        yield from _event(instance, item, event)
    last = item.events[-1].time if item.status in ("done", "killed") else until
    yield ""
    yield f"{_SPENT} by  {stamp(instance, last)}"
    yield from text_table(TIMES, [_times(item)], "<" * len(TIMES)).splitlines()


def _event(instance: Instance, item: JobHistory, event: JobEvent) -> Iterator[str]:
    at = stamp(instance, event.time)
    if event.kind == "reserved":
        held = list(reserved_lines(instance, event.time, event.slots, event.memory))
        yield from held or [f"{at}: Released its reservation;"]
    elif event.kind == "pending":
        for reason in event.reasons:
            yield f"{at}: Pending: {bjobs_text(reason)};"
    else:
        yield f"{at}: {_words(instance, item, event)};"


def _words(instance: Instance, item: JobHistory, event: JobEvent) -> str:
    cpu = item.job.cpu_time
    where = "> <".join(places(instance, event.slots))
    number = sum(event.slots.values())
    if event.kind == "killed":
        begun = [one.time for one in item.events if one.kind == "dispatched"]
        start = begun[-1] if begun else None
        return f"Completed <exit>; {why_killed(instance, item.job, start, event.time)}"
    return {
        "dispatched": f"Dispatched to {f'{number} Hosts/Processors ' * (number > 1)}<{where}>",
        "resized": f"Resized to {number} Hosts/Processors <{where}>",
        "suspended": "Suspended",
        "resumed": "Running",
        "requeued": "Pending: Requeued job is waiting for rescheduling",
        "done": "Done successfully"
        + ("" if cpu is None else f". The CPU time used is {cpu:.1f} seconds"),
    }[event.kind]


def _history_record(instance: Instance, item: JobHistory) -> dict[str, Any]:
    """Return a record of a job for JSON or CSV; times in seconds, memory in MB."""
    events = [
        with_stamps(
            data_of(event, "time event=kind slots memory reasons"), instance.origin, ("time",)
        )
        for event in item.events
    ]
    return {
        **data_of(item, "job=job.id user=job.user queue=job.queue status"),
        "seconds": {**item.seconds, "TOTAL": item.total},
        "events": events,
    }
