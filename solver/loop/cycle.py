"""One scheduling cycle, phase by phase (LOP-01); docs/loop.md tells it in order.

1. Suspended jobs go on where they may.
2. Allocation: the pending jobs in order; each starts, or pends with a reservation or without.
3. Backfill: jobs of BACKFILL queues on slots that others hold.
4. Preemption. 5. Growth of resizable jobs, where it had no turn among the pending jobs.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from ...model.job import Job
from ..availability.arrays import BoolArray
from ..availability.resources import SLOTS
from ..budget import Budget
from ..fairshare.dispatch_policy import FirstCome
from ..fairshare.stages import Offer
from ..methods.greedy import Greedy
from ..methods.registry import METHODS
from ..methods.reserving import may_reserve, runs_out, too_late
from ..placement.earliest import Start
from ..rules.eligibility import Eligibility
from ..rules.preempting import preempting_pairs
from ..world.cycle_record import CycleRecord
from ..world.cycle_state import CycleState
from ..world.held import Held
from ..world.job_state import RUNNING, JobState
from ..world.settings import Settings
from ..world.world import World
from . import backfill, preemption, resizing
from .passing_over import may_any_start
from .standing import events_alone_count, stands


class Cycle:
    """The cycles of one simulation. `run` is one of them."""

    def __init__(
        self, world: World, eligibility: Eligibility, settings: Settings, budget: Budget
    ) -> None:
        self.state = CycleState(world, eligibility, settings, budget)
        self.budget = budget
        self.world = world
        self.settings = settings
        self.method = METHODS[settings.reservation]
        queues = world.instance.queues
        self.backfills = any(queue.backfill for queue in queues)
        self.preempts = bool(preempting_pairs(world.instance)) and not settings.planning
        #: Whether every job has its turn in every cycle, for those who ask why each one waits.
        self.whole_walks = False
        #: The one job that is asked about: once it starts in its turn, nothing else is decided.
        self.wanted: str | None = None
        self.answered = False
        self._last: tuple[object, ...] = ()
        self._later: list[tuple[JobState, Offer]] = []
        self._lenders: set[int] = set()
        self._events_alone = events_alone_count(self.state)
        #: Whether the next cycle would do what the last did, if nothing happens.
        self._calm = False
        #: When what the last cycle held for a job is held no more: it could not end in time.
        self.too_late: list[int] = []
        #: How many newcomers the last cycle looked at if it was left out, None if it was run.
        self._passed: int | None = None

    @property
    def passed(self) -> bool:
        """Whether the last cycle was left out: whatever the order, nobody could start."""
        return self._passed is not None

    @property
    def record(self) -> CycleRecord:
        """What the last cycle did."""
        return self.state.record

    @property
    def reservations(self) -> list[Held]:
        """What pending jobs have reserved in the last cycle."""
        return self.state.reservations

    def run(self, *, only_submissions: bool = False) -> CycleRecord:
        """One cycle at the world's time; only_submissions: nothing else happened since the last."""
        state = self.state
        self._passed = None
        newcomers = {job.number for job in self.world.fresh}
        stands = only_submissions and self._only_for(newcomers)
        if stands:
            state.go_on()
            if not newcomers:
                self._close()
                return state.record
            if not state.nothing_left:
                self._take_turns()
            self._tell_newcomers()
        else:
            state.begin()
            preemption.resume(state)
            self._allocate()
        if self.answered:
            return state.record
        if self.backfills and state.reservations:
            backfill.run(state, newcomers if stands else ())
        for job, offer in self._in_waiting_order():
            if self.budget.late():
                break
            state.looked_at.add(job.number)
            found = self.decide(job, offer)
            if isinstance(found, Start):
                continue  # who let it go has started in this cycle: it has its turn in the next
            if found is not None:
                state.keep(found)
        if self.preempts:
            preemption.run(state)
        if not self.settings.planning:
            resizing.grow_last(state)
        self._close()
        return state.record

    def _only_for(self, newcomers: Collection[int]) -> bool:
        """Whether this cycle need look at none but these, by number; they are next in the order."""
        order = self.world.order
        return (
            self._calm
            and isinstance(order, FirstCome)
            and stands(self.state)
            and (not newcomers or order.begin_with_newcomers(newcomers))
        )

    def pass_over(self, *, only_submissions: bool = False) -> bool:
        """Leave a cycle out in which no job could start even if nothing was held for any other.

        Reservations are not renewed then. only_submissions: nothing else happened since the last
        cycle: if that was left out, those who waited then still cannot start, and only newcomers
        are looked at. Whether it was left out.
        """
        world, state = self.world, self.state
        known = self._passed if only_submissions else None
        among = world.pending.values() if known is None else world.fresh[known:]
        self._passed = None
        if self.preempts or world.suspended or world.growing or may_any_start(state, among):
            return False
        self._passed = len(world.fresh)
        state.record = CycleRecord(world.now, pending=len(world.pending))
        world.changed = self._calm = False
        return True

    def _allocate(self) -> None:
        order, state = self.world.order, self.state
        wishes: list[Job] = []
        if not isinstance(order, FirstCome) and not self.settings.planning:
            wishes = resizing.wishes(state)
        order.begin_with_those_told(self.world.now, wishes, state.open_slots())
        self._later.clear()
        # Slots that these jobs lent to backfill are theirs still, though none is free.
        self._lenders = (
            {n for n in state.timed if state.timed[n].held} if state.loans.any else set()
        )
        self.method.before(state)
        if isinstance(order, FirstCome) or not self._nothing_left():
            self._take_turns()
        if not self.answered:
            self._tell_newcomers()

    def _take_turns(self) -> None:
        """Every job from the one at hand on has its turn, as long as a turn may change anything."""
        order, state = self.world.order, self.state
        state_of = self.world.states.of
        while (offer := order.next()) is not None and not self.budget.late():
            job = state_of(offer.job.id)
            self._lenders.discard(job.number)
            if job.status == RUNNING:
                resizing.grow(state, offer)
                order.skipped(offer.job)
            elif not self._consider(job, offer):
                order.skipped(offer.job)
                if self._nothing_left():
                    state.nothing_left = True
                    state.curtailed |= self.method.looks_ahead and self.budget.stopped()
                    break
            elif offer.job.id == self.wanted:
                self.answered = True
                return

    def _nothing_left(self) -> bool:
        """Whether the rest of the queue can neither start nor reserve: no slot is free."""
        state = self.state
        if not state.recount:
            return False
        if self.method.looks_ahead and not self.budget.stopped():
            # On another partition's hosts a job that has a place may have an earlier one (TBR-12).
            again = bool(state.instance.partitions) and bool(state.reservations)
            if again or state.room_at_the_top():
                return False
        state.recount = False
        view = state.beside(None)
        if (view.free(SLOTS, view.now) > 0).any() or self._lenders:
            return False
        return self._rest_is_idle()

    def _rest_is_idle(self) -> bool:
        """Whether turns without a free slot say nothing that is not known without them.

        A reservation whose time is over ends in its turn (GRD-06, MEM-04). Pools and partitions
        say why they hold a newcomer back only when its turn comes.
        """
        state, world = self.state, self.world
        if self.settings.planning and state.precedence:
            return False  # those that wait for others get an estimate all the same
        told = isinstance(world.order, FirstCome)
        if not told and (self.settings.planning or self.whole_walks):
            return False
        waiting, seen = world.pending, state.looked_at
        shared = bool(state.instance.partitions) or any(q.slot_pool for q in state.instance.queues)
        if shared and any(job.number in waiting and job.number not in seen for job in world.fresh):
            return False
        return not any(
            number in waiting and number not in seen and runs_out(state, job)
            for number, job in state.timed.items()
        )

    def _tell_newcomers(self) -> None:
        """Every job has a reason from its first cycle on, also behind the end of the walk."""
        for job in self.world.fresh:
            if self.budget.late():
                break
            if job.start is None and not job.reason:
                shape = self.state.shape(job)
                closed = self.state.eligibility.closed(job.job.queue, None)
                known = self.world.order.refusal(job.job) or shape.never
                if not known and not isinstance(self.world.order, FirstCome):
                    known = self.state.not_yet(job.job, job.duration)
                self.state.note(job, known or self.state.why(job, shape, closed))
        self.world.fresh.clear()

    def _consider(self, job: JobState, offer: Offer) -> bool:
        """Start one job, or else reserve for it; whether it started."""
        state = self.state
        if offer.withheld:
            state.withheld[job.number] = offer.withheld
        if self.settings.planning and self._waits_for_the_clock(job, offer):
            # It does not count for the others before its time has come.
            self._later.append((job, offer))
            return False
        state.looked_at.add(job.number)
        found = self.decide(job, offer)
        if isinstance(found, Start):
            held = state.holds(job)
            state.start(job, found, offer=offer)
            if held:
                state.give_up(job)
            return True
        if found is not None:
            state.keep(found)
        return False

    def decide(self, job: JobState, offer: Offer, *, may_hold: bool = True) -> Start | Held | None:
        """What a job gets in its turn: a start now, or what it holds until later, or nothing.

        Its reason is noted; nothing else changes. may_hold: whether it is asked what it would hold.
        """
        state = self.state
        shape = state.shape(job)
        if reason := state.barred(job, offer):
            state.note(job, reason)
            if self.settings.planning and self._waits_for_the_clock(job, offer):
                return self._foresee(job, offer)
            return None
        closed = state.eligibility.closed(job.job.queue, offer.hosts)
        # Only partitions bring a job up again in a cycle, which may hold slots by then.
        holds = bool(state.instance.partitions) and state.holds(job)
        key = (shape.number, offer.hosts, offer.max_slots, state.span(job), holds)
        if key not in state.failed:
            start = state.try_start(shape, state.beside_others(closed, job), offer.max_slots)
            if start is not None:
                return start
            state.failed.add(key)
        if not job.reason:
            state.note(job, state.why(job, shape, closed))
        if not may_hold or not may_reserve(state, job):
            return None
        return self.method.reserve(state, job, self._closed_for_estimates(job, offer))

    def _waits_for_the_clock(self, job: JobState, offer: Offer) -> bool:
        """Whether nothing but its begin time or a window keeps a job from being considered."""
        state = self.state
        return bool(state.not_yet(job.job, job.duration)) and not state.shut_out(job, offer)

    def _in_waiting_order(self) -> list[tuple[JobState, Offer]]:
        """Those that wait for the clock or for others, each behind those it waits for (-w)."""
        names = dict.fromkeys(job.job.id for job, _ in self._later)
        rank = {name: at for at, name in enumerate(self.state.precedence.ordered(list(names)))}
        return sorted(self._later, key=lambda item: rank[item[0].job.id])

    def _closed_for_estimates(self, job: JobState, offer: Offer) -> BoolArray | None:
        """Hosts that a reservation leaves out: estimates know no dispatch windows (TBR-19).

        A plan knows when hosts that have just taken a job take the next; the loop's estimates
        leave them out (TBR-16).
        """
        return self.state.eligibility.closed(
            job.job.queue, offer.hosts, windows=False, intervals=not self.settings.planning
        )

    def _foresee(self, job: JobState, offer: Offer) -> Held | None:
        """An estimate for a job that waits for the clock or others: it holds nothing until then."""
        release = self.state.release_of(job.job)
        if release is None:
            return None
        held = self.method.reserve(self.state, job, self._closed_for_estimates(job, offer))
        if held is None:
            # Whatever is free then: it starts no sooner than others let it.
            return Held(job, Greedy.name, release) if job.job.dependency else None
        return replace(held, slots={}, memory={}, lent={}, alternative=None)

    # --- the end of the cycle -------------------------------------------------------------------

    def _close(self) -> None:
        self.state.close()
        record, signature = self.state.record, self.state.signature()
        done = record.started or record.preempted or record.resumed or record.resized
        self.world.changed = bool(done or self.state.moving or signature != self._last)
        self._last = signature
        self.too_late = [] if self.settings.planning else too_late(self.state)
        self._calm = self._events_alone and not (done or self.state.moving or self.state.shifted)

    @property
    def patience(self) -> int:
        """Seconds after which reservations have shown everything that they can do."""
        instance = self.world.instance
        cycles = [queue.reserve_cycles or 0 for queue in instance.queues]
        return 2 * (max(cycles, default=0) + 2) * instance.params.mbd_sleep_time

    # --- checkpoints ----------------------------------------------------------------------------

    def to_state(self) -> dict[str, Any]:
        """What the next cycle needs to know of this one, as plain data."""
        own = {"last": self._last, "booked": self.record.booked, "too_late": self.too_late}
        return {**self.state.to_state(), **own}

    def load_state(self, saved: Mapping[str, Any]) -> None:
        """Take over what :meth:`to_state` gave."""
        self.state.load_state(saved)
        self._last = _tuples(saved["last"])
        self.record.booked = saved["booked"]
        self.too_late = list(saved["too_late"])


def _tuples(nested: Any) -> Any:
    """Lists as JSON has them, as tuples again."""
    return tuple(map(_tuples, nested)) if isinstance(nested, list) else nested
