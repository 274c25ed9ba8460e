"""First fit: pending jobs in dispatch order, each at its first feasible instant.

The instants examined are now and the finish times of running and planned jobs. Every exact search
starts from this plan. The reservations of LSF's time-based method are in
:mod:`solver.scheduler.reserving`.

The module also completes the plans of other methods: exact fits, ranges of slots, and notes about
starts that windows move.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace

from ...model.display import clock_text, some
from ...model.objective import Objective
from ...model.omissions import Omission
from ...model.plan import Method, Plan, PlannedJob, Status, Unplaced
from ..availability.demand import Demand, with_eligible_time
from ..availability.profile import Profile
from ..availability.resources import SLOTS
from ..availability.usage import FOREVER
from ..budget import Budget, OutOfTime
from ..pending_reasons import JobByJob, reason_unplaced
from ..placement.earliest import Start, allocate_start, earliest_start, start_at
from ..placement.holding import NOT_ALL_KNOWN, Commitment, exact_fits, fill_slot_range, may_grow
from ..problem import PlanningProblem, not_looked_at
from .claims import planned_start
from .lexicographic import warm_starts

#: After the stop, reasons are made within this many such periods, and jobs placed within one.
UNTIL_REASONS = 1.5
#: Note of a plan in which jobs that start later have their hosts alone.
WHOLE_NODES = "whole nodes: a job that starts later has its hosts to itself, as Slurm plans"


def plan_first_fit(
    problem: PlanningProblem, budget: Budget | None = None, *, whole_nodes: bool = False
) -> Plan:
    """Return the first-fit plan of the pending jobs, without reasons (:func:`with_reasons`).

    Jobs that the budget and its grace period do not reach are listed without a start. whole_nodes:
    a job that starts in the future shares no host with other planned jobs; running jobs and jobs
    that start now use their slots only.
    """
    budget = budget or Budget()
    profile = problem.base.copy()
    reservations: list[PlannedJob] = []
    unplaced: list[Unplaced] = []
    unseen: list[PlannedJob] = []
    last: tuple[Hashable, PlannedJob] | None = None
    starts: dict[str, int] = {}
    for demand in problem.demands:
        if budget.late():
            unseen.append(not_looked_at(demand.job, "time-based"))
            continue
        demand = with_eligible_time(demand, starts)
        equal = last is not None and last[0] == demand.kind and _only_later(demand)
        like = last[1] if last is not None and equal else None
        planned = _place(problem, demand, profile, like=like, whole_nodes=whole_nodes)
        if planned is None:
            unplaced.append(Unplaced(demand.job.id, reason_unplaced(problem, demand)))
        else:
            reservations.append(planned)
            last = demand.kind, planned
            starts |= {} if planned.start is None else {planned.job: planned.start}
    now = problem.instance.now
    notes = [WHOLE_NODES] if whole_nodes else []
    if unseen:
        notes.append(f"truncated by the limit: {len(unseen)} jobs not examined")
    return Plan(
        method="time-based",
        objective="lexicographic",
        status="heuristic",
        now=now,
        reservations=(*reservations, *unseen),
        unplaced=tuple(unplaced),
        value=float(sum(start - now for start in starts.values())),
        notes=tuple(notes),
        cut=bool(unseen),
    )


def _place(
    problem: PlanningProblem,
    demand: Demand,
    profile: Profile,
    *,
    like: PlannedJob | None,
    whole_nodes: bool,
) -> PlannedJob | None:
    """Return a job at its earliest feasible instant and allocate it in `profile`; None if
    infeasible.

    like: an equal job placed immediately before; this job cannot start earlier than `like`.
    """
    start = _earliest(problem, demand, profile, None if like is None else like.start)
    if start is None:
        return None
    (hold_whole_nodes if whole_nodes else allocate_start)(profile, demand, start)
    return problem.planned(demand, start, "time-based", decided_by="first fit")


def with_reasons(
    problem: PlanningProblem, plan: Plan, budget: Budget, *, whole_nodes: bool = False
) -> Plan:
    """Return a first-fit plan with the constraint for which each job waits, given the jobs before
    it; jobs for which no time is left have none.

    whole_nodes: as in the call that made the plan.
    """
    profile = problem.base.copy()
    reasons = JobByJob(problem, finishes_only=True)
    starts: dict[str, int] = {}
    found: dict[str, PlannedJob] = {}
    for demand in problem.demands:
        item = plan.get(demand.job.id)
        start = None if item is None else problem.start_of(item)
        if item is None or start is None:
            continue
        if budget.late(UNTIL_REASONS):
            break
        demand = with_eligible_time(demand, starts)
        item = replace(item, waits_for=reasons.waits_for(demand, start, profile))
        (hold_whole_nodes if whole_nodes else allocate_start)(profile, demand, start)
        reasons.planned(item, demand)
        found[item.job], starts[item.job] = item, start.time
    return replace(plan, reservations=tuple(found.get(item.job, item) for item in plan))


def _only_later(demand: Demand) -> bool:
    """Return whether equal jobs that were placed before can only delay a job, never help it."""
    return len(demand.terms) == 1 and demand.interval is None


def _earliest(
    problem: PlanningProblem, demand: Demand, profile: Profile, not_before: int | None
) -> Start | None:
    """Return the first feasible start of a job, without a search if its earliest instant is
    feasible.
    """
    if demand.impossible:
        return None
    if not_before is not None:
        return earliest_start(profile, demand, finishes_only=True, not_before=not_before)
    if len(demand.terms) > 1:  # Jobs placed before it may help it: see earliest._first_fit.
        return earliest_start(profile, demand, finishes_only=True)
    start = start_at(profile, demand, demand.earliest)
    if start is not None:
        return start
    alone = earliest_start(problem.base, demand, finishes_only=True)
    if alone is None:
        return None
    return earliest_start(profile, demand, finishes_only=True, not_before=alone.time)


def hold_whole_nodes(profile: Profile, demand: Demand, start: Start) -> None:
    """Allocate a start in `profile`, with all slots of its hosts if the start is in the future."""
    allocate_start(profile, demand, start)
    if start.time <= profile.now:
        return
    finish = start.finish(demand)
    capacity = profile.table.host_resources[SLOTS].capacity
    for host, slots in start.allocation.items():
        rest = float(capacity[host]) - slots
        if rest > 0:
            profile.block(host, rest, start.time, FOREVER if finish is None else finish)


#: Reason for the omission: first fit may be later than a joint plan.
RULE = "loadSched of memory together with other planned jobs"


def must_be_one_by_one(problem: PlanningProblem) -> bool:
    """Return whether a job has a loadSched threshold of memory above its reservation."""
    return any(demand.floors for demand in problem.demands)


def plan_one_by_one(
    problem: PlanningProblem, first: Plan, method: Method, objective: Objective, budget: Budget
) -> Plan:
    """Return the first-fit plan with a bound for each job: its earliest start given running jobs
    only.

    first: the first-fit plan. A job that the budget does not reach has no bound.
    """
    demands = {demand.job.id: demand for demand in problem.demands}
    reservations: list[PlannedJob] = []
    for item in first:
        if item.start is None or budget.late():
            reservations.append(replace(item, method=method))
            continue
        alone = earliest_start(problem.base, demands[item.job])
        bound = None if alone is None else alone.time
        proved = bound is not None and bound == item.start
        why = item.fallback if proved else f"not proved: {RULE} is not modelled"
        reservations.append(replace(item, method=method, bound=bound, proved=proved, fallback=why))
    never = all(earliest_start(problem.base, demands[item.job]) is None for item in first.unplaced)
    proved = never and all(item.proved for item in reservations)
    open_still = [item.job for item in reservations if not item.proved]
    open_still += [] if never else [item.job for item in first.unplaced]
    note = f"not modelled: {RULE} (affects {some(open_still)})"
    whole: Status = "infeasible" if first.unplaced else "optimal"
    value = first.value if objective.in_order else None
    return replace(
        first,
        method=method,
        objective=objective.name,
        status=whole if proved and objective.in_order and not first.cut else "feasible",
        reservations=tuple(reservations),
        value=value,
        bound=value if proved and not first.unplaced else None,
        notes=(*first.notes, *([note] if open_still else [])),
        omissions=(*first.omissions, *([Omission(RULE)] if open_still else [])),
    )


def with_exact_fits(
    problem: PlanningProblem, plan: Plan, budget: Budget, *, whole_nodes: bool = False
) -> Plan:
    """Return the plan with its exact fits marked.

    Each job is examined with the jobs before it in dispatch order already allocated, until the
    budget and its grace period end. whole_nodes: as in the call that made the plan.
    """
    if problem.margin:
        return plan
    starts = warm_starts(problem, plan)
    queue_position = [
        _standing(demand, starts[demand.job.id], whole_nodes=whole_nodes)
        for demand in problem.demands
        if demand.job.id in starts
    ]
    reserved: dict[int, str] = {}
    for item in problem.instance.advance_reservations:
        reserved.setdefault(item.start, f"advance reservation {item.name}")
    stopped = False

    def stop() -> bool:
        nonlocal stopped
        stopped = stopped or budget.late()
        return stopped

    found = exact_fits(lambda: problem.base.copy(), queue_position, reserved, should_stop=stop)
    if found:
        reservations = (replace(item, exact_fit=found.get(item.job, "")) for item in plan)
        plan = replace(plan, reservations=tuple(reservations))
    if stopped:
        plan = replace(plan, notes=(*plan.notes, NOT_ALL_KNOWN))
    return plan


def _standing(demand: Demand, start: Start, *, whole_nodes: bool) -> Commitment:
    item = Commitment.of(demand.job.id, demand, start)
    if not whole_nodes:
        return item
    return replace(item, hold=lambda profile: hold_whole_nodes(profile, demand, start))


def fill_ranges(problem: PlanningProblem, plan: Plan, budget: Budget | None = None) -> Plan:
    """Return the plan with the slot ranges of jobs that start now filled up.

    A joint plan gives each job with a range its minimum. A job that starts now then receives the
    slots that all other allocations leave free, in order of priority, so that no start moves. A job
    that starts later keeps the minimum. Jobs that the budget does not reach keep the minimum too.
    """
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
        profile = problem.base.copy()
        for other, start in starts.items():
            if other != name:
                allocate_start(profile, demands[other], start)
        starts[name] = fill_slot_range(profile, demand, starts[name])
        filled[name] = problem.named(starts[name].allocation)
    reservations = tuple(
        replace(item, allocation=filled[item.job]) if item.job in filled else item
        for item in plan.reservations
    )
    return replace(plan, reservations=reservations)


def moved_by_windows(
    problem: PlanningProblem, kept: Plan, budget: Budget | None = None
) -> tuple[str, ...]:
    """Return a sentence for each job whose time-based start differs from LSF's estimate.

    kept: the time-based plan that obeys the windows and advance reservations of the problem. The
    result is empty if the budget ends.
    """
    instance = problem.instance
    bound = any(demand.calendar is not None for demand in problem.demands)
    if not problem.honours_windows or not (bound or instance.advance_reservations):
        return ()
    if (
        instance.params.scheduler.plans_nodes
    ):  # its estimate is that of method slurm, which sees them
        return ()
    try:
        without = PlanningProblem.of(
            instance,
            as_lsf=True,
            budget=budget,
            margin=problem.margin,
            due_dates=problem.resolver.due_dates,
            first=len(problem.demands),
        )
        literal = plan_first_fit(without, budget)
    except OutOfTime:
        return ()
    if literal.cut or kept.cut:
        return ()
    notes: list[str] = []
    for demand in problem.demands:
        before, after = (planned_start(plan, demand.job.id) for plan in (literal, kept))
        if before != after:
            estimate = "has none" if before is None else f"is {clock_text(instance, before)}"
            notes.append(
                f"windows or advance reservations move job {demand.job.id}: "
                f"LSF's estimate, which ignores them, {estimate}"
            )
    return tuple(notes)
