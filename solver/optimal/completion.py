"""A start for every job that has one: what the time-based plan leaves out is placed too.

Taken in priority order a job may find no place although a plan of all jobs has one: the terms of
its requirement do not fit one after another, or a job before it never ends. So those that end go
first, and those that do not are placed together, when everything else is over.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ..availability.demand import Demand, released
from ..availability.profile import Profile
from ..placement.earliest import Start, earliest_start, hold_start, is_constant
from ..problem import PlanningProblem
from .order_search import Starts, decode, times_of

#: Places jobs at fixed starts beside what a profile has: FEASIBLE with the starts, or why not.
Jointly = Callable[[Profile, Sequence[tuple[Demand, int]]], tuple[str, dict[str, Start]]]

LIMIT = "the limit of the search was reached"


def completed(
    problem: PlanningProblem, first: Starts, alone: Mapping[str, int], jointly: Jointly
) -> tuple[Starts, str]:
    """The starts of `first` and of jobs that it lacks, and why some still have none.

    alone: the earliest start of each job that has one beside what runs (seconds). The reason is ""
    where all have one or where it is proved that they cannot all have one.
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
            hold_start(profile, demand, first[demand.job.id])
    for demand in missing:
        demand = released(demand, times_of(found))
        start = earliest_start(profile, demand)
        if start is not None:
            hold_start(profile, demand, start)
            found[demand.job.id] = start
    return found


def _when_all_is_over(
    problem: PlanningProblem, kept: Starts, ending: Sequence[Demand], endless: Sequence[Demand]
) -> tuple[Profile, list[tuple[Demand, int]]]:
    """The profile with the jobs that end, and the others with an instant after all of them."""
    profile = problem.base.copy()
    for demand in ending:
        hold_start(profile, demand, kept[demand.job.id])
    late = max(*profile.changes(), *(demand.earliest for demand in endless))
    return profile, [(demand, late) for demand in endless]
