"""An instance simulated by the configured scheduler loop: planned by limits, ended by sampled
times.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TypeVar

import numpy as np

from ...model.compact import no_collection
from ...model.duration import expected_duration
from ...model.instance import BorrowedSlots, HeldHosts, Instance, PoolUsage, ShareUsage
from ...model.job import Job, RunningJob
from ...model.workload import Ints, Workload
from ..budget import OutOfTime
from ..fairshare.accounts import Account, ShareTree
from ..fairshare.dispatch_order import DispatchOrder, order_policy
from ..fairshare.queue_order import has_policy
from ..scheduler.checkpoints import Entered
from ..scheduler.events import Settings
from ..scheduler.methods import settings_for
from ..scheduler.records import (
    JobRecord,
    Simulation,
    backfilled_slots_by_job,
    held_hosts,
    may_remember,
)
from ..scheduler.reserving import Greedy
from ..scheduler.simulation import Session
from ..scheduler.world import World
from .arrivals import ArrivalProperties, FutureArrivals
from .backtest import UNSTARTED
from .history import Ended, History, JobNaming, history_of, numbered
from .jobs import NO_LIMIT, NO_START, AskedJobs, PastJobs, ints
from .moment import asked_jobs, jobs_here, never
from .runtimes import ENDLESS, Ratios

#: Number of future arrivals that are added to the simulation at a time, shortly before submission.
AHEAD = 64


@dataclass(frozen=True, slots=True)
class HostsWorld:
    """An instance with its configured scheduler loop, as the start of simulations.

    The running jobs are entered once, at the first sample; each sample runs on a copy.
    """

    instance: Instance
    #: Running and pending jobs of the instance.
    #: Pending and running jobs of the instance.
    jobs: AskedJobs
    #: Ids of the jobs, by row.
    names: tuple[str, ...]
    #: Rows of the pending jobs whose starts are requested.
    asked: Ints
    #: Settings of the simulated scheduler.
    settings: Settings
    #: Properties of future arrivals other than slots and times.
    newcomers: ArrivalProperties
    #: Whether cycles that only renew reservations are simulated too; necessary for greedy
    #: reservations, because they influence later starts.
    every_cycle: bool = False
    _entered: list[Entered] = field(default_factory=list, compare=False, repr=False)

    @property
    def now(self) -> int:
        """Return the instant of the state (seconds)."""
        return self.instance.now

    def about(self, asked: Ints) -> HostsWorld:
        """Return the state restricted to some jobs, as :class:`ForwardWorld` defines."""
        return replace(self, asked=asked)

    def __reduce__(self) -> tuple[object, ...]:
        """Return the constructor call by which another process rebuilds the state."""
        given = (self.instance, self.jobs, self.names, self.asked, self.settings, self.newcomers)
        return HostsWorld, (*given, self.every_cycle)

    def starts(
        self, run_times: Ints, coming: FutureArrivals, should_stop: Callable[[], bool] = never
    ) -> Ints:
        """Return the starts of a sample, as :class:`ForwardWorld` defines."""
        # The objects of one sample are freed together, so garbage collection would only cost time.
        with no_collection():
            return self._starts(run_times, coming, should_stop)

    def _starts(
        self, run_times: Ints, coming: FutureArrivals, should_stop: Callable[[], bool]
    ) -> Ints:
        session = self._begun()
        self._end_as_drawn(session.world, run_times)
        newcomers = self.newcomers.jobs(coming, session.requests)
        found = self._run(session, _Arriving(session, newcomers), should_stop)
        asked = (self.names[row] for row in self.asked.tolist())
        return np.array([found.get(name, NO_START) for name in asked], dtype=np.int64)

    def _begun(self) -> Session:
        """Return a simulation at the instant of the state, ready to continue."""
        if not self._entered:
            session = Session(self.instance, self.settings)
            session.begin()
            self._entered.append(Entered(session))
        return self._entered[0].copy()

    def _end_as_drawn(self, world: World, run_times: Ints) -> None:
        """Set the sampled run time of every job, which the scheduler does not know."""
        for name, seconds in zip(self.names, run_times.tolist(), strict=True):
            state = world.states.get(name)
            work = None if seconds >= ENDLESS else seconds
            if state.start is None:
                world.states.modify(state, replace(state.job, run_time=work))
            else:
                state.real_run_time = work
                world.expect_end(state)

    def _run(
        self, session: Session, arriving: _Arriving, should_stop: Callable[[], bool]
    ) -> dict[str, int]:
        """Run until all requested jobs that can start have started; return the starts by name."""
        world = session.world
        waiting = {self.names[row] for row in self.asked.tolist()}
        shape, job_of = session.requests.shape, world.states.get
        waiting -= {name for name in waiting if shape(job_of(name).job).infeasibility}
        found: dict[str, int] = {}
        while waiting:
            if should_stop():
                raise OutOfTime
            arriving.before_next_cycle()
            if not session.advance(pass_over=not self.every_cycle):
                break
            for name in waiting.intersection(session.cycle.record.started):
                found[name] = world.now
                waiting.remove(name)
        return found


class _Arriving:
    """Future arrivals of one simulation, added shortly before their submission."""

    def __init__(self, session: Session, jobs: Iterator[Job]) -> None:
        self._session, self._jobs = session, jobs
        self._last = session.world.now
        self._more = True

    def before_next_cycle(self) -> None:
        """Enter jobs until one is submitted after the next cycle, or no job is left."""
        while self._more and self._are_late():
            batch = list(islice(self._jobs, AHEAD))
            for job in batch:
                self._session.world.add_job(job)
                self._last = job.submit
            self._more = len(batch) == AHEAD

    def _are_late(self) -> bool:
        time = self._session.next_time()
        return time is None or self._last <= time


def hosts_world(
    instance: Instance, history: History, settings: Settings | None = None
) -> HostsWorld:
    """Return the state of an instance with hosts.

    settings: settings of the scheduler loop; None: as configured.
    """
    instance = replace(instance, future=())
    here = jobs_here(instance)
    jobs = asked_jobs(instance, history, here)
    settings = settings or settings_for(instance)
    reserves = settings.every_queue or instance.reserve_cycles is not None
    return HostsWorld(
        instance,
        jobs,
        tuple(job.id for job in here),
        np.flatnonzero(jobs.elapsed < 0),
        settings,
        ArrivalProperties.of(instance, history, here),
        every_cycle=reserves and settings.reservation == Greedy.name,
    )


_Item = TypeVar("_Item", HeldHosts, BorrowedSlots)


class PastMemory:
    """Reservations and backfilled slots at every instant of a simulation, recorded after each
    cycle.

    Only changes are stored.
    """

    def __init__(self) -> None:
        self._times: list[int] = []
        self._known: list[tuple[tuple[HeldHosts, ...], tuple[BorrowedSlots, ...]]] = []

    def note(self, session: Session) -> None:
        """Record the state of the simulation after its last cycle."""
        world = session.world
        held = held_hosts(may_remember(session.cycle.state), world.names)
        borrowed = backfilled_slots_by_job(world)
        if not self._known or (held, borrowed) != self._known[-1]:
            before = self._known[-1] if self._known else ((), ())
            self._times.append(world.now)
            self._known.append((_shared(held, before[0]), _shared(borrowed, before[1])))

    def at(self, now: int) -> tuple[tuple[HeldHosts, ...], tuple[BorrowedSlots, ...]]:
        """Return the reservations and backfilled slots after the last cycle before a second."""
        place = bisect_left(self._times, now) - 1
        return self._known[place] if place >= 0 else ((), ())


def _shared(items: tuple[_Item, ...], before: tuple[_Item, ...]) -> tuple[_Item, ...]:
    """Return the items, each equal earlier item as the identical object."""
    known = {item.job: item for item in before}
    return tuple(known[item.job] if known.get(item.job) == item else item for item in items)


#: Order of events in one second: slots are released before they are allocated.
_ORDER = ("ended", "preempted", "resized", "resumed", "started")


class PastShares:
    """Usage of share accounts and slot pools at every instant of a simulated log.

    site: the simulated instance; only its running jobs are used. jobs: jobs of the simulation.
    records: outcome of each job.

    Events are replayed with the ledger of the scheduler loop (:mod:`..fairshare`). A job with
    several accounts is charged to its first, as for jobs that run when an instance begins.
    Suspensions that keep their slots are not recorded and count as running.
    """

    def __init__(self, site: Instance, jobs: Sequence[Job], records: Sequence[JobRecord]) -> None:
        self._given = (site, jobs, records)
        self._order: DispatchOrder | None = None
        self._events: list[_Booking] = []
        self._done = 0
        self._now = site.now

    def __reduce__(self) -> tuple[object, ...]:
        """Return the constructor call by which another process records again."""
        return PastShares, self._given

    def at(self, now: int) -> tuple[tuple[ShareUsage, ...], tuple[PoolUsage, ...]]:
        """Return the usage at an instant from all events before that second."""
        if self._order is None or now < self._now:
            self._begin()
        order = self._order
        assert order is not None, "it has begun"
        while self._done < len(self._events) and self._events[self._done].time < now:
            self._events[self._done].book(order)
            self._done += 1
        self._now = now
        order.priorities.advance(now)
        shares = tuple(
            _usage(tree, account, now)
            for tree in order.trees.values()
            for account in tree.root.walk()
            if account is not tree.root
        )
        pools = tuple(
            PoolUsage(queue, meter.at(now, use.decay), now)
            for use in order.pools.values()
            for queue, meter in use.accumulated.items()
        )
        return shares, pools

    def moved(self, instance: Instance) -> Instance:
        """Return an instance of the last instant, with what Slurm's associations have used."""
        use = None if self._order is None else self._order.priorities.use
        return instance if use is None else use.instance_at(instance)

    def _begin(self) -> None:
        site, jobs, records = self._given
        if not self._events:
            begun = {item.job.id for item in site.running}
            for job, record in zip(jobs, records, strict=True):
                self._events += _bookings(job, record, begun=job.id in begun)
            self._events.sort(key=lambda event: (event.time, _ORDER.index(event.what)))
        self._order, self._done = order_policy(site), 0


