"""Plans and comparisons as listings, JSON and CSV."""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from ..model.display import (
    WrittenTimes,
    duration_text,
    hours_text,
    smallest_difference,
    wall_clock,
    with_stamps,
)
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
from ..model.slurm_words import family_text
from .forecast import likely_cells, likely_columns
from .outlook_text import NO_START, NOTHING, Stated, caution_names, could_start, short_reason
from .selection import Selection, Shown
from .tables import (
    TEXT_WIDTH,
    Column,
    ListingRow,
    State,
    TableStyle,
    as_cards,
    csv_text,
    hosts_text,
    json_text,
    paragraphs,
    terminal_width,
)

if TYPE_CHECKING:
    from ..model.instance import Instance
    from ..model.plan import Method, Plan, PlannedJob
    from ..solver.advice.comparison import ComparedJob, Comparison
    from ..solver.outlook.outlook import JobOutlook, Outlook


#: Sentence below a plan whose search stopped before all starts were proved.
ENDED_EARLY = (
    "The search ended before everything was proved: a longer --time-limit may find a better plan."
)

#: The columns of a plan as CSV.
_PLAN_COLUMNS = (
    *("job", "start", "finish", "allocation", "method", "bound", "proved", "waits_for"),
    *("estimate", "reserved", "fallback", "alternative", "needs_backfill", "terms", "exact_fit"),
    *("proved_if", "decided_by", "state"),
)

_ALL = Selection()


def _plan_state(instance: Instance, plan: Plan, item: PlannedJob) -> State:
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
    columns = list(with_stamps(dict.fromkeys(_PLAN_COLUMNS), plan.origin, PLANNED_TIMES))
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
        row = ListingRow(cells, _plan_state(instance, plan, item))
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
    states = {_plan_state(instance, plan, item) for item in items}
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


def may_prove_more(plan: Plan) -> bool:
    """Whether a longer search may prove more: nothing but its end kept it from that."""
    return plan.status == "feasible" and not plan.left_out and not plan.rounded


#: Maximum width of a comparison without allocations, and of a reason in it, in characters.
MAX_WIDTH, MAX_REASON = 100, 32
#: Lengths of the lines of reasons, two each, in a terminal that is too narrow for one.
_SHORTER = (26, 20, 14)
#: A number before the end of a truncated text, with the word that joins it.
_LAST_NUMBER = re.compile(r",?(?:\s+and)?\s+\d[\d,.:]* …$")
#: Key of the marks of starts as configured.
CONFIGURED = "configured"
#: Keys of a job whose values are records.
_RECORDS = ("greedy", "time_based", "optimal")
#: Text for an estimate that a method does not give.
_NONE = "–"
#: Columns that a narrow terminal omits before it shortens reasons, in order; "": none.
_CONFIGURED: Final = ("", "FREE WHEN", "USER")
_BY_METHODS: Final = ("", "WAITS FOR", "TIME-BASED\nSAYS", "GREEDY\nSAYS")


def comparison_output(
    instance: Instance, comparison: Comparison, format: str, selection: Selection = _ALL
) -> str:
    """Return a comparison in one of the output formats, with a final newline."""
    if format == "text":
        return _text(_Table(instance, comparison, selection))
    record = comparison.to_dict()
    if not selection.everything:
        rows = [_shown([row], comparison) for row in comparison]
        record["jobs"] = in_order(record["jobs"], [item.job for item in selection.choose(rows)])
    if format == "json":
        return json_text(record)
    # The starts by each method have columns of their own.
    columns = [name for name in comparison.columns() if name not in _RECORDS]
    return csv_text(columns, [row | caution_names(row) for row in record["jobs"]])


def _column(title: str, *, right: bool = False, marked: bool = False) -> Column:
    line = int(title in ("WAITS FOR", "FREE WHEN"))
    return Column(title, line=line, right=right, marked=marked)


