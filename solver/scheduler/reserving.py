"""Rules for reservations in a cycle: eligible jobs, amounts and durations (GRD-06, MEM-04, TBR-01,
TBR-12).

Greedy slot reservation, LSF's default, reproduced literally with its known errors (GRD-01 …
GRD-05). It examines currently free resources and the minimum number of slots, not topology, memory
or future limits; its estimate is a lower bound ("no sooner than").

Time-based reservation: job by job over the ends of running jobs (TBR-01 … TBR-19). The first N jobs
of the order get a future allocation at the earliest finish at which all of it is free. They reserve
the part that is free until then and is not released by then. A job sees the allocations and
reservations of the jobs before it; it may use these resources only in a queue with BACKFILL, and
only if it ends by their starts. For any other job they count as used without end.
"""

from __future__ import annotations

import bisect
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from ...model.plan import PlannedJob
from ..availability.demand import Demand, TermDemand, candidates_of, without_hosts
from ..availability.profile import SLACK
from ..availability.resources import SLOTS, Allocation, BoolArray, FloatArray, Use
from ..availability.running_profile import Residual, RunningProfile
from ..availability.usage import FOREVER
from ..pending_reasons import hosts_concerned, reason_and_shortage
from ..placement.earliest import Start, can_start, earliest_start, still_free
from ..placement.holding import must_be_free, slot_capacity, spare_slots
from .cycle_reservations import (
    BackfilledSlots,
    JobReservation,
    memory_to_hold,
    only_slots_and_memory_short,
    reserve_future_allocation,
    uses_on_host,
)
from .cycle_state import CycleState
from .events import GREEDY, TIME_BASED
from .job_state import JobState


def may_reserve(cycle: CycleState, state: JobState) -> bool:
    """Whether the job may make a reservation in this cycle (GRD-06, MEM-04, MEM-06)."""
    if cycle.settings.planning:
        return True
    cycles = cycle.queues[state.job.queue].reserve_cycles
    if cycles is None:
        return cycle.settings.every_queue
    plugin = "schmod_reserve" if state.job.slots == 1 else "schmod_parallel"
    modules = cycle.instance.params.modules
    if modules is not None and plugin not in modules:
        return False
    length = cycles * cycle.instance.params.mbd_sleep_time
    # After the reservation time expires, one session passes without a reservation; then it starts
    # again.
    return state.holding.can_reserve(cycle.world.now, length, max(1, cycle.settings.cycle))


def runs_out(cycle: CycleState, state: JobState) -> bool:
    """Whether :func:`may_reserve` would end or restart the reservation time of the job."""
    cycles = cycle.queues[state.job.queue].reserve_cycles
    if cycles is None:
        return False
    over = state.holding.next_change(cycles * cycle.instance.params.mbd_sleep_time)
    return over is not None and cycle.world.now >= over


def open_part(cycle: CycleState, state: JobState, closed: BoolArray | None) -> Demand:
    """Return the demand of a reservation on the hosts that are open in this cycle (TBR-16)."""
    demand = cycle.world.requests.reserving(cycle.world.shape(state), state.job, cycle.world.now)
    return without_hosts(replace(demand, earliest=cycle.earliest_eligible(state)), closed)


def earlier_of_its_own(
    cycle: CycleState, state: JobState, time: int | None
) -> JobReservation | None:
    """Return an equally early reservation of the job in another partition of this cycle."""
    reservation = cycle.reservation_table.get(state)
    if reservation is not None and (time is None or (reservation.estimate or time + 1) <= time):
        return reservation
    return None


def expiries(cycle: CycleState) -> list[int]:
    """Return when reservations of pending jobs expire or may be made again."""
    sleep = cycle.instance.params.mbd_sleep_time
    found: list[int] = []
    for number, state in list(cycle.reservation_timers.items()):
        cycles = cycle.queues[state.job.queue].reserve_cycles
        if number not in cycle.world.pending:
            del cycle.reservation_timers[number]
        elif cycles is None:
            continue  # a job keeps this reservation for as long as it waits
        elif (over := state.holding.next_change(cycles * sleep)) is not None:
            found.append(over)
    return [time for time in found if time > cycle.world.now]


