"""Amounts (MB and such) as whole numbers for CP-SAT: demands rounded up, what is free down."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ..availability.demand import Demand
from ..availability.room import SLACK

#: The finest that amounts are told apart.
FINEST = 1_000_000
#: Digits behind which a product is rounding noise.
NOISE = 3


def scale_of(amounts: Iterable[float]) -> int:
    """The least power of a thousand up to FINEST by which all amounts become whole numbers."""
    left = list(amounts)
    for scale in (1, 1000):
        if all(abs(amount * scale - round(amount * scale)) < 1e-7 for amount in left):
            return scale
    return FINEST


def up(amount: float, scale: int) -> int:
    """What is asked, never too little."""
    return int(np.ceil(round(amount * scale, NOISE)))


def down(amount: float, scale: int) -> int:
    """What is free, never more than the slack of all comparisons too much."""
    return int(np.floor((amount + SLACK) * scale))


def amounts_of(demands: Iterable[Demand]) -> set[float]:
    """All amounts that jobs hold at some time under some alternative."""
    return {
        use.reservation.planned_at(time)
        for demand in demands
        for term in demand.terms
        for alternative in term.alternatives
        for use in (*alternative.host_uses, *alternative.pool_uses)
        for time in (0, *use.reservation.drops())
    }
