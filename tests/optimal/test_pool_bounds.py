"""Bounds never exceed the optimum: against brute force over all orders, with any prices."""

from __future__ import annotations

from hypothesis import given
from hypothesis_profiles import examples
from pool_problems import brute_force, pool_problems
from slotwise.solver.optimal.pool.bounds import (
    Incumbent,
)
from slotwise.solver.optimal.pool.problem import Decoder
from slotwise.solver.optimal.pool.prover import makespan_bound, prove

positive = pool_problems(most_jobs=5, weighted=False)


@examples(60)
@given(positive)
def test_every_step_of_the_proof_is_valid_and_it_ends_at_the_optimum(problem):
    best = brute_force(problem)
    incumbent = Incumbent(problem, Decoder(problem).plan(range(len(problem))), 0)
    for _ in prove(incumbent):
        assert incumbent.bound <= best <= incumbent.value
    assert incumbent.bound == incumbent.value == best


@examples(60)
@given(pool_problems(most_jobs=5, objective="makespan"))
def test_the_makespan_bound_is_below_the_optimum(problem):
    assert makespan_bound(problem) <= brute_force(problem)
