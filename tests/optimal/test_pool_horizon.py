"""Nothing is as long as the horizon in seconds, and what replaces that says the same."""

from __future__ import annotations

import tracemalloc
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_profiles import examples
from pool_problems import brute_force, pool_problems
from slotwise import Cluster, Host, Instance, Job
from slotwise.solver.optimal.pool import PoolProblem, layers, optimise, pricing
from slotwise.solver.optimal.pool.layers import InstantGrid
from slotwise.solver.optimal.pool.pricing import achievable_starts
from slotwise.solver.optimal.pool.problem import MAX_COST
from slotwise.solver.planning import plan
from slotwise.solver.validate import validate

DAY = 86400
MB = 1 << 20


def one_host(slots: int, *jobs: tuple[int, int]) -> Instance:
    pending = tuple(Job(str(n), size, run_limit=run) for n, (size, run) in enumerate(jobs, 1))
    return Instance(Cluster((Host("h", slots),)), pending=pending)


def peak_of(instance: Instance, objective: str, method: str = "optimal") -> float:
    """Megabytes of arrays while planning; the plan has to be valid and complete."""
    tracemalloc.start()
    try:
        found = plan(instance, method, objective=objective, effort=0.5)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert validate(instance, found) == []
    assert len(found.reservations) == len(instance.pending)
    return peak / MB


@pytest.mark.slow
def test_many_jobs_of_many_weeks() -> None:
    random = Random(3)
    jobs = [(random.randint(1, 64), random.randint(1, 60 * DAY)) for _ in range(20)]
    assert peak_of(one_host(64, *jobs), "slowdown") < 500


@given(pool_problems(), st.integers(0, 60), st.integers(1, 40))
def test_listed_starts_are_the_marked_ones(problem: PoolProblem, horizon: int, limit: int) -> None:
    marked = achievable_starts(problem, horizon, limit)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pricing, "MARKED", -1)
        listed = achievable_starts(problem, horizon, limit)
    assert (marked is None) == (listed is None)
    if marked is not None and listed is not None:
        assert marked.tolist() == listed.tolist()


@given(
    st.lists(st.integers(0, 300), min_size=1, max_size=20),
    st.lists(st.integers(0, 900), min_size=1, max_size=30),
    st.integers(0, 500),
)
def test_searched_instants_are_the_tabulated_ones(
    starts: list[int], seconds: list[int], end: int
) -> None:
    grid = InstantGrid.of([np.unique(starts)], end)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(layers, "TABULATED", 0)
        searched = InstantGrid.of([np.unique(starts)], end)
    asked = np.array(seconds, dtype=np.int32)
    for name in ("before", "after", "exact"):
        one, other = getattr(grid, name)(asked), getattr(searched, name)(asked)
        assert one.dtype == other.dtype == np.int32
        assert one.tolist() == other.tolist()
    last = int(grid.instants[-1])
    inside = [min(second, last) for second in seconds]
    assert grid.instants[grid.before(asked)].tolist() == [
        max(instant for instant in grid.instants.tolist() if instant <= second) for second in inside
    ]


@examples(40)
@given(pool_problems(most_jobs=5, falling=False))
def test_without_any_table_the_optimum_is_the_same(problem: PoolProblem) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pricing, "MARKED", -1)
        patch.setattr(layers, "TABULATED", 0)
        result = optimise(problem, effort=300)
    assert result.bound == result.value == brute_force(problem)


@examples(40)
@given(pool_problems(most_jobs=4), st.integers(20, 50))
def test_weights_of_many_bits_lose_none(problem: PoolProblem, bits: int) -> None:
    """The optimum of weights times two to the n is two to the n times the optimum."""
    heavy = PoolProblem.build(
        problem.times,
        problem.free,
        problem.sizes,
        problem.durations,
        earliest=problem.earliest,
        weights=problem.weights << bits,
        due=problem.due,
    )
    if heavy.dearest > MAX_COST:
        return
    result = optimise(heavy, effort=300)
    assert result.bound == result.value == brute_force(problem) << bits


def test_weights_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="use weights of fewer digits"):
        PoolProblem.build([0], [1], [1, 1], [10**6, 10**6], weights=[1 << 45, 1])
