"""A log's jobs as a workload: numbers where replays and backtests want them, and their names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from ...model.errors import InputError, Problem
from ...model.job import Job
from ...model.workload import Workload
from .history import Ended, read_ended
from .jobs import NO_LIMIT, ints


@dataclass(frozen=True, slots=True)
class JobNaming:
    """What the numbers of a workload stand for, where the log has names."""

    jobs: Mapping[int, str] = field(default_factory=dict)
    queues: Mapping[int, str] = field(default_factory=dict)

    def job(self, number: int) -> int | str:
        """The id of a job."""
        return self.jobs.get(number, number)

    def queue(self, number: int) -> str:
        """The name of a queue."""
        return self.queues.get(number, str(number))


def numbered(
    jobs: Sequence[Job], run_times: Sequence[int], limits: Sequence[int], source: str = ""
) -> tuple[Workload, JobNaming]:
    """Jobs in the order of their submission as a workload; they are numbered from 1 on.

    Users and queues are numbered as they come first, so that what comes later changes no number.
    run_times, limits: seconds, NO_LIMIT for none.
    """
    users, queues = _numbers(job.user for job in jobs), _numbers(job.queue for job in jobs)
    workload = Workload.of(
        [job.submit for job in jobs], run_times, limits, [job.slots for job in jobs]
    )
    workload = replace(
        workload,
        user=ints([users[job.user] for job in jobs]),
        queue=ints([queues[job.queue] for job in jobs]),
        source=source,
    )
    return workload, JobNaming(
        {place: job.id for place, job in enumerate(jobs, start=1)},
        {number: name for name, number in queues.items()},
    )


def _numbers(names: Iterable[str]) -> dict[str, int]:
    """Names by their first appearance."""
    found: dict[str, int] = {}
    for name in names:
        found.setdefault(name, len(found))
    return found


def read_recorded(
    path: str | Path, *, keep_going: bool = False
) -> tuple[Workload, JobNaming, tuple[str, ...]]:
    """The ended jobs of lsb.acct or lsb.events for a pool, and remarks about the log.

    The pool has as many slots as were ever in use at once; a job without a run limit has none.
    Raises InputError for a log that cannot be read, or whose jobs all lack a limit.
    """
    ended, remarks = read_ended(Path(path), keep_going)
    if not any(item.job.run_limit for item in ended):
        wrong = "no job of this log has ended that has a run limit (bsub -W), by which a pool plans"
        raise InputError([Problem(wrong, str(path))])
    ended = sorted(ended, key=lambda item: (item.job.submit, _place(item.job.id), item.job.id))
    workload, names = numbered(
        [item.job for item in ended],
        [item.end - item.start for item in ended],
        [item.job.run_limit or NO_LIMIT for item in ended],
        str(path),
    )
    return replace(workload, max_procs=most_in_use(ended)), names, remarks


def _place(name: str) -> list[int]:
    """Numbers of a job and of its array element, as LSF gave them one after another."""
    return [int(digits) for digits in re.findall(r"\d+", name)]


def most_in_use(ended: Sequence[Ended]) -> int:
    """The most slots that were held at once; at one second jobs end before others start."""
    times = ints([item.start for item in ended] + [item.end for item in ended])
    slots = ints([item.job.slots for item in ended])
    change = np.concatenate((slots, -slots))
    order = np.lexsort((change, times))
    return int(np.cumsum(change[order]).max(initial=0))
