"""The decoder against a literal second-by-second reading of the same rule."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pool_problems import literal_starts, pool_problems, violations
from slotwise.solver.optimal.pool import PoolProblem
from slotwise.solver.optimal.pool.problem import Decoder


@given(pool_problems(), st.randoms(use_true_random=False))
def test_decoder_places_each_job_at_the_first_second_with_room(problem, random):
    order = list(range(len(problem)))
    random.shuffle(order)
    assert Decoder(problem).starts(order) == literal_starts(problem, order)


@given(pool_problems())
def test_a_decoded_plan_is_valid(problem):
    plan = Decoder(problem).plan(range(len(problem)))
    assert violations(problem, plan) == []


@given(pool_problems())
def test_decoding_by_start_starts_nothing_later(problem):
    first = Decoder(problem).plan(range(len(problem)))
    again = Decoder(problem).plan(np.argsort(first, kind="stable").tolist())
    assert (again <= first).all()


def test_too_wide_jobs_and_bad_arrays_are_named_together():
    with pytest.raises(ValueError, match=r"times must increase.*durations must be at least 1"):
        PoolProblem.build([0, 0], [1, 1], [1], [0])
    with pytest.raises(ValueError, match=r"jobs \[1\] request more than the 3"):
        PoolProblem.build([0], [3], [1, 4], [5, 5])
