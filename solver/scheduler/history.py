"""Events and state durations of each job of a simulation (bhist), and snapshots of the cluster.

What a cluster looks like at the instance's now, before its cycle or after (VEW-01, VEW-02). After
the cycle, jobs that can start have started, and of those that wait it is known what they have
reserved, when they are expected to start, and why they wait.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ...model.cluster import BUILTIN_INDICES, INCREASING_INDICES, Host
from ...model.configuration import CONSUMERS, Scope
from ...model.display import duration_text
from ...model.errors import InputError
from ...model.instance import Instance
from ...model.job import Job, RunningJob
from ...model.pending import Pending, Reason
from ..availability.resources import FloatArray
from ..budget import Budget
from ..fairshare.dispatch_order import DispatchOrder, order_policy
from .cycle import backfilled_slots_by_job, held_hosts
from .cycle_reservations import JobReservation
from .job_state import DONE, FUTURE, KILLED, PENDING, PREEMPTED, RUNNING, SUSPENDED, JobState
from .methods import settings_for
from .records import JobRecord, record_of
from .simulation import Session
from .why_pending import PendingReasons


@dataclass(frozen=True, slots=True)
class PendingJob:
    """A pending job with its reservation and estimate; times in seconds, hosts by name."""

    #: Slots by host reserved since `since`.
    slots: Mapping[str, int] = field(default_factory=dict)
    #: Reserved memory (MB) by host.
    memory: Mapping[str, float] = field(default_factory=dict)
    #: Instant from which the job reserves, in seconds; None without a reservation.
    since: int | None = None
    #: Expected start (seconds): certain if `allocation` names the hosts, else a lower bound.
    estimate: int | None = None
    #: Reserved slots by host.
    allocation: Mapping[str, int] = field(default_factory=dict)
    #: Reason why the job does not start now, as a sentence with numbers.
    reason: str = ""
    #: All pending reasons in LSF's words, with the hosts.
    reasons: tuple[Reason, ...] = ()


@dataclass(frozen=True, slots=True)
class HostLoad:
    """Resources of one host, by name."""

    #: Value that scheduling uses: the reported value minus the reserved amount (for a load: plus
    #: that amount); None if nothing is reported.
    total: Mapping[str, float | None]
    #: Amounts reserved by running and by pending jobs, by resource.
    reserved: Mapping[str, float]
    #: Slots reserved by pending jobs.
    slots: int = 0


@dataclass(frozen=True, slots=True)
class SharedLoad:
    """The state of a shared resource."""

    name: str
    #: Amount that is not reserved.
    total: float
    #: Amount reserved by running jobs.
    reserved: float
    #: Names of the hosts that share the resource.
    hosts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LimitUse:
    """Usage of one counter of a Limit section by running jobs; amounts in MB, slots or jobs."""

    #: Name of the limit.
    name: str
    #: Names of the counted consumers by kind ("users", "queues", "hosts", "projects", and "apps" if
    #: requested): as configured, or the counted consumer if each one has its own limit; empty if
    #: the section does not restrict that kind.
    consumers: Mapping[str, tuple[str, ...]]
    #: Limited resource, such as slots.
    resource: str
    #: Amount in use.
    used: float
    #: Maximum amount.
    limit: float


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The state of a simulation at one instant."""

    #: The instance with the jobs that run or pend at the time of the snapshot.
    instance: Instance
    order: DispatchOrder
    #: Pending jobs by id.
    waiting: Mapping[str, PendingJob] = field(default_factory=dict)
    #: Hosts by name.
    hosts: Mapping[str, HostLoad] = field(default_factory=dict)
    shared: tuple[SharedLoad, ...] = ()
    #: Jobs finished by the time of the snapshot.
    finished: tuple[JobRecord, ...] = ()
    #: Usage of the counters of Limit sections.
    limits: tuple[LimitUse, ...] = ()
    #: Jobs by id. All fields but instance and order are empty unless requested
    #: (:func:`snapshot_of`).
    jobs: Mapping[str, Job] = field(default_factory=dict)

    def holds(self, job: str) -> Mapping[str, int]:
        """Return the slots that a pending job has reserved, by host."""
        return self.waiting[job].slots if job in self.waiting else {}


