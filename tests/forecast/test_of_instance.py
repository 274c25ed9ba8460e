"""Forecasts of instances: which are pools, in which order jobs come, what is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import slotwise as sw
from forecast_lab import cluster, past_of, site_history
from sampling import some
from slotwise import (
    AdvanceReservation,
    Cluster,
    History,
    Host,
    InputError,
    Instance,
    Job,
    Queue,
    RunningJob,
)
from slotwise.solver.forecast.history import NO_START, keys_of, without_own
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
    assert np.sign(jobs.user).tolist() == [0, -1, -1, 0]
    assert jobs.user[1] != jobs.user[2]  # two users that the history does not know
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


@pytest.mark.parametrize("seed", some(range(3), 1))
@pytest.mark.parametrize("limited", [True, False])
def test_over_hosts_some_jobs_alone_are_answered_as_beside_all_others(seed, limited):
    """Also beside a job that fits nowhere, which is a line of its own and changes no other."""
    instance = cluster(seed, fair=bool(seed % 2))
    if not limited:
        first, *rest = instance.pending
        instance = replace(instance, pending=(replace(first, run_limit=None), *rest))
    history = site_history(instance)
    whole = forecast(instance, history, samples=4)
    few = whole.names[1::3]
    alone = forecast(instance, history, samples=4, jobs=list(few))
    rows = [whole.names.index(name) for name in few]
    assert alone.names == few
    assert alone.samples.tolist() == whole.samples[rows].tolist()
    assert alone.by_limits.tolist() == whole.by_limits[rows].tolist()
    hopeless = Job("huge", 1000, user="u0", queue="normal", run_limit=60 if limited else None)
    beside = forecast(replace(instance, pending=(*instance.pending, hopeless)), history, samples=4)
    others = [beside.names.index(name) for name in whole.names]
    assert beside.samples[others].tolist() == whole.samples.tolist()
    assert (beside.samples[beside.names.index("huge")] == NO_START).all()


@pytest.mark.parametrize(
    ("jobs", "wrong"), [("11", "list of ids"), (3, "list of ids"), (["5"], "5")]
)
def test_jobs_are_ids_of_pending_jobs(jobs, wrong):
    with pytest.raises(InputError, match=wrong):
        forecast(POOL, HISTORY, samples=2, jobs=jobs)
    assert forecast(POOL, HISTORY, samples=2, jobs=[]).names == ()


def test_a_history_in_memory_loses_the_records_of_jobs_of_the_instance():
    own = replace(POOL.pending[0], id=str(HISTORY.like(3).id))
    like = replace(HISTORY.jobs, key=keys_of(str(row) for row in range(len(HISTORY.jobs))))
    history = replace(HISTORY, jobs=like)
    instance = replace(POOL, pending=(replace(own, submit=int(like.submit[3])),))
    found = forecast(instance, history, samples=3)
    assert any("not counted as ended" in remark for remark in found.remarks)
    assert (
        found.samples.tolist()
        == forecast(instance, without_own(history, instance), samples=3).samples.tolist()
    )
