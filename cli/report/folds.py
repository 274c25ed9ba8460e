"""The folded parts of the page: verdict, methods, reasons, omissions, curves over time."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...model.display import MINUTE, duration_text
from ...model.escaping import html_text
from ...model.plan import NOT_PROVED, allocation_text, yes_or_no
from ...solver.advice.comparison import ComparedJob, Comparison
from ...solver.advice.diagnosis.records import page_of
from ...solver.advice.likely import times_of
from ...solver.pending_reasons import counted
from ..forecast import NO_START
from ..render import CONFIGURED
from ..tables import hosts_text
from .about import About, html_of
from .bars import ticks
from .data import AccountCurve, UseOverTime

_TITLES = {
    "as_configured": "As configured",
    "possible": "Possible",
    "greedy_estimate": "Greedy estimate",
    "greedy_simulated": "Greedy simulated",
    "time_based_estimate": "Time-based estimate",
    "time_based_simulated": "Time-based simulated",
    "optimal_estimate": "Optimal estimate",
    "optimal_simulated": "Optimal simulated",
}


def folds_html(about: About, notes: Iterable[str]) -> str:
    """Return every part with content, each folded."""
    return "".join(_folds(about, tuple(notes)))


def _folds(about: About, notes: tuple[str, ...]) -> Iterator[str]:
    report = about.report
    if report.diagnosis is not None:
        text = html_of(page_of(report.instance, report.diagnosis))
        tried = counted(report.diagnosis.tried, "change")
        yield _fold("verdict", "The whole verdict", f"{tried} tried, each simulated", text)
    if report.comparison is not None and report.comparison.jobs:
        yield from _of_comparison(about, report.comparison)
    elif report.plan is not None and report.instance.pending:
        yield _fold("plan-fold", "The plan", "every job in full", _planned(about))
    elif report.kind == "simulation":
        yield from _of_simulation(about)
    if free := free_html(about):
        what = "resources that running and planned jobs leave free on hosts that accept jobs"
        yield _fold("free", "Free slots and memory", what, free)
    bars = '<div class="scroll"><table></table></div>'
    yield _fold("behind-gantt", "The picture as a table", "every job that it shows", bars)
    if notes:
        lines = "".join(f'<p class="note">{html_text(note)}</p>' for note in notes)
        yield _fold("notes", "How this was found", _short(notes[0]), lines)


def _short(text: str) -> str:
    return text if len(text) <= 90 else f"{text[:89]}…"


def _fold(name: str, title: str, hint: str, body: str) -> str:
    return (
        f'<details class="fold card" id="{name}"><summary><h2>{html_text(title)}</h2>'
        f'<span class="soft">{html_text(hint)}</span></summary><div>{body}</div></details>'
    )


def _rows(name: str, titles: Iterable[str], rows: Iterable[tuple[str, str]]) -> str:
    head = "".join(f'<th scope="col">{title}</th>' for title in titles)
    body = "".join(f'<tr data-job="{html_text(job)}">{cells}</tr>' for job, cells in rows)
    return (
        f'<div class="scroll"><table class="sortable" id="{name}"><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _name(job: str) -> str:
    name = html_text(job)
    return f'<td><button type="button" class="name" data-job="{name}">{name}</button></td>'


def _time(about: About, time: int | None, missing: str = "?", mark: str = "") -> str:
    """Return a cell that sorts by seconds; an unknown time or "never" sorts last."""
    behind = f" {mark}" if mark else ""
    if time is None:
        return f'<td class="time soft" data-order="9e18">{html_text(missing)}{behind}</td>'
    shown = f"{html_text(about.clock.short(time))}{behind}"
    return f'<td class="time" data-order="{time}">{shown}</td>'


def _number(value: float | None, text: str | None = None, kind: str = "") -> str:
    shown = "" if value is None else str(value) if text is None else text
    order = -(10**18) if value is None else value
    return f'<td class="number {kind}" data-order="{order}">{html_text(shown)}</td>'


def _why(*parts: str) -> str:
    said = (part for part in parts if part not in ("", NOT_PROVED))
    return f'<td class="why">{html_text("; ".join(said))}</td>'


def _where(allocation: Mapping[str, int]) -> str:
    full = html_text(allocation_text(allocation))
    return f'<td class="where" title="{full}">{html_text(hosts_text(allocation))}</td>'


def _of_comparison(about: About, comparison: Comparison) -> Iterator[str]:
    hint = "greedy, time-based, optimal: estimate and simulated start of each job"
    body = starts_html(about, comparison) + _compared(about, comparison)
    yield _fold("methods", "Methods compared", hint, body)
    known = [row for row in comparison if row.state != "not examined"]
    waiting = sum(row.as_configured != comparison.now for row in known)
    parts = [f"{waiting} of {len(comparison)} do not start now"] if known else []
    if left := len(comparison) - len(known):
        parts.append(f"{left} not examined")
    hint = f"{', '.join(parts)}; the hosts of its possible start, and the proof"
    rows = [
        (
            row.job,
            _name(row.job)
            + _time(about, row.as_configured, about.words["as_configured"].get(row.job, "?"))
            + _possible(about, row)
            + f"<td>{'' if row.possible is None else _yes_or_no(row.proved, row.proved_if)}</td>"
            + _where(row.possible_on)
            + _why(row.waits_for, row.fallback, _backfill(row.needs_backfill), row.exact_fit),
        )
        for row in about.compared
    ]
    titles = ("Job", "As configured", "Possible", "Proved", "Where", "The possible start waits for")
    yield _fold("why", "Why each job waits", hint, _rows("reasons", titles, rows))
    cautions = comparison.cautions()
    lines = [*cautions.lines, *cautions.rest]
    for caution, jobs in comparison.outlook.cautions().values():
        if not any(caution.name in line for line in lines):
            lines.append(f"{caution.name} ({counted(len(jobs), 'job')})")
    items = "".join(f"<li>{html_text(line)}</li>" for line in lines)
    limits = f"<ul>{items}</ul>" if items else ""
    if limits:
        count = len(comparison.outlook.cautions())
        hint = f"{counted(count, 'setting')} that may change a start: no affected start is proved"
        yield _fold("limits", "Not modelled", hint, limits)


def _compared(about: About, comparison: Comparison) -> str:
    shown = [name for name in _TITLES if _has_column(comparison, name)]
    marks = comparison.cautions().marks
    likely = () if comparison.forecast is None else ("Likely", "9 in 10 by", "1 in 10 by")
    rows = [
        (
            row.job,
            _name(row.job)
            + _number(row.slots)
            + "".join(_compared_start(about, row, name, marks) for name in shown)
            + _likely(about, comparison, row.job)
            + _gain(row.earlier_by),
        )
        for row in about.compared
    ]
    titles = ("Job", "Slots", *(_TITLES[name] for name in shown), *likely, "Earlier")
    return _rows("comparison", titles, rows)


def _has_column(comparison: Comparison, name: str) -> bool:
    if name in ("as_configured", "possible"):
        return True
    method = name.removesuffix("_simulated").replace("_", "-")
    return name.endswith("_estimate") or method in comparison.simulated


def _compared_start(
    about: About, row: ComparedJob, name: str, marks: Mapping[tuple[str, str], str]
) -> str:
    known = {"possible": "optimal", "as_configured": CONFIGURED}
    method = known.get(name) or name.removesuffix("_estimate").replace("_", "-")
    mark = marks.get((method, row.job), "")
    if name == "possible":
        return _possible(about, row, mark)
    missing = about.words.get(name, {}).get(row.job, "?")
    return _time(about, getattr(row, name), missing, mark)


def _possible(about: About, row: ComparedJob, mark: str = "") -> str:
    """Return the cell of a possible start: words if it is no earlier than as configured."""
    if not row.is_ahead:
        missing = about.words["possible"].get(row.job, "?")
        return _time(about, row.possible, missing, mark)
    text = html_text(f"{about.could_start(row)} {mark}".strip())
    return f'<td class="time" data-order="{row.possible}">{text}</td>'


def _likely(about: About, comparison: Comparison, job: str) -> str:
    """Return the cells of a job's forecast, none without a history."""
    if comparison.forecast is None:
        return ""
    found = comparison.forecast.get(job)
    missing = "not examined" if found is None else NO_START
    return "".join(_time(about, time, missing) for time in times_of(found).values())


