"""Jobs as LSF's ``bjobs`` (VEW-01, VEW-06), ``bhist`` (VEW-08) and ``bjgroup`` (GRP-01)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from ...model.display import clock_text, data_of, wall_clock, with_stamps
from ...model.duration import granted_run_limit, last_start
from ...model.instance import Instance
from ...model.job import ArraySpec, Job, RunningJob, job_groups_of, ranges_of
from ...model.omissions import Omission
from ...model.pending import bjobs_text
from ...model.plan import FORMATTERS, AllocationFormatter, allocation_text
from ...model.resreq import requested
from ...solver.fairshare.absolute_order import AbsoluteValue
from ...solver.scheduler.history import JobEvent, JobHistory, PendingJob, Snapshot
from ...solver.scheduler.records import JobRecord
from ..selection import ViewOptions
from ..tables import csv_rows, dashed, json_records, text_table, view_text
from .hosts import gpu_lines
from .queues import thresholds_table

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
    if format == "csv":
        return csv_rows(ARRAY_COLUMNS, [item.row() for item in unfinished])
    rows = [dict(zip(ARRAY_COLUMNS, item.row(), strict=True)) for item in unfinished]
    return view_text(format, ARRAY_COLUMNS, rows, "<<<" + ">" * 8, "No job array found\n")


_ENDED = frozenset({"DONE", "EXIT"})


Number = TypeVar("Number", int, float)


JOB_COLUMNS = (
    *("JOBID", "USER", "STAT", "QUEUE", "FROM_HOST", "EXEC_HOST", "JOB_NAME"),
    *("SUBMIT_TIME",),
)


#: Empty: no job with omissions.
NOTHING: Mapping[str, Sequence[Omission]] = {}


@dataclass(frozen=True, slots=True)
class ShownJob:
    """A job of a view with its state; times in seconds."""

    job: Job
    #: "RUN", "USUSP", "PEND", "DONE" or "EXIT".
    status: str
    #: Slots in use, of a pending job those that it requests.
    slots: int
    #: Slots in use by host.
    hosts: Mapping[str, int] = field(default_factory=dict)
    start: int | None = None
    end: int | None = None
    #: Expected end of a running job, if the instance names one.
    finish: int | None = None
    #: Run time of a finished job.
    run_time: int | None = None
    waiting: PendingJob = PendingJob()

    @classmethod
    def pending(cls, snapshot: Snapshot, job: Job) -> ShownJob:
        """Return a pending job with its reservation and reasons."""
        waiting = snapshot.waiting.get(job.id, PendingJob())
        return cls(job, "PEND", job.slots, waiting=waiting)

    @classmethod
    def running(cls, item: RunningJob) -> ShownJob:
        """Return a running job, submitted no later than its start, in case none is known (0)."""
        job = item.job
        if job.submit > item.start:
            job = replace(job, submit=item.start)
        status = "USUSP" if item.suspended else "RUN"
        return cls(job, status, item.slots, item.allocation, item.start, finish=item.finish)

    @classmethod
    def ended(cls, snapshot: Snapshot, item: JobRecord) -> ShownJob:
        """Return a finished job."""
        status = "DONE" if item.status == "done" else "EXIT"
        times = (item.start, item.end, None, item.run_time)
        return cls(snapshot.jobs[item.job], status, item.procs, item.hosts, *times)


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
    found = selected(snapshot, asked)
    if format != "text":
        records = [_record(item, cautions.get(item.job.id, ())) for item in found]
        if format == "json":
            return json_records(records)
        rows = [tuple(_flat(value) for value in record.values()) for record in records]
        return csv_rows(list(_record(ShownJob(Job(""), "", 1))), rows)
    if not found:
        return f"No {_what(asked)} job found\n"
    if not asked.long:
        cells = [job_row(instance, item) for item in found]
        table = text_table(JOB_COLUMNS, cells, "<" * len(JOB_COLUMNS), instance)
        return _with_reasons(table, found) if asked.pending else table
    text = FORMATTERS[asked.alloc]
    return ("\n" + "-" * 78 + "\n\n").join(_long_text(instance, item, text) for item in found)


def selected(snapshot: Snapshot, asked: ViewOptions) -> list[ShownJob]:
    """Return the requested jobs that run (or are suspended), then pending, then finished jobs."""
    instance = snapshot.instance

    def wanted(job: Job, hosts: Mapping[str, int]) -> bool:
        return asked.wants_job(job.id, job.user, job.queue, frozenset(hosts))

    state = asked.any_state
    found = [
        ShownJob.running(item)
        for item in instance.running
        if (not state or (asked.suspended if item.suspended else asked.running))
        and wanted(item.job, item.allocation)
    ]
    found += [
        ShownJob.pending(snapshot, job)
        for job in instance.pending
        if (not state or asked.pending) and wanted(job, {})
    ]
    return found + [
        ShownJob.ended(snapshot, record)
        for record in snapshot.finished
        if (asked.ended or asked.everything) and wanted(snapshot.jobs[record.job], record.hosts)
    ]


def _what(asked: ViewOptions) -> str:
    kinds = {
        "running": asked.running,
        "pending": asked.pending,
        "suspended": asked.suspended,
        "finished": asked.ended,
    }
    return " or ".join(name for name, wanted in kinds.items() if wanted) or "unfinished"


def _with_reasons(table: str, found: Sequence[ShownJob]) -> str:
    """Return the short table with the reasons of each job below its line, as ``bjobs -p``."""
    title, *lines = table.splitlines(keepends=True)
    for line, item in zip(lines, found, strict=True):
        reasons = item.waiting.reasons
        title += line + "".join(f" {bjobs_text(reason, counted=True)};\n" for reason in reasons)
    return title


def job_row(instance: Instance, item: ShownJob) -> tuple[str | None, ...]:
    """Return the row of a job in the short table."""
    job, hosts = item.job, ":".join(places(instance, item.hosts)) or None
    name, time = job.shown_name or None, stamp(instance, job.submit)
    number = job.array_id or job.id  # the index stands in the name
    return (number, job.user, item.status, job.queue, job.from_host or None, hosts, name, time)


def _record(item: ShownJob, cautions: Sequence[Omission] = ()) -> dict[str, Any]:
    """Return the record of a job; times in seconds, memory in MB."""
    names = (
        "job=job.id user=job.user status queue=job.queue slots submit=job.submit start end hosts "
        "reserved_slots=waiting.slots reserved_memory=waiting.memory reserved_since=waiting.since "
        "estimate=waiting.estimate allocation=waiting.allocation reason=waiting.reason "
        "reasons=waiting.reasons"
    )
    return {**data_of(item, names), "cautions": [caution.name for caution in cautions]}


def _reason_text(reason: Mapping[str, Any]) -> str:
    return f"{reason['reason']}{': ' if reason['hosts'] else ''}{', '.join(reason['hosts'])}"


def _flat(value: object) -> object:
    if isinstance(value, list):
        return "; ".join(i if isinstance(i, str) else _reason_text(i) for i in value)
    if isinstance(value, dict):
        return " ".join(f"{amount:g}*{host}" for host, amount in value.items())
    return value


def _long_text(instance: Instance, item: ShownJob, alloc: AllocationFormatter) -> str:
    if item.status == "PEND":
        return _pending_text(instance, item.job, item.waiting, alloc)
    lines = [*head_lines(instance, item.job, item.status)]
    if item.start is not None:
        where = "> <".join(places(instance, item.hosts))
        lines.append(f"{stamp(instance, item.start)}: Started on <{where}>;")
    if item.end is None:
        lines += gpu_lines(instance, item.job, item.hosts)
    else:
        words, cpu = "Done successfully.", item.job.cpu_time
        if item.status == "EXIT":
            words = f"Exited; {why_killed(instance, item.job, item.start, item.end)}."
        elif cpu is not None:
            words += f" The CPU time used is {cpu:.1f} seconds."
        lines.append(f"{stamp(instance, item.end)}: {words}")
    return "".join(f"{line}\n" for line in lines)


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
    wanted = {item.job.id for item in selected(snapshot, asked) if item.status == "PEND"}
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
        (*job_row(snapshot.instance, ShownJob.pending(snapshot, job)), dashed(value))
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
    if format != "text" or not asked.long or not jobs:
        columns = ("JOBID", "USER", "JOB_NAME", *TIMES)
        cells = ((item.job.id, item.job.user, None, *_times(item)) for item in jobs)
        rows = [dict(zip(columns, row, strict=True)) for row in cells]
        whole = (_history_record(instance, item) for item in jobs)
        none, sides = "No matching job found\n", "<" * len(columns)
        title = f"{_SPENT}:\n" if format == "text" and jobs else ""
        return title + view_text(format, columns, rows, sides, none, instance, whole)
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


GROUP_COLUMNS = ("GROUP_NAME", "NJOBS", "PEND", "RUN", "SSUSP", "USUSP", "FINISH", "JLIMIT")


def known_job_groups(instance: Instance) -> list[str]:
    """Return the job groups of entries and of jobs with their parents, by level and name."""
    named = {job.job_group for job in instance.jobs if job.job_group}
    named |= {group.name for group in instance.job_groups}
    found = {group for name in named for group in job_groups_of(name)}
    return sorted(found, key=lambda name: (name.count("/"), name))


def bjgroup(snapshot: Snapshot, asked: ViewOptions, format: str) -> str:
    """Return job groups with their limits and the jobs of the group and of those below."""
    names = known_job_groups(snapshot.instance)
    rows = [_group_row(snapshot, name) for name in names if asked.wants(name)]
    return view_text(format, GROUP_COLUMNS, rows, "<" + ">" * 7, "No job group found\n")


def _group_row(snapshot: Snapshot, name: str) -> dict[str, Any]:
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
