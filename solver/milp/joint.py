"""Objectives that trade jobs against each other: one integer program over all candidate starts.

Candidate instants: a set of starts that holds an optimum of every regular objective. Move every job
of a plan to the left as far as it goes: each then starts at its own earliest instant, where
something that runs or is reserved ends, where a window opens, where another job ends or a phase of
its memory does, or where others let it go (-w). So a start is one of the fixed instants plus spans
of other jobs.
"""

from __future__ import annotations

import time as clock
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from ...model.objective import Objective
from ...model.plan import Plan, PlannedJob, Unplaced
from ...model.progress import Progress
from ..availability.demand import Demand, known_kills, with_eligible_time
from ..availability.profile import Profile
from ..budget import Budget, OutOfTime
from ..optimal.backends import ModelSizeLimit, PairWeight
from ..optimal.costs import Costs
from ..optimal.first_fit import LIMIT, Jointly, completed, plan_first_fit
from ..optimal.lexicographic import warm_starts
from ..optimal.weighted import earliest_alone
from ..pending_reasons import reason_unplaced, what_it_waits_for
from ..placement.earliest import Start, allocate_start, earliest_start
from ..placement.holding import with_fewest_units
from ..precedence import afters_of, known_times
from ..problem import PlanningProblem
from .model import PlacementModel, alternatives


class TooManyCandidates(Exception):
    """The number of candidate starts exceeds the limit of the model."""


def spans(demand: Demand) -> set[int]:
    """Return the seconds after the start at which the job releases resources."""
    found = {
        drop
        for term in demand.terms
        for alternative in term.alternatives
        for use in (*alternative.host_uses, *alternative.pool_uses)
        for drop in use.reservation.drops()
        if demand.duration is None or drop < demand.duration
    }
    return found if demand.duration is None else {*found, demand.duration}


def instants(
    problem: PlanningProblem, demand: Demand, settled: Iterable[tuple[Demand, int]] = ()
) -> list[int]:
    """Return the instants at which `demand` may first fit with jobs at fixed starts, rising."""
    times = set(problem.base.candidate_times(demand.earliest))
    times |= {start + span for other, start in settled for span in spans(other.begun_at(start))}
    kept = sorted(time for time in times if time >= demand.earliest)
    return problem.base.with_openings(demand, kept)


def steps_to(demand: Demand, before: Demand) -> set[int]:
    """Return the seconds after another job's start at which this job may be the first to fit."""
    awaited = () if demand.after is None else afters_of(demand.after)
    return spans(before) | {item.lag for item in awaited if item.job == before.job.id}


def closure(
    problem: PlanningProblem,
    demands: Sequence[Demand],
    keep: Mapping[str, Callable[[int], bool]],
    most: int,
) -> dict[str, list[int]]:
    """Return the candidate starts of every job; `keep` selects candidates that are still useful.

    Raises TooManyCandidates when there are more than `most` in all.
    """
    known: dict[tuple[int, int], set[int]] = {}
    ends_by_deadline = {end + d.margin for d in demands for end in known_kills(d)}
    full = (1 << len(demands)) - 1
    count = 0

    def reach(number: int, others: int) -> set[int]:
        """Return the starts of a job that follow a chain of some of the `others` (one bit each)."""
        nonlocal count
        key = (number, others)
        if key not in known:
            demand = demands[number]
            times = {demand.earliest, *problem.base.candidate_times(demand.earliest)}
            times |= set() if demand.after is None else known_times(demand.after)
            times |= ends_by_deadline
            for other, before in enumerate(demands):
                if others >> other & 1:
                    steps = steps_to(demand, before)
                    earlier = reach(other, others & ~(1 << other))
                    times |= {time + step for time in earlier for step in steps}
            starts = sorted(time for time in times if time >= demand.earliest)
            opened = problem.base.with_openings(demand, starts)
            known[key] = {time for time in opened if keep[demand.job.id](time)}
            count += len(known[key])
            if count > 4 * most:
                raise TooManyCandidates
        return known[key]

    found = {
        demand.job.id: sorted(reach(number, full & ~(1 << number)))
        for number, demand in enumerate(demands)
    }
    if sum(map(len, found.values())) > most:
        raise TooManyCandidates
    return found


