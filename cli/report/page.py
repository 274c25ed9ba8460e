"""The report as one HTML page that needs nothing but itself."""

from __future__ import annotations

import hashlib
import json
import threading
from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from string import Template
from typing import Any

from ... import __version__
from ...model.confined import check_inside
from ...model.display import duration_text, iso_time, short_clock_text
from ...model.errors import unreadable
from ...model.escaping import html_text, printable
from ...model.formats.reading import beginning, file_bytes
from ...model.formats.source_text import plain_data
from ...model.instance import Instance
from ...model.plan import allocation_text, yes_or_no
from ...solver.advice.comparison import ComparedJob, Comparison
from ...solver.advice.diagnosis.diagnose import diagnose
from ...solver.advice.diagnosis.records import Advised, Page, Verdict, page_of
from ...solver.advice.explain import Explanation, explain
from ...solver.advice.likely import times_of
from ...solver.budget import Deadline
from ...solver.pending_reasons import counted
from ..forecast import NO_START
from ..tables import hosts_text
from .bars import host_groups
from .data import Report, as_records

# --- The sections of the page: each a picture with its switches, and the table behind it ----------

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


def _section(name: str, title: str, body: str, tools: str = "") -> str:
    return (
        f'<section aria-labelledby="{name}-title"><header><h2 id="{name}-title">{title}</h2>'
        f"{tools}</header>{body}</section>"
    )


def _picture(name: str, label: str, height: int = 300) -> str:
    return (
        f'<div class="chart" id="{name}" role="img" aria-label="{html_text(label)}" '
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
        f'<p class="meaning">{html_text(verdict)}</p>'
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
        items.append(f"<li>Job {html_text(stretch.job)} runs: {where}, end {html_text(end)}.</li>")
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
        f"<tr><th scope=row>{html_text(name.replace('_', ' '))}</th>"
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
    body = "".join(f'<tr data-job="{html_text(job)}">{cells}</tr>' for job, cells in rows)
    return (
        f'<div class="scroll"><table class="sortable" id="{name}"><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _name(job: str) -> str:
    name = html_text(job)
    return f'<td><button type="button" class="name" data-job="{name}">{name}</button></td>'


def _time(instance: Instance, time: int | None, missing: str = "?", mark: str = "") -> str:
    """A cell that sorts by seconds; what never happens or is not known sorts last."""
    behind = f" {mark}" if mark else ""
    if time is None:
        return f'<td class="time soft" data-order="9e18">{missing}{behind}</td>'
    shown = f"{html_text(short_clock_text(instance, time))}{behind}"
    return f'<td class="time" data-order="{time}">{shown}</td>'


def _number(value: float | None, text: str | None = None, kind: str = "") -> str:
    shown = "" if value is None else str(value) if text is None else text
    order = -(10**18) if value is None else value
    return f'<td class="number {kind}" data-order="{order}">{html_text(shown)}</td>'


def _why(*parts: str) -> str:
    return f'<td class="why">{html_text("; ".join(part for part in parts if part))}</td>'


def _where(allocation: Any) -> str:
    full = html_text(allocation_text(allocation))
    return f'<td class="where" title="{full}">{html_text(hosts_text(allocation))}</td>'


def _start(report: Report, job: str, name: str, time: int | None, mark: str = "") -> str:
    """A cell for one of the starts of a job, with the word for it where it is missing.

    mark: of a caution, behind the time.
    """
    return _time(report.instance, time, report.missing.get(name, {}).get(job, "?"), mark)


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
            + _gain(row.sooner_by)
            + f"<td>{_proved(row)}</td>"
            + _where(row.allocation)
            + _why(row.waits_for, row.fallback, _backfill(row.needs_backfill), row.exact_fit),
        )
        for row in sorted(comparison.jobs, key=lambda row: _starts_now(row, report.instance.now))
    ]
    titles = ("Job", "Slots", *(_TITLES[name] for name in shown), *likely)
    return _rows("comparison", (*titles, "Sooner by", "Proved", "Where", "Waits for"), rows)


def _proved(row: ComparedJob) -> str:
    if row.possible is None:
        return ""
    return html_text(yes_or_no(row.proved, row.proved_if))


