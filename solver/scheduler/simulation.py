"""A simulation from the instance's now to its end: events between cycles, cycles on a grid.

Cycles happen every MBD_SLEEP_TIME from the instance's now. A cycle that could not change anything -
no event since the last one, no window or interval that opens, nothing that falls, no reservation
that expires - is left out; the result is the same (`docs/loop.md`).

Commands of users on single jobs during a simulation: bkill, bmod, bswitch, btop, bbot, bresize. A
command that is invalid at its time, because the job has ended or runs already, is ignored with a
note, as LSF's commands reject it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from numbers import Integral
from time import monotonic
from typing import Any

import numpy as np

from ...model.changes import (
    DOWN,
    OK,
    Change,
    EarlyEnd,
    HostStatus,
    JobCommand,
    Kill,
    LoadReport,
    Modification,
    Moved,
    NewJob,
    QueueSwitch,
    Release,
    Resize,
    status_after,
)
from ...model.compact import Joined, no_collection
from ...model.duration import aborted
from ...model.errors import InputError, nearest
from ...model.formats.units import parse_duration
from ...model.instance import Instance
from ...model.job import Job
from ...model.modules import with_loaded_modules
from ...model.progress import OnProgress, Progress
from ...model.shares import aps_groups
from ..availability.usage import FOREVER
from ..budget import Budget
from ..fairshare.priority_order import FirstCome, dispatch_policy, next_reordering
from ..rules.eligibility import Eligibility
from ..rules.rule_book import unheeded_in_a_run
from .cycle import Cycle, take_over
from .cycle_state import CycleRecord, CycleState
from .dependents import Dependents
from .events import EFFORT, Settings
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
    ShapeTable,
)
from .loaded_jobs import LoadedRunningJobs
from .methods import Reservation, settings_for
from .records import JobRecords, Simulation, log_entry
from .reserving import expiries
from .world import World

_HAS_SLOTS = (RUNNING, SUSPENDED, PREEMPTED)
#: Options of a running job that bmod may change.
_OF_RUNNING = frozenset({"run_limit"})
#: Note on bmod -J "a%5", which no simulation obeys.
_SAME_LIMIT = "the limit of running elements of its array stays unchanged"


def resize(cycle: CycleState, change: Resize | Release) -> str:
    """Give a running job other slots; return a note if this is impossible, else ""."""
    world = cycle.world
    state = world.states.find(change.job)
    if state is None or state.status != RUNNING or len(state.terms) != 1:
        return "it is not running at that time"
    own = state.allocation
    if isinstance(change, Resize):
        wanted = {world.index[name]: n for name, n in change.allocation.items() if n > 0}
    else:
        given = {world.index[name]: n for name, n in change.slots.items()}
        if any(n > own.get(host, 0) for host, n in given.items()):
            return "it does not have this many slots there"
        wanted = {host: n - given.get(host, 0) for host, n in own.items() if n > given.get(host, 0)}
    if not wanted:
        return "it would have no slot left"
    free = world.free_now.host(0)
    if any(n - own.get(host, 0) > free[host] for host, n in wanted.items()):
        return "its hosts do not have this many free slots"
    world.resize(state, wanted)
    return ""


def apply_command(cycle: CycleState, command: JobCommand) -> str:
    """Apply one command now; return a note if the command has no effect, else ""."""
    state = cycle.world.states.find(command.job)
    if state is None:
        return "there is no such job"
    if state.status in (DONE, KILLED):
        return "it has ended"
    if state.status == FUTURE and state.job.submit > cycle.world.now:
        return "it is not submitted yet"
    match command:
        case EarlyEnd():
            return _end(cycle, state)
        case Kill():
            return _kill(cycle, state)
        case Moved():
            return _move(cycle, state, command.to)
        case QueueSwitch():
            if state.status in _HAS_SLOTS:
                return "it is already running"
            return _modify(cycle, state, replace(state.job, queue=command.queue))
        case Modification():
            if state.status in _HAS_SLOTS and set(command.fields) - _OF_RUNNING:
                return "it is running: only its run limit can be changed"
            # The running jobs were counted under the previous limit.
            fields = {**command.fields, "array_limit": state.job.array_limit}
            note = _modify(cycle, state, replace(state.job, **fields))
            other = command.fields.get("array_limit", state.job.array_limit)
            return note or ("" if other == state.job.array_limit else _SAME_LIMIT)


def _end(cycle: CycleState, state: JobState) -> str:
    if state.status not in _HAS_SLOTS:
        return "it is not running at that time"
    cycle.world.end(state, cycle.world.now, killed=False)
    return ""


def _kill(cycle: CycleState, state: JobState) -> str:
    world = cycle.world
    if state.status in _HAS_SLOTS:
        world.end(state, world.now, killed=True)
        return ""
    if state.status == PENDING:
        cycle.clear_holding(state)
    world.cancel(state)
    return ""


def _modify(cycle: CycleState, state: JobState, job: Job) -> str:
    world = cycle.world
    waits = world.dependents is not None and job.dependency != state.job.dependency
    if state.status == PENDING:
        cycle.clear_holding(state)
        world.withdraw(state)
        world.states.modify(state, job)
        if waits:
            world.leave_queue(state)
        else:
            world.enter(state)
    else:
        world.states.modify(state, job)
        if state.status in _HAS_SLOTS:
            world.new_limits(state)
    if (waits or job.begin is not None) and state.status in (PENDING, FUTURE):
        world.expect(state)
    world.changed = True
    return ""


def _move(cycle: CycleState, state: JobState, to: str) -> str:
    """Move a job before or behind the pending jobs of its queue and priority; the other jobs keep
    their order.
    """
    world, job = cycle.world, state.job
    if state.status != PENDING:
        return "it is not pending at that time"
    if any(job.queue in group.queues for group in aps_groups(cycle.instance)):
        return f"queue {job.queue} has absolute priority (APS_PRIORITY)"
    priority_at, now = cycle.instance.params.priority_at, world.now
    own = job.queue, priority_at(job, now)
    others = [
        other.job.queue_position
        for other in world.pending.values()
        if other is not state and (other.job.queue, priority_at(other.job, now)) == own
    ]
    if others:
        time, place = min(others) if to == "top" else max(others)
        queue_position = (time, place - 1 if to == "top" else place + 1)
        world.withdraw(state)
        world.states.modify(state, replace(job, queued_as=queue_position))
        world.enter(state)
    world.changed = True
    return ""


Recorder = Callable[[CycleRecord, World], None]
#: Interval in seconds at which a decaying reservation is examined if cycles follow events only.
FALL_STEP = 60
#: Number of cycles between two runs of the garbage collector; objects of a cycle contain no
#: reference circles.
CYCLES_AT_ONCE = 64
#: Names of job changes in notes.
_WORDS = {
    "Resize": "resize",
    "Release": "release",
    "EarlyEnd": "end",
    "Kill": "bkill",
    "Moved": "btop or bbot",
    "QueueSwitch": "bswitch",
    "Modification": "bmod",
}


class SimulationProgress:
    """Progress of a running simulation."""

    def __init__(self, now: int) -> None:
        #: Number of cycles that were run.
        self.cycles = 0
        #: Number of jobs that have started.
        self.started = 0
        #: Second of the last event that may let a job start.
        self.last_progress = now
        #: Records of the cycles, if requested.
        self.log: list[dict[str, Any]] = []
        #: Notes on changes that were not applied, with the reason.
        self.notes: list[str] = []
        #: Record of each cycle run by :meth:`Session.run_until_stable`.
        self.settled: list[CycleRecord] = []
        #: Numbers of the jobs that the limit of a plan kept from joining the pending ones.
        self.unentered: set[int] = set()
        #: Whether no event is left.
        self.complete = False


class Session:
    """A simulation that a caller can advance cycle by cycle, stop, save and continue."""

    def __init__(
        self,
        instance: Instance,
        settings: Settings,
        *,
        changes: Sequence[Change] = (),
        until: int | None = None,
        keep_log: bool = False,
        recorder: Recorder | None = None,
        budget: Budget | None = None,
        kept: LoadedRunningJobs | None = None,
        known: ShapeTable | None = None,
    ) -> None:
        """Initialise the simulation.

        budget: limits the setup and the cycles, if they belong to a plan. kept: running jobs of
        this instant, entered before. known: table of a plan, used if its instance is equal.
        """
        self.source = instance
        self.kept = kept
        self.budget = budget or Budget()
        instance = with_loaded_modules(instance)
        add_job = tuple(change.job for change in changes if isinstance(change, NewJob))
        if add_job:
            instance = replace(instance, future=Joined(instance.future, add_job))
        self.settings = settings
        self.until = until
        self.changes = sorted(changes, key=lambda change: change.time)
        self.recorder = recorder
        self.keep_log = keep_log
        self.progress = SimulationProgress(instance.now)
        cluster = instance.cluster
        hosts = tuple(h if h.status == OK else replace(h, status=OK) for h in cluster.hosts)
        self.instance = replace(instance, cluster=replace(cluster, hosts=hosts))
        running = tuple(item.job for item in instance.running)
        #: The input jobs by number.
        self.given: Sequence[Job] = Joined(running, instance.pending, instance.future)
        if kept is not None:
            requests = kept.requests
        elif known is not None and known.serves(self.instance, settings.margin):
            requests = known
        else:
            requests = ShapeTable(self.instance, margin=settings.margin)
        requests.resolver.instance = self.instance
        requests.follow_load = any(isinstance(change, LoadReport) for change in changes)
        self.world = World(
            self.instance,
            requests,
            dispatch_policy(self.instance),
            settings.cycle,
            JobStates(self.given),
        )
        states = [OK if host.takes_jobs else host.status for host in cluster.hosts]
        self.eligibility = Eligibility(self.world, states)
        self.cycle = Cycle(self.world, self.eligibility, settings, self.budget)
        #: Whether nothing but submissions happened since the last cycle.
        self._only_submissions = False
        self._announce_jobs()

    def begin(self, *, pending_only: bool = False) -> None:
        """Enter the jobs and the changes; called once, before the first `advance`.

        pending_only: no records of running jobs are needed. Raises OutOfTime at the end of the
        budget of a simulation. The budget of a plan does not end this step, because there is no
        plan without running jobs; a grace period that has begun is restarted.
        """
        with no_collection():
            if self.kept is not None:
                self.kept.enter(self.world)
            else:
                if not self.settings.planning:
                    self.budget.check_search()
                self.world.add_all_running(with_events=not self.settings.planning)
            if not (self.settings.planning or pending_only):
                self.world.make_states()
        if not self.settings.planning:
            take_over(self.cycle, self.instance)
        self.budget.renew_grace()
        for number, change in enumerate(self.changes):
            of_cluster = isinstance(change, (HostStatus, LoadReport, Resize, Release))
            kind = Event.CHANGE if of_cluster else Event.COMMAND
            if not isinstance(change, NewJob):
                self.world.events.push(max(change.time, self.instance.now), kind, number)

    def _announce_jobs(self) -> None:
        """Announce every job; jobs that do not run arrive at their submission times, for a plan
        immediately.
        """
        queues = {queue.name for queue in self.instance.queues}

        any_waits = any(
            isinstance(change, Modification) and "dependency" in change.fields
            for change in self.changes
        )

        def look(job: Job) -> int:
            nonlocal any_waits
            any_waits = any_waits or bool(job.dependency)
            if job.queue not in queues:
                hint = nearest(job.queue, queues)
                raise InputError(f"job {job.id}: unknown queue {job.queue!r}{hint}")
            return self.world.eligible_time(job)

        first = len(self.instance.running)
        if self.kept is not None:
            # Running jobs were checked when they were entered, and ids were checked when jobs were
            # submitted.
            waiting = (*self.instance.pending, *self.instance.future)
            times = np.fromiter(map(look, waiting), dtype=np.int64, count=len(waiting))
        else:
            times = self.world.states.survey(look)[first:]
        if any_waits and not self.settings.planning:
            self.world.dependents = Dependents(self.instance, self.world.states, self.given)
        if self.settings.planning:
            times[:] = self.instance.now
        self.world.events.announce(times, Event.SUBMIT, first)

    @property
    def requests(self) -> ShapeTable:
        """Return the table of job demands."""
        return self.world.requests

    def advance(self, *, pass_over: bool = False) -> bool:
        """Advance to the next cycle and run it; return False if no event is left.

        pass_over: leave it out where no job could start (:meth:`.cycle.Cycle.skip_if_idle`).
        """
        time = self.next_time()
        if time is None or (self.until is not None and time > self.until):
            self._process_to_horizon(self.until if time is not None else None)
            self.progress.complete = True
            return False
        self._only_submissions = not self.world.running_profile.falls.has_any
        if self._process_events(time):
            self.progress.last_progress = time
        self.world.advance(time)
        alone, unstartable = self._only_submissions, set[int]()
        if (
            pass_over
            and self.progress.cycles
            and self.cycle.skip_if_idle(unstartable, only_submissions=alone)
        ):
            return True
        record = self.cycle.run(only_submissions=alone, unstartable=unstartable)
        self.progress.cycles += 1
        self.progress.started += len(record.started)
        # An endless job that a run window suspends and resumes cannot let the simulation end.
        resumed = map(self.world.states.get, record.resumed)
        if record.started or any(state.real_end() is not None for state in resumed):
            self.progress.last_progress = time
        if self.keep_log:
            self.progress.log.append(log_entry(record, self.world))
        if self.recorder is not None:
            self.recorder(record, self.world)
        return True

    def run_until_stable(self) -> None:
        """Run the first cycle, repeatedly at one instant until no further job starts.

        A late backfill in a cycle changes reservations made before it; LSF corrects them in the
        next cycle, this call at the same instant.
        """
        if not self.advance():
            return
        self.progress.settled.append(self.cycle.record)
        while self.cycle.record.started and not (self.cycle.answered or self.budget.stopped()):
            self.progress.settled.append(self.cycle.run())

    def _process_events(self, time: int) -> bool:
        """Process all events up to `time`, each at its own time; return whether there was any.

        Raises OutOfTime where the budget of a run is over; what came before has happened.
        """
        world = self.world
        any_event = False
        planning = self.settings.planning
        try:
            while world.events and world.events.peek()[0] <= time:
                if not planning:
                    self.budget.check()
                at, kind, _, number = world.events.pop()
                if planning and self.budget.late():  # From now on no job is examined.
                    self.progress.unentered.add(number)
                    continue
                world.advance_clock(at)
                if kind == Event.END:
                    any_event |= self._end(number, at)
                elif kind == Event.SUBMIT:
                    self._submit(number, at)
                    any_event = True
                else:
                    world.release()
                    any_event |= self._process_other(kind, number, at, time)
        finally:
            world.release()  # In one pass: no event reads free resources in between.
        return any_event

    def _submit(self, number: int, at: int) -> None:
        world = self.world
        state = world.states.activate(number)
        # bmod may have deferred the begin time; a plan examines all jobs at its instant.
        begins = self.settings.planning or (state.job.begin or at) <= at
        if state.status == FUTURE and begins:
            if not world.wait_for_others(state):
                world.submit(state)
        else:  # A job that already waits may have become eligible.
            self._only_submissions = False

    def _end(self, number: int, at: int) -> bool:
        """End a job whose end is due; return whether it was."""
        running = self.world.running.get(number)
        if running is None:
            return False
        if running.status != RUNNING:
            killed = running.killed_at(running.start or 0) or FOREVER
            if killed > at:
                return False
        end = running.real_end()
        if end is None or end > at:
            return False
        self.world.end(running, at, releases=False)
        self._only_submissions = False
        return True

    def _process_other(self, kind: int, number: int, at: int, time: int) -> bool:
        """Process an event that is neither a submission nor an end; return whether it counts.

        time: instant of the next cycle.
        """
        world = self.world
        if kind in (Event.CHANGE, Event.COMMAND):
            self._only_submissions = False
            self._change(self.changes[number])
            return True
        if kind == Event.ABORT:
            return self._abort(number)
        running = world.running.get(number)
        if running is None or running.status != RUNNING:
            return False
        if world.running_profile.finish.get(number, FOREVER) > at:
            return False
        world.overdue(running, time)
        self._only_submissions = False
        return True

    def _abort(self, number: int) -> bool:
        """Abort a pending job that cannot run up to its limit before -t; return whether the job was
        aborted.

        In a plan no job is gone: each gets an answer.
        """
        state = self.world.pending.get(number)
        if state is None or self.settings.planning or self.world.may_start_by_deadline(state):
            return False
        self._only_submissions = False
        self.cycle.clear_holding(state)
        state.reason = aborted(self.instance, state.job)
        self.world.cancel(state)
        return True

    def _process_to_horizon(self, until: int | None) -> None:
        """Process the events up to the horizon, without another cycle."""
        if until is not None:
            self._process_events(until)
            self.world.advance(max(until, self.world.now))

    def _change(self, change: Change) -> None:
        world = self.world
        world.changed = True
        if isinstance(change, HostStatus):
            host = world.index[change.host]
            status = status_after(self.eligibility.status[host], change.status)
            self.eligibility.set_status(host, status)
            if change.status == DOWN:
                for state in [s for s in world.running.values() if host in s.allocation]:
                    world.requeue(state)
        elif isinstance(change, LoadReport):
            self.eligibility.report(change.host, change.values)
            world.running_profile.enter_reported()
        elif isinstance(change, (Resize, Release)):
            self._note(change.job, change, resize(self.cycle, change))
        elif not isinstance(change, NewJob):
            self._note(change.job, change, apply_command(self.cycle, change))

    def _note(self, job: str, change: Change, why: str) -> None:
        if why:
            what = _WORDS[type(change).__name__]
            self.progress.notes.append(f"{what} of job {job} at {change.time} s is omitted: {why}")

    def grid(self, time: int) -> int:
        """Return the instant of the first cycle at or after `time`."""
        step = self.settings.cycle
        first = self.instance.now
        if step == 0 or time <= first:
            return max(time, first)
        return first + -(-(time - first) // step) * step

    def next_time(self) -> int | None:
        """Return when the next cycle is due, or None if nothing is left to happen."""
        world = self.world
        found: list[int] = []
        if world.events:
            found.append(self.grid(max(world.events.peek()[0], world.now)))
        if not self.progress.cycles:
            found.append(self.instance.now)
        elif world.pending or world.subsets.suspended or self._windows_suspend():
            found += [self.grid(time) for time in self._wake_times()]
            found += self._reordered(min(found, default=None))
        time = min(found, default=None)
        if time is None or (not world.events and self._stalled(time)):
            return None
        return time

    def _windows_suspend(self) -> bool:
        """Return whether a run window may suspend a running job."""
        queues = {queue.name for queue in self.instance.queues if queue.run_window}
        return bool(queues) and any(s.job.queue in queues for s in self.world.running.values())

    def _wake_times(self) -> list[int]:
        """Return instants after the last cycle at which another cycle may have a new result."""
        world, now, step = self.world, self.world.now, self.settings.cycle
        found: list[int] = []
        if step and (world.changed or not self.settings.skip_idle):
            found.append(now + step)
        elif not step and self.cycle.record.started:
            found.append(now)
        fall = world.running_profile.falls.next_after(world.now)
        if fall is not None:
            found.append(max(fall, now + (step or FALL_STEP)) if fall <= now else fall)
        found += expiries(self.cycle)
        found += [time for time in self.cycle.too_late if time > now]
        found += self._openings(now)
        for change in (self.eligibility.next_change(now), self.eligibility.next_accept(now)):
            if change is not None:
                found.append(change)
        return [max(time, now) for time in found]

    def _openings(self, now: int) -> list[int]:
        """Return the instants after now at which alternatives of pending jobs open."""
        requests = self.world.requests
        waiting = self.world.pending.values() if requests.has_alternatives else ()
        times = {time for state in waiting for time, _ in requests.alternatives(state.job)}
        return sorted(time for time in times if time > now)

    def _reordered(self, before: int | None) -> list[int]:
        """Return when the dispatch order of jobs changes and matters, as a list of at most one
        time.

        before: time of the next cycle in any case, None if never. If no pending job could start,
        the order makes no difference until the next event.
        """
        order, step, now = self.world.order, self.settings.cycle, self.world.now
        if isinstance(order, FirstCome) or self.cycle.is_skipped or not step:
            return []
        if before is None:
            before = self.progress.last_progress + self._patience + 1
        if self.world.subsets.growing or self.cycle.record.usage_changed:
            return [now + step]
        time = next_reordering(order, now, step, before)
        return [] if time is None else [time]

    def _stalled(self, time: int) -> bool:
        """Whether nothing can happen any more although jobs wait."""
        if self.world.running_profile.falls.has_any:
            return False
        return time - self.progress.last_progress > self._patience

    @property
    def _patience(self) -> int:
        """Return the seconds after which every change caused by time alone has happened."""
        patience = max(self.eligibility.stall, self.cycle.stall_timeout)
        return patience + 2 * max(1, self.settings.cycle)

    def result(self) -> Simulation:
        """Return the result of the simulation so far."""
        return Simulation(
            instance=self.source,
            settings=self.settings,
            jobs=JobRecords(self.world, self.instance.now),
            time=self.world.now,
            cycles=self.progress.cycles,
            complete=self.progress.complete,
            log=tuple(self.progress.log),
            notes=tuple(self.progress.notes),
            omissions=unheeded_in_a_run(self.source, self.world.requests.resolver),
        )


def horizon(instance: Instance, until: int | str | None) -> int | None:
    """Return the last second of a simulation: `until` itself, or the second that a text such as
    "7d" gives from now on.

    Raises InputError for what is neither, and for a second before the instance's now.
    """
    if isinstance(until, bool) or not isinstance(until, (str, Integral, type(None))):
        raise InputError(f"until: must be seconds or a time such as 7d, not {until!r}")
    if isinstance(until, str) and until.strip().isdecimal():
        until = int(until)
    elif isinstance(until, str):
        try:
            until = instance.now + parse_duration(until)
        except ValueError as error:
            raise InputError(f"until: {error}") from error
    if until is not None and until < instance.now:
        raise InputError(
            f"until must be second {instance.now} (the simulation's start) or later, not {until}"
        )
    return until


def simulate(
    instance: Instance,
    *,
    reservation: Reservation = "configured",
    top: int | None = None,
    until: int | str | None = None,
    cycle: int | None = None,
    effort: float = EFFORT,
    changes: Sequence[Change] = (),
    keep_log: bool = False,
    recorder: Recorder | None = None,
    skip_idle: bool = True,
    cancel: threading.Event | None = None,
    on_progress: OnProgress | None = None,
) -> Simulation:
    """Run the scheduler loop over an instance with its running, pending and future jobs.

    reservation: "configured", "none", "greedy", "time-based" or "optimal" (see
    :class:`.Settings`). top: jobs that get a future allocation. until: the last second to look at,
    or how long from now on ("7d"), None for as long as anything happens. cycle: seconds between
    cycles, MBD_SLEEP_TIME where None, 0 for one at every event. changes: what happens to hosts and
    jobs on the way (:mod:`slotwise.model.changes`). keep_log: keep every cycle in the result.
    recorder: called after each cycle. cancel: set it to stop after the cycle at hand; what has
    happened so far is returned, not `complete`. on_progress: called after each cycle.
    Raises InputError for settings or changes that make no sense.
    """
    settings = settings_for(
        instance,
        reservation=reservation,
        top=top,
        cycle=cycle,
        effort=effort,
        skip_idle=skip_idle,
    )
    session = Session(
        instance,
        settings,
        changes=changes,
        until=horizon(instance, until),
        keep_log=keep_log,
        recorder=recorder,
    )
    session.begin()
    begun = monotonic()
    total = len(instance.running) + len(instance.pending) + len(instance.future)
    more = True
    while more:
        with no_collection():
            for _ in range(CYCLES_AT_ONCE):
                more = not (cancel is not None and cancel.is_set()) and session.advance()
                if not more:
                    break
                if on_progress is not None:
                    done = len(instance.running) + session.progress.started
                    now = session.world.now
                    on_progress(Progress(done, total, None, None, monotonic() - begun, now))
    return session.result()
