"""Resampling: what is measured is the first draw, and chance is not a gain."""

from __future__ import annotations

import numpy as np
import pytest
from slotwise.solver.studies.run import difference, draws, mean, percentile


def test_a_drawn_block_counts_as_often_as_it_is_drawn() -> None:
    """Against the sample written out."""
    rng = np.random.default_rng(5)
    values, block = rng.random(200), rng.integers(0, 7, 200)
    weights = draws(7, 3, 50)
    assert (weights.sum(axis=1) == 7).all()
    means, p95 = mean(weights, values, block), percentile(weights, values, block, 95)
    for row, middle, high in zip(weights, means, p95, strict=True):
        sample = np.concatenate([np.repeat(values[block == b], int(row[b])) for b in range(7)])
        assert middle == pytest.approx(sample.mean())
        assert high == pytest.approx(np.percentile(sample, 95))


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


def test_draws_are_the_seeds() -> None:
    assert (draws(5, 4) == draws(5, 4)).all()
    assert (draws(5, 4) != draws(5, 5)).any()
