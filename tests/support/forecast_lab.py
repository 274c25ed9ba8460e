"""Small pasts and worlds for the tests of forecasts."""

from __future__ import annotations

import numpy as np
from slotwise import (
    Cluster,
    ComputeUnit,
    History,
    Host,
    Instance,
    Job,
    Limit,
    Params,
    Queue,
    RunningJob,
    Scope,
)
from slotwise.model.workload import Workload
from slotwise.solver.forecast.arrivals import FutureArrivals
from slotwise.solver.forecast.history import Ended, history_of
from slotwise.solver.forecast.jobs import AskedJobs, PastJobs, ints, keys_of
from slotwise.solver.forecast.moment import PoolWorld

HOUR = 3600


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


def coming_of(*jobs: tuple[int, int, int, int]) -> FutureArrivals:
    """Jobs that come, from (submit, run time, limit, slots)."""
    columns = [ints(column) for column in zip(*jobs, strict=True)] or [ints([])] * 4
    return FutureArrivals(*columns, ints(range(len(jobs))))


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
    coming = FutureArrivals(
        log.submit[later], log.run_time[later], log.req_time[later], log.procs[later], later
    )
    return PoolWorld(now, procs, jobs, asked, policy), rows, coming


def cluster(seed: int, *, fair: bool = False) -> Instance:
    """Six full hosts in two units, memory, a limit a user; fair: queues with shares."""
    draw = np.random.default_rng(seed)
    names = [f"h{n}" for n in range(6)]
    hosts = tuple(Host(name, 8, amounts={"mem": 64.0}) for name in names)
    units = (
        ComputeUnit("left", "enclosure", tuple(names[:3])),
        ComputeUnit("right", "enclosure", tuple(names[3:])),
    )
    requests = ("", "span[ptile=4]", "cu[maxcus=1]", "rusage[mem=40]", "span[ptile=2]")
    running, pending = [], []
    for number, name in enumerate([*names, *names]):
        limit = 60 * int(draw.integers(20, 180))
        user = f"u{draw.integers(3)}"
        job = Job(f"r{number}", 4, user=user, run_limit=limit, queue="normal", submit=-9000)
        running.append(RunningJob(job, -int(draw.integers(limit)), {name: 4}))
    for number in range(8):
        asked = requests[draw.integers(len(requests))]
        pending.append(
            Job(
                f"p{number}",
                int(draw.choice((2, 4, 8, 12, 20))) if "mem" not in asked else 1,
                user=f"u{draw.integers(3)}",
                queue="short" if draw.random() < 0.3 else "normal",
                res_req=(asked,) if asked else (),
                run_limit=60 * int(draw.integers(10, 120)),
                submit=-int(draw.integers(5000)),
            )
        )
    shares = (("default", 1),) if fair else ()
    return Instance(
        Cluster(hosts, unit_types=("enclosure",), default_unit_type="enclosure", units=units),
        queues=(
            Queue("normal", 20, backfill=True, resource_reserve=20, user_shares=shares),
            Queue("short", 30, backfill=True, resource_reserve=20, user_shares=shares),
        ),
        running=tuple(running),
        pending=tuple(pending),
        limits=(Limit("each", {"slots": 40}, users=Scope(("all",), each=True)),),
        params=Params(time_reserve_numjobs=2, mbd_sleep_time=300, default_queue="normal"),
    )


def past_jobs(*jobs: Job) -> History:
    return history_of([Ended(job, -200, -100) for job in jobs])


def site_history(instance: Instance, jobs: int = 100, days: int = 3) -> History:
    """Ended jobs of the instance's users, at half their limits."""
    draw = np.random.default_rng(1)
    ended = []
    for n in range(jobs):
        limit = int(draw.integers(1, 9)) * HOUR
        ran = int(limit * draw.uniform(0.1, 0.9))
        start = instance.now - int(draw.integers(ran, days * 86_400 + ran))
        job = Job(
            f"h{n}",
            int(draw.integers(1, 9)),
            user=f"u{draw.integers(3)}",
            queue="normal",
            run_limit=limit,
            submit=start - 60,
        )
        ended.append(Ended(job, start, start + ran))
    return history_of(ended)
