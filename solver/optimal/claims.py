"""What a plan may claim: nothing is proved that a rule touches which the plan leaves out."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from ...model.instance import Instance
from ...model.omissions import Omission
from ...model.plan import Plan, PlannedJob
from ...model.time_text import clock_text
from ..pending_reasons import beyond_reported
from ..problem import PlanningProblem
from ..rules.rule_book import LeftOut

#: Characters of a rule that stands beside a job; longer ones stand in the notes alone.
LONGEST = 70
#: Jobs that a note names.
SHOWN = 3


@dataclass(frozen=True, slots=True)
class Binding:
    """A left-out rule, and the jobs of a plan that it may move, with their starts if any."""

    rule: str
    jobs: Sequence[tuple[str, int | None]]

    def omission(self) -> Omission:
        """The same as a record."""
        return Omission(self.rule, count=len(self.jobs), jobs=tuple(job for job, _ in self.jobs))

    def note(self, instance: Instance) -> str:
        """One sentence."""
        shown = ", ".join(
            f"{job}, which has no start"
            if start is None
            else f"{job} at {clock_text(instance, start)}"
            for job, start in self.jobs[:SHOWN]
        )
        more = f" and {len(self.jobs) - SHOWN} more" if len(self.jobs) > SHOWN else ""
        return f"not considered: {self.rule} (touches {shown}{more})"


def without_false_claims(problem: PlanningProblem, plan: Plan, begun: Collection[str] = ()) -> Plan:
    """The plan without proofs and bounds that a left-out rule touches; the rules are named.

    begun: jobs that the next cycle of the loop starts: what is planned for now of them is proved
    whatever rules there are.
    """
    rules_left_out = (*problem.left_out, *_reported(problem, plan))
    found = (binding_of(rule, plan, begun) for rule in rules_left_out)
    binding = tuple(item for item in found if item.jobs)
    if not binding:
        return plan
    rules: dict[str, str] = {}
    for item in binding:
        for job, _ in item.jobs:
            rules.setdefault(job, item.rule)
    return replace(
        plan,
        status="feasible" if plan.status in ("optimal", "infeasible") else plan.status,
        bound=None,
        reservations=tuple(_honest(item, rules.get(item.job, "")) for item in plan),
        notes=(*plan.notes, *(item.note(problem.instance) for item in binding)),
        omissions=(*plan.omissions, *(item.omission() for item in binding)),
    )


def _reported(problem: PlanningProblem, plan: Plan) -> Iterator[LeftOut]:
    """That hosts may report more of an amount, where jobs have no start for want of it alone."""
    unplaced = {item.job for item in plan.unplaced}
    short = [
        demand.job.id
        for demand in problem.demands
        if demand.job.id in unplaced and beyond_reported(problem, demand)
    ]
    if short:
        yield LeftOut("that hosts may report more", frozenset(short), may_help=True)


def binding_of(rule: LeftOut, plan: Plan, begun: Collection[str]) -> Binding:
    """Whom a rule may move: not who starts now, if that is the earliest whatever the rule is."""
    places = {item.job: item.start for item in plan} | {item.job: None for item in plan.unplaced}
    now = plan.now
    if rule.unless_now and all(places.get(job) == now for job in rule.unless_now):
        return Binding(rule.rule, ())
    touched = [
        (job, start)
        for job, start in places.items()
        if job in rule.jobs
        and not (start == now and (rule.may_help or (rule.heeded and job in begun)))
    ]
    return Binding(rule.rule, touched)


def _honest(item: PlannedJob, rule: str) -> PlannedJob:
    if not rule:
        return item
    why = rule if len(rule) <= LONGEST else "what a note names"
    fallback = item.fallback or f"not proved: {why} is not considered"
    return replace(item, bound=None, proved=False, fallback=fallback)
