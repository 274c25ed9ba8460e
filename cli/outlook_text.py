"""The predicted start of one job as sentences, the same in every command.

Pending jobs as rows: which of them are listed, and in which order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from ..model.display import WrittenTimes, duration_text, smallest_difference
from ..model.instance import Omission, sentences
from ..model.plan import proof_text
from ..model.slurm_words import family_text
from .tables import State, hosts_text

if TYPE_CHECKING:
    from ..model.instance import Instance
    from ..model.job import Job
    from ..solver.advice.ask import Answer
    from ..solver.advice.what_if import StartAnswer
    from ..solver.outlook.outlook import JobOutlook, Outlook


#: Jobs without a start, by id: the state, and what must happen.
Stated: TypeAlias = Mapping[str, tuple[str, str]]
NOTHING: Stated = {}
#: Text for a job without a start, by its state or the reason in a plan.
NO_START = {
    "starts if": "starts once something else happens",
    "unknown end": "has no known start",
    "impossible": "cannot start on this cluster",
    "not examined": "was not examined",
    "no place": "has no start",
    "no place found": "has no start: no place was found",
}
#: Why a job was not examined.
STOPPED = "the limit or Ctrl-C came first"
_BESIDE = "beside what runs and what is planned"


def start_lines(
    clock: WrittenTimes, who: str, outlook: JobOutlook, wide: bool = False
) -> Iterator[str]:
    """Yield lines on the start as configured, the possible start and the estimate of LSF."""
    yield f"{who} {_as_configured(clock, outlook, wide)}"
    if outlook.possible is not None:
        yield f"possible: {_possible(clock, outlook, wide)}"
    if outlook.estimate is not None and not clock.instance.params.of_slurm:
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
    return f"{NO_START[outlook.state]}: {why}"


def _possible(clock: WrittenTimes, outlook: JobOutlook, wide: bool) -> str:
    text = clock.text(outlook.possible)
    if outlook.is_ahead:
        text += " in priority order"
    if proof := proof_text(outlook.proved, outlook.proved_if):
        text += f", {proof.replace('proved', 'proved the earliest', 1)}"
    elif outlook.bound is not None:
        text += f", not before {clock.text(outlook.bound)}"
    else:
        text += ", not proved"
    by = _alternative(outlook.alternatives[1])
    return f"{text}, on {hosts_text(outlook.possible_on, wide)}{by}"


def _alternative(number: int) -> str:
    """Return text such as ``, by alternative 2 of its -R``, empty if a job uses the first one."""
    return f", by alternative {number + 1} of its -R" if number else ""


#: Sort keys of the rows, each with its title on the page.
Column: TypeAlias = Literal[
    "priority", "job", "user", "queue", "slots", "state", "configured", "possible"
]
#: The columns by which rows can be filtered.
FILTERS = ("user", "queue", "state")
#: States of a job with a start as configured: now, later, or later than possible.
NOW, WAITS, HELD_BACK = "starts now", "waits", "held back"
_COLOURS: Mapping[str, State] = {
    NOW: "now",
    WAITS: "later",
    HELD_BACK: "unproved",
    "starts if": "unproved",
    "unknown end": "unproved",
    "impossible": "unplaced",
}


@dataclass(frozen=True, slots=True)
class ListedJob:
    """A pending job as the page lists it."""

    job: str
    user: str
    queue: str
    slots: int
    #: "starts now", "waits", "held back" (it could start earlier), or why it has no start.
    state: str
    #: Seconds from now until it starts, as configured and if possible; None if not known.
    configured: int | None
    possible: int | None
    #: The two times as texts.
    configured_text: str
    possible_text: str
    #: Event that the job waits for, a sentence.
    waits_for: str
    #: The sentences about it.
    lines: tuple[str, ...]

    @property
    def colour(self) -> State:
        """Return the colour of the job's state."""
        return _COLOURS.get(self.state, "")

    def matches(self, words: Sequence[str]) -> bool:
        """Whether each of these words, in small letters, is in one of its columns."""
        texts = (self.job, self.user, self.queue, self.state, self.waits_for)
        whole = "\n".join(texts).lower()
        return all(word in whole for word in words)


@dataclass(frozen=True, slots=True)
class Listing:
    """All pending jobs of one snapshot."""

    instance: Instance
    #: Jobs in priority order.
    jobs: tuple[ListedJob, ...]
    #: Note on the times, a sentence or "".
    note: str = ""
    #: A limit came before every job was examined.
    truncated: bool = False
    #: Remarks of the file's reader.
    warnings: tuple[str, ...] = ()

    @property
    def states(self) -> Mapping[str, int]:
        """Return the number of jobs in each state."""
        return Counter(item.state for item in self.jobs)


