"""Models of run times, each alone."""

from __future__ import annotations

import numpy as np
import pytest
from forecast_lab import asked_of, past_of
from hypothesis import given
from hypothesis import strategies as st
from slotwise.solver.forecast.draws import keys_of
from slotwise.solver.forecast.runtimes import (
    ENDLESS,
    AtLimits,
    ExactRunTimes,
    LastTwo,
    Ratios,
)

WAITS = -1
LATER = 10**6


def _job(user, limit, slots, run, end):
    return (user, limit, slots, end - run - 5, end - run, end)


PAST = st.lists(
    st.builds(
        _job,
        user=st.integers(0, 2),
        limit=st.sampled_from([-1, 100, 200]),
        slots=st.integers(1, 2),
        run=st.integers(1, 100),
        end=st.integers(200, 400),
    ),
    max_size=30,
)
ASKED = st.lists(
    st.tuples(
        st.integers(-1, 3),
        st.sampled_from([-1, 50, 100, 200]),
        st.integers(1, 2),
        st.integers(-1, 250),
    ),
    min_size=1,
    max_size=5,
)


def test_at_limits_is_the_limit_and_past_it_what_has_run():
    jobs = asked_of((0, 100, 1, WAITS), (0, 100, 1, 40), (0, 100, 1, 130), (0, -1, 1, WAITS))
    assert AtLimits().draw(jobs, 0, 2, 0).T.tolist() == [[100, 100, 130, ENDLESS]] * 2


def test_exact_run_times_go_by_the_name():
    jobs = asked_of((0, 100, 1, WAITS), (0, 100, 1, 40), (0, 100, 1, WAITS))
    exact = ExactRunTimes(dict(zip(keys_of("01").tolist(), (7, 300), strict=True)))
    assert exact.draw(jobs, 0, 1, 0)[:, 0].tolist() == [7, 100, 100]


def test_last_two_is_the_mean_of_the_users_last_two_by_end():
    past = past_of(*(_job(1, 100, 1, run, end) for run, end in ((90, 200), (10, 250), (21, 240))))
    jobs = asked_of((1, 100, 4, WAITS), (2, 100, 1, WAITS), (1, 100, 1, 20), (1, 12, 1, WAITS))
    assert LastTwo(past).draw(jobs, LATER, 1, 0)[:, 0].tolist() == [15, 100, 30, 12]
    assert LastTwo(past).draw(jobs, 245, 1, 0)[:, 0].tolist() == [55, 100, 55, 12]
    assert LastTwo(past).draw(jobs, 239, 1, 0)[0].tolist() == [100]  # one job is not two


def test_ratios_are_those_of_the_same_user_limit_and_size_where_there_are_enough():
    same = [_job(1, 100, 2, run, 300 + run) for run in (10, 20, 30, 40)]
    others = [_job(1, 100, 4, 99, 290)] * 10 + [_job(2, 100, 2, 77, 291)] * 10
    found = Ratios(past_of(*same, *others)).draw(asked_of((1, 100, 2, WAITS)), LATER, 4000, 0)
    values, counts = np.unique(found, return_counts=True)
    assert values.tolist() == [10, 20, 30, 40]
    assert (abs(counts / 4000 - 0.25) < 0.05).all()


def test_ratios_of_the_same_user_are_of_any_limit_and_scale_with_it():
    past = past_of(*[_job(1, 100, 4, 50, 290)] * 10, *[_job(2, 100, 2, 77, 291)] * 10)
    found = Ratios(past).draw(asked_of((1, 300, 2, WAITS)), LATER, 50, 0)
    assert np.unique(found).tolist() == [150]


