"""Expected run time of a job, by the chain of TBR-03."""

from __future__ import annotations

from dataclasses import replace

from .display import clock_text, duration_text
from .instance import Instance
from .job import NO_RUN_LIMIT, Job, RunningJob
from .reserved_periods import end_of_reservation, reserved_periods
from .slurm_words import family_text
from .windows import after_open_seconds


def within_queue_limit(instance: Instance, job: Job) -> Job:
    """Return the job with limits (seconds) reduced to those of its queue: RUNLIMIT and CPULIMIT.

    bsub refuses a longer one. A job that was accepted before the maximum was lowered is killed at
    the maximum (packJobSpecs in lsbatch/daemons/mbd.job.c of volclava, of LSF's family).
    """
    queue = instance.queue(job.queue)
    run = _at_most(job.run_limit, queue.run_limit_max)
    cpu = _at_most(job.cpu_limit, queue.cpu_limit)
    if (run, cpu) == (job.run_limit, job.cpu_limit):
        return job
    return replace(job, run_limit=run, cpu_limit=cpu)


def _at_most(limit: int | None, most: int | None) -> int | None:
    return limit if limit is None or most is None else min(limit, most)


def two_cycles(instance: Instance) -> int:
    """Return the seconds below which two starts do not differ: two dispatch cycles."""
    return max(1, 2 * instance.params.mbd_sleep_time)


def expected_duration(instance: Instance, job: Job) -> int | None:
    """Return the seconds for which a job is planned, None if nothing determines them (TBR-03).

    An estimate comes first: -We of the job, else ESTIMATED_RUNTIME (formerly RUNTIME) of its
    application, its queue or the cluster, at most the run limit, which ends the job (SUB-04).
    Without an estimate the run limit counts, then the CPU limit. -t may end the job earlier
    (:func:`ended_by_deadline`).
    """
    application = instance.application(job.application) if job.application else None
    limit = granted_run_limit(instance, job)
    for estimate in (
        job.estimated_run_time,
        application.estimated_run_time if application else None,
        application.run_time if application else None,
        instance.queue(job.queue).estimated_run_time,
        instance.params.estimated_run_time,
    ):
        if estimate is not None:
            return estimate if limit is None else min(estimate, limit)
    return granted_cpu_limit(instance, job) if limit is None else limit


def granted_run_limit(instance: Instance, job: Job) -> int | None:
    """Return the seconds after which a job is killed (LOP-02): -W, else RUNLIMIT.

    RUNLIMIT of the application replaces the queue's default, up to the queue's maximum.
    """
    if job.run_limit is not None:
        return None if job.run_limit == NO_RUN_LIMIT else job.run_limit
    queue = instance.queue(job.queue)
    application = instance.application(job.application) if job.application else None
    own = application.run_limit if application else None
    limit = queue.run_limit if own is None else own
    return queue.run_limit_max if limit is None else _at_most(limit, queue.run_limit_max)


def granted_cpu_limit(instance: Instance, job: Job) -> int | None:
    """Return the CPU seconds after which a job is killed: -c, else CPULIMIT."""
    if job.cpu_limit is not None:
        return job.cpu_limit
    most = instance.queue(job.queue).cpu_limit
    application = instance.application(job.application) if job.application else None
    own = application.cpu_limit if application else None
    return most if own is None else _at_most(own, most)


