"""Jobs as columns: those that run and wait now, those that have ended, those that may come."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Self

import numpy as np

from ...model.workload import Ints
from .draws import Keys

#: What stands in a column of limits for a job that has none.
NO_LIMIT = -1
#: What stands in a column of starts for a job that does not start.
NEVER = -1


class Columns:
    """Arrays of one length, the rows of which can be picked."""

    def __len__(self) -> int:
        return len(getattr(self, fields(self)[0].name))  # type: ignore[arg-type]

    def pick(self, rows: object) -> Self:
        """Only these rows: a mask, places, or a slice."""
        names = [item.name for item in fields(self)]  # type: ignore[arg-type]
        return type(self)(**{name: getattr(self, name)[rows] for name in names})


@dataclass(frozen=True, slots=True, eq=False)
class AskedJobs(Columns):
    """Jobs whose run time is not known yet; int64 of shape (n,), times in seconds.

    key: what their random numbers belong to (:mod:`.draws`). user: number that the history has for
    the user, -1 for one it does not know. limit: planned run time, NO_LIMIT without one.
    elapsed: seconds a running job has run, -1 for one that waits. submit: of the cluster's clock.
    """

    key: Keys
    user: Ints
    limit: Ints
    slots: Ints
    submit: Ints
    elapsed: Ints


@dataclass(frozen=True, slots=True, eq=False)
class PastJobs(Columns):
    """Jobs that have ended, by end; int64 of shape (n,), times in seconds of the cluster's clock.

    key, user, limit, slots: as of :class:`AskedJobs`. end - start is how long a job has run.
    """

    key: Keys
    user: Ints
    limit: Ints
    slots: Ints
    submit: Ints
    start: Ints
    end: Ints

    @property
    def run_time(self) -> Ints:
        """Seconds from start to end, at least one."""
        ran: Ints = np.maximum(1, self.end - self.start)
        return ran

    def known_at(self, time: int) -> int:
        """How many have ended by a time: the first so many rows."""
        return int(np.searchsorted(self.end, time, side="right"))


def ints(values: Sequence[int] | Ints) -> Ints:
    """As an int64 array."""
    return np.asarray(values, dtype=np.int64)