def _usage(tree: ShareTree, account: Account, now: int) -> ShareUsage:
    used = tree.usage(account, now)
    return ShareUsage(
        tree.name,
        "/".join(account.path),
        cpu_time=used.cpu_time,
        historical_run_time=used.historical_run_time,
        stamp=now,
    )


@dataclass(frozen=True, slots=True)
class _Booking:
    """One change of the allocation of a job, as an event for the ledger."""

    #: Time of the event (seconds).
    time: int
    #: Kind of the event, one of _ORDER.
    what: str
    job: Job
    #: Slots by host after the event.
    where: Mapping[str, int] = field(default_factory=dict)

    def book(self, order: DispatchOrder) -> None:
        """Apply the event to the ledger."""
        name, time = self.job.id, self.time
        match self.what:
            case "ended":
                order.ended(name, time)
            case "preempted":
                order.suspended(name, time, preempted=True)
            case "resized":
                order.resized(name, self.where, time)
            case "resumed":
                order.resumed(name, time)
            case _:
                order.started(self.job, self.where, time)


def _bookings(job: Job, record: JobRecord, *, begun: bool) -> Iterator[_Booking]:
    """Yield the usage events of a job; begun: whether it runs when the simulation begins.

    A job was preempted between two of its runs; a requeued job was requeued between them.
    """
    stopped, again = ("ended", "started") if record.requeues else ("preempted", "resumed")
    holds, until = False, None
    for start, end, where in record.held:
        if until is not None and start > until:
            yield _Booking(until, stopped, job)
            yield _Booking(start, again, job, where)
        elif until is not None:
            yield _Booking(start, "resized", job, where)
        elif not begun:
            yield _Booking(start, "started", job, where)
        holds, until = True, end
    if until is not None and until != record.end:
        yield _Booking(until, stopped, job)
        holds = not record.requeues
    if record.end is not None and holds:
        yield _Booking(record.end, "ended", job)


