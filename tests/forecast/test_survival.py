"""Weighed numbers, and numbers that are only known to be larger than what was seen."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from slotwise.solver.forecast.runtimes import WeightedSample

NUMBERS = st.lists(st.integers(0, 20), min_size=1, max_size=12)


def _of(numbers) -> WeightedSample:
    return WeightedSample.of(np.array(numbers, dtype=float))


def test_a_chance_picks_by_weight():
    found = _of([30, 10]).beside(_of([20]).weighing(2.0))
    assert found.numbers.tolist() == [10, 20, 30]
    assert found.at(np.array([0, 0.24, 0.25, 0.74, 0.75, 0.999])).tolist() == [
        10,
        10,
        20,
        20,
        30,
        30,
    ]


def test_parts_and_multiples():
    found = _of([1, 2, 3])
    assert found.beyond(2).numbers.tolist() == [2, 3]
    assert len(found.beyond(3.5)) == 0
    assert found.times(2).numbers.tolist() == [2, 4, 6]
    assert found.at_most(2).numbers.tolist() == [1, 2, 2]
    assert np.allclose(found.weighing(6).weights, 2)
    assert len(_of([]).weighing(5)) == 0


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


def test_a_survivor_of_all_lies_where_others_lie_or_nowhere():
    found = _of([1, 2]).with_survivors(np.array([5.0]), _of([3, 7, 9]))
    assert found.numbers.tolist() == [1, 2, 7, 9]
    assert found.weights.tolist() == [1, 1, 0.5, 0.5]
    assert _of([1, 2]).with_survivors(np.array([50.0]), _of([3])).numbers.tolist() == [1, 2]
