"""The bound by cases of when the large jobs start: valid, complete, better than prices alone."""

from __future__ import annotations

from itertools import islice
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_profiles import examples
from pool_problems import brute_force, from_running, pool_problems
from sampling import some
from slotwise.solver.optimal.pool import PoolProblem
from slotwise.solver.optimal.pool.bounds import Incumbent
from slotwise.solver.optimal.pool.improver import grouped_orders
from slotwise.solver.optimal.pool.pricing import Fineness, Reach, refine
from slotwise.solver.optimal.pool.problem import Decoder, Ints
from slotwise.solver.optimal.pool.windows import WindowCase, WindowSearch

PRICES = Fineness(buckets=12, rounds=2, gain=1e-3)


def begun(problem: PoolProblem, order: list[int]) -> WindowSearch:
    """The search from a plan and the prices of the whole."""
    incumbent = Incumbent(problem, Decoder(problem).plan(order), 0)
    horizon = int((incumbent.starts + problem.durations).max())
    bounds = [
        bound
        for bound in refine(problem, Reach(None, horizon, incumbent.last), incumbent.value, PRICES)
        if bound is not None
    ]
    best = max(bounds, key=lambda bound: bound.floor)
    incumbent.raise_bound(best.value)
    return WindowSearch(incumbent, best)


def holds(case: WindowCase, starts: Ints) -> bool:
    """Whether a plan belongs to a case."""
    within = all(first <= starts[job] <= last for job, (first, last) in case.windows.items())
    return within and all(starts[job] >= first for job, first in case.later.items())


def with_large(seed: int, small: int = 5) -> PoolProblem:
    """A short job of nearly all processors among long ones of few, beside jobs that run."""
    random = Random(seed)
    running = [(2, random.randint(1, 18)) for _ in range(4)]
    sizes = [random.randint(7, 9), *(random.randint(1, 4) for _ in range(small))]
    lengths = [random.randint(1, 2), *(random.choice([18, 18, 12, 5]) for _ in range(small))]
    return from_running(2, running, sizes, lengths)


@examples(120)
@given(pool_problems(most_jobs=5), st.integers(0, 99), st.booleans())
def test_no_bound_of_the_cases_is_above_the_optimum(
    problem: PoolProblem, seed: int, reverse: bool
) -> None:
    if not problem.weights.all():
        return
    order = sorted(range(len(problem)), key=lambda job: (seed * job) % 7, reverse=reverse)
    search = begun(problem, order)
    optimum = brute_force(problem)
    for _ in islice(search.run(), 40):
        assert search.incumbent.bound <= optimum
    assert search.incumbent.bound <= optimum


@pytest.mark.parametrize("seed", some(range(40), 5))
def test_the_bound_of_queues_with_a_large_job_is_valid_to_the_end(seed: int) -> None:
    problem = with_large(seed)
    search = begun(problem, list(range(len(problem))))
    optimum = brute_force(problem)
    for _ in islice(search.run(), 200):
        assert search.incumbent.bound <= optimum


def test_cases_bound_most_queues_with_a_large_job_better_than_prices() -> None:
    better = 0
    for seed in range(20):
        search = begun(with_large(seed, small=8), [*range(1, 9), 0])
        before = search.incumbent.bound
        for _ in islice(search.run(), 60):
            pass
        assert search.incumbent.bound >= before
        better += search.incumbent.bound > 1.02 * before
    assert better >= 12


@given(pool_problems(most_jobs=6), st.permutations(range(6)), st.integers(0, 50))
def test_every_plan_belongs_to_one_part_of_each_case_that_it_belongs_to(
    problem: PoolProblem, order: list[int], late: int
) -> None:
    plan = Decoder(problem).plan([job for job in order if job < len(problem)]) + late
    if not problem.weights.all() or not problem.large:
        return
    search = begun(problem, list(range(len(problem))))
    case = WindowCase({}, {job: int(problem.alone[job]) for job in problem.large})
    for _ in range(30):
        parts = search.split(case)
        if not parts:
            break
        (case,) = [part for part in parts if holds(part, plan)]


@given(pool_problems(most_jobs=6, falling=False))
def test_jobs_apart_are_groups_of_their_own(problem: PoolProblem) -> None:
    twice = problem.select(np.repeat(np.arange(len(problem)), 2))
    apart = PoolProblem(
        *(getattr(twice, name) for name in ("times", "free", "sizes", "durations")),
        *(getattr(twice, name) for name in ("earliest", "weights", "due")),
        apart=frozenset(twice.large),
    )
    for group in apart.groups:
        assert len(group.members) == 1 or not set(group.members) & set(twice.large)
    members = sorted(job for group in apart.groups for job in group.members)
    assert members == list(range(len(twice)))


@pytest.mark.parametrize("seed", range(5))
def test_orders_with_the_large_jobs_together_are_orders(seed: int) -> None:
    random = Random(seed)
    sizes = [*(random.randint(6, 9) for _ in range(3)), *(random.randint(1, 4) for _ in range(12))]
    problem = PoolProblem.build([0], [10], sizes, [random.randint(1, 20) for _ in sizes])
    orders = grouped_orders(problem)
    assert len(orders) > 1
    for order in orders:
        assert sorted(order) == list(range(len(problem)))
        where = sorted(order.index(job) for job in problem.large)
        assert where == list(range(where[0], where[0] + 3))
    assert len({order.index(problem.large[0]) for order in orders}) == len(orders)


def test_no_two_large_jobs_no_positions_to_compare() -> None:
    assert grouped_orders(PoolProblem.build([0], [10], [6, 5, 1], [3, 4, 5])) == []