@dataclass(frozen=True, slots=True)
class SimulatedLog:
    """A log simulated over the hosts of an instance (a :class:`.backtest.PastLog`)."""

    #: Instance without its jobs.
    site: Instance
    #: Settings of the simulated scheduler.
    settings: Settings
    #: Jobs in the order of submission, without results of the simulation.
    jobs: tuple[Job, ...]
    #: Outcome of each job.
    records: tuple[JobRecord, ...]
    #: Outcome of each job as columns.
    log: Workload
    #: Names of the jobs and queues of the log.
    names: JobNaming
    #: Start of each job (seconds), UNSTARTED if it never started.
    start: Ints
    #: Usage over time, None if no usage counts.
    shares: PastShares | None = None
    #: Reservations and backfilled slots over time, None if not recorded.
    memory: PastMemory | None = None
    _end: Ints = field(init=False)
    _history: History = field(init=False)
    #: Model of the run times of the finished jobs.
    ratios: Ratios = field(init=False)

    def __post_init__(self) -> None:
        ends = [UNSTARTED if item.end is None else item.end for item in self.records]
        object.__setattr__(self, "_end", ints(ends))
        ended = [
            Ended(replace(job, run_limit=expected_duration(self.site, job)), start, end)
            for job, start, end in zip(self.jobs, self.start.tolist(), ends, strict=True)
            if end < UNSTARTED
        ]
        users = dict(zip((job.user for job in self.jobs), self.log.user.tolist(), strict=True))
        object.__setattr__(self, "_history", history_of(ended, users=users))
        object.__setattr__(self, "ratios", Ratios(self.past))

    @classmethod
    def run(
        cls,
        session: Session,
        source: str = "",
        *,
        should_stop: Callable[[], bool] = never,
        watch: Callable[[], object] = lambda: None,
    ) -> SimulatedLog:
        """Run a simulation that has begun to its end; watch: called after each cycle.

        Raises OutOfTime if `should_stop` returns True.
        """
        memory = PastMemory()
        while session.advance():
            memory.note(session)
            watch()
            if should_stop():
                raise OutOfTime
        return cls.of(session.result(), session.given, source, memory)

    @classmethod
    def of(
        cls,
        result: Simulation,
        given: Sequence[Job],
        source: str = "",
        memory: PastMemory | None = None,
    ) -> SimulatedLog:
        """Return the log of a finished simulation; given: its jobs in the order of the records."""
        records = tuple(result.jobs)
        order = sorted(range(len(records)), key=lambda place: given[place].submit)
        jobs = tuple(replace(given[place], run_time=None, cpu_time=None) for place in order)
        records = tuple(records[place] for place in order)
        limits = [expected_duration(result.instance, job) for job in jobs]
        log, names = numbered(
            jobs,
            [item.run_time or 0 for item in records],
            [NO_LIMIT if limit is None else limit for limit in limits],
            source,
        )
        starts = [_first_start(item) for item in records]
        shares = None
        if has_policy(result.instance):
            begun = replace(result.instance, pending=(), future=())
            shares = PastShares(begun, [given[place] for place in order], records)
        site = replace(result.instance, running=(), pending=(), future=(), held=(), borrowed=())
        return cls(site, result.settings, jobs, records, log, names, ints(starts), shares, memory)

    @property
    def past(self) -> PastJobs:
        """Return the finished jobs in the order of their ends."""
        return self._history.jobs

    def instance(self, row: int) -> Instance:
        """Return the instance at the submission of a job: running and pending jobs, this job last.

        Jobs that start or end in this second do so later, as in a pool.
        """
        now = int(self.log.submit[row])
        running, pending = [], []
        for place in np.flatnonzero(self._end[: row + 1] >= now).tolist():
            job = self.jobs[place]
            run = _running(job, self.records[place], now)
            if run is None:
                pending.append(job)
            else:
                running.append(run)
        site = self.site
        if self.shares is not None:
            share_usage, pool_usage = self.shares.at(now)
            site = replace(site, share_usage=share_usage, pool_usage=pool_usage)
        if self.memory is not None:
            held, borrowed = self.memory.at(now)
            waits, runs = {job.id for job in pending}, {item.job.id for item in running}
            site = replace(
                site,
                held=tuple(item for item in held if item.job in waits),
                borrowed=tuple(item for item in borrowed if item.job in runs),
            )
        made = replace(site, running=tuple(running), pending=tuple(pending), now=now)
        return made if self.shares is None else self.shares.moved(made)

    def world(self, row: int) -> HostsWorld:
        """Return the cluster state at an instant, as :class:`.backtest.PastLog` defines."""
        world = hosts_world(self.instance(row), self._history, self.settings)
        return replace(world, asked=ints([world.names.index(self.jobs[row].id)]))


def _first_start(record: JobRecord) -> int:
    """Return when a job was first allocated hosts, UNSTARTED if never."""
    if record.held:
        return record.held[0][0]
    return UNSTARTED if record.start is None else record.start


def _running(job: Job, record: JobRecord, now: int) -> RunningJob | None:
    """Return a job with its slots just before an instant, None if it had none."""
    for begin, end, where in record.held:
        if begin < now and (end is None or end >= now):
            return RunningJob(job, begin, where, alternative=record.alternative)
    return None
