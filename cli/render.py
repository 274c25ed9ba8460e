"""Plans and comparisons as listings, JSON and CSV."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..model.array_starts import array_name, profile_text, starts_text
from ..model.plan import PlannedArray
from ..model.time_text import (
    clock_text,
    duration_text,
    short_clock_text,
    smallest_difference,
    with_stamps,
)
from .csv_tables import csv_text
from .forecast import likely_cells, likely_columns
from .selection import Selection, Shown
from .tables import Column, ListingRow, State, hosts_text, paragraph

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
    return selection.text(instance, columns, _planned(instance, plan, selection)) + _summary(plan)


def _planned(
    instance: Instance, plan: Plan, selection: Selection, *, fold: bool = True
) -> list[Shown]:
    """Every job of the plan as a row: START, STATUS, WHERE, WAITS FOR; fold: an array as one."""
    slots = {job.id: job.slots for job in instance.pending}
    found = []
    rows = _by_array(plan, selection) if fold else [(None, [item]) for item in plan]
    for array, items in rows:
        if array is not None:
            found.append(_planned_array(instance, plan, array, items, slots))
            continue
        (item,) = items
        cells = (item.job, *_planned_cells(instance, item, selection.wide))
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
    instance: Instance,
    plan: Plan,
    array: str,
    items: list[PlannedJob],
    slots: Mapping[str, int],
) -> Shown:
    """The elements of an array as one row."""
    from ..solver.shortage import counted

    name = array_name(array, [item.job for item in items])
    whole = PlannedArray.of(array, items)
    start, status, where, why = _planned_cells(instance, whole.last, wide=False)
    count = counted(len(items), "element")
    if whole.start is None:
        cells = (name, start, f"{status}, {count}", where, why)
    else:
        hosts = {host for item in items for host in item.allocation}
        where = f"{count} on {counted(len(hosts), 'host')}"
        proved = sum(item.proved for item in items)
        if proved:
            status = "proved" if proved == len(items) else f"{proved} proved"
        why = "; ".join(filter(None, (profile_text(instance, whole), why)))
        cells = (name, starts_text(instance, whole), status, where, why)
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


def _planned_cells(instance: Instance, item: PlannedJob, wide: bool) -> tuple[str, ...]:
    beside = smallest_difference((item.start, item.bound))
    if item.start is None:
        clock = clock_text(instance, item.estimate)
        start = "no estimate" if item.estimate is None else f"no sooner than {clock}"
        where = hosts_text(item.reserved, wide)
    else:
        start = clock_text(instance, item.start, beside)
        where = hosts_text(item.allocation, wide)
    status = item.fallback or (
        "proved"
        if item.proved
        else f"not before {clock_text(instance, item.bound, beside)}"
        if item.bound is not None
        else item.method
    )
    needs = f"needs BACKFILL in queue {item.needs_backfill}" if item.needs_backfill else ""
    why = "; ".join(filter(None, (item.waits_for, needs, item.exact_fit)))
    return start, status, where, why


def _state(instance: Instance, plan: Plan, item: PlannedJob) -> State:
    if item.start == instance.now:
        return "now"
    claims = plan.method in ("optimal", "milp")
    return "unproved" if claims and not item.proved else "later"


def _summary(plan: Plan) -> str:
    text = f"{plan.method}, {plan.objective}: {plan.status}"
    if plan.value is not None:
        text += f", value {plan.value:.15g}"
    if plan.bound is not None:
        text += f", bound {plan.bound:.15g}"
    ended = [_ENDED_EARLY] if _may_improve(plan) else []
    return _paragraphs([text, *ended, *plan.notes])


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
    real = [Column("REALLY")] if comparison.really else []
    likely = likely_columns() if comparison.forecast is not None else ()
    columns = (
        *(Column("JOB", marked=True), Column("SLOTS"), Column("GREEDY"), Column("REALLY")),
        *(Column("TIME-BASED"), *real, Column("OPTIMAL", marked=True), *real, *likely),
        *(Column("PROVED", marked=True), Column("GAIN", line=1)),
        *(Column("WAITS FOR", line=1, label=""), Column("WHERE", line=1, label="on")),
    )
    ended = [_ENDED_EARLY] if _may_improve(comparison.optimal) else []
    below = [*_footer(instance, comparison), *ended, *comparison.notes()]
    return selection.text(
        instance, columns, _compared(instance, comparison, selection)
    ) + _paragraphs(below)


def _compared(
    instance: Instance, comparison: Comparison, selection: Selection, *, fold: bool = True
) -> list[Shown]:
    found = []
    words = comparison.missing_starts()
    for row in comparison:
        missing = {name: of_jobs.get(row.job, "?") for name, of_jobs in words.items()}
        likely: tuple[str, ...] = ()
        if comparison.forecast is not None:
            likely = likely_cells(instance, comparison.forecast.get(row.job), short=True)
        cells = _compared_cells(
            instance, row, missing, likely, really=comparison.really, wide=selection.wide
        )
        state: State = "later" if row.proved else "unproved"
        if row.optimal is None:
            state = "unplaced"
        elif row.optimal == instance.now:
            state = "now"
        gain = row.gain or 0
        shown = ListingRow(cells, state)
        found.append(Shown(row.job, shown, row.slots, row.optimal, gain, row.allocation))
    return _compared_arrays(instance, found, selection) if fold else found


def _compared_arrays(instance: Instance, found: list[Shown], selection: Selection) -> list[Shown]:
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
            note += f"the last, {last.job}, starts {clock_text(instance, last.start)}; "
        *cells, why, where = first.row.cells
        note = (note + why).removesuffix("; ")
        row = ListingRow((name, *cells[1:], note, where), first.row.state)
        shown.append(replace(first, job=job, row=row, gain=sum(item.gain for item in items)))
    return shown


def _compared_cells(
    instance: Instance,
    row: ComparedJob,
    missing: Mapping[str, str],
    likely: tuple[str, ...],
    *,
    really: bool,
    wide: bool,
) -> tuple[str, ...]:
    times = (row.greedy_estimate, row.greedy_start, row.time_based, row.optimal)
    late = (row.time_based_start, row.optimal_start) if really else ()
    beside = smallest_difference((*times, *late))

    def clock(name: str) -> str:
        time: int | None = getattr(row, name)
        if time is None:
            return missing[name]
        needs = " (BACKFILL)" if name == "optimal" and row.needs_backfill else ""
        return short_clock_text(instance, time, beside) + needs

    names = ["greedy_estimate", "greedy_start", "time_based", "optimal"]
    if really:
        names[3:] = ["time_based_start", "optimal", "optimal_start"]
    cells = map(clock, names)
    proved = "yes" if row.proved else "no" if row.optimal is not None else ""
    gain = "" if row.gain is None else duration_text(row.gain)
    note = row.waits_for + (f" ({row.fallback})" if row.fallback else "")
    if row.needs_backfill:
        note += f" (needs BACKFILL in queue {row.needs_backfill})"
    if row.exact_fit:
        note += f" ({row.exact_fit})"
    where = hosts_text(row.allocation, wide)
    return (row.job, str(row.slots), *cells, *likely, proved, gain, note.strip(), where)


def _uncounted(comparison: Comparison) -> str:
    """How many optimal starts a queue without BACKFILL would not give: they are no gain."""
    from ..solver.shortage import counted

    needy = [row.needs_backfill for row in comparison if row.needs_backfill]
    if not needy:
        return ""
    queues = ", ".join(dict.fromkeys(needy))
    needs = "need" if len(needy) > 1 else "needs"
    return f" {counted(len(needy), 'start')} {needs} BACKFILL in queue {queues}: not counted."


def _footer(instance: Instance, comparison: Comparison) -> list[str]:
    from ..solver.shortage import counted

    gains = [row.gain for row in comparison if row.gain is not None]
    proved = counted(sum(row.proved for row in comparison), "start")
    lending = sum(queue.backfill for queue in instance.queues)
    all_reserve = all(queue.reserve_cycles is None for queue in instance.queues)
    where = ", reserving in every queue" if all_reserve else ""
    queues = counted(len(instance.queues), "queue")
    return [
        f"{len(comparison.jobs)} pending; {proved} proved the earliest; against greedy as this "
        f"cluster is configured (BACKFILL in {lending} of {queues}{where}): "
        f"{duration_text(sum(gains))} of waiting saved in all.{_uncounted(comparison)}",
        f"{'Times count from now. ' if instance.origin is None else ''}"
        "GREEDY is LSF's estimate (no sooner than), REALLY the start that a method gives when the "
        "loop runs on."
        + (
            ""
            if comparison.forecast is None
            else " LIKELY is when a job really starts as often before as after, by the history, "
            f"run by {comparison.run_by}."
        ),
    ]


def _may_improve(plan: Plan) -> bool:
    """Whether a longer search may prove more: nothing but its end kept it from that."""
    return plan.status == "feasible" and not plan.left_out and not plan.rounded
