"""The room of one term of a job over one window, from what is free at the instants that count."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from .arrays import BoolArray, FloatArray, IntArray
from .demand import Availability, Demand, GroupCap, Room, TermDemand
from .resources import SLOTS, Pool
from .uses import Alternative, Per, Use

#: Amounts are compared with this slack.
SLACK = 1e-6
#: A cap that does not bind, small enough to be summed over all hosts.
UNBOUND = 1 << 30


def find_room(
    availability: Availability,
    demand: Demand,
    term: TermDemand,
    alternative: Alternative,
    points: Sequence[int],
) -> Room:
    """What one term of a job finds over a window.

    points: the start of the window, then every instant inside it at which less may be free.
    """
    hosts, table = availability.hosts, availability.table
    caps: FloatArray | None = None
    first: BoolArray | None = None
    for use in alternative.host_uses:
        for held, free in met(availability, use, points):
            found = _host_cap(use, held, free, table.host_resources[use.index].capacity)
            if use.per is Per.JOB:
                first = found > 0 if first is None else first & (found > 0)
            else:
                caps = found if caps is None else np.minimum(caps, found, out=caps)
    if caps is None:
        caps = np.full(hosts, float(UNBOUND))
    whole = np.minimum(np.maximum(caps, 0, out=caps), UNBOUND, out=caps).astype(np.int64)
    if len(term.candidates) != hosts:
        every, whole = whole, np.zeros(hosts, dtype=np.int64)
        whole[term.candidates] = every[term.candidates]
    if alternative.hosts is not None:
        whole[~alternative.hosts] = 0
    closed = None if demand.calendar is None else demand.calendar.closed_hosts(points[0])
    if closed is not None:
        whole[closed] = 0
    accepted = availability.just_accepted(demand, points[0])
    if accepted is not None:
        whole[accepted] = 0
    for floor in demand.floors:
        whole[availability.free(floor.index, points[0]) + SLACK < floor.least] = 0
    groups: list[GroupCap] = []
    for use in alternative.pool_uses:
        times = _pool_times(availability, use, points)
        _pool_cap(use, table.pools[use.index], times, whole, groups)
    exclusive = term.unit is not None and term.unit.excl
    idle = _idle(availability, points) if exclusive else None
    return Room(whole, tuple(groups), idle, first=first)


def held_for_life(use: Use) -> float | None:
    """The amount that a use holds as long as the job runs, None if it changes."""
    phases = use.reservation.phases
    constant = len(phases) == 1 and phases[0].end is None and not phases[0].start
    return phases[0].amount if constant else None


def met(
    availability: Availability, use: Use, points: Sequence[int]
) -> Iterator[tuple[float, FloatArray]]:
    """What a use holds over a window and the least that is free meanwhile, [H]."""
    constant = held_for_life(use)
    if constant is not None:
        if constant > 0:
            yield constant, availability.least_free(use.index, points)
        return
    for held, stretch in stretches(use, points):
        yield held, availability.least_free(use.index, stretch)


def stretches(use: Use, points: Sequence[int]) -> Iterator[tuple[float, list[int]]]:
    """What a use holds, and the points of the window that it holds it over."""
    pairs = [(use.reservation.planned_at(point - points[0]), point) for point in points]
    for held, same in itertools.groupby(pairs, key=lambda pair: pair[0]):
        if held > 0:
            yield held, [point for _, point in same]


def _host_cap(use: Use, held: float, free: FloatArray, capacity: FloatArray) -> FloatArray:
    """Slots that a use allows on each host, [H]."""
    free = free + SLACK
    if use.per is Per.SLOT:
        if held != 1.0:
            free /= held
        return np.floor(free, out=free)
    if use.per is Per.WHOLE:
        return np.where(free >= capacity, capacity, 0.0)
    return np.where(free >= held, float(UNBOUND), 0.0)


def _pool_times(availability: Availability, use: Use, points: Sequence[int]) -> float:
    """How often a pool can give over a window what one count of a use takes."""
    constant = held_for_life(use)
    if constant is not None:
        if constant <= 0:
            return UNBOUND
        return (availability.least_free_in_pool(use.index, points) + SLACK) // constant
    times = float(UNBOUND)
    for held, stretch in stretches(use, points):
        free = availability.least_free_in_pool(use.index, stretch)
        times = min(times, (free + SLACK) // held)
    return times


def _pool_cap(use: Use, pool: Pool, times: float, caps: IntArray, groups: list[GroupCap]) -> None:
    """Shrink `caps` or append to `groups` what a pool leaves."""
    if times >= UNBOUND:
        return
    left = max(0, int(times))
    if left == 0:
        caps[pool.mask] = 0
    elif use.per is Per.SLOT:
        groups.append(GroupCap(pool.mask, slots=left, reason=pool.reason))
    elif use.per is Per.HOST:
        groups.append(GroupCap(pool.mask, hosts=left, reason=pool.reason))


def _idle(availability: Availability, points: Sequence[int]) -> BoolArray:
    """Hosts on which no other job holds a slot at any of `points`, [H]."""
    capacity = availability.table.host_resources[SLOTS].capacity
    return np.asarray(availability.least_free(SLOTS, points) >= capacity)
