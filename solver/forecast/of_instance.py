"""Forecasts for the pending jobs of an instance, simulated by the configured scheduler loop.

The loop plans by limits, and the jobs end at sampled times.
"""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from numbers import Integral
from pathlib import Path
from typing import TypeGuard, TypeVar

import numpy as np

from ...model.compact import no_collection
from ...model.duration import expected_duration
from ...model.errors import InputError, Problem, UnknownNameError
from ...model.instance import BorrowedSlots, HeldHosts, Instance, PoolUsage, ShareUsage
from ...model.job import Job, RunningJob
from ...model.progress import OnProgress
from ...model.workload import Ints, Workload
from ..budget import OutOfTime
from ..fairshare.accounts import Account, ShareTree
from ..fairshare.dispatch_order import DispatchOrder, order_policy
from ..fairshare.waiting_jobs import has_policy
from ..replay import Policy, engine_of, policy_name, replay
from ..resolve import Resolver
from ..rules.rule_book import unheeded_by_the_loop
from ..scheduler.checkpoints import Entered
from ..scheduler.cycle import backfilled_slots_by_job, held_hosts
from ..scheduler.events import GREEDY, Settings
from ..scheduler.job_state import ShapeTable
from ..scheduler.methods import settings_for
from ..scheduler.records import JobRecord, Simulation
from ..scheduler.simulation import Session
from ..scheduler.world import World
from .arrivals import (
    ArrivalProperties,
    Arrivals,
    FutureArrivals,
    PastBlocks,
    endless_text,
    overload_of,
    reliability_warnings,
)
from .backtest import UNSTARTED, PastLog, Replayed, backtest, calibration_of, progress_of
from .forecast import SAMPLES, UNCALIBRATED, Calibration, Drawn, Forecasts, forecast_world
from .history import Ended, History, JobNaming, history_of, numbered, read_history, without_own
from .jobs import NO_LIMIT, NO_START, AskedJobs, PastJobs, ints
from .moment import ForwardWorld, PoolWorld, asked_jobs, jobs_here, never, pool_world, waiting_names
from .runtimes import ENDLESS, Ratios, RunTimeModel
from .workers import Stop

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
        session, arriving = self._sampled(run_times, coming)
        found = self._run(session, arriving, should_stop)
        asked = (self.names[row] for row in self.asked.tolist())
        return np.array([found.get(name, NO_START) for name in asked], dtype=np.int64)

    def slots_in_use(
        self,
        run_times: Ints,
        coming: FutureArrivals,
        times: Sequence[int],
        should_stop: Callable[[], bool],
    ) -> list[Counter[str]]:
        """Return the slots in use by host at each of the times of one sample."""
        session, arriving = self._sampled(run_times, coming)
        found, hosts = [], self.instance.cluster.hosts
        for time in times:
            while True:
                if should_stop():
                    raise OutOfTime
                arriving.before_next_cycle()
                due = session.next_time()
                if due is None or due > time or not session.advance():
                    break
            used: Counter[str] = Counter()
            for state in session.world.running.values():
                used.update({hosts[place].name: n for place, n in state.allocation.items()})
            found.append(used)
        return found

    def _sampled(self, run_times: Ints, coming: FutureArrivals) -> tuple[Session, _Arriving]:
        """Return the simulation of one sample at its begin, and its arrivals."""
        session = self._begun()
        self._set_run_times(session.world, run_times)
        return session, _Arriving(session, self.newcomers.jobs(coming, session.requests))

    def _begun(self) -> Session:
        """Return a simulation at the instant of the state, ready to continue."""
        if not self._entered:
            session = Session(self.instance, self.settings)
            session.begin()
            self._entered.append(Entered(session))
        return self._entered[0].copy()

    def _set_run_times(self, world: World, run_times: Ints) -> None:
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
        every_cycle=reserves and settings.reservation == GREEDY,
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
        pending, timers = world.pending, session.cycle.reservation_timers
        held = held_hosts((pending[job] for job in sorted(timers) if job in pending), world.names)
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


def calibration_by_history(
    instance: Instance,
    history: History,
    jobs: int,
    policy: Policy,
    drawn: Drawn,
    tell: Callable[[int], object] = lambda done: None,
) -> Calibration:
    """Return factors of P10 and P90 from a backtest of `jobs` jobs of the history.

    policy: policy of a pool. tell: called with the number of jobs done. Raises InputError if no job
    of the history waits, OutOfTime when stopped.
    """
    past = past_of_history(instance, history, policy, drawn.stop)
    questions = backtest(
        past,
        jobs=jobs,
        samples=drawn.samples,
        seed=drawn.seed,
        workers=drawn.workers,
        tell=tell,
        stop=drawn.stop,
    )
    if drawn.stop():
        raise OutOfTime
    return calibration_of(questions)


