"""How often the scheduler of a recorded cluster ran: the cycle whose starts are the recorded ones.

A log does not say it, and LSF's MBD_SLEEP_TIME is not it where jobs are scheduled more often. So
the first jobs of the log are simulated with each of some lengths, and the one that comes closest
to what was recorded is taken.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import nsmallest

from ...model.changes import Change
from ...model.instance import Instance
from .recorded import CLOSE, compare_waits
from .simulation import simulate

#: Seconds between cycles that are tried, beside the cluster's own MBD_SLEEP_TIME.
LENGTHS = (1, 2, 5, 10, 15, 20, 30, 60, 120, 300)
#: Jobs that are simulated with each.
SAMPLE = 300


@dataclass(frozen=True, slots=True)
class CycleFit:
    """cycle: seconds, the best. jobs: that were looked at. close: of each length that was tried,
    how many of them started within CLOSE seconds of the recorded start.
    """

    cycle: int
    jobs: int
    close: Mapping[int, int]

    def to_dict(self) -> dict[str, object]:
        """Plain data."""
        tried = {str(length): count for length, count in self.close.items()}
        return {"cycle": self.cycle, "jobs": self.jobs, "within": CLOSE, "close": tried}


def fit_cycle(
    instance: Instance, recorded: Mapping[str, int], changes: Sequence[Change] = ()
) -> CycleFit | None:
    """The cycle length that fits the recorded starts best; None where none is recorded.

    Most jobs within CLOSE seconds decide, then the mean error, endless where no job starts; of
    equal lengths the longest.
    changes: what happens to hosts and jobs on the way.
    Pending jobs reserve nothing meanwhile: it is the pace that is looked for.
    """
    sample = tuple(nsmallest(SAMPLE, instance.future, key=lambda job: job.submit))
    sample = tuple(job for job in sample if job.id in recorded)
    if not sample:
        return None
    part = replace(instance, future=sample)
    close: dict[int, int] = {}
    ranks: dict[int, tuple[int, float, int]] = {}
    for length in sorted({*LENGTHS, instance.params.mbd_sleep_time}):
        result = simulate(part, reservation="none", cycle=length, changes=changes)
        found = compare_waits(result.jobs, recorded)[0]
        close[length] = found.close
        error = math.inf if found.mean_absolute_error is None else found.mean_absolute_error
        ranks[length] = (found.close, -error, length)
    best = max(ranks, key=ranks.__getitem__)
    return CycleFit(best, len(sample), close)
