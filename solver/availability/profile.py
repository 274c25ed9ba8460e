"""The availability profile: free resources over time, the one source for every method.

Usage of a job never rises after its start, so availability falls only at *starts*. With running
jobs alone it never falls, and a fit at an instant is a fit at any later one. With planned jobs a
window must be checked at its first instant and at every later start inside it: the *checkpoints*.
Times are integer seconds; a job with start s and finish f uses over [s, f).

Windows over which hosts leave so few free slots that no larger job fits. Within a cycle allocations
are only added, so a window that is too full for a job is too full for every later job of as many
slots whose window covers it.
"""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Iterable, Iterator, Sequence
from functools import partial

import numpy as np

from ...model.instance import Instance
from ...model.reservation import Reservation
from .demand import (
    Accepted,
    Availability,
    Demand,
    GroupCap,
    HeldPart,
    TermCapacity,
    TermDemand,
    closed_by,
)
from .resources import (
    SLOTS,
    Allocation,
    Alternative,
    Amounts,
    BoolArray,
    FloatArray,
    IntArray,
    Per,
    Pool,
    ResourceTable,
    Use,
    flat,
)
from .usage import FOREVER, RowList, Usage, constant_amount

#: Maximum number of windows; when it is exceeded, the list is cleared.
MAX_WINDOWS = 4096
#: An instant after every other.
MAX_INSTANT = np.iinfo(np.int64).max


class _Windows:
    """Windows in order of start, as arrays.

    Each has its first and last instant (seconds), the free slots on all hosts throughout, and the
    latest end of the reservations that were subtracted (seconds).
    """

    __slots__ = ("_arrays", "_columns")

    def __init__(self) -> None:
        self._columns: tuple[list[int], ...] = ([], [], [], [])
        self._arrays: tuple[IntArray, ...] | None = None

    def add(self, *window: int) -> None:
        if len(self._columns[0]) >= MAX_WINDOWS:
            self.clear()
        place = bisect.bisect_left(self._columns[0], window[0])
        for column, value in zip(self._columns, window, strict=True):
            column.insert(place, value)
        self._arrays = None

    def clear(self) -> None:
        for column in self._columns:
            column.clear()
        self._arrays = None

    def soonest_end(self, at: IntArray, slots: int, until: int) -> IntArray:
        """Return by instant the earliest end among windows that begin no earlier.

        Only windows with less than `slots` free slots whose subtracted reservations end by `until`.
        """
        if self._arrays is None:
            self._arrays = tuple(np.array(column, dtype=np.int64) for column in self._columns)
        begin, last, free, heeded = self._arrays
        kept = (free < slots) & (heeded <= until)
        if not kept.any():
            return np.full(len(at), MAX_INSTANT)
        soonest = np.append(np.minimum.accumulate(last[kept][::-1])[::-1], MAX_INSTANT)
        return np.asarray(soonest[np.searchsorted(begin[kept], at)])


class FullWindows:
    """Windows without enough free slots in a profile to which allocations are only added.

    Queries state the end of the reservations that they subtract: with more subtracted, no more is
    free.
    """

    __slots__ = ("_below", "_until", "_windows")

    def __init__(self) -> None:
        self._windows, self._until = _Windows(), 0
        self._below: FullWindows | None = None

    def extended(self) -> FullWindows:
        """Return a record for a profile that also contains reservations, based on this one."""
        twin = FullWindows()
        twin._until, twin._below = MAX_INSTANT, self
        return twin

    def up_to(self, until: int) -> FullWindows:
        """Return the windows with reservations that end by `until`; the underlying data is
        shared.
        """
        twin = FullWindows()
        twin._windows, twin._until, twin._below = self._windows, until, self._below
        return twin

    def add(self, begin: int, last: int, slots: int) -> None:
        """Add a window: over all of [begin, last] only this number of slots is free on all
        hosts.
        """
        self._windows.add(begin, last, slots, self._until)

    def clear(self) -> None:
        """Forget the recorded full windows, since resources were released."""
        self._windows.clear()

    def infeasible_mask(self, at: IntArray, duration: int | None, slots: int) -> BoolArray:
        """Return the instants from which a job of this many slots covers a window that is too
        full.
        """
        soonest = self._windows.soonest_end(at, slots, self._until)
        found = soonest < (MAX_INSTANT if duration is None else at + duration)
        return np.asarray(
            found
            if self._below is None
            else found | self._below.infeasible_mask(at, duration, slots)
        )