#: Measured cost of a placement (option and host) in seconds, for building and solving.
PLACEMENT = PairWeight(memory=10_000, a_second=2000, share=1.0)
#: Coefficients up to this are integers; larger ones are scaled down to it. The solvers' own
#: tolerances are absolute, about a millionth.
MAX_COEFFICIENT = 10**6
#: Costs over a range up to this are distinguished one by one.
DISTINGUISHABLE = 10**9
#: A second of the least weighted job counts, where this times its weight reaches over the range.
DIGITS = 10**11
#: Tolerance of the solvers' bounds.
TOLERANCE = 1e-5
#: Maximum number of times that the program is rebuilt with the costs that the best plan leaves
#: possible.
ROUNDS = 4

#: Costs of the candidate starts of each job, in units.
StartCosts = Mapping[str, Mapping[int, int]]


@dataclass(frozen=True, slots=True)
class _Solved:
    """A plan from a solved program."""

    starts: dict[str, Start]
    #: Cost of the plan, in units.
    total: int
    #: Lower bound of every plan's cost, None if unknown.
    low: int | None = None
    #: Whether no limit stopped the search.
    ended: bool = False


def plan_joint(
    problem: PlanningProblem,
    budget: Budget,
    objective: Objective,
    jointly: Jointly,
    *,
    on_progress: Callable[[Any], None] | None = None,
) -> Plan:
    """Return the optimal plan of a joint objective; if the program is too large, the time-based
    plan with a note.

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
    except TooManyCandidates:
        note = (
            f"{len(demands)} jobs on {len(problem.instance.cluster.hosts)} hosts are too large "
            f"for the integer program in the remaining time and memory: this is the "
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
    """Return the best plan, None if the budget ends before one is found.

    total: of a known plan. Where costs differ too much for the solvers' tolerances, starts that
    cost more than the plan found leaves for one job are left out and the rest is solved again.
    """
    best: _Solved | None = None
    if budget.exhausted():
        return None
    most = int(ModelSizeLimit(budget, PLACEMENT).max_pairs())
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
    """Solve one program; among plans of equal cost, prefer the earliest starts."""
    if not own:
        return _Solved({}, 0, 0, True)
    least = {job: min(at.values()) for job, at in own.items()}
    if costs.largest:
        least = dict.fromkeys(own, min(least.values()))
    extra = {job: {t: c - least[job] for t, c in at.items()} for job, at in own.items()}
    span = max(c for at in extra.values() for c in at.values())
    top = min(span, MAX_COEFFICIENT) or 1
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
    if ended and _distinguishable(costs, own, span):
        low = total
    elif outcome.bound is not None and outcome.bound > float("-inf"):
        safe = max(0.0, outcome.bound - TOLERANCE - 1e-12 * abs(outcome.bound))
        low = fixed + int(Fraction(safe) * parts / top)
    if _idle(costs, own) and outcome.value is not None and not budget.exhausted():
        placed = _earliest(model, budget, costs, own, placed, outcome.value)
    return _Solved(placed, total, low, ended)


def _distinguishable(costs: Costs, own: StartCosts, span: int) -> bool:
    """Whether the solvers' tolerances are smaller than the cost of one second of any job."""
    weights = [costs.jobs[job].weight for job in own if costs.jobs[job].weight]
    return span <= DISTINGUISHABLE or min(weights, default=1) * DIGITS >= span


def _idle(costs: Costs, own: StartCosts) -> bool:
    """Whether a job may start late without cost."""
    return costs.largest or any(len(set(at.values())) < len(at) for at in own.values())


