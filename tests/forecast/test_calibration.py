"""The conformal factors alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sampling import some
from slotwise.solver.forecast.forecast import (
    DOUBT,
    MIN_FORECASTS,
    UNCALIBRATED,
    Calibrator,
    score,
)

LONG = 1000.0


def _believed(early: float, late: float, count: int) -> tuple[float, float]:
    """Factors that so many scores say, drawn towards the default."""
    trust = count / (count + DOUBT)
    default = UNCALIBRATED
    return early**trust * default.early ** (1 - trust), late**trust * default.late ** (1 - trust)


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
