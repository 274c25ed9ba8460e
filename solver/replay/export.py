"""A replayed schedule in the formats of other tools: SWF, and the job table of evalys."""

from __future__ import annotations

import heapq
from bisect import bisect, insort
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...model.workload import Ints, Workload

#: First and last processor of an interval.
Interval = tuple[int, int]
#: Keys of a header that a replay replaces, or of which a header has several.
_OWN_KEYS = ("MaxProcs", "MaxNodes", "MaxJobs", "MaxRecords", "Note", "Queue", "Partition")


@dataclass(frozen=True, slots=True, eq=False)
class PoolSchedule:
    """The jobs of a replay and when each of them ran; int64 arrays of shape (n,), seconds."""

    log: Workload
    #: Effective submission.
    arrival: Ints
    start: Ints
    procs: int
    policy: str

    def allocations(self) -> list[list[Interval]]:
        """Return the processors of each job, from 0 on: at its start, the lowest that are free.

        A pool does not number its processors; this is one of the allocations that fit.
        """
        finish = self.start + self.log.run_time
        free: list[Interval] = [(0, self.procs - 1)]
        running: list[tuple[int, int]] = []
        found: list[list[Interval]] = [[] for _ in range(len(self.log))]
        for job in np.argsort(self.start, kind="stable").tolist():
            while running and running[0][0] <= self.start[job]:
                for interval in found[heapq.heappop(running)[1]]:
                    _release(free, interval)
            found[job] = _taken(free, int(self.log.procs[job]))
            heapq.heappush(running, (int(finish[job]), job))
        return found

    def swf_lines(self) -> Iterator[str]:
        """Yield the lines of an SWF log, in order of effective submission, with line ends.

        Columns 2, 3 and 5 are of the replay: submission, wait and allocated processors.
        """
        log = self.log
        yield f"; MaxProcs: {self.procs}\n; MaxJobs: {len(log)}\n"
        for name, value in log.header.items():
            if name not in _OWN_KEYS:
                yield f"; {name}: {value}\n"
        yield f"; Note: a replay by Slotwise under policy {self.policy}; waits are simulated\n"
        unknown = np.full(len(log), -1, dtype=np.int64)
        columns = (
            *(log.job, self.arrival, self.start - self.arrival, log.run_time, log.procs),
            *(unknown, unknown, log.procs, log.req_time, unknown, unknown + 2, log.user),
            *(unknown, unknown, log.queue, unknown),
            *_following(log),
        )
        order = np.lexsort((log.job, self.arrival))
        for row in np.stack(columns, axis=1)[order].tolist():
            yield " ".join(map(str, row)) + "\n"

    def evalys_records(self) -> Iterator[dict[str, Any]]:
        """Yield one record per job with the columns of evalys and Batsim, in order of start."""
        log, allocations = self.log, self.allocations()
        for job in np.argsort(self.start, kind="stable").tolist():
            submit, start, run = (
                int(self.arrival[job]),
                int(self.start[job]),
                int(log.run_time[job]),
            )
            yield {
                "job_id": int(log.job[job]),
                "submission_time": submit,
                "requested_number_of_resources": int(log.procs[job]),
                "requested_time": int(log.req_time[job]),
                "starting_time": start,
                "execution_time": run,
                "finish_time": start + run,
                "waiting_time": start - submit,
                "turnaround_time": start + run - submit,
                "stretch": (start + run - submit) / run,
                "allocated_resources": interval_text(allocations[job]),
            }


def _following(log: Workload) -> tuple[Ints, Ints]:
    """Return the preceding job and the think time of each job, -1 without a preceding job."""
    unknown = np.full(len(log), -1, dtype=np.int64)
    if log.preceding is None or log.think is None:
        return unknown, unknown
    return log.preceding, np.where(log.preceding < 0, -1, log.think)


def interval_text(intervals: list[Interval]) -> str:
    """Return intervals as ``0-3 7``."""
    return " ".join(str(low) if low == high else f"{low}-{high}" for low, high in intervals)


def _taken(free: list[Interval], count: int) -> list[Interval]:
    """Remove the lowest `count` processors from ascending free intervals and return them."""
    found: list[Interval] = []
    while count:
        low, high = free.pop(0)
        last = min(high, low + count - 1)
        found.append((low, last))
        count -= last - low + 1
        if last < high:
            free.insert(0, (last + 1, high))
    return found


def _release(free: list[Interval], interval: Interval) -> None:
    """Add an interval to ascending free intervals, joined with its neighbours."""
    at = bisect(free, interval)
    low, high = interval
    if at < len(free) and free[at][0] == high + 1:
        high = free.pop(at)[1]
    if at and free[at - 1][1] == low - 1:
        low = free.pop(at - 1)[0]
    insort(free, (low, high))
