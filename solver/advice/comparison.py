"""Starts of every pending job, compared: as configured, possible, and by other methods."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

from ...model.display import HOUR, data_of, with_stamps
from ...model.errors import UnknownNameError
from ...model.instance import Instance
from ...model.job_table import JobTable
from ...model.objective import ObjectiveName, objective_named
from ...model.omissions import Omission, sentences
from ...model.plan import Method, Plan, PlannedJob, proof_text
from ...model.progress import OnProgress
from ..budget import Budget
from ..forecast.history import History
from ..outlook.outlook import TIMES as OUTLOOK_TIMES
from ..outlook.outlook import (
    JobOutlook,
    Outlook,
    configured_within,
    outlook_of,
    starts_table,
    words_of,
)
from ..planning import nothing_planned, plan, seconds_after
from ..scheduler.continuation import CONFIGURED, rules_that_move, simulated_placements
from .likely import TIMES as LIKELY
from .likely import USUAL, Drawing, Forecaster, StartQuantiles, remarks_of, times_of
from .sentences import configuration_of, outlook_sentences, savings_sentences

#: Fields with the starts of a job by each method: in its plan (`_estimate`), and in a simulation
#: that reserves by it (`_simulated`).
METHOD_STARTS = (
    "greedy_estimate",
    "greedy_simulated",
    "time_based_estimate",
    "time_based_simulated",
    "optimal_estimate",
    "optimal_simulated",
)
#: Fields of a compared job that are times.
TIMES = (*OUTLOOK_TIMES, *METHOD_STARTS, "time_based_no_sooner")
#: The methods that can be compared, in order.
COMPARED: tuple[Method, ...] = ("greedy", "time-based", "optimal")


class MethodStart(NamedTuple):
    """A job's start by one reservation method, in seconds from the origin, None if unknown."""

    #: The estimate of the method itself; that of greedy is a lower bound (GRD-04).
    says: int | None
    #: The start that the simulated scheduler reaches if it reserves by this method.
    gets: int | None
    #: No start before `says` is possible in priority order.
    proved: bool


@dataclass(frozen=True, slots=True)
class ComparedJob(JobOutlook):
    """Outlook of a job with its starts by each method; times in seconds from the origin."""

    #: Reason why a simpler method gave the possible start, "" if none did.
    fallback: str = ""
    #: Name of the queue without BACKFILL that prevents the possible start, "" if none does.
    needs_backfill: str = ""
    #: Reason why the possible start depends on an exact fit, "" if it does not.
    exact_fit: str = ""
    #: Model that decided the possible start.
    decided_by: str = ""
    #: Earliest instant by greedy reservation, a lower bound (GRD-04); None without an estimate or
    #: if not requested.
    greedy_estimate: int | None = None
    #: Simulated start under greedy reservation; None if it has none.
    greedy_simulated: int | None = None
    #: Start in the time-based plan; None if it has none.
    time_based_estimate: int | None = None
    #: Earliest instant, a lower bound, of a job for which time-based reservation fell back to
    #: greedy; None for other jobs.
    time_based_no_sooner: int | None = None
    #: Simulated start under time-based reservation; None if it has none.
    time_based_simulated: int | None = None
    #: Start in the optimal plan, which is the possible start.
    optimal_estimate: int | None = None
    #: Simulated start under optimal reservation; None if it has none.
    optimal_simulated: int | None = None

    @classmethod
    def of(cls, base: JobOutlook, item: PlannedJob, **starts: int | None) -> ComparedJob:
        """Return an outlook with its entry in the optimal plan and its starts by other methods."""
        beside: dict[str, Any] = {name: getattr(item, name) for name in _OF_THE_PLAN}
        return cls(*_OUTLOOK(base), **beside | starts)

    @property
    def greedy(self) -> MethodStart:
        """Return the start by greedy reservation."""
        return self.by("greedy")

    @property
    def time_based(self) -> MethodStart:
        """Return the start by time-based reservation."""
        return self.by("time-based")

    @property
    def optimal(self) -> MethodStart:
        """Return the start by the optimal method."""
        return self.by("optimal")

    def by(self, method: Method) -> MethodStart:
        """Return the start by one of the methods in `COMPARED`."""
        name = method.replace("-", "_")
        says, gets = (getattr(self, f"{name}_{kind}") for kind in ("estimate", "simulated"))
        return MethodStart(says, gets, self.proved and method == "optimal" and says is not None)

    def footnotes(self, *, explained: bool) -> Iterator[str]:
        """Yield what the possible start depends on, and why it is not proved.

        explained: a named omission already tells why.
        """
        if self.fallback and not explained:
            yield self.fallback
        if self.needs_backfill:
            yield f"needs BACKFILL in queue {self.needs_backfill}"
        if not self.proved and self.proved_if:
            yield proof_text(self.proved, self.proved_if)

    @property
    def allocation(self) -> Mapping[str, int]:
        """Return the slots by host of the possible start."""
        return self.possible_on

    @property
    def slot_hours(self) -> float | None:
        """Return slots times the difference of start as configured and possible start, in hours."""
        return None if self.sooner_by is None else self.sooner_by * self.slots / HOUR

    def to_dict(self, origin: str | None = None) -> dict[str, Any]:
        """Return the fields as a JSON object; with an origin also ISO stamps."""
        record = JobOutlook.to_dict(self)
        record |= {name: getattr(self, name) for name in (*_OF_THE_PLAN, *_BY_METHOD)}
        record["slot_hours"] = self.slot_hours
        record |= {name.replace("-", "_"): self.by(name)._asdict() for name in COMPARED}
        return with_stamps(record, origin, TIMES)


