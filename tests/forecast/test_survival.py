"""Weighed numbers, and numbers that are only known to be larger than what was seen."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from slotwise.solver.forecast.runtimes import WeightedSample

NUMBERS = st.lists(st.integers(0, 20), min_size=1, max_size=12)


def _of(numbers) -> WeightedSample:
    return WeightedSample.of(np.array(numbers, dtype=float))


@given(NUMBERS, NUMBERS)
def test_survivors_weigh_as_kaplan_and_meier_say(ended, running):
    """Their product formula, of what is known to be at least each number, in plain fractions."""
    found = _of(ended).with_survivors(np.sort(np.array(running, dtype=float)), _of([99]))
    total = float(found.weights.sum())
    assert abs(total - len(ended) - len(running)) < 1e-9
    for bound in range(22):
        survival = 1.0
        for time in sorted(set(ended)):
            if time >= bound:
                break
            # Who is seen at the very number at which others end is not counted as one of them.
            at_risk = sum(end >= time for end in ended) + sum(seen > time for seen in running)
            survival *= 1 - sum(end == time for end in ended) / at_risk
        weight = float(found.weights[found.numbers >= bound].sum())
        assert abs(weight / total - survival) < 1e-9
