"""Small pasts and worlds for the tests of forecasts."""

from __future__ import annotations

import numpy as np
from slotwise.model.workload import Workload
from slotwise.solver.forecast.arrivals import ComingJobs
from slotwise.solver.forecast.draws import keys_of
from slotwise.solver.forecast.forward import PoolWorld
from slotwise.solver.forecast.jobs import AskedJobs, PastJobs, ints


def past_of(*jobs: tuple[int, int, int, int, int, int]) -> PastJobs:
    """Ended jobs from (user, limit, slots, submit, start, end), in any order."""
    rows = sorted(enumerate(jobs), key=lambda item: item[1][5])
    columns = [ints(column) for column in zip(*(row for _, row in rows), strict=True)]
    columns = columns or [ints([])] * 6
    return PastJobs(keys_of(f"past{place}" for place, _ in rows), *columns)


def asked_of(*jobs: tuple[int, int, int, int], submit: int = 0) -> AskedJobs:
    """Jobs from (user, limit, slots, elapsed); names are their places."""
    columns = [ints(column) for column in zip(*jobs, strict=True)]
    user, limit, slots, elapsed = columns or [ints([])] * 4
    names = keys_of(map(str, range(len(jobs))))
    return AskedJobs(names, user, limit, slots, np.full(len(jobs), submit), elapsed)


def coming_of(*jobs: tuple[int, int, int, int]) -> ComingJobs:
    """Jobs that come, from (submit, run time, limit, slots)."""
    columns = [ints(column) for column in zip(*jobs, strict=True)] or [ints([])] * 4
    return ComingJobs(*columns, ints(range(len(jobs))))


def world_in_replay(log: Workload, start, procs: int, row: int, policy: str):
    """The pool as job `row` of a replayed log is submitted, its run times, and who comes then.

    log: in canonical form; start: of each job.
    """
    now = int(log.submit[row])
    end = start + log.run_time
    before = np.arange(row + 1)
    running = before[(start[before] < now) & (end[before] >= now)]
    running = running[np.argsort(start[running], kind="stable")]
    waiting = before[start[before] >= now]
    rows = np.concatenate((running, waiting))
    elapsed = np.where(start[rows] < now, now - start[rows], -1)
    jobs = AskedJobs(
        keys_of(map(str, log.job[rows].tolist())),
        log.user[rows],
        log.req_time[rows],
        log.procs[rows],
        log.submit[rows],
        elapsed,
    )
    asked = np.flatnonzero(elapsed < 0)
    later = np.arange(row + 1, len(log))
    coming = ComingJobs(
        log.submit[later], log.run_time[later], log.req_time[later], log.procs[later], later
    )
    return PoolWorld(now, procs, jobs, asked, policy), rows, coming
