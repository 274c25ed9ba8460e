"""Models of job run times, one small class each (docs/dev/forecast.md)."""

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

# Jobs that were submitted about together: what one of a batch did says most about the others.
#
# Of jobs of one user, limit and size the run times are the more alike the nearer their submissions
# are ("batches" and "sessions" of Zakay and Feitelson 2012; docs/dev/forecast.md has numbers).
# Whether a job is in a batch depends on when it was submitted and never on how long it ran.


#: User, limit and size of a job.
Kind = tuple[int, int, int]


class Batches:
    """Jobs of the past of each kind by their submission."""

    def __init__(self, past: PastJobs, rows: dict[Kind, Ints]) -> None:
        """rows: of the past, by kind."""
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


# Numbers with weights, of which some are only known to be larger than what was seen.
#
# A job that still runs is such a number: its run time is more than what it has run. Its weight is
# given to the larger numbers, in proportion to theirs (redistribution to the right, Efron 1967),
# which is the estimator of Kaplan and Meier (1958). To leave it out would make jobs too short.


@dataclass(frozen=True, slots=True, eq=False)
class WeightedSample:
    """Numbers in order and their weights, of shape (n,)."""

    numbers: Floats
    weights: Floats

    @classmethod
    def of(cls, numbers: Floats) -> WeightedSample:
        """Each number counts 1."""
        return cls(np.sort(numbers), np.ones(len(numbers)))

    def __len__(self) -> int:
        return len(self.numbers)

    def at(self, chances: Floats) -> Floats:
        """The smallest number such that it and those before it weigh more than each chance."""
        sums = np.cumsum(self.weights)
        places = np.searchsorted(sums, chances * sums[-1], side="right")
        found: Floats = self.numbers[np.minimum(places, len(self) - 1)]
        return found

    def beyond(self, least: float) -> WeightedSample:
        """Return only the numbers above a value."""
        first = int(np.searchsorted(self.numbers, least))
        return WeightedSample(self.numbers[first:], self.weights[first:])

    def weighing(self, total: float) -> WeightedSample:
        """Return the numbers with another sum of weights."""
        if not len(self):
            return self
        return WeightedSample(self.numbers, self.weights * (total / np.cumsum(self.weights)[-1]))

    def times(self, factor: float) -> WeightedSample:
        """All numbers multiplied by a positive factor."""
        return WeightedSample(self.numbers * factor, self.weights)

    def at_most(self, most: float) -> WeightedSample:
        """Larger numbers made as small as that."""
        return WeightedSample(np.minimum(self.numbers, most), self.weights)

    def beside(self, other: WeightedSample) -> WeightedSample:
        """Return these numbers together with others."""
        numbers = np.concatenate((self.numbers, other.numbers))
        order = np.argsort(numbers, kind="stable")
        return WeightedSample(numbers[order], np.concatenate((self.weights, other.weights))[order])

    def with_survivors(self, seen: Floats, otherwise: WeightedSample) -> WeightedSample:
        """Return these numbers and, with weight 1, numbers known only to exceed those in `seen`.

        seen: in ascending order. otherwise: numbers used if none of these is as large; a number
        above both is omitted.
        """
        survives = np.repeat([False, True], [len(self), len(seen)])
        numbers = np.concatenate((self.numbers, seen))
        order = np.lexsort((~survives, numbers))
        numbers, survives = numbers[order], survives[order]
        weights = np.concatenate((self.weights, np.ones(len(seen))))[order]
        left = np.cumsum(weights[::-1])[::-1]
        # The weight of a survivor goes to all larger numbers, survivors included, which pass it on
        # in turn.
        gain = np.ones(len(weights))
        gain[1:] = np.where(survives[:-1], left[:-1] / left[1:], 1.0)
        weights = weights * np.cumprod(gain)
        ended = np.flatnonzero(~survives)
        last = int(ended.max(initial=-1)) + 1
        found = WeightedSample(numbers[ended], weights[ended])
        # The last have none behind: each keeps what the first of them has.
        for place in range(last, len(numbers)):
            larger = otherwise.beyond(numbers[place])
            if len(larger):
                found = found.beside(larger.weighing(float(weights[last])))
        return found


#: Stream number of the random numbers for run times.
STREAM = "run time"
#: Run time of a job without a limit where nothing else is known, seconds: past anything awaited.
ENDLESS = 10**9
#: Jobs that are like each other: whether they have a limit, then their area, or user, limit, size.
Group = tuple[int, ...]


