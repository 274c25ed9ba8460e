"""Demand of one pending job, resolved to arrays over the hosts, and the protocol of profiles.

:class:`Availability` is all that placement needs to know about free resources.

Hosts that take no job because they took another one shortly before, or soon will (TBR-16). Under
JOB_ACCEPT_INTERVAL a host that has accepted a job takes no other for a time, which depends on the
queue of the second job. So a start keeps later jobs off its hosts, and it needs hosts that took
nothing shortly before.
"""

from __future__ import annotations

import bisect
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from operator import attrgetter
from types import NoneType
from typing import Literal, Protocol, TypeAlias

import numpy as np

from ...model.configuration import Queue
from ...model.dependency import waiting_order
from ...model.display import WEEK
from ...model.duration import aborted, bounds_of_deadline
from ...model.instance import Instance
from ...model.job import Job
from ...model.pending import Pending
from ...model.reservation import Reservation
from ...model.reserved_periods import ReservedPeriods
from ...model.windows import open_periods
from ..alike import Same
from ..precedence import NOT_YET, After, Event, Known, Several, earliest, jobs_of
from .resources import (
    Allocation,
    Alternative,
    BoolArray,
    FloatArray,
    IntArray,
    Per,
    ResourceTable,
)

Gate = Literal["deadline", "reservation", "window"]


@dataclass(frozen=True, slots=True)
class Windows:
    """One DISPATCH_WINDOW or RUN_WINDOW text against the instance's origin."""

    #: Text of the windows as configured: open periods separated by blanks.
    text: str
    #: Calendar time of second 0 (ISO 8601), None if unknown.
    origin: str | None

    def is_open(self, time: int) -> bool:
        """Return whether `time` (seconds) lies inside a window."""
        return bool(open_periods(self.text, self.origin, time, time + 1))

    def openings(self, time: int) -> list[int]:
        """Return the first instant of each open period from `time` on, over a week."""
        return [first for first, _ in open_periods(self.text, self.origin, time, time + WEEK)]

    def closings(self, time: int) -> list[int]:
        """Return the end of each open period from `time` on, over a week."""
        return [last for _, last in open_periods(self.text, self.origin, time, time + WEEK)]

    def open_until(self, time: int) -> int | None:
        """Return when the window that is open at `time` closes, None if it never closes."""
        first, last = open_periods(self.text, self.origin, time, time + WEEK)[0]
        return None if (first, last) == (time, time + WEEK) else last


@dataclass(frozen=True, slots=True)
class Calendar:
    """Windows that bind one job."""

    #: Windows in which it must start.
    dispatch: Windows | None = None
    #: Windows, inside one of which it must run completely, or start if its end is unknown.
    run: Windows | None = None
    #: Pairs of hosts [H] and windows: these hosts take a job only inside the windows.
    hosts: tuple[tuple[BoolArray, Windows], ...] = ()
    #: Pairs of hosts [H] and a second: these hosts take no job before it.
    closed_until: tuple[tuple[BoolArray, int], ...] = ()
    #: Periods of its advance reservation, in which it must start (ARV-01).
    reserved: ReservedPeriods | None = None

    @classmethod
    def of(cls, instance: Instance, queue: Queue) -> Calendar | None:
        """Return the calendar of the jobs of a queue, None if nothing is ever closed."""
        hosts = host_windows(instance)
        dispatch, run = (
            Windows(text, instance.origin) if text else None
            for text in (queue.dispatch_window, queue.run_window)
        )
        return cls(dispatch, run, hosts) if dispatch or run or hosts else None

    def allows(self, start: int, duration: int | None) -> bool:
        """Return whether a job may start at `start` (seconds) and run for `duration` (None: no
        end).
        """
        if self.dispatch is not None and not self.dispatch.is_open(start):
            return False
        if self.reserved is not None and not self.reserved.is_active(start):
            return False
        if self.run is None:
            return True
        if not self.run.is_open(start):
            return False
        until = self.run.open_until(start)
        return until is None or duration is None or start + duration <= until

    def closed_hosts(self, start: int) -> BoolArray | None:
        """Return the hosts that accept no job at `start`, [H]; None if all are open."""
        closed = [mask for mask, windows in self.hosts if not windows.is_open(start)]
        closed += [mask for mask, until in self.closed_until if start < until]
        return np.logical_or.reduce(closed) if closed else None

    def openings(self, time: int) -> set[int]:
        """Return the instants from `time` on at which one of the windows opens, over a week.

        All windows repeat every week, so a week shows every combination of open windows.
        """
        all_windows = [w for w in (self.dispatch, self.run) if w is not None]
        all_windows += [windows for _, windows in self.hosts]
        since = [time] if self.reserved is None else self.reserved.starts_after(time)
        found = {at for windows in all_windows for begin in since for at in windows.openings(begin)}
        found.update(() if self.reserved is None else since)
        return found | {until for _, until in self.closed_until if until >= time}

    def ends_run(self, start: int) -> int | None:
        """Return when the end of its advance reservation kills a job that starts then, None if
        never.
        """
        return None if self.reserved is None else self.reserved.ends_run(start)

    def closings(self, time: int, duration: int | None) -> set[int]:
        """Return the instants from which a window that opens within a week accepts no start of the
        job.

        duration: run time of the job in seconds; the run must end before a run window closes.
        """
        plain = [windows for _, windows in self.hosts]
        found = {end for windows in plain for end in windows.closings(time)}
        if self.dispatch is not None:
            found |= set(self.dispatch.closings(time))
        if self.reserved is not None:
            found |= set(self.reserved.ends_after(time))
        if self.run is not None:
            length = 1 if duration is None else duration
            found |= {max(time, end - length + 1) for end in self.run.closings(time)}
        return found