def _gain(gain: int | None) -> str:
    text = None if gain is None else duration_text(gain)
    return _number(gain, text, "good" if gain else "")


def _yes_or_no(proved: bool, proved_if: tuple[str, ...]) -> str:
    return html_text(yes_or_no(proved, proved_if))


def _backfill(queue: str) -> str:
    return f"needs BACKFILL in queue {queue}" if queue else ""


def _planned(about: About) -> str:
    plan, instance = about.report.plan, about.report.instance
    assert plan is not None
    rows = [
        (
            item.job,
            _name(item.job)
            + _time(about, item.start, about.words["start"].get(item.job, "?"))
            + _time(about, item.finish, "unknown")
            + _time(about, item.bound if item.start is not None else item.estimate, "")
            + f"<td>{_yes_or_no(item.proved, item.proved_if)}</td>"
            + _where(item.allocation or item.reserved)
            + _why(item.waits_for, item.fallback, _backfill(item.needs_backfill), item.exact_fit),
        )
        for item in sorted(plan, key=lambda item: item.start == instance.now)
    ]
    rows[:0] = [
        (
            item.job,
            _name(item.job)
            + _time(about, None, about.words.get("start", {}).get(item.job, "?"))
            + _time(about, None, "")
            + _time(about, None, "")
            + f"<td></td><td></td>{_why(item.reason)}",
        )
        for item in plan.unplaced
    ]
    titles = ("Job", "Start", "End", "Not before", "Proved", "Where", "Waits for")
    return _rows("plan", titles, rows)