def too_late(cycle: CycleState) -> list[int]:
    """Return the instant from which a job with a reservation cannot start because its run would end
    too late.

    The run would meet an advance reservation, or the end of its queue's run window (TBR-19).
    """
    ends = {queue: cycle.eligibility.run_window_end(queue) for queue in cycle.queues}
    booked = [item.start for item in cycle.instance.advance_reservations]
    if not booked and not any(ends.values()):
        return []
    kinds = {
        (reservation.state.job.queue, reservation.state.duration)
        for reservation in cycle.reservations
    }
    found = {
        until - duration + 1
        for queue, duration in kinds
        if duration is not None
        for until in (*booked, ends[queue])
        if until is not None
    }
    return sorted(time for time in found if time > cycle.world.now)


def greedy_reservation(
    cycle: CycleState, state: JobState, closed: BoolArray | None
) -> JobReservation | None:
    """Return a greedy reservation (GRD-01), or None if no resource can be reserved."""
    if state.reserved is not None:
        # The resources that the job waits for are already reserved for it, in use, or released
        # at a known second.
        found = future_allocation(cycle, state, closed)
        if found is None or found.start is None or not cycle.waits_for_estimates(state.job):
            return found
        return JobReservation(state, GREEDY, found.start.time)
    kind = (cycle.world.shape(state).number, cycle.relevant_duration(state))
    # LSF's open family recomputes a reservation in each cycle, from the slots free then.
    remembers = cycle.backfilled_slots.has_any and not cycle.instance.params.scheduler.is_lava
    backfilled = remembers and bool(state.holding.hosts)
    if not backfilled and kind in cycle.progress.unreservable_kinds:
        return None
    reservation = _reserve_free(cycle, state, closed, backfilled)
    if reservation is None:
        # Free resources only shrink in a cycle; with partitions, each partition has its own.
        if not backfilled and not cycle.instance.partitions:
            cycle.progress.unreservable_kinds.add(kind)
        return None
    return earlier_of_its_own(cycle, state, reservation.estimate) or reservation


def _reserve_free(
    cycle: CycleState, state: JobState, closed: BoolArray | None, backfilled: bool
) -> JobReservation | None:
    """Reserve the resources that are free for the job; backfilled: other jobs may use reserved
    slots.
    """
    residual, now = cycle.residual(closed, state), cycle.world.now
    if not backfilled and not (residual.free(SLOTS, now) > 0).any():
        return None
    memory = cycle.queues[state.job.queue].holds_memory
    shape = cycle.world.shape(state)
    demand = replace(shape.reserving, job=state.job, earliest=cycle.earliest_eligible(state))
    usable = without_hosts(demand, closed)
    if not only_slots_and_memory_short(usable, residual, now, memory_may=memory):
        return None
    return reserve_greedily(
        state,
        demand,
        residual,
        cycle.world.running_profile,
        now,
        memory=memory,
        by_start_time=cycle.instance.params.reserve_by_starttime,
        backfilled_slots=cycle.backfilled_slots if backfilled else None,
        lava=cycle.instance.params.scheduler.is_lava,
    )


