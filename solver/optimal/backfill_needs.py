"""Which starts of a joint plan need BACKFILL, and plans that do without (TBR-18).

The joint plan lets a job run on slots that a job before it needs only later. The loop gives such
slots to jobs of BACKFILL queues alone, since the reservation of the other holds them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...model.omissions import Omission
from ...model.plan import Plan, PlannedJob, Status, Unplaced
from ..availability.demand import Demand, released
from ..availability.profile import Profile
from ..availability.resources import SLOTS
from ..budget import Budget
from ..pending_reasons import reason_unplaced, what_it_waits_for
from ..placement.earliest import Start, earliest_start, hold_start, start_at
from ..placement.holding import HeldRows, free_over_run, free_part, takes_memory
from ..problem import PlanningProblem, not_looked_at
from .lexicographic import warm_starts

#: A planned job: what it asks, and where it starts.
Place = tuple[Demand, Start]


#: The rule that a plan without BACKFILL leaves out.
JOINTLY = "joint placement beside what is held"
#: Said where the limit came before it was known which jobs need BACKFILL.
NOT_ALL_KNOWN = "the limit came before it was looked at which jobs need BACKFILL for their starts"


def with_backfill_needs(problem: PlanningProblem, plan: Plan, budget: Budget) -> Plan:
    """The plan with a note at each job that starts only where its queue has BACKFILL."""
    if all(demand.queue.backfill for demand in problem.demands):
        return plan
    places = _places(problem, plan)
    needy: dict[str, str] = {}
    notes = plan.notes
    latest = problem.instance.now  # of the starts so far: nothing is held beyond it
    for at, (demand, start) in enumerate(places):
        if budget.late():
            notes = (*notes, NOT_ALL_KNOWN)
            break
        held, latest = start.time < latest, max(latest, start.time)
        if held and _needs_backfill(problem, demand, start, places[:at], places[at + 1 :]):
            needy[demand.job.id] = demand.queue.name
    reservations = tuple(
        replace(item, needs_backfill=needy.get(item.job, "")) for item in plan.reservations
    )
    return replace(plan, reservations=reservations, notes=notes)


def without_backfill(problem: PlanningProblem, plan: Plan, budget: Budget) -> Plan:
    """A plan that keeps held slots from queues without BACKFILL, as LSF does (--as-lsf).

    Up to the first job that would need it the joint plan stands, proofs included; from there on
    the jobs are placed one after the other, each as early as what is held lets it.
    """
    plan = with_backfill_needs(problem, plan, budget)
    if not any(item.needs_backfill for item in plan):
        return plan
    starts = warm_starts(problem, plan)
    kept: list[Place] = []
    found: list[PlannedJob] = []
    unplaced: list[Unplaced] = []
    standing = never = True
    for demand in problem.demands:
        demand = released(demand, {other.job.id: place.time for other, place in kept})
        item = plan.get(demand.job.id)
        standing = standing and not (item is not None and item.needs_backfill)
        if standing and item is not None:
            kept.append((demand, starts[demand.job.id]))
            found.append(item)
            continue
        if budget.late():
            found.append(not_looked_at(demand.job, plan.method))
            continue
        profile = _beside(problem, kept)
        start = _earliest_beside_held(problem, profile, demand, kept)
        alone = earliest_start(problem.base, demand)
        if start is None:
            never = never and alone is None
            unplaced.append(Unplaced(demand.job.id, reason_unplaced(problem, demand)))
            continue
        bound = start.time if alone is None else min(alone.time, start.time)
        why = what_it_waits_for(problem, demand, start, profile, found)
        kept.append((demand, start))
        found.append(problem.planned(demand, start, plan.method, bound=bound, waits_for=why))
    return _as_plan(problem, plan, found, unplaced, never=never)


def _as_plan(
    problem: PlanningProblem,
    plan: Plan,
    found: list[PlannedJob],
    unplaced: list[Unplaced],
    *,
    never: bool,
) -> Plan:
    """never: whether those without a place would have none beside what runs alone either."""
    proved = all(item.proved for item in found) and never
    whole: Status = "infeasible" if unplaced else "optimal"
    now = problem.instance.now
    starts = [item.start - now for item in found if item.start is not None]
    bounds = [item.bound - now for item in found if item.bound is not None]
    return replace(
        plan,
        status=whole if proved and plan.status != "feasible" else "feasible",
        reservations=tuple(found),
        unplaced=tuple(unplaced),
        value=float(sum(starts)),
        bound=float(sum(bounds)) if proved else None,
        notes=(*plan.notes, "jobs of queues without BACKFILL use no slots that are held"),
        omissions=(*plan.omissions, *(() if proved else (Omission(JOINTLY),))),
        cut=plan.cut or any(item.start is None for item in found),
    )


def _places(problem: PlanningProblem, plan: Plan) -> list[Place]:
    starts = warm_starts(problem, plan)
    times = {job: start.time for job, start in starts.items()}
    return [(released(d, times), starts[d.job.id]) for d in problem.demands if d.job.id in starts]


def _needs_backfill(
    problem: PlanningProblem,
    demand: Demand,
    start: Start,
    before: Sequence[Place],
    after: Sequence[Place],
) -> bool:
    """Whether the job could not start then without slots that jobs before it hold for later."""
    if demand.queue.backfill or not any(
        earlier.earliest <= start.time < place.time for earlier, place in before
    ):
        return False
    profile = _beside(problem, [*before, *after])
    begun = [place for place in after if place[1].time < start.time]
    held = _with_held(problem, profile, before, start.time, begun)
    return start_at(held, demand, start.time) is None


def _beside(problem: PlanningProblem, places: Sequence[Place]) -> Profile:
    profile = problem.base.copy()
    for demand, place in places:
        hold_start(profile, demand, place)
    return profile


def _with_held(
    problem: PlanningProblem,
    profile: Profile,
    before: Sequence[Place],
    time: int,
    begun: Sequence[Place] = (),
) -> Profile:
    """The profile with what the jobs that start later keep at `time`, as limits let them.

    before: places of higher priority. begun: others that run by then.
    """
    held, known = profile.copy(), _beside(problem, [*before, *begun])
    left = np.floor(known.free(SLOTS, time))
    for demand, place in before:
        if demand.earliest <= time < place.time:  # before its begin time a job holds nothing
            alternative = demand.terms[0].alternatives[place.alternative]
            spare = np.zeros(held.hosts)
            if not (demand.queue.holds_memory and takes_memory(alternative, held.table)):
                spare = np.maximum(free_over_run(known, demand, place) - left, 0.0)
            rows = HeldRows(held.table)
            slots = free_part(demand, place, held, time)
            kept = free_part(demand, place, held, time, spare)
            rows.add(alternative, slots, {}, time, time + 1, limits_only=True)
            rows.keep(kept, time, time + 1)
            rows.enter(held)
            for host, count in kept.items():
                left[host] -= count
    return held


def _earliest_beside_held(
    problem: PlanningProblem, profile: Profile, demand: Demand, before: Sequence[Place]
) -> Start | None:
    """The earliest start that uses nothing that is held."""
    start = earliest_start(profile, demand)
    while start is not None and not demand.queue.backfill:
        held = _with_held(problem, profile, before, start.time)
        found = start_at(held, demand, start.time)
        if found is not None:
            return found
        later = profile.with_openings(demand, profile.candidate_times(start.time))[1:]
        if not later:
            return None
        start = earliest_start(profile, demand, not_before=later[0])
    return start
