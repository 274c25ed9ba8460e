"""Reservations of pending jobs in one dispatch cycle, and how long each reservation protects slots.

Every cycle drops all reservations and makes them again in dispatch order (RSV, GRD-06); no job owns
its reservation beyond a cycle.

LSF's open family compares instants of backfill in single precision. Its mbatchd adds a run limit
divided by a CPU factor, a single-precision number, to a time in seconds since 1970. Such numbers
are multiples of 128 today, so a job may end up to two minutes behind the estimate before which it
is let in, or be refused before it.
"""

from __future__ import annotations

import bisect
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np

from ...model.instance import Instance
from ..availability.demand import Demand, FreeResources
from ..availability.profile import SLACK, FixedProfiles
from ..availability.resources import (
    SLOTS,
    Allocation,
    Alternative,
    Amounts,
    FloatArray,
    IntArray,
    Per,
    ResourceTable,
    Use,
)
from ..availability.usage import FOREVER
from ..fairshare.waiting_jobs import UNLIMITED
from ..placement.earliest import Start
from ..placement.holding import (
    counts_slots,
    free_slots_of,
    full_allocation,
    must_be_free,
    takes_memory,
    with_slots,
)
from .job_state import JobState


def _is_exact(instance: Instance) -> bool:
    """Return whether instants are compared to the second."""
    return not instance.params.scheduler.is_lava or instance.origin is None


def backfill_from_each(instance: Instance, now: int, limits: IntArray) -> IntArray:
    """Return :func:`backfill_from` for each of many limits, of which few differ."""
    if _is_exact(instance):
        return now + limits
    known, place = np.unique(limits, return_inverse=True)
    return np.array([backfill_from(instance, now, int(limit)) for limit in known])[place]


def backfill_from(instance: Instance, now: int, limit: int) -> int:
    """Return the first estimate whose reserved slots a job with this limit may backfill.

    It is the end of the job, but for the open family whose instance has an origin.
    """
    if _is_exact(instance) or limit >= UNLIMITED:
        return now + limit
    assert instance.origin is not None
    zero = int(datetime.fromisoformat(instance.origin).timestamp())
    end = np.float32(np.float32(zero + now) + np.float32(limit))
    below = np.nextafter(end, np.float32(-np.inf))
    between = (int(end) + int(below)) // 2  # it is rounded to one of the two
    return between + int(np.float32(between) < end) - zero