def _has_column(comparison: Comparison, name: str) -> bool:
    if name in ("as_configured", "possible"):
        return True
    method = name.removesuffix("_simulated").replace("_", "-")
    return comparison.by_methods and (name.endswith("_estimate") or method in comparison.simulated)


def _compared_start(
    report: Report, row: ComparedJob, name: str, marks: Mapping[tuple[str, str], str]
) -> str:
    known = {"possible": "optimal", "as_configured": "configured"}
    method = known.get(name) or name.removesuffix("_estimate").replace("_", "-")
    return _start(report, row.job, name, getattr(row, name), marks.get((method, row.job), ""))


def _starts_now(row: ComparedJob, now: int) -> bool:
    """Whether a job starts now anyway: of no interest before those that wait."""
    return row.as_configured == row.possible == now


def _likely(report: Report, job: str) -> str:
    """Cells of a job's forecast, where a history was given."""
    if report.comparison is None or report.comparison.forecast is None:
        return ""
    found = report.comparison.forecast.get(job)
    missing = "not examined" if found is None else NO_START
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
            + _start(report, item.job, "start", item.start)
            + _time(instance, item.finish, "unknown")
            + _time(instance, item.bound if item.start is not None else item.estimate, "")
            + f"<td>{html_text(yes_or_no(item.proved, item.proved_if))}</td>"
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
            + f"<td>{html_text(record['user'])}</td><td>{html_text(record['queue'])}</td>"
            + _number(record["slots"])
            + _time(instance, record["submit"])
            + _start(report, record["job"], "start", record["start"])
            + _time(instance, record["end"], "unknown")
            + _wait(record["wait"])
            + f"<td>{html_text(record['status'])}"
            + f"{', backfilled' if record['backfilled'] else ''}</td>"
            + _why(record["reason"]),
        )
        for record in report.jobs
    ]
    titles = ("Job", "User", "Queue", "Slots", "Submitted", "Start", "End", "Wait", "Status")
    return _rows("simulation", (*titles, "Why it waited"), rows)


# --- page -----------------------------------------------------------------------------------------

#: In the order in which they have to run.
LIBRARIES = ("vendor/echarts.min.js", "vendor/jquery.slim.min.js", "vendor/dataTables.min.js")
SCRIPTS = ("model.js", "details.js", "gantt.js", "curves.js", "tables.js", "main.js")
STYLES = ("vendor/dataTables.min.css", "report.css")


def asset(name: str) -> str:
    """The text of a file that comes with the page."""
    return resources.files(__package__).joinpath("assets", *name.split("/")).read_text("utf-8")


def page(report: Report, verdict: str = "") -> str:
    """The whole page; the same report gives the same text.

    verdict: HTML (names in it escaped) of what stands before everything else, "" for nothing.

    Names of users, jobs and hosts are text wherever they stand: escaped in HTML, JSON in the data,
    never markup in the scripts. The page's own policy forbids every other script and any network.
    """
    scripts = [asset(name) for name in (*LIBRARIES, *SCRIPTS)]
    data = as_records(report)
    title = report.instance.name or report.name
    return Template(asset("report.html")).substitute(
        policy=policy(scripts),
        version=__version__,
        kind=report.kind,
        title=html_text(title),
        lead=html_text(_lead(report)),
        styles="\n".join(map(asset, STYLES)),
        verdict=verdict_section(verdict),
        figures=_figures(report),
        sections=sections(report),
        notes=_notes(data["notes"]),
        footer=html_text(f"slotwise {__version__}. {_moment(report)} The page works offline."),
        data=_json(data),
        scripts="\n".join(f"<script>{script}</script>" for script in scripts),
    )


def verdict_section(verdict: str) -> str:
    """The place of the verdict, on top of a page; nothing where there is none."""
    if not verdict:
        return ""
    title = '<h2 id="verdict-title">Verdict</h2>'
    return f'<section class="verdict" aria-labelledby="verdict-title">{title}{verdict}</section>'


