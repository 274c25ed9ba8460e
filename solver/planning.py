"""One call for every planning method."""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, get_args

from ..model.compact import no_collection
from ..model.display import some
from ..model.duration import last_start
from ..model.errors import Cancelled, InputError, UnknownNameError
from ..model.instance import Instance
from ..model.job import Job
from ..model.objective import Objective, ObjectiveName, objective_named
from ..model.omissions import sentences
from ..model.plan import MAX_MARGIN, NOT_PROVED, Method, Plan, Unplaced
from ..model.progress import OnProgress
from .budget import GRACE, Budget, OutOfTime
from .certify import certified, holds
from .fairshare.priority_order import first_in_order, priority_order
from .optimal.claims import (
    has_accept_intervals,
    keeping_intervals,
    with_backfill_needs,
    with_justified_claims,
    without_backfill,
    without_intervals,
)
from .optimal.first_fit import (
    TermsTogether,
    fill_ranges,
    moved_by_windows,
    must_be_one_by_one,
    plan_first_fit,
    plan_one_by_one,
    with_exact_fits,
    with_reasons,
)
from .pending_reasons import counted
from .placement.holding import may_grow
from .problem import PlanningProblem, not_looked_at, nothing_looked_at
from .resolve import may_have_choices
from .rules.omitted import remarks
from .rules.rule_book import StartedNow
from .scheduler.continuation import (
    needing_backfill,
    run_as_configured,
    started_now,
    with_relevant_omissions,
)
from .scheduler.next_cycle import NextCycle, plan_next_cycle, plan_of

#: Time kept for the end of a search, in multiples of the time of the time-based plan.
WRITE_UP = 3.0
#: Maximum number of dispatch attempts in a simulation whose schedule may be the plan.
MAX_ATTEMPTS = 5_000


def plan_exact(
    problem: PlanningProblem,
    budget: Budget,
    *,
    method: Method,
    objective: Objective,
    on_progress: Callable[[Any], None] | None = None,
) -> Plan:
    """Return the best plan for an objective within the budget; backends are imported at first
    use.
    """
    found, warm = _search(problem, budget, method, objective, on_progress)
    happens = None if problem.as_lsf else _as_it_happens(problem, found, objective, budget)
    if happens is not None:
        found = happens
    elif problem.as_lsf and objective.in_order:
        found = without_backfill(problem, fill_ranges(problem, found, budget), budget)
    else:
        found = with_backfill_needs(problem, fill_ranges(problem, found, budget), budget)
    unsure = problem.omitted_rules or any(map(may_grow, problem.demands))
    begun = started_now(problem.instance, budget) if unsure else StartedNow()
    found = with_exact_fits(problem, with_justified_claims(problem, found, budget, begun), budget)
    return replace(found, notes=(*found.notes, *moved_by_windows(problem, warm, budget)))


def _search(
    problem: PlanningProblem,
    budget: Budget,
    method: Method,
    objective: Objective,
    on_progress: Callable[[Any], None] | None,
) -> tuple[Plan, Plan]:
    """Return the plan of the search, and the first-fit plan from which it started."""
    begun = budget.elapsed()
    warm = plan_first_fit(problem, budget)
    took = budget.elapsed() - begun
    if warm.cut or (took > budget.grace and budget.left() < WRITE_UP * took):
        return _unsearched(problem, with_reasons(problem, warm, budget), method, objective), warm
    if must_be_one_by_one(problem):
        warm = with_reasons(problem, warm, budget)
        return plan_one_by_one(problem, warm, method, objective, budget), warm
    if has_accept_intervals(problem) and not (method == "optimal" and objective.in_order):
        found, _ = _search(without_intervals(problem), budget, method, objective, on_progress)
        return keeping_intervals(problem, found, warm, objective), warm
    if method == "milp":
        from .milp import plan_milp

        return plan_milp(problem, budget, objective, on_progress=on_progress), warm
    # After a search every job is examined again, at about the cost of this plan.
    budget.reserve_seconds(WRITE_UP * took)
    together = TermsTogether(budget)
    problem = problem.placing_terms(together)
    if not objective.in_order:
        from .optimal.weighted import plan_weighted

        found = plan_weighted(
            problem, warm, budget, objective, together.jointly, on_progress=on_progress
        )
    else:
        from .optimal.lexicographic import plan_lexicographic

        found = plan_lexicographic(problem, warm, budget, on_progress=on_progress)
    return together.without_claims(found), warm