#: Tolerance for amounts.
SLACK = 1e-6
#: Number of hosts up to which all are examined, whether they have a free slot or not.
FEW_HOSTS = 4000
#: A cap without effect, small enough to be summed over all hosts.
UNBOUND = 1 << 30


def find_capacity(
    availability: Availability,
    demand: Demand,
    term: TermDemand,
    alternative: Alternative,
    points: Sequence[int],
) -> TermCapacity:
    """Return the free slots for one term of a job over a window.

    points: the start of the window, then every later instant inside it at which less may be free.
    """
    hosts, table = availability.hosts, availability.table
    few = term.candidates if hosts > FEW_HOSTS and 2 * len(term.candidates) < hosts else None
    whole, first = _caps_of_hosts(availability, alternative, points, few)
    if few is None and len(term.candidates) != hosts:
        every, whole = whole, np.zeros(hosts, dtype=np.int64)
        whole[term.candidates] = every[term.candidates]
    close_hosts(whole, availability, demand, alternative, points[0])
    groups: list[GroupCap] = []
    for use in alternative.pool_uses:
        times = _pool_times(availability, use, points)
        _pool_cap(use, table.pools[use.index], times, whole, groups)
    exclusive = term.unit is not None and term.unit.excl
    idle = _idle(availability, alternative, points) if exclusive else None
    return TermCapacity(whole, tuple(groups), idle, first=first)


def close_hosts(
    found: IntArray | BoolArray,
    availability: Availability,
    demand: Demand,
    alternative: Alternative,
    instant: int,
) -> None:
    """Set to 0, of numbers by host [H], those of the hosts that are closed to a job then."""
    if alternative.hosts is not None:
        found[~alternative.hosts] = 0
    closed = None if demand.calendar is None else demand.calendar.closed_hosts(instant)
    if closed is not None:
        found[closed] = 0
    accepted = availability.just_accepted(demand, instant)
    if accepted is not None:
        found[accepted] = 0
    for floor in demand.floors:
        found[availability.free(floor.index, instant) + SLACK < floor.min_free] = 0


def _caps_of_hosts(
    availability: Availability,
    alternative: Alternative,
    points: Sequence[int],
    few: IntArray | None = None,
) -> tuple[IntArray, BoolArray | None]:
    """Return the slots that the host resources allow on each host, [H], and the hosts that may be
    the first, [H], None if any may.

    few: the only hosts of interest, None if all; others get 0.
    """
    hosts, table = availability.hosts, availability.table
    caps: FloatArray | None = None
    first: BoolArray | None = None
    # The hosts that `caps` describes, None if all: if few have slots, only these are examined.
    rows = few
    for use in alternative.host_uses:
        capacity = table.host_resources[use.index].capacity
        if use.per is Per.JOB:
            for held, free in uses_and_min_free(availability, use, points):
                found = _host_cap(use, held, free, capacity)
                first = found > 0 if first is None else first & (found > 0)
            continue
        for held, free in uses_and_min_free(availability, use, points, rows):
            known = capacity if rows is None else capacity[rows]
            found = _host_cap(use, held, free, known)
            caps = found if caps is None else np.minimum(caps, found, out=caps)
        if rows is None and caps is not None and hosts > FEW_HOSTS:
            some = np.flatnonzero(caps >= 1)
            if 2 * some.size < hosts:
                rows, caps = some, caps[some]
    if caps is None:
        caps = np.full(hosts if rows is None else rows.size, float(UNBOUND))
    whole = np.minimum(np.maximum(caps, 0, out=caps), UNBOUND, out=caps).astype(np.int64)
    if rows is not None:
        some, whole = whole, np.zeros(hosts, dtype=np.int64)
        whole[rows] = some
    return whole, first


