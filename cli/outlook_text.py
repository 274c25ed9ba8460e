"""The predicted start of one job as sentences, the same in every command; and lines to paste."""

from __future__ import annotations

import re
import shlex
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from ..model.display import WrittenTimes, duration_text
from ..model.omissions import Omission, sentences
from ..model.plan import proof_text
from ..model.slurm_words import change_text, update_command
from .tables import hosts_text, paragraph

if TYPE_CHECKING:
    from ..model.instance import Instance
    from ..model.progress import OnProgress
    from ..solver.advice.ask import Answer
    from ..solver.advice.explain import Explanation
    from ..solver.advice.what_if import StartAnswer
    from ..solver.outlook.outlook import JobOutlook


#: Jobs without a start, by id: the state, and what must happen.
Stated: TypeAlias = Mapping[str, tuple[str, str]]
NOTHING: Stated = {}
#: Text for a job without a start, by its state or the reason in a plan.
NO_START = {
    "starts if": "starts once another event occurs",
    "unknown end": "has no known start",
    "impossible": "cannot start on this cluster",
    "not examined": "was not examined",
    "no place": "has no start",
    "no place found": "has no start: none was found",
}
#: Why a job was not examined.
STOPPED = "the limit or Ctrl-C came first"
_BESIDE = "with the running and the planned jobs"


def start_lines(
    clock: WrittenTimes, who: str, outlook: JobOutlook, wide: bool = False
) -> Iterator[str]:
    """Yield lines on the start as configured, the possible start and the estimate of LSF."""
    yield f"{who} {_as_configured(clock, outlook, wide)}"
    if outlook.possible is not None:
        label = "later in priority order" if outlook.is_ahead else "possible"
        yield f"{label}: {_possible(clock, outlook, wide)}"
    if outlook.estimate is not None and not clock.instance.params.scheduler.plans_nodes:
        by = outlook.estimate_by
        early = "no sooner than " if by == "greedy" and outlook.estimate > _now(clock) else ""
        yield f"LSF's {by} estimate: {early}{clock.text(outlook.estimate)}"


def caution_lines(outlook: JobOutlook, method: str, omissions: Sequence[Omission]) -> Iterator[str]:
    """Yield each omission of the job once: of any start, of the possible one, of another.

    method, omissions: method of the shown start, and its omissions.
    """

    yield from sentences(outlook.cautions, of_one=True)
    told = {item.name for item in outlook.cautions}
    if outlook.possible is not None or method == "optimal":
        for text in sentences(outlook.possible_cautions, of_one=True):
            yield f"of the possible start {text}"
    if method == "optimal":
        told.update(item.name for item in outlook.possible_cautions)
    rest = [item for item in omissions if item.name not in told]
    for item, text in zip(rest, sentences(rest, of_one=True), strict=True):
        yield text if item.jobs == () else f"of the {method} start {text}"


def caution_names(record: Mapping[str, Any]) -> dict[str, str]:
    """Return the omitted rules of a job, as cells of CSV; record: its outlook as a mapping."""
    found = {}
    for key in ("cautions", "possible_cautions"):
        names = [
            f"{item['where']}: {item['what']}" if item["where"] else item["what"]
            for item in record[key]
        ]
        found[key] = "; ".join(names)
    return found


def answer_sentences(instance: Instance, answer: Answer) -> list[str]:
    """Return the sentences on the start of a job that is not submitted yet.

    For a job array they are those of its first element.
    """

    if answer.outlook is None:
        return []
    clock = WrittenTimes.of(instance, start_times(answer.outlook))
    who = "the job" if answer.elements == 1 else "the first element"
    told = caution_lines(answer.outlook, answer.method, answer.omissions)
    return [*start_lines(clock, who, answer.outlook), submitted_as(instance, answer), *told]


def submitted_as(instance: Instance, answer: Answer) -> str:
    """Return ``in queue normal (the default), as user anna``, for which an answer holds."""
    job = answer.line.answer.job
    default = " (the default)" if job.queue == instance.params.default_queue else ""
    return f"in queue {job.queue}{default}, as user {job.user}"


def could_start(outlook: JobOutlook, start: str, evidence: str = "") -> str:
    """Return the start that a job could have, never one later than as configured.

    start: the possible start as text, or the word for a missing one. evidence: marks of footnotes,
    or the bound of a start that is not proved.
    """
    if outlook.possible is None or outlook.as_configured is None or outlook.earlier_by:
        return " ".join(filter(None, (start, "proved" if outlook.proved else "", evidence)))
    if outlook.ahead_of:
        return f"ahead of {outlook.ahead_of}"
    return f"no earlier{'' if outlook.proved else ' found'} {evidence}".strip()