@dataclass(frozen=True)
class _Table:
    """The table of one comparison: as configured, or by methods."""

    instance: Instance
    comparison: Comparison
    selection: Selection

    @cached_property
    def clock(self) -> WrittenTimes:
        """Return the format of times; of several days, starts by methods count from now."""
        clock = WrittenTimes.of(self.instance, _times(self.comparison))
        if self.methods and clock.day is None:
            return WrittenTimes(replace(self.instance, origin=None))
        return clock

    @property
    def methods(self) -> tuple[Method, ...]:
        """Return the compared methods, () if the starts as configured are shown."""
        return self.comparison.methods

    @property
    def reference(self) -> Method | None:
        """Return the method over which the optimal one saves waiting, None if there is none."""
        return self.methods[0] if "optimal" in self.methods[1:] else None

    @cached_property
    def marks(self) -> Mapping[tuple[str, str], str]:
        """Return the marks of footnotes by method (or "configured") and job."""
        return self.comparison.cautions(footnotes=True).marks

    @cached_property
    def words(self) -> Mapping[str, Mapping[str, str]]:
        """Return for each time of a row the word where a job has none."""
        return self.comparison.missing_starts(self.clock.short)

    @cached_property
    def users(self) -> Mapping[str, str]:
        """Return the user of each pending job."""
        return {job.id: job.user for job in self.instance.pending}

    def fitting(self) -> tuple[Sequence[Column], list[Shown], TableStyle]:
        """Return the columns and rows that fit the terminal; all columns if only cards do."""
        columns, rows, foot = self._columns(), self._rows(), self._foot()
        wide = self.selection.wide
        style = TableStyle(TEXT_WIDTH if wide else MAX_WIDTH, between=2, foot=foot)
        omitted: list[str] = []
        lengths = () if wide else _SHORTER
        steps = [(MAX_REASON, title) for title in (_BY_METHODS if self.methods else _CONFIGURED)]
        steps += [(length, "") for length in lengths]
        for length, title in (*steps, (min(lengths, default=MAX_REASON), "SLOTS")):
            omitted.append(title)
            chosen = [n for n, column in enumerate(columns) if column.title not in omitted]
            left = [columns[n] for n in chosen]
            found = [_with_cells(row, chosen, length) for row in rows]
            fitted = replace(style, foot=tuple(foot[n] for n in chosen if foot))
            if not as_cards(left, [row.row for row in found], terminal_width(), fitted):
                return left, found, fitted
        return columns, rows, style

    def _columns(self) -> list[Column]:
        likely = likely_columns() if self.comparison.forecast is not None else ()
        where = [Column("WHERE", line=1, label="on")] if self.selection.wide else []
        found = [_column("JOB", marked=True)]
        if not self.methods:
            found += [_column("USER"), _column("SLOTS", right=True), _column("AS CONFIGURED")]
            found += [_column("COULD START", marked=True), _column("EARLIER", right=True), *likely]
            return [*found, _column("WAITS FOR"), _column("FREE WHEN"), *where]
        found.append(_column("SLOTS", right=True))
        for method in self.methods:
            parts = ("START", "PROOF") if method == "optimal" else ("SAYS", "GETS")
            found += [_column(f"{method.upper()}\n{part}", right=part != "PROOF") for part in parts]
        if self.reference:
            found.append(_column(f"SAVES OVER\n{self.reference.upper()}", right=True))
        reason = [_column("WAITS FOR")] if "optimal" in self.methods else []
        return [*found, *likely, *reason, *where]

    def _cells(self, row: ComparedJob) -> list[str]:
        likely: Sequence[str] = ()
        if self.comparison.forecast is not None:
            likely = likely_cells(self.clock, self.comparison.forecast.get(row.job), short=True)
        where = [hosts_text(row.possible_on, wide=True)] if self.selection.wide else []
        if not self.methods:
            earlier = duration_text(row.earlier_by) if row.earlier_by else ""
            why = "" if row.as_configured == self.comparison.now else _why(row)
            starts = [self._configured(row), self._could_start(row), earlier, *likely]
            reasons = [self._short(why), _free_when(why)]
            return [row.job, self.users[row.job], str(row.slots), *starts, *reasons, *where]
        found = [row.job, str(row.slots)]
        for method in self.methods:
            found += self._by_method(row, method)
        if self.reference:
            found.append(self._saved(row, self.reference))
        why = "" if row.possible == self.comparison.now else _why_possible(row)
        reason = _truncated(": ".join(filter(None, (self._short(why), _free_when(why)))))
        return [*found, *likely, *([reason] if "optimal" in self.methods else []), *where]

    def _foot(self) -> tuple[str, ...]:
        """Return the sums of the waits, a text for each column; () as configured."""
        comparison = self.comparison
        if not self.methods or not self.selection.everything or len(comparison) < 2:
            return ()
        sums = {method: sum(each.values()) for method, each in comparison.waits_by().items()}
        texts = {"JOB": "sum"}
        for method, seconds in sums.items():
            part = "START" if method == "optimal" else "GETS"
            texts[f"{method.upper()}\n{part}"] = hours_text(seconds)
        texts["OPTIMAL\nPROOF"] = f"{comparison.reached()} of {len(comparison)}"
        if self.reference:
            saved = sums[self.reference] - sums["optimal"]
            texts[f"SAVES OVER\n{self.reference.upper()}"] = hours_text(saved)
        return tuple(texts.get(column.title, "") for column in self._columns())

    def _time(self, row: ComparedJob, name: str, time: int | None, mark: str = "") -> str:
        """Return a start as text, precise enough for the difference to the other starts."""
        if time is None:
            return self.words[name].get(row.job, _NONE)
        starts = [self.comparison.start_by(row, method) for method in self.methods]
        step = smallest_difference((*(starts or [row.as_configured, row.possible]), row.bound))
        return f"{self.clock.short(time, step)} {mark}".strip()

    def _mark(self, row: ComparedJob, method: str) -> str:
        return self.marks.get((method, row.job), "")

    def _configured(self, row: ComparedJob) -> str:
        return self._time(row, "as_configured", row.as_configured, self._mark(row, CONFIGURED))

    def _could_start(self, row: ComparedJob) -> str:
        evidence = ""
        if row.possible is not None:
            evidence = self._mark(row, "optimal") or ("" if row.proved else self._bound(row))
        return could_start(row, self._time(row, "possible", row.possible), evidence)

    def _bound(self, row: ComparedJob) -> str:
        if row.possible is None or row.bound is None or row.bound >= row.possible:
            return ""
        return f"≥ {self._time(row, 'possible', row.bound)}"

    def _by_method(self, row: ComparedJob, method: Method) -> tuple[str, str]:
        """Return what a method says and gets; of the optimal one the start and its proof."""
        name, mark = method.replace("-", "_"), self._mark(row, method)
        start, says = self.comparison.start_by(row, method), row.by(method).says
        if method == "optimal":
            proof = "proved" if row.proved else self._bound(row)
            if row.proved and start != row.possible:  # the scheduler reaches it later
                proof = f"≥ {self._time(row, 'possible', row.possible)}"
            return self._time(row, f"{name}_estimate", start, mark), proof
        early = self._time(row, f"{name}_estimate", says, mark).replace("no sooner than", "≥")
        reached = f"{name}_{'simulated' if method in self.comparison.simulated else 'estimate'}"
        return _NONE if early == "no estimate" else early, self._time(row, reached, start)

    def _saved(self, row: ComparedJob, method: Method) -> str:
        """Return what the optimal method saves a job over another one; a loss is negative."""
        start, best = (self.comparison.start_by(row, each) for each in (method, "optimal"))
        return "" if start is None or best is None or start == best else duration_text(start - best)

    def _short(self, why: str) -> str:
        return _truncated(family_text(self.instance, short_reason(why)))

    def _rows(self) -> list[Shown]:
        """Return a row for each job, or for each array with the id of its first element."""
        together: dict[str, list[ComparedJob]] = {}
        for row in self.comparison:
            together.setdefault(self.selection.folded(row.job) or row.job, []).append(row)
        at = [column.title == "WAITS FOR" for column in self._columns()]
        found = []
        for job, rows in together.items():
            cells = self._cells(rows[0])
            if rows[0].job != job:
                cells[0] = array_name(job, tuple(row.job for row in rows))
                if True in at:
                    both = filter(None, (self._last(rows), cells[at.index(True)]))
                    cells[at.index(True)] = _truncated("; ".join(both))
            found.append(_shown(rows, self.comparison, cells, job))
        return found

    def _last(self, rows: Sequence[ComparedJob]) -> str:
        """Return the start of the last element of an array, and how many have none."""
        without = Counter(row.state for row in rows if row.as_configured is None)
        starts = [row.possible for row in rows if row.possible is not None]
        last = [] if len({*starts}) < 2 else [f"the last {self.clock.short(max(starts))}"]
        return ", ".join((*last, *(f"{count} {word}" for word, count in without.items())))


