"""The state of one dispatch cycle that its phases and the reservation methods share.

What runs and what is free is the world's; who may start is the rule book's; what pending jobs hold
in this cycle is here.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from ...model.configuration import Queue
from ...model.duration import aborted, last_start
from ...model.instance import Instance
from ...model.job import Job
from ...model.pending import Moment, sentence
from ..availability.free_now import Residual
from ..availability.profile import FOREVER, most_set_aside
from ..availability.resources import (
    SLOTS,
    Allocation,
    Amounts,
    BoolArray,
    FloatArray,
    IntArray,
)
from ..budget import Budget
from ..fairshare.dispatch_policy import FirstCome
from ..fairshare.stages import Offer
from ..pending_reasons import BEGIN_TIME, not_yet, shortage
from ..placement.earliest import Start, can_start, start_at
from ..placement.single import place_most
from ..precedence import After, Event, Precedence, earliest
from ..problem import PlanningProblem
from ..rules.eligibility import Eligibility
from ..rules.rule_book import NOT_IN_A_PARTITION
from .events import Settings
from .guard import PlannedFuture
from .held import BackfilledSlots, Held, Reservations, sum_held
from .job_state import JobState, Shape, without_hosts
from .world import World

# A cycle that is run once more at the same instant, and makes the reservations it made before.
#
# Jobs that start late in a cycle may move what was reserved before them, so a plan runs the cycle
# again. Behind the last start the first one knew all that ran: as soon as the second has the same
# reservations up to there, each search behind it would find what the first found.


class Repetition:
    """What the cycle before made at the same instant; `holds` as long as this one makes the same.

    made: its reservations, in order. since: how many of them were made before its last start.
    """

    __slots__ = ("_made", "_since", "holds")

    def __init__(self, made: Sequence[Held] = (), since: int = 0) -> None:
        self._made, self._since = list(made), since
        self.holds = bool(self._made)

    def kept(self, place: int, held: Held) -> None:
        """A reservation is made; place: how many were before it."""
        self.holds = self.holds and place < len(self._made) and _same(self._made[place], held)

    def found_before(self, place: int, state: JobState) -> Start | None:
        """What a search for a job's future place would find, None where it has to be made."""
        if not (self.holds and self._since <= place < len(self._made)):
            return None
        before = self._made[place]
        if before.demand is not None and before.demand.interval is not None:
            return None  # the last start may have closed its hosts for a while
        return before.start if before.state is state else None


def _same(one: Held, other: Held) -> bool:
    return (
        one.state is other.state
        and one.method == other.method
        and one.start == other.start
        and one.estimate == other.estimate
        and one.slots == other.slots
        and one.memory == other.memory
    )


@dataclass(slots=True)
class CycleRecord:
    """What one cycle did; times in seconds, hosts by name."""

    time: int
    #: Job ids.
    started: list[str] = field(default_factory=list)
    backfilled: list[str] = field(default_factory=list)
    preempted: list[str] = field(default_factory=list)
    resumed: list[str] = field(default_factory=list)
    resized: list[str] = field(default_factory=list)
    #: Of the jobs that hold slots or have an estimate, in order.
    reservations: list[Held] = field(default_factory=list)
    #: Where fairshare or slot pools are at work, why it was the turn of each job that started.
    why: dict[str, str] = field(default_factory=dict)
    pending: int = 0
    #: Whether what pending jobs hold, and count for their accounts with, became another.
    booked: bool = False


@dataclass(slots=True)
class Turns:
    """How far a cycle got, and what it found on the way."""

    #: Places of the cycle before at the same instant, by number, for when the budget ends.
    previous_places: dict[int, Start] = field(default_factory=dict)
    #: Of that cycle.
    repetition: Repetition = field(default_factory=Repetition)
    #: Jobs, by number, that started on slots lent until the very second of their end.
    filling: set[int] = field(default_factory=set)
    #: Jobs that had their turn.
    looked_at: set[int] = field(default_factory=set)
    #: The others need none, for no slot is free.
    nothing_left: bool = False
    #: Whether the budget kept jobs from having a place in the future looked for.
    curtailed: bool = False
    #: Those of them that have none now.
    shortened: set[int] = field(default_factory=set)
    #: Jobs without a place in the future.
    placeless: set[int] = field(default_factory=set)
    #: Why jobs, by number, were offered but not to be started.
    withheld: dict[int, str] = field(default_factory=dict)
    #: Starts that were tried in vain.
    failed: set[tuple[object, ...]] = field(default_factory=set)
    #: Kinds of jobs for which a greedy reservation finds nothing any more, while more and more is
    #: held.
    nothing_to_hold: set[tuple[int, int | None]] = field(default_factory=set)
    #: How many reservations were made before the last start.
    before_last_start: int = 0
    #: Whether the free slots have to be counted again before the rest of the queue is given up.
    recount: bool = True
    #: Whether the next cycle would give other reservations although nothing happens.
    moving: bool = False
    #: Whether it may, because hosts held now differ from those held before.
    shifted: bool = False


