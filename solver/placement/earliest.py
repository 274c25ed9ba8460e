"""The earliest start of one job in a profile: exact, without a solver.

Instants at which hosts are known to be too crowded are left out, and what a job of several terms
counts once, such as limits on jobs, is checked for all terms together.

Earliest start of one job in a profile: exact, without a solver. Availability under running jobs
alone never falls, so the earliest start is a binary search over the instants at which resources are
released, with one exact placement check each. With planned jobs in the profile this holds between
two planned starts, as long as the window covers equal later ones: these stretches are searched one
after another (`docs/dev/semantics.md`, TBR-02).
"""

from __future__ import annotations

import bisect
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..availability.demand import Availability, Demand, TermCapacity, TermDemand, parts_of
from ..availability.profile import SLACK, Profile
from ..availability.resources import SLOTS, Allocation, Alternative, Per, Pool, Use, combined, flat
from ..availability.usage import constant_amount
from . import fits_at_all, place_least
from .supply import busy_units

#: Use of one term and its allocation.
Part = tuple[Alternative, Allocation]


def held_by_terms(terms: Iterable[Part], pools: Sequence[Pool]) -> Iterator[Part]:
    """Yield the uses of a job, term after term. pools: of the resource table."""
    before: set[int] = set()
    for alternative, allocation in terms:
        yield from counted_once(alternative, allocation, before, pools)
        before |= set(allocation)


def counted_once(
    alternative: Alternative,
    allocation: Allocation,
    before: Collection[int],
    pools: Sequence[Pool],
) -> Iterator[Part]:
    """Yield the uses of one term, without those that an earlier term has counted for the job.

    before: the hosts of the earlier terms. pools: of the resource table.
    """
    if not before:
        yield alternative, allocation
        return
    once, rest = _split(alternative, before, pools)
    yield rest, allocation
    new = {host: slots for host, slots in allocation.items() if host not in before}
    if once and new:
        yield replace(alternative, host_uses=once, pool_uses=()), new


def capacity_beside(
    availability: Availability,
    demand: Demand,
    term: TermDemand,
    alternative: Alternative,
    time: int,
    before: Mapping[int, int],
) -> TermCapacity:
    """Return the capacity of a term of a job whose earlier terms have the slots `before`, by host.

    `availability` includes these terms already.
    """
    if not before:
        return availability.capacity(demand, term, alternative, time)
    once, rest = _split(alternative, before, availability.table.pools)
    capacity = availability.capacity(demand, term, rest, time)
    if not once:
        return capacity
    own = np.zeros(availability.hosts, dtype=np.int64)
    own[list(before)] = list(before.values())
    here = capacity.caps
    for use in once:
        # The job has the host to itself, so the rest of the host is its own.
        if use.per is Per.WHOLE:
            whole = availability.table.host_resources[use.index].capacity
            here = np.minimum(here, (whole - own).astype(np.int64))
    alone = replace(alternative, host_uses=once, pool_uses=())
    elsewhere = availability.capacity(demand, term, alone, time).caps
    return replace(capacity, caps=np.where(own > 0, here, np.minimum(capacity.caps, elsewhere)))


def counts_once(demand: Demand) -> bool:
    """Return whether several terms of the job count in a limit that counts the job once."""
    return len(demand.terms) > 1 and any(
        use.once
        for term in demand.terms
        for alternative in term.alternatives
        for use in (*alternative.host_uses, *alternative.pool_uses)
    )


def _split(
    alternative: Alternative, before: Collection[int], pools: Sequence[Pool]
) -> tuple[tuple[Use, ...], Alternative]:
    """Return host uses that count the job once, and the alternative without uses already
    counted.
    """
    once = tuple(use for use in alternative.host_uses if use.once)
    rest = replace(
        alternative,
        host_uses=tuple(use for use in alternative.host_uses if not use.once),
        pool_uses=tuple(
            use
            for use in alternative.pool_uses
            if not (use.once and pools[use.index].mask[list(before)].any())
        ),
    )
    return once, rest


def feasible_times(profile: Profile, demand: Demand, times: list[int]) -> list[int]:
    """Return the instants, rising, without those with windows known to have too few slots."""
    if profile.full_windows is None or demand.may_be_killed or not _by_slots(demand):
        return times
    at = np.array(times, dtype=np.int64)
    slots = max(term.slots for term in demand.terms)
    refused = profile.full_windows.infeasible_mask(at, demand.duration, slots)
    return at[~refused].tolist() if refused.any() else times


def record_full_window(profile: Profile, demand: Demand, time: int) -> None:
    """Record a window without enough slots for a job."""
    if profile.full_windows is None or not _by_slots(demand):
        return
    points = profile.checkpoints(time, demand.duration_from(time))
    free = np.floor(profile.min_free(SLOTS, points) + SLACK)
    slots = int(np.maximum(free, 0.0).sum())
    if slots < max(term.slots for term in demand.terms):
        profile.full_windows.add(time, points[-1], slots)


