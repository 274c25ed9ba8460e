"""Reservations of one cycle: what pending jobs hold now, and when they are expected to start.

Every cycle drops all reservations and makes them anew in the order of the jobs (RSV, GRD-06): a
reservation is won again and again, never owned.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from ..availability.arrays import Allocation, BoolArray, FloatArray, IntArray
from ..availability.demand import Demand
from ..availability.free_now import HeldBack, Residual
from ..availability.resources import SLOTS
from ..availability.room import SLACK
from ..availability.running_profile import RunningProfile
from ..availability.uses import Alternative, Per
from ..placement.earliest import Start
from ..world.job_state import JobState
from .greedy import candidate_groups, free_slots_in_order


@dataclass(slots=True)
class Held:
    """The reservation of one pending job in one cycle.

    slots, memory: held now, by host index. estimate: expected start, None if unknown. start: the
    future allocation where the method gives one. method: "greedy", "time-based" or "optimal".
    fallback: why a lesser method answered. demand: what `start` was found for.
    """

    state: JobState
    method: str
    estimate: int | None
    slots: dict[int, int] = field(default_factory=dict)
    memory: dict[int, float] = field(default_factory=dict)
    start: Start | None = None
    fallback: str = ""
    alternative: Alternative | None = None
    demand: Demand | None = None

    @property
    def allocation(self) -> Allocation:
        """The future allocation, {} where only an estimate exists."""
        return {} if self.start is None else self.start.allocation

    def enter(self, held: HeldBack, beside: Residual, *, totals_only: bool = False) -> None:
        """Add what is held to `held`; totals_only: only to the limits that count over hosts."""
        alternative = self.alternative
        if alternative is None:
            return
        table, size = beside.table, beside.hosts
        if not totals_only:
            for use in alternative.host_uses:
                if use.per in (Per.SLOT, Per.WHOLE) and use.reservation.resource == "slots":
                    for host, slots in self.slots.items():
                        held.add_host(use.index, host, float(slots), size)
                elif table.host_resources[use.index].name == "mem":
                    for host, amount in self.memory.items():
                        held.add_host(use.index, host, amount, size)
        for use in alternative.pool_uses:
            if use.per is Per.SLOT and use.reservation.resource == "slots":
                mask = table.pools[use.index].mask
                held.add_pool(use.index, float(sum(n for h, n in self.slots.items() if mask[h])))


def reserve_greedily(
    state: JobState,
    demand: Demand,
    beside: Residual,
    live: RunningProfile,
    now: int,
    *,
    memory: bool,
    by_start_time: bool = False,
) -> Held | None:
    """Slots that are free now, up to the minimum, and memory where `memory` (GRD-01 … GRD-03).

    by_start_time: of several candidate groups the one with the earliest estimate (TBR-17), else
    the one with most free slots (GRD-02). None if there is nothing to hold.
    """
    free, most = _slot_room(demand, beside, now)
    demand = _sticky(demand, state.held)
    choices: list[tuple[float, int, Held]] = []
    large = _large_enough(demand, beside)
    for rank, group in enumerate(_groups(demand, np.where(large, free, 0), by_start_time)):
        group = group & large
        slots = _at_most(free_slots_in_order(demand, group, free), most)
        if demand.exclusive:
            slots = {host: int(free[host]) for host in slots}
        if not slots:
            continue
        held = Held(state, "greedy", None, slots, alternative=demand.terms[0].alternatives[0])
        if memory:
            held.memory = memory_to_hold(demand, slots, beside, now)
        held.estimate = _estimate(held, demand, group, beside, live, now, memory)
        unknown = held.estimate is None
        key = float("inf") if unknown else float(held.estimate or 0)
        choices.append((key if by_start_time else -float(free[group].sum()), rank, held))
    return min(choices, key=lambda choice: choice[:2])[2] if choices else None


def _groups(demand: Demand, free: FloatArray, all_of_them: bool) -> list[BoolArray]:
    """Candidate groups; of single hosts only the one with most free slots, unless all count."""
    term = demand.terms[0]
    if not term.one_host or all_of_them:
        return candidate_groups(demand, len(free))
    mask = np.zeros(len(free), dtype=bool)
    if term.candidates.size:
        mask[term.candidates[int(np.argmax(free[term.candidates]))]] = True
    return [mask]


def _slot_room(demand: Demand, beside: Residual, now: int) -> tuple[FloatArray, int]:
    """Slots that the job may hold on each host, [H], and in all, as limits leave them (TBR-10)."""
    alternative = demand.terms[0].alternatives[0]
    free = np.full(beside.hosts, np.inf)
    most = demand.slots
    for use in alternative.host_uses:
        if use.reservation.resource == "slots" and use.per in (Per.SLOT, Per.WHOLE):
            free = np.minimum(free, beside.free(use.index, now))
    for use in alternative.pool_uses:
        if use.reservation.resource == "slots" and use.per is Per.SLOT:
            most = min(most, int(beside.free_in_pool(use.index, now)))
    if beside.closed is not None:
        free = np.where(beside.closed, 0, free)
    tiles = [term.ptile for term in demand.terms]
    if all(tile is not None for tile in tiles) and not demand.exclusive:
        # More than a block of a host would be of no use to the job.
        free = np.minimum(free, np.max([tile for tile in tiles if tile is not None], axis=0))
    return np.floor(np.maximum(free, 0)), most


def _at_most(slots: dict[int, int], most: int) -> dict[int, int]:
    kept: dict[int, int] = {}
    for host, count in slots.items():
        part = min(count, most)
        if part > 0:
            kept[host] = part
            most -= part
    return kept


def hold_future(
    state: JobState,
    demand: Demand,
    start: Start,
    beside: Residual,
    now: int,
    *,
    method: str,
    memory: bool,
) -> Held:
    """The part of a future allocation that is free now (TBR-07)."""
    free = np.maximum(beside.free(SLOTS, now), 0)
    slots: dict[int, int] = {}
    for term, allocation in zip(demand.terms, start.terms, strict=True):
        wanted = dict(allocation)
        whole = term.alternatives[start.alternative].host_uses[0].per is Per.WHOLE
        if term.unit is not None and term.unit.excl:
            used = {int(term.unit.unit_of[host]) for host in allocation}
            members = np.flatnonzero(np.isin(term.unit.unit_of, sorted(used)))
            wanted |= {int(host): int(free[host]) for host in members}
        elif whole:
            wanted = {host: int(free[host]) for host in allocation}
        for host, count in wanted.items():
            part = min(count, int(free[host]) - slots.get(host, 0))
            if part > 0:
                slots[host] = slots.get(host, 0) + part
    alternative = demand.terms[0].alternatives[start.alternative]
    held = Held(state, method, start.time, slots, start=start, alternative=alternative)
    held.demand = demand
    if memory:
        held.memory = memory_to_hold(demand, slots, beside, now, start.alternative)
    return held


def memory_to_hold(
    demand: Demand, slots: Mapping[int, int], beside: Residual, now: int, number: int = 0
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
        for host, count in slots.items():
            times = count if use.per is Per.SLOT else 1
            amount = min(float(free[host]), use.reservation.initial * times)
            if amount > 0:
                found[host] = amount
    return found


def only_slots_and_memory_short(
    demand: Demand, beside: Residual, now: int, *, memory_may: bool
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
    alternative: Alternative, candidates: IntArray, beside: Residual, now: int, memory_may: bool
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


def _sticky(demand: Demand, before: tuple[int, ...]) -> Demand:
    """Hosts held in the last cycle first, so that a reservation grows where it is (MEM-01)."""
    if not before:
        return demand
    terms = []
    for term in demand.terms:
        own = np.array(before, dtype=np.int64)
        own = own[np.isin(own, term.candidates)]
        order = np.concatenate([own, term.candidates[~np.isin(term.candidates, own)]])
        terms.append(replace(term, candidates=order))
    return replace(demand, terms=tuple(terms))


def _large_enough(demand: Demand, beside: Residual) -> BoolArray:
    """Hosts that could give one slot's worth of everything if they were empty."""
    found = np.zeros(beside.hosts, dtype=bool)
    for term in demand.terms:
        for alternative in term.alternatives:
            fits = np.ones(beside.hosts, dtype=bool)
            for use in alternative.host_uses:
                capacity = beside.table.host_resources[use.index].capacity
                fits &= capacity + SLACK >= use.reservation.initial
            found |= fits
    return found