def reserve_greedily(
    state: JobState,
    demand: Demand,
    residual: Residual,
    running: RunningProfile,
    now: int,
    *,
    memory: bool,
    by_start_time: bool = False,
    backfilled_slots: BackfilledSlots | None = None,
    lava: bool = False,
) -> JobReservation | None:
    """Reserve free slots up to the minimum, and free memory if `memory` is set (GRD-01 … GRD-03).

    by_start_time: of several candidate groups the one with the earliest estimate (TBR-17), else
    the one with most slots, free or lent by the job (GRD-02). backfilled_slots: slots that backfill
    has borrowed of what the job held before. lava: as LSF's open family has it, the job holds
    nothing where limits leave it less than it needs, nor on hosts that lack anything else for it;
    all its hosts count for its estimate, also if it may use only one, but full ones only where it
    may backfill; where too few slots come free the last of them says when. None if there is nothing
    to hold.
    """
    before = state.holding.hosts
    backfilled_before = (backfilled_slots or BackfilledSlots()).on(before, residual.hosts)
    free, most = _slot_room(demand, residual, now)
    if lava:
        if most < demand.slots:
            return None
        # Memory may be short, because it is reserved step by step too.
        must = partial(must_be_free, memory_may=memory)
        free_of = partial(residual.free, time=now)
        free = np.where(_hosts_with(demand.terms[:1], residual.hosts, free_of, must), free, 0)
    demand = _sticky(demand, before, residual.hosts)
    choices: list[tuple[float, int, JobReservation]] = []
    resources = residual.table.host_resources
    # The hosts that, when idle, have the resources for one slot.
    large = _hosts_with(demand.terms, residual.hosts, lambda index: resources[index].capacity)
    room = np.where(large, free + backfilled_before, 0)
    for rank, group in enumerate(_groups(demand, room, by_start_time)):
        reservation = _of_group(state, demand, group & large, free, most, backfilled_before)
        if not reservation.reserved:
            continue
        if memory:
            reservation.memory = memory_to_hold(demand, reservation.reserved, residual, now)
        counted = (candidates_of(demand, residual.hosts) if lava else group) & large
        if lava and not (demand.queue.backfill and state.limit is not None):
            counted &= free + backfilled_before > 0
        reservation.estimate = _estimate(
            reservation, demand, counted, residual, running, now, memory, lava=lava
        )
        unknown = reservation.estimate is None
        key = float("inf") if unknown else float(reservation.estimate or 0)
        choices.append((key if by_start_time else -float(room[group].sum()), rank, reservation))
    if not choices:
        return None
    reservation = min(choices, key=lambda choice: choice[:2])[2]
    if backfilled_slots:
        backfilled_slots.take(reservation.backfilled)
    return reservation


def _of_group(
    state: JobState,
    demand: Demand,
    group: BoolArray,
    free: FloatArray,
    most: int,
    backfilled_before: FloatArray,
) -> JobReservation:
    """Return the reservation of a job on a group of hosts: backfilled slots, then free slots.

    free, lent: slots of each host, [H]. most: slots permitted by limits in addition to the
    backfilled ones. An exclusive job reserves every slot of a host.
    """
    backfilled: Allocation = {}
    wanted = demand.slots
    for host in state.holding.hosts if backfilled_before.any() else ():
        part = int(backfilled_before[host]) if group[host] else 0
        part = part if demand.exclusive else min(part, wanted)
        if part > 0:
            backfilled[host] = part
            wanted = max(0, wanted - part)
    first = _first_host(demand, group, free, backfilled)
    if first is None:
        return JobReservation(state, GREEDY, None, {})
    slots = _at_most(free_slots_in_order(demand, group, free, wanted, first), most)
    if demand.exclusive:
        own = dict.fromkeys((*backfilled, *slots))
        slots = {host: int(free[host]) for host in own if free[host] >= 1}
    reservation = JobReservation(
        state, GREEDY, None, slots, alternative=demand.terms[0].alternatives[0]
    )
    reservation.backfilled = backfilled
    return reservation


def _slot_room(demand: Demand, residual: Residual, now: int) -> tuple[FloatArray, int]:
    """Return the slots that limits let the job reserve on each host, [H], and in total (TBR-10)."""
    free, most = slot_capacity(demand.terms[0].alternatives[0], residual, now)
    if residual.closed is not None:
        free = np.where(residual.closed, 0, free)
    tiles = [term.ptile for term in demand.terms]
    if all(tile is not None for tile in tiles) and not demand.exclusive:
        # More than one block of a host is useless to the job.
        free = np.minimum(free, np.max([tile for tile in tiles if tile is not None], axis=0))
    return free, min(most, demand.slots)


