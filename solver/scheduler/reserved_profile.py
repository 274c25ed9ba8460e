"""The profile that a job of a cycle sees given the reservations of other jobs, updated with each
reservation.

A reservation lends what it holds to jobs that end by its start (TBR-18), so each job sees others
of them. Slots need no entries: who ends before the start needs none of them kept, who does not
meets the place itself, and who may borrow nothing finds what stays free (:class:`ReservationView`).
What limits count of a reservation, and slots held with memory, are entered as if the whole place
were held, and given back to those it is lent to. Only where limits or other resources decide what a
reservation holds is it computed from instant to instant.

Amounts that constant reservations take from pools, computed for all of them together. Such a
reservation has at every instant the free part of its allocation: no limit and no other resource
reduces it. So one computation of the free slots at an instant serves any number of reservations.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ..availability.demand import Demand
from ..availability.profile import (
    SLACK,
    FixedProfiles,
    FullWindows,
    Profile,
    ReservationView,
    block_advance_reservations,
)
from ..availability.resources import (
    SLOTS,
    Alternative,
    BoolArray,
    FloatArray,
    IntArray,
    Per,
    ResourceTable,
)
from ..availability.usage import FOREVER, RowList
from ..placement.earliest import Start, allocate_start, earliest_start
from ..placement.holding import (
    ReservationRows,
    counts_slots,
    full_allocation,
    must_be_free,
    with_slots,
)
from ..rules.eligibility import Eligibility
from .cycle_reservations import (
    CycleReservations,
    JobReservation,
    estimate_of,
    hosts_and_pools_used,
    release_allocation,
    takes_only_slots,
    uses_on_host,
)
from .job_state import JobState
from .reservation_sequence import (
    MAX_EXPLAINED_INSTANTS,
    ReservationSequence,
    breakpoints,
    subtract_reservations,
)
from .world import World

#: Slots of an allocation by host, and the end of the reservation (seconds).
Place = tuple[Mapping[int, int], int]


def pool_reservation_rows(
    places: Sequence[Place],
    mask: BoolArray,
    base: Profile,
    now: int,
    *,
    since: int,
    before: int,
) -> RowList:
    """Return the rows that count reserved slots, not whole allocations, in a pool over [since,
    before).

    mask: the hosts of the pool, [H]. base: profile of running and planned jobs.
    """
    times = base.candidate_times(now)
    edges = [breakpoints(times, until, since=since, before=before) for _, until in places]
    rows = RowList()
    inside = _PoolSlots([slots for slots, _ in places], mask)
    at = {
        time: inside.free_at(base, time)
        for time in {time for steps in edges for time in steps[:-1]}
    }
    for number, ((_, until), steps) in enumerate(zip(places, edges, strict=True)):
        rows.extend((0,), now, until, (-inside.whole[number],))
        if len(steps) < 2:
            continue
        begin, held = steps[0], at[steps[0]][number]
        for edge in steps[1:-1]:
            if at[edge][number] != held:
                rows.extend((0,), begin, edge, (held,))
                begin, held = edge, at[edge][number]
        rows.extend((0,), begin, steps[-1], (held,))
    return rows


class _PoolSlots:
    """Slots of allocations on the hosts of a pool."""

    def __init__(self, places: Iterable[Mapping[int, int]], mask: BoolArray) -> None:
        each = [[(h, count) for h, count in slots.items() if mask[h]] for slots in places]
        pairs = list(itertools.chain.from_iterable(each))
        self._host = np.array([host for host, _ in pairs], dtype=np.int64)
        self._count = np.array([count for _, count in pairs], dtype=float)
        self._owner = np.repeat(np.arange(len(each)), [len(part) for part in each])
        self._size = len(each)
        #: Slots of each allocation in the pool.
        self.whole: list[float] = self._sums(self._count)

    def free_at(self, base: Profile, time: int) -> list[float]:
        """Return how many of these slots of each allocation are free at an instant."""
        free = np.floor(np.maximum(base.free(SLOTS, time)[self._host], 0.0))
        return self._sums(np.minimum(self._count, free))

    def _sums(self, amounts: FloatArray) -> list[float]:
        sums = np.bincount(self._owner, amounts, self._size)
        return [float(amount) for amount in sums.tolist()]


@dataclass(slots=True, eq=False)
class FixedReservation:
    """A reservation that protects its allocation until its start, independent of limits."""

    held: JobReservation
    alternative: Alternative | None
    slots: dict[int, int]
    memory: dict[int, float]
    until: int
    #: Limits count the whole amount, not only its reserved part.
    exact: bool
    #: Amounts of pools that must stay free until the start, by pool: its own, and what reservations
    #: before it count in limits.
    pools: dict[int, float] = field(default_factory=dict)
    #: Hosts that have enough of an amount until the start, and further candidates if a later
    #: commitment takes it.
    witnesses: list[Witness] = field(default_factory=list)


@dataclass(slots=True)
class Witness:
    """A host with `least` of a host resource free at every instant."""

    host: int
    index: int
    least: float
    #: Candidate hosts that may replace the witness.
    alternates: IntArray


class ReservedProfile:
    """The profile of a cycle with its reservations subtracted."""

    def __init__(self, base: Profile, reservations: Iterable[JobReservation], now: int) -> None:
        """Initialise the view.

        base: profile of running and planned jobs and future allocations, kept current.
        """
        self.plain = base
        #: Profiles without the allocations whose reserved amounts depend on more than the free
        #: amounts, until these start.
        self.fixed = FixedProfiles(base)
        #: :attr:`fixed` without the allocations behind them either; None until needed.
        self._unlimited: FixedProfiles | None = None
        self.now = now
        self._all = base.copy()
        self._all.full_windows = None if base.full_windows is None else base.full_windows.extended()
        #: Allocations known to be too full for jobs that may not backfill.
        self._forever = None if base.full_windows is None else base.full_windows.extended()
        self._backfilled = Profile(base.table, base.now)
        #: Fixed reservations that the two profiles before do not have yet, each with its sign.
        self._missing: list[tuple[FixedReservation, int]] = []
        self._steady: dict[int, FixedReservation] = {}
        self._limited: list[JobReservation] = []
        self._sequence = ReservationSequence()
        #: Slots of the allocations of all reservations, by limit over hosts.
        self._counted: dict[int, float] = {}
        #: Maximum need of a fixed reservation and those before it, by pool.
        self._needed: dict[int, float] = {}
        self._until = now
        #: Numbers of reservations by their witness hosts.
        self._watched: dict[int, set[int]] = {}
        for reservation in reservations:
            self.add_reservation(reservation)

    @property
    def limit_dependent(self) -> list[JobReservation]:
        """Return the reservations whose amounts depend on limits or on other resources."""
        return [reservation for reservation in self._limited if reservation.start is not None]

    def add_reservation(self, reservation: JobReservation) -> None:
        """Add a reservation whose allocation is already in `plain`."""
        self._sequence.add(reservation)
        self._unlimited = None
        steady = fixed_reservation(reservation, self.plain, self.now, before=self._counted)
        for pool, amount in counted_slots(reservation, self.plain.table).items():
            self._counted[pool] = self._counted.get(pool, 0.0) + amount
        if steady is None or not reservation.is_partly_protected:
            release_allocation(self.fixed, reservation)
        if steady is None:
            self._limited.append(reservation)
            return
        self._steady[reservation.state.number] = steady
        self._until = max(self._until, min(steady.until, FOREVER))
        for pool, amount in steady.pools.items():
            self._needed[pool] = max(self._needed.get(pool, 0.0), amount)
        for witness in steady.witnesses:
            self._watched.setdefault(witness.host, set()).add(reservation.state.number)
        self._missing.append((steady, 1))

    def add_planned(self, demand: Demand, start: Start) -> None:
        """Update the profile after a planned start was added to `plain`."""
        allocate_start(self._all, demand, start)
        for fixed in (self.fixed, self._unlimited):
            for profile in () if fixed is None else fixed.changed():
                allocate_start(profile, demand, start)
        self._sequence.planned(demand, start)
        if not self._steady:
            return
        hosts, pools = hosts_and_pools_used(demand, start)
        watching = {
            number for host in self._watched.keys() & hosts for number in self._watched[host]
        }
        for number in watching & self._steady.keys():
            if not self._has_witnesses(self._steady[number], hosts):
                self._make_limit_dependent(number)
        for pool in pools:
            needed = self._needed.get(pool)
            if needed is not None and needed > self._least(pool, self._until):
                self._make_pool_limit_dependent(pool)

    def _make_limit_dependent(self, number: int) -> None:
        """Mark a reservation as one that may reserve less than its allocation from now on."""
        steady = self._steady.pop(number)
        self._unlimited = None
        self._limited.append(steady.held)
        self._missing.append((steady, -1))
        if steady.held.is_partly_protected:
            release_allocation(self.fixed, steady.held)
        for full_windows in (self._all.full_windows, self._forever):
            if full_windows is not None:
                full_windows.clear()

    def _make_pool_limit_dependent(self, pool: int) -> None:
        """Make reservations limit-dependent if they need more of a pool than is free before their
        starts.
        """
        least: dict[int, float] = {}
        needed = 0.0
        for number, steady in list(self._steady.items()):
            amount = steady.pools.get(pool)
            if amount is None:
                continue
            if steady.until not in least:
                least[steady.until] = self._least(pool, steady.until)
            if amount > least[steady.until]:
                self._make_limit_dependent(number)
            else:
                needed = max(needed, amount)
        self._needed[pool] = needed

    def _least(self, pool: int, until: int) -> float:
        return self.plain.min_free_in_pool(pool, _instants(self.plain, self.now, until))

    def _has_witnesses(self, steady: FixedReservation, hosts: set[int]) -> bool:
        for witness in steady.witnesses:
            if witness.host in hosts:
                found = _witness(
                    self.plain,
                    witness.index,
                    witness.least,
                    witness.alternates,
                    self.now,
                    steady.until,
                )
                if found is None:
                    return False
                witness.host = found
                self._watched.setdefault(found, set()).add(steady.held.state.number)
        return True

    def _complete(self) -> None:
        """Subtract the missing fixed reservations: many a guard is only asked which are fixed."""
        rows = ReservationRows(self.plain.table)
        for steady, sign in self._missing:
            slots = {host: sign * count for host, count in steady.slots.items()}
            memory = {host: sign * amount for host, amount in steady.memory.items()}
            placed = steady.held.is_partly_protected
            rows.add(
                *(steady.alternative, slots, memory, self.now, steady.until), limits_only=placed
            )
        for profile in (self._all, self._backfilled) if self._missing else ():
            rows.subtract_from(profile)
        self._missing.clear()

    def earliest(
        self, demand: Demand, *, since: int, until: int, hint: int | None = None
    ) -> Start | None:
        """Return the earliest start from `since` on, given the reservations that start before
        `until`.

        hint: as of `earliest_start`.
        """
        if not self._limited or demand.duration is None:
            return self._earliest(demand, since, until, FOREVER, hint)
        before = since + demand.duration
        while True:
            # Beyond `before` more is free than there will be, so no start is too late.
            found = self._earliest(demand, since, until, before, hint)
            if found is None or found.time + demand.duration <= before:
                return found
            before = since + 2 * max(before - since, found.time + demand.duration - since)

    def _earliest(
        self, demand: Demand, since: int, until: int, before: int, hint: int | None
    ) -> Start | None:
        """Return the earliest start if what limits decide of reservations counts until `before`."""
        profile = self._conservative_profile(since, until, before)
        found = earliest_start(profile, demand, finishes_only=True, not_before=since, hint=hint)
        if found is not None and found.time == since:
            return found
        pools = self._inexact_pools(demand, profile, since, FOREVER)
        if not pools:
            return found
        # Reservations take the full amount of other pools and nothing of these pools.
        freer = earliest_start(
            profile, _without(demand, pools), finishes_only=True, not_before=since
        )
        if freer is None or (found is not None and freer.time == found.time):
            return found
        exact = self._with_exact_pools(profile, pools, since, until, FOREVER)
        return earliest_start(exact, demand, finishes_only=True, not_before=freer.time)

    def profile_for(self, demand: Demand, *, since: int, before: int = FOREVER) -> Profile:
        """Return the profile that explains why the job waits, given all reservations.

        since, before: interval of validity (seconds).
        """
        profile = self._conservative_profile(
            since, FOREVER + 1, before, max_instants=MAX_EXPLAINED_INSTANTS
        )
        pools = self._inexact_pools(demand, profile, since, before)
        if not pools:
            return profile
        return self._with_exact_pools(profile, pools, since, FOREVER + 1, before)

    def _conservative_profile(
        self, since: int, until: int, before: int, *, max_instants: int | None = None
    ) -> Profile:
        """Return a profile in which pools count at the upper bound of the reserved amounts.

        until: beyond FOREVER for a job that may not backfill. max_instants: as of
        `subtract_reservations`.
        """
        self._complete()
        profile = self._all
        if until <= self._until:
            backfilled = self._backfilled.in_use(until - 1)
            profile = ReservationView(self._all, self.plain, until=until, lent=backfilled)
            if self._all.full_windows is not None:
                profile.full_windows = self._all.full_windows.up_to(until)
        limited = [
            reservation for reservation in self._limited if since < estimate_of(reservation) < until
        ]
        following = []
        if until > FOREVER and self._limited:
            following = [item for item in self._following() if since < estimate_of(item)]
        if limited:
            self._all.precompute()
            profile = profile.copy()
            subtract_reservations(
                *(profile, [*limited, *following], self.plain, self.now),
                sequence=self._sequence,
                since=since,
                before=before,
                until=until,
                max_instants=max_instants,
                counted=following,
            )
        if until <= FOREVER:
            return profile
        guarded = ReservationView(profile, self.plain, fixed=self._fixed_of(following))
        guarded.full_windows = None if limited else self._forever
        return guarded

    def _following(self) -> list[JobReservation]:
        """Return the fixed reservations behind a limit-dependent one.

        What they protect of their allocations depends on what that one protects. In limits they
        count whole all the same.
        """
        behind = {item.state.number for item in self._sequence.behind(self.limit_dependent)}
        return [
            steady.held
            for number, steady in self._steady.items()
            if number in behind and steady.held.is_partly_protected
        ]

    def _fixed_of(self, following: Sequence[JobReservation]) -> FixedProfiles:
        """Return the profiles without the allocations whose protected slots are subtracted."""
        if not following:
            return self.fixed
        if self._unlimited is None:
            self._unlimited = self.fixed.copy_for(self.plain)
            for reservation in self._following():
                release_allocation(self._unlimited, reservation)
        return self._unlimited

    def _inexact_pools(self, demand: Demand, profile: Profile, since: int, before: int) -> set[int]:
        """Return the pools of the job that may suffice if the really reserved amounts are
        counted.
        """
        slots = sum(max(term.slots, term.max_slots) for term in demand.terms)
        enough: dict[int, float] = {}
        for term in demand.terms:
            for use in (use for item in term.alternatives for use in item.pool_uses):
                amount = use.reservation.initial * slots
                enough[use.index] = max(amount, enough.get(use.index, 0.0))
        points = profile.checkpoints(since, None if before >= FOREVER else before - since)
        return {
            pool
            for pool, amount in enough.items()
            if self._inexact(pool) and profile.min_free_in_pool(pool, points) < amount
        }

    def _with_exact_pools(
        self, profile: Profile, pools: set[int], since: int, until: int, before: int
    ) -> Profile:
        """Return the profile with the exact reserved amounts of these pools."""
        profile = profile.copy()
        inexact = [
            steady
            for steady in self._steady.values()
            if since < steady.until < until and not steady.exact
        ]
        for pool in sorted(pools):
            places = [
                (steady.slots, steady.until)
                for steady in inexact
                if pool in _pools(steady.alternative)
            ]
            if places:
                mask, now = self.plain.table.pools[pool].mask, self.now
                rows = pool_reservation_rows(
                    places, mask, self.plain, now, since=since, before=before
                )
                profile.hold_rows(pool, rows, pool=True)
        return profile

    def _inexact(self, pool: int) -> bool:
        """Whether some reservation may take less of a pool than its whole allocation."""
        return any(
            not steady.exact and pool in _pools(steady.alternative)
            for steady in self._steady.values()
        )


def _without(demand: Demand, pools: set[int]) -> Demand:
    """Return a demand that needs nothing of some pools."""

    def less(alternative: Alternative) -> Alternative:
        uses = tuple(use for use in alternative.pool_uses if use.index not in pools)
        return replace(alternative, pool_uses=uses)

    terms = tuple(
        replace(term, alternatives=tuple(map(less, term.alternatives))) for term in demand.terms
    )
    return replace(demand, terms=terms)


def _instants(base: Profile, now: int, until: int) -> list[int]:
    return base.checkpoints(now, None if until >= FOREVER else until - now)


def _pools(alternative: Alternative | None) -> list[int]:
    """Return the pools that count reserved slots."""
    uses = () if alternative is None else alternative.pool_uses
    return [use.index for use in uses if counts_slots(use)]


def counted_slots(reservation: JobReservation, table: ResourceTable) -> dict[int, float]:
    """Return the slots of the whole allocation that each limit over hosts counts, by pool."""
    if reservation.place is None:
        return dict(reservation.in_pools(table))
    demand, start = reservation.place
    alternative = demand.terms[0].alternatives[start.alternative]
    total = float(sum(full_allocation(demand, start, table).values()))
    return dict.fromkeys(_pools(alternative), total)


def fixed_reservation(
    reservation: JobReservation, base: Profile, now: int, *, before: Mapping[int, float]
) -> FixedReservation | None:
    """Return a reservation that depends on its allocation alone, or None if other facts may change
    it.

    before: slots that the limits count of the reservations before it, by pool.
    """
    until = estimate_of(reservation)
    if reservation.place is None:
        return FixedReservation(
            reservation,
            reservation.alternative,
            reservation.slots,
            reservation.memory,
            until,
            exact=True,
        )
    demand, start = reservation.place
    alternative = demand.terms[0].alternatives[start.alternative]
    place = full_allocation(demand, start, base.table)
    if takes_only_slots(demand, start):
        return FixedReservation(
            reservation, alternative, place, reservation.memory, until, exact=True
        )
    memory: dict[int, float] | None = {}
    if reservation.includes_memory:
        memory = _whole_memory(alternative, place, base)
    found = FixedReservation(reservation, alternative, place, memory or {}, until, exact=False)
    if memory is None or not _limits_leave_it(found, demand, start, base, now, before):
        return None
    return found if _never_short(found, demand, base, now) else None


def _whole_memory(
    alternative: Alternative, place: dict[int, int], base: Profile
) -> dict[int, float] | None:
    """Return the memory of the whole allocation, None if it depends on the choice of the first
    host.
    """
    found: dict[int, float] = {}
    for use in alternative.host_uses:
        if base.table.host_resources[use.index].name == "mem":
            if use.per is Per.JOB or found:
                return None
            for host, count in place.items():
                found[host] = use.reservation.initial * uses_on_host(use, count, first=False)
    return found


def _limits_leave_it(
    found: FixedReservation,
    demand: Demand,
    start: Start,
    base: Profile,
    now: int,
    before: Mapping[int, float],
) -> bool:
    """Whether no limit on slots lets the job reserve less than its allocation."""
    total = float(sum(found.slots.values()))
    for term in demand.terms:
        alternative = term.alternatives[start.alternative]
        if any(use.index != SLOTS and counts_slots(use) for use in alternative.host_uses):
            return False
        if (term.unit is not None and term.unit.excl) or alternative.host_uses[0].per is Per.WHOLE:
            continue
        found.pools.update((pool, total + before.get(pool, 0.0)) for pool in _pools(alternative))
    return all(
        base.min_free_in_pool(pool, _instants(base, now, found.until)) >= amount
        for pool, amount in found.pools.items()
    )


def _never_short(found: FixedReservation, demand: Demand, base: Profile, now: int) -> bool:
    """Whether the job's other resources are free at every instant until its start (MEM-08)."""
    return all(
        any(
            _has_enough(found, alternative, term.candidates, base, now)
            for alternative in term.alternatives
        )
        for term in demand.terms
    )


