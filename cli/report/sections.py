"""The sections of the page: each a picture with its switches, and the table behind it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape
from typing import Any

from ...model.allocation import allocation_text
from ...model.instance import Instance
from ...model.time_text import duration_text, short_clock_text
from ...solver.advice.compare import Comparison
from ...solver.advice.compared_job import ComparedJob
from ...solver.advice.likely import times_of
from ...solver.budget import NOT_LOOKED_AT
from ...solver.shortage import counted
from ..cells import printable
from ..tables import hosts_text
from .data import Report
from .rows import host_groups

#: Running jobs that are listed in words; more are counted.
MOST_SPOKEN = 50
_KEYS = (
    "With the picture in focus: <kbd>↑</kbd> <kbd>↓</kbd> row, <kbd>Enter</kbd> fold, "
    "<kbd>←</kbd> <kbd>→</kbd> jobs of a host, <kbd>+</kbd> <kbd>−</kbd> zoom, "
    "<kbd>,</kbd> <kbd>.</kbd> move, <kbd>Home</kbd> all. Mouse: drag, Ctrl and wheel to zoom."
)


def sections(report: Report) -> str:
    """All sections that this report has something for, as HTML."""
    found = [_starts(report), _gantt(report), _table(report), _free(report), _simulation(report)]
    return "\n".join(part for part in found if part)


def _text(value: object) -> str:
    return escape(printable(str(value)))


def _section(name: str, title: str, body: str, tools: str = "") -> str:
    return (
        f'<section aria-labelledby="{name}-title"><header><h2 id="{name}-title">{title}</h2>'
        f"{tools}</header>{body}</section>"
    )


def _picture(name: str, label: str, height: int = 300) -> str:
    return (
        f'<div class="chart" id="{name}" role="img" aria-label="{escape(label)}" '
        f'style="height:{height}px"></div>'
    )


def _behind(name: str, title: str = "The numbers behind the picture") -> str:
    return (
        f'<details id="behind-{name}"><summary>{title}</summary>'
        '<div class="scroll"><table></table></div></details>'
    )


def _switch(name: str, title: str, choices: Iterable[tuple[str, str]], chosen: str) -> str:
    inputs = "".join(
        f'<input type="radio" name="{name}" id="{name}-{value}" value="{value}"'
        f'{" checked" if value == chosen else ""}><label for="{name}-{value}">{label}</label>'
        for value, label in choices
    )
    return f'<fieldset class="switch"><legend>{title}</legend>{inputs}</fieldset>'


# --- pictures -------------------------------------------------------------------------------------


def _starts(report: Report) -> str:
    if report.comparison is None or not report.comparison.jobs:
        return ""
    verdict = " ".join(report.comparison.summary())
    body = (
        f'<p class="meaning">{_text(verdict)}</p>'
        '<p class="meaning">A line for each job that waits somewhere. Hollow is the estimate that '
        "a method says now, filled the start that the simulated scheduler reaches with it: greedy "
        "(◆), time-based (■), optimal (●). Green from greedy simulated to optimal estimate is "
        "waiting saved.</p>"
        + _picture("starts", "Starts of each waiting job by method; the table below has them.")
    )
    return _section("starts", "When each job starts, by method", body)


def _gantt(report: Report) -> str:
    names = [view.name for view in report.views]
    tools = ""
    if len(names) > 1:
        labels = [(name, name.capitalize()) for name in names]
        tools += _switch("view", "Method", [*labels, ("difference", "Difference")], names[-1])
        options = "".join(f'<option value="{name}">{name}</option>' for name in names[:-1])
        tools += f'<label hidden>against <select id="against">{options}</select></label>'
    if host_groups(report.instance.cluster):
        tools += (
            '<button type="button" id="unfold-one">Unfold</button>'
            '<button type="button" id="fold">Fold</button>'
        )
    tools += (
        '<button type="button" id="zoom-in" aria-label="Zoom in">+</button>'
        '<button type="button" id="zoom-out" aria-label="Zoom out">−</button>'
        '<button type="button" id="zoom-all">Whole plan</button>'
    )
    label = (
        "Gantt chart. Arrow keys go through its rows and jobs, Enter folds and unfolds; "
        "the table behind it has the same."
    )
    body = (
        '<p class="meaning" id="meaning"></p><ul class="legend" id="legend"></ul>'
        '<div class="split"><div>'
        f'<div class="chart" id="gantt" tabindex="0" role="application" '
        f'aria-label="{label}" style="height:420px"></div>'
        f'<p class="hint">{_KEYS}</p>{_behind("gantt", "The jobs behind the picture")}</div>'
        '<aside class="job" id="job" aria-label="The chosen job"></aside></div>'
        '<p class="visually-hidden" id="said" role="status" aria-live="polite"></p>'
        + _running(report)
    )
    return _section("gantt", "Hosts", body, f'<div class="tools">{tools}</div>')


def _running(report: Report) -> str:
    """The running jobs in words, for who does not see the picture."""
    instance = report.instance
    items = []
    for stretch in report.running[:MOST_SPOKEN]:
        slots, hosts = sum(stretch.allocation.values()), len(stretch.allocation)
        end = "unknown" if stretch.finish is None else short_clock_text(instance, stretch.finish)
        where = f"{counted(slots, 'slot')} on {counted(hosts, 'host')}"
        items.append(f"<li>Job {_text(stretch.job)} runs: {where}, end {_text(end)}.</li>")
    more = len(report.running) - len(items)
    if more > 0:
        items.append(f"<li>{counted(more, 'more running job')}: see the table.</li>")
    if not items:
        return '<p class="visually-hidden">No job is running.</p>'
    return f'<ul class="visually-hidden" aria-label="Running jobs">{"".join(items)}</ul>'


def _free(report: Report) -> str:
    known = [view.free for view in report.views if view.free is not None]
    if not known:
        return ""
    body = _picture("free-slots", "Free slots over time under each method.", 280)
    if any(free.memory is not None for free in known):
        body += _picture("free-memory", "Free memory over time under each method.", 280)
    meaning = (
        '<p class="meaning">What running and planned jobs leave free on hosts that take jobs.</p>'
    )
    return _section("free", "Free slots and memory", meaning + body + _behind("free"))


def _simulation(report: Report) -> str:
    found = []
    if report.use is not None:
        body = _picture("use", "Slots in use and waiting jobs over time.", 340) + _behind("use")
        found.append(_section("use", "Use of the cluster", body))
    if report.accounts:
        kinds = [("shares", "Shares"), ("priorities", "Priorities")]
        switch = _switch("shown-of-shares", "Shown", kinds, "shares")
        body = (
            '<p class="meaning">Share of the slots in use by account; dotted: the share that it is '
            "due.</p>"
            + _picture("shares", "Shares of the accounts over time.", 360)
            + _behind("shares")
        )
        found.append(_section("shares", "Fairshare", body, switch))
    if report.metrics:
        found.append(_section("metrics", "Numbers", _metrics(report.metrics)))
    return "\n".join(found)


def _metrics(metrics: Any) -> str:
    rows = "".join(
        f"<tr><th scope=row>{_text(name.replace('_', ' '))}</th>"
        f'<td class="number">{f"{value:.3f}" if isinstance(value, float) else value}</td></tr>'
        for name, value in metrics.items()
        if isinstance(value, (int, float))
    )
    return (
        "<details><summary>All metrics; times in seconds</summary>"
        f"<table><tbody>{rows}</tbody></table></details>"
    )


# --- tables ---------------------------------------------------------------------------------------


def _table(report: Report) -> str:
    if not report.instance.pending and report.kind != "simulation":
        nothing = '<p class="meaning">No job is pending: there is no start to plan.</p>'
        return _section("jobs", "Jobs", nothing)
    if report.comparison is not None:
        body = _compared(report, report.comparison)
        return _section("jobs", "Comparison", body)
    if report.plan is not None:
        return _section("jobs", "The plan", _planned(report))
    return _section("jobs", "Jobs", _simulated(report))


def _rows(name: str, titles: Iterable[str], rows: Iterable[tuple[str, str]]) -> str:
    head = "".join(f'<th scope="col">{title}</th>' for title in titles)
    body = "".join(f'<tr data-job="{_text(job)}">{cells}</tr>' for job, cells in rows)
    return (
        f'<div class="scroll"><table class="sortable" id="{name}"><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _name(job: str) -> str:
    return (
        f'<td><button type="button" class="name" data-job="{_text(job)}">{_text(job)}</button></td>'
    )


def _time(instance: Instance, time: int | None, missing: str = "?", mark: str = "") -> str:
    """A cell that sorts by seconds; what never happens or is not known sorts last."""
    behind = f" {mark}" if mark else ""
    if time is None:
        return f'<td class="time soft" data-order="9e18">{missing}{behind}</td>'
    shown = f"{_text(short_clock_text(instance, time))}{behind}"
    return f'<td class="time" data-order="{time}">{shown}</td>'


def _number(value: float | None, text: str | None = None, kind: str = "") -> str:
    shown = "" if value is None else str(value) if text is None else text
    order = -(10**18) if value is None else value
    return f'<td class="number {kind}" data-order="{order}">{_text(shown)}</td>'


def _why(*parts: str) -> str:
    return f'<td class="why">{_text("; ".join(part for part in parts if part))}</td>'


def _where(allocation: Any) -> str:
    full = _text(allocation_text(allocation))
    return f'<td class="where" title="{full}">{_text(hosts_text(allocation))}</td>'


def _start(report: Report, job: str, name: str, time: int | None, mark: str = "") -> str:
    """A cell for one of the starts of a job, with the word for it where it is missing.

    mark: of a caution, behind the time.
    """
    return _time(report.instance, time, report.missing.get(name, {}).get(job, "?"), mark)


_TITLES = {
    "greedy_estimate": "Greedy estimate",
    "greedy_simulated": "Greedy simulated",
    "time_based_estimate": "Time-based estimate",
    "time_based_simulated": "Time-based simulated",
    "optimal_estimate": "Optimal estimate",
    "optimal_simulated": "Optimal simulated",
}


def _compared(report: Report, comparison: Comparison) -> str:
    shown = [name for name in _TITLES if _has_column(comparison, name)]
    marks = comparison.cautions().marks
    likely = () if comparison.forecast is None else ("Likely", "9 in 10 by", "1 in 10 by")
    rows = [
        (
            row.job,
            _name(row.job)
            + _number(row.slots)
            + "".join(_compared_start(report, row, name, marks) for name in shown)
            + _likely(report, row.job)
            + _gain(row.gain)
            + f"<td>{_proved(row)}</td>"
            + _where(row.allocation)
            + _why(row.waits_for, row.fallback, _backfill(row.needs_backfill), row.exact_fit),
        )
        for row in sorted(comparison.jobs, key=lambda row: _starts_now(row, report.instance.now))
    ]
    titles = ("Job", "Slots", *(_TITLES[name] for name in shown), *likely)
    return _rows("comparison", (*titles, "Gain", "Proved", "Where", "Waits for"), rows)


def _proved(row: ComparedJob) -> str:
    return "yes" if row.proved else "no" if row.optimal_estimate is not None else ""


def _has_column(comparison: Comparison, name: str) -> bool:
    method = name.removesuffix("_simulated").replace("_", "-")
    return name.endswith("_estimate") or method in comparison.simulated


def _compared_start(
    report: Report, row: ComparedJob, name: str, marks: Mapping[tuple[str, str], str]
) -> str:
    method = name.removesuffix("_estimate").replace("_", "-")
    return _start(report, row.job, name, getattr(row, name), marks.get((method, row.job), ""))


def _starts_now(row: ComparedJob, now: int) -> bool:
    """Whether a job starts now by every method: of no interest before those that wait."""
    starts = (row.greedy_estimate, row.greedy_simulated, row.time_based_estimate)
    return {*starts, row.optimal_estimate} == {now}


def _likely(report: Report, job: str) -> str:
    """Cells of a job's forecast, where a history was given."""
    if report.comparison is None or report.comparison.forecast is None:
        return ""
    found = report.comparison.forecast.get(job)
    missing = "?" if found is None else "never"
    times = times_of(found).values()
    return "".join(_time(report.instance, time, missing) for time in times)