def _hosts_with(
    terms: Sequence[TermDemand],
    hosts: int,
    amount_of: Callable[[int], FloatArray],
    counts: Callable[[Use], bool] = lambda _: True,
) -> BoolArray:
    """Return the hosts with the amounts that one slot of some term needs by its counted uses, [H].

    amount_of: by index of the host resource, [H].
    """
    found = np.zeros(hosts, dtype=bool)
    for alternative in (item for term in terms for item in term.alternatives):
        fits = np.ones(hosts, dtype=bool)
        for use in filter(counts, alternative.host_uses):
            fits &= amount_of(use.index) + SLACK >= use.reservation.initial
        found |= fits
    return found


def _groups(demand: Demand, free: FloatArray, all_of_them: bool) -> list[BoolArray]:
    """Return the candidate groups; of single hosts only the host with most free slots, unless all
    count.
    """
    term = demand.terms[0]
    if not term.one_host or all_of_them:
        return candidate_groups(demand, len(free))
    mask = np.zeros(len(free), dtype=bool)
    alone = term.candidates
    if term.first_hosts is not None:
        alone = alone[term.first_hosts[alone]]
    if alone.size:
        mask[alone[int(np.argmax(free[alone]))]] = True
    return [mask]


def _sticky(demand: Demand, before: tuple[int, ...], hosts: int) -> Demand:
    """Return the hosts with those reserved in the last cycle first, so that a reservation grows
    there (MEM-01).
    """
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


def _first_host(
    demand: Demand, group: BoolArray, free: FloatArray, backfilled: Mapping[int, int]
) -> list[int] | None:
    """Return the host to reserve first, [] if any host will do, None if no first execution host has
    a slot.

    Nothing is held elsewhere then: the job could not begin there.
    """
    term = demand.terms[0]
    if term.first_hosts is None or any(term.first_hosts[host] for host in backfilled):
        return []
    there = term.candidates[(term.first_hosts & group & (free >= 1))[term.candidates]]
    return there[:1].tolist() or None


def _at_most(slots: dict[int, int], most: int) -> dict[int, int]:
    if sum(slots.values()) <= most:
        return slots
    kept: dict[int, int] = {}
    for host, count in slots.items():
        part = min(count, most)
        if part > 0:
            kept[host] = part
            most -= part
    return kept


def _estimate(
    reservation: JobReservation,
    demand: Demand,
    group: BoolArray,
    residual: Residual,
    running: RunningProfile,
    now: int,
    memory: bool,
    *,
    lava: bool,
) -> int | None:
    """Return when the slots of running jobs reach the minimum and reserved hosts have enough
    memory.

    The result is no later than the instant at which other hosts may have both, because the
    reservation moves there by then.
    """
    # Backfilled slots are released when the running jobs that backfilled them end.
    missing = demand.slots - sum(reservation.slots.values())
    slots_at: int | None = now
    if missing > 0:
        slots_at = _when(running, group, float(missing))
        if slots_at is None and lava:
            finish, host, _ = running.by_finish()
            inside = np.flatnonzero(group[host])
            slots_at = int(finish[inside[-1]]) if inside.size else None
    memory_at: int | None = now
    if memory and reservation.alternative is not None:
        for use in reservation.alternative.host_uses:
            if residual.table.host_resources[use.index].name != "mem" or memory_at is None:
                continue
            first = next(iter(reservation.reserved), -1)
            for place, slots in reservation.reserved.items():
                times = uses_on_host(use, slots, first=place == first)
                short = use.reservation.initial * times - reservation.memory.get(place, 0.0)
                if short > SLACK:
                    at = running.when_freed(use.index, place, short - SLACK, now)
                    memory_at = None if at is None or memory_at is None else max(memory_at, at)
    if slots_at is None or memory_at is None:
        return None
    found = max(slots_at, now, demand.earliest)
    return found if memory_at <= found else _soonest(demand, running, found, memory_at)


