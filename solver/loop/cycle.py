"""One scheduling cycle, phase by phase (LOP-01); docs/loop.md tells it in order.

1. Suspended jobs go on where they may.
2. Allocation: the pending jobs in order; each starts, or pends with a reservation or without.
3. Backfill: jobs of BACKFILL queues on slots that others hold.
4. Preemption. 5. Growth of resizable jobs.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from ..demand import Allocation, BoolArray, Demand, IntArray, TermDemand
from ..earliest import Start, earliest_start, hold_start, start_at
from ..placement.ranges import place_most
from ..problem import PlanningProblem
from ..profile import Profile
from ..resources import SLOTS, FloatArray
from ..waiting import shortage
from . import backfill, preemption, resizing
from .gates import Gates
from .ordering import FirstCome
from .present import Beside, HeldBack
from .quick import is_plain, place_plain
from .requests import Shape
from .reservations import (
    Held,
    hold_future,
    only_slots_and_memory_short,
    reserve_greedily,
)
from .settings import Settings
from .stages import Offer
from .state import JobState
from .world import World


@dataclass(slots=True)
class CycleRecord:
    """What one cycle did; times in seconds, hosts by name.

    started: job ids. reservations: of the jobs that hold slots or have an estimate, in order.
    """

    time: int
    started: list[str] = field(default_factory=list)
    backfilled: list[str] = field(default_factory=list)
    preempted: list[str] = field(default_factory=list)
    resumed: list[str] = field(default_factory=list)
    resized: list[str] = field(default_factory=list)
    reservations: list[Held] = field(default_factory=list)
    pending: int = 0


class Cycle:
    """The cycles of one simulation. `run` is one of them."""

    def __init__(self, world: World, gates: Gates, settings: Settings) -> None:
        self.world = world
        self.gates = gates
        self.settings = settings
        self.instance = world.instance
        self.queues = {queue.name: queue for queue in world.instance.queues}
        self.problem = PlanningProblem(
            self.instance, world.requests.resolver, (), Profile(world.table, self.instance.now)
        )
        self.backfills = any(queue.backfill for queue in self.instance.queues)
        self.preempts = any(queue.preemptive is not None for queue in self.instance.queues)
        modules = self.instance.params.modules
        self._single = modules is None or "schmod_reserve" in modules
        self._parallel = modules is None or "schmod_parallel" in modules
        self.held = HeldBack()
        self.reservations: list[Held] = []
        self.record = CycleRecord(self.instance.now)
        self._failed: set[tuple[object, ...]] = set()
        self._why: dict[int, str] = {}
        self._recount = True
        self.moving = False
        self._timed: dict[int, JobState] = {}
        self._future: Profile | None = None
        self._slots_held: dict[str, dict[str, int]] = {}
        self._last: tuple[object, ...] = ()

    # --- the cycle ------------------------------------------------------------------------------

    def run(self) -> CycleRecord:
        """One cycle at the world's time."""
        world = self.world
        self.record = CycleRecord(world.now)
        self.gates.begin_cycle()
        world.requests.begin_cycle(self.gates.values)
        self.held, self.reservations = HeldBack(), []
        self._failed.clear()
        self._why.clear()
        self._recount, self._future = True, None
        self.moving = False
        preemption.resume(self)
        self._allocate()
        if self.backfills and self.reservations:
            backfill.run(self)
        if self.preempts:
            preemption.run(self)
        resizing.grow(self)
        self._close()
        return self.record

    def _allocate(self) -> None:
        order = self.world.order
        jobs = [state.job for state in self.world.pending.values()]
        order.begin(self.world.now, jobs, self._open_slots())
        if self.settings.reservation == "optimal":
            from .planned import plan_top

            plan_top(self)
        by_id = self.world.by_id
        while (offer := order.next()) is not None:
            state = by_id[offer.job.id]
            if not self._consider(state, offer):
                order.skipped(offer.job)
                if self._nothing_left():
                    break
        self._tell_newcomers()

    def _nothing_left(self) -> bool:
        """Whether the rest of the queue can neither start nor reserve: no slot is free."""
        if not isinstance(self.world.order, FirstCome) or not self._recount:
            return False
        self._recount = False
        planning = self.settings.reservation == "time-based"
        if planning and len(self.reservations) < self.settings.top:
            self._recount = True
            return False
        view = self.beside(None)
        return not (view.free(SLOTS, view.now) > 0).any()

    def _tell_newcomers(self) -> None:
        """Every job has a reason from its first cycle on, also behind the end of the walk."""
        for state in self.world.fresh:
            if state.start is None and not state.reason:
                shape = self.shape(state)
                closed = self.gates.closed(state.job.queue, None)
                self.note(state, shape.never or self.why(state, shape, closed))
        self.world.fresh.clear()

    def _open_slots(self) -> dict[str, int] | None:
        """Slots of the hosts that are up, where some are not."""
        if self.gates.all_up:
            return None
        hosts = self.instance.cluster.hosts
        pairs = zip(hosts, self.gates.status, strict=True)
        return {host.name: host.slots for host, status in pairs if status == "ok"}

    def _consider(self, state: JobState, offer: Offer) -> bool:
        """Start one job, or else reserve for it; whether it started."""
        shape = self.shape(state)
        if reason := self.barred(state, offer):
            self.note(state, reason)
            return False
        closed = self.gates.closed(state.job.queue, offer.hosts)
        key = (shape.number, offer.hosts, offer.max_slots, self._span(state))
        if key not in self._failed:
            start = self.try_start(shape, self.beside(closed, state), offer.max_slots)
            if start is not None:
                self.start(state, start)
                return True
            self._failed.add(key)
        if not state.reason:
            self.note(state, self.why(state, shape, closed))
        if self.may_reserve(state):
            self._reserve(state, shape, closed)
        return False

    def barred(self, state: JobState, offer: Offer) -> str:
        """Why a job may not start in this cycle at all, "" if it may."""
        return offer.withheld or self.shape(state).never or self.gates.queue_open(state)

    def forget(self, state: JobState) -> None:
        """A job that has started out of turn holds nothing any more."""
        self.reservations = [held for held in self.reservations if held.state is not state]

    def _span(self, state: JobState) -> int | None:
        """The duration, where it decides whether a job may start now."""
        return state.duration if self.instance.advance_reservations else None

    # --- starting -------------------------------------------------------------------------------

    def shape(self, state: JobState) -> Shape:
        """The shape of a pending job."""
        assert state.shape is not None
        return state.shape

    def beside(self, closed: BoolArray | None, state: JobState | None = None) -> Beside:
        """The present beside everything that pending jobs hold."""
        view = Beside(self.world.present, self.world.now, self.held)
        view.closed = closed
        if self.instance.advance_reservations:
            view.blocked = self._set_aside(state)
        return view

    def _set_aside(self, state: JobState | None) -> FloatArray:
        """Slots that advance reservations need on each host while the job would run."""
        now = self.world.now
        duration = state.duration if state is not None else None
        ours = [
            item
            for item in self.instance.advance_reservations
            if item.end > now and (duration is None or item.start < now + duration)
        ]
        total = np.zeros(len(self.world.names))
        for at in {max(item.start, now) for item in ours}:
            there = np.zeros(len(self.world.names))
            for item in ours:
                if item.start <= at < item.end:
                    for name, slots in item.slots.items():
                        there[self.world.index[name]] += slots
            total = np.maximum(total, there)
        return total

    def try_start(self, shape: Shape, beside: Beside, most: int | None = None) -> Start | None:
        """A start of such a job now, with as many slots of its range as it can get."""
        demand = self.world.requests.now(shape)
        if demand.impossible:
            return None
        if len(demand.terms) > 1:
            return start_at(beside, demand, beside.now)
        term = demand.terms[0]
        if most is not None and most < term.most:
            term = replace(term, most=max(most, term.slots))
        for number, alternative in enumerate(term.alternatives):
            if not alternative.missing:
                room = beside.room(demand, term, alternative, beside.now)
                plain = not room.groups and is_plain(term)
                allocation = place_plain(term, room) if plain else place_most(term, room)
                if allocation is not None:
                    return Start(beside.now, (allocation,), number)
        return None

    def start(self, state: JobState, start: Start, *, backfilled: bool = False) -> None:
        """Carry a start out."""
        self.world.start(state, self.shape(state).demand, start.terms, start.alternative)
        self.gates.accepted()
        state.backfilled = backfilled
        self.record.started.append(state.job.id)
        if backfilled:
            self.record.backfilled.append(state.job.id)
        self._recount = True
        if self._future is not None:
            demand = self.shape(state).demand
            hold_start(self._future, replace(demand, duration=state.duration), start)

    # --- reserving ------------------------------------------------------------------------------

    def may_reserve(self, state: JobState) -> bool:
        """Whether the job may hold anything in this cycle (GRD-06, MEM-04, MEM-06)."""
        if self.settings.reservation == "none":
            return False
        queue = self.queues[state.job.queue]
        cycles = queue.reserve_cycles
        if cycles is None:
            return self.settings.every_queue
        single = state.job.slots == 1
        if not (self._single if single else self._parallel):
            return False
        now = self.world.now
        if state.rest_until is not None:
            if now < state.rest_until:
                return False
            state.rest_until = state.held_since = None
        length = cycles * self.instance.params.mbd_sleep_time
        if state.held_since is not None and now >= state.held_since + length:
            # The time is over: one session without anything, then again (MEM-04).
            state.rest_until = now + max(1, self.settings.cycle)
            state.held_since, state.held = None, ()
            return False
        return True

    def holds_memory(self, state: JobState) -> bool:
        """Whether the job's queue reserves memory with the slots (MEM-01, MEM-05)."""
        queue = self.queues[state.job.queue]
        return queue.resource_reserve is not None or queue.slot_reserve is None

    def _reserve(self, state: JobState, shape: Shape, closed: BoolArray | None) -> None:
        memory = self.holds_memory(state)
        in_top = len(self.reservations) < self.settings.top
        held: Held | None = None
        fallback = ""
        if self.settings.reservation == "time-based" and in_top:
            held = self.time_based(state, shape, closed, memory=memory)
            fallback = "" if held else "no place for it in the future was found"
        if held is None:
            held = self.greedy(state, shape, closed, memory=memory)
            if held is not None:
                held.fallback = fallback
        if held is not None:
            self.keep(held)

    def time_based(
        self, state: JobState, shape: Shape, closed: BoolArray | None, *, memory: bool
    ) -> Held | None:
        """A future allocation at the earliest finish at which everything holds (TBR-02)."""
        demand = self.open_part(shape, state, closed)
        if not all(term.candidates.size for term in demand.terms):
            return None
        future = self.future()
        start = earliest_start(future, demand, finishes_only=True)
        if start is not None and start.time <= self.world.now:
            # Only what others hold keeps it from starting: the next time something ends.
            later = self.world.now + 1
            start = earliest_start(future, demand, finishes_only=True, not_before=later)
        if start is None:
            return None
        if (found := self._better(state, start.time)) is not None:
            return found
        return self.hold(state, demand, start, closed, memory=memory, method="time-based")

    def open_part(self, shape: Shape, state: JobState, closed: BoolArray | None) -> Demand:
        """What a reservation asks for, on the hosts that are open in this cycle."""
        return _without(self.world.requests.reserving(shape, state.job, self.world.now), closed)

    def hold(
        self,
        state: JobState,
        demand: Demand,
        start: Start,
        closed: BoolArray | None,
        *,
        memory: bool,
        method: str,
    ) -> Held:
        """What is free now of a future allocation, if nothing but slots and memory is short."""
        beside = self.beside(closed)
        now = self.world.now
        if only_slots_and_memory_short(demand, beside, now, memory_may=memory):
            return hold_future(state, demand, start, beside, now, method=method, memory=memory)
        return Held(state, method, start.time, start=start, demand=demand)

    def _better(self, state: JobState, time: int | None) -> Held | None:
        """A reservation made earlier in this cycle, for another partition, that is as early."""
        for held in self.reservations:
            if held.state is state and (time is None or (held.estimate or time + 1) <= time):
                return held
        return None

    def greedy(
        self, state: JobState, shape: Shape, closed: BoolArray | None, *, memory: bool
    ) -> Held | None:
        """A greedy reservation (GRD-01)."""
        beside = self.beside(closed)
        if not (beside.free(SLOTS, beside.now) > 0).any():
            return None
        now = self.world.now
        demand = shape.reserving
        if not only_slots_and_memory_short(demand, beside, now, memory_may=memory):
            return None
        held = reserve_greedily(
            state,
            demand,
            beside,
            self.world.live,
            now,
            memory=memory,
            by_start_time=self.instance.params.reserve_by_starttime,
        )
        if held is None:
            return None
        return self._better(state, held.estimate) or held

    def keep(self, held: Held) -> None:
        """Enter a reservation; of one job's reservations the earliest is kept (TBR-12)."""
        if any(item is held for item in self.reservations):
            return
        others = [item for item in self.reservations if item.state is not held.state]
        if len(others) < len(self.reservations):
            self.reservations = others
            self.held = HeldBack()
            for item in others:
                item.enter(self.held, self.beside(None))
            self.drop_future()
        held.enter(self.held, self.beside(None))
        self.reservations.append(held)
        self._recount = True
        if held.start is not None and held.demand is not None and self._future is not None:
            hold_start(self._future, held.demand, held.start)
        state = held.state
        state.held = tuple(held.slots)
        if state.held_since is None and held.slots:
            state.held_since = self.world.now
            self._timed[state.number] = state
        if held.slots:
            names = self.world.named(held.slots)
            self.world.order.reserved(state.job, names, self.world.now)

    def future(self) -> Profile:
        """Running jobs and the future allocations made so far in this cycle."""
        if self._future is None:
            self._future = self.world.live.copy()
            for held in self.reservations:
                if held.start is not None and held.demand is not None:
                    hold_start(self._future, held.demand, held.start)
        return self._future

    def drop_future(self) -> None:
        """Something else than a start has changed what runs or is planned."""
        self._future = None

    # --- reasons --------------------------------------------------------------------------------

    def note(self, state: JobState, reason: str) -> None:
        """Why a job does not start."""
        state.now_waits_for = reason
        if not state.reason:
            state.reason = reason

    def why(self, state: JobState, shape: Shape, closed: BoolArray | None) -> str:
        """The constraint that keeps such a job from starting, found once a cycle."""
        if shape.number not in self._why:
            self._why[shape.number] = self._shortage(state, shape, closed)
        return self._why[shape.number]

    def _shortage(self, state: JobState, shape: Shape, closed: BoolArray | None) -> str:
        demand = _without(self.world.requests.now(shape), closed)
        parts = [self.gates.why_load(state.job.queue)]
        if closed is not None and not any(term.candidates.size for term in demand.terms):
            parts.append("all its hosts are closed to it now")
        else:
            parts.append(shortage(self.problem, demand, self.beside(None), self.world.now))
        return "; ".join(part for part in parts if part)

    # --- the end of the cycle -------------------------------------------------------------------

    def _close(self) -> None:
        """Cut reservations down to what backfill has left, and write down what is reserved."""
        world = self.world
        left = np.maximum(world.present.host(SLOTS), 0).astype(np.int64).copy()
        slots: dict[str, dict[str, int]] = {}
        for held in self.reservations:
            held.slots = _cut(held.slots, left)
            slots[held.state.job.id] = world.named(held.slots)
            state = held.state
            if held.estimate is not None and state.estimate is None:
                state.estimate, state.estimated_at = held.estimate, world.now
                state.estimate_by = held.method
        for name in self._slots_held:
            if name not in slots and name in world.by_id and world.by_id[name].start is None:
                state = world.by_id[name]
                world.order.reserved(state.job, {}, world.now)
                state.held = ()
        self._slots_held = slots
        self.record.reservations = self.reservations
        self.record.pending = len(world.pending)
        world.changed = bool(
            self.record.started
            or self.record.preempted
            or self.record.resumed
            or self.record.resized
            or self.moving
            or self._signature() != self._last
        )
        self._last = self._signature()

    def expiries(self) -> list[int]:
        """When reservations of pending jobs run out, or may be made again."""
        sleep = self.instance.params.mbd_sleep_time
        found: list[int] = []
        for number, state in list(self._timed.items()):
            cycles = self.queues[state.job.queue].reserve_cycles
            if number not in self.world.pending or cycles is None:
                del self._timed[number]
                continue
            if state.rest_until is not None:
                found.append(state.rest_until)
            elif state.held_since is not None:
                found.append(state.held_since + cycles * sleep)
        return [time for time in found if time > self.world.now]

    @property
    def patience(self) -> int:
        """Seconds after which reservations have shown everything that they can do."""
        cycles = [queue.reserve_cycles or 0 for queue in self.instance.queues]
        return 2 * (max(cycles, default=0) + 2) * self.instance.params.mbd_sleep_time

    def _signature(self) -> tuple[object, ...]:
        return tuple(
            (
                held.state.number,
                held.estimate,
                tuple(held.slots.items()),
                tuple(held.memory.items()),
            )
            for held in self.reservations
        )


def _without(demand: Demand, closed: BoolArray | None) -> Demand:
    """The demand without the hosts that are closed for the whole cycle (TBR-16)."""
    if closed is None:
        return demand
    terms: list[TermDemand] = [
        replace(term, candidates=term.candidates[~closed[term.candidates]]) for term in demand.terms
    ]
    return replace(demand, terms=tuple(terms))


def _cut(slots: Allocation, left: IntArray) -> Allocation:
    kept: Allocation = {}
    for host, count in slots.items():
        part = min(count, int(left[host]))
        if part > 0:
            kept[host] = part
            left[host] -= part
    return kept
