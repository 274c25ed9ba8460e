"""Job history in the words of LSF's ``bhist`` (VEW-08)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ...model.display import with_stamps
from ...model.pending import bjobs_text
from ..tables import csv_rows, json_records, text_table
from .jobs import head_lines, places, reserved_lines, stamp, why_killed

if TYPE_CHECKING:
    from ...model.instance import Instance
    from ...solver.scheduler.history import JobEvent, JobHistory
    from ..selection import ViewOptions


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
