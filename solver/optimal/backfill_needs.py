"""Which starts of a joint plan need BACKFILL, and plans that do without (TBR-18).

The joint plan lets a job run on slots that a job before it needs only later. The loop gives such
slots to jobs of BACKFILL queues alone, since the reservation of the other holds them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...model.plan import Plan, PlannedJob, Unplaced
from ..availability.demand import Demand
from ..availability.profile import Profile
from ..availability.resources import SLOTS
from ..pending_reasons import reason_unplaced, what_it_waits_for
from ..placement.earliest import Start, earliest_start, hold_start
from ..placement.holding import hold_place
from ..problem import PlanningProblem
from .lexicographic import warm_starts

#: A planned job: what it asks, and where it starts.
Place = tuple[Demand, Start]


def with_backfill_needs(problem: PlanningProblem, plan: Plan) -> Plan:
    """The plan with a note at each job that starts only where its queue has BACKFILL."""
    if all(demand.queue.backfill for demand in problem.demands):
        return plan
    places = _places(problem, plan)
    needy = {
        demand.job.id: demand.queue.name
        for at, (demand, start) in enumerate(places)
        if _needs_backfill(problem, demand, start, places[:at], places[at + 1 :])
    }
    reservations = tuple(
        replace(item, needs_backfill=needy.get(item.job, "")) for item in plan.reservations
    )
    return replace(plan, reservations=reservations)


def without_backfill(problem: PlanningProblem, plan: Plan) -> Plan:
    """A plan that keeps held slots from queues without BACKFILL, as LSF does (--as-lsf).

    Up to the first job that would need it the joint plan stands, proofs included; from there on
    the jobs are placed one after the other, each as early as what is held lets it.
    """
    plan = with_backfill_needs(problem, plan)
    if not any(item.needs_backfill for item in plan):
        return plan
    starts = warm_starts(problem, plan)
    kept: list[Place] = []
    found: list[PlannedJob] = []
    unplaced: list[Unplaced] = []
    standing = True
    for demand in problem.demands:
        item = plan.get(demand.job.id)
        standing = standing and not (item is not None and item.needs_backfill)
        if standing and item is not None:
            kept.append((demand, starts[demand.job.id]))
            found.append(item)
            continue
        profile = _guarded(problem, demand, kept)
        start = earliest_start(profile, demand)
        if start is None:
            unplaced.append(Unplaced(demand.job.id, reason_unplaced(problem, demand)))
            continue
        alone = earliest_start(problem.base, demand)
        bound = start.time if alone is None else min(alone.time, start.time)
        why = what_it_waits_for(problem, demand, start, profile, found)
        kept.append((demand, start))
        found.append(problem.planned(demand, start, plan.method, bound=bound, waits_for=why))
    return _as_plan(problem, plan, found, unplaced)


def _as_plan(
    problem: PlanningProblem, plan: Plan, found: list[PlannedJob], unplaced: list[Unplaced]
) -> Plan:
    proved = all(item.proved for item in found)
    now = problem.instance.now
    starts = [item.start - now for item in found if item.start is not None]
    bounds = [item.bound - now for item in found if item.bound is not None]
    return replace(
        plan,
        status=plan.status if proved else "feasible",
        reservations=tuple(found),
        unplaced=tuple(unplaced),
        value=float(sum(starts)),
        bound=float(sum(bounds)) if proved else None,
        notes=(*plan.notes, "jobs of queues without BACKFILL use no slots that are held"),
    )


def _places(problem: PlanningProblem, plan: Plan) -> list[Place]:
    starts = warm_starts(problem, plan)
    return [(d, starts[d.job.id]) for d in problem.demands if d.job.id in starts]


def _needs_backfill(
    problem: PlanningProblem,
    demand: Demand,
    start: Start,
    before: Sequence[Place],
    after: Sequence[Place],
) -> bool:
    """Whether a start uses slots that jobs before it hold at that instant for later."""
    if demand.queue.backfill:
        return False
    held = [place for place in before if place[1].time > start.time]
    if not held:
        return False
    profile = problem.base.copy()
    for other, place in (*before, *after):
        if place.time <= start.time:
            hold_start(profile, other, place)
    for other, place in held:
        hold_place(profile, other, place, problem.instance.now)
    free = profile.free(SLOTS, start.time)
    own = start.allocation
    hosts = np.fromiter(own, np.int64, len(own))
    return bool((free[hosts] < np.fromiter(own.values(), float, len(own))).any())


def _guarded(problem: PlanningProblem, demand: Demand, before: Sequence[Place]) -> Profile:
    """What runs and is planned, with what is held from the job's queue."""
    profile = problem.base.copy()
    for other, place in before:
        hold_start(profile, other, place)
    if not demand.queue.backfill:
        now = problem.instance.now
        for other, place in before:
            if place.time > now:
                hold_place(profile, other, place, now)
    return profile
