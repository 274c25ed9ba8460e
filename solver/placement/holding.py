"""Reservation holdings: the resources that allocations protect, and how allocations are filled or
reduced.

Starts that depend on a run limit which fits exactly. A job that ends in the very second in which an
earlier one starts on its slots is there because the two times are equal. With a limit one second
longer, or clocks that differ by one, it would not fit there: schedulers decide such a tie either
way.

Repair of jobs in more compute units than necessary (PLC-07, PLC-09). A model that places many jobs
jointly, or a search that removes some, may leave a job in more units than it needs given the
others, or in later ones of the configuration.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from ...model.display import some
from ...model.plan import PlannedJob, Unplaced
from ..availability.demand import Demand, FreeResources
from ..availability.profile import Profile
from ..availability.resources import (
    SLOTS,
    Allocation,
    Alternative,
    FloatArray,
    IntArray,
    Per,
    ResourceTable,
    Use,
)
from ..availability.usage import FOREVER, RowList
from .choose import Rules
from .earliest import Start, allocate_start, find_same_start, still_free
from .single import place_most, units_of

#: Reasons of no job: nothing is reserved in advance.
NOTHING: Mapping[int, str] = MappingProxyType({})
#: Maximum number of names in a sentence.
MAX_NAMED = 3
#: Note if the limit was reached before all starts were checked for an exact fit.
NOT_ALL_KNOWN = "the limit was reached before exact fits were examined"
#: Function that adds a commitment to a profile.
Hold = Callable[[Profile], None]


@dataclass(frozen=True, slots=True)
class Commitment:
    """A planned job or reserved slots that take precedence over later jobs."""

    #: Id of the job.
    name: str
    #: Start of its use (seconds).
    begins: int
    #: Allocation by host index.
    hosts: Allocation
    #: Function that adds it to a profile.
    hold: Hold
    #: Function that adds the slots that it protects until then from jobs that would still run.
    protection: Hold | None = None
    #: The planned job itself; None if its limit cannot be an exact fit.
    place: tuple[Demand, Start] | None = None

    @classmethod
    def of(
        cls,
        name: str,
        demand: Demand,
        start: Start,
        *,
        promise: Hold | None = None,
        hangs: bool = True,
    ) -> Commitment:
        """Return the commitment of a job with its start; hangs: whether its limit affected the
        start.
        """
        return cls(
            name,
            start.time,
            start.allocation,
            lambda profile: allocate_start(profile, demand, start),
            promise,
            (demand, start) if hangs else None,
        )


def exact_fits(
    base: Callable[[], Profile],
    queue_position: Sequence[Commitment],
    reserved: Mapping[int, str] = NOTHING,
    *,
    only: Commitment | None = None,
    should_stop: Callable[[], bool] = lambda: False,
) -> dict[str, str]:
    """Return a sentence for each job that is an exact fit, by job id.

    base: running jobs; only called if a job may fit exactly. queue_position: in the order of
    planning: each job is checked given those before it. reserved: start times of other
    reservations, in words. only: the job of interest; None for all. should_stop: called repeatedly;
    once it returns True, the rest is skipped.
    """
    begins = {item.begins for item in queue_position} | set(reserved)
    asked = {
        number
        for number, item in enumerate(queue_position)
        if (only is None or item is only) and _may_fit(item, begins)
    }
    if not asked:
        return {}
    profile = base()
    found: dict[str, str] = {}
    there: dict[int, list[Commitment]] = {}
    for number, item in enumerate(queue_position[: max(asked) + 1]):
        if should_stop():
            break
        if number in asked and item.place is not None:
            demand, start = item.place
            what = _fit_of(profile, demand, start, there, reserved)
            if what:
                found[item.name] = what
        item.hold(profile)
        there.setdefault(item.begins, []).append(item)
    return found


def with_fit(item: PlannedJob | Unplaced, fits: Mapping[str, str]) -> PlannedJob | Unplaced:
    """Return the item with the sentence of its exact fit, if it has one."""
    fit = fits.get(item.job, "")
    return replace(item, exact_fit=fit) if fit and isinstance(item, PlannedJob) else item


def _fit_of(
    profile: Profile,
    demand: Demand,
    start: Start,
    before: Mapping[int, Sequence[Commitment]],
    reserved: Mapping[int, str],
) -> str:
    """Return the sentence for one planned job; "" if one second more would fit there too.

    profile: running jobs and those before it. before: the latter by start.
    """
    assert demand.duration is not None
    end = start.time + demand.duration
    longer = replace(demand, duration=demand.duration + 1)
    there = before.get(end, ())
    open_then = profile.open_for(longer, start.time)
    if open_then:
        promises = [item.protection for item in there if item.protection is not None]
        beside = profile.copy() if promises else profile
        for promise in promises:
            promise(beside)
        if still_free(beside, longer, start):
            return ""
    met = [item.name for item in there if start.allocation.keys() & item.hosts.keys()]
    names = met or [item.name for item in there]
    if names:
        follower = some(names, MAX_NAMED)
    elif open_then:
        follower = reserved.get(end, "")
    else:
        follower = "its run window closes"
    return f"fits exactly: 1 s more would not fit before {follower}"


def _may_fit(item: Commitment, begins: set[int]) -> bool:
    """Return whether something begins, or a window closes, in the second in which a job ends."""
    if item.place is None:
        return False
    demand, start = item.place
    if demand.duration is None or demand.margin or demand.may_be_killed:
        return False
    calendar = demand.calendar
    closes = calendar is not None and not calendar.allows(start.time, demand.duration + 1)
    return closes or start.time + demand.duration in begins


def counts_slots(use: Use) -> bool:
    """Return whether a use counts job slots: the slots themselves, or limits on them."""
    return use.reservation.resource == "slots" and use.per in (Per.SLOT, Per.WHOLE)


def must_be_free(use: Use, *, memory_may: bool) -> bool:
    """Return whether a job reserves nothing while it lacks an amount (MEM-08): none of its slots,
    of a limit, or of memory that it may reserve with its slots.
    """
    name = use.reservation.resource
    return not (use.is_limit or name == "slots" or (memory_may and name == "mem"))


def with_slots(candidates: IntArray, table: ResourceTable) -> IntArray:
    """Return the candidates that have slots."""
    return candidates[table.host_resources[SLOTS].capacity[candidates] >= 1]


def takes_memory(alternative: Alternative, table: ResourceTable) -> bool:
    """Return whether a job uses memory of its hosts."""
    return any(table.host_resources[use.index].name == "mem" for use in alternative.host_uses)


def full_allocation(demand: Demand, start: Start, table: ResourceTable) -> Allocation:
    """Return all slots of an allocation, including the rest of hosts or units that are not
    shared.
    """
    capacity = table.host_resources[SLOTS].capacity
    place = dict(start.allocation)
    for term, allocation in zip(demand.terms, start.terms, strict=True):
        if term.unit is not None and term.unit.excl:
            place |= {host: int(capacity[host]) for host in term.unit.members(allocation)}
        elif term.alternatives[start.alternative].host_uses[0].per is Per.WHOLE:
            place |= {host: int(capacity[host]) for host in allocation}
    return place


class ReservationRows:
    """Rows of reservations, collected so that they are added to a profile in one pass."""

    def __init__(self, table: ResourceTable) -> None:
        self.table = table
        self._hosts: dict[int, RowList] = {}
        self._pools: dict[int, RowList] = {}

    def add(
        self,
        alternative: Alternative | None,
        slots: Mapping[int, int],
        memory: Mapping[int, float],
        begin: int,
        end: int,
        *,
        limits_only: bool = False,
    ) -> None:
        """Add reserved slots, their counts in limits, and memory over [begin, end).

        limits_only: only the counts, because the slots are reserved otherwise (as allocations of
        hosts).
        """
        if alternative is None or begin >= end or not (slots or memory):
            return
        for use in alternative.host_uses:
            amounts: Mapping[int, float] = {}
            if counts_slots(use):
                amounts = {} if limits_only and use.index == SLOTS else slots
            elif self.table.host_resources[use.index].name == "mem":
                amounts = memory
            if amounts:
                rows = self._hosts.setdefault(use.index, RowList())
                rows.extend(amounts, begin, end, amounts.values())
        for index in (use.index for use in alternative.pool_uses if counts_slots(use)):
            mask = self.table.pools[index].mask
            inside = sum(count for host, count in slots.items() if mask[host])
            if inside:
                self._pools.setdefault(index, RowList()).extend((0,), begin, end, (inside,))

    def add_slots(self, slots: Mapping[int, int], begin: int, end: int) -> None:
        """Add slots only, over [begin, end)."""
        if slots and begin < end:
            self._hosts.setdefault(SLOTS, RowList()).extend(slots, begin, end, slots.values())

    def subtract_from(self, profile: Profile) -> None:
        """Subtract the rows from a profile. Their ends are no candidate starts."""
        for index, rows in self._hosts.items():
            profile.hold_rows(index, rows, pool=False)
        for index, rows in self._pools.items():
            profile.hold_rows(index, rows, pool=True)


def free_slots_of(
    demand: Demand,
    start: Start,
    availability: FreeResources,
    time: int,
    spare: FloatArray | None = None,
) -> dict[int, int]:
    """Return slots of a future allocation that are free at `time` and that limits allow to reserve.

    spare: slots of each host that are released by the start and need no reservation, [H].
    """
    slots: dict[int, int] = {}
    for term, full in zip(demand.terms, start.terms, strict=True):
        allocation = full if spare is None else _less(full, spare)
        alternative = term.alternatives[start.alternative]
        hosts = list(allocation)
        whole = term.unit is not None and term.unit.excl
        if whole:
            assert term.unit is not None
            hosts += [host for host in term.unit.members(allocation) if host not in allocation]
        free, most = slot_capacity(alternative, availability, time, hosts)
        if len(start.terms) == 1 and not whole and alternative.host_uses[0].per is not Per.WHOLE:
            return _up_to(allocation, free, most)
        most -= sum(slots.values())
        there = free.astype(np.int64).tolist()
        wanted = dict(allocation)
        if whole or alternative.host_uses[0].per is Per.WHOLE:
            wanted = dict(zip(hosts, there, strict=True))
            most = FOREVER
        for (host, count), left in zip(wanted.items(), there, strict=True):
            part = min(count, left - slots.get(host, 0), most)
            if part > 0:
                slots[host] = slots.get(host, 0) + part
                most -= part
    return slots


def _less(allocation: Allocation, spare: FloatArray) -> Allocation:
    """Return an allocation without slots that are released in time; these are taken from
    `spare`.
    """
    found = {}
    for host, count in allocation.items():
        free = min(count, int(spare[host]))
        spare[host] -= free
        found[host] = count - free
    return found


def spare_slots(future: Profile, demand: Demand, start: Start, now: FloatArray) -> FloatArray:
    """Return slots of each host that an allocation uses beyond those free `now`, [H].

    future: without the allocation. Slots released by its start need not be reserved until then.
    """
    window = future.checkpoints(start.time, demand.duration_from(start.time))
    found: FloatArray = np.floor(future.min_free(SLOTS, window)) - np.floor(now)
    return np.maximum(found, 0.0)


def free_over_run(base: Profile, demand: Demand, start: Start) -> FloatArray:
    """Return the slots of each host that are free during the whole run of a job, including its own,
    [H].

    base: profile that includes the job.
    """
    window = base.checkpoints(start.time, demand.duration_from(start.time))
    left: FloatArray = np.floor(base.min_free(SLOTS, window))
    for host, count in full_allocation(demand, start, base.table).items():
        left[host] += count
    return left


def _up_to(allocation: Allocation, free: FloatArray, most: int) -> dict[int, int]:
    """Return the free slots among those of one term, host by host, up to `most` in all."""
    wanted = np.fromiter(allocation.values(), np.int64, len(allocation))
    part = np.maximum(np.minimum(wanted, free.astype(np.int64)), 0)
    taken = np.clip(most - (np.cumsum(part) - part), 0, part)
    hosts = np.fromiter(allocation, np.int64, len(allocation))
    used = taken.nonzero()[0]
    return dict(zip(hosts[used].tolist(), taken[used].tolist(), strict=True))


def slot_capacity(
    alternative: Alternative,
    availability: FreeResources,
    time: int,
    hosts: Sequence[int] | None = None,
) -> tuple[FloatArray, int]:
    """Return the slots that a job may reserve at `time` on each of these hosts, and in total
    (TBR-10).

    hosts: mask, [H]; None: all.
    """
    free = np.full(availability.hosts if hosts is None else len(hosts), np.inf)
    most = FOREVER
    for use in alternative.host_uses:
        if counts_slots(use):
            there = availability.free(use.index, time)
            free = np.minimum(free, there if hosts is None else there[hosts])
    for use in alternative.pool_uses:
        if counts_slots(use):
            most = min(most, int(availability.free_in_pool(use.index, time)))
    return np.floor(np.maximum(free, 0)), most


def may_grow(demand: Demand) -> bool:
    """Return whether a job requests a range of slots, which dispatch fills."""
    return len(demand.terms) == 1 and demand.terms[0].max_slots > demand.terms[0].slots


def fill_slot_range(profile: Profile, demand: Demand, start: Start) -> Start:
    """Return a start now with the most slots of the job's range, given all other jobs.

    profile: as the job sees it, with all other jobs. A future start keeps the minimum, and so does
    a job without a range.
    """
    if start.time > profile.now or not may_grow(demand):
        return start
    term = demand.terms[0]
    capacity = profile.capacity(demand, term, term.alternatives[start.alternative], start.time)
    if term.unit is not None and term.unit.pref != "config":
        free = np.maximum(profile.free(SLOTS, start.time), 0).astype(np.int64)
        capacity = replace(capacity, free_now=free)
    allocation = place_most(term, capacity)
    return start if allocation is None else Start(start.time, (allocation,), start.alternative)


def with_fewest_units(
    base: Profile, demands: Sequence[Demand], starts: Mapping[str, Start]
) -> dict[str, Start]:
    """Return equal starts with jobs moved to fewer, or as many earlier, units, one at a time.

    base: running jobs. It terminates because each move takes its job to fewer or earlier units and
    leaves all others in place.
    """
    found = dict(starts)
    profile = base.copy()
    movable = []
    for demand in demands:
        if demand.job.id in found:
            if _bound_to_fewest(demand) and _units(demand, found) not in ((), (0,)):
                movable.append(demand)
            else:
                allocate_start(profile, demand, found[demand.job.id])
    while movable and _moved(profile, movable, found):
        pass
    return found


def _moved(profile: Profile, demands: Sequence[Demand], found: dict[str, Start]) -> bool:
    """Return whether any of the jobs could be moved, one after the other; updates `found`.

    profile: with all jobs except these. Each job is tried given all others: half of them are in the
    profile while the other half is tried, and recursively for each half.
    """
    if len(demands) == 1:
        return _moves(profile, demands[0], found)
    half = len(demands) // 2
    moved = False
    for tried, held in ((demands[:half], demands[half:]), (demands[half:], demands[:half])):
        beside = profile.copy()
        for demand in held:
            allocate_start(beside, demand, found[demand.job.id])
        moved = _moved(beside, tried, found) or moved
    return moved


def _moves(profile: Profile, demand: Demand, found: dict[str, Start]) -> bool:
    """Return whether one job has a better allocation given the others, and move it."""
    job, used = demand.job.id, _units(demand, found)
    again = find_same_start(profile, demand, found[job])
    if again is None:
        return False
    units = units_of(demand.terms[0], again.allocation)
    if (len(units), units) >= (len(used), used):
        return False
    found[job] = again
    return True


def _units(demand: Demand, starts: Mapping[str, Start]) -> tuple[int, ...]:
    return units_of(demand.terms[0], starts[demand.job.id].allocation)


def _bound_to_fewest(demand: Demand) -> bool:
    return len(demand.terms) == 1 and Rules.of(demand.terms[0].unit).fewest
