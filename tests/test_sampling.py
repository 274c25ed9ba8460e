"""The part of a matrix that runs by default is a cover, and the rest is there under `slow`."""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

from sampling import pairwise, some


def fast(cases: list[Any]) -> list[tuple[Any, ...]]:
    return [case.values for case in cases if not case.marks]


def test_some_are_evenly_spaced() -> None:
    assert fast(some(range(10), 3)) == [(0,), (3,), (6,)]
    assert [case.values[0] for case in some(range(10), 3)] == list(range(10))
    assert fast(some([("a", 1), ("b", 2)], 5)) == [("a", 1), ("b", 2)]


def test_of_two_factors_every_value_runs() -> None:
    cases = pairwise("abcde", [1, 2, 3])
    assert len(cases) == 15
    assert len(fast(cases)) == 5
    assert {values[0] for values in fast(cases)} == set("abcde")
    assert {values[1] for values in fast(cases)} == {1, 2, 3}


def test_of_three_factors_every_pair_runs() -> None:
    factors = ("abc", [1, 2], [True, False])
    cases = pairwise(*factors)
    assert len(cases) == 12
    assert len(fast(cases)) < 12
    for one, other in combinations(range(3), 2):
        assert {(v[one], v[other]) for v in fast(cases)} == set(
            product(factors[one], factors[other])
        )
