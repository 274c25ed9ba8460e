"""A log that the loop has run over hosts, and the cluster as it was whenever a job came."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ...model.duration import expected_duration
from ...model.instance import Instance
from ...model.job import Job, RunningJob
from ...model.workload import Ints, Workload
from ..budget import OutOfTime
from ..fairshare.queue_order import has_policy
from ..loop.records import JobRecord, Simulation
from ..loop.simulation import Session
from ..world.settings import Settings
from .backtest import UNSTARTED
from .forward import never
from .history import Ended, History, history_of
from .hosts import HostsWorld, hosts_world
from .jobs import NO_LIMIT, PastJobs, ints
from .past_memory import PastMemory
from .past_shares import PastShares
from .recorded import JobNaming, numbered
from .runtimes import Ratios


@dataclass(frozen=True, slots=True)
class SimulatedLog:
    """A log simulated over the hosts of an instance (a :class:`.backtest.PastLog`).

    site: the instance without its jobs. settings: of the loop. jobs: by submission, without what
    only the simulation knew of them. records: what became of each. log: the same as columns.
    shares: what had been used when, None where nobody's usage counts. memory: what the loop held
    for pending jobs and had lent when, None where nobody went along.
    """

    site: Instance
    settings: Settings
    jobs: tuple[Job, ...]
    records: tuple[JobRecord, ...]
    log: Workload
    names: JobNaming
    start: Ints
    shares: PastShares | None = None
    memory: PastMemory | None = None
    _end: Ints = field(init=False)
    _history: History = field(init=False)
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
        stop: Callable[[], bool] = never,
        watch: Callable[[], object] = lambda: None,
    ) -> SimulatedLog:
        """Of a simulation that has begun and is run to its end. watch: called after each cycle.

        Raises OutOfTime once stop says yes.
        """
        memory = PastMemory()
        while session.advance():
            memory.note(session)
            watch()
            if stop():
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
        """Of a simulation that has run to its end. given: its jobs in the order of the records."""
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
        """Its ended jobs, by end."""
        return self._history.jobs

    def instance(self, row: int) -> Instance:
        """The cluster as a job is submitted: what runs and waits then, it itself last.

        What starts or ends at that very second does so later, as over a pool.
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
        return replace(site, running=tuple(running), pending=tuple(pending), now=now)

    def world(self, row: int) -> HostsWorld:
        """As :class:`.backtest.PastLog` says."""
        world = hosts_world(self.instance(row), self._history, self.settings)
        return replace(world, asked=ints([world.names.index(self.jobs[row].id)]))


def _first_start(record: JobRecord) -> int:
    """When a job got hosts first, UNSTARTED if never."""
    if record.held:
        return record.held[0][0]
    return UNSTARTED if record.start is None else record.start


def _running(job: Job, record: JobRecord, now: int) -> RunningJob | None:
    """A job with the slots that it held just before a moment, None where it held none."""
    for begin, end, where in record.held:
        if begin < now and (end is None or end >= now):
            return RunningJob(job, begin, where, alternative=record.alternative)
    return None
