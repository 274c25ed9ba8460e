"""Comparisons as listings, JSON and CSV."""

from __future__ import annotations

import json
import textwrap
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from ..model.display import WrittenTimes, duration_text, hours_text, smallest_difference, wall_clock
from ..model.plan import array_name
from ..model.slurm_words import family_text
from .forecast import likely_cells, likely_columns
from .outlook_text import caution_names, could_start, short_reason
from .render import ENDED_EARLY, in_order, may_prove_more, paragraphs
from .selection import Selection, Shown
from .tables import (
    Column,
    ListingRow,
    State,
    TableStyle,
    as_cards,
    csv_text,
    hosts_text,
    terminal_width,
)

if TYPE_CHECKING:
    from ..model.instance import Instance
    from ..model.plan import Method
    from ..solver.advice.comparison import ComparedJob, Comparison

_ALL = Selection()
#: Maximum width of a comparison without allocations, and of a reason in it, in characters.
MAX_WIDTH, MAX_REASON = 100, 32
#: Key of the marks of starts as configured.
CONFIGURED = "configured"
#: Keys of a job whose values are records.
_RECORDS = ("greedy", "time_based", "optimal")
#: Text for an estimate that a method does not give.
_NONE = "–"


def comparison_output(
    instance: Instance, comparison: Comparison, format: str, selection: Selection = _ALL
) -> str:
    """Return a comparison in one of the output formats, with a final newline."""
    if format == "text":
        return _text(_Table(instance, comparison, selection))
    record = comparison.to_dict()
    if not selection.everything:
        rows = [_shown(row, comparison) for row in comparison]
        record["jobs"] = in_order(record["jobs"], [item.job for item in selection.choose(rows)])
    if format == "json":
        return json.dumps(record, indent=2) + "\n"
    # The starts by each method have columns of their own.
    columns = [name for name in comparison.columns() if name not in _RECORDS]
    return csv_text(columns, [row | caution_names(row) for row in record["jobs"]])


