"""User-defined replay policies: an order of the queue, and a choice of jobs that may be backfilled.

A policy is one class with :meth:`QueuePolicy.order`. Everything else is EASY: jobs start in that
order while they fit; the first that does not fit has a reservation; behind it, in the same order,
every job that does not delay it starts too.

>>> class LargestFirst(QueuePolicy):
...     name = "largest-first"
...
...     def order(self, waiting, now):
...         return -waiting.procs
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...model.errors import InputError
from ...model.workload import Ints, Workload
from .policies import Fcfs


@dataclass(frozen=True, slots=True, eq=False)
class QueueView:
    """The waiting jobs in order of arrival; int64 arrays of shape (n,), times in seconds.

    In a forecast the numbers of jobs are its own, queues are unknown, and so are the users of
    simulated arrivals.
    """

    #: Number of each job in the log.
    job: Ints
    #: Submission of each job; for a job that follows another, its arrival.
    submit: Ints
    #: Requested run time, the only run time known to a scheduler.
    req_time: Ints
    #: Number of processors.
    procs: Ints
    #: Number of the user in the log, -1 if unknown.
    user: Ints
    #: Number of the queue in the log, -1 if unknown.
    queue: Ints

    def __len__(self) -> int:
        return len(self.job)


class QueuePolicy(ABC):
    """A policy defined by its order of the queue; `name` appears in tables and checkpoints."""

    name: ClassVar[str]

    @abstractmethod
    def order(self, waiting: QueueView, now: int) -> ArrayLike:
        """Return a number per job, shape (n,): the lowest goes first, equal ones in order of
        arrival.
        """

    def may_backfill(self, waiting: QueueView, now: int) -> ArrayLike:
        """Return whether each job may be backfilled, shape (n,); by default all jobs may."""
        return np.ones(len(waiting), dtype=bool)


class Ordered(Fcfs):
    """EASY backfilling under a user-defined policy, which orders the queue at every pass."""

    policy: ClassVar[QueuePolicy]

    def __init__(self, workload: Workload, *arguments: Any) -> None:
        super().__init__(workload, *arguments)
        self._log = workload
        #: Submission times as the policy sees them.
        self.known_submit = workload.submit

    def submitted_before(self, submit: Ints) -> None:
        """Set the recorded submission times of the first jobs, if this engine begins later."""
        self.known_submit = np.concatenate((submit, self.known_submit[len(submit) :]))

    def schedule(self, now: int) -> None:
        running = self.running
        while running and running[0][0] <= now:
            self.free += self.size[running.pop(0)[1]]
        if not self.waiting or not self.free:
            return
        jobs = self.waiting
        view = self._view(np.array(jobs, dtype=np.int64))
        ranks = _one_each(self.policy, "order", self.policy.order(view, now), len(jobs))
        places = np.argsort(ranks, kind="stable").tolist()
        first = 0
        while first < len(places) and self.size[jobs[places[first]]] <= self.free:
            self.occupy(jobs[places[first]], now)
            first += 1
        if first < len(places):
            self._backfill([jobs[place] for place in places[first:]], now)
        self.waiting = [job for job in jobs if self.start[job] < 0]

    def _backfill(self, queue: list[int], now: int) -> None:
        """Start jobs behind the head of `queue` that do not delay the head, which does not fit."""
        head, behind = queue[0], queue[1:]
        candidates = [job for job in behind if self.size[job] <= self.free]
        if not candidates:
            return
        view = self._view(np.array(candidates, dtype=np.int64))
        allowed = _one_each(
            self.policy, "may_backfill", self.policy.may_backfill(view, now), len(candidates)
        )
        shadow, extra = self.reservation_of(head)
        for job, may in zip(candidates, allowed.tolist(), strict=True):
            need = self.size[job]
            if not may or need > self.free:
                continue
            if now + self.request[job] > shadow:
                if need > extra:
                    continue
                extra -= need
            self.occupy(job, now)

    def _view(self, rows: Ints) -> QueueView:
        log = self._log
        submit = self.known_submit[rows]
        for place, row in enumerate(rows.tolist() if self.submitted_at else ()):
            submit[place] = self.submitted_at.get(row, submit[place])
        asked = (log.req_time[rows], log.procs[rows], log.user[rows], log.queue[rows])
        return QueueView(log.job[rows], submit, *asked)


def _one_each(policy: QueuePolicy, call: str, given: ArrayLike, count: int) -> NDArray[Any]:
    """Return the values of a policy, one per job. Raises InputError for any other result."""
    found = np.asarray(given)
    if found.shape != (count,) or found.dtype.kind not in "biuf" or np.isnan(found).any():
        raise InputError(
            f"policy {policy.name}: {call} must give one number for each of {count} waiting jobs, "
            f"not {found.dtype} of shape {found.shape}"
        )
    return found


class SmallestArea(QueuePolicy):
    """SAF: smallest processors times requested time first (Carastan-Santos et al. 2019)."""

    name = "saf"

    def order(self, waiting: QueueView, now: int) -> ArrayLike:
        """Return the area of each job."""
        return waiting.procs * waiting.req_time


class Wfp3(QueuePolicy):
    """WFP3: (wait over requested time) cubed times processors, largest first (Tang et al. 2009)."""

    name = "wfp3"

    def order(self, waiting: QueueView, now: int) -> ArrayLike:
        """Return the negated score of each job."""
        return -(((now - waiting.submit) / waiting.req_time) ** 3) * waiting.procs


class F1(QueuePolicy):
    """F1: log10(requested time) times processors, plus 870 log10(submission), least first.

    Found by regression over simulated schedules (Carastan-Santos and de Camargo 2017). Submissions
    count from the begin of the log; before second 1 they count as second 1.
    """

    name = "f1"

    def order(self, waiting: QueueView, now: int) -> ArrayLike:
        """Return the score of each job."""
        submit = np.log10(np.maximum(waiting.submit, 1))
        return np.asarray(np.log10(waiting.req_time) * waiting.procs + 870 * submit)


#: Queue orders from the literature, by name.
OF_LITERATURE: Mapping[str, type[QueuePolicy]] = {
    policy.name: policy for policy in (SmallestArea, Wfp3, F1)
}


#: Name of the entry point group for user-defined policies, subclasses of QueuePolicy.
ENTRY_POINTS = "slotwise.queue_policy"


def ordered(policy: QueuePolicy | type[QueuePolicy]) -> type[Ordered]:
    """Return the engine of a policy. Raises InputError if the value is not a policy."""
    made = policy() if isinstance(policy, type) else policy
    if not isinstance(made, QueuePolicy):
        raise InputError(f"a policy must be a QueuePolicy, not {type(made).__name__}")
    if not isinstance(getattr(made, "name", None), str) or not made.name:
        raise InputError(
            f"the name of policy {type(made).__name__} must be a text such as 'shortest', "
            f"not {getattr(made, 'name', None)!r}"
        )
    return type(type(made).__name__, (Ordered,), {"policy": made, "__doc__": type(made).__doc__})


def registered() -> Mapping[str, EntryPoint]:
    """Return the policies of installed packages, by name."""
    return {point.name: point for point in entry_points(group=ENTRY_POINTS)}
