"""The answer for one job in two sentences: its start, what helps most; and lines to paste."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from typing import TYPE_CHECKING

from ..model.display import WrittenTimes, duration_text
from ..model.slurm_words import change_text, update_command
from .tables import paragraph

if TYPE_CHECKING:
    from ..model.instance import Instance
    from ..solver.advice.explain import Explanation


def command_of(instance: Instance, job: str, change: str) -> str:
    """Return the command for a change of a job, "" if no single command makes it.

    An option of its own is all that bmod needs; a section of -R would need the whole string.
    """
    if instance.params.scheduler.has_own_words:
        return update_command(job, change)
    option = re.match(r"with (-\S+ \S+)", change)
    if option is not None:  # "or less" and its reason are no part of the command
        return f"bmod {option[1]} {shlex.quote(job)}"
    if change.startswith("in queue "):
        return f"bswitch {change.removeprefix('in queue ')} {shlex.quote(job)}"
    return ""


def brief_text(clock: WrittenTimes, found: Explanation, start: str, cautions: Iterable[str]) -> str:
    """Return two sentences, the lines to paste and the omissions of the answer.

    start: when and where the job starts. cautions: sentences on what is omitted.
    """
    answer = found.answer
    if answer.waits_for and answer.start is not None and answer.start != clock.instance.now:
        it = "it " if answer.waits_for.startswith("needs ") else ""
        start = f"{start}: {it}{answer.waits_for}"
    sentence, lines = _help(clock, found)
    instance = clock.instance
    text = paragraph(f"{start}.", instance=instance)
    text += paragraph(sentence, instance=instance) if sentence else ""
    text += "".join(f"  {line}\n" for line in lines)
    text += "".join(paragraph(caution, instance=instance) for caution in cautions)
    return text + (paragraph(clock.note) if clock.day is not None else "")


def _help(clock: WrittenTimes, found: Explanation) -> tuple[str, tuple[str, ...]]:
    """Return a change that starts the job earlier: one by its user, else one by an
    administrator.
    """
    from ..solver.advice.diagnosis.records import page_of
    from ..solver.pending_reasons import counted

    instance, job = clock.instance, found.answer.job.id
    for item in found.suggestions:
        line = command_of(instance, job, item.change)
        if line:
            gain = "" if item.gain is None else f", {duration_text(item.gain)} earlier"
            change = change_text(instance, item.change)
            change = change[0].upper() + change[1:]
            return f"{change} it would start {clock.text(item.start)}{gain}:", (line,)
    pages = () if found.diagnosis is None else page_of(instance, found.diagnosis).verdicts
    remedies = (remedy for verdict in pages for remedy in verdict.remedies)
    for remedy in remedies:
        if remedy.lines[0].startswith("job "):  # another request of a job
            continue
        lines = (*remedy.lines, *((remedy.then,) if remedy.then else ()))
        return f"An administrator could change this; {remedy.gives}", lines
    if found.suggestions:
        item = found.suggestions[0]
        change = change_text(instance, item.change)
        return f"It would start {clock.text(item.start)} {change}.", ()
    if found.answer.start == clock.instance.now:
        return "", ()
    return f"No change that was tried starts it earlier ({counted(found.tried, 'change')}).", ()
