"""Models of future arrivals, one small class each (docs/dev/forecast.md)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from ...model.configuration import consumers_of
from ...model.display import DAY, HOUR, some
from ...model.instance import Instance
from ...model.job import Job
from ...model.workload import Ints
from ..accuracy.measures import Columns
from ..scheduler.job_state import ShapeTable
from .history import History
from .jobs import NO_LIMIT, AskedJobs, PastJobs, ints, keys_of, spread
from .runtimes import ENDLESS

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
            of_job = consumers_of(job)
            key = (job.res_req, *of_job.values())
            if key not in places:
                places[key] = len(kinds)
                of_job |= {} if job.queue in queues else {"queue": usual}
                of_job |= {} if job.application in applications else {"application": ""}
                priority = instance.params.default_priority
                kinds.append(Job("", **of_job, res_req=job.res_req, priority=priority))
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
        rows = coming.rows("submit", "run_time", "limit", "slots", "row")
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
        found.append(f"warning: {ended} ended job{'s' * (ended != 1)} known: bounds are unreliable")
    if samples < FEW_SAMPLES:
        found.append(f"warning: {samples} sample{'s' * (samples != 1)}: bounds are unreliable")
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
        "each sample repeats this load, so queues grow; check that the log is of this cluster",
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
        f"{jobs} no run limit, and no similar finished job ran as long: "
        f"assumed to run indefinitely; a job that waits for {'it' if one else 'them'} never starts "
        "in the forecast",
    )