def last_start(instance: Instance, job: Job) -> int | None:
    """Return the last second at which a job with -t may start, None without -t.

    LSF does not start a job whose run limit, else CPU limit, goes beyond -t: it aborts the job. In
    a queue with IGNORE_DEADLINE, and without a limit, the job may start until -t.
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
    """Return the last start of a job and the instant at which -t ends it; None: no bound.

    The second only if the duration (seconds) may go beyond -t.
    """
    latest = last_start(instance, job)
    if latest is None or job.deadline is None:
        return None, None
    sure = duration is not None and latest + duration <= job.deadline
    return latest, None if sure else job.deadline


def aborted(instance: Instance, job: Job) -> str:
    """Return why a job with -t can no longer start."""
    assert job.deadline is not None
    at = clock_text(instance, job.deadline)
    if last_start(instance, job) == job.deadline - 1:
        text = f"its termination time (-t {at}) has passed: LSF aborts it"
    else:
        text = f"{_too_long(instance, job)} before its termination time (-t {at}): LSF aborts it"
    return family_text(instance, text)


def crowded_past_deadline(instance: Instance, job: Job) -> str:
    """Return why a job with -t has no start with other jobs, though it had one alone."""
    return _by_last_start(
        instance,
        job,
        "no slots are free for it before its termination time (-t {at}): LSF aborts it then",
        "no slots are free for it by {last}, after which it {long} before its termination time "
        "(-t {at}): LSF aborts it then",
    )


def place_before_deadline(instance: Instance, job: Job) -> str:
    """Return what must happen for a job with -t to start, if it has no start in time now."""
    return _by_last_start(
        instance,
        job,
        "it could start before its termination time (-t {at}), when LSF aborts it",
        "it could start by {last}; later LSF aborts it, since it {long} before its termination "
        "time (-t {at})",
    )


def _by_last_start(instance: Instance, job: Job, at_deadline: str, earlier: str) -> str:
    """Return one of two texts: for a last start at the deadline, or at an earlier instant."""
    assert job.deadline is not None
    last = last_start(instance, job)
    assert last is not None
    text = (at_deadline if last == job.deadline - 1 else earlier).format(
        at=clock_text(instance, job.deadline),
        last=clock_text(instance, last),
        long=_too_long(instance, job),
    )
    return family_text(instance, text)


def _too_long(instance: Instance, job: Job) -> str:
    run = granted_run_limit(instance, job)
    limit, name = (granted_cpu_limit(instance, job), "CPU") if run is None else (run, "run")
    return f"cannot run for its {name} limit ({duration_text(limit or 0)})"


def ended_by_deadline(job: Job, finish: int | None) -> int | None:
    """Return the finish of a job that -t may end; finish: without -t, None if unknown."""
    if job.deadline is None:
        return finish
    return job.deadline if finish is None else min(finish, job.deadline)


def killed_by_clock(instance: Instance, job: Job, start: int) -> int | None:
    """Return when -t or a closed advance reservation kills a job that starts then; None: never."""
    closes = end_of_reservation(instance, job, start) if job.reservation else None
    return ended_by_deadline(job, closes)


def may_be_killed(instance: Instance, job: Job) -> bool:
    """Return whether -t or a closed advance reservation may kill a pending job."""
    late = bounds_of_deadline(instance, job, expected_duration(instance, job))[1]
    periods = reserved_periods(instance, job.reservation) if job.reservation else None
    return late is not None or (periods is not None and not periods.open)


def expected_run_time(estimate: int | None, limit: int | None, elapsed: int) -> int | None:
    """Return the seconds that a job is expected to run in all, None if unknown.

    elapsed: seconds that it has run. estimate: the earlier expectation (:func:`expected_duration`).
    A job that has exceeded it is expected to end at its run limit; without a limit the end is
    unknown (SUB-04).
    """
    return estimate if estimate is None or elapsed < estimate else limit


def expected_finish(instance: Instance, running: RunningJob) -> int | None:
    """Return when a running job releases its slots (seconds), None if unknown.

    It ends in the next second at the earliest, even if its limit is exceeded. While RUN_WINDOW is
    closed, the job is suspended on its slots. It is not known when another suspended job resumes;
    -t and the end of a closed advance reservation end it all the same.
    """
    finish = undisturbed_finish(instance, running)
    windows = instance.queue(running.job.queue).run_window
    if finish is not None and windows:
        left = max(1, finish - instance.now)
        finish = after_open_seconds(windows, instance.origin, instance.now, left)
    killed = killed_by_clock(instance, running.job, running.start)
    finish = killed if finish is None else finish if killed is None else min(finish, killed)
    return None if finish is None else max(finish, instance.now + 1)


def is_killed(instance: Instance, running: RunningJob) -> bool:
    """Return whether a running job is expected to be killed: it has exceeded its run limit, or -t
    or the end of a closed advance reservation comes before its own end.
    """
    finish = undisturbed_finish(instance, running)
    if finish is not None and finish <= instance.now:
        return True
    alone = replace(running, job=replace(running.job, deadline=None, reservation=""))
    return expected_finish(instance, alone) != expected_finish(instance, running)


def undisturbed_finish(instance: Instance, running: RunningJob) -> int | None:
    """Return when a running job ends if only its limits end it, None if unknown."""
    if running.suspended:
        return None
    span = expected_span(instance, running)
    return None if span is None else running.start + span


def expected_span(instance: Instance, running: RunningJob) -> int | None:
    """Return the seconds that a running job is expected to run in all, None if unknown."""
    spans = expected_duration(instance, running.job), granted_run_limit(instance, running.job)
    return expected_run_time(*spans_of_running(running, spans), instance.now - running.start)


def spans_of_running(
    running: RunningJob, spans: tuple[int | None, int | None]
) -> tuple[int | None, int | None]:
    """Return expected duration and run limit of a running job from its start, in seconds.

    spans: those of the job itself. A known finish replaces the duration; it may be later than the
    run limit counted from the start, as the time of a suspension does not count.
    """
    if running.finish is None:
        return spans
    known, limit = running.finish - running.start, spans[1]
    return known, None if limit is None else max(limit, known)
