"""Comparisons as listings, JSON and CSV."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ..model.display import WrittenTimes, duration_text, smallest_difference
from ..model.plan import array_name, proof_text
from .forecast import likely_cells, likely_columns
from .outlook_text import caution_names
from .render import ENDED_EARLY, in_order, may_prove_more, paragraphs
from .selection import Selection, Shown
from .tables import Column, ListingRow, State, csv_text, hosts_text

if TYPE_CHECKING:
    from ..model.instance import Instance
    from ..solver.advice.comparison import ComparedJob, Comparison

_ALL = Selection()
#: From so many characters on the outlook of jobs is a table.
TABLE_WIDTH = 78
#: Key of the marks of starts as configured.
CONFIGURED = "configured"
#: The starts by each method: the method, what the start is, its name.
_STARTS = (
    ("greedy", "ESTIMATE", "greedy_estimate"),
    ("greedy", "SIMULATED", "greedy_simulated"),
    ("time-based", "ESTIMATE", "time_based_estimate"),
    ("time-based", "SIMULATED", "time_based_simulated"),
    ("optimal", "ESTIMATE", "optimal_estimate"),
    ("optimal", "SIMULATED", "optimal_simulated"),
)


def comparison_output(
    instance: Instance, comparison: Comparison, format: str, selection: Selection = _ALL
) -> str:
    """Return a comparison in one of the output formats, with a final newline."""
    if format == "text":
        return _text(instance, comparison, selection)
    record = comparison.to_dict()
    if not selection.everything:
        layout = _Layout.of(comparison, WrittenTimes(instance), selection)
        chosen = selection.choose(_rows(comparison, selection, layout, fold=False))
        record["jobs"] = in_order(record["jobs"], [item.job for item in chosen])
    if format == "json":
        return json.dumps(record, indent=2) + "\n"
    return csv_text(comparison.columns(), [row | caution_names(row) for row in record["jobs"]])


@dataclass(frozen=True, slots=True)
class _Layout:
    """Layout of the rows."""

    clock: WrittenTimes
    #: The starts by method that have a column, as in `_STARTS`.
    starts: tuple[tuple[str, str, str], ...]
    #: The text in brackets behind a start, by method and job.
    marks: Mapping[tuple[str, str], str]
    #: For each time of a row the word where a job has none.
    words: Mapping[str, Mapping[str, str]]
    wide: bool

    @classmethod
    def of(cls, comparison: Comparison, clock: WrittenTimes, selection: Selection) -> _Layout:
        """Return the layout that the comparison needs."""
        shown = tuple(
            item
            for item in _STARTS
            if comparison.by_methods and (item[1] == "ESTIMATE" or item[0] in comparison.simulated)
        )
        words = comparison.missing_starts(clock.short)
        return cls(clock, shown, comparison.cautions().marks, words, selection.wide)


def _text(instance: Instance, comparison: Comparison, selection: Selection) -> str:
    clock = WrittenTimes.of(instance, _times(comparison))
    layout = _Layout.of(comparison, clock, selection)
    likely = likely_columns() if comparison.forecast is not None else ()
    columns = (
        *(Column("JOB", marked=True), Column("SLOTS")),
        *(Column("AS\nCONFIGURED"), Column("POSSIBLE", marked=True), Column("SOONER\nBY")),
        *likely,
        *(Column(f"{method.upper()}\n{kind}") for method, kind, _ in layout.starts),
        *(Column("WAITS FOR", line=1, label=""), Column("WHERE", line=1, label="on")),
    )
    cautions = comparison.cautions()
    ended = [ENDED_EARLY] if may_prove_more(comparison.optimal) else []
    rows = _rows(comparison, selection, layout)
    lines = cautions.lines_of(selection.jobs_of(rows))
    below = [*comparison.summary(), *lines, *ended, *cautions.rest]
    width = 110 if layout.starts or likely else TABLE_WIDTH
    listing = selection.text(instance, columns, rows, clock, width)
    return listing + paragraphs([*below, *_legend(comparison, layout)], instance)


def _times(comparison: Comparison) -> Iterator[int | None]:
    from ..solver.advice.likely import times_of

    for row in comparison:
        yield from (row.as_configured, row.possible, row.bound)
        yield from (getattr(row, name) for _, _, name in _STARTS)
        yield row.time_based_no_sooner
    for likely in (comparison.forecast or {}).values():
        yield from times_of(likely).values()


def _rows(
    comparison: Comparison, selection: Selection, layout: _Layout, *, fold: bool = True
) -> list[Shown]:
    """Return a row for each job; fold: one row for each array, with the id of its first element."""
    if not fold:
        return [_shown(row, comparison, layout) for row in comparison]
    together: dict[str, list[ComparedJob]] = {}
    for row in comparison:
        together.setdefault(selection.folded(row.job) or row.job, []).append(row)
    found = []
    for job, rows in together.items():
        first = _shown(rows[0], comparison, layout)
        found.append(first if rows[0].job == job else _array(layout.clock, job, rows, first))
    return found


def _shown(row: ComparedJob, comparison: Comparison, layout: _Layout) -> Shown:
    likely: tuple[str, ...] = ()
    if comparison.forecast is not None:
        likely = likely_cells(layout.clock, comparison.forecast.get(row.job), short=True)
    listed = ListingRow(_cells(row, likely, layout), _state(row, comparison.now))
    return Shown(row.job, listed, row.slots, row.possible, row.sooner_by or 0, row.possible_on)


def _state(row: ComparedJob, now: int) -> State:
    if row.possible is None:
        return "unplaced"
    if row.possible == now == row.as_configured:
        return "now"
    return "later" if row.proved else "unproved"


def _array(clock: WrittenTimes, array: str, rows: Sequence[ComparedJob], first: Shown) -> Shown:
    """Return the elements of an array as one row: its first start and its last start."""
    members = tuple(row.job for row in rows)
    without = Counter(row.state for row in rows[1:] if row.as_configured is None)
    last = max(rows, key=lambda row: -1 if row.possible is None else row.possible)
    note = f"each as the first, {first.job}; "
    if last.possible != first.start and last.possible is not None:
        note += f"the last, {last.job}, starts {clock.text(last.possible)}; "
    note += "".join(f"{count} {word}; " for word, count in without.items())
    *cells, why, where = first.row.cells
    note = (note + why).removesuffix("; ")
    name = array_name(array, members)
    listed = ListingRow((name, *cells[1:], note, where), first.row.state)
    gain = sum(row.sooner_by or 0 for row in rows)
    return replace(first, job=array, row=listed, gain=gain, members=members)


def _cells(row: ComparedJob, likely: tuple[str, ...], layout: _Layout) -> tuple[str, ...]:
    by_method = [getattr(row, name) for _, _, name in layout.starts]
    beside = smallest_difference((row.as_configured, row.possible, row.bound, *by_method))

    def start(name: str, time: int | None) -> str:
        if time is None:
            return layout.words[name].get(row.job, "?")
        return layout.clock.short(time, beside)

    starts = [
        _joined(start(name, time), _mark(layout, method, row.job, kind))
        for (method, kind, name), time in zip(layout.starts, by_method, strict=True)
    ]
    sooner = row.sooner_by
    possible = _joined(start("possible", row.possible), *_proof(row, layout, beside))
    mark = "" if row.as_configured is None else layout.marks.get((CONFIGURED, row.job), "")
    configured = _joined(start("as_configured", row.as_configured), mark)
    return (
        *(row.job, str(row.slots), configured, possible),
        "" if not sooner else duration_text(sooner),
        *likely,
        *starts,
        *(_why(row), hosts_text(row.possible_on, layout.wide)),
    )


def _mark(layout: _Layout, method: str, job: str, kind: str) -> str:
    return layout.marks.get((method, job), "") if kind == "ESTIMATE" else ""


def _proof(row: ComparedJob, layout: _Layout, beside: int) -> Iterator[str]:
    """Yield the evidence for the possible start: its proof or bound, and its cautions."""
    if row.possible is None:
        return
    if proof := proof_text(row.proved, row.proved_if):
        yield proof
    elif row.bound is not None and row.bound < row.possible:
        yield f"(not before {layout.clock.short(row.bound, beside)})"
    if row.needs_backfill:
        yield "(BACKFILL)"
    if mark := layout.marks.get(("optimal", row.job), ""):
        yield mark


def _why(row: ComparedJob) -> str:
    parts = [row.condition or row.waits_for or row.held_back]
    if row.fallback and not row.cautions:
        parts.append(f"({row.fallback})")
    if row.needs_backfill:
        parts.append(f"(needs BACKFILL in queue {row.needs_backfill})")
    if row.exact_fit:
        parts.append(f"({row.exact_fit})")
    return _joined(*parts)


def _joined(*parts: str) -> str:
    return " ".join(filter(None, parts))


def _legend(comparison: Comparison, layout: _Layout) -> Iterable[str]:
    """Yield the meaning of the columns, and which of them are absent."""
    texts = [
        layout.clock.note,
        "AS CONFIGURED is the start that the simulated scheduler reaches; POSSIBLE the earliest in "
        "priority order, whatever LSF's settings hold back.",
    ]
    if layout.starts:
        texts.append(
            "ESTIMATE is the start that a plan by a method has (greedy: no sooner than), SIMULATED "
            "the one that the scheduler reaches if it reserves by it in the queues that reserve, "
            "in all where none does; in force is "
            f"{comparison.outlook.method} reservation, where queues reserve at all."
        )
    if comparison.forecast is not None:
        texts.append(
            "LIKELY is when a job starts as often before as after, by the history, "
            f"run by {comparison.run_by}."
        )
    yield " ".join(filter(None, texts))
    yield from _not_simulated(comparison)


def _not_simulated(comparison: Comparison) -> Iterator[str]:
    from ..solver.advice.compare import MAX_SIMULATED

    if not comparison.by_methods:
        return
    if len(comparison) > MAX_SIMULATED:
        yield f"More than {MAX_SIMULATED} jobs wait: only greedy reservation is simulated beside."
    elif "optimal" not in comparison.simulated:
        yield "The scheduler plans in priority order: optimal is not simulated."
