"""The layered search: valid at every width, exact if wide enough, whatever the prices."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pool_problems import brute_force, pool_problems
from slotwise.solver.optimal.pool import PoolProblem
from slotwise.solver.optimal.pool.layers import LayeredSearch
from slotwise.solver.optimal.pool.prices import Market, Prices
from slotwise.solver.optimal.pool.relax import certify
from slotwise.solver.optimal.pool.tariff import Tariff


def finish(task):
    """The result of a generator."""
    while True:
        try:
            next(task)
        except StopIteration as end:
            return end.value


def random_bound(problem, draw):
    """A bound by arbitrary prices on an arbitrary grid, with all seconds as candidates."""
    horizon = int(problem.times[-1] + problem.earliest.max() + problem.durations.sum()) + 1
    inner = draw(st.sets(st.integers(1, horizon - 1), max_size=6))
    market = Market(problem, np.array([0, *sorted(inner), horizon]))
    market.add(market.sizes.copy())
    market.add_steps(3)
    rows = [(w, b) for w in range(len(market.weighings)) for b in range(market.buckets)]
    duals = draw(st.lists(st.floats(0, 2), min_size=len(rows), max_size=len(rows)))
    prices = Prices.rounded(market, rows, np.array(duals), 64)
    starts = np.arange(horizon)
    candidates = [starts[starts >= problem.alone[g.members[0]]] for g in problem.groups]
    return certify(problem, prices, candidates)


def check(problem, best, above, width, draw):
    """Run with a value to beat that lies ``above`` the optimum, and compare with it."""
    bound = random_bound(problem, draw)
    spare = (best + above - 1) * bound.prices.scale - bound.floor
    tariff = Tariff.of(bound, max(0, spare))
    search = LayeredSearch(problem, tariff, best + above)
    proved = finish(search.run(width))
    assert proved <= best or above <= 0
    if search.found is not None:
        assert problem.violations(search.found) == []
        assert problem.value(search.found) == search.best < best + above
    if width >= 1000:
        assert proved == best + min(0, above)
        assert (search.found is not None) == (above > 0)


@settings(max_examples=80, deadline=None)
@given(
    pool_problems(most_jobs=5, falling=False),
    st.integers(-2, 20),
    st.sampled_from([1, 2, 5, 1000]),
    st.data(),
)
def test_what_is_proved_is_true_and_wide_searches_prove_all(problem, above, width, data):
    check(problem, brute_force(problem), above, width, data.draw)


@pytest.mark.slow
@settings(max_examples=2000, deadline=None)
@given(
    pool_problems(most_jobs=6, falling=False),
    st.integers(-2, 30),
    st.sampled_from([1, 3, 10, 1000]),
    st.data(),
)
def test_what_is_proved_is_true_more(problem, above, width, data):
    check(problem, brute_force(problem), above, width, data.draw)


def test_falling_capacity_is_not_for_layers():
    assert LayeredSearch.suits(PoolProblem.build([0, 5], [2, 3], [1, 1], [4, 4]))
    assert not LayeredSearch.suits(PoolProblem.build([0, 5], [3, 2], [1, 1], [4, 4]))


def test_tables_that_would_be_too_large_are_not_made():
    problem = PoolProblem.build([0], [1], [1], [100_000_000])
    market = Market(problem, np.array([0, 100_000_000]))
    market.add(market.sizes.copy())
    bound = certify(
        problem, Prices.rounded(market, [(0, 0)], np.array([0.0]), 1), [np.zeros(1, int)]
    )
    assert Tariff.of(bound, 0) is None
