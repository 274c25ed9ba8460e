"""Models of run times, each alone."""

from __future__ import annotations

import numpy as np
import pytest
from forecast_lab import asked_of, past_of
from hypothesis import given
from hypothesis import strategies as st
from slotwise.solver.forecast.history import keys_of
from slotwise.solver.forecast.runtimes import (
    ENDLESS,
    AtLimits,
    ExactRunTimes,
    LastTwo,
    Ratios,
    RatioSettings,
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


ONLY_NEAREST = RatioSettings(
    habit_weight=1e-9, area_weight=1e-9, all_weight=1e-9, shared_fate_probability=0
)


def test_ratios_of_the_same_user_limit_and_size_weigh_most():
    same = [_job(1, 100, 2, run, 300 + run) for run in (10, 20, 30, 40)]
    others = [_job(1, 100, 4, 99, 290)] * 10 + [_job(2, 100, 2, 77, 291)] * 10
    jobs = asked_of((1, 100, 2, WAITS), submit=LATER)
    found = Ratios(past_of(*same, *others)).draw(jobs, LATER, 8000, 0)
    values, counts = np.unique(found, return_counts=True)
    # Each group counts one a job, beside ten of the farther: all, those of the area 128 to 255,
    # those of user 1 and limit 100, those of two slots among them.
    chance = dict.fromkeys((10, 20, 30, 40, 99, 77), 0.0)
    area, habit, alike = (1, 1, 1, 1, 0, 10), (1, 1, 1, 1, 10, 0), (1, 1, 1, 1, 0, 0)
    for counted, farther in (((1, 1, 1, 1, 10, 10), 0), (area, 10), (habit, 10), (alike, 10)):
        total = sum(counted) + farther
        pairs = zip(chance.items(), counted, strict=True)
        chance = {run: (count + farther * before) / total for (run, before), count in pairs}
    assert abs(sum(chance.values()) - 1) < 1e-9
    for value, count in zip(values.tolist(), counts.tolist(), strict=True):
        assert abs(count / 8000 - chance[value]) < 0.025, value


@pytest.mark.parametrize(
    ("asked", "run"),
    [
        ((7, 200, 2, WAITS), 100),  # nobody knows the user: jobs of the area 400, by their ratio
        ((7, 100, 3, WAITS), 50),  # about the area
        ((7, 20, 10, WAITS), 15),  # the area 200
        ((1, 100, 9, WAITS), 50),  # the user and limit, of whatever size and area
    ],
)
def test_ratios_of_the_same_area_are_of_any_user_and_those_of_a_habit_of_any_size(asked, run):
    past = past_of(*[_job(1, 100, 4, 50, 290)] * 10, *[_job(2, 100, 2, 77, 291)] * 10)
    found = Ratios(past, ONLY_NEAREST).draw(asked_of(asked), LATER, 50, 0)
    assert np.unique(found).tolist() == [run]


def test_large_jobs_are_not_as_short_as_many_small_ones():
    """A user nobody knows: what the jobs of about that area did counts most."""
    small, large = [_job(1, 100, 1, 2, 290)] * 300, [_job(2, 100, 64, 95, 291)] * 20
    found = Ratios(past_of(*small, *large)).draw(asked_of((7, 100, 64, WAITS)), LATER, 4000, 0)[0]
    assert abs((found == 95).mean() - (20 + 10 * 20 / 320) / 30) < 0.03


def test_without_limits_about_the_same_size_counts():
    past = past_of(*[_job(1, -1, 5, 50, 290)] * 10, *[_job(2, 100, 2, 77, 291)] * 10)
    model = Ratios(past, ONLY_NEAREST)
    asked = asked_of((7, -1, 4, WAITS), (7, -1, 3, WAITS))
    found = model.draw(asked, LATER, 50, 0)
    assert [np.unique(row).tolist() for row in found] == [[50], [77]]


def test_a_job_that_started_this_very_second_takes_a_place_among_the_last():
    past = past_of(*[_job(1, 100, 2, 10, 300)] * 2, *[_job(1, 100, 9, 90, 300)] * 8)
    jobs = asked_of((1, 100, 2, 0), (1, 100, 2, 0), (1, 100, 2, WAITS), submit=LATER)
    settings = RatioSettings(
        max_alike=2, habit_weight=1e-9, area_weight=1e-9, all_weight=1e-9, shared_fate_probability=0
    )
    found = Ratios(past, settings).draw(jobs, LATER, 400, 0)[-1]
    assert abs((found == 90).mean() - 0.8) < 0.06  # those alike that ended are no longer the last


def test_a_user_nobody_knows_is_like_all_of_the_area():
    past = past_of(*[_job(1, 100, 2, 50, 290)] * 3, *[_job(2, 100, 2, 80, 291)] * 97)
    found = Ratios(past).draw(asked_of((7, 100, 2, WAITS)), LATER, 4000, 0)[0]
    assert abs((found == 80).mean() - 0.97) < 0.02


def test_what_a_running_job_has_run_is_not_drawn_any_more():
    past = past_of(*(_job(1, 100, 2, run, 300 + run) for run in (10, 20, 30, 40)))
    found = Ratios(past).draw(asked_of((1, 100, 2, 25), (1, 100, 2, 60)), LATER, 200, 0)
    assert set(found[0].tolist()) == {30, 40}
    assert set(found[1].tolist()) == {100}  # none has run so long: its limit is what is left


def test_jobs_that_still_run_make_those_like_them_longer():
    past = past_of(*(_job(1, 100, 2, run, 300 + run) for run in (10, 20, 30, 40)))
    running = [(1, 100, 2, 35)] * 4
    waiting = (1, 100, 2, WAITS)
    model = Ratios(past, ONLY_NEAREST)
    alone = model.draw(asked_of(waiting), 500, 4000, 0)[0]
    beside = model.draw(asked_of(*running, waiting), 500, 4000, 0)[-1]
    assert abs((alone == 40).mean() - 0.25) < 0.04
    assert abs((beside == 40).mean() - 5 / 8) < 0.04  # its own weight and that of four survivors


def test_only_the_jobs_that_started_last_count():
    """What started long ago and still runs counts as little as what ended long ago."""
    old = [_job(1, 100, 2, 90, 200)] * 30
    new = [_job(1, 100, 2, 10, 300)] * 20
    jobs = asked_of((1, 100, 2, WAITS), (1, 100, 2, 600), submit=LATER)
    ratios = Ratios(past_of(*old, *new), ONLY_NEAREST)
    assert set(ratios.draw(jobs, 600, 100, 0)[0].tolist()) == {10}
    assert set(ratios.draw(jobs, 299, 100, 0)[0].tolist()) == {90}


def test_jobs_of_one_kind_share_their_fate_as_often_as_is_said():
    past = past_of(*(_job(1, 1000, 2, 10 * run, 3000 + run) for run in range(1, 100)))
    waiting = (1, 1000, 2, WAITS)
    jobs = asked_of(waiting, waiting, (1, 1000, 3, WAITS), submit=LATER)
    for together in (0.0, 0.6, 1.0):
        settings = RatioSettings(
            max_alike=99, habit_weight=1e-9, all_weight=1e-9, shared_fate_probability=together
        )
        found = Ratios(past, settings).draw(jobs, LATER, 2000, 0)
        assert abs((found[0] == found[1]).mean() - together**2) < 0.05
        assert (found[0] == found[2]).mean() < 0.05


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
def test_a_draw_does_not_depend_on_who_else_waits(past, asked):
    jobs = asked_of(*asked)
    ratios = Ratios(past_of(*past))
    together = ratios.draw(jobs, LATER, 4, 3)
    runs = jobs.elapsed >= 0
    for row in range(len(jobs)):
        kept = runs.copy()
        kept[row] = True
        alone = ratios.draw(jobs.pick(kept), LATER, 7, 3)
        place = int(np.count_nonzero(kept[:row]))
        assert alone[place, :4].tolist() == together[row].tolist()
