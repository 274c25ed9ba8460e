"""Time-based slot reservation, job by job over finish times (TBR-01 … TBR-12).

The literal reading of LSB_TIME_RESERVE_NUMJOBS: pending jobs in priority order, each at the first
instant - now, or the finish of a running job or of a job with a future allocation - at which all
its constraints hold, by first fit over its candidate hosts; its future allocation is then taken.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...model.instance import Instance
from ...model.plan import Plan, PlannedJob, Unplaced
from ..availability.demand import Demand
from ..availability.profile import Profile
from ..methods.greedy import GreedyState, reserve_greedily
from ..placement.earliest import earliest_start, hold_start
from ..problem import PlanningProblem
from ..rules.pending_reasons import reason_unplaced, what_it_waits_for


def time_based_plan(instance: Instance, *, jobs: int | None = None, as_lsf: bool = True) -> Plan:
    """Plan the pending jobs of an instance as time-based reservation does.

    jobs: how many jobs of highest priority get a future allocation (LSB_TIME_RESERVE_NUMJOBS);
    all of them where None, which is what a planner wants to see. The rest, and jobs that cannot be
    placed (GRD-07), get a greedy reservation with its estimate.
    """
    return plan_time_based(PlanningProblem.of(instance, as_lsf=as_lsf), jobs=jobs)


def plan_time_based(problem: PlanningProblem, *, jobs: int | None = None) -> Plan:
    """:func:`time_based_plan` for a problem that is already resolved."""
    profile = problem.base.copy()
    greedy = GreedyState.of(problem)
    reservations: list[PlannedJob] = []
    unplaced: list[Unplaced] = []
    for position, demand in enumerate(problem.demands):
        planned: PlannedJob | None
        if jobs is not None and position >= jobs:
            planned = reserve_greedily(problem, demand, greedy, profile)
        else:
            planned = _future_allocation(problem, demand, profile, reservations)
            if planned is None and not demand.impossible:
                reason = reason_unplaced(problem, demand)
                planned = reserve_greedily(problem, demand, greedy, profile, fallback=reason)
                if planned is not None and planned.estimate is None:
                    planned = None
        if planned is None:
            unplaced.append(Unplaced(demand.job.id, reason_unplaced(problem, demand)))
        else:
            reservations.append(planned)
    starts = [item.start for item in reservations]
    value = float(sum(start - problem.instance.now for start in starts if start is not None))
    return Plan(
        method="time-based",
        objective="lexicographic",
        status="heuristic",
        now=problem.instance.now,
        reservations=tuple(reservations),
        unplaced=tuple(unplaced),
        value=value,
    )


def _future_allocation(
    problem: PlanningProblem, demand: Demand, profile: Profile, before: Sequence[PlannedJob]
) -> PlannedJob | None:
    """Place one job at its earliest instant and take the place; None if there is none."""
    lower = None
    if len(demand.terms) == 1:  # with more, jobs before it may even help: see earliest._first_fit
        alone = earliest_start(problem.base, demand, finishes_only=True)
        if alone is None:
            return None
        lower = alone.time
    start = earliest_start(profile, demand, finishes_only=True, not_before=lower)
    if start is None:
        return None
    reason = what_it_waits_for(problem, demand, start, profile, before, finishes_only=True)
    hold_start(profile, demand, start)
    return problem.planned(demand, start, "time-based", waits_for=reason)
