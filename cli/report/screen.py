"""The first screen of the page: status, three figures, picture, jobs, the chosen job."""

from __future__ import annotations

from ...model.display import duration_text, iso_time, wall_clock
from ...model.escaping import html_text
from ...model.instance import Instance
from ...solver.pending_reasons import counted
from ..outlook_text import short_reason
from .about import About, JobRow
from .bars import host_groups
from .data import Figure, Report, figures_of, status_of

#: Rows of the slim table; the folded tables have every job.
MAX_PICKED = 1000
#: Running jobs that are listed in words; more are counted.
MAX_SPOKEN = 50
#: Jobs from which on the slim table has a filter.
MANY = 12
#: Titles of the two columns of starts.
_STARTS = {
    "comparison": ("As configured", "Possible"),
    "plan": ("Start", "Not before"),
    "simulation": ("Start", "Wait"),
}
#: Explanation of a column, by its title.
_MEANINGS = {
    "As configured": "when the scheduler starts it with its settings as they are, by simulation",
    "Possible": "the earliest start if all jobs are planned together in priority order",
    "Sooner": "from the start as configured to the possible one",
    "Waits for": "what it needs and does not have",
}
_KEYS = (
    "With the picture in focus: <kbd>↑</kbd> <kbd>↓</kbd> row, <kbd>Enter</kbd> fold, "
    "<kbd>←</kbd> <kbd>→</kbd> jobs of a host, <kbd>+</kbd> <kbd>−</kbd> zoom, "
    "<kbd>,</kbd> <kbd>.</kbd> move, <kbd>Home</kbd> all. Mouse: drag, Ctrl and wheel to zoom."
)


def screen_html(about: About) -> str:
    """Return the whole first screen of the page."""
    report = about.report
    return "".join((_status(report), _figures(report), _gantt(report), _jobs(about), _details()))


def moment_html(report: Report) -> str:
    """Return the instant and the size of the instance."""
    instance = report.instance
    slots = sum(host.slots for host in instance.cluster.hosts)
    parts = [
        _moment(instance),
        counted(len(instance.cluster.hosts), "host"),
        counted(slots, "slot"),
        f"{len(instance.running)} running",
        f"{len(instance.pending) + len(instance.future)} pending",
    ]
    return html_text(" · ".join(parts))


def _moment(instance: Instance) -> str:
    if instance.origin is None:
        now = f"second {instance.now}" if instance.now else "now"
        return f"times count from {now}"
    found = wall_clock(instance.origin, instance.now)
    if found is None:
        return f"as of {iso_time(instance.origin, instance.now)}"
    return f"as of {found:%a} {found.day} {found:%b %Y, %H:%M}"


def _status(report: Report) -> str:
    found = status_of(report)
    head, *rest = found.parts
    more = "".join(f'<span class="dot">·</span><span>{html_text(part)}</span>' for part in rest)
    whole = ""
    if report.diagnosis is not None:
        whole = '<a class="whole" href="#verdict">the whole verdict</a>'
    return (
        f'<div class="status {found.level}" role="status" id="status">'
        f'<i class="sign" aria-hidden="true"></i><b>{html_text(head)}</b>{more}{whole}</div>'
    )


def _figures(report: Report) -> str:
    return f'<dl class="figs">{"".join(map(_figure, figures_of(report)))}</dl>'


def _figure(item: Figure) -> str:
    before = f"<span>{html_text(item.before)} →</span> " if item.before else ""
    of = f" <span>of {html_text(item.of)}</span>" if item.of else ""
    more = html_text(item.more)
    if item.leads_to:
        more = f'<a href="#{item.leads_to}">{more}</a>'
    return (
        f'<div class="fig card"><dt><b>{html_text(item.what)}</b>{more}</dt>'
        f"<dd>{before}{html_text(item.value)}{of}</dd></div>"
    )


def _gantt(report: Report) -> str:
    label = (
        "Hosts over time. Arrow keys go through its rows and jobs, Enter folds and unfolds; "
        "the picture as a table stands below."
    )
    return (
        '<section class="gan card" aria-labelledby="gantt-title"><div class="bar">'
        f'<h2 id="gantt-title">Hosts</h2>{_views(report)}{_tools(report)}</div>'
        '<ul class="key" id="key"></ul>'
        f'<div class="gbox" id="gantt" tabindex="0" role="application" aria-label="{label}" '
        f'aria-describedby="keys"></div><p class="vh" id="keys">{_KEYS}</p>'
        '<p class="vh" id="said" role="status" aria-live="polite"></p>'
        '<noscript><p class="note">The picture needs JavaScript; the tables are complete without '
        f"it.</p></noscript>{_running(report)}</section>"
    )


def _views(report: Report) -> str:
    if len(report.views) < 2:
        return ""
    last = len(report.views) - 1
    inputs = "".join(
        f'<label><input type="radio" name="view" id="view-{n}" value="{n}"'
        f"{' checked' if n == last else ''}>{html_text(view.name.capitalize())}</label>"
        for n, view in enumerate(report.views)
    )
    return f'<div class="seg" role="radiogroup" aria-label="Which plan">{inputs}</div>'


