"""What is odd about a history or a forecast, in words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...model.instance import Instance
from .arrivals import DAY
from .history import History

#: Fewer samples, or fewer ended jobs, say little of 1 in 10.
FEW_SAMPLES, FEW_ENDED = 10, 20
#: Jobs that are named one by one.
_NAMED = 5
HOUR = 3_600


def doubts_of(history: History, samples: int) -> tuple[str, ...]:
    """Why bounds mean little: too few ended jobs to learn from, or too few samples."""
    ended = len(history.jobs)
    found = []
    if ended < FEW_ENDED:
        found.append(f"warning: {ended} ended job{'s' * (ended != 1)} known: bounds mean little")
    if samples < FEW_SAMPLES:
        found.append(f"warning: {samples} sample{'s' * (samples != 1)}: bounds mean little")
    return tuple(found)


def load_of(history: History) -> float:
    """Slot-hours a day that the ended jobs used, from the first submission to the last end.

    A history of less than a day comes again once a day.
    """
    jobs = history.jobs
    if not len(jobs):
        return 0.0
    seconds = max(DAY, int(jobs.end[-1] - jobs.submit.min()))
    used = float((jobs.slots.astype(np.float64) * jobs.run_time).sum())
    return used / seconds * DAY / HOUR


def overload_of(history: History, instance: Instance) -> tuple[str, ...]:
    """A warning where the history holds more work than the cluster can do."""
    load = load_of(history)
    room = sum(host.slots for host in instance.cluster.hosts) * DAY // HOUR
    if load <= room:
        return ()
    return (
        f"warning: the history has {load:,.0f} slot-hours a day, the cluster {room:,}: "
        "what fits of it comes again in each future, so queues grow; is it this cluster's log?",
    )


def endless_text(found: Sequence[str]) -> tuple[str, ...]:
    """Which jobs are taken to run for ever, since nothing says when they end. found: their ids."""
    if not found:
        return ()
    more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
    one = len(found) == 1 and not more
    jobs = f"job {found[0]} has" if one else f"jobs {', '.join(found[:_NAMED])}{more} have"
    return (
        f"{jobs} no run limit, and no ended job like {'it' if one else 'them'} ran as long: "
        f"taken to run for ever; a job that waits for {'it' if one else 'them'} has never as its "
        "start and as all three bounds",
    )