def host_windows(instance: Instance) -> tuple[tuple[BoolArray, Windows], ...]:
    """Return each distinct windows of hosts, with the hosts that have them, [H]."""
    hosts = instance.cluster.hosts
    return tuple(
        (np.array([host.windows == text for host in hosts]), Windows(text, instance.origin))
        for text in sorted({host.windows for host in hosts} - {""})
    )


#: Last acceptance of a host that has not accepted a job yet.
NEVER_ACCEPTED = -(1 << 60)


def last_starts(instance: Instance) -> IntArray:
    """Return when the last running job of each host started, [H]."""
    index = instance.cluster.host_index()
    found = np.full(len(index), NEVER_ACCEPTED, dtype=np.int64)
    for running in instance.running:
        hosts = [index[name] for name in running.allocation]
        found[hosts] = np.maximum(found[hosts], running.start)
    return found


def accepted_of(instance: Instance) -> Accepted | None:
    """Return the last starts of running jobs by host; None if no queue has JOB_ACCEPT_INTERVAL."""
    return Accepted(last_starts(instance)) if instance.has_accept_interval else None


class Accepted:
    """When each host took its last job, and which jobs it is planned to take.

    Of two jobs that start on a host in the same second the one that is entered first is accepted
    first. Times are seconds.
    """

    __slots__ = ("_hosts", "_intervals", "_last", "_longest", "_starts")

    def __init__(self, last: IntArray) -> None:
        """Initialise the table; last: when each host accepted its last job, [H]."""
        self._last = last
        self._starts: list[int] = []
        self._intervals: list[int] = []
        self._hosts: list[IntArray] = []
        self._longest = 0

    def copy(self) -> Accepted:
        """Return an independent copy."""
        twin = Accepted(self._last)
        twin._starts, twin._intervals = list(self._starts), list(self._intervals)
        twin._hosts, twin._longest = list(self._hosts), self._longest
        return twin

    def add(self, start: int, interval: int, hosts: Iterable[int]) -> None:
        """Record a planned start of a job of a queue with this interval."""
        at = bisect.bisect_right(self._starts, start)
        self._starts.insert(at, start)
        self._intervals.insert(at, interval)
        self._hosts.insert(at, np.fromiter(hosts, dtype=np.int64))
        self._longest = max(self._longest, interval)

    def closed(self, interval: int, time: int) -> BoolArray | None:
        """Return the hosts closed at a time to a queue with this interval, [H]; None if none is.

        Closed hosts took a job less than the interval before, or the start would delay a planned
        job there.
        """
        mask = time < self._last + interval if interval else np.zeros(len(self._last), dtype=bool)
        low = bisect.bisect_right(self._starts, time - interval)
        at = bisect.bisect_right(self._starts, time)
        high = bisect.bisect_left(self._starts, time + self._longest, lo=at)
        for hosts in self._hosts[low:at] if interval else ():
            mask[hosts] = True
        for number in range(at, high):
            if self._starts[number] < time + self._intervals[number]:
                mask[self._hosts[number]] = True
        return mask if mask.any() else None

    def openings(self, interval: int) -> set[int]:
        """Return the instants at which a host may accept a job of such a queue again."""
        ends = np.unique(self._last + interval).tolist() if interval else []
        return {*ends, *(start + interval for start in self._starts)}

    def closings(self) -> set[int]:
        """Return the instants from which a start would be too close before a planned one."""
        pairs = zip(self._starts, self._intervals, strict=True)
        return {*self._starts, *(start - interval + 1 for start, interval in pairs)}


