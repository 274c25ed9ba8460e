"""The simulated cluster over time: running jobs, free resources, and events to come.

Nothing is decided here. What the cycle decides is carried out, and the books are kept: the present,
the profile of running jobs, the order's accounts and the events to come.

Ends of the initially running jobs, real and expected, as columns. The result equals that of
:meth:`.World.begun` for each job and its state.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np

from ...model.duration import (
    killed_by_clock,
    last_start,
    spans_of_running,
    undisturbed_finish,
    within_queue_limit,
)
from ...model.instance import Instance
from ...model.job import Job, RunningJob
from ...model.reservation import Reservation
from ..availability.demand import Demand, HeldPart
from ..availability.resources import Allocation, FloatArray, IntArray, Pool, ResourceTable
from ..availability.running_profile import FreeNow, Hold, RunningProfile
from ..availability.usage import FOREVER
from ..fairshare.dispatch_order import DispatchOrder
from ..fairshare.priority_order import DispatchPolicy, FirstCome
from ..placement.earliest import held_by_terms
from ..precedence import NEVER_SATISFIED
from ..problem import Running
from ..rules.eligibility import add_reserved_load
from .dependents import ConditionState, Dependents
from .events import EventQueue
from .job_state import (
    DONE,
    FUTURE,
    KILLED,
    PENDING,
    PREEMPTED,
    RUNNING,
    SUSPENDED,
    Event,
    JobState,
    JobStates,
    RunningStates,
    Shape,
    ShapeTable,
)

Amount = TypeVar("Amount", int, float)


def ends_of_running(
    requests: ShapeTable, running: Sequence[RunningJob], now: int
) -> tuple[IntArray, IntArray]:
    """Return real and expected ends of jobs if nothing else happens, [n] each; FOREVER for never.

    Jobs beyond their limits are expected to end in the next second. Suspended jobs count as
    running.
    """
    spans = [spans_of_running(item, requests.spans(item.job)) for item in running]
    starts = np.fromiter((item.start for item in running), np.int64, len(running))
    durations, limits, works = (
        np.array([FOREVER if value is None else value for value in column], dtype=np.int64)
        for column in (
            [duration for duration, _ in spans],
            [limit for _, limit in spans],
            [item.job.run_time for item in running],
        )
    )
    killed = np.full(len(running), FOREVER, dtype=np.int64)
    for at, item in enumerate(running):
        if item.job.deadline is not None or item.job.reservation:
            end = killed_by_clock(requests.instance, item.job, item.start)
            killed[at] = FOREVER if end is None else end
    before = _after(starts, durations)
    # A job beyond its estimate is expected to end at its run limit.
    expected = np.where(before > now, before, _after(starts, limits))
    told = np.where(expected < FOREVER, np.maximum(expected, now + 1), FOREVER)
    done = np.where(works < FOREVER, _after(starts, works), told)
    ends = np.minimum(np.minimum(done, _after(starts, limits)), killed)
    return ends, np.maximum(np.minimum(expected, killed), now + 1)


def _after(starts: IntArray, spans: IntArray) -> IntArray:
    """Return the starts plus a duration; FOREVER if the duration is."""
    ends: IntArray = np.where(spans < FOREVER, starts + spans, FOREVER)
    return ends


class RunningSubsets:
    """The running jobs that need special treatment, by number."""

    def __init__(self) -> None:
        #: Running jobs that are suspended; they keep their slots or have released them.
        self.suspended: dict[int, JobState] = {}
        #: Resizable running jobs.
        self.growing: dict[int, JobState] = {}
        #: Jobs that backfilled reserved slots.
        self.backfilled: dict[int, JobState] = {}
        #: When each job was first preempted, by its id.
        self.preempted: dict[str, int] = {}
        #: Numbers of the finished jobs whose use is not released yet.
        self.leaving: list[int] = []

    def add(self, state: JobState) -> None:
        """Add a running job to its subsets."""
        if state.job.resizable:
            self.growing[state.number] = state
        if state.backfilled_slots:
            self.backfilled[state.number] = state

    def discard(self, number: int) -> None:
        """Remove a job that no longer runs."""
        for of in (self.suspended, self.growing, self.backfilled):
            of.pop(number, None)


class ArrivalOrder:
    """The order in which jobs have become pending."""

    def __init__(self) -> None:
        self.count = 0
        #: Jobs that finished since the last cycle.
        self.new: list[JobState] = []
        #: Numbers of jobs with a begin time, a dependency or another rule of their own.
        self.own_rules: set[int] = set()

    def number(self, state: JobState) -> None:
        """Set the arrival number of a job, so that it is the last pending one."""
        state.arrival = self.count
        self.count += 1

    def withdraw(self, state: JobState) -> None:
        """Withdraw a job that is no longer pending, or has changed."""
        self.new = [other for other in self.new if other is not state]


class World:
    """The states of all jobs by number, the resources that jobs use, and the events to come."""

    def __init__(
        self,
        instance: Instance,
        requests: ShapeTable,
        order: DispatchPolicy,
        cycle: int,
        states: JobStates,
    ) -> None:
        self.instance = instance
        self.requests = requests
        self.order = order
        #: Seconds between two cycles.
        self.cycle = cycle
        self.now = instance.now
        #: Use of the hosts by running jobs, now and over time.
        self.running_profile = RunningProfile(self.table, instance.now)
        self.events = EventQueue()
        self.states = states
        self.pending: dict[int, JobState] = {}
        self.running: MutableMapping[int, JobState] = {}
        #: The running jobs that need attention of their own.
        self.subsets = RunningSubsets()
        #: Jobs that have become pending.
        self.arrivals = ArrivalOrder()
        self.names = [host.name for host in instance.cluster.hosts]
        #: Whether anything has happened since the last cycle.
        self.changed = True
        self.dependents: Dependents | None = None

    @property
    def table(self) -> ResourceTable:
        """Return the resources and limits of the instance."""
        return self.requests.resolver.table

    @property
    def index(self) -> Mapping[str, int]:
        """Return the host indices by name."""
        return self.requests.resolver.host_index()

    @property
    def free_now(self) -> FreeNow:
        """Return the resources that are free now."""
        return self.running_profile.free_now

    @property
    def last_accepted(self) -> IntArray:
        """Return the time at which each host accepted its last job, [H]."""
        return self.running_profile.last_accepted

    def reserved_load(self, name: str) -> FloatArray:
        """Return the amount of a load index that running jobs reserve, [H] (RSV-01)."""
        total = np.zeros(len(self.names))
        for state in self.running.values():
            assert state.start is not None
            elapsed = self.now - state.start
            hosts = list(state.allocation)
            add_reserved_load(
                total, self.requests.resolver, name, state.job, state.alternative, elapsed, hosts
            )
        return total

    def eligible_time(self, job: Job) -> int:
        """Return when a job is submitted and its begin time has come (seconds); not before the
        first cycle.
        """
        return max(job.submit, job.begin or job.submit, self.instance.now)

    def expect(self, state: JobState) -> None:
        """Record that the begin time of a job has changed to a later one."""
        self.events.push(self.eligible_time(state.job), Event.SUBMIT, state.number)

    def leave_queue(self, state: JobState) -> None:
        """Withdraw a pending job with a new dependency condition (-w) until the condition is
        satisfied.
        """
        del self.pending[state.number]
        state.status = FUTURE

    def wait_for_others(self, state: JobState) -> bool:
        """Return whether an arriving job has an unsatisfied dependency (-w)."""
        dependents = self.dependents
        if dependents is None or not state.job.dependency:
            return False
        if not dependents.may_be_eligible(state):
            if not dependents.knows(state):
                dependents.take(state)
                self._resolve_dependency(state, dependents.holds(state.job), self.now)
            elif self._is_over(state, dependents):
                self.cancel(state)
            return True
        if self._still_thinks(state, dependents):
            if state.number not in dependents.waiting:
                dependents.take(state)
            self._resolve_dependency(state, ConditionState.YES, self.now)
            return True
        state.released = dependents.released(state, self.now)
        dependents.release(state)
        return False

    def _still_thinks(self, state: JobState, dependents: Dependents) -> bool:
        """Whether the condition of a job is satisfied, but its think time has not passed."""
        if not state.job.think_time or state.number in dependents.ready:
            return False
        held = dependents.held_since(state.job)
        return held is None or self.now < held + state.job.think_time

    def _is_over(self, state: JobState, dependents: Dependents) -> bool:
        """Whether the grace period of a job with an unsatisfiable condition has passed."""
        since, grace = dependents.orphans.get(state.number), dependents.orphan_grace(state)
        return since is not None and grace is not None and self.now >= since + grace

    def _notify_dependents(self, state: JobState, soonest: int) -> None:
        """Update the jobs that depend on a job that has started or ended.

        soonest: earliest instant at which such a job becomes eligible.
        """
        if self.dependents is not None:
            for other, holds in self.dependents.moved(state.job.id):
                self._resolve_dependency(other, holds, soonest)

    def _resolve_dependency(self, state: JobState, holds: ConditionState, soonest: int) -> None:
        """Release a waiting job whose condition is satisfied, or record that the condition is
        unsatisfiable.
        """
        dependents = self.dependents
        assert dependents is not None
        if holds is ConditionState.YES:
            think = state.job.think_time
            if think:
                dependents.ready.add(state.number)
            held = dependents.held_since(state.job) if think else None
            over = (self.now if held is None else held) + think
            at = max(soonest, over, self.eligible_time(state.job))
            self.events.push(at, Event.SUBMIT, state.number)
        elif holds is ConditionState.NEVER and state.number not in dependents.orphans:
            dependents.orphans[state.number] = self.now
            state.current_reason = NEVER_SATISFIED
            grace = dependents.orphan_grace(state)
            if grace is not None:
                self.events.push(max(soonest, self.now + grace), Event.SUBMIT, state.number)

    def add_job(self, job: Job) -> None:
        """Add a job that was not in the input, submitted now or later."""
        self.expect(self.states.add(job))

    def add_running(self, state: JobState, running: RunningJob) -> None:
        """Add a job that is already running."""
        self.begun(state, running)
        self._run(state, self.holds(state))
        hosts = list(state.allocation)
        accepted = self.last_accepted
        accepted[hosts] = np.maximum(accepted[hosts], running.start)
        if running.suspended:
            self.suspend(state, "before", self.instance.now)

    def begun(self, state: JobState, running: RunningJob) -> None:
        """Set the start, the allocation and the run time of a running job."""
        self.set_durations(state)
        if running.job.run_time is None:
            finish = undisturbed_finish(self.instance, replace(running, suspended=False))
            soonest = self.instance.now + 1
            state.real_run_time = None if finish is None else max(finish, soonest) - running.start
        state.duration, state.limit = spans_of_running(running, (state.duration, state.limit))
        state.start = state.since = state.allocated_at = running.start
        state.terms = ({self.index[name]: n for name, n in running.allocation.items()},)
        state.alternative = running.alternative

    def add_all_running(self, *, with_events: bool) -> None:
        """Enter all jobs that are already running.

        Those of the plain kind get their state object when it is first asked for.
        with_events: False for a plan, in which no time passes and no job ends.
        """
        running = self.instance.running
        self.running = RunningStates(range(len(running)), self.states.activate)
        ends, expected = ends_of_running(self.requests, running, self.now)
        stopped = np.fromiter((item.suspended for item in running), bool, len(running))

        def by_itself(number: int) -> None:
            self.add_running(self.states.activate(number), running[number])

        plain = self.requests.loader.enter(
            Running(running, np.arange(len(running)), expected, (ends > self.now) & ~stopped),
            self.running_profile,
            other=by_itself,
            keep=not with_events,
        )
        self.states.entered(set(plain.tolist()), self._runs_on)
        for number in plain.tolist():
            if running[number].job.resizable:
                self.subsets.growing[number] = self.states.activate(number)
        if with_events:
            self._expect_ends(plain, ends[plain], expected[plain])
        self.changed = True

    def make_states(self) -> None:
        """Make the missing state objects of running jobs."""
        for number in self.running:
            self.states.activate(number)

    def _runs_on(self, state: JobState) -> JobState:
        """Return the state of a running job whose rows have been entered."""
        self.begun(state, self.instance.running[state.number])
        state.status = RUNNING
        self.running_profile.list_parts(state.number, self.holds(state))
        return state

    def _expect_ends(self, numbers: IntArray, ends: IntArray, expected: IntArray) -> None:
        """Set expected ends of running jobs without special states, in one pass
        (:meth:`expect_end`).
        """
        soonest = self.now + 1
        after = np.where(expected == soonest, self.now + max(1, self.cycle), expected)
        known = np.maximum(ends, soonest) < FOREVER
        late = expected < ends
        real = (np.maximum(ends, soonest)[known].tolist(), numbers[known].tolist())
        over = (after[late].tolist(), numbers[late].tolist())
        self.events.push_by_job(
            (time, kind, number)
            for kind, columns in ((Event.END, real), (Event.OVERDUE, over))
            for time, number in zip(*columns, strict=True)
        )

    def submit(self, state: JobState) -> None:
        """Submit a job, which becomes pending."""
        state.status = PENDING
        self._wait(state)
        self.arrivals.new.append(state)
        self.enter(state)

    def enter(self, state: JobState) -> None:
        """Enter a pending job into its queue by its present options."""
        state.shape = None
        self.requests.submitted(state.job)
        self.set_durations(state, margin=self.requests.margin)
        self._queue(state)
        self._expect_abort(state)
        self.changed = True

    def _expect_abort(self, state: JobState) -> None:
        """Schedule the abort of a pending job at the instant after which it cannot run to its limit
        before -t.
        """
        last = last_start(self.instance, state.job)
        if last is not None:
            self.events.push(max(self.now, last + 1), Event.ABORT, state.number)

    def may_start_by_deadline(self, state: JobState) -> bool:
        """Whether a waiting job could still run for its limit before its termination time (-t)."""
        last = last_start(self.instance, state.job)
        return last is None or max(self.now, state.job.begin or self.now) <= last

    def withdraw(self, state: JobState) -> None:
        """Remove a pending job from its position in the queue."""
        self.order.withdrawn(state.job)
        self.arrivals.withdraw(state)

    def _wait(self, state: JobState) -> None:
        self.pending[state.number] = state
        self.arrivals.number(state)

    def _queue(self, state: JobState) -> None:
        job = state.job
        if (
            job.begin is not None
            or job.dependency
            or state.requeues
            or state.reserved is not None
            or last_start(self.instance, job) is not None
        ):
            self.arrivals.own_rules.add(state.number)
        kind = self.requests.kind(state.job, state.limit)
        if state.released is not None and isinstance(self.order, DispatchOrder):
            self.order.priorities.released(state.job, state.released)
        self.order.submitted(state.job, state.number, state.arrival, kind)

    def set_durations(self, state: JobState, *, margin: int = 0) -> None:
        """Set the expected duration of the job, `margin` seconds longer, and its real run time."""
        job = state.job
        state.duration, state.limit = self.requests.spans(job)
        state.reserved = self.requests.reserved(job)
        if margin:
            state.duration, state.limit = (
                None if seconds is None else seconds + margin
                for seconds in (state.duration, state.limit)
            )
        state.real_run_time = state.duration if job.run_time is None else job.run_time

    def start(
        self, state: JobState, demand: Demand, terms: Sequence[Allocation], alternative: int
    ) -> None:
        """Start a pending job now."""
        now = self.now
        del self.pending[state.number]
        state.start = state.since = state.allocated_at = now
        state.elapsed = 0
        state.terms, state.alternative = tuple(terms), alternative
        self._run(state, holds_of(demand, terms, alternative, self.table.pools))
        self.last_accepted[list(state.allocation)] = now
        if isinstance(self.order, FirstCome):
            self.order.withdrawn(state.job)
        else:
            memory = [part.amount * float(part.times.sum()) for part in self._memory(state.number)]
            self.order.started(state.job, self.named(state.allocation), now, sum(memory))
        state.holding.clear()
        # Jobs start within a cycle; a job whose dependency is satisfied by such a start is examined
        # in the next one.
        self._notify_dependents(state, now + 1 if self.cycle else now)

    def _run(self, state: JobState, holds: Sequence[Hold]) -> None:
        state.status = RUNNING
        assert state.start is not None
        self.running[state.number] = state
        self.subsets.add(state)
        finish = state.expected_end(self.now)
        self.running_profile.started(state.number, holds, state.start, finish, self._loads(state))
        self.expect_end(state)
        self.changed = True

    def expect_end(self, state: JobState) -> None:
        """Schedule the end of a running job at the end of its work or at its limit.

        A job that runs in the instance also runs at the instance's now, so it ends one second later
        or more.
        """
        end = state.real_end()
        ran_before = state.number < len(self.instance.running)
        earliest = max(self.now, self.instance.now + 1) if ran_before else self.now
        if end is not None:
            self.events.push(max(end, earliest), Event.END, state.number)
        self._expect_overdue(state, end, self.now)

    def _expect_overdue(self, state: JobState, end: int | None, now: int) -> None:
        """Schedule an event for an overdue job, at its expected end or one cycle from now."""
        expected = state.expected_end(now)
        if expected is not None and (end is None or expected < end):
            again = now + max(1, self.cycle) if expected == now + 1 else expected
            self.events.push(again, Event.OVERDUE, state.number)

    def end(
        self, state: JobState, time: int, *, killed: bool | None = None, releases: bool = True
    ) -> None:
        """End a running job (LOP-02).

        killed: whether its run limit ends it, None to determine it. releases: release its use now;
        otherwise the caller calls :meth:`release` before it reads free resources.
        """
        if state.status == PREEMPTED:
            state.allocated_at = time  # Other jobs have already taken the slots of the job.
        self._remove(state)
        if releases:
            self.release()
        killed = state.cut_short_at(time) if killed is None else killed
        state.status = KILLED if killed else DONE
        state.end = time
        self.order.ended(state.job.id, time)
        self.states.close(state)
        self._notify_dependents(state, time)

    def cancel(self, state: JobState) -> None:
        """Kill a job that has not started."""
        if self.pending.pop(state.number, None) is not None:
            self.withdraw(state)
        if self.dependents is not None:
            self.dependents.release(state)
        state.status, state.end = KILLED, self.now
        self.changed = True
        self.states.close(state)
        self._notify_dependents(state, self.now)

    def requeue(self, state: JobState) -> None:
        """Requeue a running job that loses its host; it will run from its beginning."""
        if state.status != PREEMPTED:
            state.close_allocation(self.now)
        self._remove(state)
        self.release()
        self.order.ended(state.job.id, self.now)
        state.requeue()
        again = within_queue_limit(self.instance, state.job)
        if again.requirement_alternative is not None:
            again, state.shape = replace(again, requirement_alternative=None), None
        self.states.modify(state, again)
        state.duration, state.limit = self.requests.spans(state.job)
        self._wait(state)
        self._queue(state)
        self._expect_abort(state)

    def _remove(self, state: JobState) -> None:
        self.subsets.leaving.append(state.number)
        self.running.pop(state.number)
        self.subsets.discard(state.number)
        self.changed = True

    def release(self) -> None:
        """Release the use of the jobs that finished since the last call, in their order."""
        if self.subsets.leaving:
            self.running_profile.ended(*self.subsets.leaving)
            self.subsets.leaving.clear()

    def restore(self, state: JobState, finish: int | None, amounts: Sequence[float]) -> None:
        """Restore a running or suspended job from a checkpoint; finish: expected end, None if it
        has no row.
        """
        assert state.start is not None
        self.running_profile.restore(
            state.number, self.holds(state), state.start, finish, amounts, self._loads(state)
        )
        self.running[state.number] = state
        self.subsets.add(state)
        if state.status != RUNNING:
            self.subsets.suspended[state.number] = state

    def enter_limits_of_running(self) -> None:
        """Enter the limits of the initially running jobs into the table, in the order of these
        jobs.
        """
        for running in self.instance.running:
            allocation = {self.index[name]: slots for name, slots in running.allocation.items()}
            self.requests.resolver.running_uses(running, allocation)

    def wait_again(self, state: JobState) -> None:
        """Restore a waiting job from a checkpoint."""
        self._wait(state)
        self._queue(state)

    def suspend(self, state: JobState, by: str, now: int) -> None:
        """Suspend a running job on its slots, which no other job may use (RSV-11).

        Its end is unknown until it resumes, but -t and a closed reservation end it all the same.
        """
        if (killed := state.killed_at(state.start or 0)) is not None:
            self.events.push(max(killed, self.instance.now + 1), Event.END, state.number)
        state.elapsed += now - state.since
        state.status, state.suspended_by = SUSPENDED, by
        state.suspensions += 1
        self.subsets.suspended[state.number] = state
        self._update_expected_end(state, None)
        self.order.suspended(state.job.id, now)
        self.changed = True

    def preempt(self, state: JobState, by: str, now: int) -> None:
        """Suspend a running job, which releases its slots and nothing else to another job
        (LOP-06).
        """
        self.suspend(state, by, now)
        self.order.suspended(state.job.id, now, preempted=True)
        state.status = PREEMPTED
        self.subsets.preempted.setdefault(state.job.id, now)
        state.close_allocation(now)
        self.running_profile.preempted(state.number)

    def resume(self, state: JobState, now: int) -> None:
        """Resume a suspended job where it stopped."""
        if state.status == PREEMPTED:
            state.allocated_at = now
            self.running_profile.set_slots(state.number, 1.0)
        state.status, state.since, state.suspended_by = RUNNING, now, ""
        del self.subsets.suspended[state.number]
        self._update_expected_end(state, self.now)
        self.expect_end(state)
        self.order.resumed(state.job.id, now)
        self.changed = True

    def _update_expected_end(self, state: JobState, at: int | None) -> None:
        """Set another expected finish of a running job (seconds), None if it is unknown."""
        assert state.start is not None
        finish = state.killed_at(state.start) if at is None else state.expected_end(at)
        self.running_profile.moved(state.number, state.start, finish)

    def new_limits(self, state: JobState) -> None:
        """Apply a new run limit to a running job."""
        self.set_durations(state)
        if state.status == RUNNING:
            self._update_expected_end(state, self.now)
            self.expect_end(state)
        self.changed = True

    def overdue(self, state: JobState, time: int) -> None:
        """Expect the end of an overdue job in the second after `time`."""
        self._update_expected_end(state, time)
        self._expect_overdue(state, state.real_end(), time)
        self.changed = True

    def resize(self, state: JobState, allocation: Allocation) -> None:
        """Change the allocation of a running job to `allocation` (TBR-14, FSH-15)."""
        state.close_allocation(self.now)
        self.running_profile.ended(state.number)
        assert state.start is not None
        state.terms = (allocation,)
        holds, finish = self.holds(state), state.expected_end(self.now)
        self.running_profile.started(state.number, holds, state.start, finish, self._loads(state))
        self.order.resized(state.job.id, self.named(allocation), self.now)
        self.changed = True

    def advance_clock(self, now: int) -> None:
        """Advance the clock to `now`, for events between cycles."""
        self.now = self.running_profile.now = max(now, self.now)

    def advance(self, now: int) -> None:
        """Update the amounts that decay over time to `now` (RSV-02)."""
        self.now = now
        self.running_profile.advance(now)

    def holds(self, state: JobState) -> list[Hold]:
        """Return the resources that a running job uses, and their hosts."""
        if state.number < len(self.instance.running) and not state.requeues:
            running, resolver = self.instance.running[state.number], self.requests.resolver
            blocked = resolver.blocked_units(state.job, state.allocation)
            uses = resolver.running_uses(running, state.allocation)
            return [(use, part, blocked) for use, part in uses]
        demand = self.shape(state).demand
        return holds_of(demand, state.terms, state.alternative, self.table.pools)

    def shape(self, state: JobState) -> Shape:
        """Return the shape of a job, computed at the first call."""
        if state.shape is None:
            state.shape = self.requests.waiting_shape(state.job)
        return state.shape

    def choose(self, state: JobState, job: Job) -> None:
        """Give a pending job the alternative in braces with which it starts now."""
        self.states.modify(state, job)
        state.shape = self.requests.shape(job)

    def wait_by(self, state: JobState, job: Job | None) -> None:
        """Let a pending job reserve by the alternative in braces that `job` has; None: by the first
        one that ever fits.
        """
        state.shape = None if job is None else self.requests.shape(job)

    def named(self, amounts: Mapping[int, Amount]) -> dict[str, Amount]:
        """Return an allocation, or other amounts by host, by host names."""
        return {self.names[host]: amount for host, amount in amounts.items()}

    def _loads(self, state: JobState) -> Iterable[Reservation]:
        """Return the load indices that a running job reserves."""
        return self.requests.resolver.load_reservations(state.job, state.alternative)

    def _memory(self, job: int) -> Iterable[HeldPart]:
        for part in self.running_profile.parts[job]:
            if not part.pool and self.table.host_resources[part.index].name == "mem":
                yield part


def holds_of(
    demand: Demand, terms: Sequence[Allocation], alternative: int, pools: Sequence[Pool]
) -> list[Hold]:
    """Return the use of a job's terms: uses, slots by host, and hosts that it owns (cu[excl])."""
    if len(terms) > 1:  # none of which has cu[]
        uses = [term.alternatives[alternative] for term in demand.terms]
        return [(*part, []) for part in held_by_terms(zip(uses, terms, strict=True), pools)]
    term, allocation = demand.terms[0], terms[0]
    whole: list[int] = []
    if term.unit is not None and term.unit.excl:
        whole = term.unit.members(allocation)
    return [(term.alternatives[alternative], allocation, whole)]
