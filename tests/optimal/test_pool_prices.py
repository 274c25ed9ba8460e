"""Prices against second-by-second sums, and the identity that forward plans rest on."""

from __future__ import annotations

from itertools import pairwise, product
from random import Random
from types import SimpleNamespace

import numpy as np
import pytest
from sampling import some
from slotwise.solver.optimal.pool import PoolProblem
from slotwise.solver.optimal.pool.bounds import Duals, Market, certify
from slotwise.solver.optimal.pool.chronology import Chronology, Guide, State
from slotwise.solver.optimal.pool.layers import (
    InstantGrid,
    PaidAhead,
    PriceTable,
    rooms_of,
    undominated,
)

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


@pytest.mark.parametrize("seed", SEEDS)
def test_prices_are_sums_over_seconds(seed: int) -> None:
    rng = Random(seed)
    problem = some_problem(rng)
    prices = some_prices(problem, rng)
    literal = Literal(prices)
    instants = range(literal.end + 5)
    for size in set(problem.sizes.tolist()):
        upto = prices.upto(prices.market.row(size), np.array(instants))
        assert upto.tolist() == [literal.paid(size, 0, t) for t in instants]
        window = prices.window(size, 4, np.array(instants))
        assert window.tolist() == [literal.paid(size, t, t + 4) for t in instants]
    for instant in instants:
        worth, paid = prices.until(instant)
        assert worth == literal.there(0, instant)
        assert paid == {s: literal.paid(s, 0, instant) for s in set(problem.sizes.tolist())}
    assert prices.worth == literal.there(0, literal.end)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_bound_is_what_jobs_pay_at_least_less_what_is_there(seed: int) -> None:
    rng = Random(seed)
    problem = some_problem(rng)
    prices = some_prices(problem, rng, scale=7)
    literal = Literal(prices)
    starts = np.arange(0, 60, 3)
    bound = certify(problem, prices, [starts] * len(problem.groups))
    total = -prices.worth
    for group, least, excess in zip(problem.groups, bound.least, bound.excess, strict=True):
        own = [
            7 * group.weight * max(0, s - group.due)
            + literal.paid(group.size, s, s + group.duration)
            for s in starts.tolist()
        ]
        assert least == min(own)
        assert excess.tolist() == [cost - least for cost in own]
        total += group.count * least
    assert bound.floor == total
    assert bound.value == -((-total) // 7)


def walk(tree: Chronology, state: State, rng: Random) -> list[State]:
    """A random complete plan, state by state; some walks end where nothing can be started."""
    while True:
        path = [state]
        while any(path[-1].left) and (after := tree.children(path[-1])):
            path.append(rng.choice(after))
        if not any(path[-1].left):
            return path


@pytest.mark.parametrize("seed", some(range(20), 8))
def test_the_cost_of_a_plan_is_the_bound_and_what_it_loses(seed: int) -> None:
    """Value = bound + reduced costs of the starts + price of what was left unused, exactly."""
    rng = Random(seed)
    problem = some_problem(rng)
    prices = some_prices(problem, rng, scale=3)
    every = np.arange(200)
    bound = certify(problem, prices, [every[every >= g.earliest] for g in problem.groups])
    tree = Chronology(problem, best=10**6)
    guide = Guide(bound, tree.root(), list(range(len(problem.groups))))
    lost = 0
    assert tree.spent(tree.root(), guide) == 0
    for state, chosen in pairwise(path := walk(tree, tree.root(), rng)):
        if chosen.time == state.time:
            lost += guide.excess[chosen.since][state.time]
        else:
            lost += tree.idle(state, chosen, guide)
        assert tree.spent(chosen, guide) == lost
        least = sum(
            number * min(cost for start, cost in guide.excess[kind].items() if start >= chosen.time)
            for kind, number in enumerate(chosen.left)
            if number
        )
        assert tree.bound(chosen, guide) == -((-(bound.floor + lost + least)) // 3)
    state = path[-1]
    # To the end of all that has a price.
    while (later := tree.later(state, tree.free_at(state))) is not None:
        lost += tree.idle(state, later, guide)
        state = later
    literal = Literal(prices)
    lost += literal.there(state.time, literal.end)
    assert 3 * state.value == bound.floor + lost
    assert tree.allowance(guide) == (10**6 - 1) * 3 - bound.floor


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


@pytest.mark.parametrize("seed", SEEDS)
def test_tables_of_prices_hold_the_sums(seed: int) -> None:
    rng = Random(seed)
    problem = some_problem(rng, falling=False)
    prices = some_prices(problem, rng, scale=5)
    literal = Literal(prices)
    domains = [np.array(sorted(rng.sample(range(g.earliest, 30), 8))) for g in problem.groups]
    calendar = InstantGrid.of(domains, 45)
    rooms = rooms_of(problem)
    table = PriceTable.of(prices, calendar, problem.groups, domains, rooms)
    instants = calendar.instants.tolist()
    assert {0, 45} <= set(instants)
    for row, rest, group, starts in zip(
        table.buy, table.rest, problem.groups, domains, strict=True
    ):
        paid = {
            s: 5 * group.weight * max(0, s - group.due)
            + literal.paid(group.size, s, s + group.duration)
            for s in starts.tolist()
        }
        assert [row[i] for i, t in enumerate(instants) if t in paid] == list(paid.values())
        others = {int(row[i]) for i, t in enumerate(instants) if t not in paid}
        assert others == {(1 << 61) // (1 + len(problem))}
        assert rest.tolist() == [min(row[i:]) for i in range(len(row))]
    last = max(literal.end, instants[-1])
    for at, t in enumerate(instants):
        worth = [literal.worth(capacity, t, last) for capacity in (0, *rooms.tolist())]
        assert table.stock[:, at].tolist() == np.diff(worth).tolist()
    # What states ask of it: sums over groups, and over numbers of processors.
    first = np.array([[rng.randrange(len(instants)) for _ in problem.groups] for _ in range(3)])
    left = np.array([[rng.randint(0, 2) for _ in problem.groups] for _ in range(3)])
    assert table.least(left, first).tolist() == [
        sum(int(table.rest[g, i]) * n for g, (i, n) in enumerate(zip(row, own, strict=True)))
        for row, own in zip(first.tolist(), left.tolist(), strict=True)
    ]
    when = np.array([[rng.randrange(len(instants)) for _ in rooms] for _ in range(3)])
    assert table.free(when).tolist() == [
        sum(int(table.stock[k, i]) for k, i in enumerate(row)) for row in when.tolist()
    ]


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_free_is_what_there_was_less_what_running_jobs_pay(seed: int) -> None:
    rng = Random(seed)
    problem = some_problem(rng, falling=False)
    prices = some_prices(problem, rng)
    literal = Literal(prices)
    # Every second is an instant, so nothing is rounded.
    domains = [np.arange(50)] * len(problem.groups)
    calendar = InstantGrid.of(domains, 50)
    table = PriceTable.of(prices, calendar, problem.groups, domains, rooms_of(problem))
    ledger = PaidAhead.of(prices, table, calendar, problem)
    sizes = [group.size for group in problem.groups for _ in range(group.count)]
    ends = np.array([[rng.choice([0, rng.randint(1, 40)]) for _ in sizes] for _ in range(5)])
    time = np.array([0, 3, 8, 17, 45])
    expected = [
        literal.there(now, literal.end)
        - sum(literal.paid(s, now, end) for s, end in zip(sizes, row, strict=True) if end > now)
        for now, row in zip(time.tolist(), ends.tolist(), strict=True)
    ]
    assert ledger.free(ends.astype(np.int32), time, calendar).tolist() == expected


@pytest.mark.parametrize("seed", SEEDS)
def test_states_that_others_make_superfluous(seed: int) -> None:
    """Left are those that no other of lower bound with the same jobs started makes superfluous."""
    rng = np.random.default_rng(seed)
    count, weights = 60, np.array([2, 3])
    code = rng.integers(0, 3, count)
    left = np.array([[1, 2], [2, 0], [0, 0]])[code]
    states = SimpleNamespace(
        code=code, value=rng.integers(0, 30, count), left=left,
        ready=rng.integers(0, 6, (count, 4)).astype(np.int32),
    )  # fmt: skip
    bounds = rng.permutation(count)
    rows = np.flatnonzero(rng.random(count) < 0.9)
    task = undominated(states, rows, bounds, weights)  # type: ignore[arg-type]
    try:
        while True:
            next(task)
    except StopIteration as end:
        kept = end.value.tolist()

    def superfluous(other: int, one: int) -> bool:
        """Whether `one` makes `other` so."""
        if code[one] != code[other] or bounds[one] >= bounds[other]:
            return False
        delay = max(0, int((states.ready[one] - states.ready[other]).max()))
        heavy = int(left[other] @ weights)
        return bool(states.value[one] + delay * heavy <= states.value[other])

    expected = [r for r in rows if not any(superfluous(r, one) for one in rows)]
    assert sorted(kept) == sorted(int(row) for row in expected)
    assert 0 < len(kept) < len(rows)
