"""Joint plans for objectives that trade jobs against each other, such as weighted starts or
makespan.

A search runs first. If the problem is small enough, an exact model then proves or improves the
plan. The bound is the best of the bounds of the relaxations, of the exact model and of the earliest
starts. Costs are compared in integer units, so that equality is exact.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...model.objective import Objective
from ...model.plan import Plan, PlannedJob, Unplaced
from ...model.progress import Progress
from ..availability.demand import Demand, keeps_order, with_eligible_time
from ..budget import Budget, OutOfTime
from ..pending_reasons import reason_unplaced, what_it_waits_for
from ..placement.earliest import Start, allocate_start, earliest_start
from ..placement.holding import with_fewest_units
from ..problem import PlanningProblem
from .costs import DIGITS, Costs
from .first_fit import Jointly, completed
from .lexicographic import warm_starts
from .order_search import Extent, Starts, area, decode_within, guided_plan, improve, times_of
from .pool_bounds import bound_of_pools, is_whole_pool, pools_of, solve_as_pool
from .start_model import bound_of_starts, likely_starts

#: Share of the remaining time for decoding plans in the order of pool starts, and the number of
#: rounds that recompute these starts after a better plan.
GUIDED_SHARE = 0.5
GUIDED_ROUNDS = 2
#: Limits of the search if the exact model follows: share of the remaining time, and number of
#: moves.
EXACT_SHARE = 0.35
MOVES_BEFORE_EXACT = 400
#: Share of the remaining time that the exact model may take.
PROOF_SHARE = 0.85
#: Share of that time for a model on a grid that rounds, and the share after which no grid between
#: it and the exact one is tried: those take longer, and the exact one improves plans most.
COARSE_SHARE = 0.65
LONG = 0.25
#: Seconds within which a small exact model is solved; it precedes all bounds.
SMALL = 2.0
#: Name of the exact model.
MODEL = "CP-SAT with intervals"
#: Moves of the search for each unit of a deterministic effort.
MOVES_PER_EFFORT = 40

Tell = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class _Found:
    """The incumbent, its lower bound and the state of its proof."""

    #: Start of each job by id.
    starts: Starts
    #: Cost of the incumbent, in units.
    total: int
    #: Lower bound on the cost of any plan, in units.
    low: int
    #: Whether a model that keeps nine digits of every weight proved the incumbent optimal.
    settled: bool = False
    #: Whether a model was solved to its end without all digits of the weights; more time then
    #: proves nothing more.
    coarse: bool = False
    #: What found the incumbent, and what gave the bound.
    planned_by: str = "first fit"
    bounded_by: str = "earliest starts"

    @property
    def close(self) -> bool:
        """Return whether no plan can be better within the first nine digits of the cost."""
        return (self.total - self.low) << (DIGITS - 1) <= self.total

    @property
    def proved(self) -> bool:
        return self.total <= self.low or (self.settled and self.close)

    @property
    def decided_by(self) -> str:
        """Return what found the incumbent, and what gave the bound if that is something else."""
        plan, bound = self.planned_by, self.bounded_by
        return plan if bound == plan else f"{plan}, bound by {bound}"

    def better(self, starts: Starts, total: int, by: str) -> _Found:
        """Return a copy with the given plan if its cost is not higher, else this object."""
        if total > self.total:
            return self
        by = by if total < self.total else self.planned_by
        return replace(self, starts=starts, total=total, planned_by=by)

    def above(self, bound: int | None, by: str) -> _Found:
        """Return a copy with the given lower bound if it is higher, else this object."""
        if bound is None or bound <= self.low:
            return self
        return replace(self, low=bound, bounded_by=by)


def plan_weighted(
    problem: PlanningProblem,
    warm: Plan,
    budget: Budget,
    objective: Objective,
    jointly: Jointly,
    *,
    on_progress: Callable[[Any], None] | None = None,
) -> Plan:
    """Return the best plan found for an objective, with a lower bound; proved if both are equal.

    jointly: places jobs at fixed starts, for jobs that are infeasible one after another. Raises
    InputError for a job that the objective cannot weigh.
    """
    costs = Costs.of(objective, problem.demands, problem.instance.now)
    alone = earliest_alone(problem)
    known = {job: start for job, start in warm_starts(problem, warm).items() if job in alone}
    first, why = completed(problem, known, alone, jointly)
    count = len(first)

    def tell(total: int, low: int) -> None:
        if on_progress is not None:
            value, bound = costs.value(total, count), costs.value(low, count)
            on_progress(Progress(count, len(problem.demands), value, bound, budget.elapsed()))

    least = costs.total({job: alone[job] for job in first})
    found = _Found(first, _total(costs, first), least)
    if not found.proved:
        found = _search_and_prove(problem, costs, budget, alone, found, tell)
    return _as_plan(problem, costs, alone, found, why)


def _search_and_prove(
    problem: PlanningProblem,
    costs: Costs,
    budget: Budget,
    alone: dict[str, int],
    found: _Found,
    tell: Tell,
) -> _Found:
    """Improve and prove the incumbent within the budget.

    The steps are: the exact model if it is small; the pool of all slots, bounds with plans in their
    order, a search, the exact model if it was not taken yet, and another search.
    """
    placed = [demand for demand in problem.demands if demand.job.id in found.starts]
    if any(demand.latest is not None for demand in placed):
        # These models support no latest start and no job that is killed early (-t).
        return _search(problem, costs, budget, alone, found, False, tell)
    least = {job: alone[job] for job in found.starts}
    small = _exact_model_fits(placed, Budget(effort=SMALL)) and not is_whole_pool(problem, placed)
    if small:
        found = _search_and_solve(problem, costs, budget, alone, found, tell)
        if found.proved or budget.exhausted():
            return found
    within = costs.within(least, found.total)
    pooled = solve_as_pool(problem, placed, within, alone, budget, tell)
    found = found.above(pooled.bound, "pool of slots")
    if pooled.starts and keeps_order(placed, times_of(pooled.starts)):
        starts = dict(pooled.starts)
        found = found.better(starts, _total(costs, starts), "pool of slots")
        found = replace(found, settled=pooled.settled, coarse=pooled.finished)
        if found.proved or not pooled.finished:
            return found
    if not pooled.starts or any(demand.after is not None for demand in placed):
        areas = {demand.job.id: area(demand) for demand in placed}
        found = _guided(problem, costs, budget, least, found, [areas])
        begun = [found.starts[demand.job.id].time for demand in placed]
        ended = [time + (job.duration or 0) for time, job in zip(begun, placed, strict=True)]
        bound = bound_of_pools(problem, placed, costs, alone, [*begun, *ended], budget)
        found = found.above(bound, "prices of pools")
        found = _by_whole_jobs(problem, costs, budget, least, found)
        found = _by_likely_starts(problem, costs, budget, least, found)
    if not small and _exact_model_fits(placed, budget):
        found = _search_and_solve(problem, costs, budget, alone, found, tell)
    if not found.proved and not budget.exhausted():
        found = _search(problem, costs, budget, alone, found, found.coarse, tell)
    return found


def _search_and_solve(
    problem: PlanningProblem,
    costs: Costs,
    budget: Budget,
    alone: dict[str, int],
    found: _Found,
    tell: Tell,
) -> _Found:
    """Return the incumbent after a short search and the exact model."""
    found = _search(problem, costs, budget, alone, found, True, tell)
    tell(found.total, found.low)
    if not found.proved and not budget.exhausted():
        found = _prove(problem, costs, budget, alone, found)
        tell(found.total, found.low)
    return found


def _by_likely_starts(
    problem: PlanningProblem, costs: Costs, budget: Budget, alone: Mapping[str, int], found: _Found
) -> _Found:
    """Return the incumbent, improved by plans in the order of starts that a linear program
    gives.
    """
    placed = [demand for demand in problem.demands if demand.job.id in alone]
    for _ in range(GUIDED_ROUNDS):
        before = found.total
        if found.proved or budget.exhausted():
            break
        known = [start.time for start in found.starts.values()]
        guides = likely_starts(problem, placed, costs, alone, found.total, budget, known)
        found = _guided(problem, costs, budget, alone, found, guides)
        if found.total == before:
            break
    return found


def _by_whole_jobs(
    problem: PlanningProblem, costs: Costs, budget: Budget, alone: Mapping[str, int], found: _Found
) -> _Found:
    """Return the incumbent with the bound of whole jobs in all pools, and a plan in the order of
    its starts.
    """
    if found.proved or budget.exhausted():
        return found
    placed = [demand for demand in problem.demands if demand.job.id in alone]
    model = bound_of_starts(problem, placed, costs, alone, (found.low, found.total), budget)
    if model is None:
        return found
    guides = [model.starts] if model.starts else []
    return _guided(
        problem, costs, budget, alone, found.above(model.bound, "whole jobs in pools"), guides
    )


def _guided(
    problem: PlanningProblem,
    costs: Costs,
    budget: Budget,
    alone: Mapping[str, int],
    found: _Found,
    guides: Sequence[Mapping[str, float]],
) -> _Found:
    """Return the incumbent, improved by plans in the orders of these starts, while time is left."""
    until = budget.elapsed() + GUIDED_SHARE * budget.left()

    def stop() -> bool:
        return budget.exhausted() or (budget.effort is None and budget.elapsed() > until)

    plan = guided_plan(problem, costs, alone, guides, found.total, stop)
    return found if plan is None else found.better(plan, _total(costs, plan), "search over orders")


def _total(costs: Costs, starts: Starts) -> int:
    return costs.total({job: start.time for job, start in starts.items()})


def _search(
    problem: PlanningProblem,
    costs: Costs,
    budget: Budget,
    alone: dict[str, int],
    found: _Found,
    exact: bool,
    tell: Tell,
) -> _Found:
    """Return the incumbent, improved by large-neighbourhood search.

    exact: whether an exact model follows, which receives most of the time.
    """
    seconds = min(budget.left(), 3600.0) * (EXACT_SHARE if exact else 1.0)
    moves = 10**9 if budget.effort is None else int(MOVES_PER_EFFORT * budget.effort)
    moves = min(moves, MOVES_BEFORE_EXACT) if exact else moves
    low = found.low
    best, total = improve(
        problem,
        costs,
        budget,
        alone,
        found.starts,
        Extent(moves, seconds, enough=low),
        on_better=lambda better: tell(better, low),
    )
    return found.better(best, total, "search over orders")


def earliest_alone(problem: PlanningProblem) -> dict[str, int]:
    """Return the earliest start of each job given running jobs only, in seconds by id.

    No plan can start a job earlier. A job with a dependency starts after the earliest starts of the
    jobs that it depends on.
    """
    found: dict[str, int] = {}
    for demand in problem.demands:
        demand = with_eligible_time(demand, found)
        start = earliest_start(problem.base, demand)
        if start is not None:
            found[demand.job.id] = start.time
    return found


def _exact_model_fits(demands: list[Demand], budget: Budget) -> bool:
    from .interval_model import IntervalModel

    return IntervalModel.fits(demands, budget)


def _prove(
    problem: PlanningProblem,
    costs: Costs,
    budget: Budget,
    alone: dict[str, int],
    found: _Found,
) -> _Found:
    """Run the exact model from the incumbent, on coarse grids first, which give bounds and orders;
    return the better plan with the better bound.
    """
    from .interval_model import IntervalModel, grid_of

    demands = [demand for demand in problem.demands if demand.job.id in found.starts]
    horizon = max(problem.base.changes()[-1], *(start.time for start in found.starts.values()))
    horizon += sum(demand.duration or 0 for demand in demands)
    finest = grid_of(problem, demands, alone)
    until = budget.elapsed() + PROOF_SHARE * min(budget.left(), 3600.0)
    skip = False
    for grid in finest.coarser([start.time for start in found.starts.values()]):
        last = grid == finest
        if skip and not last:
            continue
        try:
            pools = pools_of(problem.base, demands, budget)
            model = IntervalModel(
                problem,
                demands,
                costs,
                alone,
                horizon,
                found.total,
                budget.check_search,
                grid,
                pools,
            )
        except OutOfTime:
            return found
        share = 1.0 if last else COARSE_SHARE
        begun, rest = budget.spent(), budget.rest()
        answer = model.solve(
            budget,
            found.starts,
            seconds=share * (until - budget.elapsed()),
            effort=share * budget.effort_left(),
        )
        skip = budget.spent() - begun > LONG * rest
        found = found.above(answer.bound, MODEL)
        if not last:
            again = _left_shifted(problem, costs, alone, answer.starts, found.total - 1)
            found = found.better(again, _total(costs, again), MODEL) if again else found
        elif answer.starts:
            found = found.better(answer.starts, _total(costs, answer.starts), MODEL)
        if found.proved:
            break
        if last and answer.status == "OPTIMAL":
            found = replace(found, settled=model.faithful, coarse=True)
    return found


def _left_shifted(
    problem: PlanningProblem,
    costs: Costs,
    alone: Mapping[str, int],
    starts: Mapping[str, Start],
    most: int,
) -> Starts | None:
    """Return the earliest plan of jobs in the order of these starts, on their hosts; None if it
    costs more than `most` units.
    """
    fixed = [
        replace(
            demand,
            terms=tuple(
                replace(term, candidates=np.array(list(hosts)))
                for term, hosts in zip(demand.terms, starts[demand.job.id].terms, strict=True)
            ),
        )
        for demand in problem.demands
        if demand.job.id in starts
    ]
    order = sorted(fixed, key=lambda demand: starts[demand.job.id].time)
    return decode_within(problem, costs, order, alone, most) if order else None


#: Notes on plans that the models could not prove, or could prove to nine digits only, because of
#: the range of 64-bit numbers.
TOO_FAR_APART = (
    "the weights have more digits than 64-bit models hold: only a part can be proved, and a "
    "longer limit does not help"
)
NINE_DIGITS = (
    "proved to nine digits of the value: the weights have more digits than 64-bit models hold"
)


def _as_plan(
    problem: PlanningProblem, costs: Costs, alone: Mapping[str, int], found: _Found, why: str
) -> Plan:
    """Return the result as a plan.

    why: the reason why jobs without a start are not proved infeasible, "" if they are.
    """
    demands = [with_eligible_time(demand, times_of(found.starts)) for demand in problem.demands]
    unplaced = [
        Unplaced(
            demand.job.id, (demand.job.id in alone and why) or reason_unplaced(problem, demand)
        )
        for demand in demands
        if demand.job.id not in found.starts
    ]
    best = with_fewest_units(problem.base, problem.demands, found.starts)
    profile = problem.base.copy()
    entries: dict[str, PlannedJob] = {}
    ordered = sorted(
        (demand for demand in demands if demand.job.id in best),
        key=lambda demand: best[demand.job.id].time,
    )
    for demand in ordered:
        start = best[demand.job.id]
        reason = what_it_waits_for(problem, demand, start, profile, tuple(entries.values()))
        allocate_start(profile, demand, start)
        entries[demand.job.id] = problem.planned(
            demand,
            start,
            "optimal",
            bound=alone[demand.job.id],
            waits_for=reason,
            decided_by=found.decided_by,
        )
    near = found.coarse and found.close and not found.proved
    rounded = found.coarse and not found.close and not found.proved and not why
    proved = (found.proved or near) and not why
    if why:
        notes: tuple[str, ...] = (f"not proved: {why}",)
    else:
        notes = (NINE_DIGITS,) if near else (TOO_FAR_APART,) if rounded else ()
    value = costs.value(found.total, len(best))
    return Plan(
        method="optimal",
        objective=costs.objective.name,
        status=("infeasible" if unplaced else "optimal") if proved else "feasible",
        now=problem.instance.now,
        reservations=tuple(
            entries[demand.job.id] for demand in problem.demands if demand.job.id in entries
        ),
        unplaced=tuple(unplaced),
        value=value,
        bound=min(value, costs.value(found.low, len(best))),
        notes=notes,
        rounded=rounded,
    )
