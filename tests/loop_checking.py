"""A literal check of a finished simulation: the judge of plans, asked what really happened."""

from __future__ import annotations

from dataclasses import replace

from slotwise.model.instance import Instance
from slotwise.model.plan import Plan, PlannedJob
from slotwise.solver.scheduler.records import JobRecord, Simulation
from slotwise.solver.validate import Violation, validate

#: Seconds that a job lasts that has not ended.
FOREVER = 1 << 40


def broken(instance: Instance, result: Simulation) -> list[Violation]:
    """Every rule that the schedule breaks: each job is taken to last exactly as long as it ran.

    For simulations without suspensions and changes of size. Jobs that have not started are left
    out, those that still run last indefinitely.
    """
    records = {record.job: record for record in result.jobs}
    started = [job for job in jobs_of(instance) if records[job.id].start is not None]
    lasting = tuple(
        replace(job, run_limit=_span(records[job.id]), cpu_limit=None, begin=None, submit=0)
        for job in started
    )
    running = tuple(replace(item, finish=_end(records[item.job.id])) for item in instance.running)
    plan = Plan(
        "loop",
        "lexicographic",
        "heuristic",
        instance.now,
        tuple(_planned(instance, records[job.id]) for job in started),
    )
    asked = replace(instance, pending=lasting, future=(), running=running)
    silent = {"value", "status"}
    return [item for item in validate(asked, plan, as_lsf=True) if item.check not in silent]


def jobs_of(instance: Instance):
    """Pending and future jobs."""
    return (*instance.pending, *instance.future)


def _span(record: JobRecord) -> int:
    assert record.start is not None
    return FOREVER if record.end is None else max(1, record.end - record.start)


def _end(record: JobRecord) -> int:
    return FOREVER if record.end is None else record.end


def _planned(instance: Instance, record: JobRecord) -> PlannedJob:
    assert record.start is not None
    finish = record.start + _span(record)
    return PlannedJob(
        record.job,
        record.start,
        finish,
        record.hosts,
        method="loop",
        alternative=record.alternative,
    )
