"""Resources that reservations protect from other jobs until their starts, from instant to instant.

At each instant the reservations are made in order, as in a cycle: each reserves what those before
it, and the limits, leave. Many jobs need this one after another, so results are cached.
"""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ..availability.demand import Demand
from ..availability.profile import FixedProfiles, Profile, ReservationView
from ..availability.resources import SLOTS, FloatArray
from ..availability.usage import FOREVER
from ..placement.earliest import Start
from ..placement.holding import ReservationRows, free_over_run, full_allocation, must_be_free
from .cycle_reservations import (
    JobReservation,
    estimate_of,
    hosts_and_pools_used,
    release_allocation,
    reserve_future_allocation,
    run_of,
    takes_only_slots,
)

#: Instants at which the amounts of a reservation are computed where they only explain a start.
MAX_EXPLAINED_INSTANTS = 64
#: Reservations that are made one after another; of more each is made given planned jobs alone.
MAX_IN_ORDER = 64
#: Amounts of hosts that the cache of a sequence may contain.
_CACHED_AMOUNTS = 1 << 22


class ReservedAmounts(NamedTuple):
    """Amounts of an allocation reserved at one instant, by host index: slots, memory, protected
    slots.
    """

    slots: dict[int, int]
    memory: dict[int, float]
    kept: dict[int, int]


class _Remaining:
    """Free resources at one instant, less those of the reservations made so far."""

    def __init__(self, base: Profile, time: int) -> None:
        self.table, self.hosts = base.table, base.hosts
        self._base, self._time = base, time
        #: What is left of the resources that were asked for.
        self._hosts: dict[int, FloatArray] = {}
        self._pools: dict[int, float] = {}

    def free(self, index: int, time: int) -> FloatArray:
        """Return the free amount of a host resource, [H]; shared."""
        free = self._hosts.get(index)
        if free is None:
            free = self._hosts[index] = self._base.free(index, self._time).copy()
        return free

    def free_in_pool(self, index: int, time: int) -> float:
        """Return the free amount of a pool."""
        free = self._pools.get(index)
        if free is None:
            free = self._pools[index] = self._base.free_in_pool(index, self._time)
        return free

    def take(self, reservation: JobReservation, slots: Mapping[int, int]) -> None:
        """Subtract a reservation; slots: those that are taken of its hosts."""
        self._take(SLOTS, slots)
        for index, amounts in reservation.on_hosts(self.table, reserved=True):
            if index != SLOTS:
                self._take(index, amounts)
        for index, total in reservation.in_pools(self.table):
            self._pools[index] = self.free_in_pool(index, self._time) - total

    def _take(self, index: int, amounts: Mapping[int, float]) -> None:
        if amounts:
            free = self.free(index, self._time)
            for host, amount in amounts.items():
                free[host] -= amount


class _Instant:
    """The reservations at one instant that are computed so far."""

    def __init__(self, base: Profile, time: int) -> None:
        #: Without what reservations protect, and without what they reserve.
        self.unprotected, self.unreserved = _Remaining(base, time), _Remaining(base, time)
        #: Number of reservations, in order, that are in it.
        self.count = 0
        self.amounts: dict[int, ReservedAmounts] = {}


@dataclass(slots=True)
class _PlannedRun:
    """The run of a job with a future allocation."""

    begin: int
    end: int
    hosts: frozenset[int]
    #: Reservations behind it whose allocations meet it, by rising start.
    behind: list[JobReservation] = field(default_factory=list)
    #: Free slots of each host over the run, including its own slots, [H]; by the number of
    #: allocations in `behind` that have begun.
    left: dict[int, FloatArray] = field(default_factory=dict)

    def meets(self, other: JobReservation) -> bool:
        """Whether the allocation of another job meets this run."""
        if other.place is None:
            return False
        begin, end = run_of(*other.place)
        overlaps = begin < self.end and self.begin < end
        return overlaps and not self.hosts.isdisjoint(hosts_and_pools_used(*other.place)[0])


