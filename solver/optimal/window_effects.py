"""What windows and advance reservations change against LSF's own estimate (TBR-19)."""

from __future__ import annotations

from ...model.plan import Plan
from ...model.time_text import clock_text
from ..budget import Budget, OutOfTime
from ..problem import PlanningProblem
from .first_fit import plan_first_fit


def moved_by_windows(
    problem: PlanningProblem, kept: Plan, budget: Budget | None = None
) -> tuple[str, ...]:
    """One sentence a job whose time-based start differs from the one that LSF would estimate.

    kept: the time-based plan of the problem, whose windows and advance reservations it keeps.
    Nothing is said where the budget does not last so long.
    """
    instance = problem.instance
    bound = any(demand.calendar is not None for demand in problem.demands)
    if not problem.honours_windows or not (bound or instance.advance_reservations):
        return ()
    try:
        without = PlanningProblem.of(instance, as_lsf=True, budget=budget, margin=problem.margin)
        literal = plan_first_fit(without, budget)
    except OutOfTime:
        return ()
    if literal.cut or kept.cut:
        return ()
    notes: list[str] = []
    for demand in problem.demands:
        before, after = (_start(plan, demand.job.id) for plan in (literal, kept))
        if before != after:
            estimate = "never" if before is None else clock_text(instance, before)
            notes.append(
                f"windows or advance reservations move job {demand.job.id}: "
                f"LSF's estimate, which leaves them out, would be {estimate}"
            )
    return tuple(notes)


def _start(plan: Plan, job: str) -> int | None:
    planned = plan.get(job)
    return None if planned is None else planned.start