def _has_enough(
    found: FixedReservation,
    alternative: Alternative,
    candidates: IntArray,
    base: Profile,
    now: int,
) -> bool:
    witnesses: list[Witness] = []
    pools: dict[int, float] = {}
    for use in alternative.host_uses:
        if must_be_free(use, memory_may=found.held.includes_memory):
            least = use.reservation.initial
            there = with_slots(candidates, base.table)
            host = _witness(base, use.index, least, there, now, found.until)
            if host is None:
                return False
            witnesses.append(Witness(host, use.index, least, there))
    for use in alternative.pool_uses:
        if must_be_free(use, memory_may=found.held.includes_memory):
            least = use.reservation.initial
            if base.min_free_in_pool(use.index, _instants(base, now, found.until)) < least:
                return False
            pools[use.index] = least
    found.witnesses += witnesses
    for pool, least in pools.items():
        found.pools[pool] = max(found.pools.get(pool, 0.0), least)
    return True


def _witness(
    base: Profile, index: int, least: float, candidates: IntArray, now: int, until: int
) -> int | None:
    """Return a host with this amount free at every instant, None if there is none."""
    if not candidates.size:
        return None
    free = base.min_free(index, _instants(base, now, until))[candidates] + SLACK
    best = int(free.argmax())
    return int(candidates[best]) if free[best] >= least else None