def _without(row: JobOutlook) -> str:
    """Return the word for a job without a start although a method examined everything."""
    return row.state if row.state != "starts" else "no start"


#: Returns the fields of an outlook, which are the first fields of a compared job.
_OUTLOOK = attrgetter(*(each.name for each in fields(JobOutlook)))
_BY_METHOD = (*METHOD_STARTS, "time_based_no_sooner")
_OF_THE_PLAN = ("fallback", "needs_backfill", "exact_fit", "decided_by")

_LEFT_OUT = "not modelled:"
_KEEPS = "the scheduler does not start it then because of: "


@dataclass(frozen=True, slots=True)
class Cautions:
    """Sentences about estimates, with marks in the table."""

    #: Marks of a start (``[1]`` or ``[1][2]``) by method (or "configured") and job id.
    marks: Mapping[tuple[str, str], str]
    #: Sentences with these numbers, one each.
    lines: tuple[str, ...]
    #: Sentences that concern no single job.
    rest: tuple[str, ...]

    def lines_of(self, jobs: Collection[str] | None) -> tuple[str, ...]:
        """Return the numbered sentences that concern these jobs; None: all jobs."""
        if jobs is None:
            return self.lines
        used = "".join(mark for (_, job), mark in self.marks.items() if job in jobs)
        return tuple(line for line in self.lines if line.partition(" ")[0] in used)


def cautions_of(
    plans: Sequence[Plan], moving: Sequence[Omission] = (), unheeded: Sequence[Omission] = ()
) -> Cautions:
    """Return the omissions and notes of plans, each sentence once, with the methods concerned.

    moving: rules by which a simulation of the last plan's method starts jobs at other times.
    unheeded: omissions that also affect starts as configured; they replace those of plans with
    equal names for their jobs.
    """
    touched: dict[str, tuple[list[str], dict[str, None]]] = {}
    plain: dict[str, list[str]] = {}
    every = [plan.method for plan in plans]
    for item, text in zip(unheeded, sentences(unheeded), strict=True):
        if item.jobs:
            touched[text] = ([CONFIGURED, *every], dict.fromkeys(item.jobs))
        else:
            plain[text] = list(every)
    known = {item.name: item for item in unheeded}
    for made in plans:
        for item in made.omissions:
            if (own := known.get(item.name)) is not None:
                left = tuple(job for job in item.jobs or () if not own.touches(job))
                if not left:
                    continue
                item = replace(item, jobs=left, count=len(left))
            (text,) = sentences((item,))
            if item.jobs:
                methods, jobs = touched.setdefault(text, ([], {}))
                jobs.update(dict.fromkeys(item.jobs))
                methods.append(made.method)
            else:
                plain.setdefault(text, []).append(made.method)
        for note in made.notes:
            if not (made.omissions and note.startswith(_LEFT_OUT)):
                plain.setdefault(note, []).append(made.method)
    for item in moving:
        text = f"{_KEEPS}{item.text()}"
        touched[text] = ([plans[-1].method], dict.fromkeys(item.jobs or ()))
    marks: dict[tuple[str, str], str] = {}
    lines = []
    for number, (text, (methods, jobs)) in enumerate(touched.items(), 1):
        for method in methods:
            for job in jobs:
                marks[method, job] = marks.get((method, job), "") + f"[{number}]"
        lines.append(f"[{number}] {_named(methods, plans)}{text}")
    rest = tuple(f"{_named(methods, plans)}{text}" for text, methods in plain.items())
    return Cautions(marks, tuple(lines), rest)


