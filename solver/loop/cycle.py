"""One scheduling cycle, phase by phase (LOP-01); docs/loop.md tells it in order.

1. Suspended jobs go on where they may.
2. Allocation: the pending jobs in order; each starts, or pends with a reservation or without.
3. Backfill: jobs of BACKFILL queues on slots that others hold.
4. Preemption. 5. Growth of resizable jobs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..availability.arrays import Allocation, BoolArray, FloatArray, IntArray
from ..availability.free_now import HeldBack, Residual
from ..availability.profile import Profile
from ..availability.resources import SLOTS
from ..fairshare.dispatch_policy import FirstCome
from ..fairshare.stages import Offer
from ..methods import reserving
from ..methods.reservation import (
    Held,
)
from ..placement.earliest import Start, can_start, hold_start, start_at
from ..placement.ranges import place_most
from ..problem import PlanningProblem
from ..rules.eligibility import Eligibility
from ..rules.pending_reasons import shortage
from ..world.job_state import JobState
from ..world.requests import Shape
from ..world.settings import Settings
from ..world.world import World
from . import backfill, preemption, resizing


@dataclass(slots=True)
class CycleRecord:
    """What one cycle did; times in seconds, hosts by name.

    started: job ids. reservations: of the jobs that hold slots or have an estimate, in order.
    why: where fairshare or slot pools are at work, why it was the turn of each job that started.
    """

    time: int
    started: list[str] = field(default_factory=list)
    backfilled: list[str] = field(default_factory=list)
    preempted: list[str] = field(default_factory=list)
    resumed: list[str] = field(default_factory=list)
    resized: list[str] = field(default_factory=list)
    reservations: list[Held] = field(default_factory=list)
    why: dict[str, str] = field(default_factory=dict)
    pending: int = 0


class Cycle:
    """The cycles of one simulation. `run` is one of them."""

    def __init__(self, world: World, eligibility: Eligibility, settings: Settings) -> None:
        self.world = world
        self.eligibility = eligibility
        self.settings = settings
        self.instance = world.instance
        self.queues = {queue.name: queue for queue in world.instance.queues}
        self.problem = PlanningProblem(
            self.instance, world.requests.resolver, (), Profile(world.table, self.instance.now)
        )
        self.backfills = any(queue.backfill for queue in self.instance.queues)
        self.preempts = any(queue.preemptive is not None for queue in self.instance.queues)
        modules = self.instance.params.modules
        self.reserve_plugin = modules is None or "schmod_reserve" in modules
        self.parallel_plugin = modules is None or "schmod_parallel" in modules
        self.held = HeldBack()
        self.reservations: list[Held] = []
        self.record = CycleRecord(self.instance.now)
        self._failed: set[tuple[object, ...]] = set()
        self._nowhere: dict[tuple[int, frozenset[str]], str] = {}
        self._why: dict[int, str] = {}
        self._recount = True
        self.moving = False
        self.timed: dict[int, JobState] = {}
        self._future: Profile | None = None
        self._slots_held: dict[str, dict[str, int]] = {}
        self._last: tuple[object, ...] = ()

    # --- the cycle ------------------------------------------------------------------------------

    def run(self) -> CycleRecord:
        """One cycle at the world's time."""
        world = self.world
        self.record = CycleRecord(world.now)
        self.eligibility.begin_cycle()
        world.requests.begin_cycle(self.eligibility.values)
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
        order.begin(self.world.now, self.world.waiting(), self._open_slots())
        if self.settings.reservation == "optimal":
            from ..methods.optimal import plan_top

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
        if planning and self.room_at_the_top:
            self._recount = True
            return False
        view = self.beside(None)
        return not (view.free(SLOTS, view.now) > 0).any()

    def _tell_newcomers(self) -> None:
        """Every job has a reason from its first cycle on, also behind the end of the walk."""
        for state in self.world.fresh:
            if state.start is None and not state.reason:
                shape = self.shape(state)
                closed = self.eligibility.closed(state.job.queue, None)
                self.note(state, shape.never or self.why(state, shape, closed))
        self.world.fresh.clear()

    def _open_slots(self) -> dict[str, int] | None:
        """Slots of the hosts that are up, where some are not."""
        if self.eligibility.all_up:
            return None
        hosts = self.instance.cluster.hosts
        pairs = zip(hosts, self.eligibility.status, strict=True)
        return {host.name: host.slots for host, status in pairs if status == "ok"}

    def _consider(self, state: JobState, offer: Offer) -> bool:
        """Start one job, or else reserve for it; whether it started."""
        shape = self.shape(state)
        if reason := self.barred(state, offer):
            self.note(state, reason)
            return False
        closed = self.eligibility.closed(state.job.queue, offer.hosts)
        # Only partitions bring a job up again in a cycle, which may hold slots by then.
        holds = bool(self.instance.partitions) and self._holds(state)
        key = (shape.number, offer.hosts, offer.max_slots, self._span(state), holds)
        if key not in self._failed:
            view = self.beside(closed, state)
            if holds:
                view.held = self._sum_held(self._others(state))
            start = self.try_start(shape, view, offer.max_slots)
            if start is not None:
                self.start(state, start, offer=offer)
                if holds:
                    self._give_up(state)
                return True
            self._failed.add(key)
        if not state.reason:
            self.note(state, self.why(state, shape, closed))
        if reserving.may_reserve(self, state):
            reserving.reserve(self, state, closed)
        return False

    def barred(self, state: JobState, offer: Offer) -> str:
        """Why a job may not start in this cycle at all, "" if it may."""
        shape = self.shape(state)
        never = shape.never or self._never_on(shape, offer.hosts)
        return offer.withheld or never or self.eligibility.queue_open(state)

    def _never_on(self, shape: Shape, hosts: frozenset[str] | None) -> str:
        """Why such a job can never start on the hosts of a partition alone: it holds none there."""
        if hosts is None or shape.dynamic:
            return ""
        key = (shape.number, hosts)
        if key not in self._nowhere:
            demand = reserving.without(shape.demand, ~self.eligibility.membership(hosts))
            fits = can_start(self.world.requests.empty(), demand, self.instance.now)
            self._nowhere[key] = "" if fits else "does not fit on the hosts of its partitions"
        return self._nowhere[key]

    def forget(self, state: JobState) -> None:
        """A job that has started out of turn holds nothing any more."""
        self.reservations = self._others(state)

    def _holds(self, state: JobState) -> bool:
        return any(held.state is state for held in self.reservations)

    def _others(self, state: JobState) -> list[Held]:
        """The reservations of other jobs."""
        return [held for held in self.reservations if held.state is not state]

    def _sum_held(self, reservations: list[Held]) -> HeldBack:
        total, beside = HeldBack(), self.beside(None)
        for held in reservations:
            held.enter(total, beside)
        return total

    def _give_up(self, state: JobState) -> None:
        """A job gives back what it has reserved in this cycle."""
        self.reservations = self._others(state)
        self.held = self._sum_held(self.reservations)
        self.drop_future()

    def _span(self, state: JobState) -> int | None:
        """The duration, where it decides whether a job may start now."""
        return state.duration if self.instance.advance_reservations else None

    # --- starting -------------------------------------------------------------------------------

    def shape(self, state: JobState) -> Shape:
        """The shape of a pending job."""
        assert state.shape is not None
        return state.shape

    def beside(self, closed: BoolArray | None, state: JobState | None = None) -> Residual:
        """The present beside everything that pending jobs hold."""
        view = Residual(self.world.free_now, self.world.now, self.held)
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

    def try_start(self, shape: Shape, beside: Residual, most: int | None = None) -> Start | None:
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
                allocation = place_most(term, room)
                if allocation is not None:
                    return Start(beside.now, (allocation,), number)
        return None

    def start(
        self,
        state: JobState,
        start: Start,
        *,
        backfilled: bool = False,
        offer: Offer | None = None,
        why: str = "",
    ) -> None:
        """Carry a start out; offer: the turn that the job had; why: what else led to it."""
        self.world.start(state, self.shape(state).demand, start.terms, start.alternative)
        self.eligibility.accepted()
        state.backfilled = backfilled
        self.record.started.append(state.job.id)
        if backfilled:
            self.record.backfilled.append(state.job.id)
        if not isinstance(self.world.order, FirstCome):
            turn = offer.why if offer is not None else ""
            self.record.why[state.job.id] = ": ".join(part for part in (why, turn) if part)
        self._recount = True
        if self._future is not None:
            demand = self.shape(state).demand
            hold_start(self._future, replace(demand, duration=state.duration), start)

    # --- reserving ------------------------------------------------------------------------------

    @property
    def room_at_the_top(self) -> bool:
        """Whether fewer than N jobs have a reservation yet (TBR-01)."""
        return len(self.reservations) < self.settings.top

    def keep(self, held: Held) -> None:
        """Enter a reservation; of one job's reservations the earliest is kept (TBR-12)."""
        if any(item is held for item in self.reservations):
            return
        if self._holds(held.state):
            self._give_up(held.state)
        held.enter(self.held, self.beside(None))
        self.reservations.append(held)
        self._recount = True
        if held.start is not None and held.demand is not None and self._future is not None:
            hold_start(self._future, held.demand, held.start)
        state = held.state
        state.held = tuple(held.slots)
        if state.held_since is None and held.slots:
            state.held_since = self.world.now
            self.timed[state.number] = state
        self._tell_order(state, self.world.named(held.slots))

    def future(self) -> Profile:
        """Running jobs and the future allocations made so far in this cycle."""
        if self._future is None:
            self._future = self.world.running_profile.copy()
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
        demand = reserving.without(self.world.requests.now(shape), closed)
        parts = [self.eligibility.why_load(state.job.queue)]
        if closed is not None and not any(term.candidates.size for term in demand.terms):
            parts.append("all its hosts are closed to it now")
        else:
            parts.append(shortage(self.problem, demand, self.beside(None), self.world.now))
        return "; ".join(part for part in parts if part)

    # --- the end of the cycle -------------------------------------------------------------------

    def _close(self) -> None:
        """Cut reservations down to what backfill has left, and write down what is reserved."""
        world = self.world
        left = np.maximum(world.free_now.host(SLOTS), 0).astype(np.int64).copy()
        slots: dict[str, dict[str, int]] = {}
        for held in self.reservations:
            held.slots = _cut(held.slots, left)
            slots[held.state.job.id] = world.named(held.slots)
            state = held.state
            state.expected = held.estimate
            if held.estimate is not None and state.estimate is None:
                state.estimate, state.estimated_at = held.estimate, world.now
                state.estimate_by = held.method
        for name in list(self._slots_held):
            state = world.by_id[name]
            if state.start is not None:
                del self._slots_held[name]
                continue
            self._tell_order(state, slots.get(name, {}))
            if name not in slots:
                state.held = ()
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

    def _tell_order(self, state: JobState, slots: dict[str, int]) -> None:
        """What a pending job holds counts for its account (FSH-04); said where it is news."""
        if slots == self._slots_held.get(state.job.id, {}):
            return
        self.world.order.reserved(state.job, slots, self.world.now)
        self._slots_held[state.job.id] = slots
        if not slots:
            del self._slots_held[state.job.id]

    @property
    def patience(self) -> int:
        """Seconds after which reservations have shown everything that they can do."""
        cycles = [queue.reserve_cycles or 0 for queue in self.instance.queues]
        return 2 * (max(cycles, default=0) + 2) * self.instance.params.mbd_sleep_time

    # --- checkpoints ----------------------------------------------------------------------------

    def to_state(self) -> dict[str, Any]:
        """What the next cycle needs to know of this one, as plain data."""
        return {
            "slots_held": self._slots_held,
            "last": self._last,
            "timed": list(self.timed),
            "started": self.record.started,
        }

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Take over what :meth:`to_state` gave."""
        self._slots_held = state["slots_held"]
        self._last = _tuples(state["last"])
        self.timed = {number: self.world.states[number] for number in state["timed"]}
        self.record.started = list(state["started"])

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


def _tuples(nested: Any) -> Any:
    """Lists as JSON has them, as tuples again."""
    return tuple(map(_tuples, nested)) if isinstance(nested, list) else nested


def _cut(slots: Allocation, left: IntArray) -> Allocation:
    kept: Allocation = {}
    for host, count in slots.items():
        part = min(count, int(left[host]))
        if part > 0:
            kept[host] = part
            left[host] -= part
    return kept