@dataclass(slots=True)
class JobReservation:
    """The reservation of one pending job in one cycle."""

    state: JobState
    #: "greedy", "time-based" or "optimal".
    method: str
    #: Expected start of the job, None if unknown.
    estimate: int | None
    #: Slots reserved now, by host index; they count in limits and shares.
    slots: dict[int, int] = field(default_factory=dict)
    #: Memory reserved now (MB), by host index.
    memory: dict[int, float] = field(default_factory=dict)
    #: Whether the queue of the job reserves memory in addition to slots, now or when some is
    #: released.
    includes_memory: bool = False
    #: The demand and its start with the future allocation, if the method gives one.
    place: tuple[Demand, Start] | None = None
    #: Reason why a simpler method made the reservation.
    fallback: str = ""
    alternative: Alternative | None = None
    #: Slots of the future allocation that backfill jobs use until the start; they count as reserved
    #: and take no other resource.
    backfilled: dict[int, int] = field(default_factory=dict)
    #: Reason for the start, if a caller requested it; else "".
    waits_for: str = ""
    #: Protected slots of the reservation by host, None for all; the other slots are released by its
    #: start.
    protected: dict[int, int] | None = None

    @property
    def is_partly_protected(self) -> bool:
        """Whether the reservation protects only those slots of its allocation that no running job
        releases by its start.
        """
        return self.protected is not None

    @property
    def start(self) -> Start | None:
        """Return the start of the future allocation, None if only an estimate exists."""
        return None if self.place is None else self.place[1]

    @property
    def allocation(self) -> Allocation:
        """Return the future allocation, {} if only an estimate exists."""
        return {} if self.place is None else self.place[1].allocation

    @property
    def reserved(self) -> Allocation:
        """Return the slots by host that count as reserved, including slots that a backfill job
        uses.
        """
        if not self.backfilled:
            return self.slots
        return {
            host: self.slots.get(host, 0) + self.backfilled.get(host, 0)
            for host in dict.fromkeys((*self.slots, *self.backfilled))
        }

    def without_amounts(self) -> JobReservation:
        """Return the reservation with its future allocation and no amounts."""
        return JobReservation(
            *(self.state, self.method, self.estimate),
            includes_memory=self.includes_memory,
            place=self.place,
        )

    def add_to(self, held: Amounts, table: ResourceTable, *, reserved: bool = False) -> None:
        """Add the reserved slots and memory to `held`.

        reserved: all slots that are reserved, not only those that are kept from others.
        """
        for index, amounts in self.on_hosts(table, reserved=reserved):
            held.add_hosts(index, amounts, table.hosts)
        for index, total in self.in_pools(table):
            held.add_pool(index, total)

    def on_hosts(
        self, table: ResourceTable, *, reserved: bool = False
    ) -> Iterator[tuple[int, Mapping[int, float]]]:
        """Yield each reserved host resource: its index, and the amount by host.

        Slots are counted, memory is in MB. reserved: all reserved slots, not only those kept from
        other jobs.
        """
        for use in () if self.alternative is None else self.alternative.host_uses:
            if use.index == SLOTS:
                whole = reserved or self.protected is None
                yield SLOTS, self.slots if whole else self.protected or {}
            elif counts_slots(use):
                yield use.index, self.slots
            elif table.host_resources[use.index].name == "mem":
                yield use.index, self.memory

    def in_pools(self, table: ResourceTable) -> Iterator[tuple[int, float]]:
        """Yield what the reservation counts in each limit over hosts."""
        for use in () if self.alternative is None else self.alternative.pool_uses:
            if counts_slots(use):
                mask, parts = table.pools[use.index].mask, (self.slots, self.backfilled)
                yield use.index, float(sum(n for part in parts for h, n in part.items() if mask[h]))

    def move_to_backfilled(self, wanted: Allocation) -> None:
        """Mark up to the number of `wanted` slots as backfilled, and subtract them from
        `wanted`.
        """
        kept = self.slots if self.protected is None else self.protected
        for host in kept.keys() & wanted.keys():
            part = min(kept[host], wanted[host])
            wanted[host] -= part
            self.backfilled[host] = self.backfilled.get(host, 0) + part
            for slots in (self.slots, self.protected):
                if slots is not None and host in slots:
                    slots[host] -= part
                    if slots[host] <= 0:
                        del slots[host]

    def record_backfilled(self, left: IntArray) -> None:
        """Mark the protected slots that jobs of this cycle backfilled as backfilled.

        left: free slots by host; what this reservation keeps is taken from them.
        """
        still: Allocation = {}
        for host, count in (self.slots if self.protected is None else self.protected).items():
            part = min(count, int(left[host]))
            if part > 0:
                still[host] = part
                left[host] -= part
            if part < count:
                self.backfilled[host] = self.backfilled.get(host, 0) + count - part
        if self.protected is None:
            self.slots = still
        else:
            self.protected = still

    def drop_taken_slots(self, left: IntArray) -> None:
        """Drop unprotected reserved slots that other jobs have taken.

        left: free unprotected slots by host; the slots of this reservation are subtracted from
        them.
        """
        if self.protected is None:
            return
        found: Allocation = {}
        for host, count in self.slots.items():
            kept = self.protected.get(host, 0)
            part = max(0, min(count - kept, int(left[host])))
            left[host] -= part
            if kept + part:
                found[host] = kept + part
        self.slots = found


def reserve_future_allocation(
    reservation: JobReservation,
    availability: FreeResources,
    now: int,
    *,
    unreserved: FreeResources,
    spare: FloatArray | None,
) -> JobReservation:
    """Return the reservation of the resources of its future allocation that are free now (TBR-07).

    reservation: reserves nothing yet; its `with_memory` tells whether memory may be reserved with
    the slots. availability: resources that other reservations do not protect; unreserved: resources
    that they have not reserved. spare: slots of each host that are released by its start, [H];
    changed. These slots are not protected, unless memory is reserved with the slots (MEM-07); None:
    what is protected without memory is not computed. Nothing is reserved while anything except
    slots (and memory, if it may be reserved) is short (MEM-08).
    """
    assert reservation.place is not None
    (demand, start), memory = reservation.place, reservation.includes_memory
    alternative = demand.terms[0].alternatives[start.alternative]
    with_memory = memory and takes_memory(alternative, availability.table)
    if not with_memory:
        reservation.protected = {}
    if only_slots_and_memory_short(demand, availability, now, memory_may=memory):
        reservation.alternative = alternative
        if with_memory:
            reservation.slots = free_slots_of(demand, start, availability, now)
            reservation.memory = memory_to_hold(
                demand, reservation.slots, availability, now, start.alternative
            )
        else:
            reservation.slots = free_slots_of(demand, start, unreserved, now)
            if spare is not None:
                reservation.protected = free_slots_of(demand, start, availability, now, spare)
    return reservation