def _named(methods: Sequence[str], plans: Sequence[Plan]) -> str:
    """Return the methods as the beginning of a sentence; "" if it concerns all plans."""
    found = list(dict.fromkeys(methods))
    if len(found) >= len(plans):
        return ""
    return f"{' and '.join(found)}: "


@dataclass(frozen=True, slots=True, repr=False)
class Comparison(JobTable[ComparedJob]):
    """Comparison of every pending job, in dispatch order, with the plans and simulations behind
    it.
    """

    #: The compared jobs in dispatch order.
    jobs: tuple[ComparedJob, ...]
    #: The outlook with the plan of the possible starts.
    outlook: Outlook
    #: Reservation of the cluster as configured, in words.
    configuration: str = ""
    #: The compared methods in the order of `COMPARED`; (): only the possible starts are known.
    methods: tuple[Method, ...] = ()
    #: Plan by greedy reservation, None if it is not compared.
    greedy: Plan | None = None
    #: Plan by time-based reservation, None if it is not compared.
    time_based: Plan | None = None
    #: Start and hosts of each job by each simulated reservation method.
    loop: Mapping[str, Mapping[str, PlannedJob]] = field(default_factory=dict)
    #: Rules by which the scheduler starts jobs at other times than the optimal plan.
    moving: tuple[Omission, ...] = ()
    #: Whether a limit or Ctrl-C stopped the comparison, so that a missing start is unknown.
    cut: bool = False
    #: Forecast start of each job by id, None without a history.
    forecast: Mapping[str, StartQuantiles] | None = None
    #: Remarks on unexpected content of the history.
    remarks: tuple[str, ...] = ()
    #: Name of the simulation for the forecasts.
    run_by: str = ""

    @property
    def now(self) -> int:
        """Return the instance's now in seconds from the origin."""
        return self.outlook.now

    @property
    def origin(self) -> str | None:
        """Return the ISO date of second 0, None if the instance has none."""
        return self.outlook.origin

    @property
    def optimal(self) -> Plan:
        """Return the plan by the optimal method."""
        assert self.outlook.plan is not None
        return self.outlook.plan

    @property
    def plans(self) -> tuple[Plan, ...]:
        """Return the plans in this comparison, the optimal one last."""
        return tuple(p for p in (self.greedy, self.time_based, self.optimal) if p is not None)

    @property
    def simulated(self) -> tuple[str, ...]:
        """Return the names of the simulated methods."""
        return tuple(self.loop)

    @property
    def refused(self) -> bool:
        """Return whether the validator rejects one of the plans."""
        return any(plan.refused for plan in self.plans)

    def to_records(self, most: int | None = None) -> list[dict[str, Any]]:
        """Return a JSON object for each of the first `most` jobs; with an origin also stamps."""
        records = []
        for row in self.jobs[:most]:
            record = row.to_dict(self.origin)
            if self.forecast is not None:
                times = times_of(self.forecast.get(row.job))
                record |= with_stamps(dict(times), self.origin, tuple(LIKELY))
            records.append(record)
        return records

    def columns(self) -> list[str]:
        """Return the keys of a record in order."""
        empty = ComparedJob("", 0, "not examined", None).to_dict(self.origin)
        likely = {} if self.forecast is None else dict.fromkeys(LIKELY)
        return list(empty | with_stamps(likely, self.origin, tuple(LIKELY)))

    def start_by(self, row: ComparedJob, method: Method) -> int | None:
        """Return the start that a job reaches by a method: simulated, else as in its plan.

        A proved start that the scheduler reaches later is the later one.
        """
        found = row.by(method)
        if method not in self.loop:
            return found.says
        if method == "optimal" and (found.proved or found.gets is None):
            return max(
                (time for time in (found.says, found.gets) if time is not None), default=None
            )
        return found.gets

    def reached(self) -> int:
        """Return how many jobs the scheduler starts as the optimal plan has proved it."""
        return sum(r.proved and self.start_by(r, "optimal") == r.possible for r in self)

    def waits_by(self) -> dict[Method, Mapping[str, int]]:
        """Return for each compared method the seconds that each job waits from now on.

        Only jobs with a start by every method.
        """
        starts = {
            method: {row.job: self.start_by(row, method) for row in self} for method in self.methods
        }
        known = [row.job for row in self if None not in (each[row.job] for each in starts.values())]
        return {
            method: {job: (each[job] or 0) - self.now for job in known}
            for method, each in starts.items()
        }

    def to_dict(self, most: int | None = None) -> dict[str, Any]:
        """Return the comparison as a JSON object, with at most this many jobs."""
        return {
            **data_of(self, "now origin"),
            "status": self.optimal.status,
            "method_in_force": self.outlook.method,
            **data_of(self, "configuration methods simulated"),
            "summary": list(self.summary()),
            "jobs": self.to_records(most),
            "notes": list(self.notes()),
            "cautions": list(self.cautions().lines),
            **({"cut": True} if self.cut else {}),
        }

    def summary(self) -> tuple[str, ...]:
        """Return the result of the comparison in sentences."""
        found = outlook_sentences(self.jobs, self.optimal, self.configuration)
        return (*found, *self.savings())

    def savings(self) -> tuple[str, ...]:
        """Return what the optimal method saves over the other compared methods, a sentence."""
        return savings_sentences(self.waits_by(), {row.job: row.slots for row in self})

    def cautions(self, *, footnotes: bool = False) -> Cautions:
        """Return the rules that the plans omit, with the jobs that they affect.

        footnotes: also what the possible start of a job depends on, and why it is not proved.
        """
        found = cautions_of(self.plans, self.moving, self.outlook.unheeded())
        if not footnotes:
            return found
        marks, more = dict(found.marks), dict[str, str]()
        for row in self:
            for text in row.footnotes(explained=("optimal", row.job) in found.marks):
                number = more.setdefault(text, f"[{len(found.lines) + len(more) + 1}]")
                marks["optimal", row.job] = marks.get(("optimal", row.job), "") + number
        lines = (f"{number} {text}" for text, number in more.items())
        return Cautions(marks, (*found.lines, *lines), found.rest)

    def missing_starts(self, text: Callable[[int], str] = str) -> dict[str, dict[str, str]]:
        """Return, by field of a time, the jobs without this time, each with the word for it.

        text: function that formats a time in seconds.
        """
        states = {row.job: (row.state, row.condition) for row in self}
        possible = words_of(self.optimal, states)
        found: dict[str, dict[str, str]] = {
            "as_configured": {row.job: row.state for row in self if row.as_configured is None},
            "estimate": {row.job: "none" for row in self if row.estimate is None},
            "possible": {
                row.job: possible.get(row.job, "not examined")
                for row in self
                if row.possible is None
            },
        }
        planned = {"time_based_estimate": {}, "optimal_estimate": possible}
        if self.time_based is not None:
            planned["time_based_estimate"] = words_of(self.time_based, states)
        simulated = {f"{method.replace('-', '_')}_simulated" for method in self.loop}
        named = {method.replace("-", "_") for method in self.methods}
        for name in (each for each in METHOD_STARTS if each.rpartition("_")[0] in named):
            found[name] = {
                row.job: f"no sooner than {text(row.time_based_no_sooner)}"
                if name == "time_based_estimate" and row.time_based_no_sooner is not None
                else self._word(name, row, planned, simulated)
                for row in self
                if getattr(row, name) is None
            }
        return found

    def _word(
        self,
        name: str,
        row: ComparedJob,
        planned: Mapping[str, Mapping[str, str]],
        simulated: set[str],
    ) -> str:
        if name in planned:
            word = planned[name].get(row.job, "not examined")
            return "no estimate" if word == "no date" else word
        if name == "greedy_estimate":
            return "no estimate"
        if name not in simulated:
            return "not run"
        return "not examined" if self.cut else _without(row)

    def notes(self) -> tuple[str, ...]:
        """Return further notes on the plans, each sentence once."""
        estimates: dict[str, list[str]] = {}
        for estimate in self.plans[:-1]:
            for note in estimate.notes:
                estimates.setdefault(note, []).append(estimate.method)
        of_estimates = [f"{' and '.join(names)}: {note}" for note, names in estimates.items()]
        return (*of_estimates, *self.optimal.notes)

    def _repr_html_(self) -> str:
        """Return the comparison as an HTML table for notebooks; times from now."""
        return starts_table(self.jobs, self.now)


