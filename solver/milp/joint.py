"""Objectives that trade jobs against each other: one integer program over all candidate starts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from ...model.objective import Objective
from ...model.plan import Plan, PlannedJob, Unplaced
from ...model.progress import Progress
from ..availability.demand import Demand, released
from ..budget import Budget, OutOfTime
from ..optimal.backends import ModelRoom, PairWeight
from ..optimal.completion import LIMIT, Jointly, completed
from ..optimal.costs import Costs
from ..optimal.first_fit import plan_first_fit
from ..optimal.lexicographic import warm_starts
from ..optimal.weighted import earliest_alone
from ..pending_reasons import reason_unplaced, what_it_waits_for
from ..placement.earliest import Start, hold_start
from ..placement.holding import with_fewest_units
from ..problem import PlanningProblem
from .model import PlacementModel, alternatives
from .starts import TooMany, closure

#: What a placement (option and host) costs: about half a millisecond, building and solving.
PLACEMENT = PairWeight(memory=10_000, a_second=2000, share=1.0)
#: Coefficients up to this are integers; larger ones are scaled down to it. The solvers' own
#: tolerances are absolute, about a millionth.
MOST_COEFFICIENT = 10**6
#: Costs over a range up to this are told apart one by one.
TOLD_APART = 10**9
#: A second of the least weighted job counts, where this times its weight reaches over the range.
DIGITS = 10**11
#: What the solvers may be off in a bound.
TOLERANCE = 1e-5
#: How often the program is built anew, with the costs that the best plan leaves possible.
ROUNDS = 4

#: Of each job, what its candidate starts cost, in units.
StartCosts = Mapping[str, Mapping[int, int]]


@dataclass(frozen=True, slots=True)
class _Solved:
    """A plan of a program. total: its cost in units. low: no plan is below, None if unknown.

    ended: the search was not stopped by a limit.
    """

    starts: dict[str, Start]
    total: int
    low: int | None = None
    ended: bool = False


def plan_joint(
    problem: PlanningProblem,
    budget: Budget,
    objective: Objective,
    jointly: Jointly,
    *,
    on_progress: Callable[[Any], None] | None = None,
) -> Plan:
    """The optimum of a joint objective; where that is too large, the time-based plan and a note.

    jointly: places jobs at fixed starts, for those that find no place one after another.
    Raises InputError for a job that the objective cannot weigh.
    """
    alone = earliest_alone(problem)
    known = warm_starts(problem, plan_first_fit(problem))
    known = {job: start for job, start in known.items() if job in alone}
    warm, why = completed(problem, known, alone, jointly)
    starts = {job: start.time for job, start in warm.items()}
    demands = [demand for demand in problem.demands if demand.job.id in starts]
    costs = Costs.of(objective, demands, problem.instance.now)
    total = costs.total(starts)
    try:
        solved = _solve(problem, budget, demands, costs, total)
    except TooMany:
        note = (
            f"{len(demands)} jobs on {len(problem.instance.cluster.hosts)} hosts are too large for "
            "the integer program in what was left of the limit and of memory: this is the "
            "time-based plan; use --method optimal"
        )
        return _as_plan(problem, costs, alone, _Solved(warm, total), why, note)
    if solved is None:
        note = f"{LIMIT}: this is the time-based plan"
        return _as_plan(problem, costs, alone, _Solved(warm, total), why, note)
    if on_progress is not None:
        value = costs.value(solved.total, len(demands))
        low = solved.total if solved.low is None else min(solved.low, solved.total)
        bound = costs.value(low, len(demands))
        on_progress(Progress(len(demands), len(demands), value, bound, budget.elapsed()))
    return _as_plan(problem, costs, alone, solved, why)


def _solve(
    problem: PlanningProblem, budget: Budget, demands: list[Demand], costs: Costs, total: int
) -> _Solved | None:
    """The best plan, None where the budget does not reach one.

    total: of a known plan. Where costs differ too much for the solvers' tolerances, starts that
    cost more than the plan found leaves for one job are left out and the rest is solved again.
    """
    best: _Solved | None = None
    if budget.exhausted():
        return None
    most = int(ModelRoom(budget, PLACEMENT).most_pairs())
    for _ in range(ROUNDS):
        least = {demand.job.id: demand.earliest for demand in demands}
        costs = costs.within(least, total).beyond(least)
        own = _start_costs(problem, demands, costs, total, most)
        asked = [(demand, sorted(own[demand.job.id])) for demand in demands]
        try:
            model = PlacementModel(problem.base, asked, check=budget.check_search)
        except OutOfTime:
            return best
        found = _minimise(model, budget, costs, own)
        if found is None:
            return best
        if best is not None and found.total >= best.total:
            return replace(found, starts=best.starts, total=best.total)
        best, total = found, found.total
        if not found.ended or found.low == found.total:
            break
    return best


def _minimise(
    model: PlacementModel, budget: Budget, costs: Costs, own: StartCosts
) -> _Solved | None:
    """Solve one program; among equal plans, where a later start may cost nothing, the earliest."""
    if not own:
        return _Solved({}, 0, 0, True)
    least = {job: min(at.values()) for job, at in own.items()}
    if costs.largest:
        least = dict.fromkeys(own, min(least.values()))
    extra = {job: {t: c - least[job] for t, c in at.items()} for job, at in own.items()}
    span = max(c for at in extra.values() for c in at.values())
    top = min(span, MOST_COEFFICIENT) or 1
    parts = max(span, 1)
    shown = {job: {t: c * top / parts for t, c in at.items()} for job, at in extra.items()}
    if costs.largest:
        model.minimise_largest(shown, whole=top == parts)
    else:
        model.minimise(shown)
    outcome, placed = model.solve(budget, seconds=3600.0)
    if not placed:
        return None
    total = costs.total({job: start.time for job, start in placed.items()})
    fixed = min(least.values()) if costs.largest else sum(least.values())
    ended = outcome.status == "OPTIMAL"
    low = None
    if ended and _told_apart(costs, own, span):
        low = total
    elif outcome.bound is not None and outcome.bound > float("-inf"):
        safe = max(0.0, outcome.bound - TOLERANCE - 1e-12 * abs(outcome.bound))
        low = fixed + int(Fraction(safe) * parts / top)
    if _idle(costs, own) and outcome.value is not None and not budget.exhausted():
        placed = _earliest(model, budget, costs, own, placed, outcome.value)
    return _Solved(placed, total, low, ended)


def _told_apart(costs: Costs, own: StartCosts, span: int) -> bool:
    """Whether the solvers' tolerances are below what a second of any job costs."""
    weights = [costs.jobs[job].weight for job in own if costs.jobs[job].weight]
    return span <= TOLD_APART or min(weights, default=1) * DIGITS >= span


