"""The layered search: valid at every width, exact if wide enough, whatever the prices."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_profiles import examples
from pool_problems import brute_force, pool_problems, violations
from slotwise.solver.optimal.pool import layers
from slotwise.solver.optimal.pool.bounds import Duals, Market, certify
from slotwise.solver.optimal.pool.layers import LayeredSearch
from slotwise.solver.optimal.pool.problem import SCALE


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
    rows = [(w, b) for w in range(len(market.functions)) for b in range(market.buckets)]
    duals = draw(st.lists(st.floats(0, 2), min_size=len(rows), max_size=len(rows)))
    prices = Duals.rounded(market, rows, np.array(duals), SCALE)
    starts = np.arange(horizon)
    candidates = [starts[starts >= problem.alone[g.members[0]]] for g in problem.groups]
    return certify(problem, prices, candidates)


@pytest.fixture(autouse=True)
def small_crowds(monkeypatch):
    """Make new prices already in layers of a few states."""
    monkeypatch.setattr(layers, "CROWDED", 3)
    monkeypatch.setattr(layers, "USEFUL", 1.0)


def check(problem, best, above, width, draw):
    """Run with a value to beat that lies ``above`` the optimum, and compare with it."""
    bound = random_bound(problem, draw)
    spare = max(0, (best + above - 1) * bound.prices.scale - bound.floor)
    domains = [s[excess <= spare] for s, excess in zip(bound.starts, bound.excess, strict=True)]
    search = LayeredSearch(problem, domains, bound.prices, best + above)
    proved = finish(search.run(width, hopeful=draw(st.booleans())))
    assert proved <= best or above <= 0
    if search.found is not None:
        assert violations(problem, search.found) == []
        assert problem.value(search.found) == search.best < best + above
    if width >= 1000:
        assert proved == best + min(0, above)
        assert (search.found is not None) == (above > 0)


@examples(80)
@given(
    pool_problems(most_jobs=5, falling=False),
    st.integers(-2, 20),
    st.sampled_from([1, 2, 5, 1000]),
    st.data(),
)
def test_what_is_proved_is_true_and_wide_searches_prove_all(problem, above, width, data):
    check(problem, brute_force(problem), above, width, data.draw)


@pytest.mark.slow
@examples(2000)
@given(
    pool_problems(most_jobs=6, falling=False),
    st.integers(-2, 30),
    st.sampled_from([1, 3, 10, 1000]),
    st.data(),
)
def test_what_is_proved_is_true_more(problem, above, width, data):
    check(problem, brute_force(problem), above, width, data.draw)