class PlannedProfiles:
    """Profiles of the running and planned jobs of a cycle, built on demand.

    A profile is kept up to date once built; a change that no addition can express drops it. Calling
    :meth:`invalidate` after every change gives equal results.
    """

    def __init__(
        self,
        world: World,
        eligibility: Eligibility,
        reservations: CycleReservations,
        *,
        records_full: bool,
    ) -> None:
        """Initialise without any profile.

        records_full: whether windows without enough free slots are recorded, for later jobs.
        """
        self._world, self._eligibility = world, eligibility
        self._reservations = reservations
        self._records_full = records_full
        self._profile: Profile | None = None
        self._guard: ReservedProfile | None = None
        #: Slots that stay free until an instant, [H], for jobs without a place of their own.
        self._least_before: dict[int, FloatArray] = {}
        #: Earliest instant (seconds) at which allocations are searched.
        self.since = world.now

    @property
    def is_built(self) -> bool:
        """Whether the profiles were requested since they were last dropped."""
        return self._profile is not None

    def invalidate(self) -> None:
        """Drop the profiles after a change other than a start."""
        self._profile = None
        self.invalidate_reserved()

    def invalidate_reserved(self) -> None:
        """Discard the reserved profile after the removal of a reservation without an allocation."""
        self._guard = None
        self._least_before.clear()

    def add(self, demand: Demand, start: Start) -> None:
        """Add a planned start."""
        self._least_before.clear()
        if self._profile is not None:
            allocate_start(self._profile, demand, start)
        if self._guard is not None:
            self._guard.add_planned(demand, start)

    def add_reservation(self, reservation: JobReservation) -> None:
        """Add a reservation whose allocation was added before."""
        self._least_before.clear()
        if self._guard is not None:
            self._guard.add_reservation(reservation)

    def profile(self, without: JobState | None = None) -> Profile:
        """Return the profile of the running jobs and the future allocations of this cycle."""
        if without is not None and self._reservations.get(without) is not None:
            return self._planned(self._reservations.others(without))
        if self._profile is None:
            self._profile = self._planned(self._reservations.items)
        return self._profile

    def _planned(self, reservations: Iterable[JobReservation]) -> Profile:
        profile = self._world.running_profile.copy()
        profile.full_windows = FullWindows() if self._records_full else None
        profile.accepted = self._eligibility.acceptances()
        if profile.table.unreserved != SLOTS:  # There are advance reservations with jobs inside.
            block_advance_reservations(self._world.instance, profile)
        for reservation in reservations:
            if reservation.place is not None:
                allocate_start(profile, *reservation.place)
        return profile

    def min_free_slots(self, without: JobState) -> FloatArray:
        """Return the slots of each host that stay free from now on, given all planned
        starts, [H].
        """
        future = self.profile(without)
        return future.min_free(SLOTS, future.checkpoints(future.now, None))

    def _shared_guard(self) -> ReservedProfile:
        if self._guard is None:
            self._guard = ReservedProfile(self.profile(), self._reservations.items, self._world.now)
        return self._guard

    def reserved_profile(self, state: JobState) -> ReservedProfile:
        """Return the profile for a job, given the reservations of other jobs and running and
        planned jobs.
        """
        if self._reservations.get(state) is not None:
            others = self._reservations.others(state)
            return ReservedProfile(self.profile(state), others, self._world.now)
        return self._shared_guard()

    def limited_by_more(self) -> frozenset[int]:
        """Return numbers of jobs whose allocations :meth:`slots_needed_before` omits because more
        facts decide about them.
        """
        return frozenset(
            reservation.state.number for reservation in self._shared_guard().limit_dependent
        )

    def slots_needed_before(self, until: int, own: JobState | None) -> FloatArray:
        """Return the free slots that starts of other jobs need before `until`, [H].

        own: None if it is any job without a reservation.
        """
        now = self._world.now
        future = self._shared_guard().fixed.at(now)
        free = self._world.free_now.host(SLOTS)
        reservation = None if own is None else self._reservations.get(own)
        if (
            reservation is None
            or not reservation.is_partly_protected
            or reservation.place is None
            or reservation.place[1].time >= until
        ):
            if until not in self._least_before:
                points = future.checkpoints(now, until - now)
                self._least_before[until] = future.min_free(SLOTS, points)
            return np.maximum(free - self._least_before[until], 0.0)
        # The future allocation of the job lasts beyond `until`, so no other job counts on it.
        begin = reservation.place[1].time
        least = future.min_free(SLOTS, future.checkpoints(begin, until - begin)).copy()
        for host, count in full_allocation(*reservation.place, future.table).items():
            least[host] += count
        if begin > now:
            before = future.min_free(SLOTS, future.checkpoints(now, begin - now))
            least = np.minimum(least, before)
        return np.maximum(free - least, 0.0)
