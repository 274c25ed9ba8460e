"""The methods side by side, job by job."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...model.display import duration_text, html_table, with_stamps
from ...model.errors import UnknownNameError
from ...model.instance import Instance
from ...model.objective import ObjectiveName, objective_named
from ...model.omissions import Omission, sentences
from ...model.plan import Method, Plan, PlannedJob, allocation_text, yes_or_no
from ...model.progress import OnProgress
from ..budget import GRACE, Budget
from ..fairshare.priority_order import priority_order
from ..forecast.history import History
from ..pending_reasons import counted
from ..planning import nothing_planned, plan
from ..scheduler.run_on import placed_by_loop, rules_that_move
from .likely import TIMES as LIKELY
from .likely import USUAL, Drawing, Forecaster, Likely, times_of

if TYPE_CHECKING:
    from pandas import DataFrame


# --- One job of a comparison: what each method says of it, and what comes of that -----------------

#: The starts of a compared job: by each method its estimate and the simulated one.
STARTS = (
    "greedy_estimate",
    "greedy_simulated",
    "time_based_estimate",
    "time_based_simulated",
    "optimal_estimate",
    "optimal_simulated",
)
#: What some of them were called before; records have these keys too.
OLD_NAMES = {
    "greedy_start": "greedy_simulated",
    "time_based": "time_based_estimate",
    "time_based_start": "time_based_simulated",
    "optimal": "optimal_estimate",
    "optimal_start": "optimal_simulated",
}
#: The times of a compared job.
TIMES = (*STARTS, "bound", "time_based_no_sooner")


@dataclass(frozen=True, slots=True)
class ComparedJob:
    """One job under every method; times in seconds from the instance's origin."""

    job: str
    slots: int
    #: "no sooner than" (GRD-04), None where greedy has no estimate.
    greedy_estimate: int | None
    greedy_simulated: int | None
    #: The starts in these plans. greedy_simulated and so on: the start that the scheduler loop
    #: reaches when it runs on by that method, None for never or for a loop that was not run.
    time_based_estimate: int | None
    time_based_simulated: int | None
    #: The starts in these plans. greedy_simulated and so on: the start that the scheduler loop
    #: reaches when it runs on by that method, None for never or for a loop that was not run.
    optimal_estimate: int | None
    optimal_simulated: int | None
    bound: int | None
    proved: bool
    #: greedy_simulated - optimal_estimate, None too where the latter needs BACKFILL.
    gain: int | None
    allocation: Mapping[str, int]
    waits_for: str
    fallback: str = ""
    #: The queue without BACKFILL in which the loop would not give it the optimal start, "" for
    #: none.
    needs_backfill: str = ""
    #: What the optimal start hangs on to the second, "" for nothing.
    exact_fit: str = ""
    #: The jobs that must start where planned for the optimal start to be proved.
    proved_if: tuple[str, ...] = ()
    #: "no sooner than" of a job for which time-based reservation fell back to greedy.
    time_based_no_sooner: int | None = None

    @property
    def gain_slot_hours(self) -> float | None:
        """The gain times the slots, in slot-hours."""
        return None if self.gain is None else self.gain * self.slots / 3600

    @property
    def greedy_start(self) -> int | None:
        """An older name of `greedy_simulated`."""
        return self.greedy_simulated

    @property
    def time_based(self) -> int | None:
        """An older name of `time_based_estimate`."""
        return self.time_based_estimate

    @property
    def optimal(self) -> int | None:
        """An older name of `optimal_estimate`."""
        return self.optimal_estimate


# --- What a comparison leaves out, beside the numbers that it touches -----------------------------

_LEFT_OUT = "not considered:"
_KEEPS = "what keeps the cycles from it: "


@dataclass(frozen=True, slots=True)
class Cautions:
    """Sentences about estimates, with marks in the table."""

    #: By method and job what stands behind its estimate, ``[1]`` or ``[1][2]``.
    marks: Mapping[tuple[str, str], str]
    #: A sentence each, the first ones with these numbers.
    lines: tuple[str, ...]
    #: Sentences of no single job.
    rest: tuple[str, ...]


