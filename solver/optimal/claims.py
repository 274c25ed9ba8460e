"""What a plan may claim: nothing is proved that a rule touches which the plan leaves out."""

from __future__ import annotations

from dataclasses import replace

from ...model.plan import Plan, PlannedJob
from ..problem import PlanningProblem
from ..rules.rule_book import LeftOut, by_job


def without_false_claims(problem: PlanningProblem, plan: Plan) -> Plan:
    """The plan without proofs and bounds that a left-out rule touches; the rules are named."""
    binding = tuple(rule for rule in problem.left_out if _binds(rule, plan))
    if not binding:
        return plan
    touched = by_job(binding)
    now = plan.now
    reservations = tuple(_honest(item, touched.get(item.job, []), now) for item in plan)
    return replace(
        plan,
        status="feasible" if plan.status in ("optimal", "infeasible") else plan.status,
        bound=None,
        reservations=reservations,
        notes=(*plan.notes, *map(str, binding)),
        left_out=tuple(rule.rule for rule in binding),
    )


def _binds(rule: LeftOut, plan: Plan) -> bool:
    """Whether a rule may make the plan wrong: more than let a job start now that does so anyway."""
    if not rule.may_help:
        return bool(rule.jobs)
    return any(item.start != plan.now for item in plan if item.job in rule.jobs) or any(
        item.job in rule.jobs for item in plan.unplaced
    )


def _honest(item: PlannedJob, rules: list[LeftOut], now: int) -> PlannedJob:
    binding = [rule.rule for rule in rules if not (rule.may_help and item.start == now)]
    if not binding:
        return item
    fallback = item.fallback or f"not proved: {binding[0]} is not considered"
    return replace(item, bound=None, proved=False, fallback=fallback)
