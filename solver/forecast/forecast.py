"""Forecasts: samples of when each job starts, and their quantiles.

Bounds that hold as often as they say: online conformal factors (docs/dev/forecast.md). The score of
a forecast whose truth is known is what its bound would have had to be multiplied by to hold just
so: true / foreseen, both from the moment of asking and at least FLOOR seconds. The quantile of the
last scores at the bound's own level (split conformal prediction, Vovk, Gammerman, Shafer 2005, over
a moving window), for P90 as for P10, is what the next bound is multiplied by, drawn towards the
default while few are known: n scores count as n to DOUBT against it, in logarithms. Where all
futures agree on a start there is nothing to widen.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from math import isfinite
from numbers import Real
from typing import Any

import numpy as np

from ...model.display import DAY, AsData, data_of, with_stamps
from ...model.errors import InputError, Problem
from ...model.job_table import OneLine
from ...model.omissions import Omission
from ...model.workload import Ints
from ..accuracy.measures import EARLY, LATE, LIKELY
from ..budget import OutOfTime
from .arrivals import NOBODY, Arrivals, Coming, FutureArrivals
from .jobs import NO_LIMIT, NO_START, Floats, ints
from .moment import ForwardWorld, never
from .runtimes import ENDLESS, AtLimits, RunTimeModel
from .workers import Stop, results_of

#: Waits below this many seconds count as this many, because no user plans in finer steps.
FLOOR = 300.0
#: Number of recent forecasts that count, their minimum number, and the number at which they weigh
#: half.
WINDOW = 300
MIN_FORECASTS = 20
DOUBT = 50
#: Factors of P10 and P90 where no past forecast is known: `benchmarks/forecast_default_factor.py`.
DEFAULT_EARLY, DEFAULT_LATE = 1.0, 1.1


@dataclass(frozen=True, slots=True)
class Calibration(AsData):
    """Calibration factors of P10 and P90, applied to seconds from the instant of the forecast."""

    #: Factor of P10.
    early: float = 1.0
    #: Factor of P90.
    late: float = 1.0
    #: Number of past forecasts behind the factors; 0 if none is known.
    forecasts: int = 0

    def bounds(self, early: Floats, likely: Floats, late: Floats) -> tuple[Floats, Floats]:
        """Return calibrated P10 and P90, kept on their sides of P50, in seconds from the instant of
        the forecast.

        Where P10 and P90 are one time they stay as they are.
        """
        low, high = np.minimum(early * self.early, likely), np.maximum(late * self.late, likely)
        agreed = early == late
        return np.where(agreed, early, low), np.where(agreed, late, high)


def calibration_of_record(record: object, source: str = "") -> Calibration:
    """Return the calibration in the JSON of a backtest; raises InputError if it has none."""
    found = record.get("calibration") if isinstance(record, Mapping) else None
    if isinstance(found, Mapping):
        factors = [found.get(name) for name in ("early", "late")]
        numbers = [float(item) for item in factors if isinstance(item, (int, float))]
        forecasts = found.get("forecasts")
        if isinstance(forecasts, int) and len(numbers) == 2 and all(0 < x < 1e9 for x in numbers):
            return Calibration(numbers[0], numbers[1], forecasts)
    wrong = "is not a result of `slotwise backtest --format json`: it has no calibration"
    raise InputError([Problem(wrong, source)])


#: Calibration without any known forecast.
UNCALIBRATED = Calibration(DEFAULT_EARLY, DEFAULT_LATE)


@dataclass(slots=True)
class Calibrator:
    """A collector of past forecasts with known truth, which yields the factors for the next
    forecast.
    """

    #: Number of past forecasts used, the latest.
    window: int = WINDOW
    _early: deque[float] = field(init=False)
    _late: deque[float] = field(init=False)

    def __post_init__(self) -> None:
        self._early = deque(maxlen=self.window)
        self._late = deque(maxlen=self.window)

    def add(self, truth: float, early: float, late: float) -> None:
        """Add a known start with its raw P10 and P90, in seconds from the instant of the forecast.

        One whose bounds say no time (infinite) says nothing about others.
        """
        if not (isfinite(early) and isfinite(late)):
            return
        self._early.append(score(truth, early))
        self._late.append(score(truth, late))

    def calibration(self) -> Calibration:
        """Return the factors from all forecasts known so far."""
        known = len(self._late)
        if known < MIN_FORECASTS:
            return replace(UNCALIBRATED, forecasts=known)
        trust = known / (known + DOUBT)
        early = conformal(list(self._early), EARLY) ** trust * DEFAULT_EARLY ** (1 - trust)
        late = conformal(list(self._late), LATE) ** trust * DEFAULT_LATE ** (1 - trust)
        return Calibration(early, late, known)


def score(truth: float, bound: float) -> float:
    """Return the factor that would have made a bound exact."""
    return max(truth, FLOOR) / max(bound, FLOOR)


def conformal(scores: list[float], level: float) -> float:
    """Return the quantile of n scores that is valid for one more: rank level * (n + 1), at least 1.

    For a lower bound the rank is rounded down, so that both bounds err to the safe side.
    """
    rank = level * (len(scores) + 1)
    place = int(np.ceil(rank)) if level > LIKELY else int(np.floor(rank))
    return sorted(scores)[min(max(place, 1), len(scores)) - 1]


SAMPLES = 200
#: Names of the times of a record: the plan, P50, calibrated P90 and P10.
TIMES = ("by_limits", "likely", "nine_in_ten_by", "one_in_ten_by")
#: Arrivals last for this multiple of the last requested job's wait at limits, within these bounds.
LOOK_AHEAD = 2
SHORTEST_LOOK, LONGEST_LOOK = DAY, 60 * DAY


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Forecasts(OneLine):
    """Forecast starts of n jobs. Times in seconds of the cluster's clock."""

    #: Instant of the forecast (seconds).
    now: int
    #: Ids of the jobs.
    names: tuple[str, ...]
    #: Starts (int64 of shape (n,)) if every job ran to its limit and no job arrived, NO_START if
    #: none.
    by_limits: Ints
    #: Int64 of shape (n, samples), starts in each sample, NO_START where it has none.
    samples: Ints
    #: Factors applied to P10 and P90.
    calibration: Calibration = UNCALIBRATED
    #: Whether there are fewer samples than requested.
    cut: bool = False
    #: Remarks on unexpected content of the history.
    remarks: tuple[str, ...] = ()
    #: ISO date of second 0, None if the instance has none.
    origin: str | None = None
    #: Name of the simulation that continues the cluster.
    run_by: str = ""
    #: Seed of the samples.
    seed: int = 0
    #: Why bounds may not hold: too few ended jobs or samples.
    doubts: tuple[str, ...] = ()
    #: Settings of these jobs that no simulation obeys.
    omissions: tuple[Omission, ...] = ()
    #: Policy of the pool, None if hosts were simulated.
    policy: str | None = None
    #: Rows of jobs that are assumed to run indefinitely in every sample.
    endless: tuple[int, ...] = ()

    def _about(self) -> str:
        return f"{len(self.names)} jobs, {self.samples.shape[1]} samples"

    @property
    def doubtful(self) -> bool:
        """Whether there are too few ended jobs or samples for bounds to hold."""
        return bool(self.doubts)

    @property
    def waits(self) -> Floats:
        """Return the seconds from now to the start in each sample, infinite without a start."""
        return np.where(self.samples == NO_START, np.inf, self.samples - self.now)

    def quantile(self, level: float) -> Floats:
        """Return the start that a share `level` of the samples does not exceed, shape (n,),
        uncalibrated.

        Raises InputError for a level that is not a number from 0 to 1.
        """
        if not isinstance(level, Real) or isinstance(level, bool) or not 0 <= level <= 1:
            raise InputError(f"level must be a number from 0 to 1, not {level!r}")
        return self.now + _quantile(self.waits, level)

    @property
    def likely(self) -> Floats:
        """Return P50 (seconds), infinite if half of the samples have no start."""
        return self.quantile(LIKELY)

    @property
    def bounds(self) -> tuple[Floats, Floats]:
        """Return the calibrated P10 and P90."""
        early, likely, late = (_quantile(self.waits, level) for level in (EARLY, LIKELY, LATE))
        low, high = self.calibration.bounds(early, likely, late)
        return np.rint(self.now + low), np.rint(self.now + high)

    def chance_by(self, time: int) -> Floats:
        """Return the share of the samples in which each job has started by a time, shape (n,)."""
        return np.asarray((self.waits <= time - self.now).mean(axis=1))

    def records(self, by: int | None = None) -> list[dict[str, Any]]:
        """Return one record per job as plain data; None if it has none; by: adds the probability of
        a start by then.
        """
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
        """Return everything but the samples themselves as plain data."""
        return {
            **data_of(self, "now origin"),
            "samples": self.samples.shape[1],
            **data_of(self, "seed policy run_by doubts omissions calibration"),
            **({} if by is None else {"by": by}),
            "jobs": self.records(by),
            "remarks": list(self.remarks),
            "cut": self.cut,
        }


