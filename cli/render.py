"""Plans as listings, JSON and CSV."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..model.display import WrittenTimes, smallest_difference, with_stamps
from ..model.job import array_of
from ..model.plan import PlannedArray, array_name, profile_text, proof_text, starts_text
from .selection import Selection, Shown
from .tables import Column, ListingRow, State, csv_text, hosts_text, paragraph

if TYPE_CHECKING:
    from ..model.instance import Instance
    from ..model.plan import Plan, PlannedJob
    from ..solver.outlook.records import JobOutlook, Outlook


#: What the word "feasible" means to someone who waits for an answer.
ENDED_EARLY = "The search was ended before all was proved: a longer --time-limit may find better."

#: The columns of a plan as CSV, and those of them that are times.
_COLUMNS = (
    *("job", "start", "finish", "allocation", "method", "bound", "proved", "waits_for"),
    *("estimate", "reserved", "fallback", "alternative", "needs_backfill", "terms", "exact_fit"),
    "proved_if",
)
_TIMES = ("start", "finish", "bound", "estimate")
_ALL = Selection()


def plan_output(
    instance: Instance,
    plan: Plan,
    format: str,
    selection: Selection = _ALL,
    outlook: Outlook | None = None,
) -> str:
    """A plan in one of the output formats, with a final newline.

    outlook: the starts as configured beside it, None where they are not asked for.
    """
    if format == "text":
        return _plan_text(instance, plan, selection, outlook)
    from ..model.formats.plan_file import plan_record

    record = plan.to_dict()
    if outlook is not None:
        record["outlook"] = outlook.to_dict()
    if not selection.everything:
        shown = _planned(instance, plan, selection, fold=False)
        chosen = [item.job for item in selection.choose(shown)]
        for key in ("reservations", "unplaced"):
            record[key] = in_order(record[key], chosen)
    if format == "json":
        return json.dumps(plan_record(record, instance), indent=2) + "\n"
    rows = list(record["reservations"])
    rows += [{"job": item["job"], "waits_for": item["reason"]} for item in record["unplaced"]]
    return csv_text(list(with_stamps(dict.fromkeys(_COLUMNS), plan.origin, _TIMES)), rows)


def in_order(records: list[dict[str, Any]], chosen: list[str]) -> list[dict[str, Any]]:
    by_job = {record["job"]: record for record in records}
    return [by_job[job] for job in chosen if job in by_job]


def _plan_text(
    instance: Instance, plan: Plan, selection: Selection, outlook: Outlook | None
) -> str:
    estimates = any(item.start is None for item in plan)
    columns = (
        Column("JOB", marked=True),
        *(() if outlook is None else (Column("AS CONFIGURED"),)),
        Column("START", marked=True, label="starts"),
        Column("STATUS", label="", marked=True),
        Column("WHERE / RESERVED NOW" if estimates else "WHERE", line=1, label="on"),
        Column("WAITS FOR", line=1, label=""),
    )
    times = [time for item in plan for time in (item.start, item.estimate, item.bound)]
    times += [] if outlook is None else [item.as_configured for item in outlook]
    clock = WrittenTimes.of(instance, times)
    rows = _planned(instance, plan, selection, clock)
    if outlook is not None:
        rows = _with_configured(clock, rows, outlook)
    return selection.text(instance, columns, rows, clock) + _summary(plan, clock)


def _with_configured(clock: WrittenTimes, rows: list[Shown], outlook: Outlook) -> list[Shown]:
    """The rows with the start as configured behind the name; of an array from first to last."""
    found: dict[str, list[JobOutlook]] = {}
    for item in outlook:
        found.setdefault(item.job, []).append(item)
        if (array := array_of(item.job)) is not None:
            found.setdefault(array, []).append(item)
    shown = []
    for row in rows:
        jobs = found[row.job]
        cells = _inserted(clock, row.row.cells, jobs)
        if cells[2] == "never" and jobs[0].state != "starts":
            cells = (*cells[:2], jobs[0].state, *cells[3:])
        later = any(item.as_configured != outlook.now for item in jobs)
        state: State = "unproved" if row.row.state == "now" and later else row.row.state
        shown.append(replace(row, row=ListingRow(cells, state)))
    return shown


def _inserted(
    clock: WrittenTimes, cells: tuple[str, ...], jobs: list[JobOutlook]
) -> tuple[str, ...]:
    starts = sorted(item.as_configured for item in jobs if item.as_configured is not None)
    beside = smallest_difference(starts)
    texts = dict.fromkeys(clock.text(start, beside) for start in starts[:1] + starts[-1:])
    words = dict.fromkeys(item.state for item in jobs if item.as_configured is None)
    return (cells[0], "; ".join((" to ".join(texts), *words)).lstrip("; "), *cells[1:])


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
    from ..solver.advice.sentences import plan_sentences

    ended = [ENDED_EARLY] if may_improve(plan) else []
    first = " ".join(filter(None, (*plan_sentences(plan), clock.note)))
    return paragraphs([first, *ended, *plan.notes])


def paragraphs(texts: Iterable[str]) -> str:
    return "".join(map(paragraph, texts))


def may_improve(plan: Plan) -> bool:
    """Whether a longer search may prove more: nothing but its end kept it from that."""
    return plan.status == "feasible" and not plan.left_out and not plan.rounded