def _text(table: _Table) -> str:
    """Return the table with its result in sentences, its footnotes, and how to show the other."""
    instance, comparison, selection = table.instance, table.comparison, table.selection
    columns, rows, style = table.fitting()
    head = "" if comparison.methods else f"{_headline(instance, comparison)}\n\n"
    listing = selection.text(instance, columns, rows, table.clock, style)
    cautions = comparison.cautions(footnotes=True)
    early = [ENDED_EARLY] if may_prove_more(comparison.optimal) else []
    lines = cautions.lines_of(selection.jobs_of(rows))
    below = [*_result(comparison), *lines, *early, *cautions.rest, " ".join(_legend(table))]
    return head + listing + paragraphs(below, instance, MAX_WIDTH)


def _result(comparison: Comparison) -> Sequence[str]:
    """Return the paragraphs on the result; by methods what the optimal one saves comes first."""
    from ..solver.advice.sentences import proof_sentence, state_sentences

    if not comparison.methods:
        return comparison.summary()
    proved = [proof_sentence(comparison.optimal)] if "optimal" in comparison.methods else []
    by = Counter(row.decided_by for row in comparison if row.decided_by).most_common()
    models = ", ".join(f"{model} ({count})" for model, count in by)
    later = sum(row.proved for row in comparison) - comparison.reached()
    if proved and later:
        proved[0] += f" The scheduler reaches {later} of them later."
    decided = [f"Decided by {models}."] if proved and models else []
    return [" ".join((*comparison.savings(), *proved, *decided, *state_sentences(comparison.jobs)))]


