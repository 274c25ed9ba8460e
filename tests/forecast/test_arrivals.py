"""Models of who comes, each alone."""

from __future__ import annotations

import numpy as np
from forecast_lab import asked_of, past_of
from hypothesis import given
from hypothesis import strategies as st
from slotwise.model.display import DAY
from slotwise.solver.forecast.arrivals import PastBlocks

NOW = 40 * DAY
NO_RUN_TIMES = np.zeros((0, 50), dtype=np.int64)
NOBODY_HERE = asked_of()


def test_jobs_that_have_not_ended_come_again_too_as_long_as_the_sample_has_them():
    jobs = asked_of((1, 500, 2, 30), submit=NOW - 40)
    run_times = np.array([[100, 200]])
    coming = PastBlocks(past_of(), days=(1,)).after(NOW, NOW, jobs, run_times, 0)
    for sample, run_time in enumerate((100, 200)):
        found = coming(sample, NOW + DAY)
        assert (found.submit - NOW).tolist() == [DAY - 40]
        assert found.run_time.tolist() == [run_time]
        assert found.row.tolist() == [-1]


@given(
    st.lists(st.tuples(st.integers(1, 30 * DAY), st.integers(0, 5 * DAY), st.integers(1, 5 * DAY))),
    st.integers(0, 5),
)
def test_what_had_not_ended_then_changes_nobody_who_comes(times, seed):
    jobs = [
        (1, 9, 1, NOW - ago, NOW - ago + wait, NOW - ago + wait + run) for ago, wait, run in times
    ]
    known = past_of(*(job for job in jobs if job[5] <= NOW))
    found = PastBlocks(past_of(*jobs)).after(NOW, NOW, NOBODY_HERE, NO_RUN_TIMES, seed)
    expected = PastBlocks(known).after(NOW, NOW, NOBODY_HERE, NO_RUN_TIMES, seed)
    for sample in range(5):
        one, other = (model(sample, NOW + 20 * DAY) for model in (found, expected))
        assert one.submit.tolist() == other.submit.tolist()
        assert one.run_time.tolist() == other.run_time.tolist()
        assert (np.diff(one.submit) >= 0).all()
        assert ((one.submit > NOW) & (one.submit <= NOW + 20 * DAY)).all()
