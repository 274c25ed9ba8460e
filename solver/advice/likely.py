"""Likely start of a job: quantiles of its forecast, next to its planned start."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from ...model.display import AsData
from ...model.errors import InputError
from ...model.instance import Instance
from ...model.job import Job
from ...model.plan import PlannedJob
from ..availability.resources import SLOTS
from ..budget import Budget, OutOfTime
from ..forecast.arrivals import PastBlocks, overload_of, reliability_warnings
from ..forecast.forecast import SAMPLES, UNCALIBRATED, Calibration, Drawn, Forecasts, forecast_world
from ..forecast.history import History
from ..forecast.moment import ForwardWorld, PoolWorld, pool_world, waiting_names
from ..forecast.of_instance import HostsWorld, check_drawing, hosts_world, past_of, run_by, world_of
from ..forecast.runtimes import Ratios
from ..optimal.alternatives import as_chosen
from ..placement.earliest import allocate_start
from ..problem import PlanningProblem

World = PoolWorld | HostsWorld
#: Times of a record, and their titles in tables.
TIMES = {"likely": "LIKELY", "nine_in_ten_by": "9 IN 10 BY", "one_in_ten_by": "1 IN 10 BY"}


@dataclass(frozen=True, slots=True)
class StartQuantiles:
    """P50, P90 and P10 of a job's start (seconds), None if no start."""

    #: Median start (P50) in seconds, None if the job never starts.
    likely: int | None
    #: P90 of the start in seconds, None if never.
    nine_in_ten_by: int | None
    #: P10 of the start in seconds, None if never.
    one_in_ten_by: int | None
    #: Whether there are fewer samples than requested.
    cut: bool = False

    def record(self) -> dict[str, int | None]:
        """Return the times by name."""
        return {name: getattr(self, name) for name in TIMES}


#: The name of :class:`StartQuantiles` until 0.2; it goes after the next release.
Likely = StartQuantiles
#: Forecast of a job for which there was no time.
UNKNOWN = StartQuantiles(None, None, None, cut=True)


@dataclass(frozen=True, slots=True)
class Drawing:
    """Settings of the forecasts: samples, seed, processes, factors of the bounds."""

    #: Number of samples of each forecast.
    samples: int = SAMPLES
    #: Seed of the random numbers.
    seed: int = 0
    #: Number of processes.
    workers: int = 1
    #: Factors of P10 and P90.
    calibration: Calibration = UNCALIBRATED

    def __post_init__(self) -> None:
        """Raises InputError for invalid values."""
        check_drawing(self.samples, self.seed, self.workers, self.calibration)


USUAL = Drawing()


@dataclass(slots=True)
class Forecaster:
    """Forecasts of one instance; equal jobs have equal samples in each."""

    instance: Instance
    history: History
    drawing: Drawing = USUAL
    #: Wall-clock seconds of each of :meth:`of_others`.
    time_limit: float | None = None
    #: Set it to stop with the samples so far.
    cancel: threading.Event = field(default_factory=threading.Event)
    #: Name of the simulation for the last forecasts.
    run_by: str = field(default="", init=False)

    @classmethod
    def of(
        cls,
        instance: Instance,
        history: History | str | Path | None,
        drawing: Drawing,
        time_limit: float | None,
        cancel: threading.Event | None,
    ) -> Forecaster | None:
        """Return a forecaster for a history, which is read if it is a file; None without a history.

        Raises InputError for an unreadable file.
        """
        if history is None:
            return None
        if not isinstance(drawing, Drawing):
            raise InputError(f"drawing must be a Drawing, not {type(drawing).__name__}")
        past = past_of(history, instance)
        return cls(instance, past, drawing, time_limit, cancel or threading.Event())

    @property
    def remarks(self) -> tuple[str, ...]:
        """Return remarks on the history, and reasons why the bounds are unreliable."""
        odd = overload_of(self.history, self.instance)
        return (
            *self.history.remarks,
            *odd,
            *reliability_warnings(self.history, self.drawing.samples),
        )

    def all(self, time_limit: float | None) -> dict[str, StartQuantiles]:
        """Return the forecasts of the pending jobs, by name; jobs without time are absent (wall
        seconds of all).
        """
        try:
            world = world_of(self.instance, self.history, "easy")
            self.run_by = run_by(world)
            found = self._drawn(world, waiting_names(self.instance), time_limit)
        except OutOfTime:
            return {}
        return dict(zip(found.names, _quantiles(found), strict=True))

    def of_others(self, jobs: Sequence[Job]) -> list[StartQuantiles]:
        """Return the forecast start of each of these jobs, each submitted now as one more job.

        Requests with equal ids have equal random numbers, and so have all other jobs, so that
        differences come from the requests only. If one of the jobs does not fit into a pool, all
        are simulated on hosts.
        """
        beside = [replace(self.instance, pending=(*self._without(job), job)) for job in jobs]
        pools = [pool_world(instance, self.history) for instance in beside]
        if None in pools:
            worlds: list[World] = [hosts_world(instance, self.history) for instance in beside]
        else:
            worlds = [pool for pool in pools if pool is not None]
        self.run_by = run_by(worlds[0])
        each = zip(jobs, beside, worlds, strict=True)
        return [self._of_one(job, instance, world) for job, instance, world in each]

    def _without(self, job: Job) -> Iterator[Job]:
        return (other for other in self.instance.pending if other.id != job.id)

    def _of_one(self, job: Job, instance: Instance, world: World) -> StartQuantiles:
        asked = world.asked[[waiting_names(instance).index(job.id)]]
        submit = world.jobs.submit.copy()
        submit[asked] = instance.now + 1  # nothing of the past that would come again
        world = replace(world, asked=asked, jobs=replace(world.jobs, submit=submit))
        try:
            found = self._drawn(world, (job.id,), self.time_limit)
        except OutOfTime:
            return UNKNOWN
        return _quantiles(found)[0]

    def _drawn(
        self, world: ForwardWorld, names: tuple[str, ...], time_limit: float | None
    ) -> Forecasts:
        budget = Budget(time_limit, cancel=self.cancel)
        past, drawing = self.history.jobs, self.drawing
        return forecast_world(
            world,
            names,
            Ratios(past),
            PastBlocks(past),
            Drawn(drawing.samples, drawing.seed, workers=drawing.workers, stop=budget.stopped),
            calibration=drawing.calibration,
        )


