"""Differences of two polls: which jobs came, started, finished or left, and what moved a start."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

from ...model.display import MINUTE, duration_text
from ...model.duration import expected_duration

if TYPE_CHECKING:
    from ...model.instance import Instance

#: Kind of a change of a row: earlier, later, a new job, or a start that is known or lost now.
ChangeKind: TypeAlias = Literal["earlier", "later", "new", "other"]
#: Smallest move of a start that is reported, in seconds.
MIN_MOVE = MINUTE
#: Maximum number of job events that the sentence about one changed start names.
MAX_NAMED = 2


@dataclass(frozen=True, slots=True)
class RowChange:
    """The last change of a pending job between two polls."""

    kind: ChangeKind
    #: Seconds by which the start moved, 0 if it is no move.
    by: int
    #: What happened between the polls that may be the reason, "" if nothing is known.
    because: str
    #: Time of the state with the change, in seconds of the service's clock.
    at: int
    #: Jobs that the reason names.
    named: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """Return ``2h 18m earlier, after job 10528 finished``."""
        if self.kind == "new":
            return "new"
        what = f"{duration_text(self.by)} {self.kind}" if self.by else "changed"
        return f"{what}, after {self.because}" if self.because else what


@dataclass(frozen=True, slots=True)
class PollEvents:
    """Events between two polls, each with the jobs by id; hosts of jobs where they ran or run."""

    came: frozenset[str] = frozenset()
    #: Pending jobs that run now, with their hosts.
    started: Mapping[str, frozenset[str]] = field(default_factory=dict)
    #: Running jobs that have gone, with their hosts.
    finished: Mapping[str, frozenset[str]] = field(default_factory=dict)
    #: Pending jobs that have gone without a known start.
    left: frozenset[str] = frozenset()
    #: Running jobs with another run limit or another size, with their hosts.
    altered: Mapping[str, frozenset[str]] = field(default_factory=dict)

    @classmethod
    def between(cls, before: Instance, after: Instance) -> PollEvents:
        """Return the events between two states of one cluster."""
        ran = {run.job.id: run for run in before.running}
        runs = {run.job.id: run for run in after.running}
        waited = {job.id for job in before.pending}
        waits = {job.id for job in after.pending}
        hosts = {name: frozenset(run.allocation) for name, run in (ran | runs).items()}
        return cls(
            frozenset(waits - waited - ran.keys()),
            {name: hosts[name] for name in runs.keys() - ran.keys()},
            {name: hosts[name] for name in ran.keys() - runs.keys()},
            frozenset(waited - waits - runs.keys()),
            {
                name: hosts[name]
                for name in ran.keys() & runs.keys()
                if expected_duration(before, ran[name].job)
                != expected_duration(after, runs[name].job)
                or ran[name].allocation != runs[name].allocation
            },
        )


@dataclass(frozen=True, slots=True)
class KnownStart:
    """The start of a job as configured in one state; times in seconds of the service's clock."""

    #: The start, None if there is none.
    start: int | None
    #: Hosts of the start.
    hosts: frozenset[str]
    #: Time of the state.
    at: int


def change_of(
    before: KnownStart | None, now: KnownStart, events: PollEvents, ahead: frozenset[str]
) -> RowChange | None:
    """Return the change of a job's start as configured; None if it has not changed.

    before: at the last plan, None: it is new. ahead: pending jobs with a higher priority.
    """
    if before is None:
        return RowChange("new", 0, "", now.at)
    old, new = before.start, now.start
    if old is None or new is None:
        if old is new:
            return None
        because, named = _reason(now, events, ahead, earlier=new is not None)
        return RowChange("other", 0, because, now.at, named)
    moved = new - old
    if abs(moved) < MIN_MOVE:
        return None
    kind: ChangeKind = "later" if moved > 0 else "earlier"
    because, named = _reason(now, events, ahead, earlier=moved < 0)
    return RowChange(kind, abs(moved), because, now.at, named)


#: Events as words, "" if there are none, and the jobs that they name.
_Reason: TypeAlias = tuple[str, tuple[str, ...]]


def _reason(
    now: KnownStart, events: PollEvents, ahead: frozenset[str], *, earlier: bool
) -> _Reason:
    """Return the events that may have moved a start, the likeliest first.

    Events on the job's hosts come first, then those anywhere.
    """
    where = now.hosts
    releasing = (("finished", events.finished), ("changed", events.altered))
    taking = (("started", events.started), ("changed", events.altered))
    for what, found in releasing if earlier else taking:
        near = [job for job, hosts in found.items() if hosts & where]
        if near:
            return _named(near, what)
    if earlier and events.left:
        return _named(events.left & ahead or events.left, "left the queue")
    if not earlier and events.came & ahead:
        return _named(events.came & ahead, "was submitted")
    for what, found in releasing if earlier else taking:
        if found:
            return _named(found, what)
    return "", ()


def _named(jobs: Iterable[str], what: str) -> _Reason:
    names = sorted(jobs)
    if len(names) == 1:
        return f"job {names[0]} {what}", (names[0],)
    more, first = len(names) - MAX_NAMED, tuple(names[:MAX_NAMED])
    shown = " and ".join(first) if more <= 0 else ", ".join(first)
    rest = f" and {more} more" if more > 0 else ""
    return f"jobs {shown}{rest} {what.replace('was ', 'were ')}", first