def snapshot_of(
    instance: Instance, *, after_cycle: bool, hosts: bool = True, budget: Budget | None = None
) -> Snapshot:
    """Return the snapshot of an instance at its current time.

    after_cycle: after the scheduling cycle at its now. hosts: include free and reserved resources.
    budget: limit of the cycle, which is incomplete at its end.
    """
    if not (after_cycle or hosts):
        return Snapshot(instance, order_policy(instance))
    session = Session(instance, settings_for(instance), budget=budget)
    session.cycle.whole_walks = True
    session.begin()
    if after_cycle:
        session.run_until_stable()
    return snapshot(session)


def snapshot_at(
    instance: Instance,
    time: int,
    *,
    reservation: str = "configured",
    top: int | None = None,
    cycle: int | None = None,
) -> Snapshot:
    """Return the snapshot of a simulation at `time` (seconds from the origin).

    reservation, top, cycle: as of :func:`.simulate`, whose records it agrees with. What is reserved
    and why jobs wait is what the last cycle up to then has said.
    Raises InputError for a time before the beginning or after the end, and for bad settings.
    """
    settings = settings_for(instance, reservation=reservation, top=top, cycle=cycle)
    return run_to(Session(instance, settings, until=time), time)


def run_to(session: Session, time: int, watch: Callable[[], None] = lambda: None) -> Snapshot:
    """Run a new simulation up to `time`; watch: function called after every cycle.

    Raises InputError for a time before its beginning or after its end.
    """
    source = session.source
    if time < source.now:
        raise InputError(
            f"--at: second {time} is before the simulation, which begins at second {source.now}"
        )
    session.cycle.whole_walks = True
    session.begin()
    while (due := session.next_time()) is not None and due <= time:
        session.advance()
        watch()
    if due is None and session.world.now < time:
        end = session.world.now
        raise InputError(
            f"--at: second {time} is after the simulation, which ends at second {end} "
            f"(+{duration_text(end - source.now)}): no later events"
        )
    said = dict(_all_waiting(session))
    session.advance()  # Process the events until then, without another cycle.
    return snapshot(session, said)


def snapshot(session: Session, said: Mapping[str, PendingJob] | None = None) -> Snapshot:
    """Return the snapshot of a simulation at its current time.

    said: of pending jobs by the last cycle, None if it has only just been.
    """
    instance = _instance_of(session)
    order = session.world.order
    known = dict(_all_waiting(session)) if said is None else said
    new = PendingJob(reasons=(Reason(Pending.NEW),))
    return Snapshot(
        instance,
        order if isinstance(order, DispatchOrder) else order_policy(instance),
        {job.id: known.get(job.id, new) for job in instance.pending},
        dict(_loads(session, session.cycle.reservations)),
        tuple(_shared(session)),
        tuple(
            record_of(state, session.world.names, session.instance.now, session.world.now)
            for state in session.world.states
            if state.status in (DONE, KILLED)
        ),
        tuple(_limits(session)),
        {state.job.id: state.job for state in session.world.states},
    )


def _instance_of(session: Session) -> Instance:
    """Return the instance with the jobs that run or wait now."""
    world, before = session.world, session.source
    given = {item.job.id: item for item in before.running}
    waits = {job.id for job in before.pending}
    running = []
    for state in world.running.values():
        item = given.get(state.job.id) if not state.requeues else None
        item = item or RunningJob(state.job, state.start or 0, alternative=state.alternative)
        allocation = world.named(state.allocation)
        stands_still = state.status != RUNNING
        running.append(replace(item, allocation=allocation, suspended=stands_still))
    open_jobs = [state for state in world.states if state.status in (PENDING, FUTURE)]
    here = [
        replace(state.job, requeued=True) if state.requeues else state.job
        for state in open_jobs
        if state.status == PENDING or state.job.id in waits or state.job.submit <= world.now
    ]
    shown = {job.id for job in here}
    future = [state.job for state in open_jobs if state.job.id not in shown]
    made = replace(
        before,
        running=tuple(running),
        pending=tuple(here),
        future=tuple(future),
        held=held_hosts(world.pending.values(), world.names),
        borrowed=backfilled_slots_by_job(world),
        now=world.now,
    )
    use = world.order.priorities.use if isinstance(world.order, DispatchOrder) else None
    return made if use is None else use.instance_at(made)


