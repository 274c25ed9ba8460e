"""The report as one HTML page that needs nothing but itself."""

from __future__ import annotations

import hashlib
import json
import re
from base64 import b64encode
from importlib import resources
from pathlib import Path
from string import Template
from typing import Any

from ... import __version__
from ...model.confined import check_inside
from ...model.errors import unreadable
from ...model.escaping import html_text, printable
from ...model.formats.reading import beginning, file_bytes
from ...model.formats.source_text import plain_data
from ...model.instance import Instance
from ...model.slurm_words import family_text, unit_words
from ..tables import mapped
from .about import About
from .data import Report, as_records
from .folds import folds_html
from .screen import moment_html, screen_html

#: Text between two tags, and text in an attribute that is read aloud or shown.
_SHOWN = re.compile(r"(?<=>)[^<>]+|\b(?:title|aria-label|placeholder)=\"[^\"]*\"")
#: Words for units in the page's own scripts.
_IN_SCRIPT = re.compile(r"\"(slot|host|Slots|Hosts)\"|· (queue) (?=\$)")


def html_in_words(instance: Instance, html: str) -> str:
    """Return HTML with its texts in the words of the instance's scheduler; tags stay."""
    return _SHOWN.sub(lambda found: family_text(instance, found[0]), f">{html}")[1:]


def script_in_words(instance: Instance, script: str) -> str:
    """Return a script of the page with the units' words of the instance's scheduler."""
    if not instance.params.scheduler.has_own_words:
        return script
    words = unit_words(instance)
    words |= {"Slots": f"{words['slot']}s", "Hosts": f"{words['host'].capitalize()}s"}

    def replaced(found: re.Match[str]) -> str:
        return f"· {words['queue']} " if found[2] else f'"{words[found[1]]}"'

    return _IN_SCRIPT.sub(replaced, script)


def data_in_words(instance: Instance, data: Any) -> Any:
    """Return data with its texts in the words of the instance's scheduler; keys stay."""
    return mapped(data, lambda x: family_text(instance, x) if isinstance(x, str) else x)


#: In the order in which they have to run.
LIBRARIES = ("vendor/jquery.slim.min.js", "vendor/dataTables.min.js")
SCRIPTS = ("theme.js", "model.js", "gantt.js", "details.js", "jobs.js", "tables.js", "main.js")
STYLES = ("vendor/dataTables.min.css", "base.css", "report.css")


def asset(name: str) -> str:
    """Return the text of a file that comes with the page."""
    return resources.files(__package__).joinpath("assets", *name.split("/")).read_text("utf-8")


def page(report: Report) -> str:
    """Return the whole page; equal reports give equal texts.

    Names of users, jobs and hosts are text wherever they stand: escaped in HTML, JSON in the data,
    never markup in the scripts. The page's own policy forbids every other script and any network.
    """
    instance = report.instance
    scripts = [asset(name) for name in LIBRARIES]
    scripts += [script_in_words(instance, asset(name)) for name in SCRIPTS]
    about = About(report)
    text, notes = _data(report, about)
    title = instance.name or report.name
    said = [report.instance.description] if report.instance.description else []
    if report.comparison is not None:
        said += [*report.comparison.summary(), *(f"{v.name}: {v.meaning}" for v in report.views)]
    else:
        said += [view.meaning for view in report.views]
    return Template(asset("report.html")).substitute(
        policy=policy(scripts),
        version=__version__,
        title=html_text(title),
        moment=html_in_words(instance, moment_html(report)),
        styles="\n".join(map(asset, STYLES)),
        screen=html_in_words(instance, screen_html(about)),
        folds=html_in_words(instance, folds_html(about, [*said, *notes])),
        footer=html_text(f"slotwise {__version__}. {about.clock.note} The page works offline."),
        data=text,
        scripts="\n".join(f"<script>{script}</script>" for script in scripts),
    )


def _data(report: Report, about: About) -> tuple[str, list[str]]:
    """Return the data of a page as the text that its scripts read, and its notes."""
    data = as_records(report)
    notes = data["notes"]
    data["day"] = None if about.clock.day is None else about.clock.day.isoformat()
    texts = [_member(key, data.pop(key)) for key in tuple(data)]  # each is freed then
    details = {row.job: about.detail(row.job).to_dict() for row in about.rows}
    texts.append(_member("about", data_in_words(report.instance, details)))
    return f"{{{','.join(texts)}}}", notes


def _member(key: str, value: Any) -> str:
    text = _json(value)
    if not text.isprintable() or re.search(r'\\[^"\\n]', text):
        text = _json(_shown(value))
    for char in "<>&\u2028\u2029":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return f"{_json(key)}:{text}"


def policy(scripts: list[str]) -> str:
    """Return the content security policy: only these scripts, and no other source."""
    hashes = [b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
    allowed = " ".join(f"'sha256-{found}'" for found in hashes)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _json(data: Any) -> str:
    return json.dumps(data, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


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


def saved_data(path: Path) -> Any:
    """Return the plain data of a JSON file that may be a saved plan, None for other files.

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