@dataclass(frozen=True, slots=True)
class JobChoice:
    """Selection and order of the listed jobs."""

    sort: Column = "priority"
    reverse: bool = False
    #: The value that a column must have, by column.
    only: Mapping[str, str] = field(default_factory=dict)
    #: Words that a row must have.
    words: str = ""

    def of(self, jobs: Sequence[ListedJob]) -> list[ListedJob]:
        """Return the rows; equal values stay in priority order, jobs without a start are last."""
        words = self.words.lower().split()
        found = [
            item
            for item in jobs
            if item.matches(words)
            and all(getattr(item, name) == value for name, value in self.only.items())
        ]
        if self.sort == "priority":
            return found[::-1] if self.reverse else found
        known = [item for item in found if getattr(item, self.sort) is not None]
        known.sort(key=lambda item: _sortable(getattr(item, self.sort)), reverse=self.reverse)
        return known + [item for item in found if getattr(item, self.sort) is None]

    def text(self) -> str:
        """Return ``sorted by slots, user ana, with "abc"``; "" if no row is hidden or moved."""
        parts = [f"{name} {value}" for name, value in self.only.items()]
        if self.words:
            parts.append(f'with "{self.words}"')
        if self.sort != "priority" or self.reverse:
            parts.insert(0, f"sorted by {self.sort}" + ", reversed" * self.reverse)
        return ", ".join(parts)


def _sortable(value: int | str) -> tuple[tuple[int, int | str], ...]:
    """Return a sort key with the digits of a name as a number: job 9 comes before job 10."""
    if isinstance(value, int):
        return ((0, value),)
    head = value.split("[")[0]
    return ((0, int(head)), (1, value)) if head.isdecimal() else ((1, value),)


def listing_of(instance: Instance, found: Outlook, warnings: Sequence[str] = ()) -> Listing:
    """Return the rows that follow from predicted starts."""
    known = {job.id: job for job in instance.pending}
    times = [time for item in found for time in start_times(item)]
    clock = WrittenTimes.of(instance, times)
    jobs = tuple(_row(clock, known[item.job], item) for item in found)
    return Listing(instance, jobs, clock.note, found.cut, tuple(warnings))


def _row(clock: WrittenTimes, job: Job, item: JobOutlook) -> ListedJob:
    now = clock.instance.now
    gap = smallest_difference((item.as_configured, item.possible))
    configured, possible = (
        None if time is None else time - now for time in (item.as_configured, item.possible)
    )
    why = item.condition or item.waits_for or item.held_back
    return ListedJob(
        job=job.id,
        user=job.user,
        queue=job.queue,
        slots=job.slots,
        state=_state(item, now),
        configured=configured,
        possible=possible,
        configured_text=_wait_text(configured, gap, bool(item.cautions)),
        possible_text=_possible_text(item, possible, gap),
        waits_for=family_text(clock.instance, why),
        lines=tuple(family_text(clock.instance, line) for line in _lines(clock, item, why)),
    )


def _state(item: JobOutlook, now: int) -> str:
    if item.as_configured is None:
        return item.state
    if item.as_configured == now:
        return NOW
    return HELD_BACK if item.earlier_by else WAITS


def _possible_text(item: JobOutlook, wait: int | None, gap: int) -> str:
    """Return the possible wait, in words if it is no shorter than as configured."""
    if item.is_ahead:
        return could_start(item, "").removesuffix(" found")
    return _wait_text(wait, gap, bool(item.cautions or item.possible_cautions))


def _wait_text(wait: int | None, gap: int, doubtful: bool) -> str:
    if wait is None:
        return "-"
    return ("now" if wait == 0 else duration_text(wait, gap)) + " ?" * doubtful


def _lines(clock: WrittenTimes, item: JobOutlook, why: str) -> Iterator[str]:
    """Yield the sentences of `slotwise explain` that need no trial of a change."""
    yield from start_lines(clock, f"job {item.job}", item)
    if why and why != item.condition:
        yield f"waits for: {why}"
    yield from caution_lines(item, "configured", ())


def cell_of(item: ListedJob, name: str) -> str:
    """Return the text of a column."""
    if name == "waits for":
        return short_reason(item.waits_for)
    if name in ("configured", "possible"):
        return str(getattr(item, f"{name}_text"))
    return str(getattr(item, name))


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