@dataclass(frozen=True, slots=True)
class _Field:
    """A column, and its text for a job."""

    column: Column
    text: Callable[[ComparedJob], str]
    #: Step at which it is omitted if the terminal is too narrow; 0: never.
    omitted: int = 0
    #: Text below the last row.
    foot: str = ""


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
        if self.comparison.methods and clock.day is None:
            return WrittenTimes(replace(self.instance, origin=None))
        return clock

    @cached_property
    def marks(self) -> Mapping[tuple[str, str], str]:
        """Return the marks of footnotes by method (or "configured") and job."""
        return self.comparison.cautions(footnotes=True).marks

    @cached_property
    def words(self) -> Mapping[str, Mapping[str, str]]:
        """Return for each time of a row the word where a job has none."""
        return self.comparison.missing_starts(self.clock.short)

    def fitting(self) -> tuple[list[Column], list[Shown], TableStyle]:
        """Return the columns and rows that fit the terminal; all columns if only cards do."""
        fields = list(self._by_methods() if self.comparison.methods else self._as_configured())
        if self.comparison.forecast is not None:
            at = next((n for n, item in enumerate(fields) if item.column.line), len(fields))
            fields[at:at] = self._likely()
        if self.selection.wide:
            where = Column("WHERE", line=1, label="on")
            fields.append(_Field(where, lambda row: hosts_text(row.possible_on, wide=True)))
        whole = [item.column for item in fields]
        rows = self._rows(fields)
        foot = tuple(item.foot for item in fields) if any(item.foot for item in fields) else ()
        wide = {} if self.selection.wide else {"max_width": MAX_WIDTH}
        style = TableStyle(min_width=0, between=2, foot=foot, **wide)
        lengths = (MAX_REASON,) if self.selection.wide else (MAX_REASON, 26, 20, 14)
        for step in range(max(item.omitted for item in fields) + 1):
            chosen = [n for n, item in enumerate(fields) if not 0 < item.omitted <= step]
            for length in lengths if step > 1 else lengths[:1]:
                columns = [whole[n] for n in chosen]
                found = [_with_cells(row, chosen, length) for row in rows]
                shown = replace(style, foot=tuple(foot[n] for n in chosen if foot))
                if not as_cards(columns, [row.row for row in found], terminal_width(), shown):
                    return columns, found, shown
        return whole, rows, style

    def _as_configured(self) -> Iterator[_Field]:
        """Yield the columns of the starts as configured and possible."""
        users = {job.id: job.user for job in self.instance.pending}
        slots = Column("SLOTS", whole=True, right=True)
        yield _Field(Column("JOB", whole=True, marked=True), lambda row: row.job)
        if any(users.values()):
            yield _Field(Column("USER", whole=True), lambda row: users[row.job], 2)
        yield _Field(slots, lambda row: str(row.slots), 3)
        yield _Field(Column("AS CONFIGURED", whole=True), self._configured)
        yield _Field(Column("COULD START", whole=True, marked=True), self._could_start)
        earlier = Column("EARLIER", whole=True, right=True, label="earlier by")
        yield _Field(earlier, lambda row: duration_text(row.earlier_by) if row.earlier_by else "")
        yield _Field(Column("WAITS FOR", line=1, label="", whole=True), self._waits_for)
        now = self.comparison.now
        when = Column("FREE WHEN", line=1, whole=True)
        yield _Field(when, lambda row: _free_when(_why(row, now)), 1)

    def _by_methods(self) -> Iterator[_Field]:
        """Yield the columns of the starts by each compared method, with their sums."""
        comparison, methods = self.comparison, self.comparison.methods
        right = Column("", whole=True, right=True)
        summed = self.selection.everything and len(comparison) > 1
        waits = comparison.waits_by() if summed else {}
        sums = {method: hours_text(sum(each.values())) for method, each in waits.items()}
        foot = "sum" if sums else ""
        yield _Field(Column("JOB", whole=True, marked=True), lambda row: row.job, foot=foot)
        yield _Field(replace(right, title="SLOTS"), lambda row: str(row.slots), 4)
        for method in methods:
            last = method == "optimal"
            if not last:
                says = replace(right, title=f"{method.upper()}\nSAYS")
                yield _Field(says, self._says(method), 2 if method == "time-based" else 3)
            title = f"{method.upper()}\n{'START' if last else 'GETS'}"
            gets = replace(right, title=title, marked=last)
            yield _Field(gets, self._gets(method), foot=sums.get(method, ""))
        if "optimal" in methods:
            proof = Column("OPTIMAL\nPROOF", whole=True)
            proved = sum(row.proved for row in comparison)
            foot = f"{proved} of {len(comparison)}" if sums else ""
            yield _Field(proof, self._proof, foot=foot)
        if "optimal" in methods and len(methods) > 1:
            first = methods[0]
            saved = sum(waits[first].values()) - sum(waits["optimal"].values()) if waits else 0
            column = replace(right, title=f"SAVES OVER\n{first.upper()}")
            foot = hours_text(saved) if sums else ""
            yield _Field(column, lambda row: self._saved(row, first), foot=foot)
        if "optimal" in methods:
            reason = Column("WAITS FOR", line=1, label="", whole=True)
            yield _Field(reason, self._whole_reason, 1)

    def _likely(self) -> list[_Field]:
        """Return the columns of the forecast starts."""
        forecast = self.comparison.forecast or {}

        def text_of(at: int) -> Callable[[ComparedJob], str]:
            return lambda row: likely_cells(self.clock, forecast.get(row.job), short=True)[at]

        columns = (replace(column, whole=True) for column in likely_columns())
        return [_Field(column, text_of(at)) for at, column in enumerate(columns)]

    def _time(self, row: ComparedJob, name: str, time: int | None) -> str:
        """Return a start as text, precise enough for the difference to the other starts."""
        if time is None:
            return self.words[name].get(row.job, _NONE)
        starts = [self.comparison.start_by(row, method) for method in self.comparison.methods]
        if not starts:
            starts = [row.as_configured, row.possible]
        return self.clock.short(time, smallest_difference((*starts, row.bound)))

    def _configured(self, row: ComparedJob) -> str:
        start = self._time(row, "as_configured", row.as_configured)
        mark = "" if row.as_configured is None else self.marks.get((CONFIGURED, row.job), "")
        return f"{start} {mark}".strip()

    def _could_start(self, row: ComparedJob) -> str:
        start, mark = self._time(row, "possible", row.possible), ""
        if row.possible is not None:
            mark = self.marks.get(("optimal", row.job), "")
        return could_start(row, start, mark or ("" if row.proved else self._bound(row)))

    def _bound(self, row: ComparedJob) -> str:
        if row.possible is None or row.bound is None or row.bound >= row.possible:
            return ""
        return f"≥ {self._time(row, 'possible', row.bound)}"

    def _says(self, method: Method) -> Callable[[ComparedJob], str]:
        name = f"{method.replace('-', '_')}_estimate"

        def text(row: ComparedJob) -> str:
            says = row.by(method).says
            mark = "" if says is None else self.marks.get((method, row.job), "")
            early = self._time(row, name, says).replace("no sooner than", "≥")
            return f"{_NONE if early == 'no estimate' else early} {mark}".strip()

        return text

    def _gets(self, method: Method) -> Callable[[ComparedJob], str]:
        by_plan = method == "optimal" or method not in self.comparison.simulated
        name = f"{method.replace('-', '_')}_{'estimate' if by_plan else 'simulated'}"

        def text(row: ComparedJob) -> str:
            start = self.comparison.start_by(row, method)
            has_mark = by_plan and start is not None
            mark = self.marks.get((method, row.job), "") if has_mark else ""
            return f"{self._time(row, name, start)} {mark}".strip()

        return text

    def _proof(self, row: ComparedJob) -> str:
        if row.proved and row.possible == self.comparison.start_by(row, "optimal"):
            return "proved"
        bound = row.possible if row.proved else row.bound
        return "" if bound is None else f"≥ {self._time(row, 'possible', bound)}"

    def _saved(self, row: ComparedJob, method: Method) -> str:
        """Return what the optimal method saves a job over another one; a loss is negative."""
        starts = [self.comparison.start_by(row, each) for each in (method, "optimal")]
        if None in starts or starts[0] == starts[1]:
            return ""
        return duration_text((starts[0] or 0) - (starts[1] or 0))

    def _waits_for(self, row: ComparedJob) -> str:
        return self._short(_why(row, self.comparison.now))

    def _short(self, why: str) -> str:
        return _truncated(family_text(self.instance, short_reason(why)))

    def _whole_reason(self, row: ComparedJob) -> str:
        """Return the reason of the possible start with the event that ends it."""
        if row.possible == self.comparison.now:
            return ""
        why = _why_possible(row)
        return _truncated(": ".join(filter(None, (self._short(why), _free_when(why)))))

    def _rows(self, fields: Sequence[_Field]) -> list[Shown]:
        """Return a row for each job, or for each array with the id of its first element."""
        together: dict[str, list[ComparedJob]] = {}
        for row in self.comparison:
            together.setdefault(self.selection.folded(row.job) or row.job, []).append(row)
        found = []
        for job, rows in together.items():
            cells = [item.text(rows[0]) for item in fields]
            if rows[0].job != job:
                cells[0] = array_name(job, tuple(row.job for row in rows))
                for at, item in enumerate(fields):
                    if item.column.title == "WAITS FOR":
                        both = filter(None, (self._last(rows), cells[at]))
                        cells[at] = _truncated("; ".join(both))
            found.append(_shown(rows[0], self.comparison, cells, job, rows))
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
    ended = [ENDED_EARLY] if may_prove_more(comparison.optimal) else []
    lines = cautions.lines_of(selection.jobs_of(rows))
    below = [*_result(comparison), *lines, *ended, *cautions.rest, " ".join(_legend(table))]
    return head + listing + paragraphs(below, instance, MAX_WIDTH)


