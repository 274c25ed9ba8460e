"""Starts as intervals, and branching on how many large jobs start before an instant."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pool_problems import brute_force, literal_starts, pool_problems, violations
from slotwise.solver.optimal.pool import PoolProblem, crowding, optimise, prover
from slotwise.solver.optimal.pool.crowding import CrowdTree, Node
from slotwise.solver.optimal.pool.duals import Market
from slotwise.solver.optimal.pool.incumbent import Incumbent
from slotwise.solver.optimal.pool.pricing import make_grid
from slotwise.solver.optimal.pool.relax import Count, Relaxation
from slotwise.solver.optimal.pool.spans import Spans

few = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


def tree_of(problem: PoolProblem) -> CrowdTree:
    plan = np.array(literal_starts(problem, range(len(problem))))
    return CrowdTree(Incumbent(problem, plan, problem.value(problem.alone)))


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


def test_the_two_parts_of_a_count_have_all_plans_between_them() -> None:
    cut = Count(frozenset({0}), 7, 2, 5)
    spans = Spans(np.array([0]), np.array([9]))
    node = Node(spans, (), bound=None, fraction=cut)  # type: ignore[arg-type]
    parts = [counts[-1] for _, counts in node.halves(100)]
    assert [(part.least, part.most) for part in parts] == [(0, 2), (3, 5)]
    assert all((part.groups, part.instant) == (cut.groups, 7) for part in parts)


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
    tree = CrowdTree(incumbent)
    latest = [int(problem.horizon)] * len(problem.groups)
    raised: list[int] = []
    nodes: list[int] = []
    real = crowding.Relaxation

    def counted(*given: object) -> object:
        nodes.append(incumbent.bound)
        return real(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(crowding, "Relaxation", counted)
    for _ in tree.search(latest):
        if incumbent.bound > (raised[-1] if raised else 0):
            raised.append(incumbent.bound)
        if len(raised) > 1 and len(nodes) > 1:
            break
    assert len(raised) > 1
    assert len(nodes) > 1, "not by the prices of the whole problem alone"
