"""The lexicographic optimum job by job: placement feasibility with every start fixed."""

from __future__ import annotations

import time as clock
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from ...model.plan import Plan, PlannedJob, Unplaced
from ...model.progress import Progress
from ..availability.demand import Demand, released
from ..availability.profile import Profile
from ..budget import Budget, OutOfTime
from ..optimal.backends import ModelRoom, PairWeight
from ..pending_reasons import reason_unplaced, what_it_waits_for
from ..placement.earliest import Start, earliest_start, hold_start
from ..placement.holding import with_fewest_units
from ..problem import PlanningProblem
from .model import PlacementModel
from .starts import instants

#: Wall seconds of one placement problem.
PROBE_SECONDS = 10.0
#: What a pair of job and host costs: building the program takes half of that.
PAIR = PairWeight(memory=10_000, a_second=20_000, share=0.4)
LIMIT = "the limit of the search was reached before it"


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
    """Every job at the first instant at which it and the jobs before it can be placed together.

    The jobs before it keep their starts and may change places. A job that the size limit or the
    budget does not reach gets the first place beside the others, marked with the reason.
    """
    now = problem.instance.now
    settled: list[_SettledJob] = []
    room = ModelRoom(budget, PAIR)
    unplaced: list[Unplaced] = []
    given_up: list[str] = []
    for demand in problem.demands:
        demand = released(demand, {item.demand.job.id: item.start.time for item in settled})
        why = "" if demand.impossible else _settle(problem, room, settled, demand)
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
    problem: PlanningProblem, room: ModelRoom, settled: list[_SettledJob], demand: Demand
) -> str | None:
    """Fix the start of the next job; if there is none, why it may still have one ("": proved)."""
    budget = room.budget
    fixed = [(item.demand, item.start.time) for item in settled]
    bound: int | None = None
    pairs = _pairs([*(item.demand for item in settled), demand])
    why = LIMIT if budget.exhausted() else _too_large(pairs, room)
    for time in instants(problem, demand, fixed):
        if why or budget.exhausted():
            why = why or LIMIT
            bound = time if bound is None else bound
            break
        asked = [*((other, [start]) for other, start in fixed), (demand, [time])]
        begun = clock.monotonic()
        try:
            model = PlacementModel(problem.base, asked, check=budget.check_search)
        except OutOfTime:
            why = LIMIT
            bound = time if bound is None else bound
            break
        room.took(pairs, clock.monotonic() - begun)
        outcome, placed = model.solve(budget, seconds=PROBE_SECONDS)
        if placed:
            for item in settled:
                item.start = placed[item.demand.job.id]
            first = time if bound is None else bound
            reason = "" if bound is None else "a placement problem was left undecided"
            settled.append(_SettledJob(demand, placed[demand.job.id], first, reason))
            return None
        if outcome.status != "INFEASIBLE" and bound is None:
            bound = time
    if bound is None:
        return ""
    why = why or "a placement problem was left undecided"
    return None if _beside(problem, settled, demand, bound, why) else why


def _beside(
    problem: PlanningProblem, settled: list[_SettledJob], demand: Demand, bound: int, why: str
) -> bool:
    """The first place beside the placements chosen so far."""
    start = earliest_start(_profile(problem, settled), demand, not_before=bound)
    if start is None:
        return False
    settled.append(_SettledJob(demand, start, bound, why))
    return True


def _pairs(demands: list[Demand]) -> int:
    return sum(int(term.candidates.size) for demand in demands for term in demand.terms)


def _too_large(pairs: int, room: ModelRoom) -> str:
    if pairs <= room.most_pairs():
        return ""
    return (
        "what was left of the limit and of memory is too little for so many pairs of job and host: "
        "they are too large for the integer program; use --method optimal"
    )


def _profile(problem: PlanningProblem, settled: list[_SettledJob]) -> Profile:
    profile = problem.base.copy()
    for item in settled:
        hold_start(profile, item.demand, item.start)
    return profile


def _entries(problem: PlanningProblem, settled: list[_SettledJob]) -> list[PlannedJob]:
    profile = problem.base.copy()
    found: list[PlannedJob] = []
    starts = {item.demand.job.id: item.start for item in settled}
    starts = with_fewest_units(profile, problem.demands, starts)
    for item in settled:
        item.start = starts[item.demand.job.id]
        reason = what_it_waits_for(problem, item.demand, item.start, profile)
        hold_start(profile, item.demand, item.start)
        planned = problem.planned(
            item.demand, item.start, "milp", bound=item.bound, waits_for=reason
        )
        found.append(replace(planned, fallback=f"not proved: {item.why}" if item.why else ""))
    return found