def _unsearched(problem: PlanningProblem, warm: Plan, method: Method, objective: Objective) -> Plan:
    """Return the first-fit plan as the answer if no time is left for a search; nothing is
    proved.
    """
    from .optimal.costs import in_terms_of

    if not objective.in_order:
        warm = in_terms_of(objective, warm, problem.demands)
    return replace(
        warm,
        method=method,
        status="feasible",
        reservations=tuple(
            replace(item, method=method, fallback=item.fallback or NOT_PROVED) for item in warm
        ),
        notes=(
            *warm.notes,
            "the limit left no time for a search: each job starts by first fit",
        ),
        cut=True,
    )


METHODS = get_args(Method)
#: Methods that return estimates of the next cycle.
ESTIMATES = ("greedy", "time-based", "slurm")
#: Default time limit of a search in seconds.
DEFAULT_TIME_LIMIT = 30.0
#: Share of the time limit for the search; the rest is for writing up the plan.
SEARCH_SHARE = 0.92
#: Share of the time limit for estimates, which take longer to validate than to write up.
ESTIMATE_SHARE = 0.75
#: Seconds for a weaker answer at the limit: as a share of the limit, and at least.
GRACE_SHARE, MIN_GRACE = 0.15, 0.5
#: Multiple of these seconds after the stop before the validator is stopped.
TO_JUDGE = 3.0


def plan(
    instance: Instance,
    method: Method = "optimal",
    *,
    objective: ObjectiveName = "lexicographic",
    time_limit: float | None = None,
    effort: float | None = None,
    workers: int | None = None,
    jobs: int | None = None,
    first: int | None = None,
    as_lsf: bool = False,
    margin: int = 0,
    whole_nodes: bool = False,
    cancel: threading.Event | None = None,
    on_progress: OnProgress | None = None,
) -> Plan:
    """Plan the pending jobs of an instance.

    method: "greedy", "time-based" (the next cycle of the loop), "slurm", "optimal" or "milp".
    objective: what the exact methods minimise and the others are valued by
    (:mod:`slotwise.model.objective`). time_limit: wall seconds (of a search default 30 unless an
    effort is given, of the others none); effort: of a search in deterministic units, which make the
    answer the same on any machine; workers: solver threads (default: one, and two processes for the
    time-only problem of a pool of processors). jobs: how many jobs get a time-based reservation
    (None: all). first: plan only so many jobs, the first of the order; estimates are then as if
    nobody waited behind them. as_lsf: leave out windows and advance reservations in the exact
    methods, as LSF's own estimate does, and keep what is held from jobs of queues without
    BACKFILL. margin: seconds that nothing planned comes nearer to the end of a pending job.
    whole_nodes: plan as Slurm does: a job that starts later has its hosts to itself (time-based).
    cancel: set it to stop with the best so far. on_progress: called during the search.
    At a limit and when cancelled, jobs that are not reached get a lesser answer or are named as not
    looked at; the plan is then `cut` (`docs/limits.md`).
    Every plan is judged before it is returned (:mod:`.certify`).
    Raises UnknownNameError for a method or objective that does not exist, InputError for a job that
    the objective cannot weigh and for limits that are not numbers or too small.
    """
    if method not in METHODS:
        raise UnknownNameError.among("method", method, METHODS)
    aim = objective_named(objective)
    _check(0, time_limit=time_limit, effort=effort, jobs=jobs)
    _check(1, workers=workers, first=first)
    check_margin(margin)
    if whole_nodes and (method != "time-based" or jobs is not None):
        raise InputError("whole_nodes requires the time-based method and a plan of all jobs")
    estimates = method in ESTIMATES
    budget = _budget(time_limit, effort, workers, cancel, search=not estimates)
    part = instance if first is None else first_in_order(instance, first)
    shared: dict[str, Any] = {"objective": aim, "margin": margin, "budget": budget}
    if whole_nodes:
        solve = partial(_whole_nodes, **shared)
    elif estimates:
        solve = partial(_estimates, method=method, jobs=jobs, **shared)
    else:
        shared |= {"as_lsf": as_lsf, "on_progress": on_progress}
        solve = partial(_exact, method=method, first=first, **shared)
    found = _over_alternatives(part if estimates else instance, part, solve, method, aim, budget)
    found = replace(found, margin=margin, origin=instance.origin)
    stop = partial(budget.late, TO_JUDGE)
    found = certified(part, found, as_lsf=as_lsf or estimates, should_stop=stop)
    return _with_remarks(found, part, len(instance.pending))