def uses_and_min_free(
    availability: Availability, use: Use, points: Sequence[int], some: IntArray | None = None
) -> Iterator[tuple[float, FloatArray]]:
    """Yield each amount of a use over a window with the minimum free meanwhile, [H].

    some: the hosts to examine, in this order, None if all.
    """
    for held, stretch in _amounts(use, points):
        if some is None:
            yield held, availability.min_free(use.index, stretch)
        else:
            yield held, availability.min_free_on(use.index, stretch, some)


def _amounts(use: Use, points: Sequence[int]) -> Iterable[tuple[float, Sequence[int]]]:
    """Return each positive amount of a use with the points of the window at which it applies."""
    constant = constant_amount(use.reservation)
    if constant is None:
        return stretches(use, points)
    return [(constant, points)] if constant > 0 else ()


def stretches(use: Use, points: Sequence[int]) -> Iterator[tuple[float, list[int]]]:
    """Yield each amount of a use with the points of the window at which it applies."""
    pairs = [(use.reservation.planned_at(point - points[0]), point) for point in points]
    for held, same in itertools.groupby(pairs, key=lambda pair: pair[0]):
        if held > 0:
            yield held, [point for _, point in same]


def _host_cap(use: Use, held: float, free: FloatArray, capacity: FloatArray) -> FloatArray:
    """Return the slots that a use allows on each host, [H]; a fraction of a slot is none."""
    free = free + SLACK
    if use.per is Per.SLOT:
        return free if held == 1.0 else free / held
    if use.per is Per.WHOLE:
        return np.where(free >= capacity, capacity, 0.0)
    return np.where(free >= held, float(UNBOUND), 0.0)


