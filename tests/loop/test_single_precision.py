"""Backfill of LSF's open family: ends and estimates compared in single precision (TBR-18).

The recorded run w1 of tests/loop/test_live_recordings.py is met by it in every start.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest
from loop_lab import cluster, host, instance, job, run, running
from slotwise import Params, Queue
from slotwise.solver.fairshare.queue_order import UNLIMITED
from slotwise.solver.scheduler.reserved_profile import backfill_from, backfill_from_each

ZERO = 1_795_791_877
ORIGIN = datetime.fromtimestamp(ZERO, UTC).isoformat()
LAVA = instance(cluster=cluster(host("h", 4)), params=Params(family="volclava"))


@pytest.mark.behaviour("TBR-18")
def test_the_estimate_is_the_first_that_mbatchd_takes() -> None:
    problem = replace(LAVA, origin=ORIGIN)
    for now in range(0, 400, 7):
        for limit in (1, 60, 119, 120, 180, 3600, 86_400):
            end = np.float32(np.float32(ZERO + now) + np.float32(limit))
            found = ZERO + backfill_from(problem, now, limit)
            assert np.float32(found) >= end > np.float32(found - 1), (now, limit)


def test_many_limits_at_once_are_each_of_them() -> None:
    limits = np.array([60, 3600, 60, UNLIMITED, 119])
    for problem in (LAVA, replace(LAVA, origin=ORIGIN)):
        each = [backfill_from(problem, 26, limit) for limit in limits.tolist()]
        assert backfill_from_each(problem, 26, limits).tolist() == each


def test_others_end_when_they_end() -> None:
    assert backfill_from(LAVA, 26, 120) == 146  # no origin
    assert backfill_from(replace(LAVA, origin=ORIGIN, params=Params()), 26, 120) == 146


@pytest.mark.behaviour("TBR-18")
@pytest.mark.parametrize("equal", [1, 5])
@pytest.mark.parametrize(("family", "first"), [("volclava", 2), ("LSF", 1)])
def test_who_is_let_in(family: str, first: int, equal: int) -> None:
    """Recorded: 92 s before an estimate a job of 120 s was let in."""
    now = 26
    queue = Queue("q", 40, slot_reserve=1000, backfill=True)
    wide = job("3", 4, minutes=1)
    names = [f"{at}{n}" for at in (44, 52, 61) for n in range(equal)]
    others = [job(name, minutes=int(name[1])) for name in names]
    problem = instance(
        cluster=cluster(host("h", 4)),
        queues=(queue,),
        running=(running("R", {"h": 3}, None, run_limit=118),),
        pending=(wide, *others),
        params=Params(family=family, mbd_sleep_time=4),
    )
    problem = replace(problem, origin=ORIGIN, now=now)
    result = run(problem)
    let_in = [item.job for item in result.jobs if item.start == now and item.job != "R"]
    assert [int(name[1]) for name in let_in] == [first]
