"""Pending jobs as rows: which of them are listed, and in which order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

from ..model.display import WrittenTimes, duration_text, smallest_difference
from ..model.slurm_words import family_text
from .outlook_text import caution_lines, could_start, short_reason, start_lines, start_times
from .tables import State

if TYPE_CHECKING:
    from ..model.instance import Instance
    from ..model.job import Job
    from ..solver.outlook.outlook import JobOutlook, Outlook

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