def _soonest(demand: Demand, running: RunningProfile, first: int, latest: int) -> int:
    """Return when every term fits, each alone, given running jobs and without topology, from
    `first` on and by `latest` at the latest.
    """
    found = demand.earliest if demand.latest is not None else first
    for term in demand.terms:
        blind = replace(
            term,
            max_slots=term.slots,
            ptile=None,
            block=1,
            one_host=False,
            same=(),
            unit=None,
            first_hosts=None,
        )
        alone = replace(demand, terms=(blind,), calendar=None, interval=None, floors=())
        times = range(found, latest)
        fits = partial(can_start, running, alone)
        # Most terms fit at the first instant, and each look takes a pass over all hosts.
        at = 0 if times and fits(times[0]) else bisect.bisect_left(times, True, key=fits)
        found = times[at] if at < len(times) else latest
    return max(found, first)


def _when(running: RunningProfile, group: BoolArray, needed: float) -> int | None:
    """Return the end of a running job at which the slots freed on a group of hosts reach the
    need.
    """
    finish, host, slots = running.by_finish()
    inside = np.flatnonzero(group[host])
    position = int(np.searchsorted(np.cumsum(slots[inside]), needed))
    return int(finish[inside[position]]) if position < len(inside) else None


def candidate_groups(demand: Demand, hosts: int) -> list[BoolArray]:
    """Return the sets of hosts of which a job may use only one, as masks [H]; all candidates if the
    job may mix them.

    Groups are exclusive where the job may not mix them: single hosts under span[hosts=1], the
    classes of same[] (GRD-02).
    """
    member, term = candidates_of(demand, hosts), demand.terms[0]
    labels = [np.arange(hosts, dtype=np.int64)] if term.one_host else list(term.same)
    groups: list[BoolArray] = []
    for array in labels:
        inside = array[term.candidates]
        _, first = np.unique(inside, return_index=True)
        groups += [member & (array == inside[at]) for at in sorted(first) if inside[at] >= 0]
    return groups or [member]


def free_slots_in_order(
    demand: Demand,
    group: BoolArray,
    free: FloatArray,
    wanted: int,
    first: Sequence[int] = (),
) -> dict[int, int]:
    """Return free slots up to the requested number, in candidate order (GRD-01).

    first: hosts that precede all others.
    """
    leading = np.array(first, dtype=np.int64)
    order = np.concatenate([leading, *(term.candidates for term in demand.terms)])
    if len(demand.terms) > 1 or leading.size:
        order = order[np.sort(np.unique(order, return_index=True)[1])]
    # In a full cluster, few hosts have free slots.
    hosts = order[(group & (free >= 1))[order]]
    there = free[hosts].astype(np.int64)
    taken = np.clip(wanted - (np.cumsum(there) - there), 0, there)
    used = taken.nonzero()[0]
    return dict(zip(hosts[used].tolist(), taken[used].tolist(), strict=True))


def time_based_reservation(
    cycle: CycleState, state: JobState, closed: BoolArray | None
) -> JobReservation | None:
    """Return a future allocation for one of the first N jobs, else a greedy reservation marked with
    the reason (TBR-04); with Slurm none.
    """
    fallback = ""
    if cycle.budget.stopped():
        cycle.progress.search_cut = True
        reservation = previous_place(cycle, state, closed)
        if reservation is not None:
            return reservation
        cycle.progress.unsearched.add(state.number)
    elif cycle.may_reserve_more(state):
        reservation = future_allocation(cycle, state, closed)
        if reservation is not None:
            return reservation
        # It may have a future allocation in another partition.
        found = cycle.reservation_table.get(state)
        if found is not None and found.place is not None:
            return found
        cycle.progress.without_future_allocation.add(state.number)
        fallback = "no future allocation was found for it"
    if cycle.instance.params.scheduler.plans_nodes:
        return None
    reservation = greedy_reservation(cycle, state, closed)
    if reservation is not None and reservation.method == GREEDY:
        reservation.fallback = fallback
    return reservation