def _over_alternatives(
    asked: Instance,
    part: Instance,
    solve: Callable[[Instance], Plan],
    method: Method,
    objective: Objective,
    budget: Budget,
) -> Plan:
    """Return the plan of a method, the best over the alternatives in braces of the jobs of a
    part.
    """
    try:
        if method == "slurm" or not may_have_choices(part):
            return solve(asked)
        from .optimal.alternatives import plan_alternatives

        by = "estimates" if method in ESTIMATES else "order" if objective.in_order else "value"
        order = [job.id for job in priority_order(part)]
        return plan_alternatives(asked, solve, by=by, stopped=budget.stopped, order=order)
    except OutOfTime:
        return nothing_looked_at(part, method, objective.name)


def _with_remarks(found: Plan, part: Instance, pending: int) -> Plan:
    """Return the plan of the first jobs of the order, with notes on its omissions."""
    found = replace(found, notes=(*found.notes, *sentences(remarks(part))))
    planned = len(part.pending)
    if planned == pending:
        return found
    others = counted(pending - planned, "job", f"behind the first {planned} not examined")
    return replace(found, behind=pending - planned, notes=(*found.notes, others))


def nothing_planned(
    instance: Instance,
    method: Method = "optimal",
    *,
    objective: ObjectiveName = "lexicographic",
    **_: Any,
) -> Plan:
    """Return the plan of a call that was cancelled before its instance was examined.

    Raises Cancelled if not even the ids of the jobs are known.
    """
    if not all(isinstance(job, Job) for job in instance.pending):
        raise Cancelled
    return nothing_looked_at(instance, method, objective)


def _budget(
    time_limit: float | None,
    effort: float | None,
    workers: int | None,
    cancel: threading.Event | None,
    *,
    search: bool,
) -> Budget:
    """Return the budget of a method. search: whether the method is a search, which must end."""
    if not search:
        effort = None
    elif time_limit is None and effort is None:
        time_limit = DEFAULT_TIME_LIMIT
    share = SEARCH_SHARE if search else ESTIMATE_SHARE
    return Budget(
        time_limit=None if time_limit is None else share * time_limit,
        effort=effort,
        workers=workers or 1,
        processes=workers or (1 if effort is not None else min(2, os.cpu_count() or 1)),
        cancel=cancel or threading.Event(),
        grace=seconds_after(time_limit),
    )


def seconds_after(limit: float | None) -> float:
    """Return the seconds for a weaker answer after a time limit."""
    return GRACE if limit is None else min(GRACE, max(MIN_GRACE, GRACE_SHARE * limit))


def _estimates(
    instance: Instance,
    method: Method,
    objective: Objective,
    jobs: int | None,
    margin: int,
    budget: Budget,
) -> Plan:
    if method == "slurm":
        return _as_slurm(instance, objective, margin, budget)
    with no_collection():
        cycle = NextCycle(instance, method, jobs=jobs, budget=budget, margin=margin)
    found, known = plan_of(cycle), cycle.requests
    del cycle  # The state of the cluster in it is large, and only its table is used again.
    if not margin:
        found = with_relevant_omissions(instance, found, jobs=jobs, budget=budget, known=known)
    if objective.name == found.objective:
        return found
    from .optimal.costs import in_terms_of

    try:
        demands = PlanningProblem.of(instance, budget=budget, margin=margin).demands
    except OutOfTime:
        return replace(found, objective=objective.name, value=None)
    return in_terms_of(objective, found, demands)