def policy(scripts: list[str]) -> str:
    """Only these scripts, and nothing from anywhere else."""
    hashes = [b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
    allowed = " ".join(f"'sha256-{found}'" for found in hashes)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _json(data: Any) -> str:
    """JSON that cannot end the element it stands in; unseen characters of names are shown."""
    text = json.dumps(_shown(data), separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    for char in "<>&\u2028\u2029":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return text


def _shown(data: Any) -> Any:
    if isinstance(data, str):
        return printable(data)
    if isinstance(data, dict):
        return {_shown(key): _shown(value) for key, value in data.items()}
    if isinstance(data, (list, tuple)):
        return [_shown(item) for item in data] if _holds_more(data) else data
    return data


def _holds_more(data: list[Any] | tuple[Any, ...]) -> bool:
    """Whether a list holds anything but numbers: most of a large report does not."""
    return any(not (item is None or isinstance(item, (int, float))) for item in data)


# --- words ----------------------------------------------------------------------------------------


def _lead(report: Report) -> str:
    instance = report.instance
    slots = sum(host.slots for host in instance.cluster.hosts)
    size = (
        f"{counted(len(instance.cluster.hosts), 'host')}, {counted(slots, 'slot')}, "
        f"{counted(len(instance.running), 'running job')}, "
        f"{counted(len(instance.pending) + len(instance.future), 'pending job')}."
    )
    return f"{instance.description} {size}".strip() if not instance.name else size


def _moment(report: Report) -> str:
    now = report.instance.now
    at = iso_time(report.instance.origin, now)
    return f"Now is {at}." if at else f"Times count from now, second {now}."


def _notes(notes: list[str]) -> str:
    if not notes:
        return ""
    lines = "".join(f'<p class="note">{html_text(note)}</p>' for note in notes)
    return (
        f'<section aria-labelledby="notes-title"><h2 id="notes-title">Notes</h2>{lines}</section>'
    )


def _figures(report: Report) -> str:
    """The numbers that a reader wants first."""
    found: list[tuple[str, str, bool]] = []
    if report.comparison is not None:
        rows = report.comparison.jobs
        gains = sum(row.sooner_by for row in rows if row.sooner_by is not None)
        slot_hours = sum(row.slot_hours or 0.0 for row in rows)
        now = sum(row.as_configured == report.instance.now for row in rows)
        found += [
            (str(len(rows)), "pending jobs", False),
            (str(now), "start now as configured", False),
            (f"{slot_hours:.1f}", "slot-hours less waiting in the plan", slot_hours > 0),
            (duration_text(gains), "less waiting in the plan, jobs of any size", gains > 0),
            (str(sum(row.proved for row in rows)), "starts proved the earliest", False),
            *_without_a_start(report.missing["possible"]),
        ]
    elif report.plan is not None:
        words = dict(report.missing["start"])
        if report.plan.method == "greedy" and not report.plan.cut:
            # It gives estimates, not starts.
            words = {job: word for job, word in words.items() if word != "no date"}
        unknown = sum(word in ("no date", "not examined") for word in words.values())
        found += [
            (report.plan.method, f"method, {report.plan.objective}", False),
            (report.plan.status, "status", False),
            (str(len(report.plan) - unknown), "jobs planned", False),
            *_without_a_start(words),
        ]
    else:
        found += _figures_of_simulation(report.metrics)
    return "".join(
        f"<li{' class=good' if good else ''}><b>{html_text(value)}</b>"
        + f"<span>{html_text(what)}</span></li>"
        for value, what, good in found
    )


def _without_a_start(words: Mapping[str, str]) -> Iterator[tuple[str, str, bool]]:
    """How many jobs have no start, apart by what is known of that."""
    counts = Counter(words.values())
    if not counts:
        yield "0", "have no start", False
    for word, count in counts.items():
        yield str(count), WITHOUT_A_START.get(word, word), False


#: What is said under a number of jobs without a start, by their state or the word of a plan.
WITHOUT_A_START = {
    "starts if": "start if something else happens",
    "unknown end": "wait for an unknown end",
    "impossible": "cannot start here",
    "no place": "have no place",
}


def _figures_of_simulation(metrics: Any) -> list[tuple[str, str, bool]]:
    def seconds(name: str) -> str:
        value = metrics.get(name)
        return "–" if value is None else duration_text(round(value))

    return [
        (f"{metrics.get('started', 0)} of {metrics.get('jobs', 0)}", "jobs started", False),
        (f"{100 * metrics.get('utilisation', 0.0):.1f} %", "of the slots in use", False),
        (seconds("mean_wait"), "mean wait", False),
        (seconds("p95_wait"), "95th percentile of waits", False),
        (f"{100 * metrics.get('idle_while_waiting', 0.0):.1f} %", "idle while jobs waited", False),
        (str(metrics.get("backfilled", 0)), "jobs backfilled", False),
    ]


# --- Whether the file of a report is a saved plan -------------------------------------------------


def saved_data(path: Path) -> Any:
    """The plain data of a JSON file that may hold a saved plan; None for anything else.

    Standard input and devices are not examined: they can be read only once.
    """
    if str(path) == "-":
        return None
    check_inside(path)
    try:
        if not path.is_file():
            return None
        head = beginning(path, 1 << 16).lstrip()
    except OSError as error:
        raise unreadable(path, error) from None
    if not head.startswith(b"{") or b'"reservations"' not in head:
        return None
    return plain_data(file_bytes(path), str(path), "json")[0]


# --- The verdict on top of a report: which jobs starve, why, what helps and what it costs ---------


def verdict_html(instance: Instance, seconds: float | None, cancel: threading.Event) -> str:
    """The diagnosis as HTML. seconds: wall clock for it, None for no limit."""
    found = diagnose(instance, time_limit=seconds, cancel=cancel)
    return html_of(page_of(instance, found))


def html_of(page: Page) -> str:
    """A diagnosis in words as HTML."""
    body = f'<p class="verdict">{html_text(page.answer)}</p>'
    body += "".join(map(_verdict_of_job, page.verdicts))
    body += "".join(f'<p class="hint">{html_text(note)}</p>' for note in page.notes)
    return body


def _verdict_of_job(item: Verdict) -> str:
    remedies = "".join(f"<li>{_remedy(remedy)}</li>" for remedy in item.remedies)
    helps = f"<p>What helps, any one of these:</p><ol>{remedies}</ol>" if remedies else ""
    little = "".join(f"<p>Not enough alone: {_remedy(other)}</p>" for other in item.too_little)
    return (
        f"<h3>{html_text(item.title)}</h3><p>{html_text(' '.join(item.sentences))}</p>"
        f"<p><strong>Cause.</strong> {html_text(item.cause)}</p>{helps}{little}"
    )


def _remedy(remedy: Advised) -> str:
    return (
        f"<code>{html_text(remedy.write)}</code><br>{html_text(f'{remedy.gives} {remedy.costs}')}"
    )


# --------------------------------------------------------------------------------------------------
# Why the waiting jobs of a report do not start earlier and what would help: `explain`, in
# turn


@dataclass(frozen=True, slots=True)
class Advice:
    """Explanations by job."""

    found: dict[str, Explanation]
    #: Waiting jobs that were not examined.
    left: int

    def notes(self) -> tuple[str, ...]:
        """What a reader of the report has to know of it."""
        if not self.left:
            return ()
        return (
            f"Why-not-earlier and what-would-help were worked out for {len(self.found)} of "
            f"{len(self.found) + self.left} waiting jobs (--explain, --advice-time); "
            "slotwise explain FILE JOB does it for any other.",
        )


def advise(
    instance: Instance,
    waiting: Sequence[str],
    *,
    most: int,
    seconds: float | None,
    cancel: threading.Event,
    on_progress: Callable[[str], None] | None = None,
) -> Advice:
    """Explain the first `most` of the waiting jobs, by time-based planning as `explain` does.

    seconds: wall clock for all of them together, None for no limit; a job whose explanation was
    not done by then is left out. cancel: set it to stop.
    """
    stop = Deadline(seconds, cancel)
    found: dict[str, Explanation] = {}
    for job in waiting[:most]:
        if stop.is_set():
            break
        if on_progress is not None:
            on_progress(f"explaining {job}")
        explanation = explain(instance, job, cancel=stop)
        if not stop.is_set():
            found[job] = explanation
    return Advice(found, len(waiting) - len(found))
