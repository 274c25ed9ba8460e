"""Bounds that hold as often as they say: online conformal factors (docs/dev/forecast.md).

The score of a forecast whose truth is known is what its bound would have had to be multiplied by
to hold just so: true / foreseen, both from the moment of asking and at least FLOOR seconds. The
quantile of the last scores at the bound's own level (split conformal prediction, Vovk, Gammerman,
Shafer 2005, over a moving window), for P90 as for P10, is what the next bound is multiplied by,
drawn towards the default while few are known: n scores count as n to DOUBT against it, in
logarithms. Where all futures agree on a start there is nothing to widen.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import isfinite

import numpy as np

from ...model.errors import InputError, Problem
from .draws import Floats

#: Levels of the bounds: 1 in 10 by, 9 in 10 by.
EARLY, LIKELY, LATE = 0.1, 0.5, 0.9
#: Waits below so many seconds count as so many: nobody plans by less.
FLOOR = 300.0
#: How many of the last forecasts count, how many there have to be, and how many would be needed
#: to believe half of what they say.
WINDOW = 300
LEAST = 20
DOUBT = 50
#: Factors of P10 and P90 where no past forecast is known: `benchmarks/forecast_default_factor.py`.
DEFAULT_EARLY, DEFAULT_LATE = 1.0, 1.1


@dataclass(frozen=True, slots=True)
class Calibration:
    """What P10 and P90, in seconds from the moment of asking, are multiplied by.

    forecasts: how many past ones this rests on; 0: nothing is known.
    """

    early: float = 1.0
    late: float = 1.0
    forecasts: int = 0

    def bounds(self, early: Floats, likely: Floats, late: Floats) -> tuple[Floats, Floats]:
        """P10 and P90 calibrated, which stay on their sides of P50; all in seconds from asking.

        Where P10 and P90 are one time they stay as they are.
        """
        low, high = np.minimum(early * self.early, likely), np.maximum(late * self.late, likely)
        agreed = early == late
        return np.where(agreed, early, low), np.where(agreed, late, high)


def calibration_of_record(record: object, source: str = "") -> Calibration:
    """The calibration that the JSON of a backtest holds; InputError where it holds none."""
    found = record.get("calibration") if isinstance(record, Mapping) else None
    if isinstance(found, Mapping):
        factors = [found.get(name) for name in ("early", "late")]
        numbers = [float(item) for item in factors if isinstance(item, (int, float))]
        forecasts = found.get("forecasts")
        if isinstance(forecasts, int) and len(numbers) == 2 and all(0 < x < 1e9 for x in numbers):
            return Calibration(numbers[0], numbers[1], forecasts)
    wrong = "is no result of `slotwise backtest --format json`: it has no calibration"
    raise InputError([Problem(wrong, source)])


#: Where no past forecast is known.
UNCALIBRATED = Calibration(DEFAULT_EARLY, DEFAULT_LATE)


@dataclass(slots=True)
class Calibrator:
    """Takes forecasts as their truth becomes known, and says the factors for the next one."""

    window: int = WINDOW
    _early: deque[float] = field(init=False)
    _late: deque[float] = field(init=False)

    def __post_init__(self) -> None:
        self._early = deque(maxlen=self.window)
        self._late = deque(maxlen=self.window)

    def add(self, truth: float, early: float, late: float) -> None:
        """A start that has come, and its raw P10 and P90; seconds from the moment of asking.

        One whose bounds say no time (infinite) says nothing about others.
        """
        if not (isfinite(early) and isfinite(late)):
            return
        self._early.append(score(truth, early))
        self._late.append(score(truth, late))

    def calibration(self) -> Calibration:
        """The factors that rest on what is known now."""
        known = len(self._late)
        if known < LEAST:
            return replace(UNCALIBRATED, forecasts=known)
        trust = known / (known + DOUBT)
        early = conformal(list(self._early), EARLY) ** trust * DEFAULT_EARLY ** (1 - trust)
        late = conformal(list(self._late), LATE) ** trust * DEFAULT_LATE ** (1 - trust)
        return Calibration(early, late, known)


def score(truth: float, bound: float) -> float:
    """What a bound would have had to be multiplied by."""
    return max(truth, FLOOR) / max(bound, FLOOR)


def conformal(scores: list[float], level: float) -> float:
    """The quantile of n scores that holds for one more: rank level * (n + 1), at least the first.

    Of a lower bound the rank is rounded down, so that either errs to the safe side.
    """
    rank = level * (len(scores) + 1)
    place = int(np.ceil(rank)) if level > LIKELY else int(np.floor(rank))
    return sorted(scores)[min(max(place, 1), len(scores)) - 1]
