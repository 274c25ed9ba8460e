"""The orchestrator: a first plan at once, then proof and improvement in turn, until proved or told
to stop."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import numpy as np

from .decoder import Decoder
from .helper import Helper
from .improver import improve
from .incumbent import Incumbent
from .makespan import prove_makespan
from .orders import best_rule
from .problem import Ints, PoolProblem, PoolProgress, PoolResult, Status
from .prover import prove
from .window import by_start

DEFAULT_LIMIT = 10.0
HEAD_START = 0.4


def optimise(
    problem: PoolProblem,
    *,
    time_limit: float | None = None,
    effort: int | None = None,
    workers: int = 1,
    seed: int = 1,
    progress: Callable[[PoolProgress], None] | None = None,
    cancelled: Callable[[], bool] = lambda: False,
) -> PoolResult:
    """A plan of the least value, proved or with a bound.

    Stops when proved, after ``time_limit`` seconds, after ``effort`` rounds of work (no clock
    decides anything then: the same plan and bound on every run and machine; one worker), or when
    ``cancelled()`` says so (asked between pieces of work). With none of the limits, 10 seconds.
    ``workers`` 2: a second process improves plans while this one proves. ``progress`` is called
    with every better plan or bound.
    """
    begun = time.monotonic()
    if time_limit is None and effort is None:
        time_limit = DEFAULT_LIMIT
    core, jobs = _core(problem)
    if not len(core):
        return _finish(problem, np.zeros(0, np.int64), jobs, 0, [])
    alone = problem.alone[jobs]
    incumbent = Incumbent(core, Decoder(core).plan(best_rule(core)[1]), core.value(alone))
    history: list[PoolProgress] = []

    def record() -> None:
        history.append(PoolProgress(time.monotonic() - begun, incumbent.value, incumbent.bound))
        if progress is not None:
            progress(history[-1])

    record()
    incumbent.changed = record
    deadline = None if time_limit is None else begun + time_limit

    def stop() -> bool:
        late = deadline is not None and time.monotonic() >= deadline
        return incumbent.proved or late or cancelled()

    if effort is not None:
        _in_turn(incumbent, seed, stop, effort)
    else:
        _by_clock(incumbent, seed, stop, workers)
    return _finish(problem, incumbent.starts, jobs, incumbent.bound, history)


def _core(problem: PoolProblem) -> tuple[PoolProblem, Ints]:
    """The jobs whose start matters, and their indices."""
    if problem.objective == "makespan" or problem.weights.all():
        return problem, np.arange(len(problem))
    jobs = np.flatnonzero(problem.weights > 0)
    return problem.select(jobs), jobs


def _finish(
    problem: PoolProblem, starts: Ints, jobs: Ints, bound: int, history: list[PoolProgress]
) -> PoolResult:
    """Add the jobs that do not matter, as early as possible after the others have been placed."""
    every = np.zeros(len(problem), dtype=np.int64)
    if len(jobs) == len(problem):
        every[jobs] = starts
    else:
        rest = np.setdiff1d(np.arange(len(problem)), jobs)
        order = [*jobs[by_start(starts)].tolist(), *rest.tolist()]
        every = Decoder(problem).plan(order)
    value = problem.value(every)
    status: Status = "proved" if bound >= value else "gap"
    return PoolResult(every, value, bound, problem.alone, status, tuple(history))


def _prover(incumbent: Incumbent) -> Iterator[None]:
    return (
        prove_makespan(incumbent) if incumbent.problem.objective == "makespan" else prove(incumbent)
    )


def _in_turn(incumbent: Incumbent, seed: int, stop: Callable[[], bool], effort: int) -> None:
    """Rounds of one step of each."""
    tasks = [improve(incumbent, seed), _prover(incumbent)]
    for _ in range(effort):
        for task in tasks.copy():
            if stop():
                return
            if next(task, task) is task:
                tasks.remove(task)


def _by_clock(incumbent: Incumbent, seed: int, stop: Callable[[], bool], workers: int) -> None:
    """The task that has had the least time goes on; improvement gets a head start, for proofs need
    good plans.

    With a helper, this process improves only until the head start is over or the proof is at its
    end.
    """
    improver, prover = improve(incumbent, seed), _prover(incumbent)
    tasks = {improver: -HEAD_START, prover: 0.0}
    with ExitStack() as stack:
        helper = None
        if workers > 1:
            helper = stack.enter_context(Helper(incumbent.problem, incumbent.starts, seed + 1))
        told = incumbent.value
        while tasks and not stop():
            if helper is not None:
                for plan in helper.plans():
                    if incumbent.offer(plan):
                        told = incumbent.value
                if incumbent.value < told:
                    told = incumbent.value
                    helper.tell(incumbent.starts)
            alone = helper is None or not helper.alive
            task = min(tasks, key=lambda task: tasks[task])
            if not alone and prover in tasks and tasks.get(improver, 0.0) >= 0:
                task = prover
            start = time.monotonic()
            if next(task, task) is task:
                del tasks[task]
            else:
                tasks[task] += time.monotonic() - start
