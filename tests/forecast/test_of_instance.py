"""Forecasts of instances: which are pools, in which order jobs come, what is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import slotwise as sw
from forecast_lab import past_of
from slotwise.model.cluster import Cluster, Host
from slotwise.model.errors import InputError
from slotwise.model.instance import AdvanceReservation, Instance
from slotwise.model.job import Job, RunningJob
from slotwise.model.queue import Queue
from slotwise.solver.forecast.history import History
from slotwise.solver.forecast.moment import asked_jobs, pool_world, waiting_names
from slotwise.solver.forecast.of_instance import forecast

NOW = 10**6
HISTORY = History(
    past_of(*((0, 100, 2, NOW - 90 * n, NOW - 90 * n, NOW - 90 * n + 50) for n in range(1, 12))),
    {"ann": 0},
)
POOL = Instance(
    Cluster((Host("pool", 4),)),
    running=(
        RunningJob(Job("2", 4, user="bob", run_limit=900, submit=NOW - 70), NOW - 10, {"pool": 3}),
        RunningJob(Job("1", 1, user="ann", run_limit=100, submit=NOW - 80), NOW - 60, {"pool": 1}),
    ),
    pending=(
        Job("11", 4, user="ann", run_limit=60, submit=NOW - 5),
        Job("4", 2, user="eve", submit=NOW - 9),
    ),
    now=NOW,
)


def test_columns_of_an_instance():
    jobs = asked_jobs(POOL, HISTORY)
    assert waiting_names(POOL) == ("4", "11")
    assert jobs.elapsed.tolist() == [60, 10, -1, -1]
    assert jobs.user.tolist() == [0, -1, -1, 0]
    assert jobs.limit.tolist() == [100, 900, -1, 60]
    assert jobs.slots.tolist() == [1, 3, 2, 4]  # a running job holds what it was given
    assert jobs.submit.tolist() == [NOW - 80, NOW - 70, NOW - 9, NOW - 5]


def test_a_forecast_of_a_pool():
    found = forecast(POOL, HISTORY, samples=40)
    assert found.names == ("4", "11")
    assert found.by_limits.tolist() == [NOW + 890, -1]  # behind a job without a limit
    assert found.samples.shape == (2, 40)
    assert (found.samples >= NOW).all()
    # Ann's job that runs ends at its limit: none of hers has run as long as that.
    assert found.samples.min() >= NOW
    assert forecast(POOL, HISTORY, samples=40).samples.tolist() == found.samples.tolist()


@pytest.mark.parametrize(
    "change",
    [
        {"cluster": Cluster((Host("a", 2), Host("b", 2)))},
        {"cluster": Cluster((Host("pool", 4, windows="8:00-9:00"),))},
        {"queues": (Queue("default", user_shares=(("ann", 1),)),)},
        {"queues": (Queue("default", dispatch_window="8:00-9:00"),)},
        {"advance_reservations": (AdvanceReservation("r", NOW, NOW + 9, {"pool": 1}),)},
        {"pending": (Job("3", res_req=("rusage[mem=5]",)),)},
        {"pending": (Job("3", begin=NOW + 60),)},
        {"pending": (Job("3", max_slots=3),)},
        {"pending": (Job("3", priority=3),)},
        {"pending": (Job("3", slots=5),)},
        {"running": (replace(POOL.running[0], suspended=True),)},
        {"future": (Job("3", submit=NOW + 9),)},
    ],
)
def test_an_instance_that_is_more_than_a_pool_is_not_taken_for_one(change):
    assert pool_world(POOL, HISTORY) is not None
    assert pool_world(replace(POOL, **change), HISTORY) is None


def test_a_real_snapshot_of_a_pool_is_one():
    instance = sw.load(sw.example("kth-sp2-queue-10"))
    world = pool_world(instance, HISTORY)
    assert world is not None
    assert len(world.asked) == len(instance.pending)
    assert np.count_nonzero(world.jobs.elapsed >= 0) == len(instance.running)


@pytest.mark.parametrize("samples", [0, -1, 10**6])
def test_samples_are_a_sensible_number(samples):
    with pytest.raises(InputError, match="samples"):
        forecast(POOL, HISTORY, samples=samples)