def _tools(report: Report) -> str:
    folds = ""
    if host_groups(report.instance.cluster):
        folds = (
            '<button type="button" id="unfold-one">Unfold</button>'
            '<button type="button" id="fold">Fold</button>'
        )
    return (
        f'<div class="tools">{folds}'
        '<button type="button" id="zoom-out" aria-label="Zoom out">−</button>'
        '<button type="button" id="zoom-all" aria-label="The whole plan">⤢</button>'
        '<button type="button" id="zoom-in" aria-label="Zoom in">+</button></div>'
    )


def _running(report: Report) -> str:
    """Return the running jobs in words, for readers without the picture."""
    instance = report.instance
    items = []
    for stretch in report.running[:MAX_SPOKEN]:
        slots, hosts = sum(stretch.allocation.values()), len(stretch.allocation)
        end = "at an unknown time"
        if stretch.finish is not None:
            left = stretch.finish - instance.now
            end = f"in {duration_text(left)}" if left > 0 else "now"
        where = f"{counted(slots, 'slot')} on {counted(hosts, 'host')}"
        items.append(f"<li>Job {html_text(stretch.job)} runs: {where}, ends {end}.</li>")
    more = len(report.running) - len(items)
    if more > 0:
        items.append(f"<li>{counted(more, 'more running job')}: see the table.</li>")
    if not items:
        return '<p class="vh">No job is running.</p>'
    return f'<ul class="vh" aria-label="Running jobs">{"".join(items)}</ul>'


def _jobs(about: About) -> str:
    kind = about.report.kind
    rows = about.rows
    if not rows:
        body = '<p class="meaning">No job is pending: there is no start to plan.</p>'
        return f'<section class="jobs card" id="jobs" aria-label="Jobs">{body}</section>'
    first, second = _STARTS[kind]
    titles = [("Job", ""), ("User", "u"), ("Slots", "n"), (first, "n"), (second, "n")]
    if kind == "comparison":
        titles.append(("Sooner", "n"))
    titles.append(("Waits for" if kind != "simulation" else "Waited for", "wf"))
    head = "".join(
        f'<th scope="col" class="{style}"{_meaning(title)}>'
        f'<button type="button">{title}</button></th>'
        for title, style in titles
    )
    shown = rows[:MAX_PICKED]
    body = "".join(_row(row, kind, n == 0) for n, row in enumerate(shown))
    dated = ' class="dated"' if about.clock.day is None and about.report.instance.origin else ""
    left = len(rows) - len(shown)
    rest = ""
    if left:
        rest = f'<p class="soft rest">{counted(left, "more job")} in the tables below.</p>'
    find = ""
    if len(rows) > MANY:
        find = '<input type="search" id="find" placeholder="Find a job" aria-label="Find a job">'
    return (
        f'<section class="jobs card" id="jobs" aria-labelledby="jobs-title"><div class="bar">'
        f'<h2 id="jobs-title">{_called(kind)}</h2>{find}</div><div class="jbox" tabindex="-1">'
        f'<table id="picks"{dated}><caption class="vh">Longest wait first. Choose one to see it in '
        f"the picture and below.</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody>"
        f"</table>{rest}</div></section>"
    )


def _meaning(title: str) -> str:
    text = _MEANINGS.get(title)
    return f' title="{text}"' if text else ""


def _called(kind: str) -> str:
    return "Jobs" if kind == "simulation" else "Pending jobs"


def _row(row: JobRow, kind: str, chosen: bool) -> str:
    name = html_text(row.job)
    flag = ""
    if row.flag:
        style = "bad" if row.flag == "stuck" else "warn"
        flag = f'<i class="flag {style}" role="img" aria-label="{row.flag}" title="{row.flag}"></i>'
    first, second = (_cell(*start) for start in row.starts)
    sooner = _sooner(row.sooner) if kind == "comparison" else ""
    why = html_text(row.waits_for)
    return (
        f'<tr data-job="{name}"><td data-order="{name}"><label class="pick">'
        f'<input type="radio" name="job" value="{name}"{" checked" if chosen else ""}>'
        f'<span class="job" title="{name}">{name}</span>{flag}</label></td>'
        f'<td class="u" title="{html_text(row.user)}">{html_text(row.user)}</td>'
        f'<td class="n" data-order="{row.slots}">{row.slots}</td>{first}{second}{sooner}'
        f'<td class="wf" title="{why}">{html_text(short_reason(row.waits_for)) or "–"}</td></tr>'
    )


def _cell(time: int | None, text: str) -> str:
    return f'<td class="n" data-order="{9e18 if time is None else time}">{html_text(text)}</td>'


def _sooner(seconds: int | None) -> str:
    if not seconds:
        return '<td class="n gn soft" data-order="0">–</td>'
    text = html_text(duration_text(seconds))
    return f'<td class="n gn good" data-order="{seconds}">{text}</td>'


def _details() -> str:
    return (
        '<section class="dets card" id="job" aria-label="The chosen job"><noscript><p>The table '
        "below has every job.</p></noscript></section>"
    )