def past_of_history(
    instance: Instance, history: History, policy: Policy, stop: Stop = never
) -> PastLog:
    """Return the history run on the cluster: by the policy on a pool, else by the scheduler
    loop.
    """
    pool = pool_world(instance, history, policy)
    if pool is not None:
        return _replayed(pool, history, stop)
    return _simulated(instance, history, stop)


def _replayed(pool: PoolWorld, history: History, stop: Stop) -> Replayed:
    past = history.jobs
    rows = np.argsort(past.submit, kind="stable").tolist()
    submit, ran, limits = (column.tolist() for column in (past.submit, past.run_time, past.limit))
    workload, names = numbered(
        [replace(history.like(row), submit=submit[row]) for row in rows],
        [ran[row] for row in rows],
        [limits[row] for row in rows],
        "the history",
    )
    result = replay(workload, policy=pool.policy, procs=pool.procs, should_stop=stop)
    if not result.complete:
        raise OutOfTime
    return Replayed.of(result, names)


def _simulated(instance: Instance, history: History, stop: Stop) -> SimulatedLog:
    past = history.jobs
    rows = np.argsort(past.submit, kind="stable")
    coming = FutureArrivals(
        submit=past.submit[rows],
        run_time=past.run_time[rows],
        limit=past.limit[rows],
        slots=past.slots[rows],
        row=rows,
    )
    here = tuple(run.job for run in instance.running) + tuple(instance.pending)
    site = replace(
        instance, running=(), pending=(), future=(), share_usage=(), pool_usage=(),
        held=(), borrowed=(),
        now=int(coming.submit[0]),
    )  # fmt: skip
    jobs = ArrivalProperties.of(instance, history, here).jobs(coming, ShapeTable(site))
    site = replace(site, future=tuple(jobs))
    session = Session(site, settings_for(site))
    session.begin()
    return SimulatedLog.run(session, "the history", should_stop=stop)


#: Maximum number of samples of a forecast; more do not improve on the history.
MAX_SAMPLES = 100_000


def forecast(
    instance: Instance,
    history: History | str | Path,
    *,
    samples: int = SAMPLES,
    seed: int = 0,
    precision: int | None = None,
    policy: Policy = "easy",
    runtimes: RunTimeModel | None = None,
    arrivals: Arrivals | None = None,
    calibration: Calibration = UNCALIBRATED,
    calibrate: int | None = None,
    workers: int = 1,
    jobs: Collection[str] | None = None,
    cancel: threading.Event | None = None,
    on_progress: OnProgress | None = None,
    tell: Callable[[int], object] = lambda done: None,
    should_stop: Callable[[], bool] = never,
) -> Forecasts:
    """Return the forecast starts of the pending jobs, in dispatch order.

    history: finished jobs, or a log with them (SWF, lsb.acct, lsb.events). samples: number of
    simulated futures. precision: seconds; sampling ends early if P10, P50 and P90 of each job are
    known to this precision (95 % confidence). policy: policy of a pool of interchangeable slots
    (docs/replay.md). runtimes, arrivals: models instead of those of the history. calibration:
    factors of P10 and P90 from a backtest. calibrate: compute them first, by a backtest of this
    many jobs of the history. workers: number of processes; the result does not depend on it. jobs:
    ids of the pending jobs to forecast, None: all. cancel: set it to stop; the samples so far are
    used. on_progress: called as jobs of `calibrate` are done. tell, should_stop: as functions.

    Raises
    ------
    InputError
    The log cannot be read, or has no job that ended by the instance's now; the number of samples is
    invalid; the policy is unknown.
    UnknownNameError
    One of `jobs` is not pending.
    OutOfTime
    The call was stopped before the first sample.
    """
    check_drawing(samples, seed, workers, calibration, precision)
    _check_calibrate(calibrate, calibration)
    _check_names(policy, jobs, waiting_names(instance))
    past = past_of(history, instance)
    drawn = Drawn(samples, seed, precision, workers, _stop_of(cancel, should_stop))
    world = world_of(instance, past, policy)
    remarks: tuple[str, ...] = ()
    if calibrate is not None:
        try:
            tell = progress_of(calibrate, on_progress, tell)
            calibration = calibration_by_history(instance, past, calibrate, policy, drawn, tell)
        except InputError as error:
            remarks = (f"warning: not calibrated: {error}",)
    runtimes, arrivals = runtimes or Ratios(past.jobs), arrivals or PastBlocks(past.jobs)
    names = waiting_names(instance)
    found = forecast_world(
        world, names, runtimes, arrivals, drawn, calibration=calibration, jobs=jobs
    )
    said = (*past.remarks, *remarks)
    return _with_remarks(replace(found, remarks=said, seed=seed), instance, past, world)