def future_allocation(
    cycle: CycleState, state: JobState, closed: BoolArray | None
) -> JobReservation | None:
    """Return an allocation at the earliest feasible finish of running jobs (TBR-02), or None."""
    now = cycle.world.now
    demand = open_part(cycle, state, closed)
    if not all(term.candidates.size for term in demand.terms):
        return None
    start = cycle.progress.repetition.previous_start(len(cycle.reservations), state)
    if start is None:
        not_before = _equal_right_before(cycle, state, demand)
        start = earliest_unreserved_start(
            cycle, state, demand, not_before=not_before, hint=state.last_estimate
        )
    if start is not None and start.time <= now:
        if (there := place_to_backfill(cycle, state, closed)) is not None:
            return hold_now(cycle, state, demand, there, closed, method=TIME_BASED)
        # The start is prevented by a rule that no plan foresees: examine it again when a job ends.
        ends = cycle.planned.profile(state).candidate_times(demand.earliest, finishes_only=True)[
            1:2
        ]
        start = (
            earliest_unreserved_start(cycle, state, demand, not_before=ends[0]) if ends else None
        )
    if start is None:
        return None
    found = earlier_of_its_own(cycle, state, start.time)
    if found is not None and found.start is not None:
        return found
    reservation = hold_now(cycle, state, demand, start, closed, method=TIME_BASED)
    if cycle.settings.planning and not cycle.record.started:
        # The cycle is run again after a start, and the second result counts.
        reservation.waits_for = _reason(cycle, state, demand, start)
    return reservation


def _equal_right_before(cycle: CycleState, state: JobState, demand: Demand) -> int | None:
    """Return the start of an equal job planned immediately before, a lower bound of this start.

    Only more has been taken since, and no instant to start at has come in between. Jobs of another
    run limit may use other slots that are held (TBR-18).
    """
    last = cycle.reservations[-1] if cycle.reservations else None
    if last is None or last.place is None or cycle.instance.partitions:
        return None
    equal = last.place[0].kind == demand.kind and last.state.limit == state.limit
    alone = len(demand.terms) == 1 and demand.interval is None
    return last.place[1].time if equal and alone else None


def place_to_backfill(cycle: CycleState, state: JobState, closed: BoolArray | None) -> Start | None:
    """Return the start of a job on backfillable slots, after all dispatch attempts of the cycle
    (TBR-18).
    """
    if not cycle.queues[state.job.queue].backfill or state.limit is None:
        return None
    until = cycle.world.now + cycle.world.requests.backfill_limit(state.job, state.limit)
    # A plan's own `closed` leaves JOB_ACCEPT_INTERVAL out, which backfill does not.
    resting = cycle.eligibility.closed(state.job.queue, None)
    if resting is not None:
        closed = resting if closed is None else closed | resting
    return cycle.try_start(cycle.world.shape(state), cycle.backfill_residual(closed, state, until))


def previous_place(
    cycle: CycleState, state: JobState, closed: BoolArray | None
) -> JobReservation | None:
    """Return the allocation of the previous cycle if it is still free, which is cheaper than a
    search.
    """
    start = cycle.progress.previous_starts.get(state.number)
    if start is None or start.time <= cycle.world.now:
        return None
    demand = open_part(cycle, state, closed)
    if not still_free(cycle.planned.profile(state), demand, start):
        return None
    return hold_now(cycle, state, demand, start, closed, method=TIME_BASED)


def hold_now(
    cycle: CycleState,
    state: JobState,
    demand: Demand,
    start: Start,
    closed: BoolArray | None,
    *,
    method: str,
) -> JobReservation:
    """Return the part of a future allocation to protect now, if only slots and memory are short."""
    memory = cycle.queues[state.job.queue].holds_memory
    reservation = JobReservation(
        state, method, start.time, includes_memory=memory, place=(demand, start)
    )
    profile, free = cycle.planned.profile(state), cycle.planned.min_free_slots(state)
    return reserve_future_allocation(
        reservation,
        cycle.residual(closed, state),
        cycle.world.now,
        unreserved=cycle.residual_for(closed, state, reserved=True),
        spare=spare_slots(profile, demand, start, free),
    )


