"""The decoder against a literal second-by-second reading of the same rule."""

from __future__ import annotations

import pytest
from slotwise.solver.optimal.pool import PoolProblem
from slotwise.solver.optimal.pool.problem import StepProfile


def test_a_profile_can_be_taken_from_and_merged():
    profile = StepProfile([0, 10], [4, 6])
    profile.take(5, 2, 10)
    assert (profile.times, profile.free) == ([0, 5, 10, 15], [4, 2, 4, 6])
    profile.take(0, 2, 5)
    assert profile.steps() == ([0, 10, 15], [2, 4, 6])


def test_too_wide_jobs_and_bad_arrays_are_named_together():
    with pytest.raises(ValueError, match=r"times must rise.*durations must be at least 1"):
        PoolProblem.build([0, 0], [1, 1], [1], [0])
    with pytest.raises(ValueError, match=r"jobs \[1\] ask for more than the 3"):
        PoolProblem.build([0], [3], [1, 4], [5, 5])