def _of_simulation(about: About) -> Iterator[str]:
    report = about.report
    yield _fold("all-jobs", "Every job", "sort and filter by every column", _simulated(about))
    if report.use is not None:
        what = "slots in use and pending jobs, over time"
        yield _fold("use", "Use of the cluster", what, use_html(about, report.use))
    if report.accounts:
        body = accounts_html(about, report.accounts)
        yield _fold("shares", "Fairshare", "shares and priorities of accounts over time", body)
    if report.metrics:
        yield _fold("metrics", "Numbers", "all metrics; times in seconds", _metrics(report.metrics))


def _simulated(about: About) -> str:
    words = about.words.get("start", {})
    rows = [
        (
            record["job"],
            _name(record["job"])
            + f"<td>{html_text(record['user'])}</td><td>{html_text(record['queue'])}</td>"
            + _number(record["slots"])
            + _time(about, record["submit"])
            + _time(about, record["start"], words.get(record["job"], "?"))
            + _time(about, record["end"], "unknown")
            + _wait(record["wait"])
            + f"<td>{html_text(record['status'])}"
            + f"{', backfilled' if record['backfilled'] else ''}</td>"
            + _why(record["reason"]),
        )
        for record in about.report.jobs
    ]
    titles = ("Job", "User", "Queue", "Slots", "Submitted", "Start", "End", "Wait", "Status")
    return _rows("simulation", (*titles, "Why it waited"), rows)


def _wait(wait: int | None) -> str:
    """Return the wait of a job, empty if the job ran before the simulation began."""
    return _number(wait, duration_text(wait) if wait is not None and wait >= 0 else "")


def _metrics(metrics: Mapping[str, Any]) -> str:
    rows = "".join(
        f"<tr><th scope=row>{html_text(name.replace('_', ' '))}</th>"
        f'<td class="number">{f"{value:.3f}" if isinstance(value, float) else value}</td></tr>'
        for name, value in metrics.items()
        if isinstance(value, (int, float))
    )
    return f"<table><tbody>{rows}</tbody></table>"


#: Colours that the style has for curves.
COLOURS = 12
#: Units of a drawing: its width and height, at any scale.
WIDE, HIGH = 1000, 100
MAX_TICKS, MAX_LEVELS = 6, 4
#: Percent of the width from which on a label stands before its place.
LAST = 90
#: Jobs of which the starts by method are drawn: those whose starts differ most.
MAX_STARTS = 30


@dataclass(frozen=True, slots=True)
class Curve:
    """A value from each time (seconds) until the next."""

    name: str
    times: Sequence[int]
    values: Sequence[float]
    #: Level of an additional dotted line, None if there is none.
    level: float | None = None


