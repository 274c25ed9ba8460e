"""Starts for jobs that the time-based plan leaves without one, and joint placement of the terms of
a job.

Joint placement of the terms of a compound requirement, if they do not fit one after another. LSF
places term by term without going back (REQ-14); the exact methods examine every placement.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ...model.plan import Plan
from ..availability.demand import Availability, Demand, with_eligible_time
from ..availability.profile import Profile
from ..availability.resources import SLOTS, Allocation
from ..budget import Budget
from ..placement.earliest import Start, allocate_start, earliest_start, is_constant
from ..problem import PlanningProblem
from .order_search import Starts, decode, times_of

#: Function that places jobs at fixed starts in a profile; it returns FEASIBLE and the starts, or
#: another status.
Jointly = Callable[[Profile, Sequence[tuple[Demand, int]]], tuple[str, dict[str, Start]]]

LIMIT = "the search limit was reached"
#: Reason why a missing start is not proved impossible: another order may leave a start before the
#: termination time (-t).
DEADLINES = "jobs with a termination time (-t) were not tried in every order"


def completed(
    problem: PlanningProblem, first: Starts, alone: Mapping[str, int], jointly: Jointly
) -> tuple[Starts, str]:
    """Return `first` with starts for the jobs missing in it, and the reason why some jobs still
    have none.

    alone: the earliest start of each job that has one beside what runs (seconds). The reason is ""
    if all have one or where it is proved that they cannot all have one.

    Jobs placed in priority order may find no start although a plan of all jobs has one: the terms
    of a requirement may not fit one after another, or an earlier job may never end. So the jobs
    that end are placed first, and the endless jobs are placed together after all of these ends.
    """
    able = [demand for demand in problem.demands if demand.job.id in alone]
    found = _added(problem, first, [demand for demand in able if demand.job.id not in first])
    if len(found) == len(able):
        return found, ""
    ending = [demand for demand in able if demand.duration is not None]
    endless = [demand for demand in able if demand.duration is None]
    again = decode(problem, [*ending, *endless], dict(alone))
    if len(again) == len(able):
        return again, ""
    if any(demand.latest is not None for demand in able):
        return max(found, again, key=len), DEADLINES
    found = max(found, again, key=len)
    kept = {job: start for job, start in again.items() if job not in {d.job.id for d in endless}}
    if len(kept) < len(ending) or not endless:
        return found, LIMIT
    status, placed = jointly(*_when_all_is_over(problem, kept, ending, endless))
    if status == "FEASIBLE":
        return kept | placed, ""
    if status != "INFEASIBLE":
        return found, LIMIT
    if all(is_constant(demand) and demand.calendar is None for demand in endless):
        return found, ""
    return found, "not every order was tried for jobs with an unknown end whose usage decreases"


def _added(problem: PlanningProblem, first: Starts, missing: Sequence[Demand]) -> Starts:
    """Return `first` with starts of those missing jobs that fit in addition."""
    found = dict(first)
    if not missing:
        return found
    profile = problem.base.copy()
    for demand in problem.demands:
        if demand.job.id in first:
            allocate_start(profile, demand, first[demand.job.id])
    for demand in missing:
        demand = with_eligible_time(demand, times_of(found))
        start = earliest_start(profile, demand)
        if start is not None:
            allocate_start(profile, demand, start)
            found[demand.job.id] = start
    return found


def _when_all_is_over(
    problem: PlanningProblem, kept: Starts, ending: Sequence[Demand], endless: Sequence[Demand]
) -> tuple[Profile, list[tuple[Demand, int]]]:
    """Return the profile with the jobs that end, and the endless jobs with an instant after all of
    these ends.
    """
    profile = problem.base.copy()
    for demand in ending:
        allocate_start(profile, demand, kept[demand.job.id])
    late = max(*profile.changes(), *(demand.earliest for demand in endless))
    return profile, [(demand, late) for demand in endless]


#: Limits of one joint placement of terms, in wall seconds and in deterministic units.
SECONDS = 5.0
EFFORT = 4.0


@dataclass(slots=True)
class TermsTogether:
    """A placer for all terms of a job together, for one search."""

    budget: Budget
    #: Ids of the jobs whose placement a limit left undecided.
    undecided: set[str] = field(default_factory=set)

    def __call__(
        self, availability: Availability, demand: Demand, time: int
    ) -> tuple[Allocation, ...] | None:
        """Return one allocation per term for a start at `time` (seconds), or None."""
        if availability.free(SLOTS, time).clip(0).sum() < demand.slots:
            return None
        status, placed = self.jointly(availability, [(demand, time)])
        if status not in ("FEASIBLE", "INFEASIBLE"):
            self.undecided.add(demand.job.id)
        return placed[demand.job.id].terms if status == "FEASIBLE" else None

    def jointly(
        self, availability: Availability, starts: Sequence[tuple[Demand, int]]
    ) -> tuple[str, dict[str, Start]]:
        """Place jobs at fixed starts given the profile; return FEASIBLE and the starts, or the
        reason of a failure.
        """
        from .joint_placement import JointPlacement

        model = JointPlacement(availability, starts)
        return model.solve(self.budget, seconds=SECONDS, effort=EFFORT)

    def without_claims(self, plan: Plan) -> Plan:
        """Return the plan without the proofs that depend on an undecided placement."""
        if not self.undecided:
            return plan
        names = ", ".join(sorted(self.undecided))
        return replace(
            plan,
            status="feasible",
            bound=None,
            reservations=tuple(item.unproved() for item in plan),
            unplaced=tuple(
                replace(item, reason=f"its terms: {LIMIT}") if item.job in self.undecided else item
                for item in plan.unplaced
            ),
            notes=(*plan.notes, f"not proved: {LIMIT} before the terms of {names} were placed"),
        )
