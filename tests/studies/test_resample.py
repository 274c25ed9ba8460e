"""Resampling: what is measured is the first draw, and chance is not a gain."""

from __future__ import annotations

import numpy as np
import pytest
from slotwise.solver.studies.whatif import difference, draws, mean


def test_the_same_change_every_week_is_clear_and_its_interval_narrow() -> None:
    block = np.repeat(np.arange(10), 20)
    waits = np.random.default_rng(0).random(200) * 1000
    weights = draws(10, 0)
    before, after = mean(weights, waits, block), mean(weights, waits - 50, block)
    found = difference(before, after, 10)
    assert (found.change, found.low, found.high) == pytest.approx((-50, -50, -50))
    assert found.clear


def test_noise_is_seldom_clear() -> None:
    """Weeks that change at random, without a drift: of 200 such logs few seem to change."""
    rng = np.random.default_rng(7)
    block = np.repeat(np.arange(12), 5)
    weights = draws(12, 0)
    nothing = mean(weights, np.zeros(60), block)
    clear = 0
    for _ in range(200):
        shift = np.repeat(rng.normal(0, 100, 12), 5)
        clear += difference(nothing, mean(weights, shift, block), 12).clear
    assert clear <= 30  # 5 % with an interval that is exact; percentiles of 12 weeks are narrower
