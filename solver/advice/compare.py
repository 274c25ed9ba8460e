"""The methods side by side, job by job."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...model.allocation import allocation_text
from ...model.errors import UnknownNameError
from ...model.instance import Instance
from ...model.objective import ObjectiveName
from ...model.plan import Method, Plan, PlannedJob
from ...model.progress import OnProgress
from ...model.rich_display import html_table
from ...model.time_text import duration_text, with_stamps
from ..budget import GRACE, Budget
from ..fairshare.priority_order import priority_order
from ..forecast.history import History
from ..loop.run_on import placed_by_loop
from ..planning import nothing_planned, plan
from .likely import TIMES as LIKELY
from .likely import USUAL, Drawing, Forecaster, Likely, times_of

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
STARTS = TIMES[:-1]
#: Share of the seconds left that each step of a comparison may take, in their order; the optimal
#: plan comes last and has all that they leave.
GREEDY_SHARE, TIME_BASED_SHARE, LOOP_SHARE, FORECAST_SHARE = 0.2, 0.3, 0.3, 0.3


@dataclass(frozen=True, slots=True)
class ComparedJob:
    """One job under every method; times in seconds from the instance's origin.

    greedy_estimate: "no sooner than" (GRD-04), None where greedy has no estimate. greedy_start: the
    start it really gets when the loop runs on with greedy reservations, None for never. time_based,
    optimal: what these plans say. time_based_start, optimal_start: what the loop really gives by
    these methods, None where nobody asked. gain: greedy_start - optimal, None too where the latter
    needs BACKFILL. needs_backfill: the queue without BACKFILL in which the loop would not give it
    the optimal start, "" for none. exact_fit: what the optimal start hangs on to the second, "" for
    nothing.
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
    exact_fit: str = ""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Every pending job in priority order, and the three plans behind the rows.

    really: whether the starts that the loop gives by each method were asked for. now: seconds from
    the origin, the ISO date of second 0 (None: it has none). cut: a limit or Ctrl-C came before
    all was looked at, so that a start that is missing is not known. loop: what the loop gives by
    each method that was run on, start and place, by job. forecast: when each job will likely start
    None where no history was given; remarks: what was odd about it; run_by: what ran the cluster
    forward for it, in words.
    """

    jobs: tuple[ComparedJob, ...]
    greedy: Plan
    time_based: Plan
    optimal: Plan
    really: bool = False
    now: int = 0
    origin: str | None = None
    cut: bool = False
    loop: Mapping[str, Mapping[str, PlannedJob]] = field(default_factory=dict)
    forecast: Mapping[str, Likely] | None = None
    remarks: tuple[str, ...] = ()
    run_by: str = ""

    def __iter__(self) -> Iterator[ComparedJob]:
        return iter(self.jobs)

    def __getitem__(self, job: str) -> ComparedJob:
        """The row of a job; UnknownNameError (a KeyError) where there is none."""
        found = next((row for row in self.jobs if row.job == job), None)
        if found is None:
            raise UnknownNameError.among("job", job, [row.job for row in self.jobs])
        return found

    @property
    def refused(self) -> bool:
        """Whether the judge objects to one of the plans."""
        return any(plan.refused for plan in (self.greedy, self.time_based, self.optimal))

    def __len__(self) -> int:
        """How many jobs are compared."""
        return len(self.jobs)

    def __bool__(self) -> bool:
        """A comparison is one even where no job is pending."""
        return True

    def to_records(self) -> list[dict[str, Any]]:
        """Plain data, one dictionary a job; ISO stamps beside times where there is an origin."""
        records = []
        for row in self.jobs:
            record = {name: getattr(row, name) for name in ComparedJob.__slots__}
            if not self.really:
                del record["time_based_start"], record["optimal_start"]
            record["allocation"] = dict(row.allocation)
            if self.forecast is not None:
                record |= times_of(self.forecast.get(row.job))
            records.append(with_stamps(record, self.origin, (*TIMES, *LIKELY)))
        return records

    def columns(self) -> list[str]:
        """The keys of a record, in order."""
        late = () if self.really else ("time_based_start", "optimal_start")
        plain = {name: None for name in ComparedJob.__slots__ if name not in late}
        likely = {} if self.forecast is None else dict.fromkeys(LIKELY)
        return list(with_stamps({**plain, **likely}, self.origin, (*TIMES, *LIKELY)))

    def to_dict(self) -> dict[str, Any]:
        """Plain data, fit for JSON."""
        return {
            "now": self.now,
            "origin": self.origin,
            "status": self.optimal.status,
            "jobs": self.to_records(),
            "notes": list(self.notes()),
            **({"cut": True} if self.cut else {}),
        }

    def missing_starts(self) -> dict[str, dict[str, str]]:
        """By the times of a row: the jobs without that time, each with the word for it."""
        planned = {
            "time_based": self.time_based.missing_starts(),
            "optimal": self.optimal.missing_starts(),
        }
        found: dict[str, dict[str, str]] = {name: {} for name in STARTS}
        for row in self.jobs:
            for name in STARTS:
                if getattr(row, name) is not None:
                    continue
                if name in planned:
                    found[name][row.job] = planned[name].get(row.job, "?")
                elif name == "greedy_estimate":
                    found[name][row.job] = "no estimate"
                else:
                    found[name][row.job] = "?" if self.cut else "never"
        return found

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

        return pandas.DataFrame(self.to_records(), columns=self.columns())

    def _repr_html_(self) -> str:
        """The comparison as a notebook shows it; times from now on."""
        head = (
            "job",
            "slots",
            "greedy",
            "really",
            "time-based",
            "optimal",
            "gain",
            "proved",
            "where",
        )
        rows = (
            (
                row.job,
                row.slots,
                *(
                    None if time is None else duration_text(time - self.now)
                    for time in (
                        row.greedy_estimate,
                        row.greedy_start,
                        row.time_based,
                        row.optimal,
                    )
                ),
                None if row.gain is None else duration_text(row.gain),
                "yes" if row.proved else "no",
                allocation_text(row.allocation),
            )
            for row in self.jobs
        )
        return html_table("starts by method, from now on", head, rows)


def compare(
    instance: Instance,
    *,
    objective: ObjectiveName = "lexicographic",
    time_limit: float | None = None,
    effort: float | None = None,
    workers: int | None = None,
    as_lsf: bool = False,
    margin: int = 0,
    really: bool = False,
    cancel: threading.Event | None = None,
    on_progress: OnProgress | None = None,
    history: History | str | Path | None = None,
    drawing: Drawing = USUAL,
) -> Comparison:
    """Greedy, time-based and optimal starts of every pending job; options as in :func:`plan`.

    time_limit: wall seconds of all plans, runs of the loop and forecasts together; without it the
    optimal plan alone has its usual one. margin: of each plan; the loop has none.
    really: run the loop on by time-based and optimal reservation too, for what they really give.
    cancel: set it to stop; starts that the loop has not reached by then are None. history: ended
    jobs, or a log of them, for when each job will likely start, drawn as `drawing` says.
    Raises InputError for a history that cannot be read.
    """
    forecaster = Forecaster.of(instance, history, drawing, None, cancel)
    whole = Budget(time_limit, cancel=cancel or threading.Event())
    greedy, time_based, took = _estimates(instance, margin, whole)
    methods: tuple[str, ...] = ("greedy", "time-based", "optimal") if really else ("greedy",)
    real, stopped = _run_on(instance, methods, whole)
    likely = None if forecaster is None else forecaster.all(whole.part(FORECAST_SHARE))
    optimal = (nothing_planned if _no_time(whole, took) else plan)(
        instance,
        "optimal",
        objective=objective,
        time_limit=whole.part(1.0),
        effort=effort,
        workers=workers,
        as_lsf=as_lsf,
        margin=margin,
        cancel=cancel,
        on_progress=on_progress,
    )
    cut = stopped or any(found.cut for found in (greedy, time_based, optimal))
    cut = cut or _is_short(likely, instance)
    jobs = priority_order(instance)
    reasons = {item.job: item.reason for item in optimal.unplaced}
    return Comparison(
        tuple(_row(job.id, job.slots, greedy, time_based, optimal, real, reasons) for job in jobs),
        greedy,
        time_based,
        optimal,
        really,
        now=instance.now,
        origin=instance.origin,
        cut=cut,
        loop=real,
        forecast=likely,
        remarks=() if forecaster is None else forecaster.remarks,
        run_by="" if forecaster is None else forecaster.run_by,
    )


def _no_time(whole: Budget, took: float) -> bool:
    """Whether a plan like one that took so many seconds is no longer worth beginning.

    Of the clusters on which even a lesser answer takes longer than a grace.
    """
    return whole.late() or (took > GRACE and whole.left() < took)


def _estimates(instance: Instance, margin: int, whole: Budget) -> tuple[Plan, Plan, float]:
    """The plans by greedy and time-based reservation, each in its share; seconds of the first."""

    def planned(method: Method, share: float, took: float = 0.0) -> Plan:
        if _no_time(whole, took):
            return nothing_planned(instance, method)
        limit = whole.part(share)
        return plan(instance, method, time_limit=limit, margin=margin, cancel=whole.cancel)

    greedy = planned("greedy", GREEDY_SHARE)
    took = whole.elapsed()
    return greedy, planned("time-based", TIME_BASED_SHARE, took), took


def _is_short(likely: Mapping[str, Likely] | None, instance: Instance) -> bool:
    """Whether there was no time for all forecasts that were asked for."""
    if likely is None:
        return False
    return len(likely) < len(instance.pending) or any(item.cut for item in likely.values())


def _run_on(
    instance: Instance, methods: Sequence[str], whole: Budget
) -> tuple[dict[str, dict[str, PlannedJob]], bool]:
    """What the loop really gives by each method, by job, and whether some run was stopped."""
    real: dict[str, dict[str, PlannedJob]] = {}
    cut = False
    for method in methods:
        budget = Budget(whole.part(LOOP_SHARE), cancel=whole.cancel)
        real[method] = {item.job: item for item in placed_by_loop(instance, method, budget=budget)}
        cut = cut or budget.stopped()
    return real, cut


def _row(
    job: str,
    slots: int,
    greedy: Plan,
    time_based: Plan,
    optimal: Plan,
    real: Mapping[str, Mapping[str, PlannedJob]],
    reasons: Mapping[str, str],
) -> ComparedJob:
    estimated = greedy.get(job)
    estimate = None
    if estimated is not None:
        estimate = estimated.start if estimated.estimate is None else estimated.estimate
    started = _start(real["greedy"].get(job))
    timed = time_based.get(job)
    best = optimal.get(job)
    known = best is not None and best.start is not None and started is not None
    # What the cluster as configured would not give is no gain.
    known = known and not best.needs_backfill  # type: ignore[union-attr]
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
        exact_fit=best.exact_fit if best else "",
    )


def _start(item: PlannedJob | None) -> int | None:
    return None if item is None else item.start
