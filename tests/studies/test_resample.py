"""Resampling: what is measured is the first draw, and chance is no gain."""

from __future__ import annotations

import numpy as np
import pytest
from sampling import some
from slotwise import Difference, measure
from slotwise.solver.scheduler.metrics import slot_seconds
from slotwise.solver.scheduler.simulation import simulate
from slotwise.solver.studies.run import difference, draws, mean, outcome, percentile
from slotwise.solver.studies.whatif import MEASURES, size_class, statistic
from study_lab import WEEK, weeks_of_jobs


@pytest.mark.parametrize("reservation", some(["none", "greedy", "time-based"], 2))
@pytest.mark.parametrize("until", some([None, 3 * WEEK + 40_000], 1))
def test_every_block_once_gives_the_metrics(reservation: str, until: int | None) -> None:
    """One truth: the statistic that is resampled is the one that is measured."""
    result = simulate(weeks_of_jobs(), reservation=reservation, until=until)  # type: ignore[arg-type]
    found = outcome(result, WEEK)
    metrics = measure(result)
    weights = draws(8, 0)
    for name in MEASURES:
        measured = getattr(metrics, name)
        first = statistic(name, found, weights)[0]
        assert np.isnan(first) if measured is None else first == pytest.approx(measured), name


def test_slots_in_use_by_block_are_all_slots_in_use() -> None:
    result = simulate(weeks_of_jobs(), reservation="greedy")
    metrics = measure(result)
    begin, end = metrics.first_submit, metrics.last_end
    used, there = slot_seconds(result, begin, end, WEEK)
    assert len(used) == -(-(end - begin) // WEEK)
    assert sum(there) == 16 * (end - begin)
    assert sum(used) / sum(there) == pytest.approx(metrics.utilisation)


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


@pytest.mark.parametrize("blocks", [1, 2])
def test_too_few_blocks_give_no_interval(blocks: int) -> None:
    weights = draws(blocks, 0)
    values = np.arange(4.0)
    block = np.arange(4) % blocks
    found = difference(mean(weights, values, block), mean(weights, values + 9, block), blocks)
    assert found == Difference(9.0, None, None)
    assert not found.clear


def test_draws_are_the_seeds() -> None:
    assert (draws(5, 4) == draws(5, 4)).all()
    assert (draws(5, 4) != draws(5, 5)).any()


@pytest.mark.parametrize(
    ("slots", "name"),
    [(1, "1"), (2, "2-4"), (4, "2-4"), (5, "5-16"), (64, "17-64"), (5000, "4097+"), (0, "1")],
)
def test_size_classes(slots: int, name: str) -> None:
    assert size_class(slots) == name
