"""Small parts of the pool search by hand: orders, grids, latest starts, bounds of the last end."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from pool_problems import brute_force, literal_starts
from slotwise.solver.optimal.pool import PoolProblem, optimise
from slotwise.solver.optimal.pool.bounds import Duals, Market, Patterns, certify
from slotwise.solver.optimal.pool.chronology import Chronology, Guide, plan_of
from slotwise.solver.optimal.pool.layers import LayeredSearch
from slotwise.solver.optimal.pool.pricing import Fineness, Reach, instants, make_grid, refine
from slotwise.solver.optimal.pool.problem import (
    MAX_COST,
    RULES,
    SCALE,
    Decoder,
    StepProfile,
    best_rule,
    rule_order,
)
from slotwise.solver.optimal.pool.prover import latest_starts, makespan_bound
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


def test_what_a_problem_says_of_itself() -> None:
    problem = PoolProblem.build(
        [0, 10], [1, 3], [1, 2, 1], [4, 6, 4], earliest=[2, 0, 2], weights=[3, 1, 3], due=[1, -2, 1]
    )
    assert problem.horizon == 10 + 4 + 6 + 4
    assert problem.dearest == max(3 * (24 - 1), 24 + 2)
    assert [g.members for g in problem.groups] == [(0, 2), (1,)]
    assert [g.count for g in problem.groups] == [2, 1]
    assert problem.alone.tolist() == [2, 10, 2]
    assert problem.value([5, 10, 0]) == 3 * 4 + 12 + 0
    assert problem.select(np.array([2, 1])).earliest.tolist() == [2, 0]
    late = PoolProblem.build([0], [1], [1], [4], earliest=[50], objective="makespan")
    assert (late.horizon, late.dearest, late.value([50]), late.value([])) == (54, 54, 54, 0)
    assert PoolProblem.build([0, 7], [1, 2], [], []).horizon == 7


def test_prices_are_as_fine_as_64_bits_allow() -> None:
    """A start costs at most weight * (horizon - due): here weight * 1."""
    coarse = MAX_COST // SCALE
    expected = {1: SCALE, coarse: SCALE, coarse + 1: SCALE // 2, MAX_COST: 1, 4 * MAX_COST: 1}
    for weight, scale in expected.items():
        assert PoolProblem.build([0], [1], [1], [1], weights=[weight]).scale == scale
    with pytest.raises(ValueError, match="use weights of fewer digits"):
        PoolProblem.build([0], [1], [1], [1], weights=[4 * MAX_COST + 1])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (([], [], [], []), "times must rise"),
        (([1], [1], [1], [1]), "times must rise"),
        (([0, 3, 3], [1, 1, 1], [1], [1]), "times must rise"),
        (([0], [-1], [], []), "one value >= 0"),
        (([0], [1, 2], [1], [1]), "one value >= 0"),
        (([0], [1], [0], [1]), "at least 1"),
        (([0], [1], [1], [0]), "at least 1"),
        (([0], [1], [1, 1], [1]), "equally long"),
        (([0, 5], [3, 1], [2], [1]), r"jobs \[0\] ask for more than the 1 finally free"),
    ],
)
def test_arrays_of_a_wrong_form_are_refused(given: tuple[list[int], ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        PoolProblem.build(*given)


@pytest.mark.parametrize("name", ["earliest", "weights"])
def test_negative_columns_are_refused(name: str) -> None:
    build((1, 1), **{name: [0]})
    with pytest.raises(ValueError, match="must not be negative"):
        build((1, 1), **{name: [-1]})


def test_the_gap_is_a_share_of_the_value() -> None:
    result = optimise(build((1, 5), (1, 5), free=1), effort=40)
    assert (result.value, result.bound, result.gap, result.status) == (5, 5, 0.0, "proved")
    open_result = optimise(queue(25), effort=0)
    assert open_result.status == "gap"
    share = (open_result.value - open_result.bound) / open_result.value
    assert open_result.gap == pytest.approx(share)


def test_a_job_takes_its_processors_for_its_time_and_no_longer() -> None:
    profile = StepProfile([0, 5, 9], [2, 4, 3])
    profile.take(3, 2, 4)
    assert profile.steps() == ([0, 3, 5, 7, 9], [2, 0, 2, 4, 3])
    profile.take(9, 3, 1)
    assert profile.steps() == ([0, 3, 5, 7, 9, 10], [2, 0, 2, 4, 0, 3])
    assert profile.earliest(2, 3) == 0
    assert profile.earliest(2, 4) == 5
    assert profile.earliest(3, 3) == 10
    assert profile.earliest(1, 2, 1) == 1
    assert profile.earliest(1, 2, 2) == 5
    assert profile.earliest(2, 4, 6) == 10


def test_equal_neighbours_are_one_step() -> None:
    assert StepProfile([0, 2, 4], [1, 1, 3]).steps() == ([0, 4], [1, 3])


def test_each_rule_by_hand() -> None:
    problem = PoolProblem.build([0], [10], [4, 1, 2], [9, 4, 25], weights=[1, 1, 4], due=[7, 9, 8])
    assert {name: rule_order(problem, name) for name in RULES} == {
        "first-come": [0, 1, 2],
        "shortest": [1, 2, 0],  # 9, 4, 6.25
        "smallest-area": [1, 2, 0],  # 36, 4, 12.5
        "narrowest": [2, 1, 0],  # 4, 1, 0.5
        "widest": [0, 2, 1],
        "longest": [2, 0, 1],
        "largest-area": [2, 0, 1],  # 36, 4, 50
        "earliest-due": [0, 2, 1],
        "short-then-narrow": [1, 2, 0],  # 18, 4, 8.8
        "narrow-then-short": [1, 2, 0],  # 12, 2, 2.5
    }


def test_the_best_rule_is_the_one_whose_plan_costs_least() -> None:
    problem = queue(12)
    values = {
        name: problem.value(Decoder(problem).plan(rule_order(problem, name))) for name in RULES
    }
    value, order = best_rule(problem)
    assert value == min(values.values()) == problem.value(Decoder(problem).plan(order))
    assert len(set(values.values())) > 3


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


def test_plans_found_elsewhere_are_gone_on_from() -> None:
    problem = build((3, 9), (3, 1), (3, 4))
    search = OrderSearch(problem, [0, 1, 2], 1)
    assert search.best == 9 + 10
    search.adopt(np.array([5, 0, 1]))
    assert (search.best, search.best_order) == (1 + 5, [1, 2, 0])
    assert not search.stuck


def test_a_grid_is_fine_where_most_jobs_start() -> None:
    """Ever farther apart up to the last start of a plan, few beyond, both ends and never more."""
    found = instants(10, 110, 1010, 10)
    assert found[0] == 10
    assert found[-1] == 1010
    assert len(found) <= 10
    dense = found[found <= 110]
    assert len(dense) == 8
    assert (np.diff(np.diff(dense)) >= -1).all()
    assert instants(10, 9999, 90, 6).tolist() == instants(10, 90, 90, 6).tolist()
    assert instants(10, 0, 90, 6)[0] == 10


def test_a_grid_has_the_steps_and_the_points_and_goes_on_to_the_end() -> None:
    problem = PoolProblem.build([0, 7, 90], [1, 2, 3], [1], [4])
    assert make_grid(problem, np.array([3, 20]), 40, 10).tolist() == [0, 3, 7, 20, 40]
    # Too many points: evenly picked; at least a second behind the last.
    assert make_grid(problem, np.arange(30), 29, 4).tolist() == [0, 7, 10, 19, 29, 30]
    assert make_grid(problem, np.array([3]), 100, 15).tolist() == [0, 3, 7, 51, 90, 100]
    steps = PoolProblem.build(range(10), [1] * 10, [1], [4])
    assert make_grid(steps, np.array([2]), 9, 3).tolist() == [0, 2, 4, 8, 9]


@pytest.mark.parametrize(
    ("weight", "due", "candidates", "value", "latest"),
    [
        # No prices: a start s costs weight * max(0, s - due), and less than `value` is affordable.
        (2, 0, 50, 11, 6),  # up to 5, and the next candidate
        (2, 0, 50, 12, 6),
        (2, 0, 50, 13, 7),
        (2, 3, 50, 11, 9),
        (2, 0, 4, 11, 5),  # behind the last candidate what the job costs alone decides
        (2, 3, 4, 11, 8),
        (1, 0, 4, 1000, 20),  # never behind the horizon
        (1, 0, 50, 1, 1),
    ],
)
def test_latest_starts_by_hand(
    weight: int, due: int, candidates: int, value: int, latest: int
) -> None:
    problem = PoolProblem.build([0, 6], [1, 1], [1], [14], weights=[weight], due=[due])
    market = Market(problem, np.array([0, 10]))
    market.add(market.sizes.copy())
    free = Duals.rounded(market, [(0, 0)], np.zeros(1), 16)
    bound = certify(problem, free, [np.arange(candidates)])
    assert latest_starts(bound, value) == [latest]


@pytest.mark.parametrize(
    ("problem", "bound"),
    [
        (build((2, 4), (2, 4), (2, 4)), 12),  # one at a time, though 24 / 3 is 8
        (build((1, 4), (1, 4), (1, 4), (1, 3)), 5),
        (build((1, 4), (1, 4), (1, 4), (1, 2), (1, 1)), 5),
        (build((1, 30), (2, 4)), 30),
        (build((1, 4), (2, 3), earliest=[20, 0]), 24),
        (PoolProblem.build([0, 5], [0, 3], [2, 2, 2], [4, 4, 4]), 17),
        (PoolProblem.build([0, 5, 9], [2, 0, 2], [2, 2], [5, 3]), 12),
        (PoolProblem.build([0, 5, 9], [2, 0, 2], [2], [5]), 5),
    ],
)
def test_the_bound_of_the_last_end_by_hand(problem: PoolProblem, bound: int) -> None:
    assert makespan_bound(problem) == bound


def test_functions_of_steps_by_hand() -> None:
    """floor(m p / (c + 1)) for each level c > 0 of the capacity, without those that are all 0."""
    problem = PoolProblem.build([0, 3, 6], [0, 3, 5], [1, 2, 4], [1, 1, 1])
    market = Market(problem, np.array([0, 10]))
    market.add_steps(3)
    assert [f.tolist() for f in market.functions] == [[0, 1, 2], [0, 1, 3], [0, 0, 1]]
    assert market.add(np.array([0, 1, 3])) == 1
    assert market.most(np.array([0, 1, 3])).tolist() == [0, 1, 3]


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
