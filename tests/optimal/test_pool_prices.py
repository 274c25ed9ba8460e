"""Prices against second-by-second sums, and the identity that forward plans rest on."""

from __future__ import annotations

from itertools import pairwise, product
from random import Random

import numpy as np
import pytest
from sampling import some
from slotwise.solver.optimal.pool import PoolProblem
from slotwise.solver.optimal.pool.bounds import Duals, Market, certify
from slotwise.solver.optimal.pool.chronology import Chronology, Guide, State

SEEDS = range(6)


def some_problem(rng: Random, *, falling: bool = True) -> PoolProblem:
    """Up to five jobs on a capacity of two to four steps."""
    times = [0, *sorted(rng.sample(range(1, 20), rng.randint(1, 3)))]
    free = [rng.randint(0, 6) for _ in times]
    free[-1] = max(2, *free)
    if not falling:
        free.sort()
    count = rng.randint(2, 5)

    def column(low: int, high: int) -> list[int]:
        return [rng.randint(low, high) for _ in range(count)]

    return PoolProblem.build(
        times, free, column(1, free[-1]), column(1, 9),
        earliest=column(0, 6), weights=column(1, 4), due=column(-3, 9),
    )  # fmt: skip


def some_prices(problem: PoolProblem, rng: Random, scale: int = 1) -> Duals:
    """Whole prices of three functions on a grid that ends before or after the capacity does."""
    end = rng.randint(12, 40)
    grid = np.array([0, *sorted(rng.sample(range(1, end), 4)), end])
    market = Market(problem, grid)
    market.add(market.sizes.copy())
    market.add_steps(3)
    market.add(np.array([rng.randint(0, 3) for _ in market.sizes]))
    rows = [(f, b) for f in range(len(market.functions)) for b in range(market.buckets)]
    duals = np.array([float(rng.choice([0, 0, 1, 2, 5])) for _ in rows])
    return Duals.rounded(market, rows, duals, scale)


class Literal:
    """The same prices second by second."""

    def __init__(self, prices: Duals) -> None:
        self.market = prices.market
        self.end = int(self.market.grid[-1])
        self.rate: list[dict[int, int]] = [{} for _ in range(self.end)]
        for function, bucket, price in prices.lots:
            for second in range(*self.market.grid[bucket : bucket + 2].tolist()):
                at = self.rate[second]
                at[function] = at.get(function, 0) + price

    def paid(self, size: int, begin: int, end: int) -> int:
        """What a job of the size pays over [begin, end)."""
        row = self.market.sizes.tolist().index(size)
        return sum(
            price * int(self.market.functions[function][row])
            for second in range(begin, min(end, self.end))
            for function, price in self.rate[second].items()
        )

    def worth(self, capacity: int, begin: int, end: int) -> int:
        """What so many processors are worth over [begin, end)."""
        return sum(
            price * self.best(function, capacity)
            for second in range(begin, min(end, self.end))
            for function, price in self.rate[second].items()
        )

    def best(self, function: int, capacity: int) -> int:
        """The largest weight of jobs of the problem that fit into so many processors."""
        sizes, counts = np.unique(self.market.problem.sizes, return_counts=True)
        weights = self.market.functions[function]
        return max(
            int(np.dot(numbers, weights))
            for numbers in product(*(range(count + 1) for count in counts.tolist()))
            if np.dot(numbers, sizes) <= capacity
        )

    def there(self, begin: int, end: int) -> int:
        """What all that is free is worth over [begin, end)."""
        problem = self.market.problem
        found = 0
        for second in range(begin, min(end, self.end)):
            step = np.searchsorted(problem.times, second, side="right") - 1
            found += self.worth(int(problem.free[step]), second, second + 1)
        return found


def walk(tree: Chronology, state: State, rng: Random) -> list[State]:
    """A random complete plan, state by state; some walks end where nothing can be started."""
    while True:
        path = [state]
        while any(path[-1].left) and (after := tree.children(path[-1])):
            path.append(rng.choice(after))
        if not any(path[-1].left):
            return path


@pytest.mark.parametrize("seed", some(range(12), 5))
def test_prices_of_the_rest_serve_plans_that_begin_with_it(seed: int) -> None:
    """The identity again from the middle of a plan, with prices of what is left to plan then."""
    rng = Random(seed)
    problem = some_problem(rng)
    tree = Chronology(problem, best=10**6)
    path = walk(tree, tree.root(), rng)
    base = rng.choice([s for s in path if any(s.left)])._replace(since=0)
    rest, kinds = tree.residual(base)
    prices = some_prices(rest, rng, scale=3)
    every = np.arange(200)
    bound = certify(rest, prices, [every[every >= rest.alone[g.members[0]]] for g in rest.groups])
    guide = Guide(bound, base, kinds)
    literal = Literal(prices)
    lost = tree.spent(base, guide)
    assert lost == literal.there(0, base.time)
    for state, chosen in pairwise(path := walk(tree, base, rng)):
        if chosen.time > state.time:
            lost += tree.idle(state, chosen, guide)
        else:
            lost += guide.excess[chosen.since][state.time]
        assert tree.spent(chosen, guide) == lost
    state = path[-1]
    while (later := tree.later(state, tree.free_at(state))) is not None:
        lost += tree.idle(state, later, guide)
        state = later
    lost += literal.there(state.time, literal.end)
    assert 3 * (state.value - base.value) == bound.floor + lost


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_left_of_a_state_is_a_problem_of_its_own(seed: int) -> None:
    rng = Random(seed)
    problem = some_problem(rng)
    tree = Chronology(problem, best=10**6)
    state = rng.choice([s for s in walk(tree, tree.root(), rng) if any(s.left)])
    rest, kinds = tree.residual(state)
    assert [problem.groups[kind].size for kind in kinds] == [g.size for g in rest.groups]
    assert [state.left[kind] for kind in kinds] == [g.count for g in rest.groups]
    for second in range(60):
        step = np.searchsorted(problem.times, second, side="right") - 1
        held = sum(size for end, size in state.running if end > second)
        free = int(problem.free[step]) - held if second >= state.time else 0
        at = np.searchsorted(rest.times, second, side="right") - 1
        assert rest.free[at] == free