def curves_html(about: About, title: str, unit: str, curves: Sequence[Curve]) -> str:
    """Return a picture of steps with legend and axes; "" without steps.

    unit: of the values, "%" for parts of one.
    """
    curves = [curve for curve in curves if curve.times]
    if not curves:
        return ""
    begin = min(curve.times[0] for curve in curves)
    end = max(max(curve.times[-1] for curve in curves), begin + MINUTE)
    values = [v for curve in curves for v in (*curve.values, curve.level or 0.0)]
    scale = _levels(min(0.0, *values), max(values))
    marks = _ticks(about, begin, end)
    drawn = "".join(
        _path(number, curve, (begin, end), scale) for number, curve in enumerate(curves)
    )
    key = "".join(
        f'<li><i class="c{number % COLOURS}"></i>{html_text(curve.name)}</li>'
        for number, curve in enumerate(curves)
    )
    lines = "".join(f'<path class="level" d="M0 {_y(v, scale)}H{WIDE}"/>' for v in scale)
    lines += "".join(f'<path class="level" d="M{_x(t, begin, end)} 0V{HIGH}"/>' for t, _ in marks)
    names = ", ".join(curve.name for curve in curves)
    return (
        f'<figure class="curves"><figcaption>{html_text(title)}</figcaption><ul class="key">{key}'
        f'</ul><div class="plot"><svg viewBox="0 0 {WIDE} {HIGH}" preserveAspectRatio="none" '
        f'role="img" aria-label="{html_text(f"{title}: {names}")}">{lines}{drawn}</svg>'
        f"{_labels(scale, unit)}{_moments(marks, begin, end)}</div></figure>"
    )


def _levels(low: float, high: float) -> list[float]:
    """Round values from one at or below `low` to one at or above `high`."""
    span = (high - low) or 1.0
    raw = span / MAX_LEVELS
    size = 10 ** math.floor(math.log10(raw))
    step = next(size * factor for factor in (1, 2, 5, 10) if size * factor >= raw)
    first, last = math.floor(low / step), max(math.ceil(high / step), math.floor(low / step) + 1)
    return [step * number for number in range(first, last + 1)]


def _x(time: float, begin: int, end: int) -> str:
    return f"{WIDE * (time - begin) / (end - begin):.1f}"


def _y(value: float, scale: Sequence[float]) -> str:
    return f"{HIGH * (1 - (value - scale[0]) / (scale[-1] - scale[0])):.2f}"


def _path(number: int, curve: Curve, within: tuple[int, int], scale: Sequence[float]) -> str:
    points = list(zip(curve.times, curve.values, strict=True))
    d = f"M{_x(points[0][0], *within)} {_y(points[0][1], scale)}"
    d += "".join(f"H{_x(time, *within)}V{_y(value, scale)}" for time, value in points[1:])
    colour = f"c{number % COLOURS}"
    found = f'<path class="line {colour}" d="{d}H{WIDE}"/>'
    if curve.level is not None:
        found += f'<path class="due {colour}" d="M0 {_y(curve.level, scale)}H{WIDE}"/>'
    return found


def _labels(scale: Sequence[float], unit: str) -> str:
    share = unit == "%"
    return "".join(
        f'<span class="y" style="bottom:{100 * n / (len(scale) - 1):.1f}%">'
        f"{f'{100 * value:.4g} %' if share else f'{value:,.6g}'}</span>"
        for n, value in enumerate(scale)
    )


def _ticks(about: About, begin: int, end: int) -> list[tuple[int, str]]:
    """Round times, without the date where the page has but one."""
    marks = ticks(about.report.instance, begin, end, MAX_TICKS)
    return [(time, text.split()[-1] if about.clock.day else text) for time, text in marks]


def _moments(marks: Iterable[tuple[int, str]], begin: int, end: int) -> str:
    shares = [(100 * (time - begin) / (end - begin), text) for time, text in marks]
    return "".join(
        f'<span class="x{" end" if share > LAST else ""}" style="left:{share:.2f}%">'
        f"{html_text(text)}</span>"
        for share, text in shares
        if 0 <= share <= 100
    )


