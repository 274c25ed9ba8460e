"""Pending jobs as rows: which of them are listed, and in which order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from threading import Event
from typing import TYPE_CHECKING, Literal, TypeAlias

from ..model.display import DAY, WrittenTimes, day_clock_text, duration_text, smallest_difference
from ..model.slurm_words import family_text
from .outlook_text import caution_lines, could_start, short_reason, start_lines, start_times
from .tables import State

if TYPE_CHECKING:
    from ..model.instance import Instance
    from ..model.job import Job
    from ..solver.advice.slots import FreeSlots
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
    #: The two times as texts, counted from now.
    configured_text: str
    possible_text: str
    #: The two times of the clock, and by how much earlier the job could start, "" if not earlier.
    configured_clock: str
    possible_clock: str
    earlier: str
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
    #: Free slots of each kind of hosts over 24 hours, () if not computed.
    usage: tuple[FreeSlots, ...] = ()

    @property
    def states(self) -> Mapping[str, int]:
        """Return the number of jobs in each state."""
        return Counter(item.state for item in self.jobs)


@dataclass(frozen=True, slots=True)
class QueueLoad:
    """The running and pending jobs of a queue."""

    queue: str
    running_slots: int
    waiting_jobs: int
    waiting_slots: int
    #: The pending job that has waited longest, of those that may be named, and its seconds.
    longest: str | None
    waited: int | None


def queue_loads(instance: Instance, named: Sequence[Job]) -> Iterator[QueueLoad]:
    """Yield each queue that has jobs. named: pending jobs that may be named."""
    for queue in instance.queues:
        waiting = [job for job in instance.pending if job.queue == queue.name]
        running = sum(run.slots for run in instance.running if run.job.queue == queue.name)
        own = (job for job in named if job.queue == queue.name)
        first = min(own, key=attrgetter("submit"), default=None)
        if waiting or running:
            slots = sum(job.slots for job in waiting)
            job, waited = (None, None) if first is None else (first.id, instance.now - first.submit)
            yield QueueLoad(queue.name, running, len(waiting), slots, job, waited)


@dataclass(frozen=True, slots=True)
class JobChoice:
    """Selection and order of the listed jobs."""

    sort: Column = "priority"
    reverse: bool = False
    #: The value that a column must have, by column.
    only: Mapping[str, str] = field(default_factory=dict)
    #: Words that a row must have.
    words: str = ""
    #: Whether times are of the clock, else counted from now.
    by_clock: bool = True

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
    waits = _start_texts(
        item, lambda time: "now" if time == now else duration_text(time - now, gap)
    )
    clocks = _start_texts(item, lambda time: day_clock_text(clock.instance, time, gap))
    return ListedJob(
        job=job.id,
        user=job.user,
        queue=job.queue,
        slots=job.slots,
        state=_state(item, now),
        configured=configured,
        possible=possible,
        configured_text=waits[0],
        possible_text=waits[1],
        configured_clock=clocks[0],
        possible_clock=clocks[1],
        earlier=duration_text(item.earlier_by) if item.earlier_by else "",
        waits_for=family_text(clock.instance, why),
        lines=tuple(family_text(clock.instance, line) for line in _lines(clock, item, why)),
    )


def _start_texts(item: JobOutlook, written: Callable[[int], str]) -> tuple[str, str]:
    """Return the start as configured and the possible one, in words if that is not earlier."""

    def text(time: int | None, doubtful: bool) -> str:
        return "-" if time is None else written(time) + " ?" * doubtful

    configured = text(item.as_configured, bool(item.cautions))
    if item.is_no_earlier:
        return configured, could_start(item, "").removesuffix(" found")
    return configured, text(item.possible, bool(item.cautions or item.possible_cautions))


def _state(item: JobOutlook, now: int) -> str:
    if item.as_configured is None:
        return item.state
    if item.as_configured == now:
        return NOW
    return HELD_BACK if item.earlier_by else WAITS


def _lines(clock: WrittenTimes, item: JobOutlook, why: str) -> Iterator[str]:
    """Yield the sentences of `slotwise explain` that need no trial of a change."""
    yield from start_lines(clock, f"job {item.job}", item)
    if why and why != item.condition:
        yield f"waits for: {why}"
    yield from caution_lines(item, "configured", ())


def cell_of(item: ListedJob, name: str, by_clock: bool = True) -> str:
    """Return the text of a column. by_clock: times are of the clock, else counted from now."""
    if name == "waits for":
        return short_reason(item.waits_for)
    if name in ("configured", "possible"):
        return str(getattr(item, f"{name}_{'clock' if by_clock else 'text'}"))
    return str(getattr(item, name))


def listed(
    instance: Instance,
    warnings: Sequence[str],
    time_limit: float,
    cancel: Event,
    publish: Callable[[Listing], None],
) -> Listing:
    """Return the listing with the slots in use over 24 hours.

    time_limit: wall seconds of the simulation, and of the plan. publish: takes listings of the
    first starts before the others are planned.
    """
    from ..solver.advice.slots import free_when, hours
    from ..solver.outlook.outlook import StepLimits, starts_in_steps

    def made(found: Outlook) -> Listing:
        times = hours(instance.now, DAY)
        usage = free_when(instance, found.configured.values(), times)
        return replace(listing_of(instance, found, warnings), usage=usage)

    limits = StepLimits(configured=time_limit, plan=time_limit)
    return made(
        starts_in_steps(
            instance, lambda found: publish(made(found)), limits, cancel=cancel, skip_plan=cancel
        )
    )
