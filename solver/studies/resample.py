"""Intervals by resampling weeks: the jobs of one week share its load and are drawn together.

Every statistic is a function of how often each block (a week) is drawn. The first row of draws is
the log as it was, so that the first value of a statistic is the measured one. Two runs of the same
jobs are resampled by the same draws: what both had in common is no part of their difference.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Seconds of a block where nobody says otherwise: use of a cluster repeats weekly.
WEEK = 7 * 86400
#: Resamplings.
DRAWS = 1000
#: The share of resamplings within an interval.
LEVEL = 0.95
#: With fewer blocks than this nothing can be said about chance.
FEWEST = 3
#: With fewer than this intervals are rough, mostly too narrow.
FEW = 8


@dataclass(frozen=True, slots=True)
class Difference:
    """A change, and the interval that resampling gives it; None where there are too few blocks."""

    change: float
    low: float | None
    high: float | None

    @property
    def clear(self) -> bool:
        """Whether the interval leaves out 0."""
        return self.low is not None and self.high is not None and (self.low > 0 or self.high < 0)


def draws(blocks: int, seed: int, count: int = DRAWS) -> Floats:
    """How often each block is drawn, a row a resampling; the first row has each of them once."""
    rng = np.random.default_rng(seed)
    drawn = rng.multinomial(blocks, np.full(blocks, 1 / blocks), size=count)
    return np.vstack((np.ones((1, blocks)), drawn))


def block_sums(values: Floats, block: Ints, blocks: int) -> Floats:
    """The sum of the values in each block."""
    return np.bincount(block, weights=values, minlength=blocks).astype(float)


def mean(weights: Floats, values: Floats, block: Ints) -> Floats:
    """The mean of the values under each row of weights; NaN where none is drawn."""
    blocks = weights.shape[1]
    counts = np.bincount(block, minlength=blocks).astype(float)
    return ratio(weights @ block_sums(values, block, blocks), weights @ counts)


def ratio(above: Floats, below: Floats) -> Floats:
    """One over the other, NaN where that is nothing."""
    return np.divide(above, below, out=np.full_like(above, np.nan), where=below > 0)


def percentile(weights: Floats, values: Floats, block: Ints, which: float) -> Floats:
    """The interpolated percentile of the values drawn, as numpy takes it; NaN where none is."""
    order = np.argsort(values, kind="stable")
    ordered, blocks = values[order], block[order]
    found = np.full(len(weights), np.nan)
    for number, row in enumerate(weights):
        reached = np.cumsum(row[blocks])
        if not reached.size or reached[-1] < 1:
            continue
        place = (reached[-1] - 1) * which / 100
        low, high = np.searchsorted(reached, (np.floor(place), np.ceil(place)), side="right")
        part = place - np.floor(place)
        found[number] = ordered[low] + part * (ordered[high] - ordered[low])
    return found


def difference(today: Floats, then: Floats, blocks: int, level: float = LEVEL) -> Difference:
    """The change of a statistic from one run to another under the same draws.

    blocks: how many hold anything that it is made of.
    """
    changes = then - today
    drawn = changes[1:][~np.isnan(changes[1:])]
    if blocks < FEWEST or drawn.size < len(changes) // 2:
        return Difference(float(changes[0]), None, None)
    low, high = np.quantile(drawn, ((1 - level) / 2, (1 + level) / 2))
    return Difference(float(changes[0]), float(low), float(high))