def least_slots(demand: Demand) -> int:
    """Return the slots of hosts that must be free for any start of the job; 0 if none."""
    return max(term.slots for term in demand.terms) if _by_slots(demand) else 0


def _by_slots(demand: Demand) -> bool:
    """Return whether the job uses a host slot for each of its own throughout its run."""
    return all(_takes_slots(other) for term in demand.terms for other in term.alternatives)


def _takes_slots(alternative: Alternative) -> bool:
    for use in alternative.host_uses:
        if use.index == SLOTS and use.per in (Per.SLOT, Per.WHOLE):
            held = constant_amount(use.reservation)
            return held is not None and held >= 1
    return False


#: Number of instants that are examined together at first; most starts are among these.
FEW_TIMES = 64
#: Slots of a job without terms.
EMPTY: Mapping[int, int] = {}


@dataclass(frozen=True, slots=True)
class Start:
    """A start: its time, one allocation for each term, and the rusage alternative."""

    #: Time in seconds.
    time: int
    #: Allocation of each term.
    terms: tuple[Allocation, ...]
    alternative: int = 0

    @property
    def allocation(self) -> Allocation:
        """Return slots by host index for all terms, in allocation order."""
        return combined(self.terms)

    def finish(self, demand: Demand) -> int | None:
        """Return when the job releases its resources (limit and margin), None if unknown."""
        duration = demand.duration_from(self.time)
        return None if duration is None else self.time + duration


def start_at(availability: Availability, demand: Demand, time: int) -> Start | None:
    """Return a placement of the whole job over its window from `time`, or None.

    rusage alternatives are tried in order (RSV-07); the terms of a compound requirement are placed
    in order, each given the earlier ones (REQ-14).
    """
    if not availability.open_for(demand, time):
        return None
    if len(demand.terms) > 1:
        return _start_compound(availability, demand, time)
    term = demand.terms[0]
    for number, alternative in enumerate(term.alternatives):
        if not alternative.missing:
            allocation = _placed(availability, demand, term, alternative, time)
            if allocation is not None:
                return Start(time, (allocation,), number)
    return None


def find_same_start(profile: Profile, demand: Demand, start: Start) -> Start | None:
    """Return a placement of a one-term job at an equal time and alternative; None if infeasible."""
    (term,) = demand.terms
    alternative = term.alternatives[start.alternative]
    allocation = _placed(profile, demand, term, alternative, start.time)
    return None if allocation is None else Start(start.time, (allocation,), start.alternative)


def _placed(
    availability: Availability,
    demand: Demand,
    term: TermDemand,
    alternative: Alternative,
    time: int,
    before: Mapping[int, int] = EMPTY,
) -> Allocation | None:
    """Return an allocation of one term, or None. before: slots of the earlier terms, by host.

    cu[pref] applies to a start now, by the slots that are free then; a future allocation uses the
    configured order of the units (TBR-13).
    """
    capacity = capacity_beside(availability, demand, term, alternative, time, before)
    if term.unit is not None and term.unit.pref != "config":
        if time > availability.now:
            term = replace(term, unit=replace(term.unit, pref="config"))
        elif capacity.free_now is None:
            free = np.maximum(availability.free(SLOTS, time), 0).astype(np.int64)
            capacity = replace(capacity, free_now=free)
    return place_least(term, capacity)


def can_start(availability: Availability, demand: Demand, time: int) -> bool:
    """Return whether :func:`start_at` would find a placement, with less work."""
    if len(demand.terms) > 1:
        return start_at(availability, demand, time) is not None
    if not availability.open_for(demand, time):
        return False
    term = demand.terms[0]
    return any(
        fits_at_all(term, availability.capacity(demand, term, alternative, time))
        for alternative in term.alternatives
        if not alternative.missing
    )


def _start_compound(availability: Availability, demand: Demand, time: int) -> Start | None:
    # Only host partitions give several terms alternatives: all are on hosts of one (FSH-08).
    numbers = range(len(demand.terms[0].alternatives))
    for number in numbers:
        placed = _in_order(availability, demand, time, number)
        if placed is not None:
            return Start(time, placed, number)
    for number in numbers if demand.joint_placer is not None else ():
        one = demand if len(numbers) == 1 else _with_alternative(demand, number)
        assert demand.joint_placer is not None
        placed = demand.joint_placer(availability, one, time)
        if placed is not None:
            return Start(time, placed, number)
    return None


def _with_alternative(demand: Demand, number: int) -> Demand:
    terms = (replace(term, alternatives=(term.alternatives[number],)) for term in demand.terms)
    return replace(demand, terms=tuple(terms))