#: Maximum number of pending jobs for simulations with methods other than the configured one.
MAX_SIMULATED = 100
#: Shares of the remaining seconds for the steps of a comparison, in their order; simulations by
#: other methods have the rest.
CONFIGURED_SHARE, FORECAST_SHARE, OPTIMAL_SHARE = 0.3, 0.3, 0.6
#: Shares of the remaining seconds for the plans by greedy and time-based reservation.
GREEDY_SHARE, TIME_BASED_SHARE = 0.2, 0.3


def compare(
    instance: Instance,
    *,
    methods: bool | Collection[str] | None = None,
    objective: ObjectiveName = "lexicographic",
    time_limit: float | None = None,
    effort: float | None = None,
    workers: int | None = None,
    as_lsf: bool = False,
    margin: int = 0,
    cancel: threading.Event | None = None,
    on_progress: OnProgress | None = None,
    history: History | str | Path | None = None,
    drawing: Drawing = USUAL,
) -> Comparison:
    """Return the starts of every pending job as configured, estimated and possible.

    methods: those to compare, by a plan and, if at most :data:`MAX_SIMULATED` jobs wait, a
    simulation; True: all, False: none, None: :func:`default_methods`. objective, effort, workers,
    as_lsf: as in `plan`. time_limit: wall seconds of the whole; None: only the optimal plan has its
    limit. margin: of each plan, in seconds; simulations have none. cancel: set it to stop; jobs not
    examined by then are marked. history: finished jobs, or a log of them, for forecast starts.
    drawing: their settings. Raises InputError for a bad history or method.
    """
    compared = _requested(instance, methods)
    forecaster = Forecaster.of(instance, history, drawing, None, cancel)
    cancel = cancel or threading.Event()
    whole = Budget(time_limit, cancel=cancel, grace=seconds_after(time_limit))
    configured = configured_within(instance, whole, CONFIGURED_SHARE)
    took = whole.elapsed()
    plans = _estimates(instance, compared, margin, whole)
    likely = None if forecaster is None else forecaster.all(whole.time_share(FORECAST_SHARE))
    options = {"objective": objective, "effort": effort, "workers": workers, "as_lsf": as_lsf}
    optimal = (nothing_planned if _no_time(whole, took) else plan)(
        instance,
        "optimal",
        **options,  # type: ignore[arg-type]
        time_limit=whole.time_share(OPTIMAL_SHARE if compared else 1.0),
        margin=margin,
        cancel=cancel,
        on_progress=on_progress,
    )
    loop, stopped = _run_on(instance, _simulated(instance, compared, objective), whole)
    rest = Budget(whole.time_share(1.0), cancel=cancel, grace=whole.grace)
    outlook = outlook_of(instance, configured, optimal, rest)
    cut = stopped or outlook.cut or any(made.cut for made in plans.values())
    return Comparison(
        _rows(outlook, compared, plans, loop),
        outlook,
        methods=compared,
        configuration=configuration_of(instance, configured.method),
        greedy=plans.get("greedy"),
        time_based=plans.get("time-based"),
        loop=loop,
        moving=_moving(instance, optimal, loop, whole),
        cut=cut or _is_short(likely, instance),
        forecast=likely,
        **remarks_of(forecaster),
    )