def _whole(time: float) -> int | None:
    """Return a time in whole seconds, None if no start."""
    return None if time == NO_START or not np.isfinite(time) else int(time)


def _quantile(waits: Floats, level: float) -> Floats:
    """Return a quantile that is always one of the samples, because NO_START has no intermediate
    values.
    """
    return np.asarray(np.quantile(waits, level, axis=1, method="inverted_cdf"))


#: Number of samples between two checks whether the quantiles are known well enough.
BETWEEN_LOOKS = 10
#: Half-width of a rank interval of a quantile, in standard errors: 95 of 100 intervals contain the
#: quantile.
SURE = 1.96


@dataclass(frozen=True, slots=True)
class Drawn:
    """Settings of the samples."""

    #: Maximum number of samples.
    samples: int = SAMPLES
    #: Seed of the samples; a sample depends only on the seed and its number.
    seed: int = 0
    #: Seconds; sampling ends once each quantile of each requested job is known to this precision
    #: (:func:`uncertainty`); None: all samples.
    precision: int | None = None
    #: Number of processes that compute samples.
    workers: int = 1
    #: Called between samples; if it returns True, sampling ends with the futures so far.
    stop: Callable[[], bool] = never

    def enough(self, found: Mapping[int, Ints], count: int, now: int) -> bool:
        """Whether the first samples suffice, checked after every few samples."""
        if self.precision is None or count % BETWEEN_LOOKS or count >= self.samples:
            return False
        starts = np.stack([found[number] for number in range(count)], axis=1)
        waits = np.where(starts == NO_START, np.inf, starts - now)
        return all(
            (uncertainty(waits, level) <= self.precision).all() for level in (EARLY, LIKELY, LATE)
        )


