"""Bounds never exceed the optimum: against brute force over all orders, with any prices."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_profiles import examples
from pool_problems import brute_force, literal_starts, pool_problems
from slotwise.solver.optimal.pool import PoolProblem
from slotwise.solver.optimal.pool.bounds import (
    Duals,
    Incumbent,
    Market,
    Relaxation,
    certify,
    fill,
)
from slotwise.solver.optimal.pool.pricing import Fineness, Reach, achievable_starts, refine
from slotwise.solver.optimal.pool.problem import Decoder
from slotwise.solver.optimal.pool.prover import latest_starts, makespan_bound, prove

positive = pool_problems(most_jobs=5, weighted=False)


@examples(60)
@given(pool_problems(most_jobs=5), st.data())
def test_any_prices_give_a_valid_bound(problem, data):
    horizon = int(problem.times[-1] + problem.durations.sum()) + 10
    inner = data.draw(st.sets(st.integers(1, horizon - 1), max_size=6))
    market = Market(problem, np.array([0, *sorted(inner), horizon]))
    weights = st.lists(st.integers(0, 5), min_size=len(market.sizes), max_size=len(market.sizes))
    for function in [market.sizes, *data.draw(st.lists(weights, max_size=3))]:
        market.add(np.array(function))
    market.add_steps(3)
    rows = [(w, b) for w in range(len(market.functions)) for b in range(market.buckets)]
    duals = data.draw(st.lists(st.floats(0, 4), min_size=len(rows), max_size=len(rows)))
    prices = Duals.rounded(market, rows, np.array(duals), 64)
    starts = np.arange(2 * horizon)
    candidates = [starts[starts >= problem.alone[g.members[0]]] for g in problem.groups]
    assert certify(problem, prices, candidates).value <= brute_force(problem)


@examples(60)
@given(pool_problems(most_jobs=5), st.integers(2, 8))
def test_the_relaxation_is_below_the_optimum_on_any_grid(problem, buckets):
    value = problem.value(Decoder(problem).plan(range(len(problem))))
    horizon = int((Decoder(problem).plan(range(len(problem))) + problem.durations).max())
    best = brute_force(problem)
    fineness = Fineness(buckets, 6, 1e-6)
    for bound in refine(problem, Reach(None, horizon), value, fineness):
        assert bound is None or bound.value <= best


@examples(60)
@given(positive)
def test_every_step_of_the_proof_is_valid_and_it_ends_at_the_optimum(problem):
    best = brute_force(problem)
    incumbent = Incumbent(problem, Decoder(problem).plan(range(len(problem))), 0)
    for _ in prove(incumbent):
        assert incumbent.bound <= best <= incumbent.value
    assert incumbent.bound == incumbent.value == best


@examples(60)
@given(positive)
def test_latest_starts_keep_every_better_plan(problem):
    plan = Decoder(problem).plan(range(len(problem)))
    worse = problem.value(plan) + 1
    horizon = int((plan + problem.durations).max())
    bounds = [b for b in refine(problem, Reach(None, horizon), worse, Fineness(4, 0, 1e-3)) if b]
    for bound in bounds:
        for group, latest in zip(problem.groups, latest_starts(bound, worse), strict=True):
            assert all(plan[job] <= latest for job in group.members)


@given(pool_problems(), st.randoms(use_true_random=False))
def test_decoded_starts_are_achievable(problem, random):
    order = list(range(len(problem)))
    random.shuffle(order)
    starts = literal_starts(problem, order)
    every = achievable_starts(problem, max(starts), 10_000)
    assert set(starts) <= set(every.tolist())
    assert achievable_starts(problem, max(starts), len(every) - 1) is None


@given(
    st.lists(st.tuples(st.integers(1, 9), st.integers(1, 3)), min_size=1, max_size=4),
    st.integers(0, 20),
    st.data(),
)
def test_fill_is_the_best_choice_of_jobs(kinds, capacity, data):
    weights = [data.draw(st.integers(0, 9)) for _ in kinds]
    sets = [(0, 0)]
    for (size, count), weight in zip(kinds, weights, strict=True):
        sets = [(s + n * size, w + n * weight) for s, w in sets for n in range(count + 1)]
    sizes, counts = np.array(kinds).T
    most = fill(sizes, counts, np.array(weights), capacity)
    assert most.tolist() == [
        max(weight for size, weight in sets if size <= c) for c in range(capacity + 1)
    ]


@examples(60)
@given(pool_problems(most_jobs=5, objective="makespan"))
def test_the_makespan_bound_is_below_the_optimum(problem):
    assert makespan_bound(problem) <= brute_force(problem)


@pytest.mark.parametrize("seed", range(6))
def test_starts_that_are_added_as_they_are_missed_are_as_good_as_all(
    monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """The LP with the starts it asks for reaches what it reaches with all of them at once."""
    rng = Random(seed)
    column = [[rng.randint(1, most) for _ in range(8)] for most in (4, 15, 5)]
    problem = PoolProblem.build([0, 7], [2, 5], column[0], column[1], weights=column[2])
    horizon = int((Decoder(problem).plan(range(8)) + problem.durations).max())
    domains = [np.arange(problem.alone[g.members[0]], horizon) for g in problem.groups]

    def reached() -> float:
        market = Market(problem, np.array([0, 7, horizon // 2, 2 * horizon]))
        relaxation = Relaxation(market, domains, 10**6, 1000)
        return max(bound.floor for bound in relaxation.solve(60))

    step_by_step = reached()
    monkeypatch.setattr(Relaxation, "_first_starts", lambda self, index: self.candidates[index])
    assert step_by_step == pytest.approx(reached(), rel=1e-3)
