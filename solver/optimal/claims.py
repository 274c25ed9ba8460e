"""Claims that a plan may make, and the rules between starts: accept intervals and BACKFILL.

Plans of searches that know no JOB_ACCEPT_INTERVAL, made to keep it (TBR-16). It only delays, so the
bounds of such a search hold. A plan that keeps it anyway is as proved as the search made it; else
its jobs are placed anew, one after the other.

Which starts of a joint plan need BACKFILL, and plans that do without (TBR-18). The joint plan lets
a job run on slots that a job before it needs only later. The loop gives such slots to jobs of
BACKFILL queues alone, since the reservation of the other holds them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from ...model.display import clock_text, some
from ...model.instance import Instance
from ...model.objective import Objective, objective_named
from ...model.omissions import Omission
from ...model.plan import NOT_PROVED, Plan, PlannedJob, Status, Unplaced
from ..availability.demand import Calendar, Demand, with_eligible_time
from ..availability.profile import Profile
from ..availability.resources import SLOTS
from ..availability.usage import FOREVER
from ..budget import Budget
from ..pending_reasons import beyond_reported, reason_unplaced, what_it_waits_for
from ..placement.earliest import Start, allocate_start, earliest_start, start_at, still_free
from ..placement.holding import (
    ReservationRows,
    free_over_run,
    free_slots_of,
    may_grow,
    takes_memory,
)
from ..problem import PlanningProblem, not_looked_at
from ..rules.rule_book import OmittedRule, StartedNow
from .conditions import Conditions, conditions, earliest_alone
from .costs import in_terms_of
from .lexicographic import warm_starts
from .order_search import times_of

#: Maximum number of jobs that a note names.
SHOWN = 3


@dataclass(frozen=True, slots=True)
class TouchedJobs:
    """An omitted rule, and the jobs of a plan that the rule may move, with their starts if any."""

    rule: str
    jobs: Sequence[tuple[str, int | None]]

    def omission(self) -> Omission:
        """Return the claim as an omission record."""
        return Omission(self.rule, count=len(self.jobs), jobs=tuple(job for job, _ in self.jobs))

    def note(self, instance: Instance) -> str:
        """Return the claim as one sentence."""
        shown = (
            f"{job}, which has no start"
            if start is None
            else f"{job} at {clock_text(instance, start)}"
            for job, start in self.jobs
        )
        return f"not modelled: {self.rule} (affects {some(shown, SHOWN)})"


def with_justified_claims(
    problem: PlanningProblem, plan: Plan, budget: Budget, begun: StartedNow
) -> Plan:
    """Return the plan without the proofs and bounds that an omitted rule affects; notes name the
    rules.

    A start that hangs on the place of a job that a rule may move is proved on that condition.
    begun: jobs that the next cycle of the loop starts: what is planned for now of them is proved
    whatever rules there are.
    """
    in_order = objective_named(plan.objective).in_order
    order = [demand.job.id for demand in problem.demands] if in_order else []
    rules = (
        *(rule for rule in problem.omitted_rules if rule.in_order in (None, in_order)),
        *_reported(problem, plan),
        *_ranges(problem, plan),
        *_overstaying(problem, plan, budget),
    )
    own = [(rule, binding_of(rule, plan, begun, order)) for rule in rules]
    own = [(rule, item) for rule, item in own if item.jobs]
    hanging = _hanging(problem, plan, own, budget, begun)
    binding = [_told(rule, item, plan, hanging) for rule, item in own]
    binding = [item for item in binding if item.jobs]
    if not binding:
        return plan
    touched: dict[str, str] = {}
    for rule, item in own:
        for job in _touched(rule, item, hanging):
            touched.setdefault(job, item.rule)
    demands = {demand.job.id: demand for demand in problem.demands if demand.job.id in hanging}

    def claimed(item: PlannedJob) -> PlannedJob:
        rule, jobs = touched.get(item.job, ""), hanging.get(item.job, ())
        if rule or not jobs:
            if not rule:
                return item
            return replace(item, bound=None, proved=False, fallback=item.fallback or NOT_PROVED)
        return _on_condition(problem, item, demands[item.job], jobs)

    return replace(
        plan,
        status="feasible" if plan.status in ("optimal", "infeasible") else plan.status,
        bound=None,
        reservations=tuple(map(claimed, plan)),
        notes=(*plan.notes, *(item.note(problem.instance) for item in binding)),
        omissions=(*plan.omissions, *(item.omission() for item in binding)),
    )


def _hanging(
    problem: PlanningProblem,
    plan: Plan,
    own: Sequence[tuple[OmittedRule, TouchedJobs]],
    budget: Budget,
    begun: StartedNow,
) -> Conditions:
    """Return the jobs whose starts depend on allocations that omitted rules may change.

    What the loop starts now does not, but where the loop leaves the rule out as well.
    """
    in_order = objective_named(plan.objective).in_order
    moved = {job for _, item in own for job, _ in item.jobs}
    unproved = {job for rule, item in own if not rule.places_only for job, _ in item.jobs}
    if all(item.job in unproved for item in plan):
        return {}
    nowhere = {
        job
        for rule, item in own
        if not (rule.applied_by_loop or rule.times_only)
        for job, _ in item.jobs
    }
    asking: dict[str, frozenset[str]] = {}
    for rule, item in own:
        for job, _ in item.jobs if rule.is_more else ():
            asking[job] = asking.get(job, frozenset()) | rule.asking
    find = partial(conditions, problem, plan, budget=budget, in_order=in_order, asking=asking)
    found = find(nowhere)
    if moved == nowhere:
        return found
    starting = {item.job for item in plan if item.start == plan.now and item.job in begun}
    return find(moved, firm=starting - found.keys())


def _told(rule: OmittedRule, item: TouchedJobs, plan: Plan, hanging: Conditions) -> TouchedJobs:
    """Return the rule with the jobs whose starts it may change."""
    moved = {job for job, _ in item.jobs}
    on = [job for job, jobs in hanging.items() if moved.intersection(jobs)]
    if rule.places_only:
        return TouchedJobs(item.rule, [(job, planned_start(plan, job)) for job in on])
    touched = [(job, planned_start(plan, job)) for job in _touched(rule, item, hanging)]
    return TouchedJobs(item.rule, touched)


def _touched(rule: OmittedRule, item: TouchedJobs, hanging: Conditions) -> Iterator[str]:
    """Yield the jobs without any proof: the jobs of the rule, and jobs that depend on one of these
    without a start, or on the amounts that one holds.
    """
    if rule.places_only:
        return
    moved = dict.fromkeys(job for job, _ in item.jobs)  # their order is that of the answer
    without = {job for job, start in item.jobs if start is None}
    yield from moved
    for job, on in hanging.items():
        if job not in moved and not (moved.keys() if job in rule.asking else without).isdisjoint(
            on
        ):
            yield job


def planned_start(plan: Plan, job: str) -> int | None:
    """Return the start of a job in a plan, None without one."""
    planned = plan.get(job)
    return None if planned is None else planned.start


def _on_condition(
    problem: PlanningProblem, item: PlannedJob, demand: Demand, jobs: Sequence[str]
) -> PlannedJob:
    """Return a start that is proved if the given jobs start as planned; its bound needs no
    condition.
    """
    if not item.proved or item.start is None:
        return item
    alone = earliest_alone(problem, replace(demand, after=None))
    bound = None if alone is None else min(alone, item.start)
    others = tuple(job for job in jobs if job != item.job)
    return replace(item, bound=bound, proved=False, proved_if=others)


#: Name of the omission for jobs that may get more slots of their range.
RANGES = "more slots of its range for a job"


def _ranges(problem: PlanningProblem, plan: Plan) -> Iterator[OmittedRule]:
    """Yield the omission that dispatch gives a job of a slot range (-n min,max) the slots free at
    its attempt.
    """
    jobs = [
        demand.job.id
        for demand in problem.demands
        if may_grow(demand)
        and (item := plan.get(demand.job.id)) is not None
        and item.start is not None
    ]
    if jobs:
        yield OmittedRule(RANGES, frozenset(jobs), places_only=True)


#: The rule behind a start on reserved slots by a job that may run beyond the reserved start under
#: its run limit.
BY_LIMIT = "backfill by run limits (-W) instead of expected run times"


def _overstaying(problem: PlanningProblem, plan: Plan, budget: Budget) -> Iterator[OmittedRule]:
    """Yield the omission that jobs backfill until their run limit, and not at all without one."""
    jobs = _overstayers(problem, plan, budget)
    if jobs:
        yield OmittedRule(BY_LIMIT, frozenset(jobs))


def _overstayers(problem: PlanningProblem, plan: Plan, budget: Budget) -> list[str]:
    """Return the jobs of BACKFILL queues that start on reserved slots for longer than the loop lets
    them backfill.

    Where the limit was reached, all that may be.
    """
    places, jobs = _places(problem, plan), []
    for at, (demand, start) in enumerate(places):
        if not demand.queue.backfill or _lent_as_planned(problem, demand):
            continue
        if not any(place.time > start.time for _, place in places[:at]):
            continue
        if budget.late() or _needs_held(problem, demand, start, places[:at], places[at + 1 :]):
            jobs.append(demand.job.id)
    return jobs


def _reported(problem: PlanningProblem, plan: Plan) -> Iterator[OmittedRule]:
    """Yield the omission higher reports of hosts of an amount, for jobs that lack only this
    amount.
    """
    unplaced = {item.job for item in plan.unplaced}
    short = [
        demand.job.id
        for demand in problem.demands
        if demand.job.id in unplaced and beyond_reported(problem, demand)
    ]
    if short:
        yield OmittedRule("higher reports of hosts", frozenset(short), can_only_advance=True)


def binding_of(
    rule: OmittedRule, plan: Plan, begun: StartedNow, order: Sequence[str]
) -> TouchedJobs:
    """Return the jobs that a rule may move; a job that starts now is excluded if this start is the
    earliest with and without the rule.

    order: of the jobs of a plan in priority order, else (): what jobs behind another do in the plan
    does not count for it, but only what the next cycle starts.
    """
    places = {item.job: item.start for item in plan} | {item.job: None for item in plan.unplaced}
    now = plan.now
    late = {job for job in rule.unless_now if places.get(job) != now}
    free = _before_all(late, rule, begun, order)
    touched = [
        (job, start)
        for job, start in places.items()
        if job in rule.jobs
        and job not in free
        and (
            rule.places_only
            or not (
                start == now and (rule.can_only_advance or (rule.applied_by_loop and job in begun))
            )
        )
    ]
    return TouchedJobs(rule.rule, touched)


def _before_all(
    late: Collection[str], rule: OmittedRule, begun: StartedNow, order: Sequence[str]
) -> frozenset[str]:
    """Return the jobs for which no job of a rule has to wait, by which the rule would apply.

    late: the jobs of the rule that do not start now in the plan.
    """
    if not rule.unless_now:
        return frozenset()
    if not order:
        return frozenset() if late else rule.jobs
    behind = (
        set[str]() if rule.in_order else set(rule.unless_now) - (set() if begun.suspends else begun)
    )
    free = set[str]()
    for job in order:
        behind.discard(job)
        if job in late:
            break
        if not behind:
            free.add(job)
    return frozenset(free)


#: Note on a plan whose jobs had to be placed again to obey JOB_ACCEPT_INTERVAL.
PLACED_ANEW = "JOB_ACCEPT_INTERVAL: jobs are placed one after another; bounds ignore it"
_Starts = dict[str, Start]


def has_accept_intervals(problem: PlanningProblem) -> bool:
    """Whether the start of a job may close its hosts to another job for some seconds."""
    return any(demand.interval is not None for demand in problem.demands)


def without_intervals(problem: PlanningProblem) -> PlanningProblem:
    """Return the problem without JOB_ACCEPT_INTERVAL between pending jobs; running jobs still close
    hosts.
    """
    return replace(
        problem, demands=tuple(_beside_running(problem, demand) for demand in problem.demands)
    )


def _beside_running(problem: PlanningProblem, demand: Demand) -> Demand:
    accepted, now = problem.base.accepted, problem.instance.now
    plain = replace(demand, interval=None)
    if not demand.interval or accepted is None:
        return plain
    calendar, start = demand.calendar or Calendar(), now
    closed = []
    for opening in sorted(time for time in accepted.openings(demand.interval) if time > now):
        mask = accepted.closed(demand.interval, start)
        if mask is not None:
            closed.append((mask, opening))
        start = opening
    if not closed:
        return plain
    return replace(
        plain, calendar=replace(calendar, closed_until=(*calendar.closed_until, *closed))
    )


def keeping_intervals(
    problem: PlanningProblem, found: Plan, first: Plan, objective: Objective
) -> Plan:
    """Return the plan of a search without the rule, or a similar plan that keeps the rule.

    first: the first-fit plan, which keeps it.
    """
    starts = warm_starts(problem, found)
    if _kept(problem, starts):
        return found
    ways = (_placed_anew(problem, starts, objective), warm_starts(problem, first))
    plans = [_plan_of(problem, found, way, objective) for way in ways]
    return min(plans, key=lambda plan: _rank(problem, plan, objective))


def _kept(problem: PlanningProblem, starts: _Starts) -> bool:
    """Whether no start comes too soon after another on a host; among starts of one second, jobs
    without an interval come last.
    """
    profile = problem.base.copy()
    demands = [demand for demand in problem.demands if demand.job.id in starts]
    for demand in sorted(demands, key=lambda d: (starts[d.job.id].time, not d.interval)):
        start = starts[demand.job.id]
        closed = profile.just_accepted(demand, start.time)
        if closed is not None and closed[list(start.allocation)].any():
            return False
        profile.accept(demand, start.time, start.allocation)
    return True


def _placed_anew(problem: PlanningProblem, starts: _Starts, objective: Objective) -> _Starts:
    """Return a plan in which each job keeps its start if that keeps the rule, else takes the
    earliest later instant.
    """
    profile = problem.base.copy()
    placed: _Starts = {}
    demands: Sequence[Demand] = problem.demands
    if not objective.in_order:
        never = Start(FOREVER, ())
        demands = sorted(demands, key=lambda demand: starts.get(demand.job.id, never).time)
    for demand in demands:
        demand = with_eligible_time(demand, times_of(placed))
        before = starts.get(demand.job.id)
        place = before
        if before is None or not (
            before.time >= demand.earliest
            and not demand.impossible
            and profile.open_for(demand, before.time)
            and still_free(profile, demand, before)
        ):
            since = None if before is None else before.time
            place = earliest_start(profile, demand, not_before=since)
        if place is not None:
            placed[demand.job.id] = place
            allocate_start(profile, demand, place)
    return placed


def _plan_of(problem: PlanningProblem, found: Plan, starts: _Starts, objective: Objective) -> Plan:
    profile = problem.base.copy()
    entries: list[PlannedJob] = []
    unplaced: list[Unplaced] = []
    same = True
    for demand in problem.demands:
        demand = with_eligible_time(demand, times_of(starts))
        before, start = found.get(demand.job.id), starts.get(demand.job.id)
        bound = _bound(problem, demand, before, objective, same=same)
        same = same and start is not None and before is not None and before.start == start.time
        if start is None:
            unplaced.append(Unplaced(demand.job.id, reason_unplaced(problem, demand)))
            continue
        why = what_it_waits_for(problem, demand, start, profile, entries)
        allocate_start(profile, demand, start)
        bound = None if bound is None else min(bound, start.time)
        entries.append(
            problem.planned(
                demand, start, found.method, bound=bound, waits_for=why, decided_by="first fit"
            )
        )
    proved = all(item.proved for item in entries) and not unplaced
    plan = replace(
        found,
        objective="lexicographic",
        status="optimal" if proved and objective.in_order else "feasible",
        reservations=tuple(entries),
        unplaced=tuple(unplaced),
        notes=(*found.notes, PLACED_ANEW),
    )
    if objective.in_order:
        now = problem.instance.now
        value = float(sum(item.start - now for item in entries if item.start is not None))
        return replace(plan, value=value, bound=value if proved else None)
    plan = in_terms_of(objective, plan, problem.demands)
    if plan.value is None or found.bound is None or unplaced or found.unplaced:
        return plan
    met = plan.value <= found.bound and found.status == "optimal"
    return replace(
        plan, bound=min(found.bound, plan.value), status="optimal" if met else "feasible"
    )


def _bound(
    problem: PlanningProblem,
    demand: Demand,
    before: PlannedJob | None,
    objective: Objective,
    *,
    same: bool,
) -> int | None:
    """Return a lower bound of the start of a job; under an objective in priority order, given the
    starts of the jobs before.

    same: whether these are where the search had them.
    """
    if before is not None and before.bound is not None and (same or not objective.in_order):
        return before.bound
    return earliest_alone(problem, demand)


def _rank(problem: PlanningProblem, plan: Plan, objective: Objective) -> tuple[float, ...]:
    """Return a sort key: fewer jobs without a start, then the better value; under an objective in
    priority order, earlier starts.
    """
    if objective.in_order:
        starts = {item.job: item.start for item in plan}
        return tuple(
            float(FOREVER if (s := starts.get(d.job.id)) is None else s) for d in problem.demands
        )
    return (len(plan.unplaced), float("inf") if plan.value is None else plan.value)


#: A planned job as its demand and its start.
Place = tuple[Demand, Start]


#: The rule that a plan without BACKFILL omits.
JOINTLY = "joint placement with slots that are already reserved"
#: Note on a plan whose budget was spent before all jobs were checked for a need of BACKFILL.
NOT_ALL_KNOWN = (
    "the limit was reached before it was examined which jobs need BACKFILL for their starts"
)


def with_backfill_needs(problem: PlanningProblem, plan: Plan, budget: Budget) -> Plan:
    """Return the plan with a mark on each job that starts only if its queue has BACKFILL."""
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
        may = not demand.queue.backfill and start.time < latest
        latest = max(latest, start.time)
        if may and _needs_held(problem, demand, start, places[:at], places[at + 1 :]):
            needy[demand.job.id] = demand.queue.name
    reservations = tuple(
        replace(item, needs_backfill=needy.get(item.job, "")) for item in plan.reservations
    )
    return replace(plan, reservations=reservations, notes=notes)


def without_backfill(problem: PlanningProblem, plan: Plan, budget: Budget) -> Plan:
    """Return a plan without starts on reserved slots that LSF would not let a job backfill
    (--as-lsf).

    Up to the first job that would need it the joint plan stands, proofs included; from there on
    the jobs are placed one after the other, each as early as what is held lets it.
    """
    plan = with_backfill_needs(problem, plan, budget)
    kept_out = {item.job for item in plan if item.needs_backfill}
    kept_out.update(_overstayers(problem, plan, budget))
    if not kept_out:
        return plan
    starts = warm_starts(problem, plan)
    kept: list[Place] = []
    found: list[PlannedJob] = []
    unplaced: list[Unplaced] = []
    queue_position = never = True
    for demand in problem.demands:
        demand = with_eligible_time(demand, {other.job.id: place.time for other, place in kept})
        item = plan.get(demand.job.id)
        queue_position = queue_position and demand.job.id not in kept_out
        if queue_position and item is not None:
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
        found.append(
            problem.planned(
                demand, start, plan.method, bound=bound, waits_for=why, decided_by="first fit"
            )
        )
    return _as_plan(problem, plan, found, unplaced, never=never)


def _as_plan(
    problem: PlanningProblem,
    plan: Plan,
    found: list[PlannedJob],
    unplaced: list[Unplaced],
    *,
    never: bool,
) -> Plan:
    """Return the result as a plan. never: whether the jobs without a start have none beside the
    running jobs alone either.
    """
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
        notes=(*plan.notes, "no job uses reserved slots that LSF would not let it use"),
        omissions=(*plan.omissions, *(() if proved else (Omission(JOINTLY),))),
        cut=plan.cut or any(item.start is None for item in found),
    )


def _places(problem: PlanningProblem, plan: Plan) -> list[Place]:
    starts = warm_starts(problem, plan)
    times = {job: start.time for job, start in starts.items()}
    return [
        (with_eligible_time(d, times), starts[d.job.id])
        for d in problem.demands
        if d.job.id in starts
    ]


def _borrows(problem: PlanningProblem, demand: Demand) -> int | None:
    """Return the seconds for which the loop lets the job backfill, its run limit, or None if the
    job may not backfill.
    """
    return problem.resolver.spans(demand.job)[1] if demand.queue.backfill else None


def _lent_as_planned(problem: PlanningProblem, demand: Demand) -> bool:
    """Whether the loop lets the job backfill for as long as the plan lets the job run."""
    seconds = _borrows(problem, demand)
    return seconds is not None and seconds == demand.runs and not demand.may_be_killed


def _lent_until(problem: PlanningProblem, demand: Demand, time: int) -> int:
    """Return the second up to which reserved starts exclude backfill by a job that starts at
    `time`.
    """
    seconds = _borrows(problem, demand)
    return FOREVER if seconds is None else time + seconds


def _needs_held(
    problem: PlanningProblem,
    demand: Demand,
    start: Start,
    before: Sequence[Place],
    after: Sequence[Place],
) -> bool:
    """Whether the job needs reserved slots of earlier jobs, which it may not backfill, to start at
    this instant.
    """
    until = _lent_until(problem, demand, start.time)
    if not any(earlier.earliest <= start.time < place.time < until for earlier, place in before):
        return False
    profile = _beside(problem, [*before, *after])
    begun = [place for place in after if place[1].time < start.time]
    held = _with_held(problem, profile, before, start.time, until, begun)
    return start_at(held, demand, start.time) is None


def _beside(problem: PlanningProblem, places: Sequence[Place]) -> Profile:
    profile = problem.base.copy()
    for demand, place in places:
        allocate_start(profile, demand, place)
    return profile


def _with_held(
    problem: PlanningProblem,
    profile: Profile,
    before: Sequence[Place],
    time: int,
    until: int,
    begun: Sequence[Place] = (),
) -> Profile:
    """Return the profile less the slots that jobs with a start between `time` and `until` reserve
    at `time`.

    As limits let them, each as the cycle at `time` does: with those of higher priority and all that
    run by then. before: places of higher priority, in order. begun: others that run by then.
    """
    running = [item for item in before if item[1].time <= time]
    held, known = profile.copy(), _beside(problem, [*running, *begun])
    left = np.floor(known.free(SLOTS, time))
    for demand, place in before:
        if place.time > time:
            allocate_start(known, demand, place)
        # A job reserves nothing before its begin time.
        if demand.earliest <= time < place.time < until:
            alternative = demand.terms[0].alternatives[place.alternative]
            spare = np.zeros(held.hosts)
            if not (demand.queue.holds_memory and takes_memory(alternative, held.table)):
                spare = np.maximum(free_over_run(known, demand, place) - left, 0.0)
            rows = ReservationRows(held.table)
            slots = free_slots_of(demand, place, held, time)
            kept = free_slots_of(demand, place, held, time, spare)
            rows.add(alternative, slots, {}, time, time + 1, limits_only=True)
            rows.add_slots(kept, time, time + 1)
            rows.subtract_from(held)
            for host, count in kept.items():
                left[host] -= count
    return held


def _earliest_beside_held(
    problem: PlanningProblem, profile: Profile, demand: Demand, before: Sequence[Place]
) -> Start | None:
    """Return the earliest start that uses no reserved resources."""
    start = earliest_start(profile, demand)
    while start is not None and not _lent_as_planned(problem, demand):
        until = _lent_until(problem, demand, start.time)
        held = _with_held(problem, profile, before, start.time, until)
        found = start_at(held, demand, start.time)
        if found is not None:
            return found
        later = profile.with_openings(demand, profile.candidate_times(start.time))[1:]
        if not later:
            return None
        start = earliest_start(profile, demand, not_before=later[0])
    return start
