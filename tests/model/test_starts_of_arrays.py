"""How the starts of the elements of a job array lie, in words."""

from __future__ import annotations

import pytest
from slotwise import Cluster, Host, Instance, PlannedArray, PlannedJob
from slotwise.model.display import WrittenTimes
from slotwise.model.plan import profile_text

CLOCK = WrittenTimes(Instance(Cluster((Host("a", 4),))))


def said(starts: list[int]) -> str:
    elements = [PlannedJob(f"7[{n}]", start) for n, start in enumerate(starts, 1)]
    return profile_text(CLOCK, PlannedArray.of("7", elements))


@pytest.mark.behaviour("ARR-05")
@pytest.mark.parametrize("count", [6, 7, 8, 9, 16, 21])
def test_a_quarter_has_started_by_the_first_instant_of_which_that_is_true(count: int) -> None:
    starts = [60 * n * n for n in range(count)]
    expected = []
    for name, part in (("a quarter", 0.25), ("half", 0.5), ("three quarters", 0.75)):
        by = next(at for at in starts if sum(s <= at for s in starts) >= part * count)
        expected.append(f"{name} by {CLOCK.text(by)}")
    assert said(starts) == ", ".join(expected)


@pytest.mark.parametrize(
    ("starts", "text"),
    [
        ([0, 0, 0], ""),
        ([0, 60, 60, 180, 300], "1 now, 2 +1m, 1 +3m, 1 +5m"),
        ([60 * (n // 2) for n in range(10)], "2 every 1m"),
        ([60 * (n // 2) for n in range(11)], "2 every 1m"),
    ],
)
def test_few_starts_and_even_ones(starts: list[int], text: str) -> None:
    assert said(starts) == text
