"""``slotwise diagnose``: which jobs starve, why as configured, what helps and what it costs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from ..model.escaping import markdown_code, markdown_text
from .declare import command, option, taking
from .forecast import LikelyOptions
from .options import Search, progress
from .process import cancel_on_signal, give, left_of
from .selection import Selection
from .source import Source
from .tables import json_text, paragraph

if TYPE_CHECKING:
    from ..model.instance import Instance
    from ..solver.advice.diagnosis.records import Advised, Diagnosis, Page, Verdict

OF_DIAGNOSIS = "Wall-clock seconds of the whole command; then the results so far are printed."


@command
def diagnose(
    source: Source,
    selection: Annotated[Selection, taking("names")],
    *,
    most: int = option(
        3, "Number of jobs for which every change is tried, the worst first.", min=1
    ),
    search: Annotated[Search, taking("time_limit", time_limit=OF_DIAGNOSIS)],
    likely: Annotated[LikelyOptions, taking("history samples seed workers calibration")],
    details: bool = option(
        False, "Also show which jobs overtake each job, and which wait longer with each remedy."
    ),
    format: Literal["text", "md", "json"] = option(
        "text", "Format on standard output: text, Markdown for a ticket, JSON."
    ),
) -> None:
    """Find starving jobs, the settings that delay them, the remedies and their cost to others.

    A job starves if it waits although enough slots are free together earlier. The scheduler is
    simulated from now on, then again with one setting changed at a time.

    Exit codes: 0 done (even if jobs starve), 2 bad input, 3 stopped early with the results so far.
    """
    from ..solver.advice.diagnosis.diagnose import diagnose as diagnose_instance

    settings = likely.settings()
    instance = source.read(search.time_limit)
    past = likely.past(instance)
    with cancel_on_signal() as cancel, progress() as report:
        found = diagnose_instance(
            instance,
            jobs=selection.names,
            most=most,
            time_limit=left_of(search.time_limit),
            cancel=cancel,
            on_progress=report,
            history=past,
            drawing=settings,
        )
    text = diagnosis_output(instance, found, format, details)
    give(text, found.remarks, is_partial=found.cut or cancel.is_set())


def diagnosis_output(
    instance: Instance, found: Diagnosis, format: str, details: bool = False
) -> str:
    """Return a diagnosis in one of the output formats, with a final newline."""
    from ..solver.advice.diagnosis.records import page_of

    if format == "json":
        return json_text(found.to_dict())
    page = page_of(instance, found)
    return _markdown(page) if format == "md" else _text(page, details)


def _text(page: Page, details: bool) -> str:

    text = "".join(map(paragraph, (page.answer, *page.facts)))
    for verdict in page.verdicts:
        text += "\n" + paragraph(verdict.title)
        more = verdict.details if details else ()
        text += paragraph(" ".join((*verdict.sentences, *more)))
        text += paragraph(f"Cause: {verdict.cause}")
        if verdict.remedies:
            text += _HELPS.get(len(verdict.remedies), _MANY_HELP) + ":\n"
            text += remedies_text(verdict, details)
        for remedy in verdict.too_little if details else ():
            text += paragraph(f"Not enough alone: {remedy.write}. {_gives(remedy, details)}")
    text += "\n" + "".join(map(paragraph, page.notes))
    if not details and any(map(_has_details, page.verdicts)):
        text += paragraph(
            "--details shows which jobs overtake them, and how a remedy affects other jobs."
        )
    return text


_HELPS, _MANY_HELP = {1: "What helps"}, "Each of these changes helps"


def _has_details(verdict: Verdict) -> bool:
    return bool(verdict.details or verdict.too_little or any(i.whose for i in verdict.remedies))


def _gives(remedy: Advised, details: bool) -> str:
    told = (remedy.gives, remedy.costs, remedy.whose if details else "")
    return " ".join(filter(None, told))


def remedies_text(verdict: Verdict, details: bool = False) -> str:
    """Return the numbered remedies: what to write, the gain and the cost."""

    text = ""
    for number, remedy in enumerate(verdict.remedies, 1):
        first, *others = remedy.lines
        text += paragraph(f"  {number}. {first}", "     ")
        text += "".join(paragraph(f"     {line}", "     ") for line in others)
        text += paragraph(f"     then {remedy.then}", "     ") if remedy.then else ""
        text += paragraph(f"     {_gives(remedy, details)}", "     ")
    return text


def _markdown(page: Page) -> str:
    lines = [f"**{markdown_text(page.answer)}**", ""]
    lines += [f"- {markdown_text(fact)}" for fact in page.facts] + [""] * bool(page.facts)
    for verdict in page.verdicts:
        lines += [f"### {markdown_text(verdict.title)}", ""]
        lines += [
            markdown_text(" ".join(verdict.sentences)),
            "",
            f"**Cause.** {markdown_text(verdict.cause)}",
            "",
        ]
        if verdict.remedies:
            lines += [f"**{_HELPS.get(len(verdict.remedies), _MANY_HELP)}**:", ""]
        for number, remedy in enumerate(verdict.remedies, 1):
            written = [*remedy.lines, *([f"then {remedy.then}"] if remedy.then else ())]
            shown = "  \n   ".join(map(markdown_code, written))
            lines += [f"{number}. {shown}  ", f"   {markdown_text(_gives(remedy, False))}"]
        lines += [""] if verdict.remedies else []
        lines += _folded(verdict)
    lines += [f"- {markdown_text(note)}" for note in page.notes]
    return "\n".join(lines) + "\n"


def _folded(verdict: Verdict) -> list[str]:
    """Return details as a folded Markdown section."""
    told = [markdown_text(text) for text in verdict.details]
    told += [
        f"By remedy {number}: {markdown_text(remedy.whose)}"
        for number, remedy in enumerate(verdict.remedies, 1)
        if remedy.whose
    ]
    told += [
        f"Not enough alone: {markdown_code(remedy.write)}. {markdown_text(_gives(remedy, True))}"
        for remedy in verdict.too_little
    ]
    if not told:
        return []
    listed = [f"- {text}" for text in told]
    return ["<details><summary>Details</summary>", "", *listed, "", "</details>", ""]