def free_html(about: About) -> str:
    """Return the curves of free slots, and of memory if hosts have an amount of it."""
    report = about.report
    known = [(view.name, view.free) for view in report.views if view.free is not None]
    slots = [Curve(name, free.times, free.slots) for name, free in known]
    memory = [
        Curve(name, free.times, [value / 1024 for value in free.memory])
        for name, free in known
        if free.memory is not None
    ]
    first = curves_html(about, "Free slots", "", slots)
    return first + curves_html(about, "Free memory, GB", "", memory)


def use_html(about: About, use: UseOverTime) -> str:
    """Return the curves of slots in use, of slots requested by waiting jobs, and of their jobs."""
    capacity = float(sum(host.slots for host in about.report.instance.cluster.hosts))
    slots = [
        Curve("slots in use", use.times, use.slots, capacity),
        Curve("slots requested by waiting jobs", use.times, use.asked),
    ]
    jobs = [Curve("waiting jobs", use.times, use.waiting)]
    dotted = f"Slots; dotted: the capacity of {capacity:,.0f}"
    first = curves_html(about, dotted, "", slots)
    return first + curves_html(about, "Waiting jobs", "", jobs)


def accounts_html(about: About, accounts: Sequence[AccountCurve]) -> str:
    """Return the curves of slot shares with their targets, and of dynamic priorities."""
    shares = [Curve(one.account, one.times, one.shares, one.target) for one in accounts]
    ranks = [Curve(one.account, one.times, one.priorities) for one in accounts]
    dotted = "Share of the slots in use; dotted: the target share"
    first = curves_html(about, dotted, "%", shares)
    return first + curves_html(about, "Dynamic priority", "", ranks)


#: The start that the scheduler reaches by each method, or its plan's where that was not simulated.
_METHODS = (
    ("greedy", "greedy_simulated", "greedy_estimate"),
    ("time-based", "time_based_simulated", "time_based_estimate"),
    ("optimal", "optimal_simulated", "optimal_estimate"),
)


def starts_html(about: About, comparison: Comparison) -> str:
    """Return a line for each job whose starts differ by method; "" if all starts are equal."""
    marked = [(row, list(_marks(row, comparison))) for row in comparison]
    marked = [item for item in marked if len({time for _, time in item[1]}) > 1]
    marked.sort(key=lambda item: min(t for _, t in item[1]) - max(t for _, t in item[1]))
    if not marked:
        return '<p class="meaning">Every job starts at the same time by every method.</p>'
    shown = marked[:MAX_STARTS]
    end = max(time for _, marks in shown for _, time in marks)
    begin = comparison.now
    lines = "".join(_line(about, row.job, marks, begin, end) for row, marks in shown)
    axis = _moments(_ticks(about, begin, end), begin, end)
    key = "".join(f'<li><i class="m {name}"></i>{name}</li>' for name, *_ in _METHODS)
    rest = len(comparison) - len(shown)
    more = f" The other {rest} jobs start at the same time, or differ less." if rest else ""
    return (
        '<p class="meaning">When the scheduler starts each job if it reserves by one of the '
        f'methods.{more}</p><ul class="key">{key}</ul>'
        f'<ol class="starts" id="starts">{lines}</ol><div class="starts-axis" aria-hidden="true">'
        f"<span></span><span>{axis}</span></div>"
    )


def _marks(row: ComparedJob, comparison: Comparison) -> Iterator[tuple[str, int]]:
    for name, simulated, estimate in _METHODS:
        time = getattr(row, simulated if name in comparison.simulated else estimate)
        if time is not None:
            yield name, time


def _line(about: About, job: str, marks: Sequence[tuple[str, int]], begin: int, end: int) -> str:
    span = max(1, end - begin)
    places = [(name, 100 * (time - begin) / span) for name, time in marks]
    low, high = min(x for _, x in places), max(x for _, x in places)
    dots = "".join(f'<i class="m {name}" style="left:{x:.2f}%"></i>' for name, x in places)
    said = ", ".join(f"{name} {about.clock.short(time)}" for name, time in marks)
    return (
        f'<li title="{html_text(f"{job}: {said}")}"><span class="who">{html_text(job)}</span>'
        f'<span class="track"><b style="left:{low:.2f}%;width:{high - low:.2f}%"></b>{dots}</span>'
        f'<span class="vh">{html_text(said)}</span></li>'
    )
