"""Jobs in the words of LSF's ``bjobs``: what runs, and what waits with what (VEW-01, VEW-06)."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar

from ..model.display import clock_text, wall_clock, with_stamps
from ..model.duration import ended_by_deadline, granted_run_limit, last_start
from ..model.formats import text as written
from ..model.job import ArraySpec, Job, ranges_of
from ..model.pending import bjobs_text
from ..model.plan import FORMATTERS, AllocationFormatter, allocation_text
from ..model.resreq import requested
from ..solver.scheduler.history import PendingJob
from .cluster_views import HOST_COLUMNS as HOST_COLUMNS
from .cluster_views import QUEUE_COLUMNS as QUEUE_COLUMNS
from .cluster_views import USER_COLUMNS as USER_COLUMNS
from .cluster_views import asked_for, gpu_lines, thresholds_table, user_rows
from .cluster_views import numbers as host_numbers
from .cluster_views import queue_numbers as queue_numbers
from .tables import csv_rows, dashed, json_records, plain_table

if TYPE_CHECKING:
    from ..model.instance import Instance
    from ..model.job import RunningJob
    from ..model.omissions import Omission
    from ..model.plan import Plan
    from ..solver.scheduler.history import JobEvent, JobHistory, Snapshot
    from ..solver.scheduler.records import JobRecord
    from .selection import ViewOptions


# Job arrays in the words of ``bjobs -A``: how many elements wait, run and have ended (ARR-04).


_STATES = ("PEND", "DONE", "RUN", "EXIT", "SSUSP", "USUSP", "PSUSP")
ARRAY_COLUMNS = ("JOBID", "ARRAY_SPEC", "OWNER", "NJOBS", *_STATES)


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
        return json_records([dict(zip(ARRAY_COLUMNS, row, strict=True)) for row in rows])
    if format == "csv":
        return csv_rows(ARRAY_COLUMNS, rows)
    if not rows:
        return "No job array found\n"
    return plain_table(ARRAY_COLUMNS, rows, "<<<" + ">" * (len(ARRAY_COLUMNS) - 3))


_ENDED = frozenset({"DONE", "EXIT"})


Number = TypeVar("Number", int, float)

JOB_COLUMNS = (
    *("JOBID", "USER", "STAT", "QUEUE", "FROM_HOST", "EXEC_HOST", "JOB_NAME"),
    *("SUBMIT_TIME",),
)


#: No job of which something is not considered.
NOTHING: Mapping[str, Sequence[Omission]] = {}


def bjobs(
    moment: Snapshot,
    asked: ViewOptions,
    format: str,
    cautions: Mapping[str, Sequence[Omission]] = NOTHING,
) -> str:
    """Running, then pending jobs: one line each, or everything about each.

    cautions: what is not considered of the jobs that were to start, by job.
    """
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
            *(_row(instance, item.job, _status(item), item.allocation) for item in running),
            *(_row(instance, job, "PEND", {}) for job in pending),
            *(_row(instance, moment.jobs[r.job], ending(r), r.hosts) for r in ended),
        ]
        table = plain_table(JOB_COLUMNS, rows, "<" * len(JOB_COLUMNS))
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
        _submitted_by_its_start(item)
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


def _submitted_by_its_start(item: RunningJob) -> RunningJob:
    """A job that runs was submitted by then, also where nobody said when (the default is 0)."""
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
    table: str, moment: Snapshot, running: Sequence[RunningJob], pending: Sequence[Job]
) -> str:
    """The short table with the reasons of each job below its line, as ``bjobs -p`` has them."""
    lines = table.splitlines()
    first = 1 + len(running)
    shown = lines[:first]
    for line, job in zip(lines[first:], pending, strict=False):
        reasons = moment.waiting[job.id].reasons
        shown += [line, *(f" {bjobs_text(reason, counted=True)};" for reason in reasons)]
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


def _ended_text(moment: Snapshot, item: JobRecord) -> Iterator[str]:
    instance = moment.instance
    yield from head_lines(instance, moment.jobs[item.job], ending(item))
    assert item.end is not None
    if item.start is not None:
        where = "> <".join(places(instance, item.hosts))
        yield f"{stamp(instance, item.start)}: Started on <{where}>;"
    if item.status != "done":
        words = f"Exited; {_why_killed(instance, moment.jobs[item.job], item.start, item.end)}."
    elif (cpu := moment.jobs[item.job].cpu_time) is None:
        words = "Done successfully."
    else:
        words = f"Done successfully. The CPU time used is {cpu:.1f} seconds."
    yield f"{stamp(instance, item.end)}: {words}"


def _why_killed(instance: Instance, job: Job, start: int | None, end: int) -> str:
    """Why a job was killed, as bacct and bhist have it; one that never started was aborted."""
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
    group += f", Job Group <{job.job_group}>" if job.job_group else ""
    group += f", Reservation <{job.reservation}>" if job.reservation else ""
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


#: The states of the table, and their sum.
TIMES = ("PEND", "PSUSP", "RUN", "USUSP", "SSUSP", "UNKWN", "TOTAL")
_SPENT = "Summary of time in seconds spent in various states"


def bhist(
    instance: Instance, until: int, jobs: Sequence[JobHistory], asked: ViewOptions, format: str
) -> str:
    """Seconds in each state; with -l everything that happened to each job before them.

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
        return f"{_SPENT}:\n" + plain_table(columns, rows, "<" * len(columns))
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
    yield from plain_table(TIMES, [_times(item)], "<" * len(TIMES)).splitlines()


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
        return f"Completed <exit>; {_why_killed(instance, item.job, start, event.time)}"
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
    """Times in seconds, memory in MB."""
    events = [
        with_stamps(
            {
                "time": event.time,
                "event": event.kind,
                "slots": dict(event.slots),
                "memory": dict(event.memory),
                "reasons": [reason.to_dict() for reason in event.reasons],
            },
            instance.origin,
            ("time",),
        )
        for event in item.events
    ]
    return {
        "job": item.job.id,
        "user": item.job.user,
        "queue": item.job.queue,
        "status": item.status,
        "seconds": {**item.seconds, "TOTAL": item.total},
        "events": events,
    }