def _all_waiting(session: Session) -> Iterator[tuple[str, PendingJob]]:
    reservations = session.cycle.reservations
    why = PendingReasons(session.cycle, considered=session.progress.cycles > 0)
    for state in session.world.states:
        if state.status in (PENDING, FUTURE):
            yield state.job.id, _waiting(session, state.job.id, reservations, why)


def _waiting(
    session: Session, job: str, reservations: Iterable[JobReservation], why: PendingReasons
) -> PendingJob:
    world = session.world
    state = world.states.get(job)
    reason = state.current_reason or state.initial_reason(world.instance.now)
    reasons = why.of(state)
    reservation = next((item for item in reservations if item.state is state), None)
    if reservation is None:
        return PendingJob(reason=reason, reasons=reasons)
    return PendingJob(
        world.named(reservation.slots),
        world.named(reservation.memory),
        state.holding.since,
        reservation.estimate,
        world.named(reservation.allocation),
        reason,
        reasons,
    )


def _limits(session: Session) -> Iterator[LimitUse]:
    """Yield every limit counter that a job has joined so far."""
    world = session.world
    for row in world.table.limit_rows:
        limit = row.limit
        named = {
            item.field: _listed(scope, row.whose.get(item.field, ""))
            for item in CONSUMERS
            if (scope := item.scope(limit)) is not None or not item.is_rare
        }
        if not row.on_hosts:
            pool = world.table.pools[row.index]
            used = pool.capacity - world.free_now.pool(row.index)
            yield LimitUse(limit.name, named, row.resource, used, pool.capacity)
            continue
        capacity = world.table.host_resources[row.index].capacity
        free = world.free_now.host(row.index)
        for place in np.flatnonzero(np.isfinite(capacity)).tolist():
            here = {**named, "hosts": (world.names[place],)}
            bound = float(capacity[place])
            yield LimitUse(limit.name, here, row.resource, bound - float(free[place]), bound)


def _listed(scope: Scope | None, one: str) -> tuple[str, ...]:
    """Return the consumers of a counter."""
    if scope is None:
        return ()
    return (one,) if one else (*scope.names, *(f"~{name}" for name in scope.excluded))


def _loads(session: Session, reservations: list[JobReservation]) -> Iterator[tuple[str, HostLoad]]:
    hosts = session.instance.cluster.hosts
    own = sorted({name for host in hosts for name in (*host.amounts, *host.load)} - _sizes(hosts))
    columns = {
        name: _column(session, reservations, name)
        for name in dict.fromkeys([*BUILTIN_INDICES, *own])
    }
    for place, host in enumerate(hosts):
        total = {name: float(column[0][place]) for name, column in columns.items()}
        yield (
            host.name,
            HostLoad(
                {name: None if math.isnan(value) else value for name, value in total.items()},
                {name: float(column[1][place]) for name, column in columns.items()},
                sum(reservation.slots.get(place, 0) for reservation in reservations),
            ),
        )


def _sizes(hosts: Sequence[Host]) -> set[str]:
    """Return the names of GPU memory resources, which no table of loads shows."""
    return {name for host in hosts if host.gpus is not None for name in host.gpus.load()}


def _column(
    session: Session, reservations: list[JobReservation], name: str
) -> tuple[FloatArray, FloatArray]:
    """Return one resource of every host: the value used for scheduling (NaN: unknown), and the
    reserved amount.
    """
    world = session.world
    hosts = session.instance.cluster.hosts
    for index, resource in enumerate(world.table.host_resources):
        if resource.name == name and any(name in host.amounts for host in hosts):
            free = world.free_now.host(index).copy()
            for reservation in reservations if name == "mem" else ():
                for place, amount in reservation.memory.items():
                    free[place] -= amount
            there = resource.capacity >= 0
            return np.where(there, free, np.nan), np.where(
                there, world.free_now.reported(index) - free, 0.0
            )
    reported = np.array([host.load.get(name, host.amounts.get(name, np.nan)) for host in hosts])
    reserved = session.world.reserved_load(name)
    return reported + reserved * (1 if name in INCREASING_INDICES else -1), reserved