def _estimate(
    held: Held,
    demand: Demand,
    group: BoolArray,
    beside: Residual,
    live: RunningProfile,
    now: int,
    memory: bool,
) -> int | None:
    """When the slots of running jobs add up to the minimum, and held hosts have the memory."""
    missing = demand.slots - sum(held.slots.values())
    slots_at: int | None = now
    if missing > 0:
        finish, host, count = live.slots_by_finish()
        inside = group[host]
        slots_at = _when(finish[inside], count[inside], float(missing))
    memory_at: int | None = now
    if memory and held.alternative is not None:
        for use in held.alternative.host_uses:
            if beside.table.host_resources[use.index].name != "mem" or memory_at is None:
                continue
            finish, host, amount = live.amounts_by_finish(use.index)
            for place, slots in held.slots.items():
                times = slots if use.per is Per.SLOT else 1
                short = use.reservation.initial * times - held.memory.get(place, 0.0)
                if short > SLACK:
                    at = _when(finish[host == place], amount[host == place], short - SLACK)
                    memory_at = None if at is None or memory_at is None else max(memory_at, at)
    if slots_at is None or memory_at is None:
        return None
    return max(slots_at, memory_at, now)


def _when(finish: IntArray, amounts: FloatArray, needed: float) -> int | None:
    """The finish at which the amounts add up to what is needed."""
    position = int(np.searchsorted(np.cumsum(amounts), needed))
    return int(finish[position]) if position < len(finish) else None
