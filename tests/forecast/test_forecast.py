"""Forecasts of a world: quantiles, chances, and what they do not depend on."""

from __future__ import annotations

import numpy as np
import pytest
from forecast_lab import asked_of, past_of
from hypothesis import given
from hypothesis import strategies as st
from slotwise import Calibration, Forecasts
from slotwise.solver.accuracy.measures import EARLY, LATE, LIKELY
from slotwise.solver.forecast import forecast as forecast_module
from slotwise.solver.forecast.arrivals import NOBODY, NoArrivals, PastBlocks
from slotwise.solver.forecast.forecast import (
    Drawn,
    forecast_world,
    uncertainty,
)
from slotwise.solver.forecast.history import NO_START, ints, keys_of
from slotwise.solver.forecast.moment import PoolWorld
from slotwise.solver.forecast.runtimes import AtLimits, ExactRunTimes, Ratios

NOW = 10**6
PAST = past_of(
    *((1, 100, 2, NOW - 400 * n - 90, NOW - 400 * n - 50, NOW - 400 * n) for n in range(9))
)


def _world(*jobs, procs=4):
    asked = asked_of(*jobs, submit=NOW)
    return PoolWorld(NOW, procs, asked, np.flatnonzero(asked.elapsed < 0))


def test_quantiles_are_samples_and_no_start_is_later_than_all():
    samples = NOW + ints([[10, 30, 20, 40, 50], [NO_START - NOW] * 3 + [5, 6], [7] * 5])
    found = Forecasts(NOW, ("a", "b", "c"), ints([NOW] * 3), samples)
    assert found.likely.tolist() == [NOW + 30, np.inf, NOW + 7]
    assert found.quantile(0.2).tolist() == [NOW + 10, NOW + 5, NOW + 7]
    assert found.quantile(0.21).tolist() == [NOW + 20, NOW + 6, NOW + 7]
    assert found.chance_by(NOW + 30).tolist() == [0.6, 0.4, 1.0]
    assert found.chance_by(NOW + 4).tolist() == [0, 0, 0]
    assert found.chance_by(10**9).tolist() == [1, 0.4, 1]


def test_records_have_the_chance_only_where_a_time_is_asked_about():
    samples = NOW + ints([[10, 30, 20, 40, 50], [NO_START - NOW] * 3 + [5, 6]])
    found = Forecasts(NOW, ("a", "b"), ints([NOW + 60, NO_START]), samples)
    plain, asked = found.records(), found.records(by=NOW + 30)
    assert [record["chance"] for record in asked] == [0.6, 0.4]
    assert all("chance" not in record for record in plain)
    for before, record in zip(plain, asked, strict=True):
        assert record == before | {"chance": record["chance"]}
    assert (plain[0]["by_limits"], plain[1]["by_limits"]) == (NOW + 60, None)
    assert (plain[0]["likely"], plain[1]["likely"]) == (NOW + 30, None)
    assert "by" not in found.to_dict()
    assert found.to_dict(by=NOW + 30)["by"] == NOW + 30


def test_bounds_are_calibrated_from_now_on():
    samples = NOW + ints([[100] * 2 + [200] * 6 + [300] * 2])
    found = Forecasts(NOW, ("a",), ints([NOW]), samples, Calibration(0.5, 2.0, 99))
    early, late = found.bounds
    assert (early[0] - NOW, late[0] - NOW) == (50, 600)


def test_with_exact_run_times_every_sample_is_the_truth():
    world = _world((1, 100, 4, 30), (1, 100, 4, -1))
    truth = ExactRunTimes(dict(zip(keys_of("01").tolist(), (70, 5), strict=True)))
    found = forecast_world(world, ("1",), truth, NoArrivals(), Drawn(3))
    assert found.samples.tolist() == [[NOW + 40] * 3]
    assert found.by_limits.tolist() == [NOW + 70]


def test_by_limits_is_what_a_plan_says_and_never_where_nothing_ends():
    world = _world((1, 100, 4, 30), (1, 100, 2, -1), (1, -1, 4, -1), (1, 9, 4, -1), procs=4)
    found = forecast_world(world, ("1", "2", "3"), Ratios(PAST), NoArrivals(), Drawn(2))
    assert found.by_limits.tolist() == [NOW + 70, NOW + 170, NO_START]
    assert (found.samples[2] > NOW).all()  # its limnothing can be learned from it, the past does


