"""How long a job is expected to run: the chain of TBR-03."""

from __future__ import annotations

from dataclasses import replace

from .instance import Instance
from .job import Job, RunningJob


def within_queue_limit(instance: Instance, job: Job) -> Job:
    """The job with limits (seconds) that its queue grants: RUNLIMIT's maximum, CPULIMIT at most.

    bsub refuses a longer one. A job that was taken before the maximum was lowered is killed at the
    maximum (packJobSpecs in lsbatch/daemons/mbd.job.c of volclava, of LSF's family).
    """
    queue = instance.queue(job.queue)
    run = _at_most(job.run_limit, queue.run_limit_max)
    cpu = _at_most(job.cpu_limit, queue.cpu_limit)
    if (run, cpu) == (job.run_limit, job.cpu_limit):
        return job
    return replace(job, run_limit=run, cpu_limit=cpu)


def _at_most(limit: int | None, most: int | None) -> int | None:
    return limit if limit is None or most is None else min(limit, most)


def expected_duration(instance: Instance, job: Job) -> int | None:
    """Seconds a job is planned to run, or None when nothing tells (TBR-03).

    An estimate comes first: of the job (-We), else ESTIMATED_RUNTIME of its application, its queue
    or the cluster; never more than the run limit, which ends the job (SUB-04). Without one, in
    order: -W, queue RUNLIMIT, application RUNLIMIT, application RUNTIME, and the CPU limit of job,
    queue or application as a last resort.
    """
    queue = instance.queue(job.queue)
    application = instance.application(job.application) if job.application else None
    limit = granted_run_limit(instance, job)
    chain = (
        job.estimated_run_time,
        application.estimated_run_time if application else None,
        queue.estimated_run_time,
        instance.params.estimated_run_time,
    )
    for estimate in chain:
        if estimate is not None:
            return estimate if limit is None else min(estimate, limit)
    if limit is not None:
        return limit
    last = (
        application.run_time if application else None,
        job.cpu_limit,
        queue.cpu_limit,
        application.cpu_limit if application else None,
    )
    return next((seconds for seconds in last if seconds is not None), None)


def granted_run_limit(instance: Instance, job: Job) -> int | None:
    """Seconds after which a job is killed: -W, queue or application RUNLIMIT (LOP-02)."""
    if job.run_limit is not None:
        return job.run_limit
    queue = instance.queue(job.queue)
    if queue.run_limit is not None:
        return queue.run_limit
    if queue.run_limit_max is not None:
        return queue.run_limit_max
    application = instance.application(job.application) if job.application else None
    return application.run_limit if application else None


def expected_run_time(estimate: int | None, limit: int | None, elapsed: int) -> int | None:
    """Seconds that a job which has run so long is expected to run in all, None when nothing tells.

    estimate: what was expected before (:func:`expected_duration`). One that has passed it is
    expected at its run limit; without one its end is unknown (SUB-04).
    """
    return estimate if estimate is None or elapsed < estimate else limit


def expected_finish(instance: Instance, running: RunningJob) -> int | None:
    """When a running job frees its slots (seconds), or None when its end is unknown.

    A job that runs now ends in the next second or later, also where its limit is over. Of a
    suspended job it is not known when it goes on.
    """
    if running.suspended:
        return None
    span = expected_span(instance, running)
    return None if span is None else max(running.start + span, instance.now + 1)


def expected_span(instance: Instance, running: RunningJob) -> int | None:
    """Seconds that a running job is expected to run in all, as things stand now."""
    job, start = running.job, running.start
    told = running.finish
    estimate = expected_duration(instance, job) if told is None else told - start
    return expected_run_time(estimate, granted_run_limit(instance, job), instance.now - start)
