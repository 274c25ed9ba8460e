"""The replay policies: first come, first served, EASY, conservative backfilling, and one's own.

A policy of one's own is a class with :meth:`QueuePolicy.order`. Everything else is EASY: jobs start
in that order while they fit; the first that does not fit has a reservation; behind it, in the same
order, every job that does not delay it starts too.

>>> class LargestFirst(QueuePolicy):
...     name = "largest-first"
...
...     def order(self, waiting, now):
...         return -waiting.procs
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left, insort
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import EntryPoint, entry_points
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...model.errors import InputError
from ...model.workload import Ints, Workload
from .engine import Engine, ProcessorProfile, WaitingBySize


@dataclass
class _FcfsState:
    waiting: list[int]
    free: int
    running: list[tuple[int, int]]
    refused: int


class Fcfs(Engine):
    """First come, first served: no job starts before the head of the queue."""

    state_shape: ClassVar[Any] = _FcfsState

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.waiting: list[int] = []  # Waiting jobs in order of arrival.
        self.free = self.procs
        self.running: list[tuple[int, int]] = []  # Running jobs as (planned end, job), sorted.
        # Waiting jobs before this place were refused and nothing was freed since, so they are
        # refused still: with time, what a job may use only shrinks.
        self.refused = 0

    def hold(self, job: int, end: int) -> None:
        self.free -= self.size[job]
        insort(self.running, (end, job))

    def submitted(self, job: int, now: int) -> None:
        self.waiting.append(job)

    def ended(self, job: int, now: int) -> None:
        planned_end = self.start[job] + self.request[job]
        if planned_end > now:
            del self.running[bisect_left(self.running, (planned_end, job))]
            self.free += self.size[job]
            self.refused = 0

    def schedule(self, now: int) -> None:
        running = self.running
        # A planned end frees by the clock: a submission at that time stamp precedes the end event.
        while running and running[0][0] <= now:
            self.free += self.size[running.pop(0)[1]]
            self.refused = 0
        if self.refused < len(self.waiting):
            if self.refused == 0:
                self.start_heads(now)
            self.backfill(now)
            self.refused = len(self.waiting)

    def start_heads(self, now: int) -> None:
        """Start jobs from the head of the queue while they fit."""
        started = 0
        for job in self.waiting:
            if self.size[job] > self.free:
                break
            self.occupy(job, now)
            started += 1
        del self.waiting[:started]

    def occupy(self, job: int, now: int) -> None:
        """Start `job`, which must fit."""
        self.hold(job, now + self.request[job])
        self.begin(job, now)

    def backfill(self, now: int) -> None:
        """Do nothing, because FCFS lets no job overtake another."""

    def reservation_of(self, head: int) -> tuple[int, int]:
        """Return when a head that does not fit can start by the planned ends of running jobs, and
        how many processors are then free beyond its need.
        """
        free, need, shadow = self.free, self.size[head], 0
        for end, job in self.running:
            if free >= need and end > shadow:
                break
            free += self.size[job]
            shadow = end
        return shadow, free - need


@dataclass
class _EasyState(_FcfsState):
    shadow: int
    extra: int


class Easy(Fcfs):
    """EASY backfilling: the head of the queue has a reservation, and other jobs start if they do
    not delay the head.

    The shadow is the time at which the head can start by the planned ends of running jobs; `extra`
    is what is free then beyond the head's need. A later job may start if it fits now and ends by
    the shadow or fits into the extra processors (Lifka 1995; Mu'alem and Feitelson 2001).
    """

    state_shape: ClassVar[Any] = _EasyState

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.shadow = 0
        self.extra = 0
        self.by_size = WaitingBySize(self.size, self.request)

    def submitted(self, job: int, now: int) -> None:
        super().submitted(job, now)
        self.by_size.add(job)

    def occupy(self, job: int, now: int) -> None:
        super().occupy(job, now)
        self.by_size.remove(job)

    def backfill(self, now: int) -> None:
        waiting, size, request = self.waiting, self.size, self.request
        if self.refused == 0 and waiting:
            self.shadow, self.extra = self.reservation_of(waiting[0])
        free = self.free
        if len(waiting) <= 1 or free == 0:
            return
        extra, window = self.extra, self.shadow - now
        candidates = self._candidates(free, extra, window)
        for job in self.in_order(candidates) if len(candidates) > 1 else candidates:
            need = size[job]
            if need > self.free:
                continue
            if request[job] > window:
                if need > extra:
                    continue
                extra -= need
            self.occupy(job, now)
            del waiting[bisect_left(waiting, job)]  # numbers are in order of arrival
        self.extra = extra

    def _candidates(self, free: int, extra: int, window: int) -> list[int]:
        """Return jobs behind the head that could start, each considered alone, in order of
        arrival.
        """
        if self.refused == 0:
            return self.by_size.fitting(
                free, extra, window
            )  # The head of the queue is excluded, because it does not fit.
        size, request = self.size, self.request
        return [
            job
            for job in self.waiting[self.refused :]
            if size[job] <= free and (request[job] <= window or size[job] <= extra)
        ]

    def in_order(self, candidates: list[int]) -> list[int]:
        """Return the candidates in the order of attempts, here the order of arrival."""
        return candidates

    def restore_policy(self, state: dict[str, Any]) -> None:
        super().restore_policy(state)
        self.by_size = WaitingBySize(self.size, self.request)
        for job in self.waiting:
            self.by_size.add(job)


class EasySjbf(Easy):
    """EASY with the candidates tried by shortest request, ties by arrival (Tsafrir et al. 2007)."""

    def in_order(self, candidates: list[int]) -> list[int]:
        return sorted(candidates, key=self.request.__getitem__)


@dataclass
class _ConservativeState:
    times: list[int] = field(metadata={"at": "profile.times"})
    free: list[int] = field(metadata={"at": "profile.free"})
    waiting: list[int]
    loose: bool
    arrived: list[int]
    compress_due: bool


class Conservative(Engine):
    """Conservative backfilling: each job gets a reservation at arrival; at each end, reservations
    move earlier in order of arrival.

    A reservation is the earliest start that disturbs no other reservation. It never moves later
    (Mu'alem and Feitelson 2001, with compression).
    """

    state_shape: ClassVar[Any] = _ConservativeState

    plans_ahead = True

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.profile = ProcessorProfile([self.now], [self.procs])
        self.waiting: list[
            int
        ] = []  # Jobs with a reservation, or just started, in order of arrival.
        self.arrived: list[int] = []  # Jobs without a reservation.
        self.compress_due = False
        # Whether a pass could still move something: a freed tail or a moved job leaves room.
        self.loose = False

    def hold(self, job: int, end: int) -> None:
        if end > self.now:
            self.profile.take(self.now, end, self.size[job])

    def submitted(self, job: int, now: int) -> None:
        self.arrived.append(job)

    def ended(self, job: int, now: int) -> None:
        planned_end = self.start[job] + self.request[job]
        if planned_end > now:
            self.profile.take(now, planned_end, -self.size[job])
            self.loose = True
        self.compress_due = True

    def schedule(self, now: int) -> None:
        profile = self.profile
        profile.forget_before(now)
        # Both can be due only once a time stamp: those who have a reservation come first.
        if self.compress_due and self.loose:
            self.compress(now)
        self.compress_due = False
        for job in self.arrived:
            start = profile.earliest(self.size[job], self.request[job], now)
            profile.take(start, start + self.request[job], self.size[job])
            self.begin(job, start)
            if start > now:
                self.waiting.append(job)
        self.arrived.clear()

    def compress(self, now: int) -> None:
        """Move each waiting job to its earliest start, in one pass in order of arrival."""
        profile, start = self.profile, self.start
        self.loose = False
        self.waiting = [job for job in self.waiting if start[job] > now]
        for job in self.waiting:
            size, request, reserved = self.size[job], self.request[job], start[job]
            earlier = profile.earlier(size, request, now, reserved)
            if earlier < reserved:
                profile.take(reserved, reserved + request, -size)
                profile.take(earlier, earlier + request, size)
                self.begin(job, earlier)
                self.loose = True


@dataclass
class _ReplanState:
    times: list[int] = field(metadata={"at": "profile.times"})
    free: list[int] = field(metadata={"at": "profile.free"})
    waiting: list[int]
    planned: list[int]
    running: list[tuple[int, int]]
    stale: bool


class Replan(Engine):
    """A policy that drops all reservations and plans all jobs again, first come, first served.

    A job may thus be moved later than it was once promised. Planning anew is skipped where it
    cannot change anything: while no job ends before its planned end, the plan stays what it was
    and arrivals are appended to it.
    """

    state_shape: ClassVar[Any] = _ReplanState

    default_schedule_after = "timestamp"

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.profile = ProcessorProfile([self.now], [self.procs])
        self.waiting: list[int] = []  # Waiting jobs in order of arrival.
        self.planned: list[int] = []  # Planned start of each waiting job that has one.
        self.running: dict[int, int] = {}  # Planned end of each running job.
        self.stale = False

    def hold(self, job: int, end: int) -> None:
        self.running[job] = end
        self.stale = True

    def submitted(self, job: int, now: int) -> None:
        self.waiting.append(job)

    def ended(self, job: int, now: int) -> None:
        if self.running.pop(job) > now:
            self.stale = True

    def schedule(self, now: int) -> None:
        if self.stale:
            self.profile = self.free_beside_running(now)
            self.planned.clear()
            self.stale = False
        else:
            self.profile.forget_before(now)
        self.plan(now)
        if now in self.planned:
            self.start_due(now)

    def free_beside_running(self, now: int) -> ProcessorProfile:
        """Return the processors that running jobs leave free from `now` on, by their
        planned ends.
        """
        freed: dict[int, int] = {now: 0}
        free = self.procs
        for job, end in self.running.items():
            if end > now:
                free -= self.size[job]
                freed[end] = freed.get(end, 0) + self.size[job]
        times = sorted(freed)
        steps = []
        for time in times:
            free += freed[time]
            steps.append(free)
        return ProcessorProfile(times, steps)

    def plan(self, now: int) -> None:
        """Give every waiting job without a planned start the earliest one, in order of arrival."""
        profile, planned = self.profile, self.planned
        # An equal job planned before bounds the search: the profile only fills up within a plan.
        equal: dict[tuple[int, int], int] = {}
        for job in self.waiting[len(planned) :]:
            size, request = self.size[job], self.request[job]
            start = profile.earliest(size, request, equal.get((size, request), now))
            equal[size, request] = start
            profile.take(start, start + request, size)
            planned.append(start)

    def start_due(self, now: int) -> None:
        """Start the jobs whose planned start is now."""
        later = [place for place, start in enumerate(self.planned) if start > now]
        for job, start in zip(self.waiting, self.planned, strict=True):
            if start == now:
                self.running[job] = now + self.request[job]
                self.begin(job, now)
        self.waiting = [self.waiting[place] for place in later]
        self.planned = [self.planned[place] for place in later]

    def policy_state(self) -> dict[str, Any]:
        return super().policy_state() | {"running": list(self.running.items())}

    def restore_policy(self, state: dict[str, Any]) -> None:
        super().restore_policy(state)
        self.running = dict(state["running"])


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
            f"the name of policy {type(made).__name__} must be a string such as 'shortest', "
            f"not {getattr(made, 'name', None)!r}"
        )
    return type(type(made).__name__, (Ordered,), {"policy": made, "__doc__": type(made).__doc__})


def registered() -> Mapping[str, EntryPoint]:
    """Return the policies of installed packages, by name."""
    return {point.name: point for point in entry_points(group=ENTRY_POINTS)}