def takes_only_slots(demand: Demand, start: Start) -> bool:
    """Whether a job takes only job slots, without any limit."""
    return all(
        len(term.alternatives[start.alternative].host_uses) == 1
        and not term.alternatives[start.alternative].pool_uses
        for term in demand.terms
    )


def uses_on_host(use: Use, slots: int, *, first: bool) -> int:
    """Return how often a use counts on a host with this many slots of the job; first: its first
    host.
    """
    if use.per is Per.JOB:
        return int(first)
    return slots if use.per is Per.SLOT else 1


def memory_to_hold(
    demand: Demand, slots: Mapping[int, int], availability: FreeResources, now: int, number: int = 0
) -> dict[int, float]:
    """Return the free memory to reserve, up to the job's need, on hosts where it has a slot
    (MEM-01, MEM-02).

    Duration and decay have no effect while the job waits (MEM-03).
    """
    alternative = demand.terms[0].alternatives[number]
    found: dict[int, float] = {}
    for use in alternative.host_uses:
        if availability.table.host_resources[use.index].name != "mem":
            continue
        free = availability.free(use.index, now)
        for place, (host, count) in enumerate(slots.items()):
            times = uses_on_host(use, count, first=place == 0)
            amount = min(float(free[host]), use.reservation.initial * times)
            if amount > 0:
                found[host] = amount
    return found


def only_slots_and_memory_short(
    demand: Demand, availability: FreeResources, now: int, *, memory_may: bool
) -> bool:
    """Whether only slots (and memory, if the queue reserves it) prevent the job from starting
    (MEM-08).

    Anything else - a licence, scratch space - that is short now means: pend without a reservation.
    """
    for term in demand.terms:
        if all(
            _short(alternative, term.candidates, availability, now, memory_may)
            for alternative in term.alternatives
        ):
            return False
    return True


def _short(
    alternative: Alternative,
    candidates: IntArray,
    availability: FreeResources,
    now: int,
    memory_may: bool,
) -> bool:
    for use in alternative.host_uses:
        if not must_be_free(use, memory_may=memory_may):
            continue
        there = with_slots(candidates, availability.table)
        free = availability.free(use.index, now)[there]
        if not (free + SLACK >= use.reservation.initial).any():
            return True
    for use in alternative.pool_uses:
        if not must_be_free(use, memory_may=memory_may):
            continue
        if availability.free_in_pool(use.index, now) + SLACK < use.reservation.initial:
            return True
    return False


def sum_reservations(
    reservations: Iterable[JobReservation], table: ResourceTable, *, reserved: bool = False
) -> Amounts:
    """Return the total of the reservations; reserved: count also slots that are not protected."""
    total = Amounts()
    for reservation in reservations:
        reservation.add_to(total, table, reserved=reserved)
    return total


class BackfillRows:
    """The amounts that reservations protect from backfill jobs, as rows that are summed in one pass
    for each of these jobs.

    reservations: in order. places: numbers of the jobs whose slots on hosts do not count here,
    since their places say what is needed. A change of a reservation makes it invalid.
    """

    __slots__ = ("_estimates", "_numbers", "_on_hosts", "_pools", "_size")

    def __init__(
        self, reservations: Sequence[JobReservation], table: ResourceTable, places: Collection[int]
    ) -> None:
        self._size = table.hosts
        self._numbers = {item.state.number: place for place, item in enumerate(reservations)}
        # No job may backfill those without an estimate.
        self._estimates = np.array(
            [-FOREVER if item.estimate is None else item.estimate for item in reservations],
            dtype=np.int64,
        )
        self._pools: dict[int, list[tuple[int, float]]] = {}
        on_hosts: dict[int, list[tuple[int, int, float]]] = {}
        for position, item in enumerate(reservations):
            for index, amounts in item.on_hosts(table):
                if index != SLOTS or item.state.number not in places:
                    rows = on_hosts.setdefault(index, [])
                    rows += ((position, host, amount) for host, amount in amounts.items())
            for index, total in item.in_pools(table):
                self._pools.setdefault(index, []).append((position, total))
        #: By index of the resource: positions of the reservations, hosts and amounts.
        self._on_hosts = {
            index: (
                np.array([row[0] for row in rows], dtype=np.int64),
                np.array([row[1] for row in rows], dtype=np.int64),
                np.array([row[2] for row in rows], dtype=float),
            )
            for index, rows in on_hosts.items()
        }

    def held(self, state: JobState | None, until: int) -> Amounts:
        """Return what a job that runs until `until` may not use: of the reservations of others,
        those with an earlier estimate or none; in limits over hosts, all.

        state: None if it is any job without a reservation.
        """
        found = Amounts()
        own = -1 if state is None else self._numbers.get(state.number, -1)
        counts = self._estimates < until
        if own >= 0:
            counts[own] = False
        for index, (positions, hosts, amounts) in self._on_hosts.items():
            kept = counts[positions]
            if kept.any():
                sums = np.bincount(hosts[kept], amounts[kept], minlength=self._size)
                found.hosts[index] = sums.astype(float, copy=False)
        for index, rows in self._pools.items():
            for position, total in rows:
                if position != own:
                    found.add_pool(index, total)
        return found