def cautions_of(plans: Sequence[Plan], moving: Sequence[Omission] = ()) -> Cautions:
    """The omissions and notes of plans, each sentence once, with the methods that it is of.

    moving: what makes the loop by the last method start jobs otherwise than its plan.
    """
    touched: dict[str, tuple[list[str], dict[str, None]]] = {}
    plain: dict[str, list[str]] = {}
    for made in plans:
        for item in made.omissions:
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
    """The methods in front of a sentence, none where it is of all plans."""
    found = list(dict.fromkeys(methods))
    if len(found) == len(plans):
        return ""
    return f"{' and '.join(found)}: "


# --- What a plan or a comparison comes to, in sentences -------------------------------------------

#: Jobs, or runs of jobs, that a sentence names; more are counted.
MOST_NAMED = 4
#: So many jobs with numbers in a row are named by the first and the last.
_RUN = 3
#: What the value of an objective is that minimises every start in turn.
_VALUE_IN_ORDER = "sum of the seconds from now to each start"


def comparison_sentences(
    rows: Sequence[ComparedJob], optimal: Plan, baseline: str
) -> tuple[str, ...]:
    """A comparison: what is proved, who starts sooner, who waits longer, and what that sums up to.

    rows: in priority order. baseline: how the cluster reserves greedily, as `baseline_of` says.
    """
    if not rows:
        return ("Nothing is pending.",)
    found = [proof_sentence(optimal), *_unplaced(optimal)]
    known = [row for row in rows if row.gain is not None]
    if known:
        changes = _changes(known, in_order=objective_named(optimal.objective).in_order)
        head = f"Against greedy reservation, simulated as configured ({baseline})"
        found += [f"{head}: {changes}.", *_totals(known)]
    return (*found, *_uncounted(rows))


def plan_sentences(plan: Plan) -> tuple[str, ...]:
    """A plan: how many jobs have a start, what is proved, and the value of its objective."""
    if plan.method == "greedy":
        return _of_greedy(plan)
    if plan.method == "time-based":
        return (f"Time-based reservation gives {_starts(plan)}. {_NOTHING}", *_unplaced(plan))
    found = [proof_sentence(plan), *_unplaced(plan)]
    if plan.value is not None:
        bound = "" if plan.bound is None else f", bound {plan.bound:.15g}"
        meaning = _VALUE_IN_ORDER if _in_order(plan) else objective_named(plan.objective).meaning
        text = f"Method {plan.method}, objective {plan.objective}: value {plan.value:.15g}{bound}"
        found.append(f"{text} ({meaning}).")
    return tuple(found)


_NOTHING = "It is what the next cycle says; nothing is proved."


def _of_greedy(plan: Plan) -> tuple[str, ...]:
    now = sum(item.start is not None for item in plan)
    estimated = sum(item.start is None and item.estimate is not None for item in plan)
    without = len(plan) - now - estimated
    texts = [f"{counted(now, 'job') if now else 'no job'} {_verb(now or 1, 'start')} now"]
    if estimated:
        texts.append(f"{counted(estimated, 'job')} {_verb(estimated, 'wait')} with an estimate")
    if without:
        texts.append(f"{counted(without, 'job')} {_verb(without, 'wait')} without an estimate")
    return (f"Greedy reservation: {', '.join(texts)}. {_NOTHING}", *_unplaced(plan))


def _starts(plan: Plan) -> str:
    starts = sum(item.start is not None for item in plan)
    return f"{counted(starts, 'job')} a start"


def _in_order(plan: Plan) -> bool:
    return objective_named(plan.objective).in_order


