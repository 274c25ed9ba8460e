"""Sites in which any two features meet: every invariant holds of each of them."""

from __future__ import annotations

from itertools import combinations

import pytest
from pair_invariants import violations
from paired_features import PAIRS, case, cover, features_of
from sampling import some

ROWS = cover(6)
#: Sites of `make test-all`, by hundreds.
MANY = 50


def test_every_two_features_meet() -> None:
    met = {pair for row in ROWS for pair in combinations(row, 2)}
    assert met >= set(PAIRS)


@pytest.mark.behaviour("PAI-01", "PAI-05")
@pytest.mark.parametrize(
    "number", some(range(len(ROWS)), 10), ids=lambda number: ",".join(ROWS[number])
)
def test_nothing_breaks_where_two_features_meet(number: int) -> None:
    assert list(violations(case(ROWS[number], number))) == []


#: Sites in which guaranteed pools broke something once.
BROKEN = (
    (59, ("guarantees", "partition", "priorities", "ends early")),
    (103, ("memory", "guarantees", "-w", "resizable", "fairshare")),
    (398, ("same", "guarantees")),
    (693, ("guarantees", "reservation by name")),
)


@pytest.mark.behaviour("GUA-01")
@pytest.mark.parametrize(("seed", "names"), BROKEN)
def test_nothing_breaks_that_once_did(seed: int, names: tuple[str, ...]) -> None:
    assert list(violations(case(names, seed))) == []


#: What a preempting job held itself, or what others hold in another partition, kept slots from it;
#: the judge did not count a job that is suspended in the second of its start.
PREEMPTED = (
    (3, ("one host", "user limit", "preemption", "SLOT_RESERVE", "partition")),
    (6, ("queue limit", "preemption", "SLOT_RESERVE", "partition")),
    (69, ("preemption", "SLOT_RESERVE", "partition")),
)


@pytest.mark.behaviour("PAI-01", "PAI-05")
@pytest.mark.parametrize(("seed", "names"), PREEMPTED)
def test_a_preempting_job_leaves_the_reservations_before_it_alone(
    seed: int, names: tuple[str, ...]
) -> None:
    assert list(violations(case(names, seed))) == []


@pytest.mark.slow
@pytest.mark.parametrize("hundred", range(MANY))
def test_nothing_breaks_on_many(hundred: int) -> None:
    for seed in range(100 * hundred, 100 * hundred + 100):
        assert list(violations(case(features_of(seed), seed))) == [], (seed, features_of(seed))