def _shared(session: Session) -> Iterator[SharedLoad]:
    cluster, world = session.instance.cluster, session.world
    names = [host.name for host in cluster.hosts]
    # The table has the shared resources first among its pools, as configured.
    for index, item in enumerate(cluster.shared):
        left = float(world.free_now.pool(index))
        hosts = tuple(name for name in names if item.hosts is None or name in item.hosts)
        yield SharedLoad(item.name, left, item.amount - left, hosts)


#: States whose seconds bhist adds up. A simulation has no PSUSP and no UNKWN.
STATES = ("PEND", "PSUSP", "RUN", "USUSP", "SSUSP", "UNKWN")


@dataclass(frozen=True, slots=True)
class JobEvent:
    """An event of one job at `time` (seconds from the origin)."""

    time: int
    #: Kind of the event: "submitted", "pending" (its reasons changed), "reserved" (its reservation
    #: changed: `slots` by host and `memory` in MB), "dispatched" and "resized" (on `slots`),
    #: "suspended", "resumed", "requeued", "done" or "killed".
    kind: str
    #: Slots by host after the event.
    slots: Mapping[str, int] = field(default_factory=dict)
    #: Reserved MB by host after the event.
    memory: Mapping[str, float] = field(default_factory=dict)
    #: Pending reasons after the event.
    reasons: tuple[Reason, ...] = ()


@dataclass(frozen=True, slots=True)
class JobHistory:
    """The history of one job from its submission on."""

    job: Job
    #: State after the last event, as bjobs prints it.
    status: str
    #: Events in order of time.
    events: tuple[JobEvent, ...]
    #: Seconds in each of :data:`STATES`, up to the end of the job or the current time.
    seconds: Mapping[str, int]

    @property
    def total(self) -> int:
        """Return the total seconds in all states."""
        return sum(self.seconds.values())

    @property
    def hosts(self) -> frozenset[str]:
        """Return the hosts on which the job has run."""
        ran = (event.slots for event in self.events if event.kind in ("dispatched", "resized"))
        return frozenset(host for slots in ran for host in slots)


