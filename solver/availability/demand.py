"""What one pending job asks of the cluster, resolved to arrays over the hosts, and whom it asks.

:class:`Availability` is all that placement needs to know about what is free.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from operator import attrgetter
from types import NoneType
from typing import Protocol, TypeAlias

from ...model.configuration import Queue
from ...model.dependency import waiting_order
from ...model.duration import aborted, bounds_of_deadline
from ...model.instance import Instance
from ...model.job import Job
from ...model.pending import Pending
from ..alike import Same
from ..precedence import NOT_YET, After, Event, Known, Several, earliest, jobs_of
from .calendar import Calendar
from .resources import Allocation, Alternative, BoolArray, FloatArray, IntArray, Per, ResourceTable


@dataclass(frozen=True, slots=True)
class UnitDemand:
    """cu[] resolved: `unit_of[h]` is the unit of host h, -1 for none; in configuration order."""

    unit_of: IntArray
    #: Unit names.
    names: tuple[str, ...]
    pref: str = "config"
    maxcus: int | None = None
    usablecuslots: int | None = None
    balance: bool = False
    excl: bool = False
    #: Level of each unit, higher first and before pref: the highest -m preference among its hosts.
    #: None where all are equal.
    preference: IntArray | None = None


@dataclass(frozen=True, slots=True)
class TermDemand:
    """One term of a requirement (a simple requirement has one)."""

    #: The least it takes (-n min).
    slots: int
    #: The most it takes (-n max).
    max_slots: int
    #: Host indices in the order they are tried (preference of -m, then order[]).
    candidates: IntArray
    #: Slots per host, [H], or None where span has none.
    ptile: IntArray | None = None
    #: A host holds slots in blocks of so many, as many blocks as it has room for; one block may be
    #: smaller (span[block]); 1 where span has none.
    block: int = 1
    #: Span[hosts=1].
    one_host: bool = False
    #: Label arrays [H], one a way of agreeing; hosts of one placement share one label of one of the
    #: arrays; empty for no same[] (PLC-04). -1 marks hosts outside.
    same: tuple[IntArray, ...] = ()
    unit: UnitDemand | None = None
    #: Hosts that may be first in the allocation, [H], None for any (PLC-12).
    first_hosts: BoolArray | None = None
    alternatives: tuple[Alternative, ...] = ()

    @property
    def tiled(self) -> bool:
        """Whether slots come in blocks, so that a smaller one may be left over."""
        return (self.ptile is not None and not self.one_host) or self.block > 1

    @property
    def largest(self) -> int:
        """The most slots worth trying where the minimum does not fit.

        More than the minimum unless every placement of more slots holds one of fewer. It does not
        where a certain host must be first and the slots to give up would be its own: the remainder
        of a block, or what makes its unit large enough.
        """
        if self.max_slots <= self.slots:
            return self.slots
        bound = self.tiled or (self.unit is not None and self.unit.usablecuslots)
        even = self.unit is not None and self.unit.balance  # the maximum is disregarded
        first = self.first_hosts is not None or any(
            use.per is Per.JOB for item in self.alternatives for use in item.host_uses
        )
        return self.max_slots if first and bound and not even else self.slots


@dataclass(frozen=True, slots=True)
class Floor:
    """A host takes the job only while `min_free` [H] of a host resource is free at its start."""

    index: int
    min_free: FloatArray


@dataclass(frozen=True, slots=True)
class Demand:
    """A pending job, resolved."""

    job: Job
    queue: Queue
    terms: tuple[TermDemand, ...]
    #: Seconds, None when unknown (it then holds its place indefinitely).
    duration: int | None
    #: No start before this second (-b, now).
    earliest: int
    exclusive: bool = False
    #: Why no start can exist at all, "" if one may.
    impossible: str = ""
    #: Windows that bind it, None for none.
    calendar: Calendar | None = None
    notes: tuple[str, ...] = field(default=())
    #: Places the terms of a compound requirement jointly where they do not fit one after another.
    #: None: only in order (REQ-14).
    joint_placer: TermPlacer | None = None
    #: Amounts that must be free on a host before the job starts there (loadSched).
    floors: tuple[Floor, ...] = ()
    #: Seconds of the duration that are kept free behind the job's own end.
    margin: int = 0
    #: Seconds that a host takes no job of its queue after another job (JOB_ACCEPT_INTERVAL), None
    #: where no queue has such a rule.
    interval: int | None = None
    #: No start after this second, since it could not run for its limit before -t; None: any.
    latest: int | None = None
    #: -t, where it may end the job before its duration does; None elsewhere.
    killed: int | None = None
    #: When its dependency condition (-w) can hold, by the starts of pending jobs; None where it can
    #: by `earliest`.
    after: Event | None = None

    @property
    def kind(self) -> Hashable:
        """Equal for jobs that may trade places, as the elements of an array may."""
        return tuple(
            value if isinstance(value, _VALUES) else Same(value) for value in _OF_KIND(self)
        )

    @property
    def runs(self) -> int | None:
        """Seconds the job itself is expected to run, None when unknown."""
        return None if self.duration is None else self.duration - self.margin

    @property
    def may_be_killed(self) -> bool:
        """Whether -t or the end of its advance reservation may end it before its duration does."""
        of_reservation = None if self.calendar is None else self.calendar.reserved
        return self.killed is not None or (of_reservation is not None and not of_reservation.open)

    def duration_from(self, start: int) -> int | None:
        """The duration from a start at this second: -t or its reservation may end it sooner."""
        closes = None if self.calendar is None else self.calendar.ends_run(start)
        end = min((time for time in (self.killed, closes) if time is not None), default=None)
        if end is None:
            return self.duration
        left = max(1, end - start) + self.margin
        return left if self.duration is None else min(left, self.duration)

    def end_of_run(self, start: int) -> int | None:
        """When the job itself is expected to end after a start at this second, None for unknown."""
        duration = self.duration_from(start)
        return None if duration is None else start + duration - self.margin

    def begun_at(self, start: int) -> Demand:
        """The job with the duration that it has from a start at this second."""
        return replace(self, duration=self.duration_from(start)) if self.may_be_killed else self

    @property
    def slots(self) -> int:
        """Slots that every start of the job needs at least."""
        return sum(term.slots for term in self.terms)


def known_kills(demand: Demand) -> set[int]:
    """The seconds at which -t or the end of a period of its reservation may end a job."""
    reserved = None if demand.calendar is None else demand.calendar.reserved
    ends = set() if demand.killed is None else {demand.killed}
    if reserved is not None and not reserved.open:
        ends.update(reserved.ends_after(demand.earliest))
    return ends


#: All fields of a demand but whose it is and what is said of it.
_OF_KIND: Callable[[Demand], tuple[object, ...]] = attrgetter(
    *(item.name for item in fields(Demand) if item.name not in ("job", "notes"))
)
#: What is compared by value; all else is the same object for jobs that are alike.
_VALUES = (int, str, NoneType, Known, After, Several)


def with_deadline(instance: Instance, demand: Demand) -> Demand:
    """The demand of a job as its -t bounds it."""
    latest, killed = bounds_of_deadline(instance, demand.job, demand.runs)
    if latest is None:
        return demand
    late = aborted(instance, demand.job) if latest < demand.earliest else ""
    why = demand.impossible or late
    return replace(demand, latest=latest, killed=killed, impossible=why)


def with_eligible_time(demand: Demand, starts: Mapping[str, int]) -> Demand:
    """The job as it may start once others start at these seconds: it is `impossible` where none.

    starts: by job id, of those that have one.
    """
    if demand.after is None or demand.impossible:
        return demand
    time = earliest(demand.after, lambda other: starts.get(other.job))
    if time is not None:
        return replace(demand, earliest=max(demand.earliest, time), after=None)
    missing = ", ".join(job for job in jobs_of(demand.after) if job not in starts)
    why = f"{NOT_YET}: {demand.job.dependency} waits for what has no start: {missing}"
    return replace(demand, impossible=why, after=None)


def keeps_order(demands: Iterable[Demand], starts: Mapping[str, int]) -> bool:
    """Whether every job starts when its dependency condition can hold by these starts (seconds)."""
    return all(
        demand.after is None
        or demand.job.id not in starts
        or (
            (time := earliest(demand.after, lambda other: starts.get(other.job))) is not None
            and time <= starts[demand.job.id]
        )
        for demand in demands
    )


def in_waiting_order(order: Sequence[Demand]) -> list[Demand]:
    """The order in which every job comes behind those it waits for, otherwise as it was."""
    if all(demand.after is None for demand in order):
        return list(order)
    by_id = {demand.job.id: demand for demand in order}
    waits_for = {n: () if d.after is None else jobs_of(d.after) for n, d in by_id.items()}
    return [by_id[name] for name in waiting_order(list(by_id), waits_for)]


@dataclass(frozen=True, slots=True)
class GroupCap:
    """At most `slots` slots and `hosts` hosts of one placement inside `mask` [H]; None: no cap.

    reason, short: as of the pool that has the cap.
    """

    mask: BoolArray
    slots: int | None = None
    hosts: int | None = None
    reason: str = ""
    short: Pending = Pending.LIMIT_HOST


@dataclass(frozen=True, slots=True)
class TermCapacity:
    """What there is for one term over one window.

    caps: most slots that the job can hold on each host, [H], 0 outside the candidates.
    groups: caps over sets of hosts. idle: hosts with no other job over the window, [H] (excl).
    free_now: free slots per host as pref=maxavail|minavail counts them, [H]. first: hosts that have
    what the job takes on its first host alone (PER_JOB), [H]; None where it takes nothing so.
    """

    caps: IntArray
    groups: tuple[GroupCap, ...] = ()
    idle: BoolArray | None = None
    free_now: IntArray | None = None
    first: BoolArray | None = None


class Availability(Protocol):
    """What is free at the instants that it knows: over time (a profile), or at present only.

    Times are seconds. An instant that it does not know is refused with a ValueError.
    """

    @property
    def now(self) -> int:
        """The first instant it knows."""

    @property
    def hosts(self) -> int:
        """Number of hosts, H."""

    @property
    def table(self) -> ResourceTable:
        """The host resources and pools that indices stand for."""

    @property
    def later_starts(self) -> tuple[int, ...]:
        """Instants after now at which something starts, so that less is free."""

    def free(self, index: int, time: int) -> FloatArray:
        """Free amount of a host resource at `time`, [H]; may be negative where overcommitted."""

    def free_in_pool(self, index: int, time: int) -> float:
        """Free amount of a pool at `time`."""

    def min_free(self, index: int, points: Sequence[int]) -> FloatArray:
        """The least of a host resource that is free at any of `points`, [H]."""

    def min_free_in_pool(self, index: int, points: Sequence[int]) -> float:
        """The least of a pool that is free at any of `points`."""

    def open_for(self, demand: Demand, time: int) -> bool:
        """Whether the job may start at `time` as far as this availability minds its windows."""

    def just_accepted(self, demand: Demand, time: int) -> BoolArray | None:
        """Hosts that JOB_ACCEPT_INTERVAL closes to a start at `time`, [H]; None for none."""

    def capacity(
        self, demand: Demand, term: TermDemand, alternative: Alternative, start: int
    ) -> TermCapacity:
        """What one term of a job finds over its window from `start`."""

    def copy(self) -> Availability:
        """One in which more can be held, this one unchanged."""

    def allocate(
        self,
        alternative: Alternative,
        allocation: Allocation,
        start: int,
        finish: int | None,
        *,
        whole_hosts: Iterable[int] = (),
    ) -> None:
        """Take what a job uses on `allocation` over [start, finish) (None: indefinitely)."""


#: One allocation a term of a job that starts at an instant (seconds), or None.
TermPlacer: TypeAlias = Callable[[Availability, Demand, int], tuple[Allocation, ...] | None]
