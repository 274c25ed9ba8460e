"""The verdict on top of a report: which jobs starve, why, what helps and what it costs."""

from __future__ import annotations

import threading
from html import escape

from ...model.instance import Instance
from ...solver.advice.diagnosis.diagnose import diagnose
from ...solver.advice.diagnosis.words import Advised, Page, Verdict, page_of
from ..cells import printable


def verdict_html(instance: Instance, seconds: float | None, cancel: threading.Event) -> str:
    """The diagnosis as HTML. seconds: wall clock for it, None for no limit."""
    found = diagnose(instance, time_limit=seconds, cancel=cancel)
    return html_of(page_of(instance, found))


def html_of(page: Page) -> str:
    """A diagnosis in words as HTML."""
    body = f'<p class="verdict">{_text(page.answer)}</p>'
    body += "".join(map(_verdict, page.verdicts))
    body += "".join(f'<p class="hint">{_text(note)}</p>' for note in page.notes)
    return body


def _verdict(item: Verdict) -> str:
    remedies = "".join(f"<li>{_remedy(remedy)}</li>" for remedy in item.remedies)
    helps = f"<p>What helps, any one of these:</p><ol>{remedies}</ol>" if remedies else ""
    little = "".join(f"<p>Not enough alone: {_remedy(other)}</p>" for other in item.too_little)
    return (
        f"<h3>{_text(item.title)}</h3><p>{_text(' '.join(item.sentences))}</p>"
        f"<p><strong>Cause.</strong> {_text(item.cause)}</p>{helps}{little}"
    )


def _remedy(remedy: Advised) -> str:
    return f"<code>{_text(remedy.write)}</code><br>{_text(f'{remedy.gives} {remedy.costs}')}"


def _text(text: str) -> str:
    return escape(printable(text))
