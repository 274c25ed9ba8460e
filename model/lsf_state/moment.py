"""A moment of a log of finished jobs: what ran and what waited then (lsb.acct, SWF)."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from ..cluster import Host
from ..formats.finished_jobs import FinishedJob
from ..workload import Workload
from .bhosts import SeenHost
from .bjobs import SeenJob, requirement
from .followed import Moment


def moment_of_acct(jobs: Iterable[FinishedJob], at: int, *, later: bool, hosts: bool) -> Moment:
    """What ran and waited at `at` (seconds since 1970) of jobs that have finished since.

    later: jobs submitted afterwards too. hosts: with the most slots that were ever in use at once
    on each host, for which every job of the log is kept in mind.
    """
    moment = Moment(at)
    uses: dict[str, tuple[array[int], array[int]]] = {}  # begins and ends, and slots then taken
    for job in jobs:
        moment.first = job.submit if moment.first is None else min(moment.first, job.submit)
        moment.last = max(moment.last, job.end)
        if hosts and job.start:
            for name, slots in job.hosts.items():
                times, changes = uses.setdefault(name, (array("q"), array("q")))
                times.extend((job.start, job.end))
                changes.extend((slots, -slots))
        if job.submit > at:
            if later and job.start:
                moment.later.append(_seen(job, at))
        elif job.end > at:
            moment.jobs.append(_seen(job, at))
    moment.hosts = [SeenHost(name, slots=_most(*uses[name])) for name in sorted(uses)]
    return moment


def _most(times: array[int], changes: array[int]) -> int:
    """The most that was taken at once: at one moment what ends makes room first."""
    slots = np.asarray(changes)
    used = np.cumsum(slots[np.lexsort((slots, np.asarray(times)))])
    return max(int(used.max()), int(slots.max()))


def _seen(job: FinishedJob, at: int) -> SeenJob:
    """A job that has not ended by `at`; one that runs has used its CPU time evenly."""
    runs = bool(job.start) and job.start <= at
    return SeenJob(
        id=job.id,
        status="RUN" if runs else "PEND",
        user=job.user,
        queue=job.queue,
        project=job.project,
        application=job.application,
        slots=sum(job.hosts.values()) or job.slots or 1,
        res_req=requirement(job.res_req),
        submit=job.submit,
        begin=job.begin or None,
        start=job.start if runs else None,
        run_limit=job.run_limit,
        real_run_time=job.end - job.start if job.start else None,
        cpu_time=job.cpu_time * (at - job.start) / (job.end - job.start) if runs else job.cpu_time,
        allocation=dict(job.hosts) if runs else {},
    )


def moment_of_swf(
    log: Workload, starts: Mapping[int, int], at: int, hosts: Sequence[Host], *, later: bool
) -> Moment:
    """What ran and waited at `at` (seconds of the log), given when each job started.

    log: in canonical form. starts: by job number. Running jobs are put on the hosts in the order
    of their starts, each on the first free slots: processors cannot be told apart.
    """
    moment = Moment(at, first=int(log.submit[0]) if len(log) else None)
    columns = (log.job, log.submit, log.run_time, log.req_time, log.procs, log.user)
    running: list[SeenJob] = []
    for number, submit, run_time, req_time, procs, user in zip(
        *(column.tolist() for column in columns), strict=True
    ):
        start = starts.get(number)
        moment.last = max(moment.last, submit if start is None else start + run_time)
        if (submit > at and not later) or (start is not None and start + run_time <= at):
            continue
        job = SeenJob(
            id=str(number),
            user=f"user{user}" if user >= 0 else "user",
            slots=procs,
            submit=submit,
            run_limit=req_time,
            real_run_time=run_time,
        )
        if submit > at:
            moment.later.append(job)
        elif start is not None and start <= at:
            job.status, job.start = "RUN", start
            running.append(job)
        else:
            moment.jobs.append(job)
    moment.jobs = [*_placed(running, hosts), *moment.jobs]
    return moment


def _placed(running: list[SeenJob], hosts: Sequence[Host]) -> list[SeenJob]:
    free = {host.name: host.slots for host in hosts}
    names = list(free)
    first = 0
    for job in sorted(running, key=lambda job: (job.start or 0, int(job.id))):
        wanted = job.slots or 0
        while wanted and first < len(names):
            name = names[first]
            taken = min(wanted, free[name])
            if taken:
                job.allocation[name] = taken
            free[name] -= taken
            wanted -= taken
            first += not free[name]
    return running
