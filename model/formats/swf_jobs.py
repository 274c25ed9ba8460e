"""The records of an SWF log as jobs, each made when it is asked for, and their recorded starts."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ..int_table import narrow
from ..job import Job
from ..on_demand import OnDemand
from ..workload import Ints, Workload

#: Digits that no job number of a log has.
_DIGITS = 18


class SwfJobs(OnDemand[Job]):
    """Slots are the processors, run limits the requested times.

    queues: of the log's queue numbers the queues of the site; default: the queue of all others.
    """

    __slots__ = ("_columns", "_default", "_follows", "_queues")

    def __init__(self, log: Workload, queues: Mapping[int, str], default: str) -> None:
        columns = (
            *(log.job, log.procs, log.user, log.req_time, log.run_time, log.submit),
            log.queue,
        )
        self._columns = tuple(map(narrow, columns))
        self._queues, self._default = dict(queues), default
        #: Number of the job that each follows, and its think time; None where none does.
        self._follows: tuple[Ints, Ints] | None = None
        if log.preceding is not None and log.think is not None:
            self._follows = narrow(log.preceding), narrow(log.think)

    def __len__(self) -> int:
        return len(self._columns[0])

    def item(self, place: int) -> Job:
        """The job of one record."""
        number, procs, user, req_time, run_time, submit, queue = (
            int(column[place]) for column in self._columns
        )
        return Job(
            id=str(number),
            slots=procs,
            user=f"user{user}" if user >= 0 else "user",
            queue=self._queues.get(queue, self._default),
            run_limit=req_time,
            run_time=run_time,
            submit=submit,
            **self._condition(place),
        )

    def _condition(self, place: int) -> dict[str, Any]:
        """A job may start once another has ended, however, and its user has thought (DEP-06)."""
        if self._follows is None or self._follows[0][place] < 0:
            return {}
        number, think = (int(column[place]) for column in self._follows)
        return {"dependency": f"ended({number})", "think_time": think}


class RecordedStarts(Mapping[str, int]):
    """Recorded starts (seconds) by job id, of jobs whose ids are numbers; in columns."""

    __slots__ = ("_numbers", "_starts")

    def __init__(self, numbers: Ints, starts: Ints) -> None:
        order = np.argsort(numbers)
        self._numbers, self._starts = narrow(numbers[order]), narrow(starts[order])

    def __getitem__(self, job: str) -> int:
        if job.isdecimal() and len(job) < _DIGITS:
            place = bisect_left(self._numbers, int(job))
            if place < len(self._numbers) and str(self._numbers[place]) == job:
                return int(self._starts[place])
        raise KeyError(job)

    def __iter__(self) -> Iterator[str]:
        return map(str, self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)
