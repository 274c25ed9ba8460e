"""The report as one HTML page that needs nothing but itself."""

from __future__ import annotations

import hashlib
import json
from base64 import b64encode
from collections import Counter
from collections.abc import Iterator, Mapping
from html import escape
from importlib import resources
from string import Template
from typing import Any

from ... import __version__
from ...model.time_text import duration_text, iso_time
from ...solver.shortage import counted
from ..cells import printable
from .data import Report, as_records
from .sections import sections

#: In the order in which they have to run.
LIBRARIES = ("vendor/echarts.min.js", "vendor/jquery.slim.min.js", "vendor/dataTables.min.js")
SCRIPTS = ("model.js", "details.js", "gantt.js", "curves.js", "tables.js", "main.js")
STYLES = ("vendor/dataTables.min.css", "report.css")


def asset(name: str) -> str:
    """The text of a file that comes with the page."""
    return resources.files(__package__).joinpath("assets", *name.split("/")).read_text("utf-8")


def page(report: Report, verdict: str = "") -> str:
    """The whole page; the same report gives the same text. verdict: a section above all others.

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
        title=_text(title),
        lead=_text(_lead(report)),
        styles="\n".join(map(asset, STYLES)),
        figures=_figures(report),
        sections=verdict + sections(report),
        notes=_notes(data["notes"]),
        footer=_text(f"slotwise {__version__}. {_moment(report)} The page works offline."),
        data=_json(data),
        scripts="\n".join(f"<script>{script}</script>" for script in scripts),
    )


def _text(text: str) -> str:
    return escape(printable(text))


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
    lines = "".join(f'<p class="note">{_text(note)}</p>' for note in notes)
    return (
        f'<section aria-labelledby="notes-title"><h2 id="notes-title">Notes</h2>{lines}</section>'
    )


def _figures(report: Report) -> str:
    """The numbers that a reader wants first."""
    found: list[tuple[str, str, bool]] = []
    if report.comparison is not None:
        rows = report.comparison.jobs
        gains = sum(row.gain for row in rows if row.gain is not None)
        found += [
            (str(len(rows)), "pending jobs", False),
            (str(sum(row.optimal == report.instance.now for row in rows)), "start now", False),
            (duration_text(gains), "of waiting saved against greedy", gains > 0),
            (str(sum(row.proved for row in rows)), "starts proved the earliest", False),
            *_without_a_start(report.missing["optimal"]),
        ]
    elif report.plan is not None:
        words = dict(report.missing["start"])
        if report.plan.method == "greedy" and not report.plan.cut:
            # It gives estimates, not starts.
            words = {job: word for job, word in words.items() if word != "?"}
        unknown = sum(word == "?" for word in words.values())
        found += [
            (report.plan.method, f"method, {report.plan.objective}", False),
            (report.plan.status, "status", False),
            (str(len(report.plan) - unknown), "jobs planned", False),
            *_without_a_start(words),
        ]
    else:
        found += _figures_of_simulation(report.metrics)
    return "".join(
        f"<li{' class=good' if good else ''}><b>{_text(value)}</b><span>{_text(what)}</span></li>"
        for value, what, good in found
    )


def _without_a_start(words: Mapping[str, str]) -> Iterator[tuple[str, str, bool]]:
    """How many jobs have no start, apart by what is known of that."""
    counts = Counter(words.values())
    yield str(counts["never"]), "have no place", False
    if counts["no place found"]:
        yield str(counts["no place found"]), "no place found", False
    if counts["?"]:
        yield str(counts["?"]), "start not known", False


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
