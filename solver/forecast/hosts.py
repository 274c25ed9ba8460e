"""Any instance run forward by the loop as configured: planned with limits, ended as drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice

import numpy as np

from ...model.collection import no_collection
from ...model.instance import Instance
from ...model.job import Job
from ...model.workload import Ints
from ..budget import OutOfTime
from ..loop.copies import Entered
from ..loop.simulation import Session
from ..methods.greedy import Greedy
from ..methods.registry import settings_for
from ..world.settings import Settings
from ..world.world import World
from .arrivals import ComingJobs
from .forward import never
from .history import History
from .jobs import NEVER, AskedJobs
from .moment import asked_jobs, jobs_here
from .newcomers import Newcomers
from .runtimes import ENDLESS

#: Coming jobs that are entered at a time, shortly before they come.
AHEAD = 64


@dataclass(frozen=True, slots=True)
class HostsWorld:
    """An instance with the scheduler loop as configured: fairshare, limits, units, memory.

    jobs: of the instance. names: their ids, row by row. asked: rows of the pending ones. settings:
    of the loop. newcomers: what coming jobs ask for besides slots and time. every_cycle: run cycles
    too in which nobody can start, where reservations are renewed: what greedy ones hold from then
    on decides who starts later. The running jobs are entered once, when they are needed first; each
    sample is a copy.
    """

    instance: Instance
    jobs: AskedJobs
    names: tuple[str, ...]
    asked: Ints
    settings: Settings
    newcomers: Newcomers
    every_cycle: bool = False
    _entered: list[Entered] = field(default_factory=list, compare=False, repr=False)

    @property
    def now(self) -> int:
        """The moment (seconds)."""
        return self.instance.now

    def about(self, asked: Ints) -> HostsWorld:
        """As :class:`ForwardWorld` says."""
        return replace(self, asked=asked)

    def __reduce__(self) -> tuple[object, ...]:
        """What another process enters for itself."""
        given = (self.instance, self.jobs, self.names, self.asked, self.settings, self.newcomers)
        return HostsWorld, (*given, self.every_cycle)

    def starts(self, run_times: Ints, coming: ComingJobs, stop: Callable[[], bool] = never) -> Ints:
        """As :class:`ForwardWorld` says."""
        # What lives for one future is dropped whole; the collector would only look at it again.
        with no_collection():
            return self._starts(run_times, coming, stop)

    def _starts(self, run_times: Ints, coming: ComingJobs, stop: Callable[[], bool]) -> Ints:
        session = self._begun()
        self._end_as_drawn(session.world, run_times)
        newcomers = self.newcomers.jobs(coming, session.requests)
        found = self._run(session, _Arriving(session, newcomers), stop)
        asked = (self.names[row] for row in self.asked.tolist())
        return np.array([found.get(name, NEVER) for name in asked], dtype=np.int64)

    def _begun(self) -> Session:
        """The loop at the moment, to be run on."""
        if not self._entered:
            session = Session(self.instance, self.settings)
            session.begin()
            self._entered.append(Entered(session))
        return self._entered[0].copy()

    def _end_as_drawn(self, world: World, run_times: Ints) -> None:
        """Every job runs as long as it was drawn, and nobody knows."""
        drawn = zip(self.names, run_times.tolist(), strict=True)
        for name, seconds in drawn:
            state = world.states.of(name)
            work = None if seconds >= ENDLESS else seconds
            if state.start is None:
                world.states.modify(state, replace(state.job, run_time=work))
            else:
                state.work = work
                world.expect_end(state)

    def _run(
        self, session: Session, arriving: _Arriving, stop: Callable[[], bool]
    ) -> dict[str, int]:
        """Starts by name, until all asked jobs that can start have done so."""
        world = session.world
        waiting = {self.names[row] for row in self.asked.tolist()}
        shape, job_of = session.requests.shape, world.states.of
        waiting -= {name for name in waiting if shape(job_of(name).job).never}
        found: dict[str, int] = {}
        while waiting:
            if stop():
                raise OutOfTime
            arriving.before_next_cycle()
            if not session.advance(pass_over=not self.every_cycle):
                break
            for name in waiting.intersection(session.cycle.record.started):
                found[name] = world.now
                waiting.remove(name)
        return found


class _Arriving:
    """Coming jobs on their way into a world, entered a little before they are submitted."""

    def __init__(self, session: Session, jobs: Iterator[Job]) -> None:
        self._session, self._jobs = session, jobs
        self._last = session.world.now
        self._more = True

    def before_next_cycle(self) -> None:
        """Enter jobs until one of them comes after the next cycle, or nobody is left."""
        while self._more and self._are_late():
            batch = list(islice(self._jobs, AHEAD))
            for job in batch:
                self._session.world.come(job)
                self._last = job.submit
            self._more = len(batch) == AHEAD

    def _are_late(self) -> bool:
        time = self._session.next_time()
        return time is None or self._last <= time


def hosts_world(
    instance: Instance, history: History, settings: Settings | None = None
) -> HostsWorld:
    """The instance with its hosts. settings: of the loop, as configured where None."""
    instance = replace(instance, future=())
    here = jobs_here(instance)
    jobs = asked_jobs(instance, history, here)
    settings = settings or settings_for(instance)
    reserves = settings.every_queue or any(q.reserve_cycles is not None for q in instance.queues)
    return HostsWorld(
        instance,
        jobs,
        tuple(job.id for job in here),
        np.flatnonzero(jobs.elapsed < 0),
        settings,
        Newcomers.of(instance, history, here),
        every_cycle=reserves and settings.reservation == Greedy.name,
    )