@dataclass(frozen=True, slots=True)
class UnitDemand:
    """cu[] resolved: `unit_of[h]` is the unit of host h, -1 for none; in configuration order."""

    #: Unit of each host, -1 for none, [H].
    unit_of: IntArray
    #: Names of the units.
    names: tuple[str, ...]
    #: Preference: config, maxavail, minavail or bestfit.
    pref: str = "config"
    #: Maximum number of units, None: no limit.
    maxcus: int | None = None
    #: Minimum of free slots in a unit, None: no minimum.
    usablecuslots: int | None = None
    #: Whether slots are spread evenly over as few units as possible.
    balance: bool = False
    #: Whether the job has its units to itself.
    excl: bool = False
    #: Highest -m preference among the hosts of each unit; units are sorted by it before pref. None
    #: if all are equal.
    preference: IntArray | None = None

    def members(self, allocation: Iterable[int]) -> list[int]:
        """Return all hosts of the units that these hosts belong to, ascending."""
        used = np.zeros(len(self.names) + 1, dtype=bool)  # The last is that of no unit.
        used[self.unit_of[list(allocation)]] = True
        used[-1] = False
        found: list[int] = np.flatnonzero(used[self.unit_of]).tolist()
        return found


@dataclass(frozen=True, slots=True)
class TermDemand:
    """One term of a requirement (a simple requirement has one)."""

    #: Minimum number of slots (-n min).
    slots: int
    #: Maximum number of slots (-n max).
    max_slots: int
    #: Host indices in the order they are tried (preference of -m, then order[]).
    candidates: IntArray
    #: Slots for each host, [H], None if span has no ptile.
    ptile: IntArray | None = None
    #: Size of the blocks of slots (span[block]); a host holds as many blocks as fit, and one block
    #: may be smaller. 1 without span.
    block: int = 1
    #: Whether all slots are on one host (span[hosts=1]).
    one_host: bool = False
    #: Label arrays [H], one for each way to agree by same[]: hosts of one placement share a label
    #: of one array. Empty without same[] (PLC-04); -1 marks excluded hosts.
    same: tuple[IntArray, ...] = ()
    unit: UnitDemand | None = None
    #: Hosts that may be first in the allocation, [H], None for any (PLC-12).
    first_hosts: BoolArray | None = None
    #: Alternatives of rusage, in order.
    alternatives: tuple[Alternative, ...] = ()

    @property
    def tiled(self) -> bool:
        """Return whether slots come in blocks, so that a smaller one may remain."""
        return (self.ptile is not None and not self.one_host) or self.block > 1

    @property
    def largest(self) -> int:
        """Return the largest number of slots to try if the minimum does not fit.

        It exceeds the minimum only if some placement of more slots contains none of fewer. That
        happens if a certain host must be first and the slots to drop would be its own: the
        remainder of a block, or those that make its unit large enough.
        """
        if self.max_slots <= self.slots:
            return self.slots
        bound = self.tiled or (self.unit is not None and self.unit.usablecuslots)
        even = self.unit is not None and self.unit.balance  # With balance, the maximum is ignored.
        first = self.first_hosts is not None or any(
            use.per is Per.JOB for item in self.alternatives for use in item.host_uses
        )
        return self.max_slots if first and bound and not even else self.slots


@dataclass(frozen=True, slots=True)
class Floor:
    """A host takes the job only while `min_free` [H] of a host resource is free at its start."""

    #: Index of the job in dispatch order.
    index: int
    min_free: FloatArray


