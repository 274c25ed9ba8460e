"""LSF's own JSON: views as they are printed with ``-json``, and the plan of its planner."""

from __future__ import annotations

import json
import re
from collections import Counter
from datetime import datetime
from typing import Any

from ...model.display import wall_clock
from ...model.duration import ended_by_deadline, granted_run_limit
from ...model.errors import InputError
from ...model.formats import text as written
from ...model.instance import Instance
from ...model.job import NO_RUN_LIMIT, Job
from ...model.pending import bjobs_text
from ...model.plan import Plan
from ...solver.scheduler.history import Snapshot
from ..selection import ViewOptions
from ..tables import dashed
from .hosts import HOST_COLUMNS
from .hosts import numbers as host_numbers
from .jobs import ShownJob, selected
from .queues import QUEUE_COLUMNS, USER_COLUMNS, asked_for, queue_numbers, user_rows


def lsf_json(view: str, snapshot: Snapshot, asked: ViewOptions) -> str:
    """Return a view as ``-json`` prints it: every value is a text, empty without a value.

    Raises InputError for a view that LSF has no JSON of.
    """
    instance = snapshot.instance
    if view == "bjobs":
        records = [_job(instance, item) for item in selected(snapshot, asked)]
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


def _finish(instance: Instance, item: ShownJob) -> str:
    """Return the end of a job; marked if it is expected (E), or comes by a limit (L)."""
    if item.end is not None or item.start is None:
        return _stamp(instance, item.end)
    if item.finish is not None:
        return f"{json_stamp(instance, item.finish)} E"
    limit = granted_run_limit(instance, item.job)
    end = ended_by_deadline(item.job, None if limit is None else item.start + limit)
    return "" if end is None else f"{json_stamp(instance, end)} L"


def _stamp(instance: Instance, time: int | None) -> str:
    return "" if time is None else json_stamp(instance, time)


def _job(instance: Instance, item: ShownJob) -> dict[str, str]:
    job, waiting = item.job, item.waiting
    ran = item.run_time or 0
    if item.end is None and item.start is not None:
        ran = instance.now - item.start
    hosts = ":".join(f"{slots}*{host}" for host, slots in item.hosts.items())
    cpu = "" if job.cpu_time is None else f"{job.cpu_time:g} second(s)"
    waits = item.status == "PEND"
    return {
        "JOBID": job.array_id or job.id,
        "JOBINDEX": str(job.array_index or 0),
        "STAT": item.status,
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
        "START_TIME": _stamp(instance, item.start),
        "FINISH_TIME": _finish(instance, item),
        "SPECIFIED_START_TIME": _stamp(instance, job.begin),
        "SPECIFIED_TERMINATE_TIME": _stamp(instance, job.deadline),
        "ESTIMATED_START_TIME": _stamp(instance, waiting.estimate),
        "RUN_TIME": f"{ran} second(s)",
        "RUNTIMELIMIT": ""
        if job.run_limit is None or job.run_limit == NO_RUN_LIMIT
        else _minutes(job.run_limit),
        "CPU_USED": "" if waits else cpu,
        "ALLOC_SLOT": hosts,
        "NALLOC_SLOT": "" if waits else str(item.slots),
        "EXEC_HOST": hosts,
        "PEND_REASON": " ".join(f"{bjobs_text(reason)};" for reason in waiting.reasons),
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


#: Second 0 of an instance without an origin.
ABSTRACT = "1970-01-01T00:00:00+00:00"


def allocation_plan(instance: Instance, plan: Plan) -> str:
    """Return a plan in the form of lsb.allocation.plan.json, which LSF's planner writes.

    RANK is the order within a queue. Jobs without a planned start are omitted.
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
    """Return ``cluster@job`` if the name of the instance is one word, else the job."""
    return f"{instance.name}@{job}" if re.fullmatch(r"[\w.-]+", instance.name) else job


def _both(instance: Instance, name: str, time: int | None) -> list[tuple[str, str]]:
    """Return seconds since 1970 and a printed time, both empty for an unknown end."""
    if time is None:
        return [(name, ""), (f"{name}_H", "")]
    zero = int(datetime.fromisoformat(instance.origin or ABSTRACT).timestamp())
    return [(name, str(zero + time)), (f"{name}_H", json_stamp(instance, time))]


def json_stamp(instance: Instance, time: int) -> str:
    """Return ``Mar 29 15:07:50 2018`` in the origin's zone; "" outside the years 1 to 9999."""
    time_of_day = wall_clock(instance.origin or ABSTRACT, time)
    return "" if time_of_day is None else time_of_day.strftime("%b %d %H:%M:%S %Y")