def remarks_of(forecaster: Forecaster | None) -> dict[str, Any]:
    """Return what an answer says of its forecasts, by field; {} without a history."""
    return (
        {} if forecaster is None else {"remarks": forecaster.remarks, "run_by": forecaster.run_by}
    )


def _quantiles(found: Forecasts) -> list[StartQuantiles]:
    early, late = found.bounds
    times = zip(found.likely.tolist(), late.tolist(), early.tolist(), strict=True)
    return [
        StartQuantiles(_whole(middle), _whole(last), _whole(first), found.cut)
        for middle, last, first in times
    ]


def _whole(time: float) -> int | None:
    return int(time) if np.isfinite(time) else None


def times_of(item: StartQuantiles | None) -> Mapping[str, int | None]:
    """Return the times of a record, or None if no forecast exists."""
    return (item or UNKNOWN).record()


#: Maximum number of instants at which free amounts are shown; evenly chosen among the changes.
MAX_TIMES = 600


@dataclass(frozen=True, slots=True)
class FreeOverTime(AsData):
    """Free slots and memory (MB, None if no host has an amount of it) from each time on."""

    #: Seconds, the first is the instance's now. Hosts that take no jobs count for nothing.
    times: tuple[int, ...]
    #: Free slots at each instant.
    slots: tuple[int, ...]
    #: Free MB at each instant, None if no host has memory.
    memory: tuple[int, ...] | None


def free_over_time_of_each(
    instance: Instance, plans: Iterable[Iterable[PlannedJob]]
) -> tuple[FreeOverTime, ...]:
    """Return the resources that running jobs, advance reservations and the jobs of each plan leave
    free.

    A planned job that never starts uses nothing. Running jobs are entered once for all plans.
    """
    drawn = [[item for item in plan if item.start is not None] for plan in plans]
    names = {item.job for plan in drawn for item in plan}  # only these jobs need a demand
    part = replace(instance, pending=tuple(job for job in instance.pending if job.id in names))
    problem = PlanningProblem.of(part, as_lsf=False)
    return tuple(_free(_as_planned(problem, part, plan), plan) for plan in drawn)


def _as_planned(
    problem: PlanningProblem, part: Instance, planned: Sequence[PlannedJob]
) -> PlanningProblem:
    """Return the problem with the alternatives in braces that jobs have in a plan."""
    if not any(item.requirement_alternative for item in planned):
        return problem
    chosen = as_chosen(part, planned)
    demands = tuple(map(problem.demand_of, chosen.pending))
    return replace(problem, instance=chosen, demands=demands)


def _free(problem: PlanningProblem, planned: Iterable[PlannedJob]) -> FreeOverTime:
    demands = {demand.job.id: demand for demand in problem.demands}
    profile = problem.base.copy()
    for item in planned:
        demand = demands.get(item.job)
        if demand is None or demand.impossible:
            continue  # the plan comes from a caller; the validator reports it
        start = problem.start_of(item)
        if start is not None:
            allocate_start(profile, demand, start)
    times = profile.changes()
    step = -(-len(times) // MAX_TIMES)
    times = sorted({*times[::step], times[-1]})
    up = np.array([host.takes_jobs for host in problem.instance.cluster.hosts], dtype=bool)

    def total(index: int) -> tuple[int, ...]:
        return tuple(round(float(np.maximum(profile.free(index, t), 0)[up].sum())) for t in times)

    resources = problem.resolver.table.host_resources
    memory = next((n for n, item in enumerate(resources) if item.name == "mem"), None)
    return FreeOverTime(tuple(times), total(SLOTS), None if memory is None else total(memory))
