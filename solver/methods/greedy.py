"""Greedy slot reservation, LSF's default: literal, with its known errors (GRD-01 … GRD-05).

It looks at what is free now and at the minimum of slots, not at topology, memory or limits of the
future; the estimate it gives is "no sooner than".
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..availability.arrays import BoolArray, FloatArray, IntArray
from ..availability.demand import Demand, TermDemand
from ..availability.free_now import Residual
from ..availability.resources import SLOTS
from ..availability.room import SLACK
from ..availability.running_profile import RunningProfile
from ..placement.holding import slot_room
from ..world.cycle_state import CycleState
from ..world.held import (
    Held,
    Loans,
    memory_to_hold,
    only_slots_and_memory_short,
    times_on,
)
from ..world.job_state import JobState
from .reserving import earlier_of_its_own


class Greedy:
    """LSF's default: hold what is free now, and count what running jobs will free."""

    name = "greedy"
    summary = "hold free slots as they come, blind to topology; the estimate is a lower bound"
    looks_ahead = False

    def before(self, cycle: CycleState) -> None:
        """Nothing is planned ahead."""

    def reserve(self, cycle: CycleState, state: JobState, closed: BoolArray | None) -> Held | None:
        """A greedy reservation (GRD-01), None where there is nothing to hold."""
        kind = (cycle.shape(state).number, cycle.span(state))
        lent = cycle.loans.any and bool(state.held)
        if not lent and kind in cycle.nothing_to_hold:
            return None
        held = self._reserve(cycle, state, closed, lent)
        if held is None:
            # Less and less is free while jobs have their turns; partitions leave each its own.
            if not lent and not cycle.instance.partitions:
                cycle.nothing_to_hold.add(kind)
            return None
        return earlier_of_its_own(cycle, state, held.estimate) or held

    def _reserve(
        self, cycle: CycleState, state: JobState, closed: BoolArray | None, lent: bool
    ) -> Held | None:
        """What is free for the job now; lent: whether it may have lent some of what it held."""
        beside, now = cycle.beside(closed, state), cycle.world.now
        if not lent and not (beside.free(SLOTS, now) > 0).any():
            return None
        memory = cycle.queues[state.job.queue].holds_memory
        shape = cycle.shape(state)
        demand = replace(shape.reserving, job=state.job, earliest=cycle.not_before(state))
        if not only_slots_and_memory_short(demand, beside, now, memory_may=memory):
            return None
        return reserve_greedily(
            state,
            demand,
            beside,
            cycle.world.running_profile,
            now,
            memory=memory,
            by_start_time=cycle.instance.params.reserve_by_starttime,
            loans=cycle.loans,
        )


def reserve_greedily(
    state: JobState,
    demand: Demand,
    beside: Residual,
    running: RunningProfile,
    now: int,
    *,
    memory: bool,
    by_start_time: bool = False,
    loans: Loans | None = None,
) -> Held | None:
    """Slots that are free now, up to the minimum, and memory where `memory` (GRD-01 … GRD-03).

    by_start_time: of several candidate groups the one with the earliest estimate (TBR-17), else
    the one with most free slots (GRD-02). loans: slots that backfill has borrowed of what the job
    held before. None if there is nothing to hold.
    """
    lent = loans.take(state.held, demand.slots) if loans else {}
    wanted = demand.slots - sum(lent.values())
    free, most = _slot_room(demand, beside, now)
    demand = _sticky(demand, state.held, beside.hosts)
    choices: list[tuple[float, int, Held]] = []
    large = _large_enough(demand, beside)
    for rank, group in enumerate(_groups(demand, np.where(large, free, 0), by_start_time)):
        group = group & large
        slots = _at_most(free_slots_in_order(demand, group, free, wanted), most)
        if demand.exclusive:
            slots = {host: int(free[host]) for host in slots}
        if not slots and not lent:
            continue
        held = Held(state, "greedy", None, slots, alternative=demand.terms[0].alternatives[0])
        held.lent = lent
        if memory:
            held.memory = memory_to_hold(demand, slots, beside, now)
        held.estimate = _estimate(held, demand, group, beside, running, now, memory)
        unknown = held.estimate is None
        key = float("inf") if unknown else float(held.estimate or 0)
        choices.append((key if by_start_time else -float(free[group].sum()), rank, held))
    return min(choices, key=lambda choice: choice[:2])[2] if choices else None


def _slot_room(demand: Demand, beside: Residual, now: int) -> tuple[FloatArray, int]:
    """Slots that the job may hold on each host, [H], and in all, as limits leave them (TBR-10)."""
    free, most = slot_room(demand.terms[0].alternatives[0], beside, now)
    if beside.closed is not None:
        free = np.where(beside.closed, 0, free)
    tiles = [term.ptile for term in demand.terms]
    if all(tile is not None for tile in tiles) and not demand.exclusive:
        # More than a block of a host would be of no use to the job.
        free = np.minimum(free, np.max([tile for tile in tiles if tile is not None], axis=0))
    return free, min(most, demand.slots)