#: Second 0 of an instance without an origin.
ABSTRACT = "1970-01-01T00:00:00+00:00"


def allocation_plan(instance: Instance, plan: Plan) -> str:
    """A plan in the form of lsb.allocation.plan.json, which LSF's allocation planner writes.

    RANK is the order within a queue. Jobs without a planned start are left out.
    """
    queues = {job.id: job.queue for job in instance.pending}
    ranks: Counter[str] = Counter()
    plans = []
    for item in plan:
        if item.start is None:
            continue
        queue = queues.get(item.job, "")
        ranks[queue] += 1
        times = {"START_TIME": item.start, "FINISH_TIME": item.finish}
        plans.append(
            {
                "JOB_ID": _name(instance, item.job),
                "RANK": str(ranks[queue]),
                **{
                    key: text
                    for name, time in times.items()
                    for key, text in _both(instance, name, time)
                },
                "ALLOC": [
                    {"HOST": host, "RSRC": [{"NAME": "slots", "AMOUNT": slots}]}
                    for host, slots in item.allocation.items()
                ],
            }
        )
    record = {
        "TIMESTAMP": json_stamp(instance, instance.now),
        "CHILD_PID": "0",
        "NUM_PLANS": str(len(plans)),
        "PLANS": plans,
    }
    return json.dumps(record, indent=1) + "\n"


def _name(instance: Instance, job: str) -> str:
    """``cluster@job`` where the instance is named by one word."""
    return f"{instance.name}@{job}" if re.fullmatch(r"[\w.-]+", instance.name) else job


def _both(instance: Instance, name: str, time: int | None) -> list[tuple[str, str]]:
    """Seconds since 1970 and the time for people; nothing for a job whose end nobody knows."""
    if time is None:
        return [(name, ""), (f"{name}_H", "")]
    zero = int(datetime.fromisoformat(instance.origin or ABSTRACT).timestamp())
    return [(name, str(zero + time)), (f"{name}_H", json_stamp(instance, time))]


def json_stamp(instance: Instance, time: int) -> str:
    """``Mar 29 15:07:50 2018``, in the zone of the origin; "" outside the years 1 to 9999."""
    moment = wall_clock(instance.origin or ABSTRACT, time)
    return "" if moment is None else moment.strftime("%b %d %H:%M:%S %Y")


def lsf_json(view: str, moment: Snapshot, asked: ViewOptions) -> str:
    """A view as ``-json`` prints it: every value a text, empty where there is none.

    Raises InputError for a view that LSF has no JSON of.
    """
    from ..model.errors import InputError

    instance = moment.instance
    if view == "bjobs":
        running, pending, ended = selected(moment, asked)
        records = [
            *(_running(instance, item) for item in running),
            *(_pending(instance, job, moment.waiting.get(job.id)) for job in pending),
            *(_ended(moment, item) for item in ended),
        ]
        return _envelope("bjobs", "JOBS", records)
    if view == "bhosts":
        hosts = [host for host in instance.cluster.hosts if asked.wants(host.name)]
        rows = [host_numbers(moment, host) for host in hosts]
        return _envelope("bhosts", "HOSTS", [_texts(row, (*HOST_COLUMNS, "CPUF")) for row in rows])
    if view == "bqueues":
        queues = [queue for queue in instance.queues if asked_for(instance, queue, asked)]
        rows = [queue_numbers(moment, queue) for queue in queues]
        return _envelope("bqueues", "QUEUES", [_texts(row, QUEUE_COLUMNS) for row in rows])
    if view == "busers":
        users = user_rows(moment, asked)
        return _envelope("busers", "USERS", [_texts(row, USER_COLUMNS) for row in users])
    raise InputError(
        f"LSF has no JSON of {view}: bjobs, bhosts, bqueues and busers take --format lsf-json"
    )


