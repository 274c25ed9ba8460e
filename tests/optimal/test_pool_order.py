"""The bound by cases of when the k-th large job starts: valid, complete, better than prices."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_profiles import examples
from pool_problems import brute_force, from_running, pool_problems
from sampling import some
from slotwise.solver.optimal.pool import PoolProblem, order_tree
from slotwise.solver.optimal.pool.bounds import Incumbent, PoolBound
from slotwise.solver.optimal.pool.order_tree import (
    CaseProgram,
    OrderTree,
    branch_on_order,
    further_classes,
)
from slotwise.solver.optimal.pool.pricing import Fineness, Reach, refine
from slotwise.solver.optimal.pool.problem import Decoder
from slotwise.solver.optimal.pool.search import grouped_orders

PRICES = Fineness(buckets=12, rounds=2, gain=1e-3)
#: Prices on a grid of which few points are on the other.
OTHER = Fineness(buckets=17, rounds=2, gain=1e-3)


def begun(problem: PoolProblem, order: list[int]) -> tuple[Incumbent, PoolBound]:
    """A plan, and prices of the whole."""
    incumbent = Incumbent(problem, Decoder(problem).plan(order), 0)
    best = prices_of(incumbent, PRICES)
    incumbent.raise_bound(best.value)
    return incumbent, best


def reach_of(incumbent: Incumbent) -> Reach:
    """All starts up to the end of the plan."""
    horizon = int((incumbent.starts + incumbent.problem.durations).max())
    return Reach(None, horizon, incumbent.last)


def prices_of(incumbent: Incumbent, fineness: Fineness) -> PoolBound:
    """The best prices of the whole on a grid."""
    bounds = refine(incumbent.problem, reach_of(incumbent), incumbent.value, fineness)
    return max((bound for bound in bounds if bound is not None), key=lambda bound: bound.floor)


def branched(incumbent: Incumbent, prices: PoolBound) -> Iterator[None]:
    """The bound by the tree, with no other search."""
    return branch_on_order(incumbent, prices, reach_of(incumbent))


def with_large(seed: int, small: int = 5) -> PoolProblem:
    """A short job of nearly all processors among long ones of few, beside jobs that run."""
    random = Random(seed)
    running = [(2, random.randint(1, 18)) for _ in range(4)]
    sizes = [random.randint(7, 9), *(random.randint(1, 4) for _ in range(small))]
    lengths = [random.randint(1, 2), *(random.choice([18, 18, 12, 5]) for _ in range(small))]
    return from_running(2, running, sizes, lengths)


@examples(120)
@given(pool_problems(most_jobs=5), st.integers(0, 99), st.booleans())
def test_no_bound_of_the_tree_is_above_the_optimum(
    problem: PoolProblem, seed: int, reverse: bool
) -> None:
    if not problem.weights.all():
        return
    order = sorted(range(len(problem)), key=lambda job: (seed * job) % 7, reverse=reverse)
    incumbent, prices = begun(problem, order)
    optimum = brute_force(problem)
    for _ in islice(branched(incumbent, prices), 40):
        assert incumbent.bound <= optimum
    assert incumbent.bound <= optimum


@pytest.mark.parametrize("seed", some(range(40), 5))
def test_the_bound_of_queues_with_a_large_job_is_valid_to_the_end(seed: int) -> None:
    problem = with_large(seed)
    incumbent, prices = begun(problem, list(range(len(problem))))
    optimum = brute_force(problem)
    for _ in islice(branched(incumbent, prices), 200):
        assert incumbent.bound <= optimum


def test_a_window_between_two_points_of_the_new_grid_is_no_lower_bound() -> None:
    """The cheapest start in such a window is at no point of the grid; seed 896 of the campaign."""
    problem = with_large(896, small=5)
    changed_at_each(problem, [5, 2, 3, 1, 0, 4], brute_force(problem))


def changed_at_each(problem: PoolProblem, order: list[int], optimum: int, steps: int = 6) -> None:
    """Grow a tree by all classes, on two grids by turns."""
    incumbent, prices = begun(problem, order)
    other = prices_of(incumbent, OTHER)
    program = CaseProgram(prices, incumbent.value)
    if program.empty:
        assert incumbent.value == optimum
        return
    tree = OrderTree(incumbent, prices, further_classes(problem), [], program)
    for bound in (other, prices, other, prices):
        for _ in islice(iter(tree.step, False), steps):
            assert tree.bound <= optimum
        program = CaseProgram(bound, incumbent.value)
        if not program.empty:
            tree.reprice(bound, program)
            assert tree.bound <= optimum
            points = set(bound.prices.market.grid.tolist())
            for case in (node.case for node in tree.open):
                assert points.issuperset(at for window in case.windows.values() for at in window)


def test_a_stalled_tree_goes_on_after_the_other_search_on_finer_grids(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(order_tree, "TRIAL", 4)
    monkeypatch.setattr(order_tree, "STALL", 4)
    problem = with_large(4)
    incumbent, prices = begun(problem, [*range(1, 6), 0])
    met: list[int] = []
    grids: list[int] = []
    reprice = OrderTree.reprice

    def other() -> Iterator[None]:
        met.append(incumbent.bound)
        yield

    def repriced(tree: OrderTree, bound: PoolBound, program: CaseProgram) -> None:
        grids.append(bound.prices.market.buckets)
        reprice(tree, bound, program)

    monkeypatch.setattr(OrderTree, "reprice", repriced)
    tree = branch_on_order(incumbent, prices, reach_of(incumbent), other())
    for _ in islice(tree, 70):
        pass
    assert len(met) == 1
    assert grids
    assert grids[0] > prices.prices.market.buckets
    assert prices.value <= met[0] <= incumbent.bound <= brute_force(problem)


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