@dataclass(frozen=True, slots=True)
class Demand:
    """A pending job, resolved."""

    #: Job whose request is resolved.
    job: Job
    #: Queue of the job.
    queue: Queue
    #: Terms of its requirement; a simple one has one.
    terms: tuple[TermDemand, ...]
    #: Duration in seconds, None if unknown (then it keeps its allocation for ever).
    duration: int | None
    #: Earliest start in seconds (-b, now).
    earliest: int
    #: Whether it has its hosts to itself.
    exclusive: bool = False
    #: Reason if no start can exist, else "".
    impossible: str = ""
    #: Windows that apply to it, None if there are none.
    calendar: Calendar | None = None
    #: Notes on the request, one sentence each.
    notes: tuple[str, ...] = field(default=())
    #: Function that places the terms of a compound requirement jointly if they do not fit one after
    #: another. None: only in order (REQ-14).
    joint_placer: TermPlacer | None = None
    #: Amounts that must be free on a host before the job starts there (loadSched).
    floors: tuple[Floor, ...] = ()
    #: Seconds of the duration that are kept free after the job's own end.
    margin: int = 0
    #: Seconds for which a host takes no job of its queue after another job (JOB_ACCEPT_INTERVAL),
    #: None if no queue has this rule.
    interval: int | None = None
    #: Latest start in seconds, because later it could not run for its limit before -t; None: any.
    latest: int | None = None
    #: -t in seconds, if it may end the job before its duration; else None.
    killed: int | None = None
    #: When its dependency condition (-w) can hold, by the starts of pending jobs; None if it can by
    #: `earliest`.
    after: Event | None = None

    @property
    def kind(self) -> Hashable:
        """Return a key that is equal for interchangeable jobs, such as the elements of an array."""
        return tuple(
            value if isinstance(value, _VALUES) else Same(value) for value in _OF_KIND(self)
        )

    @property
    def runs(self) -> int | None:
        """Return the seconds that the job is expected to run, None if unknown."""
        return None if self.duration is None else self.duration - self.margin

    @property
    def may_be_killed(self) -> bool:
        """Return whether -t or the end of its advance reservation may end it before its
        duration.
        """
        of_reservation = None if self.calendar is None else self.calendar.reserved
        return self.killed is not None or (of_reservation is not None and not of_reservation.open)

    def duration_from(self, start: int) -> int | None:
        """Return the duration from a start at this second; -t or its reservation may end the job
        earlier.
        """
        if self.killed is None and self.calendar is None:
            return self.duration
        closes = None if self.calendar is None else self.calendar.ends_run(start)
        end = min((time for time in (self.killed, closes) if time is not None), default=None)
        if end is None:
            return self.duration
        left = max(1, end - start) + self.margin
        return left if self.duration is None else min(left, self.duration)

    def end_of_run(self, start: int) -> int | None:
        """Return when the job is expected to end after a start at this second, None if unknown."""
        duration = self.duration_from(start)
        return None if duration is None else start + duration - self.margin

    def begun_at(self, start: int) -> Demand:
        """Return the job with its duration for a start at this second."""
        return replace(self, duration=self.duration_from(start)) if self.may_be_killed else self

    @property
    def slots(self) -> int:
        """Return the minimum number of slots of every start of the job."""
        return sum(term.slots for term in self.terms)


def candidates_of(demand: Demand, hosts: int) -> BoolArray:
    """Return the hosts that some term of the job may use, [hosts]."""
    found = np.zeros(hosts, dtype=bool)
    for term in demand.terms:
        found[term.candidates] = True
    return found


def without_hosts(demand: Demand, closed: BoolArray | None) -> Demand:
    """Return the demand without the closed hosts (mask [H]), or unchanged for None."""
    if closed is None:
        return demand
    terms = tuple(
        replace(term, candidates=term.candidates[~closed[term.candidates]]) for term in demand.terms
    )
    return replace(demand, terms=terms)


def runs_at(demand: Demand, start: int, time: int) -> bool:
    """Return whether a job, started at `start`, uses resources at `time`."""
    duration = demand.duration_from(start)
    return start <= time and (duration is None or time < start + duration)