def _in_order(
    availability: Availability, demand: Demand, time: int, number: int
) -> tuple[Allocation, ...] | None:
    """Return the first fit of each term given the terms before it."""
    scratch = availability.copy()
    placed: list[Allocation] = []
    end = Start(time, ()).finish(demand)
    for term in demand.terms:
        alternative = term.alternatives[number]
        if alternative.missing:
            return None
        before = Start(time, tuple(placed)).allocation
        allocation = _placed(scratch, demand, term, alternative, time, before)
        if allocation is None:
            return None
        for uses, hosts in counted_once(alternative, allocation, before, scratch.table.pools):
            scratch.allocate(parts_of(scratch.table, uses, hosts), time, end)
        placed.append(allocation)
    return tuple(placed)


def still_free(availability: Availability, demand: Demand, start: Start) -> bool:
    """Return whether exactly the slots of `start` are free over its window, by the rules."""
    scratch = availability.copy() if len(start.terms) > 1 else availability
    end = start.finish(demand)
    before: Allocation = {}
    for term, allocation in zip(demand.terms, start.terms, strict=True):
        alternative = term.alternatives[start.alternative]
        capacity = capacity_beside(scratch, demand, term, alternative, start.time, before)
        if not _within(term, capacity, allocation):
            return False
        for uses, hosts in counted_once(alternative, allocation, before, scratch.table.pools):
            if scratch is not availability:
                scratch.allocate(parts_of(scratch.table, uses, hosts), start.time, end)
        for host, slots in allocation.items():
            before[host] = before.get(host, 0) + slots
    return True


def _within(term: TermDemand, capacity: TermCapacity, allocation: Allocation) -> bool:
    """Return whether a capacity includes these slots."""
    if term.unit is not None and term.unit.excl and capacity.idle is not None:
        busy = busy_units(term.unit, capacity.idle)
        if any(busy[term.unit.unit_of[host]] for host in allocation):
            return False
    return (
        all(capacity.caps[host] >= slots for host, slots in allocation.items())
        and (capacity.first is None or bool(capacity.first[next(iter(allocation))]))
        and all(
            (
                group.slots is None
                or sum(n for h, n in allocation.items() if group.mask[h]) <= group.slots
            )
            and (group.hosts is None or sum(bool(group.mask[h]) for h in allocation) <= group.hosts)
            for group in capacity.groups
        )
    )


def allocate_start(profile: Profile, demand: Demand, start: Start) -> None:
    """Enter a planned start into the profile."""
    before: set[int] = set()
    for term, allocation in zip(demand.terms, start.terms, strict=True):
        blocked: set[int] = set()
        if term.unit is not None and term.unit.excl:
            blocked = {*term.unit.members(allocation)}
        alternative = term.alternatives[start.alternative]
        for uses, hosts in counted_once(alternative, allocation, before, profile.table.pools):
            parts = parts_of(profile.table, uses, hosts, blocked)
            profile.allocate(parts, start.time, start.finish(demand))
            blocked = set()
        before |= set(allocation)
    profile.accept(demand, start.time, before)


def earliest_start(
    profile: Profile,
    demand: Demand,
    *,
    finishes_only: bool = False,
    not_before: int | None = None,
    not_after: int | None = None,
    hint: int | None = None,
) -> Start | None:
    """Return the earliest start of one job, or None if it never fits.

    finishes_only: consider only now and the finish times of jobs, as in TBR-02. not_before: a known
    lower bound (seconds); earlier instants are skipped. not_after: return None if it fits only
    after this instant (seconds). hint: a probable start (seconds), which only shortens the search.
    """
    if demand.impossible:
        return None
    if demand.latest is not None:
        not_after = demand.latest if not_after is None else min(not_after, demand.latest)
    earliest = max(demand.earliest, not_before or demand.earliest)
    minds = profile.has_accept_interval(demand)
    if minds and len(demand.terms) == 1:
        # JOB_ACCEPT_INTERVAL only delays: no start with it precedes the earliest one without it.
        plain = replace(demand, interval=None)
        first = earliest_start(
            profile, plain, finishes_only=finishes_only, not_before=earliest, not_after=not_after
        )
        if first is None:
            return None
        earliest = first.time
    times = profile.candidate_times(earliest, finishes_only=finishes_only)
    times = profile.with_openings(demand, times)
    if not_after is not None:
        times = times[: bisect.bisect_right(times, not_after)]
    if not times:
        return None
    if demand.calendar is not None or minds:
        alone = [(position, position + 1) for position in range(len(times))]
        return _in_stretches(profile, demand, times, alone, hint)
    if profile.only_grows:
        return _first_start(profile, demand, times, hint)
    one_by_one = not is_constant(demand)
    begin, size = 0, FEW_TIMES
    while begin < len(times):
        part = feasible_times(profile, demand, times[begin : begin + size])
        if part:
            stretches = profile.stretches(part, demand.duration, one_by_one=one_by_one)
            start = _in_stretches(profile, demand, part, stretches, hint)
            if start is not None:
                return start
        begin, size = begin + size, size * 4
    return None