class CycleState:
    """Reservations, views and reasons of the cycle at the world's time."""

    def __init__(
        self, world: World, eligibility: Eligibility, settings: Settings, budget: Budget
    ) -> None:
        self.world = world
        self.eligibility = eligibility
        self.settings = settings
        self.budget = budget
        self.problem = PlanningProblem.without_demands(world.instance, world.requests.resolver)
        #: How far the cycle got.
        self.turns = Turns()
        #: What pending jobs hold in it.
        self.holdings = Reservations()
        #: The future with their places.
        self.planned = PlannedFuture(world, eligibility, self.holdings)
        self.record = CycleRecord(self.instance.now)
        #: Jobs that hold something, whose time to do so may run out.
        self.timed: dict[int, JobState] = {}
        #: What is missing until a start, of equal jobs: by their kind and that start.
        self.short: dict[tuple[Hashable, int], str] = {}
        self.backfilled_slots = BackfilledSlots()
        self._nowhere: dict[tuple[int, frozenset[str]], str] = {}
        #: Why jobs of a kind do not start, until less is free for them.
        self._why: dict[tuple[object, ...], str] = {}
        self._slots_held: dict[str, Allocation] = {}

    @property
    def instance(self) -> Instance:
        """The instance whose time goes by."""
        return self.world.instance

    @cached_property
    def queues(self) -> Mapping[str, Queue]:
        """The queues by name."""
        return {queue.name: queue for queue in self.instance.queues}

    @cached_property
    def reserve_plugin(self) -> bool:
        """Whether the module that reserves is loaded (lsb.modules)."""
        return self._loads("schmod_reserve")

    @cached_property
    def parallel_plugin(self) -> bool:
        """Whether the module for parallel jobs is loaded (lsb.modules)."""
        return self._loads("schmod_parallel")

    def _loads(self, module: str) -> bool:
        modules = self.instance.params.modules
        return modules is None or module in modules

    @property
    def reservations(self) -> list[Held]:
        """What pending jobs hold, in the order in which they got it; not to be changed."""
        return self.holdings.items

    def begin(self) -> None:
        """A new cycle: all reservations are dropped (GRD-06)."""
        world, last = self.world, self.turns
        again = self.record.time == world.now and self.settings.planning
        before = self.reservations if again else []
        places = {held.state.number: held.start for held in before if held.start is not None}
        repetition = Repetition(before, last.before_last_start)
        self.record = CycleRecord(world.now)
        self.eligibility.begin_cycle()
        world.requests.begin_cycle(self.eligibility.values)
        self.holdings.clear()
        self.turns = Turns(places, repetition, last.filling)
        self._why.clear()
        self.short.clear()
        self.planned.drop()
        self.backfilled_slots = BackfilledSlots.of(world.subsets.borrowing.values(), world.now)

    def go_on(self) -> None:
        """A new cycle in which what the last one said of its jobs stands.

        What was expected at that very instant, and did not come, is now expected at this one.
        """
        world, last, now = self.world, self.record.time, self.world.now
        if any(held.estimate == last for held in self.reservations):
            old = self.reservations
            self._reserve_anew([replace(h, estimate=now) if h.estimate == last else h for h in old])
        self.record = CycleRecord(now)
        self.eligibility.begin_cycle()
        world.requests.begin_cycle(self.eligibility.values)
        self._why.clear()
        self.short.clear()
        self.planned.drop()
        self.turns.shifted = False

    def shape(self, state: JobState) -> Shape:
        """What the job has in common with its equals."""
        return self.world.shape(state)

    def barred(self, state: JobState, offer: Offer) -> str:
        """Why a job may not start in this cycle at all, "" if it may."""
        return self.shut_out(state, offer) or self.not_yet(state)

    def shut_out(self, state: JobState, offer: Offer) -> str:
        """Why a job is not even planned for in this cycle, "" if it is."""
        shape = self.shape(state)
        never = offer.withheld or shape.never or self._never_on(shape, offer.hosts)
        if never or self.world.may_start_by_deadline(state):
            return never
        return aborted(self.instance, state.job)

    def not_yet(self, state: JobState) -> str:
        """Why a job may not start before some instant that the clock brings, "" if it may."""
        job = state.job
        if job.begin is not None and job.begin > self.world.now:
            return sentence(BEGIN_TIME)
        if self.settings.planning and job.dependency:
            release = self.release_of(job)
            if release is None or release > self.world.now or self._let_go_just_now(job):
                return sentence(not_yet(job))
        return self.eligibility.queue_open(job, self.duration_now(state))

    def duration_now(self, state: JobState) -> int | None:
        """Seconds for which a job that starts now is expected to run, the margin included."""
        return state.duration_from(self.world.now, self.settings.margin)

    @cached_property
    def precedence(self) -> Precedence:
        """What the pending jobs wait for."""
        return Precedence.of(self.instance)

    def release_of(self, job: Job, *, starts_later: int = 0) -> int | None:
        """When the condition of a job can hold by what this cycle has planned; None for never.

        starts_later: as if every job started so many seconds later than planned, and ended then.
        """
        found = self.event_of(job)
        if found is None:
            return self.world.now
        return earliest(found, lambda other: self._when(other, starts_later))

    def _let_go_just_now(self, job: Job) -> bool:
        """Whether a start of this cycle lets a job go: it has its turn in the next."""
        event, begun = self.event_of(job), self.record.started
        if event is None or not begun:
            return False
        release = earliest(
            event, lambda o: None if o.start and o.job in begun else self._when(o, 0)
        )
        return release is None or release > self.world.now

    def event_of(self, job: Job) -> Event | None:
        """What a job waits for, pending in the instance or only asked about; None for nothing."""
        if not job.dependency:
            return None
        release = self.precedence.releases.get(job.id)
        if release is None:
            others = (other for other in self.instance.pending if other.id != job.id)
            asked = Precedence.of(replace(self.instance, pending=(*others, job)))
            release = asked.releases[job.id]
        return release.event

    def _when(self, other: After, starts_later: int) -> int | None:
        """When another job starts, or ends, as this cycle has it."""
        state = self.world.states.find(other.job)
        if state is None:
            return None
        start = state.start
        if start is None:
            held = self.holdings.of(state)
            if held is None:
                return None
            # Where others have places in the future an estimate without one is no start.
            estimate = held.estimate if self.settings.reservation == "greedy" else None
            start = estimate if held.start is None else held.start.time
            last = last_start(self.instance, state.job)
            if start is not None and last is not None and start > last:
                return None  # it is aborted before (-t)
        if start is None or other.start:
            return None if start is None else start + starts_later
        duration = state.duration_from(start, self.settings.margin)
        return None if duration is None else start + duration

    def not_before(self, state: JobState) -> int:
        """The first second at which a job may start, for a place in the future."""
        now, job = max(self.world.now, self.planned.since), state.job
        release = self.release_of(job) if self.settings.planning else now
        return max(now, job.begin or now, now if release is None else release)

    def _never_on(self, shape: Shape, hosts: frozenset[str] | None) -> str:
        """Why such a job can never start on the hosts of a partition alone: it holds none there."""
        if hosts is None or shape.dynamic:
            return ""
        key = (shape.number, hosts)
        if key not in self._nowhere:
            demand = without_hosts(shape.demand, ~self.eligibility.membership(hosts))
            fits = can_start(self.world.requests.empty(), demand, self.instance.now)
            self._nowhere[key] = "" if fits else NOT_IN_A_PARTITION
        return self._nowhere[key]

    def open_slots(self) -> dict[str, int] | None:
        """Slots of the hosts that are up, where some are not."""
        if self.eligibility.all_up:
            return None
        hosts = self.instance.cluster.hosts
        pairs = zip(hosts, self.eligibility.status, strict=True)
        return {host.name: host.slots for host, status in pairs if status == "ok"}

    def beside(
        self, closed: BoolArray | None, state: JobState | None = None, *, preempting: bool = False
    ) -> Residual:
        """The present beside everything that pending jobs hold, and what is set aside.

        state: whose run must end before an advance reservation of the slots begins; None for a run
        of a second, which only those that are active now keep from starting. preempting: what runs
        may be suspended, so that nothing comes free by its end.
        """
        view = Residual(self.world.free_now, self.world.now, self.holdings.held)
        view.closed = closed
        if self.instance.advance_reservations:
            duration = self.duration_now(state) if state is not None else 1
            view.blocked = self.set_aside(duration, preempting=preempting)
        return view

    def set_aside(self, duration: int | None, *, preempting: bool = False) -> FloatArray:
        """Slots free now that advance reservations need during a run of that length, [H]."""
        freed = None if preempting else self.world.running_profile.slots_by_finish()
        return most_set_aside(self.instance, self.world.now, duration, freed)

    def span(self, state: JobState) -> int | None:
        """The duration, where it decides whether a job may start now."""
        return self.duration_now(state) if self.instance.advance_reservations else None

    def beside_others(self, closed: BoolArray | None, state: JobState) -> Residual:
        """The present beside what other pending jobs hold."""
        view = self.beside(closed, state)
        if self.holds(state):
            view.held = self._sum_held(self.others(state))
        return view

    def beside_those_of(
        self, jobs: Collection[int], closed: BoolArray | None, state: JobState
    ) -> Residual:
        """The present beside what these jobs hold, by number, for a job that would preempt.

        Their future allocations count whole: that what runs there ends by their starts is not so
        of a job that is suspended and goes on later.
        """
        view = self.beside(closed, state, preempting=True)
        ahead = [held for held in self.reservations if held.state.number in jobs]
        view.held = self._sum_held(ahead)
        places = Amounts()
        for held in ahead:
            places.add_hosts(SLOTS, self._place(held), view.hosts)
        if SLOTS in places.hosts:
            now = view.held.hosts.get(SLOTS, 0.0)
            view.held.hosts[SLOTS] = np.maximum(now, places.hosts[SLOTS])
        return view

    def _place(self, held: Held) -> Allocation:
        """The slots of a future allocation, all of a host that it has to itself."""
        own = self.world.requests.resolver.blocked_units(held.state.job, held.allocation)
        hosts = self.instance.cluster.hosts
        return held.allocation | {host: hosts[host].slots for host in own}

    def unreserved(self, closed: BoolArray | None, state: JobState) -> Residual:
        """The present beside all slots that other pending jobs have reserved, kept or not."""
        view = self.beside(closed, state)
        view.held = self.holdings.reserved
        if self.holds(state):
            view.held = sum_held(self.others(state), self.beside(None), reserved=True)
        return view

    def beside_backfillable(
        self, closed: BoolArray | None, state: JobState, until: int
    ) -> Residual:
        """The present beside what other pending jobs hold and do not lend to a job until `until`.

        Their totals count in any case. Of the slots of places just what is needed of them before
        `until` is not lent: who holds them now says nothing of that, since one reservation may hold
        what another needs earlier. Where limits decide what a reservation may hold, that is it.
        """
        view, held = self.beside(closed, state), Amounts()
        others = self.others(state)
        placed = any(item.needed_only for item in others)
        limited = self.planned.limited_by_more() if placed else frozenset()
        for item in others:
            backfilled = item.estimate is not None and item.estimate >= until
            by_place = item.needed_only and item.state.number not in limited
            item.enter(held, view, totals_only=backfilled, limits_only=by_place)
        if placed:
            held.add_hosts(SLOTS, self.planned.needed_before(until, state), view.hosts)
        view.held = held
        return view

    def try_start(self, shape: Shape, beside: Residual, most: int | None = None) -> Start | None:
        """A start of such a job now, with as many slots of its range as it can get."""
        demand = self.world.requests.now(shape)
        if demand.impossible or beside.most_slots() < shape.least:
            return None
        if len(demand.terms) > 1:
            return start_at(beside, demand, beside.now)
        term = demand.terms[0]
        if most is not None and most < term.most:
            term = replace(term, most=max(most, term.slots))
        for number, alternative in enumerate(term.alternatives):
            if not alternative.missing:
                capacity = beside.capacity(demand, term, alternative, beside.now)
                allocation = place_most(term, capacity)
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
        self._why.clear()
        self.world.start(state, self.shape(state).demand, start.terms, start.alternative)
        self.eligibility.accepted()
        state.backfilled = backfilled
        self.record.started.append(state.job.id)
        if backfilled:
            self.record.backfilled.append(state.job.id)
        if not isinstance(self.world.order, FirstCome):
            turn = offer.why if offer is not None else ""
            self.record.why[state.job.id] = ": ".join(part for part in (why, turn) if part)
        turns = self.turns
        turns.recount, turns.repetition.holds = True, False
        turns.before_last_start = len(self.reservations)
        if self.planned.made:
            demand = replace(self.shape(state).demand, duration=self.duration_now(state))
            self.planned.add(demand, start)

    def may_reserve_more(self, state: JobState | None = None) -> bool:
        """Whether fewer than N other jobs have a reservation yet (TBR-01, TBR-12)."""
        own = state is not None and self.holds(state)
        return len(self.reservations) - own < self.settings.top

    def holds(self, state: JobState) -> bool:
        """Whether a job has a reservation in this cycle."""
        return self.holdings.of(state) is not None

    def others(self, state: JobState) -> list[Held]:
        """The reservations of other jobs; not to be changed."""
        return self.holdings.others(state)

    def keep(self, held: Held) -> None:
        """Enter a reservation; of one job's reservations the earliest is kept (TBR-12)."""
        before = self.holdings.of(held.state)
        if before is held:
            return
        if before is not None:
            self.give_up(held.state)
        if held.slots or held.memory:
            self._why.clear()
        self.backfilled_slots.settle(held, self.world.table)
        self.turns.repetition.kept(len(self.reservations), held)
        self.holdings.add(held, self.beside(None))
        self.turns.recount = True
        if held.start is not None and held.demand is not None:
            self.planned.add(held.demand, held.start)
        self.planned.keep(held)
        state, reserved = held.state, held.reserved
        self._hosts_held(state, tuple(reserved), by_hosts=held.start is None)
        if state.holding.since is None and reserved:
            state.holding.since = self.world.now
            self.timed[state.number] = state
        self._notify_order(state, reserved)

    def _hosts_held(self, state: JobState, hosts: tuple[int, ...], *, by_hosts: bool) -> None:
        """A job holds something on these hosts; by_hosts: what it gets follows what it held."""
        if hosts != state.holding.hosts:
            self.turns.shifted |= by_hosts or self.backfilled_slots.any
            state.holding.hosts = hosts

    def give_up(self, state: JobState) -> None:
        """A job gives back what it has reserved in this cycle."""
        self.hold_only(self.others(state))

    def let_go(self, state: JobState) -> None:
        """Between cycles: a job that waits no more, or for something else, holds nothing."""
        self._notify_order(state, {})
        state.holding.clear()

    def forget(self, state: JobState) -> None:
        """A job that has started out of turn holds nothing any more."""
        own = self.holdings.of(state)
        self._reserve_anew(self.others(state))
        self.planned.drop_guard()
        if own is None:
            return
        self.holdings.sum_up(self.beside(None))
        if own.start is not None:
            self.planned.drop()

    def _reserve_anew(self, reservations: list[Held]) -> None:
        """These are the reservations of the cycle."""
        self.holdings.replace(reservations)
        turns = self.turns
        turns.repetition.holds = turns.repetition.holds and not reservations
        turns.before_last_start = FOREVER
        turns.nothing_to_hold.clear()

    def _sum_held(self, reservations: list[Held]) -> Amounts:
        return sum_held(reservations, self.beside(None))

    def hold_only(self, reservations: list[Held]) -> None:
        """These are all that is held: those of this cycle, or of one that was like it."""
        self._reserve_anew(reservations)
        self.holdings.sum_up(self.beside(None))
        self.planned.drop()

    def note(self, state: JobState, reason: str) -> None:
        """Why a job does not start."""
        state.now_waits_for = reason
        if not state.reason:
            state.reason = reason

    def why(self, state: JobState, shape: Shape, closed: BoolArray | None) -> str:
        """The constraint that keeps such a job from starting; equal jobs share it."""
        key = (shape.number, self.span(state), None if closed is None else closed.tobytes())
        if key not in self._why:
            self._why[key] = self._shortage(state, shape, closed)
        return self._why[key]

    def _shortage(self, state: JobState, shape: Shape, closed: BoolArray | None) -> str:
        demand = without_hosts(self.world.requests.now(shape), closed)
        parts = [self.eligibility.why_load(state.job.queue)]
        if closed is not None and not any(term.candidates.size for term in demand.terms):
            parts.append("all its hosts are closed to it now")
        else:
            # A log is read later: its numbers are of no "now".
            moment: Moment = "now" if self.settings.planning else "has"
            beside = self.beside(None, state)
            parts.append(shortage(self.problem, demand, beside, self.world.now, moment))
        return "; ".join(part for part in parts if part)

    def _cut_down(self) -> None:
        """Let reservations hold what backfill has left of them."""
        left = self._free_slots()
        # Where nothing is gone of all that is held, nothing is gone of any reservation.
        reserved = self.holdings.reserved.hosts
        if not (SLOTS in reserved and bool((reserved[SLOTS] <= left).all())):
            for held in self.reservations:
                held.count_backfilled(left)
            for held in self.reservations:
                held.reserve_what_is_left(left)

    def _free_slots(self) -> IntArray:
        """Slots of each host that no job runs on, [H]."""
        return np.maximum(self.world.free_now.host(SLOTS), 0).astype(np.int64)

    def lend(self, borrower: JobState) -> None:
        """Of what a job has borrowed by its start, the first that may lend it hold it no more."""
        end, left = borrower.expected_end(self.world.now), dict(borrower.borrowed)
        if end is None or not left:
            return
        for held in self.reservations:
            if held.estimate is not None and end <= held.estimate:
                held.lend(left)
        self.holdings.sum_up(self.beside(None))

    def leave_what_is_taken(self, ahead: Collection[int]) -> None:
        """Jobs behind a start that took of what they held keep what is left; nothing is lent.

        ahead: numbers of the jobs before it, whose slots nobody has taken.
        """
        left = self._free_slots()
        first = [held for held in self.reservations if held.state.number in ahead]
        behind = [held for held in self.reservations if held.state.number not in ahead]
        for held in (*first, *behind):
            lent = dict(held.backfilled)
            held.count_backfilled(left)
            held.backfilled = lent
        self.holdings.sum_up(self.beside(None))

    def close(self) -> None:
        """Cut reservations down to what backfill has left, and write down what is reserved."""
        world = self.world
        self._cut_down()
        slots: dict[str, Allocation] = {}
        for held in self.reservations:
            state = held.state
            slots[state.job.id] = held.reserved
            state.expected = held.estimate
            if held.estimate is not None and state.estimate is None:
                state.estimate, state.estimated_at = held.estimate, world.now
                state.estimate_by = held.method
        for name in list(self._slots_held):
            state = world.states.of(name)
            if state.start is not None:
                del self._slots_held[name]
                continue
            self._notify_order(state, slots.get(name, {}))
            if name not in slots:
                self._hosts_held(state, (), by_hosts=True)
        self.record.reservations = self.reservations
        self.record.pending = len(world.pending)

    def reserved_so_far(self, job: Job) -> dict[str, int]:
        """What the order has been told that a pending job holds, by host name."""
        return self.world.named(self._slots_held.get(job.id, {}))

    def _notify_order(self, state: JobState, slots: Allocation) -> None:
        """What a pending job holds counts for its account (FSH-04); said where it is news."""
        if slots == self._slots_held.get(state.job.id, {}):
            return
        if not isinstance(self.world.order, FirstCome):
            self.world.order.reserved(state.job, self.world.named(slots), self.world.now)
            self.record.booked = True
        self._slots_held[state.job.id] = slots
        if not slots:
            del self._slots_held[state.job.id]

    def signature(self) -> tuple[object, ...]:
        """What is reserved, to be compared with the last cycle's."""
        return tuple(
            (
                held.state.number,
                held.estimate,
                *(tuple(x.items()) for x in (held.slots, held.memory)),
            )
            for held in self.reservations
        )

    def to_state(self) -> dict[str, Any]:
        """What the next cycle needs to know of this one, as plain data."""
        return {
            "slots_held": {name: self.world.named(on) for name, on in self._slots_held.items()},
            "timed": list(self.timed),
            "started": self.record.started,
        }

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Take over what :meth:`to_state` gave."""
        index = self.world.index
        self._slots_held = {
            name: {index[host]: slots for host, slots in on.items()}
            for name, on in state["slots_held"].items()
        }
        self.timed = {number: self.world.states.keep(number) for number in state["timed"]}
        self.record.started = list(state["started"])