def _envelope(command: str, count: str, records: list[dict[str, str]]) -> str:
    return (
        json.dumps({"COMMAND": command, count: len(records), "RECORDS": records}, indent=1) + "\n"
    )


def _texts(row: dict[str, Any], columns: tuple[str, ...]) -> dict[str, str]:
    return {name.replace("/", "_"): dashed(row[name]) for name in columns}


def _running(instance: Instance, item: RunningJob) -> dict[str, str]:
    record = _job(instance, item.job, "USUSP" if item.suspended else "RUN")
    limit = granted_run_limit(instance, item.job)
    if item.finish is not None:
        finish = f"{json_stamp(instance, item.finish)} E"
    else:
        end = ended_by_deadline(item.job, None if limit is None else item.start + limit)
        finish = "" if end is None else f"{json_stamp(instance, end)} L"
    hosts = ":".join(f"{slots}*{host}" for host, slots in item.allocation.items())
    cpu = item.job.cpu_time
    return record | {
        "START_TIME": json_stamp(instance, item.start),
        "FINISH_TIME": finish,
        "RUN_TIME": f"{instance.now - item.start} second(s)",
        "CPU_USED": "" if cpu is None else f"{cpu:g} second(s)",
        "ALLOC_SLOT": hosts,
        "NALLOC_SLOT": str(item.slots),
        "EXEC_HOST": hosts,
    }


def _ended(moment: Snapshot, item: JobRecord) -> dict[str, str]:
    instance, job = moment.instance, moment.jobs[item.job]
    hosts = ":".join(f"{slots}*{host}" for host, slots in item.hosts.items())
    assert item.end is not None
    return _job(instance, job, ending(item)) | {
        "START_TIME": "" if item.start is None else json_stamp(instance, item.start),
        "FINISH_TIME": json_stamp(instance, item.end),
        "RUN_TIME": f"{item.run_time or 0} second(s)",
        "CPU_USED": "" if job.cpu_time is None else f"{job.cpu_time:g} second(s)",
        "ALLOC_SLOT": hosts,
        "NALLOC_SLOT": str(item.procs),
        "EXEC_HOST": hosts,
    }


def _pending(instance: Instance, job: Job, waiting: PendingJob | None) -> dict[str, str]:
    record = _job(instance, job, "PEND")
    if waiting is not None:
        record["PEND_REASON"] = " ".join(f"{bjobs_text(reason)};" for reason in waiting.reasons)
        if waiting.estimate is not None:
            record["ESTIMATED_START_TIME"] = json_stamp(instance, waiting.estimate)
    return record


def _job(instance: Instance, job: Job, status: str) -> dict[str, str]:
    def time(seconds: int | None) -> str:
        return "" if seconds is None else json_stamp(instance, seconds)

    return {
        "JOBID": job.array_id or job.id,
        "JOBINDEX": str(job.array_index or 0),
        "STAT": status,
        "USER": job.user,
        "USER_GROUP": job.group,
        "JOB_GROUP": job.job_group,
        "RSVID": job.reservation,
        "QUEUE": job.queue,
        "PROJ_NAME": job.project,
        "APPLICATION": job.application,
        "JOB_PRIORITY": str(job.priority) if job.priority else "",
        "NREQ_SLOT": str(job.slots),
        "MIN_REQ_PROC": str(job.slots),
        "MAX_REQ_PROC": str(job.most_slots),
        "COMBINED_RESREQ": _requirement(instance, job),
        "ASK_HOSTS": written.requests(job.hosts) or "",
        "DEPENDENCY": job.dependency,
        "JOB_NAME": job.shown_name,
        "SUBMIT_TIME": json_stamp(instance, job.submit),
        "START_TIME": "",
        "FINISH_TIME": "",
        "SPECIFIED_START_TIME": time(job.begin),
        "SPECIFIED_TERMINATE_TIME": time(job.deadline),
        "ESTIMATED_START_TIME": "",
        "RUN_TIME": "0 second(s)",
        "RUNTIMELIMIT": "" if job.run_limit is None else _minutes(job.run_limit),
        "CPU_USED": "",
        "ALLOC_SLOT": "",
        "NALLOC_SLOT": "",
        "EXEC_HOST": "",
        "PEND_REASON": "",
    }


def _requirement(instance: Instance, job: Job) -> str:
    """The -R strings, several as the one that they make together."""
    if len(job.res_req) < 2:
        return "".join(job.res_req)
    from ..model.resreq import Options, combine, print_requirement

    options = Options(dialect=instance.params.dialect)
    return print_requirement(combine(job.res_req, options).requirement)


def _minutes(seconds: int) -> str:
    """``1440.0``; with more digits where a tenth of a minute does not say it exactly."""
    return f"{seconds / 60:.1f}" if seconds % 6 == 0 else f"{seconds / 60:.6f}"
