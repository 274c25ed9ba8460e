"""Each way of proving (narrow layers, halved starts, the tree of plans), made to be needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from random import Random

import numpy as np
import pytest
from pool_problems import brute_force, violations
from sampling import pairwise, some
from slotwise.solver.optimal import backends
from slotwise.solver.optimal.pool import PoolProblem, chronology, optimise, prover
from slotwise.solver.optimal.pool.bounds import Duals, Incumbent, Market, certify
from slotwise.solver.optimal.pool.chronology import Chronology, Guide, State, plan_of
from slotwise.solver.optimal.pool.pricing import achievable_starts
from slotwise.solver.optimal.pool.problem import Decoder
from slotwise.solver.optimal.pool.prover import Root


def some_problem(seed: int, *, falling: bool) -> PoolProblem:
    """Five jobs, two of them alike, on a capacity of three steps."""
    rng = Random(seed)
    free = [rng.randint(0, 4), rng.randint(0, 4), 5]
    if not falling:
        free.sort()
    sizes, durations, weights, due = (
        [rng.randint(low, high) for _ in range(4)] for low, high in ((1, 5), (1, 9), (1, 4), (0, 6))
    )
    for column in (sizes, durations, weights, due):
        column.append(column[0])
    return PoolProblem.build([0, 3, 8], free, sizes, durations, weights=weights, due=due)


@pytest.mark.parametrize(
    ("limits", "falling"),
    pairwise(
        [
            {"NODES": 3},
            {"NODES": 1, "FIRST_WIDTH": 1, "MAX_STATES": 1},
            {"NODES": 40, "FIRST_WIDTH": 1, "GROWTH": 2, "MAX_STATES": 64},
            {"SEARCHABLE": 2, "FIRST_WIDTH": 1, "NODES": 3},
            {"MAX_INSTANTS": 0},
        ],
        [False, True],
    ),
)
def test_each_way_of_proving_ends_at_the_optimum(
    monkeypatch: pytest.MonkeyPatch, limits: dict[str, int], falling: bool
) -> None:
    for name, value in limits.items():
        monkeypatch.setattr(prover, name, value)
    # Where the cases of large jobs run to their end, which takes seconds, one seed is enough.
    seeds = [1] if limits.keys() & {"SEARCHABLE", "MAX_INSTANTS"} else range(3)
    for seed in seeds:
        problem = some_problem(seed, falling=falling)
        best = brute_force(problem)
        incumbent = Incumbent(problem, Decoder(problem).plan(range(5)), 0)
        for _ in prover.prove(incumbent):
            assert incumbent.bound <= best <= incumbent.value
        assert violations(problem, incumbent.starts) == []
        if "MAX_INSTANTS" in limits:
            # Only prices are left then: a bound, and no search.
            assert 0 < incumbent.bound <= best
        else:
            assert incumbent.bound == incumbent.value == best


def root_of(problem: PoolProblem) -> Root:
    """With every start that may be achieved, from a plan in the order of the jobs."""
    incumbent = Incumbent(problem, Decoder(problem).plan(range(len(problem))), 0)
    every = achievable_starts(problem, problem.horizon, 100_000)
    assert every is not None
    firsts = [int(problem.alone[group.members[0]]) for group in problem.groups]
    return Root(incumbent, [every[every >= first] for first in firsts])


WAYS: dict[str, Callable[[Root], Iterator[None]]] = {
    "layers": lambda root: root.widen(1, 10_000),
    "hopeful layers": lambda root: root.widen(1, 10_000, hopeful=True),
    "branches": lambda root: root.branch(),
    "at once": lambda root: root.try_at_once(),
}


@pytest.mark.parametrize("way", WAYS)
def test_each_way_alone_finds_the_best_plan_and_proves_it(
    way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if way == "branches":
        monkeypatch.setattr(prover, "NODES", 3)
    searched = 0
    for seed in range(8):
        problem = some_problem(seed, falling="layers" not in way and seed % 2 == 0)
        best = brute_force(problem)
        root = root_of(problem)
        assert list(WAYS[way](root)) == [], "nothing to go by without prices"
        for _ in root.tighten(replace(prover.COARSE, buckets=2)):
            assert root.incumbent.bound <= best
        if root.incumbent.proved:
            continue
        searched += 1
        for _ in WAYS[way](root):
            assert root.incumbent.bound <= best <= root.incumbent.value
        assert root.incumbent.bound == root.incumbent.value == best
        assert list(WAYS[way](root)) == [], "nothing is left to do"
    assert searched >= 3


def test_the_tree_starts_only_what_may_still_beat_the_best() -> None:
    """By its own bound of the state that follows."""
    started = 0

    class Checked(Chronology):
        def started(self, state: State, kind: int) -> State:
            nonlocal started
            started += 1
            grown = super().started(state, kind)
            assert self.bound(grown, guide) < self.best
            return grown

    for seed in range(12):
        problem = some_problem(seed, falling=seed % 2 == 0)
        root = root_of(problem)
        for _ in root.tighten(replace(prover.COARSE, buckets=2)):
            pass
        assert root.bound is not None
        tree = Checked(problem, root.incumbent.value)
        guide = Guide(root.bound, tree.root(), list(range(len(problem.groups))))
        assert tree.explore(tree.root(), guide, 10_000)
        assert tree.best == brute_force(problem)
    assert started > 50


def unpriced(problem: PoolProblem, tree: Chronology, last: int) -> Guide:
    """A guide that charges nothing."""
    market = Market(problem, np.array([0, last]))
    nothing = np.zeros((len(market.sizes), 1), dtype=np.int64)
    every = [np.arange(last)] * len(problem.groups)
    bound = certify(problem, Duals(market, 1, [], nothing, 0), every)
    return Guide(bound, tree.root(), list(range(len(problem.groups))))


def test_a_search_over_many_events_ends() -> None:
    """However often the capacity changes before a job can start."""
    times = list(range(4000))
    problem = PoolProblem.build(times, [*(1 + time % 2 for time in times[:-1]), 3], [3, 2], [7, 8])
    tree = Chronology(problem, 10**9)
    assert tree.explore(tree.root(), unpriced(problem, tree, 4100), 10**6)
    assert tree.best == problem.value(plan_of(problem, tree.found)) == brute_force(problem)


def test_a_search_that_goes_too_deep_says_that_it_is_not_done() -> None:
    problem = PoolProblem.build([0], [700], [1] * 700, [7] * 700)
    tree = Chronology(problem, 10**9)
    assert not tree.explore(tree.root(), unpriced(problem, tree, 10), 10**6)
    assert tree.found is None
    few = problem.select(np.arange(chronology.DEEPEST))
    tree = Chronology(few, 10**9)
    assert tree.explore(tree.root(), unpriced(few, tree, 10), 10**6)
    assert tree.best == 0


@pytest.mark.parametrize("falling", some([False, True], 1))
@pytest.mark.parametrize("work", [0.0, 1e-6, 1e-5, 1e-4])
def test_bounds_hold_and_searches_end_where_programs_are_given_up(
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    work: float,
    falling: bool,
) -> None:
    """GLOP's simplex may cycle, so its iterations are limited."""
    monkeypatch.setattr(backends, "MAX_WORK", work)
    for seed in range(12):
        problem = some_problem(seed, falling=falling)
        result = optimise(problem, effort=200)
        value = brute_force(problem)
        assert result.bound <= value <= result.value
        if result.status == "proved":
            assert result.value == value
    # GLOP complains there of solutions that are read and do not exist.
    assert capfd.readouterr().err == ""
