"""What a reservation method really gives: the loop run on, without new jobs, jobs at their limits.

An estimate is what a cycle says; this is what becomes of it. It is the same as
``simulate --reservation METHOD --cycle 0`` on an instance whose jobs run to their limits.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from ...model.instance import Instance
from ...model.job import Job
from ...model.plan import PlannedJob
from ..budget import Budget, OutOfTime
from ..methods.greedy import Greedy
from ..methods.registry import settings_for
from ..world.job_state import JobState
from ..world.settings import EFFORT
from ..world.world import World
from .simulation import Session


def run_on(
    instance: Instance,
    method: str,
    *,
    jobs: int | None = None,
    effort: float = EFFORT,
    budget: Budget | None = None,
) -> dict[str, int]:
    """Start (seconds) of each pending job in the loop; one that never starts is absent.

    Options as in :func:`placed_by_loop`.
    """
    placed = placed_by_loop(instance, method, jobs=jobs, effort=effort, budget=budget)
    return {item.job: item.start for item in placed if item.start is not None}


def placed_by_loop(
    instance: Instance,
    method: str,
    *,
    jobs: int | None = None,
    effort: float = EFFORT,
    budget: Budget | None = None,
    unless_later: tuple[str, int] | None = None,
) -> tuple[PlannedJob, ...]:
    """Start and place of each pending job in the loop; one that never starts is absent.

    method: a reservation method, or "configured". jobs: how many get a future allocation where the
    method gives them; None: all. effort: solver units a cycle of "optimal". budget: when it
    is over, the starts so far are returned. unless_later: a job and a second: where it has not
    started by then the run is given up, with the starts so far.
    """
    session = _session(instance, method, jobs, effort, budget or Budget())
    watched, latest = unless_later or ("", 0)
    waiting = {job.id for job in instance.pending}
    with suppress(OutOfTime):
        session.begin()
        while waiting and not session.budget.stopped() and session.advance():
            waiting.difference_update(session.cycle.record.started)
            if watched in waiting and session.world.now > latest:
                break
    states = (session.world.states.of(job.id) for job in instance.pending)
    return tuple(
        _placed(session.world, state, method) for state in states if state.start is not None
    )


def run_on_within(
    instance: Instance, method: str, *, jobs: int | None, budget: Budget, turns: int
) -> dict[str, int] | None:
    """:func:`run_on`, None where its cycles take more turns of jobs, or the grace is over."""
    session = _session(instance, method, jobs, EFFORT, budget.with_grace())
    waiting = {job.id for job in instance.pending}
    try:
        session.begin()
    except OutOfTime:
        return None
    while waiting and session.advance():
        turns -= len(session.world.pending) + 1
        if turns < 0 or session.budget.stopped():
            return None
        waiting.difference_update(session.cycle.record.started)
    states = (session.world.states.of(job.id) for job in instance.pending)
    return {state.job.id: state.start for state in states if state.start is not None}


def started_now(instance: Instance, budget: Budget) -> frozenset[str]:
    """Pending jobs that the next cycle starts, with all rules and greedy reservation.

    None of them where the budget does not last for it.
    """
    if budget.late():
        return frozenset()
    session = _session(instance, Greedy.name, None, EFFORT, budget.with_grace())
    try:
        session.begin()
    except OutOfTime:
        return frozenset()
    if not session.advance() or session.world.now > instance.now or session.budget.stopped():
        return frozenset()
    return frozenset(session.cycle.record.started)


def _session(
    instance: Instance, method: str, jobs: int | None, effort: float, budget: Budget
) -> Session:
    """A loop in which no job comes and all run to their limits."""
    at_limits = replace(
        instance,
        running=tuple(replace(run, job=_at_its_limit(run.job)) for run in instance.running),
        pending=tuple(_at_its_limit(job) for job in instance.pending),
        future=(),
    )
    top = max(1, len(instance.pending)) if jobs is None else jobs
    settings = settings_for(at_limits, reservation=method, top=top, cycle=0, effort=effort)
    return Session(at_limits, settings, budget=budget)


def _placed(world: World, state: JobState, method: str) -> PlannedJob:
    """What the loop gave a job that has started."""
    start, duration = state.start, state.duration
    return PlannedJob(
        job=state.job.id,
        start=start,
        finish=None if start is None or duration is None else start + duration,
        allocation=world.named(state.allocation),
        method=method,
        alternative=state.alternative,
        terms=tuple(map(world.named, state.terms)) if len(state.terms) > 1 else (),
    )


def _at_its_limit(job: Job) -> Job:
    return job if job.run_time is None else replace(job, run_time=None)