def short_reason(text: str) -> str:
    """Return the beginning of a reason, without its details."""
    from ..solver.precedence import NOT_YET

    text = text.replace(NOT_YET, "its start condition")
    ends = [at for sign in ("; ", " (", ": ") if (at := text.find(sign)) > 0]
    short = text[: min(ends, default=len(text))].removeprefix("needs ").removesuffix(" each")
    return short.replace(" and no other job there", ", alone")


def start_times(outlook: JobOutlook | None) -> tuple[int | None, ...]:
    """Return the times that the sentences name."""
    if outlook is None:
        return ()
    ends = outlook.as_configured_end
    return (outlook.as_configured, ends, outlook.possible, outlook.estimate, outlook.bound)


def _now(clock: WrittenTimes) -> int:
    return clock.instance.now


def _as_configured(clock: WrittenTimes, outlook: JobOutlook, wide: bool) -> str:
    if outlook.as_configured is not None:
        starts = "may start" if outlook.cautions else "starts"
        where = hosts_text(outlook.as_configured_on, wide)
        end = outlook.as_configured_end
        ends = "no known end" if end is None else f"ends {clock.text(end)}"
        start, by = clock.text(outlook.as_configured), _alternative(outlook.alternatives[0])
        return f"{starts} {start} as configured, {ends}, on {where}{by}"
    why = STOPPED if outlook.state == "not examined" else outlook.condition
    if outlook.state == "not examined" and outlook.possible is not None:
        return f"has no known start as configured: {STOPPED}"
    return f"{NO_START[outlook.state]}: {why}"


def _possible(clock: WrittenTimes, outlook: JobOutlook, wide: bool) -> str:
    text = clock.text(outlook.possible)
    if proof := proof_text(outlook.proved, outlook.proved_if):
        text += f", {proof.replace('proved', 'proved the earliest', 1)}"
    elif outlook.bound is not None:
        text += f", not before {clock.text(outlook.bound)}"
    else:
        text += ", not proved"
    by = _alternative(outlook.alternatives[1])
    passed = outlook.ahead_of or "jobs of higher priority"
    ahead = f"; as configured it starts ahead of {passed}" if outlook.is_ahead else ""
    return f"{text}, on {hosts_text(outlook.possible_on, wide)}{by}{ahead}"


def _alternative(number: int) -> str:
    """Return text such as ``, by alternative 2 of its -R``, empty if a job uses the first one."""
    return f", by alternative {number + 1} of its -R" if number else ""


def placed_text(
    clock: WrittenTimes, who: str, answer: StartAnswer, method: str, wide: bool = False
) -> str:
    """Return text such as ``job5 starts +3h, ends +4h, on 2*hostA 2*hostC (time-based)``."""

    if answer.start is None:
        early = ""
        if answer.earliest_known is not None:
            early = f": {clock.text(answer.earliest_known)} at the earliest, {_BESIDE}"
        return f"{who} {NO_START[answer.missing]} ({method}){early}"
    end = "no known end" if answer.finish is None else f"ends {clock.text(answer.finish)}"
    starts = "may start" if answer.omissions else "starts"
    proof = proof_text(answer.proved, answer.proved_if)
    proved = f", {proof.replace('proved', 'proved the earliest', 1)}" if proof else ""
    start = clock.text(answer.start)
    where = hosts_text(answer.allocation, wide)
    return f"{who} {starts} {start}, {end}, on {where} ({method}{proved})"


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


#: Up to this many running and pending jobs, changes of the configuration are tried by default.
MAX_JOBS = 2000


def explained(
    instance: Instance,
    job: str,
    time_limit: float | None,
    cancel: threading.Event,
    on_progress: OnProgress | None = None,
) -> Explanation:
    """Return the explanation, as `slotwise explain` prints it."""
    from ..solver.advice.explain import explain

    return explain(
        instance,
        job,
        time_limit=time_limit,
        configuration=is_small(instance),
        cancel=cancel,
        on_progress=on_progress,
    )


def is_small(instance: Instance) -> bool:
    """Whether changes of the configuration are tried unasked."""
    return len(instance.running) + len(instance.pending) <= MAX_JOBS
