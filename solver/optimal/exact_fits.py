"""Which starts of an exact plan hang on a limit that fills its gap to the second."""

from __future__ import annotations

from dataclasses import replace

from ...model.plan import Plan
from ..availability.demand import Demand
from ..budget import Budget
from ..placement.earliest import Start
from ..placement.exact_fit import NOT_ALL_KNOWN, Standing, exact_fits
from ..problem import PlanningProblem
from .first_fit import hold_whole_nodes
from .lexicographic import warm_starts


def with_exact_fits(
    problem: PlanningProblem, plan: Plan, budget: Budget, *, whole_nodes: bool = False
) -> Plan:
    """The plan with its exact fits marked: each job beside those before it in dispatch order.

    As far as the budget and its grace go. whole_nodes: as the plan was made.
    """
    if problem.margin:
        return plan
    starts = warm_starts(problem, plan)
    standing = [
        _standing(demand, starts[demand.job.id], whole_nodes=whole_nodes)
        for demand in problem.demands
        if demand.job.id in starts
    ]
    reserved: dict[int, str] = {}
    if problem.honours_windows:
        for item in problem.instance.advance_reservations:
            reserved.setdefault(item.start, f"advance reservation {item.name}")
    stopped = False

    def stop() -> bool:
        nonlocal stopped
        stopped = stopped or budget.late()
        return stopped

    found = exact_fits(lambda: problem.base.copy(), standing, reserved, stop=stop)
    if found:
        reservations = (replace(item, exact_fit=found.get(item.job, "")) for item in plan)
        plan = replace(plan, reservations=tuple(reservations))
    if stopped:
        plan = replace(plan, notes=(*plan.notes, NOT_ALL_KNOWN))
    return plan


def _standing(demand: Demand, start: Start, *, whole_nodes: bool) -> Standing:
    item = Standing.of(demand.job.id, demand, start)
    if not whole_nodes:
        return item
    return replace(item, hold=lambda profile: hold_whole_nodes(profile, demand, start))
