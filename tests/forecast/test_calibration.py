"""The conformal factors alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from slotwise.solver.forecast.calibration import (
    DOUBT,
    FLOOR,
    LEAST,
    UNCALIBRATED,
    WINDOW,
    Calibration,
    Calibrator,
    score,
)

LONG = 1000.0


def test_few_forecasts_change_nothing_and_more_the_more():
    calibrator = Calibrator()
    for _ in range(LEAST - 1):
        calibrator.add(4 * LONG, LONG, LONG)
    assert calibrator.calibration() == Calibration(1.0, 1.0, LEAST - 1)
    factors = []
    for _ in range(DOUBT):
        calibrator.add(4 * LONG, LONG, LONG)
        factors.append(calibrator.calibration().late)
    assert factors == sorted(factors)
    assert factors[DOUBT - LEAST] == pytest.approx(2.0)  # after DOUBT forecasts half is believed
    assert calibrator.calibration().early == factors[-1] < 4


def test_waits_below_the_floor_count_as_the_floor():
    assert score(0, 0) == 1
    assert score(2 * FLOOR, 5) == 2
    assert score(5, 4 * FLOOR) == 0.25


def test_only_the_last_forecasts_count():
    calibrator = Calibrator()
    for truth in [9 * LONG] * 50 + [2 * LONG] * WINDOW:
        calibrator.add(truth, LONG, LONG)
    factor = 2 ** (WINDOW / (WINDOW + DOUBT))
    found = calibrator.calibration()
    assert (found.early, found.late) == pytest.approx((factor, factor))
    assert found.forecasts == WINDOW


@pytest.mark.parametrize(("count", "early", "late"), [(49, 5, 45), (20, 2, 19)])
def test_factors_are_the_conformal_ranks(count, early, late):
    """Of 49 scores the 45th bounds the next from above in 9 of 10 cases, the 5th from below.

    Of 20 the ranks would be 18.9 and 2.1: rounded so that both err to the safe side.
    """
    calibrator = Calibrator()
    for number in np.random.default_rng(1).permutation(count) + 1:
        calibrator.add(LONG * number, LONG, LONG)
    trust = count / (count + DOUBT)
    found = calibrator.calibration()
    assert (found.early, found.late) == pytest.approx((early**trust, late**trust))


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
    slack = 0.02 + 0.06 * (wrong_by != 1)  # for what is never believed in full
    assert abs(np.mean(early[400:]) - 0.1) < slack
    assert abs(np.mean(late[400:]) - 0.9) < slack
    off = np.mean(late[400:]) - 0.9
    assert off == pytest.approx(0, abs=0.02) or (off > 0) == (wrong_by > 1)


@given(st.lists(st.floats(0, 1e7), min_size=LEAST, max_size=60), st.floats(1, 1e6))
def test_the_share_of_past_forecasts_that_would_have_held(truths, bound):
    calibrator = Calibrator()
    for truth in truths:
        calibrator.add(truth, bound, bound)
    found = calibrator.calibration()
    scores = np.array([score(truth, bound) for truth in truths])
    believed = (len(truths) + DOUBT) / len(truths)
    assert (scores <= found.late**believed * (1 + 1e-9)).mean() >= 0.9
    assert (scores < found.early**believed * (1 - 1e-9)).mean() <= 0.1


def test_without_past_forecasts_nothing_is_known() -> None:
    assert (UNCALIBRATED.early, UNCALIBRATED.late, UNCALIBRATED.forecasts) == (1.0, 1.0, 0)
