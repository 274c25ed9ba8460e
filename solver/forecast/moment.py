"""Cluster states from which forecasts are simulated: an instance as columns of jobs, or as a
pool.

Models of future arrivals, one small class each (docs/dev/forecast.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from ...model.cluster import Host
from ...model.configuration import Queue
from ...model.display import DAY, HOUR, some
from ...model.duration import expected_duration, expected_span
from ...model.instance import Instance
from ...model.job import Job, RunningJob
from ...model.workload import Ints, Workload
from ..accuracy.measures import Columns
from ..fairshare.priority_order import priority_order
from ..replay import Policy, engine_of
from ..replay.engine import Engine
from ..replay.policies import Ordered
from ..scheduler.job_state import ShapeTable
from .history import History
from .runtimes import ENDLESS, NO_LIMIT, NO_START, AskedJobs, PastJobs, ints, keys_of, spread

#: Stream number of the random numbers for arrivals.
STREAM = "arrivals"


@dataclass(frozen=True, slots=True, eq=False)
class FutureArrivals(Columns):
    """Future arrivals in the order of submission; int64 arrays of shape (n,), times in seconds."""

    #: Submission on the cluster's clock.
    submit: Ints
    #: Run time, ENDLESS if unknown.
    run_time: Ints
    #: Planned run time, NO_LIMIT without one.
    limit: Ints
    #: Requested slots.
    slots: Ints
    #: Source of a job's properties: row r of the history, or -1 - r for row r of the current jobs.
    row: Ints


#: Function of a sample and a last second: the arrivals after the instant of the forecast, up to
#: that second.
Coming = Callable[[int, int], FutureArrivals]


class Arrivals(Protocol):
    """Model of the jobs that are submitted after an instant, in each sample."""

    def after(self, now: int, known: int, jobs: AskedJobs, run_times: Ints, seed: int) -> Coming:
        """Return the function that gives the arrivals after `now` (seconds) for a sample.

        known: only jobs of the history that ended by this second are used. jobs: jobs that run or
        wait now. run_times: run times of `jobs` in each sample, of shape (jobs, samples).
        """


NOBODY = FutureArrivals(*(np.zeros(0, dtype=np.int64) for _ in range(5)))


@dataclass(frozen=True, slots=True)
class NoArrivals:
    """Arrival model of a plan: no job is submitted after the instant of the forecast."""

    def after(self, now: int, known: int, jobs: AskedJobs, run_times: Ints, seed: int) -> Coming:
        """Return the arrivals after the instant of the forecast, as :class:`Arrivals` defines."""
        return lambda sample, until: NOBODY


@dataclass(frozen=True, slots=True)
class PastBlocks:
    """Arrival model that repeats past submissions: of the last day or days, at the same hours.

    A job of the history has its recorded run time; a job that runs or waits now has its run time in
    the sample.
    """

    past: PastJobs
    #: Possible lengths of the repeated period, in days. Each sample chooses one at random among
    #: those that the history covers.
    days: tuple[int, ...] = (1, 2, 3, 7, 14, 21, 28)

    def after(self, now: int, known: int, jobs: AskedJobs, run_times: Ints, seed: int) -> Coming:
        """Return the arrivals after the instant of the forecast, as :class:`Arrivals` defines."""
        first = now - max(self.days) * DAY
        ended = self.past.pick(slice(0, self.past.known_at(known)))
        rows = np.flatnonzero((ended.submit > first) & (ended.submit <= now))
        here = np.flatnonzero((jobs.submit > first) & (jobs.submit <= now))
        submit = np.concatenate((ended.submit[rows], jobs.submit[here]))
        order = np.argsort(submit, kind="stable")
        limit = np.concatenate((ended.limit[rows], jobs.limit[here]))[order]
        slots = np.concatenate((ended.slots[rows], jobs.slots[here]))[order]
        row = np.concatenate((rows, -1 - here))[order]
        submit = submit[order]
        ran = ended.run_time[rows]
        reaches = now - int(ended.submit.min()) if len(ended) else 0
        days = [day for day in self.days if day * DAY <= reaches] or [min(self.days)]
        chances = spread(seed, STREAM, keys_of(["block"]), run_times.shape[1])[0]
        chosen = [days[int(chance * len(days))] * DAY for chance in chances.tolist()]

        def coming(sample: int, until: int) -> FutureArrivals:
            block = chosen[sample]
            begin = int(np.searchsorted(submit, now - block, side="right"))
            again = np.arange(1, max(0, until - now) // block + 2)
            times = (submit[begin:][None, :] + block * again[:, None]).ravel()
            run_time = np.concatenate((ran, run_times[here, sample]))[order][begin:]
            count = int(np.searchsorted(times, until, side="right"))
            each = [np.tile(column, len(again))[:count] for column in (run_time, limit[begin:])]
            rest = [np.tile(column[begin:], len(again))[:count] for column in (slots, row)]
            return FutureArrivals(times[:count], *each, *rest)

        return coming


@dataclass(frozen=True, slots=True, eq=False)
class ArrivalProperties:
    """Properties of future arrivals other than slots and times."""

    #: Distinct jobs of the history.
    kinds: tuple[Job, ...]
    #: Index into `kinds` of each row of the history.
    of_row: Ints
    #: Jobs that run or wait at the instant of the forecast, in the order of its rows.
    here: tuple[Job, ...]
    #: Prefix of the ids of future arrivals; no id of a current job begins with it.
    prefix: str

    @classmethod
    def of(cls, instance: Instance, history: History, here: tuple[Job, ...]) -> ArrivalProperties:
        """Return the properties of the jobs of a history.

        A queue that the instance does not have becomes the default queue; such an application is
        dropped.
        """
        queues = {queue.name for queue in instance.queues}
        usual = _usual_queue(instance, here)
        applications = {profile.name for profile in instance.applications}
        places: dict[tuple[object, ...], int] = {}
        kinds: list[Job] = []
        of_row: list[int] = []
        for row in range(len(history.jobs)):
            job = history.like(row)
            projects = job.project, job.license_project
            key = (job.user, job.queue, job.res_req, *projects, job.application)
            if key not in places:
                places[key] = len(kinds)
                kinds.append(
                    Job(
                        "",
                        user=job.user,
                        queue=job.queue if job.queue in queues else usual,
                        res_req=job.res_req,
                        project=job.project,
                        license_project=job.license_project,
                        application=job.application if job.application in applications else "",
                        priority=instance.params.default_priority,
                    )
                )
            of_row.append(places[key])
        prefix = "+"
        while any(job.id.startswith(prefix) for job in here):
            prefix += "+"
        return cls(tuple(kinds), ints(of_row), here, prefix)

    def jobs(self, coming: FutureArrivals, requests: ShapeTable) -> Iterator[Job]:
        """Yield the arrivals as jobs in the order of submission, without those that fit on no
        hosts.

        A job whose resource requirement cannot be satisfied on this cluster keeps its slots only.
        """
        columns = (coming.submit, coming.run_time, coming.limit, coming.slots, coming.row)
        rows = zip(*(column.tolist() for column in columns), strict=True)
        for number, (submit, run_time, limit, slots, row) in enumerate(rows):
            times = {
                "id": f"{self.prefix}{number}",
                "submit": submit,
                "run_time": None if run_time >= ENDLESS else run_time,
            }
            if row < 0:  # a current job keeps its queue
                yield replace(self.here[-1 - row], **times, begin=None, queued_as=None)
                continue
            kind = self.kinds[self.of_row[row]]
            span = None if limit == NO_LIMIT else limit
            job = replace(kind, **times, slots=slots, run_limit=span)
            if requests.shape(job).infeasibility and job.res_req:
                job = replace(job, res_req=())
            if not requests.shape(job).infeasibility:
                yield job


def _usual_queue(instance: Instance, here: tuple[Job, ...]) -> str:
    """Return the default queue, else the queue with the most current jobs, else the first."""
    names = [queue.name for queue in instance.queues]
    if instance.params.default_queue in names:
        return instance.params.default_queue
    used = [job.queue for job in here]
    return max(names, key=used.count)


#: Minimum number of samples, and of finished jobs, for bounds that hold in 9 of 10 cases.
FEW_SAMPLES, FEW_ENDED = 10, 20
#: Maximum number of job ids in a warning.
_NAMED = 5


def reliability_warnings(history: History, samples: int) -> tuple[str, ...]:
    """Return warnings if the history has few finished jobs or if there are few samples."""
    ended = len(history.jobs)
    found = []
    if ended < FEW_ENDED:
        found.append(f"warning: {ended} ended job{'s' * (ended != 1)} known: bounds mean little")
    if samples < FEW_SAMPLES:
        found.append(f"warning: {samples} sample{'s' * (samples != 1)}: bounds mean little")
    return tuple(found)


def load_of(history: History) -> float:
    """Return the slot-hours per day of the finished jobs, from first submission to last end.

    A history of less than one day counts as one day.
    """
    jobs = history.jobs
    if not len(jobs):
        return 0.0
    seconds = max(DAY, int(jobs.end[-1] - jobs.submit.min()))
    used = float((jobs.slots.astype(np.float64) * jobs.run_time).sum())
    return used / seconds * DAY / HOUR


def overload_of(history: History, instance: Instance) -> tuple[str, ...]:
    """Return a warning if the history has more work per day than the cluster can do."""
    load = load_of(history)
    room = sum(host.slots for host in instance.cluster.hosts) * DAY // HOUR
    if load <= room:
        return ()
    return (
        f"warning: the history has {load:,.0f} slot-hours a day, the cluster {room:,}: "
        "what fits of it comes again in each future, so queues grow; is it this cluster's log?",
    )


def endless_text(found: Sequence[str]) -> tuple[str, ...]:
    """Return a warning about jobs that are assumed to run indefinitely.

    found: ids of the running jobs whose end is unknown.
    """
    if not found:
        return ()
    one = len(found) == 1
    jobs = f"job {found[0]} has" if one else f"jobs {some(found, _NAMED)} have"
    return (
        f"{jobs} no run limit, and no ended job like {'it' if one else 'them'} ran as long: "
        f"taken to run indefinitely; a job that waits for {'it' if one else 'them'} has never as "
        "its start and as all three bounds",
    )


#: Number of events between two checks whether all requested jobs have started.
STRIDE = 16


def never() -> bool:
    """Return False: a stop function that never stops."""
    return False


class ForwardWorld(Protocol):
    """A cluster state at an instant, from which a scheduler can be simulated repeatedly."""

    @property
    def now(self) -> int:
        """Return the instant of the state (seconds)."""

    @property
    def jobs(self) -> AskedJobs:
        """Return the running jobs, then the waiting jobs in dispatch order."""

    @property
    def asked(self) -> Ints:
        """Return the rows of the jobs whose starts are requested."""

    def about(self, asked: Ints) -> ForwardWorld:
        """Return the state with only these rows as requested jobs."""

    def starts(
        self, run_times: Ints, coming: FutureArrivals, should_stop: Callable[[], bool] = never
    ) -> Ints:
        """Simulate one sample; return the start (seconds) of each requested job, of shape (asked,).

        NO_START denotes a job without a start. run_times: of all jobs, of shape (jobs,).
        should_stop: called from time to time in long simulations; OutOfTime is raised when it
        returns True.
        """


@dataclass(frozen=True, slots=True)
class PoolWorld:
    """A pool of `procs` slots under a policy of :mod:`..replay` at an instant."""

    #: Instant of the state (seconds).
    now: int
    #: Slots of the pool.
    procs: int
    #: Running jobs (elapsed >= 0) in the order of their starts, then waiting jobs in queue order.
    jobs: AskedJobs
    #: Rows of the waiting jobs whose starts are requested. A job without a limit is planned to run
    #: indefinitely.
    asked: Ints
    #: Policy of the pool, by name or as an object.
    policy: Policy = "easy"

    def about(self, asked: Ints) -> PoolWorld:
        """Return the state restricted to some jobs, as :class:`ForwardWorld` defines."""
        return replace(self, asked=asked)

    def starts(
        self, run_times: Ints, coming: FutureArrivals, should_stop: Callable[[], bool] = never
    ) -> Ints:
        """Return the starts of a sample, as :class:`ForwardWorld` defines."""
        engine = self._engine(run_times, coming)
        begun, left = engine.start, self.asked.tolist()
        while left:
            more = engine.advance(STRIDE)
            while left and 0 <= begun[left[-1]] - self.now <= engine.now - self.now:
                left.pop()
            if not more:
                break
        found = ints([begun[row] for row in self.asked.tolist()])
        return np.where(found < 0, NO_START, found)

    def _engine(self, run_times: Ints, coming: FutureArrivals) -> Engine:
        """Return the engine of the policy with the running jobs started and the waiting jobs
        submitted now.
        """
        jobs = self.jobs
        running = int(np.count_nonzero(jobs.elapsed >= 0))
        fits = np.flatnonzero(coming.slots <= self.procs)
        limit = np.concatenate((jobs.limit, coming.limit[fits]))
        limit = np.where(limit == NO_LIMIT, ENDLESS, limit)
        limit[:running] = np.maximum(
            limit[:running], run_times[:running]
        )  # samples may exceed limits
        size = np.concatenate((jobs.slots, coming.slots[fits]))
        submit = np.concatenate((np.full(len(jobs), self.now), coming.submit[fits]))
        ran = np.concatenate((run_times, coming.run_time[fits]))
        user = np.concatenate((jobs.user, np.full(len(fits), -1)))
        workload = replace(Workload.of(submit, ran, limit, size), user=user)
        policy = engine_of(self.policy)
        engine = policy(workload, self.procs, policy.default_schedule_after)
        if isinstance(engine, Ordered):
            engine.submitted_before(jobs.submit)
        for job, elapsed in enumerate(jobs.elapsed[:running].tolist()):
            engine.carry_on(job, self.now - elapsed)
        engine.begin_with(running, len(jobs))
        return engine


def asked_jobs(
    instance: Instance, history: History, here: Sequence[Job] | None = None
) -> AskedJobs:
    """Return the running jobs by start, then the pending jobs in dispatch order.

    Limits are the durations that a plan uses (TBR-03). here: result of :func:`jobs_here`, if
    already computed.
    """
    running = _by_start(instance)
    jobs = jobs_here(instance) if here is None else here
    pending = jobs[len(running) :]
    limits = [expected_span(instance, run) for run in running]
    limits += [expected_duration(instance, job) for job in pending]
    elapsed = [max(0, instance.now - run.start) for run in running] + [-1] * len(pending)
    slots = [run.slots for run in running] + [job.slots for job in pending]
    return AskedJobs(
        key=keys_of(job.id for job in jobs),
        user=ints(history.numbers(job.user for job in jobs)),
        limit=ints([NO_LIMIT if limit is None else limit for limit in limits]),
        slots=ints(slots),
        submit=ints([job.submit for job in jobs]),
        elapsed=ints(elapsed),
    )


def jobs_here(instance: Instance) -> tuple[Job, ...]:
    """Return the jobs of an instance in the order of :func:`asked_jobs`."""
    return (*(run.job for run in _by_start(instance)), *priority_order(instance))


def _by_start(instance: Instance) -> list[RunningJob]:
    return sorted(instance.running, key=lambda run: run.start)


def waiting_names(instance: Instance) -> tuple[str, ...]:
    """Return the ids of the pending jobs in the order of :func:`asked_jobs`."""
    return tuple(job.id for job in priority_order(instance))


def pool_world(instance: Instance, history: History, policy: Policy = "easy") -> PoolWorld | None:
    """Return the instance as a pool of interchangeable slots, None if it is not one.

    An instance is a pool if it has one host, one queue, and jobs that request slots and a time
    only.
    """
    if not _is_pool(instance):
        return None
    jobs = asked_jobs(instance, history)
    waiting = np.flatnonzero(jobs.elapsed < 0)
    return PoolWorld(instance.now, instance.cluster.hosts[0].slots, jobs, waiting, policy)


def _is_pool(instance: Instance) -> bool:
    hosts, jobs = instance.cluster.hosts, [run.job for run in instance.running]
    jobs += instance.pending
    queues = {job.queue for job in jobs}
    return (
        len(hosts) == 1
        and hosts[0] == Host(hosts[0].name, hosts[0].slots)
        and len(queues) <= 1
        and all(_is_plain_queue(instance.queue(name)) for name in queues)
        and all(_is_plain_job(job) for job in jobs)
        and not any(run.suspended for run in instance.running)
        and all(job.slots <= hosts[0].slots for job in instance.pending)
        and _has_no_rules(instance)
    )


def _is_plain_job(job: Job) -> bool:
    """Return whether a job has no property except those that a pool obeys or that no scheduler
    uses.
    """
    said = ("slots", "user", "queue", "run_limit", "cpu_limit", "run_time", "cpu_time", "submit")
    unheeded = ("weight", "project", "license_project", "from_host")
    return job == Job(job.id, **{name: getattr(job, name) for name in (*said, *unheeded)})


def _is_plain_queue(queue: Queue) -> bool:
    said = ("name", "priority", "backfill", "run_limit", "run_limit_max", "cpu_limit", "users")
    unheeded = ("slot_reserve", "resource_reserve", "description")
    return queue == Queue(**{name: getattr(queue, name) for name in (*said, *unheeded)})


def _has_no_rules(instance: Instance) -> bool:
    """Return whether no other rule matters: limits, reservations, shares, future events."""
    return not (
        instance.limits
        or instance.reservation_usage
        or instance.advance_reservations
        or instance.partitions
        or instance.future
        or instance.applications
        or instance.params.job_accept_interval
        or instance.params.modules is not None
    )
