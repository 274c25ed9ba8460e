"""Which jobs will come: models of the time ahead, one small class each (docs/dev/forecast.md)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ...model.workload import Ints
from .draws import keys_of, spread
from .jobs import AskedJobs, Columns, PastJobs

DAY = 86_400
#: What the random numbers of arrivals are drawn for.
STREAM = "arrivals"


@dataclass(frozen=True, slots=True, eq=False)
class ComingJobs(Columns):
    """Jobs that come, by submission; int64 of shape (n,), times in seconds of the cluster's clock.

    row: what the job is like: a row of the history, or -1 - r for row r of the jobs of the moment.
    """

    submit: Ints
    run_time: Ints
    limit: Ints
    slots: Ints
    row: Ints


#: Sample and last second to those that are submitted after the moment and no later than it.
Coming = Callable[[int, int], ComingJobs]


class Arrivals(Protocol):
    """Says which jobs come after a moment, in each sample."""

    def after(self, now: int, known: int, jobs: AskedJobs, run_times: Ints, seed: int) -> Coming:
        """Arrivals after `now` (seconds).

        known: only jobs of the history that have ended by this second may be looked at. jobs: those
        that run or wait now. run_times: theirs in each sample, of shape (jobs, samples).
        """


NOBODY = ComingJobs(*(np.zeros(0, dtype=np.int64) for _ in range(5)))


@dataclass(frozen=True, slots=True)
class NoArrivals:
    """Nobody comes any more: what a plan assumes."""

    def after(self, now: int, known: int, jobs: AskedJobs, run_times: Ints, seed: int) -> Coming:
        """As :class:`Arrivals` says."""
        return lambda sample, until: NOBODY


@dataclass(frozen=True, slots=True)
class PastBlocks:
    """What came in the last days comes again at the same hours, over and over.

    days: each sample takes one of these numbers of days at random, of those that the history
    reaches back. Jobs that had ended run as long as they did, the others as long as the sample has
    them run now.
    """

    past: PastJobs
    days: tuple[int, ...] = (1, 2, 3, 7, 14, 21, 28)

    def after(self, now: int, known: int, jobs: AskedJobs, run_times: Ints, seed: int) -> Coming:
        """As :class:`Arrivals` says."""
        first = now - max(self.days) * DAY
        ended = self.past.pick(slice(0, self.past.known_at(known)))
        rows = np.flatnonzero((ended.submit > first) & (ended.submit <= now))
        here = np.flatnonzero((jobs.submit > first) & (jobs.submit <= now))
        submit = np.concatenate((ended.submit[rows], jobs.submit[here]))
        order = np.argsort(submit, kind="stable")
        limit = np.concatenate((ended.limit[rows], jobs.limit[here]))[order]
        slots = np.concatenate((ended.slots[rows], jobs.slots[here]))[order]
        row = np.concatenate((rows, -1 - here))[order]
        submit = submit[order]
        ran = ended.run_time[rows]
        reaches = now - int(ended.submit.min()) if len(ended) else 0
        days = [day for day in self.days if day * DAY <= reaches] or [min(self.days)]
        chances = spread(seed, STREAM, keys_of(["block"]), run_times.shape[1])[0]
        chosen = [days[int(chance * len(days))] * DAY for chance in chances.tolist()]

        def coming(sample: int, until: int) -> ComingJobs:
            block = chosen[sample]
            begin = int(np.searchsorted(submit, now - block, side="right"))
            again = np.arange(1, max(0, until - now) // block + 2)
            times = (submit[begin:][None, :] + block * again[:, None]).ravel()
            run_time = np.concatenate((ran, run_times[here, sample]))[order][begin:]
            count = int(np.searchsorted(times, until, side="right"))
            each = [np.tile(column, len(again))[:count] for column in (run_time, limit[begin:])]
            rest = [np.tile(column[begin:], len(again))[:count] for column in (slots, row)]
            return ComingJobs(times[:count], *each, *rest)

        return coming
