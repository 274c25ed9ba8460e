"""Starts as intervals, and cutting them: one job's, or how many jobs start before an instant."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_profiles import examples
from pool_problems import brute_force, literal_starts, pool_problems, violations
from slotwise.solver.optimal.pool import PoolProblem, optimise, prover, start_tree
from slotwise.solver.optimal.pool.bounds import Count, Incumbent, Market, Relaxation
from slotwise.solver.optimal.pool.pricing import make_grid
from slotwise.solver.optimal.pool.start_tree import Branch, BranchLP, Gains, Spans, StartTree, worth

few = examples(60)


def tree_of(problem: PoolProblem, instants: np.ndarray | None = None) -> StartTree:
    plan = np.array(literal_starts(problem, range(len(problem))))
    return StartTree(Incumbent(problem, plan, problem.value(problem.alone)), instants)


@few
@given(pool_problems(most_jobs=5))
def test_with_intervals_for_starts_bounds_hold_and_proofs_are_right(problem: PoolProblem) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prover, "achievable_starts", lambda *_: None)
        found = optimise(problem, effort=40)
    best = brute_force(problem)
    assert violations(problem, found.starts) == []
    assert found.bound <= best <= found.value
    assert found.status != "proved" or found.value == best


@few
@given(pool_problems(most_jobs=5, weighted=False), st.data())
def test_a_bound_of_a_part_is_below_every_plan_in_it(
    problem: PoolProblem, data: st.DataObject
) -> None:
    """Spans and a count, against all left-shifted plans that keep to them."""
    groups = problem.groups
    instant = data.draw(st.integers(1, 30))
    members = frozenset(data.draw(st.sets(st.integers(0, len(groups) - 1), min_size=1)))
    size = sum(groups[index].count for index in members)
    least = data.draw(st.integers(0, size))
    count = Count(members, instant, least, data.draw(st.integers(least, size)))
    latest = [int(problem.horizon)] * len(groups)
    spans = Spans.of(problem, latest)
    grid = make_grid(problem, spans.points(12), int(problem.horizon) + 13, 12)
    market = Market(problem, grid)
    domains = spans.candidates(problem, grid, [count])
    relaxation = Relaxation(market, domains, 10**6, problem.scale, [count])
    bounds = [bound.value for bound in relaxation.solve()]
    jobs = [job for index in members for job in groups[index].members]
    for order in permutations(range(len(problem))):
        starts = np.zeros(len(problem), dtype=int)
        starts[list(order)] = literal_starts(problem, order)
        if count.least <= int((starts[jobs] < instant).sum()) <= count.most:
            assert max(bounds) <= problem.value(starts)


def test_counts_raise_a_bound() -> None:
    """Two jobs of two on three processors, of ten seconds and more: one of them waits."""
    problem = PoolProblem.build([0], [3], [2, 2], [10, 11])
    spans = Spans.of(problem, [40, 40])
    grid = make_grid(problem, spans.points(40), 60, 40)

    def bound(*counts: Count) -> int:
        relaxation = Relaxation(
            Market(problem, grid), spans.candidates(problem, grid, counts), 10**4, 16, counts
        )
        *_, last = relaxation.solve()
        return last.value

    both = frozenset({0, 1})
    assert bound(Count(both, 10, 0, 0)) >= 20 > bound()
    assert bound(Count(both, 30, 2, 2)) == bound(Count(both, 30, 0, 2)) == bound()
    assert bound(Count(both, 30, 0, 1)) >= 30


@few
@given(pool_problems(most_jobs=5), st.booleans())
def test_the_parts_of_a_cut_have_all_plans_between_them_and_their_bounds_hold(
    problem: PoolProblem, listed: bool
) -> None:
    """Two levels of cuts, against all left-shifted plans: each is in exactly one part, and not
    below what the linear program and the certificate say of it."""
    plans = [
        np.array(literal_starts(problem, order))[np.argsort(order)]
        for order in permutations(range(len(problem)))
    ]
    latest = int(max(plan.max() for plan in plans))
    spans = Spans.of(problem, [latest] * len(problem.groups))
    instants = np.unique(np.concatenate(plans)) if listed else None
    grid = make_grid(problem, spans.points(6), latest + 13, 6)
    lp = BranchLP(problem, spans, grid, 10**6, instants)
    for _ in lp.tighten():
        pass
    parts = [Branch(lp.snapped(spans))]
    large = frozenset(range(len(problem.groups)))
    for _ in range(2):
        found = []
        for part in parts:
            best = lp.best(part)
            assert best is not None
            cuts = lp.cuts(part, large)
            halves = cuts[-1].parts if cuts else ()
            found += [half for half in halves if half.spans.possible] or [part]
            inside = [plan for plan in plans if keeps_to(problem, part, plan)]
            assert all(best[1].value <= problem.value(plan) for plan in inside)
            if cuts:
                for plan in inside:
                    assert sum(keeps_to(problem, half, plan) for half in halves) == 1
        parts = found


def keeps_to(problem: PoolProblem, part: Branch, plan: np.ndarray) -> bool:
    """Is a plan in a part?"""
    for group, first, last in zip(
        problem.groups, part.spans.first.tolist(), part.spans.last.tolist(), strict=True
    ):
        starts = plan[list(group.members)]
        if starts.min() < first or starts.max() > last:
            return False
    for count in part.counts:
        jobs = [job for index in count.groups for job in problem.groups[index].members]
        if not count.least <= int((plan[jobs] < count.instant).sum()) <= count.most:
            return False
    return True


@few
@given(pool_problems(most_jobs=5), st.lists(st.integers(2, 12), min_size=1, max_size=3))
def test_the_tree_never_proves_too_much(problem: PoolProblem, buckets: list[int]) -> None:
    best = brute_force(problem)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(start_tree, "FEW", buckets)
        patch.setattr(start_tree, "PATIENCE", 2)
        for instants in (None, np.arange(problem.horizon + 1)):
            tree = tree_of(problem, instants)
            for step, _ in enumerate(tree.search(all_of(problem))):
                assert tree.incumbent.bound <= best
                if step > 200:
                    break


def all_of(problem: PoolProblem) -> Spans:
    """Every start up to the horizon."""
    return Spans.of(problem, [int(problem.horizon)] * len(problem.groups))


def test_the_tree_proves_what_prices_alone_do_not() -> None:
    """A job of two and many of one, long and short: the last is spread by prices."""
    problem = PoolProblem.build([0, 4], [2, 3], [3, 2, 1, 1, 2], [4, 9, 7, 12, 3])
    best = brute_force(problem)
    tree = tree_of(problem)
    tree.incumbent.value = best
    bounds = [tree.incumbent.bound]
    for _ in tree.search(all_of(problem)):
        bounds.append(tree.incumbent.bound)
        assert bounds[-1] <= best
    assert tree.incumbent.bound == best > bounds[1]


def test_what_cuts_came_to_of_late_counts_most() -> None:
    gains = Gains()
    gains.learn((10.0, 0.0))
    assert gains.mean == (10.0, 0.0)
    gains.learn((0.0, 20.0))
    assert gains.mean == (5.0, 10.0)
    for _ in range(9):
        gains.learn((0.0, 0.0))
    assert max(gains.mean) < 1
    assert worth((3.0, 5.0)) == worth((5.0, 3.0)) > worth((2.0, 8.0))


def test_spans_within_instants() -> None:
    spans = Spans(np.array([2, 5, 9]), np.array([20, 6, 30])).within(np.array([1, 4, 7, 20]))
    assert spans.first.tolist() == [4, 7, 20]
    assert spans.last.tolist() == [20, 4, 20]
    assert not spans.possible
    assert not Spans(np.array([3]), np.array([9])).within(np.array([1, 2])).possible


def test_large_are_the_jobs_of_more_than_half() -> None:
    problem = PoolProblem.build([0, 5], [4, 10], [5, 6, 9, 1], [5, 4, 3, 2])
    assert tree_of(problem).large == {1, 2}


class Priced:
    """A bound of which only the excess is known."""

    def __init__(self, starts: list[int], excess: list[int]) -> None:
        self.starts, self.excess = [np.array(starts)], [np.array(excess)]
        self.floor = 0
        self.prices = type("Prices", (), {"scale": 1})


@pytest.mark.parametrize(
    ("excess", "expected"),
    [
        ([0, 0, 0, 0], (2, 20)),
        ([9, 0, 0, 0], (3, 20)),
        ([9, 9, 0, 0], (6, 20)),
        ([9, 9, 0, 9], (6, 19)),
        ([0, 9, 9, 9], (2, 4)),
        ([0, 9, 9, 0], (2, 20)),
        ([9, 9, 9, 9], None),
    ],
)
def test_what_is_affordable_between_the_candidates_is_kept(
    excess: list[int], expected: tuple[int, int] | None
) -> None:
    spans = Spans(np.array([2]), np.array([20]))
    kept = spans.affordable(Priced([2, 5, 11, 20], excess), 9)  # type: ignore[arg-type]
    found = None if kept is None else (int(kept.first[0]), int(kept.last[0]))
    assert found == expected


def test_halves_of_a_span() -> None:
    spans = Spans(np.array([2, 0]), np.array([20, 0]))
    assert spans.with_first(0, 9).first.tolist() == [9, 0]
    assert spans.with_first(0, 1).first.tolist() == [2, 0]
    assert spans.with_last(0, 8).last.tolist() == [8, 0]
    assert spans.with_last(0, 99).last.tolist() == [20, 0]
    assert spans.possible
    assert not spans.with_first(0, 21).possible


def test_the_rest_of_the_limit_raises_the_bound_where_starts_cannot_be_listed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One price system is not all: the tree goes on."""
    rng = np.random.default_rng(5)
    sizes = [80, 75, 90, *rng.integers(5, 40, 6).tolist()]
    lengths = [1000, 700, 900, *rng.integers(3000, 9000, 6).tolist()]
    problem = PoolProblem.build([0, 800, 2000], [60, 80, 100], sizes, lengths)
    incumbent = Incumbent(problem, optimise(problem, effort=3).starts, 0)
    tree = StartTree(incumbent)
    raised: list[int] = []
    nodes: list[int] = []
    real = start_tree.BranchLP.best

    def counted(*given: object) -> object:
        nodes.append(incumbent.bound)
        return real(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(start_tree.BranchLP, "best", counted)
    for _ in tree.search(all_of(problem)):
        if incumbent.bound > (raised[-1] if raised else 0):
            raised.append(incumbent.bound)
        if len(raised) > 1 and len(nodes) > 1:
            break
    assert len(raised) > 1
    assert len(nodes) > 1, "not by the prices of the whole problem alone"
