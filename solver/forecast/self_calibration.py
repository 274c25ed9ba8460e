"""Forecasts calibrated by themselves: jobs of the history backtested on the cluster at hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ...model.instance import Instance
from ..budget import OutOfTime
from ..loop.simulation import Session
from ..methods.registry import settings_for
from ..replay import replay
from ..world.requests import Requests
from .arrivals import ComingJobs
from .backtest import PastLog, Replayed, backtest, calibration_of
from .calibration import Calibration
from .forward import PoolWorld, never
from .history import History
from .moment import pool_world
from .newcomers import Newcomers
from .recorded import numbered
from .simulated import SimulatedLog
from .workers import Stop


def calibration_by_history(
    instance: Instance,
    history: History,
    jobs: int,
    policy: str,
    *,
    samples: int,
    seed: int,
    workers: int = 1,
    tell: Callable[[int], object] = lambda done: None,
    stop: Stop = never,
) -> Calibration:
    """Factors of P10 and P90 by a backtest of so many jobs of the history.

    policy: of a pool. samples, seed, workers, tell, stop: as of a backtest.
    Raises InputError where no job of the history waits, OutOfTime once stop says yes.
    """
    past = past_of_history(instance, history, policy, stop)
    questions = backtest(
        past, jobs=jobs, samples=samples, seed=seed, workers=workers, tell=tell, stop=stop
    )
    if stop():
        raise OutOfTime
    return calibration_of(questions)


def past_of_history(
    instance: Instance, history: History, policy: str, stop: Stop = never
) -> PastLog:
    """The history run on the cluster: by the policy where that is a pool, else by the loop."""
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
    result = replay(workload, policy=pool.policy, procs=pool.procs, stop=stop)
    if not result.complete:
        raise OutOfTime
    return Replayed.of(result, names)


def _simulated(instance: Instance, history: History, stop: Stop) -> SimulatedLog:
    past = history.jobs
    rows = np.argsort(past.submit, kind="stable")
    coming = ComingJobs(
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
    jobs = Newcomers.of(instance, history, here).jobs(coming, Requests(site))
    site = replace(site, future=tuple(jobs))
    session = Session(site, settings_for(site))
    session.begin()
    return SimulatedLog.run(session, "the history", stop=stop)
