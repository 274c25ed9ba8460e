"""Forecasts: samples of when each job starts, and what they come to."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from numbers import Real
from typing import Any

import numpy as np

from ...model.errors import InputError
from ...model.omissions import Omission
from ...model.time_text import with_stamps
from ...model.workload import Ints
from ..budget import OutOfTime
from .arrivals import DAY, NOBODY, Arrivals, Coming, ComingJobs
from .calibration import EARLY, LATE, LIKELY, UNCALIBRATED, Calibration
from .draws import Floats
from .forward import ForwardWorld, never
from .jobs import NEVER, NO_LIMIT, ints
from .runtimes import ENDLESS, AtLimits, RunTimeModel
from .workers import Stop, results_of

SAMPLES = 200
#: Names of the times of a record: the plan, P50, calibrated P90 and P10.
TIMES = ("by_limits", "likely", "nine_in_ten_by", "one_in_ten_by")
#: Jobs come for so many times what the last asked job would wait at limits, within these bounds.
LOOK_AHEAD = 2
SHORTEST_LOOK, LONGEST_LOOK = DAY, 60 * DAY


@dataclass(frozen=True, slots=True, eq=False)
class Forecasts:
    """When each of n jobs starts. Times in seconds of the cluster's clock.

    now: the moment of asking. names: of the jobs. by_limits: int64 of shape (n,), start if every
    job ran to its limit and nobody came, NEVER where it has none. samples: int64 of shape
    (n, samples), starts in each sample, NEVER where it has none. cut: fewer samples than were
    wanted. remarks: what was odd about the history. origin: of the instance. run_by: what
    ran the cluster forward, in words. seed: of what was drawn. doubts: why bounds may not hold:
    too few ended jobs or samples. omissions: what is obeyed nowhere of these jobs. policy: of the
    pool, None where the loop ran hosts. endless: rows of the world's jobs that are taken to run for
    ever in every sample.
    """

    now: int
    names: tuple[str, ...]
    by_limits: Ints
    samples: Ints
    calibration: Calibration = UNCALIBRATED
    cut: bool = False
    remarks: tuple[str, ...] = ()
    origin: str | None = None
    run_by: str = ""
    seed: int = 0
    doubts: tuple[str, ...] = ()
    omissions: tuple[Omission, ...] = ()
    policy: str | None = None
    endless: tuple[int, ...] = ()

    @property
    def doubtful(self) -> bool:
        """Whether there are too few ended jobs or samples for bounds to hold."""
        return bool(self.doubts)

    @property
    def waits(self) -> Floats:
        """Seconds from now to the start in each sample, infinite where there is none."""
        return np.where(self.samples == NEVER, np.inf, self.samples - self.now)

    def quantile(self, level: float) -> Floats:
        """Start that a share `level` of the samples does not exceed, shape (n,), uncalibrated.

        Raises InputError for a level that is no number from 0 to 1.
        """
        if not isinstance(level, Real) or isinstance(level, bool) or not 0 <= level <= 1:
            raise InputError(f"level must be a number from 0 to 1, not {level!r}")
        return self.now + _quantile(self.waits, level)

    @property
    def likely(self) -> Floats:
        """P50 (seconds), infinite where half of the samples have no start."""
        return self.quantile(LIKELY)

    @property
    def bounds(self) -> tuple[Floats, Floats]:
        """Calibrated P10 and P90: 1 in 10 by, 9 in 10 by."""
        early, likely, late = (_quantile(self.waits, level) for level in (EARLY, LIKELY, LATE))
        low, high = self.calibration.bounds(early, likely, late)
        return np.rint(self.now + low), np.rint(self.now + high)

    def chance_by(self, time: int) -> Floats:
        """Share of the samples in which each job has started by a time, shape (n,)."""
        return np.asarray((self.waits <= time - self.now).mean(axis=1))

    def records(self, by: int | None = None) -> list[dict[str, Any]]:
        """One job each, as plain data; None for no start. by: with the chance to start by then."""
        early, late = self.bounds
        columns = (self.by_limits.tolist(), self.likely, late, early)
        chances = [None] * len(self.names) if by is None else self.chance_by(by).tolist()
        found = []
        for job, chance, *times in zip(self.names, chances, *columns, strict=True):
            named = zip(TIMES, map(_whole, times), strict=True)
            record = with_stamps({"job": job, **dict(named)}, self.origin, TIMES)
            found.append(record if by is None else {**record, "chance": chance})
        return found

    def to_dict(self, by: int | None = None) -> dict[str, Any]:
        """Everything but the samples themselves, as plain data."""
        return {
            "now": self.now,
            "origin": self.origin,
            "samples": self.samples.shape[1],
            "seed": self.seed,
            "policy": self.policy,
            "run_by": self.run_by,
            "doubts": list(self.doubts),
            "omissions": [item.to_dict() for item in self.omissions],
            "calibration": asdict(self.calibration),
            **({} if by is None else {"by": by}),
            "jobs": self.records(by),
            "remarks": list(self.remarks),
            "cut": self.cut,
        }


def _whole(time: float) -> int | None:
    """A time in whole seconds, None for no start."""
    return None if time == NEVER or not np.isfinite(time) else int(time)


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
    jobs: Iterable[str] | None = None,
    stop: Callable[[], bool] = never,
) -> Forecasts:
    """Run a world forward once with limits and `samples` times with drawn run times and arrivals.

    names: of the asked jobs. known: the second up to which models may know the past, now if None.
    workers: processes that draw samples; a sample depends on the seed and its number alone. jobs:
    those of the asked jobs to forecast, all where None: a future then ends once they have started,
    and says of them what a forecast of all does. stop: once it says yes the forecasts rest on the
    samples so far.
    Raises OutOfTime where a world that takes long is stopped before the first of them.
    """
    known = world.now if known is None else known
    chosen = np.arange(len(names))
    if jobs is not None:
        wanted = set(jobs)
        chosen = ints([row for row, name in enumerate(names) if name in wanted])
    by_limits = starts_at_limits(world.about(world.asked[chosen]), stop)
    run_times = runtimes.draw(world.jobs, known, samples, seed)
    coming = arrivals.after(world.now, known, world.jobs, run_times, seed)
    # With limits on all that runs and waits, who has no start by them has none in any future.
    sure = bool((world.jobs.limit != NO_LIMIT).all())
    hopeful = np.flatnonzero(by_limits != NEVER) if sure else np.arange(len(chosen))
    asked = world.about(world.asked[chosen[hopeful]])
    until = world.now + look_ahead(by_limits, world.now)
    found, cut = _futures(asked, run_times, coming, until, workers, stop)
    starts = np.full((len(chosen), found.shape[1]), NEVER, dtype=np.int64)
    starts[hopeful] = found
    return Forecasts(
        world.now,
        tuple(names[row] for row in chosen.tolist()),
        by_limits,
        starts,
        calibration,
        cut,
        endless=tuple(np.flatnonzero((run_times >= ENDLESS).all(axis=1)).tolist()),
    )


def _futures(
    world: ForwardWorld, run_times: Ints, coming: Coming, until: int, workers: int, stop: Stop
) -> tuple[Ints, bool]:
    """Starts of the asked jobs in each future, [asked, samples], and whether some are missing.

    until: jobs come up to this second. A future in which an asked job has not started by then is
    run again with twice as many days of them, up to the longest look ahead.
    """
    left = list(range(run_times.shape[1]))
    found: dict[int, Ints] = {}
    last = world.now + LONGEST_LOOK
    while left:
        tasks = ((run_times[:, sample], coming(sample, until)) for sample in left)
        try:
            done = list(results_of(_sample, world, tasks, workers, stop))
        except OutOfTime:
            if not found:
                raise
            return _stacked(found), True
        found |= dict(zip(left, done, strict=False))
        if len(done) < len(left):
            return _stacked(found), True
        if until >= last:
            break
        left = [sample for sample in left if (found[sample] > until).any()]
        until = min(last, until + (until - world.now))
    return _stacked(found), False


def _stacked(found: dict[int, Ints]) -> Ints:
    """One column a future; those of which nothing is known at the end are left out."""
    return np.stack([found[sample] for sample in sorted(found)], axis=1)


def _sample(world: ForwardWorld, task: tuple[Ints, ComingJobs], stop: Stop) -> Ints:
    """Starts of the asked jobs with these run times of all jobs, and those who come."""
    return _without_endless(world.starts(*task, stop), world.now)


def starts_at_limits(world: ForwardWorld, stop: Callable[[], bool] = never) -> Ints:
    """Starts of the asked jobs if all run to their limits and nobody comes, NEVER for none."""
    run_times = AtLimits().draw(world.jobs, world.now, 1, 0)[:, 0]
    return _without_endless(world.starts(run_times, NOBODY, stop), world.now)


def _without_endless(starts: Ints, now: int) -> Ints:
    """NEVER for a job that waits for one that runs for ever."""
    return np.where(starts - now >= ENDLESS // 2, NEVER, starts)


def look_ahead(by_limits: Ints, now: int) -> int:
    """Seconds for which jobs come at first; jobs without a start by limits have no say."""
    known = by_limits[by_limits != NEVER]
    longest = LOOK_AHEAD * int(known.max() - now) if len(known) else 0
    return min(max(SHORTEST_LOOK, longest), LONGEST_LOOK)
