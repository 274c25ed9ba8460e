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
from slotwise.solver.accuracy.measures import LATE, LEVELS, pinball
from slotwise.solver.budget import OutOfTime
from slotwise.solver.forecast.backtest import (
    LEARNT,
    SHORT_WAIT,
    Replayed,
    accuracies,
    answer,
    backtest,
    calibrated,
    calibration_of,
    past_waits,
    reliability,
    sampled_rows,
)
from slotwise.solver.forecast.forecast import DOUBT, UNCALIBRATED
from slotwise.solver.replay import POLICIES, replay
from slotwise.solver.replay.engine import synthetic

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


def test_asked_are_jobs_that_waited_behind_the_part_that_is_learnt_from():
    replayed = _replayed(LOG, procs=32)
    rows = sampled_rows(replayed, 50, 1)
    wait = replayed.start - replayed.log.submit
    assert len(rows) == 50 == len(set(rows.tolist()))
    assert (wait[rows] > SHORT_WAIT).all()
    assert rows.min() >= LEARNT * len(replayed.log)
    assert set(sampled_rows(replayed, 20, 1).tolist()) < set(rows.tolist())
    assert set(sampled_rows(replayed, 50, 2).tolist()) != set(rows.tolist())
    assert len(sampled_rows(replayed, 10**6, 1)) < 600


def test_a_log_where_nobody_waited_is_one_clear_message():
    with pytest.raises(InputError, match="there is nothing to forecast"):
        backtest(_replayed(_log([(t, 1, 1, 1) for t in range(20)])))
    with pytest.raises(InputError, match="at least 1"):
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


def test_past_waits_are_order_statistics_of_the_size_class():
    log = Workload.of([0, 10, 20, 30, 40, 50], [1] * 6, [1] * 6, [3, 4, 2, 3, 5, 4], job=range(6))
    start = np.array([0, 14, 99, 39, 40, 60])
    replayed = Replayed(log, start, 8, "easy")
    assert past_waits(replayed, 5).tolist() == [0, 4, 9]  # of 3 to 4 slots: 0, 4, 9
    assert past_waits(replayed, 3).tolist() == [0, 0, 4]  # what starts later is not known
    assert past_waits(replayed, 2).tolist() == [0, 0, 0]


def test_pinball_loss_by_hand_and_its_least():
    assert pinball([10], [4], 0.9) == pytest.approx(5.4)
    assert pinball([4], [10], 0.9) == pytest.approx(0.6)
    assert pinball([10, 4], [4, 10], 0.5) == 3
    truth = np.arange(101)
    losses = [pinball(truth, np.full(101, guess), 0.9) for guess in range(101)]
    assert abs(int(np.argmin(losses)) - 90) <= 1


def test_accuracy_is_what_the_questions_say(asked):
    replayed, questions = asked
    groups = accuracies(replayed, questions)
    whole = {item.estimator: item for item in groups[0].estimators}
    assert list(whole) == ["by limits", "last two", "history", "forecast", "calibrated"]
    errors = np.abs(questions.raw(0.5) - questions.wait)
    assert whole["forecast"].mean_error == errors.mean()
    assert whole["forecast"].median_error == np.median(errors)
    assert whole["calibrated"].by_late == (questions.wait <= questions.late).mean()
    assert whole["forecast"].by_early == (questions.wait <= questions.raw(0.1)).mean()
    assert whole["by limits"].by_late is None
    assert groups[0].mean_wait == questions.wait.mean()
    sizes = [group for group in groups if group.by == "size"]
    assert sum(group.jobs for group in sizes) == len(questions)
    assert {group.group for group in sizes} <= {"1", "2", "3-4", "5-8", "9-16", "17-32"}
    shares = [share for _, share, _ in reliability(questions)]
    assert shares == sorted(shares)
    assert reliability(questions)[8][2] == whole["calibrated"].by_late


def test_forecasts_of_a_steady_log_are_better_than_plans(asked):
    """Requests are one to five times the run times, so plans are far off."""
    replayed, questions = asked
    whole = {item.estimator: item for item in accuracies(replayed, questions)[0].estimators}
    assert whole["forecast"].mean_error < 0.7 * whole["by limits"].mean_error
    assert calibration_of(questions).forecasts == 40


def test_with_run_times_as_asked_for_the_plan_is_the_truth():
    """Under fcfs nobody who comes later overtakes, so nothing is left to chance."""
    log = replace(LOG, run_time=LOG.req_time)
    replayed = _replayed(log, "fcfs", 32)
    questions = backtest(replayed, jobs=10, samples=3)
    assert questions.by_limits.tolist() == questions.wait.tolist()
    assert questions.raw(0.5).tolist() == questions.wait.tolist()
    assert questions.early.tolist() == questions.late.tolist() == questions.wait.tolist()


def test_what_calibrates_is_the_wait_from_the_moment_of_asking():
    """All waited twice as long as their P90 said, whenever that was."""
    count = 120
    log = Workload.of(np.arange(count) * 20_000, [1] * count, [1] * count, [1] * count)
    answers = np.tile(np.r_[0, 0, 0, 0, 0, np.array(LEVELS) * 5000], (count, 1))
    late = answers[0, 5 + LEVELS.index(LATE)]
    start = log.submit + int(2 * late)
    found = calibrated(Replayed(log, start, PROCS, "easy"), np.arange(count), answers)
    trust = (count - 1) / (count - 1 + DOUBT)
    assert found.factors[0].tolist() == [UNCALIBRATED.early, UNCALIBRATED.late]
    assert found.factors[-1, 1] == pytest.approx(2**trust * UNCALIBRATED.late ** (1 - trust))


def test_past_waits_are_three_columns_of_the_answers():
    count = 5
    log = Workload.of(np.arange(count) * 100, [1] * count, [1] * count, [1] * count)
    answers = np.arange(count * (5 + len(LEVELS)), dtype=float).reshape(count, -1)
    found = calibrated(Replayed(log, log.submit + 70, PROCS, "easy"), np.arange(count), answers)
    assert found.by_limits.tolist() == answers[:, 0].tolist()
    assert found.last_two.tolist() == answers[:, 1].tolist()
    assert found.past_waits.tolist() == answers[:, 2:5].tolist()
    assert found.quantiles.tolist() == answers[:, 5:].tolist()