def _no_time(whole: Budget, took: float) -> bool:
    """Return whether too little time is left for another plan.

    took: seconds that a similar computation took. On large clusters, even a small plan takes more
    than is allowed beyond the limit.
    """
    return whole.late() or (took > whole.grace and whole.left() < took)


def default_methods(instance: Instance) -> tuple[Method, ...]:
    """Return the methods that are compared if none are named: greedy and optimal.

    (): the instance has the settings of a scheduler, whose starts are of more interest.
    """
    reserves = any(queue.reserve_cycles is not None or queue.backfill for queue in instance.queues)
    if reserves or instance.params.scheduler.plans_nodes or instance.lsf_says:
        return ()
    return ("greedy", "optimal")


def _requested(instance: Instance, methods: bool | Collection[str] | None) -> tuple[Method, ...]:
    """Return the compared methods in the order of the columns; raise InputError for another one."""
    if methods is None:
        return default_methods(instance)
    if isinstance(methods, bool):
        return COMPARED if methods else ()
    for name in methods:
        if name not in COMPARED:
            raise UnknownNameError.among("method", name, COMPARED)
    return tuple(name for name in COMPARED if name in methods)


def _estimates(
    instance: Instance, methods: Sequence[Method], margin: int, whole: Budget
) -> dict[Method, Plan]:
    """Return the compared plans by greedy and time-based reservation, each within its share of the
    time.
    """
    begun = whole.elapsed()
    plans: dict[Method, Plan] = {}
    shares: dict[Method, float] = {"greedy": GREEDY_SHARE, "time-based": TIME_BASED_SHARE}
    for method in (each for each in methods if each in shares):
        late = _no_time(whole, whole.elapsed() - begun)
        plans[method] = (nothing_planned if late else plan)(
            instance,
            method,
            time_limit=whole.time_share(shares[method]),
            margin=margin,
            cancel=whole.cancel,
        )
    return plans


