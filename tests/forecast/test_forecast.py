"""Forecasts of a world: quantiles, chances, and what they do not depend on."""

from __future__ import annotations

import numpy as np
import pytest
from forecast_lab import asked_of, past_of
from hypothesis import given
from hypothesis import strategies as st
from slotwise.solver.accuracy.measures import EARLY, LATE, LIKELY
from slotwise.solver.forecast.arrivals import NoArrivals, PastBlocks
from slotwise.solver.forecast.forecast import (
    Drawn,
    forecast_world,
    uncertainty,
)
from slotwise.solver.forecast.jobs import keys_of
from slotwise.solver.forecast.moment import PoolWorld
from slotwise.solver.forecast.runtimes import ExactRunTimes, Ratios

NOW = 10**6
PAST = past_of(
    *((1, 100, 2, NOW - 400 * n - 90, NOW - 400 * n - 50, NOW - 400 * n) for n in range(9))
)


def _world(*jobs, procs=4):
    asked = asked_of(*jobs, submit=NOW)
    return PoolWorld(NOW, procs, asked, np.flatnonzero(asked.elapsed < 0))


def test_with_exact_run_times_every_sample_is_the_truth():
    world = _world((1, 100, 4, 30), (1, 100, 4, -1))
    truth = ExactRunTimes(dict(zip(keys_of("01").tolist(), (70, 5), strict=True)))
    found = forecast_world(world, ("1",), truth, NoArrivals(), Drawn(3))
    assert found.samples.tolist() == [[NOW + 40] * 3]
    assert found.by_limits.tolist() == [NOW + 70]


def test_another_seed_is_another_forecast_and_the_same_the_same():
    past = past_of(*((1, 100, 2, NOW - 999, NOW - 500 + run, NOW - 400) for run in range(0, 90, 9)))
    world = _world((1, 100, 4, 0), (1, 100, 4, -1), (1, 100, 4, -1))
    one, again, other = (
        forecast_world(world, ("1", "2"), Ratios(past), NoArrivals(), Drawn(9, seed))
        for seed in (1, 1, 2)
    )
    assert one.samples.tolist() == again.samples.tolist() != other.samples.tolist()


@given(st.lists(st.tuples(st.integers(1, 3), st.integers(1, 200)), min_size=2, max_size=6))
def test_a_job_behind_all_others_changes_none_of_them_under_fcfs(waiting):
    """Common random numbers: one more at the end draws nothing that others would have drawn."""
    rows = [(1, 150, 3, 20), *((1, limit, slots, -1) for slots, limit in waiting)]
    found = []
    for jobs in (asked_of(*rows[:-1]), asked_of(*rows)):
        asked = np.flatnonzero(jobs.elapsed < 0)
        world = PoolWorld(NOW, 4, jobs, asked, "fcfs")
        names = ("",) * len(asked)
        found.append(forecast_world(world, names, Ratios(PAST), NoArrivals(), Drawn(5)).samples)
    assert found[1][:-1].tolist() == found[0].tolist()


def _many_waiting(*, precision=None, workers=1, samples=300):
    world = _world((1, 100, 4, 30), (1, 100, 2, -1), (2, 60, 4, -1))
    drawn = Drawn(samples, 4, precision, workers)
    return forecast_world(world, ("1", "2"), Ratios(PAST), PastBlocks(PAST), drawn)


@pytest.mark.parametrize("workers", [1, 2])
def test_no_more_futures_are_drawn_than_the_precision_asks_for(workers):
    whole = _many_waiting()
    widths = [uncertainty(whole.waits, level).max() for level in (EARLY, LIKELY, LATE)]
    wanted = int(2 * max(widths)) + 1
    found = _many_waiting(precision=wanted, workers=workers)
    count = found.samples.shape[1]
    assert 30 <= count < 300
    assert not found.cut
    assert found.samples.tolist() == whole.samples[:, :count].tolist()
    for level in (EARLY, LIKELY, LATE):
        assert (uncertainty(found.waits, level) <= wanted).all()
    # Ten futures before it was not known as well yet.
    before = found.waits[:, : count - 10]
    assert max(uncertainty(before, level).max() for level in (EARLY, LIKELY, LATE)) > wanted


def test_the_interval_of_a_quantile_holds_it_as_often_as_it_says():
    random = np.random.default_rng(7)
    held = {0.1: 0, 0.5: 0, 0.9: 0}
    for _ in range(1000):
        waits = random.exponential(1000, (1, 100))
        ordered = np.sort(waits[0])
        for level in held:
            truth = -1000 * np.log(1 - level)
            middle = uncertainty(waits, level)[0]
            around = 1.96 * np.sqrt(100 * level * (1 - level))
            low = ordered[int(np.floor(100 * level - around)) - 1]
            assert middle > 0
            held[level] += low <= truth <= low + 2 * middle
    assert all(930 <= count <= 990 for count in held.values())