def known_kills(demand: Demand) -> set[int]:
    """Return the seconds at which -t or the end of a period of its reservation may kill a job."""
    reserved = None if demand.calendar is None else demand.calendar.reserved
    ends = set() if demand.killed is None else {demand.killed}
    if reserved is not None and not reserved.open:
        ends.update(reserved.ends_after(demand.earliest))
    return ends


#: All fields of a demand except the identity of the job and notes on it.
_OF_KIND: Callable[[Demand], tuple[object, ...]] = attrgetter(
    *(item.name for item in fields(Demand) if item.name not in ("job", "notes"))
)
#: Types that are compared by value; values of other types are shared objects for equal jobs.
_VALUES = (int, str, NoneType, Known, After, Several)


def with_deadline(instance: Instance, demand: Demand) -> Demand:
    """Return the demand of a job with its deadline (-t) applied."""
    latest, killed = bounds_of_deadline(instance, demand.job, demand.runs)
    if latest is None:
        return demand
    late = aborted(instance, demand.job) if latest < demand.earliest else ""
    why = demand.impossible or late
    return replace(demand, latest=latest, killed=killed, impossible=why)


def with_eligible_time(demand: Demand, starts: Mapping[str, int]) -> Demand:
    """Return the demand given the starts of other jobs; `impossible` if its condition never holds.

    starts: in seconds, by job id.
    """
    if demand.after is None or demand.impossible:
        return demand
    time = earliest(demand.after, lambda other: starts.get(other.job))
    if time is not None:
        return replace(demand, earliest=max(demand.earliest, time), after=None)
    missing = ", ".join(job for job in jobs_of(demand.after) if job not in starts)
    why = f"{NOT_YET}: {demand.job.dependency} depends on jobs without a start: {missing}"
    return replace(demand, impossible=why, after=None)


def keeps_order(demands: Iterable[Demand], starts: Mapping[str, int]) -> bool:
    """Return whether each job starts only when its dependency condition can hold by these
    starts.
    """
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
    """Return the jobs with each job after the jobs that it depends on, otherwise in the given
    order.
    """
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

    #: Whether each host belongs to the group.
    mask: BoolArray
    #: Maximum number of slots in the group, None without a maximum.
    slots: int | None = None
    #: Maximum number of hosts of the group, None without a maximum.
    hosts: int | None = None
    #: Pending reason if the maximum is reached.
    reason: str = ""
    short: Pending = Pending.LIMIT_HOST


@dataclass(frozen=True, slots=True)
class TermCapacity:
    """Free slots for one term over one window.

    caps: maximum slots of the job on each host, [H], 0 outside the candidates. groups: caps over
    sets of hosts. idle: hosts with no other job over the window, [H] (excl). free_now: free slots
    of each host as pref=maxavail|minavail counts them, [H]. first: hosts that have the amounts of
    the first host only (PER_JOB), [H]; None if there are none.
    """

    #: Maximum number of slots of the term, by host.
    caps: IntArray
    #: Maxima over groups of hosts.
    groups: tuple[GroupCap, ...] = ()
    idle: BoolArray | None = None
    free_now: IntArray | None = None
    first: BoolArray | None = None


@dataclass(slots=True)
class HeldPart:
    """Use of one host resource (hosts, times: [k]) or of one pool ([1], host 0) by a job."""

    #: Whether the part is of a pool, not of hosts.
    pool: bool
    #: Index of the resource or pool.
    index: int
    hosts: IntArray
    times: FloatArray
    #: Amounts over the life of the job.
    reservation: Reservation
    #: Amount of `reservation` in use now, counted `times` times.
    amount: float

    @property
    def falls(self) -> bool:
        """Return whether the amount changes while the job runs."""
        phases = self.reservation.phases
        return len(phases) > 1 or phases[0].end is not None


