"""How long jobs will run: models that draw it, one small class each (docs/forecast.md)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from ...model.workload import Ints
from .draws import Floats, uniforms
from .jobs import NO_LIMIT, AskedJobs, PastJobs

#: What the random numbers of run times are drawn for.
STREAM = "run time"
#: Run time of a job without a limit where nothing else is known, seconds: past anything awaited.
ENDLESS = 10**9
#: Jobs that are like each other: whether they have a limit, then user, limit and size.
Group = tuple[int, ...]
#: Run times in order, and how much each of them counts.
Pool = tuple[Ints, Floats]
_NONE: Ints = np.zeros(0, dtype=np.int64)


class RunTimeModel(Protocol):
    """Draws run times. A draw depends on seed, job and sample alone, never on who else is asked."""

    def draw(self, jobs: AskedJobs, known: int, samples: int, seed: int) -> Ints:
        """Run times in all (seconds), int64 of shape (jobs, samples).

        known: only jobs of the history that have ended by this second may be looked at. At least
        one second, at least what a running job has run, and never more than a limit unless the job
        has run longer already.
        """


@dataclass(frozen=True, slots=True)
class AtLimits:
    """Every job uses up its limit: what a plan assumes. One without a limit runs on and on."""

    def draw(self, jobs: AskedJobs, known: int, samples: int, seed: int) -> Ints:
        """As :class:`RunTimeModel` says; the same in every sample."""
        longest = np.where(jobs.limit == NO_LIMIT, ENDLESS, jobs.limit)
        return within(np.repeat(longest[:, None], samples, axis=1), jobs)


@dataclass(frozen=True, slots=True)
class ExactRunTimes:
    """Run times that are known, by the key of the job: for tests, and to see what is left to know.

    A job that is not named runs to its limit.
    """

    run_time: Mapping[int, int]

    def draw(self, jobs: AskedJobs, known: int, samples: int, seed: int) -> Ints:
        """As :class:`RunTimeModel` says; the same in every sample."""
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
        """As :class:`RunTimeModel` says; the same in every sample."""
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
    """Of :class:`Ratios`: how many ended jobs are looked at, and when they are enough.

    alike: last jobs of the same user, limit and size, which count from `enough_alike` on. of_user:
    last jobs of the same user, beside which, while there are fewer than `enough_of_user`, all jobs
    count like `strangers` of them. of_all: last jobs of all.
    """

    alike: int = 20
    enough_alike: int = 4
    of_user: int = 30
    enough_of_user: int = 10
    of_all: int = 500
    strangers: int = 3


@dataclass(frozen=True, slots=True)
class Ratios:
    """What part of its limit a job uses, drawn from ended jobs that are like it.

    Those of the same user, limit and size where there are enough, else those of the same user,
    mixed with all. What a running job has used already is not drawn any more. For a job without a
    limit run times themselves are drawn.
    """

    past: PastJobs
    settings: RatioSettings = RatioSettings()
    _places: dict[Group, Ints] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        groups: dict[Group, list[int]] = defaultdict(list)
        columns = (self.past.user, self.past.limit, self.past.slots)
        rows = zip(*(column.tolist() for column in columns), strict=True)
        for place, (user, limit, slots) in enumerate(rows):
            for group in _groups(user, limit, slots):
                groups[group].append(place)
            if limit != NO_LIMIT:  # its run time helps those without a limit too
                for group in _groups(user, NO_LIMIT, slots)[1:]:
                    groups[group].append(place)
        places = {group: np.array(found, dtype=np.int64) for group, found in groups.items()}
        object.__setattr__(self, "_places", places)

    def draw(self, jobs: AskedJobs, known: int, samples: int, seed: int) -> Ints:
        """As :class:`RunTimeModel` says."""
        chances = uniforms(seed, STREAM, jobs.key, samples)
        count = self.past.known_at(known)
        found = AtLimits().draw(jobs, known, samples, seed)
        pools: dict[tuple[int, int, int], Pool] = {}
        columns = (jobs.user, jobs.limit, jobs.slots, jobs.elapsed)
        rows = zip(*(column.tolist() for column in columns), strict=True)
        for row, (user, limit, slots, elapsed) in enumerate(rows):
            kind = (user, limit, slots)
            if kind not in pools:
                pools[kind] = self._run_times(kind, count)
            times, weights = pools[kind]
            left = np.where(times >= elapsed, weights, 0.0)
            if left.any():
                sums = np.cumsum(left)
                found[row] = times[np.searchsorted(sums, chances[row] * sums[-1], side="right")]
        return within(found, jobs)

    def _run_times(self, kind: tuple[int, int, int], count: int) -> Pool:
        """Run times in order that a job of a kind may have, and how much each of them counts."""
        rows, weights = self._like(_groups(*kind), count)
        run_time = self.past.run_time[rows].astype(np.float64)
        limit = kind[1]
        if len(rows) and limit != NO_LIMIT:
            run_time *= limit / self.past.limit[rows]
        elif limit != NO_LIMIT:  # nobody has had a limit yet
            rows, weights = self._like(_groups(kind[0], NO_LIMIT, kind[2]), count)
            run_time = np.minimum(self.past.run_time[rows], limit).astype(np.float64)
        order = np.argsort(run_time, kind="stable")
        return np.rint(run_time[order]).astype(np.int64), weights[order]

    def _like(self, groups: tuple[Group, Group, Group], count: int) -> tuple[Ints, Floats]:
        """Rows of ended jobs like one of these groups, the nearest first, and their weights."""
        settings = self.settings
        alike = self._last(groups[0], settings.alike, count)
        if len(alike) >= settings.enough_alike:
            return alike, np.ones(len(alike))
        of_user = self._last(groups[1], settings.of_user, count)
        if len(of_user) >= settings.enough_of_user:
            return of_user, np.ones(len(of_user))
        others = self._last(groups[2], settings.of_all, count)
        weights = [1.0] * len(of_user)
        weights += [settings.strangers / max(1, len(others))] * len(others)
        return np.concatenate((of_user, others)), np.array(weights)

    def _last(self, group: Group, most: int, count: int) -> Ints:
        """Rows of the last jobs of a group among the first `count` rows."""
        rows = self._places.get(group, _NONE)
        end = int(np.searchsorted(rows, count))
        return rows[max(0, end - most) : end]


def _groups(user: int, limit: int, slots: int) -> tuple[Group, Group, Group]:
    """Those of the same user, limit and size; of the same user; all. Without a limit apart."""
    limited = int(limit != NO_LIMIT)
    return (limited, user, limit, slots), (limited, user), (limited,)


def within(run_times: Ints, jobs: AskedJobs) -> Ints:
    """Run times of a second at least and what has run; beyond that a limit ends a job."""
    least = np.maximum(1, jobs.elapsed)
    most = np.where(jobs.limit == NO_LIMIT, np.iinfo(np.int64).max, jobs.limit)
    return np.clip(run_times, least[:, None], np.maximum(least, most)[:, None])
