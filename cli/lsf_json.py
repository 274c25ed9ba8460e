"""Plans and jobs as LSF's own programs write them in JSON: for tools that read LSF."""

from __future__ import annotations

import json
import re
from collections import Counter
from datetime import datetime
from typing import TYPE_CHECKING, Any

from ..model.formats import written
from ..model.time_text import wall_clock
from .host_views import COLUMNS as HOST_COLUMNS
from .host_views import numbers as host_numbers
from .job_views import ending, selected
from .plain_tables import dashed
from .queue_views import COLUMNS as QUEUE_COLUMNS
from .queue_views import asked_for
from .queue_views import numbers as queue_numbers
from .user_views import COLUMNS as USER_COLUMNS
from .user_views import user_rows

if TYPE_CHECKING:
    from ..model.instance import Instance
    from ..model.job import Job, RunningJob
    from ..model.plan import Plan
    from ..solver.loop.records import JobRecord
    from ..solver.loop.snapshot import PendingJob, Snapshot
    from .view_options import ViewOptions

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
        "TIMESTAMP": stamp(instance, instance.now),
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
    return [(name, str(zero + time)), (f"{name}_H", stamp(instance, time))]


def stamp(instance: Instance, time: int) -> str:
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
    limit = item.job.run_limit
    if item.finish is not None:
        finish = f"{stamp(instance, item.finish)} E"
    else:
        finish = "" if limit is None else f"{stamp(instance, item.start + limit)} L"
    hosts = ":".join(f"{slots}*{host}" for host, slots in item.allocation.items())
    cpu = item.job.cpu_time
    return record | {
        "START_TIME": stamp(instance, item.start),
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
    assert item.start is not None
    assert item.end is not None
    return _job(instance, job, ending(item)) | {
        "START_TIME": stamp(instance, item.start),
        "FINISH_TIME": stamp(instance, item.end),
        "RUN_TIME": f"{item.run_time} second(s)",
        "CPU_USED": "" if job.cpu_time is None else f"{job.cpu_time:g} second(s)",
        "ALLOC_SLOT": hosts,
        "NALLOC_SLOT": str(item.procs),
        "EXEC_HOST": hosts,
    }


def _pending(instance: Instance, job: Job, waiting: PendingJob | None) -> dict[str, str]:
    record = _job(instance, job, "PEND")
    if waiting is not None:
        record["PEND_REASON"] = " ".join(f"{reason.text()};" for reason in waiting.reasons)
        if waiting.estimate is not None:
            record["ESTIMATED_START_TIME"] = stamp(instance, waiting.estimate)
    return record


def _job(instance: Instance, job: Job, status: str) -> dict[str, str]:
    def time(seconds: int | None) -> str:
        return "" if seconds is None else stamp(instance, seconds)

    return {
        "JOBID": job.array_id or job.id,
        "JOBINDEX": str(job.array_index or 0),
        "STAT": status,
        "USER": job.user,
        "USER_GROUP": job.group,
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
        "SUBMIT_TIME": stamp(instance, job.submit),
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
