"""The conformal factors alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from slotwise.solver.forecast.calibration import (
    FLOOR,
    LEAST,
    UNCALIBRATED,
    WINDOW,
    Calibration,
    Calibrator,
    score,
)


def test_few_forecasts_change_nothing():
    calibrator = Calibrator()
    for _ in range(LEAST - 1):
        calibrator.add(1000, 100, 100)
    assert calibrator.calibration() == Calibration(1.0, 1.0, LEAST - 1)
    calibrator.add(1000, 100, 100)
    assert calibrator.calibration() == Calibration(10.0, 10.0, LEAST)


def test_waits_below_the_floor_count_as_the_floor():
    assert score(0, 0) == 1
    assert score(600, 5) == 600 / FLOOR
    assert score(5, 600) == FLOOR / 600


def test_only_the_last_forecasts_count():
    calibrator = Calibrator()
    for truth in [9000] * 50 + [200] * WINDOW:
        calibrator.add(truth, 100, 100)
    assert calibrator.calibration() == Calibration(2.0, 2.0, WINDOW)


def test_factors_are_the_conformal_ranks():
    """Of 49 scores the 45th bounds the next from above in 9 of 10 cases, the 5th from below."""
    calibrator = Calibrator()
    for number in np.random.default_rng(1).permutation(49) + 1:
        calibrator.add(100 * number, 100, 100)
    assert calibrator.calibration() == Calibration(5.0, 45.0, 49)


def test_bounds_stay_on_their_sides_of_the_likely_start():
    low, high = Calibration(3.0, 0.1, 50).bounds(*map(np.array, ([10.0], [20.0], [40.0])))
    assert (low.tolist(), high.tolist()) == ([20], [20])
    low, high = UNCALIBRATED.bounds(*map(np.array, ([10.0], [20.0], [np.inf])))
    assert (low.tolist(), high.tolist()) == ([10], [np.inf])


@pytest.mark.parametrize("wrong_by", [0.3, 1.0, 4.0])
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
    assert abs(np.mean(early[200:]) - 0.1) < 0.03
    assert abs(np.mean(late[200:]) - 0.9) < 0.03


@given(st.lists(st.floats(0, 1e7), min_size=LEAST, max_size=60))
def test_the_share_of_past_forecasts_that_would_have_held(truths):
    calibrator = Calibrator()
    for truth in truths:
        calibrator.add(truth, 100, 100)
    found = calibrator.calibration()
    scores = np.array([score(truth, 100) for truth in truths])
    assert (scores <= found.late).mean() >= 0.9
    assert (scores < found.early).mean() <= 0.1