def proof_sentence(plan: Plan) -> str:
    """How many of the starts are proved, or that the plan is."""
    starts = [item for item in plan if item.start is not None]
    proved = sum(item.proved for item in starts)
    total = len(starts)
    if not _in_order(plan) and plan.status == "optimal":
        meaning = objective_named(plan.objective).meaning
        return f"Proved: no plan has a smaller {meaning} (objective {plan.objective})."
    claim = "proved the earliest" + (" in priority order" if _in_order(plan) else "")
    if not total:
        return "No job has a start."
    on_condition = sum(bool(item.proved_if) for item in starts)
    more = f", {on_condition} if others start where planned" if on_condition else ""
    if proved == total:
        every = {1: "The one start is", 2: "Both starts are"}.get(total, f"All {total} starts are")
        return f"{every} {claim}."
    if not proved:
        return f"No start is {claim}{more}."
    return f"{proved} of {total} starts {_verb(proved, 'are')} {claim}{more}."


def _verb(number: int, verb: str) -> str:
    if verb == "are":
        return "is" if number == 1 else "are"
    return f"{verb}s" if number == 1 else verb


def _unplaced(plan: Plan) -> list[str]:
    words = [word for word in plan.missing_starts().values() if word != "?"]
    never = words.count("never")
    found = []
    if never:
        found.append(f"{counted(never, 'job')} {'has' if never == 1 else 'have'} no place.")
    if rest := len(words) - never:
        found.append(f"For {counted(rest, 'job')} no place was found.")
    return found


# --- who gains ------------------------------------------------------------------------------------


def _changes(rows: Sequence[ComparedJob], *, in_order: bool) -> str:
    """Who starts sooner and who waits longer, against greedy reservation."""
    sooner = [row for row in rows if row.gain and row.gain > 0]
    later = [row for row in rows if row.gain and row.gain < 0]
    parts = []
    if sooner:
        parts.append(f"{_who(sooner)} {_verb(len(sooner), 'start')} {_range(sooner)} sooner")
    if later:
        longer = f"{_who(later)} {_verb(len(later), 'wait')} {_range(later)} longer"
        if in_order and sooner and rows.index(sooner[0]) < rows.index(later[0]):
            longer += ", because priority comes first (`--objective total-start` minimises the sum)"
        parts.append(longer)
    return "; ".join(parts) or "no job starts sooner or later"


def _who(rows: Sequence[ComparedJob]) -> str:
    names = [row.job for row in rows]
    shown = names_text(names)
    if names[0][:1].isdigit() and shown[:1].isdigit() and not shown.endswith(" jobs"):
        return f"job{'s' * (len(names) > 1)} {shown}"
    return shown


def names_text(names: Sequence[str]) -> str:
    """``110``, ``110 and 112``, ``113 to 116``; of many how many there are."""
    parts: list[list[str]] = []
    for name in names:
        if parts and _follows(parts[-1][-1], name):
            parts[-1].append(name)
        else:
            parts.append([name])
    texts = [
        text
        for part in parts
        for text in ([f"{part[0]} to {part[-1]}"] if len(part) >= _RUN else part)
    ]
    if len(texts) > MOST_NAMED:
        return f"{len(names)} jobs"
    return " and ".join(filter(None, (", ".join(texts[:-1]), texts[-1])))


def _follows(name: str, later: str) -> bool:
    return name.isdecimal() and later.isdecimal() and int(later) == int(name) + 1


def _range(rows: Sequence[ComparedJob]) -> str:
    changes = [abs(row.gain or 0) for row in rows]
    low, high = duration_text(min(changes)), duration_text(max(changes))
    return low if low == high else f"{low} to {high}"


def _totals(rows: Sequence[ComparedJob]) -> list[str]:
    """The sum of the waits, and of the waits times the slots."""
    seconds = sum(row.gain or 0 for row in rows)
    slot_hours = sum(row.gain_slot_hours or 0.0 for row in rows)
    if not any(row.gain for row in rows):
        return []
    waits = f"{duration_text(abs(seconds))} {_less(seconds)}"
    weighed = f"{abs(slot_hours):.1f} slot-hours {_less(slot_hours)}"
    return [f"Summed up that is {waits} waiting, and {weighed} (waiting times slots)."]