def parts_of(
    table: ResourceTable,
    alternative: Alternative,
    allocation: Allocation,
    whole_hosts: Iterable[int] = (),
) -> Iterator[HeldPart]:
    """Yield the uses of one term of a job, with nothing in use yet.

    whole_hosts: hosts that the job shares with no other, its own too (cu[excl]).
    """
    hosts = np.fromiter(allocation, np.int64, len(allocation))
    slots = np.fromiter(allocation.values(), float, len(allocation))
    ones = np.ones(len(hosts))
    for use in alternative.host_uses:
        if use.per is Per.JOB:
            yield HeldPart(False, use.index, hosts[:1], ones[:1], use.reservation, 0.0)
            continue
        times = slots if use.per is Per.SLOT else ones
        if use.per is Per.WHOLE:
            times = table.host_resources[use.index].capacity[hosts]
        yield HeldPart(False, use.index, hosts, times, use.reservation, 0.0)
    whole = np.array(sorted(whole_hosts), dtype=np.int64)
    for use in alternative.host_uses if whole.size else ():
        if use.index in table.slot_indices:
            # The rest of the hosts, beyond the job's own use.
            rest = table.host_resources[use.index].capacity.copy()
            rest[hosts] -= rest[hosts] if use.per is Per.WHOLE else slots
            other = whole[rest[whole] > 0]
            yield HeldPart(False, use.index, other, rest[other], use.reservation, 0.0)
    for use in alternative.pool_uses:
        inside = slots[table.pools[use.index].mask[hosts]]
        if inside.size:
            count = {Per.SLOT: float(inside.sum()), Per.HOST: float(inside.size)}.get(use.per, 1.0)
            yield HeldPart(True, use.index, _FIRST_PLACE, np.array([count]), use.reservation, 0.0)


#: The only position of a pool.
_FIRST_PLACE: IntArray = np.zeros(1, dtype=np.int64)


class FreeResources(Protocol):
    """Protocol for free resources at an instant."""

    @property
    def hosts(self) -> int:
        """Return the number of hosts, H."""

    @property
    def table(self) -> ResourceTable:
        """Return the table of host resources and pools to which indices refer."""

    def free(self, index: int, time: int) -> FloatArray:
        """Return the free amount of a host resource at `time`, [H]; negative if overcommitted."""

    def free_in_pool(self, index: int, time: int) -> float:
        """Return the free amount of a pool at `time`."""


def closed_by(demand: Demand, time: int) -> Gate | None:
    """Return what keeps a job from a start at this second: its termination time (-t), its advance
    reservation, or a window; None if nothing does.
    """
    if demand.latest is not None and time > demand.latest:
        return "deadline"
    if demand.calendar is None or demand.calendar.allows(time, demand.duration_from(time)):
        return None
    reserved = demand.calendar.reserved
    return "window" if reserved is None or reserved.is_active(time) else "reservation"


class Availability(FreeResources, Protocol):
    """Protocol for free resources at the instants it covers: over time (a profile), or now only.

    Times are seconds. Other instants raise a ValueError.
    """

    @property
    def now(self) -> int:
        """Return the first instant of the availability."""

    @property
    def later_starts(self) -> tuple[int, ...]:
        """Return the instants after now at which a planned job starts, so that free resources
        fall.
        """

    def min_free(self, index: int, points: Sequence[int]) -> FloatArray:
        """Return the minimum free amount of a host resource over `points`, [H]."""

    def min_free_on(self, index: int, points: Sequence[int], some: IntArray) -> FloatArray:
        """Return :meth:`min_free` of some hosts, in their order."""

    def min_free_in_pool(self, index: int, points: Sequence[int]) -> float:
        """Return the minimum free amount of a pool over `points`."""

    def open_for(self, demand: Demand, time: int) -> bool:
        """Return whether the job may start at `time` by the windows that this availability
        obeys.
        """

    def just_accepted(self, demand: Demand, time: int) -> BoolArray | None:
        """Return the hosts that JOB_ACCEPT_INTERVAL closes to a start at `time`, [H]; None if
        none is.
        """

    def capacity(
        self, demand: Demand, term: TermDemand, alternative: Alternative, start: int
    ) -> TermCapacity:
        """Return the free slots for one term of a job over its window from `start`."""

    def copy(self) -> Availability:
        """Return an independent copy to which commitments can be added."""

    def allocate(self, parts: Iterable[HeldPart], start: int, finish: int | None) -> None:
        """Take what a job uses over [start, finish) (None: indefinitely)."""


#: Function that returns an allocation for each term of a job that starts at an instant, or None.
TermPlacer: TypeAlias = Callable[[Availability, Demand, int], tuple[Allocation, ...] | None]
