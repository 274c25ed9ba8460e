"""Plans as listings, JSON and CSV."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..model.display import WrittenTimes, smallest_difference, with_stamps
from ..model.omissions import sentences
from ..model.plan import (
    NOT_PROVED,
    PLANNED_TIMES,
    PlannedArray,
    array_name,
    profile_text,
    proof_text,
    starts_text,
)
from .outlook_text import NO_START, NOTHING, Stated
from .selection import Selection, Shown
from .tables import (
    TEXT_WIDTH,
    Column,
    ListingRow,
    State,
    csv_text,
    hosts_text,
    json_text,
    paragraph,
)

if TYPE_CHECKING:
    from ..model.instance import Instance
    from ..model.plan import Plan, PlannedJob
    from ..solver.outlook.outlook import JobOutlook, Outlook

#: Sentence below a plan whose search stopped before all starts were proved.
ENDED_EARLY = (
    "The search ended before everything was proved: a longer --time-limit may find a better plan."
)

#: The columns of a plan as CSV.
_COLUMNS = (
    *("job", "start", "finish", "allocation", "method", "bound", "proved", "waits_for"),
    *("estimate", "reserved", "fallback", "alternative", "needs_backfill", "terms", "exact_fit"),
    *("proved_if", "decided_by", "state"),
)

_ALL = Selection()


def _state(instance: Instance, plan: Plan, item: PlannedJob) -> State:
    if item.start == instance.now:
        return "now"
    claims = plan.method in ("optimal", "milp")
    return "unproved" if claims and not item.proved else "later"


def plan_output(
    instance: Instance,
    plan: Plan,
    format: str,
    selection: Selection = _ALL,
    outlook: Outlook | None = None,
    states: Stated = NOTHING,
) -> str:
    """Return a plan in one of the output formats, with a final newline.

    outlook: starts as configured, to be shown too; None if not requested. states: then of the jobs
    that the plan cannot place, with the events that they need.
    """
    if outlook is not None:
        states = {item.job: (item.state, item.condition) for item in outlook.jobs}
    if format == "text":
        return _plan_text(instance, plan, selection, outlook, states)
    from ..model.formats.plan_file import plan_record
    from ..solver.outlook.outlook import words_of

    record = plan.to_dict()
    if outlook is not None:
        record["outlook"] = outlook.to_dict()
    if not selection.everything:
        shown = _planned(instance, plan, selection, fold=False)
        chosen = [item.job for item in selection.choose(shown)]
        for key in ("reservations", "unplaced"):
            record[key] = in_order(record[key], chosen)
    if format == "json":
        return json_text(plan_record(record, instance))
    rows = list(record["reservations"])
    rows += [{"job": item["job"], "waits_for": item["reason"]} for item in record["unplaced"]]
    columns = list(with_stamps(dict.fromkeys(_COLUMNS), plan.origin, PLANNED_TIMES))
    words = words_of(plan, states)
    for row in rows:
        row["state"] = words.get(row["job"], "starts")
    if outlook is None:
        return csv_text(columns, rows)
    told = {item.job: item for item in outlook}
    rows = [row | _configured(told[row["job"]], plan.origin) for row in rows]
    empty = with_stamps({"as_configured": None}, plan.origin, ("as_configured",))
    return csv_text([*columns, *empty, "as_configured_state"], rows)


def _configured(item: JobOutlook, origin: str | None) -> dict[str, Any]:
    record = {"as_configured": item.as_configured, "as_configured_state": item.state}
    return with_stamps(record, origin, ("as_configured",))


def in_order(records: list[dict[str, Any]], chosen: list[str]) -> list[dict[str, Any]]:
    by_job = {record["job"]: record for record in records}
    return [by_job[job] for job in chosen if job in by_job]


def _plan_text(
    instance: Instance,
    plan: Plan,
    selection: Selection,
    outlook: Outlook | None,
    states: Stated,
) -> str:
    estimates = any(item.start is None for item in plan)
    columns = (
        Column("JOB", marked=True),
        *(() if outlook is None else (Column("AS CONFIGURED"),)),
        Column("START", marked=True, label="starts", bare=(*NO_START, "no estimate")),
        Column("STATUS", label="", marked=True),
        Column("WHERE / RESERVED NOW" if estimates else "WHERE", line=1, label="on"),
        Column("WAITS FOR", line=1, label=""),
    )
    times = [time for item in plan for time in (item.start, item.estimate, item.bound)]
    times += [] if outlook is None else [item.as_configured for item in outlook.jobs]
    clock = WrittenTimes.of(instance, times)
    rows = _planned(instance, plan, selection, clock, states)
    if outlook is not None:
        rows = _with_configured(clock, rows, outlook)
    notes = _notes_of(plan, selection.jobs_of(rows))
    return selection.text(instance, columns, rows, clock) + _summary(plan, clock, states, notes)


def _with_configured(clock: WrittenTimes, rows: list[Shown], outlook: Outlook) -> list[Shown]:
    """Return the rows with a column more: the start as configured.

    An array has the first and the last start of its elements.
    """
    found = {item.job: item for item in outlook.jobs}
    shown = []
    for row in rows:
        jobs = [found[job] for job in row.members or (row.job,)]
        cells = _inserted(clock, row.row.cells, jobs)
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
    states: Stated = NOTHING,
    *,
    fold: bool = True,
) -> list[Shown]:
    """Return a row for each job: START, STATUS, WHERE, WAITS FOR; fold: a row for each array."""
    from ..solver.outlook.outlook import words_of

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
    words = words_of(plan, states)
    missed: dict[tuple[str, str, str], list[str]] = {}
    for missing in plan.unplaced:
        array = selection.folded(missing.job) if fold else None
        word, reason = words[missing.job], missing.reason
        if missing.job in states and states[missing.job][0] == word:
            reason = states[missing.job][1]
        missed.setdefault((array or missing.job, word, reason), []).append(missing.job)
    for (job, word, reason), jobs in missed.items():
        name = job if jobs == [job] else array_name(job, jobs)
        row = ListingRow((name, word, "", "", reason), "unplaced")
        found.append(Shown(job, row, slots.get(jobs[0], 0), members=tuple(jobs)))
    return found


def _by_array(plan: Plan, selection: Selection) -> Iterable[tuple[str | None, list[PlannedJob]]]:
    """Return the jobs of a plan in their order, the elements of an array under its id."""
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
    """Return the elements of an array as one row."""
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
    members = tuple(item.job for item in items)
    return Shown(array, row, slots.get(items[0].job, 0), whole.start, 0, held, members)


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
    status = _short(item.fallback) or proof or bound or item.method
    needs = f"needs BACKFILL in queue {item.needs_backfill}" if item.needs_backfill else ""
    why = "; ".join(filter(None, (item.waits_for, needs, item.exact_fit)))
    return start, status, where, why


def _short(fallback: str) -> str:
    """Return why a lesser method answered; the full reason is printed below the table."""
    return NOT_PROVED if fallback.startswith(f"{NOT_PROVED}: ") else fallback


def _notes_of(plan: Plan, jobs: Collection[str] | None) -> list[str]:
    """Return the notes of a plan without omissions that touch none of these jobs; None: all."""
    left = () if jobs is None else (item for item in plan.omissions if item.jobs)
    others = [item for item in left if not any(item.touches(job) for job in jobs or ())]
    texts = sentences(others, of_one=True)
    heads = tuple(f"{text} (" for text in texts)
    return [note for note in plan.notes if note not in texts and not note.startswith(heads)]


def _summary(plan: Plan, clock: WrittenTimes, states: Stated, notes: Iterable[str]) -> str:
    from ..solver.advice.sentences import plan_sentences
    from ..solver.outlook.outlook import words_of

    early = [ENDED_EARLY] if may_prove_more(plan) else []
    first = " ".join(filter(None, (*plan_sentences(plan, words_of(plan, states)), clock.note)))
    return paragraphs([first, *early, *notes], clock.instance)


def paragraphs(texts: Iterable[str], instance: Instance, width: int = TEXT_WIDTH) -> str:
    """Return paragraphs in the words of the instance's scheduler."""
    return "".join(paragraph(text, instance=instance, width=width) for text in texts)


def may_prove_more(plan: Plan) -> bool:
    """Whether a longer search may prove more: nothing but its end kept it from that."""
    return plan.status == "feasible" and not plan.left_out and not plan.rounded