def test_a_user_with_few_jobs_is_mixed_with_all():
    past = past_of(*[_job(1, 100, 4, 50, 290)] * 3, *[_job(2, 100, 2, 80, 291)] * 97)
    found = Ratios(past).draw(asked_of((1, 100, 2, WAITS)), LATER, 4000, 0)[0]
    # three of its own, and all hundred like three: 3 / 6 + 3 / 6 * 3 / 100
    assert abs((found == 50).mean() - 0.515) < 0.04
    assert set(found.tolist()) == {50, 80}
    found = Ratios(past).draw(asked_of((7, 100, 2, WAITS)), LATER, 4000, 0)[0]
    assert abs((found == 80).mean() - 0.97) < 0.02


def test_what_a_running_job_has_run_is_not_drawn_any_more():
    past = past_of(*(_job(1, 100, 2, run, 300 + run) for run in (10, 20, 30, 40)))
    found = Ratios(past).draw(asked_of((1, 100, 2, 25), (1, 100, 2, 60)), LATER, 200, 0)
    assert set(found[0].tolist()) == {30, 40}
    assert set(found[1].tolist()) == {100}  # none has run so long: its limit is what is left


def test_only_the_last_jobs_count():
    old = [_job(1, 100, 2, 90, 200)] * 30
    new = [_job(1, 100, 2, 10, 300)] * 20
    jobs = asked_of((1, 100, 2, WAITS))
    ratios = Ratios(past_of(*old, *new))
    assert set(ratios.draw(jobs, LATER, 100, 0)[0].tolist()) == {10}
    assert set(ratios.draw(jobs, 299, 100, 0)[0].tolist()) == {90}


@pytest.mark.parametrize("user", [1, -1])
def test_a_job_without_a_limit_runs_as_long_as_others_did(user):
    past = past_of(*[_job(1, 100, 2, 42, 290)] * 12)
    assert set(Ratios(past).draw(asked_of((user, -1, 2, WAITS)), LATER, 20, 0)[0].tolist()) == {42}


def test_where_nobody_had_a_limit_run_times_count_up_to_the_limit():
    past = past_of(*[_job(1, -1, 2, 42, 290)] * 6, *[_job(1, -1, 2, 99, 290)] * 6)
    found = Ratios(past).draw(asked_of((1, 60, 2, WAITS)), LATER, 100, 0)[0]
    assert set(found.tolist()) == {42, 60}


def test_where_nothing_is_known_jobs_run_to_their_limits():
    found = Ratios(past_of()).draw(asked_of((1, 60, 2, WAITS), (1, -1, 2, WAITS)), LATER, 3, 0)
    assert found.tolist() == [[60] * 3, [ENDLESS] * 3]


@given(PAST, ASKED, st.integers(150, 450), st.integers(0, 9))
def test_every_model_keeps_its_promises(past, asked, known, seed):
    """Run times are possible ones, and nothing that ends later changes them."""
    jobs = asked_of(*asked)
    whole = past_of(*past)
    before = past_of(*(job for job in past if job[5] <= known))
    changed = past_of(
        *(job if job[5] <= known else (2, 100, 1, job[3], job[4], known + 9) for job in past)
    )
    for model in (Ratios, LastTwo):
        found = model(whole).draw(jobs, known, 5, seed)
        assert found.shape == (len(asked), 5)
        assert found.dtype == np.int64
        assert (found >= np.maximum(1, jobs.elapsed)[:, None]).all()
        capped = (jobs.limit > 0) & (jobs.limit >= jobs.elapsed)
        assert (found[capped] <= jobs.limit[capped][:, None]).all()
        assert found.tolist() == model(before).draw(jobs, known, 5, seed).tolist()
        assert found.tolist() == model(changed).draw(jobs, known, 5, seed).tolist()


@given(PAST, ASKED)
def test_a_draw_does_not_depend_on_who_else_is_asked(past, asked):
    jobs = asked_of(*asked)
    ratios = Ratios(past_of(*past))
    together = ratios.draw(jobs, LATER, 4, 3)
    for row in range(len(jobs)):
        alone = ratios.draw(jobs.pick(slice(row, row + 1)), LATER, 7, 3)
        assert alone[0, :4].tolist() == together[row].tolist()
