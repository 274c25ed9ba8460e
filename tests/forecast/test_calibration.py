"""The conformal factors alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sampling import some
from slotwise import Calibration
from slotwise.solver.forecast.forecast import (
    DOUBT,
    FLOOR,
    MIN_FORECASTS,
    UNCALIBRATED,
    WINDOW,
    Calibrator,
    score,
)

LONG = 1000.0


def _believed(early: float, late: float, count: int) -> tuple[float, float]:
    """Factors that so many scores say, drawn towards the default."""
    trust = count / (count + DOUBT)
    default = UNCALIBRATED
    return early**trust * default.early ** (1 - trust), late**trust * default.late ** (1 - trust)


def test_few_forecasts_leave_the_default_and_more_count_the_more():
    calibrator = Calibrator()
    for _ in range(MIN_FORECASTS - 1):
        calibrator.add(4 * LONG, LONG, LONG)
    assert calibrator.calibration() == replace(UNCALIBRATED, forecasts=MIN_FORECASTS - 1)
    factors = []
    for _ in range(DOUBT):
        calibrator.add(4 * LONG, LONG, LONG)
        factors.append(calibrator.calibration().late)
    assert factors == sorted(factors)
    # After DOUBT forecasts half is believed.
    assert factors[DOUBT - MIN_FORECASTS] == pytest.approx((4 * UNCALIBRATED.late) ** 0.5)
    assert calibrator.calibration().early == pytest.approx(4 ** (69 / 119))


def test_waits_below_the_floor_count_as_the_floor():
    assert score(0, 0) == 1
    assert score(2 * FLOOR, 5) == 2
    assert score(5, 4 * FLOOR) == 0.25


def test_only_the_last_forecasts_count():
    calibrator = Calibrator()
    for truth in [9 * LONG] * 50 + [2 * LONG] * WINDOW:
        calibrator.add(truth, LONG, LONG)
    found = calibrator.calibration()
    assert (found.early, found.late) == pytest.approx(_believed(2, 2, WINDOW))
    assert found.forecasts == WINDOW


@pytest.mark.parametrize(("count", "early", "late"), [(49, 5, 45), (20, 2, 19)])
def test_factors_are_the_conformal_ranks(count, early, late):
    """Of 49 scores the 45th bounds the next from above in 9 of 10 cases, the 5th from below.

    Of 20 the ranks would be 18.9 and 2.1: rounded so that both err to the safe side.
    """
    calibrator = Calibrator()
    for number in np.random.default_rng(1).permutation(count) + 1:
        calibrator.add(LONG * number, LONG, LONG)
    found = calibrator.calibration()
    assert (found.early, found.late) == pytest.approx(_believed(early, late, count))


def test_bounds_stay_on_their_sides_of_the_likely_start():
    low, high = Calibration(3.0, 0.1, 50).bounds(*map(np.array, ([10.0], [20.0], [40.0])))
    assert (low.tolist(), high.tolist()) == ([20], [20])
    low, high = UNCALIBRATED.bounds(*map(np.array, ([10.0], [20.0], [np.inf])))
    assert (low.tolist(), high.tolist()) == ([10], [np.inf])


def test_what_all_futures_agree_on_is_not_widened():
    for factors in (UNCALIBRATED, Calibration(0.5, 2.0, 99)):
        low, high = factors.bounds(*(np.array([0.0, 3600.0, np.inf]) for _ in range(3)))
        assert low.tolist() == high.tolist() == [0, 3600, np.inf]
        low, high = factors.bounds(*map(np.array, ([100.0], [100.0], [101.0])))
        assert high[0] == pytest.approx(101 * factors.late)


@pytest.mark.parametrize("wrong_by", some([0.3, 1.0, 4.0], 2))
def test_bounds_that_are_wrong_by_a_factor_come_to_hold_as_often_as_they_say(wrong_by):
    """Waits are lognormal; forecasts know their scale and say bounds that are off by a factor."""
    random = np.random.default_rng(5)
    calibrator, early, late = Calibrator(), [], []
    for _ in range(3000):
        scale = random.uniform(1e3, 1e5)
        truth = scale * random.lognormal()
        low, high = (scale * wrong_by * np.exp(z) for z in (-1.2816, 1.2816))
        found = calibrator.calibration()
        early.append(truth <= low * found.early)
        late.append(truth <= high * found.late)
        calibrator.add(truth, low, high)
    slack = 0.02 + 0.06 * (wrong_by != 1)  # for what is never believed in full
    assert abs(np.mean(early[400:]) - 0.1) < slack
    assert abs(np.mean(late[400:]) - 0.9) < slack
    off = np.mean(late[400:]) - 0.9
    assert off == pytest.approx(0, abs=0.02) or (off > 0) == (wrong_by > 1)


@given(st.lists(st.floats(0, 1e7), min_size=MIN_FORECASTS, max_size=60), st.floats(1, 1e6))
def test_the_share_of_past_forecasts_that_would_have_held(truths, bound):
    calibrator = Calibrator()
    for truth in truths:
        calibrator.add(truth, bound, bound)
    found = calibrator.calibration()
    scores = np.array([score(truth, bound) for truth in truths])
    believed = (len(truths) + DOUBT) / len(truths)
    undoubted = [
        default * (factor / default) ** believed
        for factor, default in (
            (found.early, UNCALIBRATED.early),
            (found.late, UNCALIBRATED.late),
        )
    ]
    assert (scores <= undoubted[1] * (1 + 1e-9)).mean() >= 0.9
    assert (scores < undoubted[0] * (1 - 1e-9)).mean() <= 0.1


def test_without_past_forecasts_the_default_widens_the_upper_bound_alone() -> None:
    assert UNCALIBRATED.early == 1 < UNCALIBRATED.late < 1.5
    assert UNCALIBRATED.forecasts == 0