def _groups(demand: Demand, free: FloatArray, all_of_them: bool) -> list[BoolArray]:
    """Candidate groups; of single hosts only the one with most free slots, unless all count."""
    term = demand.terms[0]
    if not term.one_host or all_of_them:
        return candidate_groups(demand, len(free))
    mask = np.zeros(len(free), dtype=bool)
    if term.candidates.size:
        mask[term.candidates[int(np.argmax(free[term.candidates]))]] = True
    return [mask]


def _sticky(demand: Demand, before: tuple[int, ...], hosts: int) -> Demand:
    """Hosts held in the last cycle first, so that a reservation grows where it is (MEM-01)."""
    if not before:
        return demand
    own = np.array(before, dtype=np.int64)
    terms = []
    for term in demand.terms:
        member, first = np.zeros((2, hosts), dtype=bool)
        member[term.candidates] = True
        mine = own[member[own]]
        first[mine] = True
        order = np.concatenate([mine, term.candidates[~first[term.candidates]]])
        terms.append(replace(term, candidates=order))
    return replace(demand, terms=tuple(terms))


def _at_most(slots: dict[int, int], most: int) -> dict[int, int]:
    kept: dict[int, int] = {}
    for host, count in slots.items():
        part = min(count, most)
        if part > 0:
            kept[host] = part
            most -= part
    return kept


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
    running: RunningProfile,
    now: int,
    memory: bool,
) -> int | None:
    """When the slots of running jobs add up to the minimum, and held hosts have the memory."""
    missing = demand.slots - sum(held.slots.values()) - sum(held.lent.values())
    slots_at: int | None = now
    if missing > 0:
        finish, host, count = running.slots_by_finish()
        inside = group[host]
        slots_at = _when(finish[inside], count[inside], float(missing))
    memory_at: int | None = now
    if memory and held.alternative is not None:
        for use in held.alternative.host_uses:
            if beside.table.host_resources[use.index].name != "mem" or memory_at is None:
                continue
            finish, host, amount = running.amounts_by_finish(use.index)
            first = next(iter(held.slots), -1)
            for place, slots in held.slots.items():
                times = times_on(use, slots, first=place == first)
                short = use.reservation.initial * times - held.memory.get(place, 0.0)
                if short > SLACK:
                    at = _when(finish[host == place], amount[host == place], short - SLACK)
                    memory_at = None if at is None or memory_at is None else max(memory_at, at)
    if slots_at is None or memory_at is None:
        return None
    return max(slots_at, memory_at, now, demand.earliest)


def _when(finish: IntArray, amounts: FloatArray, needed: float) -> int | None:
    """The finish at which the amounts add up to what is needed."""
    position = int(np.searchsorted(np.cumsum(amounts), needed))
    return int(finish[position]) if position < len(finish) else None


def candidate_groups(demand: Demand, hosts: int) -> list[BoolArray]:
    """Sets of hosts of which a job may use only one, as masks [H]; all candidates where it may mix.

    Groups are exclusive where the job may not mix them: single hosts under span[hosts=1], the
    classes of same[] (GRD-02).
    """
    member = np.zeros(hosts, dtype=bool)
    for term in demand.terms:
        member[term.candidates] = True
    return _exclusive_groups(demand.terms[0], member) or [member]


def _exclusive_groups(term: TermDemand, member: BoolArray) -> list[BoolArray]:
    labels = [np.arange(len(member), dtype=np.int64)] if term.one_host else list(term.same)
    groups: list[BoolArray] = []
    for array in labels:
        inside = array[term.candidates]
        _, first = np.unique(inside, return_index=True)
        groups += [member & (array == inside[at]) for at in sorted(first) if inside[at] >= 0]
    return groups


def free_slots_in_order(
    demand: Demand, group: BoolArray, free: FloatArray, wanted: int
) -> dict[int, int]:
    """As many free slots as there are, up to those wanted, in candidate order (GRD-01)."""
    order = np.concatenate([term.candidates for term in demand.terms])
    if len(demand.terms) > 1:
        order = order[np.sort(np.unique(order, return_index=True)[1])]
    # In a full cluster few hosts have any.
    hosts = order[(group & (free >= 1))[order]]
    there = free[hosts].astype(np.int64)
    taken = np.clip(wanted - (np.cumsum(there) - there), 0, there)
    used = taken.nonzero()[0]
    return dict(zip(hosts[used].tolist(), taken[used].tolist(), strict=True))
