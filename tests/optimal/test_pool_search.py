"""The whole pool optimiser: right, punctual, repeatable, and willing to be stopped."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_profiles import examples
from pool_problems import brute_force, from_running, pool_problems, violations
from slotwise.solver.optimal.pool import PoolProblem, optimise
from slotwise.solver.optimal.pool.chronology import uses_less
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


def test_many_small_jobs_at_one_instant_do_not_hold_up_the_search():
    # 2 ** 40 sets of jobs could start at the second instant.
    sizes, durations = np.arange(1, 41), 600 + 7 * np.arange(40)
    problem = from_running(10, [(500, 60), (100, 1500)], sizes, durations)
    begun = time.process_time()
    result = optimise(problem, effort=5)
    assert time.process_time() - begun < 5.0
    assert violations(problem, result.starts) == []


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


def test_uses_less_compares_at_every_instant():
    assert uses_less(((5, 2),), ((5, 1), (9, 1)))
    assert not uses_less(((6, 2),), ((5, 1), (9, 1)))
    assert uses_less((), ())
    assert not uses_less(((9, 1),), ((5, 3),))
