"""Plans of jobs with alternatives in braces, ``-R "{A} || {B}@delay"`` (REQ-21).

Every alternative is a requirement of its own, open from its delay after the submission on. Methods
plan one choice of alternatives at a time: each job has the one that it chose, and begins no earlier
than that opens. The choice with the earliest start counts, the first of those with equal starts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product

from ...model.errors import InputError
from ...model.instance import Instance
from ...model.job import Job
from ...model.pending import sentence
from ...model.plan import Plan, PlannedJob
from ...model.resreq import RequirementMerging
from ...model.resreq.syntax import openings
from ..pending_reasons import BEGIN_TIME
from ..resolve import may_have_choices

#: Maximum number of plans for one answer; jobs beyond keep their first alternative, named.
MAX_PLANS = 32
#: Note on a plan for which not all choices were examined.
NOT_ALL = "not every choice of the alternatives in braces (-R) was examined"
#: Index of the chosen alternative by job id.
Choice = Mapping[str, int]


def options_of(instance: Instance, jobs: Iterable[Job]) -> dict[str, tuple[Job, ...]]:
    """Return by id those of the jobs that have alternatives in braces, once for each alternative.

    Each has its alternative, and begins no earlier than that opens.
    """
    merging = RequirementMerging.of(instance)
    found: dict[str, tuple[Job, ...]] = {}
    for job in jobs:
        try:
            requirement = merging.requirement(job).requirement
        except InputError:
            continue
        if requirement.later:
            times = openings(requirement)
            found[job.id] = tuple(_under(instance, job, n, time) for n, time in enumerate(times))
    return found


def as_chosen(instance: Instance, found: Iterable[PlannedJob]) -> Instance:
    """Return the instance with the alternatives that its jobs have in a plan; a job without an
    entry has its first one.
    """
    if not may_have_choices(instance):
        return instance
    options = options_of(instance, instance.pending)
    chosen = {item.job: item.requirement_alternative for item in found}
    pending = tuple(
        options[job.id][chosen.get(job.id, 0)] if job.id in options else job
        for job in instance.pending
    )
    return replace(instance, pending=pending)


def with_choice(found: Plan, instance: Instance, chosen: Instance) -> Plan:
    """Return a plan of the instance with these chosen alternatives, as a plan of the instance."""
    choice = {job.id: job.requirement_alternative or 0 for job in chosen.pending}
    begins = {job.id: job.begin for job in instance.pending}
    return replace(found, reservations=tuple(_marked(item, choice, begins) for item in found))


def _under(instance: Instance, job: Job, number: int, opens: int) -> Job:
    """Return a job with one of its alternatives; opens: seconds after the submission from which it
    may use it.
    """
    begin, opens = job.begin, job.submit + opens
    if opens > max(instance.now, begin or instance.now):
        begin = opens
    return replace(job, requirement_alternative=number, begin=begin)


@dataclass(slots=True)
class _ChoiceSearch:
    """Plans of an instance under choices of alternatives."""

    instance: Instance
    options: Mapping[str, tuple[Job, ...]]
    #: Function that plans an instance.
    solve: Callable[[Instance], Plan]
    #: Predicate whether no further plan may be made.
    stopped: Callable[[], bool]
    #: Ids of the pending jobs in priority order.
    order: tuple[str, ...]
    #: Whether all choices were examined so far.
    is_complete: bool = True
    #: Number of plans so far.
    count: int = 0
    #: Whether no other choice improves the start of a job, by job.
    sure: dict[str, bool] = field(default_factory=dict)
    #: Jobs on which the proof of a start depends, by job.
    conditions: dict[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def several(self) -> list[str]:
        """Return the ids of the jobs with alternatives, in priority order."""
        return [name for name in self.order if name in self.options]

    def may_make(self, more: int) -> bool:
        """Return whether this many more plans may be made."""
        return self.count + more <= MAX_PLANS and not self.stopped()

    def plan(self, choice: Choice) -> Plan:
        """Return the plan under a choice; jobs without one have their first alternative."""
        self.count += 1
        pending = tuple(
            self.options[job.id][choice[job.id]] if job.id in choice else job
            for job in self.instance.pending
        )
        chosen = replace(self.instance, pending=pending)
        return with_choice(self.solve(chosen), self.instance, chosen)

    def by_estimates(self) -> Plan:
        """Return the plan of a method that takes the jobs one by one."""
        choice: dict[str, int] = {}
        for name in self.several:
            if not self.may_make(len(self.options[name]) + 1):
                break
            plans = [self.plan({**choice, name: n}) for n in range(len(self.options[name]))]
            starts = [(_start(found, name), found.get(name) is None) for found in plans]
            choice[name] = starts.index(min(starts))
        return self.plan(choice)

    def in_order(self) -> Plan:
        """Return the lexicographically first plan, with proofs where all choices are examined."""
        if any(job.dependency for job in self.instance.pending):
            # A job that waits for a later one depends on the choice of that one too.
            every = self._every_choice()
            if every:
                plans = [self.plan(choice) for choice in every]
                return self._with_claims(plans[self._least(plans, self.order)[0]])
            self.is_complete = False
        choices: list[dict[str, int]] = [{}]
        plans, rest = list[Plan](), list(self.order)
        for place, name in enumerate(self.several):
            numbers = range(len(self.options[name]))
            if len(choices) > 1 and not self.may_make(len(choices) * len(numbers) + 1):
                choices, self.is_complete = choices[:1], False
            if not self.may_make(len(numbers) + 1):
                self.sure |= dict.fromkeys(rest, self.is_complete and len(choices) == 1)
                return self._with_claims(self.plan(choices[0]))
            wider = [{**each, name: number} for each in choices for number in numbers]
            others = self.several[place + 1 :]
            plans = [self.plan({**dict.fromkeys(others, 0), **each}) for each in wider]
            last = rest.index(others[0]) if others else len(rest)
            kept = self._least(plans, rest[:last])
            choices, rest = [wider[n] for n in kept], rest[last:]
            plans = [plans[n] for n in kept]
        return self._with_claims(plans[0])

    def _every_choice(self) -> list[dict[str, int]]:
        """Return all choices, the first alternatives first; none if there are too many."""
        numbers = [range(len(self.options[name])) for name in self.several]
        if not self.may_make(math.prod(map(len, numbers))):
            return []
        return [dict(zip(self.several, each, strict=True)) for each in product(*numbers)]

    def _least(self, plans: Sequence[Plan], jobs: Sequence[str]) -> list[int]:
        """Return the plans, by number, in which these jobs start first, and record what is sure."""
        kept = list(range(len(plans)))
        for job in jobs:
            so_far = self.is_complete and all(self.sure.values())
            self.sure[job] = so_far and all(_is_known(plans[n], job) for n in kept)
            starts = {n: _start(plans[n], job) for n in kept}
            kept = [n for n in kept if starts[n] == min(starts.values())]
            items = [item for n in kept if (item := plans[n].get(job)) is not None]
            names = dict.fromkeys(name for item in items for name in item.proved_if)
            self.conditions[job] = tuple(names)
        return kept

    def _with_claims(self, found: Plan) -> Plan:
        """Return a plan with the claims that hold for every choice."""
        entries = []
        for item in found:
            if not self.sure.get(item.job, False):
                item = item.unproved()
            elif conditions := self.conditions.get(item.job):
                item = replace(item, proved=False, proved_if=conditions)
            entries.append(item)
        notes = found.notes if self.is_complete else (*found.notes, NOT_ALL)
        found = replace(found, reservations=tuple(entries), notes=notes)
        return found if all(self.sure.values()) else _weaker(found)

    def by_value(self) -> Plan:
        """Return the plan of the least value over all choices, or that of the first ones."""
        every = self._every_choice()
        if not every:
            return self.plan({})
        plans: list[Plan] = []
        for choice in every:
            if plans and self.stopped():
                break
            plans.append(self.plan(choice))
        best = min(plans, key=lambda found: math.inf if found.value is None else found.value)
        whole = len(plans) == len(every)
        if whole and all(found.status == "optimal" for found in plans):
            return best
        entries = tuple(item.unproved() for item in best)
        return _weaker(replace(best, reservations=entries))


def plan_alternatives(
    instance: Instance,
    solve: Callable[[Instance], Plan],
    *,
    by: str,
    stopped: Callable[[], bool],
    order: Sequence[str],
) -> Plan:
    """Return the best plan over the alternatives of the jobs.

    by: "estimates", "order" or "value": what makes a plan the best. order: ids of the jobs that
    are planned, in order.
    """
    planned = set(order)
    jobs = [job for job in instance.pending if job.id in planned]
    options = options_of(instance, jobs) if may_have_choices(instance) else {}
    if not options:
        return solve(instance)
    search = _ChoiceSearch(instance, options, solve, stopped, tuple(order))
    ways = {"estimates": search.by_estimates, "order": search.in_order, "value": search.by_value}
    return ways[by]()


def _marked(item: PlannedJob, choice: Choice, begins: Mapping[str, int | None]) -> PlannedJob:
    """Return the entry of a job with its alternative; begins: begin times of the jobs (-b)."""
    chosen = choice.get(item.job, 0)
    if not chosen:
        return item
    why = opening_reason(item.waits_for, chosen, item.start, begins[item.job])
    return replace(item, requirement_alternative=chosen, waits_for=why)


def opening_reason(why: str, chosen: int, start: int | None, begin: int | None) -> str:
    """Return what a job under an alternative waits for: not a begin time (-b) that it lacks, but
    the opening of the alternative.
    """
    if why == sentence(BEGIN_TIME) and (begin is None or (start or begin) > begin):
        return f"{numbered(chosen)}, which is not open yet"
    return why


def numbered(chosen: int) -> str:
    """Return the name of an alternative in texts, by its index."""
    return f"alternative {chosen + 1} of its -R"


def _start(found: Plan, job: str) -> float:
    """Return the start of a job, or its estimate behind all starts; infinite for neither."""
    item = found.get(job)
    if item is None:
        return math.inf
    return math.inf if item.start is None else item.start


def _is_known(found: Plan, job: str) -> bool:
    """Return whether a plan proves the start of a job, or that it has none."""
    item = found.get(job)
    if item is None or item.start is None:
        return found.status == "infeasible"
    return item.proved or bool(item.proved_if)


def _weaker(found: Plan) -> Plan:
    """Return a plan without a claim of its own about the objective."""
    status = "feasible" if found.status in ("optimal", "infeasible") else found.status
    return replace(found, status=status, bound=None)
