"""Small parts of the pool search: decoder, orders, grids, latest starts, bounds of the last end."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pool_problems import brute_force, literal_starts, pool_problems, violations
from slotwise.solver.optimal.pool import PoolProblem, optimise
from slotwise.solver.optimal.pool.bounds import Duals, Market, Patterns, certify
from slotwise.solver.optimal.pool.chronology import Chronology, Guide, plan_of
from slotwise.solver.optimal.pool.layers import LayeredSearch
from slotwise.solver.optimal.pool.pricing import Fineness, Reach, refine
from slotwise.solver.optimal.pool.problem import Decoder
from slotwise.solver.optimal.pool.search import OrderSearch


def build(*jobs: tuple[int, int], free: int = 3, **more: object) -> PoolProblem:
    """Jobs as (size, duration) on so many processors."""
    sizes, durations = zip(*jobs, strict=True)
    return PoolProblem.build([0], [free], sizes, durations, **more)  # type: ignore[arg-type]


def queue(count: int, seed: int = 1) -> PoolProblem:
    """Jobs of many kinds on ten processors, some of them busy at first."""
    rng = Random(seed)
    columns = [[rng.randint(1, high) for _ in range(count)] for high in (7, 30, 4)]
    earliest = [rng.choice([0, 0, 5, 11]) for _ in range(count)]
    return PoolProblem.build([0, 6, 13], [2, 7, 10], *columns[:2], weights=columns[2],
                             earliest=earliest)  # fmt: skip


def test_the_gap_is_a_share_of_the_value() -> None:
    result = optimise(build((1, 5), (1, 5), free=1), effort=40)
    assert (result.value, result.bound, result.gap, result.status) == (5, 5, 0.0, "proved")
    open_result = optimise(queue(25), effort=0)
    assert open_result.status == "gap"
    share = (open_result.value - open_result.bound) / open_result.value
    assert open_result.gap == pytest.approx(share)


@pytest.mark.parametrize("objective", ["starts", "makespan"])
def test_the_local_search_knows_the_cost_of_its_order(objective: str) -> None:
    rng = Random(5)
    columns = [[rng.randint(1, high) for _ in range(10)] for high in (3, 9)]
    problem = PoolProblem.build([0, 4], [2, 3], *columns, objective=objective)  # type: ignore[arg-type]
    search = OrderSearch(problem, list(range(10)), 3)
    first = search.best
    plan = np.zeros(10, dtype=int)
    plan[list(range(10))] = literal_starts(problem, range(10))
    assert first == problem.value(plan)
    assert search.run(400) == (search.best < first)
    plan[search.best_order] = literal_starts(problem, search.best_order)
    assert search.best == problem.value(plan) < first
    assert not search.run(0)


def test_the_heaviest_pattern_is_that_of_all_choices() -> None:
    rng = Random(2)
    for _ in range(20):
        sizes = np.array(sorted(rng.sample(range(1, 9), 3)))
        counts = np.array([rng.randint(1, 3) for _ in sizes])
        weights = np.array([rng.choice([0.0, 0.5, 1.0, 1.7]) for _ in sizes])
        patterns = Patterns(sizes, counts, rng.randint(1, 20))
        most, pattern = patterns.heaviest(weights)
        unit = int(np.gcd.reduce(sizes))
        fitting = [
            numbers
            for numbers in np.ndindex(*(counts + 1).tolist())
            if np.dot(numbers, sizes // unit) <= patterns.capacity
        ]
        assert most == pytest.approx(max(float(np.dot(n, weights)) for n in fitting))
        assert tuple(pattern) in fitting
        assert np.dot(pattern, weights) == pytest.approx(most)


def test_the_relaxation_alone_is_near_the_optimum() -> None:
    """How strong it is: one job at a time, the bound of the linear program is the optimum."""
    problem = build((3, 5), (3, 2), (2, 9), (3, 4))
    best = brute_force(problem)
    domains = [np.arange(21)] * 4
    bounds = [b for b in refine(problem, Reach(domains), best + 20, Fineness(40, 6, 1e-6)) if b]
    assert max(b.value for b in bounds) == best


def small(seed: int, free: list[int]) -> PoolProblem:
    """Five jobs of up to four processors."""
    rng = Random(seed)
    columns = [[rng.randint(1, high) for _ in range(5)] for high in (4, 9, 3)]
    return PoolProblem.build([0, 4, 9], free, *columns[:2], weights=columns[2])


def prices_of(problem: PoolProblem) -> Duals:
    """A quarter of a unit a processor and second at first, then an eighth, then nothing."""
    market = Market(problem, np.array([0, 5, 20]))
    market.add(market.sizes.copy())
    return Duals.rounded(market, [(0, 0), (0, 1)], np.array([0.25, 0.125]), 8)


@pytest.mark.parametrize("free", [[1, 3, 4], [3, 1, 4]])
def test_the_tree_finds_the_best_plan_in_few_nodes(free: list[int]) -> None:
    """What prices, what has been seen, and plans that cannot be shifted leave: no more than now."""
    nodes = []
    for seed in range(5):
        problem = small(seed, free)
        every = np.arange(problem.horizon + 1)
        bound = certify(problem, prices_of(problem), [every] * len(problem.groups))
        best = brute_force(problem)
        tree = Chronology(problem, best + 1)
        guide = Guide(bound, tree.root(), list(range(len(problem.groups))))
        assert not tree.explore(tree.root(), guide, 3)
        tree = Chronology(problem, best + 1)
        assert tree.explore(tree.root(), guide, 10**6)
        assert tree.best == best == problem.value(plan_of(problem, tree.found))
        nodes.append(tree.nodes)
    # As measured: whole numbers alone decide, so a change of the search shows, for good or ill.
    assert nodes == {1: [53, 45, 74, 46, 25], 3: [41, 34, 65, 59, 34]}[free[0]]


@pytest.mark.parametrize(
    ("width", "expected"),
    [(1, [76, 59, 40, 70, 61]), (2, [82, 72, 43, 82, 65]), (4, [88, 76, 53, 94, 65])],
)
def test_what_a_narrow_search_proves(width: int, expected: list[int]) -> None:
    proved = []
    for seed in range(5):
        problem = small(seed, [1, 3, 4])
        best = brute_force(problem)
        domains = [np.arange(g.earliest, problem.horizon) for g in problem.groups]
        search = LayeredSearch(problem, domains, prices_of(problem), best + 1)
        task = search.run(width, hopeful=seed % 2 == 0)
        try:
            while True:
                next(task)
        except StopIteration as end:
            proved.append(end.value)
        assert proved[-1] <= best
    assert proved == expected


@given(pool_problems(), st.randoms(use_true_random=False))
def test_decoder_places_each_job_at_the_first_second_with_room(problem, random):
    order = list(range(len(problem)))
    random.shuffle(order)
    assert Decoder(problem).starts(order) == literal_starts(problem, order)


@given(pool_problems())
def test_a_decoded_plan_is_valid(problem):
    plan = Decoder(problem).plan(range(len(problem)))
    assert violations(problem, plan) == []


@given(pool_problems())
def test_decoding_by_start_starts_nothing_later(problem):
    first = Decoder(problem).plan(range(len(problem)))
    again = Decoder(problem).plan(np.argsort(first, kind="stable").tolist())
    assert (again <= first).all()


def test_too_wide_jobs_and_bad_arrays_are_named_together():
    with pytest.raises(ValueError, match=r"times must increase.*durations must be at least 1"):
        PoolProblem.build([0, 0], [1, 1], [1], [0])
    with pytest.raises(ValueError, match=r"jobs \[1\] request more than the 3"):
        PoolProblem.build([0], [3], [1, 4], [5, 5])
