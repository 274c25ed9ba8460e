"""What a plan may claim: nothing is proved that a rule touches which the plan leaves out."""

from __future__ import annotations

from dataclasses import replace

from ...model.plan import Plan, PlannedJob
from ..problem import PlanningProblem
from ..rules.rule_book import LeftOut, by_job


def without_false_claims(problem: PlanningProblem, plan: Plan) -> Plan:
    """The plan without proofs and bounds that a left-out rule touches; the rules are named."""
    touched = by_job(problem.left_out)
    if not touched:
        return plan
    now = problem.instance.now
    reservations = tuple(_honest(item, touched.get(item.job, []), now) for item in plan)
    lost = any(
        before.proved and not after.proved for before, after in zip(plan, reservations, strict=True)
    ) or any(item.job in touched for item in plan.unplaced)
    notes = (*plan.notes, *(str(item) for item in problem.left_out))
    if not lost and plan.objective == "lexicographic":
        return replace(plan, reservations=reservations, notes=notes)
    status = "feasible" if plan.status == "optimal" else plan.status
    names = tuple(item.rule for item in problem.left_out)
    return replace(
        plan,
        status=status,
        bound=None,
        reservations=reservations,
        notes=notes,
        left_out=names,
    )


def _honest(item: PlannedJob, rules: list[LeftOut], now: int) -> PlannedJob:
    binding = [rule.rule for rule in rules if not (rule.may_help and item.start == now)]
    if not binding:
        return item
    fallback = item.fallback or f"not proved: {binding[0]} is not considered"
    return replace(item, bound=None, proved=False, fallback=fallback)
