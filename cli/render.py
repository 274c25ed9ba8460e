"""Plans and comparisons as listings, JSON and CSV."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ..model.display import WrittenTimes, duration_text, smallest_difference, with_stamps
from ..model.plan import PlannedArray, array_name, profile_text, proof_text, starts_text, yes_or_no
from .forecast import likely_cells, likely_columns
from .selection import Selection, Shown
from .tables import Column, ListingRow, State, csv_text, hosts_text, paragraph

if TYPE_CHECKING:
    from ..model.instance import Instance
    from ..model.plan import Plan, PlannedJob
    from ..solver.advice.compare import ComparedJob, Comparison


#: What the word "feasible" means to someone who waits for an answer.
_ENDED_EARLY = "The search was ended before all was proved: a longer --time-limit may find better."

#: The columns of a plan as CSV, and those of them that are times.
_COLUMNS = (
    *("job", "start", "finish", "allocation", "method", "bound", "proved", "waits_for"),
    *("estimate", "reserved", "fallback", "alternative", "needs_backfill", "terms", "exact_fit"),
    "proved_if",
)
_TIMES = ("start", "finish", "bound", "estimate")
_ALL = Selection()


# --- a plan -------------------------------------------------------------------------------------


def plan_output(instance: Instance, plan: Plan, format: str, selection: Selection = _ALL) -> str:
    """A plan in one of the output formats, with a final newline."""
    if format == "text":
        return _plan_text(instance, plan, selection)
    from ..model.formats.plan_file import plan_record

    record = plan.to_dict()
    if not selection.everything:
        shown = _planned(instance, plan, selection, fold=False)
        chosen = [item.job for item in selection.choose(shown)]
        for key in ("reservations", "unplaced"):
            record[key] = _in_order(record[key], chosen)
    if format == "json":
        return json.dumps(plan_record(record, instance), indent=2) + "\n"
    rows = list(record["reservations"])
    rows += [{"job": item["job"], "waits_for": item["reason"]} for item in record["unplaced"]]
    return csv_text(list(with_stamps(dict.fromkeys(_COLUMNS), plan.origin, _TIMES)), rows)


def _in_order(records: list[dict[str, Any]], chosen: list[str]) -> list[dict[str, Any]]:
    by_job = {record["job"]: record for record in records}
    return [by_job[job] for job in chosen if job in by_job]


def _plan_text(instance: Instance, plan: Plan, selection: Selection) -> str:
    estimates = any(item.start is None for item in plan)
    columns = (
        Column("JOB", marked=True),
        Column("START", marked=True, label="starts"),
        Column("STATUS", label="", marked=True),
        Column("WHERE / RESERVED NOW" if estimates else "WHERE", line=1, label="on"),
        Column("WAITS FOR", line=1, label=""),
    )
    times = (time for item in plan for time in (item.start, item.estimate, item.bound))
    clock = WrittenTimes.of(instance, times)
    rows = _planned(instance, plan, selection, clock)
    return selection.text(instance, columns, rows, clock) + _summary(plan, clock)


def _planned(
    instance: Instance,
    plan: Plan,
    selection: Selection,
    clock: WrittenTimes | None = None,
    *,
    fold: bool = True,
) -> list[Shown]:
    """Every job of the plan as a row: START, STATUS, WHERE, WAITS FOR; fold: an array as one."""
    clock = clock or WrittenTimes(instance)
    slots = {job.id: job.slots for job in instance.pending}
    found = []
    rows = _by_array(plan, selection) if fold else [(None, [item]) for item in plan]
    for array, items in rows:
        if array is not None:
            found.append(_planned_array(clock, plan, array, items, slots))
            continue
        (item,) = items
        cells = (item.job, *_planned_cells(clock, item, selection.wide))
        held = item.allocation or item.reserved
        row = ListingRow(cells, _state(instance, plan, item))
        found.append(Shown(item.job, row, slots.get(item.job, 0), item.start, 0, held))
    words = plan.missing_starts()
    missed: dict[tuple[str, str], list[str]] = {}
    for missing in plan.unplaced:
        array = selection.folded(missing.job) if fold else None
        missed.setdefault((array or missing.job, missing.reason), []).append(missing.job)
    for (job, reason), jobs in missed.items():
        name = job if jobs == [job] else array_name(job, jobs)
        row = ListingRow((name, words[jobs[0]], "", "", reason), "unplaced")
        found.append(Shown(job, row, slots.get(jobs[0], 0)))
    return found


def _by_array(plan: Plan, selection: Selection) -> Iterable[tuple[str | None, list[PlannedJob]]]:
    """The jobs of a plan in their order, the elements of an array together with its id."""
    found: dict[tuple[str, bool] | str, tuple[str | None, list[PlannedJob]]] = {}
    for item in plan:
        array = selection.folded(item.job)
        key = item.job if array is None else (array, item.start is None)
        found.setdefault(key, (array, []))[1].append(item)
    return found.values()


def _planned_array(
    clock: WrittenTimes,
    plan: Plan,
    array: str,
    items: list[PlannedJob],
    slots: Mapping[str, int],
) -> Shown:
    """The elements of an array as one row."""
    from ..solver.pending_reasons import counted

    instance = clock.instance
    name = array_name(array, [item.job for item in items])
    whole = PlannedArray.of(array, items)
    start, status, where, why = _planned_cells(clock, whole.last, wide=False)
    count = counted(len(items), "element")
    if whole.start is None:
        cells = (name, start, f"{status}, {count}", where, why)
    else:
        hosts = {host for item in items for host in item.allocation}
        where = f"{count} on {counted(len(hosts), 'host')}"
        proved = sum(item.proved for item in items)
        if proved or whole.proved_if:
            status = proof_text(whole.proved, whole.proved_if) or f"{proved} proved"
        why = "; ".join(filter(None, (profile_text(clock, whole), why)))
        cells = (name, starts_text(clock, whole), status, where, why)
    states = {_state(instance, plan, item) for item in items}
    state: State = next(iter(states)) if len(states) == 1 else "later"
    if "unproved" in states:
        state = "unproved"
    held: Counter[str] = Counter()
    if state == "now":
        for item in items:
            held.update(item.allocation)
    row = ListingRow(cells, state)
    return Shown(array, row, slots.get(items[0].job, 0), whole.start, 0, held)


def _planned_cells(clock: WrittenTimes, item: PlannedJob, wide: bool) -> tuple[str, ...]:
    beside = smallest_difference((item.start, item.bound))
    if item.start is None:
        early = clock.text(item.estimate)
        start = "no estimate" if item.estimate is None else f"no sooner than {early}"
        where = hosts_text(item.reserved, wide)
    else:
        start = clock.text(item.start, beside)
        where = hosts_text(item.allocation, wide)
    bound = "" if item.bound is None else f"not before {clock.text(item.bound, beside)}"
    proof = proof_text(item.proved, item.proved_if)
    status = item.fallback or proof or bound or item.method
    needs = f"needs BACKFILL in queue {item.needs_backfill}" if item.needs_backfill else ""
    why = "; ".join(filter(None, (item.waits_for, needs, item.exact_fit)))
    return start, status, where, why


def _state(instance: Instance, plan: Plan, item: PlannedJob) -> State:
    if item.start == instance.now:
        return "now"
    claims = plan.method in ("optimal", "milp")
    return "unproved" if claims and not item.proved else "later"


def _summary(plan: Plan, clock: WrittenTimes) -> str:
    from ..solver.advice.compare import plan_sentences

    ended = [_ENDED_EARLY] if _may_improve(plan) else []
    first = " ".join(filter(None, (*plan_sentences(plan), clock.note)))
    return _paragraphs([first, *ended, *plan.notes])


def _paragraphs(texts: Iterable[str]) -> str:
    return "".join(map(paragraph, texts))


# --- a comparison -------------------------------------------------------------------------------


def comparison_output(
    instance: Instance, comparison: Comparison, format: str, selection: Selection = _ALL
) -> str:
    """A comparison in one of the output formats, with a final newline."""
    if format == "text":
        return _comparison_text(instance, comparison, selection)
    record = comparison.to_dict()
    if not selection.everything:
        chosen = selection.choose(_compared(instance, comparison, selection, fold=False))
        record["jobs"] = _in_order(record["jobs"], [item.job for item in chosen])
    if format == "json":
        return json.dumps(record, indent=2) + "\n"
    return csv_text(comparison.columns(), record["jobs"])


def _comparison_text(instance: Instance, comparison: Comparison, selection: Selection) -> str:
    cautions = comparison.cautions()
    clock = _clock(instance, comparison)
    layout = _Layout(clock, comparison.simulated, cautions.marks, selection.wide)
    likely = likely_columns() if comparison.forecast is not None else ()
    columns = (
        *(Column("JOB", marked=True), Column("SLOTS")),
        *(Column(f"{method.upper()}\n{kind}") for method, kind, _ in layout.starts),
        *likely,
        *(Column("PROVED", marked=True), Column("GAIN", line=1)),
        *(Column("WAITS FOR", line=1, label=""), Column("WHERE", line=1, label="on")),
    )
    ended = [_ENDED_EARLY] if _may_improve(comparison.optimal) else []
    below = [*comparison.summary(), *cautions.lines, *ended, *cautions.rest]
    rows = _compared(instance, comparison, selection, layout)
    return selection.text(instance, columns, rows, clock) + _paragraphs(
        [*below, *_legend(instance, comparison, clock)]
    )


def _clock(instance: Instance, comparison: Comparison) -> WrittenTimes:
    names = (*(name for _, _, name in _STARTS), "time_based_no_sooner")
    times = [getattr(row, name) for row in comparison for name in names]
    from ..solver.advice.likely import times_of

    forecast = comparison.forecast or {}
    times += [time for likely in forecast.values() for time in times_of(likely).values()]
    return WrittenTimes.of(instance, times)


#: The starts of a row: the method, what the start is, its name.
_STARTS = (
    ("greedy", "ESTIMATE", "greedy_estimate"),
    ("greedy", "SIMULATED", "greedy_simulated"),
    ("time-based", "ESTIMATE", "time_based_estimate"),
    ("time-based", "SIMULATED", "time_based_simulated"),
    ("optimal", "ESTIMATE", "optimal_estimate"),
    ("optimal", "SIMULATED", "optimal_simulated"),
)


@dataclass(frozen=True, slots=True)
class _Layout:
    """How rows are shown."""

    clock: WrittenTimes
    #: Methods.
    simulated: tuple[str, ...]
    #: Of cautions, by method and job.
    marks: Mapping[tuple[str, str], str]
    wide: bool

    @property
    def starts(self) -> list[tuple[str, str, str]]:
        """Those of the starts that have a column."""
        return [item for item in _STARTS if item[1] == "ESTIMATE" or item[0] in self.simulated]


def _compared(
    instance: Instance,
    comparison: Comparison,
    selection: Selection,
    layout: _Layout | None = None,
    *,
    fold: bool = True,
) -> list[Shown]:
    if layout is None:
        layout = _Layout(WrittenTimes(instance), comparison.simulated, {}, selection.wide)
    found = []
    words = comparison.missing_starts(layout.clock.short)
    for row in comparison:
        missing = {name: of_jobs.get(row.job, "?") for name, of_jobs in words.items()}
        likely: tuple[str, ...] = ()
        if comparison.forecast is not None:
            likely = likely_cells(layout.clock, comparison.forecast.get(row.job), short=True)
        cells = _compared_cells(row, missing, likely, layout)
        state: State = "later" if row.proved else "unproved"
        if row.optimal_estimate is None:
            state = "unplaced"
        elif row.optimal_estimate == instance.now:
            state = "now"
        listed = ListingRow(cells, state)
        start, gain = row.optimal_estimate, row.gain or 0
        found.append(Shown(row.job, listed, row.slots, start, gain, row.allocation))
    return _compared_arrays(layout.clock, found, selection) if fold else found


def _compared_arrays(clock: WrittenTimes, found: list[Shown], selection: Selection) -> list[Shown]:
    """The rows with the elements of an array as one: its first, and when its last one starts."""
    rows: dict[str, list[Shown]] = {}
    for item in found:
        rows.setdefault(selection.folded(item.job) or item.job, []).append(item)
    shown = []
    for job, items in rows.items():
        if items[0].job == job:
            shown += items
            continue
        name = array_name(job, [item.job for item in items])
        first = items[0]
        last = max(items, key=lambda item: -1 if item.start is None else item.start)
        note = f"each as the first, {first.job}; "
        if last.start != first.start and last.start is not None:
            note += f"the last, {last.job}, starts {clock.text(last.start)}; "
        *cells, why, where = first.row.cells
        note = (note + why).removesuffix("; ")
        row = ListingRow((name, *cells[1:], note, where), first.row.state)
        shown.append(replace(first, job=job, row=row, gain=sum(item.gain for item in items)))
    return shown


def _compared_cells(
    row: ComparedJob, missing: Mapping[str, str], likely: tuple[str, ...], layout: _Layout
) -> tuple[str, ...]:
    times: list[int | None] = [getattr(row, name) for _, _, name in layout.starts]
    beside = smallest_difference(times)

    def clock(method: str, name: str, time: int | None) -> str:
        mark = layout.marks.get((method, row.job), "") if name.endswith("_estimate") else ""
        text = missing[name] if time is None else layout.clock.short(time, beside)
        needs = "(BACKFILL)" if name == "optimal_estimate" and row.needs_backfill else ""
        return " ".join(filter(None, (text, needs, mark)))

    cells = [
        clock(method, name, time)
        for (method, _, name), time in zip(layout.starts, times, strict=True)
    ]
    proved = yes_or_no(row.proved, row.proved_if) if row.optimal_estimate is not None else ""
    gain = "" if row.gain is None else duration_text(row.gain)
    note = row.waits_for + (f" ({row.fallback})" if row.fallback else "")
    if row.needs_backfill:
        note += f" (needs BACKFILL in queue {row.needs_backfill})"
    if row.exact_fit:
        note += f" ({row.exact_fit})"
    where = hosts_text(row.allocation, layout.wide)
    return (row.job, str(row.slots), *cells, *likely, proved, gain, note.strip(), where)


def _legend(instance: Instance, comparison: Comparison, clock: WrittenTimes) -> list[str]:
    """What the columns mean, and which are not there."""
    texts = [
        clock.note,
        "ESTIMATE is the start that a method says now (greedy: no sooner than), SIMULATED the one "
        "that the scheduler loop reaches when it runs on by this method. GAIN is from greedy "
        "SIMULATED to optimal ESTIMATE.",
    ]
    if comparison.forecast is not None:
        texts.append(
            "LIKELY is when a job starts as often before as after, by the history, "
            f"run by {comparison.run_by}."
        )
    legend = " ".join(filter(None, texts))
    return [legend, *_not_simulated(instance, comparison)]


def _not_simulated(instance: Instance, comparison: Comparison) -> list[str]:
    from ..solver.advice.compare import MOST_SIMULATED

    names = [plan.method for plan in (comparison.time_based, comparison.optimal)]
    lacking = [name for name in names if name not in comparison.simulated]
    if not lacking:
        return []
    if len(instance.pending) > MOST_SIMULATED and len(lacking) == len(names):
        return [
            f"More than {MOST_SIMULATED} jobs wait: by {' and '.join(lacking)} they are simulated "
            "with --simulated only."
        ]
    if lacking == ["optimal"]:
        return ["The scheduler loop plans in priority order: optimal is not simulated."]
    return []


def _may_improve(plan: Plan) -> bool:
    """Whether a longer search may prove more: nothing but its end kept it from that."""
    return plan.status == "feasible" and not plan.left_out and not plan.rounded