def _headline(instance: Instance, comparison: Comparison) -> str:
    """Return ``Mon 2 Mar 09:50 · 22 of 24 slots in use · 7 wait, none starts now``."""
    found = None if instance.origin is None else wall_clock(instance.origin, instance.now)
    at = "" if found is None else f"{found:%a} {found.day} {found:%b %H:%M} · "
    used = sum(run.slots for run in instance.running)
    slots = sum(host.slots for host in instance.cluster.hosts)
    now = sum(row.as_configured == comparison.now for row in comparison)
    starts = f"{now or 'none'} {'start' if now > 1 else 'starts'} now"
    text = f"{at}{used:,} of {slots:,} slots in use · {len(comparison)} pending, {starts}"
    return family_text(instance, text)


def _times(comparison: Comparison) -> Iterator[int | None]:
    from ..solver.advice.comparison import METHOD_STARTS
    from ..solver.advice.likely import times_of

    for row in comparison:
        yield from (row.possible, row.bound)
        if comparison.methods:
            yield from (getattr(row, name) for name in METHOD_STARTS)
            yield row.time_based_no_sooner
        else:
            yield row.as_configured
    for likely in (comparison.forecast or {}).values():
        yield from times_of(likely).values()


def _with_cells(row: Shown, chosen: Sequence[int], length: int) -> Shown:
    """Return a row with the chosen cells; length: of a line of its reason, the last one."""
    *cells, reason = (row.row.cells[n] for n in chosen)
    if length < MAX_REASON:
        reason = _truncated(reason, length, lines=2)
    return replace(row, row=replace(row.row, cells=(*cells, reason)))