class ReservationSequence:
    """The amounts that reservations, made in order, reserve at instants until their starts.

    For a job that ends, only reservations that start before its end count, and of slots that a
    reservation needs it meets the allocation itself: who holds them until then says nothing.
    """

    def __init__(self, reservations: Iterable[JobReservation] = ()) -> None:
        self._order = list(reservations)
        self._position = {item.state.number: at for at, item in enumerate(self._order)}
        self._estimates = sorted({estimate_of(item) for item in self._order})
        #: By instant, the latest estimate of a reservation that counts (where each is made alone:
        #: a number below 0 of its job), and whether the job ends.
        self._instants: dict[tuple[int, int, bool], _Instant] = {}
        self._runs: dict[int, _PlannedRun] = {}

    def add(self, reservation: JobReservation) -> None:
        """Add a reservation behind all others."""
        self._position[reservation.state.number] = len(self._order)
        self._order.append(reservation)
        estimate = estimate_of(reservation)
        at = bisect.bisect_left(self._estimates, estimate)
        if self._estimates[at : at + 1] != [estimate]:
            self._estimates.insert(at, estimate)

    def behind(self, reservations: Collection[JobReservation]) -> Sequence[JobReservation]:
        """Return the reservations behind the first of these; none if each is made alone."""
        if not reservations or len(self._order) > MAX_IN_ORDER:
            return ()
        first = min(self._position[item.state.number] for item in reservations)
        return self._order[first + 1 :]

    def planned(self, demand: Demand, start: Start) -> None:
        """Discard what depends on a newly planned start."""
        begin, end = run_of(demand, start)
        hosts, _ = hosts_and_pools_used(demand, start)
        changed = [
            number
            for number, run in self._runs.items()
            if run.begin < end and begin < run.end and not run.hosts.isdisjoint(hosts)
        ]
        for number in changed:
            del self._runs[number]
        concerned = self._concerned(demand, start)
        for key in list(self._instants):
            time, other, ends = key
            if other < 0 and -1 - other not in concerned:
                continue
            if begin <= time < end or (changed and not ends):
                del self._instants[key]

    def _concerned(self, demand: Demand, start: Start) -> set[int]:
        """Return the numbers of jobs whose reservations, each made alone, a start may change."""
        if len(self._order) <= MAX_IN_ORDER:
            return set()
        hosts, pools = hosts_and_pools_used(demand, start)
        found = set()
        for item in self._order:
            if item.place is None:
                continue
            own, limits = hosts_and_pools_used(*item.place)
            more = _has_more(item.place[0])
            if more or not own.isdisjoint(hosts) or not limits.isdisjoint(pools):
                found.add(item.state.number)
        return found

    def amounts_at(
        self, reservation: JobReservation, base: Profile, time: int, until: int
    ) -> ReservedAmounts:
        """Return what a reservation reserves at `time` in view of a job that ends at `until`.

        base: profile of running and planned jobs.
        """
        number, ends = reservation.state.number, until <= FOREVER
        alone = len(self._order) > MAX_IN_ORDER
        place = bisect.bisect_left(self._estimates, until)
        last = self._estimates[place - 1] if place else 0
        key = time, -1 - number if alone else last, ends
        instant = self._instants.get(key)
        if instant is None:
            if len(self._instants) * base.hosts > _CACHED_AMOUNTS:
                self._instants.clear()
            instant = self._instants[key] = _Instant(base, time)
        if alone and number not in instant.amounts:
            self._reserve(instant, reservation, base, time, ends=ends)
        while number not in instant.amounts:
            item = self._order[instant.count]
            instant.count += 1
            if time < estimate_of(item) <= last:
                self._reserve(instant, item, base, time, ends=ends)
        return instant.amounts[number]

    def _reserve(
        self,
        instant: _Instant,
        reservation: JobReservation,
        base: Profile,
        time: int,
        *,
        ends: bool,
    ) -> None:
        """Add one reservation to those at an instant. ends: as opposed to a job without an end."""
        made = reservation
        if reservation.place is not None:
            spare = None
            if not ends:
                left = self._left(reservation, *reservation.place, base, time)
                spare = np.maximum(left - np.floor(instant.unprotected.free(SLOTS, time)), 0.0)
            made = reserve_future_allocation(
                reservation.without_amounts(),
                instant.unprotected,
                time,
                unreserved=instant.unreserved,
                spare=spare,
            )
        kept = made.slots if made.protected is None else made.protected
        instant.amounts[made.state.number] = ReservedAmounts(made.slots, made.memory, kept)
        instant.unprotected.take(made, {} if ends and made.is_partly_protected else kept)
        instant.unreserved.take(made, made.slots)

    def _left(
        self, reservation: JobReservation, demand: Demand, start: Start, base: Profile, time: int
    ) -> FloatArray:
        """Return the free slots of each host over the run of a job, including its own slots, as a
        cycle at `time` sees them, [H].

        The cycle makes the reservations behind it later. Of their allocations only those count
        that have begun by then.
        """
        run = self._runs.get(reservation.state.number)
        if run is None:
            run = self._runs[reservation.state.number] = self._planned_run(
                reservation, demand, start, base
            )
        begun = bisect.bisect_right(run.behind, time, key=estimate_of)
        if begun not in run.left:
            before = FixedProfiles(base)
            for item in run.behind[begun:]:
                release_allocation(before, item)
            run.left[begun] = free_over_run(before.at(time), demand, start)
        return run.left[begun]

    def _planned_run(
        self, reservation: JobReservation, demand: Demand, start: Start, base: Profile
    ) -> _PlannedRun:
        hosts = frozenset(full_allocation(demand, start, base.table))
        run = _PlannedRun(*run_of(demand, start), hosts)
        behind = self._order[self._position[reservation.state.number] + 1 :]
        run.behind = sorted(filter(run.meets, behind), key=estimate_of)
        return run