def test_stopped_early_the_first_samples_are_the_same():
    world = _world((1, 100, 4, 30), (1, 100, 2, -1), (2, 60, 4, -1))
    whole = forecast_world(world, ("1", "2"), Ratios(PAST), PastBlocks(PAST), Drawn(20, 4))
    calls = iter([False, False, True])
    part = forecast_world(
        world, ("1", "2"), Ratios(PAST), PastBlocks(PAST), Drawn(20, 4, stop=calls.__next__)
    )
    assert part.samples.tolist() == whole.samples[:, :3].tolist()


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


def test_a_world_with_nobody_waiting_has_no_forecasts():
    found = forecast_world(_world((1, 100, 4, 30)), (), AtLimits(), NoArrivals(), Drawn(3))
    assert found.samples.shape == (0, 3)
    assert found.likely.shape == (0,)
    assert len(NOBODY) == 0


class Recorded:
    """The arrivals of the past, and up to when they were asked for."""

    def __init__(self) -> None:
        self.asked: list[int] = []

    def after(self, *given):
        coming = PastBlocks(PAST).after(*given)

        def noted(sample, until):
            self.asked.append(until)
            return coming(sample, until)

        return noted


def test_asked_about_some_jobs_the_answers_are_those_of_a_forecast_of_all():
    world = _world((1, 100, 4, 30), (1, 100, 2, -1), (2, 60, 4, -1), (3, 500, 1, -1))
    names = ("1", "2", "3")
    drawn = Drawn(20, 4)
    whole = forecast_world(world, names, Ratios(PAST), PastBlocks(PAST), drawn)
    some = forecast_world(world, names, Ratios(PAST), PastBlocks(PAST), drawn, jobs=["3", "1"])
    assert some.names == ("1", "3")
    assert some.samples.tolist() == whole.samples[[0, 2]].tolist()
    assert some.by_limits.tolist() == whole.by_limits[[0, 2]].tolist()


def test_a_job_that_can_never_start_makes_no_future_longer():
    """It asks for more than there is; the others are told what they are told without it."""
    rows = ((1, 100, 4, 30), (1, 100, 2, -1), (2, 60, 4, -1))
    alone, beside = Recorded(), Recorded()
    found = forecast_world(_world(*rows), ("1", "2"), Ratios(PAST), alone, Drawn(5))
    more = (*rows, (3, 60, 9, -1))
    with_it = forecast_world(_world(*more), ("1", "2", "3"), Ratios(PAST), beside, Drawn(5))
    assert beside.asked == alone.asked
    assert with_it.samples[:2].tolist() == found.samples.tolist()
    assert with_it.samples[2].tolist() == [NO_START] * 5
    assert with_it.by_limits[2] == NO_START


def test_jobs_come_until_the_last_asked_job_has_started(monkeypatch):
    """Where a first look ahead is too short the future is run again with more of them."""
    monkeypatch.setattr(forecast_module, "SHORTEST_LOOK", 10)
    monkeypatch.setattr(forecast_module, "LOOK_AHEAD", 0)
    world = _world((1, 100, 4, 30), (1, 100, 4, -1))
    recorded = Recorded()
    found = forecast_world(world, ("1",), AtLimits(), recorded, Drawn(2))
    assert found.samples.tolist() == [[NOW + 70] * 2]
    assert recorded.asked == [NOW + 10, NOW + 20, NOW + 40, NOW + 80] * 2


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


def test_a_precision_that_is_not_reached_takes_all_futures():
    assert _many_waiting(precision=1, samples=40).samples.shape == (2, 40)


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


def test_of_starts_that_never_come_nothing_is_uncertain():
    waits = np.full((2, 100), np.inf)
    waits[1, :50] = 7
    assert uncertainty(waits, LATE).tolist() == [0, 0]
    assert uncertainty(waits, EARLY).tolist() == [0, 0]
    assert uncertainty(waits, LIKELY).tolist() == [0, np.inf]
    assert uncertainty(waits[:, :4], LIKELY).tolist() == [np.inf, np.inf]  # too few to say