class RunTimeModel(Protocol):
    """Draws run times.

    A draw depends on seed, job and sample, on the past and on what runs; never on who else waits.
    """

    def draw(self, jobs: AskedJobs, known: int, samples: int, seed: int) -> Ints:
        """Run times in all (seconds), int64 of shape (jobs, samples).

        known: only jobs of the history that have ended by this second may be looked at. At least
        one second, at least what a running job has run, and never more than a limit unless the job
        has run longer already.
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
    """Run times that are known, by the key of the job: for tests, and to see what is left to know.

    A job that is not named runs to its limit.
    """

    run_time: Mapping[int, int]

    def draw(self, jobs: AskedJobs, known: int, samples: int, seed: int) -> Ints:
        """Return run times as :class:`RunTimeModel` defines; equal in every sample."""
        at_limits = AtLimits().draw(jobs, known, 1, seed)[:, 0]
        named = zip(jobs.key.tolist(), at_limits.tolist(), strict=True)
        found = np.array([self.run_time.get(key, limit) for key, limit in named], dtype=np.int64)
        return within(np.repeat(found[:, None], samples, axis=1), jobs)


@dataclass(frozen=True, slots=True)
class LastTwo:
    """The mean of the user's last two jobs, doubled while a job has outrun it.

    EASY++ of Tsafrir, Etsion and Feitelson (2007). With fewer than two the limit.
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
    """Settings of :class:`Ratios`: the number of jobs per group and the weight of the wider
    groups.
    """

    #: Jobs that ended last.
    max_all: int = 500
    #: Last jobs of about the area, limit times size.
    max_area: int = 300
    #: Last jobs with the user and limit of the job.
    max_habit: int = 300
    #: Last jobs of that user, limit and size. A near job weighs 1; all farther ones together weigh
    #: as much as `all_weight` jobs beside those of the area, as `area_weight` beside those of the
    #: habit, as `habit_weight` beside those alike, as `alike_weight` beside those of the batch: of
    #: the jobs alike the `max_batch` that were submitted nearest to it, none farther than
    #: `batch_window` seconds.
    max_alike: int = 10
    max_batch: int = 10
    batch_window: int = 4 * HOUR
    all_weight: float = 10.0
    area_weight: float = 10.0
    habit_weight: float = 10.0
    alike_weight: float = 3.0
    #: Probability that a job of a sample has the quantile shared by its user, limit and size.
    shared_fate_probability: float = 0.6

    @property
    def nearer(self) -> tuple[tuple[int, float], ...]:
        """Return the size of each group but the first, from wide to narrow, and the weight of the
        wider ones.
        """
        return (
            (self.max_area, self.all_weight),
            (self.max_habit, self.area_weight),
            (self.max_alike, self.habit_weight),
        )


@dataclass(frozen=True, slots=True)
class Ratios:
    """What part of its limit a job uses, drawn from jobs that are like it.

    Four groups, each mixed with some of the farther: all, those of about the same area (limit times
    size), those of the same user and limit, those of the same size as well. Nearest are those of
    the last group that were submitted about when the job was: its batch. What a queue comes to
    is decided by its large jobs, which are no shorter than large jobs are, whatever the many small
    ones do. Jobs that still run count as longer than they have run. What a
    running job has used already is not drawn any more. For a job without a limit run times
    themselves are drawn. Jobs of one user, limit and size tend to share their fate.
    """

    past: PastJobs
    settings: RatioSettings = RatioSettings()
    _places: dict[Group, Ints] = field(init=False, repr=False)
    _batches: Batches = field(init=False, repr=False)

    def __post_init__(self) -> None:
        groups: dict[Group, list[int]] = defaultdict(list)
        columns = (self.past.user, self.past.limit, self.past.slots)
        kinds = list(zip(*(column.tolist() for column in columns), strict=True))
        for place, (user, limit, slots) in enumerate(kinds):
            for group in _groups(user, limit, slots):
                groups[group].append(place)
            if limit != NO_LIMIT:  # its run time helps those without a limit too
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
        columns = (jobs.submit, jobs.elapsed, jobs.user, jobs.limit, jobs.slots)
        rows = zip(*(column.tolist() for column in columns), strict=True)
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
        columns = (jobs.user, jobs.limit, jobs.slots)
        rows = zip(*(column.tolist() for column in columns), strict=True)
        kinds = keys_of(" ".join(map(str, row)) for row in rows)
        shared = spread(seed, "shared fate", kinds, samples)
        together = (
            spread(seed, "together", jobs.key, samples) < self.settings.shared_fate_probability
        )
        return np.where(together, shared, own)

    def _of_batch(self, kind: Kind, submit: int, seen: _Seen) -> WeightedSample:
        """Run times that a job of a kind may have that was submitted then; its batch counts most.

        They are those of the kind where nobody of the batch has started.
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
        """Run times that a job of a kind may have, and how much each of them counts."""
        user, limit, slots = kind
        groups = _groups(*kind)
        if limit == NO_LIMIT:
            return self._like(groups, seen)
        if len(self._last(groups[0], 1, seen.count)):
            return self._like(groups, seen).times(limit)
        return self._like(_groups(user, NO_LIMIT, slots), seen).at_most(limit)

    def _like(self, groups: tuple[Group, ...], seen: _Seen) -> WeightedSample:
        """Ratios of jobs of these groups, from the farthest on; the nearest weigh most."""
        group = groups[-1]
        if groups in seen.weighed:  # kinds have their farther groups in common
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
        """Run times of jobs of a group as parts of their limits, or in seconds without limits."""
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
        """Rows of the last jobs of a group among the first `count` rows."""
        rows = self._places.get(group, _NONE)
        end = int(np.searchsorted(rows, count))
        return rows[max(0, end - most) : end]


@dataclass(frozen=True, slots=True)
class _Seen:
    """The visible data: the first `count` jobs of the past, and the jobs that run `now`."""

    count: int
    now: int
    running: AskedJobs
    #: Cached results, by group and its wider groups.
    weighed: dict[tuple[Group, ...], WeightedSample] = field(default_factory=dict)


def _groups(user: int, limit: int, slots: int) -> tuple[Group, ...]:
    """All; about the same area; the same user and limit; the same size as well.

    Jobs without a limit apart: of those the area is the size.
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
