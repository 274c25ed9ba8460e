"""Curves over time and starts by method, as HTML and SVG that need no script."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ...model.display import MINUTE
from ...model.escaping import html_text
from ...solver.advice.comparison import ComparedJob, Comparison
from .about import About
from .bars import ticks
from .data import AccountCurve, UseOverTime

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
