"""A start for every job that has one: jobs and terms that find none one after another."""

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

# A start for every job that has one: what the time-based plan leaves out is placed too.
#
# Taken in priority order a job may find no place although a plan of all jobs has one: the terms
# of its requirement do not fit one after another, or a job before it never ends. So those that
# end go first, and those that do not are placed together, when everything else is over.


#: Function that places jobs at fixed starts in a profile: returns FEASIBLE and the starts, or
#: another status.
Jointly = Callable[[Profile, Sequence[tuple[Demand, int]]], tuple[str, dict[str, Start]]]

LIMIT = "the limit of the search was reached"
#: Why it is not proved that jobs have no start: another order may leave one before -t.
DEADLINES = "jobs with a termination time (-t) were not tried in every order"


def completed(
    problem: PlanningProblem, first: Starts, alone: Mapping[str, int], jointly: Jointly
) -> tuple[Starts, str]:
    """The starts of `first` and of jobs that it lacks, and why some still have none.

    alone: the earliest start of each job that has one beside what runs (seconds). The reason is ""
    if all have one or where it is proved that they cannot all have one.
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
    return found, "jobs without an end that hold less later on were not tried in every order"


def _added(problem: PlanningProblem, first: Starts, missing: Sequence[Demand]) -> Starts:
    """`first` and those of the missing jobs that find a place beside it."""
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
    """The profile with the jobs that end, and the others with an instant after all of them."""
    profile = problem.base.copy()
    for demand in ending:
        allocate_start(profile, demand, kept[demand.job.id])
    late = max(*profile.changes(), *(demand.earliest for demand in endless))
    return profile, [(demand, late) for demand in endless]


# The terms of a compound requirement placed together, where one after another they do not fit.
#
# LSF places term by term and does not go back (REQ-14); the exact methods look at every
# placement.


#: Limits of one question: wall seconds and deterministic units.
SECONDS = 5.0
EFFORT = 4.0


@dataclass(slots=True)
class TermsTogether:
    """A term placer for one search."""

    budget: Budget
    #: Jobs that a limit kept from an answer.
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
        """Jobs at fixed starts beside what is available: FEASIBLE and the starts, or why not."""
        from .joint_placement import JointPlacement

        model = JointPlacement(availability, starts)
        return model.solve(self.budget, seconds=SECONDS, effort=EFFORT)

    def without_claims(self, plan: Plan) -> Plan:
        """The plan with nothing proved that rests on a question left undecided."""
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
