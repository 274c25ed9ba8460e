"""What one job would get behind the jobs before it, asked many times with small changes.

The jobs before it in priority order keep what the method plans for them; the jobs behind it have
no say. So the time-based plan of the jobs before it is made once and asked again and again.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import Literal

from ...model.errors import InputError
from ...model.instance import Instance
from ...model.job import Job
from ...model.plan import Plan, PlannedJob
from ..availability.demand import Demand
from ..availability.profile import Profile
from ..fairshare.priority_order import priority_order
from ..optimal.first_fit import plan_time_based
from ..optimal.lexicographic import warm_starts
from ..placement.earliest import Start, earliest_start, hold_start
from ..planning import plan
from ..problem import PlanningProblem
from ..rules.pending_reasons import reason_unplaced, what_it_waits_for

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
    """A job with its reservation, by host names and by host index."""

    demand: Demand
    item: PlannedJob
    start: Start


@dataclass(frozen=True, slots=True)
class PlanView:
    """The world that one job sees: what runs and what is planned before it.

    planned: the jobs before it that have a start, in priority order.
    """

    problem: PlanningProblem
    profile: Profile
    planned: tuple[Planned, ...]

    @classmethod
    def of(cls, problem: PlanningProblem, found: Plan, *, without: str = "") -> PlanView:
        """Everything that `found` starts, but for one job."""
        starts = warm_starts(problem, found)
        planned = tuple(
            Planned(demand, found[demand.job.id], starts[demand.job.id])
            for demand in problem.demands
            if demand.job.id in starts and demand.job.id != without
        )
        return cls(problem, _held(problem, planned), planned)

    def without(self, job: str) -> Profile:
        """The profile without the reservation of one of the planned jobs."""
        kept = [other for other in self.planned if other.demand.job.id != job]
        return _held(self.problem, kept)


def _held(problem: PlanningProblem, planned: Iterable[Planned]) -> Profile:
    profile = problem.base.copy()
    for other in planned:
        hold_start(profile, other.demand, other.start)
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
        self._views: dict[tuple[str, ...], PlanView] = {}

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
        ids = [other.id for other in self.instance.pending]
        pending = [job if other.id == job.id else other for other in self.instance.pending]
        world = replace(self.instance, pending=tuple(pending if job.id in ids else [*pending, job]))
        ordered = priority_order(world)
        return tuple(takewhile(lambda other: other.id != job.id, ordered))

    def outlook(self, job: Job, *, first: bool = False) -> Outlook:
        """The start of `job`; first: as if it were the first of all pending jobs."""
        ahead = () if first else self.ahead(job)
        if self.method == "time-based":
            return self._time_based(job, ahead)
        found = self._plan((*ahead, job))
        item = found.get(job.id)
        if item is None or item.start is None:
            reason = next((u.reason for u in found.unplaced if u.job == job.id), "")
            return Outlook(job, None, waits_for=reason)
        return Outlook(job, item.start, item.finish, item.allocation, item.waits_for, item.proved)

    def view(self, job: Job) -> PlanView:
        """The world that `job` sees, with the jobs before it where the method puts them."""
        ahead = self.ahead(job)
        if self.method == "time-based":
            return self._view(ahead)
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

    def _view(self, ahead: tuple[Job, ...]) -> PlanView:
        key = tuple(job.id for job in ahead)
        if key not in self._views:
            problem = PlanningProblem.of(replace(self.instance, pending=ahead))
            self._views[key] = PlanView.of(problem, plan_time_based(problem))
        return self._views[key]

    def _time_based(self, job: Job, ahead: tuple[Job, ...]) -> Outlook:
        view = self._view(ahead)
        demand = self.demand(view, job)
        start = earliest_start(view.profile, demand, finishes_only=True)
        if start is None:
            return Outlook(job, None, waits_for=reason_unplaced(view.problem, demand))
        planned = [other.item for other in view.planned]
        reason = what_it_waits_for(
            view.problem, demand, start, view.profile, planned, finishes_only=True
        )
        allocation = view.problem.named(start.allocation)
        return Outlook(job, start.time, start.finish(demand), allocation, reason)