def _in_stretches(
    profile: Profile,
    demand: Demand,
    times: list[int],
    stretches: list[tuple[int, int]],
    hint: int | None,
) -> Start | None:
    """Return the earliest start in ranges of instants; in each range, availability only grows."""
    for begin, end in _worth_a_look(profile, demand, times, stretches):
        start = _first_start(profile, demand, times[begin:end], hint)
        if start is not None:
            return start
    return None


def _first_start(
    profile: Profile, demand: Demand, times: list[int], hint: int | None
) -> Start | None:
    """Return the start at the first feasible instant; availability must only grow over the
    instants.
    """
    first = _first_fit(profile, demand, times, hint)
    return None if first is None else start_at(profile, demand, times[first])


def _worth_a_look(
    profile: Profile, demand: Demand, times: list[int], stretches: list[tuple[int, int]]
) -> Iterator[tuple[int, int]]:
    """Yield the ranges without runs of them that are refuted together.

    From the last of their instants until the first of their windows ends, every start needs the
    job's amounts at its end. Runs grow as long as they are refuted.
    """
    least = _least_of(demand)
    at, run = 0, 1
    while at < len(stretches):
        until = min(at + run, len(stretches))
        if run == 1 or least is None or least.duration is None:
            yield stretches[at]
            at, run = at + 1, 2
            continue
        last = times[stretches[until - 1][1] - 1]
        shared = times[stretches[at][0]] + least.duration - last
        if shared > 0 and not _fits(profile, replace(least, duration=shared), last):
            at, run = until, 2 * run
        else:
            run //= 2


def _fits(profile: Profile, demand: Demand, time: int) -> bool:
    """Return whether a job can start at `time`; a window without enough slots is recorded."""
    if can_start(profile, demand, time):
        return True
    record_full_window(profile, demand, time)
    return False


def _least_of(demand: Demand) -> Demand | None:
    """Return the minimum needs of a one-term job over its window; None for other jobs."""
    if len(demand.terms) > 1 or demand.calendar is not None or demand.may_be_killed:
        return None
    if is_constant(demand):
        return replace(demand, floors=(), interval=None)
    end = max(0, (demand.duration or 1) - 1)
    term = demand.terms[0]
    alternatives = tuple(
        replace(
            alternative,
            host_uses=tuple(_at_the_end(use, end) for use in alternative.host_uses),
            pool_uses=tuple(_at_the_end(use, end) for use in alternative.pool_uses),
        )
        for alternative in term.alternatives
    )
    terms = (replace(term, alternatives=alternatives),)
    return replace(demand, floors=(), interval=None, terms=terms)


def _at_the_end(use: Use, elapsed: int) -> Use:
    """Return a use with a constant amount: the one at this many seconds after the start."""
    if not use.reservation.drops():
        return use
    amount = use.reservation.planned_at(elapsed)
    return replace(use, reservation=flat(use.reservation.resource, amount))


def is_constant(demand: Demand) -> bool:
    """Return whether the job uses equal amounts at its end and at its start."""
    return not any(
        use.reservation.drops()
        for term in demand.terms
        for alternative in term.alternatives
        for use in (*alternative.host_uses, *alternative.pool_uses)
    )


def _first_fit(profile: Profile, demand: Demand, times: list[int], hint: int | None) -> int | None:
    """Return the position of the first feasible instant, by bisection.

    Terms placed one after another may fit and no longer fit when more is free: an earlier term
    then takes what a later one needs. So these are tried instant by instant.
    """

    def fits(position: int) -> bool:
        return _fits(profile, demand, times[position])

    if len(demand.terms) > 1 and demand.joint_placer is None:
        return next((position for position in range(len(times)) if fits(position)), None)
    # Invariant: nothing fits at `low` or before, the job fits at `high`.
    low, high = -1, len(times)
    if hint is not None and times[0] <= hint <= times[-1]:
        likely = bisect.bisect_left(times, hint)
        if likely and fits(likely - 1):
            high = likely - 1
        elif fits(likely):
            return likely
        else:
            low = likely
    if high == len(times):
        high -= 1
        if low == high or not fits(high):
            return None
    if low < 0 < high and fits(0):
        return 0
    low = max(low, 0)
    while high - low > 1:
        middle = (low + high) // 2
        if fits(middle):
            high = middle
        else:
            low = middle
    return high
