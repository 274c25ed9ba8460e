"""Models of job run times, one small class each (docs/dev/forecast.md).

Jobs submitted close together have similar run times. For jobs of one user, limit and size, run
times are more alike the nearer their submissions are ("batches" and "sessions" of Zakay and
Feitelson 2012; docs/dev/forecast.md has numbers). Membership of a batch depends on submission times
only, never on run times.

Weighted numbers, some of which are lower bounds. The elapsed time of a running job is a lower bound
of its run time. Its weight is distributed to all larger numbers, in proportion to their weights
(redistribution to the right, Efron 1967), which is the estimator of Kaplan and Meier (1958).
Without these jobs, run times would be too short.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from ...model.display import HOUR
from ...model.workload import Ints
from ..availability.resources import BoolArray
from .jobs import NO_LIMIT, AskedJobs, Floats, PastJobs, keys_of, spread

#: User, limit and slots of a job.
Kind = tuple[int, int, int]


class Batches:
    """Past jobs of each user, limit and size, sorted by submission."""

    def __init__(self, past: PastJobs, rows: dict[Kind, Ints]) -> None:
        """Sort the rows; rows: rows of the past by user, limit and size."""
        self._submit = past.submit
        self._rows = {
            kind: found[np.argsort(past.submit[found], kind="stable")]
            for kind, found in rows.items()
        }

    def mates(
        self, kind: Kind, submit: int, known: int, running: AskedJobs, most: int, apart: int
    ) -> tuple[Ints, Ints]:
        """Return the jobs of a kind submitted nearest to a time: rows of finished and of running
        jobs.

        known: use only this many first rows of the past. running: running jobs of this kind. most:
        upper limit of the count. apart: maximum distance of submissions, in seconds.
        """
        rows = self._rows.get(kind, _NONE)
        times = self._submit[rows]
        first = np.searchsorted(times, submit - apart)
        last = np.searchsorted(times, submit + apart, side="right")
        ended = rows[first:last]
        ended = ended[ended < known]
        run_on = np.flatnonzero(np.abs(running.submit - submit) <= apart)
        away = np.abs(np.concatenate((self._submit[ended], running.submit[run_on])) - submit)
        nearest = np.argsort(away, kind="stable")[:most]
        over = nearest < len(ended)
        return ended[nearest[over]], run_on[nearest[~over] - len(ended)]


_NONE: Ints = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class WeightedSample:
    """Numbers in ascending order with their weights, both of shape (n,)."""

    #: Numbers in ascending order.
    numbers: Floats
    #: Weight of each number.
    weights: Floats

    @classmethod
    def of(cls, numbers: Floats) -> WeightedSample:
        """Return the sorted numbers, each with weight 1."""
        return cls(np.sort(numbers), np.ones(len(numbers)))

    def __len__(self) -> int:
        return len(self.numbers)

    def at(self, chances: Floats) -> Floats:
        """Return for each probability the smallest number at which the cumulative weight exceeds
        it.
        """
        sums = np.cumsum(self.weights)
        places = np.searchsorted(sums, chances * sums[-1], side="right")
        found: Floats = self.numbers[np.minimum(places, len(self) - 1)]
        return found

    def beyond(self, least: float) -> WeightedSample:
        """Return the numbers of at least `least` with their weights."""
        first = int(np.searchsorted(self.numbers, least))
        return WeightedSample(self.numbers[first:], self.weights[first:])

    def weighing(self, total: float) -> WeightedSample:
        """Return the numbers with weights scaled to the sum `total`."""
        if not len(self):
            return self
        return WeightedSample(self.numbers, self.weights * (total / np.cumsum(self.weights)[-1]))

    def times(self, factor: float) -> WeightedSample:
        """Return all numbers multiplied by a positive factor."""
        return WeightedSample(self.numbers * factor, self.weights)

    def at_most(self, most: float) -> WeightedSample:
        """Return the numbers with larger ones lowered to `most`."""
        return WeightedSample(np.minimum(self.numbers, most), self.weights)

    def beside(self, other: WeightedSample) -> WeightedSample:
        """Return the union of these numbers and others."""
        numbers = np.concatenate((self.numbers, other.numbers))
        order = np.argsort(numbers, kind="stable")
        return WeightedSample(numbers[order], np.concatenate((self.weights, other.weights))[order])

    def with_survivors(self, seen: Floats, otherwise: WeightedSample) -> WeightedSample:
        """Return these numbers with the weight of jobs that are known only to exceed the numbers
        `seen`.

        seen: lower bounds in ascending order, each with weight 1. otherwise: numbers that replace a
        bound that exceeds all of these numbers; a bound that exceeds those too is dropped.
        """
        survives = np.repeat([False, True], [len(self), len(seen)])
        numbers = np.concatenate((self.numbers, seen))
        order = np.lexsort((~survives, numbers))
        numbers, survives = numbers[order], survives[order]
        weights = np.concatenate((self.weights, np.ones(len(seen))))[order]
        left = np.cumsum(weights[::-1])[::-1]
        # The weight of a bound goes to all larger numbers, including bounds, which distribute it
        # again.
        gain = np.ones(len(weights))
        gain[1:] = np.where(survives[:-1], left[:-1] / left[1:], 1.0)
        weights = weights * np.cumprod(gain)
        ended = np.flatnonzero(~survives)
        last = int(ended.max(initial=-1)) + 1
        found = WeightedSample(numbers[ended], weights[ended])
        # Bounds above all numbers have no larger number: each keeps the weight of the first of
        # them.
        for place in range(last, len(numbers)):
            larger = otherwise.beyond(numbers[place])
            if len(larger):
                found = found.beside(larger.weighing(float(weights[last])))
        return found


#: Stream number of the random numbers for run times.
STREAM = "run time"
#: Run time in seconds of a job without a limit, if nothing else is known: longer than any forecast.
ENDLESS = 10**9
#: Key of a group of similar jobs: whether it has a limit, then nothing, its area, or user, limit
#: and size.
Group = tuple[int, ...]


class RunTimeModel(Protocol):
    """Model that samples run times of jobs.

    A sample depends on the seed, the job and its number, on the past and on running jobs, never on
    other waiting jobs.
    """

    def draw(self, jobs: AskedJobs, known: int, samples: int, seed: int) -> Ints:
        """Return total run times in seconds, int64 of shape (jobs, samples).

        known: only jobs of the history that ended by this second are used. A run time is at least 1
        and at least the elapsed time of the job; it never exceeds the limit, unless the job has
        already exceeded it.
        """


@dataclass(frozen=True, slots=True)
class AtLimits:
    """Run-time model of a plan: every job runs to its limit; one without a limit never ends."""

    def draw(self, jobs: AskedJobs, known: int, samples: int, seed: int) -> Ints:
        """Return run times as :class:`RunTimeModel` defines; equal in every sample."""
        longest = np.where(jobs.limit == NO_LIMIT, ENDLESS, jobs.limit)
        return within(np.repeat(longest[:, None], samples, axis=1), jobs)


@dataclass(frozen=True, slots=True)
class ExactRunTimes:
    """Run-time model with given run times by the key of the job, for tests and for measurements.

    A job without a given time runs to its limit.
    """

    #: Run time in seconds by the key of the job.
    run_time: Mapping[int, int]

    def draw(self, jobs: AskedJobs, known: int, samples: int, seed: int) -> Ints:
        """Return run times as :class:`RunTimeModel` defines; equal in every sample."""
        at_limits = AtLimits().draw(jobs, known, 1, seed)[:, 0]
        named = zip(jobs.key.tolist(), at_limits.tolist(), strict=True)
        found = np.array([self.run_time.get(key, limit) for key, limit in named], dtype=np.int64)
        return within(np.repeat(found[:, None], samples, axis=1), jobs)


@dataclass(frozen=True, slots=True)
class LastTwo:
    """Run-time model of EASY++ (Tsafrir, Etsion and Feitelson 2007): mean of the user's last two
    jobs.

    The mean is doubled while a job has run longer. With fewer than two jobs, the limit is used.
    """

    past: PastJobs

    def draw(self, jobs: AskedJobs, known: int, samples: int, seed: int) -> Ints:
        """Return run times as :class:`RunTimeModel` defines; equal in every sample."""
        count = self.past.known_at(known)
        user, ran = self.past.user[:count], self.past.run_time[:count]
        guess = AtLimits().draw(jobs, known, 1, seed)[:, 0]
        for one in np.unique(jobs.user):
            last = ran[user == one][-2:]
            if len(last) == 2:
                guess[jobs.user == one] = max(1, int(last.sum()) // 2)
        while (outrun := guess < jobs.elapsed).any():
            guess[outrun] *= 2
        return within(np.repeat(guess[:, None], samples, axis=1), jobs)


@dataclass(frozen=True, slots=True)
class RatioSettings:
    """Settings of :class:`Ratios`: maximum size of each group and weights of the wider groups."""

    #: Maximum number of all jobs, those that ended last.
    max_all: int = 500
    #: Maximum number of jobs with similar area (limit times slots).
    max_area: int = 300
    #: Maximum number of jobs with equal user and limit.
    max_habit: int = 300
    #: Maximum number of jobs with equal user, limit and size.
    max_alike: int = 10
    #: Maximum number of jobs in a batch.
    max_batch: int = 10
    #: Maximum distance of submissions in a batch, in seconds.
    batch_window: int = 4 * HOUR
    #: Weight of all jobs together among those of similar area, each of which weighs 1.
    all_weight: float = 10.0
    #: Weight of the jobs of similar area together among those of equal user and limit.
    area_weight: float = 10.0
    #: Weight of the jobs of equal user and limit together among those of equal size as well.
    habit_weight: float = 10.0
    #: Weight of the jobs of equal user, limit and size together among those of the batch.
    alike_weight: float = 3.0
    #: Probability that a job uses the quantile that is common to its user, limit and size.
    shared_fate_probability: float = 0.6

    @property
    def nearer(self) -> tuple[tuple[int, float], ...]:
        """Return for each group but the widest: its maximum size, and the weight of the wider
        groups.
        """
        return (
            (self.max_area, self.all_weight),
            (self.max_habit, self.area_weight),
            (self.max_alike, self.habit_weight),
        )


@dataclass(frozen=True, slots=True)
class Ratios:
    """Run-time model that samples the used part of the limit from similar jobs.

    Four groups, each mixed with the wider ones: all jobs, jobs of similar area (limit times slots),
    of equal user and limit, and of equal size as well. Within the last group, jobs submitted near
    to the job, its batch, weigh most. The area matters because large jobs decide how long a queue
    takes, and small jobs are no guide to their run times. Running jobs count as longer than their
    elapsed time, and a running job is sampled from longer run times only. For jobs without a limit,
    run times themselves are sampled. Jobs of one user, limit and size may have a common quantile.
    """

    past: PastJobs
    settings: RatioSettings = RatioSettings()
    _places: dict[Group, Ints] = field(init=False, repr=False)
    _batches: Batches = field(init=False, repr=False)

    def __post_init__(self) -> None:
        groups: dict[Group, list[int]] = defaultdict(list)
        kinds = list(self.past.rows("user", "limit", "slots"))
        for place, (user, limit, slots) in enumerate(kinds):
            for group in _groups(user, limit, slots):
                groups[group].append(place)
            if limit != NO_LIMIT:  # also for jobs without a limit
                for group in _groups(user, NO_LIMIT, slots)[:-1]:
                    groups[group].append(place)
        places = {group: np.array(found, dtype=np.int64) for group, found in groups.items()}
        object.__setattr__(self, "_places", places)
        alike = {kind: places[_groups(*kind)[-1]] for kind in set(kinds)}
        object.__setattr__(self, "_batches", Batches(self.past, alike))

    def draw(self, jobs: AskedJobs, known: int, samples: int, seed: int) -> Ints:
        """Return run times as :class:`RunTimeModel` defines."""
        chances = self._chances(jobs, samples, seed)
        seen = _Seen(self.past.known_at(known), known, jobs.pick(jobs.elapsed >= 0))
        found = AtLimits().draw(jobs, known, samples, seed)
        rows = jobs.rows("submit", "elapsed", "user", "limit", "slots")
        weighed: dict[tuple[Kind, int], WeightedSample] = {}
        for row, (submit, elapsed, *kind) in enumerate(rows):
            one = ((kind[0], kind[1], kind[2]), submit)
            if one not in weighed:
                weighed[one] = self._of_batch(*one, seen)
            longer = weighed[one].beyond(elapsed)
            if len(longer):
                found[row] = np.rint(longer.at(chances[row])).astype(np.int64)
        return within(found, jobs)

    def _chances(self, jobs: AskedJobs, samples: int, seed: int) -> Floats:
        """Return, for each job and sample, the quantile of its run time among similar jobs."""
        own = spread(seed, STREAM, jobs.key, samples)
        rows = jobs.rows("user", "limit", "slots")
        kinds = keys_of(" ".join(map(str, row)) for row in rows)
        shared = spread(seed, "shared fate", kinds, samples)
        together = (
            spread(seed, "together", jobs.key, samples) < self.settings.shared_fate_probability
        )
        return np.where(together, shared, own)

    def _of_batch(self, kind: Kind, submit: int, seen: _Seen) -> WeightedSample:
        """Return possible run times of a job by its group and submission; its batch weighs most.

        If no job of the batch has started, the result is that of the group.
        """
        farther = self._run_times(kind, seen)
        running = seen.running.pick(_belongs(seen.running, _groups(*kind)[-1]))
        most, apart = self.settings.max_batch, self.settings.batch_window
        ended, run_on = self._batches.mates(kind, submit, seen.count, running, most, apart)
        if not len(ended) + len(run_on):
            return farther
        ran = self.past.run_time[ended].astype(np.float64)
        nearer = WeightedSample.of(ran).beside(farther.weighing(self.settings.alike_weight))
        so_far = running.elapsed[run_on].astype(np.float64)
        return nearer.with_survivors(np.sort(so_far), farther)

    def _run_times(self, kind: Kind, seen: _Seen) -> WeightedSample:
        """Return possible run times of a job by user, limit and size, with weights."""
        user, limit, slots = kind
        groups = _groups(*kind)
        if limit == NO_LIMIT:
            return self._like(groups, seen)
        if len(self._last(groups[0], 1, seen.count)):
            return self._like(groups, seen).times(limit)
        return self._like(_groups(user, NO_LIMIT, slots), seen).at_most(limit)

    def _like(self, groups: tuple[Group, ...], seen: _Seen) -> WeightedSample:
        """Return ratios of jobs of these groups, from the widest on; the narrowest weigh most."""
        group = groups[-1]
        if groups in seen.weighed:  # wider groups are shared
            return seen.weighed[groups]
        if len(groups) == 1:
            last = self._last(group, self.settings.max_all, seen.count)
            found = WeightedSample.of(self._ratios(last, group))
        else:
            farther = self._like(groups[:-1], seen)
            most, weight = self.settings.nearer[len(groups) - 2]
            ended, run_on = self._started(group, most, seen)
            nearer = WeightedSample.of(self._ratios(ended, group)).beside(farther.weighing(weight))
            found = nearer.with_survivors(run_on, farther)
        seen.weighed[groups] = found
        return found

    def _ratios(self, rows: Ints, group: Group) -> Floats:
        """Return the run times of jobs as parts of their limits, or in seconds for jobs without
        limits.
        """
        run_time = self.past.run_time[rows].astype(np.float64)
        return run_time / self.past.limit[rows] if group[0] else run_time

    def _started(self, group: Group, most: int, seen: _Seen) -> tuple[Ints, Floats]:
        """Return the jobs of a group that started last: rows of finished jobs, ratios of running
        ones.

        Choosing the jobs that finished last would favour short ones.
        """
        ended = self._last(group, most, seen.count)
        running = seen.running.pick(_belongs(seen.running, group))
        starts = seen.now - running.elapsed
        all_starts = np.sort(np.concatenate((self.past.start[ended], starts)))
        first = all_starts[-most] if len(all_starts) >= most else -(2**62)
        recent = running.pick(starts >= first)
        ratios = recent.elapsed / recent.limit if group[0] else recent.elapsed.astype(np.float64)
        return ended[self.past.start[ended] >= first], np.sort(ratios)

    def _last(self, group: Group, most: int, count: int) -> Ints:
        """Return the rows of the last jobs of a group among the first `count` rows."""
        rows = self._places.get(group, _NONE)
        end = int(np.searchsorted(rows, count))
        return rows[max(0, end - most) : end]


@dataclass(frozen=True, slots=True)
class _Seen:
    """The data known at an instant: the first `count` jobs of the past, and the running jobs."""

    count: int
    #: Instant in seconds.
    now: int
    #: Jobs that run at this instant.
    running: AskedJobs
    #: Cached results, by group and its wider groups.
    weighed: dict[tuple[Group, ...], WeightedSample] = field(default_factory=dict)


def _groups(user: int, limit: int, slots: int) -> tuple[Group, ...]:
    """Return the groups of a job: all; similar area; equal user and limit; equal size as well.

    Jobs without a limit have groups of their own; their area is the number of slots.
    """
    limited = int(limit != NO_LIMIT)
    area = slots * limit if limited else slots
    return (
        (limited,),
        (limited, area.bit_length()),
        (limited, user, limit),
        (limited, user, limit, slots),
    )


def _belongs(jobs: AskedJobs, group: Group) -> BoolArray:
    """Return a mask of the jobs of a group."""
    limited, *wanted = group
    alike = len(wanted) == 3
    found = (jobs.limit != NO_LIMIT) if limited else np.ones(len(jobs), dtype=np.bool_)
    limit = jobs.limit if limited or alike else np.full(len(jobs), NO_LIMIT)
    if len(wanted) == 1:
        area = jobs.slots * limit if limited else jobs.slots
        return np.asarray(found & (np.frexp(area)[1] == wanted[0]))
    for column, value in zip((jobs.user, limit, jobs.slots), wanted, strict=False):
        found = found & (column == value)
    return found


def within(run_times: Ints, jobs: AskedJobs) -> Ints:
    """Return run times of at least a second and the elapsed time; a limit ends the job."""
    least = np.maximum(1, jobs.elapsed)
    most = np.where(jobs.limit == NO_LIMIT, np.iinfo(np.int64).max, jobs.limit)
    return np.clip(run_times, least[:, None], np.maximum(least, most)[:, None])
