"""When the jobs that run already end and are expected to: of all of them at once, as columns.

What it says of each is what :meth:`.world.World.begun` and its state say of it by itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from ...model.job import RunningJob
from ..availability.arrays import IntArray
from ..availability.profile import FOREVER
from .requests import Requests


def ends_of_running(
    requests: Requests, running: Sequence[RunningJob], now: int
) -> tuple[IntArray, IntArray]:
    """When jobs end if nothing else happens, and when that is expected, [n] each; or FOREVER.

    Those that are overdue are expected in the next second. Suspended jobs as if they ran.
    """
    spans = [requests.spans(item.job) for item in running]
    starts = np.fromiter((item.start for item in running), np.int64, len(running))
    durations, limits, works = (
        _or_forever(column)
        for column in (
            [duration for duration, _ in spans],
            [limit for _, limit in spans],
            [item.job.run_time for item in running],
        )
    )
    known = _or_forever([item.finish for item in running])
    expected = np.where(known < FOREVER, known, _after(starts, durations))
    told = np.where(expected < FOREVER, np.maximum(expected, now + 1), FOREVER)
    done = np.where(works < FOREVER, _after(starts, works), told)
    ends = np.minimum(done, _after(starts, limits))
    return ends, np.maximum(expected, now + 1)


def _or_forever(column: Iterable[int | None]) -> IntArray:
    return np.array([FOREVER if value is None else value for value in column], dtype=np.int64)


def _after(starts: IntArray, spans: IntArray) -> IntArray:
    """So long after the starts; FOREVER where the span is."""
    ends: IntArray = np.where(spans < FOREVER, starts + spans, FOREVER)
    return ends
