"""The part of a matrix that runs by default is a cover, and the rest is there under `slow`."""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

import pytest
from sampling import SAMPLING, pairwise, some


@pytest.fixture(autouse=True)
def all_cases(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SAMPLING, "all_cases", True)


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


def test_of_a_sample_some_are_taken() -> None:
    cases = some(pairwise("abcde", [1, 2, 3]), 2)
    assert len(cases) == 15
    assert len(fast(cases)) == 2
    assert {*fast(cases)} < {*fast(pairwise("abcde", [1, 2, 3]))}


def test_a_run_that_leaves_slow_cases_out_does_not_make_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole = fast(pairwise("abc", [1, 2, 3, 4], "de"))
    monkeypatch.setattr(SAMPLING, "all_cases", False)
    cases = pairwise("abc", [1, 2, 3, 4], "de")
    assert fast(cases) == whole
    assert len(cases) == len(whole)
    assert fast(some(cases, 3)) == whole[:: len(whole) // 3][:3]
    assert len(some(range(100), 4)) == 4