class Historian:
    """A recorder of job histories: call :meth:`watch` after every cycle, then :meth:`histories`."""

    def __init__(self, session: Session, jobs: Iterable[str] = (), *, reasons: bool = True) -> None:
        """Initialise the recorder.

        jobs: recorded jobs, all if empty. reasons: whether to record reasons.
        """
        self.session = session
        session.cycle.whole_walks = True
        self._ask = reasons
        self._names = frozenset(jobs)
        self._events: dict[int, list[JobEvent]] = {}
        self._states: dict[int, list[tuple[int, str]]] = {}
        self._last: dict[int, tuple[str, int]] = {}
        self._said: dict[int, tuple[Reason, ...]] = {}
        self._held: dict[int, tuple[Mapping[str, int], Mapping[str, float]]] = {}
        self._where: dict[int, Mapping[str, int]] = {}
        self._open: set[int] = set()

    def watch(self) -> None:
        """Record the changes made by the last cycle."""
        cycle = self.session.cycle
        why = PendingReasons(cycle)
        held = {item.state.number: item for item in cycle.reservations}
        world = self.session.world
        states = world.states
        # Jobs seen in the previous call may have finished since.
        for state in map(states.item, sorted({*self._open, *states.here})):
            if not self._watched(state):
                continue
            self._follow(state)
            if state.status != PENDING:
                continue
            item = held.get(state.number)
            slots = {} if item is None else world.named(item.slots)
            memory = {} if item is None else world.named(item.memory)
            if self._held.get(state.number, ({}, {})) != (slots, memory):
                self._held[state.number] = (slots, memory)
                self._add(state, JobEvent(world.now, "reserved", slots, memory))
            reasons = why.of(state) if self._ask else ()
            if self._ask and self._said.get(state.number) != reasons:
                self._said[state.number] = reasons
                self._add(state, JobEvent(world.now, "pending", reasons=reasons))

        self._open = set(states.here)

    def histories(self) -> list[JobHistory]:
        """Return the histories of the jobs submitted by now, in the order of the input."""
        world = self.session.world
        found = []
        for state in world.states:
            if self._watched(state) and (state.status != FUTURE or state.job.submit <= world.now):
                self._follow(state)
                found.append(self._history(state))
        return found

    def _watched(self, state: JobState) -> bool:
        return not self._names or state.job.id in self._names

    def _add(self, state: JobState, event: JobEvent) -> None:
        self._events.setdefault(state.number, []).append(event)

    def _enter(self, state: JobState, time: int, name: str) -> None:
        self._states.setdefault(state.number, []).append((time, name))

    def _follow(self, state: JobState) -> None:
        """Record the state changes of a job since the last call; starts happen in cycles, ends at
        their own time.
        """
        number, world = state.number, self.session.world
        if number not in self._last:
            if state.status == FUTURE and state.job.submit > world.now:
                return
            self._add(state, JobEvent(state.job.submit, "submitted"))
            self._enter(state, state.job.submit, "PEND")
            self._last[number] = (PENDING, 0)
        status, requeues = self._last[number]
        if state.requeues > requeues:
            at = state.past_allocations[-1][1]
            self._add(state, JobEvent(at, "requeued"))
            self._enter(state, at, "PEND")
            status = PENDING
        if status == PENDING and state.start is not None:
            self._where[number] = world.named(state.allocation)
            self._add(state, JobEvent(state.start, "dispatched", self._where[number]))
            self._enter(state, state.start, "RUN")
            self._said.pop(number, None)
            self._held.pop(number, None)
            status = RUNNING
        self._change(state, status)
        open_as = PENDING if state.status == FUTURE else state.status
        self._last[number] = (open_as, state.requeues)

    def _change(self, state: JobState, status: str) -> None:
        number, world = state.number, self.session.world
        halted = (SUSPENDED, PREEMPTED)
        if state.status in halted and status not in halted:
            by_user = state.suspended_by == "before"
            at = max(self.session.instance.now, state.start or 0) if by_user else world.now
            self._add(state, JobEvent(at, "suspended"))
            self._enter(state, at, "USUSP" if by_user else "SSUSP")
        if status in halted and state.status in (RUNNING, DONE, KILLED):
            self._add(state, JobEvent(state.since, "resumed"))
            self._enter(state, state.since, "RUN")
        here = world.named(state.allocation) if state.status == RUNNING else {}
        if here and self._where.get(number) != here:
            self._where[number] = here
            self._add(state, JobEvent(state.allocated_at, "resized", here))
        if state.status in (DONE, KILLED) and status not in (DONE, KILLED):
            assert state.end is not None
            self._add(state, JobEvent(state.end, "done" if state.status == DONE else "killed"))
            self._enter(state, state.end, "")

    def _history(self, state: JobState) -> JobHistory:
        seconds = dict.fromkeys(STATES, 0)
        entered = self._states[state.number]
        ends = [time for time, _ in entered[1:]] + [self.session.world.now]
        for (time, name), end in zip(entered, ends, strict=True):
            if name:
                seconds[name] += max(0, end - time)
        return JobHistory(state.job, state.status, tuple(self._events[state.number]), seconds)


def follow(
    instance: Instance,
    jobs: Iterable[str] = (),
    *,
    time: int | None = None,
    reasons: bool = True,
    reservation: str = "configured",
    top: int | None = None,
    cycle: int | None = None,
) -> tuple[list[JobHistory], int]:
    """Return the histories of jobs over a simulation, and the second at which the simulation stops.

    jobs: ids, () for all. time: second at which to stop, None for the end of the simulation.
    reasons: whether to record why jobs waited, which takes longer. reservation, top, cycle: as for
    :func:`.simulate`. Raises InputError for unknown settings and for a time outside the simulation.
    """
    settings = settings_for(instance, reservation=reservation, top=top, cycle=cycle)
    session = Session(instance, settings, until=time)
    historian = Historian(session, jobs, reasons=reasons)
    if time is not None:
        run_to(session, time, historian.watch)
    else:
        session.begin()
        while session.advance():
            historian.watch()
    return historian.histories(), session.world.now