def _wait(wait: int | None) -> str:
    """Nothing for a job that ran before the simulation began."""
    return _number(wait, duration_text(wait) if wait is not None and wait >= 0 else "")


def _gain(gain: int | None) -> str:
    kind = "" if not gain else "good" if gain > 0 else "bad"
    return _number(gain, None if gain is None else duration_text(gain), kind)


def _backfill(queue: str) -> str:
    return f"needs BACKFILL in queue {queue}" if queue else ""


def _planned(report: Report) -> str:
    plan, instance = report.plan, report.instance
    assert plan is not None
    rows = [
        (
            item.job,
            _name(item.job)
            + _time(instance, item.start, "?" if item.fallback == NOT_LOOKED_AT else "no place yet")
            + _time(instance, item.finish, "unknown")
            + _time(instance, item.bound if item.start is not None else item.estimate, "")
            + f"<td>{'yes' if item.proved else 'no'}</td>"
            + _where(item.allocation or item.reserved)
            + _why(item.waits_for, item.fallback, _backfill(item.needs_backfill), item.exact_fit),
        )
        for item in sorted(plan, key=lambda item: item.start == instance.now)
    ]
    rows[:0] = [
        (
            item.job,
            _name(item.job)
            + _start(report, item.job, "start", None)
            + _time(instance, None, "")
            + _time(instance, None, "")
            + f"<td></td><td></td>{_why(item.reason)}",
        )
        for item in plan.unplaced
    ]
    titles = ("Job", "Start", "End", "Not before", "Proved", "Where", "Waits for")
    return _rows("plan", titles, rows)


def _simulated(report: Report) -> str:
    instance = report.instance
    rows = [
        (
            record["job"],
            _name(record["job"])
            + f"<td>{_text(record['user'])}</td><td>{_text(record['queue'])}</td>"
            + _number(record["slots"])
            + _time(instance, record["submit"])
            + _start(report, record["job"], "start", record["start"])
            + _time(instance, record["end"], "unknown")
            + _wait(record["wait"])
            + f"<td>{_text(record['status'])}{', backfilled' if record['backfilled'] else ''}</td>"
            + _why(record["reason"]),
        )
        for record in report.jobs
    ]
    titles = ("Job", "User", "Queue", "Slots", "Submitted", "Start", "End", "Wait", "Status")
    return _rows("simulation", (*titles, "Why it waited"), rows)
