"""Deep queues cut out of logs at random moments, as pool snapshots, the same for the same seed.

Each log is replayed by EASY backfilling; a moment is a submission. Moments are drawn by the length
of the queue, so that short and long ones are as many, and of the logs in turn.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from slotwise.model.instance import Instance
from slotwise.model.sources.swf import read_swf
from slotwise.model.sources.trace import from_snapshot
from slotwise.model.workload import Ints, Workload, canonical, machine_size
from slotwise.solver.replay import replay

#: Lengths of queues, as (shortest, longest): one class each.
LENGTHS = ((10, 30), (31, 50), (51, 100), (101, 200))


@dataclass(frozen=True)
class PlayedLog:
    """A log with its starts under EASY and the length of the queue at each submission."""

    name: str
    jobs: Workload
    processors: int
    start: Ints
    waiting: Ints

    @classmethod
    def of(cls, path: Path) -> PlayedLog:
        """Read and replay."""
        workload = read_swf(path, keep_going=True).workload
        processors = machine_size(workload, None)
        jobs = canonical(workload, processors)
        start = replay(jobs, policy="easy", procs=processors).start
        submitted = np.arange(1, len(jobs) + 1)
        begun = np.searchsorted(np.sort(start), jobs.submit, side="right")
        return cls(path.name.partition(".")[0], jobs, processors, start, submitted - begun)

    def moments(self, shortest: int, longest: int) -> Ints:
        """The submissions, as indices, that find a queue of such a length."""
        found: Ints = np.flatnonzero((self.waiting >= shortest) & (self.waiting <= longest))
        return found

    def queue_at(self, index: int) -> Instance:
        """What runs and waits right after a submission."""
        jobs, now = self.jobs, int(self.jobs.submit[index])
        there = jobs.submit <= now
        left = self.start + jobs.run_time - now
        running = np.flatnonzero(there & (self.start <= now) & (left > 0))
        queue = np.flatnonzero(there & (self.start > now))
        held = int(jobs.procs[running].sum())
        return from_snapshot(
            {
                "log": self.name,
                "time": now,
                "procs": self.processors,
                "free": self.processors - held,
                "running": [
                    {
                        "id": str(jobs.job[i]),
                        "procs": int(jobs.procs[i]),
                        "remaining_req_s": max(1, int(self.start[i] + jobs.req_time[i]) - now),
                        "remaining_actual_s": int(left[i]),
                    }
                    for i in running.tolist()
                ],
                "queue": [
                    {
                        "id": str(jobs.job[i]),
                        "procs": int(jobs.procs[i]),
                        "req_s": int(jobs.req_time[i]),
                        "run_s": int(jobs.run_time[i]),
                        "waited_s": now - int(jobs.submit[i]),
                    }
                    for i in queue.tolist()
                ],
            },
            f"{self.name}@{now}",
        )


def cut_queues(
    logs: list[Path], number: int, seed: int, classes: Sequence[tuple[int, int]] = LENGTHS
) -> Iterator[Instance]:
    """That many queues, as many of each class of lengths and each log as there are, mixed."""
    random = np.random.default_rng(seed)
    played = [PlayedLog.of(path) for path in logs]
    stock = [
        (log, random.permutation(log.moments(*lengths)).tolist())
        for lengths in classes
        for log in played
    ]
    drawn: list[tuple[PlayedLog, int]] = []
    while len(drawn) < number and any(moments for _, moments in stock):
        drawn += [(log, moments.pop()) for log, moments in stock if moments]
    drawn = drawn[:number]
    for which in random.permutation(len(drawn)).tolist():
        log, index = drawn[which]
        yield log.queue_at(index)
