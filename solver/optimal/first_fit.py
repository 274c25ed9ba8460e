"""First fit: pending jobs in dispatch order, each at its first feasible instant.

The instants examined are now and the finish times of running and planned jobs. Every exact search
starts from this plan. The reservations of LSF's time-based method are in
:mod:`solver.scheduler.reserving`.

The module also completes the plans of other methods: exact fits, ranges of slots, notes about
starts that windows move, and starts for jobs that the time-based plan leaves without one.

Joint placement of the terms of a compound requirement, if they do not fit one after another. LSF
places term by term without going back (REQ-14); the exact methods examine every placement.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ...model.display import clock_text, some
from ...model.objective import Objective
from ...model.omissions import Omission
from ...model.plan import Method, Plan, PlannedJob, Status, Unplaced
from ..availability.demand import Availability, Demand, with_eligible_time
from ..availability.profile import Profile
from ..availability.resources import SLOTS, Allocation
from ..availability.usage import FOREVER
from ..budget import Budget, OutOfTime
from ..pending_reasons import JobByJob, reason_unplaced
from ..placement.earliest import Start, allocate_start, earliest_start, is_constant, start_at
from ..placement.holding import NOT_ALL_KNOWN, Commitment, exact_fits, fill_slot_range, may_grow
from ..problem import PlanningProblem, not_looked_at
from .claims import planned_start
from .lexicographic import warm_starts
from .order_search import Starts, decode, times_of

#: Function that places jobs at fixed starts in a profile; it returns FEASIBLE and the starts, or
#: another status.
Jointly = Callable[[Profile, Sequence[tuple[Demand, int]]], tuple[str, dict[str, Start]]]

LIMIT = "the search limit was reached"
#: Reason why a missing start is not proved impossible: another order may leave a start before the
#: termination time (-t).
DEADLINES = "jobs with a termination time (-t) were not tried in every order"


def completed(
    problem: PlanningProblem, first: Starts, alone: Mapping[str, int], jointly: Jointly
) -> tuple[Starts, str]:
    """Return `first` with starts for the jobs missing in it, and the reason why some jobs still
    have none.

    alone: the earliest start of each job that has one beside what runs (seconds). The reason is ""
    if all have one or where it is proved that they cannot all have one.

    Jobs placed in priority order may find no start although a plan of all jobs has one: the terms
    of a requirement may not fit one after another, or an earlier job may never end. So the jobs
    that end are placed first, and the endless jobs are placed together after all of these ends.
    """
    able = [demand for demand in problem.demands if demand.job.id in alone]
    found = _added(problem, first, [demand for demand in able if demand.job.id not in first])
    if len(found) == len(able):
        return found, ""
    ending = [demand for demand in able if demand.duration is not None]
    endless = [demand for demand in able if demand.duration is None]
    again = decode(problem, [*ending, *endless], dict(alone))
    if len(again) == len(able):
        return again, ""
    if any(demand.latest is not None for demand in able):
        return max(found, again, key=len), DEADLINES
    found = max(found, again, key=len)
    kept = {job: start for job, start in again.items() if job not in {d.job.id for d in endless}}
    if len(kept) < len(ending) or not endless:
        return found, LIMIT
    status, placed = jointly(*_when_all_is_over(problem, kept, ending, endless))
    if status == "FEASIBLE":
        return kept | placed, ""
    if status != "INFEASIBLE":
        return found, LIMIT
    if all(is_constant(demand) and demand.calendar is None for demand in endless):
        return found, ""
    return found, "not every order was tried for jobs with an unknown end whose usage decreases"


def _added(problem: PlanningProblem, first: Starts, missing: Sequence[Demand]) -> Starts:
    """Return `first` with starts of those missing jobs that fit in addition."""
    found = dict(first)
    if not missing:
        return found
    profile = problem.base.copy()
    for demand in problem.demands:
        if demand.job.id in first:
            allocate_start(profile, demand, first[demand.job.id])
    for demand in missing:
        demand = with_eligible_time(demand, times_of(found))
        start = earliest_start(profile, demand)
        if start is not None:
            allocate_start(profile, demand, start)
            found[demand.job.id] = start
    return found


def _when_all_is_over(
    problem: PlanningProblem, kept: Starts, ending: Sequence[Demand], endless: Sequence[Demand]
) -> tuple[Profile, list[tuple[Demand, int]]]:
    """Return the profile with the jobs that end, and the endless jobs with an instant after all of
    these ends.
    """
    profile = problem.base.copy()
    for demand in ending:
        allocate_start(profile, demand, kept[demand.job.id])
    late = max(*profile.changes(), *(demand.earliest for demand in endless))
    return profile, [(demand, late) for demand in endless]


#: Limits of one joint placement of terms, in wall seconds and in deterministic units.
SECONDS = 5.0
EFFORT = 4.0


@dataclass(slots=True)
class TermsTogether:
    """A placer for all terms of a job together, for one search."""

    budget: Budget
    #: Ids of the jobs whose placement a limit left undecided.
    undecided: set[str] = field(default_factory=set)

    def __call__(
        self, availability: Availability, demand: Demand, time: int
    ) -> tuple[Allocation, ...] | None:
        """Return one allocation per term for a start at `time` (seconds), or None."""
        if availability.free(SLOTS, time).clip(0).sum() < demand.slots:
            return None
        status, placed = self.jointly(availability, [(demand, time)])
        if status not in ("FEASIBLE", "INFEASIBLE"):
            self.undecided.add(demand.job.id)
        return placed[demand.job.id].terms if status == "FEASIBLE" else None

    def jointly(
        self, availability: Availability, starts: Sequence[tuple[Demand, int]]
    ) -> tuple[str, dict[str, Start]]:
        """Place jobs at fixed starts given the profile; return FEASIBLE and the starts, or the
        reason of a failure.
        """
        from .joint_placement import JointPlacement

        model = JointPlacement(availability, starts)
        return model.solve(self.budget, seconds=SECONDS, effort=EFFORT)

    def without_claims(self, plan: Plan) -> Plan:
        """Return the plan without the proofs that depend on an undecided placement."""
        if not self.undecided:
            return plan
        names = ", ".join(sorted(self.undecided))
        return replace(
            plan,
            status="feasible",
            bound=None,
            reservations=tuple(item.unproved() for item in plan),
            unplaced=tuple(
                replace(item, reason=f"its terms: {LIMIT}") if item.job in self.undecided else item
                for item in plan.unplaced
            ),
            notes=(*plan.notes, f"not proved: {LIMIT} before the terms of {names} were placed"),
        )


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
