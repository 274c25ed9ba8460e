"""Job by job, each where it first fits: the plan that every exact search starts from.

Pending jobs in priority order, each at the first instant - now, or the finish of a running or a
planned job - at which all its constraints hold, by first fit over its candidate hosts; its place is
then taken. What LSF's own time-based reservation says is :mod:`solver.methods.time_based`.
"""

from __future__ import annotations

from collections.abc import Hashable

from ...model.plan import Plan, PlannedJob, Unplaced
from ..availability.demand import Demand, released
from ..availability.profile import FOREVER, Profile
from ..availability.resources import SLOTS
from ..budget import Budget
from ..pending_reasons import JobByJob, reason_unplaced
from ..placement.earliest import Start, earliest_start, hold_start, start_at
from ..problem import PlanningProblem, not_looked_at

#: Said of a plan with whole nodes.
WHOLE_NODES = "whole nodes: a job that starts later has its hosts to itself, as Slurm plans"


def plan_first_fit(
    problem: PlanningProblem, budget: Budget | None = None, *, whole_nodes: bool = False
) -> Plan:
    """The plan of the pending jobs, one after the other, as far as the budget and its grace go.

    whole_nodes: no planned job shares a host with one whose start lies in the future; what starts
    now, and what runs, takes its slots alone.
    """
    budget = budget or Budget()
    profile = problem.base.copy()
    reservations: list[PlannedJob] = []
    unplaced: list[Unplaced] = []
    unseen: list[PlannedJob] = []
    reasons = JobByJob(problem, finishes_only=True)
    last: tuple[Hashable, PlannedJob] | None = None
    starts: dict[str, int] = {}
    for demand in problem.demands:
        if budget.late():
            unseen.append(not_looked_at(demand.job, "time-based"))
            continue
        demand = released(demand, starts)
        equal = last is not None and last[0] == demand.kind and _only_later(demand)
        like = last[1] if last is not None and equal else None
        planned = _place(problem, demand, profile, reasons, like=like, whole_nodes=whole_nodes)
        if planned is None:
            unplaced.append(Unplaced(demand.job.id, reason_unplaced(problem, demand)))
        else:
            reservations.append(planned)
            reasons.planned(planned, demand)
            last = demand.kind, planned
            starts |= {} if planned.start is None else {planned.job: planned.start}
    now = problem.instance.now
    notes = [WHOLE_NODES] if whole_nodes else []
    if unseen:
        notes.append(f"cut short by the limit: {len(unseen)} jobs not looked at")
    return Plan(
        method="time-based",
        objective="lexicographic",
        status="heuristic",
        now=now,
        reservations=(*reservations, *unseen),
        unplaced=tuple(unplaced),
        value=float(sum(start - now for start in starts.values())),
        notes=tuple(notes),
        cut=bool(unseen),
    )


def _place(
    problem: PlanningProblem,
    demand: Demand,
    profile: Profile,
    reasons: JobByJob,
    *,
    like: PlannedJob | None,
    whole_nodes: bool,
) -> PlannedJob | None:
    """Place one job at its earliest instant and take the place; None if there is none.

    like: an equal job placed right before it, than which it starts no earlier.
    """
    start = _earliest(problem, demand, profile, None if like is None else like.start)
    if start is None:
        return None
    reason = reasons.waits_for(demand, start, profile)
    if whole_nodes:
        hold_whole_nodes(profile, demand, start)
    else:
        hold_start(profile, demand, start)
    return problem.planned(demand, start, "time-based", waits_for=reason)


def _only_later(demand: Demand) -> bool:
    """Whether equal jobs before a job can do nothing but delay it."""
    return len(demand.terms) == 1 and demand.interval is None


def _earliest(
    problem: PlanningProblem, demand: Demand, profile: Profile, not_before: int | None
) -> Start | None:
    """Where a job first fits; no search where that is the first instant that it may start at."""
    if demand.impossible:
        return None
    if not_before is not None:
        return earliest_start(profile, demand, finishes_only=True, not_before=not_before)
    if len(demand.terms) > 1:  # jobs before it may even help: see earliest._first_fit
        return earliest_start(profile, demand, finishes_only=True)
    start = start_at(profile, demand, demand.earliest)
    if start is not None:
        return start
    alone = earliest_start(problem.base, demand, finishes_only=True)
    if alone is None:
        return None
    return earliest_start(profile, demand, finishes_only=True, not_before=alone.time)


def hold_whole_nodes(profile: Profile, demand: Demand, start: Start) -> None:
    """Enter a planned start, with all of its hosts where it lies in the future."""
    hold_start(profile, demand, start)
    if start.time <= profile.now:
        return
    finish = start.finish(demand)
    capacity = profile.table.host_resources[SLOTS].capacity
    for host, slots in start.allocation.items():
        rest = float(capacity[host]) - slots
        if rest > 0:
            profile.block(host, rest, start.time, FOREVER if finish is None else finish)