def _as_slurm(instance: Instance, objective: Objective, margin: int, budget: Budget) -> Plan:
    """Return the plan of Slurm's backfill, with the objective's value.

    Raises InputError for a margin other than 0.
    """
    from .optimal.costs import in_terms_of
    from .slurm.backfill import plan_as_slurm

    if margin:
        raise InputError("margin is not supported by method slurm: use another method")
    found = plan_as_slurm(instance, budget)
    if objective.name == found.objective:
        return found
    demands = PlanningProblem.of(instance, budget=budget, due_dates=True).demands
    return in_terms_of(objective, found, demands)


def _whole_nodes(instance: Instance, objective: Objective, margin: int, budget: Budget) -> Plan:
    """Return first fits job by job with whole nodes; a job is allowed to precede an earlier one."""
    from .optimal.costs import in_terms_of
    from .optimal.first_fit import plan_first_fit, with_exact_fits

    problem = PlanningProblem.of(instance, budget=budget, margin=margin)
    found = plan_first_fit(problem, budget, whole_nodes=True)
    found = with_reasons(problem, found, budget, whole_nodes=True)
    found = with_exact_fits(problem, found, budget, whole_nodes=True)
    if objective.name == found.objective:
        return found
    return in_terms_of(objective, found, problem.demands)


def _exact(
    instance: Instance,
    as_lsf: bool,
    margin: int,
    method: Method,
    objective: Objective,
    budget: Budget,
    on_progress: OnProgress | None,
    first: int | None,
) -> Plan:
    problem = PlanningProblem.of(
        instance,
        as_lsf=as_lsf,
        budget=budget,
        margin=margin,
        partly=True,
        due_dates=objective.due_dates,
        loans=True,
        first=first,
    )
    found = plan_exact(problem, budget, method=method, objective=objective, on_progress=on_progress)
    found = _with_unseen(found, problem.unseen, method) if problem.unseen else found
    found = _naming_the_late(instance, found) if objective.due_dates else found
    if as_lsf:
        return _never_later(instance, found, margin, budget) if objective.in_order else found
    return needing_backfill(instance, found, budget)


def _naming_the_late(instance: Instance, found: Plan) -> Plan:
    """Return the plan with a note on jobs that start or end too late for -t in LSF."""
    late = []
    for job in instance.pending:
        item, last = found.get(job.id), last_start(instance, job)
        if item is not None and item.start is not None and last is not None:
            over = item.finish is None or item.finish > (job.deadline or 0)
            late += [job.id] if over or item.start > last else []
    if not late:
        return found
    note = f"-t is a due date for this objective; LSF would abort or kill {some(late)}"
    return replace(found, notes=(*found.notes, note))


def _never_later(instance: Instance, found: Plan, margin: int, budget: Budget) -> Plan:
    """Return a plan that protects reservations from jobs without BACKFILL, or the time-based one.

    This plan's reservations are those at each start; the next cycle reserves slots that are free
    now, which may let a job start earlier. Starts that are in both plans keep their proofs.
    """
    if found.cut:
        return found
    timed = plan_next_cycle(instance, "time-based", budget=budget, margin=margin)
    planned = {item.job for item in found} | {item.job for item in found.unplaced}
    order = [job.id for job in priority_order(instance) if job.id in planned]
    timed = _only(order, timed)
    if timed.cut or _starts(order, found) <= _starts(order, timed):
        return found
    note = "the schedule of time-based reservation, in which jobs start earlier"
    return _with_claims_of(found, timed, note, "time-based reservation")


#: Note on a plan that is the schedule of the loop.
AS_CONFIGURED = "the schedule as configured, in which jobs start earlier"


