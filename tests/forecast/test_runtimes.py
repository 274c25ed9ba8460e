"""Models of run times, each alone."""

from __future__ import annotations

import numpy as np
from forecast_lab import asked_of, past_of
from hypothesis import given
from hypothesis import strategies as st
from slotwise.solver.forecast.runtimes import (
    LastTwo,
    Ratios,
    WeightedSample,
)

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


NUMBERS = st.lists(st.integers(0, 20), min_size=1, max_size=12)


def _of(numbers) -> WeightedSample:
    return WeightedSample.of(np.array(numbers, dtype=float))


@given(NUMBERS, NUMBERS)
def test_survivors_weigh_as_kaplan_and_meier_say(ended, running):
    """Their product formula, of what is known to be at least each number, in plain fractions."""
    found = _of(ended).with_survivors(np.sort(np.array(running, dtype=float)), _of([99]))
    total = float(found.weights.sum())
    assert abs(total - len(ended) - len(running)) < 1e-9
    for bound in range(22):
        survival = 1.0
        for time in sorted(set(ended)):
            if time >= bound:
                break
            # Who is seen at the very number at which others end is not counted as one of them.
            at_risk = sum(end >= time for end in ended) + sum(seen > time for seen in running)
            survival *= 1 - sum(end == time for end in ended) / at_risk
        weight = float(found.weights[found.numbers >= bound].sum())
        assert abs(weight / total - survival) < 1e-9