class CycleReservations:
    """The reservations of one cycle: in order, by job, by estimate, and by the resources they wait
    for.

    items: in order of creation. held: slots and memory that are protected now. reserved: all
    reserved amounts, protected or not.
    """

    __slots__ = ("_estimates", "_freeing", "_of", "_table", "held", "items", "reserved")

    def __init__(self, table: ResourceTable) -> None:
        self._table = table
        self.clear()

    def clear(self) -> None:
        """Remove all reservations."""
        self.held, self.reserved = Amounts(), Amounts()
        self.replace([])

    def replace(self, reservations: Sequence[JobReservation]) -> None:
        """Replace all reservations; :meth:`recompute_totals` then computes their totals."""
        self.items = list(reservations)
        self._of: dict[int, JobReservation] = {}
        self._freeing: dict[tuple[int, int], dict[int, JobReservation]] = {}
        self._estimates: list[int] = []
        for reservation in self.items:
            self._index(reservation)

    def recompute_totals(self) -> None:
        """Recompute the totals of the reservations."""
        self.held = sum_reservations(self.items, self._table)
        self.reserved = sum_reservations(self.items, self._table, reserved=True)

    def add(self, reservation: JobReservation) -> None:
        """Add the reservation of a job that had none."""
        reservation.add_to(self.held, self._table)
        reservation.add_to(self.reserved, self._table, reserved=True)
        self.items.append(reservation)
        self._index(reservation)

    def _index(self, reservation: JobReservation) -> None:
        number = len(self._of)
        self._of[reservation.state.number] = reservation
        bisect.insort(
            self._estimates, FOREVER if reservation.estimate is None else reservation.estimate
        )
        if reservation.place is None:
            return
        demand, start = reservation.place
        begin, finish = start.time, start.finish(demand)
        times = {finish} if finish is not None else set()
        for term in demand.terms:
            alternative = term.alternatives[start.alternative]
            for use in (*alternative.host_uses, *alternative.pool_uses):
                times.update(begin + drop for drop in use.reservation.drops())
        hosts, _ = hosts_and_pools_used(demand, start)
        for place in ((time, host) for time in times for host in hosts):
            self._freeing.setdefault(place, {})[number] = reservation

    def get(self, state: JobState) -> JobReservation | None:
        """Return the reservation of a job."""
        return self._of.get(state.number)

    def others(self, state: JobState) -> list[JobReservation]:
        """Return the reservations of other jobs; not to be modified."""
        if state.number not in self._of:
            return self.items
        return [reservation for reservation in self.items if reservation.state is not state]

    def has_estimate_between(self, state: JobState, first: int, before: int) -> bool:
        """Whether the start of another job's reservation lies in [first, before)."""
        low, high = (bisect.bisect_left(self._estimates, time) for time in (first, before))
        own = self._of.get(state.number)
        if own is None:
            return low < high
        until = FOREVER if own.estimate is None else own.estimate
        return high - low > (first <= until < before)

    def releasing(
        self, state: JobState, time: int, hosts: Collection[int]
    ) -> Iterator[tuple[str, Demand, Start]]:
        """Yield other jobs with allocations on these hosts that end, or shrink, at `time` or
        later.
        """
        found: dict[int, JobReservation] = {}
        for host in hosts:
            found |= self._freeing.get((time, host), {})
        for _, reservation in sorted(found.items()):
            if reservation.state is not state and reservation.place is not None:
                yield reservation.state.job.id, *reservation.place


