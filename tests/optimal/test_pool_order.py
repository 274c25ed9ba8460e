"""The bound by cases of when the k-th large job starts: valid, complete, better than prices."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_profiles import examples
from ortools.sat.python import cp_model
from pool_problems import brute_force, from_running, pool_problems
from sampling import some
from slotwise.solver.optimal.pool import PoolProblem, order_tree
from slotwise.solver.optimal.pool.bounds import Incumbent, PoolBound
from slotwise.solver.optimal.pool.order_tree import (
    CaseProgram,
    OrderCase,
    OrderTree,
    branch_on_order,
    further_classes,
)
from slotwise.solver.optimal.pool.pricing import Fineness, Reach, refine
from slotwise.solver.optimal.pool.problem import Decoder, Ints
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


def holds(case: OrderCase, starts: Ints) -> bool:
    """Whether a plan belongs to a case, by its definition."""
    for (jobs, k), (first, last) in case.windows.items():
        inside = (jobs.smallest <= case.problem.sizes) & (case.problem.sizes <= jobs.largest)
        start = sorted(starts[inside].tolist())[k]
        if start < first or (start > last and last < case.end):
            return False
    return True


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


@pytest.mark.parametrize("seed", some(range(40), 3))
def test_the_bound_of_queues_with_a_large_job_is_valid_to_the_end(seed: int) -> None:
    problem = with_large(seed)
    incumbent, prices = begun(problem, list(range(len(problem))))
    optimum = brute_force(problem)
    for _ in islice(branched(incumbent, prices), 200):
        assert incumbent.bound <= optimum


@pytest.mark.parametrize("seed", some(range(40), 2))
def test_the_bound_is_valid_after_a_change_of_the_grid(seed: int) -> None:
    problem = with_large(seed)
    changed_at_each(problem, list(range(len(problem))), brute_force(problem))


def test_a_window_between_two_points_of_the_new_grid_is_no_lower_bound() -> None:
    """The cheapest start in such a window is at no point of the grid; seed 896 of the campaign."""
    problem = with_large(896, small=5)
    changed_at_each(problem, [5, 2, 3, 1, 0, 4], brute_force(problem))


@pytest.mark.slow
@pytest.mark.parametrize("block", range(20))
def test_no_bound_after_changes_of_the_grid_is_above_the_optimum(block: int) -> None:
    """100 queues each, their optimum by CP-SAT."""
    for seed in range(100 * block, 100 * (block + 1)):
        random = Random(seed)
        problem = with_large(seed, small=random.randint(4, 9))
        order = list(range(len(problem)))
        random.shuffle(order)
        changed_at_each(problem, order, cp_sat_optimum(problem))


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


@pytest.mark.slow
@pytest.mark.parametrize("block", range(20))
def test_no_bound_is_above_the_optimum_of_another_model(block: int) -> None:
    """100 queues each, their optimum by CP-SAT."""
    for seed in range(100 * block, 100 * (block + 1)):
        random = Random(seed)
        problem = with_large(seed, small=random.randint(4, 9))
        optimum = cp_sat_optimum(problem)
        order = list(range(len(problem)))
        random.shuffle(order)
        incumbent, prices = begun(problem, order)
        for _ in islice(branched(incumbent, prices), 40):
            assert incumbent.bound <= optimum
        assert incumbent.bound <= optimum


def cp_sat_optimum(problem: PoolProblem) -> int:
    """The least sum of starts where processors only become free: one cumulative constraint."""
    model = cp_model.CpModel()
    most, end = int(problem.free.max()), int(problem.times[-1] + problem.durations.sum())
    starts = [model.new_int_var(0, end, "") for _ in range(len(problem))]
    blocks = [
        model.new_fixed_size_interval_var(start, int(length), "")
        for start, length in zip(starts, problem.durations, strict=True)
    ]
    sizes = problem.sizes.tolist()
    for begin, until, free in zip(problem.times, problem.times[1:], problem.free, strict=False):
        blocks.append(model.new_fixed_size_interval_var(int(begin), int(until - begin), ""))
        sizes.append(most - int(free))
    model.add_cumulative(blocks, sizes, most)
    model.minimize(sum(starts))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    assert solver.solve(model) == cp_model.OPTIMAL
    return round(solver.objective_value)


def test_the_tree_bounds_most_queues_with_a_large_job_better_than_prices() -> None:
    better = 0
    for seed in range(8):
        incumbent, prices = begun(with_large(seed, small=8), [*range(1, 9), 0])
        before = incumbent.bound
        for _ in islice(branched(incumbent, prices), 60):
            pass
        assert incumbent.bound >= before
        better += incumbent.bound > 1.02 * before
    assert better >= 5


@given(pool_problems(most_jobs=6), st.permutations(range(6)), st.integers(0, 50), st.data())
def test_every_plan_belongs_to_a_part_of_each_case_that_it_belongs_to(
    problem: PoolProblem, order: list[int], late: int, data: st.DataObject
) -> None:
    """And what a case says of single starts and of loads is true of the plan."""
    plan = Decoder(problem).plan([job for job in order if job < len(problem)]) + late
    if not problem.weights.all():
        return
    incumbent, prices = begun(problem, list(range(len(problem))))
    classes = further_classes(problem)
    program = CaseProgram(prices, incumbent.value)
    if program.empty:
        return
    tree = OrderTree(incumbent, prices, classes, [], program)
    case = OrderCase(problem, int(prices.prices.market.grid[-1]), {})
    other = prices_of(incumbent, OTHER)
    for step in range(12):
        if step % 3 == 2:
            prices, other = other, prices
            program = CaseProgram(prices, incumbent.value)
            if program.empty:
                return
            tree.reprice(prices, program)
            case = tree.on_grid(case)
            assert holds(case, plan)
        program.bound_of(case)
        parts = tree.split(case, classes) if program.solved else []
        kept = [part for part in parts if holds(part, plan)]
        if not kept:
            assert not parts, "the plan is lost"
            break
        case = data.draw(st.sampled_from(kept))
        loads = dict.fromkeys(case.limits, 0)
        for group in problem.groups:
            starts = plan[list(group.members)]
            assert case.allowed(group, starts).all()
            for load in loads:
                loads[load] += int(load.of(group, starts).sum())
        assert all(loads[load] <= limit for load, limit in case.limits.items())


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