def uncertainty(waits: Floats, level: float) -> Floats:
    """Return half the length of the 95 % confidence interval of a quantile of each row, (n,).

    waits: (n, samples). By order statistics, which take no form of the distribution for granted;
    infinite where the samples are too few for an interval. Where both ends are infinite it is 0.
    """
    samples = waits.shape[1]
    around = SURE * np.sqrt(samples * level * (1 - level))
    low, high = int(np.floor(samples * level - around)), int(np.ceil(samples * level + around))
    if low < 1 or high >= samples:
        return np.full(len(waits), np.inf)
    ordered = np.sort(waits, axis=1)
    first, last = ordered[:, low - 1], ordered[:, high]
    both = np.isinf(first) & np.isinf(last)
    return np.where(both, 0.0, np.where(both, 0.0, last) - np.where(both, 0.0, first)) / 2


def forecast_world(
    world: ForwardWorld,
    names: tuple[str, ...],
    runtimes: RunTimeModel,
    arrivals: Arrivals,
    drawn: Drawn | None = None,
    *,
    known: int | None = None,
    calibration: Calibration = UNCALIBRATED,
    jobs: Iterable[str] | None = None,
) -> Forecasts:
    """Run a world forward once with limits, and often with drawn run times and arrivals.

    names: of the asked jobs. known: the second up to which models may know the past, now if None.
    jobs: those of the asked jobs to forecast, all where None: a future then ends once they have
    started, and says of them what a forecast of all does.
    Raises OutOfTime where a world that takes long is stopped before the first of them.
    """
    drawn = drawn or Drawn()
    known = world.now if known is None else known
    chosen = np.arange(len(names))
    if jobs is not None:
        wanted = set(jobs)
        chosen = ints([row for row, name in enumerate(names) if name in wanted])
    by_limits = starts_at_limits(world.about(world.asked[chosen]), drawn.stop)
    run_times = runtimes.draw(world.jobs, known, drawn.samples, drawn.seed)
    coming = arrivals.after(world.now, known, world.jobs, run_times, drawn.seed)
    # With limits on all that runs and waits, who has no start by them has none in any future.
    sure = bool((world.jobs.limit != NO_LIMIT).all())
    hopeful = np.flatnonzero(by_limits != NO_START) if sure else np.arange(len(chosen))
    asked = world.about(world.asked[chosen[hopeful]])
    until = world.now + look_ahead(by_limits, world.now)
    found, cut = _futures(asked, run_times, coming, until, drawn)
    starts = np.full((len(chosen), found.shape[1]), NO_START, dtype=np.int64)
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


