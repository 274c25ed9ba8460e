"""The methods side by side, job by job."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...model.instance import Instance
from ...model.objective import ObjectiveName
from ...model.plan import Plan
from ..loop.run_on import run_on
from ..planning import plan
from ..problem import PlanningProblem

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True, slots=True)
class ComparedJob:
    """One job under every method; times in seconds from the instance's now, None for no start.

    greedy_estimate: "no sooner than" (GRD-04). greedy_start: the start it would really get if the
    scheduler ran on with greedy reservations. gain: greedy_start - optimal.
    """

    job: str
    slots: int
    greedy_estimate: int | None
    greedy_start: int | None
    time_based: int | None
    optimal: int | None
    bound: int | None
    proved: bool
    gain: int | None
    allocation: Mapping[str, int]
    waits_for: str
    fallback: str = ""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Every pending job in priority order, and the three plans behind the rows."""

    jobs: tuple[ComparedJob, ...]
    greedy: Plan
    time_based: Plan
    optimal: Plan

    def __iter__(self) -> Iterator[ComparedJob]:
        return iter(self.jobs)

    def to_records(self) -> list[dict[str, Any]]:
        """Plain data, one dictionary a job."""
        return [
            {name: getattr(row, name) for name in ComparedJob.__slots__}
            | {"allocation": dict(row.allocation)}
            for row in self.jobs
        ]

    def to_frame(self) -> DataFrame:
        """A pandas data frame (pandas comes with OR-tools)."""
        import pandas

        return pandas.DataFrame(self.to_records())


def compare(
    instance: Instance,
    *,
    objective: ObjectiveName = "lexicographic",
    time_limit: float | None = None,
    effort: float | None = None,
    workers: int | None = None,
    as_lsf: bool = False,
    cancel: threading.Event | None = None,
    on_progress: Callable[[Any], None] | None = None,
) -> Comparison:
    """Greedy, time-based and optimal starts of every pending job; options as in :func:`plan`."""
    greedy = plan(instance, "greedy")
    time_based = plan(instance, "time-based")
    optimal = plan(
        instance,
        "optimal",
        objective=objective,
        time_limit=time_limit,
        effort=effort,
        workers=workers,
        as_lsf=as_lsf,
        cancel=cancel,
        on_progress=on_progress,
    )
    problem = PlanningProblem.of(instance)
    real = run_on(instance, "greedy", cancel=cancel)
    rows = tuple(
        _row(
            instance,
            demand.job.id,
            demand.slots or demand.job.slots,
            greedy,
            time_based,
            optimal,
            real,
        )
        for demand in problem.demands
    )
    return Comparison(rows, greedy, time_based, optimal)


def _row(
    instance: Instance,
    job: str,
    slots: int,
    greedy: Plan,
    time_based: Plan,
    optimal: Plan,
    real: Mapping[str, int],
) -> ComparedJob:
    now = instance.now
    estimated = greedy.get(job)
    estimate = None
    if estimated is not None:
        estimate = estimated.start if estimated.estimate is None else estimated.estimate
    timed = time_based.get(job)
    best = optimal.get(job)
    started = real.get(job)
    reasons = {item.job: item.reason for item in optimal.unplaced}

    def since(time: int | None) -> int | None:
        return None if time is None else time - now

    return ComparedJob(
        job=job,
        slots=slots,
        greedy_estimate=since(estimate),
        greedy_start=since(started),
        time_based=since(timed.start if timed else None),
        optimal=since(best.start if best else None),
        bound=since(best.bound if best else None),
        proved=best.proved if best else False,
        gain=started - best.start
        if best and best.start is not None and started is not None
        else None,
        allocation=best.allocation if best else {},
        waits_for=best.waits_for if best else reasons.get(job, ""),
        fallback=best.fallback if best else "",
    )
