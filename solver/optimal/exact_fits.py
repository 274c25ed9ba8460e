"""Which starts of an exact plan hang on a limit that fills its gap to the second."""

from __future__ import annotations

from dataclasses import replace

from ...model.plan import Plan
from ..availability.demand import Demand
from ..placement.earliest import Start
from ..placement.exact_fit import Standing, exact_fits
from ..problem import PlanningProblem
from .first_fit import hold_whole_nodes
from .lexicographic import warm_starts


def with_exact_fits(problem: PlanningProblem, plan: Plan, *, whole_nodes: bool = False) -> Plan:
    """The plan with its exact fits marked: each job beside those before it in dispatch order.

    whole_nodes: as the plan was made.
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
    found = exact_fits(lambda: problem.base.copy(), standing, reserved)
    if not found:
        return plan
    reservations = (replace(item, exact_fit=found.get(item.job, "")) for item in plan)
    return replace(plan, reservations=tuple(reservations))


def _standing(demand: Demand, start: Start, *, whole_nodes: bool) -> Standing:
    item = Standing.of(demand.job.id, demand, start)
    if not whole_nodes:
        return item
    return replace(item, hold=lambda profile: hold_whole_nodes(profile, demand, start))
