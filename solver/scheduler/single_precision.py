"""Instants as LSF's open family compares them in backfill: in single precision.

Its mbatchd adds a run limit divided by a CPU factor, a single-precision number, to a time in
seconds since 1970. Such numbers are multiples of 128 today, so a job may end up to two minutes
behind the estimate before which it is let in, or be refused before it.
"""

from __future__ import annotations

from datetime import datetime

import numpy as np

from ...model.instance import Instance
from ..availability.resources import IntArray
from ..fairshare.queue_order import UNLIMITED


def _is_exact(instance: Instance) -> bool:
    """Return whether instants are compared to the second."""
    return not instance.params.scheduler.is_lava or instance.origin is None


def backfill_from_each(instance: Instance, now: int, limits: IntArray) -> IntArray:
    """Return :func:`backfill_from` for each of many limits, of which few differ."""
    if _is_exact(instance):
        return now + limits
    known, place = np.unique(limits, return_inverse=True)
    return np.array([backfill_from(instance, now, int(limit)) for limit in known])[place]


def backfill_from(instance: Instance, now: int, limit: int) -> int:
    """Return the first estimate whose reserved slots a job with this limit may backfill.

    It is the end of the job, but for the open family whose instance has an origin.
    """
    if _is_exact(instance) or limit >= UNLIMITED:
        return now + limit
    assert instance.origin is not None
    zero = int(datetime.fromisoformat(instance.origin).timestamp())
    end = np.float32(np.float32(zero + now) + np.float32(limit))
    below = np.nextafter(end, np.float32(-np.inf))
    between = (int(end) + int(below)) // 2  # it is rounded to one of the two
    return between + int(np.float32(between) < end) - zero
