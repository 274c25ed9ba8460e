"""What pending jobs hold in one cycle, and until when.

Every cycle drops all reservations and makes them anew in the order of the jobs (RSV, GRD-06): a
reservation is won again and again, never owned.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ..availability.arrays import Allocation, FloatArray, IntArray
from ..availability.demand import Availability, Demand
from ..availability.free_now import HeldBack, Residual
from ..availability.profile import FOREVER
from ..availability.resources import SLOTS
from ..availability.room import SLACK
from ..availability.uses import Alternative, Per, Use
from ..placement.earliest import Start
from ..placement.holding import counts_slots, free_part, takes_memory
from .job_state import JobState


@dataclass(slots=True)
class Held:
    """The reservation of one pending job in one cycle.

    slots, memory: reserved now, by host index; they count in limits and shares. kept: the slots of
    these that no other job may use, None for all; the others come free by its start.
    with_memory: whether its queue holds memory beside the slots, now or as soon as some is free.
    lent: slots of its place that jobs use which backfill
    until then; they count as reserved and take nothing else. estimate: expected start, None if
    unknown. start: the future allocation where the method gives one. method: "greedy", "time-based"
    or "optimal". fallback: why a lesser method answered. demand: what `start` was found for.
    waits_for: what the start waits for, where somebody asked.
    """

    state: JobState
    method: str
    estimate: int | None
    slots: dict[int, int] = field(default_factory=dict)
    memory: dict[int, float] = field(default_factory=dict)
    with_memory: bool = False
    start: Start | None = None
    fallback: str = ""
    alternative: Alternative | None = None
    demand: Demand | None = None
    lent: dict[int, int] = field(default_factory=dict)
    waits_for: str = ""
    kept: dict[int, int] | None = None

    @property
    def needed_only(self) -> bool:
        """Whether it keeps of its place no more than what does not come free by its start."""
        return self.kept is not None

    @property
    def allocation(self) -> Allocation:
        """The future allocation, {} where only an estimate exists."""
        return {} if self.start is None else self.start.allocation

    @property
    def reserved(self) -> Allocation:
        """Slots by host that count as reserved: held, or lent to a job that backfills."""
        if not self.lent:
            return self.slots
        return {
            host: self.slots.get(host, 0) + self.lent.get(host, 0)
            for host in dict.fromkeys((*self.slots, *self.lent))
        }

    def enter(
        self,
        held: HeldBack,
        beside: Residual,
        *,
        totals_only: bool = False,
        limits_only: bool = False,
        reserved: bool = False,
    ) -> None:
        """Add what is held to `held`.

        totals_only: only to limits that count over hosts. limits_only: not the slots themselves.
        reserved: all slots that are reserved, not only those that are kept from others.
        """
        alternative = self.alternative
        if alternative is None:
            return
        table, size = beside.table, beside.hosts
        if not totals_only:
            for use in alternative.host_uses:
                if use.index == SLOTS:
                    kept = self.slots if reserved or self.kept is None else self.kept
                    held.add_hosts(use.index, {} if limits_only else kept, size)
                elif counts_slots(use):
                    held.add_hosts(use.index, self.slots, size)
                elif table.host_resources[use.index].name == "mem":
                    held.add_hosts(use.index, self.memory, size)
        for use in alternative.pool_uses:
            if counts_slots(use):
                mask = table.pools[use.index].mask
                total = sum(n for h, n in self.reserved.items() if mask[h])
                held.add_pool(use.index, float(total))

    def lend_what_is_gone(self, left: IntArray) -> None:
        """Count as lent what jobs that backfilled in this cycle have taken of the slots kept.

        left: free slots by host; what this reservation keeps is taken from them.
        """
        still: Allocation = {}
        for host, count in (self.slots if self.kept is None else self.kept).items():
            part = min(count, int(left[host]))
            if part > 0:
                still[host] = part
                left[host] -= part
            if part < count:
                self.lent[host] = self.lent.get(host, 0) + count - part
        if self.kept is None:
            self.slots = still
        else:
            self.kept = still

    def reserve_what_is_left(self, left: IntArray) -> None:
        """Of slots that are reserved but not kept only those stay so that nobody has taken.

        left: free slots by host that nobody keeps; what is reserved is taken from them.
        """
        if self.kept is None:
            return
        found: Allocation = {}
        for host, count in self.slots.items():
            kept = self.kept.get(host, 0)
            part = max(0, min(count - kept, int(left[host])))
            left[host] -= part
            if kept + part:
                found[host] = kept + part
        self.slots = found


# --- what a future allocation holds ---------------------------------------------------------------


def hold_future(
    state: JobState,
    demand: Demand,
    start: Start,
    beside: Availability,
    now: int,
    *,
    unreserved: Availability,
    spare: FloatArray,
    method: str,
    memory: bool,
) -> Held:
    """A reservation of what is free now of its future allocation (TBR-07).

    beside: what others do not keep; unreserved: what others have not reserved. spare: slots of each
    host that come free by its start, [H]; changed. These are not kept from others, but where memory
    is held with the slots (MEM-07). Nothing is held while anything but slots (and memory, if
    `memory`) is short (MEM-08).
    """
    held = Held(state, method, start.time, with_memory=memory, start=start, demand=demand)
    alternative = demand.terms[0].alternatives[start.alternative]
    with_memory = memory and takes_memory(alternative, beside.table)
    if not with_memory:
        held.kept = {}
    if only_slots_and_memory_short(demand, beside, now, memory_may=memory):
        held.alternative = alternative
        if with_memory:
            held.slots = free_part(demand, start, beside, now)
            held.memory = memory_to_hold(demand, held.slots, beside, now, start.alternative)
        else:
            held.slots = free_part(demand, start, unreserved, now)
            held.kept = free_part(demand, start, beside, now, spare)
    return held


def takes_only_slots(demand: Demand, start: Start) -> bool:
    """Whether a job takes nothing but job slots, without any limit."""
    return all(
        len(term.alternatives[start.alternative].host_uses) == 1
        and not term.alternatives[start.alternative].pool_uses
        for term in demand.terms
    )


def times_on(use: Use, slots: int, *, first: bool) -> int:
    """How often a use counts on a host with so many slots of the job; first: its first host."""
    if use.per is Per.JOB:
        return int(first)
    return slots if use.per is Per.SLOT else 1


def memory_to_hold(
    demand: Demand, slots: Mapping[int, int], beside: Availability, now: int, number: int = 0
) -> dict[int, float]:
    """Free memory, up to what the job will need, on hosts where it holds a slot (MEM-01, MEM-02).

    Duration and decay have no effect while the job waits (MEM-03).
    """
    alternative = demand.terms[0].alternatives[number]
    found: dict[int, float] = {}
    for use in alternative.host_uses:
        if beside.table.host_resources[use.index].name != "mem":
            continue
        free = beside.free(use.index, now)
        for place, (host, count) in enumerate(slots.items()):
            times = times_on(use, count, first=place == 0)
            amount = min(float(free[host]), use.reservation.initial * times)
            if amount > 0:
                found[host] = amount
    return found


def only_slots_and_memory_short(
    demand: Demand, beside: Availability, now: int, *, memory_may: bool
) -> bool:
    """Whether nothing but slots (and memory, if it may) keeps the job from starting (MEM-08).

    Anything else - a licence, scratch space - that is short now means: pend without a reservation.
    """
    for term in demand.terms:
        if all(
            _short(alternative, term.candidates, beside, now, memory_may)
            for alternative in term.alternatives
        ):
            return False
    return True


def _short(
    alternative: Alternative, candidates: IntArray, beside: Availability, now: int, memory_may: bool
) -> bool:
    ignored = {"slots", "mem"} if memory_may else {"slots"}
    for use in alternative.host_uses:
        if use.reservation.resource in ignored:
            continue
        if not (beside.free(use.index, now)[candidates] + SLACK >= use.reservation.initial).any():
            return True
    for use in alternative.pool_uses:
        if use.reservation.resource in ignored:
            continue
        if beside.free_in_pool(use.index, now) + SLACK < use.reservation.initial:
            return True
    return False


# --- what backfill has borrowed -------------------------------------------------------------------


class Loans:
    """Slots that running jobs have borrowed of reservations, by host, until they end."""

    def __init__(self) -> None:
        self._on: dict[int, list[list[int]]] = {}

    @property
    def any(self) -> bool:
        """Whether anything is lent."""
        return bool(self._on)

    @classmethod
    def of(cls, borrowers: Iterable[JobState], now: int) -> Loans:
        """What these running jobs have borrowed."""
        loans = cls()
        for state in borrowers:
            end = state.expected_end(now)
            if end is not None:
                for host, slots in state.borrowed.items():
                    loans._on.setdefault(host, []).append([end, slots])
        return loans

    def settle(self, held: Held) -> None:
        """Count what is lent of a reservation's place as reserved, and hold so much less.

        Only what is back by its estimate counts; each loan counts for one reservation.
        """
        if not self._on or held.start is None or held.alternative is None:
            return
        place = held.allocation
        if self._on.keys().isdisjoint(place):
            return
        assert held.estimate is not None
        for host in [host for host in place if host in self._on]:
            count = place[host]
            for loan in self._on[host]:
                end, left = loan
                part = min(left, count - held.lent.get(host, 0))
                if end <= held.estimate and part > 0:
                    loan[1] -= part
                    held.lent[host] = held.lent.get(host, 0) + part
            if host in held.lent:
                for slots in (held.slots, held.kept or {}):
                    rest = min(slots.get(host, 0), count - held.lent[host])
                    slots[host] = rest
                    if not rest:
                        del slots[host]

    def take(self, hosts: Iterable[int], most: int) -> Allocation:
        """Up to `most` slots that are lent on these hosts, in their order; counted from now on."""
        taken: Allocation = {}
        for host in hosts:
            for loan in self._on.get(host, ()):
                part = min(loan[1], most)
                if part > 0:
                    loan[1] -= part
                    most -= part
                    taken[host] = taken.get(host, 0) + part
        return taken


def outlasted(reservations: Sequence[Held]) -> bool:
    """Whether a job without BACKFILL is begun before, and outlasted, by one of lower priority.

    reservations: with their places, in the order of priority. Such a job starts only where the
    slots of its place would stay free for good. The one behind it leaves it its place, but no more.
    """
    behind: dict[int, list[tuple[int, int]]] = {}
    for held in reversed(reservations):
        if held.start is None or held.demand is None:
            continue
        begin, finish = held.start.time, held.start.finish(held.demand)
        end = FOREVER if finish is None else finish
        for host in () if held.demand.queue.backfill else held.allocation:
            spans = np.array(behind.get(host, ()), dtype=np.int64).reshape(-1, 2)
            if ((spans[:, 0] < begin) & (spans[:, 1] > end)).any():
                return True
        for host in held.allocation:
            behind.setdefault(host, []).append((begin, end))
    return False
