"""Waiting jobs of a pool by size: those that may overtake, without a look at the others."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from slotwise.solver.replay.engine import WaitingBySize

JOBS = st.lists(st.tuples(st.integers(1, 6), st.integers(1, 9)), min_size=1, max_size=20)


@given(JOBS, st.integers(0, 7), st.integers(-3, 7), st.integers(-2, 10), st.data())
def test_they_are_those_that_a_look_at_every_job_finds(jobs, capacity, extra, window, data):
    size, request = ([job[place] for job in jobs] for place in (0, 1))
    waiting = WaitingBySize(size, request)
    for job in data.draw(st.permutations(range(len(jobs)))):
        waiting.add(job)
    gone = data.draw(st.sets(st.integers(0, len(jobs) - 1)))
    for job in gone:
        waiting.remove(job)
    assert waiting.fitting(capacity, extra, window) == [
        job
        for job in range(len(jobs))
        if job not in gone
        and size[job] <= capacity
        and (request[job] <= window or size[job] <= extra)
    ]