def _idle(costs: Costs, own: StartCosts) -> bool:
    """Whether a job may start late at no cost."""
    return costs.largest or any(len(set(at.values())) < len(at) for at in own.values())


def _earliest(
    model: PlacementModel,
    budget: Budget,
    costs: Costs,
    own: StartCosts,
    placed: dict[str, Start],
    value: float,
) -> dict[str, Start]:
    """Of the plans that are as good in the objective, the one with the least sum of starts."""
    model.keep(value)
    model.minimise({job: {t: float(t - min(at)) for t in at} for job, at in own.items()})
    again = model.solve(budget, seconds=3600.0)[1]
    before, after = (
        costs.total({job: start.time for job, start in starts.items()})
        for starts in (placed, again)
    )
    return again if again and after <= before else placed


def _start_costs(
    problem: PlanningProblem, demands: list[Demand], costs: Costs, total: int, most: int
) -> dict[str, dict[int, int]]:
    """The cost of every candidate start that a plan no worse than `total` may use.

    Raises TooMany where they make more than `most` placements.
    """
    latest = costs.latest(total)

    def useful(last: int | None) -> Callable[[int], bool]:
        return lambda time: last is None or time <= last

    keep = {job: useful(last) for job, last in latest.items()}
    found = closure(problem, demands, keep, most)
    placements = sum(
        len(found[demand.job.id])
        * len(alternatives(demand))
        * sum(int(term.candidates.size) for term in demand.terms)
        for demand in demands
    )
    if placements > most:
        raise TooMany
    return {
        demand.job.id: {time: costs.jobs[demand.job.id].at(time) for time in found[demand.job.id]}
        for demand in demands
    }


#: Of a plan whose value is known to nine digits, and of one that the tolerances keep from that.
NINE_DIGITS = (
    "proved to nine digits of the value: the weights have more than the program tells apart"
)
TOO_FAR_APART = (
    "the weights have more digits than the integer program tells apart: "
    "a longer limit does not help"
)


def _as_plan(
    problem: PlanningProblem,
    costs: Costs,
    alone: Mapping[str, int],
    solved: _Solved,
    why: str,
    note: str = "",
) -> Plan:
    """why: what keeps the jobs without a start from being proved to have none, "" if nothing.

    note: why this is the plan that the program was to start from, "" if it is the program's.
    """
    exact = solved.low is not None and solved.total <= solved.low
    near = solved.low is not None and (solved.total - solved.low) << 30 <= solved.total
    told = exact or (solved.ended and near)
    proved = told and not why
    given_up = why or ("" if told or solved.ended else LIMIT)
    entries: dict[str, PlannedJob] = {}
    profile = problem.base.copy()
    times = {job: start.time for job, start in solved.starts.items()}
    by_id = {demand.job.id: released(demand, times) for demand in problem.demands}
    placed = with_fewest_units(profile, problem.demands, solved.starts)
    for job, start in sorted(placed.items(), key=lambda item: item[1].time):
        reason = what_it_waits_for(problem, by_id[job], start, profile)
        hold_start(profile, by_id[job], start)
        entries[job] = problem.planned(
            by_id[job], start, "milp", bound=alone[job], waits_for=reason
        )
    if given_up:
        said = note or f"not proved: {given_up}"
    else:
        said = "" if exact else NINE_DIGITS if told else TOO_FAR_APART
    count = len(placed)
    value = costs.value(solved.total, count)
    bound = None if solved.low is None else min(value, costs.value(solved.low, count))
    return Plan(
        method="milp",
        objective=costs.objective.name,
        status=("optimal" if count == len(by_id) else "infeasible") if proved else "feasible",
        now=problem.instance.now,
        reservations=tuple(
            entries[demand.job.id] for demand in problem.demands if demand.job.id in entries
        ),
        unplaced=tuple(
            Unplaced(
                demand.job.id,
                (demand.job.id in alone and given_up) or reason_unplaced(problem, demand),
            )
            for demand in by_id.values()
            if demand.job.id not in placed
        ),
        value=value,
        bound=bound,
        notes=(said,) if said else (),
        rounded=not told and not given_up,
    )