def _result(comparison: Comparison) -> Sequence[str]:
    """Return the paragraphs on the result; by methods what the optimal one saves comes first."""
    from ..solver.advice.sentences import proof_sentence, state_sentences

    if not comparison.methods:
        return comparison.summary()
    proved = [proof_sentence(comparison.optimal)] if "optimal" in comparison.methods else []
    return [" ".join((*comparison.savings(), *proved, *state_sentences(comparison.jobs)))]


def _headline(instance: Instance, comparison: Comparison) -> str:
    """Return ``Mon 2 Mar 09:50 · 22 of 24 slots in use · 7 wait, none starts now``."""
    found = None if instance.origin is None else wall_clock(instance.origin, instance.now)
    at = "" if found is None else f"{found:%a} {found.day} {found:%b %H:%M} · "
    used = sum(run.slots for run in instance.running)
    slots = sum(host.slots for host in instance.cluster.hosts)
    now = sum(row.as_configured == comparison.now for row in comparison)
    starts = f"{now or 'none'} {'start' if now > 1 else 'starts'} now"
    text = f"{at}{used:,} of {slots:,} slots in use · {len(comparison)} wait, {starts}"
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
    """Return a row with the chosen cells; length: of its reason, the last one, in characters."""
    *cells, reason = (row.row.cells[n] for n in chosen)
    if length < MAX_REASON:
        reason = _truncated(reason, length)
    return replace(row, row=replace(row.row, cells=(*cells, reason)))


def _shown(
    row: ComparedJob,
    comparison: Comparison,
    cells: Sequence[str] = (),
    job: str = "",
    rows: Sequence[ComparedJob] = (),
) -> Shown:
    """Return a job as it may be chosen; job, rows: id and elements of an array."""
    gain = sum(each.sooner_by or 0 for each in rows or (row,))
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


def _why(row: ComparedJob, now: int) -> str:
    """Return why a job does not start earlier than the table of starts as configured has it."""
    if row.as_configured == now:
        return ""
    if row.as_configured is None or row.earlier_by:
        return _why_possible(row)
    return row.condition or row.held_back or row.waits_for


def _why_possible(row: ComparedJob) -> str:
    """Return why a job could not start earlier."""
    return row.condition or row.waits_for or row.held_back


def _truncated(text: str, length: int = MAX_REASON) -> str:
    short = textwrap.shorten(text, length, placeholder=" …")
    return f"{text[: length - 1]}…" if short == "…" else short


def _free_when(why: str) -> str:
    """Return the end for which a reason waits: ``103 ends``; "" if it names none."""
    return _truncated(why.partition("; free when ")[2], 20)


def _legend(table: _Table) -> Iterator[str]:
    """Yield the meaning of the columns, and how the other table is shown."""
    from ..solver.advice.compare import MAX_SIMULATED, default_methods

    comparison, methods = table.comparison, table.comparison.methods
    yield table.clock.note
    if comparison.forecast is not None:
        yield (
            "LIKELY is when a job starts as often before as after, by the history, "
            f"run by {comparison.run_by}."
        )
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
        yield f"More than {MAX_SIMULATED} jobs wait: only greedy reservation is simulated."
    elif "optimal" in methods and "optimal" not in comparison.simulated:
        yield "The scheduler plans in priority order: optimal is not simulated."
