"""Forecasts for the pending jobs of an instance."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection
from dataclasses import replace
from numbers import Integral
from pathlib import Path
from time import monotonic
from typing import TypeGuard

import numpy as np

from ...model.errors import InputError, Problem, UnknownNameError
from ...model.instance import Instance
from ...model.progress import OnProgress, Progress
from ..budget import OutOfTime
from ..replay import Policy, engine_of, policy_name, replay
from ..resolve import Resolver
from ..rules.rule_book import unheeded_by_the_loop
from ..scheduler.job_state import ShapeTable
from ..scheduler.methods import settings_for
from ..scheduler.simulation import Session
from .arrivals import (
    ArrivalProperties,
    Arrivals,
    FutureArrivals,
    PastBlocks,
    endless_text,
    overload_of,
    reliability_warnings,
)
from .backtest import PastLog, Replayed, backtest, calibration_of
from .forecast import SAMPLES, UNCALIBRATED, Calibration, Drawn, Forecasts, Stop, forecast_world
from .history import History, numbered, read_history, without_own
from .hosts import SimulatedLog, hosts_world
from .moment import ForwardWorld, PoolWorld, jobs_here, never, pool_world, waiting_names
from .runtimes import Ratios, RunTimeModel


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
            tell = tell if on_progress is None else _progress_of(tell, on_progress, calibrate)
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


def _stop_of(cancel: threading.Event | None, should_stop: Callable[[], bool]) -> Callable[[], bool]:
    if cancel is None:
        return should_stop
    return lambda: cancel.is_set() or should_stop()


def _progress_of(
    tell: Callable[[int], object], on_progress: OnProgress, total: int
) -> Callable[[int], None]:
    begun = monotonic()

    def report(done: int) -> None:
        tell(done)
        on_progress(Progress(done, total, None, None, monotonic() - begun))

    return report


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
        raise InputError("calibrate finds the factors that calibration has: give one of the two")


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
