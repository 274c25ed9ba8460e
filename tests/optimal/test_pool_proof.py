"""Each way of proving (narrow layers, halved starts, the tree of plans), made to be needed."""

from __future__ import annotations

from random import Random

import pytest
from pool_problems import brute_force, violations
from slotwise.solver.optimal.pool import PoolProblem, prover
from slotwise.solver.optimal.pool.decoder import Decoder
from slotwise.solver.optimal.pool.incumbent import Incumbent


def some_problem(seed: int, *, falling: bool) -> PoolProblem:
    """Five jobs, two of them alike, on a capacity of three steps."""
    rng = Random(seed)
    free = [rng.randint(0, 4), rng.randint(0, 4), 5]
    if not falling:
        free.sort()
    sizes, durations, weights, due = (
        [rng.randint(low, high) for _ in range(4)] for low, high in ((1, 5), (1, 9), (1, 4), (0, 6))
    )
    for column in (sizes, durations, weights, due):
        column.append(column[0])
    return PoolProblem.build([0, 3, 8], free, sizes, durations, weights=weights, due=due)


@pytest.mark.parametrize("falling", [False, True])
@pytest.mark.parametrize(
    "limits",
    [
        {"NODES": 3},
        {"NODES": 1, "FIRST_WIDTH": 1, "MOST_STATES": 1},
        {"NODES": 40, "FIRST_WIDTH": 1, "GROWTH": 2, "MOST_STATES": 64},
        {"SEARCHABLE": 2, "FIRST_WIDTH": 1, "NODES": 3},
        {"MOST_INSTANTS": 0},
    ],
    ids=lambda limits: "-".join(limits),
)
def test_each_way_of_proving_ends_at_the_optimum(
    monkeypatch: pytest.MonkeyPatch, limits: dict[str, int], falling: bool
) -> None:
    for name, value in limits.items():
        monkeypatch.setattr(prover, name, value)
    for seed in range(6):
        problem = some_problem(seed, falling=falling)
        best = brute_force(problem)
        incumbent = Incumbent(problem, Decoder(problem).plan(range(5)), 0)
        for _ in prover.prove(incumbent):
            assert incumbent.bound <= best <= incumbent.value
        assert violations(problem, incumbent.starts) == []
        if "MOST_INSTANTS" in limits:
            # Only prices are left then: a bound, and no search.
            assert 0 < incumbent.bound <= best
        else:
            assert incumbent.bound == incumbent.value == best