def _less(saved: float) -> str:
    return "less" if saved >= 0 else "more"


def _uncounted(rows: Sequence[ComparedJob]) -> list[str]:
    """How many optimal starts a queue without BACKFILL would not give: they are no gain."""
    needy = [row.needs_backfill for row in rows if row.needs_backfill]
    if not needy:
        return []
    queues = ", ".join(dict.fromkeys(needy))
    needs = "need" if len(needy) > 1 else "needs"
    return [f"{counted(len(needy), 'start')} {needs} BACKFILL in queue {queues}: not counted."]


def baseline_of(instance: Instance) -> str:
    """How an instance reserves greedily: which queues have BACKFILL, and whether all reserve."""
    lending = [queue.name for queue in instance.queues if queue.backfill]
    if not lending:
        found = "no queue has BACKFILL"
    elif len(lending) == 1:
        found = f"BACKFILL in queue {lending[0]}"
    elif len(lending) == len(instance.queues):
        found = "BACKFILL in every queue"
    else:
        found = f"BACKFILL in {len(lending)} of {len(instance.queues)} queues"
    if all(queue.reserve_cycles is None for queue in instance.queues):
        found += ", reserving in every queue"
    return found


# --- compare --------------------------------------------------------------------------------------

#: More pending jobs than this are simulated by greedy reservation only, unless somebody asks.
MOST_SIMULATED = 100
#: Share of the seconds left that each step of a comparison may take, in their order; the loop by
#: the last method has all that they leave.
GREEDY_SHARE, TIME_BASED_SHARE, LOOP_SHARE, FORECAST_SHARE, OPTIMAL_SHARE = 0.2, 0.3, 0.3, 0.3, 0.6