class BackfilledSlots:
    """The reserved slots that running jobs backfilled, by host, until these jobs end."""

    def __init__(self, backfill_jobs: Iterable[JobState] = (), now: int = 0) -> None:
        self._on: dict[int, list[list[int]]] = {}
        for state in backfill_jobs:
            end = state.expected_end(now)
            if end is not None:
                for host, slots in state.backfilled_slots.items():
                    self._on.setdefault(host, []).append([end, slots])

    @property
    def has_any(self) -> bool:
        """Whether any slot is backfilled."""
        return bool(self._on)

    def charge_to(self, reservation: JobReservation, table: ResourceTable) -> None:
        """Count the backfilled slots of an allocation as reserved, and protect fewer slots
        accordingly.

        The allocation has whole hosts if the job does not share them. Only slots that are released
        by its estimate count; each slot counts for one reservation.
        """
        if reservation.place is None or reservation.alternative is None or not self._on:
            return
        place = full_allocation(*reservation.place, table)
        if self._on.keys().isdisjoint(place):
            return
        assert reservation.estimate is not None
        for host in [host for host in place if host in self._on]:
            count = place[host]
            for loan in self._on[host]:
                end, left = loan
                part = min(left, count - reservation.backfilled.get(host, 0))
                if end <= reservation.estimate and part > 0:
                    loan[1] -= part
                    reservation.backfilled[host] = reservation.backfilled.get(host, 0) + part
            if host in reservation.backfilled:
                for slots in (reservation.slots, reservation.protected or {}):
                    rest = min(slots.get(host, 0), count - reservation.backfilled[host])
                    slots[host] = rest
                    if not rest:
                        del slots[host]

    def on(self, hosts: Iterable[int], size: int) -> FloatArray:
        """Return the backfilled slots on these of `size` hosts, [H]."""
        found = np.zeros(size)
        for host in self._on.keys() & set(hosts):
            found[host] = sum(left for _, left in self._on[host])
        return found

    def take(self, backfilled: Allocation) -> None:
        """Record that these backfillable slots, by host, belong to one reservation from now on."""
        for host, most in backfilled.items():
            for loan in self._on.get(host, ()):
                part = min(loan[1], most)
                loan[1] -= part
                most -= part


def has_spanning_lower_priority_job(reservations: Sequence[JobReservation]) -> bool:
    """Whether a job of lower priority starts before and ends after a job without BACKFILL on one
    of its hosts.

    reservations: with their places, in the order of priority. Such a job starts only where the
    slots of its place would stay free for good. The one behind it leaves it its place, but no more.
    """
    behind: dict[int, list[tuple[int, int]]] = {}
    for reservation in reversed(reservations):
        if reservation.place is None:
            continue
        begin, end = run_of(*reservation.place)
        hosts, _ = hosts_and_pools_used(*reservation.place)
        for host in () if reservation.place[0].queue.backfill else hosts:
            spans = np.array(behind.get(host, ()), dtype=np.int64).reshape(-1, 2)
            if ((spans[:, 0] < begin) & (spans[:, 1] > end)).any():
                return True
        for host in hosts:
            behind.setdefault(host, []).append((begin, end))
    return False


def estimate_of(reservation: JobReservation) -> int:
    """Return the expected start of a reservation (seconds), FOREVER if unknown."""
    return FOREVER if reservation.estimate is None else reservation.estimate


def run_of(demand: Demand, start: Start) -> tuple[int, int]:
    """Return begin and end of a planned run (seconds); the end is FOREVER if unknown."""
    finish = start.finish(demand)
    return start.time, FOREVER if finish is None else finish


def release_allocation(fixed: FixedProfiles, reservation: JobReservation) -> None:
    """Add the slots of a reservation's allocation back until its start."""
    if reservation.place is not None:
        begin, end = run_of(*reservation.place)
        fixed.release(begin, end, full_allocation(*reservation.place, fixed.base.table))


def hosts_and_pools_used(demand: Demand, start: Start) -> tuple[set[int], set[int]]:
    """Return the hosts and pools of which a future allocation takes anything."""
    hosts = set(start.allocation)
    for term, allocation in zip(demand.terms, start.terms, strict=True):
        if term.unit is not None and term.unit.excl:
            units = term.unit.unit_of[list(allocation)]
            hosts.update(np.flatnonzero(np.isin(term.unit.unit_of, units)).tolist())
    uses = [term.alternatives[start.alternative] for term in demand.terms]
    return hosts, {use.index for alternative in uses for use in alternative.pool_uses}