def _as_it_happens(
    problem: PlanningProblem, found: Plan, objective: Objective, budget: Budget
) -> Plan | None:
    """Return the starts that the scheduler as configured reaches, None if they are no better or
    the validator rejects them.

    A plan omits rules by which jobs start earlier: preemption, loans, suspension for an advance
    reservation.
    """
    from .optimal.costs import in_terms_of

    instance = problem.instance
    if found.cut or problem.margin or problem.unseen or budget.late():
        return None
    run = run_as_configured(instance, budget=budget, attempts=MAX_ATTEMPTS)
    jobs = [job.id for job in instance.pending]
    other = replace(
        found,
        reservations=tuple(
            replace(run.starts[job], method=found.method) for job in jobs if job in run.starts
        ),
        unplaced=tuple(
            Unplaced(job, run.waiting.get(job, "")) for job in jobs if job not in run.starts
        ),
        objective="lexicographic",
        value=None,
        bound=None,
        status="heuristic",
        suspended=run.suspended,
    )
    if run.cut or not holds(instance, other, as_lsf=False):
        return None
    order = [demand.job.id for demand in problem.demands]
    other = _only(order, other)
    waits = [item.start - instance.now for item in other if item.start is not None]
    other = replace(other, value=float(sum(waits)))
    if objective.name != other.objective:
        other = in_terms_of(objective, other, problem.demands)
    if objective.in_order:
        better = _starts(order, other) < _starts(order, found)
    else:
        better = _worth(other) < _worth(found)
    by = "scheduler as configured"
    return _with_claims_of(found, other, AS_CONFIGURED, by) if better else None


def _only(order: Sequence[str], found: Plan) -> Plan:
    """Return the entries of these jobs, in this order."""
    place = {job: at for at, job in enumerate(order)}
    entries = sorted((item for item in found if item.job in place), key=lambda i: place[i.job])
    unplaced = tuple(item for item in found.unplaced if item.job in place)
    others = {item.job for item in found} - place.keys()
    suspended = {job: time for job, time in found.suspended.items() if job not in others}
    return replace(found, reservations=tuple(entries), unplaced=unplaced, suspended=suspended)


def _worth(found: Plan) -> tuple[float, ...]:
    """Return a sort key: fewer jobs without a start, then the less value."""
    return len(found.unplaced), math.inf if found.value is None else found.value


def _with_claims_of(found: Plan, other: Plan, note: str, by: str) -> Plan:
    """Return another plan with the claims of one up to the first job that starts elsewhen; what
    starts now cannot start earlier.

    by: what decided the starts of the other plan.
    """
    claims = {(item.job, item.start): item for item in found}
    same = True
    entries = []
    for item in other:
        claim = claims.get((item.job, item.start))
        item = replace(item, decided_by=by)
        same = same and claim is not None
        if same and claim is not None:
            own = {
                name: getattr(claim, name)
                for name in ("bound", "proved", "proved_if", "decided_by")
            }
            entries.append(replace(item, **own))
        elif item.start == found.now:
            entries.append(replace(item, bound=item.start, proved=True))
        else:
            entries.append(item.unproved())
    proved = all(item.proved for item in entries) and not other.unplaced
    return replace(
        other,
        status="optimal" if proved else "feasible",
        reservations=tuple(entries),
        bound=other.value if proved else None,
        notes=(*found.notes, note),
    )


def _starts(order: Sequence[str], found: Plan) -> list[float]:
    """Return the starts of jobs in this order, infinite if a job has none."""
    known = {item.job: item.start for item in found if item.start is not None}
    return [float(known.get(job, math.inf)) for job in order]


def _with_unseen(found: Plan, unseen: Sequence[Job], method: Method) -> Plan:
    """Return the plan with the jobs that were not reached added, and without proofs."""
    seen = (item.unproved() for item in found)
    some = counted(len(unseen), "job", "not examined")
    return replace(
        found,
        status="feasible",
        value=None,
        bound=None,
        reservations=(*seen, *(not_looked_at(job, method) for job in unseen)),
        notes=(*found.notes, f"truncated by the limit: {some}"),
        cut=True,
    )


def check_margin(margin: int) -> None:
    """Raise InputError where a margin is not a number of seconds."""
    if type(margin) is not int or not 0 <= margin <= MAX_MARGIN:
        raise InputError(f"margin must be 0 to {MAX_MARGIN} seconds, not {margin!r}")


def _check(least: int, **numbers: float | None) -> None:
    for name, value in numbers.items():
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if value is not None and not (number and least <= value < math.inf):
            raise InputError(f"{name} must be None (default) or {least} or more, not {value}")