def _has_more(demand: Demand) -> bool:
    """Return whether a job needs more of some host than slots and memory, or has a choice."""
    uses = [use for term in demand.terms for item in term.alternatives for use in item.host_uses]
    return any(len(term.alternatives) > 1 for term in demand.terms) or any(
        must_be_free(use, memory_may=True) for use in uses
    )


def subtract_reservations(
    profile: Profile,
    reservations: Iterable[JobReservation],
    base: Profile,
    now: int,
    *,
    sequence: ReservationSequence,
    since: int | None = None,
    before: int = FOREVER,
    until: int = FOREVER + 1,
    max_instants: int | None = None,
    counted: Collection[JobReservation] = (),
) -> None:
    """Subtract from a profile the resources that reservations protect until their starts.

    base: profile of running and planned jobs. sequence: these reservations and all others, with
    the same `base`; future allocations are computed from instant to instant. since, before: only
    instants in this range are needed, so amounts at others are omitted. until: end of the job that
    asks. If it ends, slots that need no protection from it but the allocation itself are omitted.
    max_instants: instants per reservation at which amounts are computed; None: all. counted: of
    these only slots are subtracted, because the profile has their counts in limits.
    """
    whole = {item.state.number for item in counted}
    since = now if since is None else since
    rows = ReservationRows(profile.table)
    times = base.candidate_times(now)
    for reservation in reservations:
        estimate = estimate_of(reservation)
        if estimate <= since:
            continue
        if reservation.place is None:
            rows.add(reservation.alternative, reservation.slots, reservation.memory, now, estimate)
            continue
        demand, start = reservation.place
        alternative = demand.terms[0].alternatives[start.alternative]
        edges = breakpoints(times, estimate, since=since, before=before, max_instants=max_instants)
        if len(edges) < 2:
            continue
        parts = [sequence.amounts_at(reservation, base, edge, until) for edge in edges[:-1]]
        changes = [0, *(at for at in range(1, len(parts)) if parts[at] != parts[at - 1])]
        for first, after in itertools.pairwise((*changes, len(edges) - 1)):
            part, begin, end = parts[first], edges[first], edges[after]
            if reservation.state.number not in whole:
                rows.add(alternative, part.slots, part.memory, begin, end, limits_only=True)
            if until > FOREVER or not reservation.is_partly_protected:
                rows.add_slots(part.kept, begin, end)
    rows.subtract_from(profile)


def profile_without_backfill(
    base: Profile, reservations: Iterable[JobReservation], now: int
) -> ReservationView:
    """Return the profile for a job that may not backfill any of these reservations.

    base: running and planned jobs, including the future allocations of these reservations.
    """
    held = list(reservations)
    limited = [
        reservation
        for reservation in held
        if reservation.place is None or not takes_only_slots(*reservation.place)
    ]
    shown = base.copy()
    subtract_reservations(shown, limited, base, now, sequence=ReservationSequence(held))
    fixed = FixedProfiles(base)
    for reservation in limited:
        release_allocation(fixed, reservation)
    return ReservationView(shown, base, fixed=fixed)


def breakpoints(
    times: list[int], until: int, *, since: int, before: int, max_instants: int | None = None
) -> list[int]:
    """Return the instants in [since, before) at which a reservation until `until` may change.

    times: release instants, ascending. The reserved amounts are constant between two breakpoints;
    the result has fewer than two if nothing is reserved in the interval. max_instants: of more
    instants before `until` only every second, third, … is returned; None: all.
    """
    count = bisect.bisect_left(times, until)
    times = times[: count : 1 if max_instants is None else count // (max_instants + 1) + 1]
    first = max(0, bisect.bisect_right(times, since) - 1)
    last = bisect.bisect_left(times, before)
    return [*times[first:last], *(times[last : last + 1] or [until])]
