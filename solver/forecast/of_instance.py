"""Forecasts for the pending jobs of an instance."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from ...model.errors import InputError, UnknownNameError
from ...model.instance import Instance
from ..replay import POLICIES
from .arrivals import Arrivals, PastBlocks
from .calibration import UNCALIBRATED, Calibration
from .forecast import SAMPLES, Forecasts, forecast_world
from .forward import ForwardWorld, never
from .history import History, read_history
from .hosts import hosts_world
from .moment import pool_world, waiting_names
from .runtimes import Ratios, RunTimeModel

#: Most samples of a forecast: more tell nothing that a past could know.
MOST_SAMPLES = 100_000


def forecast(
    instance: Instance,
    history: History | str | Path,
    *,
    samples: int = SAMPLES,
    seed: int = 0,
    policy: str = "easy",
    runtimes: RunTimeModel | None = None,
    arrivals: Arrivals | None = None,
    calibration: Calibration = UNCALIBRATED,
    workers: int = 1,
    stop: Callable[[], bool] = never,
) -> Forecasts:
    """When each pending job will really start, in the order in which they have turns.

    history: of ended jobs, or the log that holds them (SWF, lsb.acct, lsb.events). policy: of a
    pool of interchangeable slots (docs/replay.md). runtimes, arrivals: other models than those of
    the history. calibration: factors of P10 and P90, as a backtest found them. workers: processes
    that draw samples, which makes no difference to them. stop: asked now and then; once it says
    yes the forecasts rest on the samples so far.

    Raises
    ------
    InputError
        The log cannot be read or tells nothing by the instance's now; it is no number of
        samples; the policy is unknown.
    OutOfTime
        It was stopped before the first sample.
    """
    if not 1 <= samples <= MOST_SAMPLES:
        raise InputError(f"{samples} samples; give 1 to {MOST_SAMPLES}")
    if policy not in POLICIES:
        raise UnknownNameError.among("policy", policy, POLICIES)
    past = history if isinstance(history, History) else read_history(history, instance)
    found = forecast_world(
        world_of(instance, past, policy),
        waiting_names(instance),
        runtimes or Ratios(past.jobs),
        arrivals or PastBlocks(past.jobs),
        samples=samples,
        seed=seed,
        calibration=calibration,
        workers=workers,
        stop=stop,
    )
    return replace(found, remarks=past.remarks, origin=instance.origin)


def world_of(instance: Instance, history: History, policy: str) -> ForwardWorld:
    """What runs an instance forward: a pool where it is one, else its hosts with the loop."""
    return pool_world(instance, history, policy) or hosts_world(instance, history)