class _DueFutures(Iterator[tuple[Ints, FutureArrivals]]):
    """The futures still to run, as tasks; more may be added while others run."""

    def __init__(self, run_times: Ints, coming: Coming, until: int) -> None:
        self._run_times, self._coming = run_times, coming
        #: Numbers of futures, each with the second up to which jobs come.
        self.due = deque((number, until) for number in range(run_times.shape[1]))
        #: Samples that workers have and that have no result yet.
        self.taken: deque[tuple[int, int]] = deque()

    def __next__(self) -> tuple[Ints, FutureArrivals]:
        if not self.due:
            raise StopIteration
        number, until = self.due.popleft()
        self.taken.append((number, until))
        return self._run_times[:, number], self._coming(number, until)


def _futures(
    world: ForwardWorld,
    run_times: Ints,
    coming: Coming,
    until: int,
    drawn: Drawn,
) -> tuple[Ints, bool]:
    """Return starts of the requested jobs in each sample, [jobs, samples], and whether some are
    missing.

    until: last second with arrivals. A sample in which a requested job has no start by then is
    repeated with twice as many days of arrivals, up to the longest look-ahead.
    """
    futures = _DueFutures(run_times, coming, until)
    found: dict[int, Ints] = {}
    complete: set[int] = set()
    first = 0
    last = world.now + LONGEST_LOOK
    try:
        for starts in results_of(_sample, world, futures, drawn.workers, drawn.stop):
            number, seen = futures.taken.popleft()
            found[number] = starts
            if seen < last and (starts > seen).any():
                futures.due.appendleft((number, min(last, seen + (seen - world.now))))
                continue
            complete.add(number)
            while first in complete:
                first += 1
                if drawn.enough(found, first, world.now):
                    return _stacked({n: found[n] for n in range(first)}), False
    except OutOfTime:
        if not found:
            raise
    return _stacked(found), len(complete) < run_times.shape[1]


def _stacked(found: dict[int, Ints]) -> Ints:
    """Return the samples as columns; samples without a result are omitted."""
    return np.stack([found[sample] for sample in sorted(found)], axis=1)


def _sample(world: ForwardWorld, task: tuple[Ints, FutureArrivals], stop: Stop) -> Ints:
    """Return the starts of the requested jobs, given run times of all jobs and the future
    arrivals.
    """
    return _without_endless(world.starts(*task, stop), world.now)


def starts_at_limits(world: ForwardWorld, should_stop: Callable[[], bool] = never) -> Ints:
    """Return the starts if all jobs run to their limits without arrivals, NO_START for none."""
    run_times = AtLimits().draw(world.jobs, world.now, 1, 0)[:, 0]
    return _without_endless(world.starts(run_times, NOBODY, should_stop), world.now)


def _without_endless(starts: Ints, now: int) -> Ints:
    """Return the rows with NO_START for jobs that depend on an endless job."""
    return np.where(starts - now >= ENDLESS // 2, NO_START, starts)


def look_ahead(by_limits: Ints, now: int) -> int:
    """Return the initial number of seconds with arrivals; jobs without a start by limits are
    ignored.
    """
    known = by_limits[by_limits != NO_START]
    longest = LOOK_AHEAD * int(known.max() - now) if len(known) else 0
    return min(max(SHORTEST_LOOK, longest), LONGEST_LOOK)
