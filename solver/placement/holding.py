"""What a reservation keeps from other jobs until its start, as entries of a profile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ..availability.arrays import Allocation, FloatArray
from ..availability.demand import Availability, Demand
from ..availability.profile import FOREVER, Profile
from ..availability.resources import SLOTS, ResourceTable
from ..availability.rows import RowList
from ..availability.uses import Alternative, Per, Use
from .earliest import Start


def counts_slots(use: Use) -> bool:
    """Whether a use counts job slots: the slots themselves, and limits on them."""
    return use.reservation.resource == "slots" and use.per in (Per.SLOT, Per.WHOLE)


def takes_memory(alternative: Alternative, table: ResourceTable) -> bool:
    """Whether a job takes memory of its hosts."""
    return any(table.host_resources[use.index].name == "mem" for use in alternative.host_uses)


def whole_place(demand: Demand, start: Start, plain: Profile) -> Allocation:
    """All slots of a place: of whole hosts or units where the job shares them with nobody."""
    capacity = plain.table.host_resources[SLOTS].capacity
    place = dict(start.allocation)
    for term, allocation in zip(demand.terms, start.terms, strict=True):
        if term.unit is not None and term.unit.excl:
            used = sorted({int(term.unit.unit_of[host]) for host in allocation})
            members = np.flatnonzero(np.isin(term.unit.unit_of, used))
            place |= {int(host): int(capacity[host]) for host in members}
        elif term.alternatives[start.alternative].host_uses[0].per is Per.WHOLE:
            place |= {host: int(capacity[host]) for host in allocation}
    return place


class HeldRows:
    """What reservations hold, gathered row by row to be entered into a profile at once."""

    def __init__(self, table: ResourceTable) -> None:
        self.table = table
        self._hosts: dict[int, RowList] = {}
        self._pools: dict[int, RowList] = {}
        self._counted: dict[int, tuple[list[int], list[int], list[int]]] = {}
        self._kept: list[Alternative] = []

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
        """Held slots, and what limits count of them, and memory over [begin, end).

        limits_only: not the slots themselves, which are kept otherwise (:class:`Kept`).
        """
        if alternative is None or begin >= end or not (slots or memory):
            return
        of_hosts, of_pools, of_memory = self._what_counts(alternative)
        if slots:
            for index in of_hosts:
                if limits_only and index == SLOTS:
                    continue
                rows = self._hosts.setdefault(index, RowList())
                rows.extend(slots, begin, end, slots.values())
            for index in of_pools:
                mask = self.table.pools[index].mask
                inside = sum(count for host, count in slots.items() if mask[host])
                if inside:
                    rows = self._pools.setdefault(index, RowList())
                    rows.extend((0,), begin, end, (inside,))
        if memory:
            for index in of_memory:
                rows = self._hosts.setdefault(index, RowList())
                rows.extend(memory, begin, end, memory.values())

    def keep(self, slots: Mapping[int, int], begin: int, end: int) -> None:
        """Slots alone, over [begin, end)."""
        if slots and begin < end:
            rows = self._hosts.setdefault(SLOTS, RowList())
            rows.extend(slots, begin, end, slots.values())

    def _what_counts(self, alternative: Alternative) -> tuple[list[int], list[int], list[int]]:
        """Host resources and pools that count slots, and those that are memory."""
        found = self._counted.get(id(alternative))
        if found is None:
            uses = alternative.host_uses
            found = self._counted[id(alternative)] = (
                [use.index for use in uses if counts_slots(use)],
                [use.index for use in alternative.pool_uses if counts_slots(use)],
                [use.index for use in uses if self.table.host_resources[use.index].name == "mem"],
            )
            self._kept.append(alternative)  # so that no other gets its id
        return found

    def enter(self, profile: Profile) -> None:
        """Take it all out of a profile. What it frees again is nobody's instant to start."""
        for index, rows in self._hosts.items():
            profile.hold_rows(index, rows, pool=False)
        for index, rows in self._pools.items():
            profile.hold_rows(index, rows, pool=True)


def free_part(
    demand: Demand, start: Start, beside: Availability, time: int, spare: FloatArray | None = None
) -> dict[int, int]:
    """Slots of a future allocation that are free at `time` and that limits let the job hold.

    spare: slots of each host that come free by the start, and need not be held, [H].
    """
    slots: dict[int, int] = {}
    for term, full in zip(demand.terms, start.terms, strict=True):
        allocation = full if spare is None else _less(full, spare)
        alternative = term.alternatives[start.alternative]
        hosts = list(allocation)
        whole = term.unit is not None and term.unit.excl
        if whole:
            assert term.unit is not None
            used = {int(term.unit.unit_of[host]) for host in allocation}
            members = np.flatnonzero(np.isin(term.unit.unit_of, sorted(used))).tolist()
            hosts += [host for host in members if host not in allocation]
        free, most = slot_room(alternative, beside, time, hosts)
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
    """An allocation without the slots that come free; these are taken from `spare`."""
    found = {}
    for host, count in allocation.items():
        free = min(count, int(spare[host]))
        spare[host] -= free
        found[host] = count - free
    return found


def spare_slots(future: Profile, demand: Demand, start: Start, now: FloatArray) -> FloatArray:
    """Slots of each host that the place of a job finds beyond those that are free `now`, [H].

    future: without the place. What comes free by its start need not be held until then.
    """
    window = future.checkpoints(start.time, demand.duration)
    found: FloatArray = np.floor(future.least_free(SLOTS, window)) - np.floor(now)
    return np.maximum(found, 0.0)


def free_over_run(plain: Profile, demand: Demand, start: Start) -> FloatArray:
    """Slots of each host that are free all the while that a job runs, its own counted in, [H].

    plain: with its place.
    """
    window = plain.checkpoints(start.time, demand.duration)
    left: FloatArray = np.floor(plain.least_free(SLOTS, window))
    for host, count in start.allocation.items():
        left[host] += count
    return left


def _up_to(allocation: Allocation, free: FloatArray, most: int) -> dict[int, int]:
    """Of the slots of one term those that are free, host by host until it is `most` in all."""
    wanted = np.fromiter(allocation.values(), np.int64, len(allocation))
    part = np.maximum(np.minimum(wanted, free.astype(np.int64)), 0)
    taken = np.clip(most - (np.cumsum(part) - part), 0, part)
    hosts = np.fromiter(allocation, np.int64, len(allocation))
    used = taken.nonzero()[0]
    return dict(zip(hosts[used].tolist(), taken[used].tolist(), strict=True))


def slot_room(
    alternative: Alternative, beside: Availability, time: int, hosts: Sequence[int] | None = None
) -> tuple[FloatArray, int]:
    """Slots that a job may hold at `time` on each of these hosts, and in all (TBR-10).

    hosts: all where None, [H].
    """
    free = np.full(beside.hosts if hosts is None else len(hosts), np.inf)
    most = FOREVER
    for use in alternative.host_uses:
        if counts_slots(use):
            there = beside.free(use.index, time)
            free = np.minimum(free, there if hosts is None else there[hosts])
    for use in alternative.pool_uses:
        if counts_slots(use):
            most = min(most, int(beside.free_in_pool(use.index, time)))
    return np.floor(np.maximum(free, 0)), most
