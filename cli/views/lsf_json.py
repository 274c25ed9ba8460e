"""Views as LSF prints them with ``-json``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ...model.duration import ended_by_deadline, granted_run_limit
from ...model.errors import InputError
from ...model.formats import text as written
from ...model.job import NO_RUN_LIMIT, Job
from ...model.pending import bjobs_text
from ...solver.scheduler.history import PendingJob
from ..tables import dashed
from .allocation_plan import json_stamp
from .hosts import HOST_COLUMNS
from .hosts import numbers as host_numbers
from .jobs import ending, selected
from .queues import QUEUE_COLUMNS, asked_for, queue_numbers
from .users import USER_COLUMNS, user_rows

if TYPE_CHECKING:
    from ...model.instance import Instance
    from ...model.job import RunningJob
    from ...solver.scheduler.history import Snapshot
    from ...solver.scheduler.records import JobRecord
    from ..selection import ViewOptions


def lsf_json(view: str, snapshot: Snapshot, asked: ViewOptions) -> str:
    """Return a view as ``-json`` prints it: every value is a text, empty without a value.

    Raises InputError for a view that LSF has no JSON of.
    """
    instance = snapshot.instance
    if view == "bjobs":
        running, pending, finished = selected(snapshot, asked)
        records = [
            *(_running(instance, item) for item in running),
            *(_pending(instance, job, snapshot.waiting.get(job.id)) for job in pending),
            *(_finished(snapshot, item) for item in finished),
        ]
        return _envelope("bjobs", "JOBS", records)
    if view == "bhosts":
        hosts = [host for host in instance.cluster.hosts if asked.wants(host.name)]
        rows = [host_numbers(snapshot, host) for host in hosts]
        return _envelope("bhosts", "HOSTS", [_texts(row, (*HOST_COLUMNS, "CPUF")) for row in rows])
    if view == "bqueues":
        queues = [queue for queue in instance.queues if asked_for(instance, queue, asked)]
        rows = [queue_numbers(snapshot, queue) for queue in queues]
        return _envelope("bqueues", "QUEUES", [_texts(row, QUEUE_COLUMNS) for row in rows])
    if view == "busers":
        users = user_rows(snapshot, asked)
        return _envelope("busers", "USERS", [_texts(row, USER_COLUMNS) for row in users])
    raise no_json(view)


def no_json(view: str) -> InputError:
    """Return the error for a view whose command has no -json in LSF."""
    known = "bjobs, bhosts, bqueues or busers"
    return InputError(f"--format lsf-json does not apply to {view}: use {known}")


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


def _finished(snapshot: Snapshot, item: JobRecord) -> dict[str, str]:
    instance, job = snapshot.instance, snapshot.jobs[item.job]
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
        "LICENSE_PROJECT": job.license_project,
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
        "RUNTIMELIMIT": ""
        if job.run_limit is None or job.run_limit == NO_RUN_LIMIT
        else _minutes(job.run_limit),
        "CPU_USED": "",
        "ALLOC_SLOT": "",
        "NALLOC_SLOT": "",
        "EXEC_HOST": "",
        "PEND_REASON": "",
    }


def _requirement(instance: Instance, job: Job) -> str:
    """Return the -R string of a job; several strings are combined into one."""
    if len(job.res_req) < 2:
        return "".join(job.res_req)
    from ...model.resreq import Options, combine, print_requirement

    options = Options(dialect=instance.params.dialect)
    return print_requirement(combine(job.res_req, options).requirement)


def _minutes(seconds: int) -> str:
    """Return minutes as ``1440.0``, with more digits if a tenth of a minute is inexact."""
    return f"{seconds / 60:.1f}" if seconds % 6 == 0 else f"{seconds / 60:.6f}"
