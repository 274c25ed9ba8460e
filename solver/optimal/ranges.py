"""Jobs of a range of slots in a joint plan: planned with the minimum, filled up at the end.

A job that starts now takes what the plan leaves free beside all other places, the job of highest
priority first, so that no start moves; a start in the future keeps the minimum.
"""

from __future__ import annotations

from dataclasses import replace

from ...model.plan import Plan
from ..budget import Budget
from ..placement.earliest import hold_start
from ..placement.filling import filled_now, may_grow
from ..problem import PlanningProblem
from .lexicographic import warm_starts


def fill_ranges(problem: PlanningProblem, plan: Plan, budget: Budget | None = None) -> Plan:
    """The plan with its ranges filled, as far as the budget and its grace go."""
    budget = budget or Budget()
    now = problem.instance.now
    growing = [demand for demand in problem.demands if may_grow(demand)]
    if not any((item := plan.get(d.job.id)) is not None and item.start == now for d in growing):
        return plan
    starts = warm_starts(problem, plan)
    demands = {demand.job.id: demand for demand in problem.demands}
    filled: dict[str, dict[str, int]] = {}
    for demand in growing:
        name = demand.job.id
        if budget.late():
            break
        if name not in starts or starts[name].time > now:
            continue
        beside = problem.base.copy()
        for other, start in starts.items():
            if other != name:
                hold_start(beside, demands[other], start)
        starts[name] = filled_now(beside, demand, starts[name])
        filled[name] = problem.named(starts[name].allocation)
    reservations = tuple(
        replace(item, allocation=filled[item.job]) if item.job in filled else item
        for item in plan.reservations
    )
    return replace(plan, reservations=reservations)