def _earliest(
    model: PlacementModel,
    budget: Budget,
    costs: Costs,
    own: StartCosts,
    placed: dict[str, Start],
    value: float,
) -> dict[str, Start]:
    """Return, among plans with an equally good objective, the one with the smallest sum of
    starts.
    """
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
    """Return the cost of every candidate start that a plan no worse than `total` may use.

    Raises TooManyCandidates where they make more than `most` placements.
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
        raise TooManyCandidates
    return {
        demand.job.id: {time: costs.jobs[demand.job.id].at(time) for time in found[demand.job.id]}
        for demand in demands
    }


#: Notes on a plan whose value is known to nine digits, and on one that tolerances prevent from
#: being proved.
NINE_DIGITS = (
    "proved to nine digits of the value: the weights have more digits than the program "
    "distinguishes"
)
TOO_FAR_APART = (
    "the weights have more digits than the integer program distinguishes: a longer limit does "
    "not help"
)


def _as_plan(
    problem: PlanningProblem,
    costs: Costs,
    alone: Mapping[str, int],
    solved: _Solved,
    why: str,
    note: str = "",
) -> Plan:
    """Return the result as a plan. why: why the missing starts are not proved impossible, "" if
    they are proved.

    note: why this is the plan that the program was to start from, "" if it is the program's.
    """
    exact = solved.low is not None and solved.total <= solved.low
    near = solved.low is not None and (solved.total - solved.low) << 30 <= solved.total
    exact_value = exact or (solved.ended and near)
    proved = exact_value and not why
    given_up = why or ("" if exact_value or solved.ended else LIMIT)
    entries: dict[str, PlannedJob] = {}
    profile = problem.base.copy()
    times = {job: start.time for job, start in solved.starts.items()}
    by_id = {demand.job.id: with_eligible_time(demand, times) for demand in problem.demands}
    placed = with_fewest_units(profile, problem.demands, solved.starts)
    for job, start in sorted(placed.items(), key=lambda item: item[1].time):
        reason = what_it_waits_for(problem, by_id[job], start, profile, [*entries.values()])
        allocate_start(profile, by_id[job], start)
        entries[job] = problem.planned(
            by_id[job], start, "milp", bound=alone[job], waits_for=reason
        )
    if given_up:
        said = note or f"not proved: {given_up}"
    else:
        said = "" if exact else NINE_DIGITS if exact_value else TOO_FAR_APART
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
        rounded=not exact_value and not given_up,
    )


#: Wall-clock seconds of one placement problem.
PROBE_SECONDS = 10.0
#: Measured cost of a pair of job and host in seconds; building the program takes half of it.
PAIR = PairWeight(memory=10_000, a_second=20_000, share=0.4)
LIMIT_BEFORE_JOB = "the search limit was reached first"


@dataclass(slots=True)
class _SettledJob:
    demand: Demand
    start: Start
    bound: int
    why: str = ""


def plan_lexicographic(
    problem: PlanningProblem,
    budget: Budget,
    *,
    on_progress: Callable[[Any], None] | None = None,
) -> Plan:
    """Return a plan in which every job has the first instant that is feasible together with the
    jobs before it.

    The jobs before it keep their starts and may change places. A job that the size limit or the
    budget does not reach gets the first place beside the others, marked with the reason.
    """
    now = problem.instance.now
    settled: list[_SettledJob] = []
    capacity = ModelSizeLimit(budget, PAIR)
    unplaced: list[Unplaced] = []
    given_up: list[str] = []
    for demand in problem.demands:
        demand = with_eligible_time(
            demand, {item.demand.job.id: item.start.time for item in settled}
        )
        why = "" if demand.impossible else _settle(problem, capacity, settled, demand)
        if why is not None:
            given_up += [why] if why else []
            reason = why or reason_unplaced(problem, demand)
            unplaced.append(Unplaced(demand.job.id, reason))
        elif on_progress is not None:
            value = float(sum(item.start.time - now for item in settled))
            bound = float(sum(item.bound - now for item in settled))
            done, everything = len(settled) + len(unplaced), len(problem.demands)
            on_progress(Progress(done, everything, value, bound, budget.elapsed()))
    reasons = dict.fromkeys([*(item.why for item in settled if item.why), *given_up])
    proved = not reasons
    return Plan(
        method="milp",
        objective="lexicographic",
        status=("infeasible" if unplaced else "optimal") if proved else "feasible",
        now=now,
        reservations=tuple(_entries(problem, settled)),
        unplaced=tuple(unplaced),
        value=float(sum(item.start.time - now for item in settled)),
        bound=float(sum(item.bound - now for item in settled)) if proved else None,
        notes=tuple(f"not proved: {reason}" for reason in reasons),
    )


def _settle(
    problem: PlanningProblem, capacity: ModelSizeLimit, settled: list[_SettledJob], demand: Demand
) -> str | None:
    """Fix the start of the next job; return why the job may still have a start if none is found, ""
    if there is proof.
    """
    budget = capacity.budget
    fixed = [(item.demand, item.start.time) for item in settled]
    bound: int | None = None
    pairs = _pairs([*(item.demand for item in settled), demand])
    why = LIMIT_BEFORE_JOB if budget.exhausted() else _too_large(pairs, capacity)
    for time in instants(problem, demand, fixed):
        if why or budget.exhausted():
            why = why or LIMIT_BEFORE_JOB
            bound = time if bound is None else bound
            break
        asked = [*((other, [start]) for other, start in fixed), (demand, [time])]
        begun = clock.monotonic()
        try:
            model = PlacementModel(problem.base, asked, check=budget.check_search)
        except OutOfTime:
            why = LIMIT_BEFORE_JOB
            bound = time if bound is None else bound
            break
        capacity.took(pairs, clock.monotonic() - begun)
        outcome, placed = model.solve(budget, seconds=PROBE_SECONDS)
        if placed:
            for item in settled:
                item.start = placed[item.demand.job.id]
            first = time if bound is None else bound
            reason = "" if bound is None else "a placement problem was not decided"
            settled.append(_SettledJob(demand, placed[demand.job.id], first, reason))
            return None
        if outcome.status != "INFEASIBLE" and bound is None:
            bound = time
    if bound is None:
        return ""
    why = why or "a placement problem was not decided"
    return None if _beside(problem, settled, demand, bound, why) else why


def _beside(
    problem: PlanningProblem, settled: list[_SettledJob], demand: Demand, bound: int, why: str
) -> bool:
    """Settle a job at its earliest start given the settled ones; return whether it has one."""
    start = earliest_start(_profile(problem, settled), demand, not_before=bound)
    if start is None:
        return False
    settled.append(_SettledJob(demand, start, bound, why))
    return True


def _pairs(demands: list[Demand]) -> int:
    return sum(int(term.candidates.size) for demand in demands for term in demand.terms)


def _too_large(pairs: int, capacity: ModelSizeLimit) -> str:
    if pairs <= capacity.max_pairs():
        return ""
    return (
        "too many pairs of job and host for the integer program in the remaining time and "
        "memory: use --method optimal"
    )


def _profile(problem: PlanningProblem, settled: list[_SettledJob]) -> Profile:
    profile = problem.base.copy()
    for item in settled:
        allocate_start(profile, item.demand, item.start)
    return profile


def _entries(problem: PlanningProblem, settled: list[_SettledJob]) -> list[PlannedJob]:
    profile = problem.base.copy()
    found: list[PlannedJob] = []
    starts = {item.demand.job.id: item.start for item in settled}
    starts = with_fewest_units(profile, problem.demands, starts)
    for item in settled:
        item.start = starts[item.demand.job.id]
        reason = what_it_waits_for(problem, item.demand, item.start, profile, found)
        allocate_start(profile, item.demand, item.start)
        planned = problem.planned(
            item.demand, item.start, "milp", bound=item.bound, waits_for=reason
        )
        found.append(replace(planned, fallback=f"not proved: {item.why}" if item.why else ""))
    return found