def sampled_use(
    instance: Instance,
    history: History,
    times: Sequence[int],
    samples: int,
    seed: int,
    should_stop: Callable[[], bool],
) -> Iterator[list[Counter[str]]]:
    """Yield the slots in use by host at each of the times, of each sample, until the stop."""
    check_drawing(samples, seed, 1, UNCALIBRATED)
    world = hosts_world(instance, history)
    run_times = Ratios(history.jobs).draw(world.jobs, world.now, samples, seed)
    coming = PastBlocks(history.jobs).after(world.now, world.now, world.jobs, run_times, seed)
    with suppress(OutOfTime):
        for number in range(samples):
            arrivals = coming(number, times[-1])
            yield world.slots_in_use(run_times[:, number], arrivals, times, should_stop)


def _stop_of(cancel: threading.Event | None, should_stop: Callable[[], bool]) -> Callable[[], bool]:
    if cancel is None:
        return should_stop
    return lambda: cancel.is_set() or should_stop()


def _with_remarks(
    found: Forecasts, instance: Instance, past: History, world: ForwardWorld
) -> Forecasts:
    """Return the forecasts with the instance's origin, omissions and remarks on the history."""
    doubts = reliability_warnings(past, found.samples.shape[1])
    endless: list[str] = []
    if found.endless:
        here = jobs_here(instance)
        endless = [here[row].id for row in found.endless]
    odd = (*overload_of(past, instance), *endless_text(endless))
    asked = {job.id: job for job in instance.pending}
    omissions = unheeded_by_the_loop(
        instance, Resolver.of(instance), (asked[name] for name in found.names if name in asked)
    )
    return replace(
        found,
        remarks=(*found.remarks, *odd, *doubts),
        doubts=doubts,
        origin=instance.origin,
        omissions=omissions,
        run_by=run_by(world),
        policy=policy_name(world.policy) if isinstance(world, PoolWorld) else None,
    )


def _check_names(policy: Policy, jobs: object, names: tuple[str, ...]) -> None:
    engine_of(policy)
    if jobs is None:
        return
    if isinstance(jobs, str) or not isinstance(jobs, Collection):
        raise InputError(f"jobs must be a list of ids of pending jobs, not {jobs!r}")
    for job in jobs:
        if job not in names:
            raise UnknownNameError.among("pending job", job, names)


def _check_calibrate(calibrate: object, calibration: Calibration) -> None:
    """Raise InputError for an invalid number of jobs, or if calibration factors are given as
    well.
    """
    if calibrate is None:
        return
    if not _is_whole(calibrate) or calibrate < 1:
        raise InputError(f"calibrate must be a whole number of 1 or more, not {calibrate!r}")
    if calibration != UNCALIBRATED:
        raise InputError("calibrate and calibration are both given: give one of them")


def run_by(world: ForwardWorld) -> str:
    """Return the name of the simulation that continues an instance."""
    if isinstance(world, PoolWorld):
        return f"the policy {policy_name(world.policy)} of a pool"
    return "the loop as configured"


def check_drawing(
    samples: object,
    seed: object,
    workers: object,
    calibration: object,
    precision: object = None,
) -> None:
    """Raise InputError with every invalid setting of the sampling."""
    wrong = []
    if not _is_whole(samples) or not 1 <= samples <= MAX_SAMPLES:
        wrong.append(f"samples must be a whole number of 1 to {MAX_SAMPLES}, not {samples!r}")
    if not _is_whole(seed):
        wrong.append(f"seed must be a whole number, not {seed!r}")
    if not _is_whole(workers) or workers < 1:
        wrong.append(f"workers must be a whole number of 1 or more, not {workers!r}")
    if precision is not None and not (_is_whole(precision) and precision >= 1):
        wrong.append(f"precision must be whole seconds of 1 or more, not {precision!r}")
    if not isinstance(calibration, Calibration):
        wrong.append(f"calibration must be a Calibration, not {calibration!r}")
    if wrong:
        raise InputError([Problem(text) for text in wrong])


def _is_whole(value: object) -> TypeGuard[int]:
    """Return whether a value is an integer of Python or numpy."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def past_of(history: object, instance: Instance) -> History:
    """Return the history without the instance's own jobs; a file is read.

    Raises InputError if the value is neither a History nor a path, or if the file is invalid.
    """
    if isinstance(history, History):
        return without_own(history, instance)
    if not isinstance(history, (str, Path)):
        kind = type(history).__name__
        raise InputError(f"history must be a History or the path of a log, not {kind}")
    return read_history(history, instance)


def world_of(instance: Instance, history: History, policy: Policy) -> ForwardWorld:
    """Return the model that continues an instance: a pool if the instance is one, else its
    simulated hosts.
    """
    return pool_world(instance, history, policy) or hosts_world(instance, history)
