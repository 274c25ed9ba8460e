"""Selection, order and grouping of the jobs in an answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

from ..model.display import WrittenTimes
from ..model.errors import InputError, Problem, nearest
from ..model.job import array_of
from ..model.omissions import no_pending_job
from .declare import option, spelled
from .options import pending_jobs
from .tables import (
    LISTING,
    TEXT_WIDTH,
    Column,
    ListingRow,
    TableStyle,
    listing_text,
    page_of,
    paragraph,
)

if TYPE_CHECKING:
    from ..model.instance import Instance


Order: TypeAlias = Literal["priority", "start", "gain", "slots", "job"]
Only: TypeAlias = Literal["now", "later", "unproved", "unplaced"]

#: Maximum number of rows for jobs that start now; more of them share one line.
_MAX_NOW = 4


#: Maximum number of names listed in a message about an unknown name.
FEW_NAMES = 12


@dataclass(frozen=True, slots=True)
class Shown:
    """A job that may be shown."""

    job: str
    row: ListingRow
    slots: int
    #: Seconds, None if unknown or never.
    start: int | None = None
    #: Seconds saved.
    gain: int = 0
    allocation: Mapping[str, int] = field(default_factory=dict)
    #: Ids of the elements in the row, if it is an array.
    members: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Selection:
    """Selection of jobs by the options."""

    #: Ids of the jobs, () for all.
    names: tuple[str, ...] = option(
        (), "Only this pending job; repeatable.", "--job", autocompletion=pending_jobs
    )
    only: Only | None = option(
        None,
        "Only jobs that start now, that start later, that are not proved, or that have no start.",
    )
    sort: Order = option("priority", "Order of the jobs; the largest gain and slots first.")
    top: int | None = option(
        None, "Only the first N; 0 for all. Default for text: one page.", min=0
    )
    wide: bool = option(
        False, "Show allocations in full, and one row for each job that starts now."
    )

    @property
    def everything(self) -> bool:
        """Return whether nothing is omitted or moved."""
        return not (self.names or self.top or self.only) and self.sort == "priority"

    def folded(self, job: str) -> str | None:
        """Return the array in whose row an element is shown, None if a job has its own row."""
        array = array_of(job)
        if array is None or job in self.names or (self.wide and self.names):
            return None
        return array

    def _wants(self, job: str) -> bool:
        return not self.names or job in self.names or array_of(job) in self.names

    def check(self, instance: Instance) -> None:
        """Raise InputError for names that no pending job has."""
        known = {job.id for job in instance.pending}
        known |= {job.array_id for job in instance.pending if job.array_id is not None}
        most = sorted(known)[:FEW_NAMES]
        more = ", …" if len(known) > len(most) else ""
        listed = f": pending are {', '.join(most)}{more}" if known else ": no job is pending"
        problems = [
            Problem(no_pending_job(instance.omissions, name, nearest(name, known) or listed))
            for name in self.names
            if name not in known
        ]
        if problems:
            raise InputError(problems)

    def choose(self, jobs: Sequence[Shown]) -> list[Shown]:
        """Return the selected jobs in the selected order."""
        chosen = [item for item in jobs if self._wants(item.job)]
        if self.only == "later":
            chosen = [item for item in chosen if item.row.state in ("later", "unproved")]
        elif self.only is not None:
            chosen = [item for item in chosen if item.row.state == self.only]
        if self.sort == "job":
            chosen.sort(key=lambda item: item.job)
        elif self.sort == "start":
            chosen.sort(key=lambda item: float("inf") if item.start is None else item.start)
        elif self.sort != "priority":
            chosen.sort(key=lambda item: -getattr(item, self.sort))
        return chosen[: self.top or None]

    def jobs_of(self, jobs: Sequence[Shown]) -> frozenset[str] | None:
        """Return the ids of the selected jobs and array elements, or None: all jobs."""
        if self.everything:
            return None
        chosen = self.choose(jobs)
        return frozenset(job for item in chosen for job in item.members or (item.job,))

    def text(
        self,
        instance: Instance,
        columns: Sequence[Column],
        jobs: Sequence[Shown],
        clock: WrittenTimes | None = None,
        style: TableStyle = LISTING,
    ) -> str:
        """Return the selected jobs as one page; if many start now, these are one line.

        clock: how the times in it are written.
        """
        chosen = self.choose(jobs)
        now = [item for item in chosen if item.row.state == "now"]
        if len(now) > _MAX_NOW and self.only is None and not (self.names or self.wide):
            rows = [item for item in chosen if item.row.state != "now"]
        else:
            now, rows = [], chosen
        listed = [item.row for item in rows]
        shown = listed[: page_of(columns, listed, style)] if self.top is None else listed
        text = _now_line(instance, now, min(style.max_width, TEXT_WIDTH)) + "\n" if now else ""
        if shown or not now:
            text += listing_text(columns, shown, style, instance)
        return text + _rest_line(clock or WrittenTimes(instance), rows[len(shown) :])


@dataclass(frozen=True, slots=True)
class PlanSelection(Selection):
    """Jobs of a plan by itself, in which no job gains."""

    sort: Literal["priority", "start", "slots", "job"] = option(
        "priority", "Order of the jobs; the largest slots first."
    )


def _now_line(instance: Instance, now: Sequence[Shown], width: int) -> str:
    from ..solver.pending_reasons import counted

    names = [item.job for item in now]
    shown = names if len(names) <= 8 else [*names[:4], "…", *names[-2:]]
    hosts = {host for item in now for host in item.allocation}
    slots = sum(sum(item.allocation.values()) for item in now)
    where = f"{counted(slots, 'slot')} on {counted(len(hosts), 'host')}"
    text = f"{len(now)} jobs start now: {' '.join(shown)}; {where} (--wide lists them)"
    return paragraph(text, "    ", instance, width)


def _rest_line(clock: WrittenTimes, rest: Sequence[Shown]) -> str:
    if not rest:
        return ""
    jobs = "1 more job is" if len(rest) == 1 else f"{len(rest)} more jobs are"
    starts = [item.start for item in rest if item.start is not None]
    span = ""
    if starts:
        first, last = (clock.text(time) for time in (min(starts), max(starts)))
        span = f", starting {first}" if first == last else f", starting {first} to {last}"
    return paragraph(f"{jobs} not shown{span} (--top 0 shows all, --job NAME one).")


@dataclass(frozen=True, slots=True)
class ViewOptions:
    """Extent of a view, by the switches of LSF's commands; VIEWS says which of them a view has."""

    long: bool = option(False, "Full output; bugroup: shares; sshare: LevelFS.", "-l")
    recursive: bool = option(
        False, "bjobs: running jobs. Other views: share accounts of every level.", "-r"
    )
    pending: bool = option(False, "bjobs: pending jobs and their pending reasons.", "-p")
    shared: bool = option(False, "bhosts: shared resources. bjobs: suspended jobs.", "-s")
    gpus: bool = option(False, "bhosts: GPUs, and the number of jobs on each.", "-gpu")
    guarantees: bool = option(False, "bresources: guaranteed resource pools.", "-g")
    ended: bool = option(False, "bjobs: finished jobs (with --at).", "-d")
    everything: bool = option(
        False, "bjobs: also finished jobs. blimits: also limits not in use.", "-a"
    )
    configured: bool = option(False, "blimits: as configured.", "-c")
    arrays: bool = option(
        False, "bjobs: job arrays, with the number of elements in each state.", "-A"
    )
    absolute: bool = option(False, "bjobs: pending jobs by absolute priority.", "-aps")
    users: tuple[str, ...] = option(
        (), "Only jobs of this user or user group; all: of all users.", "-u"
    )
    queues: tuple[str, ...] = option((), "bjobs, bhist: of this queue.", "-q")
    hosts: tuple[str, ...] = option((), "Only jobs on this host, host group or unit.", "-m")
    #: Names of what is shown, () for all.
    names: tuple[str, ...] = ()
    #: Jobs of the states that are asked for, these two and `pending` and `ended`; where none is,
    #: unfinished jobs.
    running: bool = False
    suspended: bool = False
    #: Form of a future allocation, see ``model/plan.py``.
    alloc: str = "lsf"

    @property
    def given(self) -> list[str]:
        """Return the options that were given."""
        return [switch for switch, value in spelled(self).items() if value]

    def wants(self, name: str) -> bool:
        """Whether something of this name is to be shown."""
        return not self.names or name in self.names

    def wants_job(self, job: str, user: str, queue: str, hosts: frozenset[str]) -> bool:
        """Whether a job is to be shown, by name, user, queue and the hosts that it is on."""
        return (
            (self.wants(job) or array_of(job) in self.names)
            and (not self.users or user in self.users)
            and (not self.queues or queue in self.queues)
            and (not self.hosts or not hosts.isdisjoint(self.hosts))
        )

    @property
    def any_state(self) -> bool:
        """Whether jobs of some states alone are asked for."""
        return self.pending or self.running or self.suspended or self.ended
