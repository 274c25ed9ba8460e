"""The whole pool optimiser: right, punctual, repeatable, and willing to be stopped."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Self

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_profiles import examples
from pool_problems import brute_force, from_running, pool_problems, violations
from sampling import some
from slotwise.solver.optimal.pool import PoolProblem, optimise, search
from slotwise.solver.optimal.pool.bounds import Incumbent
from slotwise.solver.optimal.pool.problem import RULES, Decoder, best_rule, rule_order
from slotwise.solver.optimal.pool.search import OrderSearch


def queue(seed, jobs, processors=100):
    """A queue like those of real logs: round sizes and durations, releases at odd seconds."""
    random = np.random.default_rng(seed)
    running = [(int(random.integers(1, 20)), int(random.integers(1, 20000))) for _ in range(8)]
    busy = sum(size for size, _ in running)
    sizes = random.choice([1, 2, 4, 8, 16, 32, 64, 15, 25], jobs)
    durations = random.choice([300, 600, 900, 3600, 7200, 14400, 48000], jobs)
    return from_running(max(0, processors - busy), running, sizes, durations)


@examples(80)
@given(pool_problems(most_jobs=5))
def test_proved_means_the_brute_force_optimum(problem):
    result = optimise(problem, effort=400)
    assert result.status == "proved"
    assert result.value == result.bound == brute_force(problem)
    assert problem.value(result.starts) == result.value
    assert violations(problem, result.starts) == []
    assert (result.starts >= result.earliest).all()


@examples(25)
@given(pool_problems(most_jobs=5, objective="makespan"))
def test_makespan_too(problem):
    result = optimise(problem, effort=50)
    assert (result.status, result.value) == ("proved", brute_force(problem))
    assert violations(problem, result.starts) == []


@pytest.mark.slow
@examples(300)
@given(pool_problems(most_jobs=7))
def test_proved_means_the_brute_force_optimum_more(problem):
    assert optimise(problem, effort=2000).bound == brute_force(problem)


def test_a_queue_of_ten_is_proved_and_beats_every_rule():
    problem = queue(3, 10)
    result = optimise(problem, time_limit=20)
    plans = [Decoder(problem).plan(rule_order(problem, rule)) for rule in RULES]
    assert result.status == "proved"
    assert result.value <= min(problem.value(plan) for plan in plans)


@pytest.mark.parametrize("objective", ["starts", "makespan"])
def test_a_little_effort_takes_little_time(objective):
    problem = replace(queue(5, 50), objective=objective)
    begun = time.process_time()
    optimise(problem, effort=3)
    assert time.process_time() - begun < 3.0


def test_more_effort_is_never_worse():
    problem = queue(6, 25)
    little, more = (optimise(problem, effort=effort) for effort in (3, 15))
    assert more.value <= little.value
    assert more.bound >= little.bound


@pytest.mark.parametrize("workers", some([1, 2], 1))
def test_the_time_limit_is_kept(workers):
    problem = queue(7, 60)
    begun = time.process_time()
    result = optimise(problem, time_limit=1.5, workers=workers)
    assert time.process_time() - begun < 1.5 * 1.1 + 1
    assert violations(problem, result.starts) == []
    assert 0 < result.bound <= result.value
    assert result.history[-1].value == result.value


def test_many_small_jobs_at_one_instant_do_not_hold_up_the_search():
    # 2 ** 40 sets of jobs could start at the second instant.
    sizes, durations = np.arange(1, 41), 600 + 7 * np.arange(40)
    problem = from_running(10, [(500, 60), (100, 1500)], sizes, durations)
    begun = time.process_time()
    result = optimise(problem, effort=5)
    assert time.process_time() - begun < 5.0
    assert violations(problem, result.starts) == []


def test_cancelling_gives_the_best_so_far():
    problem = queue(8, 60)
    seen = []
    result = optimise(
        problem, time_limit=60, progress=seen.append, cancelled=lambda: len(seen) >= 4
    )
    assert result.value == seen[-1].value <= seen[0].value
    assert result.bound == seen[-1].bound >= seen[0].bound
    assert violations(problem, result.starts) == []


def test_jobs_without_weight_do_not_delay_the_others():
    problem = PoolProblem.build([0], [1], [1, 1, 1], [100, 10, 5], weights=[0, 1, 1])
    result = optimise(problem, effort=20)
    assert result.starts.tolist() == [15, 5, 0]
    assert (result.value, result.status) == (5, "proved")


def test_no_jobs_at_all():
    problem = PoolProblem.build([0], [4], [], [])
    result = optimise(problem, effort=1)
    assert (len(result.starts), result.value, result.status) == (0, 0, "proved")


def test_local_search_finds_the_order_the_rules_miss():
    problem = queue(9, 25)
    value, order = best_rule(problem)
    search = OrderSearch(problem, order, seed=1)
    while not search.stuck:
        search.run(100)
    plan = Decoder(problem).plan(search.best_order)
    assert problem.value(plan) == search.best < value


@given(pool_problems(most_jobs=12), st.integers(0, 99))
def test_what_is_not_decoded_again_is_as_it_was(problem, seed):
    search = OrderSearch(problem, list(range(len(problem))), seed)
    for _ in range(5):
        search.run(20)
        search.kick()
        assert problem.value(Decoder(problem).plan(search.best_order)) == search.best


def test_the_board_takes_only_what_is_better():
    problem = PoolProblem.build([0], [1], [1, 1], [3, 5])
    incumbent = Incumbent(problem, np.array([5, 0]), 2)
    assert not incumbent.offer(np.array([5, 0]))
    assert incumbent.offer(np.array([0, 3]))
    incumbent.raise_bound(99)
    assert (incumbent.value, incumbent.bound, incumbent.proved) == (3, 3, True)


class _Helper:
    """Stands for the second process: what it is told, and the plans that it has."""

    alive = True
    told: list[list[int]]
    made: list[list[int]]

    def __init__(self, problem: PoolProblem, starts: Any, seed: int) -> None:
        _Helper.told = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...

    def plans(self) -> list[Any]:
        found, _Helper.made = _Helper.made, []
        return [np.array(plan) for plan in found]

    def tell(self, starts: Any) -> None:
        _Helper.told.append(starts.tolist())


@pytest.mark.parametrize(
    ("workers", "own", "made", "told"),
    [
        (2, [[4, 0]], [], [[4, 0]]),  # a better plan of one's own
        (2, [], [[4, 0]], []),  # one of the helper's, that it knows
        (2, [[9, 0]], [], []),  # no better one
        (1, [[4, 0]], [], []),
    ],
)
def test_the_helper_is_told_of_better_plans_that_are_not_its_own(
    monkeypatch: pytest.MonkeyPatch,
    workers: int,
    own: list[list[int]],
    made: list[list[int]],
    told: list[list[int]],
) -> None:
    """Jobs of 9 s and 4 s on one slot; the first plan begins with the longer one."""
    problem = PoolProblem.build([0], [1], [1, 1], [9, 4])

    def better(incumbent: Incumbent, seed: int) -> Iterator[None]:
        for plan in own:
            incumbent.offer(np.array(plan))
            yield
        yield from slowly()

    def slowly(*_: object) -> Iterator[None]:
        while True:
            yield

    _Helper.made, _Helper.told = made, []
    monkeypatch.setattr(search, "Helper", _Helper)
    monkeypatch.setattr(search, "improve", better)
    monkeypatch.setattr(search, "prove", slowly)
    monkeypatch.setattr(search, "best_rule", lambda _: (0, [0, 1]))
    rounds = iter(range(20))
    found = search.optimise(
        problem, workers=workers, time_limit=30, cancelled=lambda: next(rounds, None) is None
    )
    assert _Helper.told == told
    assert found.starts.tolist() == ([0, 9] if [9, 0] in own else [4, 0])
