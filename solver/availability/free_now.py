"""What is free at this very instant, kept up to date as jobs start, shrink and end.

:class:`FreeNow` has the amounts, exact to the second (a decaying reservation included: RSV-02).
:class:`Residual` is the view of one job: what is free beside the reservations that pending jobs
hold, on the hosts that are open to it. It is a profile of a single instant, so placement works on
it as it does on a plan.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...model.reservation import Reservation
from .demand import Demand, TermCapacity, TermDemand
from .profile import find_capacity
from .resources import (
    SLOTS,
    Allocation,
    Alternative,
    Amounts,
    BoolArray,
    FloatArray,
    IntArray,
    Per,
    ResourceTable,
)


@dataclass(slots=True)
class HeldPart:
    """What a job holds of one host resource (hosts, times: [k]) or of one pool (times: [1])."""

    pool: bool
    index: int
    hosts: IntArray
    times: FloatArray
    reservation: Reservation
    #: Of `reservation`, held now, counted `times` times.
    amount: float

    @property
    def falls(self) -> bool:
        """Whether the amount changes while the job runs."""
        phases = self.reservation.phases
        return len(phases) > 1 or phases[0].end is not None

    @property
    def decays(self) -> bool:
        """Whether some phase falls linearly."""
        return any(phase.decay for phase in self.reservation.phases)


class FreeNow:
    """Free amounts now: of every host resource [H], of every pool; negative if overcommitted."""

    def __init__(self, table: ResourceTable) -> None:
        self.table = table
        #: What hosts report to be gone before any job, by index of the amount, [H].
        self.away = table.reported_used()
        self._hosts: list[FloatArray] = []
        self._pools: list[float] = []

    def host(self, index: int) -> FloatArray:
        """Free amount of a host resource, [H]; not to be changed."""
        while len(self._hosts) <= index:
            new = len(self._hosts)
            self._hosts.append(self.reported(new).copy())
        return self._hosts[index]

    def reported(self, index: int) -> FloatArray:
        """What hosts report of an amount as it would be without jobs, [H]; not to be changed."""
        capacity = self.table.host_resources[index].capacity
        return capacity - self.away[index] if index in self.away else capacity

    def pool(self, index: int) -> float:
        """Free amount of a pool."""
        while len(self._pools) <= index:
            self._pools.append(self.table.pools[len(self._pools)].capacity)
        return self._pools[index]

    def copy(self) -> FreeNow:
        """An independent copy."""
        twin = FreeNow(self.table)
        twin.away = {index: amounts.copy() for index, amounts in self.away.items()}
        twin._hosts = [amounts.copy() for amounts in self._hosts]
        twin._pools = list(self._pools)
        return twin

    def take(
        self,
        alternative: Alternative,
        allocation: Allocation,
        *,
        elapsed: int = 0,
        whole_hosts: Iterable[int] = (),
    ) -> list[HeldPart]:
        """Take what a job uses `elapsed` seconds after its start; give back what is returned."""
        parts = list(parts_of(self.table, alternative, allocation, whole_hosts))
        for part in parts:
            self.change(part, part.reservation.at(elapsed))
        return parts

    def take_from_pool(self, index: int, amount: float) -> None:
        """Take an amount of a pool that nobody gives back."""
        self.pool(index)
        self._pools[index] -= amount

    def give(self, parts: Iterable[HeldPart]) -> None:
        """Give back all that the parts hold."""
        for part in parts:
            self.change(part, 0.0)

    def change(self, part: HeldPart, amount: float) -> None:
        """Let a part hold `amount` from now on."""
        more = amount - part.amount
        if not more:
            return
        part.amount = amount
        if part.pool:
            self.pool(part.index)
            self._pools[part.index] -= more * float(part.times[0])
        else:
            self.host(part.index)[part.hosts] -= more * part.times

    def free_slots(self, host: int, slots: int, indices: Iterable[int] = (SLOTS,)) -> None:
        """Free slots of a host without more ado: for trials on a copy.

        indices: of the host resources of which they were taken.
        """
        for index in indices:
            self.host(index)[host] += slots

    def report(self, index: int, host: int, amount: float) -> None:
        """A host reports what it has of an amount, as it would be without jobs."""
        free = self.host(index)
        away = self.away.setdefault(index, np.zeros_like(free))
        gone = float(self.table.host_resources[index].capacity[host]) - amount
        free[host] += away[host] - gone
        away[host] = gone

    def state(self) -> dict[str, Any]:
        """Plain data, exact."""
        return {
            "hosts": [a.tolist() for a in self._hosts],
            "pools": list(self._pools),
            "away": [[index, amounts.tolist()] for index, amounts in self.away.items()],
        }

    def load(self, state: Mapping[str, Any]) -> None:
        """Take over what :meth:`state` gave."""
        self.away = {index: np.array(amounts, dtype=float) for index, amounts in state["away"]}
        self._hosts = [np.array(amounts, dtype=float) for amounts in state["hosts"]]
        self._pools = [float(amount) for amount in state["pools"]]


class FallingUse:
    """What running jobs hold that falls while they run, by job: amounts, and loads they reserve."""

    __slots__ = ("_loads", "_parts")

    def __init__(self) -> None:
        self._parts: dict[int, tuple[int, list[HeldPart]]] = {}
        self._loads: dict[int, tuple[int, list[Reservation]]] = {}

    def watch(
        self,
        job: int,
        start: int,
        now: int,
        parts: Iterable[HeldPart],
        loads: Iterable[Reservation],
    ) -> None:
        """A job runs from `start` with these parts and loads; those that never fall are no matter.

        Times in seconds.
        """
        elapsed = now - start
        falling = [part for part in parts if part.falls]
        if not all(_settled(part.reservation, elapsed) for part in falling):
            self._parts[job] = start, falling
        dropping = [load for load in loads if load.drops()]
        if not all(_settled(load, elapsed) for load in dropping):
            self._loads[job] = start, dropping

    def remove(self, job: int) -> None:
        """A job holds nothing any more."""
        self._parts.pop(job, None)
        self._loads.pop(job, None)

    @property
    def has_any(self) -> bool:
        """Whether anything falls before its job ends."""
        return bool(self._parts or self._loads)

    @property
    def amounts(self) -> bool:
        """Whether an amount does, not only a load."""
        return bool(self._parts)

    def bring_to(self, now: int, free_now: FreeNow) -> None:
        """Bring what falls to its amount at `now` (RSV-02)."""
        for job, (start, parts) in list(self._parts.items()):
            for part in parts:
                free_now.change(part, part.reservation.at(now - start))
            if all(_settled(part.reservation, now - start) for part in parts):
                del self._parts[job]
        for job, (start, loads) in list(self._loads.items()):
            if all(_settled(load, now - start) for load in loads):
                del self._loads[job]

    def next_after(self, now: int) -> int | None:
        """When the next of it falls; now where something falls all the time."""
        falling = [
            *((start, part.reservation) for start, parts in self._parts.values() for part in parts),
            *((start, load) for start, loads in self._loads.values() for load in loads),
        ]
        return min(
            (
                now if phase.decay and now - start >= phase.start else start + phase.end
                for start, reservation in falling
                for phase in reservation.phases
                if phase.end is not None and now - start < phase.end
            ),
            default=None,
        )


def _settled(reservation: Reservation, elapsed: int) -> bool:
    """Whether a reservation never changes again."""
    last = reservation.phases[-1]
    return elapsed >= (last.start if last.end is None else last.end)


def parts_of(
    table: ResourceTable,
    alternative: Alternative,
    allocation: Allocation,
    whole_hosts: Iterable[int] = (),
) -> Iterator[HeldPart]:
    """What one term of a job uses, with nothing held yet."""
    hosts = np.fromiter(allocation, np.int64, len(allocation))
    slots = np.fromiter(allocation.values(), float, len(allocation))
    ones = np.ones(len(hosts))
    for use in alternative.host_uses:
        if use.per is Per.JOB:
            yield HeldPart(False, use.index, hosts[:1], ones[:1], use.reservation, 0.0)
            continue
        capacity = table.host_resources[use.index].capacity
        times = {Per.SLOT: slots, Per.WHOLE: capacity[hosts]}.get(use.per, ones)
        yield HeldPart(False, use.index, hosts, times, use.reservation, 0.0)
    whole = np.array(sorted(whole_hosts), dtype=np.int64)
    for use in alternative.host_uses if whole.size else ():
        if use.index not in table.slot_indices:
            continue
        capacity = table.host_resources[use.index].capacity
        if use.per is Per.WHOLE:
            other = np.setdiff1d(whole, hosts)
            yield HeldPart(False, use.index, other, capacity[other], use.reservation, 0.0)
        else:
            own = np.array([allocation.get(int(host), 0) for host in whole], dtype=float)
            yield HeldPart(False, use.index, whole, capacity[whole] - own, use.reservation, 0.0)
    for use in alternative.pool_uses:
        inside = slots[table.pools[use.index].mask[hosts]]
        if inside.size:
            count = {Per.SLOT: float(inside.sum()), Per.HOST: float(inside.size)}.get(use.per, 1.0)
            yield HeldPart(True, use.index, hosts[:0], np.array([count]), use.reservation, 0.0)


class Residual:
    """The present as one job sees it: an availability that knows one instant, now."""

    def __init__(self, free_now: FreeNow, now: int, held: Amounts) -> None:
        self.free_now = free_now
        self.now = now
        #: What others hold.
        self.held = held
        self.table = free_now.table
        self.hosts = len(free_now.table.instance.cluster.hosts)
        self.later_starts: tuple[int, ...] = ()
        #: Hosts that take no such job now, [H], None where all are open.
        self.closed: BoolArray | None = None
        #: Least availability of pools, by index, that loans of guaranteed pools bring.
        self.loans: Mapping[int, float] = {}
        #: Slots that an advance reservation keeps on each host during the job, [H], or None.
        self.blocked: FloatArray | None = None

    def _at(self, time: int) -> None:
        """Refuse every instant but now."""
        if time != self.now:
            raise ValueError(f"what is free at {time} s is not known at {self.now} s")

    def free(self, index: int, time: int) -> FloatArray:
        """Free amount of a host resource beside what is held, [H].

        Raises ValueError for any other instant than now, as all its questions do.
        """
        self._at(time)
        amounts = self.free_now.host(index)
        held = self.held.hosts.get(index)
        if held is not None:
            amounts = amounts - held
        if index == self.table.unreserved and self.blocked is not None:
            amounts = amounts - self.blocked
        return amounts

    def most_slots(self) -> float:
        """Slots that are free on all hosts together; no job can have more."""
        free = self.free(SLOTS, self.now)
        # Half a slot more than all that rounding can gain.
        return float(np.maximum(free, 0).sum()) + 0.5

    def free_in_pool(self, index: int, time: int) -> float:
        """Free amount of a pool beside what is held."""
        self._at(time)
        left = self.table.pools[index].left(self.free_of_capacity(index), self.free_of_capacity)
        return max(left, self.loans[index]) if index in self.loans else left

    def free_of_capacity(self, index: int) -> float:
        """The available part of the capacity of a pool."""
        return self.free_now.pool(index) - self.held.pools.get(index, 0.0)

    def min_free(self, index: int, points: Sequence[int]) -> FloatArray:
        """The least of a host resource that is free at `points`: now is the only one."""
        for point in points:
            self._at(point)
        return self.free(index, self.now)

    def min_free_in_pool(self, index: int, points: Sequence[int]) -> float:
        """The least of a pool that is free at `points`: now is the only one."""
        for point in points:
            self._at(point)
        return self.free_in_pool(index, self.now)

    def open_for(self, demand: Demand, time: int) -> bool:
        """Windows are the loop's own business."""
        self._at(time)
        return True

    def just_accepted(self, demand: Demand, time: int) -> None:
        """So is JOB_ACCEPT_INTERVAL: see `closed`."""
        self._at(time)

    def capacity(
        self, demand: Demand, term: TermDemand, alternative: Alternative, start: int
    ) -> TermCapacity:
        """What the job finds now; free_now as pref[] counts it: all slots that no job runs on."""
        capacity = find_capacity(self, demand, term, alternative, [start])
        if self.closed is not None:
            capacity.caps[self.closed] = 0
        if term.unit is not None:
            free = np.maximum(self.free_now.host(SLOTS), 0).astype(np.int64)
            capacity = replace(capacity, free_now=free)
        return capacity

    def copy(self) -> Residual:
        """A copy in which terms of one job can be put down."""
        twin = Residual(self.free_now.copy(), self.now, self.held)
        twin.closed, twin.blocked, twin.loans = self.closed, self.blocked, self.loans
        return twin

    def allocate(
        self,
        alternative: Alternative,
        allocation: Allocation,
        start: int,
        finish: int | None,
        *,
        whole_hosts: Iterable[int] = (),
    ) -> None:
        """Take what a term uses now; only a start now is possible."""
        self._at(start)
        self.free_now.take(alternative, allocation, whole_hosts=whole_hosts)
