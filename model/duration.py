"""How long a job is expected to run: the chain of TBR-03."""

from __future__ import annotations

from dataclasses import replace

from .display import clock_text, duration_text
from .instance import Instance
from .job import Job, RunningJob
from .reserved_periods import end_of_reservation


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

    An estimate comes first: of the job (-We), else ESTIMATED_RUNTIME, or RUNTIME, its former name,
    of its application, its queue or the cluster; never more than the run limit, which ends the job
    (SUB-04). Without one the run limit, and the CPU limit as a last resort. -t may end it sooner
    (:func:`ended_by_deadline`).
    """
    application = instance.application(job.application) if job.application else None
    limit = granted_run_limit(instance, job)
    chain = (
        job.estimated_run_time,
        application.estimated_run_time if application else None,
        application.run_time if application else None,
        instance.queue(job.queue).estimated_run_time,
        instance.params.estimated_run_time,
    )
    for estimate in chain:
        if estimate is not None:
            return estimate if limit is None else min(estimate, limit)
    return granted_cpu_limit(instance, job) if limit is None else limit


def granted_run_limit(instance: Instance, job: Job) -> int | None:
    """Seconds after which a job is killed (LOP-02): -W, else RUNLIMIT of application or queue.

    That of the application overrides the queue's default and is never more than its maximum.
    """
    if job.run_limit is not None:
        return job.run_limit
    queue = instance.queue(job.queue)
    application = instance.application(job.application) if job.application else None
    own = application.run_limit if application else None
    limit = queue.run_limit if own is None else own
    return queue.run_limit_max if limit is None else _at_most(limit, queue.run_limit_max)


def granted_cpu_limit(instance: Instance, job: Job) -> int | None:
    """CPU seconds after which a job is killed: -c, else CPULIMIT of application or queue."""
    if job.cpu_limit is not None:
        return job.cpu_limit
    most = instance.queue(job.queue).cpu_limit
    application = instance.application(job.application) if job.application else None
    own = application.cpu_limit if application else None
    return most if own is None else _at_most(own, most)


def last_start(instance: Instance, job: Job) -> int | None:
    """The last second at which a job with -t may start, None for any other job.

    One that cannot run for its run limit, else its CPU limit, before -t does not start: LSF aborts
    it. In a queue with IGNORE_DEADLINE, and without a limit, it may start until then.
    """
    if job.deadline is None:
        return None
    limit = granted_run_limit(instance, job)
    limit = granted_cpu_limit(instance, job) if limit is None else limit
    ignored = instance.queue(job.queue).ignore_deadline
    return job.deadline - (1 if ignored or limit is None else max(1, limit))


def bounds_of_deadline(
    instance: Instance, job: Job, duration: int | None
) -> tuple[int | None, int | None]:
    """The last second at which a job may start, and when -t ends it; None for no such bound.

    The second only where the duration (seconds) may be over later.
    """
    latest = last_start(instance, job)
    if latest is None or job.deadline is None:
        return None, None
    sure = duration is not None and latest + duration <= job.deadline
    return latest, None if sure else job.deadline


def aborted(instance: Instance, job: Job) -> str:
    """Why a job with -t can start no more."""
    assert job.deadline is not None
    at = clock_text(instance, job.deadline)
    if last_start(instance, job) == job.deadline - 1:
        return f"its termination time (-t {at}) is over: LSF aborts it"
    return f"{_too_long(instance, job)} before its termination time (-t {at}): LSF aborts it"


def crowded_past_deadline(instance: Instance, job: Job) -> str:
    """Why a job with -t has no start beside others, though it had one alone."""
    assert job.deadline is not None
    last = last_start(instance, job)
    assert last is not None
    at = clock_text(instance, job.deadline)
    if last == job.deadline - 1:
        return f"no place is free for it before its termination time (-t {at}): LSF aborts it then"
    return (
        f"no place is free for it by {clock_text(instance, last)}, after which it "
        f"{_too_long(instance, job)} before its termination time (-t {at}): LSF aborts it then"
    )


def place_before_deadline(instance: Instance, job: Job) -> str:
    """What must come true before a job with -t starts that has no place in time as things are."""
    assert job.deadline is not None
    last = last_start(instance, job)
    assert last is not None
    at = clock_text(instance, job.deadline)
    if last == job.deadline - 1:
        return f"a place is free before its termination time (-t {at}), when LSF aborts it"
    return (
        f"a place is free by {clock_text(instance, last)}: later LSF aborts it, since it "
        f"{_too_long(instance, job)} before its termination time (-t {at})"
    )


def _too_long(instance: Instance, job: Job) -> str:
    run = granted_run_limit(instance, job)
    limit, name = (granted_cpu_limit(instance, job), "CPU") if run is None else (run, "run")
    return f"cannot run for its {name} limit ({duration_text(limit or 0)})"


def ended_by_deadline(job: Job, finish: int | None) -> int | None:
    """When a job ends that would end at `finish` (None: nobody knows when): -t ends it at last."""
    if job.deadline is None:
        return finish
    return job.deadline if finish is None else min(finish, job.deadline)


def killed_by_clock(instance: Instance, job: Job, start: int) -> int | None:
    """When -t or the end of its advance reservation kills a job that starts then; None if never."""
    closes = end_of_reservation(instance, job, start) if job.reservation else None
    return ended_by_deadline(job, closes)


def expected_run_time(estimate: int | None, limit: int | None, elapsed: int) -> int | None:
    """Seconds that a job which has run so long is expected to run in all, None when nothing tells.

    estimate: what was expected before (:func:`expected_duration`). One that has passed it is
    expected at its run limit; without one its end is unknown (SUB-04).
    """
    return estimate if estimate is None or elapsed < estimate else limit


def expected_finish(instance: Instance, running: RunningJob) -> int | None:
    """When a running job frees its slots (seconds), or None when its end is unknown.

    A job that runs now ends in the next second or later, also where its limit is over. Of a
    suspended job it is not known when it goes on; -t, and the end of a closed advance reservation,
    end it all the same.
    """
    finish = undisturbed_finish(instance, running)
    killed = killed_by_clock(instance, running.job, running.start)
    finish = killed if finish is None else finish if killed is None else min(finish, killed)
    return None if finish is None else max(finish, instance.now + 1)


def undisturbed_finish(instance: Instance, running: RunningJob) -> int | None:
    """When a running job is expected to end if nothing but its limits ends it, None for unknown."""
    if running.suspended:
        return None
    span = expected_span(instance, running)
    return None if span is None else running.start + span


def expected_span(instance: Instance, running: RunningJob) -> int | None:
    """Seconds that a running job is expected to run in all, as things stand now."""
    job, start = running.job, running.start
    told = running.finish
    estimate = expected_duration(instance, job) if told is None else told - start
    return expected_run_time(estimate, granted_run_limit(instance, job), instance.now - start)
