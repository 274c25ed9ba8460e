"""Comparisons as listings, JSON and CSV."""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Final

from ..model.display import (
    WrittenTimes,
    duration_text,
    hours_text,
    smallest_difference,
    wall_clock,
)
from ..model.plan import (
    array_name,
)
from ..model.slurm_words import family_text
from .forecast import likely_cells, likely_columns
from .outlook_text import caution_names, could_start, short_reason
from .render import ENDED_EARLY, in_order, may_prove_more, paragraphs
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
    terminal_width,
)

if TYPE_CHECKING:
    from ..model.instance import Instance
    from ..model.plan import Method
    from ..solver.advice.comparison import ComparedJob, Comparison
_ALL = Selection()
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
