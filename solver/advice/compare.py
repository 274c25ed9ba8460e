"""The methods side by side, job by job."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ...model.instance import Instance
from ...model.objective import ObjectiveName
from ...model.plan import Plan, PlannedJob
from ...model.time_text import with_stamps
from ..fairshare.priority_order import priority_order
from ..loop.run_on import placed_by_loop
from ..planning import plan

if TYPE_CHECKING:
    from pandas import DataFrame

#: The times of a compared job.
TIMES = (
    "greedy_estimate",
    "greedy_start",
    "time_based",
    "time_based_start",
    "optimal",
    "optimal_start",
    "bound",
)


@dataclass(frozen=True, slots=True)
class ComparedJob:
    """One job under every method; times in seconds from the instance's origin.

    greedy_estimate: "no sooner than" (GRD-04), None where greedy has no estimate. greedy_start: the
    start it really gets when the loop runs on with greedy reservations, None for never. time_based,
    optimal: what these plans say. time_based_start, optimal_start: what the loop really gives by
    these methods, None where nobody asked. gain: greedy_start - optimal. needs_backfill: the queue
    without BACKFILL in which the loop would not give it the optimal start, "" for none.
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
    time_based_start: int | None = None
    optimal_start: int | None = None
    needs_backfill: str = ""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Every pending job in priority order, and the three plans behind the rows.

    really: whether the starts that the loop gives by each method were asked for. now: seconds from
    the origin, the ISO date of second 0 (None: it has none). loop: what the loop gives by each
    method that was run on, start and place, by job.
    """

    jobs: tuple[ComparedJob, ...]
    greedy: Plan
    time_based: Plan
    optimal: Plan
    really: bool = False
    now: int = 0
    origin: str | None = None
    loop: Mapping[str, Mapping[str, PlannedJob]] = field(default_factory=dict)

    def __iter__(self) -> Iterator[ComparedJob]:
        return iter(self.jobs)

    def to_records(self) -> list[dict[str, Any]]:
        """Plain data, one dictionary a job; ISO stamps beside times where there is an origin."""
        records = []
        for row in self.jobs:
            record = {name: getattr(row, name) for name in ComparedJob.__slots__}
            if not self.really:
                del record["time_based_start"], record["optimal_start"]
            record["allocation"] = dict(row.allocation)
            records.append(with_stamps(record, self.origin, TIMES))
        return records

    def columns(self) -> list[str]:
        """The keys of a record, in order."""
        late = () if self.really else ("time_based_start", "optimal_start")
        plain = {name: None for name in ComparedJob.__slots__ if name not in late}
        return list(with_stamps(plain, self.origin, TIMES))

    def to_dict(self) -> dict[str, Any]:
        """Plain data, fit for JSON."""
        return {
            "now": self.now,
            "origin": self.origin,
            "status": self.optimal.status,
            "jobs": self.to_records(),
            "notes": list(self.notes()),
        }

    def notes(self) -> tuple[str, ...]:
        """What else is to be known of the plans, each sentence once."""
        named = (("greedy", self.greedy), ("time-based", self.time_based))
        estimates: dict[str, list[str]] = {}
        for name, found in named:
            for note in found.notes:
                estimates.setdefault(note, []).append(name)
        of_estimates = [f"{' and '.join(names)}: {note}" for note, names in estimates.items()]
        return (*of_estimates, *self.optimal.notes)

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
    really: bool = False,
    cancel: threading.Event | None = None,
    on_progress: Callable[[Any], None] | None = None,
) -> Comparison:
    """Greedy, time-based and optimal starts of every pending job; options as in :func:`plan`.

    really: run the loop on by time-based and optimal reservation too, for what they really give.
    """
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
    real = {
        method: {item.job: item for item in placed_by_loop(instance, method, cancel=cancel)}
        for method in (("greedy", "time-based", "optimal") if really else ("greedy",))
    }
    rows = tuple(
        _row(job.id, job.slots, greedy, time_based, optimal, real)
        for job in priority_order(instance)
    )
    return Comparison(
        rows,
        greedy,
        time_based,
        optimal,
        really,
        now=instance.now,
        origin=instance.origin,
        loop=real,
    )


def _row(
    job: str,
    slots: int,
    greedy: Plan,
    time_based: Plan,
    optimal: Plan,
    real: Mapping[str, Mapping[str, PlannedJob]],
) -> ComparedJob:
    estimated = greedy.get(job)
    estimate = None
    if estimated is not None:
        estimate = estimated.start if estimated.estimate is None else estimated.estimate
    started = _start(real["greedy"].get(job))
    timed = time_based.get(job)
    best = optimal.get(job)
    reasons = {item.job: item.reason for item in optimal.unplaced}
    known = best is not None and best.start is not None and started is not None
    return ComparedJob(
        job=job,
        slots=slots,
        greedy_estimate=estimate,
        greedy_start=started,
        time_based=timed.start if timed else None,
        optimal=best.start if best else None,
        bound=best.bound if best else None,
        proved=best.proved if best else False,
        gain=started - best.start if known else None,  # type: ignore[union-attr,operator]
        allocation=best.allocation if best else {},
        waits_for=best.waits_for if best else reasons.get(job, ""),
        fallback=best.fallback if best else "",
        time_based_start=_start(real.get("time-based", {}).get(job)),
        optimal_start=_start(real.get("optimal", {}).get(job)),
        needs_backfill=best.needs_backfill if best else "",
    )


def _start(item: PlannedJob | None) -> int | None:
    return None if item is None else item.start
