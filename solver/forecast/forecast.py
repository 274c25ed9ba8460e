"""Forecasts: samples of when each job starts, and what they come to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ...model.workload import Ints
from .arrivals import DAY, NOBODY, Arrivals
from .calibration import EARLY, LATE, LIKELY, UNCALIBRATED, Calibration
from .draws import Floats
from .forward import ForwardWorld, never
from .jobs import NEVER
from .runtimes import ENDLESS, AtLimits, RunTimeModel
from .workers import samples_of

SAMPLES = 200
#: Jobs come for so many times what the last asked job would wait at limits, within these bounds.
LOOK_AHEAD = 2
SHORTEST_LOOK, LONGEST_LOOK = DAY, 60 * DAY


@dataclass(frozen=True, slots=True, eq=False)
class Forecasts:
    """When each of n jobs starts. Times in seconds of the cluster's clock.

    now: the moment of asking. names: of the jobs. by_limits: int64 of shape (n,), start if every
    job ran to its limit and nobody came, NEVER where it has none. samples: int64 of shape
    (n, samples), starts in each sample, NEVER where it has none.
    """

    now: int
    names: tuple[str, ...]
    by_limits: Ints
    samples: Ints
    calibration: Calibration = UNCALIBRATED

    @property
    def waits(self) -> Floats:
        """Seconds from now to the start in each sample, infinite where there is none."""
        return np.where(self.samples == NEVER, np.inf, self.samples - self.now)

    def quantile(self, level: float) -> Floats:
        """Start that a share `level` of the samples does not exceed, shape (n,), uncalibrated."""
        return self.now + _quantile(self.waits, level)

    @property
    def likely(self) -> Floats:
        """P50 (seconds), infinite where half of the samples have no start."""
        return self.quantile(LIKELY)

    @property
    def bounds(self) -> tuple[Floats, Floats]:
        """Calibrated P10 and P90: not before, 9 in 10 by."""
        early, likely, late = (_quantile(self.waits, level) for level in (EARLY, LIKELY, LATE))
        low, high = self.calibration.bounds(early, likely, late)
        return self.now + low, self.now + high

    def chance_by(self, time: int) -> Floats:
        """Share of the samples in which each job has started by a time, shape (n,)."""
        return np.asarray((self.waits <= time - self.now).mean(axis=1))


def _quantile(waits: Floats, level: float) -> Floats:
    """Always one of the samples: between a start and none there is nothing."""
    return np.asarray(np.quantile(waits, level, axis=1, method="inverted_cdf"))


def forecast_world(
    world: ForwardWorld,
    names: tuple[str, ...],
    runtimes: RunTimeModel,
    arrivals: Arrivals,
    *,
    samples: int = SAMPLES,
    seed: int = 0,
    known: int | None = None,
    calibration: Calibration = UNCALIBRATED,
    workers: int = 1,
    stop: Callable[[], bool] = never,
) -> Forecasts:
    """Run a world forward once with limits and `samples` times with drawn run times and arrivals.

    names: of the asked jobs. known: the second up to which models may know the past, now if None.
    workers: processes that draw samples; a sample depends on the seed and its number alone. stop:
    once it says yes the forecasts rest on the samples so far.
    Raises OutOfTime where a world that takes long is stopped before the first of them.
    """
    known = world.now if known is None else known
    by_limits = starts_at_limits(world, stop)
    until = world.now + _look_ahead(by_limits, world.now)
    run_times = runtimes.draw(world.jobs, known, samples, seed)
    coming = arrivals.after(world.now, known, world.jobs, run_times, seed)
    tasks = ((run_times[:, sample], coming(sample, until)) for sample in range(samples))
    found = list(samples_of(world, tasks, workers, stop))
    return Forecasts(world.now, names, by_limits, np.stack(found, axis=1), calibration)


def starts_at_limits(world: ForwardWorld, stop: Callable[[], bool] = never) -> Ints:
    """Starts of the asked jobs if all run to their limits and nobody comes, NEVER for none."""
    run_times = AtLimits().draw(world.jobs, world.now, 1, 0)[:, 0]
    starts = world.starts(run_times, NOBODY, stop)
    return np.where(starts - world.now >= ENDLESS // 2, NEVER, starts)


def _look_ahead(by_limits: Ints, now: int) -> int:
    """Seconds for which jobs come."""
    if not len(by_limits) or (by_limits == NEVER).any():
        return LONGEST_LOOK
    longest = LOOK_AHEAD * int(by_limits.max() - now)
    return min(max(SHORTEST_LOOK, longest), LONGEST_LOOK)
