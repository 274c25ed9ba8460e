"""What one job would get behind the jobs before it, asked many times with small changes.

The jobs before it in priority order keep what the method plans for them; the jobs behind it have
no say. So the time-based plan of the jobs before it is made once and asked again and again.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import Literal

from ...model.errors import InputError
from ...model.instance import Instance
from ...model.job import Job
from ...model.plan import Plan, PlannedJob, Unplaced
from ..availability.demand import Demand
from ..availability.profile import Profile
from ..fairshare.priority_order import priority_order
from ..fairshare.queue_order import has_policy
from ..loop.next_cycle import NextCycle
from ..optimal.lexicographic import warm_starts
from ..placement.earliest import Start, hold_start
from ..planning import plan
from ..problem import PlanningProblem
from ..world.held import Held, hold_back

Method = Literal["time-based", "optimal"]
METHODS = ("time-based", "optimal")
#: Wall seconds of one exact plan where nobody says otherwise.
TIME_LIMIT = 10.0


@dataclass(frozen=True, slots=True)
class Outlook:
    """Start of one job; times in seconds from the origin, None for no start at all.

    waits_for: the constraint that binds, or why there is no start.
    """

    job: Job
    start: int | None
    finish: int | None = None
    allocation: Mapping[str, int] = field(default_factory=dict)
    waits_for: str = ""
    proved: bool = False


@dataclass(frozen=True, slots=True)
class Planned:
    """A job with its reservation, by host names and by host index.

    held: what it keeps from others until its start, None where it keeps nothing.
    """

    demand: Demand
    item: PlannedJob
    start: Start
    held: Held | None = None


@dataclass(frozen=True, slots=True)
class PlanView:
    """The world that one job sees: what runs and what is planned before it.

    planned: the jobs before it that have a start, in priority order. guarded: whether it may use
    nothing that they hold until their starts (its queue has no BACKFILL).
    """

    problem: PlanningProblem
    profile: Profile
    planned: tuple[Planned, ...]
    guarded: bool = False

    @classmethod
    def of(cls, problem: PlanningProblem, found: Plan, *, without: str = "") -> PlanView:
        """Everything that `found` starts, but for one job."""
        starts = warm_starts(problem, found)
        planned = tuple(
            Planned(demand, found[demand.job.id], starts[demand.job.id])
            for demand in problem.demands
            if demand.job.id in starts and demand.job.id != without
        )
        return cls(problem, _profile(problem, planned, guarded=False), planned)

    @classmethod
    def of_cycle(cls, cycle: NextCycle, *, guarded: bool) -> PlanView:
        """Everything that a cycle starts or foresees."""
        planned = tuple(
            Planned(demand, item, start, cycle.held.get(demand.job.id))
            for demand in cycle.problem.demands
            if isinstance(item := cycle.says_of(demand.job.id), PlannedJob)
            and (start := cycle.place_of(demand.job.id)) is not None
        )
        profile = _profile(cycle.problem, planned, guarded=guarded)
        return cls(cycle.problem, profile, planned, guarded)

    def without(self, job: str) -> Profile:
        """The profile without the reservation of one of the planned jobs."""
        kept = [other for other in self.planned if other.demand.job.id != job]
        return _profile(self.problem, kept, guarded=self.guarded)


def _profile(problem: PlanningProblem, planned: Sequence[Planned], *, guarded: bool) -> Profile:
    plain = problem.base.copy()
    for other in planned:
        hold_start(plain, other.demand, other.start)
    if not guarded:
        return plain
    profile = plain.copy()
    for other in planned:
        if other.held is not None:
            hold_back(profile, other.held, plain, problem.instance.now)
    profile.look_only_at(plain)
    return profile


class Asker:
    """Asks for the start of single jobs beside one instance, by one method."""

    def __init__(
        self,
        instance: Instance,
        method: Method = "time-based",
        *,
        time_limit: float | None = None,
        effort: float | None = None,
        cancel: threading.Event | None = None,
    ) -> None:
        """time_limit, effort: of each exact plan, as in :func:`slotwise.plan`."""
        if method not in METHODS:
            raise InputError(f"unknown method {method!r}: use one of {', '.join(METHODS)}")
        self.instance = instance
        self.method = method
        self.time_limit = TIME_LIMIT if time_limit is None and effort is None else time_limit
        self.effort = effort
        self.cancel = cancel or threading.Event()
        self._cycles: dict[tuple[str, ...], NextCycle] = {}

    def beside(self, instance: Instance) -> Asker:
        """The same way of asking, beside another instance."""
        return Asker(
            instance,
            self.method,
            time_limit=self.time_limit,
            effort=self.effort,
            cancel=self.cancel,
        )

    def ahead(self, job: Job) -> tuple[Job, ...]:
        """The pending jobs that are planned before `job`, in order.

        A job of the same id is the one that `job` stands for; else it is submitted last.
        """
        ordered = priority_order(replace(self.instance, pending=self._with(job)))
        return tuple(takewhile(lambda other: other.id != job.id, ordered))

    def outlook(self, job: Job, *, first: bool = False) -> Outlook:
        """The start of `job`; first: as if it were the first of all pending jobs."""
        ahead = () if first else self.ahead(job)
        if self.method == "time-based":
            return _outlook(job, self._says_of(job, ahead, first=first))
        found = self._plan((*ahead, job))
        reasons = {item.job: item for item in found.unplaced}
        return _outlook(job, found.get(job.id) or reasons.get(job.id))

    def view(self, job: Job) -> PlanView:
        """The world that `job` sees, with the jobs before it where the method puts them."""
        ahead = self.ahead(job)
        if self.method == "time-based":
            guarded = not self.instance.queue(job.queue).backfill
            return PlanView.of_cycle(self._cycle(ahead), guarded=guarded)
        world = replace(self.instance, pending=(*ahead, job))
        return PlanView.of(
            PlanningProblem.of(world, as_lsf=False), self._plan((*ahead, job)), without=job.id
        )

    def demand(self, view: PlanView, job: Job) -> Demand:
        """The demand of a job in a view."""
        return view.problem.resolver.demand(job)

    def _plan(self, pending: tuple[Job, ...]) -> Plan:
        return plan(
            replace(self.instance, pending=pending),
            "optimal",
            time_limit=self.time_limit,
            effort=self.effort,
            cancel=self.cancel,
        )

    def _cycle(self, pending: tuple[Job, ...]) -> NextCycle:
        """The next cycle with these jobs only; kept, since many questions are about the same."""
        key = tuple(job.id for job in pending)
        if key not in self._cycles:
            world = replace(self.instance, pending=pending)
            self._cycles[key] = NextCycle(world, self.method)
        return self._cycles[key]

    def _says_of(self, job: Job, ahead: tuple[Job, ...], *, first: bool) -> PlannedJob | Unplaced:
        """What the cycle says: of the job alone where the jobs behind it have no say.

        Under a policy they have one, and where jobs backfill, which happens after every job has had
        its turn: what a job borrows may by then be gone, or free again.
        """
        backfills = bool(ahead) and any(queue.backfill for queue in self.instance.queues)
        if not backfills and not has_policy(self.instance):
            return self._cycle(ahead).would_say_of(job)
        pending = (job,) if first else self._with(job)
        return NextCycle(replace(self.instance, pending=pending), self.method).says_of(job.id)

    def _with(self, job: Job) -> tuple[Job, ...]:
        """The pending jobs with `job` in the place of the one of its id, or as the last."""
        pending = self.instance.pending
        if all(other.id != job.id for other in pending):
            return (*pending, job)
        return tuple(job if other.id == job.id else other for other in pending)


def _outlook(job: Job, found: PlannedJob | Unplaced | None) -> Outlook:
    if isinstance(found, PlannedJob) and found.start is not None:
        return Outlook(
            job, found.start, found.finish, found.allocation, found.waits_for, found.proved
        )
    if isinstance(found, PlannedJob):
        return Outlook(job, None, waits_for=found.fallback or found.waits_for)
    return Outlook(job, None, waits_for="" if found is None else found.reason)
