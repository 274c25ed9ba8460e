"""Stores: of pending jobs and polls in memory, and of a recorded log served in fast motion."""

from __future__ import annotations

from bisect import bisect_left
from pathlib import Path
from typing import Any

import numpy as np
from slotwise import Cluster, History, Host, Instance, Job, Params, Queue, RunningJob
from slotwise.cli.serve.polls import JobEstimate, PolledState
from slotwise.cli.serve.score import score_of
from slotwise.cli.serve.store import Store
from slotwise.solver.forecast.backtest import Replayed
from slotwise.solver.forecast.history import Ended, history_of
from slotwise.solver.forecast.of_instance import forecast

NOON = 1_790_000_000


def job(name: str = "1", submit: int = NOON - 600, **estimated: object) -> JobEstimate:
    return JobEstimate(name, submit, "ann", "night", 4, **estimated)  # type: ignore[arg-type]


def poll(at: int, *pending: JobEstimate, running: dict | None = None) -> PolledState:
    return PolledState(NOON + at, True, pending, running or {})


def stored(path: Path, *polls: PolledState) -> Path:
    """Return the path of a store with these polls."""
    with Store.open(path) as store:
        for each in polls:
            store.record(each)
    return path


#: Second 0 of the log: stores of clusters have dates.
ORIGIN = "2026-11-02T00:00:00+00:00"


class ServedLog:
    """States and histories of a replayed log at any second of it, from its jobs alone."""

    def __init__(self, replayed: Replayed) -> None:
        self.log, self.start, self.procs = replayed.log, replayed.start, replayed.procs
        self.end = self.start + self.log.run_time
        columns = (self.log.job, self.log.procs, self.log.user, self.log.req_time, self.log.submit)
        self.jobs = [
            Job(str(name), slots, user=f"user{user}", run_limit=limit, submit=submit)
            for name, slots, user, limit, submit in zip(*(c.tolist() for c in columns), strict=True)
        ]
        self.by_end = np.argsort(self.end, kind="stable").tolist()
        self.ends = self.end[self.by_end].tolist()

    def instance(self, now: int, last: int | None = None) -> Instance:
        """What a poll sees: jobs that end at this very second are still there.

        last: the last row that is submitted by then, of several at this second.
        """
        here = np.flatnonzero((self.log.submit <= now) & (self.end >= now)).tolist()
        here = [row for row in here if last is None or row <= last]
        running = [row for row in here if self.start[row] < now]
        return Instance(
            Cluster((Host("pool", self.procs),)),
            queues=(Queue("default"),),
            running=tuple(
                RunningJob(self.jobs[row], int(self.start[row]), {"pool": self.jobs[row].slots})
                for row in running
            ),
            pending=tuple(self.jobs[row] for row in here if self.start[row] >= now),
            params=Params(job_accept_interval=0),
            now=now,
            origin=ORIGIN,
        )

    def history(self, now: int) -> History:
        known = self.by_end[: bisect_left(self.ends, now)]
        ended = [Ended(self.jobs[row], int(self.start[row]), int(self.end[row])) for row in known]
        # Jobs of one number of user, limit and size share random numbers: as the log numbers them.
        return history_of(ended, users={f"user{n}": n for n in set(self.log.user.tolist())})


def serve(replayed: Replayed, rows: list[int], store: Store, *, samples: int, seed: int) -> None:
    """Poll at each submission of a job that is asked about and once it runs; then forecast it.

    The bounds are calibrated by the store as it is by then.
    """
    served = ServedLog(replayed)
    polls = [(int(replayed.start[row]) + 1, -1) for row in rows]
    asked = [(int(replayed.log.submit[row]), row) for row in rows]
    for now, row in sorted(polls + asked):
        store.record(PolledState.of(served.instance(now)))
        if row < 0:
            continue
        instance = served.instance(now, row)
        found = forecast(
            instance,
            served.history(now),
            samples=samples,
            seed=seed,
            jobs=[served.jobs[row].id],
            calibration=store.calibration(),
        )
        # The jobs of this second that come behind the row are there all the same.
        state = PolledState.of(served.instance(now), forecasts=found)
        store.record(state)


def scored(
    replayed: Replayed, rows: list[int], *, samples: int, seed: int
) -> tuple[dict[str, Any], Any]:
    """The scores of a store that served these rows, by method and by size, and its calibration."""
    with Store.open(":memory:") as store:
        serve(replayed, rows, store, samples=samples, seed=seed)
        return {by: score_of(store, by) for by in ("method", "size")}, store.calibration()