def _is_short(likely: Mapping[str, StartQuantiles] | None, instance: Instance) -> bool:
    """Return whether the time did not suffice for all requested forecasts."""
    if likely is None:
        return False
    return len(likely) < len(instance.pending) or any(item.cut for item in likely.values())


def _moving(
    instance: Instance,
    optimal: Plan,
    loop: Mapping[str, Mapping[str, PlannedJob]],
    whole: Budget,
) -> tuple[Omission, ...]:
    """Return the rules by which the scheduler starts jobs at other times than the optimal plan."""
    if "optimal" not in loop or whole.stopped() or optimal.cut:
        return ()
    planned = {item.job: item.start for item in optimal}
    simulated = {job: item.start for job, item in loop["optimal"].items()}
    if all(simulated.get(job) == start for job, start in planned.items()):
        return ()
    budget = Budget(whole.time_share(1.0), cancel=whole.cancel)
    return rules_that_move(instance, planned, budget)


def _simulated(
    instance: Instance, methods: Sequence[Method], objective: ObjectiveName
) -> tuple[Method, ...]:
    """Return the methods to simulate in addition to the configured one."""
    wanted: tuple[Method, ...] = COMPARED
    if len(instance.pending) > MAX_SIMULATED:
        wanted = ("greedy",)
    elif not objective_named(objective).in_order:
        # A dispatch cycle plans in dispatch order, with any objective.
        wanted = ("greedy", "time-based")
    return tuple(method for method in methods if method in wanted)


def _run_on(
    instance: Instance, methods: Sequence[str], whole: Budget
) -> tuple[dict[str, dict[str, PlannedJob]], bool]:
    """Return the simulated starts by each method, by job, and whether a run was stopped."""
    loop: dict[str, dict[str, PlannedJob]] = {}
    cut = False
    for done, method in enumerate(methods):
        budget = Budget(whole.time_share(1.0 / (len(methods) - done)), cancel=whole.cancel)
        loop[method] = {
            item.job: item for item in simulated_placements(instance, method, budget=budget)
        }
        cut = cut or budget.stopped()
    return loop, cut


def _rows(
    outlook: Outlook,
    methods: Sequence[Method],
    plans: Mapping[Method, Plan],
    loop: Mapping[str, Mapping[str, PlannedJob]],
) -> tuple[ComparedJob, ...]:
    """Return the compared jobs in dispatch order."""
    rows = []
    for base in outlook:
        nothing = PlannedJob(base.job, None)
        best, greedy, time_based = (
            (found and found.get(base.job)) or nothing
            for found in (outlook.plan, plans.get("greedy"), plans.get("time-based"))
        )
        starts: dict[str, int | None] = {
            "greedy_estimate": greedy.start if greedy.estimate is None else greedy.estimate,
            "time_based_estimate": time_based.start,
            "time_based_no_sooner": time_based.estimate if time_based.start is None else None,
            "optimal_estimate": base.possible if "optimal" in methods else None,
        }
        for method, placed in loop.items():
            starts[f"{method.replace('-', '_')}_simulated"] = placed.get(base.job, nothing).start
        rows.append(ComparedJob.of(base, best, **starts))
    return tuple(rows)