def _shown(
    rows: Sequence[ComparedJob], comparison: Comparison, cells: Sequence[str] = (), job: str = ""
) -> Shown:
    """Return a job, or the elements of an array with its id, as it may be chosen."""
    row, gain = rows[0], sum(each.sooner_by or 0 for each in rows)
    listed = ListingRow(tuple(cells), _state(row, comparison))
    members = tuple(each.job for each in rows) if len(rows) > 1 else ()
    return Shown(job or row.job, listed, row.slots, row.possible, gain, row.possible_on, members)


def _state(row: ComparedJob, comparison: Comparison) -> State:
    if row.possible is None:
        return "unplaced"
    starts = [comparison.start_by(row, method) for method in comparison.methods]
    if {row.possible, *(starts or [row.as_configured])} == {comparison.now}:
        return "now"
    return "later" if row.proved else "unproved"


def _why(row: ComparedJob) -> str:
    """Return why a job does not start earlier than the table of starts as configured has it."""
    if row.as_configured is None or row.earlier_by:
        return _why_possible(row)
    return row.condition or row.held_back or row.waits_for


def _why_possible(row: ComparedJob) -> str:
    """Return why a job could not start earlier."""
    return row.condition or row.waits_for or row.held_back


def _truncated(text: str, length: int = MAX_REASON, lines: int = 1) -> str:
    """Return the beginning of a text in at most `lines` lines; its last word is not a number."""
    short = "\n".join(textwrap.wrap(text, length, max_lines=lines, placeholder=" …"))
    short = _LAST_NUMBER.sub(" …", short)
    return f"{text[: length - 1]}…" if short.strip() == "…" else short


def _free_when(why: str) -> str:
    """Return the end for which a reason waits: ``103 ends``; "" if it names none."""
    return _truncated(why.partition("; free when ")[2], 20)


def _legend(table: _Table) -> Iterator[str]:
    """Yield the meaning of the columns, and how the other table is shown."""
    from ..solver.advice.comparison import MAX_SIMULATED, default_methods

    comparison, methods = table.comparison, table.comparison.methods
    if table.clock.note:
        yield table.clock.note
    if comparison.forecast is not None:
        yield (f"LIKELY is the median forecast by the history, simulated by {comparison.run_by}.")
    if not methods:
        ahead = [row.ahead_of for row in comparison if row.ahead_of]
        if ahead:
            yield f'"ahead of {ahead[0]}": starts before it, in priority order later (see explain).'
        yield "Compared: as configured and in priority order. --methods: greedy against optimal."
        if any(row.earlier_by for row in comparison):
            yield "Next: slotwise diagnose (what frees them), slotwise explain JOB (why)."
        return
    if len(methods) > 1 or "optimal" not in methods:
        yield "SAYS: the estimate of the method; GETS: the start that the scheduler reaches by it."
    if table.clock.day is not None:
        yield "sum: of the waits from now on."
    names = " and ".join(filter(None, (", ".join(methods[:-1]), methods[-1])))
    bare = methods == default_methods(table.instance)
    why = " (the file has no scheduler settings)" if bare else ""
    yield f"Compared: {names}{why}. --configured: as the scheduler runs the queue."
    if len(comparison) > MAX_SIMULATED:
        yield f"More than {MAX_SIMULATED} jobs are pending: only greedy reservation is simulated."
    elif "optimal" in methods and "optimal" not in comparison.simulated:
        yield "The scheduler plans in priority order: optimal is not simulated."
