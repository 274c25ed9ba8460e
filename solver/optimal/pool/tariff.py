"""Prices tabulated by the second, for searches that look them up millions of times."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .problem import Ints
from .relax import Bound

FORBIDDEN = 1 << 50
MOST_ENTRIES = 8_000_000


@dataclass(frozen=True)
class Tariff:
    """A price system over the seconds 0..H; whatever comes later costs what H costs.

    All in the prices' ``scale``. ``ahead`` (H+1,): the worth of all supply from a second on;
    ``paid`` (S, H+1): the price of running from 0 to a second, by distinct size; ``buy`` (G, H+1):
    own cost and window of a job of the group that starts there, ``FORBIDDEN`` where no good plan
    has it; ``rest`` (G, H+1): the least of ``buy`` from that second on.
    """

    scale: int
    ahead: Ints
    paid: Ints
    buy: Ints
    rest: Ints

    @property
    def last(self) -> int:
        """The last second H."""
        return len(self.ahead) - 1

    @classmethod
    def of(cls, bound: Bound, spare: int) -> Tariff | None:
        """The prices of a bound, with the starts that cost at most ``spare`` above the cheapest.

        None if the tables would be too large.
        """
        prices = bound.prices
        last = int(prices.market.grid[-1])
        if len(bound.starts) * (last + 1) > MOST_ENTRIES:
            return None
        seconds = np.arange(last + 1)
        buy = np.full((len(bound.starts), last + 1), FORBIDDEN, dtype=np.int64)
        for row, starts, least, excess in zip(
            buy, bound.starts, bound.least, bound.excess, strict=True
        ):
            kept = (excess <= spare) & (starts <= last)
            row[starts[kept]] = least + excess[kept]
        rest = np.minimum.accumulate(buy[:, ::-1], axis=1)[:, ::-1]
        worth = prices.supplied(seconds)
        paid = np.stack([prices.upto(row, seconds) for row in range(len(prices.market.sizes))])
        return cls(prices.scale, worth[-1] - worth, paid, buy, np.ascontiguousarray(rest))
