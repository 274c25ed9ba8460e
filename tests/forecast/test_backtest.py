"""Past jobs asked about with what was known then, and what that comes to."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_profiles import examples
from slotwise import InputError
from slotwise.model.workload import Workload, canonical
from slotwise.solver.accuracy.measures import LEVELS
from slotwise.solver.budget import OutOfTime
from slotwise.solver.forecast.backtest import (
    Replayed,
    answer,
    backtest,
    calibrated,
)
from slotwise.solver.replay import POLICIES, replay
from synthetic_log import synthetic

PROCS = 4
JOB = st.tuples(st.integers(0, 40), st.integers(1, 30), st.integers(1, 30), st.integers(1, PROCS))
LOG = replace(synthetic(600, 32, load=1.05, seed=2), source="synthetic")


def _log(jobs) -> Workload:
    """Numbered in the order of submission, so that a change of later jobs renames none."""
    submit, run, request, size = zip(*sorted(jobs, key=lambda job: job[0]), strict=True)
    return canonical(Workload.of(submit, run, request, size), PROCS)


def _replayed(log, policy="easy", procs=PROCS):
    return Replayed.of(replay(log, policy=policy, procs=procs))


@pytest.fixture(scope="module")
def asked():
    replayed = _replayed(LOG, procs=32)
    return replayed, backtest(replayed, jobs=40, samples=15, seed=3)


@pytest.mark.parametrize("policy", POLICIES)
@examples(25)
@given(st.lists(JOB, min_size=2, max_size=14), st.data())
def test_nothing_that_came_after_the_moment_of_asking_changes_an_answer(policy, jobs, data):
    """Who came later, and how long jobs ran on that had not ended yet, is changed at will."""
    first = _replayed(_log(jobs), policy)
    log, row = first.log, data.draw(st.integers(0, len(jobs) - 1))
    now = int(log.submit[row])
    if POLICIES[policy].default_schedule_after == "timestamp":
        row = int(np.flatnonzero(log.submit == now)[-1])
    changed = []
    for place in range(row + 1):
        submit, run, request, size = (
            int(column[place]) for column in (log.submit, log.run_time, log.req_time, log.procs)
        )
        start = int(first.start[place])
        if start + run >= now:
            run = data.draw(st.integers(max(1, now - start), max(1, now - start, request)))
        changed.append((submit, run, request, size))
    more = data.draw(st.lists(JOB, max_size=6))
    changed += [(now + submit + 1, *rest) for submit, *rest in more]
    other = _replayed(_log(changed), policy)
    begun = first.start[: row + 1] < now
    assert (other.start[: row + 1][begun] == first.start[: row + 1][begun]).all()
    assert answer(other, row, 3, 7) == answer(first, row, 3, 7)


@given(st.integers(0, 39), st.integers(1, 10**6))
def test_a_truth_that_is_not_known_yet_calibrates_nothing(place, later):
    count = 40
    random = np.random.default_rng(0)
    log = Workload.of(np.arange(count) * 1000, [1] * count, [1] * count, [1] * count)
    start = log.submit + random.integers(100, 9000, count)
    answers = np.tile(np.r_[0, 0, 0, 0, 0, np.array(LEVELS) * 5000], (count, 1))
    rows = np.arange(count)
    one = calibrated(Replayed(log, start, PROCS, "easy"), rows, answers)
    unknown = start >= log.submit[place]
    other_start = np.where(unknown, start + later, start)
    other = calibrated(Replayed(log, other_start, PROCS, "easy"), rows, answers)
    upto = slice(0, place + 1)
    assert other.factors[upto].tolist() == one.factors[upto].tolist()
    assert other.late[upto].tolist() == one.late[upto].tolist()
    assert (one.factors[30:] != 1).any()  # it is calibrated at all


def test_a_log_where_nobody_waited_is_one_clear_message():
    with pytest.raises(InputError, match="give a log with waiting jobs"):
        backtest(_replayed(_log([(t, 1, 1, 1) for t in range(20)])))
    with pytest.raises(InputError, match="each must be 1 or more"):
        backtest(_replayed(LOG, procs=32), jobs=0)


def test_the_same_answers_with_any_number_of_workers(asked):
    replayed, questions = asked
    parallel = backtest(replayed, jobs=40, samples=15, seed=3, workers=2)
    assert parallel.quantiles.tolist() == questions.quantiles.tolist()
    assert parallel.late.tolist() == questions.late.tolist()


def test_an_answer_does_not_depend_on_what_else_is_asked(asked):
    replayed, questions = asked
    fewer = backtest(replayed, jobs=12, samples=15, seed=3)
    places = np.searchsorted(questions.row, fewer.row)
    assert fewer.quantiles.tolist() == questions.quantiles[places].tolist()


def test_stopped_early_the_first_answers_are_the_same(asked):
    replayed, questions = asked
    for workers in (1, 2):
        told: list[int] = []
        part = backtest(
            replayed,
            jobs=40,
            samples=15,
            seed=3,
            workers=workers,
            stop=lambda told=told: len(told) == 3,
            tell=told.append,
        )
        assert told == [1, 2, 3]
        assert part.row.tolist() == questions.row[:3].tolist()
        assert part.quantiles.tolist() == questions.quantiles[:3].tolist()


@pytest.mark.parametrize("workers", [1, 2])
def test_stopped_before_the_first_answer_there_is_none(asked, workers):
    replayed, _ = asked
    with pytest.raises(OutOfTime):
        backtest(replayed, jobs=4, samples=3, workers=workers, stop=lambda: True)