def earliest_unreserved_start(
    cycle: CycleState,
    state: JobState,
    demand: Demand,
    *,
    not_before: int | None = None,
    hint: int | None = None,
) -> Start | None:
    """Return the earliest start that leaves the allocations and reservations of earlier jobs
    unchanged.

    A job of a BACKFILL queue with a run limit may use resources reserved for jobs that start no
    earlier than it ends (TBR-18); any other job may use no reserved resources.
    """
    limit = state.limit if cycle.queues[state.job.queue].backfill else None
    if limit is not None:
        # The job may run beyond its estimate, but not into the start of a job before it.
        demand = replace(demand, duration=limit)
    start = earliest_start(
        cycle.planned.profile(state), demand, finishes_only=True, not_before=not_before, hint=hint
    )
    heeded = 0  # The profile contains the reservations that start before the job.
    # The slots of an advance reservation are reserved for its own jobs.
    while start is not None and state.reserved is None:
        until = FOREVER + 1 if limit is None else start.time + limit
        if not cycle.reservation_table.has_estimate_between(
            state, max(start.time + 1, heeded), until
        ):
            return start if limit is None else _on_what_nobody_holds(cycle, state, demand, start)
        heeded = until
        start = cycle.planned.reserved_profile(state).earliest(
            demand, since=start.time, until=until, hint=hint
        )
    return start


def _on_what_nobody_holds(
    cycle: CycleState, state: JobState, demand: Demand, start: Start
) -> Start:
    """Return the start on slots that no job reserves at that instant if these suffice, else the
    given start.

    A dispatch attempt uses unreserved slots only; reserved ones may be used after all attempts.
    """
    since = cycle.planned.since
    if start.time != since or since == cycle.world.now:
        return start
    if not cycle.reservation_table.has_estimate_between(state, since + 1, FOREVER + 1):
        return start
    found = cycle.planned.reserved_profile(state).earliest(demand, since=since, until=FOREVER + 1)
    return found if found is not None and found.time == since else start


def _reason(cycle: CycleState, state: JobState, demand: Demand, start: Start) -> str:
    """Return the pending reason for the start, with the jobs that end then."""
    others = cycle.other_reservations(state)
    profile = cycle.planned.profile(state)
    key = demand.kind, start.time
    short = cycle.progress.short.get(key)
    if not short and others and start.time > demand.earliest:
        # Only the instant before the start matters.
        times = profile.candidate_times(demand.earliest, finishes_only=True)
        last = times[bisect.bisect_left(times, start.time) - 1]
        duration = demand.duration_from(last)
        end = FOREVER if duration is None else last + max(1, duration)
        profile = cycle.planned.reserved_profile(state).profile_for(demand, since=last, before=end)
    planned: list[PlannedJob] = []
    demands: list[Demand] = []
    for job, asked, place in cycle.reservation_table.releasing(
        state, start.time, hosts_concerned(demand, start)
    ):
        demands.append(asked)
        planned.append(
            PlannedJob(
                job,
                place.time,
                asked.end_of_run(place.time),
                cycle.world.named(place.allocation),
                alternative=place.alternative,
            )
        )
    problem = replace(cycle.problem, demands=tuple(demands))

    def begins(time: int) -> Iterator[tuple[str, Collection[str]]]:
        for item in others:
            if item.start is not None and item.start.time == time:
                yield item.state.job.id, cycle.world.named(item.allocation)

    reason, cycle.progress.short[key] = reason_and_shortage(
        *(problem, demand, start, profile, planned),
        finishes_only=True,
        short=short,
        begins=begins,
        kept=() if short else cycle.kept_for(state, demand),
    )
    return reason
