"""Advice in a report: explanations of jobs in turn, and the whole diagnosis."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ...model.escaping import html_text
from ...model.instance import Instance
from ...solver.advice.diagnosis.records import Advised, Page, Verdict
from ...solver.advice.explain import Explanation, explain
from ...solver.budget import Deadline


@dataclass(frozen=True, slots=True)
class Advice:
    """Explanations by job."""

    found: dict[str, Explanation]
    #: Waiting jobs that were not examined.
    left: int

    def notes(self) -> tuple[str, ...]:
        """Return the notes that a reader of the report needs."""
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
    """Return explanations of the first `most` waiting jobs, as `explain` prints them.

    seconds: wall clock for all of them together, None if no limit; jobs without an explanation by
    then are missing. cancel: set it to stop.
    """
    stop = Deadline(seconds, cancel)
    found: dict[str, Explanation] = {}
    for job in waiting[:most]:
        if stop.is_set():
            break
        if on_progress is not None:
            on_progress(f"explaining {job}")
        limit = None if seconds is None else stop.left()
        explanation = explain(instance, job, time_limit=limit, cancel=stop)
        if not stop.is_set():
            found[job] = explanation
    return Advice(found, len(waiting) - len(found))


def html_of(page: Page) -> str:
    """Return a diagnosis in words as HTML."""
    body = f'<p class="answer">{html_text(page.answer)}</p>'
    body += "".join(f"<p>{html_text(fact)}</p>" for fact in page.facts)
    body += "".join(map(_verdict_of_job, page.verdicts))
    body += "".join(f'<p class="hint">{html_text(note)}</p>' for note in page.notes)
    return body


def _verdict_of_job(item: Verdict) -> str:
    remedies = "".join(f"<li>{_remedy(remedy)}</li>" for remedy in item.remedies)
    helps = f"<p>What helps, any one of these:</p><ol>{remedies}</ol>" if remedies else ""
    little = "".join(f"<p>Not enough alone: {_remedy(other)}</p>" for other in item.too_little)
    more = "".join(f"<p>{html_text(text)}</p>" for text in item.details) + little
    folded = f"<details><summary>Details</summary>{more}</details>" if more else ""
    return (
        f"<h3>{html_text(item.title)}</h3><p>{html_text(' '.join(item.sentences))}</p>"
        f"<p><strong>Cause.</strong> {html_text(item.cause)}</p>{helps}{folded}"
    )


def _remedy(remedy: Advised) -> str:
    return (
        f"<code>{html_text(remedy.write)}</code><br>"
        f"{html_text(' '.join(filter(None, (remedy.gives, remedy.costs, remedy.whose))))}"
    )