_STAMPED = (*TIMES, *OLD_NAMES, *LIKELY)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Every pending job in priority order, and the three plans behind the rows."""

    jobs: tuple[ComparedJob, ...]
    greedy: Plan
    time_based: Plan
    optimal: Plan
    #: Seconds from the origin, the ISO date of second 0 (None: it has none).
    now: int = 0
    origin: str | None = None
    #: A limit or Ctrl-C came before all was looked at, so that a start that is missing is not
    #: known.
    cut: bool = False
    #: What the loop gives by each method that was simulated, start and place, by job.
    loop: Mapping[str, Mapping[str, PlannedJob]] = field(default_factory=dict)
    #: How this cluster reserves greedily, in words.
    baseline: str = ""
    #: Rules by which the loop starts jobs otherwise than the optimal plan.
    moving: tuple[Omission, ...] = ()
    #: When each job will likely start, None where no history was given.
    forecast: Mapping[str, Likely] | None = None
    #: What was odd about it.
    remarks: tuple[str, ...] = ()
    #: What ran the cluster forward for it, in words.
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
            record["allocation"] = dict(row.allocation)
            record["gain_slot_hours"] = row.gain_slot_hours
            record |= {old: record[name] for old, name in OLD_NAMES.items()}
            if self.forecast is not None:
                record |= times_of(self.forecast.get(row.job))
            records.append(with_stamps(record, self.origin, _STAMPED))
        return records

    def columns(self) -> list[str]:
        """The keys of a record, in order."""
        names = (*ComparedJob.__slots__, "gain_slot_hours", *OLD_NAMES)
        likely = {} if self.forecast is None else dict.fromkeys(LIKELY)
        return list(with_stamps({**dict.fromkeys(names), **likely}, self.origin, _STAMPED))

    @property
    def simulated(self) -> tuple[str, ...]:
        """The methods by which the loop was run on."""
        return tuple(self.loop)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, fit for JSON."""
        return {
            "now": self.now,
            "origin": self.origin,
            "status": self.optimal.status,
            "simulated": list(self.simulated),
            "summary": list(self.summary()),
            "jobs": self.to_records(),
            "notes": list(self.notes()),
            "cautions": list(self.cautions().lines),
            **({"cut": True} if self.cut else {}),
        }

    def summary(self) -> tuple[str, ...]:
        """What the comparison comes to, in sentences."""
        return comparison_sentences(self.jobs, self.optimal, self.baseline)

    def cautions(self) -> Cautions:
        """What the plans leave out, by the numbers that it touches."""
        return cautions_of((self.greedy, self.time_based, self.optimal), self.moving)

    def missing_starts(self, text: Callable[[int], str] = str) -> dict[str, dict[str, str]]:
        """By the times of a row: the jobs without that time, each with the word for it.

        text: how a time is written (seconds).
        """
        planned = {
            "time_based_estimate": self.time_based.missing_starts(),
            "optimal_estimate": self.optimal.missing_starts(),
        }
        simulated = {f"{method.replace('-', '_')}_simulated" for method in self.loop}
        found: dict[str, dict[str, str]] = {name: {} for name in STARTS}
        for row in self.jobs:
            for name in STARTS:
                if getattr(row, name) is not None:
                    continue
                if name == "time_based_estimate" and row.time_based_no_sooner is not None:
                    found[name][row.job] = f"no sooner than {text(row.time_based_no_sooner)}"
                elif name in planned:
                    found[name][row.job] = planned[name].get(row.job, "?")
                elif name == "greedy_estimate":
                    found[name][row.job] = "no estimate"
                elif name not in simulated:
                    found[name][row.job] = "not run"
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
        of_methods = [name.replace("_", " ").replace("time based", "time-based") for name in STARTS]
        head = ("job", "slots", *of_methods, "gain", "proved", "where")
        rows = (
            (
                row.job,
                row.slots,
                *(
                    None if time is None else duration_text(time - self.now)
                    for time in (getattr(row, name) for name in STARTS)
                ),
                None if row.gain is None else duration_text(row.gain),
                yes_or_no(row.proved, row.proved_if),
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
    simulated: bool | None = None,
    cancel: threading.Event | None = None,
    on_progress: OnProgress | None = None,
    history: History | str | Path | None = None,
    drawing: Drawing = USUAL,
) -> Comparison:
    """Greedy, time-based and optimal starts of every pending job; options as in :func:`plan`.

    time_limit: wall seconds of all plans, runs of the loop and forecasts together; without it the
    optimal plan alone has its usual one. margin: of each plan; the loop has none.
    simulated: run the loop on by time-based and optimal reservation too, for the starts that they
    reach; None: where at most :data:`MOST_SIMULATED` jobs wait. By optimal only lexicographically.
    cancel: set it to stop; starts that the loop has not reached by then are None. history: ended
    jobs, or a log of them, for when each job will likely start, drawn as `drawing` says.
    Raises InputError for a history that cannot be read.
    """
    forecaster = Forecaster.of(instance, history, drawing, None, cancel)
    whole = Budget(time_limit, cancel=cancel or threading.Event())
    greedy, time_based, took = _estimates(instance, margin, whole)
    later = _simulated_later(instance, objective, simulated)
    loop, stopped = _run_on(instance, ("greedy",), whole, LOOP_SHARE)
    likely = None if forecaster is None else forecaster.all(whole.part(FORECAST_SHARE))
    optimal = (nothing_planned if _no_time(whole, took) else plan)(
        instance,
        "optimal",
        objective=objective,
        time_limit=whole.part(OPTIMAL_SHARE if later else 1.0),
        effort=effort,
        workers=workers,
        as_lsf=as_lsf,
        margin=margin,
        cancel=cancel,
        on_progress=on_progress,
    )
    others, stopped_later = _run_on(instance, later, whole, 1.0)
    loop |= others
    plans = (greedy, time_based, optimal)
    cut = stopped or stopped_later or any(found.cut for found in plans)
    return Comparison(
        _rows(instance, *plans, loop),
        *plans,
        now=instance.now,
        origin=instance.origin,
        cut=cut or _is_short(likely, instance),
        loop=loop,
        baseline=baseline_of(instance),
        moving=_moving(instance, optimal, loop, whole),
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


def _moving(
    instance: Instance,
    optimal: Plan,
    loop: Mapping[str, Mapping[str, PlannedJob]],
    whole: Budget,
) -> tuple[Omission, ...]:
    """Why the loop starts jobs otherwise than the optimal plan, as far as rules say it."""
    if "optimal" not in loop or whole.stopped() or optimal.cut:
        return ()
    planned = {item.job: item.start for item in optimal}
    simulated = loop["optimal"]
    if all(_start(simulated.get(job)) == start for job, start in planned.items()):
        return ()
    budget = Budget(whole.part(1.0), cancel=whole.cancel)
    return rules_that_move(instance, planned, "optimal", budget)


def _simulated_later(
    instance: Instance, objective: ObjectiveName, simulated: bool | None
) -> tuple[str, ...]:
    """The methods beside greedy by which the loop is run on."""
    if not (len(instance.pending) <= MOST_SIMULATED if simulated is None else simulated):
        return ()
    # What a cycle plans is in priority order, whatever else a plan minimises.
    in_order = objective_named(objective).in_order
    return ("time-based", "optimal") if in_order else ("time-based",)


def _run_on(
    instance: Instance, methods: Sequence[str], whole: Budget, share: float
) -> tuple[dict[str, dict[str, PlannedJob]], bool]:
    """What the loop gives by each method, by job, and whether some run was stopped.

    share: of the seconds left, for all of them.
    """
    loop: dict[str, dict[str, PlannedJob]] = {}
    cut = False
    for done, method in enumerate(methods):
        budget = Budget(whole.part(share / (len(methods) - done)), cancel=whole.cancel)
        loop[method] = {item.job: item for item in placed_by_loop(instance, method, budget=budget)}
        cut = cut or budget.stopped()
    return loop, cut


def _rows(
    instance: Instance,
    greedy: Plan,
    time_based: Plan,
    optimal: Plan,
    loop: Mapping[str, Mapping[str, PlannedJob]],
) -> tuple[ComparedJob, ...]:
    """The jobs in priority order."""
    reasons = {item.job: item.reason for item in optimal.unplaced}
    return tuple(
        _row(job.id, job.slots, greedy, time_based, optimal, loop, reasons)
        for job in priority_order(instance)
    )


def _row(
    job: str,
    slots: int,
    greedy: Plan,
    time_based: Plan,
    optimal: Plan,
    loop: Mapping[str, Mapping[str, PlannedJob]],
    reasons: Mapping[str, str],
) -> ComparedJob:
    estimated = greedy.get(job)
    estimate = None
    if estimated is not None:
        estimate = estimated.start if estimated.estimate is None else estimated.estimate
    started = _start(loop["greedy"].get(job))
    timed = time_based.get(job)
    best = optimal.get(job)
    known = best is not None and best.start is not None and started is not None
    # What the cluster as configured would not give is no gain.
    known = known and not best.needs_backfill  # type: ignore[union-attr]
    return ComparedJob(
        job=job,
        slots=slots,
        greedy_estimate=estimate,
        greedy_simulated=started,
        time_based_estimate=timed.start if timed else None,
        time_based_simulated=_start(loop.get("time-based", {}).get(job)),
        optimal_estimate=best.start if best else None,
        optimal_simulated=_start(loop.get("optimal", {}).get(job)),
        bound=best.bound if best else None,
        proved=best.proved if best else False,
        gain=started - best.start if known else None,  # type: ignore[union-attr,operator]
        allocation=best.allocation if best else {},
        waits_for=best.waits_for if best else reasons.get(job, ""),
        fallback=best.fallback if best else "",
        needs_backfill=best.needs_backfill if best else "",
        exact_fit=best.exact_fit if best else "",
        proved_if=best.proved_if if best else (),
        time_based_no_sooner=timed.estimate if timed and timed.start is None else None,
    )


def _start(item: PlannedJob | None) -> int | None:
    return None if item is None else item.start
