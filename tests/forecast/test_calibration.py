"""The conformal factors alone."""

from __future__ import annotations

from slotwise.solver.forecast.forecast import (
    UNCALIBRATED,
)


def test_without_past_forecasts_the_default_widens_the_upper_bound_alone() -> None:
    assert UNCALIBRATED.early == 1 < UNCALIBRATED.late < 1.5
    assert UNCALIBRATED.forecasts == 0
