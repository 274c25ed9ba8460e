"""Jobs that were submitted about together: what one of a batch did says most about the others.

Of jobs of one user, limit and size the run times are the more alike the nearer their submissions
are ("batches" and "sessions" of Zakay and Feitelson 2012; docs/dev/forecast.md has numbers).
Whether a job is in a batch depends on when it was submitted and never on how long it ran.
"""

from __future__ import annotations

import numpy as np

from ...model.workload import Ints
from .jobs import AskedJobs, PastJobs

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
        """Of a kind those that were submitted nearest to a time: rows that ended, rows that run.

        known: only the first so many rows of the past. running: of this kind. most: so many in all.
        apart: seconds; a job that was submitted farther off is none.
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