def _pool_times(availability: Availability, use: Use, points: Sequence[int]) -> float:
    """Return the number of counts of a use that a pool can provide over a window."""
    times = float(UNBOUND)
    for held, stretch in _amounts(use, points):
        free = availability.min_free_in_pool(use.index, stretch)
        times = min(times, (free + SLACK) // held)
    return times


def _pool_cap(use: Use, pool: Pool, times: float, caps: IntArray, groups: list[GroupCap]) -> None:
    """Reduce `caps`, or append to `groups`, by the free amount of a pool."""
    if times >= UNBOUND:
        return
    left = max(0, int(times))
    if left == 0:
        caps[pool.mask] = 0
    elif use.per is Per.SLOT:
        groups.append(GroupCap(pool.mask, slots=left, reason=pool.reason, short=pool.short))
    elif use.per is Per.HOST:
        groups.append(GroupCap(pool.mask, hosts=left, reason=pool.reason, short=pool.short))


def _idle(availability: Availability, alternative: Alternative, points: Sequence[int]) -> BoolArray:
    """Return the hosts on which no other job or reservation has a slot at any of `points`, [H]."""
    capacity = availability.table.host_resources[SLOTS].capacity
    found = np.ones(len(capacity), dtype=bool)
    for index in _slots_taken(availability.table, alternative):
        found &= availability.min_free(index, points) >= capacity
    return found


def _slots_taken(table: ResourceTable, alternative: Alternative) -> list[int]:
    """Return the host resources used by a job that are the slots of hosts."""
    taken = {use.index for use in alternative.host_uses}
    return [index for index in table.slot_indices if index in taken]


class Profile:
    """Availability of every host resource and pool over time.

    Build it with running jobs through :meth:`allocate`; planned jobs are added by the same call.
    """

    def __init__(self, table: ResourceTable, now: int) -> None:
        self.table = table
        self.now = now
        self.hosts = table.hosts
        self._host_usage: dict[int, Usage] = {}
        self._pool_usage: dict[int, Usage] = {}
        self._starts: list[int] = []
        self._ends: list[int] = []
        self._finishes: list[int] = []
        #: Windows without enough free slots, if nothing is ever released from this profile.
        self.full_windows: FullWindows | None = None
        #: Past and planned starts by host, if JOB_ACCEPT_INTERVAL applies.
        self.accepted: Accepted | None = None

    def copy(self) -> Profile:
        """Return an independent copy that shares the table."""
        twin = Profile(self.table, self.now)
        twin._host_usage = {index: usage.copy() for index, usage in self._host_usage.items()}
        twin._pool_usage = {index: usage.copy() for index, usage in self._pool_usage.items()}
        twin._starts = list(self._starts)
        twin._ends = list(self._ends)
        twin._finishes = list(self._finishes)
        twin.accepted = None if self.accepted is None else self.accepted.copy()
        return twin

    def precompute(self) -> None:
        """Compute once the results that each of many copies would need."""
        for usage in (*self._host_usage.values(), *self._pool_usage.values()):
            usage.precompute(self.now)

    def take_over(
        self,
        host_usage: dict[int, Usage],
        pool_usage: dict[int, Usage],
        *,
        ends: list[int],
        finishes: list[int],
    ) -> None:
        """Start from uses that are known already; ends, finishes: ascending, after now."""
        self._host_usage, self._pool_usage = host_usage, pool_usage
        self._ends, self._finishes = ends, finishes

    def allocate(self, parts: Iterable[HeldPart], start: int, finish: int | None) -> None:
        """Take what a job uses over [start, finish) (None: indefinitely)."""
        end = FOREVER if finish is None else finish
        for part in parts:
            self.hold(part, start, end)
            self._note_times(part.reservation, start, end)

    def hold(self, part: HeldPart, start: int, end: int) -> None:
        """Take a part over [start, end)."""
        usage = self._pool(part.index) if part.pool else self._usage(part.index)
        usage.add_part(part, start, end)

    def _usage(self, index: int) -> Usage:
        if index not in self._host_usage:
            self._host_usage[index] = Usage(self.hosts)
        return self._host_usage[index]

    def _pool(self, index: int) -> Usage:
        return self._pool_usage.setdefault(index, Usage(1))

    def _note_times(self, reservation: Reservation, start: int, end: int) -> None:
        ends = {start + drop for drop in reservation.drops() if start + drop < end}
        for time in ends | ({end} if end < FOREVER else set()):
            if time > self.now:
                _insert(self._ends, time)
        if self.now < end < FOREVER:
            _insert(self._finishes, end)
        if start > self.now:
            _insert(self._starts, start)

    def freeze(self) -> None:
        """Call once when the running jobs are in: makes later asking and copying fast."""
        for usage in (*self._host_usage.values(), *self._pool_usage.values()):
            usage.freeze()

    def block(self, host: int, slots: float, start: int, end: int) -> None:
        """Close `slots` of a host over [start, end): windows and advance reservations (TBR-19)."""
        self._usage(self.table.unreserved).add(host, start, end, flat("slots", 1.0), slots)
        if start > self.now:
            _insert(self._starts, start)
        if self.now < end < FOREVER:
            _insert(self._ends, end)
            _insert(self._finishes, end)

    def hold_rows(self, index: int, rows: RowList, *, pool: bool) -> None:
        """Take amounts of a host resource or a pool; their end is not a release at which jobs could
        start.
        """
        (self._pool(index) if pool else self._usage(index)).add_rows(rows)
        self._starts = sorted({*self._starts, *(time for time in rows.begin if time > self.now)})

    def hold_reported(self, index: int, away: FloatArray) -> None:
        """Take amounts that hosts report as used, [H], until the next report (RSV-01)."""
        hosts = np.flatnonzero(away)
        if hosts.size:
            self._usage(index).add_constant(hosts, self.now, FOREVER, away[hosts])

    def open_for(self, demand: Demand, time: int) -> bool:
        """Return whether -t and the windows of the job allow a start at `time`."""
        return closed_by(demand, time) is None

    def with_openings(self, demand: Demand, times: list[int]) -> list[int]:
        """Return candidate times together with the instants at which a window of the job or a
        host opens.
        """
        if not times or (demand.calendar is None and not self.has_accept_interval(demand)):
            return times
        openings: set[int] = set()
        if demand.calendar is not None:
            openings.update(*(demand.calendar.openings(time) for time in times))
        if demand.interval is not None and self.accepted is not None:
            openings |= self.accepted.openings(demand.interval)
        return sorted({*times, *(time for time in openings if time >= times[0])})

    def has_accept_interval(self, demand: Demand) -> bool:
        """Return whether some host may be closed to the job because of another's start."""
        return demand.interval is not None and self.accepted is not None

    def accept(self, demand: Demand, start: int, hosts: Iterable[int]) -> None:
        """Record a planned job on hosts, which then take no other job for an interval."""
        if demand.interval is not None and self.accepted is not None:
            self.accepted.add(start, demand.interval, hosts)

    def just_accepted(self, demand: Demand, time: int) -> BoolArray | None:
        """Return the hosts that JOB_ACCEPT_INTERVAL closes to a start at `time`, [H]; None if
        none is.
        """
        if demand.interval is None or self.accepted is None:
            return None
        return self.accepted.closed(demand.interval, time)

    def free(self, index: int, time: int) -> FloatArray:
        """Return the free amount of a host resource at `time`, [H]; negative if overcommitted."""
        return self.min_free(index, [time])

    def free_in_pool(self, index: int, time: int) -> float:
        """Return the free amount of a pool at `time`."""
        return self.min_free_in_pool(index, [time])

    def min_free(self, index: int, points: Sequence[int]) -> FloatArray:
        """Return the minimum free at an instant and at all later starts up to the last, [H].

        points: ascending; the first, then the later :meth:`checkpoints`.
        """
        capacity = self.table.host_resources[index].capacity
        usage = self._host_usage.get(index)
        if usage is None:
            return capacity
        return capacity - usage.most(points, self.now)

    def min_free_on(self, index: int, points: Sequence[int], some: IntArray) -> FloatArray:
        """Return :meth:`min_free` of some hosts, in their order."""
        return self.min_free(index, points)[some]

    def min_free_in_pool(self, index: int, points: Sequence[int]) -> float:
        """Return the minimum free amount of a pool over `points`."""
        pool, usage = self.table.pools[index], self._pool_usage.get(index)
        if not pool.is_fixed:
            each = ((self._of_pool(index, at), partial(self._of_pool, at=at)) for at in points)
            return min(pool.left(free, free_of) for free, free_of in each)
        if usage is None:
            return pool.capacity
        return pool.capacity - float(usage.most(points, self.now)[0])

    def _of_pool(self, index: int, at: int) -> float:
        """Return the available part of the capacity of a pool at an instant."""
        usage = self._pool_usage.get(index)
        capacity = self.table.pools[index].capacity
        return capacity if usage is None else capacity - float(usage.at(at)[0])

    def in_use(self, time: int) -> Amounts:
        """Return the amounts in use at `time`."""
        return Amounts(
            {index: usage.at(time).copy() for index, usage in self._host_usage.items()},
            {index: float(usage.at(time)[0]) for index, usage in self._pool_usage.items()},
        )

    def times(self) -> tuple[list[int], list[int], list[int]]:
        """Return three tuples of instants after now: starts, releases, and finishes of jobs."""
        return self._starts, self._ends, self._finishes

    def checkpoints(self, start: int, duration: int | None) -> list[int]:
        """Return `start` and every later start of another job inside the window."""
        first = bisect.bisect_right(self._starts, start)
        if duration is None:
            return [start, *self._starts[first:]]
        return [start, *self._starts[first : bisect.bisect_left(self._starts, start + duration)]]

    def candidate_times(self, earliest: int, *, finishes_only: bool = False) -> list[int]:
        """Return the instants at which a job may first fit: `earliest` and every release of
        resources.

        finishes_only: only finish times of jobs, as in TBR-02, without the ends of memory phases.
        If the demand never rises, a job can begin to fit only when availability rises, so the first
        of these instants at which it fits is its earliest start.
        """
        times = self._finishes if finishes_only else self._ends
        return [earliest, *times[bisect.bisect_right(times, earliest) :]]

    @property
    def later_starts(self) -> tuple[int, ...]:
        """Return the instants after now at which an entry of the profile starts."""
        return tuple(self._starts)

    def changes(self) -> list[int]:
        """Return every instant from now on at which availability may change, rising."""
        return sorted({self.now, *self._starts, *self._ends})

    def stretches(
        self, times: list[int], duration: int | None, *, one_by_one: bool = False
    ) -> list[tuple[int, int]]:
        """Return ranges [first, last) of `times` whose windows contain equal later starts.

        What a job of constant demand finds only grows within a range. one_by_one: for a demand that
        falls; only windows that reach over no start are then put together.
        """
        first, last = bisect.bisect_right(self._starts, times[0]), len(self._starts)
        if duration is not None:
            last = bisect.bisect_right(self._starts, times[-1] + max(duration, 1))
        at = np.array(times, dtype=np.int64)
        starts = np.array(self._starts[first:last], dtype=np.int64)
        passed = np.searchsorted(at, starts)
        reached = np.zeros_like(passed)
        if duration is not None:
            reached = np.searchsorted(at, starts - max(duration, 1), side="right")
        edges = {0, len(times), *np.unique(np.concatenate([passed, reached])).tolist()}
        if one_by_one:
            over = np.bincount(reached, minlength=len(at) + 1)
            over -= np.bincount(passed, minlength=len(at) + 1)
            edges.update(np.flatnonzero(over.cumsum() > 0).tolist())
        return list(itertools.pairwise(sorted(edges)))

    @property
    def only_grows(self) -> bool:
        """Return whether availability never falls, because no future start is in the profile."""
        return not self._starts

    def capacity(
        self, demand: Demand, term: TermDemand, alternative: Alternative, start: int
    ) -> TermCapacity:
        """Return the free slots for one term of a job over its window from `start`."""
        return find_capacity(
            self, demand, term, alternative, self.checkpoints(start, demand.duration_from(start))
        )


class FixedProfiles:
    """The slots that stay free from an instant on without what is reserved in part only.

    An allocation that may be reserved in part only does not count before its start; from then on
    its job runs.
    """

    def __init__(self, base: Profile) -> None:
        """Initialise the profiles.

        base: running and planned jobs, kept current.
        """
        self.base = base
        #: Allocations that may be reserved in part only: begin, end (seconds), slots by host.
        self._partial: list[tuple[int, int, Allocation]] = []
        #: By number of the allocations that have begun.
        self._profiles: dict[int, Profile] = {}

    def release(self, begin: int, end: int, slots: Allocation) -> None:
        """Add an allocation in `base` that does not count before `begin`."""
        bisect.insort(self._partial, (begin, end, slots), key=lambda item: item[0])
        self._profiles.clear()

    def at(self, time: int) -> Profile:
        """Return the profile for a job that starts at `time`; it is shared."""
        begun = bisect.bisect_right(self._partial, time, key=lambda item: item[0])
        if begun == len(self._partial):
            return self.base
        found = self._profiles.get(begun)
        if found is None:
            found = self._profiles[begun] = self.base.copy()
            rows = RowList()
            for begin, end, slots in self._partial[begun:]:
                rows.extend(slots, begin, end, [-count for count in slots.values()])
            found.hold_rows(SLOTS, rows, pool=False)
        return found

    def changed(self) -> list[Profile]:
        """Return the profiles to which a change of `base` must be added."""
        return list(self._profiles.values())

    def copy_for(self, base: Profile) -> FixedProfiles:
        """Return the same for a copy of `base`."""
        twin = FixedProfiles(base)
        twin._partial = list(self._partial)
        return twin


class ReservationView(Profile):
    """A profile with reservations subtracted until their starts, for one job.

    shown: with all reservations; none of them starts anything. plain: running and planned jobs
    only. For a job that may use slots reserved for later: from `until` on no reservation is
    subtracted, and `lent`, reserved until then or longer, is free throughout. For a job that may
    not: a reservation covers the part of its allocation that is not released by its start, so a job
    that uses only slots that are always free from its start on uses none of it, however long it
    runs. On each host it gets the slots that it would get without ever releasing them in `fixed`.
    Changes apply to all of them: use a copy.
    """

    def __init__(
        self,
        shown: Profile,
        base: Profile,
        *,
        fixed: FixedProfiles | None = None,
        until: int = FOREVER + 1,
        lent: Amounts | None = None,
    ) -> None:
        super().__init__(base.table, base.now)
        self._shown, self._plain, self._fixed = shown, base, fixed
        self._until, self._lent = until, Amounts() if lent is None else lent
        self._starts, self._ends, self._finishes = shown.times()
        self.accepted = base.accepted

    def copy(self) -> ReservationView:
        """Return an independent copy that shares the table."""
        base, fixed = self._plain.copy(), self._fixed
        if fixed is not None:
            fixed = fixed.copy_for(base)
        return ReservationView(
            self._shown.copy(), base, fixed=fixed, until=self._until, lent=self._lent
        )

    def _parts(self) -> list[Profile]:
        """Return the distinct profiles that the combined profile uses."""
        fixed = () if self._fixed is None else self._fixed.changed()
        return [self._shown, self._plain, *fixed]

    def allocate(self, parts: Iterable[HeldPart], start: int, finish: int | None) -> None:
        """Take what a job uses over [start, finish) (None: indefinitely)."""
        held = list(parts)
        for part in self._parts():
            part.allocate(held, start, finish)
        self._starts, self._ends, self._finishes = self._shown.times()

    def hold_rows(self, index: int, rows: RowList, *, pool: bool) -> None:
        """Take amounts of a host resource or a pool."""
        for part in self._parts():
            part.hold_rows(index, rows, pool=pool)
        self._starts, self._ends, self._finishes = self._shown.times()

    def min_free(self, index: int, points: Sequence[int]) -> FloatArray:
        """Return the minimum free over a window; for slots in `fixed` also after it, [H]."""
        base, cut = self._plain, bisect.bisect_left(points, self._until)
        if not cut:
            return base.min_free(index, points)
        found = self._shown.min_free(index, points[:cut])
        if index in self._lent.hosts:
            found = found + self._lent.hosts[index]
        if cut < len(points):
            found = np.minimum(found, base.min_free(index, points[cut:]))
        if index != SLOTS or self._fixed is None:
            return found
        begin = points[0]
        fixed = self._fixed.at(begin)
        held = base.free(SLOTS, begin) - self._shown.free(SLOTS, begin)
        return np.minimum(found, fixed.min_free(SLOTS, fixed.checkpoints(begin, None)) - held)

    def min_free_in_pool(self, index: int, points: Sequence[int]) -> float:
        """Return the minimum free amount of a pool over `points`."""
        base, cut = self._plain, bisect.bisect_left(points, self._until)
        if not cut:
            return base.min_free_in_pool(index, points)
        found = self._shown.min_free_in_pool(index, points[:cut])
        found += self._lent.pools.get(index, 0.0)
        if cut < len(points):
            found = min(found, base.min_free_in_pool(index, points[cut:]))
        return found


def _insert(times: list[int], time: int) -> None:
    """Insert into a sorted list without repeats."""
    index = bisect.bisect_left(times, time)
    if index == len(times) or times[index] != time:
        times.insert(index, time)


def block_advance_reservations(instance: Instance, profile: Profile) -> None:
    """Take the slots of advance reservations out of the profile."""
    index = instance.cluster.host_index()
    for reservation in instance.advance_reservations:
        for name, slots in reservation.slots.items():
            profile.block(index[name], slots, reservation.start, reservation.end)


def max_advance_reserved(
    instance: Instance,
    now: int,
    duration: int | None,
    freed: tuple[IntArray, IntArray, FloatArray] | None = None,
) -> FloatArray:
    """Return the slots free now that advance reservations need during a run that starts now, [H].

    duration: of the run, None if its end is unknown. freed: ends, hosts and slots of running jobs
    outside reservations, rising; slots that are released by the start of a reservation are
    available to it.
    """
    ours = [
        item
        for item in instance.advance_reservations
        if item.end > now and (duration is None or item.start < now + duration)
    ]
    index = instance.cluster.host_index()
    total = np.zeros(len(index))
    for at in {max(item.start, now) for item in ours}:
        there = np.zeros(len(index))
        for item in ours:
            if item.start <= at < item.end:
                for name, slots in item.slots.items():
                    there[index[name]] += slots
        if freed is not None:
            known = int(np.searchsorted(freed[0], at, side="right"))
            np.subtract.at(there, freed[1][:known], freed[2][:known])
        total = np.maximum(total, there)
    return total
